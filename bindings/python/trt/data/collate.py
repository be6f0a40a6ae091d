"""Samples to batches, in Python."""

from trt import _C


def as_sample_tensor(value):
    """An element of a sample as a tensor: Python's floats become float64 and ints int64, as PyTorch collates them."""
    if isinstance(value, _C.TensorBase):
        return value
    if isinstance(value, float) and not hasattr(value, "dtype"):
        return _C._from_data(value, _C._dtypes["float64"])
    return _C._from_data(value, None)


def default_collate(batch):
    """Stacks the samples: tensors, arrays and numbers along a new first dimension, dicts and sequences element by element; texts stay a list."""
    first = batch[0]
    if isinstance(first, (str, bytes)):
        return list(batch)
    if isinstance(first, dict):
        return {key: default_collate([sample[key] for sample in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(column) for column in zip(*batch)))
    if isinstance(first, (tuple, list)):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(list(column)) for column in zip(*batch)]
    return _C._operators["stack"]([as_sample_tensor(value) for value in batch])
