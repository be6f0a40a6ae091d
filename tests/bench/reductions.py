#!/usr/bin/env python3
"""Reductions of integers, bools and floating-point numbers, against PyTorch where it is installed.

  reductions.py [OPERATOR...] [--dtypes D...] [--shapes all last first small] [--threads N] [--rounds N] [--below R]

Needs the package trt (PYTHONPATH=BUILD/bindings/python). Both libraries take their turns in each round in this process. Prints medians in microseconds and
the median over the rounds of PyTorch's time divided by ours: above 1 we are faster. Of one thread, the time on the processor counts, so
that other programs disturb little. Left out: argmax of bools, which PyTorch does not have. --below prints the lines with a smaller ratio alone.
"""

import argparse
import os
import statistics
import time

os.environ.pop("OPENBLAS_CORETYPE", None)

import trt

try:
    import torch
except ImportError:
    torch = None

OPERATORS = ["sum", "max", "min", "amax", "aminmax", "any", "all", "count_nonzero", "argmax", "argmin", "max_dim"]
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "bool", "float32", "float64"]
# name: sizes, dimension (None: all of them)
SHAPES = {"all": ((20_000_000,), None), "last": ((4096, 2500), 1), "first": ((2500, 4096), 0), "long": ((4, 2_000_000), 1), "narrow": ((1_000_000, 6), 0), "short": ((1_000_000, 6), 1),
          "middle": ((64, 128, 1000), 1), "small": ((64, 48), 1), "small_first": ((64, 48), 0), "small_all": ((1000,), None)}


def numbers(module, sizes, dtype):
    n = 1
    for s in sizes:
        n *= s
    x = (module.arange(n) * 7919 + 12345) % 65521 % 241
    return (x - (0 if dtype == "uint8" else 120)).to(getattr(module, dtype)).reshape(sizes)


def calls(module, operators, dtypes, shapes):
    for dtype in dtypes:
        for shape in shapes:
            sizes, dim = SHAPES[shape]
            x = numbers(module, sizes, dtype)
            hard = {"any": module.zeros(sizes, dtype=x.dtype), "all": module.ones(sizes, dtype=x.dtype)}
            for name in operators:
                y = hard.get(name, x)
                if name == "max_dim" and dim is None or name in ("max", "min") and dim is not None or name in ("argmax", "argmin") and dtype == "bool":
                    continue
                if name == "max_dim":
                    run = lambda y=y, dim=dim: module.max(y, dim)
                elif name == "aminmax":
                    run = lambda y=y, dim=dim: module.aminmax(y, dim=dim)
                elif dim is None:
                    run = lambda y=y, f=getattr(module, name): f(y)
                else:
                    run = lambda y=y, f=getattr(module, name), dim=dim: f(y, dim)
                yield f"{name} {dtype} {shape}", run


def timed(run, repeats, clock=time.perf_counter):
    start = clock()
    for _ in range(repeats):
        run()
    return 1e6 * (clock() - start) / repeats


def main():
    p = argparse.ArgumentParser()
    p.add_argument("operators", nargs="*", default=OPERATORS)
    p.add_argument("--dtypes", nargs="+", default=DTYPES)
    p.add_argument("--shapes", nargs="+", default=["all", "last", "first"], choices=list(SHAPES))
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--below", type=float)
    a = p.parse_args()
    clock = time.thread_time if a.threads == 1 else time.perf_counter
    modules = [trt] + ([torch] if torch else [])
    for m in modules:
        m.set_num_threads(a.threads)
    print(f"{a.threads} threads" + (f", torch {torch.__version__}" if torch else ""))
    for ways in zip(*(calls(m, a.operators, a.dtypes, a.shapes) for m in modules)):
        first = [timed(run, 1) and timed(run, 1) for _, run in ways]
        repeats = max(1, int(2e3 / max(1, max(first))))
        rounds = [[timed(run, repeats, clock) for _, run in ways] for _ in range(a.rounds)]
        line = f"{ways[0][0]:32}{statistics.median(r[0] for r in rounds):12.1f}"
        ratio = None
        if torch:
            ratio = statistics.median(r[1] / r[0] for r in rounds)
            line += f"{statistics.median(r[1] for r in rounds):12.1f}{ratio:8.2f}"
        if a.below is None or ratio is None or ratio < a.below:
            print(line, flush=True)


if __name__ == "__main__":
    main()
