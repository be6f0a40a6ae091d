#!/usr/bin/env python3
"""An embedding service, as examples/embedding/README.md describes it: test_embedding.py PROGRAM [--model DIR | --tiny]

Tokens are seen through the vectors, which must be those of examples/embedding/expected.json to 1e-5: one by one, in one request, and from 16 clients at once. Then bad
requests, /healthz and /metrics, a memory limit that is too low for a long text, and SIGTERM with a request under way. Prints a line for each check. Exit
status 77 when the model is not there. With --tiny the model is a small one with random weights (tiny_model.py), which needs numpy only.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EMBEDDING = os.path.join(ROOT, "examples", "embedding")
failed = []


def report(name, ok, detail=""):
    if not ok:
        failed.append(name)
    print(("ok    " if ok else "FAIL  ") + name + (f": {detail}" if detail != "" and not ok else ""), flush=True)


class Service:
    def __init__(self, program, model, *options):
        self.process = subprocess.Popen([program, "--model", model, "--listen", "127.0.0.1:0", *options], stderr=subprocess.PIPE, text=True)
        said = []
        for line in self.process.stderr:
            said.append(line)
            found = re.match(r"listening on (\S+):(\d+)$", line)
            if found:
                self.host, self.port = found[1], int(found[2])
                return
        raise SystemExit("the service did not start:\n" + "".join(said))

    def request(self, method, path, body=None):
        c = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            c.request(method, path, body)
            r = c.getresponse()
            return r.status, r.read().decode()
        finally:
            c.close()

    def embed(self, inputs):
        return self.request("POST", "/embed", json.dumps({"inputs": inputs}))

    def metric(self, name):
        text = self.request("GET", "/metrics")[1]
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found[1]) if found else None

    def wait(self):
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "killed"


def off(answer, vectors):
    """The largest difference of an answer from the vectors."""
    status, text = answer
    got = json.loads(text).get("embeddings", []) if status == 200 else []
    if len(got) != len(vectors) or any(len(a) != len(b) for a, b in zip(got, vectors)):
        return float("inf")
    return max((abs(x - y) for a, b in zip(got, vectors) for x, y in zip(a, b)), default=0)


def answers(s, cases):
    sentences, vectors = [c["sentence"] for c in cases], [c["vector"] for c in cases]
    for c in cases:
        d = off(s.embed([c["sentence"]]), [c["vector"]])
        report(f"vector of {c['sentence'][:30]!r}", d < 1e-5, d)
    d = off(s.embed(sentences), vectors)
    report("all in one request", d < 1e-5, d)
    report("no inputs", s.embed([]) == s.embed([]) and off(s.embed([]), []) == 0)

    def client(i):
        worst = 0
        for k in range(12):
            begin, count = (5 * i + k) % len(cases), 1 + (i + k) % 3
            worst = max(worst, off(s.embed(sentences[begin:begin + count]), vectors[begin:begin + count]))
        return worst
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        d = max(pool.map(client, range(16)))
    report("16 clients", d < 1e-5, d)


def refusals(s):
    for name, body in (("no JSON", "{"), ("a list", "[]"), ("no inputs", "{}"), ("a string", '{"inputs": "a"}'), ("numbers", '{"inputs": [1]}'), ("null", '{"inputs": [null]}'),
                       ("another key", '{"inputs": ["a"], "b": 1}'), ("more behind", '{"inputs": ["a"]} x'), ("nothing", "")):
        status, text = s.request("POST", "/embed", body)
        report(f"400 for {name}", status == 400 and json.loads(text).keys() == {"error"}, f"{status} {text}")
    status, text = s.embed(["a"] * 100000)
    report("413 for many inputs", status == 413 and json.loads(text).keys() == {"error"}, f"{status} {text[:200]}")
    # The service may close the connection before all is sent.
    try:
        status = s.embed(["a" * (8 << 20)])[0]
    except OSError:
        status = 413
    report("413 for a long body", status == 413, status)
    report("405 for GET /embed", s.request("GET", "/embed")[0] == 405)
    report("404 for another path", s.request("GET", "/nothing")[0] == 404)
    report("/healthz", s.request("GET", "/healthz")[0] == 200)
    text = s.request("GET", "/metrics")[1]
    for name in ("embedding_requests_total{code=\"400\"} 9", "embedding_request_seconds_count", "embedding_request_seconds_bucket{le=\"+Inf\"}", "embedding_batch_texts_sum",
                 "embedding_batch_tokens_count", "embedding_waiting_texts 0", "embedding_requests_in_flight 0", "tensorrt_memory_allocated_bytes",
                 "tensorrt_memory_limit_bytes", "process_resident_memory_bytes"):
        report(f"/metrics has {name}", f"\n{name}" in text, text)


def stop(s, case):
    body = json.dumps({"inputs": [case["sentence"]]}).encode()
    with socket.create_connection((s.host, s.port)) as c:
        c.settimeout(60)
        c.sendall(b"POST /embed HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:4])
        for _ in range(2000):
            if s.metric("embedding_requests_in_flight") == 1:
                break
            time.sleep(0.01)
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        c.sendall(body[4:])
        data = b""
        while part := c.recv(1 << 16):
            data += part
    head, _, text = data.partition(b"\r\n\r\n")
    d = off((int(head.split()[1]), text.decode()), [case["vector"]]) if head else "no answer"
    report("a request under way when SIGTERM comes", d != "no answer" and d < 1e-5, d)
    status = s.wait()
    report("status 0 after SIGTERM", status == 0, status)


def ceiling(program, model, case, mib):
    s = Service(program, model, "--memory-limit", str(mib))
    d = off(s.embed([case["sentence"]]), [case["vector"]])
    report("a short text under a low limit", d < 1e-5, d)
    for i in range(3):
        status, text = s.embed(["word " * 300])
        report(f"503 for a long one ({i})", status == 503 and json.loads(text).keys() == {"error"}, f"{status} {text[:200]}")
        d = off(s.embed([case["sentence"]] * 40), [case["vector"]] * 40)
        report(f"40 short ones after it ({i})", d < 1e-5, d)
    peak, limit = s.metric("tensorrt_memory_reserved_peak_bytes"), s.metric("tensorrt_memory_limit_bytes")
    report("the limit holds", limit == mib << 20 and peak is not None and peak <= limit, f"{peak} of {limit}")
    s.process.send_signal(signal.SIGTERM)
    report("status 0 again", s.wait() == 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--model", default=os.environ.get("EMBEDDING_MODEL", os.path.join(EMBEDDING, "model")))
    # The weights that are not mapped fit, the attention of one long text (12 x 256 x 256 x 4 bytes, twice) besides not.
    parser.add_argument("--low-limit", type=int, default=20, help="MiB in which a short text can be computed and one of 256 tokens cannot")
    parser.add_argument("--tiny", action="store_true")
    args = parser.parse_args()
    if args.tiny:
        import tiny_model
        with tempfile.TemporaryDirectory() as directory:
            cases = tiny_model.make(directory, os.path.join(EMBEDDING, "tokens.json"))
            return check(args.program, directory, cases, 8)
    if not os.path.exists(os.path.join(args.model, "model.safetensors")):
        print(f"SKIP: no model in {args.model}; examples/embedding/get_model.sh fetches it")
        return 77
    with open(os.path.join(EMBEDDING, "expected.json"), encoding="utf-8") as f:
        cases = json.load(f)
    return check(args.program, args.model, cases, args.low_limit)


def check(program, model, cases, low_limit):
    s = Service(program, model)
    answers(s, cases)
    refusals(s)
    stop(s, cases[0])
    ceiling(program, model, cases[0], low_limit)
    print(f"{len(failed)} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
