"""Structs of options, filled from keyword arguments."""

import contextlib

from trt import _C


@contextlib.contextmanager
def options(name, init=None, **fields):
    """A struct trt_NAME_options with its defaults and the fields that are not None."""
    kind = f"trt_{name}_options"
    struct = getattr(_C, f"new_{kind}")()
    try:
        getattr(_C, f"trt_{init or name}_options_init")(struct)
        for field, value in fields.items():
            if value is not None:
                getattr(_C, f"{kind}_{field}_set")(struct, value)
        yield struct
    finally:
        getattr(_C, f"delete_{kind}")(struct)
