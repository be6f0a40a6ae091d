"""Scalar expressions of pointwise operators: parsing, differentiation, and emission as Highway code or operator calls.

Note [Pointwise gradients]
A gradient is the product of `grad` and the symbolic derivative, or what the declaration states instead (where the plain
derivative is inaccurate, or where `result` is cheaper). If it is a single operation on arguments, backward calls
that operator. Otherwise it becomes a hidden pointwise operator `<op>_backward_<input>`, one fused loop, whose own gradient is
the derivative once more, emitted as calls of public operators, so that derivatives of any order exist.
"""

import ast
import math
from dataclasses import dataclass

from .schema import Argument, Schema, Type

# Primitive: result type and argument types (V value, M mask), and the partial derivatives in terms of x, y, z (the
# arguments). None: the derivative is zero. A primitive without an entry in `d` has no derivative.
_P = {}


def _prim(name, sig, d=None, op=None):
    args, ret = sig.split(">")
    _P[name] = {"args": args, "ret": ret, "d": d, "op": op or name}


for _n, _d in {
    "neg": "-1.0", "abs": "sign(x)", "exp": "exp(x)", "exp2": "exp2(x) * 0.6931471805599453", "expm1": "exp(x)",
    "log": "1.0 / x", "log2": "1.0 / (x * 0.6931471805599453)", "log10": "1.0 / (x * 2.302585092994046)", "log1p": "1.0 / (1.0 + x)",
    "sqrt": "0.5 / sqrt(x)", "rsqrt": "-0.5 * rsqrt(x) / x", "reciprocal": "-1.0 / (x * x)",
    "sin": "cos(x)", "cos": "-sin(x)", "tan": "1.0 + tan(x) * tan(x)", "sinh": "cosh(x)", "cosh": "sinh(x)", "tanh": "1.0 - tanh(x) * tanh(x)",
    "asin": "rsqrt(1.0 - x * x)", "acos": "-rsqrt(1.0 - x * x)", "atan": "1.0 / (1.0 + x * x)",
    "asinh": "rsqrt(x * x + 1.0)", "acosh": "rsqrt(x * x - 1.0)", "atanh": "1.0 / (1.0 - x * x)",
    "sigmoid": "sigmoid(x) * (1.0 - sigmoid(x))", "erf": "1.1283791670955126 * exp(-(x * x))", "erfc": "-1.1283791670955126 * exp(-(x * x))",
    "erfinv": "0.886226925452758 * exp(erfinv(x) * erfinv(x))", "lgamma": "digamma(x)",
    "floor": "0.0", "ceil": "0.0", "trunc": "0.0", "round": "0.0", "frac": "1.0",
}.items():
    _prim(_n, "V>V", (_d,))
_prim("sign", "V>V", ("0.0",), "sgn")
_prim("angle", "V>V", ("0.0",))
_prim("conj", "V>V", None, "conj_physical")
_prim("digamma", "V>V", ("trigamma(x)",))
_prim("trigamma", "V>V", ("polygamma(2.0, x)",))
_prim("polygamma", "VV>V", (None, "polygamma(x + 1.0, y)"))
_prim("add", "VV>V", ("1.0", "1.0"))
_prim("sub", "VV>V", ("1.0", "-1.0"))
_prim("mul", "VV>V", ("y", "x"))
_prim("div", "VV>V", ("1.0 / y", "-(x / y) / y"))
_prim("floordiv", "VV>V", ("0.0", "0.0"), "floor_divide")
_prim("truncdiv", "VV>V", ("0.0", "0.0"), "trunc_divide")
_prim("fmod", "VV>V", ("1.0", "-truncdiv(x, y)"))
_prim("remainder", "VV>V", ("1.0", "-floordiv(x, y)"))
_prim("pow", "VV>V", ("where(y == 0.0, 0.0, y * pow(x, y - 1.0))", "where((x == 0.0) and (y >= 0.0), 0.0, pow(x, y) * log(x))"))
_prim("maximum", "VV>V", ("where(x < y, 0.0, where(x == y, 0.5, 1.0))", "where(y < x, 0.0, where(x == y, 0.5, 1.0))"))
_prim("minimum", "VV>V", ("where(x > y, 0.0, where(x == y, 0.5, 1.0))", "where(y > x, 0.0, where(x == y, 0.5, 1.0))"))
_prim("fmax", "VV>V", ("where((x > y) or isnan(y), 1.0, where(x == y, 0.5, 0.0))", "where((x > y) or isnan(y), 0.0, where(x == y, 0.5, 1.0))"))
_prim("fmin", "VV>V", ("where((x < y) or isnan(y), 1.0, where(x == y, 0.5, 0.0))", "where((x < y) or isnan(y), 0.0, where(x == y, 0.5, 1.0))"))
_prim("atan2", "VV>V", ("where(x * x + y * y == 0.0, 0.0, y / (x * x + y * y))", "where(x * x + y * y == 0.0, 0.0, -x / (x * x + y * y))"))
_prim("hypot", "VV>V", ("x / hypot(x, y)", "y / hypot(x, y)"))
_prim("logaddexp", "VV>V", ("sigmoid(x - y)", "sigmoid(y - x)"))
_prim("logaddexp2", "VV>V", ("sigmoid((x - y) * 0.6931471805599453)", "sigmoid((y - x) * 0.6931471805599453)"))
_prim("copysign", "VV>V", ("where(x == 0.0, 0.0, copysign(x, y) / x)", "0.0"))
# The functions of numbers (kernels/scalar/lanes-inl.h). "missing": PyTorch has no derivative with respect to that argument.
for _n, _d, _op in (
    ("erfcx", "2.0 * x * erfcx(x) - 1.1283791670955126", "special_erfcx"),
    ("log_ndtr", "0.7978845608028654 / erfcx(x * -0.7071067811865476)", "special_log_ndtr"),
    ("ndtri", "2.5066282746310002 * exp(0.5 * ndtri(x) * ndtri(x))", "special_ndtri"),
    ("i0", "i1(x)", "i0"),
    ("i1", "where(x == 0.0, 0.5, i0(x) - i1(x) / x)", "special_i1"),
    ("i0e", "i1e(x) - sign(x) * i0e(x)", "special_i0e"),
    ("i1e", "where(x == 0.0, 0.5, i0e(x) - i1e(x) * (sign(x) + 1.0 / x))", "special_i1e"),
    ("bessel_k0", "-bessel_k1(x)", "special_modified_bessel_k0"),
    ("bessel_k1", "-bessel_k0(x) - bessel_k1(x) / x", "special_modified_bessel_k1"),
    ("bessel_j0", "-bessel_j1(x)", "special_bessel_j0"),
    ("bessel_j1", "where(x == 0.0, 0.5, bessel_j0(x) - bessel_j1(x) / x)", "special_bessel_j1"),
    ("bessel_y0", "-bessel_y1(x)", "special_bessel_y0"),
    ("bessel_y1", "bessel_y0(x) - bessel_y1(x) / x", "special_bessel_y1"),
):
    _prim(_n, "V>V", (_d,), _op)
for _n in ("bessel_k0e", "bessel_k1e", "spherical_j0", "airy_ai"):
    _prim(_n, "V>V")
for _n in ("chebyshev_t", "chebyshev_u", "chebyshev_v", "chebyshev_w", "hermite_h", "hermite_he", "laguerre_l", "legendre_p", "gcd", "lcm"):
    _prim(_n, "VV>V")
_prim("zeta", "VV>V", ("missing", "-x * zeta(x + 1.0, y)"), "special_zeta")
_prim("igamma", "VV>V", ("missing", "exp((x - 1.0) * log(y) - y - lgamma(x))"))
_prim("igammac", "VV>V", ("missing", "-exp((x - 1.0) * log(y) - y - lgamma(x))"))
_prim("nextafter", "VV>V")
_prim("fma", "VVV>V", ("y", "x", "1.0"), None)
_prim("where", "MVV>V", (None, "where(x, 1.0, 0.0)", "where(x, 0.0, 1.0)"))
for _n in ("lt", "le", "gt", "ge", "eq", "ne"):
    _prim(_n, "VV>M", (None, None))
for _n in ("isnan", "isinf", "isfinite", "signbit"):
    _prim(_n, "V>M", (None,))
for _n in ("and", "or", "xor"):
    _prim("mask_" + _n, "MM>M", (None, None), "logical_" + _n)
_prim("mask_not", "M>M", (None,), "logical_not")
for _n in ("bit_and", "bit_or", "bit_xor"):
    _prim(_n, "VV>V", (None, None), _n.replace("bit", "bitwise"))
_prim("bit_not", "V>V", (None,), "bitwise_not")
_prim("shl", "VV>V", (None, None), "bitwise_left_shift")
_prim("shr", "VV>V", (None, None), "bitwise_right_shift")

_BINOPS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv", ast.Mod: "remainder", ast.Pow: "pow",
           ast.BitAnd: "bit_and", ast.BitOr: "bit_or", ast.BitXor: "bit_xor", ast.LShift: "shl", ast.RShift: "shr"}
_COMPARE = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"}
_CONSTANTS = {"pi": math.pi, "inf": math.inf, "nan": math.nan, "sqrt2": math.sqrt(2.0), "ln2": math.log(2.0)}


@dataclass(frozen=True)
class Node:
    fn: str          # "name", "const" or a primitive
    args: tuple = ()
    value: object = None

    @property
    def ret(self):
        return "V" if self.fn in ("name", "const") else _P[self.fn]["ret"]

    def names(self):
        if self.fn == "name":
            return {self.value}
        return set().union(*(a.names() for a in self.args)) if self.args else set()

    def walk(self):
        yield self
        for a in self.args:
            yield from a.walk()

    def size(self):
        return 0 if self.fn in ("name", "const") else 1 + sum(a.size() for a in self.args)


def const(v):
    return Node("const", (), v)


ZERO, ONE = const(0.0), const(1.0)


def call(fn, *args):
    """Builds a node, inserting value/mask conversions and simplifying what is obvious."""
    p = _P[fn]
    if len(args) != len(p["args"]):
        raise ValueError(f"{fn} takes {len(p['args'])} arguments")
    fixed = []
    for a, want in zip(args, p["args"]):
        if want == "M" and a.ret == "V":
            a = Node("ne", (a, const(0)))
        if want == "V" and a.ret == "M":
            a = Node("where", (a, const(1), const(0)))
        fixed.append(a)
    return _simplify(fn, fixed)


def _is(a, v):
    return a.fn == "const" and a.value == v and not (isinstance(a.value, float) and math.isnan(a.value))


def _simplify(fn, a):
    if fn == "add":
        if _is(a[0], 0): return a[1]
        if _is(a[1], 0): return a[0]
    if fn == "sub":
        if _is(a[1], 0): return a[0]
        if _is(a[0], 0): return call("neg", a[1])
    if fn == "mul":
        if _is(a[0], 0) or _is(a[1], 0): return ZERO
        if _is(a[0], 1): return a[1]
        if _is(a[1], 1): return a[0]
        if _is(a[1], -1): return call("neg", a[0])
        if _is(a[0], -1): return call("neg", a[1])
        if a[1].fn == "div" and _is(a[1].args[0], 1): return call("div", a[0], a[1].args[1])
        if a[1].fn == "neg": return call("neg", call("mul", a[0], a[1].args[0]))
        if a[1].fn == "where":
            # grad * where(c, 1, 0) selects: an infinite grad must not turn into NaN on the side not taken.
            return call("where", a[1].args[0], call("mul", a[0], a[1].args[1]), call("mul", a[0], a[1].args[2]))
    if fn == "div" and _is(a[0], 0) and a[1].fn != "const":
        return ZERO
    if fn == "neg":
        if a[0].fn == "const": return const(-a[0].value)
        if a[0].fn == "neg": return a[0].args[0]
    if fn == "where" and a[1] == a[2]:
        return a[1]
    if fn in ("add", "sub", "mul") and a[0].fn == a[1].fn == "const":
        x, y = a[0].value, a[1].value
        return const(x + y if fn == "add" else x - y if fn == "sub" else x * y)
    return Node(fn, tuple(a))


def parse(text, names):
    """`names`: the names allowed. Python syntax; and/or/not work on masks, & | ^ ~ on bits."""
    return _build(ast.parse(" ".join(text.split()), mode="eval").body, set(names))


def _build(n, names):
    if isinstance(n, ast.Constant):
        return const(n.value)
    if isinstance(n, ast.Name):
        if n.id in names:
            return Node("name", (), n.id)
        if n.id in _CONSTANTS:
            return const(_CONSTANTS[n.id])
        raise ValueError(f"unknown name {n.id}")
    if isinstance(n, ast.BinOp):
        return call(_BINOPS[type(n.op)], _build(n.left, names), _build(n.right, names))
    if isinstance(n, ast.UnaryOp):
        x = _build(n.operand, names)
        if isinstance(n.op, ast.USub):
            return call("neg", x)
        return call("mask_not" if isinstance(n.op, ast.Not) else "bit_not", x)
    if isinstance(n, ast.Compare):
        left = _build(n.left, names)
        right = _build(n.comparators[0], names)
        if left.ret == right.ret == "M" and isinstance(n.ops[0], ast.Eq):
            return call("mask_not", call("mask_xor", left, right))
        return call(_COMPARE[type(n.ops[0])], left, right)
    if isinstance(n, ast.BoolOp):
        values = [_build(v, names) for v in n.values]
        out = values[0]
        for v in values[1:]:
            out = call("mask_and" if isinstance(n.op, ast.And) else "mask_or", out, v)
        return out
    if isinstance(n, ast.Call) and isinstance(n.func, ast.Name):
        args = [_build(a, names) for a in n.args]
        if n.func.id == "square":
            return call("mul", args[0], args[0])
        if n.func.id not in _P:
            raise ValueError(f"unknown primitive {n.func.id}")
        return call(n.func.id, *args)
    raise ValueError(f"not allowed in an expression: {ast.dump(n)}")


def substitute(e, mapping):
    if e.fn == "name":
        return mapping.get(e.value, e)
    if not e.args:
        return e
    return call(e.fn, *(substitute(a, mapping) for a in e.args))


def derivative(e, name):
    """The derivative of e with respect to `name`; raises ValueError where a primitive has none."""
    if e.fn == "name":
        return ONE if e.value == name else ZERO
    if e.fn == "const" or name not in e.names():
        return ZERO
    p = _P[e.fn]
    if p["d"] is None:
        raise ValueError(f"{e.fn} has no derivative")
    total = ZERO
    letters = dict(zip("xyz", e.args))
    for arg, d in zip(e.args, p["d"]):
        if d is None or arg.ret == "M":
            continue
        inner = derivative(arg, name)
        if inner == ZERO:
            continue
        if d == "missing":
            raise ValueError(f"{e.fn} has no derivative with respect to this argument")
        total = call("add", total, call("mul", inner, substitute(parse(d, "xyz"), letters)))
    return total


def differentiable(e, name):
    try:
        derivative(e, name)
        return e.ret == "V"
    except ValueError:
        return False


# --- emission ---


def highway(e, scalars):
    """C++ over the vectors named like the arguments, the tag d and the namespace prim. Names in `scalars` are vectors too."""
    if e.fn == "name":
        return e.value + "_"
    if e.fn == "const":
        v = e.value
        if isinstance(v, bool):
            v = int(v)
        if isinstance(v, float) and math.isinf(v):
            return f"prim::constant(d, {'-' if v < 0 else ''}HUGE_VAL)"
        if isinstance(v, float) and math.isnan(v):
            return "prim::constant(d, NAN)"
        return f"prim::constant(d, {v!r})"
    args = [highway(a, scalars) for a in e.args]
    fn = {"where": "select"}.get(e.fn, e.fn)
    return f"prim::{fn}(d, {', '.join(args)})"


def complex_calls(e, scalars):
    """C++ over complex numbers named like the arguments, of the type C, by the primitives of namespace cx (kernels/scalar/complex.h). `scalars`: the
    names that are numbers, most of them real."""
    if e.fn == "name":
        return e.value + "_"
    if e.fn == "const":
        v = int(e.value) if isinstance(e.value, bool) else e.value
        if isinstance(v, float) and math.isinf(v):
            v = "-HUGE_VAL" if v < 0 else "HUGE_VAL"
        elif isinstance(v, float) and math.isnan(v):
            v = "NAN"
        return f"cx::constant<C>({v})"
    args = [complex_calls(a, scalars) for a in e.args]
    if e.fn == "mul":
        for number, other in ((0, 1), (1, 0)):
            if e.args[number].fn == "const" or e.args[number].fn == "name" and e.args[number].value in scalars:
                return f"cx::scale({args[number]}, {args[other]})"
    return f"cx::{e.fn}({', '.join(args)})"


# What kernels/scalar/complex.h has.
COMPLEX = set("""add sub mul div fma neg conj abs angle sign reciprocal sqrt rsqrt pow exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
asinh acosh atanh sigmoid where eq ne lt le gt ge isnan isinf isfinite mask_and mask_or mask_xor mask_not""".split())


def has_complex(e):
    return all(n.fn in COMPLEX or n.fn in ("name", "const") for n in e.walk())


def operator_calls(e):
    """C++ that computes e by calls of public operators; names are Tensors in scope, numbers become wrapped numbers."""
    if e.fn == "name":
        return e.value
    if e.fn == "const":
        v = e.value
        if isinstance(v, float) and math.isinf(v):
            return f"number({'-' if v < 0 else ''}HUGE_VAL)"
        if isinstance(v, float) and math.isnan(v):
            return "number(NAN)"
        return f"number({v!r})"
    if e.fn == "polygamma":
        return f"op::polygamma(static_cast<int64_t>({_order(e.args[0])}), {operator_calls(e.args[1])})"
    if e.fn == "fma":
        return operator_calls(call("add", call("mul", e.args[0], e.args[1]), e.args[2]))
    args = [operator_calls(a) for a in e.args]
    if e.fn in ("lt", "le", "gt", "ge"):  # of complex numbers the real parts, as in kernels/scalar/complex.h
        args = [f"op::real({a})" if n.fn != "const" else a for n, a in zip(e.args, args)]
    return f"op::{_P[e.fn]['op']}({', '.join(args)})"


def _order(e):
    """C++ of an order of derivation: an int that the node keeps, a number, or a sum of them."""
    if e.fn == "add":
        return " + ".join(_order(a) for a in e.args)
    return f"{e.value}_" if e.fn == "name" else repr(e.value)


# --- gradients ---


def derive_gradients(op, declared):
    """Fills op.grad with formulas for backward and returns the hidden operators that they need."""
    from .model import Op  # a cycle of the two modules, at call time only
    if declared in ("none", False) or op.spec["promote"] in ("compare", "int_to_float_compare") or "float" not in op.spec["kinds"]:
        op.grad = None
        return []
    tensors = [a.name for a in op.schema.args if a.type.is_tensor]
    if declared == "missing":
        op.grad = {name: f'no_derivative(grad, "{op.name}")' for name in tensors}
        return []
    stated = declared if isinstance(declared, dict) else {}
    names = {a.name for a in op.schema.args} | {"grad", "result"}
    grads, hidden = {}, []
    for name in tensors:
        if op.spec["promote"] == "skip_first" and name == tensors[0]:
            continue
        if name in stated:
            if str(stated[name]) in ("none", "None"):
                continue
            if str(stated[name]).startswith("formula "):
                grads[name] = str(stated[name]).removeprefix("formula ")
                continue
            g = parse(str(stated[name]), names)
        elif differentiable(op.expr, name):
            g = call("mul", Node("name", (), "grad"), derivative(op.expr, name))
        else:
            continue
        used = g.names()
        if g == ZERO or "grad" not in used:
            grads[name] = "zeros_grad"
        elif g.size() == 0:
            grads[name] = "grad"
        elif g.size() == 1 and _direct(g, op):
            grads[name] = _direct(g, op)
        else:
            ident = f"{op.ident}_backward" + ("" if len(tensors) == 1 else "_" + name)
            args = [Argument("grad", Type("Tensor"))]
            for n in [a.name for a in op.schema.args if a.name in used and a.type.is_tensor] + (["result"] if "result" in used else []):
                args.append(Argument(n, Type("Tensor")))
            scalars = [a for a in op.schema.args if a.name in used and not a.type.is_tensor]
            args += [Argument(a.name, a.type if a.type.kind == "int" else Type("Scalar")) for a in scalars]
            schema = Schema(ident, "", tuple(args), (Argument("", Type("Tensor")),))
            conditions = {tensors[0]} if op.spec["promote"] == "skip_first" and tensors[0] in used else set()
            h = Op(op.group, schema, "pointwise", {"promote": "default", "kinds": "float"}, hidden=True, expr=g, compose_grad=True)
            if op.spec.get("complex") and has_complex(g):
                h.spec["complex"] = True
            h.grad = {}
            for a in args:
                if not a.type.is_tensor or a.name in conditions:
                    continue
                if not differentiable(g, a.name):
                    h.grad[a.name] = f'no_derivative(grad2, "{ident}")'
                else:
                    d = call("mul", Node("name", (), "grad2"), derivative(g, a.name))
                    h.grad[a.name] = d if "grad2" in d.names() else "zeros_grad"
            hidden.append(h)
            grads[name] = f"{ident}({', '.join(a.name for a in args)})"
    op.grad = grads or None
    return hidden


def _direct(g, op):
    """A formula (for formula.py) when g is one public operator on names and constants, else None."""
    fn = _P[g.fn]["op"]
    if fn not in ("add", "sub", "mul", "div", "neg", "where") or fn == "where":
        return None
    parts = []
    for a in g.args:
        if a.fn == "const":
            parts.append(repr(a.value))
        else:
            parts.append(a.value)
    first = g.args[0]
    if fn != "neg" and (first.fn == "const" or (op.schema.arg(first.value) and not op.schema.arg(first.value).type.is_tensor)):
        if fn not in ("add", "mul"):
            return None
        parts.reverse()
    return f"{fn}({', '.join(parts)})"
