"""Sample calls of operators whose arguments belong together in a way that their schema does not tell: what a forward operator kept for its backward one,
complex numbers, sizes that fit a layer.

`GIVEN` gives for each operator a function that returns the calls as dicts of plain values. Arguments that another operator makes are computed by it
(`result_of`), once, from random ones. What is special about derivatives of backward operators stands in exceptions.py.
"""

import math
import random

import samples as S
from samples import Array, trt

_rng = random.Random(20)


def values(*shape, low=-2.0, high=2.0):
    return Array("float64", shape, [_rng.uniform(low, high) for _ in range(math.prod(shape))])


def numbers(*shape):
    return Array("complex128", shape, [complex(_rng.uniform(-2, 2), _rng.uniform(-2, 2)) for _ in range(math.prod(shape))])


def single(args):
    """The call in float32: what has no derivative, or one that no difference shows."""
    return {k: Array("float32", v.shape, v.data) if isinstance(v, Array) and v.dtype == "float64" else v for k, v in args.items()}


def integers(data, *shape, dtype="int64"):
    return Array(dtype, shape or (len(data),), data)


def result_of(op, **args):
    """The results of a call as Arrays."""
    results = trt.call(op, **{k: S.build(v) for k, v in args.items()})
    return [S.to_array(r) for r in results] if isinstance(results, (list, tuple)) else S.to_array(results)


# --- complex numbers ---------------------------------------------------------------------------------------------------------

def complex_views():
    return [{"self": numbers(3, 4)}, {"self": numbers(2)}, {"self": numbers()}]


def fft_complex():
    return [{"self": numbers(3, 4), "dim": dim, "normalization": n, "forward": forward} for dim, n, forward in (([1], 0, True), ([0], 1, False), ([0, 1], 2, True))]


def fft_to_real():
    return [{"self": numbers(3, 4), "dim": dim, "normalization": n, "last_size": last, "forward": forward}
            for dim, n, last, forward in (([1], 0, 6, False), ([1], 1, 7, True), ([0, 1], 2, 6, False))]


# --- linear algebra ----------------------------------------------------------------------------------------------------------

def lu_permutation():
    return [dict(zip(("LU", "pivots"), result_of("linalg_lu_factor_ex", A=values(*shape))[:2])) for shape in ((3, 3), (2, 4, 3), (3, 5))]


def ldl_system():
    out = []
    for n, columns in ((3, 2), (4, 1)):
        a = values(2, n, n)
        symmetric = result_of("add", self=a, other=result_of("mT", self=a))
        ld, pivots, _ = result_of("linalg_ldl_factor_ex", self=symmetric)
        out.append({"LD": ld, "pivots": pivots, "B": values(2, n, columns), "hermitian": False})
    return out


def matrix_norms():
    return [{"self": values(3, 4), "ord": "fro"}, {"self": values(3, 4), "ord": "nuc"}, {"self": values(2, 3, 4), "ord": "fro", "dim": [0, 2], "keepdim": True}]


# --- counting ----------------------------------------------------------------------------------------------------------------

def edges(n):
    return Array("float64", (n,), [-2 + 4 * i / (n - 1) for i in range(n)])


def histogram_counts():
    return [{"self": values(7, 1), "edges": [edges(4)], "weight": None}, {"self": values(7, 2), "edges": [edges(4), edges(3)], "weight": values(7, low=0.5)}]


def histogramdd():
    return [{"self": values(7, 2), "bins": [3, 2]}, {"self": values(7, 2), "bins": [2, 2], "range": [-1.0, 1.0, -2.0, 2.0], "weight": values(7, low=0.5), "density": True}]


def histogramdd_tensors():
    return [{"self": values(7, 2), "bins": [edges(4), edges(3)]}, {"self": values(7, 1), "bins": [edges(3)], "weight": values(7, low=0.5), "density": True}]


# --- convolution and pooling -------------------------------------------------------------------------------------------------

CONVOLUTIONS = [((2, 3, 5, 6), (4, 3, 3, 2), [1, 1], [0, 0], [1, 1], 1), ((1, 4, 6, 5), (4, 2, 3, 3), [2, 1], [1, 2], [1, 2], 2)]


def conv_arguments():
    for x, w, stride, padding, dilation, groups in CONVOLUTIONS:
        args = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        shape = result_of("conv2d", input=values(*x), weight=values(*w), **args).shape
        yield x, w, values(*shape), args


def conv2d_backward_input():
    return [{"grad_output": grad, "weight": values(*w), "input_size": list(x), **args} for x, w, grad, args in conv_arguments()]


def conv2d_backward_weight():
    return [{"grad_output": grad, "input": values(*x), "weight_size": list(w), **args, "with_bias": bias}
            for x, w, grad, args in conv_arguments() for bias in (True, False)]


POOLS = [{"kernel_size": [2, 3], "stride": [2, 1], "padding": [0, 1]}, {"kernel_size": [3, 2], "stride": None, "padding": [1, 0]}]


def max_pools():
    return [{"self": values(2, 3, 5, 6), **p, "dilation": [1, 1], "ceil_mode": ceil} for p in POOLS for ceil in (False, True)]


def max_pool2d_backward():
    out = []
    for p in max_pools():
        x = p.pop("self")
        y, indices = result_of("max_pool2d_with_indices", self=x, **p)
        out.append({"grad_output": values(*y.shape), "indices": indices, "input_size": list(x.shape), **p})
    return out


def avg_pool_backward(op, pools, *shape):
    out = []
    for p in pools:
        for more in ({"ceil_mode": True, "count_include_pad": False, "divisor_override": None}, {"ceil_mode": False, "count_include_pad": True, "divisor_override": 3}):
            y = result_of(op, self=values(*shape), **p, **more)
            out.append({"grad_output": values(*y.shape), "input_size": list(shape), **p, **more})
    return out


def avg_pool2d_backward():
    return avg_pool_backward("avg_pool2d", POOLS, 2, 3, 5, 6)


def avg_pool3d_backward():
    return avg_pool_backward("avg_pool3d", [{"kernel_size": [2, 2, 3], "stride": [1, 2, 1], "padding": [1, 0, 1]}], 1, 2, 4, 5, 4)


def affine_grid():
    return [{"theta": values(2, 2, 3), "size": [2, 1, 3, 4], "align_corners": corners} for corners in (True, False)] + [
        {"theta": values(1, 3, 4), "size": [1, 2, 2, 3, 4], "align_corners": False}]


# --- embeddings and losses ---------------------------------------------------------------------------------------------------

def embedding_backward():
    calls = [{"grad_output": values(2, 3, 4), "indices": integers([0, 2, 2, 4, 1, 0], 2, 3), "weight_size": [5, 4], "padding_idx": padding, "scale_grad_by_freq": scale}
             for padding, scale in ((-1, False), (2, False), (0, True))]
    return [single(c) if c["scale_grad_by_freq"] else c for c in calls]


def embedding_bag_forward():
    bags = {"indices": integers([0, 2, 2, 4, 1]), "bags": integers([0, 0, 0, 1, 1]), "sizes": integers([3, 2, 0])}
    calls = [{"weight": values(5, 4), **bags, "per_sample_weights": weights, "mode": mode, "padding_idx": padding, "scale_grad_by_freq": scale}
             for weights, mode, padding, scale in ((None, 0, -1, True), (values(5), 0, -1, False), (None, 1, 2, False), (None, 2, -1, False))]
    return [single(c) if c["scale_grad_by_freq"] else c for c in calls]


def losses(forward, backward_takes_self):
    out = []
    for weight, reduction in ((None, 0), (values(4, low=0.5), 1), (values(4, low=0.5), 2)):
        x, target = values(3, 4), integers([1, 3, 0])
        y, total = result_of(forward, self=x, target=target, weight=weight, reduction=reduction, ignore_index=-100)
        more = {"self": x} if backward_takes_self else {"input_size": list(x.shape)}
        out.append({"grad_output": values(*y.shape), **more, "target": target, "weight": weight, "total_weight": total, "reduction": reduction, "ignore_index": -100})
    return out


def nll_loss_backward():
    return losses("nll_loss_forward", False)


def cross_entropy_backward():
    return losses("cross_entropy_forward", True)


CTC = {"targets": integers([1, 2, 2, 3, 1, 1], 2, 3), "input_lengths": [5, 4], "target_lengths": [3, 1], "blank": 0}


def ctc_loss_forward():
    return [{"log_probs": result_of("log_softmax", self=values(5, 2, 4), dim=-1), **CTC}]


def ctc_loss_backward():
    out = []
    for args in ctc_loss_forward():
        y, alpha = result_of("ctc_loss_forward", **args)
        out.append({"grad_losses": values(*y.shape), **args, "losses": y, "log_alpha": alpha})
    return out


# --- normalization -----------------------------------------------------------------------------------------------------------

def native_layer_norm_backward():
    out = []
    for shape, normalized, weight in (((3, 4), [4], values(4)), ((2, 2, 3), [2, 3], None)):
        x = values(*shape)
        _, mean, rstd = result_of("native_layer_norm", input=x, normalized_shape=normalized, weight=weight, bias=None, eps=1e-5)
        out.append({"grad_output": values(*shape), "input": x, "normalized_shape": normalized, "mean": mean, "rstd": rstd, "weight": weight, "eps": 1e-5,
                    "for_input": True, "for_weight": True, "for_bias": True})
    return out


def batch_norm_stats():
    return [{"input": values(3, 2, 4), "weight": weight, "bias": bias, "running_mean": mean, "running_var": var, "training": training, "momentum": 0.1, "eps": 1e-5}
            for weight, bias, mean, var, training in ((values(2), values(2), None, None, True), (None, None, values(2), values(2, low=0.5), False))]


def native_batch_norm_backward():
    out = []
    for args in batch_norm_stats():
        _, mean, invstd = result_of("batch_norm_stats", **args)
        out.append({"grad_output": values(3, 2, 4), "input": args["input"], "weight": args["weight"], "mean": mean, "invstd": invstd, "training": args["training"],
                    "eps": 1e-5, "for_input": True, "for_weight": True, "for_bias": True})
    return out


# --- sequences ---------------------------------------------------------------------------------------------------------------

def attention_backward():
    out = []
    for mask, causal in ((None, False), (None, True), (values(2, 3, 4), False)):
        args = {"query": values(2, 3, 2), "key": values(2, 4, 2), "value": values(2, 4, 3), "attn_mask": mask, "dropout_p": 0.0, "is_causal": causal, "scale": 0.7, "seed": 1,
                "offset": 0}
        y, sums = result_of("attention_forward", **args)
        out.append({"grad_output": values(*y.shape), **args, "output": y, "logsumexp": sums, "for_query": True, "for_key": True, "for_value": True,
                    "for_mask": mask is not None})
    return out


TANH, RELU, LSTM, GRU = range(4)


def recurrent_layer():
    out = []
    t, n, h = 3, 2, 2
    for kind, gates, projected, reverse in ((TANH, 1, None, False), (RELU, 1, None, True), (LSTM, 4, None, True), (LSTM, 4, 1, False), (GRU, 3, None, False)):
        p = projected or h
        out.append({"gates": values(t, n, gates * h), "hidden": values(n, p), "cell": values(n, h) if kind == LSTM else None, "weight": values(gates * h, p),
                    "bias": values(gates * h) if kind == GRU else None, "projection": values(p, h) if projected else None, "kind": kind, "reverse": reverse})
    return out


def recurrent_layer_backward():
    out = []
    for args in recurrent_layer():
        output, cells, kept = result_of("recurrent_layer", **args)
        out.append({"grad_output": values(*output.shape), "grad_cells": values(*cells.shape) if args["kind"] == LSTM else None, **args, "output": output, "cells": cells,
                    "kept": kept})
    return out


def fractional_pooling(dims):
    def calls():
        samples = Array("float64", (2, 3, dims), [_rng.random() for _ in range(6 * dims)])
        return [{"self": values(2, 3, *(6, 7, 5)[:dims]), "kernel_size": [2] * dims, "output_size": size, "random_samples": samples} for size in ([3] * dims, [4] * dims, [1])]
    return calls


GIVEN = {
    "fractional_max_pool2d_at": fractional_pooling(2), "fractional_max_pool3d_at": fractional_pooling(3),
    "view_as_real": complex_views, "imag": complex_views, "fft_complex": fft_complex, "fft_to_real": fft_to_real, "lu_permutation": lu_permutation, "ldl_system": ldl_system,
    "linalg_norm.ord_str": matrix_norms, "histogram_counts": histogram_counts, "histogramdd": histogramdd, "histogramdd.bins_tensors": histogramdd_tensors,
    "conv2d_backward_input": conv2d_backward_input, "conv2d_backward_weight": conv2d_backward_weight, "max_pool2d_values": max_pools,
    "max_pool2d_backward": max_pool2d_backward, "avg_pool2d_backward": avg_pool2d_backward, "avg_pool3d_backward": avg_pool3d_backward, "affine_grid": affine_grid,
    "embedding_backward": embedding_backward, "embedding_bag_forward": embedding_bag_forward, "nll_loss_backward": nll_loss_backward,
    "cross_entropy_backward": cross_entropy_backward, "ctc_loss_forward": ctc_loss_forward, "ctc_loss_backward": ctc_loss_backward,
    "native_layer_norm_backward": native_layer_norm_backward, "batch_norm_stats": batch_norm_stats, "native_batch_norm_backward": native_batch_norm_backward,
    "attention_backward": attention_backward, "recurrent_layer": recurrent_layer, "recurrent_layer_backward": recurrent_layer_backward,
}


def samples(op):
    """The samples of an operator of GIVEN."""
    _rng.seed(op)
    trt.manual_seed(1)
    return [S.Sample(op, args, f"given, {i}") for i, args in enumerate(GIVEN[op]())]
