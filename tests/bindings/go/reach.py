#!/usr/bin/env python3
"""Every function of the C API is reached by the Go package: reach.py PACKAGE HEADER..."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "bindings", "swig"))

import declare  # noqa: E402

# What Go does in another way, and how.
OTHERWISE = {
    "trt_scalar_double": "capi.Double", "trt_scalar_int": "capi.Int", "trt_scalar_bool": "capi.Bool", "trt_scalar_complex": "capi.Complex",
    "trt_scope_begin": "InScope", "trt_scope_end": "InScope", "trt_scope_keep": "Scope.Keep",
    "trt_tensor_owns_hook": "none: Go's collector does not see native memory",
    "trt_safetensors_find": "Safetensors.Tensor", "trt_safetensors_tensors": "LoadStateDict", "trt_safetensors_metadata": "Safetensors.Metadata",
    "trt_safetensors_save": "StateDict.Save", "trt_state_dict_tensor": "StateDict.Get", "trt_tensor_list_get": "slices of tensors, from trt_tensor_list_data",
}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    text = ""
    for path in glob.glob(os.path.join(sys.argv[1], "*.go")) + glob.glob(os.path.join(sys.argv[1], "internal", "capi", "*")):
        # What SWIG made reaches everything.
        if not path.endswith("_test.go") and not os.path.basename(path).startswith("capi"):
            with open(path, encoding="utf-8") as f:
                text += f.read()
    reached = {w[0].lower() + w[1:] for w in re.findall(r"\b[tT]rt_\w+", text)}
    functions = []
    for header in sys.argv[2:]:
        with open(header, encoding="utf-8") as f:
            functions += [g.name for g in declare.parse(f.read())[1]]
    # An object of Go is its one handle; the few that are counted again are.
    missing = [f for f in functions if f not in reached and f not in OTHERWISE and not f.endswith("_retain")]
    stale = [f for f in OTHERWISE if f not in functions or f in reached]
    for f in missing:
        print(f"{f} is not reached")
    for f in stale:
        print(f"{f} need not be excepted")
    print(f"{len(functions)} functions")
    return 1 if missing or stale or len(functions) < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
