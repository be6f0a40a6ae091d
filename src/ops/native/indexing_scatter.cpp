// gather, scatter and their relatives: one element per index, along one dimension.
#include <cmath>

#include "gen/indexing_native.h"
#include "ops/native/indexing_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

enum class Mode { Write, Add, Multiply, Max, Min };

// `src` may be null (a number is scattered).
TensorSpec scatter_spec(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src, const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  TRT_CHECK(index.numel() == 0 || index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op, ": the index must be int64 or int32, got ", index);
  if (src) TRT_CHECK(src->dtype() == self.dtype(), op, ": self and src must have the same dtype, got ", self, " and ", *src);
  if (index.numel() > 0) {
    const int64_t n = std::max<int64_t>(1, self.dim());
    auto dims = [](const Tensor& t) { return std::max<int64_t>(1, t.dim()); };
    auto extent = [](const Tensor& t, int64_t i) { return t.dim() == 0 ? 1 : t.sizes()[at(i)]; };
    TRT_CHECK(dims(index) == n && (!src || dims(*src) == n), op, ": self ", self, ", index ", index, src ? str_cat(" and src ", *src) : std::string(),
              " must have the same number of dimensions");
    for (int64_t i = 0; i < n; ++i) {
      TRT_CHECK(i == d || extent(index, i) <= extent(self, i), op, ": index ", index, " is larger than self ", self, " along dimension ", i);
      TRT_CHECK(!src || extent(index, i) <= extent(*src, i), op, ": index ", index, " is larger than src ", *src, " along dimension ", i);
    }
  }
  return {self.sizes(), self.dtype(), self.device()};
}

// Walks the lines of `index` along `dim`. Lines that differ outside of `dim` never meet in the destination, so they may
// run on different threads. f(k, a, b): element number k of the index, its place in `first` and in `second` with
// coordinate 0 along `dim`.
struct LineWalk {
  DimVector sizes;                      // of the index, at least 1-D
  DimVector index_strides, first, second;  // element strides
  int64_t dim;

  LineWalk(const Tensor& index, int64_t d, IntArrayRef first_sizes, IntArrayRef second_sizes)
      : sizes(padded(index.sizes())), index_strides(contiguous_strides(sizes)), first(contiguous_strides(padded(first_sizes))),
        second(contiguous_strides(padded(second_sizes))), dim(d) {}
  static DimVector padded(IntArrayRef s) { return s.empty() ? DimVector{1} : DimVector(s.data(), s.size()); }

  // f(index offset, first offset, second offset) for each line.
  template <typename F>
  void for_lines(F&& f) const {
    int64_t lines = 1;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (static_cast<int64_t>(i) != dim) lines *= sizes[i];
    const int64_t length = sizes[at(dim)];
    if (length == 0) return;
    parallel_for(0, lines, std::max<int64_t>(1, 16384 / length), [&](int64_t b, int64_t e) {
      for (int64_t line = b; line < e; ++line) {
        int64_t rest = line, k = 0, x = 0, y = 0;
        for (size_t i = sizes.size(); i-- > 0;) {
          if (static_cast<int64_t>(i) == dim) continue;
          const int64_t c = rest % sizes[i];
          rest /= sizes[i];
          k += c * index_strides[i];
          x += c * first[i];
          y += c * second[i];
        }
        f(k, x, y);
      }
    });
  }
};

template <typename T>
T combine(Mode mode, T old, T v) {
  using C = opmath_t<T>;
  const C a = static_cast<C>(old), b = static_cast<C>(v);
  switch (mode) {
    case Mode::Add: return static_cast<T>(static_cast<C>(a + b));
    case Mode::Multiply: return static_cast<T>(static_cast<C>(a * b));
    case Mode::Max: return a != a || a >= b ? old : v;  // a NaN wins
    case Mode::Min: return a != a || a <= b ? old : v;
    default: return v;
  }
}

int64_t line_extent(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[at(d)]; }

// target[index] = value or src, by elements of any type.
template <typename T>
void scatter_elements(T* t, const int64_t* p, const T* s, T value, const LineWalk& w) {
  const int64_t n = w.sizes[at(w.dim)], ks = w.index_strides[at(w.dim)], ts = w.first[at(w.dim)], ss = s ? w.second[at(w.dim)] : 0;
  w.for_lines([&](int64_t k, int64_t x, int64_t y) {
    for (int64_t i = 0; i < n; ++i) t[x + p[k + i * ks] * ts] = s ? s[y + i * ss] : value;
  });
}

void scatter_into(const Tensor& self, int64_t dim, const Tensor& index, const Tensor* src, const Scalar* value, Tensor& out, const char* op) {
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
    scatter_elements<T>(target.get().data_ptr<T>(), positions.data_ptr<int64_t>(), src ? s : nullptr, *s, w);
  });
  target.finish();
}

Mode mode_of(std::string_view reduce, const char* op) {
  if (reduce == "sum" || reduce == "mean") return Mode::Add;
  if (reduce == "prod") return Mode::Multiply;
  if (reduce == "amax") return Mode::Max;
  if (reduce == "amin") return Mode::Min;
  throw_error(Code::kInvalidArgument, str_cat(op, ": reduce must be sum, prod, mean, amax or amin, got \"", reduce, "\""));
}

// Combines src into `out`. Without include_self a position starts from the first element that meets it; `mean` divides
// by the number of elements in the end.
void scatter_combine(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Mode mode, bool include_self, bool mean, Tensor& out,
                     const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  if (index.numel() == 0) {
    ChangedCopy(self, out).finish();
    return;
  }
  const Tensor positions = readable(checked_index(index, line_extent(self, d), false, op), out);
  const Tensor source = readable(src, out);
  const LineWalk w(positions, d, self.sizes(), source.sizes());
  const int64_t n = w.sizes[at(d)], ks = w.index_strides[at(d)], ts = w.first[at(d)], ss = w.second[at(d)];
  ChangedCopy target(self, out);
  // How many elements met a position; needed where the first is special or a mean is taken.
  Tensor counts;
  if (mean || !include_self) {
    counts = empty_tensor(self.sizes(), DType::Int64);
    fill_tensor(counts, include_self ? 1 : 0);
  }
  int64_t* count = counts.defined() ? counts.data_ptr<int64_t>() : nullptr;
  const int64_t* p = positions.data_ptr<int64_t>();
  dispatch_dtype(self.dtype(), op, [&]<typename T>() {
    T* t = target.get().data_ptr<T>();
    const T* s = source.data_ptr<T>();
    w.for_lines([&](int64_t k, int64_t x, int64_t y) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t to = x + p[k + i * ks] * ts;
        const T v = s[y + i * ss];
        if (!count) t[to] = combine(mode, t[to], v);
        else t[to] = count[to]++ == 0 ? v : combine(mode, t[to], v);
      }
    });
    if (mean) {
      const int64_t all = self.numel();
      for (int64_t i = 0; i < all; ++i) {
        if (count[i] < 2) continue;
        if constexpr (std::is_integral_v<T>) {
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
  TRT_CHECK(index.numel() == 0 || index.dtype() == DType::Int64 || index.dtype() == DType::Int32, "gather: the index must be int64 or int32, got ", index);
  if (index.numel() > 0) {
    TRT_CHECK(std::max<int64_t>(1, index.dim()) == std::max<int64_t>(1, self.dim()), "gather: self ", self, " and index ", index,
              " must have the same number of dimensions");
    for (int64_t i = 0; i < index.dim() && i < self.dim(); ++i)
      TRT_CHECK(i == d || index.sizes()[at(i)] <= self.sizes()[at(i)], "gather: index ", index, " is larger than self ", self, " along dimension ", i);
  }
  return {index.sizes(), self.dtype(), self.device()};
}

TensorSpec scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { return scatter_spec(self, dim, index, &src, "scatter"); }
TensorSpec scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) { return scatter_spec(self, dim, index, nullptr, "scatter"); }
TensorSpec scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) { return scatter_spec(self, dim, index, &src, "scatter_add"); }
TensorSpec scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool) {
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
  const int64_t n = w.sizes[at(d)], ks = w.index_strides[at(d)], xs = w.first[at(d)];
  const int64_t* p = positions.data_ptr<int64_t>();
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = x.data_ptr<T>();
    T* o = out.data_ptr<T>();  // laid out as the index
    w.for_lines([&](int64_t k, int64_t from, int64_t) {
      for (int64_t i = 0; i < n; ++i) o[k + i * ks] = s[from + p[k + i * ks] * xs];
    });
  });
}

void scatter_src(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_into(self, dim, index, &src, nullptr, out, "scatter");
}
void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  scatter_into(self, dim, index, nullptr, &value, out, "scatter");
}
void scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, Tensor& out) {
  scatter_combine(self, dim, index, src, Mode::Add, true, false, out, "scatter_add");
}
void scatter_reduce_two(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce, bool include_self, Tensor& out) {
  scatter_combine(self, dim, index, src, mode_of(reduce, "scatter_reduce"), include_self, reduce == "mean", out, "scatter_reduce");
}

}  // namespace native

}  // namespace trt
