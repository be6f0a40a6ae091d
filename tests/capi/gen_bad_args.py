#!/usr/bin/env python3
"""Writes a C program that calls every exported function with bad arguments.

  gen_bad_args.py OUTPUT.c

The declarations come from the public headers; what a parameter may be follows from its type, and for operators from the schema in the
comment (`Tensor?` may be NULL, `Tensor` may not). bad_args_support.c makes the arguments and judges what comes back: no crash, a status
wherever an argument is invalid, outputs untouched and tensors unchanged on failure.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "checks"))

import cheaders  # noqa: E402

# Called by hand in bad_args_support.c (raw memory, boxed values), or with an effect on what follows.
BY_HAND = {"trt_tensor_from_data", "trt_tensor_from_blob", "trt_tensor_copy_to_host", "trt_op_call", "trt_values_release", "trt_scope_begin"}

SIMPLE = {
    "int64_t": "arg_int", "double": "arg_double", "float": "arg_double", "bool": "arg_bool", "trt_scalar": "arg_scalar", "trt_device": "arg_device",
    "trt_generator*": "arg_generator", "const trt_generator*": "arg_generator", "size_t": "arg_index",
}
OPTIONAL = {"const int64_t*": ("int64_t", "arg_optional_int"), "const double*": ("double", "arg_optional_double"), "const bool*": ("bool", "arg_optional_bool"),
            "const trt_scalar*": ("trt_scalar", "arg_optional_scalar"), "const trt_device*": ("trt_device", "arg_optional_device")}
LISTS = {"const int64_t*": ("struct int_list", "arg_int_list"), "const double*": ("struct double_list", "arg_double_list"),
         "const trt_tensor* const*": ("struct tensor_list", "arg_tensor_list")}
# Handle types of which bad_args_handles.c can make one; of others only NULL is passed.
MAKERS = {"trt_module", "trt_state_dict", "trt_optimizer", "trt_scheduler", "trt_safetensors", "trt_dataset", "trt_data_loader", "trt_tensor_list", "trt_status"}
FIELDS = {"int64_t": "odd_int64", "int32_t": "odd_int32", "double": "odd_double", "float": "odd_float", "bool": "odd_bool"}
INTEGERS = {"int32_t", "uint32_t", "uint64_t", "int"}


def header_text():
    return "".join(open(os.path.join(cheaders.INCLUDE, h), encoding="utf-8").read() for h in cheaders.public_headers())


def schemas(functions):
    """{function: schema text}, in-place and out forms with that of their functional form."""
    out = {}
    for f in functions:
        m = re.search(r"Schema: `([^`]*)`", f.comment)
        if m:
            out[f.name] = " ".join(m.group(1).split())
    for f in functions:
        m = re.search(r"form of `?(trt_\w+)`?:", f.comment)
        if m and m.group(1) in out:
            out[f.name] = out[m.group(1)]
    return out


class Emitter:
    def __init__(self):
        self.functions = cheaders.all_functions()
        text = header_text()
        bodies = re.findall(r"typedef struct (\w+) \{(.*?)\n\}", re.sub(r"/\*.*?\*/", "", text, flags=re.S), flags=re.S)
        self.structs = {name: re.findall(r"^\s*(\w+) (\w+)(?:\[(\d+)\])?;", body, flags=re.M) for name, body in bodies}
        self.enums = set(re.findall(r"typedef enum (\w+) \{", text))
        self.handles = set(re.findall(r"typedef struct (\w+) \1;", text))
        self.function_types = set(re.findall(r"typedef [\w\s*]+\(\*(\w+)\)", text))
        self.schemas = schemas(self.functions)
        self.names = {f.name for f in self.functions}

    def required(self, f, p):
        """Whether NULL (or no dtype) for this parameter makes the call invalid for certain."""
        if f.result != "trt_status*":
            return False
        schema = self.schemas.get(f.name)
        if schema:
            m = re.search(r"(\w+(?:\([a-z]!?\))?)(\??)(\[\d*\]\??)? " + re.escape(p.name) + r"\b", schema)
            return not (m and m.group(2) == "?")
        return "NULL" not in f.comment

    def emit(self, f):
        """The body of the trial of one function, or None where it is called by hand."""
        if f.name in BY_HAND:
            return None
        before, args, after, parameters, skip = [], [], [], 0, False
        status = f.result == "trt_status*"
        for i, p in enumerate(f.parameters):
            following = f.parameters[i + 1] if i + 1 < len(f.parameters) else None
            n = f"a{i}"
            req = "true" if self.required(f, p) else "false"
            base = p.type.replace("const ", "").rstrip("*").strip()
            if skip:
                skip = False
                continue
            parameters += 1
            if f.name.endswith("_release"):
                args.append("NULL")
                continue
            if p.type in LISTS and following and following.type == "size_t" and (following.name.endswith("_count") or following.name in ("count", "ndim")):
                struct, maker = LISTS[p.type]
                extra = ", " + ("true" if self.optional_elements(f, p) else "false") if maker == "arg_tensor_list" else ""
                before.append(f"  {struct} {n};\n  {maker}(t, &{n}{extra});\n")
                args += [f"{n}.data", f"{n}.count"]
                skip = True
            elif p.type == "const char* const*":
                own = bool(following and following.type == "size_t")
                before.append(f"  struct string_list {n};\n  arg_string_list(t, &{n}, {'true' if own else 'false'});\n")
                args += [f"{n}.data", f"{n}.count"] if own else [f"{n}.data"]
                skip = own
            elif p.type.endswith("* const*") and p.type[:-len("* const*")] in MAKERS and following and following.type == "size_t":
                handle = p.type[:-len("* const*")]
                before.append(f"  struct handle_list {n};\n  arg_list_{handle}(t, &{n});\n")
                args += [f"({handle}* const*){n}.items", f"{n}.count"]
                skip = True
            elif p.type.endswith("*") and base in MAKERS and p.type in (f"{base}*", f"const {base}*"):
                before.append(f"  {base}* {n} = arg_{base}(t, {req});\n")
                args.append(n)
            elif p.type in ("const trt_tensor*", "trt_tensor*"):
                before.append(f"  trt_tensor* {n} = arg_tensor(t, {req});\n")
                args.append(n)
            elif p.type in SIMPLE:
                c_type = {"float": "double"}.get(p.type, p.type)
                before.append(f"  {c_type} {n} = {SIMPLE[p.type]}(t);\n")
                args.append(f"(float){n}" if p.type == "float" else n)
            elif p.type == "trt_dtype":
                before.append(f"  trt_dtype {n} = arg_dtype(t, {'true' if self.required(f, p) and f.name in self.schemas else 'false'});\n")
                args.append(n)
            elif p.type in OPTIONAL and not (p.type.startswith("const int64_t") and status and p.name in ("sizes", "strides")):
                storage, maker = OPTIONAL[p.type]
                before.append(f"  {storage} s{i} = {'{0}' if storage.startswith('trt_') else '0'};\n  {p.type} {n} = {maker}(t, &s{i});\n")
                args.append(n)
            elif p.type == "const char*":
                before.append(f"  const char* {n} = arg_string(t, {req});\n")
                args.append(n)
            elif p.type in INTEGERS or p.type in self.enums:
                before.append(f"  {p.type} {n} = ({p.type})arg_enum(t);\n")
                args.append(n)
            elif p.type in self.function_types or base in ("void", "char", "trt_status", "trt_value"):
                args.append("NULL")  # no callback, nothing to release
            elif p.type.endswith("**") and base.rstrip("*") in self.handles | {"char", "trt_value"}:
                pointer = p.type[:-1]
                # An array: some functions give several.
                before.append(f"  {pointer} {n}[kMaxOuts];\n  for (int i = 0; i < kMaxOuts; ++i) {n}[i] = SENTINEL({pointer});\n"
                              f"  const bool null_{n} = arg_null(t, {req if status else 'false'}, \"{p.name}\");\n")
                args.append(f"null_{n} ? NULL : {n}")
                release = {"char": "trt_string_release"}.get(base.rstrip("*"), base.rstrip("*") + "_release")
                drop = f"{release}({n}[i])" if release in self.names else f"(void){n}[i]"
                # With a list as input the count of outputs may be 0.
                touched = f"{n}[0] != SENTINEL({pointer})"
                several = any(q.type in LISTS for q in f.parameters) and f.name not in self.schemas
                check = f"check_out(t, success, {touched}, \"{p.name}\")" if not several else f"check_out(t, false, !success && {touched}, \"{p.name}\")"
                after.append(f"  if (!null_{n}) {{\n    {check};\n    for (int i = 0; success && i < kMaxOuts; ++i)\n"
                             f"      if ({n}[i] != SENTINEL({pointer})) {drop};\n  }}\n")
            elif p.type.endswith("*") and base in self.handles:
                args.append("NULL")
                before.append("  t->index++;\n")
                if self.required(f, p):
                    before.append('  t->must_fail = "a handle is NULL";\n')
            elif p.type.endswith("*") and not p.type.startswith("const"):
                # A number or a structure that is written (or a structure of options that is read).
                before.append(f"  union {{\n    {base} value;\n    unsigned char bytes[sizeof({base})];\n  }} {n}[kMaxOuts], before_{n};\n"
                              f"  memset({n}, 0x5A, sizeof {n});\n")
                if base in self.structs and base + "_init" in self.names and f.name != base + "_init":
                    before.append(f"  {base}_init(&{n}[0].value);\n")
                before.append(f"  memcpy(&before_{n}, {n}, sizeof before_{n});\n  const bool null_{n} = arg_null(t, {req if status else 'false'}, \"{p.name}\");\n")
                args.append(f"null_{n} ? NULL : &{n}[0].value")
                after.append(f"  if (!success && memcmp(&before_{n}, {n}, sizeof before_{n}) != 0) complain(t, \"failed but wrote '{p.name}'\");\n")
            elif p.type.startswith("const ") and p.type.endswith("*") and base in self.structs:
                before.append(f"  {base} {n};\n  memset(&{n}, 0, sizeof {n});\n")
                if base + "_init" in self.names:
                    before.append(f"  {base}_init(&{n});\n")
                    for c_type, field, size in self.structs[base]:
                        for place in [f"[{k}]" for k in range(int(size))] if size else [""]:
                            if field == "struct_size":
                                before.append(f"  odd_size(t, &{n}.{field});\n")
                            elif c_type in FIELDS:
                                before.append(f"  {FIELDS[c_type]}(t, &{n}.{field}{place});\n")
                before.append(f"  const bool null_{n} = arg_null(t, false, \"{p.name}\");\n")
                args.append(f"null_{n} ? NULL : &{n}")
            else:
                raise SystemExit(f"{f.header}:{f.line}: {f.name}: no rule for a parameter of type {p.type}")
        call = f"{f.name}({', '.join(args)})"
        body = [f"static void call_{f.name}(struct trial* t) {{\n", *before, "  announce(t);\n"]
        if status:
            body.append(f"  const bool success = end_trial(t, {call});\n")
        elif f.result in ("trt_status*", "void"):
            body.append(f"  {call};\n  const bool success = true;\n")
        else:
            body.append(f"  (void){call};\n  const bool success = true;\n")
        if not status:
            after = []
        if f.name in ("trt_status_create", "trt_status_create_with"):
            body[-1] = f"  trt_status_release({call});\n  const bool success = true;\n"
        elif f.name.endswith("_retain") and f.name[:-7] + "_release" in self.names:
            body[-1] = f"  {f.name[:-7]}_release({call});\n  const bool success = true;\n"
        body += ["  (void)success;\n", *after, "  release_inputs(t);\n}\n"]
        return parameters, "".join(body)

    def optional_elements(self, f, p):
        schema = self.schemas.get(f.name)
        if schema:
            return bool(re.search(r"Tensor\?\[\] " + re.escape(p.name) + r"\b", schema))
        return "NULL" in f.comment


def main():
    emitter = Emitter()
    out = ["/* Generated by gen_bad_args.py from the public headers. */\n#include \"bad_args_support.h\"\n\n"]
    table = []
    for f in emitter.functions:
        emitted = emitter.emit(f)
        if emitted:
            table.append(f'    {{"{f.name}", {emitted[0]}, call_{f.name}}},\n')
            out.append(emitted[1] + "\n")
    out.append("const struct bad_args_function kFunctions[] = {\n" + "".join(table) + "};\nconst int kFunctionCount = sizeof kFunctions / sizeof kFunctions[0];\n")
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write("".join(out))


if __name__ == "__main__":
    main()
