#!/usr/bin/env python3
"""The Java programs in the READMEs run as they stand there: readme.py JAVA CLASSPATH"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
# What both print: the gradient of the sum of x[0] * x.
PRINTED = "tensor([[5., 8.],\n        [1., 2.]])\n"


def programs(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return re.findall(r"^```java\n(.*?)^```", f.read(), re.S | re.M)


def main():
    java, classpath = sys.argv[1:]
    failed = 0
    for path in ("README.md", "bindings/java/README.md"):
        found = programs(path)
        if not found:
            print(f"{path} has no Java program")
            failed += 1
        for text in found:
            if "class Program" not in text:  # statements, below the imports
                imports = re.match(r"(?:import [^\n]*\n|\n)*", text)[0]
                text = f"{imports}class Program {{\n  public static void main(String[] arguments) {{\n{text[len(imports):]}  }}\n}}\n"
            with tempfile.TemporaryDirectory() as directory:
                source = os.path.join(directory, "Program.java")
                with open(source, "w", encoding="utf-8") as f:
                    f.write(text)
                done = subprocess.run([java, f"-Djava.io.tmpdir={directory}", "-cp", classpath, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode or done.stdout != PRINTED:
                print(f"{path}: exit status {done.returncode}\n{done.stdout}")
                failed += 1
    if not failed:
        print("the programs in the READMEs print what they should")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
