// Views: new sizes, strides and offset over the same storage. Pure metadata, the same for every device.
#include "gen/shape_native.h"
#include "gen/shape_ops.h"
#include "gen/factory_ops.h"
#include "iter/promotion.h"

namespace trt {

namespace {

DimVector dims_of(IntArrayRef r) { return DimVector(r.data(), r.size()); }
size_t at(int64_t d) { return static_cast<size_t>(d); }

// The stride of every step-th position. A step that overflows leaves one position at most, where the stride says nothing.
int64_t stepped(int64_t stride, int64_t step) {
  int64_t r;
  return __builtin_mul_overflow(stride, step, &r) ? stride : r;
}

// Replaces a -1 by what makes the number of elements right.
DimVector infer_size(IntArrayRef shape, int64_t numel, const char* op) {
  DimVector out = dims_of(shape);
  int64_t known = 1, unknown = -1;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      TRT_CHECK(unknown < 0, op, ": only one size can be -1, got ", shape);
      unknown = static_cast<int64_t>(i);
    } else {
      TRT_CHECK(out[i] >= 0, op, ": invalid size ", out[i], " in shape ", shape);
      TRT_CHECK(!__builtin_mul_overflow(known, out[i], &known), op, ": shape ", shape, " has too many elements");
    }
  }
  if (unknown >= 0) {
    TRT_CHECK(known != 0 || numel != 0, op, ": the size -1 is ambiguous in shape ", shape, " for a tensor without elements");
    TRT_CHECK(known != 0 && numel % known == 0, op, ": shape ", shape, " is invalid for a tensor of ", numel, " elements");
    out[at(unknown)] = numel / known;
  } else {
    TRT_CHECK(known == numel, op, ": shape ", shape, " is invalid for a tensor of ", numel, " elements");
  }
  return out;
}

// The strides of a view of the given shape, or nothing when no view has it. A new dimension must lie inside one run of old
// dimensions that are contiguous among themselves.
std::optional<DimVector> view_strides(IntArrayRef old_sizes, IntArrayRef old_strides, IntArrayRef sizes) {
  DimVector out(sizes.size());
  int64_t numel = 1;
  for (int64_t s : old_sizes) numel *= s;
  if (numel == 0) return contiguous_strides(sizes);
  if (old_sizes.empty()) {
    for (auto& s : out) s = 1;
    return out;
  }
  int64_t d = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run_stride = old_strides.back();
  int64_t run_numel = 1, view_numel = 1;
  for (int64_t i = static_cast<int64_t>(old_sizes.size()) - 1; i >= 0; --i) {
    run_numel *= old_sizes[at(i)];
    const bool ends = i == 0 || (old_sizes[at(i - 1)] != 1 && old_strides[at(i - 1)] != run_numel * run_stride);
    if (!ends) continue;
    while (d >= 0 && (view_numel < run_numel || sizes[at(d)] == 1)) {
      out[at(d)] = view_numel * run_stride;
      view_numel *= sizes[at(d)];
      --d;
    }
    if (view_numel != run_numel) return std::nullopt;
    if (i > 0) {
      run_stride = old_strides[at(i - 1)];
      run_numel = view_numel = 1;
    }
  }
  return d == -1 ? std::optional(out) : std::nullopt;
}

}  // namespace

namespace view {

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  TRT_CHECK(size.size() == stride.size(), "as_strided: ", size.size(), " sizes but ", stride.size(), " strides");
  checked_numel(size, self.dtype());
  const int64_t offset = storage_offset.value_or(self.storage_offset());
  check_in_storage(size, stride, offset, static_cast<int64_t>(self.impl()->storage()->bytes() / self.itemsize()), "as_strided");
  return alias_tensor(self, size, stride, offset);
}

Tensor view(const Tensor& self, IntArrayRef size) {
  const DimVector sizes = infer_size(size, self.numel(), "view");
  const auto strides = self.is_contiguous() ? std::optional(contiguous_strides(sizes)) : view_strides(self.sizes(), self.strides(), sizes);
  TRT_CHECK(strides.has_value(), "view: shape ", sizes, " cannot be a view of a tensor of shape ", self.sizes(), " with strides ", self.strides(),
            "; use reshape, which copies");
  return alias_tensor(self, sizes, *strides, self.storage_offset());
}

Tensor view_as_real(const Tensor& self) {
  TRT_CHECK(is_complex(self.dtype()), "view_as_real: needs a complex tensor, got ", self);
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  for (int64_t& s : strides) s *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  return alias_tensor(self, sizes, strides, self.storage_offset() * 2, real_dtype(self.dtype()));
}

Tensor view_as_complex(const Tensor& self) {
  TRT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, "view_as_complex: needs a float32 or float64 tensor, got ", self);
  TRT_CHECK(self.dim() > 0 && self.sizes().back() == 2, "view_as_complex: the last dimension must have size 2, got ", self);
  TRT_CHECK(self.strides().back() == 1 || self.numel() == 0, "view_as_complex: the last dimension must have stride 1, got strides ", self.strides(), " of ", self);
  DimVector sizes, strides;
  for (int64_t d = 0; d + 1 < self.dim(); ++d) {
    const int64_t size = self.sizes()[at(d)], stride = self.strides()[at(d)];
    TRT_CHECK(stride % 2 == 0 || size <= 1, "view_as_complex: strides must be even, got ", self.strides(), " of ", self);
    sizes.push_back(size);
    strides.push_back(stride / 2);
  }
  TRT_CHECK(self.storage_offset() % 2 == 0, "view_as_complex: the storage offset must be even, got ", self.storage_offset());
  return alias_tensor(self, sizes, strides, self.storage_offset() / 2, complex_dtype(self.dtype()));
}

Tensor transpose(const Tensor& self, int64_t dim0, int64_t dim1) {
  const int64_t a = wrap_dim(dim0, self.dim(), "transpose"), b = wrap_dim(dim1, self.dim(), "transpose");
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  if (self.dim() > 0) {
    std::swap(sizes[at(a)], sizes[at(b)]);
    std::swap(strides[at(a)], strides[at(b)]);
  }
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor permute(const Tensor& self, IntArrayRef dims) {
  const size_t n = self.sizes().size();
  TRT_CHECK(dims.size() == n, "permute: ", dims.size(), " dimensions given for a tensor of ", n);
  DimVector sizes(n), strides(n);
  uint64_t seen = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t d = wrap_dim(dims[i], self.dim(), "permute");
    TRT_CHECK(!((seen >> d) & 1), "permute: dimension ", dims[i], " appears twice in ", dims);
    seen |= uint64_t{1} << d;
    sizes[i] = self.sizes()[at(d)];
    strides[i] = self.strides()[at(d)];
  }
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor expand(const Tensor& self, IntArrayRef size) {
  const size_t n = size.size(), own = self.sizes().size();
  TRT_CHECK(n >= own, "expand: shape ", size, " has fewer dimensions than the tensor's ", self.sizes());
  DimVector sizes(n), strides(n);
  for (size_t i = n; i-- > 0;) {
    if (i < n - own) {
      TRT_CHECK(size[i] >= 0, "expand: the new leading dimension ", i, " needs a size, got ", size);
      sizes[i] = size[i];
      // A new dimension of size 1 is not repeated; it continues the strides.
      strides[i] = size[i] == 1 && own > 0 ? sizes[i + 1] * strides[i + 1] : 0;
      continue;
    }
    const size_t k = i - (n - own);
    const int64_t s = self.sizes()[k];
    TRT_CHECK(size[i] == -1 || size[i] == s || (s == 1 && size[i] >= 0), "expand: shape ", self.sizes(), " cannot be expanded to ", size);
    sizes[i] = size[i] == -1 ? s : size[i];
    strides[i] = sizes[i] == s ? self.strides()[k] : 0;
  }
  checked_numel(sizes, self.dtype());
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor slice(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step) {
  TRT_CHECK(self.dim() > 0, "slice: a 0-d tensor cannot be sliced");
  const int64_t d = wrap_dim(dim, self.dim(), "slice");
  TRT_CHECK(step > 0, "slice: step must be positive, got ", step);
  const int64_t n = self.sizes()[at(d)];
  auto clip = [n](int64_t v) { return std::clamp<int64_t>(v < 0 ? v + n : v, 0, n); };
  const int64_t from = clip(start.value_or(0)), to = std::max(from, clip(end.value_or(n)));
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  const int64_t offset = self.storage_offset() + from * strides[at(d)];
  sizes[at(d)] = (to - from) / step + ((to - from) % step != 0);
  strides[at(d)] = stepped(strides[at(d)], step);
  return alias_tensor(self, sizes, strides, self.numel() == 0 || from == n ? self.storage_offset() : offset);
}

Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  TRT_CHECK(self.dim() > 0, "select: a 0-d tensor has nothing to select from");
  const int64_t d = wrap_dim(dim, self.dim(), "select");
  const int64_t n = self.sizes()[at(d)];
  TRT_CHECK_CODE(index >= -n && index < n, Code::kOutOfRange, "select: index ", index, " is out of range for dimension ", dim, " of shape ", self.sizes());
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  const int64_t offset = self.storage_offset() + (index < 0 ? index + n : index) * strides[at(d)];
  sizes.erase(at(d));
  strides.erase(at(d));
  return alias_tensor(self, sizes, strides, self.numel() == 0 ? self.storage_offset() : offset);
}

Tensor squeeze(const Tensor& self) {
  DimVector sizes, strides;
  for (size_t i = 0; i < self.sizes().size(); ++i)
    if (self.sizes()[i] != 1) {
      sizes.push_back(self.sizes()[i]);
      strides.push_back(self.strides()[i]);
    }
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor squeeze_dim(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim(), "squeeze");
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  if (self.dim() > 0 && sizes[at(d)] == 1) {
    sizes.erase(at(d));
    strides.erase(at(d));
  }
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor squeeze_dims(const Tensor& self, IntArrayRef dim) {
  uint64_t given = 0;
  for (int64_t d : dim) {
    const int64_t w = wrap_dim(d, self.dim(), "squeeze");
    TRT_CHECK(!((given >> w) & 1), "squeeze: dimension ", d, " appears twice in ", dim);
    given |= uint64_t{1} << w;
  }
  DimVector sizes, strides;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (self.sizes()[at(i)] == 1 && ((given >> i) & 1)) continue;
    sizes.push_back(self.sizes()[at(i)]);
    strides.push_back(self.strides()[at(i)]);
  }
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor unsqueeze(const Tensor& self, int64_t dim) {
  const int64_t d = wrap_dim(dim, self.dim() + 1, "unsqueeze");
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  const int64_t stride = d < self.dim() ? sizes[at(d)] * strides[at(d)] : 1;
  sizes.insert(at(d), 1);
  strides.insert(at(d), stride);
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor unfold(const Tensor& self, int64_t dimension, int64_t size, int64_t step) {
  const int64_t d = wrap_dim(dimension, self.dim(), "unfold");
  const int64_t n = self.dim() == 0 ? 1 : self.sizes()[at(d)];
  TRT_CHECK(size >= 0 && size <= n, "unfold: windows of ", size, " do not fit dimension ", dimension, " of size ", n);
  TRT_CHECK(step > 0, "unfold: step must be positive, got ", step);
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  const int64_t stride = self.dim() == 0 ? 1 : strides[at(d)];
  if (self.dim() > 0) {
    sizes[at(d)] = (n - size) / step + 1;
    strides[at(d)] = stepped(stride, step);
  }
  sizes.push_back(size);
  strides.push_back(stride);
  return alias_tensor(self, sizes, strides, self.storage_offset());
}

Tensor diagonal(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  TRT_CHECK(self.dim() >= 2, "diagonal: needs at least two dimensions, got shape ", self.sizes());
  const int64_t a = wrap_dim(dim1, self.dim(), "diagonal"), b = wrap_dim(dim2, self.dim(), "diagonal");
  TRT_CHECK(a != b, "diagonal: the dimensions must differ, both are ", a);
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  const int64_t rows = sizes[at(a)], cols = sizes[at(b)];
  // Compared before they are subtracted, so that no offset overflows.
  int64_t length = 0;
  if (offset >= 0) length = offset >= cols ? 0 : std::min(rows, cols - offset);
  else length = offset <= -rows ? 0 : std::min(rows + offset, cols);
  int64_t start = self.storage_offset();
  if (length > 0) start += offset >= 0 ? offset * strides[at(b)] : -offset * strides[at(a)];
  const int64_t stride = strides[at(a)] + strides[at(b)];
  const int64_t hi = std::max(a, b), lo = std::min(a, b);
  sizes.erase(at(hi));
  strides.erase(at(hi));
  sizes.erase(at(lo));
  strides.erase(at(lo));
  sizes.push_back(length);
  strides.push_back(stride);
  return alias_tensor(self, sizes, strides, start);
}

}  // namespace view

namespace composite {

Tensor view_dtype(const Tensor& self, DType dtype) {
  if (dtype == self.dtype()) return op::view(self, self.sizes());
  TRT_CHECK_CODE(!is_complex(dtype) && !is_complex(self.dtype()), Code::kNotSupported, "view: the bits of ", self, " as ", dtype,
                 ": not for complex numbers, of which view_as_real and view_as_complex make views");
  TRT_CHECK_CODE(!requires_grad_now(self), Code::kNotSupported, "view: the bits of ", self, " as ", dtype, " have no gradient; detach the tensor");
  const int64_t from = static_cast<int64_t>(element_size(self.dtype())), to = static_cast<int64_t>(element_size(dtype));
  DimVector sizes = dims_of(self.sizes()), strides = dims_of(self.strides());
  int64_t offset = self.storage_offset();
  if (from == to) return alias_tensor(self, sizes, strides, offset, dtype);
  TRT_CHECK(self.dim() > 0 && strides.back() == 1, "view: ", self, " as ", dtype, " needs a last dimension of stride 1, got strides ", self.strides());
  const int64_t ratio = from > to ? from / to : to / from;
  if (from > to) {
    for (int64_t& s : strides) s *= ratio;
    strides.back() = 1;
    TRT_CHECK(!__builtin_mul_overflow(sizes.back(), ratio, &sizes.back()), "view: ", self, " as ", dtype, " is too large");
    return alias_tensor(self, sizes, strides, offset * ratio, dtype);
  }
  TRT_CHECK(sizes.back() % ratio == 0 && offset % ratio == 0, "view: the last dimension and the storage offset of ", self, " must be multiples of ", ratio, " for ", dtype,
            ", got offset ", offset);
  for (size_t d = 0; d + 1 < sizes.size(); ++d) {
    TRT_CHECK(strides[d] % ratio == 0 || sizes[d] <= 1, "view: the strides of ", self, " must be multiples of ", ratio, " for ", dtype, ", got ", self.strides());
    strides[d] /= ratio;
  }
  sizes.back() /= ratio;
  return alias_tensor(self, sizes, strides, offset / ratio, dtype);
}


Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const DimVector sizes = infer_size(shape, self.numel(), "reshape");
  if (self.sizes() == IntArrayRef(sizes)) return op::view(self, sizes);
  if (self.is_contiguous() || view_strides(self.sizes(), self.strides(), sizes)) return op::view(self, sizes);
  return op::view(op::contiguous(self), sizes);
}

Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  TRT_CHECK(self.dim() > 0, "narrow: a 0-d tensor cannot be narrowed");
  const int64_t n = self.size(wrap_dim(dim, self.dim(), "narrow"));
  TRT_CHECK(length >= 0, "narrow: length must not be negative, got ", length);
  TRT_CHECK_CODE(start >= -n && start <= n, Code::kOutOfRange, "narrow: start ", start, " is out of range for dimension ", dim, " of size ", n);
  const int64_t from = start < 0 ? start + n : start;
  TRT_CHECK_CODE(length <= n - from, Code::kOutOfRange, "narrow: start ", start, " and length ", length, " exceed dimension ", dim, " of size ", n);
  return op::slice(self, dim, from, from + length, 1);
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  const int64_t from = wrap_dim(start_dim, self.dim(), "flatten"), to = wrap_dim(end_dim, self.dim(), "flatten");
  TRT_CHECK(from <= to, "flatten: start_dim ", start_dim, " comes after end_dim ", end_dim);
  if (self.dim() == 0) return op::reshape(self, {1});
  if (from == to) return self;
  DimVector sizes;
  int64_t merged = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d < from || d > to) sizes.push_back(self.sizes()[at(d)]);
    else merged *= self.sizes()[at(d)];
    if (d == to) sizes.push_back(merged);
  }
  return op::reshape(self, sizes);
}

Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  TRT_CHECK(self.dim() > 0, "unflatten: a 0-d tensor has no dimension to split");
  TRT_CHECK(!sizes.empty(), "unflatten: sizes must not be empty");
  const int64_t d = wrap_dim(dim, self.dim(), "unflatten");
  const DimVector parts = infer_size(sizes, self.sizes()[at(d)], "unflatten");
  DimVector shape;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != d) shape.push_back(self.sizes()[at(i)]);
    else
      for (int64_t p : parts) shape.push_back(p);
  }
  return op::view(self, shape);
}

std::vector<Tensor> split(const Tensor& self, int64_t split_size, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "split: a 0-d tensor cannot be split");
  const int64_t d = wrap_dim(dim, self.dim(), "split");
  const int64_t n = self.sizes()[at(d)];
  TRT_CHECK(split_size > 0 || (split_size == 0 && n == 0), "split: split_size must be positive, got ", split_size);
  std::vector<Tensor> out;
  if (n == 0) out.push_back(op::slice(self, d, 0, 0, 1));
  for (int64_t from = 0; from < n; from += split_size) {
    out.push_back(op::slice(self, d, from, std::min(n, n - from < split_size ? n : from + split_size), 1));
    if (n - from <= split_size) break;
  }
  return out;
}

std::vector<Tensor> split_sizes(const Tensor& self, IntArrayRef split_sizes, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "split: a 0-d tensor cannot be split");
  const int64_t d = wrap_dim(dim, self.dim(), "split");
  const int64_t n = self.sizes()[at(d)];
  int64_t from = 0;
  for (int64_t s : split_sizes) {
    TRT_CHECK(s >= 0 && s <= n - from, "split: sizes ", split_sizes, " do not add up to dimension ", dim, " of size ", n);
    from += s;
  }
  TRT_CHECK(from == n, "split: sizes ", split_sizes, " do not add up to dimension ", dim, " of size ", n);
  std::vector<Tensor> out;
  from = 0;
  for (int64_t s : split_sizes) {
    out.push_back(op::slice(self, d, from, from + s, 1));
    from += s;
  }
  return out;
}

std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "chunk: a 0-d tensor cannot be split");
  TRT_CHECK(chunks > 0, "chunk: the number of chunks must be positive, got ", chunks);
  const int64_t n = self.size(wrap_dim(dim, self.dim(), "chunk"));
  const int64_t each = n / chunks + (n % chunks != 0);
  if (each == 0) {
    // As PyTorch: that many empty chunks.
    return std::vector<Tensor>(static_cast<size_t>(std::min<int64_t>(chunks, 1 << 20)), op::slice(self, dim, 0, 0, 1));
  }
  return op::split(self, each, dim);
}

std::vector<Tensor> unbind(const Tensor& self, int64_t dim) {
  TRT_CHECK(self.dim() > 0, "unbind: a 0-d tensor has no dimension to unbind");
  const int64_t d = wrap_dim(dim, self.dim(), "unbind");
  std::vector<Tensor> out;
  out.reserve(at(self.sizes()[at(d)]));
  for (int64_t i = 0; i < self.sizes()[at(d)]; ++i) out.push_back(op::select(self, d, i));
  return out;
}

}  // namespace composite

}  // namespace trt
