"""Gradient formulas and composite bodies: Python expressions over operators, turned into C++.

Names are the operator's arguments, `grad` (or `grad_<output>` when there are several), `result` or the outputs' names, and
attributes of tensor arguments: x.sizes, x.dtype, x.dim, x.numel, x.device. A call is an operator if one of that name
exists, else a helper from autograd/formulas.h. The translator also tells which values backward must keep.
"""

import ast

ATTRIBUTES = {"sizes": "DimVector", "dtype": "DType", "dim": "int64_t", "numel": "int64_t", "device": "Device", "strides": "DimVector", "offset": "int64_t"}
_OPS = {ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"), ast.Div: ("div", "/"), ast.Pow: ("pow", None)}
_COMPARE = {ast.Lt: ("lt", "<"), ast.LtE: ("le", "<="), ast.Gt: ("gt", ">"), ast.GtE: ("ge", ">="), ast.Eq: ("eq", "=="), ast.NotEq: ("ne", "!=")}


class Formula:
    """`tensors`: names that are tensors; `others`: other names in scope; `operators`: names of operators."""

    def __init__(self, text, tensors, others, operators):
        self.tensors, self.others, self.operators = set(tensors), set(others), operators
        self.used = set()        # tensor names used as values, other names
        self.attributes = set()  # (name, attribute)
        self.cpp, self.is_tensor = self._build(ast.parse(" ".join(text.split()), mode="eval").body)

    def _build(self, n):
        if isinstance(n, ast.Constant):
            v = n.value
            if v is None:
                return "std::nullopt", False
            if isinstance(v, bool):
                return str(v).lower(), False
            return ('"%s"' % v if isinstance(v, str) else repr(v)), False
        if isinstance(n, ast.Name):
            if n.id in self.tensors or n.id in self.others:
                self.used.add(n.id)
                return n.id, n.id in self.tensors
            if n.id == "none":
                return "Tensor()", True
            if n.id == "mask":
                return "wanted", False
            raise ValueError(f"unknown name {n.id}")
        if isinstance(n, ast.Attribute):
            if n.attr in ATTRIBUTES and isinstance(n.value, ast.Name) and n.value.id in self.tensors:
                self.attributes.add((n.value.id, n.attr))
                return f"{n.value.id}_{n.attr}", False
            raise ValueError(f"unknown attribute {n.attr}")
        if isinstance(n, ast.List):
            return "IntArrayRef{%s}" % ", ".join(f"int64_t({self._build(e)[0]})" for e in n.elts), False
        if isinstance(n, ast.UnaryOp):
            x, t = self._build(n.operand)
            if isinstance(n.op, ast.Not):
                return f"!({x})", False
            return (f"op::neg({x})", True) if t else (f"-({x})", False)
        if isinstance(n, ast.BinOp):
            (a, ta), (b, tb) = self._build(n.left), self._build(n.right)
            name, symbol = _OPS[type(n.op)]
            if not ta and not tb:
                return f"({a} {symbol} {b})", False
            if not ta:
                if name == "sub":
                    return f"op::rsub({b}, {a})", True
                if name == "div":
                    return f"op::mul(op::reciprocal({b}), {a})", True
                a, b = b, a
            return f"op::{name}({a}, {b})", True
        if isinstance(n, ast.Compare):
            (a, ta), (b, tb) = self._build(n.left), self._build(n.comparators[0])
            name, symbol = _COMPARE[type(n.ops[0])]
            return (f"op::{name}({a}, {b})", True) if ta or tb else (f"({a} {symbol} {b})", False)
        if isinstance(n, ast.BoolOp):
            return "(" + (" && " if isinstance(n.op, ast.And) else " || ").join(self._build(v)[0] for v in n.values) + ")", False
        if isinstance(n, ast.IfExp):
            (c, _), (a, ta), (b, _) = self._build(n.test), self._build(n.body), self._build(n.orelse)
            return f"({c} ? {a} : {b})", ta
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
            args = ", ".join(self._build(a)[0] for a in n.args)
            return (f"op::{n.func.id}({args})" if n.func.id in self.operators else f"formulas::{n.func.id}({args})"), True
        raise ValueError(f"not allowed in a formula: {ast.dump(n)}")
