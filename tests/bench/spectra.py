#!/usr/bin/env python3
"""Fourier transforms and the exponential of matrices, against PyTorch where it is installed.

  spectra.py [fft] [matrix_exp] [--threads N] [--rounds N]

Needs the package trt (PYTHONPATH=BUILD/bindings/python). Both libraries take their turns in each round in this process. Prints medians in microseconds and
the median over the rounds of PyTorch's time divided by ours: above 1 we are faster.
"""

import argparse
import statistics
import time

import trt

try:
    import torch
except ImportError:
    torch = None

FFT = [("fft", (64,)), ("rfft", (64,)), ("fft", (1024,)), ("rfft", (1024,)), ("fft", (256, 1024)), ("rfft", (256, 1024)), ("irfft", (256, 513)), ("ifft", (256, 1024)), ("fft", (1 << 20,)),
       ("rfft", (1 << 20,)), ("fft", (101,)), ("fft", (1009,)), ("rfft", (1009,)), ("fft", (256, 1009)), ("fft2", (256, 256))]
EXPONENTIALS = [(1, 2), (64, 2), (64, 4), (64, 8), (1, 16), (64, 16), (1, 32), (64, 32), (1, 64), (64, 64), (1, 128), (8, 128), (1, 256), (1, 512)]


def calls(module, what, rng):
    for name, shape in FFT if "fft" in what else []:
        x = module.tensor([rng.gauss(0, 1) for _ in range(64)]).repeat([*shape[:-1], -(-shape[-1] // 64)])[..., :shape[-1]].contiguous()
        x = x if name == "rfft" else module.complex(x, x.flip(-1))
        run = getattr(module.fft, name)
        yield f"{name} {'x'.join(map(str, shape))}", lambda x=x, run=run: run(x)
    for batch, n in EXPONENTIALS if "matrix_exp" in what else []:
        for norm in (0.5, 20):
            x = module.tensor([rng.gauss(0, 1) for _ in range(n * n)]).reshape(n, n) * (norm / n)
            x = x.repeat([batch, 1, 1]).contiguous()
            yield f"matrix_exp {batch}x{n}x{n} {norm}", lambda x=x: module.linalg.matrix_exp(x)
            y = x.clone().requires_grad_()
            yield f"  and its gradient", lambda y=y: module.linalg.matrix_exp(y).sum().backward()


def timed(run, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    return 1e6 * (time.perf_counter() - start) / repeats


def main():
    import random

    p = argparse.ArgumentParser()
    p.add_argument("what", nargs="*", default=["fft", "matrix_exp"])
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=9)
    a = p.parse_args()
    modules = [trt] + ([torch] if torch else [])
    for m in modules:
        m.set_num_threads(a.threads)
    print(f"{a.threads} threads" + (f", torch {torch.__version__}" if torch else ""))
    for ways in zip(*(calls(m, a.what, random.Random(1)) for m in modules)):
        first = [timed(run, 1) and timed(run, 1) for _, run in ways]
        repeats = max(1, int(2e3 / max(1, min(first))))
        rounds = [[timed(run, repeats) for _, run in ways] for _ in range(a.rounds)]
        line = f"{ways[0][0]:32}{statistics.median(r[0] for r in rounds):12.1f}"
        if torch:
            line += f"{statistics.median(r[1] for r in rounds):12.1f}{statistics.median(r[1] / r[0] for r in rounds):8.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
