#!/usr/bin/env python3
"""An embedding service against one with PyTorch, side by side in one run: compare.py --server go|java [--build DIR] [--model DIR] [--rounds N]

Starts the service of examples/{go,java}/embedding-service, torch_server.py, and torch_server.py --buckets; then load.py, with 16 clients, on one after the
other, several rounds. Prints requests per second and latencies, the ratio of each round, and the medians; last the service's growth of resident memory over
--requests requests, of which the first tenth warms up. Exit status 1 when an answer was wrong, when memory grew by more than --growth MiB, or with
--require RATIO when the median ratio to the better of PyTorch's servers is below. Skips with a message when torch, tokenizers or the model is not there.

OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are removed from the environment of all (they slow BLAS down on some machines). The machine should do nothing
else, or all suffer: the load average is printed.
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))


class Server:
    """A process that says `listening on HOST:PORT` on its standard error."""

    def __init__(self, name, command):
        env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
        self.name, self.rates = name, []
        self.process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            found = re.match(r"listening on (\S+)$", line)
            if found:
                self.address = found[1]
                return
        raise SystemExit(f"{name} did not start:\n{''.join(lines)}")

    def load(self, *options):
        out = subprocess.run([sys.executable, os.path.join(HERE, "load.py"), self.address, "--pid", str(self.process.pid), *options], capture_output=True, text=True,
                             timeout=1800)
        if out.returncode:
            raise SystemExit(f"{self.name}: {out.stdout}{out.stderr}")
        return json.loads(out.stdout)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def measure(args, servers):
    ours, peers = servers[0], servers[1:]
    for s in servers:
        s.load("--seconds", "2")
    for _ in range(args.rounds):
        line = []
        for s in servers:
            r = s.load("--seconds", str(args.seconds), "--clients", str(args.clients))
            s.rates.append(r["per_second"])
            line.append(f"{s.name} {r['per_second']:.0f}/s p50 {r['p50_ms']:.0f} p99 {r['p99_ms']:.0f} ms")
        print(f"{'; '.join(line)}; load average {os.getloadavg()[0]:.1f}", flush=True)
    medians = []
    for s in peers:
        ratios = [a / b for a, b in zip(ours.rates, s.rates)]
        medians.append(statistics.median(ratios))
        print(f"median ratio of {ours.name} to {s.name}: {medians[-1]:.2f} ({', '.join(f'{r:.2f}' for r in ratios)})")
    if args.requests:
        r = ours.load("--requests", str(args.requests), "--clients", str(args.clients))
        print(f"{ours.name}: {r['requests']} requests, {r['checked']} vectors checked, resident memory {r['rss_early_mib']} MiB after a tenth, {r['rss_end_mib']} MiB at the end")
        if r["rss_end_mib"] - r["rss_early_mib"] > args.growth:
            raise SystemExit("resident memory grows")
    return min(medians)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", choices=("go", "java"), required=True)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--model", default=os.path.join(ROOT, "examples", "embedding", "model"))
    parser.add_argument("--python", default=sys.executable, help="the Python that has torch and tokenizers")
    parser.add_argument("--options", default="", help="more arguments for the service")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--requests", type=int, default=20000)
    parser.add_argument("--growth", type=float, default=8)
    parser.add_argument("--require", type=float, default=0)
    args = parser.parse_args()
    if subprocess.run([args.python, "-c", "import torch, tokenizers"], capture_output=True).returncode:
        print(f"SKIP: torch or tokenizers is not installed for {args.python}")
        return 0
    if not os.path.exists(os.path.join(args.model, "model.safetensors")):
        print(f"SKIP: no model in {args.model}; examples/embedding/get_model.sh fetches it")
        return 0
    torch_side = [args.python, os.path.join(HERE, "torch_server.py"), args.model]
    commands = [(args.server, [os.path.join(args.build, "examples", f"embedding_service_{args.server}"), "--model", args.model, "--listen", "127.0.0.1:0", *args.options.split()]),
                ("torch", torch_side), ("torch with buckets", [*torch_side, "--buckets"])]
    servers, ratio = [], 0
    try:
        for name, command in commands:
            servers.append(Server(name, command))
        ratio = measure(args, servers)
    finally:
        codes = [s.stop() for s in servers]
    if codes[0] != 0:
        print(f"{args.server} ended with status {codes[0]}")
        return 1
    return 1 if ratio < args.require else 0


if __name__ == "__main__":
    sys.exit(main())
