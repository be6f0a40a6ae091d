"""Sample calls of operators, as plain data: recorded cases (tests/golden), and calls made up from an operator's schema.

A Sample is one call of one overload. Its tensors are Arrays (values, not tensors of the library), so that a check can build them with any
layout, dtype and device. No operator is named here: where a rule looks at names, it looks at names of arguments.
"""

import copy
import itertools
import json
import os
import random
import sys
import zlib
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
for folder in ("tests/golden", "src/ops"):
    sys.path.insert(0, os.path.join(ROOT, folder))

import run as golden  # noqa: E402
import binding as trt  # noqa: E402

MADE_UP = 3     # samples wanted from a schema
ATTEMPTS = 1000  # calls tried to find them


@dataclass
class Array:
    """The value of a tensor argument, row-major."""
    dtype: str
    shape: tuple
    data: list

    @property
    def is_float(self):
        return trt.DTYPES[self.dtype].is_floating_point


@dataclass
class Sample:
    op: str        # with overload
    args: dict     # by name; tensors are Arrays, lists of tensors are lists of Arrays
    origin: str    # where it is from, for messages

    def arrays(self):
        """[(path, Array)]; a path is a name, or a name and an index for an element of a list."""
        out = []
        for name, v in self.args.items():
            if isinstance(v, Array):
                out.append(((name,), v))
            elif isinstance(v, list):
                out += [((name, i), x) for i, x in enumerate(v) if isinstance(x, Array)]
        return out

    def replaced(self, arrays):
        """A copy with other arrays: {path: Array}."""
        args = copy.copy(self.args)
        for path, a in arrays.items():
            if len(path) == 1:
                args[path[0]] = a
            else:
                args[path[0]] = list(args[path[0]])
                args[path[0]][path[1]] = a
        return Sample(self.op, args, self.origin)

    def map_arrays(self, f):
        return self.replaced({path: f(a) for path, a in self.arrays()})


def to_array(t):
    return Array(t.dtype.name, t.shape, trt.flat(t))


def _plain(v):
    if isinstance(v, trt.Tensor):
        return to_array(v)
    return [_plain(x) for x in v] if isinstance(v, (list, tuple)) else v


class _Record(Exception):
    pass


def from_case(operators, case, origin):
    """The sample of a recorded case, or None where the operator or something that it needs does not exist."""
    name = operators.find(case["op"])
    if name is None:
        return None
    made = []
    real = trt.call

    def recording(op, *args, **kwargs):
        kwargs.update(zip([a.name for a in operators.schema(op).args], args))
        before = {k: _plain(v) for k, v in kwargs.items()}  # an in-place operator changes its argument
        result = real(op, **kwargs)
        made.append(Sample(op, before, origin))
        return result

    try:
        args = [golden.decode(v, []) for v in case["args"]]
        kwargs = {k: golden.decode(v, []) for k, v in case["kwargs"].items()}
        if isinstance(kwargs.get("device"), str):
            kwargs["device"] = trt.Device(kwargs["device"])
        trt.call = recording
        try:
            golden.call_operator(operators, case["op"], name, args, kwargs)
        finally:
            trt.call = real
    except (golden.NotThere, golden.Failed, trt.Error):
        return None  # the golden runner reports it
    return made[-1]


# --- calls made up from a schema ------------------------------------------------------------------------------------------

_SHAPES = [(3, 4), (4,), (2, 3, 4), (), (4, 4), (2, 3, 5, 5), (2, 2, 4, 4, 4), (2, 4, 4)]
_INDEX_NAMES = ("index", "indices", "target", "repeats", "offsets", "bags")
_POSITIVE_NAMES = ("var", "std", "running_var")
_MASK_NAMES = ("mask", "condition")
_TEXTS = {"reduce": ["add", "sum", "amax"], "reduction": ["mean", "none", "sum"], "mode": ["constant", "reflect"], "p": ["fro"]}
_SIZE_NAMES = ("size", "shape", "output_size", "input_size", "sizes")


def _random_array(shape, kind, rng):
    n = 1
    for s in shape:
        n *= s
    if kind == "index":
        return Array("int64", shape, [rng.randrange(2) for _ in range(n)])
    if kind == "mask":
        return Array("bool", shape, [rng.random() < 0.5 for _ in range(n)])
    if kind == "integers":
        return Array("int64", shape, [rng.randrange(1, 5) for _ in range(n)])
    low, high = {"unit": (0.15, 0.85), "above one": (1.2, 3.0)}.get(kind, (0.2, 2.0))
    if kind != "value":
        return Array("float64", shape, [rng.uniform(low, high) for _ in range(n)])
    return Array("float64", shape, [rng.choice((-1, 1)) * rng.uniform(0.2, 2.0) for _ in range(n)])


def _default(text):
    if text == "None":
        return None
    if text in ("True", "False"):
        return text == "True"
    if text[0] in "\"'":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return trt.DTYPES.get(text, text)


def _choices(a, shape, rng, kind):
    """Values to try for an argument, the likeliest first. The default stands first, by leaving the argument out (Ellipsis)."""
    t = a.type
    out = [Ellipsis] if a.default is not None else []
    if t.kind == "Tensor":
        if a.name in _INDEX_NAMES or "indices" in a.name:
            kinds, shapes = ["index"], [shape, shape[:1], shape[1:]]
        elif a.name in _MASK_NAMES:
            kinds, shapes = ["mask"], [shape]
        else:
            kinds, shapes = ["unit" if a.name in _POSITIVE_NAMES else kind], [shape, shape[1:], shape[1:2], ()]
        arrays = [_random_array(s, k, rng) for k in kinds for s in dict.fromkeys(shapes)]
        return out + ([[x] for x in arrays[:2]] + [[x, _random_array(x.shape, kinds[0], rng)] for x in arrays[:2]] if t.is_list else arrays)
    if t.is_list:
        if a.name in _SIZE_NAMES:
            return out + [list(shape), [2] * t.list_size if t.list_size else [shape[0] if shape else 1]]
        n = t.list_size or 1
        return out + [[0] if n == 1 else [1] * n, [0, 1][:max(1, len(shape))], [1] * n, [2] * n]
    if t.kind == "Generator" or (t.optional and t.kind in ("ScalarType", "Device")):
        return [Ellipsis] if a.default is not None else [None]
    values = {"int": [0, 1, 2, -1], "float": [0.5, 1.0], "bool": [False, True], "Scalar": [0.5, 2, 2.5], "ScalarType": [trt.DTYPES["float64"]],
              "Device": [trt.Device("cpu")], "str": _TEXTS.get(a.name, ["none", "mean", "valid"])}[t.kind]
    return out + values + ([None] if t.optional and a.default is None else [])


def made_up(operators, op, wanted=MADE_UP):
    """Up to `wanted` samples of an operator from its schema: shapes and values are tried until calls succeed, finite results preferred."""
    s = operators.schema(op)
    rng = random.Random(zlib.crc32(op.encode()))
    found, infinite, attempts = [], [], 0
    for kind, shape in itertools.product(("value", "unit", "above one", "integers"), _SHAPES):
        choices = [_choices(a, shape, rng, kind) for a in s.args]
        for combination in _by_effort(choices, ATTEMPTS // 32):
            args = {a.name: v for a, v in zip(s.args, combination) if v is not Ellipsis}
            attempts += 1
            try:
                trt.manual_seed(1)
                result = trt.call(op, **{k: build(v) for k, v in args.items()})
            except trt.Error as e:
                if e.code == "INTERNAL":  # never what bad arguments may give
                    raise
                continue
            good = all(x - x == 0 for t in golden.flat_tensors(result) if t.dtype.is_floating_point for x in trt.flat(t))
            (found if good else infinite).append(Sample(op, args, f"made up, {kind}, shape {list(shape)}"))
            break
        if len(found) == wanted or attempts > ATTEMPTS or (found and kind != "value"):
            break
    found = found or infinite[:wanted]
    # An optional argument that has a value is another path: the first sample once more with all of them.
    if found:
        extra = dict(found[0].args)
        for a in s.args:
            if a.default is not None and a.name not in extra and a.name != "eps" and a.type.kind in ("Tensor", "float", "Scalar", "bool"):
                extra[a.name] = next((c for c in _choices(a, found[0].arrays()[0][1].shape if found[0].arrays() else (2,), rng, "value")[1:]), None)
        try:
            trt.call(op, **{k: build(v) for k, v in extra.items()})
            if len(extra) > len(found[0].args):
                found.append(Sample(op, extra, "made up, with optional arguments"))
        except trt.Error:
            pass
    return found


def _by_effort(choices, limit):
    """Combinations in the order of how far they are from the first choices."""
    total = sum(len(c) - 1 for c in choices)
    made = 0
    for effort in range(total + 1):
        for combination in _spread(choices, effort):
            yield combination
            made += 1
            if made >= limit:
                return


def _spread(choices, effort):
    if not choices:
        if effort == 0:
            yield ()
        return
    for i in range(min(effort, len(choices[0]) - 1) + 1):
        for rest in _spread(choices[1:], effort - i):
            yield (choices[0][i],) + rest


# --- arrays to tensors ------------------------------------------------------------------------------------------------------

def build(v):
    """The plain form of an argument as the call takes it."""
    if isinstance(v, Array):
        return trt.from_flat(v.data, v.shape, v.dtype)
    return [build(x) for x in v] if isinstance(v, list) else v


def contiguous_strides(shape):
    out, n = [], 1
    for s in reversed(shape):
        out.append(n)
        n *= max(1, s)
    return out[::-1]


def _between(dtype):
    """What stands in memory between the elements of a strided tensor: a value that shows when it is read."""
    if dtype == "bool":
        return True
    return float("nan") if trt.DTYPES[dtype].is_floating_point else 77


def strided(a, strides, offset):
    """A view of the array's values with these strides and offset in a larger storage."""
    size = offset + 1 + sum((n - 1) * s for n, s in zip(a.shape, strides)) if a.data else offset + 1
    memory = [_between(a.dtype)] * (size + 1)
    at = [offset]
    for n, s in zip(a.shape, strides):
        at = [x + i * s for x in at for i in range(n)]
    for x, v in zip(at, a.data):
        memory[x] = v
    base = trt.from_flat(memory, [len(memory)], a.dtype)
    return trt.call("as_strided", base, list(a.shape), list(strides), offset)


def transposed(a):
    """The last two dimensions lie the other way in memory; None below two dimensions."""
    if len(a.shape) < 2:
        return None
    order = list(a.shape)
    order[-1], order[-2] = order[-2], order[-1]
    strides = contiguous_strides(order)
    strides[-1], strides[-2] = strides[-2], strides[-1]
    return strided(a, strides, 0)


def sliced(a):
    """Every second element of a row, from the second on; None for 0-d."""
    return strided(a, [2 * s for s in contiguous_strides(a.shape)], 1) if a.shape else None


def laid_out(a, layout):
    """The array as `layout` (transposed, sliced) makes it; plain where there is no layout, or it says None."""
    t = layout(a) if layout else None
    return build(a) if t is None else t


def expandable(a):
    """(array with equal values along one dimension, that dimension), or None."""
    for d, n in enumerate(a.shape):
        if n > 1 and a.data:
            inner = 1
            for s in a.shape[d + 1:]:
                inner *= s
            data = [a.data[i - (i // inner) % n * inner] for i in range(len(a.data))]
            return Array(a.dtype, a.shape, data), d
    return None


def expanded(a, d):
    """The array of `expandable` with stride 0 in dimension d."""
    shape = a.shape[:d] + (1,) + a.shape[d + 1:]
    strides = contiguous_strides(shape)
    strides[d] = 0
    inner = 1
    for s in a.shape[d + 1:]:
        inner *= s
    values = Array(a.dtype, shape, [v for i, v in enumerate(a.data) if (i // inner) % a.shape[d] == 0])
    base = trt.from_flat(values.data, values.shape, values.dtype)
    return trt.call("as_strided", base, list(a.shape), strides, 0)
