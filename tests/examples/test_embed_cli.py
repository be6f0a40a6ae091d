#!/usr/bin/env python3
"""examples/python/embed.py: test_embed_cli.py PROGRAM

With the small model of tiny_model.py: the vectors of sentences given as arguments and as lines, in batches of all sizes, and how errors are told. With the real
model, too, where it is (EMBEDDING_MODEL, or examples/embedding/model): its vectors are those of expected.json to 1e-5.
"""

import json
import os
import subprocess
import sys
import tempfile

import tiny_model

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EMBEDDING = os.path.join(ROOT, "examples", "embedding")
failed = 0


def report(name, ok, detail=""):
    global failed
    failed += not ok
    print(("ok    " if ok else "FAIL  ") + name + (f": {detail}" if not ok else ""), flush=True)


def run(program, *arguments, lines=""):
    return subprocess.run([program, *arguments], input=lines.encode(errors="surrogatepass"), capture_output=True, timeout=240, check=False)


def off(done, cases):
    """The largest difference from the cases' vectors."""
    got = [json.loads(line) for line in done.stdout.splitlines()] if done.returncode == 0 else []
    if [len(v) for v in got] != [len(c["vector"]) for c in cases]:
        return f"status {done.returncode}, {len(got)} vectors, {done.stderr.decode()[-500:]}"
    return max((abs(x - y) for v, c in zip(got, cases) for x, y in zip(v, c["vector"])), default=0)


def near(name, done, cases):
    d = off(done, cases)
    report(name, isinstance(d, (int, float)) and d < 1e-5, d)


def tiny(program, directory):
    cases = tiny_model.make(directory, os.path.join(EMBEDDING, "tokens.json"))
    # Neither arguments nor lines can hold these.
    arguments = [c for c in cases if "\0" not in c["sentence"] and "\ud800" not in c["sentence"]]
    lines = [c for c in cases if "\n" not in c["sentence"]]
    near("arguments", run(program, "--model", directory, "--", *(c["sentence"] for c in arguments)), arguments)
    for size in ("1", "40", "100000"):
        near(f"lines, batches of {size} tokens", run(program, "--model", directory, "--batch-tokens", size, "--threads", "1", lines="\n".join(c["sentence"] for c in lines) + "\n"),
             lines)
    near("no lines", run(program, "--model", directory), [])
    for name, arguments, part in (("no model", ["--model", os.path.join(directory, "none"), "a"], "none"), ("bad number", ["--threads", "0", "a"], "--threads"),
                                  ("too many tokens", ["--model", directory, "--max-tokens", "257", "a"], "256"),
                                  ("too few tokens", ["--model", directory, "--max-tokens", "1", "a"], "at least 2")):
        done = run(program, *arguments)
        text = done.stderr.decode()
        report(name, done.returncode in (1, 2) and part in text and "Traceback" not in text and not done.stdout, f"{done.returncode} {text}")


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as directory:
        tiny(program, directory)
    model = os.environ.get("EMBEDDING_MODEL", os.path.join(EMBEDDING, "model"))
    if os.path.exists(os.path.join(model, "model.safetensors")):
        with open(os.path.join(EMBEDDING, "expected.json"), encoding="utf-8") as f:
            cases = [c for c in json.load(f) if "\n" not in c["sentence"]]
        near("the real model", run(program, "--model", model, lines="\n".join(c["sentence"] for c in cases)), cases)
    else:
        print(f"no model in {model}; examples/embedding/get_model.sh fetches it")
    print(f"{failed} checks failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
