#!/usr/bin/env python3
"""Runs a Java program with the virtual machine's checks of JNI: run.py JAVA CLASSPATH [-X...]... CLASS [ARGUMENT]...

The exit status is the program's, or 1 when the checks found something. TMPDIR is where the native library is copied to for the moment.
"""

import re
import subprocess
import sys

COMPLAINT = re.compile(r"^(WARNING|FATAL ERROR) in native method.*|^WARNING: JNI.*", re.M)


def main():
    java, classpath, *rest = sys.argv[1:]
    done = subprocess.run([java, "-Xcheck:jni", "-cp", classpath, *rest], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end="")
    found = COMPLAINT.findall(done.stdout)
    if found:
        print(f"the checks of JNI found {len(found)} faults")
        print("[  FAILED  ] 1 test(s)")
    sys.exit(1 if found else done.returncode if done.returncode >= 0 else 1)


if __name__ == "__main__":
    main()
