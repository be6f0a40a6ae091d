#!/usr/bin/env python3
"""Every operator is documented in all five languages: what its declaration says (doc, formula, shapes, dtypes, gradient) stands before its declaration in
ops.h, in ops.hpp, in the type stubs of Python, in Java's and in Go's class of operators; with --python also in Python's docstrings.

  operator_docs.py [--python DIRECTORY_OF_THE_PACKAGE_TRT]
"""

import argparse
import glob
import html
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "src", "ops"))

from gen import model  # noqa: E402
from gen.docs import facts  # noqa: E402

DUMP = """
import json, trt
from trt import _C
docs = {name: [f.__doc__ or ""] for name, f in _C._operators.items()}
for name in dir(_C.TensorBase):
    docs.setdefault(name, []).append(getattr(_C.TensorBase, name).__doc__ or "")
print(json.dumps(docs))
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def plain(text):
    """The words of a text, without the markup of any language."""
    text = re.sub(r"</?(?:code|p)>", "", text)
    return re.sub(r"[\s`*/]+", "", html.unescape(text))


def blocks(text, comment, name):
    """{name: comments before declarations of that name}; both are regular expressions, the second with the group `name`."""
    found = {}
    for match in re.finditer(rf"(?P<comment>{comment})(?:{name})", text, re.M):
        found.setdefault(match["name"], []).append(plain(match["comment"]))
    return found


def python_stubs(directory):
    found = {}
    for path in glob.glob(os.path.join(directory, "*.pyi")):
        for match in re.finditer(r'^ *def (\w+)\([^\n]*\n +"""(.*?)"""$', read(path), re.M | re.S):
            found.setdefault(match[1], []).append(plain(match[2]))
    return found


def made(directory):
    """What the generators of the bindings write."""
    def run(*args):
        subprocess.run([sys.executable, *args], check=True, cwd=ROOT)
    ops = os.path.join(ROOT, "src", "ops")
    run("bindings/python/generate.py", "--out", directory)
    java, go = os.path.join(directory, "TensorOperators.java"), os.path.join(directory, "operators.go")
    run("bindings/java/operators.py", java, ops)
    run("bindings/go/operators.py", go, os.path.join(directory, "registry.go"), ops, *glob.glob(os.path.join(ROOT, "bindings", "go", "*.go")))
    return java, go


def load(path, name):
    import importlib.util
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python")
    args = parser.parse_args()
    java_names, go_names = load("bindings/java/operators.py", "java_operators"), load("bindings/go/operators.py", "go_operators")
    python_names = load("bindings/python/generate.py", "python_operators")
    c_comment, line_comment = r"/\*\*(?:(?!\*/).)*\*/\s*".replace(".", r"[\s\S]"), r"(?://[^\n]*\n)+"
    with tempfile.TemporaryDirectory() as directory:
        java, go = made(directory)
        languages = {
            "C": (blocks(read(os.path.join(ROOT, "include/tensorrt/ops.h")), c_comment, r"TRT_API trt_status\* (?P<name>\w+)\("), lambda v: v.c_symbol),
            "C++": (blocks(read(os.path.join(ROOT, "include/tensorrt/ops.hpp")), c_comment, r"inline [^\n(]*?(?P<name>\w+)\("), lambda v: v.cpp_name),
            "Python's stubs": (python_stubs(directory), lambda v: python_names.PRIVATE_METHODS.get(v.schema.name, v.schema.name)),
            "Java": (blocks(read(java), c_comment, r"(?: *@\w+\n)* *public [^\n(]*?(?P<name>\w+)\("), java_names.method_name),
            "Go": (blocks(read(go), line_comment, r"func (?:\([^)]*\) )?(?P<name>\w+)\("), go_names.go_name),
        }
    if args.python:
        run = subprocess.run([sys.executable, "-c", DUMP], env=dict(os.environ, PYTHONPATH=args.python), capture_output=True, text=True, check=True)
        docs = {name: [plain(d) for d in texts] for name, texts in json.loads(run.stdout).items()}
        languages["Python"] = (docs, languages["Python's stubs"][1])
    problems, count = [], 0
    for ops in model.load(os.path.join(ROOT, "src", "ops")).values():
        for op in ops:
            if op.hidden or "internal" in op.tags:
                continue
            count += 1
            functional = model.variants(op)[0]
            for language, (found, name_of) in languages.items():
                if op.schema.name in python_names.PROPERTIES and language.startswith("Python"):
                    continue  # documented by hand, in tensor.cpp
                texts = found.get(name_of(functional), [])
                sentences = [op.doc] + facts(op)
                if language.startswith("Python"):  # `self` may be `input`, and each sentence stands once
                    texts = ["".join(texts).replace("input", "self")]
                    sentences = [s.replace("input", "self") for s in sentences]
                for sentence in sentences:
                    if not any(plain(sentence) in t for t in texts):
                        problems.append(f"{language}: {op.name}: {sentence!r} does not stand before {name_of(functional)}")
    for p in problems[:40]:
        print(p)
    if problems:
        sys.exit(f"{len(problems)} texts are missing")
    print(f"{count} operators are documented in {', '.join(languages)}")


if __name__ == "__main__":
    main()
