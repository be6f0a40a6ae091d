#!/usr/bin/env python3
"""Training speed of examples/c/fashion_mnist against PyTorch, side by side in one run.

  compare_torch.py [--example BUILD/examples/fashion_mnist] [--data DIR] [--batch-size N] [--threads 1 2] [--batches N] [--rounds N]

The same network, batch size, optimizer, thread count and real images on both sides; A B A B in turn, each side in a process of its own so that
neither's threads disturb the other. Both sides count the time of training steps only, after a warm-up, batches gathered from memory
included. Prints samples per second, the ratio of each pair of rounds, and their median. Skips with a message when torch is not installed.
OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are removed from the environment of both (they slow BLAS down on some machines). PyTorch runs as it comes,
and tuned: with tcmalloc preloaded where it is installed, else with glibc's malloc told to keep its memory.
"""

import argparse
import glob
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

TORCH_SIDE = r"""
import gzip, sys, time
import torch, torch.nn as nn, torch.nn.functional as F
directory, batch, threads, batches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)
torch.manual_seed(1)
def idx(path):
    with gzip.open(path) as f: raw = f.read()
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return torch.frombuffer(bytearray(raw[4 + 4 * raw[3]:]), dtype=torch.uint8).reshape(shape)
x = idx(directory + "/train-images-idx3-ubyte.gz").float().div_(255).sub_(0.2860).div_(0.3530).unsqueeze(1)
y = idx(directory + "/train-labels-idx1-ubyte.gz").long()
model = nn.Sequential(
    nn.Conv2d(1, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(32, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.25), nn.Linear(3136, 128, bias=False), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.01, fused=True)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=100000)
model.train()
def run(steps):
    order = torch.randperm(x.shape[0])
    for i in range(steps):
        at = order[i * batch:(i + 1) * batch]
        loss = F.cross_entropy(model(x[at]), y[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return float(loss)
run(20)
t = time.perf_counter()
run(batches)
print("rate", batches * batch / (time.perf_counter() - t))
"""


def environment(tuned=False):
    env = dict(os.environ)
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        env.pop(name, None)
    if tuned:
        tcmalloc = glob.glob("/usr/lib/*/libtcmalloc_minimal.so.4") + glob.glob("/usr/lib/*/libtcmalloc.so.4")
        if tcmalloc:
            env["LD_PRELOAD"] = tcmalloc[0]
        else:
            env.update(MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(1 << 40), MALLOC_TOP_PAD_=str(64 << 20))
    return env


def rate(command, tuned=False):
    out = subprocess.run(command, env=environment(tuned), capture_output=True, text=True, timeout=1200)
    if out.returncode:
        raise SystemExit(f"{command[0]} failed:\n{out.stdout}{out.stderr}")
    return float(re.findall(r"rate ([0-9.eE+]+)", out.stdout)[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--example", default=os.path.join(ROOT, "build", "examples", "fashion_mnist"))
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist")
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch")
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--batches", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    if subprocess.run([args.python, "-c", "import torch"], capture_output=True).returncode:
        print(f"SKIP: torch is not installed for {args.python}")
        return
    for threads in args.threads:
        ours, peer, tuned = [], [], []
        torch_side = [args.python, "-c", TORCH_SIDE, args.data, str(args.batch_size), str(threads), str(args.batches)]
        for _ in range(args.rounds):
            ours.append(rate([args.example, "--data", args.data, "--batch-size", str(args.batch_size), "--threads", str(threads), "--benchmark", str(args.batches)]))
            peer.append(rate(torch_side))
            tuned.append(rate(torch_side, tuned=True))
            print(f"threads {threads}: samples/s libtensorrt {ours[-1]:.0f}, torch {peer[-1]:.0f} (ratio {ours[-1] / peer[-1]:.2f}), "
                  f"torch tuned {tuned[-1]:.0f} (ratio {ours[-1] / tuned[-1]:.2f})", flush=True)
        for name, other in (("torch", peer), ("torch tuned", tuned)):
            ratios = [a / b for a, b in zip(ours, other)]
            print(f"threads {threads}: median ratio to {name} {statistics.median(ratios):.2f} (libtensorrt {statistics.median(ours):.0f}, "
                  f"{name} {statistics.median(other):.0f} samples/s)")


if __name__ == "__main__":
    main()
