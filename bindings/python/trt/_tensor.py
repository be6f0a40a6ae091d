"""trt.Tensor: what the C type does not do itself."""

import warnings

from trt import _C


class Tensor(_C.TensorBase):
    """A strided, typed view of memory, with gradients. trt.tensor, trt.zeros, trt.randn and so on make one."""

    __array_priority__ = 1000

    # --- conversion ---

    def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
        """In another dtype and on another device: to(dtype), to(device), to(device, dtype), to(other tensor). Gives self where nothing changes."""
        for i, a in enumerate(args):
            if isinstance(a, Tensor) and i == 0:
                dtype, device = a.dtype, a.device
            elif isinstance(a, _C.dtype) or a in (float, int, bool):
                dtype = a
            elif isinstance(a, (_C.device, str)) and i == 0:
                device = a
            elif a is None or (isinstance(a, bool) and i > 0):
                pass  # non_blocking, copy
            else:
                raise TypeError(f"to(): a dtype, device or tensor is needed, not {type(a).__name__}")
        if device is not None and _C.device(device) != self.device:
            out = self._to(_C.device(device), dtype)
        else:
            out = self._to(dtype) if dtype is not None else self
        return out.clone() if copy and out is self else out

    def type(self, dtype=None):
        """In another dtype; without an argument the dtype's name."""
        return str(self.dtype) if dtype is None else self.to(dtype)

    def cpu(self):
        """On the CPU."""
        return self.to(device="cpu")

    def numpy(self, *, force=False):
        """A NumPy array on the same memory. force: of whatever tensor, with a copy where that is needed."""
        import numpy

        t = self.detach() if force else self
        if t.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if t.dtype == _C._dtypes["bfloat16"]:
            if not force:
                raise TypeError("NumPy has no bfloat16; use tensor.float().numpy()")
            t = t.float()
        return numpy.asarray(memoryview(t))

    def __array__(self, dtype=None, copy=None):
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array, context=None, return_scalar=False):
        return _C._from_data(array, None)

    # --- gradients ---

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulates the gradients of this tensor in the leaves. `gradient` stands for 1 where the tensor has more than one element."""
        from trt import autograd

        autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs, _stacklevel=3)

    def register_hook(self, hook):
        """Calls hook(grad) when the gradient of this tensor is known; a tensor that it returns replaces it. Gives a handle with remove()."""
        from trt.autograd import RemovableHandle

        return RemovableHandle(self, self._add_hook(hook))

    @property
    def grad_fn(self):
        """The node of the graph that made the tensor, or None."""
        from trt.autograd import Node

        handle = _C.trt_tensor_grad_fn(self)
        return None if handle is None else Node(handle)

    @property
    def data(self):
        """The same elements without history; changes are not tracked."""
        return self.detach()

    @data.setter
    def data(self, value):
        _C.trt_tensor_set_data(self, value)

    def detach_(self):
        """Drops the history; gives self. Not for a view, whose history is that of its base."""
        _C.trt_tensor_detach_(self)
        return self

    # --- metadata ---

    def is_contiguous(self, memory_format=None):
        """Whether the elements lie row-major without gaps."""
        return self._is_contiguous()

    @property
    def is_cpu(self):
        return self.device.type == "cpu"

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def is_meta(self):
        return self.device.type == "meta"

    @property
    def layout(self):
        return "strided"

    @property
    def H(self):
        """The conjugate transpose of a matrix; a 0-d tensor conjugated."""
        if self.dim() not in (0, 2):
            raise RuntimeError(f"H: needs a matrix or a 0-d tensor, got {self.dim()} dimensions")
        return self.T.conj() if self.dim() else self.conj()

    @property
    def mH(self):
        """Matrices transposed and conjugated."""
        return self.mT.conj()

    @property
    def real(self):
        """The real part, a view; a real tensor itself."""
        return _C._operators["real"](self)

    @real.setter
    def real(self, value):
        _C._operators["real"](self).copy_(_as_tensor(value, self))

    @property
    def imag(self):
        """The imaginary part of a complex tensor, a view."""
        return _C._operators["imag"](self)

    @imag.setter
    def imag(self, value):
        _C._operators["imag"](self).copy_(_as_tensor(value, self))

    def __complex__(self):
        """The only element as a complex number."""
        return complex(self.item())

    def is_signed(self):
        """Whether the dtype holds negative numbers."""
        return self.dtype.is_signed

    def is_complex(self):
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_nonzero(self):
        """Whether the only element is not zero."""
        return bool(self)

    def is_same_size(self, other):
        """Whether the sizes are equal."""
        return self.shape == other.shape

    def get_device(self):
        """-1, or the number of the device."""
        return -1 if self.device.index is None else self.device.index

    def dim_order(self):
        """The dimensions from the outermost in memory to the innermost."""
        return tuple(sorted(range(self.dim()), key=lambda d: -self.stride(d)))

    # --- operators of other signatures ---

    def where(self, condition, other):
        """This tensor's elements where `condition` is true, elsewhere those of `other`."""
        return _C._operators["where"](condition, self, other)

    def nonzero(self, *, as_tuple=False):
        """The indices of the elements that are not zero."""
        from trt import nonzero

        return nonzero(self, as_tuple=as_tuple)

    def unique(self, sorted=True, return_inverse=False, return_counts=False, dim=None):
        """The different elements; see trt.unique."""
        from trt import unique

        return unique(self, sorted, return_inverse, return_counts, dim)

    def unique_consecutive(self, return_inverse=False, return_counts=False, dim=None):
        """The elements that differ from the one before; see trt.unique_consecutive."""
        from trt import unique_consecutive

        return unique_consecutive(self, return_inverse, return_counts, dim)

    def polygamma(self, n):
        """The `n`-th derivative of digamma."""
        return _C._operators["polygamma"](n, self)

    def cfloat(self):
        """In complex64."""
        return self.to(_C._dtypes["complex64"])

    def cdouble(self):
        """In complex128."""
        return self.to(_C._dtypes["complex128"])

    def new_empty_strided(self, size, stride, *, dtype=None, device=None, requires_grad=False):
        """Uninitialized memory of this tensor's dtype and device with the given strides."""
        return _C._operators["empty_strided"](size, stride, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)

    def set_(self, source):
        """Takes the memory, shape and strides of `source`, which has the same dtype; gives self. Not for tensors that require gradients."""
        if self.requires_grad:
            raise RuntimeError("set_: the tensor requires gradients")
        if source.dtype != self.dtype:
            raise RuntimeError(f"set_: the dtypes differ: {self.dtype} and {source.dtype}")
        self.data = source
        return self

    def is_set_to(self, tensor):
        """Whether the other tensor has the same memory, shape and strides."""
        return self.data_ptr() == tensor.data_ptr() and self.shape == tensor.shape and self.stride() == tensor.stride() and self.dtype == tensor.dtype

    def apply_(self, function):
        """Replaces each element by function(element), one call of Python each; gives self. Only for tensors on the CPU without gradients."""
        return self.map_(self, lambda a, _: function(a))

    def map_(self, tensor, function):
        """Replaces each element by function(element, element of `tensor`, which broadcasts), one call of Python each; gives self."""
        if self.requires_grad:
            raise RuntimeError("map_: the tensor requires gradients")
        other = tensor.expand(self.shape)
        values = [function(a, b) for a, b in zip(self.reshape(-1).tolist(), other.reshape(-1).tolist())]
        return self.copy_(_C._from_data(values, self.dtype).reshape(self.shape))

    def unsafe_chunk(self, chunks, dim=0):
        """trt.unsafe_chunk of this tensor."""
        from trt import unsafe_chunk

        return unsafe_chunk(self, chunks, dim)

    def unsafe_split(self, split_size, dim=0):
        """trt.unsafe_split of this tensor."""
        from trt import unsafe_split

        return unsafe_split(self, split_size, dim)

    unsafe_split_with_sizes = unsafe_split

    def is_conj(self):
        """Never: conj makes new memory."""
        return False

    def is_neg(self):
        """Never: negation makes new memory."""
        return False

    def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
        """trt.tensor(data) with this tensor's dtype and device."""
        from trt._creation import _placed

        if isinstance(data, _C.TensorBase):
            warnings.warn("new_tensor() of a tensor is a copy without history: x.detach().clone() says so", stacklevel=2)
        return _placed(_C._from_data(data, dtype or self.dtype), device or self.device, requires_grad)

    def scatter_(self, dim, index, src=None, *, value=None, reduce=None):
        """Writes `src` (or a number) at the places that `index` names along `dim`."""
        source = src if src is not None else value
        if reduce is not None:
            return super().scatter_(dim, index, source, reduce=reduce)
        return super().scatter_(dim, index, source)

    # --- the language's protocols ---

    def __contains__(self, element):
        return bool((self == element).any())

    def __reversed__(self):
        return self.flip(0) if self.dim() else self

    def __format__(self, spec):
        if self.dim() == 0 and not self.is_meta:
            return format(self.item(), spec)
        return object.__format__(self, spec)

    def __dir__(self):
        return sorted(name for name in object.__dir__(self) if not name.startswith("_") or name.startswith("__"))

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        if not self.is_leaf:
            raise RuntimeError("Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. Use tensor.detach().")
        copied = self._like(self.detach().clone())
        if self.grad is not None:
            copied.grad = self.grad.detach().clone()
        copied.__dict__.update(self.__dict__)
        memo[id(self)] = copied
        return copied

    def _like(self, data):
        """`data` as an object of this one's class."""
        t = type(self)._make_subclass(type(self), data, self.requires_grad) if type(self) is not Tensor else data
        return t if t.requires_grad == self.requires_grad else t.requires_grad_(self.requires_grad)

    def __reduce_ex__(self, protocol):
        from trt import safetensors

        if not self.is_leaf:
            raise RuntimeError("a tensor with a history cannot be pickled; use tensor.detach()")
        data = {"": self.detach()}
        if self.dtype.name == "complex128":  # for which that format has no name
            data = {"complex": _C._operators["view_as_real"](data[""])}
        return _unpickle, (type(self), safetensors.save(data), self.requires_grad, dict(self.__dict__) or None)


def _as_tensor(value, beside):
    return value if isinstance(value, _C.TensorBase) else _C._operators["full"]((), value, dtype=_C._operators["real"](beside).dtype)


def _unpickle(cls, data, requires_grad, attributes):
    from trt import safetensors

    ((name, t),) = safetensors.load(data).items()
    if name == "complex":
        t = _C._operators["view_as_complex"](t)
    if cls is not Tensor:
        t = cls._make_subclass(cls, t, requires_grad)
    elif requires_grad:
        t.requires_grad_()
    if attributes:
        t.__dict__.update(attributes)
    return t


_C._set_tensor_class(Tensor)
