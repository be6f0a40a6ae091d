// Indexing, joining and sorting operators that are made of others.
#include <cmath>
#include <limits>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/indexing_native.h"
#include "iter/copy.h"
#include "iter/promotion.h"

namespace trt::composite {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

void check_mask(const Tensor& mask, const char* op) {
  TRT_CHECK(mask.dtype() == DType::Bool, op, ": the mask must be bool, got ", mask);
}

void check_not_empty(TensorList tensors, const char* op) {
  TRT_CHECK(!tensors.empty(), op, ": needs at least one tensor");
}

Tensor fill_value(const Tensor& self, const Tensor& value, const char* op) {
  TRT_CHECK(value.dim() == 0, op, ": the value must be a 0-d tensor, got ", value);
  return op::to(value, self.dtype());
}

// A copy unless `t` has memory of its own already.
Tensor owned(const Tensor& t, const Tensor& self) { return t.shares_storage(self) ? op::clone(t) : t; }

// The names that scatter's own reductions have, in those of scatter_reduce.
std::string_view scatter_mode(std::string_view reduce) {
  TRT_CHECK(reduce == "add" || reduce == "multiply", "scatter: reduce must be add or multiply, got \"", reduce, "\"");
  return reduce == "add" ? "sum" : "prod";
}

}  // namespace

Tensor index_fill_int_Tensor(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  // A mask, so that a position given twice counts once in the gradient of `value`.
  const Tensor v = fill_value(self, value, "index_fill");
  const Tensor hit = op::index_fill(op::zeros_like(self, DType::Bool), dim, index, Scalar(true));
  return op::where(hit, v, self);
}

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self) {
  TRT_CHECK(reduce != "sum", "index_reduce: reduce must be prod, mean, amax or amin; index_add makes sums");
  TRT_CHECK(index.dim() <= 1, "index_reduce: the index must be a vector, got ", index);
  const int64_t d = wrap_dim(dim, self.dim(), "index_reduce");
  TRT_CHECK((source.dim() == 0 ? 1 : source.size(std::min(d, source.dim() - 1))) == index.numel(),
            "index_reduce: index ", index, " does not fit source ", source);
  if (source.dim() == 0) return op::scatter_reduce(self, dim, op::reshape(index, {}), source, reduce, include_self);
  DimVector shape(source.sizes().size(), 1);
  shape[at(d)] = index.numel();
  return op::scatter_reduce(self, dim, op::expand(op::reshape(index, shape), source.sizes()), source, reduce,
                            include_self);
}

Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                      std::string_view reduce) {
  return op::scatter_reduce(self, dim, index, src, scatter_mode(reduce), true);
}

Tensor scatter_value_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                            std::string_view reduce) {
  return op::scatter_reduce(self, dim, index, op::full(index.sizes(), value, self.dtype(), self.device()),
                            scatter_mode(reduce), true);
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<int64_t> dim) {
  if (!dim) return op::gather(op::reshape(self, {-1}), 0, op::reshape(indices, {-1}), false);
  TRT_CHECK(self.dim() == indices.dim(), "take_along_dim: self ", self, " and indices ", indices,
            " must have the same number of dimensions");
  const int64_t d = wrap_dim(*dim, self.dim(), "take_along_dim");
  DimVector a(self.sizes().data(), self.sizes().size()), b(indices.sizes().data(), indices.sizes().size());
  if (self.dim() > 0) {
    DimVector x = a, y = b;
    x[at(d)] = y[at(d)] = 1;
    const DimVector shape = broadcast_shapes(x, y, "take_along_dim");
    const int64_t own = a[at(d)], wanted = b[at(d)];
    a = b = shape;
    a[at(d)] = own;
    b[at(d)] = wanted;
  }
  return op::gather(op::expand(self, a), d, op::expand(indices, b), false);
}

Tensor masked_fill_Scalar(const Tensor& self, const Tensor& mask, const Scalar& value) {
  check_mask(mask, "masked_fill");
  check_fits(value, self.dtype(), "masked_fill");
  return op::masked_fill_loop(self, mask, value);
}
Tensor& masked_fill__Scalar(Tensor& self, const Tensor& mask, const Scalar& value) {
  check_mask(mask, "masked_fill_");
  check_fits(value, self.dtype(), "masked_fill_");
  return op::masked_fill_loop_(self, mask, value);
}
Tensor masked_fill_Tensor(const Tensor& self, const Tensor& mask, const Tensor& value) {
  check_mask(mask, "masked_fill");
  return op::where(mask, fill_value(self, value, "masked_fill"), self);
}
Tensor& masked_fill__Tensor(Tensor& self, const Tensor& mask, const Tensor& value) {
  check_mask(mask, "masked_fill_");
  return op::copy_(self, op::where(mask, fill_value(self, value, "masked_fill_"), self));
}

Tensor stack(TensorList tensors, int64_t dim) {
  check_not_empty(tensors, "stack");
  const int64_t d = wrap_dim(dim, tensors[0].dim() + 1, "stack");
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& t : tensors) {
    TRT_CHECK(t.sizes() == tensors[0].sizes(), "stack: tensors of one shape are needed, got ", tensors[0], " and ", t);
    parts.push_back(op::unsqueeze(t, d));
  }
  return op::cat(parts, d);
}

Tensor hstack(TensorList tensors) {
  check_not_empty(tensors, "hstack");
  const std::vector<Tensor> parts = op::atleast_1d(tensors);
  return op::cat(parts, parts[0].dim() == 1 ? 0 : 1);
}
Tensor vstack(TensorList tensors) {
  check_not_empty(tensors, "vstack");
  return op::cat(op::atleast_2d(tensors), 0);
}
Tensor dstack(TensorList tensors) {
  check_not_empty(tensors, "dstack");
  return op::cat(op::atleast_3d(tensors), 2);
}
Tensor column_stack(TensorList tensors) {
  check_not_empty(tensors, "column_stack");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(t.dim() <= 1 ? op::reshape(t, {t.numel(), 1}) : t);
  return op::cat(parts, 1);
}

Tensor fliplr(const Tensor& self) {
  TRT_CHECK(self.dim() >= 2, "fliplr: needs at least two dimensions, got ", self);
  return op::flip(self, {1});
}
Tensor flipud(const Tensor& self) {
  TRT_CHECK(self.dim() >= 1, "flipud: needs at least one dimension, got ", self);
  return op::flip(self, {0});
}

Tensor rot90(const Tensor& self, int64_t k, IntArrayRef dims) {
  TRT_CHECK(dims.size() == 2 && self.dim() >= 2, "rot90: needs two dimensions, got ", dims, " for ", self);
  const int64_t a = wrap_dim(dims[0], self.dim(), "rot90"), b = wrap_dim(dims[1], self.dim(), "rot90");
  TRT_CHECK(a != b, "rot90: the dimensions must differ, got ", dims);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return op::transpose(op::flip(self, {b}), a, b);
    case 2:
      return op::flip(self, {a, b});
    case 3:
      return op::transpose(op::flip(self, {a}), a, b);
    default:
      return op::clone(self);
  }
}

Tensor diag(const Tensor& self, int64_t diagonal) {
  TRT_CHECK(self.dim() == 1 || self.dim() == 2, "diag: needs a vector or a matrix, got ", self);
  return self.dim() == 1 ? op::diag_embed(self, diagonal, 0, 1) : op::clone(op::diagonal(self, diagonal, 0, 1));
}

Tensor diagflat(const Tensor& self, int64_t offset) { return op::diag_embed(op::reshape(self, {-1}), offset, 0, 1); }

namespace {

Tensor write_part(Tensor copy, Tensor part, const Tensor& src, const char* op) {
  TRT_CHECK(part.sizes() == src.sizes(), op, ": src ", src, " does not have the shape ", part.sizes(),
            " of the part that it replaces");
  op::copy_(part, src);
  return copy;
}

}  // namespace

Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  Tensor copy = op::clone(self);
  return write_part(copy, op::select(copy, dim, index), src, "select_scatter");
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, std::optional<int64_t> start,
                     std::optional<int64_t> end, int64_t step) {
  Tensor copy = op::clone(self);
  return write_part(copy, op::slice(copy, dim, start, end, step), src, "slice_scatter");
}
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  Tensor copy = op::clone(self);
  return write_part(copy, op::diagonal(copy, offset, dim1, dim2), src, "diagonal_scatter");
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  const int64_t elements = static_cast<int64_t>(self.impl()->storage()->bytes() / element_size(self.dtype()));
  // The positions count in the storage, so all of it is copied, unless `self` is all of it in order.
  if (self.is_contiguous() && self.storage_offset() == 0 && self.numel() == elements) {
    Tensor copy = op::clone(self);
    return write_part(copy, op::as_strided(copy, size, stride, storage_offset), src, "as_strided_scatter");
  }
  const int64_t one = 1;
  const Tensor storage = op::clone(op::as_strided(self, {elements}, IntArrayRef(&one, 1), 0));
  Tensor copy = op::as_strided(storage, self.sizes(), self.strides(), self.storage_offset());
  write_part(copy, op::as_strided(storage, size, stride, storage_offset.value_or(self.storage_offset())), src, "as_strided_scatter");
  return copy;
}

Tensor pad_sequence(TensorList sequences, bool batch_first, double padding_value, std::string_view padding_side) {
  check_not_empty(sequences, "pad_sequence");
  TRT_CHECK(padding_side == "right" || padding_side == "left", "pad_sequence: padding_side must be right or left, got \"", padding_side, "\"");
  int64_t longest = 0;
  for (const Tensor& t : sequences) {
    TRT_CHECK(t.dim() >= 1 && t.dim() == sequences[0].dim() && t.sizes().slice(1, t.sizes().size() - 1) == sequences[0].sizes().slice(1, t.sizes().size() - 1),
              "pad_sequence: sequences must be alike but for the first dimension, got ", sequences[0], " and ", t);
    longest = std::max(longest, t.size(0));
  }
  std::vector<Tensor> padded;
  padded.reserve(sequences.size());
  for (const Tensor& t : sequences) {
    DimVector amounts(2 * t.sizes().size(), 0);  // from the last dimension on, two for each
    amounts[amounts.size() - (padding_side == "right" ? 1 : 2)] = longest - t.size(0);
    padded.push_back(t.size(0) == longest ? t : op::constant_pad_nd(t, amounts, Scalar(padding_value)));
  }
  return op::stack(padded, batch_first ? 0 : 1);
}

Tensor& fill_diagonal_(Tensor& self, const Scalar& fill_value, bool wrap) {
  TRT_CHECK(self.dim() >= 2, "fill_diagonal_: at least 2 dimensions are needed, got ", self);
  if (self.dim() > 2) {
    int64_t step = 0;
    for (int64_t d = 0; d < self.dim(); ++d) {
      TRT_CHECK(self.sizes()[at(d)] == self.sizes()[0], "fill_diagonal_: all dimensions must be equal, got ", self);
      step += self.strides()[at(d)];
    }
    Tensor diagonal = op::as_strided(self, {self.sizes()[0]}, IntArrayRef(&step, 1), self.storage_offset());
    op::fill_(diagonal, fill_value);
    return self;
  }
  const int64_t rows = self.sizes()[0], cols = self.sizes()[1];
  for (int64_t r = 0; r == 0 || (wrap && cols > 0 && r < rows); r += cols + 1) {
    Tensor diagonal = op::diagonal(op::narrow(self, 0, r, std::min(cols, rows - r)), 0, 0, 1);
    op::fill_(diagonal, fill_value);
  }
  return self;
}

Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  TRT_CHECK(size >= 0, "nonzero_static: size must not be negative, got ", size);
  if (self.is_meta()) return op::empty({size, self.dim()}, DType::Int64, self.device());
  const Tensor found = op::nonzero(self);
  const int64_t n = std::min(size, found.size(0));
  const Tensor kept = op::narrow(found, 0, 0, n);
  if (n == size) return op::clone(kept);
  return op::cat({{kept, op::full({size - n, self.dim()}, Scalar(fill_value), DType::Int64, self.device())}}, 0);
}

Tensor repeat(const Tensor& self, IntArrayRef repeats) {
  TRT_CHECK(repeats.size() >= self.sizes().size(), "repeat: ", repeats, " has fewer numbers than ", self,
            " has dimensions");
  const size_t extra = repeats.size() - self.sizes().size();
  DimVector split, wide, result;
  for (size_t d = 0; d < repeats.size(); ++d) {
    TRT_CHECK(repeats[d] >= 0, "repeat: repeats must not be negative, got ", repeats);
    const int64_t size = d < extra ? 1 : self.sizes()[d - extra];
    int64_t total;
    TRT_CHECK(!__builtin_mul_overflow(size, repeats[d], &total), "repeat: ", repeats, " makes ", self, " too large");
    result.push_back(total);
    // A dimension of each kind only where it is needed keeps the rank low.
    if (repeats[d] != 1) {
      split.push_back(1);
      wide.push_back(repeats[d]);
    }
    split.push_back(size);
    wide.push_back(size);
  }
  return owned(op::reshape(op::expand(op::reshape(self, split), wide), result), self);
}

Tensor tile(const Tensor& self, IntArrayRef dims) {
  if (dims.size() >= self.sizes().size()) return op::repeat(self, dims);
  DimVector all(self.sizes().size() - dims.size(), 1);
  for (int64_t d : dims) all.push_back(d);
  return op::repeat(self, all);
}

Tensor repeat_interleave_self_int(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                                  std::optional<int64_t> output_size) {
  TRT_CHECK(repeats >= 0, "repeat_interleave: repeats must not be negative, got ", repeats);
  const Tensor x = dim ? self : op::reshape(self, {-1});
  if (x.dim() == 0) return repeat_interleave_self_int(op::reshape(x, {1}), repeats, dim, output_size);
  const int64_t d = wrap_dim(dim.value_or(0), x.dim(), "repeat_interleave");
  DimVector wide(x.sizes().data(), x.sizes().size()), result = wide;
  wide.insert(at(d) + 1, repeats);
  TRT_CHECK(!__builtin_mul_overflow(result[at(d)], repeats, &result[at(d)]), "repeat_interleave: too many elements");
  TRT_CHECK(!output_size || *output_size == result[at(d)], "repeat_interleave: output_size is ", output_size.value_or(0),
            " but dimension ", d, " of ", self, " repeated ", repeats, " times has ", result[at(d)], " elements");
  return owned(op::reshape(op::expand(op::unsqueeze(x, d + 1), wide), result), self);
}

Tensor repeat_interleave_self_Tensor(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                                     std::optional<int64_t> output_size) {
  const Tensor x = dim ? self : op::reshape(self, {-1});
  const int64_t d = wrap_dim(dim.value_or(0), x.dim(), "repeat_interleave");
  TRT_CHECK(repeats.dim() <= 1, "repeat_interleave: repeats must be a vector, got ", repeats);
  Tensor r = op::reshape(repeats, {-1});
  const int64_t n = x.dim() == 0 ? 1 : x.sizes()[at(d)];
  if (r.numel() == 1 && n != 1) r = op::expand(r, {n});
  TRT_CHECK(r.numel() == n, "repeat_interleave: ", r.numel(), " repeats for dimension ", d, " of ", x);
  return op::index_select(x, d, op::repeat_interleave(r, output_size));
}

std::tuple<Tensor, Tensor> sort_stable(const Tensor& self, std::optional<bool>, int64_t dim, bool descending) {
  return op::sort(self, dim, descending);
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(op::sort(self, dim, descending));
}
Tensor argsort_stable(const Tensor& self, bool, int64_t dim, bool descending) {
  return std::get<1>(op::sort(self, dim, descending));
}
Tensor msort(const Tensor& self) { return std::get<0>(op::sort(self, 0, false)); }

Tensor searchsorted_Scalar(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                           std::optional<std::string_view> side, const Tensor& sorter) {
  const DType dtype = sorted_sequence.dtype();
  auto search = [&](const Scalar& value, bool behind, std::optional<std::string_view> at_side) {
    return op::searchsorted(sorted_sequence, op::full({}, value, dtype, sorted_sequence.device()), out_int32, behind,
                            at_side, sorter);
  };
  if (is_floating(dtype)) {
    return search(Scalar(dispatch_dtype(dtype, "searchsorted", [&]<typename T>() { return static_cast<double>(self.to<T>()); })),
                  right, side);
  }
  // Among integers a fraction stands before the next larger one, a number out of their range at an end.
  const Scalar whole = self.is_double() ? Scalar(std::ceil(self.to_double())) : self;
  const bool inside = dispatch_dtype(dtype, "searchsorted", [&]<typename T>() {
    return whole.fits<T>() && (std::is_signed_v<T> || whole.to_double() >= 0);
  });
  if (inside && whole.to_double() == self.to_double()) return search(self, right, side);
  if (inside) return search(whole, false, std::nullopt);
  const bool below = self.to_double() < 0;
  const Scalar end = dispatch_dtype(dtype, "searchsorted", [&]<typename T>() {
    return below ? Scalar(std::numeric_limits<T>::lowest()) : Scalar(std::numeric_limits<T>::max());
  });
  return search(end, !below, std::nullopt);
}

Tensor isin_Tensor_Scalar(const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  return invert ? op::ne(elements, test_element) : op::eq(elements, test_element);
}
Tensor isin_Scalar_Tensor(const Scalar& element, const Tensor& test_elements, bool assume_unique, bool invert) {
  return op::isin(op::full({}, element, std::nullopt, test_elements.device()), test_elements, assume_unique, invert);
}

}  // namespace trt::composite
