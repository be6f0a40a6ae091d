#!/usr/bin/env python3
"""Load on an embedding service (protocol: examples/embedding/README.md): load.py HOST:PORT [--clients N] [--seconds S | --requests N] [--pid PID]

Each client keeps one connection and sends one text at a time, the next when the answer is there. The texts have 3 to 180 words, 14 in the middle. One in
--check answers belongs to a text of examples/embedding/expected.json, whose vector must come out to 1e-5; every answer must have the right size.
With --pid the resident memory of that process is watched: after a tenth of the load, and at the end. Prints one line of JSON: requests per second, latencies in
milliseconds, resident memory in MiB. Exit status 1 when an answer was wrong.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "..", "..", "..", "examples", "embedding", "expected.json")

WORDS = """the of and a to in is you that it he was for on are as with his they I at be this have from or one had by word but not what all were we when your
can said there use an each which she do how their if will up other about out many then them these so some her would make like him into time has look two more
write go see number no way could people my than first water been call who oil its now find long down day did get come made may part over new sound take only
little work know place year live me back give most very after thing our just name good sentence man think say great where help through much before line right
too mean old any same tell boy follow came want show also around form three small set put end does another well large must big even such because turn here why
ask went men read need land different home us move try kind hand picture again change off play spell air away animal house point page letter mother answer
found study still learn should America world database latency password invoice shipment refund configuration temperature neural network quarterly""".split()


def make_texts(count, seed=1):
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        words = [rng.choice(WORDS) for _ in range(max(3, min(180, round(rng.lognormvariate(2.64, 0.75)))))]
        texts.append(" ".join(words).capitalize() + rng.choice(".?!"))
    return texts


def resident(pid):
    with open(f"/proc/{pid}/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def packet(text):
    body = json.dumps({"inputs": [text]}).encode()
    return b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


class Load:
    def __init__(self, args):
        self.args = args
        self.host, port = args.address.rsplit(":", 1)
        self.port = int(port)
        self.packets = [packet(t) for t in make_texts(2000)]
        with open(args.expected, encoding="utf-8") as f:
            self.checks = [(packet(c["sentence"]), c["vector"]) for c in json.load(f)]
        self.sent = self.checked = 0
        self.latencies, self.wrong = [], []
        self.end = None
        self.early = None

    def more(self):
        if self.args.requests:
            return self.sent < self.args.requests
        return time.perf_counter() < self.end

    async def client(self):
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            while self.more() and len(self.wrong) < 10:
                number, vector = self.sent, None
                self.sent += 1
                data = self.packets[number % len(self.packets)]
                if number % self.args.check == 0:
                    data, vector = self.checks[number // self.args.check % len(self.checks)]
                began = time.perf_counter()
                writer.write(data)
                head = await reader.readuntil(b"\r\n\r\n")
                length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), None)
                if length is None:
                    raise ValueError(f"no Content-Length in {head!r}")
                body = await reader.readexactly(length)
                self.latencies.append(time.perf_counter() - began)
                if self.args.pid and self.early is None and self.progress() >= 0.1:
                    self.early = resident(self.args.pid)
                if not head.startswith(b"HTTP/1.1 200 "):
                    self.wrong.append(f"{head.splitlines()[0]!r}: {body[:200]!r}")
                elif vector is not None:
                    self.checked += 1
                    got = json.loads(body)["embeddings"]
                    if len(got) != 1 or len(got[0]) != len(vector) or max(abs(a - b) for a, b in zip(got[0], vector)) > 1e-5:
                        self.wrong.append("wrong vector")
                elif body.count(b",") != len(self.checks[0][1]) - 1:
                    self.wrong.append(f"wrong size: {body[:200]!r}")
        finally:
            writer.close()

    def progress(self):
        if self.args.requests:
            return self.sent / self.args.requests
        return 1 - (self.end - time.perf_counter()) / self.args.seconds

    async def run(self):
        began = time.perf_counter()
        self.end = began + self.args.seconds
        await asyncio.gather(*(self.client() for _ in range(self.args.clients)))
        took = time.perf_counter() - began
        cuts = statistics.quantiles(self.latencies, n=100)
        result = {"requests": len(self.latencies), "checked": self.checked, "per_second": round(len(self.latencies) / took, 1), "p50_ms": round(1e3 * cuts[49], 2),
                  "p99_ms": round(1e3 * cuts[98], 2)}
        if self.args.pid:
            result["rss_early_mib"] = round(self.early or 0, 1)
            result["rss_end_mib"] = round(resident(self.args.pid), 1)
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--check", type=int, default=50)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--expected", default=EXPECTED)
    load = Load(parser.parse_args())
    print(json.dumps(asyncio.run(load.run())), flush=True)
    for line in load.wrong:
        print(line, file=sys.stderr)
    return 1 if load.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
