#!/usr/bin/env python3
"""Call cost in Java against C, in one run: java_call.py JAVA CLASSPATH C_PROGRAM [--limit NANOSECONDS]

Runs both programs in turn, three times, and takes the least of each. Exit status 1 when a + b on 4 elements costs more than the limit above C.
"""

import argparse
import subprocess

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("java")
parser.add_argument("classpath")
parser.add_argument("c_program")
parser.add_argument("--limit", type=float)
args = parser.parse_args()


def times(command):
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {name: float(ns) for name, ns in (line.split() for line in lines)}


c, java = {}, {}
for _ in range(3):
    for best, command in ((c, [args.c_program]), (java, [args.java, "-cp", args.classpath, "JavaCall"])):
        for name, ns in times(command).items():
            best[name] = min(ns, best.get(name, ns))
print(f"a + b on 4 elements: C {c['add']:.0f} ns, Java {java['add']:.0f} ns (+{java['add'] - c['add']:.0f}), in a scope {java['scoped']:.0f} ns "
      f"(+{java['scoped'] - c['add']:.0f})")
print(f"sum(0): C {c['sum']:.0f} ns, Java {java['sum']:.0f} ns (+{java['sum'] - c['sum']:.0f})")
if args.limit is not None and java["add"] - c["add"] > args.limit:
    raise SystemExit(f"the call costs more than {args.limit:.0f} ns above C")
