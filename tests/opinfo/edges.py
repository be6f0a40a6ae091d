#!/usr/bin/env python3
"""Operators at the edges of their domain: what generated samples do not reach.

  edges.py [--library PATH]

TABLE holds calls with the results and gradients that they must have: ties, singular points, NaN and infinities, empty lists, 0-d tensors. The
values are PyTorch's (2.15), except where a comment says otherwise. REFUSED holds calls that must fail, with their code and what the message
says. The functions below them try integer division by zero in every dtype, layout and variant.

To add a case: write a row. Prints what differs, and at last `edges: N of M cases pass`.
"""

import argparse
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "golden"))

import binding as trt  # noqa: E402

nan, inf = math.nan, math.inf


class Tensor:
    """A tensor argument, made anew for every call."""

    def __init__(self, data, dtype):
        self.data, self.dtype = data, dtype

    def make(self, gradient=False):
        t = trt.tensor(self.data, dtype=self.dtype and trt.DTYPES[self.dtype])
        if gradient and t.dtype.is_floating_point:
            t.requires_grad = True
        return t

    def __repr__(self):
        return f"{self.data} {self.dtype}"


def F(data, dtype="float64"):
    return Tensor(data, dtype)


def I(data, dtype="int64"):  # noqa: E743
    return Tensor(data, dtype)


def B(data):
    return Tensor(data, "bool")


HALF = 0.5
SELU_SCALE, SELU_NEGATIVE = 1.0507009873554805, 1.7580993408473768

# (operator, arguments, results, gradients of the sum of the results: one for every float64 argument, None to leave them out). A number as result
# stands for a 0-d tensor, a dict at the end of the arguments for those that go by name.
TABLE = [
    # 0-d tensors
    ("topk", [F(3.5), 0], [3.5, 0], [1.0]),
    ("topk", [F(3.5), 1], [3.5, 0], [1.0]),
    ("topk", [I(7), 0], [7, 0], None),
    ("sort", [F(3.5)], [3.5, 0], [1.0]),
    ("kthvalue", [F(3.5), 1], [3.5, 0], [1.0]),
    ("max.dim", [F(3.5), 0], [3.5, 0], [1.0]),
    ("cummin", [F(3.5), 0], [3.5, 0], [1.0]),

    # NaN and the corners of piecewise activations
    ("relu", [F([nan, 0.0, -1.0, 2.0])], [[nan, 0.0, 0.0, 2.0]], [[1.0, 0.0, 0.0, 1.0]]),
    ("relu6", [F([nan, 0.0, 6.0, 2.0])], [[nan, 0.0, 6.0, 2.0]], [[1.0, 0.0, 0.0, 1.0]]),
    ("hardtanh", [F([nan, -1.0, 1.0, 0.5, -inf])], [[nan, -1.0, 1.0, 0.5, -1.0]], [[1.0, 0.0, 0.0, 1.0, 0.0]]),
    ("threshold", [F([nan, 1.0, 2.0, -inf]), 1.0, 9.0], [[nan, 9.0, 2.0, 9.0]], [[1.0, 0.0, 1.0, 0.0]]),
    ("threshold", [F([0.0, 3.0]), nan, 9.0], [[0.0, 3.0]], [[1.0, 1.0]]),
    ("threshold", [I([1, 2]), 1.5, 9.5], [[9, 2]], None),
    ("hardshrink", [F([nan, 0.5, -0.5, 0.75, inf])], [[nan, 0.0, 0.0, 0.75, inf]], [[1.0, 0.0, 0.0, 1.0, 1.0]]),
    ("softshrink", [F([nan, 0.5, -0.5, 0.75, -inf])], [[nan, 0.0, 0.0, 0.25, -inf]], [[1.0, 0.0, 0.0, 1.0, 1.0]]),
    ("hardsigmoid", [F([nan, -3.0, 3.0])], [[nan, 0.0, 1.0]], [[0.0, 0.0, 0.0]]),
    ("hardswish", [F([nan, -3.0, 3.0])], [[nan, 0.0, 3.0]], [[1.0, 0.0, 1.0]]),
    ("leaky_relu", [F([nan, 0.0]), 0.25], [[nan, 0.0]], [[0.25, 0.25]]),
    ("elu", [F([nan, 0.0, 2.0]), 2.0], [[nan, 0.0, 2.0]], [[1.0, 2.0, 1.0]]),
    ("selu", [F([nan, 0.0])], [[nan, 0.0]], [[SELU_SCALE, SELU_NEGATIVE]]),
    ("celu", [F([nan, 0.0]), 2.0], [[nan, 0.0]], [[1.0, 1.0]]),
    ("softplus", [F([nan, inf, -inf])], [[nan, inf, 0.0]], [[nan, 1.0, 0.0]]),
    ("log_sigmoid", [F([nan, inf, -inf])], [[nan, 0.0, -inf]], [[nan, 0.0, 1.0]]),

    # numbers looked up among integers
    ("searchsorted.Scalar", [I([1, 2, 3, 4]), 2.5], [2], None),
    ("searchsorted.Scalar", [I([1, 2, 3, 4], "uint8"), -0.5], [0], None),
    # PyTorch takes -1 for 255.
    ("searchsorted.Scalar", [I([0, 2], "uint8"), -1], [0], None),
    ("searchsorted.Scalar", [I([1, 2, 3, 4], "int32"), 2.0], [1], None),
    ("searchsorted.Scalar", [I([1, 2, 3, 4]), 1e30], [4], None),
    ("searchsorted.Scalar", [I([1, 2, 3, 4]), -inf], [0], None),
    ("searchsorted.Scalar", [I([1, 2, 3, 4]), nan], [4], None),
    # PyTorch compares as float32 and finds position 0.
    ("searchsorted.Scalar", [I([2**53, 2**53 + 1]), 2**53 + 1], [1], None),
    ("bucketize.Scalar", [2.5, I([1, 2, 3, 4])], [2], None),
    ("bucketize.Scalar", [inf, I([1, 2, 3, 4], "int8")], [4], None),
    ("bucketize.Scalar", [0.1, Tensor([0.1, 0.2], "float32")], [0], None),

    # infinities in means and variances
    ("var_mean.correction", [F([1.0, inf]), [0]], [nan, inf], [[-inf, nan]]),
    ("var_mean.correction", [F([[1.0, 0.0], [inf, 1.0]]), [0]], [[nan, 0.5], [inf, 0.5]], [[[-inf, -0.5], [nan, 1.5]]]),
    # The mean is that of `mean`, wherever the infinities stand; PyTorch gives NaN when numbers follow them.
    ("std_mean.correction", [F([1.0, -inf, 2.0]), [0]], [nan, -inf], None),
    ("var_mean.correction", [F([1.0, 2.0, inf, 4.0] * 4000), [0]], [nan, inf], None),
    ("var_mean.correction", [F([inf, -inf]), [0]], [nan, nan], None),
    ("var_mean.correction", [F([1.7e308, 1.7e308, 1.7e308]), [0]], [0.0, 1.7e308], None),
    ("var.correction", [F([1.0, 4.0]), [0]], [4.5], [[-3.0, 3.0]]),
    ("mean", [F([1.0, inf])], [inf], [[0.5, 0.5]]),
    ("logsumexp", [F([inf, -inf]), [0]], [inf], [[nan, 0.0]]),

    # losses
    ("huber_loss", [F([nan, inf, 1.0, 3.0]), F([0.0, inf, 0.0, 0.0]), "none"], [[nan, nan, 0.5, 2.5]], [[nan, nan, 1.0, 1.0], [nan, nan, -1.0, -1.0]]),
    ("smooth_l1_loss", [F([nan, inf, 1.0, -1.0]), F([0.0, inf, 0.0, 0.0]), "none"], [[nan, nan, 0.5, 0.5]],
     [[nan, nan, 1.0, -1.0], [nan, nan, -1.0, 1.0]]),
    ("smooth_l1_loss", [F([0.0, nan]), F([0.0, 0.0]), "none", 0.0], [[0.0, nan]], [[0.0, 0.0], [0.0, 0.0]]),
    ("margin_ranking_loss", [F([1.0, 0.0]), F([0.0, 0.0]), F([1.0, 1.0]), 1.0, "none"], [[0.0, 1.0]], [[0.0, -1.0], [0.0, 1.0], [0.0, 0.0]]),
    ("hinge_embedding_loss", [F([1.0, 0.5]), F([-1.0, -1.0]), 1.0, "none"], [[0.0, 0.5]], [[0.0, -1.0], [0.0, 0.0]]),
    ("cosine_embedding_loss", [F([[1.0, 1.0]]), F([[-1.0, 1.0]]), I([-1]), 0.0, "none"], [[0.0]], [[[0.0, 0.0]], [[0.0, 0.0]]]),
    ("multi_margin_loss", [F([[0.0, 1.0, 2.0]]), I([1])], [2 / 3], [[[0.0, -1 / 3, 1 / 3]]]),
    ("multilabel_margin_loss", [F([[0.0, 1.0, 2.0]]), I([[0, 2, -1]])], [2 / 3], [[[-1 / 3, 1 / 3, 0.0]]]),
    ("triplet_margin_loss", [F([[0.0]]), F([[1.0]]), F([[2.0]]), 1.0, 2.0, 0.0], [0.0], [[[0.0]], [[0.0]], [[0.0]]]),
    ("binary_cross_entropy_with_logits", [F([inf, inf, -inf]), F([0.0, 2.0, -inf]), None, "none"], [[inf, -inf, nan]],
     [[1.0, -1.0, inf], [-inf, -inf, inf]]),
    ("binary_cross_entropy", [F([0.0, 1.0]), F([0.0, 1.0]), None, "none"], [[0.0, 0.0]], [[0.0, 0.0], [inf, -inf]]),

    # singular points of gradients
    ("atan2", [F([0.0, -0.0, 0.0, 1e-200]), F([0.0, 0.0, -0.0, 0.0])], [[0.0, -0.0, math.pi, math.pi / 2]], [[0.0] * 4, [0.0] * 4]),
    ("hypot", [F([0.0]), F([0.0])], [[0.0]], [[nan], [nan]]),
    ("pow", [F([0.0, 0.0, 2.0, 0.0]), F([0.0, 2.0, 0.0, 1.0])], [[1.0, 0.0, 1.0, 0.0]], [[0.0, 0.0, 0.0, 1.0], [0.0, 0.0, math.log(2), 0.0]]),
    ("sqrt", [F([0.0])], [[0.0]], [[inf]]),
    ("abs", [F([0.0, nan])], [[0.0, nan]], [[0.0, 0.0]]),
    ("xlogy", [F([0.0, 0.0]), F([0.0, 2.0])], [[0.0, 0.0]], [[0.0, math.log(2)], [nan, 0.0]]),
    ("linalg_vector_norm", [F([0.0, 0.0]), 2], [0.0], [[0.0, 0.0]]),
    ("linalg_vector_norm", [F([0.0, 3.0]), 0.5], [3.0], [[0.0, 1.0]]),
    ("linalg_vector_norm", [F([2.0, -2.0]), inf], [2.0], [[HALF, -HALF]]),
    ("dist", [F([1.0, 1.0]), F([1.0, 1.0]), 2], [0.0], [[0.0, 0.0], [0.0, 0.0]]),
    ("prod", [F([0.0, 2.0, 3.0])], [0.0], [[6.0, 0.0, 0.0]]),
    ("prod", [F([0.0, 0.0, 3.0])], [0.0], [[0.0, 0.0, 0.0]]),
    ("cumprod", [F([0.0, 2.0]), 0], [[0.0, 0.0]], [[3.0, 0.0]]),
    ("norm.str", [F([[1.0, 0.0], [0.0, 1.0]]), "nuc"], [2.0], [[[1.0, 0.0], [0.0, 1.0]]]),
    ("norm.str", [F([[3.0, 0.0]]), "nuc", [1, 0], True], [[[3.0]]], [[[1.0, 0.0]]]),
    ("norm.str", [F([[], []]), "nuc"], [0.0], None),

    # ties
    ("maximum", [F([1.0, nan, 2.0]), F([1.0, 0.0, 1.0])], [[1.0, nan, 2.0]], [[HALF, 1.0, 1.0], [HALF, 1.0, 0.0]]),
    ("minimum", [F([1.0, nan, 2.0]), F([1.0, 0.0, 1.0])], [[1.0, nan, 1.0]], [[HALF, 1.0, 0.0], [HALF, 1.0, 1.0]]),
    ("fmax", [F([1.0, nan, 2.0, nan]), F([1.0, 0.0, nan, nan])], [[1.0, 0.0, 2.0, nan]], [[HALF, 0.0, 1.0, 1.0], [HALF, 1.0, 0.0, 0.0]]),
    ("fmin", [F([1.0, nan, 2.0, nan]), F([1.0, 0.0, nan, nan])], [[1.0, 0.0, 2.0, nan]], [[HALF, 0.0, 1.0, 1.0], [HALF, 1.0, 0.0, 0.0]]),
    ("clamp", [F([0.0, 1.0, 0.5, nan]), 0, 1], [[0.0, 1.0, 0.5, nan]], [[0.0, 0.0, 1.0, 0.0]]),
    ("clamp", [F([0.0, 1.0]), 0], [[0.0, 1.0]], [[0.0, 1.0]]),
    ("clamp", [F([0.0, 1.0]), None, 1], [[0.0, 1.0]], [[1.0, 0.0]]),
    ("clamp_min.Scalar", [F([0.0, 1.0]), 0], [[0.0, 1.0]], [[0.0, 1.0]]),
    ("clamp_max.Scalar", [F([0.0, 1.0]), 1], [[0.0, 1.0]], [[1.0, 0.0]]),
    ("clamp_min", [F([0.0, nan]), F([0.0, 1.0])], [[0.0, nan]], [[HALF, 1.0], [HALF, 1.0]]),
    ("clamp_max", [F([0.0, 1.0]), F([0.0, nan])], [[0.0, nan]], [[HALF, 1.0], [HALF, 1.0]]),
    ("clamp.Tensor", [F([0.0, 1.0, 0.5, -1.0, nan]), F([0.0] * 5), F([1.0] * 5)], [[0.0, 1.0, 0.5, 0.0, nan]],
     [[HALF, HALF, 1.0, 0.0, 1.0], [HALF, 0.0, 0.0, 1.0, 0.0], [0.0, HALF, 0.0, 0.0, 0.0]]),
    # min = max, and min > max
    ("clamp.Tensor", [F([0.5, 0.0, 1.0, 0.5]), F([0.5, 0.5, 0.5, 1.0]), F([0.5, 0.5, 0.5, 0.0])], [[0.5, 0.5, 0.5, 0.0]],
     [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]),
    ("amax", [F([2.0, 1.0, 2.0])], [2.0], [[HALF, 0.0, HALF]]),
    ("min", [F([1.0, 1.0])], [1.0], [[HALF, HALF]]),
    ("max.dim", [F([2.0, 2.0]), 0], [2.0, 0], [[1.0, 0.0]]),

    # an empty list of dimensions: each element alone for all and any, everything for the others
    ("all.dims", [F([[1.0, 0.0], [nan, 2.0]]), []], [[[True, False], [True, True]]], None),
    ("any.dims", [I([[1, 0]]), [], True], [[[True, False]]], None),
    ("any.dims", [I([1, 0], "uint8"), []], [[1, 0]], None),
    ("all.dims", [F([1.0, 0.0]), None], [False], None),
    ("any.dims", [B([]), []], [[]], None),
    ("sum", [F([1.0, 2.0]), []], [3.0], [[1.0, 1.0]]),
    ("mean", [F([1.0, 3.0]), []], [2.0], [[HALF, HALF]]),
    ("linalg_vector_norm", [F([3.0, 4.0]), 2, []], [5.0], [[0.6, 0.8]]),

    # integers
    ("fmod", [I([7, -7, -2**63]), I([3, 3, -1])], [[1, -1, 0]], None),
    ("floor_divide", [I([-2**63, -7]), I([-1, 2])], [[-2**63, -4]], None),
    ("floor_divide", [F([1.0, -1.0, 0.0]), F([0.0, 0.0, 0.0])], [[inf, -inf, nan]], None),
    ("remainder", [I([]), I([0])], [[]], None),
    ("floor_divide.Scalar", [I([]), 0], [[]], None),
    ("pow", [I([1, 2, -1, 0]), I([-1, -2, -3, -1])], [[1, 0, -1, 0]], None),
    ("pow.ScalarSelf", [2, I([-1, 3])], [[0, 8]], None),
    ("hardtanh", [I([5, -3, 0]), -1.5, 2.5], [[2, -1, 0]], None),
    ("masked_fill.Scalar", [I([1, 2]), B([True, False]), 2.5], [[2, 2]], None),
    ("addcmul", [I([1, 2]), I([1, 2]), I([1, 2])], [[2, 6]], None),
    ("full", [[2], -1, {"dtype": trt.DTYPES["uint8"]}], [[255, 255]], None),
    ("full", [[1], inf, {"dtype": trt.DTYPES["float16"]}], [[inf]], None),
    ("tensordot", [I([[100, 27]], "int8"), I([[1]], "int8"), [1], [0]], [[[127]]], None),
    ("tensordot", [I([[100, 100]], "uint8"), I([[2]], "uint8"), [1], [0]], [[[144]]], None),

    # output_padding of a stride or more, below dilation
    ("conv_transpose1d", [F([[[1.0, 2.0, 3.0]]]), F([[[1.0, 2.0, 3.0]]]), F([1.0]), [1], [0], [1], 1, [2]],
     [[[[2.0, 3.0, 6.0, 5.0, 10.0, 7.0, 10.0, 1.0]]]], [[[[6.0, 6.0, 6.0]]], [[[6.0, 6.0, 6.0]]], [8.0]]),
    ("conv_transpose2d", [F([[[[1.0, 2.0]]]]), F([[[[1.0], [2.0]]]]), None, [2, 1], [1, 0], [2, 0], 1, [3, 1]],
     [[[[[0.0, 0.0], [0.0, 0.0], [2.0, 4.0], [0.0, 0.0]]]]], [[[[[2.0, 2.0]]]], [[[[0.0], [3.0]]]]]),

    # poles, and the limit at infinity (NaN in PyTorch)
    ("polygamma", [2, F([1.0, inf, nan, 0.0, -1.0])], [[-2.4041138063191885708, 0.0, nan, -inf, -inf]], None),
    ("polygamma", [20, F([-0.5])], [[-487772949462609.94]], None),
]

# (operator, arguments, code, part of the message)
REFUSED = [
    ("polygamma", [-1, F([1.0])], "INVALID_ARGUMENT", "n >= 0"),
    ("softshrink", [F([1.0]), -1.0], "INVALID_ARGUMENT", "lambd"),
    ("hardtanh", [I([1]), 0, inf], "OUT_OF_RANGE", "inf"),
    ("hardtanh", [I([1]), nan, 1], "OUT_OF_RANGE", "nan"),
    ("hardtanh", [I([1], "uint8"), 0, 1e30], "OUT_OF_RANGE", "1e+30"),
    ("pow.Scalar", [I([1, 2]), -1], "INVALID_ARGUMENT", "negative"),
    ("pow.Scalar", [I([]), -1], "INVALID_ARGUMENT", "negative"),
    ("pow.Scalar", [B([True]), -1], "INVALID_ARGUMENT", "negative"),
    ("full", [[2], inf, {"dtype": trt.DTYPES["int64"]}], "OUT_OF_RANGE", "int64"),
    ("full", [[2], 300, {"dtype": trt.DTYPES["uint8"]}], "OUT_OF_RANGE", "uint8"),
    ("full", [[2], 2**40, {"dtype": trt.DTYPES["int32"]}], "OUT_OF_RANGE", "int32"),
    ("full", [[2], 1e6, {"dtype": trt.DTYPES["float16"]}], "OUT_OF_RANGE", "float16"),
    ("fill_", [I([1, 2]), nan], "OUT_OF_RANGE", "int64"),
    ("masked_fill.Scalar", [I([1, 2]), B([True, False]), inf], "OUT_OF_RANGE", "int64"),
    ("index_fill.int_Scalar", [I([1, 2]), 0, I([0]), inf], "OUT_OF_RANGE", "int64"),
    ("scatter.value", [I([1, 2], "int8"), 0, I([0]), 128], "OUT_OF_RANGE", "int8"),
    ("constant_pad_nd", [I([1, 2]), [1, 1], -inf], "OUT_OF_RANGE", "int64"),
    ("nanmean", [F([1.0]), {"dtype": trt.DTYPES["int32"]}], "INVALID_ARGUMENT", "int32"),
    ("cumsum", [F([1.0]), 0, {"dtype": trt.DTYPES["bool"]}], "NOT_SUPPORTED", "bool"),
    ("cumprod", [I([1]), 0, {"dtype": trt.DTYPES["bool"]}], "NOT_SUPPORTED", "bool"),
    ("linalg_vector_norm", [F([1.0]), 2, {"dtype": trt.DTYPES["float32"]}], "INVALID_ARGUMENT", "float32"),
    ("repeat_interleave.self_int", [F([1.0, 2.0]), 2, {"output_size": 3}], "INVALID_ARGUMENT", "output_size is 3"),
    ("repeat_interleave.self_int", [F(1.0), 2, {"output_size": 3}], "INVALID_ARGUMENT", "output_size is 3"),
    ("repeat_interleave.self_Tensor", [F([1.0, 2.0]), I([1, 2]), {"output_size": 4}], "INVALID_ARGUMENT", "output_size is 4"),
    ("multilabel_margin_loss", [F([0.1, 0.2, 0.3]), I([0, -2, 1])], "OUT_OF_RANGE", "target"),
    ("multilabel_margin_loss", [F([0.1, 0.2, 0.3]), I([0, -1, 5])], "OUT_OF_RANGE", "target"),
    ("binary_cross_entropy", [F([nan]), F([0.5])], "INVALID_ARGUMENT", "input"),
    ("binary_cross_entropy", [F([0.5]), F([1.5])], "INVALID_ARGUMENT", "target"),
    ("linear", [F([[1.0, 2.0], [1.0, 2.0]]), F([3.0, 4.0]), F([1.0, 2.0])], "INVALID_ARGUMENT", "float64[2]"),
    ("linear", [F([[[1.0, 2.0]], [[1.0, 2.0]]]), F([3.0, 4.0]), F([1.0, 2.0])], "INVALID_ARGUMENT", "float64[2]"),
    ("conv_transpose1d", [F([[[1.0]]]), F([[[1.0]]]), None, [2], [0], [2], 1, [1]], "INVALID_ARGUMENT", "output_padding"),
    ("norm.str", [F([1.0]), "nuc"], "INVALID_ARGUMENT", "float64[1]"),
    ("norm.str", [F([[nan]]), "nuc"], "INVALID_ARGUMENT", "NaN"),
    ("norm.str", [F([[1.0]]), "nuc", [0, -2]], "INVALID_ARGUMENT", "different"),
]


def same(a, b):
    if a is None or b is None:
        return a is b
    if a != a or b != b:
        return a != a and b != b
    return a == b or abs(a - b) <= 1e-12 * max(1e-3, abs(b))


def flat(v):
    return [y for x in v for y in flat(x)] if isinstance(v, list) else [v]


def shape(v):
    return (len(v), *(shape(v[0]) if v else ())) if isinstance(v, list) else ()


def differs(t, expected):
    """What a tensor differs in, or None."""
    got = trt.flat(t)
    if t.shape != shape(expected) and flat(expected):
        return f"shape {list(t.shape)}, not {list(shape(expected))}"
    if len(got) != len(flat(expected)) or not all(map(same, got, flat(expected))):
        return f"{got}, not {flat(expected)}"
    return None


def call(op, arguments):
    """A dict at the end holds arguments by name."""
    named = arguments[-1] if isinstance(arguments[-1], dict) else {}
    return trt.call(op, *arguments[:len(arguments) - bool(named)], **named)


def check_row(op, arguments, results, gradients):
    made = [a.make(gradients is not None) if isinstance(a, Tensor) else a for a in arguments]
    returned = call(op, made)
    returned = list(returned) if isinstance(returned, tuple) else [returned]
    if len(returned) != len(results):
        return f"{len(returned)} results"
    for t, e in zip(returned, results):
        reason = differs(t, e)
        if reason:
            return reason
    if gradients is None:
        return None
    leaves = [m for m in made if isinstance(m, trt.Tensor) and m.requires_grad]
    outputs = [t for t in returned if t.requires_grad]
    if len(leaves) != len(gradients):
        return f"{len(leaves)} arguments with a gradient, {len(gradients)} gradients in the table"
    found = trt.grad(outputs, leaves, [trt.call("ones_like", t.detach()) for t in outputs], allow_unused=True)
    for i, (g, e) in enumerate(zip(found, gradients)):
        reason = differs(g, e) if g is not None else any(flat(e)) and "missing"
        if reason:
            return f"gradient {i}: {reason}"
    return None


def check_refused(op, arguments, code, text):
    made = [a.make() if isinstance(a, Tensor) else a for a in arguments]
    before = [trt.flat(m) if isinstance(m, trt.Tensor) else None for m in made]
    try:
        call(op, made)
    except trt.Error as e:
        if e.code != code:
            return f"code {e.code}: {e}"
        if text not in str(e):
            return f'the message does not say "{text}": {e}'
        if op.split(".")[0] not in str(e):
            return f"the message does not name the operator: {e}"
        if any(trt.flat(m) != b and not any(x != x for x in b) for m, b in zip(made, before) if b is not None):
            return "an argument was changed"
        return None
    return "it succeeded"


# --- integer division by zero ---------------------------------------------------------------------------------------------------

def layouts(values, dtype):
    """The same numbers, a vector, as tensors of several layouts: (name, tensor, how a partner of the vector's shape is laid out)."""
    n = len(values)
    yield "contiguous", trt.from_flat(values, [n], dtype)
    between = [1] * (2 * n)
    between[::2] = values
    yield "sliced", trt.call("as_strided", trt.from_flat(between, [2 * n], dtype), [n], [2], 0)
    yield "transposed", trt.call("transpose", trt.from_flat(values, [1, n], dtype), 0, 1)
    yield "expanded", trt.call("expand", trt.from_flat(values, [1, n], dtype), [3, n])
    yield "broadcast", trt.from_flat(values, [n, 1], dtype)


def division_cases():
    """(name, function that must fail) for all ways to divide integers."""
    integers = ["uint8", "int8", "int16", "int32", "int64"]
    zeros = {"at the begin": [0, 3, 2], "at the end": [3, 2, 0], "far behind": [5] * 70000 + [0]}
    for dtype in integers:
        for where, values in zeros.items():
            if len(values) > 3 and dtype not in ("uint8", "int64"):
                continue
            for layout, divisor in layouts(values, dtype):
                if len(values) > 3 and layout in ("expanded", "broadcast"):
                    continue
                target = list(divisor.shape) if layout != "broadcast" else [len(values), 2]
                for other in {dtype, "int64"}:
                    for op, extra in (("floor_divide", {}), ("remainder", {}), ("fmod", {}), ("trunc_divide", {}),
                                      ("div.Tensor_mode", {"rounding_mode": "floor"}),
                                      ("div.Tensor_mode", {"rounding_mode": "trunc"})):
                        yield f"{op} {other} by {dtype} {layout}, zero {where}", op, target, other, divisor, extra
        for op in ("floor_divide.Scalar", "remainder.Scalar", "fmod.Scalar"):
            yield f"{op} {dtype}", op, [3], dtype, 0, {}
        yield f"remainder.ScalarSelf {dtype}", "remainder.ScalarSelf", None, None, trt.from_flat([2, 0], [2], dtype), {}
    yield "floor_divide by a bool tensor", "floor_divide", [2], "int32", trt.from_flat([True, False], [2], "bool"), {}
    yield "floor_divide by a 0-d tensor", "floor_divide", [2], "int32", trt.from_flat([0], [], "int64"), {}
    # A number, and a 0-d tensor, becomes one of the tensor's dtype: 256 is 0 in uint8.
    yield "floor_divide uint8 by 256", "floor_divide.Scalar", [2], "uint8", 256, {}
    yield "floor_divide uint8 by a 0-d 256", "floor_divide", [2], "uint8", trt.from_flat([256], [], "int64"), {}


def check_division(names, op, sizes, dtype, divisor, extra):
    if sizes is None:
        forms = [(op, 7, None)]
    else:
        base = op.split(".")[0]
        dividend = trt.call("full", sizes, 7, dtype=trt.DTYPES[dtype])
        forms = [(op, dividend, None)]
        inplace = op.replace(base, base + "_", 1)
        if inplace in names and not (isinstance(divisor, trt.Tensor) and divisor.shape and trt.DTYPES[dtype].itemsize < divisor.dtype.itemsize):
            forms.append((inplace, dividend, dividend))
        out = f"{op}_out" if "." in op else f"{op}.out"
        if out in names:
            result = trt.call("full", sizes, 9, dtype=trt.DTYPES["int64"])
            forms.append((out, dividend, result))
    for name, dividend, written in forms:
        before = trt.flat(written) if written is not None else None
        try:
            trt.call(name, dividend, divisor, **extra, **({"out": written} if name.endswith("out") else {}))
            return f"{name} succeeded"
        except trt.Error as e:
            if e.code != "INVALID_ARGUMENT" or "division by zero" not in str(e) or op.split(".")[0] not in str(e):
                return f"{name}: {e.code}: {e}"
        if written is not None and trt.flat(written) != before:
            return f"{name} failed but changed its result"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    cases = [(f"{row[0]}{row[1]}", check_row, row) for row in TABLE]
    cases += [(f"{row[0]}{row[1]}, to be refused", check_refused, row) for row in REFUSED]
    operators = set(trt.operators())
    cases += [(name, check_division, [operators, *rest]) for name, *rest in division_cases()]
    passed = 0
    for name, check, row in cases:
        try:
            reason = check(*row)
        except trt.Error as e:
            reason = f"{e.code}: {e}"
        if reason:
            print(f"{name}: {reason}"[:500])
        passed += not reason
    print(f"edges: {passed} of {len(cases)} cases pass")
    return 0 if passed == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
