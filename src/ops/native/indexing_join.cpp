// Joining, reordering, padding and triangles: data moved, never computed with.
#include <cstring>

#include "gen/indexing_native.h"
#include "iter/promotion.h"
#include "ops/native/indexing_util.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }
DimVector copy_dims(IntArrayRef r) { return DimVector(r.data(), r.size()); }

// PyTorch of old let a vector without elements stand for "nothing" among tensors of any rank.
bool is_nothing(const Tensor& t) { return t.dim() == 1 && t.sizes()[0] == 0; }

int64_t cat_dim(TensorList tensors, int64_t dim) {
  for (const Tensor& t : tensors)
    if (!is_nothing(t)) return wrap_dim(dim, t.dim(), "cat");
  return wrap_dim(dim, 1, "cat");
}

// [rows, cols] matrices; columns [first(i), last(i)) of row i are kept, the rest becomes zero.
template <typename F>
void keep_columns(const Tensor& self, Tensor& out, F&& kept) {
  ChangedCopy target(self, out);
  const int64_t cols = self.size(-1), rows = self.size(-2);
  const int64_t item = static_cast<int64_t>(self.itemsize());
  char* p = static_cast<char*>(target.get().data());
  if (self.numel() > 0)
    parallel_for(0, self.numel() / cols, std::max<int64_t>(1, 32768 / cols), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const auto [first, last] = kept(i % rows);
        char* row = p + i * cols * item;
        std::memset(row, 0, at(first * item));
        std::memset(row + last * item, 0, at((cols - last) * item));
      }
    });
  target.finish();
}

TensorSpec triangle_spec(const Tensor& self, const char* op) {
  TRT_CHECK(self.dim() >= 2, op, ": needs at least two dimensions, got shape ", self.sizes());
  return {self.sizes(), self.dtype(), self.device()};
}

Tensor triangle_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                        std::optional<Device> device, bool lower, const char* op) {
  TRT_CHECK(row >= 0 && col >= 0, op, ": sizes must not be negative, got ", row, " and ", col);
  TRT_CHECK(row <= (int64_t{1} << 60) && col <= (int64_t{1} << 60), op, ": ", row, " by ", col, " is too large");
  const DType type = dtype.value_or(DType::Int64);
  TRT_CHECK(type == DType::Int64 || type == DType::Int32, op, ": dtype must be int64 or int32, got ", type);
  const int64_t diagonal = std::clamp(offset, -row, col);
  auto range = [&](int64_t i) {
    return lower ? std::pair(int64_t{0}, std::clamp<int64_t>(i + diagonal + 1, 0, col))
                 : std::pair(std::clamp<int64_t>(i + diagonal, 0, col), col);
  };
  // Rows [first, last) have something: `ramp` of them grow (or shrink) by one a row, `full` of them have all columns.
  const int64_t first = lower ? std::min(row, std::max<int64_t>(0, -diagonal)) : 0;
  const int64_t last = lower ? row : std::clamp<int64_t>(col - diagonal, 0, row);
  const int64_t full = std::clamp<int64_t>(lower ? row - (col - 1 - diagonal) : 1 - diagonal, 0, last - first);
  const int64_t ramp = last - first - full;
  __int128 total = static_cast<__int128>(full) * col;
  if (ramp > 0) {
    const auto size = [&](int64_t i) { return static_cast<__int128>(range(i).second - range(i).first); };
    total += (lower ? size(first) + size(first + ramp - 1) : size(last - ramp) + size(last - 1)) * ramp / 2;
  }
  TRT_CHECK(total < (int64_t{1} << 60), op, ": ", row, " by ", col, " has too many elements");
  const int64_t count = static_cast<int64_t>(total);
  Tensor out = empty_tensor({2, count}, type, device.value_or(kCPU));
  if (out.is_meta()) return out;
  auto fill = [&]<typename T>() {
    T* r = out.data_ptr<T>();
    T* c = r + count;
    for (int64_t i = first; i < last && count > 0; ++i)
      for (auto [k, end] = range(i); k < end; ++k) {
        *r++ = static_cast<T>(i);
        *c++ = static_cast<T>(k);
      }
  };
  if (type == DType::Int64)
    fill.template operator()<int64_t>();
  else
    fill.template operator()<int32_t>();
  return out;
}

}  // namespace

namespace meta {

TensorSpec cat(TensorList tensors, int64_t dim) {
  TRT_CHECK(!tensors.empty(), "cat: needs at least one tensor");
  for (const Tensor& t : tensors) TRT_CHECK(t.defined(), "cat: a tensor of the list is missing");
  PromotionState promotion;
  for (const Tensor& t : tensors) promotion.add(t);
  const int64_t d = cat_dim(tensors, dim);
  const Tensor* like = nullptr;
  int64_t total = 0;
  for (const Tensor& t : tensors) {
    TRT_CHECK(t.dim() > 0, "cat: 0-d tensors cannot be joined; stack can");
    TRT_CHECK(t.device() == tensors[0].device(), "cat: tensors on ", tensors[0].device(), " and ", t.device());
    if (is_nothing(t)) continue;
    if (!like) like = &t;
    TRT_CHECK(t.dim() == like->dim(), "cat: tensors of one rank are needed, got ", *like, " and ", t);
    for (int64_t i = 0; i < t.dim(); ++i)
      TRT_CHECK(i == d || t.sizes()[at(i)] == like->sizes()[at(i)], "cat: ", *like, " and ", t,
                " may differ along dimension ", d, " only");
    TRT_CHECK(!__builtin_add_overflow(total, t.sizes()[at(d)], &total), "cat: too many elements");
  }
  DimVector sizes{0};
  if (like) {
    sizes = copy_dims(like->sizes());
    sizes[at(d)] = total;
  }
  return {sizes, promotion.result(), tensors[0].device()};
}

TensorSpec flip(const Tensor& self, IntArrayRef dims) {
  if (!dims.empty()) reduction_mask(dims, self.dim(), "flip");
  return {self.sizes(), self.dtype(), self.device()};
}

TensorSpec roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  TRT_CHECK(dims.empty() ? shifts.size() == 1 : dims.size() == shifts.size(), "roll: ", shifts.size(), " shifts for ",
            dims.size(), " dimensions (without dimensions one shift is needed)");
  for (int64_t d : dims) wrap_dim(d, self.dim(), "roll");
  return {self.sizes(), self.dtype(), self.device()};
}

TensorSpec tril(const Tensor& self, int64_t) { return triangle_spec(self, "tril"); }
TensorSpec triu(const Tensor& self, int64_t) { return triangle_spec(self, "triu"); }

TensorSpec diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  TRT_CHECK(self.dim() >= 1, "diag_embed: needs at least one dimension");
  const int64_t ndim = self.dim() + 1;
  const int64_t a = wrap_dim(dim1, ndim, "diag_embed"), b = wrap_dim(dim2, ndim, "diag_embed");
  TRT_CHECK(a != b, "diag_embed: the dimensions must differ, both are ", a);
  int64_t n = 0;
  const bool overflow =
      offset == std::numeric_limits<int64_t>::min() || __builtin_add_overflow(self.size(-1), std::abs(offset), &n);
  TRT_CHECK(!overflow, "diag_embed: offset ", offset, " is too large");
  DimVector sizes(self.sizes().data(), self.sizes().size() - 1);
  sizes.insert(at(std::min(a, b)), n);
  sizes.insert(at(std::max(a, b)), n);
  checked_numel(sizes, self.dtype());
  return {sizes, self.dtype(), self.device()};
}

TensorSpec constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar&) {
  TRT_CHECK(pad.size() % 2 == 0 && pad.size() / 2 <= self.sizes().size(), "constant_pad_nd: ", pad.size(),
            " numbers of padding for a tensor of shape ", self.sizes());
  DimVector sizes = copy_dims(self.sizes());
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& s = sizes[sizes.size() - 1 - i];
    const int64_t old = s;
    const bool overflow = __builtin_add_overflow(s, pad[2 * i], &s) || __builtin_add_overflow(s, pad[2 * i + 1], &s);
    TRT_CHECK(!overflow && s >= 0 && (pad[2 * i] >= 0 || pad[2 * i] >= -old) &&
                  (pad[2 * i + 1] >= 0 || pad[2 * i + 1] >= -old),
              "constant_pad_nd: padding ", pad, " makes shape ", self.sizes(), " negative or too large");
  }
  checked_numel(sizes, self.dtype());
  return {sizes, self.dtype(), self.device()};
}

}  // namespace meta

namespace native {

void cat(TensorList tensors, int64_t dim, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t d = cat_dim(tensors, dim);
  for (const Tensor& t : tensors)
    TRT_CHECK(!may_overlap(out, t), "cat: the output ", out, " and a tensor ", t, " that goes into it share memory");
  int64_t from = 0;
  for (const Tensor& t : tensors) {
    if (is_nothing(t)) continue;
    DimVector sizes = copy_dims(out.sizes());
    sizes[at(d)] = t.sizes()[at(d)];
    if (t.numel() > 0) {
      Tensor part = alias_tensor(out, sizes, out.strides(), out.storage_offset() + from * out.strides()[at(d)]);
      copy_tensor(part, t);
    }
    from += sizes[at(d)];
  }
}

void flip(const Tensor& self, IntArrayRef dims, Tensor& out) {
  if (out.numel() == 0) return;
  const uint64_t mask = dims.empty() ? 0 : reduction_mask(dims, self.dim(), "flip");
  const Tensor x = contiguous_tensor(self);
  // Neighbours that are both reversed, or both not, are one dimension.
  DimVector sizes;
  std::vector<bool> reversed;
  for (int64_t i = 0; i < self.dim(); ++i) {
    const bool r = (mask >> i) & 1;
    if (self.sizes()[at(i)] == 1) continue;
    if (!sizes.empty() && reversed.back() == r) {
      sizes.back() *= self.sizes()[at(i)];
    } else {
      sizes.push_back(self.sizes()[at(i)]);
      reversed.push_back(r);
    }
  }
  const int64_t run = sizes.empty() ? 1 : sizes.back();
  const bool backwards = !sizes.empty() && reversed.back();
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = x.data_ptr<T>();
    T* o = out.data_ptr<T>();
    parallel_for(0, out.numel() / run, std::max<int64_t>(1, 32768 / run), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        int64_t rest = i, from = 0, stride = 1;
        for (size_t d = sizes.size(); d-- > 1;) {
          const int64_t c = rest % sizes[d - 1];
          rest /= sizes[d - 1];
          from += (reversed[d - 1] ? sizes[d - 1] - 1 - c : c) * stride;
          stride *= sizes[d - 1];
        }
        const T* line = s + from * run;
        T* to = o + i * run;
        if (backwards)
          for (int64_t k = 0; k < run; ++k) to[k] = line[run - 1 - k];
        else
          std::memcpy(to, line, at(run) * sizeof(T));
      }
    });
  });
}

void roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims, Tensor& out) {
  if (out.numel() == 0) return;
  Tensor x = contiguous_tensor(self);
  const size_t steps = shifts.size();
  for (size_t i = 0; i < steps; ++i) {
    const LineShape l =
        dims.empty() ? LineShape{1, self.numel(), 1} : line_shape(self.sizes(), wrap_dim(dims[i], self.dim(), "roll"));
    const int64_t shift = (shifts[i] % l.r + l.r) % l.r;
    const bool last = i + 1 == steps;
    Tensor y = last ? out : empty_like_tensor(x);
    const int64_t bytes = l.inner * static_cast<int64_t>(self.itemsize());
    const char* s = static_cast<const char*>(x.data());
    char* d = static_cast<char*>(y.data());
    parallel_for(0, l.outer, std::max<int64_t>(1, 65536 / (l.r * bytes)), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o) {
        const char* from = s + o * l.r * bytes;
        char* to = d + o * l.r * bytes;
        std::memcpy(to + shift * bytes, from, at((l.r - shift) * bytes));
        std::memcpy(to, from + (l.r - shift) * bytes, at(shift * bytes));
      }
    });
    x = y;
  }
}

void tril(const Tensor& self, int64_t diagonal, Tensor& out) {
  const int64_t cols = self.size(-1), k = std::clamp(diagonal, -self.size(-2), cols);
  keep_columns(self, out, [&](int64_t i) { return std::pair(int64_t{0}, std::clamp<int64_t>(i + k + 1, 0, cols)); });
}

void triu(const Tensor& self, int64_t diagonal, Tensor& out) {
  const int64_t cols = self.size(-1), k = std::clamp(diagonal, -self.size(-2), cols);
  keep_columns(self, out, [&](int64_t i) { return std::pair(std::clamp<int64_t>(i + k, 0, cols), cols); });
}

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                    std::optional<Device> device) {
  return triangle_indices(row, col, offset, dtype, device, true, "tril_indices");
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<DType> dtype,
                    std::optional<Device> device) {
  return triangle_indices(row, col, offset, dtype, device, false, "triu_indices");
}

void diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2, Tensor& out) {
  const int64_t a = wrap_dim(dim1, out.dim(), "diag_embed"), b = wrap_dim(dim2, out.dim(), "diag_embed");
  if (out.numel() == 0) return;
  fill_tensor(out, 0);
  if (self.numel() == 0) return;
  DimVector strides;
  for (int64_t d = 0; d < out.dim(); ++d)
    if (d != a && d != b) strides.push_back(out.strides()[at(d)]);
  strides.push_back(out.strides()[at(a)] + out.strides()[at(b)]);
  const int64_t start =
      out.storage_offset() + (offset >= 0 ? offset * out.strides()[at(b)] : -offset * out.strides()[at(a)]);
  Tensor diagonal = alias_tensor(out, self.sizes(), strides, start);
  copy_tensor(diagonal, self);
}

void constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value, Tensor& out) {
  check_fits(value, out.dtype(), "constant_pad_nd");
  fill_tensor(out, value);
  DimVector sizes = copy_dims(self.sizes());
  int64_t from = self.storage_offset(), to = out.storage_offset();
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const size_t d = sizes.size() - 1 - i;
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    sizes[d] += std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0);
    if (sizes[d] <= 0) return;
    if (before < 0)
      from -= before * self.strides()[d];
    else
      to += before * out.strides()[d];
  }
  if (self.numel() == 0 || out.numel() == 0) return;
  const Tensor source = alias_tensor(self, sizes, self.strides(), from);
  Tensor target = alias_tensor(out, sizes, out.strides(), to);
  copy_tensor(target, source);
}

}  // namespace native

}  // namespace trt
