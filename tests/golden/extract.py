#!/usr/bin/env python3
"""Chooses the cases that the test suite keeps.

  extract.py FULL.jsonl.gz data/cases.jsonl.gz [--megabytes 2]

Takes operators that the package has (run.py's rule), and what the other files beside the second one do not have already. First come, whatever their size, the smallest case that tells something (an element of a tensor in
it at least, and more where such a case is short) of every operator, variant and family of dtypes, with a gradient where one was recorded; then the
smallest case of every kind of call, the small ones first; then the second smallest of each, and so on, until the compressed file would grow too large.
"""

import argparse
import collections
import glob
import gzip
import io
import json
import os
import zlib

import run

SHORT = 3000  # characters
FAMILIES = {"float64": "float64", "float32": "float32", "float16": "half", "bfloat16": "half", "bool": "bool", "complex64": "complex", "complex128": "complex"}


def call_kind(case):
    return case["op"], case["variant"], case["dtype"], tuple(type(a).__name__ for a in case["args"]), tuple(sorted(case["kwargs"]))


def call(case):
    return json.dumps([case["op"], case["variant"], case["dtype"], case["args"], case["kwargs"]])


def most_elements(v):
    """The number of elements of the largest tensor in an encoded value."""
    if isinstance(v, dict):
        return len(v["data"]) if "t" in v else 0
    return max(map(most_elements, v), default=0) if isinstance(v, list) else 1


def usable(operators, case, line):
    """Whether run.py can express it."""
    if (case["op"], case["dtype"]) in run.LEFT_OUT or '"complex32"' in line:
        return False
    return bool(operators.find(case["op"])) or run.trt.is_function(case["op"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("full")
    parser.add_argument("out")
    parser.add_argument("--megabytes", type=float, default=2.0)
    args = parser.parse_args()
    elsewhere = set()
    for path in glob.glob(os.path.join(os.path.dirname(os.path.abspath(args.out)), "*.jsonl.gz")):
        if not os.path.exists(args.out) or not os.path.samefile(path, args.out):
            with gzip.open(path, "rt") as lines:
                elsewhere.update(map(call, map(json.loads, lines)))
    operators = run.Operators()
    first, kinds, have = collections.defaultdict(list), collections.defaultdict(list), set()
    with gzip.open(args.full, "rt") as lines:
        for number, line in enumerate(lines):
            case = json.loads(line)
            if not usable(operators, case, line):
                continue
            elements = min(most_elements(case["args"] + list(case["kwargs"].values())), most_elements(case["out"]))
            family = case["op"], case["variant"], FAMILIES.get(case["dtype"], "integers")
            first[family].append((elements == 0, not any(case.get("grads", [])), elements < 2 or len(line) > SHORT, len(line), number, line))
            if call(case) in elsewhere:
                have.add(family)
            else:
                kinds[call_kind(case)].append((len(line), number, line))
    chosen, size = {}, 0
    for cases in (cases for family, cases in first.items() if family not in have):
        *_, number, line = min(cases)
        chosen[number] = line
        size += len(zlib.compress(line.encode()))
    limit = args.megabytes * 1e6
    rounds = sorted((place, *case) for cases in kinds.values() for place, case in enumerate(sorted(cases)))
    for _, _, number, line in rounds:
        if number not in chosen:
            size += len(zlib.compress(line.encode()))
            if size >= limit:
                break
            chosen[number] = line
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as f:
        f.write("".join(line for _, line in sorted(chosen.items())).encode())
    with open(args.out, "wb") as f:
        f.write(raw.getvalue())
    print(f"{len(chosen)} cases of {len({json.loads(line)['op'] for line in chosen.values()})} operators, with those beside it all {len(first)} families, {len(raw.getvalue())} bytes")


if __name__ == "__main__":
    main()
