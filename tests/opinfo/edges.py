#!/usr/bin/env python3
"""Operators at the edges of their domain: what generated samples do not reach.

  edges.py

TABLE holds calls with the results and gradients that they must have: ties, singular points, NaN and infinities, empty lists, 0-d tensors. The
values are PyTorch's (2.15), except where a comment says otherwise. REFUSED holds calls that must fail, with their code and what the message
says. The functions below them try integer division by zero in every dtype, layout and variant, and outputs that share memory.

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


def H(data):
    return Tensor(data, "float16")


HALF = 0.5
BIG, SMALL = 2.0**70, 2.0**-70
ROOT_2_3 = 0.8164966106414795  # the float32 next to sqrt(2 / 3)
SELU_SCALE, SELU_NEGATIVE = 1.0507009873554805, 1.7580993408473768

# (operator, arguments, results, gradients of the sum of the results: one for every float64 argument, None to leave them out). A number as result
# stands for a 0-d tensor, a dict at the end of the arguments for those that go by name.
TABLE = [
    ("squeeze.dims", [F([[[1.0], [2.0]]]), [0, 2]], [[1.0, 2.0]], [[[[1.0], [1.0]]]]),
    ("squeeze.dims", [F([[[1.0], [2.0]]]), [-1, 1]], [[[1.0, 2.0]]], [[[[1.0], [1.0]]]]),
    ("squeeze.dims", [F([[1.0]]), []], [[[1.0]]], [[[1.0]]]),
    ("squeeze.dims", [F(2.0), [0]], [2.0], [1.0]),
    # Products of Kronecker and powers of Vandermonde, windows, power averages
    ("kron", [F([[1.0, 2.0]]), F([[0.0, 1.0], [-1.0, 3.0]])], [[[0.0, 1.0, 0.0, 2.0], [-1.0, 3.0, -2.0, 6.0]]], [[[3.0, 3.0]], [[3.0, 3.0], [3.0, 3.0]]]),
    ("kron", [F(3.0), F([1.0, 2.0])], [[3.0, 6.0]], [3.0, [3.0, 3.0]]),
    ("kron", [I([1, 2]), I([[1, 10]])], [[[1, 10, 2, 20]]], None),
    ("vander", [I([1, 2, 3])], [[[1, 1, 1], [4, 2, 1], [9, 3, 1]]], None),
    ("vander", [F([2.0, 3.0]), {"N": 4, "increasing": True}], [[[1.0, 2.0, 4.0, 8.0], [1.0, 3.0, 9.0, 27.0]]], [[17.0, 34.0]]),
    ("vander", [F([2.0]), {"N": 0}], [[[]]], None),
    ("unravel_index", [I([0, 5, 11]), [3, 4]], [[0, 1, 2], [0, 1, 3]], None),
    ("hann_window", [5, True, {"dtype": trt.DTYPES["float64"]}], [[0.0, 0.3454915028125263, 0.9045084971874737, 0.9045084971874737, 0.3454915028125264]], None),
    ("hann_window", [5, False, {"dtype": trt.DTYPES["float64"]}], [[0.0, 0.5, 1.0, 0.5, 0.0]], None),
    ("hann_window", [1, {"dtype": trt.DTYPES["float64"]}], [[1.0]], None),
    ("hann_window", [0], [[]], None),
    ("hamming_window", [5, {"dtype": trt.DTYPES["float64"]}], [[0.08, 0.3978521825875242, 0.9121478174124757, 0.912147817412476, 0.3978521825875243]], None),
    ("bartlett_window", [5, {"dtype": trt.DTYPES["float64"]}], [[0.0, 0.4, 0.8, 0.8, 0.4]], None),
    ("blackman_window", [5, {"dtype": trt.DTYPES["float64"]}], [[0.0, 0.20077014326253045, 0.8492298567374694, 0.8492298567374696, 0.20077014326253056]], None),
    ("kaiser_window", [5, {"dtype": trt.DTYPES["float64"]}], [[5.2773441320097665e-05, 0.10171968770956323, 0.7929398341014605, 0.7929398341014605, 0.10171968770956323]], None),
    ("lp_pool1d", [F([[3.0, 4.0, -6.0, 8.0, 9.0]]), 2.0, [2]], [[[5.0, 10.0]]], [[[0.6, 0.8, -0.6, 0.8, 0.0]]]),
    ("lp_pool1d", [F([[3.0, 4.0, 9.0]]), 2.0, [2], {"ceil_mode": True}], [[[5.0, 9.0 * 2.0**0.5]]], None),
    ("lp_pool2d", [F([[[1.0, 2.0], [3.0, 4.0]]]), 1.0, [2, 2]], [[[[10.0]]]], [[[[1.0, 1.0], [1.0, 1.0]]]]),
    ("lp_pool3d", [F([[[[3.0, 4.0]]]]), 2.0, [1, 1, 2]], [[[[[5.0]]]]], [[[[[0.6, 0.8]]]]]),
    # Windows and places at the borders: infinities and NaN in pools, indices of the first of equal maxima, positions outside
    ("max_pool3d_with_indices", [F([[[[-inf, -inf]]]]), [1, 1, 2]], [[[[[-inf]]]], [[[[0]]]]], None),
    ("max_pool3d_with_indices", [F([[[[nan, 3.0, nan]]]]), [1, 1, 3]], [[[[[nan]]]], [[[[2]]]]], [[[[[0.0, 0.0, 1.0]]]]]),
    ("interpolate", [F([[[1.0, 2.0]]]), {"size": [4]}], [[[[1.0, 1.0, 2.0, 2.0]]]], [[[[2.0, 2.0]]]]),
    ("interpolate", [F([[[1.0, 2.0]]]), {"size": [4], "mode": "linear"}], [[[[1.0, 1.25, 1.75, 2.0]]]], [[[[2.0, 2.0]]]]),
    ("grid_sample", [F([[[[1.0, 2.0]]]]), F([[[[nan, 0.0], [9.0, 0.0], [1.0, 0.0]]]])], [[[[[nan, 0.0, 1.0]]]]], None),
    ("grid_sample", [F([[[[2.0]]]]), F([[[[0.5, 0.0]]]]), "bilinear", "reflection", True], [[[[[2.0]]]]], [[[[[1.0]]]], [[[[0.0, 0.0]]]]]),
    ("pad", [F([[[0.0, 1.0, 2.0, 3.0, 4.0]]]), [2, -1], "circular"], [[[[2.0, 3.0, 0.0, 1.0, 2.0, 3.0]]]], [[[[1.0, 1.0, 2.0, 2.0, 0.0]]]]),
    ("pad", [F([[[0.0, 1.0, 2.0, 3.0, 4.0]]]), [-2, 3], "circular"], [[[[2.0, 3.0, 4.0, 2.0, 3.0, 4.0]]]], [[[[0.0, 0.0, 2.0, 2.0, 2.0]]]]),
    # special functions
    ("i0", [F([0.0, 2.0, -2.0])], [[1.0, 2.279585302336067, 2.279585302336067]], [[0.0, 1.5906368546373295, -1.5906368546373295]]),
    ("i0", [F([inf, -inf, nan, 720.0])], [[nan, nan, nan, inf]], None),
    ("special_i1", [F([0.0, 2.0, -2.0])], [[0.0, 1.5906368546373295, -1.5906368546373295]], [[0.5, 1.484266875017402, 1.484266875017402]]),
    ("special_i0e", [F([0.0, 2.0, -2.0])], [[1.0, 0.308508322553671, 0.308508322553671]], [[0.0, -0.0932390333047333, 0.0932390333047333]]),
    ("special_i1e", [F([0.0, 2.0, -2.0])], [[0.0, 0.2152692892489377, -0.2152692892489377]], [[0.5, -0.014395611319735546, -0.014395611319735546]]),
    ("special_bessel_j1", [F([0.0, 2.0, -2.0])], [[0.0, 0.5767248077568801, -0.5767248077568801]], [[0.5, -0.06447162473719648, -0.06447162473719648]]),
    ("special_bessel_j0", [F([0.0, inf, nan])], [[1.0, nan, nan]], None),
    ("special_bessel_y0", [F([0.0, -1.0, inf])], [[-inf, nan, nan]], None),
    ("special_bessel_y1", [F([0.0, -1.0, inf])], [[-inf, nan, nan]], None),
    ("special_modified_bessel_k0", [F([0.0, -1.0, inf])], [[inf, nan, 0.0]], None),
    ("special_scaled_modified_bessel_k1", [F([0.0, -1.0, inf])], [[inf, nan, 0.0]], None),
    ("special_airy_ai", [F([inf, -inf, 1e300])], [[nan, nan, 0.0]], None),
    ("special_spherical_bessel_j0", [F([0.0, inf, nan])], [[1.0, 0.0, nan]], None),
    ("special_erfcx", [F([0.0, inf, -inf, -30.0, nan])], [[1.0, 0.0, inf, inf, nan]], None),
    ("special_log_ndtr", [F([inf, -inf, nan])], [[0.0, -inf, nan]], None),
    ("special_ndtri", [F([0.0, 1.0, 0.5])], [[-inf, inf, 0.0]], [[inf, inf, 2.5066282746310002]]),
    ("special_ndtri", [F([-0.1, 1.1, nan])], [[nan, nan, nan]], None),
    ("special_zeta", [F([1.0, 0.5, 2.0, 2.0, 2.5, 2.0, inf]), F([2.0, 2.0, 0.0, -1.0, -0.5, inf, 1.0])], [[inf, nan, inf, inf, nan, nan, 1.0]], None),
    ("igamma", [F([0.0, 0.0, 1.0, -1.0, inf, inf, 1.0, nan]), F([1.0, 0.0, 0.0, 1.0, 1.0, inf, inf, 1.0])], [[1.0, nan, 0.0, nan, 0.0, nan, 1.0, nan]], None),
    ("igammac", [F([0.0, 0.0, 1.0, -1.0, inf, inf, 1.0, nan]), F([1.0, 0.0, 0.0, 1.0, 1.0, inf, inf, 1.0])], [[0.0, nan, 1.0, nan, 1.0, nan, 0.0, nan]], None),
    ("special_chebyshev_polynomial_t", [F([0.3, 0.3, 0.3, -1.0, nan, nan]), F([-1.0, -0.5, 2.7, 7.0, 0.0, 2.0])], [[0.0, 1.0, -0.82, -1.0, 1.0, nan]], None),
    ("special_chebyshev_polynomial_t", [F([2.0, 1.0000000001]), F([1e18, 1e18])], [[inf, inf]], None),  # no hang
    ("special_chebyshev_polynomial_v", [F([-1.0, 1.0, -1.0]), F([7.0, 7.0, 12.0])], [[-15.0, 1.0, 25.0]], None),
    ("special_shifted_chebyshev_polynomial_w", [F([0.0, 1.0, 2.0]), F([7.0, 7.0, 2.0])], [[-1.0, 15.0, 41.0]], None),
    ("special_hermite_polynomial_h", [F([0.01, 2.0]), F([513.0, 3.0])], [[nan, 40.0]], None),
    ("special_laguerre_polynomial_l", [F([0.0, 2.0]), F([9.0, 2.0])], [[1.0, -1.0]], None),
    ("special_legendre_polynomial_p", [F([-1.0, 2.0]), F([7.0, 2.0])], [[-1.0, 5.5]], None),
    ("gcd", [I([-128, 0, 6], "int8"), I([0, 0, -4], "int8")], [[-128, 0, 2]], None),
    ("lcm", [I([100, 0, 6], "int8"), I([7, 0, -4], "int8")], [[-68, 0, 12]], None),
    ("lcm", [I([-(2**63), 5]), I([-1, 1])], [[-(2**63), 5]], None),
    ("nextafter", [H([0.0, 1.0, nan, 65504.0, -1.0]), H([1.0, 0.0, 1.0, inf, 0.0])], [[2.0**-24, 0.99951171875, nan, inf, -0.99951171875]], None),
    ("nextafter", [F([0.0, 1.0, -1.0], "bfloat16"), F([-1.0, 2.0, -2.0], "bfloat16")], [[-(2.0**-133), 1.0078125, -1.0078125]], None),
    ("nextafter", [F([1.0, 0.0]), F(2.0)], [[1.0 + 2.0**-52, 2.0**-1074]], None),
    ("frexp", [F([0.0, 1.0, -3.0])], [[0.0, 0.5, -0.75], [0, 1, 2]], [[1.0, 0.5, 0.25]]),
    ("frexp", [F([inf, nan, 2.0**-1030])], [[inf, nan, 0.5], [0, 0, -1029]], None),
    # linear algebra: singular matrices, equal points, vectors at the origin. (PyTorch's gradient of det is 0 where the determinant is exactly 0; the
    # derivative is the matrix of cofactors.)
    ("linalg_det", [F([[1.0, 2.0], [2.0, 4.0]])], [0.0], [[[4.0, -2.0], [-2.0, 1.0]]]),
    ("linalg_det", [F([[0.0, 0.0], [0.0, 0.0]])], [0.0], [[[0.0, 0.0], [0.0, 0.0]]]),
    ("linalg_det", [F([[0.0, 1.0], [1.0, 0.0]])], [-1.0], [[[0.0, -1.0], [-1.0, 0.0]]]),
    ("linalg_slogdet", [F([[0.0, 0.0], [0.0, 1.0]])], [0.0, -inf], None),
    ("logdet", [F([[-1.0]])], [nan], None),
    ("linalg_svdvals", [F([[3.0, 0.0], [0.0, -4.0]])], [[4.0, 3.0]], [[[1.0, 0.0], [0.0, -1.0]]]),
    ("linalg_eigvalsh", [F([[2.0, 9.0], [0.0, 1.0]])], [[1.0, 2.0]], [[[1.0, 0.0], [0.0, 1.0]]]),
    ("linalg_pinv", [F([[2.0, 0.0], [0.0, 0.0]]), 1e-15], [[[0.5, 0.0], [0.0, 0.0]]], [[[-0.25, 0.25], [0.25, 0.0]]]),
    ("linalg_matrix_rank", [F([[1.0, 0.0], [0.0, 1e-3]]), 0.5], [1], None),
    ("linalg_cond", [F([[1.0, 0.0], [0.0, 0.0]])], [inf], None),
    ("linalg_cond", [F([[1.0, 0.0], [0.0, 0.0]]), 1], [inf], None),
    ("linalg_cond.p_str", [F([[1.0, 0.0], [0.0, 0.0]]), "nuc"], [inf], None),
    ("matrix_exp", [F([[0.0, 1.0], [0.0, 0.0]])], [[[1.0, 1.0], [0.0, 1.0]]], [[[1.5, 1.0], [2.1666666666666665, 1.5]]]),
    ("matrix_exp", [F([[710.0]])], [[[inf]]], [[[inf]]]),
    ("linalg_matrix_power", [F([[nan, 1.0], [1.0, nan]]), 0], [[[1.0, 0.0], [0.0, 1.0]]], None),
    ("linalg_cross", [F([1.0, 0.0, 0.0]), F([0.0, 1.0, 0.0])], [[0.0, 0.0, 1.0]], [[1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]),
    ("cdist", [F([[1.0, 2.0]]), F([[1.0, 2.0], [4.0, 6.0]])], [[[0.0, 5.0]]], [[[-0.6, -0.8]], [[0.0, 0.0], [0.6, 0.8]]]),
    ("pdist", [F([[1.0, 2.0], [1.0, 2.0]])], [[0.0]], [[[0.0, 0.0], [0.0, 0.0]]]),
    ("renorm", [F([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 10.0], [[[3.0, 4.0], [0.3, 0.4]]], [[[1.0, 1.0], [1.0, 1.0]]]),
    ("cov", [F([[1.0]])], [nan], None),
    ("linalg_lstsq", [F([[1.0, 0.0], [0.0, 0.0]]), F([[2.0], [3.0]])], [[[2.0], [0.0]], [], 1, []], None),

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

    # squares beyond the range of float32, and equal numbers whose squares overflow
    ("std.correction", [Tensor([-BIG, 0.0, BIG], "float32")], [BIG], [[-HALF, 0.0, HALF]]),
    ("std.correction", [Tensor([-SMALL, 0.0, SMALL], "float32")], [SMALL], [[-HALF, 0.0, HALF]]),
    ("std.correction", [Tensor([-SMALL, 0.0, SMALL], "bfloat16"), [0]], [SMALL], [[-HALF, 0.0, HALF]]),
    ("std.correction", [Tensor([[-BIG, -SMALL, -1.0], [0.0, 0.0, 0.0], [BIG, SMALL, 1.0]], "float32"), [0]], [[BIG, SMALL, 1.0]],
     [[[-HALF] * 3, [0.0] * 3, [HALF] * 3]]),
    ("std.correction", [Tensor([[-BIG, 0.0, BIG], [-SMALL, 0.0, SMALL]], "float32"), [1]], [[BIG, SMALL]], [[[-HALF, 0.0, HALF]] * 2]),
    ("var.correction", [Tensor([-SMALL, 0.0, SMALL], "float32"), [0]], [SMALL * SMALL], [[-SMALL, 0.0, SMALL]]),
    ("var.correction", [Tensor([-BIG, 0.0, BIG], "float32"), [0]], [inf], None),
    ("std_mean.correction", [Tensor([BIG, 2 * BIG, 3 * BIG], "float32"), [0]], [BIG, 2 * BIG], None),
    ("std_mean.correction", [Tensor([BIG, 2 * BIG, 3 * BIG] * 8192, "float32"), [0], {"correction": 0}], [ROOT_2_3 * BIG, 2 * BIG], None),
    ("var_mean.correction", [F([1e300] * 3)], [0.0, 1e300], None),
    ("var_mean.correction", [F([[1e300, 1.0]] * 3), [0]], [[0.0, 0.0], [1e300, 1.0]], None),
    ("std.correction", [Tensor([0.1] * 100, "float32"), [0]], [0.0], [[0.0] * 100]),

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
    ("heaviside", [F([nan, 0.0, -0.0, 0.0, -inf, 3.0]), F([5.0, 5.0, 4.0, nan, nan, nan])], [[0.0, 5.0, 4.0, nan, 0.0, 1.0]], None),
    ("copysign", [F([inf, -2.0, 0.0, nan]), F([1.0, -1.0, -1.0, 1.0])], [[inf, -2.0, -0.0, nan]], [[nan, 1.0, 0.0, nan], [0.0] * 4]),
    ("logit", [F([0.5, -1.0, 2.0, nan])], [[0.0, nan, nan, nan]], [[4.0, nan, nan, nan]]),
    ("logit", [F([0.5, -1.0, 2.0, nan]), 0.25], [[0.0, -1.0986122886681098, 1.0986122886681098, nan]], [[4.0, 0.0, 0.0, nan]]),
    ("mode", [F([nan, nan, 2.0, 1.0])], [1.0, 3], [[0.0, 0.0, 0.0, 1.0]]),
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

    # integers, numbers and 0-d tensors beside 16-bit floats become one of them first: 2049 is 2048 in float16
    ("add", [I([2049], "int32"), H([1.0])], [[2048.0]], None),
    ("add", [H([1.0]), I(2049)], [[2048.0]], None),
    ("add", [Tensor([1.0], "bfloat16"), I(259)], [[260.0]], None),
    ("add.Scalar", [H([1.0009765625]), 2.0001], [[3.0]], None),
    ("mul", [I([2049]), H([3.0])], [[6144.0]], None),
    ("mul", [I(2049), H([3.0])], [[6144.0]], None),
    # The second operand of a product or quotient stays as it is where it has no dimensions.
    ("mul", [H([3.0]), I(2049)], [[6148.0]], None),
    ("eq", [I([2049]), H([2048.0])], [[True]], None),
    ("where", [B([True]), I([2049]), H([0.0])], [[2048.0]], None),
    ("addcmul", [H([0.0]), I([2049]), H([3.0])], [[6144.0]], None),
    ("remainder", [I([2049]), H([2.0])], [[0.0]], None),
    ("maximum", [I([2049]), H([1.0])], [[2048.0]], None),
    ("pow", [Tensor([1.0078125], "bfloat16"), I(1027)], [[2896.0]], None),
    ("add", [I([[2049] * 3] * 2, "int16"), H([[1.0], [0.0]])], [[[2048.0] * 3] * 2], None),
    # A result is of the common dtype before it goes into a wider tensor.
    ("add.out", [H([2048.0]), H([1.0]), {"out": Tensor([0.0], "float32")}], [[2048.0]], None),
    ("add.out", [I([100], "int8"), I([100], "int8"), {"out": I([0])}], [[-56]], None),
    ("bitwise_left_shift.out", [I([100], "int8"), I([2], "int8"), {"out": I([0])}], [[-112]], None),
    ("exp.out", [H([1.0]), {"out": Tensor([0.0], "float32")}], [[2.71875]], None),
    ("mul.Scalar_out", [H([3.0]), 3.0001, {"out": Tensor([0.0], "float32")}], [[9.0]], None),

    # masks without dimensions: a new dimension of which they take all or nothing
    ("index.Tensor", [F([1.0, 2.0]), [B(True)]], [[[1.0, 2.0]]], [[1.0, 1.0]]),
    ("index.Tensor", [F([1.0, 2.0]), [B(False)]], [[]], [[0.0, 0.0]]),
    ("index.Tensor", [F([[1.0, 2.0], [3.0, 4.0]]), [None, I(1, "uint8")]], [[[[1.0, 2.0]], [[3.0, 4.0]]]], [[[1.0, 1.0], [1.0, 1.0]]]),
    ("index.Tensor", [I([[0, 1, 2], [3, 4, 5]]), [I([0, 1]), B(True), I([0, 1])]], [[0, 4]], None),
    ("index.Tensor", [I([[0, 1, 2], [3, 4, 5]]), [B(True), None, I([1])]], [[[1, 4]]], None),
    ("index.Tensor", [I([[0, 1, 2], [3, 4, 5]]), [B([True, False]), B(True)]], [[[0, 1, 2]]], None),
    ("index.Tensor", [I(7), [B(True), B(True)]], [[7]], None),
    ("index_put", [F([1.0, 2.0]), [B(True)], F([[5.0, 6.0]])], [[5.0, 6.0]], [[0.0, 0.0], [[1.0, 1.0]]]),
    ("index_put", [F([1.0, 2.0]), [B(False)], F(5.0)], [[1.0, 2.0]], [[1.0, 1.0], 0.0]),
    ("index_put_", [I([[0, 1], [2, 3]]), [I([0]), B(True)], I(9)], [[[9, 9], [2, 3]]], None),

    # medians: the lower one, NaN
    ("median", [F([3.0, 1.0, 2.0, 4.0])], [2.0], [[0.0, 0.0, 1.0, 0.0]]),
    ("median", [F([2.0, 1.0, 2.0, 3.0, 2.0])], [2.0], [[1 / 3, 0.0, 1 / 3, 0.0, 1 / 3]]),
    ("median", [F([2.0, nan, 2.0, 3.0, nan])], [nan], [[0.0, HALF, 0.0, 0.0, HALF]]),
    ("nanmedian", [F([2.0, nan, 2.0, 3.0, nan])], [2.0], [[HALF, 0.0, HALF, 0.0, 0.0]]),
    ("nanmedian", [F([nan, nan])], [nan], None),
    ("median", [F([])], [nan], None),
    ("median", [I([])], [-2**63], None),
    ("median", [I([5, -1, 7], "int8")], [5], None),
    ("median.dim", [F([[3.0, nan, 2.0, 4.0, nan], [3.0, 1.0, 2.0, 5.0, 4.0]]), 1], [[nan, 3.0], [1, 0]],
     [[[0.0, 1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]]]),
    ("nanmedian.dim", [F([[3.0, nan, 2.0, 4.0, nan], [3.0, 1.0, 2.0, 5.0, 4.0]]), 1, True], [[[3.0], [3.0]], [[0], [0]]],
     [[[1.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]]]),
    ("median.dim", [I([[2, 5], [1, 4], [3, 6]]), 0], [[2, 5], [0, 0]], None),
    ("median.dim", [H([1.0, nan, 0.0]), 0], [nan, 1], None),
    ("median.dim", [F(3.0), 0], [3.0, 0], [1.0]),

    # values from 0-d tensors
    ("fill_.Tensor", [I([1, 2]), F(2.7)], [[2, 2]], None),
    ("index_fill_.int_Tensor", [I([1, 2]), 0, I([1]), F(2.7)], [[1, 2]], None),
    ("masked_fill_.Tensor", [I([1, 2]), B([True, False]), F(2.7)], [[2, 2]], None),

    # mixed dtypes
    ("equal", [I([1, 2]), F([1.0, 2.0])], [True], None),
    ("equal", [I([2**24 + 1]), Tensor([2.0**24], "float32")], [True], None),
    ("equal", [I([1, 2]), F([1.0, 2.5])], [False], None),
    ("searchsorted.Tensor", [I([1, 2, 3]), F([1.5, 2.5])], [[1, 2]], None),
    ("searchsorted.Tensor", [Tensor([1.0, 2049.0], "float32"), H([2048.0])], [[1]], None),
    ("bucketize.Tensor", [Tensor([0.1], "float32"), F([0.1, 0.2])], [[1]], None),
    ("bucketize.Tensor", [Tensor(2.5, "float32"), I([1, 2, 3])], [2], None),

    # poles, and the limit at infinity (NaN in PyTorch)
    ("polygamma", [2, F([1.0, inf, nan, 0.0, -1.0])], [[-2.4041138063191885708, 0.0, nan, -inf, -inf]], None),
    ("polygamma", [20, F([-0.5])], [[-487772949462609.94]], None),
]

# (operator, arguments, code, part of the message)
REFUSED = [
    ("squeeze.dims", [F([[1.0]]), [0, -2]], "INVALID_ARGUMENT", "twice"),
    ("squeeze.dims", [F([[1.0]]), [2]], "OUT_OF_RANGE", "squeeze"),
    ("vander", [F([[1.0]])], "INVALID_ARGUMENT", "vector"),
    ("unravel_index", [F([1.0]), [2]], "INVALID_ARGUMENT", "integers"),
    ("unravel_index", [I([1]), [2**40, 2**40]], "INVALID_ARGUMENT", "shape"),
    ("hann_window", [-1], "INVALID_ARGUMENT", "negative"),
    ("hann_window", [4, {"dtype": trt.DTYPES["int64"]}], "INVALID_ARGUMENT", "floating"),
    ("lp_pool1d", [F([[1.0]]), 0.0, [1]], "INVALID_ARGUMENT", "norm_type"),
    ("feature_dropout", [F([1.0])], "INVALID_ARGUMENT", "channels"),
    ("alpha_dropout", [F([1.0]), 1.5, True], "INVALID_ARGUMENT", "probability"),
    ("rrelu", [F([1.0]), 2.0, 1.0], "INVALID_ARGUMENT", "lower"),
    ("gumbel_softmax", [F([1.0]), 0.0], "INVALID_ARGUMENT", "tau"),
    ("conv3d", [F([[[[[1.0]]]]]), F([[[[[1.0]]]]]), {"stride": [0, 1, 1]}], "INVALID_ARGUMENT", "conv3d: stride"),
    ("conv3d", [F([[[[[1.0]]]]]), F([[[[[1.0, 1.0]]]]])], "INVALID_ARGUMENT", "smaller than the kernel"),
    ("conv_transpose3d", [F([[[[[1.0]]]]]), F([[[[[1.0]]]]]), {"output_padding": [1, 0, 0]}], "INVALID_ARGUMENT", "output_padding"),
    ("max_pool3d", [F([[[[1.0]]]]), [2**40]], "INVALID_ARGUMENT", "kernel_size"),
    ("avg_pool3d", [F([[[[1.0]]]]), [1], {"divisor_override": 0}], "INVALID_ARGUMENT", "divisor_override"),
    ("col2im", [F([[1.0, 2.0]]), [2, 2], [1, 1]], "INVALID_ARGUMENT", "windows"),
    ("interpolate", [F([[[1.0]]]), {"scale_factor": [1e300]}], "INVALID_ARGUMENT", "scale_factor"),
    ("interpolate", [F([[[1.0]]]), {"size": [2], "mode": "bilinear"}], "INVALID_ARGUMENT", "bilinear"),
    ("pixel_shuffle", [F([[[1.0]]]), 2**31 - 1], "INVALID_ARGUMENT", "upscale_factor"),
    ("max_unpool1d", [F([[1.0]]), I([[7]]), [2]], "OUT_OF_RANGE", "7"),
    ("grid_sample", [F([[[[1.0]]]]), F([[[[0.0]]]])], "INVALID_ARGUMENT", "coordinates"),
    ("gru", [F([[[1.0]]]), F([[[0.0]]]), [F([[1.0], [1.0], [1.0]]), F([[1.0], [1.0], [1.0]])], False, 2**62, 0.0, False, True, False], "INVALID_ARGUMENT", "layers"),
    ("pad", [F([[[1.0]]]), [0, -1], "reflect"], "INVALID_ARGUMENT", "leaves nothing"),
    ("pad", [F([[[1.0]]]), [-1, 0], "replicate"], "INVALID_ARGUMENT", "leaves nothing"),
    ("pad", [F([[[1.0, 2.0]]]), [-1, 2], "circular"], "INVALID_ARGUMENT", "circular"),
    ("masked_fill.Scalar", [F([1.0]), I([1], "uint8"), 0.0], "INVALID_ARGUMENT", "mask"),
    ("where", [F([1.0]), F([1.0]), F([2.0])], "INVALID_ARGUMENT", "condition"),
    ("cross_entropy", [F([[1.0, 2.0]]), F([[0.5, 0.5]]), None, 1], "INVALID_ARGUMENT", "ignore_index"),
    ("mvlgamma", [F([3.0]), 0], "INVALID_ARGUMENT", "p must be at least 1"),
    ("mvlgamma", [B([True]), 1], "INVALID_ARGUMENT", "bool"),
    ("gcd", [F([3.0]), F([3.0])], "NOT_SUPPORTED", "float64"),
    ("gcd", [B([True]), B([True])], "NOT_SUPPORTED", "bool"),
    ("igamma", [I([3]), I([3])], "NOT_SUPPORTED", "int64"),
    ("nextafter", [I([3]), I([3])], "NOT_SUPPORTED", "int64"),
    ("frexp", [I([3])], "NOT_SUPPORTED", "int64"),
    ("linalg_inv", [F([[1.0, 2.0], [2.0, 4.0]])], "INVALID_ARGUMENT", "singular"),
    ("linalg_solve", [F([[1.0, 2.0], [2.0, 4.0]]), F([1.0, 2.0])], "INVALID_ARGUMENT", "singular"),
    ("linalg_lu_factor", [F([[1.0, 2.0], [2.0, 4.0]])], "INVALID_ARGUMENT", "zero"),
    ("linalg_lu_factor", [F([[1.0]]), {"pivot": False}], "NOT_SUPPORTED", "pivot=False"),
    ("linalg_cholesky", [F([[1.0, 2.0], [2.0, 1.0]])], "INVALID_ARGUMENT", "positive-definite"),
    ("linalg_ldl_factor", [F([[0.0]])], "INVALID_ARGUMENT", "zero"),
    ("linalg_eigh", [F([[nan]])], "INVALID_ARGUMENT", "NaN"),
    ("linalg_eigh", [F([[1.0]]), "X"], "INVALID_ARGUMENT", "UPLO"),
    ("linalg_eig", [F([[inf]])], "INVALID_ARGUMENT", "NaN"),
    ("linalg_svd", [F([[nan]])], "INVALID_ARGUMENT", "NaN"),
    ("linalg_det", [F([[1.0, 2.0, 3.0]])], "INVALID_ARGUMENT", "square"),
    ("linalg_inv", [H([[1.0]])], "NOT_SUPPORTED", "float32"),
    ("linalg_solve", [F([[1.0, 2.0], [3.0, 4.0]]), F([1.0, 2.0, 3.0])], "INVALID_ARGUMENT", "sizes do not fit"),
    ("lu_unpack", [F([[1.0, 2.0], [3.0, 4.0]]), I([1, 7], "int32")], "OUT_OF_RANGE", "pivot"),
    ("lu_unpack", [F([[1.0, 2.0], [3.0, 4.0]]), I([0, 2], "int32")], "OUT_OF_RANGE", "pivot"),
    ("linalg_ldl_solve", [F([[1.0, 0.0], [0.0, 1.0]]), I([1, 9], "int32"), F([[1.0], [1.0]])], "OUT_OF_RANGE", "pivot"),
    ("linalg_ldl_solve", [F([[1.0, 0.0], [0.0, 1.0]]), I([1, -2], "int32"), F([[1.0], [1.0]])], "OUT_OF_RANGE", "pivot"),
    ("linalg_qr", [F([[1.0]]), "full"], "INVALID_ARGUMENT", "mode"),
    ("linalg_matrix_norm", [F([[1.0]]), 3], "INVALID_ARGUMENT", "order"),
    ("linalg_cross", [F([1.0, 2.0]), F([1.0, 2.0])], "INVALID_ARGUMENT", "size 3"),
    ("cdist", [F([[1.0]]), F([[1.0]]), -1.0], "INVALID_ARGUMENT", "p must not be negative"),
    ("linalg_vander", [F([1.0]), {"N": 1}], "INVALID_ARGUMENT", "N must be above 1"),
    ("linalg_lstsq", [F([[1.0]]), F([[1.0]]), {"driver": "lu"}], "INVALID_ARGUMENT", "driver"),
    ("cov", [F([[1.0, 2.0]]), {"fweights": I([1, -1])}], "INVALID_ARGUMENT", "negative"),
    ("renorm", [F([[1.0]]), 0, 0, 1.0], "INVALID_ARGUMENT", "p must be above 0"),
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
    ("fill_.Tensor", [F([1.0]), F([2.0])], "INVALID_ARGUMENT", "float64[1]"),
    ("median", [B([True])], "NOT_SUPPORTED", "bool"),
    ("nanmedian.dim", [F([[], []]), 1], "OUT_OF_RANGE", "dimension 1"),
    ("index.Tensor", [I([1]), [I([0]), I([0]), B(True)]], "OUT_OF_RANGE", "[1]"),
    ("index_put", [I([1]), [I([0]), I([0]), B(True)], I(1)], "OUT_OF_RANGE", "[1]"),
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


def make_all(a, gradient=False):
    """The arguments with their tensors made, also those in lists and by name."""
    if isinstance(a, Tensor):
        return a.make(gradient)
    if isinstance(a, list):
        return [make_all(x, gradient) for x in a]
    return {k: make_all(v, gradient) for k, v in a.items()} if isinstance(a, dict) else a


def check_row(op, arguments, results, gradients):
    made = make_all(arguments, gradients is not None)
    returned = call(op, made)
    returned = list(returned) if isinstance(returned, tuple) else [returned]
    if len(returned) != len(results):
        return f"{len(returned)} results"
    for t, e in zip(returned, results):
        if not isinstance(t, trt.Tensor):
            if t is not e:
                return f"{t}, not {e}"
            continue
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
    made = make_all(arguments)
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


# --- outputs on each other's memory, or on an input that would lose its shape ------------------------------------------------

TWO_OUTPUTS = {
    "sort.out": [], "sort.stable_out": [True], "topk.out": [1], "kthvalue.out": [1], "median.dim_out": [1], "nanmedian.dim_out": [1], "aminmax.out": [],
    "max.dim_out": [1], "min.dim_out": [1], "var_mean.correction_out": [], "std_mean.correction_out": [], "cummax.out": [1], "cummin.out": [1],
}


def check_two_outputs(op, arguments):
    """One tensor as both outputs, and two that overlap."""
    outputs = [w.split(")")[1].split()[0].rstrip(",") for w in trt.schema(op).split(") ->")[0].split("(a!")[1:]]
    row = trt.from_flat([9, 9, 9], [3], "int64")
    first, last = trt.call("slice", row, 0, 0, 2, 1), trt.call("slice", row, 0, 1, 3, 1)
    for pair in ((row, row), (first, last), (row, row.detach())):
        x = trt.tensor([[3, 1, 2], [6, 5, 4]], dtype=trt.DTYPES["float64" if "correction" in op else "int64"])
        named = {"stable": True} if op == "sort.stable_out" else {}
        try:
            trt.call(op, x, *([] if named else arguments), **named, **dict(zip(outputs, pair)))
        except trt.Error as e:
            if e.code != "INVALID_ARGUMENT" or "share memory" not in str(e) or op.split(".")[0] not in str(e):
                return f"{e.code}: {e}"
            if row.shape != (3,) or row.tolist() != [9, 9, 9]:
                return "an output was changed"
            continue
        return "it succeeded"
    return None


def check_resized_input():
    """An output that is an input as well keeps its shape; an alias of it may get memory of its own."""
    w = trt.from_flat([2.0] * 6, [2, 3], "float64")
    for op in ("mul.out", "add.out", "lt.out", "where.out"):
        v = trt.tensor([1.0, 2.0, 3.0], dtype=trt.DTYPES["float64"])
        condition = [trt.tensor([True, False, True], dtype=trt.DTYPES["bool"])] if op == "where.out" else []
        try:
            trt.call(op, *condition, v, w, out=v)
            return f"{op} succeeded"
        except trt.Error as e:
            if e.code != "INVALID_ARGUMENT" or "[2, 3]" not in str(e) or v.tolist() != [1.0, 2.0, 3.0]:
                return f"{op}: {e.code}: {e}"
        alias = v.detach()
        trt.call(op, *condition, v, w, out=alias)
        if v.tolist() != [1.0, 2.0, 3.0] or alias.shape != (2, 3):
            return f"{op} into an alias: {v.tolist()}, {alias.shape}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    cases = [(f"{row[0]}{row[1]}", check_row, row) for row in TABLE]
    cases += [(f"{row[0]}{row[1]}, to be refused", check_refused, row) for row in REFUSED]
    operators = set(trt.operators())
    cases += [(name, check_division, [operators, *rest]) for name, *rest in division_cases()]
    cases += [(f"{op}, outputs on each other's memory", check_two_outputs, [op, arguments]) for op, arguments in TWO_OUTPUTS.items()]
    cases.append(("an output that is an input and would be resized", check_resized_input, []))
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
