#!/usr/bin/env python3
"""An include may only point downward. Prints each include that does not, and fails when there is one.

The layers, lowest first, are the lines of LAYERS; a file may include its own layer (directories on one line: only their own) and those
below. include/ is the contract: it sees nothing but itself. Raw kernels see base and the few headers of core that describe elements.
"""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LAYERS = [
    ["base"], ["device"], ["core"], ["kernels"], ["dispatch"], ["iter"], ["ops"], ["autograd"], ["profiler"], ["graph"], ["compile"],
    ["nn", "optim", "data", "io"], ["distributed"], ["capi"],
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
# What kernels/ may see of core.
ELEMENT_HEADERS = {"core/bool.h", "core/dtype.h", "core/half.h", "core/philox.h", "core/device.h", "core/scalar.h"}
SUFFIXES = (".h", ".hpp", ".c", ".cc", ".cpp", ".inc")


def sources():
    for top in ("include", "src", "kernels"):
        for directory, _, files in os.walk(os.path.join(ROOT, top)):
            for f in files:
                if f.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(directory, f), ROOT)


def layer_of(path):
    """The layer of a source file: "include", "kernels" or a directory of src/."""
    parts = path.split(os.sep)
    return parts[1] if parts[0] == "src" else parts[0]


def layer_of_include(text, path):
    """(layer, name relative to its root), or None for a header of the system."""
    first = text.split("/")[0]
    if first == "tensorrt":
        return "include", text
    if first == "kernels" or first in RANK:
        return first, text
    if first == "gen":  # made by the operator generator
        return "ops", text
    if "/" not in text and os.path.exists(os.path.join(ROOT, os.path.dirname(path), text)):
        return layer_of(path), text
    return None


def violations(path):
    own = layer_of(path)
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            m = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            target = m and layer_of_include(m.group(1), path)
            if not target:
                continue
            layer, text = target
            if layer == own:
                continue
            where = f"{path}:{number}: {text}: "
            if own == "include":
                yield where + "a public header sees only include/"
            elif layer == "include":
                if own != "capi":
                    yield where + "only capi sees the public headers"
            elif own == "kernels":
                if RANK[layer] > RANK["kernels"] or (layer not in ("base",) and text not in ELEMENT_HEADERS):
                    yield where + "kernels see base and " + ", ".join(sorted(ELEMENT_HEADERS))
            elif own not in RANK:
                yield f"{path}: directory {own} has no place in the layers"
                return
            elif RANK[layer] >= RANK[own]:
                yield where + f"{layer} does not lie below {own}"


def main():
    found = [v for path in sorted(sources()) for v in violations(path)]
    print("\n".join(found) if found else "no upward include")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
