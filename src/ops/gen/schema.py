"""Operator schemas (PyTorch's grammar) and how their types look in C++ and in C."""

import re
from dataclasses import dataclass, field, replace

_TYPE = re.compile(r"^(Tensor|ScalarType|Scalar|int|float|bool|Device|str|Generator)(\([a-z](!?)\))?(\??)(\[(\d*)\](\??))?$")


@dataclass(frozen=True)
class Type:
    kind: str
    written: bool = False        # Tensor(a!)
    alias: bool = False          # Tensor(a): the result is a view
    is_list: bool = False
    list_size: int = 0
    optional: bool = False
    optional_element: bool = False

    @staticmethod
    def parse(text):
        m = _TYPE.match(text)
        if not m:
            raise ValueError(f"not a schema type: {text!r}")
        kind, alias, bang, q1, brackets, size, q2 = m.groups()
        if brackets:
            return Type(kind, bool(bang), bool(alias), True, int(size or 0), q2 == "?", q1 == "?")
        return Type(kind, bool(bang), bool(alias), optional=q1 == "?")

    def text(self):
        s = self.kind + ("(a!)" if self.written else "(a)" if self.alias else "")
        if self.is_list:
            s += ("?" if self.optional_element else "") + f"[{self.list_size or ''}]"
        return s + ("?" if self.optional else "")

    @property
    def is_tensor(self):
        return self.kind == "Tensor" and not self.is_list

    @property
    def is_tensor_list(self):
        return self.kind == "Tensor" and self.is_list

    # --- C++ ---
    def cpp_arg(self):
        if self.kind == "Tensor":
            return "TensorList" if self.is_list else "Tensor&" if self.written else "const Tensor&"
        if self.is_list:
            base = {"int": "IntArrayRef", "float": "ArrayRef<double>"}[self.kind]
            return f"std::optional<{base}>" if self.optional else base
        if self.kind == "Scalar":
            return "const std::optional<Scalar>&" if self.optional else "const Scalar&"
        if self.kind == "Generator":
            return "GeneratorImpl*"
        base = {"int": "int64_t", "float": "double", "bool": "bool", "ScalarType": "DType", "Device": "Device", "str": "std::string_view"}[self.kind]
        return f"std::optional<{base}>" if self.optional else base

    def cpp_return(self):
        if self.kind == "Tensor":
            return "std::vector<Tensor>" if self.is_list else "Tensor&" if self.written else "Tensor"
        return {"int": "int64_t", "float": "double", "bool": "bool", "Scalar": "Scalar"}[self.kind]

    def cpp_saved(self):
        """The type of a node's member that keeps this argument for backward."""
        if self.is_list:
            base = {"int": "DimVector", "float": "std::vector<double>"}[self.kind]
            return f"std::optional<{base}>" if self.optional else base
        if self.kind == "Scalar":
            return "std::optional<Scalar>" if self.optional else "Scalar"
        base = {"int": "int64_t", "float": "double", "bool": "bool", "ScalarType": "DType", "Device": "Device", "str": "std::string"}[self.kind]
        return f"std::optional<{base}>" if self.optional else base


@dataclass(frozen=True)
class Argument:
    name: str
    type: Type
    default: str = None
    kwarg_only: bool = False

    def cpp_default(self):
        d = self.default
        if d is None:
            return None
        if d == "None":
            return {"Tensor": "Tensor()", "Generator": "nullptr"}.get(self.type.kind if not self.type.is_list else "", "std::nullopt")
        if d in ("True", "False"):
            return d.lower()
        if self.type.kind == "ScalarType":
            return "DType::" + d
        if self.type.is_list:
            values = d.strip("[]").strip()
            if not d.startswith("["):
                values = ", ".join([d] * max(1, self.type.list_size))
            # An initializer list as a default argument lives as long as the call.
            return ("std::optional<IntArrayRef>(IntArrayRef{%s})" if self.type.optional else "IntArrayRef{%s}") % ", ".join(
                f"int64_t({v.strip()})" for v in values.split(",") if v.strip())
        if d[0] in "\"'":
            return '"' + d[1:-1] + '"'
        return d


@dataclass(frozen=True)
class Schema:
    name: str
    overload: str
    args: tuple
    returns: tuple   # of Argument (name may be "")

    @staticmethod
    def parse(text):
        m = re.match(r"^\s*([\w:]+)(?:\.(\w+))?\((.*)\)\s*->\s*(.+?)\s*$", text, re.S)
        if not m:
            raise ValueError(f"not a schema: {text!r}")
        name, overload, args_text, ret_text = m.groups()
        args, kwarg_only = [], False
        for part in _split(args_text):
            if part == "*":
                kwarg_only = True
                continue
            decl, _, default = part.partition("=")
            type_text, arg_name = decl.strip().rsplit(" ", 1)
            args.append(Argument(arg_name, Type.parse(type_text), default.strip() or None, kwarg_only))
        ret_text = ret_text.strip()
        rets = []
        if ret_text.startswith("(") and ret_text.endswith(")"):
            for part in _split(ret_text[1:-1]):
                t, _, n = part.partition(" ")
                rets.append(Argument(n.strip(), Type.parse(t)))
        else:
            rets.append(Argument("", Type.parse(ret_text)))
        return Schema(name, overload or "", tuple(args), tuple(rets))

    @property
    def full_name(self):
        return self.name + ("." + self.overload if self.overload else "")

    def text(self):
        parts, star = [], False
        for a in self.args:
            if a.kwarg_only and not star:
                parts.append("*")
                star = True
            parts.append(f"{a.type.text()} {a.name}" + (f"={a.default}" if a.default is not None else ""))
        rets = [r.type.text() + (f" {r.name}" if r.name else "") for r in self.returns]
        ret = rets[0] if len(rets) == 1 else "(" + ", ".join(rets) + ")"
        return f"{self.full_name}({', '.join(parts)}) -> {ret}"

    def arg(self, name):
        return next((a for a in self.args if a.name == name), None)

    @property
    def tensor_args(self):
        return [a for a in self.args if a.type.kind == "Tensor"]

    def cpp_return(self):
        if not self.returns:
            return "void"
        if len(self.returns) == 1:
            return self.returns[0].type.cpp_return()
        return "std::tuple<" + ", ".join(r.type.cpp_return() for r in self.returns) + ">"

    def cpp_types(self):
        return [a.type.cpp_arg() for a in self.args]

    def cpp_params(self, defaults=False):
        out = []
        for a in self.args:
            d = a.cpp_default() if defaults else None
            out.append(f"{a.type.cpp_arg()} {a.name}" + (f" = {d}" if d is not None else ""))
        return ", ".join(out)

    def names(self):
        return [a.name for a in self.args]

    def with_args(self, args, **changes):
        return replace(self, args=tuple(args), **changes)


def _split(text):
    """Splits at commas outside of brackets and quotes."""
    parts, depth, current, quote = [], 0, "", None
    for c in text:
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and depth == 0 and not quote:
            parts.append(current.strip())
            current = ""
        else:
            current += c
    if current.strip():
        parts.append(current.strip())
    return parts
