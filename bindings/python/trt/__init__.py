"""Tensors, gradients and models: libtensorrt from Python, with PyTorch's names and behaviour.

    import trt
    x = trt.randn(3, 4, requires_grad=True)
    loss = (x @ x.T).relu().sum()
    loss.backward()
    print(x.grad)

Calls that compute or wait let other Python threads run. Errors of the library are subclasses of trt.Error and of the built-in exception that PyTorch
would raise.
"""

from math import e, inf, nan, pi

from trt import _C
from trt._C import device, dtype
from trt._C import (CallbackError, CancelledError, DataError, EndOfDataError, Error, FailedPreconditionError, FileIOError, InternalError, InvalidArgumentError,
                    MissingFileError, NotFoundError, NotSupportedError, OutOfMemoryError, OutOfRangeError, UnavailableError)
from trt._size import Size
from trt._tensor import Tensor
from trt._ops import *  # noqa: F403  (hides built-in functions from here on, as sum and all)
from trt._dtypes import (bfloat16, bool, cdouble, cfloat, complex64, complex128, double, finfo, float, float16, float32, float64, half, iinfo, int, int8, int16, int32, int64, long, short, uint8,
                         can_cast, get_default_dtype, promote_types, result_type, set_default_dtype)
from trt._modes import CancelToken, enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad, set_grad_enabled
from trt._random import Generator, default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from trt._creation import as_tensor, asarray, from_dlpack, from_numpy, frombuffer, tensor
from trt._functions import (broadcast_shapes, cdist, detach, detach_, einsum, fill, frobenius_norm, get_device, get_num_threads, gradient, grid_sampler, histogramdd, is_complex, is_conj,
                            is_floating_point, is_neg, is_nonzero, is_same_size, is_signed, is_tensor, lu, nonzero, nuclear_norm, numel, set_log_callback, set_log_level,
                            set_num_threads, tensordot, typename, unique, unique_consecutive, unsafe_chunk, unsafe_split, unsafe_split_with_sizes, where)
from trt import autograd, fft, linalg, memory, ops, return_types, safetensors, special
from trt.serialization import load, save
from trt import cuda, data, nn, optim, testing, utils

newaxis = None
strided, preserve_format, contiguous_format = "strided", "preserve_format", "contiguous_format"


def build_info() -> str:
    """What the library is made for and runs on: version, kernels, BLAS, threads; a line each."""
    return _C.trt_build_info()


_C._warn_of_logs()
__version__ = _C.trt_version_string()
