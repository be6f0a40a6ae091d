#!/usr/bin/env python3
"""Every C function is used by the Java binding: reach.py DECLARE_DIR HEADER... -- SOURCE_OR_DIR...

A function that the facade never calls is one that Java cannot reach. Exceptions stand below with their reason.
"""

import os
import re
import sys

# What Java has another way for.
NOT_NEEDED = {
    "trt_scope_begin": "TensorScope keeps Java's own objects", "trt_scope_end": "the same", "trt_scope_keep": "the same",
    "trt_tensor_owns_hook": "for collectors that see through native memory; Java's does not",
    "trt_op_call": "every operator has a method", "trt_values_release": "the same", "trt_op_count": "the same", "trt_op_name": "the same",
    "trt_op_schema": "the same", "trt_dispatcher_dump": "for those who work on the library",
    "trt_scalar_double": "class Scalar", "trt_scalar_int": "the same", "trt_scalar_bool": "the same", "trt_scalar_complex": "the same",
    "trt_tensor_list_get": "arrays of tensors are made from trt_tensor_list_data",
    "trt_module_apply": "Module.apply walks itself", "trt_module_child": "Module.submodule",
    "trt_state_dict_tensor": "StateDict.get", "trt_safetensors_metadata": "Safetensors.metadata gives all",
    "trt_safetensors_dtype_text": "Safetensors.dtype", "trt_safetensors_tensors": "Safetensors.names and get", "trt_code_name": "enum ErrorCode",
    "trt_tensor_from_data": "fromArray reads Java's arrays in place", "trt_status_create": "trt_status_create_with", "trt_shutdown": "TensorRuntime.emptyCache",
    "trt_safetensors_retain": "objects of Java have one handle", "trt_module_retain": "the same", "trt_optimizer_retain": "the same",
    "trt_scheduler_retain": "the same", "trt_dataset_retain": "the same", "trt_data_loader_retain": "the same", "trt_generator_retain": "the same",
    "trt_state_dict_retain": "the same", "trt_cancel_token_retain": "the same", "trt_node_retain": "the same",
}


def main():
    at = sys.argv.index("--")
    sys.path.insert(0, sys.argv[1])
    import declare

    text = []
    for p in sys.argv[at + 1:]:
        files = [os.path.join(d, f) for d, _, fs in os.walk(p) for f in fs] if os.path.isdir(p) else [p]
        text += [open(f, encoding="utf-8").read() for f in files if f.endswith((".java", ".cpp", ".h", ".i"))]
    used = set(re.findall(r"\b(trt_\w+)\b", "\n".join(text)))
    names = {f.name for h in sys.argv[2:at] for f in declare.parse(open(h, encoding="utf-8").read())[1]}
    missing = sorted(n for n in names if n not in used and n not in NOT_NEEDED)
    stale = sorted(n for n in NOT_NEEDED if n not in names)
    for n in missing:
        print(f"{n}: no Java method calls it")
    for n in stale:
        print(f"{n}: an exception for a function that does not exist")
    print(f"{len(names)} functions")
    sys.exit(1 if missing or stale or not names else 0)


if __name__ == "__main__":
    main()
