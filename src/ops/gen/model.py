"""Loads the YAML declarations and derives every variant of every operator."""

import os
from dataclasses import dataclass, field

import yaml

from . import expr
from .schema import Argument, Schema, Type

_KEYS = {"func", "doc", "pointwise", "structured", "native", "composite", "view", "scalar", "inplace", "out", "grad", "tags", "c_name", "grad_scalar", "complex"}
_CPP_KEYWORDS = {"float", "double", "bool", "int", "long", "short", "char", "and", "or", "not", "xor"}
_KINDS = ("pointwise", "structured", "native", "composite", "view")


def cpp_identifier(name):
    """The operator's name in C++: a keyword (float, bool) gets a suffix."""
    name = name.replace(".", "_")
    return name + "_cast" if name in _CPP_KEYWORDS else name


@dataclass
class Op:
    """One declaration."""
    group: str
    schema: Schema
    kind: str
    spec: object            # the value under the kind's key
    doc: str = ""
    grad: object = None     # None: not differentiable; dict: formulas by argument name (or "a, b" for joint ones)
    hidden: bool = False    # made by the generator (fused backward of a pointwise operator): no C function
    inplace: object = False  # False, "safe" (the kernel may write over self), "copy", "alias" (the in-place form of the operator that a composite names)
    out: object = False      # False, "kernel", "copy"
    tags: tuple = ()
    c_name: str = None
    expr: object = None      # pointwise: parsed expression
    exprs: dict = field(default_factory=dict)  # pointwise: by category where they differ
    compose_grad: bool = False  # gradients are emitted as calls of other operators
    complex_composite: bool = False  # complex tensors go to composite::<ident>_complex, made of other operators

    @property
    def name(self):
        return self.schema.full_name

    @property
    def ident(self):
        return cpp_identifier(self.name)


@dataclass
class Variant:
    """One entry of the operator table."""
    op: Op
    kind: str       # functional, inplace, out
    schema: Schema

    @property
    def ident(self):
        # add, add_Scalar, add_, add__Scalar, add_out
        return cpp_identifier(self.schema.full_name)

    @property
    def cpp_name(self):
        return cpp_identifier(self.schema.name) + ("_out" if self.kind == "out" else "")

    @property
    def c_symbol(self):
        base = self.op.c_name or self.schema.name.rstrip("_")
        if self.op.schema.overload and not self.op.c_name:
            base += "_" + self.op.schema.overload.lower()
        declared_inplace = self.op.schema.name.endswith("_") and not self.op.schema.name.endswith("__")
        return "trt_" + base + ("_" if self.kind == "inplace" or declared_inplace else "_out" if self.kind == "out" else "")


def inplace_schema(s):
    self_arg = s.args[0]
    args = (Argument(self_arg.name, Type("Tensor", written=True), None, False),) + s.args[1:]
    return Schema(s.name + "_", s.overload, args, (Argument("", Type("Tensor", written=True)),))


def is_factory(s):
    """Whether dtype and device of the result are the caller's choice, and nothing else says them."""
    return not any(a.type.is_tensor for a in s.args) and {"dtype", "device"} <= {a.name for a in s.args}


def out_schema(s):
    """The tensors to write into come last. Those of a factory say dtype and device."""
    outs = []
    for i, r in enumerate(s.returns):
        outs.append(Argument("out" if len(s.returns) == 1 else (r.name or f"out{i}") + "_out", Type("Tensor", written=True), None, True))
    overload = (s.overload + "_" if s.overload else "") + "out"
    args = tuple(a for a in s.args if a.name not in ("dtype", "device")) if is_factory(s) else s.args
    return Schema(s.name, overload, args + tuple(outs), tuple(Argument(r.name, Type("Tensor", written=True)) for r in s.returns))


def load(*directories):
    """Returns {group: [Op]} in file order; hidden backward operators are appended to the group of their owner."""
    groups = {}
    for path in [os.path.join(d, file) for d in directories for file in sorted(os.listdir(d))]:
        file = os.path.basename(path)
        if not file.endswith(".yaml"):
            continue
        group = file[:-5]
        if group in groups:
            raise SystemExit(f"{path}: there is a group of this name already")
        with open(path, encoding="utf-8") as f:
            entries = yaml.safe_load(f) or []
        ops = []
        for e in entries:
            try:
                ops.extend(_load_entry(group, e))
            except Exception as error:
                raise SystemExit(f"{file}: {e.get('func', e)!r}: {error}")
        groups[group] = ops
    seen = {}
    for ops in groups.values():
        for op in ops:
            for v in variants(op):
                if v.schema.full_name in seen:
                    raise SystemExit(f"operator {v.schema.full_name} is declared twice")
                seen[v.schema.full_name] = op
    return groups


def _load_entry(group, e):
    unknown = set(e) - _KEYS
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)}")
    kinds = [k for k in _KINDS if k in e]
    if len(kinds) != 1:
        raise ValueError(f"exactly one of {_KINDS} is needed")
    kind = kinds[0]
    schema = Schema.parse(e["func"])
    if not (e.get("doc") or "").strip():
        raise ValueError("doc is missing: what the operator computes, in a sentence")
    op = Op(group, schema, kind, e[kind], doc=(e.get("doc") or "").strip(), tags=tuple((e.get("tags") or "").split()), c_name=e.get("c_name"),
            complex_composite=e.get("complex") == "composite")
    single = len(schema.returns) == 1 and schema.returns[0].type.is_tensor
    all_tensors = all(r.type.is_tensor for r in schema.returns)
    if kind == "pointwise":
        _load_pointwise(op, e)
    grad = e.get("grad")
    if grad not in (None, "auto", "none", False):
        op.grad = {k: str(v) for k, v in grad.items()} if isinstance(grad, dict) else {schema.args[0].name: str(grad)}
    default_inplace = "safe" if kind == "pointwise" and op.spec["promote"] not in ("compare", "int_to_float_compare") else False
    op.inplace = e.get("inplace", default_inplace)
    op.out = e.get("out", "kernel" if kind in ("pointwise", "structured") and all_tensors else False)
    if op.out is True:
        op.out = "kernel" if kind in ("pointwise", "structured") else "copy"
    if op.inplace is True:
        op.inplace = "copy"
    result = [op]
    if kind == "pointwise":
        result += expr.derive_gradients(op, e.get("grad", "auto"))
        for name in str(e.get("scalar", "")).split():
            result += _scalar_overload(op, e, name)
    return result


def _load_pointwise(op, e):
    spec = e["pointwise"]
    if isinstance(spec, str):
        spec = {"expr": spec}
    spec = dict(spec)
    spec.setdefault("promote", "default")
    spec.setdefault("kinds", "float" if spec["promote"].startswith("int_to_float") else "float int bool")
    if spec["promote"] in ("int_to_float", "int_to_float_compare"):
        spec["kinds"] = "float"
    op.spec = spec
    names = {a.name: ("tensor" if a.type.is_tensor else "scalar") for a in op.schema.args}
    op.expr = expr.parse(spec["expr"], names)
    if "expr_complex" in spec:
        op.exprs["complex"] = expr.parse(spec["expr_complex"], names)
    if spec.get("complex") and not expr.has_complex(op.exprs.get("complex", op.expr)):
        raise ValueError("a primitive of the expression has no complex form")
    for category in ("int", "bool"):
        if "expr_" + category in spec:
            op.exprs[category] = expr.parse(spec["expr_" + category], names)


def _scalar_overload(op, e, name):
    """The overload in which tensor argument `name` is a number: same expression, the number is an operand of the loop."""
    args = [Argument(a.name, Type("Scalar"), None, a.kwarg_only) if a.name == name else a for a in op.schema.args]
    overload = "ScalarSelf" if name in ("self", "x") else "Scalar"
    schema = Schema(op.schema.name, overload, tuple(args), op.schema.returns)
    twin = Op(op.group, schema, "pointwise", dict(op.spec, operand_scalars=[name]), doc=op.doc, expr=op.expr, exprs=op.exprs,
              inplace=op.inplace if overload == "Scalar" else False, out=op.out)
    twin.spec["shared_with"] = op.ident
    return [twin] + expr.derive_gradients(twin, e.get("grad_scalar", e.get("grad", "auto")))


def variants(op):
    out = [Variant(op, "functional", op.schema)]
    if op.inplace:
        out.append(Variant(op, "inplace", inplace_schema(op.schema)))
    if op.out:
        out.append(Variant(op, "out", out_schema(op.schema)))
    return out
