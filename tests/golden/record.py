#!/usr/bin/env python3
"""Records data/networks.jsonl.gz: attention, recurrent layers and others, called in the installed PyTorch on small random inputs.

  record.py data/networks.jsonl.gz

Operators of networks that the database of PyTorch 1.13 lacks. The format is that of README.md. The numbers are the same in each run of one version.
"""

import gzip
import json
import math
import sys

import torch
import torch.nn.functional as F

generator = torch.Generator().manual_seed(20)


def normal(*shape, scale=1.0):
    return torch.randn(*shape, generator=generator, dtype=torch.float64) * scale


def chosen(*shape, p=0.6):
    return torch.rand(*shape, generator=generator) < p


def encode(v):
    if isinstance(v, torch.Tensor):
        data = [x if isinstance(x, (bool, int)) or math.isfinite(x) else str(x) for x in v.detach().reshape(-1).tolist()]
        return {"t": str(v.dtype)[6:], "shape": list(v.shape), "data": data}
    return [encode(x) for x in v] if isinstance(v, (list, tuple)) else v


def cast(v, dtype):
    if isinstance(v, torch.Tensor):
        return v.to(dtype) if v.is_floating_point() else v
    return [cast(x, dtype) for x in v] if isinstance(v, (list, tuple)) else v


def leaves(v):
    if isinstance(v, torch.Tensor):
        return [v] if v.is_floating_point() else []
    return [t for x in v for t in leaves(x)] if isinstance(v, (list, tuple)) else []


def case(op, function, dtype, args, kwargs):
    args, kwargs = cast(args, dtype), {k: cast(v, dtype) for k, v in kwargs.items()}
    inputs = [t for v in [*args, *kwargs.values()] for t in leaves(v)]
    out = {"op": op, "variant": "", "dtype": str(dtype)[6:], "args": encode(args), "kwargs": {k: encode(v) for k, v in kwargs.items()}}
    if dtype != torch.float64:
        return {**out, "out": encode(function(*args, **kwargs))}
    for t in inputs:
        t.requires_grad_()
    result = function(*args, **kwargs)
    results = list(result) if isinstance(result, tuple) else [result]
    total = sum((torch.linspace(0.5, 1.5, r.numel(), dtype=torch.float64).reshape(r.shape) * r).sum() for r in results if r.requires_grad)
    grads = torch.autograd.grad(total, inputs, allow_unused=True)
    return {**out, "out": encode(result), "grads": [None if g is None else encode(g) for g in grads], "grad_outputs": [i for i, r in enumerate(results) if r.requires_grad]}


def attention():
    for lead, queries, keys, size, value_size in [((), 3, 4, 5, 2), ((2,), 4, 3, 2, 3), ((2, 3), 3, 5, 4, 4)]:
        def call(mask=None, **kwargs):
            return [normal(*lead, queries, size), normal(*lead, keys, size), normal(*lead, keys, value_size), mask], kwargs
        yield call()
        yield call(scale=0.7)
        yield call(is_causal=True)
        yield call(chosen(queries, keys))
        yield call(chosen(*lead, queries, keys))
        yield call(normal(queries, keys))
        yield call(normal(*lead, 1, keys), scale=-1.5)
        yield call(normal(queries, 1))
    yield [normal(2, 4, 3, 2), normal(2, 2, 5, 2), normal(2, 2, 5, 3)], {"enable_gqa": True}
    yield [normal(3, 2, 2), normal(1, 4, 2), normal(1, 4, 2), normal(3, 2, 4)], {"enable_gqa": True, "scale": 0.4}


def weights(gates, inputs, size, out_size, biases, projected):
    shapes = [(gates * size, inputs), (gates * size, out_size)] + [(gates * size,)] * (2 * biases) + [(out_size, size)] * projected
    return [normal(*s, scale=0.5) for s in shapes]


def recurrent(gates, cells):
    def calls():
        for steps, batch, inputs, size, projection, biases, layers, bidirectional, batch_first in (
                (3, 2, 3, 2, 0, True, 1, False, False), (2, 3, 2, 3, 0, False, 1, True, True), (3, 1, 2, 2, 0, True, 2, True, False),
                (1, 2, 3, 2, 0, True, 2, False, True), (3, 2, 2, 3, 2, True, 2, True, False), (2, 1, 2, 3, 1, False, 1, False, True)):
            if projection and not cells:
                continue
            out_size, directions = projection or size, 1 + bidirectional
            params = []
            for layer in range(layers):
                for _ in range(directions):
                    params += weights(gates, inputs if layer == 0 else out_size * directions, size, out_size, biases, bool(projection))
            states = [normal(layers * directions, batch, n) for n in ([out_size, size] if cells else [out_size])]
            x = normal(*((batch, steps) if batch_first else (steps, batch)), inputs)
            yield [x, states if cells else states[0], params, biases, layers, 0.0, False, bidirectional, batch_first], {}
    return calls


def cell(gates, cells):
    def calls():
        for lead, biases in (((2,), True), ((3,), False)):
            states = [normal(*lead, 3) for _ in range(1 + cells)]
            yield [normal(*lead, 2), states if cells else states[0], *weights(gates, 2, 3, 3, biases, False)], {}
    return calls


def ctc():
    for reduction in ("none", "mean", "sum"):
        for zero_infinity in (False, True):
            x = torch.log_softmax(normal(6, 3, 4), -1)
            targets = torch.tensor([[1, 1, 2], [3, 2, 0], [1, 2, 3]])
            yield [x, targets, [6, 5, 4], [3, 2, 3]], {"reduction": reduction, "zero_infinity": zero_infinity}
    flat = torch.tensor([0, 2, 1, 1, 0])
    yield [torch.log_softmax(normal(5, 3, 4), -1), flat, [5, 4, 5], [2, 0, 3]], {"blank": 3, "reduction": "sum"}
    yield [torch.log_softmax(normal(5, 2, 4), -1), flat[1:], torch.tensor([5, 4]), torch.tensor([2, 2])], {"blank": 3}
    # Targets that are longer than the input: an infinite loss, taken out.
    yield [torch.log_softmax(normal(3, 2, 4), -1), torch.tensor([[1, 1, 1], [2, 3, 0]]), [3, 3], [3, 2]], {"zero_infinity": True}
    yield [torch.log_softmax(normal(4, 3), -1), torch.tensor([1, 2]), torch.tensor(4), torch.tensor(2)], {"reduction": "none"}


def rms():
    yield [normal(3, 4), [4]], {}
    yield [normal(2, 3, 4), [3, 4], normal(3, 4)], {"eps": 1e-3}
    yield [normal(2, 3), [3], normal(3), 0.5], {}
    yield [normal(5), [5], None, 1e-6], {}


def bags(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=None):
    """torch.embedding_bag, whose results besides the first depend on how it chose to compute."""
    out = F.embedding_bag(indices, weight, offsets, None, 2, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse, per_sample_weights,
                          include_last_offset, padding_idx)
    ends = offsets.tolist()[1:] if include_last_offset else offsets.tolist()[1:] + [len(indices)]
    bag = [b for b, (start, end) in enumerate(zip(offsets.tolist(), ends)) for _ in range(start, end)]
    padding = None if padding_idx is None else padding_idx % weight.size(0)
    size = [sum(b == k and i != padding for b, i in zip(bag, indices.tolist())) for k in range(len(ends))]
    named = [[i for b, i in zip(bag, indices.tolist()) if b == k and i != padding] for k in range(len(ends))]
    largest = [[max(rows, key=lambda r: weight[r, d].item()) if rows else 0 for d in range(weight.size(1))] for rows in named]
    return out, torch.tensor(bag), torch.tensor(size), torch.tensor(largest if mode == 2 else [], dtype=torch.int64)


def bag_calls():
    indices, offsets = torch.tensor([1, 0, 3, 3, 2, 1]), torch.tensor([0, 2, 2, 5])
    for mode in (0, 1, 2):
        yield [normal(4, 3), indices, offsets, False, mode], {}
        yield [normal(4, 2), indices, torch.tensor([0, 2, 2, 6])], {"mode": mode, "include_last_offset": True, "padding_idx": -1}
    yield [normal(4, 3), indices, offsets], {"per_sample_weights": normal(6)}
    yield [normal(4, 3), indices, offsets.int().long()], {"per_sample_weights": normal(6), "padding_idx": 1}


def turned(x, cos, sin, interleaved=False):
    """The rotation of pairs as a product of complex numbers."""
    size = 2 * cos.size(-1)
    pairs = x[..., :size].unflatten(-1, (-1, 2) if interleaved else (2, -1))
    pairs = pairs if interleaved else pairs.transpose(-1, -2)
    pairs = torch.view_as_real(torch.complex(pairs[..., 0], pairs[..., 1]) * torch.complex(cos, sin))
    return torch.cat([(pairs if interleaved else pairs.transpose(-1, -2)).flatten(-2), x[..., size:]], -1)


def rotary():
    for interleaved in (False, True):
        yield [normal(2, 3, 4), normal(3, 2), normal(3, 2), interleaved], {}
        yield [normal(2, 2, 3, 5), normal(3, 2), normal(3, 2)], {"interleaved": interleaved}
        yield [normal(6), normal(3), normal(3), interleaved], {}


CALLS = {
    "embedding_bag": (bags, bag_calls), "rotary_embedding": (turned, rotary),
    "nn.functional.scaled_dot_product_attention": (F.scaled_dot_product_attention, attention),
    "lstm": (torch.lstm, recurrent(4, True)), "gru": (torch.gru, recurrent(3, False)),
    "rnn_tanh": (torch.rnn_tanh, recurrent(1, False)), "rnn_relu": (torch.rnn_relu, recurrent(1, False)),
    "lstm_cell": (torch.lstm_cell, cell(4, True)), "gru_cell": (torch.gru_cell, cell(3, False)),
    "rnn_tanh_cell": (torch.rnn_tanh_cell, cell(1, False)), "rnn_relu_cell": (torch.rnn_relu_cell, cell(1, False)),
    "nn.functional.ctc_loss": (F.ctc_loss, ctc), "nn.functional.rms_norm": (F.rms_norm, rms),
}


def main():
    with open(sys.argv[1], "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        for op, (function, calls) in CALLS.items():
            for args, kwargs in calls():
                for dtype in (torch.float64, torch.float32):
                    packed.write((json.dumps(case(op, function, dtype, args, kwargs)) + "\n").encode())


if __name__ == "__main__":
    main()
