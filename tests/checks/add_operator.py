#!/usr/bin/env python3
"""Adds the operators of src/ops/README.md to a copy of the library and uses them: that text must work as it stands.

  add_operator.py BUILD_DIRECTORY

Where the build has the Python binding, that is made anew with them, too: they must be there without an edit by hand.

The blocks of the text marked `# file: PATH` or `// file: PATH` are written to a temporary folder, the generator runs with them, what
that changes is compiled as the build compiles its neighbours, and the build's objects are linked again with these replaced.
"""

import ctypes
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "src", "ops"))
LIBRARY = "src/libtensorrt.so.0.1.0"
ARCHIVE = "src/libtensorrt_objects.a"
PACKAGE = "bindings/python/trt"
JOBS = 2


def blocks(text):
    """{path: content} of the marked code blocks; blocks of one path follow each other."""
    files = {}
    for body in re.findall(r"^```\w+\n(.*?)^```$", text, re.M | re.S):
        first, _, rest = body.partition("\n")
        m = re.match(r"(?:#|//) file: (\S+)$", first)
        if m:
            files[m[1]] = files.get(m[1], "") + rest
    return files


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:300]}\nfailed:\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


class Build:
    """The commands of an existing Meson build."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        with open(os.path.join(self.directory, "compile_commands.json"), encoding="utf-8") as f:
            commands = json.load(f)
        self.compile_commands = {os.path.basename(c["file"]): shlex.split(c["command"]) for c in commands if ARCHIVE in c["output"]}
        self.python_operators = next((c for c in commands if c["file"] == PACKAGE + "/operators.cpp"), None)

    def compile(self, source, neighbour, folder):
        """Compiles `source` as the build compiles `neighbour`, seeing the generated files of `folder` first."""
        command = list(self.compile_commands[neighbour])
        start = next(i for i, word in enumerate(command) if word.startswith("-I"))
        end = command.index("-MD")
        out = os.path.join(folder, os.path.basename(source) + ".o")
        command = command[:start] + ["-I" + folder, "-Werror"] + command[start:end] + ["-o", out, "-c", source]
        run(command, self.directory)
        return out

    def link(self, replaced, added, out):
        """Links the library with the objects whose names end like those in `replaced` left out and `added` put in."""
        command = shlex.split(run(["ninja", "-t", "commands", LIBRARY], self.directory).strip().splitlines()[-1])
        objects = [o if o.startswith("src/") else "src/" + o for o in run(["ar", "t", ARCHIVE], self.directory).split()]
        kept = [o for o in objects if not o.endswith(tuple("_" + r + ".o" for r in replaced))]
        if len(kept) + len(replaced) != len(objects):
            raise SystemExit(f"{len(objects) - len(kept)} objects of the build belong to {len(replaced)} changed files")
        command[command.index("-o") + 1] = out
        at = command.index(ARCHIVE)
        run(command[:at] + kept + added + command[at + 1:], self.directory)


def make_python(build, folder, library):
    """The package trt with the operators of `folder`, in a folder of its own; None where the build has none."""
    import generate
    from gen import emit_c, model

    if not build.python_operators:
        return None
    package = os.path.join(folder, "package")
    made = [f for f in os.listdir(os.path.join(build.directory, PACKAGE)) if f.startswith("_C.") and f.endswith(".so")]
    if len(made) != 1:
        raise SystemExit(f"the build has {len(made)} modules trt._C")
    shutil.copytree(os.path.join(build.directory, PACKAGE), os.path.join(package, "trt"), ignore=shutil.ignore_patterns("*.p", "*.a", "*.so", "*.cpp", "__pycache__"))
    run([sys.executable, os.path.join(ROOT, "bindings/python/generate.py"), "--out", os.path.join(package, "trt"), "--extra", os.path.join(folder, "declarations")], folder)
    # The headers as the generator would write them.
    include = os.path.join(folder, "include")
    shutil.copytree(os.path.join(ROOT, "include"), include)
    with open(os.path.join(include, "tensorrt", "ops.h"), "w", encoding="utf-8") as f:
        f.write(emit_c.header(model.load(generate.HERE, os.path.join(folder, "declarations"))))
    command = shlex.split(build.python_operators["command"])
    start = next(i for i, word in enumerate(command) if word.startswith("-I"))
    compiled = os.path.join(folder, "python_operators.o")
    source = os.path.join(package, "trt", "operators.cpp")
    run(command[:start] + ["-I" + include] + command[start:command.index("-MD")] + ["-o", compiled, "-c", source], build.directory)
    link = shlex.split(run(["ninja", "-t", "commands", f"{PACKAGE}/{made[0]}"], build.directory).strip().splitlines()[-1])
    link[link.index("-o") + 1] = os.path.join(package, "trt", made[0])
    link = [compiled if word == build.python_operators["output"] else library if word.endswith("libtensorrt.so.0.1.0") else word for word in link]
    run(link, build.directory)
    return package


def make_library(build_directory, folder):
    import generate

    with open(os.path.join(ROOT, "src", "ops", "README.md"), encoding="utf-8") as f:
        files = blocks(f.read())
    declarations = os.path.join(folder, "declarations")
    os.makedirs(declarations)
    os.makedirs(os.path.join(folder, "gen"))
    written, groups = [], []
    for path, text in files.items():
        name = os.path.basename(path)
        if os.path.exists(os.path.join(ROOT, path)):
            raise SystemExit(f"the example of the text has the path of a file that exists: {path}")
        target = os.path.join(declarations if path.endswith(".yaml") else folder, name)
        with open(target, "w", encoding="utf-8") as f:
            f.write(text)
        if path.endswith(".yaml"):
            groups.append(name[:-5])
        else:
            written.append(target)
    if not groups or not written:
        raise SystemExit("src/ops/README.md has no marked blocks")
    before, after = generate.generate()[1], generate.generate(declarations)[1]
    for name, text in after.items():
        with open(os.path.join(folder, "gen", name), "w", encoding="utf-8") as f:
            f.write(text)
    # The other groups' files change only in that they include one header more.
    replaced = [name for name in before if name.endswith(".cpp") and before[name] != after[name] and not name.endswith(("_ops.cpp", "_autograd.cpp"))]
    new = [name for name in after if name not in before and name.endswith(".cpp")]
    build = Build(build_directory)
    neighbour = {name: name if name in before else "shape" + name[name.rindex("_"):] for name in replaced + new}
    jobs = [(os.path.join(folder, "gen", name), neighbour[name]) for name in replaced + new] + [(path, "shape.cpp") for path in written]
    jobs.sort(key=lambda job: "kernels" not in job[0])  # the longest first
    with ThreadPoolExecutor(JOBS) as pool:
        objects = list(pool.map(lambda job: build.compile(*job, folder), jobs))
    out = os.path.join(folder, "libtensorrt.so")
    build.link(replaced, objects, out)
    return build, out


# --- use ------------------------------------------------------------------------------------------------------------------

def check(condition, what):
    if not condition:
        raise SystemExit(f"add_operator: {what}")


def close(actual, expected, what):
    check(len(actual) == len(expected) and all(abs(a - e) <= 1e-12 * max(1.0, abs(e)) for a, e in zip(actual, expected)), f"{what}: {actual}, not {expected}")


def fails(call, *texts):
    try:
        call()
    except Exception as e:
        check("Error" in [c.__name__ for c in type(e).__mro__] and all(t in str(e) for t in texts), f"the message {str(e)!r} does not say {texts}")
        return
    check(False, f"no error that says {texts}")


def use():
    """By the operator table. Runs in a process of its own, whose package trt is that of the build and has the new library."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "golden"))
    import binding as trt

    names = set(trt.operators())
    for name in ("squareplus", "squareplus_", "squareplus.out", "band_sum", "band_sum.out"):
        check(name in names, f"no operator {name}")
        symbol = "trt_" + name.replace(".", "_")
        check(hasattr(ctypes.CDLL(None), symbol), f"no function {symbol}")
    meta = trt.Device("meta")

    # squareplus
    xs = [-1.5, 0.0, 0.25, 3.0]
    x = trt.from_flat(xs, [2, 2], "float64", requires_grad=True)
    y = trt.call("squareplus", x, 2.0)
    root = [math.sqrt(v * v + 2.0) for v in xs]
    close(trt.flat(y), [(v + r) / 2 for v, r in zip(xs, root)], "squareplus")
    close(trt.flat(trt.call("squareplus", x)), [(v + math.sqrt(v * v + 4)) / 2 for v in xs], "squareplus with the default")
    w = trt.from_flat([1.0, 2.0, -1.0, 0.5], [2, 2], "float64")
    g = trt.grad([y], [x], [w], create_graph=True)[0]
    close(trt.flat(g), [f * (1 + v / r) / 2 for f, v, r in zip(trt.flat(w), xs, root)], "its gradient")
    gg = trt.grad([trt.call("sum", g)], [x])[0]
    close(trt.flat(gg), [f / r ** 3 for f, r in zip(trt.flat(w), root)], "its second derivative")  # b / (2 r^3) with b = 2
    check(trt.call("squareplus", trt.from_flat([1, 2], [2], "int64")).dtype.name == "float32", "squareplus of integers is not float32")
    z = trt.call("squareplus", trt.call("empty", [3, 0, 2], dtype=trt.DTYPES["float16"], device=meta))
    check(z.shape == (3, 0, 2) and z.dtype.name == "float16" and z.device.type == meta.type, "squareplus on Meta")
    t = trt.from_flat(xs, [4], "float64")
    trt.call("squareplus_", t, 2.0)
    close(trt.flat(t), trt.flat(y), "squareplus_")
    fails(lambda: trt.call("squareplus"), "squareplus", "self")

    # band_sum
    n, k = 3, 1
    values = [float(i * i - 7) for i in range(2 * n * 4)]
    m = trt.from_flat(values, [2, n, 4], "float64", requires_grad=True)

    def inside(i, j):
        return j <= i <= j + k

    sums = [sum(values[b * n * 4 + i * 4 + j] for i in range(n) for j in range(4) if inside(i, j)) for b in range(2)]
    y = trt.call("band_sum", m, k)
    check(y.shape == (2,), f"band_sum has shape {y.shape}")
    close(trt.flat(y), sums, "band_sum")
    w = trt.from_flat([2.0, -3.0], [2], "float64", requires_grad=True)
    g = trt.grad([y], [m], [w], create_graph=True)[0]
    close(trt.flat(g), [f if inside(i, j) else 0.0 for f in (2.0, -3.0) for i in range(n) for j in range(4)], "its gradient")
    close(trt.flat(trt.grad([trt.call("sum", g)], [w])[0]), [2.0 * n - 1, 2.0 * n - 1], "its second derivative")
    strided = trt.call("transpose", trt.from_flat([values[b * 12 + i * 4 + j] for b in range(2) for j in range(4) for i in range(n)], [2, 4, n], "float64"), 1, 2)
    close(trt.flat(trt.call("band_sum", strided, k)), sums, "band_sum of a transposed tensor")
    out = trt.from_flat([0.0, 0.0], [2], "float64")
    trt.call("band_sum.out", strided, k, out=out)
    close(trt.flat(out), sums, "band_sum.out")
    z = trt.call("band_sum", trt.call("empty", [5, 6, 2, 2], dtype=trt.DTYPES["float32"], device=meta))
    check(z.shape == (5, 6) and z.dtype.name == "float32" and z.device.type == meta.type, "band_sum on Meta")
    fails(lambda: trt.call("band_sum", trt.from_flat([1.0, 2.0, 3.0], [3], "float32")), "band_sum", "float32[3]")
    fails(lambda: trt.call("band_sum", trt.from_flat([1, 2], [1, 2], "int64")), "band_sum", "int64[1, 2]")
    fails(lambda: trt.call("band_sum", m, -1), "band_sum", "-1")


def use_python():
    """The same through the package trt on sys.path."""
    import trt

    x = trt.tensor([-1.5, 0.25], dtype=trt.float64, requires_grad=True)
    expected = [(v + math.sqrt(v * v + 2)) / 2 for v in x.tolist()]
    for y in (trt.squareplus(x, 2), trt.squareplus(input=x, b=2.0), x.squareplus(b=2)):
        close(y.tolist(), expected, "trt.squareplus")
    y.sum().backward()
    close(x.grad.tolist(), [(1 + v / math.sqrt(v * v + 2)) / 2 for v in x.tolist()], "its gradient")
    t, out = x.detach().clone(), trt.empty(0, dtype=trt.float64)
    check(t.squareplus_(2) is t and trt.squareplus(x.detach(), 2, out=out) is out, "the variants do not give their tensor")
    close(t.tolist() + out.tolist(), 2 * expected, "squareplus_ and out=")
    check("Barron" in trt.squareplus.__doc__ and "b=4" in trt.squareplus.__doc__, "squareplus has no documentation")
    check(trt.ones(2, 3, 3).band_sum(1).tolist() == [5.0, 5.0], "band_sum")
    try:
        trt.band_sum(trt.ones(3))
    except ValueError as e:
        check("band_sum" in str(e), str(e))
    else:
        check(False, "band_sum of a vector is no error")
    with open(os.path.join(os.path.dirname(trt.__file__), "_ops.pyi"), encoding="utf-8") as f:
        check("def band_sum(input: Tensor, k: _int = 0" in f.read(), "no type stub of band_sum")


def main():
    if sys.argv[1:] == ["--use"]:
        return use()
    if sys.argv[1:] == ["--use-python"]:
        return use_python()
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        build, library = make_library(sys.argv[1], folder)
        package = make_python(build, folder, library)
        if not package:
            print("skipped: the build has no package trt to use the operators with")
            return 77
        environment = {**os.environ, "PYTHONPATH": os.path.join(build.directory, os.path.dirname(PACKAGE)), "LD_PRELOAD": library}
        if subprocess.run([sys.executable, os.path.abspath(__file__), "--use"], env=environment).returncode:
            return 1
        if subprocess.run([sys.executable, os.path.abspath(__file__), "--use-python"],
                                      env={**os.environ, "PYTHONPATH": package, "LD_PRELOAD": library}).returncode:
            return 1
        # And the checks that every operator has.
        opinfo = [sys.executable, os.path.join(ROOT, "tests", "opinfo", "run.py"), "--library", library, "--ops", "squareplus,band_sum", "--jobs", "1"]
        done = subprocess.run(opinfo, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": environment["PYTHONPATH"]})
        if done.returncode:
            print(done.stdout + done.stderr)
            return 1
    print(f"add_operator: the operators of src/ops/README.md work ({time.monotonic() - started:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
