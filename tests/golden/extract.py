#!/usr/bin/env python3
"""Chooses the cases that the test suite keeps.

  extract.py FULL.jsonl.gz data/cases.jsonl.gz [--megabytes 3]

Takes operators that the library has (run.py's rule) and no complex numbers. For every operator, dtype and kind of call the small cases
come first, round by round, until the compressed file would grow too large.
"""

import argparse
import collections
import gzip
import io
import json
import zlib

import run


def call_kind(case):
    return case["op"], case["variant"], case["dtype"], tuple(type(a).__name__ for a in case["args"]), tuple(sorted(case["kwargs"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("full")
    parser.add_argument("out")
    parser.add_argument("--megabytes", type=float, default=1.5)
    args = parser.parse_args()
    operators = run.Operators()
    kinds = collections.defaultdict(list)
    with gzip.open(args.full, "rt") as lines:
        for number, line in enumerate(lines):
            case = json.loads(line)
            if operators.find(case["op"]) and "complex" not in line and '{"c":' not in line:
                kinds[call_kind(case)].append((len(line), number, line))
    for cases in kinds.values():
        cases.sort()
    chosen, size, round_number = [], 0, 0
    limit = args.megabytes * 1e6
    while size < limit and any(len(c) > round_number for c in kinds.values()):
        for cases in kinds.values():
            if len(cases) > round_number:
                _, number, line = cases[round_number]
                size += len(zlib.compress(line.encode()))
                if size < limit:
                    chosen.append((number, line))
        round_number += 1
    chosen.sort()
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as f:
        f.write("".join(line for _, line in chosen).encode())
    with open(args.out, "wb") as f:
        f.write(raw.getvalue())
    print(f"{len(chosen)} cases of {len({json.loads(line)['op'] for _, line in chosen})} operators, {len(raw.getvalue())} bytes")


if __name__ == "__main__":
    main()
