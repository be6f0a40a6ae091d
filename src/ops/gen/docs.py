"""What the documentation of an operator says beside its `doc`, from the declaration: formula, shapes, dtypes, gradient. All five languages say the same."""

import re

KIND_NAMES = {"float": "floating-point", "int": "integers", "bool": "bool"}


def _listed(words, last="and"):
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + f" {last} " + words[-1]


def _ticked(names, last="and"):
    return _listed([f"`{n}`" for n in names], last)


def _formula(op):
    """The expression of a pointwise operator, where it says more than the operator's own name, and the text does not have it."""
    text = op.spec["expr"]
    if re.fullmatch(r"\w+\([\w, ]*\)", text) or text.replace(" ", "") in op.doc.replace(" ", ""):
        return []
    return [f"Formula: `{text}`."]


def _pointwise(op):
    tensors = [a.name for a in op.schema.args if a.type.is_tensor]
    shapes = f"Shapes: the result has that of `{tensors[0]}`." if len(tensors) == 1 else f"Shapes: {_ticked(tensors)} are broadcast together; the result has their common shape."
    promote = op.spec["promote"]
    common = "that of the tensor" if len(tensors) == 1 else "the common one of the arguments"
    result = {"default": common, "int_to_float": f"{common}, where integers and bool count as the default dtype", "compare": "bool", "int_to_float_compare": "bool",
              "first_input": f"that of `{tensors[0]}`", "skip_first": f"the common one of the arguments behind `{tensors[0]}`", "bool_to_int": f"{common}, where bool counts as int64"}[promote]
    kinds = list(KIND_NAMES) if promote.startswith("int_to_float") else op.spec["kinds"].split()
    takes = [KIND_NAMES[k] for k in KIND_NAMES if k in kinds]
    is_complex = op.spec.get("complex")
    if is_complex:
        takes.append("complex")
    if is_complex == "real":
        result += ", for complex numbers that of their parts"
    return _formula(op) + [shapes, f"Dtypes: {_listed(takes)}; the result has {'dtype ' if result == 'bool' else ''}{result}."]


def _differentiable(op):
    names, missing = [], []
    for key, formula in op.grad.items():
        parts = [n.strip() for n in str(key).split(",")]
        (missing if "no_derivative" in str(formula) else names).extend(parts)
    order = [a.name for a in op.schema.args]
    return [sorted(set(x), key=lambda n: order.index(n) if n in order else len(order)) for x in (names, missing)]


def _gradient(op):
    if op.grad:
        names, missing = _differentiable(op)
        text = f"with respect to {_ticked(names)}" if names else "none"
        return f"Gradient: {text}{f'; backward fails for {_ticked(missing)}, whose derivative does not exist in closed form or is not there' if missing else ''}."
    if op.kind == "composite":
        return "Gradient: through the operators that it is made of."
    if op.schema.args and op.schema.args[0].type.written:
        return "Gradient: none; what is overwritten gets no gradient."
    return "Gradient: none; the result is a constant."


def facts(op):
    """Sentences, with `code` in backquotes."""
    lines = []
    if op.kind == "pointwise":
        lines = _pointwise(op)
    elif op.kind == "view":
        lines = [f"The result is a view: it shares the memory of `{op.schema.args[0].name}`."]
    if op.kind != "pointwise" and op.complex_composite:
        lines.append("Dtypes: complex ones, too.")
    elif op.kind == "structured" and any(a.type.is_tensor for a in op.schema.args):
        lines.append("Dtypes: not complex.")
    return lines + [_gradient(op)]


def same_as(v, name):
    """Of an in-place or out variant of `name`: what it does."""
    if v.kind == "inplace":
        return f"In-place form of `{name}`: the result is written into `{v.schema.args[0].name}`."
    from .model import is_factory
    taken = ", whose dtype and device it has" if is_factory(v.op.schema) else ""
    several = len(v.schema.returns) > 1
    return f"Out form of `{name}`: the result is written into the given tensor{'s' if several else ''}{taken}, resized where {'a' if several else 'the'} shape differs."
