#!/usr/bin/env python3
"""What a call costs in Python, beside PyTorch in the same run.

  python_call.py [--rounds N] [--limit X]      PYTHONPATH: the package trt (build/bindings/python)

Times calls on tensors of 4 elements: this package and PyTorch by turns (A B A B ...), one thread, and prints nanoseconds and the ratio of each, the medians of
the rounds. --limit: exit status 1 when `a + b` takes more than X of PyTorch's time. Without PyTorch only the own times are printed, and the status is
77 (skipped) when there is a limit.
"""

import argparse
import statistics
import sys
import timeit

import trt

try:
    import torch
except ImportError:
    torch = None

CALLS = {
    "a + b": "a + b",
    "a * 2": "a * 2",
    "2 - a": "2 - a",
    "c.add_(b)": "c.add_(b)",
    "a < b": "a < b",
    "add(a, b, alpha=2)": "add(a, b, alpha=2)",
    "a.sum()": "a.sum()",
    "a.sum(0, keepdim=True)": "a.sum(0, keepdim=True)",
    "a[1]": "a[1]",
    "a[1:3]": "a[1:3]",
    "a.view(2, 2)": "a.view(2, 2)",
    "a.shape": "a.shape",
    "a.item()": "one.item()",
    "w * a, recorded": "w * a",
    "(w * a).sum().backward()": "(w * a).sum().backward()",
}


def setup(module):
    module.set_num_threads(1)
    names = {name: module.tensor([1.0, 2.0, 3.0, 4.0]) for name in "abc"}
    return {**names, "one": module.tensor(1.0), "w": module.ones(4, requires_grad=True), "add": module.add}


def measure(code, names, count):
    return timeit.timeit(code, globals=names, number=count) / count * 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--limit", type=float)
    args = parser.parse_args()
    sides = [setup(trt)] + ([setup(torch)] if torch else [])
    ratios = {}
    for label, code in CALLS.items():
        count = 2000 if "backward" in code else 20000
        times = [[] for _ in sides]
        for round in range(args.rounds + 1):
            for side, found in zip(sides, times):
                t = measure(code, side, count)
                if round:  # the first one warms up
                    found.append(t)
        own = statistics.median(times[0])
        if torch:
            ratios[label] = statistics.median(a / b for a, b in zip(*times))
            print(f"{label:26} {own:8.0f} ns   PyTorch {statistics.median(times[1]):8.0f} ns   ratio {ratios[label]:.2f}")
        else:
            print(f"{label:26} {own:8.0f} ns")
    if not torch:
        print("PyTorch is not installed: no comparison")
        return 77 if args.limit is not None else 0
    if args.limit is not None and ratios["a + b"] > args.limit:
        print(f"a + b takes {ratios['a + b']:.2f} of PyTorch's time, allowed are {args.limit}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
