#!/usr/bin/env python3
"""Attention, forward and backward: scaled_dot_product_attention against the product of matrices, softmax and another product, and against PyTorch.

  attention.py [--length 1024] [--heads 8] [--size 64] [--causal] [--threads N] [--rounds N]

Needs the package trt (PYTHONPATH=BUILD/bindings/python). All ways take their turns in each round; the ways of PyTorch run in a process of their own,
with sdpa as it chooses and with the same products, where torch is installed. Prints medians in milliseconds, the peak of the allocated memory for ours,
and the ratio of each to ours, as the median over the rounds.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--length", type=int, default=1024)
    p.add_argument("--heads", type=int, default=8)
    p.add_argument("--size", type=int, default=64)
    p.add_argument("--causal", action="store_true")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


def ways(module, attention, a):
    """{name: one forward and backward}. The same program for both libraries."""
    module.manual_seed(1)
    q, k, v = (module.randn(1, a.heads, a.length, a.size).requires_grad_() for _ in range(3))
    g = module.randn(1, a.heads, a.length, a.size)
    hidden = module.ones(a.length, a.length, dtype=module.bool).triu(1)

    def products():
        scores = q @ k.transpose(-2, -1) * (1 / a.size ** 0.5)
        if a.causal:
            scores = scores.masked_fill(hidden, float("-inf"))
        return module.softmax(scores, -1) @ v

    def trained(forward):
        def run():
            for x in (q, k, v):
                x.grad = None
            forward().backward(g)
        return run

    return {"attention": trained(lambda: attention(q, k, v, None, 0.0, a.causal)), "products": trained(products)}


def timed(run):
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def serve(a):
    """Times one call for each line of stdin."""
    import torch

    torch.set_num_threads(a.threads)
    calls = ways(torch, torch.nn.functional.scaled_dot_product_attention, a)
    for run in calls.values():
        run()
    print("ready", torch.__version__, flush=True)
    for line in sys.stdin:
        print(timed(calls[line.strip()]), flush=True)


def main():
    a = parse()
    if a.serve:
        return serve(a)
    import trt

    trt.set_num_threads(a.threads)
    calls = ways(trt, trt.scaled_dot_product_attention, a)
    peaks = {}
    for name, run in calls.items():
        run()
        trt.memory.reset_peak()
        run()
        peaks[name] = trt.memory.stats()["allocated_peak"] / 2**20
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    torch = subprocess.Popen([sys.executable] + sys.argv + ["--serve", "--threads", str(a.threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, env=environment)
    peer = torch.stdout.readline().split()
    times = {}
    for _ in range(a.rounds):
        for name, run in calls.items():
            times.setdefault("ours: " + name, []).append(timed(run))
            if peer:
                torch.stdin.write(name + "\n")
                torch.stdin.flush()
                times.setdefault(f"torch {peer[1]}: {name}", []).append(float(torch.stdout.readline()))
    torch.stdin.close()
    torch.wait()
    print(f"length {a.length}, {a.heads} heads of {a.size}, {'causal, ' if a.causal else ''}{a.threads} threads, forward + backward")
    ours = times["ours: attention"]
    for name, t in times.items():
        ratio = statistics.median(x / y for x, y in zip(t, ours))
        peak = peaks.get(name.split(": ")[1]) if name.startswith("ours") else None
        print(f"{name:32} {statistics.median(t):8.2f} ms  ratio {ratio:5.2f}" + (f"  peak {peak:8.1f} MiB" if peak is not None else ""))
    if not peer:
        print("torch is not installed")


if __name__ == "__main__":
    main()
