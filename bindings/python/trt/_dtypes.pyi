from trt import Tensor, dtype as _dtype

uint8: _dtype
int8: _dtype
int16: _dtype
short: _dtype
int32: _dtype
int: _dtype
int64: _dtype
long: _dtype
float16: _dtype
half: _dtype
float32: _dtype
float: _dtype
float64: _dtype
double: _dtype
complex64: _dtype
cfloat: _dtype
complex128: _dtype
cdouble: _dtype
bfloat16: _dtype
bool: _dtype

import builtins

class finfo:
    dtype: str
    bits: builtins.int
    eps: builtins.float
    max: builtins.float
    min: builtins.float
    tiny: builtins.float
    smallest_normal: builtins.float
    resolution: builtins.float
    def __init__(self, dtype: _dtype | None = None) -> None: ...

class iinfo:
    dtype: str
    bits: builtins.int
    max: builtins.int
    min: builtins.int
    def __init__(self, dtype: _dtype) -> None: ...

def get_default_dtype() -> _dtype: ...
def set_default_dtype(dtype: _dtype) -> None: ...
def result_type(a: Tensor | builtins.float, b: Tensor | builtins.float) -> _dtype: ...
def promote_types(a: _dtype, b: _dtype) -> _dtype: ...
def can_cast(from_: _dtype, to: _dtype) -> builtins.bool: ...
