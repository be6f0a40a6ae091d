#!/usr/bin/env python3
"""Records data/networks.jsonl.gz: attention and recurrent layers, called in the installed PyTorch on small random inputs.

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
    total = sum((torch.linspace(0.5, 1.5, r.numel(), dtype=torch.float64).reshape(r.shape) * r).sum() for r in results)
    grads = torch.autograd.grad(total, inputs, allow_unused=True)
    return {**out, "out": encode(result), "grads": [None if g is None else encode(g) for g in grads], "grad_outputs": list(range(len(results)))}


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


CALLS = {"nn.functional.scaled_dot_product_attention": (F.scaled_dot_product_attention, attention)}


def main():
    with open(sys.argv[1], "wb") as raw, gzip.GzipFile("", "wb", 9, raw, 0) as packed:
        for op, (function, calls) in CALLS.items():
            for args, kwargs in calls():
                for dtype in (torch.float64, torch.float32):
                    packed.write((json.dumps(case(op, function, dtype, args, kwargs)) + "\n").encode())


if __name__ == "__main__":
    main()
