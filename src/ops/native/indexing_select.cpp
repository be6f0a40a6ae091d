// index_select, index_add and their relatives: whole slices along one dimension, named by a vector of positions.
#include "gen/indexing_native.h"
#include "ops/native/indexing_util.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

void check_vector_index(const Tensor& index, const char* op) {
  check_index_dtype(index, op);
  TRT_CHECK(index.dim() <= 1, op, ": the index must be a vector, got ", index);
}

// The checks that index_add and index_copy share: source has self's shape but for `dim`, where it has the index's
// length.
void check_source(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const char* op) {
  check_vector_index(index, op);
  const int64_t d = wrap_dim(dim, self.dim(), op);
  TRT_CHECK(source.dtype() == self.dtype(), op, ": self and source must have the same dtype, got ", self, " and ",
            source);
  TRT_CHECK(source.dim() == self.dim() || (self.dim() <= 1 && source.dim() <= 1), op, ": self ", self, " and source ",
            source, " differ in dimensions");
  const int64_t along = source.dim() == 0 ? 1 : source.sizes()[at(d)];
  TRT_CHECK(along == index.numel(), op, ": index ", index, " does not have as many elements as source ", source,
            " has slices along dimension ", dim);
  for (int64_t i = 0; i < std::min(self.dim(), source.dim()); ++i)
    TRT_CHECK(i == d || self.sizes()[at(i)] == source.sizes()[at(i)], op, ": self ", self, " and source ", source,
              " may differ along dimension ", d, " only");
}

TensorSpec same_as(const Tensor& t) { return {t.sizes(), t.dtype(), t.device()}; }

// Calls f(outer index, first slice, last slice of the destination) over tasks that no two threads share; every
// destination is met by one task only, so the order of writes to it is that of the index.
template <typename F>
void for_destinations(const LineShape& l, int64_t count, F&& f) {
  const int64_t work = std::max<int64_t>(1, count * l.inner);
  if (l.outer >= 2 * num_threads() || l.r <= 1) {
    parallel_for(0, l.outer, std::max<int64_t>(1, 32768 / work), [&](int64_t b, int64_t e) {
      for (int64_t o = b; o < e; ++o) f(o, int64_t{0}, l.r);
    });
    return;
  }
  for (int64_t o = 0; o < l.outer; ++o) {
    if (work < 32768 || l.inner < 8)
      f(o, int64_t{0}, l.r);
    else
      parallel_for(0, l.r, (l.r + num_threads() - 1) / num_threads(), [&](int64_t b, int64_t e) { f(o, b, e); });
  }
}

}  // namespace

namespace meta {

TensorSpec index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  check_vector_index(index, "index_select");
  const int64_t d = wrap_dim(dim, self.dim(), "index_select");
  DimVector sizes(self.sizes().data(), self.sizes().size());
  if (self.dim() == 0)
    TRT_CHECK(index.numel() == 1, "index_select: the index of a 0-d tensor must have one element, got ", index);
  else
    sizes[at(d)] = index.numel();
  return {sizes, self.dtype(), self.device()};
}

TensorSpec index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  check_source(self, dim, index, source, "index_add");
  TRT_CHECK(!(alpha.is_double() || alpha.is_complex()) || is_differentiable(self.dtype()), "index_add: alpha ", alpha, " does not fit dtype ",
            self.dtype());
  return same_as(self);
}

TensorSpec index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check_source(self, dim, index, source, "index_copy");
  return same_as(self);
}

TensorSpec index_fill_int_Scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar&) {
  check_vector_index(index, "index_fill");
  wrap_dim(dim, self.dim(), "index_fill");
  return same_as(self);
}

TensorSpec take(const Tensor& self, const Tensor& index) {
  check_index_dtype(index, "take");
  TRT_CHECK_CODE(self.numel() > 0 || index.numel() == 0, Code::kOutOfRange,
                 "take: cannot take from a tensor without elements");
  return {index.sizes(), self.dtype(), self.device()};
}

TensorSpec put(const Tensor& self, const Tensor& index, const Tensor& source, bool) {
  check_index_dtype(index, "put");
  TRT_CHECK(source.dtype() == self.dtype(), "put: self and source must have the same dtype, got ", self, " and ",
            source);
  TRT_CHECK(source.numel() == index.numel(), "put: index ", index, " and source ", source,
            " differ in the number of elements");
  return same_as(self);
}

}  // namespace meta

namespace native {

void index_select(const Tensor& self, int64_t dim, const Tensor& index, Tensor& out) {
  const int64_t d = wrap_dim(dim, self.dim(), "index_select");
  const LineShape l = line_shape(self.sizes(), d);
  const Tensor positions = checked_index(index, l.r, false, "index_select");
  const int64_t* p = positions.data_ptr<int64_t>();
  const int64_t count = positions.numel();
  const Tensor x = contiguous_tensor(self);
  if (out.numel() == 0) return;
  const int64_t item = static_cast<int64_t>(self.itemsize());
  if (l.inner == 1) {
    with_element_bits(self.itemsize(), [&]<typename T>() {
      const T* s = x.data_ptr<T>();
      T* o = out.data_ptr<T>();
      parallel_for(0, l.outer * count, 32768, [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e;) {
          const int64_t row = i / count, stop = std::min(e, (row + 1) * count);
          const T* line = s + row * l.r;
          for (int64_t k = i - row * count; i < stop; ++i, ++k) o[i] = line[p[k]];
        }
      });
    });
    return;
  }
  const int64_t bytes = l.inner * item;
  const char* s = static_cast<const char*>(x.data());
  char* o = static_cast<char*>(out.data());
  parallel_for(0, l.outer * count, std::max<int64_t>(1, 65536 / bytes), [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i)
      std::memcpy(o + i * bytes, s + (i / count * l.r + p[i % count]) * bytes, static_cast<size_t>(bytes));
  });
}

void index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha,
               Tensor& out) {
  const int64_t d = wrap_dim(dim, self.dim(), "index_add");
  const LineShape l = line_shape(self.sizes(), d);
  const Tensor positions = readable(checked_index(index, l.r, false, "index_add"), out);
  const Tensor src = readable(source, out);
  const int64_t* p = positions.data_ptr<int64_t>();
  const int64_t count = positions.numel();
  ChangedCopy target(self, out);
  if (self.numel() > 0 && count > 0)
    dispatch_all(self.dtype(), "index_add", [&]<typename T>() {
      using C = opmath_t<T>;
      const T* s = src.data_ptr<T>();
      T* t = target.get().data_ptr<T>();
      const C a = alpha.to<C>();
      for_destinations(l, count, [&](int64_t o, int64_t from, int64_t to) {
        for (int64_t k = 0; k < count; ++k) {
          if (p[k] < from || p[k] >= to) continue;
          const T* from_row = s + (o * count + k) * l.inner;
          T* to_row = t + (o * l.r + p[k]) * l.inner;
          for (int64_t i = 0; i < l.inner; ++i)
            to_row[i] = static_cast<T>(
                static_cast<C>(static_cast<C>(to_row[i]) + static_cast<C>(a * static_cast<C>(from_row[i]))));
        }
      });
    });
  target.finish();
}

void index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, Tensor& out) {
  const int64_t d = wrap_dim(dim, self.dim(), "index_copy");
  const LineShape l = line_shape(self.sizes(), d);
  const Tensor positions = readable(checked_index(index, l.r, false, "index_copy"), out);
  const Tensor src = readable(source, out);
  const int64_t* p = positions.data_ptr<int64_t>();
  const int64_t count = positions.numel();
  ChangedCopy target(self, out);
  if (self.numel() > 0 && count > 0) {
    const int64_t bytes = l.inner * static_cast<int64_t>(self.itemsize());
    const char* s = static_cast<const char*>(src.data());
    char* t = static_cast<char*>(target.get().data());
    for_destinations(l, count, [&](int64_t o, int64_t from, int64_t to) {
      for (int64_t k = 0; k < count; ++k)
        if (p[k] >= from && p[k] < to)
          std::memcpy(t + (o * l.r + p[k]) * bytes, s + (o * count + k) * bytes, static_cast<size_t>(bytes));
    });
  }
  target.finish();
}

void index_fill_int_Scalar(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, Tensor& out) {
  const int64_t d = wrap_dim(dim, self.dim(), "index_fill");
  const LineShape l = line_shape(self.sizes(), d);
  const Tensor positions = readable(checked_index(index, l.r, true, "index_fill"), out);
  const int64_t* p = positions.data_ptr<int64_t>();
  const int64_t count = positions.numel();
  check_fits(value, self.dtype(), "index_fill");
  const Tensor element = scalar_tensor_of(value, self.dtype());
  ChangedCopy target(self, out);
  if (self.numel() > 0)
    with_element_bits(self.itemsize(), [&]<typename T>() {
      const T v = *element.data_ptr<T>();
      T* t = target.get().data_ptr<T>();
      for (int64_t o = 0; o < l.outer; ++o)
        for (int64_t k = 0; k < count; ++k) std::fill_n(t + (o * l.r + p[k]) * l.inner, l.inner, v);
    });
  target.finish();
}

void take(const Tensor& self, const Tensor& index, Tensor& out) {
  const Tensor positions = checked_index(index, self.numel(), true, "take");
  const Tensor x = contiguous_tensor(self);
  const int64_t* p = positions.data_ptr<int64_t>();
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = x.data_ptr<T>();
    T* o = out.data_ptr<T>();
    parallel_for(0, positions.numel(), 32768, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) o[i] = s[p[i]];
    });
  });
}

void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, Tensor& out) {
  const Tensor positions = readable(checked_index(index, self.numel(), true, "put"), out);
  const Tensor src = readable(source, out);
  const int64_t* p = positions.data_ptr<int64_t>();
  const int64_t count = positions.numel();
  ChangedCopy target(self, out);
  dispatch_all(self.dtype(), "put", [&]<typename T>() {
    using C = opmath_t<T>;
    const T* s = src.data_ptr<T>();
    T* t = target.get().data_ptr<T>();
    if (accumulate)
      for (int64_t i = 0; i < count; ++i)
        t[p[i]] = static_cast<T>(static_cast<C>(static_cast<C>(t[p[i]]) + static_cast<C>(s[i])));
    else
      for (int64_t i = 0; i < count; ++i) t[p[i]] = s[i];
  });
  target.finish();
}

}  // namespace native

}  // namespace trt
