"""Functions that stand before operators of other signatures, or are none."""

from trt import _C

_ops = _C._operators


def is_tensor(obj) -> bool:
    """Whether `obj` is a tensor."""
    return isinstance(obj, _C.TensorBase)


def is_floating_point(input) -> bool:
    """Whether the dtype is a floating-point one."""
    return input.is_floating_point()


def is_complex(input) -> bool:
    """Whether the dtype is complex."""
    return input.is_complex()


def is_signed(input) -> bool:
    """Whether the dtype holds negative numbers."""
    return input.is_signed()


def is_same_size(input, other) -> bool:
    """Whether the sizes are equal."""
    return input.shape == other.shape


def is_conj(input) -> bool:
    """Whether the tensor is a conjugated view: never, since conj makes new memory."""
    return False


def is_neg(input) -> bool:
    """Whether the tensor is a negated view: never."""
    return False


def get_device(input) -> int:
    """-1 for the CPU, or the number of the device."""
    return input.get_device()


def detach(input):
    """The tensor without its history, over the same memory."""
    return input.detach()


def detach_(input):
    """Drops the history of the tensor itself."""
    return input.detach_()


def frobenius_norm(input, dim=None, keepdim=False, *, out=None):
    """The root of the sum of squares over `dim`, of all elements by default; trt.linalg.vector_norm is the usual function."""
    result = _ops["norm"](input, 2, dim, keepdim)
    return result if out is None else out.copy_(result)


def nuclear_norm(input, dim=(-2, -1), keepdim=False, *, out=None):
    """The sum of the singular values of the matrices in the dimensions `dim`."""
    result = _ops["linalg_matrix_norm"](input, "nuc", dim, keepdim)
    return result if out is None else out.copy_(result)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """nn.functional.grid_sample with numbers for the modes: 0 bilinear, 1 nearest, 2 bicubic; 0 zeros, 1 border, 2 reflection."""
    return _ops["grid_sample"](input, grid, ("bilinear", "nearest", "bicubic")[interpolation_mode], ("zeros", "border", "reflection")[padding_mode], align_corners)


def unsafe_chunk(input, chunks, dim=0):
    """chunk, whose parts are copies, so that they can be changed apart from each other."""
    return tuple(t.clone() for t in _ops["chunk"](input, chunks, dim))


def unsafe_split(input, split_size, dim=0):
    """split, whose parts are copies, so that they can be changed apart from each other."""
    return tuple(t.clone() for t in _ops["split"](input, split_size, dim))


unsafe_split_with_sizes = unsafe_split


def typename(obj) -> str:
    """The name of a tensor's dtype as a type's, or of the type of anything else."""
    if is_tensor(obj):
        return f"trt.{obj.dtype.name}"
    module = getattr(type(obj), "__module__", "")
    return f"{module}.{type(obj).__qualname__}" if module and module != "builtins" else type(obj).__name__


def is_nonzero(input) -> bool:
    """Whether the only element is not zero."""
    return bool(input)


def numel(input) -> int:
    """Number of elements."""
    return input.numel()


def nonzero(input, *, as_tuple=False):
    """The indices of the elements that are not zero: a matrix with a row for each, or (as_tuple) a vector for each dimension."""
    found = _ops["nonzero"](input)
    if not as_tuple:
        return found
    return tuple(found.unbind(1)) if input.dim() else (found.new_zeros((found.size(0),)),)


def _asked(result, inverse, counts):
    """The results of unique that were asked for."""
    chosen = tuple(r for r, wanted in zip(result, (True, inverse, counts)) if wanted)
    return chosen if len(chosen) > 1 else chosen[0]


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements (or slices along `dim`) in ascending order; with them the place of each and how many there are, where asked for."""
    return _asked(_ops["unique"](input, sorted, return_inverse, return_counts, dim), return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements (or slices along `dim`) that differ from the one before; otherwise as unique."""
    return _asked(_ops["unique_consecutive"](input, return_inverse, return_counts, dim), return_inverse, return_counts)


def gradient(input, *, spacing=None, dim=None, edge_order=1):
    """The derivatives along `dim` (a number or several; all by default) from differences of neighbours. `spacing` is their distance, one for each
    dimension, or a vector of coordinates for each."""
    if isinstance(dim, int):
        dim = (dim,)
    several = isinstance(spacing, (list, tuple))
    if several and len(spacing) and isinstance(spacing[0], _C.TensorBase):
        return tuple(_ops["gradient"](input, spacing=list(spacing), dim=dim, edge_order=edge_order))
    if isinstance(spacing, _C.TensorBase):
        spacing = spacing.item()
    return tuple(_ops["gradient"](input, spacing=spacing if several or spacing is None else [spacing], dim=dim, edge_order=edge_order))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """The rows of `input` counted in the boxes of a grid: the counts, and the edges of each dimension. `bins` is a number for all or for each dimension, or
    holds the edges."""
    from trt.return_types import histogramdd as result

    if isinstance(bins, int):
        bins = [bins] * input.size(-1)
    hist, *edges = _ops["histogramdd"](input, bins, weight=weight, density=density, **({} if range is None else {"range": range}))
    return result(hist, tuple(edges))


def where(condition, input=None, other=None, *, out=None):
    """`input` where `condition` is true, elsewhere `other`; with the condition alone nonzero(condition, as_tuple=True)."""
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if out is not None:
        return _ops["where"](condition, input, other, out=out)
    return _ops["where"](condition, input, other)


def fill(input, value):
    """A tensor like `input` of one number, or of the element of a 0-d tensor."""
    new = input.clone()
    return new.copy_(value) if isinstance(value, _C.TensorBase) else new.fill_(value)


def tensordot(a, b, dims=2, out=None):
    """Sums over `dims` dimensions (the last of `a`, the first of `b`), or over the two lists of dimensions."""
    if isinstance(dims, _C.TensorBase):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        first, second = dims if len(dims) == 2 else (dims, dims)
        first, second = ([d] if isinstance(d, int) else list(d) for d in (first, second))
        result = _ops["tensordot"](a, b, first, second)
    else:
        result = _ops["tensordot"](a, b, dims)
    return out.copy_(result) if out is not None else result


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    from trt import Size

    shapes = [(s,) if isinstance(s, int) else tuple(s) for s in shapes]
    empty = [_ops["empty"](s, device="meta") for s in shapes]
    return _ops["broadcast_tensors"](empty)[0].shape if empty else Size()


def get_num_threads() -> int:
    """Threads that one operator may use."""
    return _C.trt_get_num_threads()


def set_num_threads(threads: int):
    """Sets the number of threads that one operator may use; results do not depend on it."""
    _C.trt_set_num_threads(threads)


def set_log_callback(function):
    """Sends the library's log lines to function(level, message); None: nowhere. Levels are those of the module logging. At first the library's warnings are
    warnings of Python."""
    if function is None:
        _C._set_log_callback(None)
    else:
        _C._set_log_callback(lambda level, message: function(10 * (level + 1), message))


def set_log_level(level: int):
    """Lines below this level (of the module logging) are not made."""
    _C.trt_set_log_level(max(0, min(4, level // 10 - 1)))


def einsum(equation, *operands):
    """Sums of products in Einstein's notation. The operands follow the equation, or stand in a list; or each is followed by the list of its subscripts."""
    if not isinstance(equation, str):
        # Tensors and lists of numbers from 0 to 51 in turn; at last perhaps the list of the result.
        given = (equation, *operands)
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        sides = ["".join("..." if s is Ellipsis else letters[s] for s in subscripts) for subscripts in given[1::2]]
        if len(given) % 2:
            sides.append("".join("..." if s is Ellipsis else letters[s] for s in given[-1]))
            equation = ",".join(sides[:-1]) + "->" + sides[-1]
        else:
            equation = ",".join(sides)
        operands = given[:len(given) - len(given) % 2:2]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _ops["einsum"](equation, list(operands))


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The distances in the `p`-norm between the rows of `x1` and of `x2`. `compute_mode` changes nothing here."""
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _ops["cdist"](x1, x2, p, modes.index(compute_mode))


def lu(A, pivot=True, get_infos=False, out=None):
    """The LU factorization in compact form and the pivots; with `get_infos` also the state of each matrix."""
    result = tuple(_ops["linalg_lu_factor_ex"](A, pivot=pivot))
    result = result if get_infos else result[:2]
    return result if out is None else tuple(o.copy_(r) for o, r in zip(out, result))
