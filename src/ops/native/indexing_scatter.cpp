// gather, scatter and their relatives: one element per index, along one dimension.
#include <cmath>

#include "gen/indexing_native.h"
#include "ops/native/indexing_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

enum class Mode { Add, Multiply, Max, Min };

// `src` may be null (a number is scattered).
TensorSpec scatter_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src, const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  TRT_CHECK(index.numel() == 0 || index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
            ": the index must be int64 or int32, got ", index);
  if (src)
    TRT_CHECK(src->dtype() == self.dtype(), op, ": self and src must have the same dtype, got ", self, " and ", *src);
  if (index.numel() > 0) {
    const int64_t n = std::max<int64_t>(1, self.dim());
    auto dims = [](const Tensor& t) { return std::max<int64_t>(1, t.dim()); };
    auto extent = [](const Tensor& t, int64_t i) { return t.dim() == 0 ? 1 : t.sizes()[at(i)]; };
    TRT_CHECK(dims(index) == n && (!src || dims(*src) == n), op, ": self ", self, ", index ", index,
              src ? str_cat(" and src ", *src) : std::string(), " must have the same number of dimensions");
    for (int64_t i = 0; i < n; ++i) {
      TRT_CHECK(i == d || extent(index, i) <= extent(self, i), op, ": index ", index, " is larger than self ", self,
                " along dimension ", i);
      TRT_CHECK(!src || extent(index, i) <= extent(*src, i), op, ": index ", index, " is larger than src ", *src,
                " along dimension ", i);
    }
  }
  return {self.sizes(), self.dtype(), self.device()};
}

// Walks the lines of `index` along `dim`. Lines that differ outside of `dim` never meet in the destination, so they may
// run on different threads; along a line the order is that of the index. Where `dim` is not the last dimension,
// neighbouring lines are walked side by side, so that memory is met in order.
struct LineWalk {
  DimVector sizes;                         // of the index, at least 1-D
  DimVector index_strides, first, second;  // element strides
  int64_t dim;

  LineWalk(const Tensor& index, int64_t d, IntArrayRef first_sizes, IntArrayRef second_sizes)
      : sizes(padded(index.sizes())),
        index_strides(contiguous_strides(sizes)),
        first(contiguous_strides(padded(first_sizes))),
        second(contiguous_strides(padded(second_sizes))),
        dim(d) {}
  static DimVector padded(IntArrayRef s) { return s.empty() ? DimVector{1} : DimVector(s.data(), s.size()); }

  // step(index offset, first offset, second offset) for every element; the offsets have coordinate 0 along `dim` in
  // `first`.
  template <typename F>
  void for_elements(F&& step) const {
    constexpr int64_t kWidth = 512;
    const size_t rank = sizes.size();
    const int64_t length = sizes[at(dim)];
    if (length == 0) return;
    const bool side_by_side = at(dim) + 1 < rank;
    const int64_t lines = side_by_side ? sizes[rank - 1] : 1;  // neighbours
    const int64_t blocks = (lines + kWidth - 1) / kWidth;
    int64_t groups = 1;
    for (size_t i = 0; i < rank - side_by_side; ++i)
      if (static_cast<int64_t>(i) != dim) groups *= sizes[i];
    const int64_t ks = index_strides[at(dim)], ss = second[at(dim)];
    parallel_for(0, groups * blocks, std::max<int64_t>(1, 16384 / (length * std::min(lines, kWidth))),
                 [&](int64_t b, int64_t e) {
                   for (int64_t task = b; task < e; ++task) {
                     const int64_t from = task % blocks * kWidth, to = std::min(lines, from + kWidth);
                     int64_t rest = task / blocks, k = 0, x = 0, y = 0;
                     for (size_t i = rank - side_by_side; i-- > 0;) {
                       if (static_cast<int64_t>(i) == dim) continue;
                       const int64_t c = rest % sizes[i];
                       rest /= sizes[i];
                       k += c * index_strides[i];
                       x += c * first[i];
                       y += c * second[i];
                     }
                     if (!side_by_side) {
                       for (int64_t i = 0; i < length; ++i) step(k + i * ks, x, y + i * ss);
                       continue;
                     }
                     for (int64_t i = 0; i < length; ++i)
                       for (int64_t j = from; j < to; ++j) step(k + i * ks + j, x + j, y + i * ss + j);
                   }
                 });
  }
};

template <typename T>
T combine(Mode mode, T old, T v) {
  using C = opmath_t<T>;
  const C a = static_cast<C>(old), b = static_cast<C>(v);
  switch (mode) {
    case Mode::Multiply:
      return static_cast<T>(static_cast<C>(a * b));
    case Mode::Max:
      return a != a || a >= b ? old : v;  // a NaN wins
    case Mode::Min:
      return a != a || a <= b ? old : v;
    default:
      return static_cast<T>(static_cast<C>(a + b));
  }
}

int64_t line_extent(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[at(d)]; }

void scatter_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src, const Scalar* value,
                  Tensor& out, const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  if (index.numel() == 0) {
    ChangedCopy(self, out).finish();
    return;
  }
  const Tensor positions = readable(checked_index(index, line_extent(self, d), false, op), out);
  const Tensor source = src ? readable(*src, out) : scalar_tensor_of(*value, self.dtype());
  const LineWalk w(positions, d, self.sizes(), src ? source.sizes() : self.sizes());
  ChangedCopy target(self, out);
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = source.data_ptr<T>();
    const int64_t* p = positions.data_ptr<int64_t>();
    T* t = target.get().data_ptr<T>();
    const int64_t ts = w.first[at(d)];
    if (src)
      w.for_elements([=](int64_t k, int64_t x, int64_t y) { t[x + p[k] * ts] = s[y]; });
    else
      w.for_elements([=, v = *s](int64_t k, int64_t x, int64_t) { t[x + p[k] * ts] = v; });
  });
  target.finish();
}

Mode mode_of(std::string_view reduce, const char* op) {
  if (reduce == "sum" || reduce == "mean") return Mode::Add;
  if (reduce == "prod") return Mode::Multiply;
  if (reduce == "amax") return Mode::Max;
  if (reduce == "amin") return Mode::Min;
  throw_error(Code::kInvalidArgument,
              str_cat(op, ": reduce must be sum, prod, mean, amax or amin, got \"", reduce, "\""));
}

// Combines src into `out`. Without include_self a position starts from the first element that meets it; `mean` divides
// by the number of elements in the end.
void scatter_combine(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Mode mode,
                     bool include_self, bool mean, Tensor& out, const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  if (index.numel() == 0) {
    ChangedCopy(self, out).finish();
    return;
  }
  const Tensor positions = readable(checked_index(index, line_extent(self, d), false, op), out);
  const Tensor source = readable(src, out);
  const LineWalk w(positions, d, self.sizes(), source.sizes());
  ChangedCopy target(self, out);
  // How many elements met a position, self included if it takes part: the first of none replaces what is there. A plain
  // sum, the common case, does without.
  Tensor counts;
  if (mean || !include_self || mode != Mode::Add) {
    counts = empty_tensor(self.sizes(), DType::Int64);
    fill_tensor(counts, include_self ? 1 : 0);
  }
  int64_t* count = counts.defined() ? counts.data_ptr<int64_t>() : nullptr;
  const int64_t* p = positions.data_ptr<int64_t>();
  TRT_CHECK_CODE(!count || !is_complex(self.dtype()), Code::kNotSupported, op, ": complex tensors can only be added, got ", self);
  dispatch_all(self.dtype(), op, [&]<typename T>() {
    T* t = target.get().data_ptr<T>();
    const T* s = source.data_ptr<T>();
    const int64_t ts = w.first[at(d)];
    if (!count)
      w.for_elements([=](int64_t k, int64_t x, int64_t y) {
        T& to = t[x + p[k] * ts];
        to = static_cast<T>(static_cast<opmath_t<T>>(static_cast<opmath_t<T>>(to) + static_cast<opmath_t<T>>(s[y])));
      });
    if constexpr (is_complex_type<T>) return;
    else if (count) {
      w.for_elements([=](int64_t k, int64_t x, int64_t y) {
        const int64_t to = x + p[k] * ts;
        t[to] = count[to]++ == 0 ? s[y] : combine(mode, t[to], s[y]);
      });
    }
    if (mean) {
      const int64_t all = self.numel();
      for (int64_t i = 0; i < all; ++i) {
        if (count[i] < 2) continue;
        if constexpr (std::is_integral_v<opmath_t<T>>) {
          // Rounds down, as an integer mean does in PyTorch.
          const int64_t v = static_cast<int64_t>(t[i]);
          t[i] = static_cast<T>(v / count[i] - (v % count[i] < 0));
        } else {
          t[i] = static_cast<T>(static_cast<opmath_t<T>>(t[i]) / static_cast<opmath_t<T>>(count[i]));
        }
      }
    }
  });
  target.finish();
}

}  // namespace

namespace meta {

TensorSpec gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  const int64_t d = wrap_dim(dim, self.dim(), "gather");
  TRT_CHECK(index.numel() == 0 || index.dtype() == DType::Int64 || index.dtype() == DType::Int32,
            "gather: the index must be int64 or int32, got ", index);
  if (index.numel() > 0) {
    TRT_CHECK(std::max<int64_t>(1, index.dim()) == std::max<int64_t>(1, self.dim()), "gather: self ", self,
              " and index ", index, " must have the same number of dimensions");
    for (int64_t i = 0; i < index.dim() && i < self.dim(); ++i)
      TRT_CHECK(i == d || index.sizes()[at(i)] <= self.sizes()[at(i)], "gather: index ", index, " is larger than self ",
                self, " along dimension ", i);
  }
  return {index.sizes(), self.dtype(), self.device()};
}

TensorSpec scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_spec(self, dim, index, &src, "scatter");
}
TensorSpec scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
  return scatter_spec(self, dim, index, nullptr, "scatter");
}
TensorSpec scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  return scatter_spec(self, dim, index, &src, "scatter_add");
}
TensorSpec scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                              std::string_view reduce, bool) {
  mode_of(reduce, "scatter_reduce");
  return scatter_spec(self, dim, index, &src, "scatter_reduce");
}

}  // namespace meta

namespace native {

void gather(const Tensor& self, int64_t dim, const Tensor& index, bool, Tensor& out) {
  if (index.numel() == 0) return;
  const int64_t d = wrap_dim(dim, self.dim(), "gather");
  const Tensor positions = checked_index(index, line_extent(self, d), false, "gather");
  const Tensor x = contiguous_tensor(self);
  const LineWalk w(positions, d, x.sizes(), out.sizes());
  const int64_t xs = w.first[at(d)];
  const int64_t* p = positions.data_ptr<int64_t>();
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = x.data_ptr<T>();
    T* o = out.data_ptr<T>();  // laid out as the index
    w.for_elements([=](int64_t k, int64_t from, int64_t) { o[k] = s[from + p[k] * xs]; });
  });
}

void scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_into(self, dim, index, &src, nullptr, out, "scatter");
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  check_fits(value, self.dtype(), "scatter");
  scatter_into(self, dim, index, nullptr, &value, out, "scatter");
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_combine(self, dim, index, src, Mode::Add, true, false, out, "scatter_add");
}
void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self, Tensor& out) {
  scatter_combine(self, dim, index, src, mode_of(reduce, "scatter_reduce"), include_self, reduce == "mean", out,
                  "scatter_reduce");
}

}  // namespace native

}  // namespace trt
