"""The operator table: names, schemas, and calls by name with overload, as trt.ops.call("add.Scalar", x, 2)."""

from trt import _C


def names() -> list[str]:
    """All variants in the table, with overload: "add", "add.Scalar", "add_", "add.out", ..."""
    return [_C.trt_op_name(i) for i in range(_C.trt_op_count())]


def schema(name: str) -> str:
    """The schema of a variant in PyTorch's grammar."""
    return _C.trt_op_schema(name)


def dump(name: str) -> str:
    """Its dispatch table, a line for each key."""
    return _C.trt_dispatcher_dump(name)


call = _C._op_call
