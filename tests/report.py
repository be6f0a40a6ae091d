#!/usr/bin/env python3
"""Counts what `meson test` did: "N passed, M failed, K skipped", every case of a CMocka program by itself. Exit status 1 when one failed.

  report.py testlog.json
"""

import json
import re
import sys


def counts(test):
    """(passed, failed, skipped) of one test."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    passed = len(re.findall(r"^\[       OK \] ", text, flags=re.M))
    failed = sum(map(int, re.findall(r"^\[  FAILED  \] (\d+) test\(s\)", text, flags=re.M)))
    skipped = sum(map(int, re.findall(r"^\[  SKIPPED \] (\d+) test\(s\)", text, flags=re.M)))
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        return (passed, 0, skipped) if passed or skipped else (1, 0, 0)
    if test["result"] == "SKIP":
        return passed, 0, max(skipped, 1)
    return passed, max(failed, 1), skipped


def main():
    total = [0, 0, 0]
    try:
        with open(sys.argv[1], encoding="utf-8") as f:
            tests = [json.loads(line) for line in f]
    except FileNotFoundError:
        tests = []
    if not tests:
        print("no test ran")
        total[1] = 1
    for test in tests:
        result = counts(test)
        total = [a + b for a, b in zip(total, result)]
        if result[1]:
            print(f"failed: {test['name']} ({test['result']})")
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
