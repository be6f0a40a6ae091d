// What the operators of linear algebra share: checks of their matrices, and matrices in the form that LAPACK takes.
#pragma once

#include <complex>
#include <vector>

#include "core/tensor.h"
#include "iter/copy.h"
#include "ops/sizes.h"

namespace trt::linalg {

// The sizes of the batch: all dimensions but the last `matrix_dims`.
inline DimVector batch_of(const Tensor& t, int64_t matrix_dims = 2) {
  return DimVector(t.sizes().data(), t.sizes().size() - static_cast<size_t>(matrix_dims));
}

inline void check_matrix(const Tensor& t, const char* op) {
  TRT_CHECK(t.dim() >= 2, op, ": needs a matrix or a batch of matrices, got ", t);
  TRT_CHECK(t.size(-1) < (int64_t{1} << 30) && t.size(-2) < (int64_t{1} << 30), op, ": the matrices are too large, got ", t);
}
inline void check_square(const Tensor& t, const char* op) {
  check_matrix(t, op);
  TRT_CHECK(t.size(-1) == t.size(-2), op, ": needs square matrices, got ", t);
}
// The dtypes that LAPACK has.
inline void check_dtype(const Tensor& t, const char* op) {
  TRT_CHECK_CODE(t.dtype() == DType::Float32 || t.dtype() == DType::Float64 || is_complex(t.dtype()), Code::kNotSupported, op,
                 ": needs float32, float64, complex64 or complex128, got ", t);
}
inline void check_same_dtype(const Tensor& a, const Tensor& b, const char* op) {
  TRT_CHECK(a.dtype() == b.dtype(), op, ": operands must have the same dtype, got ", a, " and ", b);
}

template <typename F>
void dispatch_matrix(DType t, const char* op, F&& f) {
  switch (t) {
    case DType::Float32: return f.template operator()<float>();
    case DType::Float64: return f.template operator()<double>();
    case DType::Complex64: return f.template operator()<std::complex<float>>();
    case DType::Complex128: return f.template operator()<std::complex<double>>();
    default: throw_error(Code::kNotSupported, str_cat(op, ": not supported for dtype ", t));
  }
}

// A column-major copy of one matrix.
template <typename T>
class Columns {
 public:
  Columns(int64_t rows, int64_t cols) : rows_(rows), cols_(cols), data_(static_cast<size_t>(std::max<int64_t>(rows * cols, 1))) {}
  void load(const T* row_major, int64_t stride) {
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < cols_; ++j) at(i, j) = row_major[i * stride + j];
  }
  void load(const T* row_major) { load(row_major, cols_); }
  void store(T* row_major) const {
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < cols_; ++j) row_major[i * cols_ + j] = at(i, j);
  }
  T& at(int64_t i, int64_t j) { return data_[static_cast<size_t>(j * rows_ + i)]; }
  const T& at(int64_t i, int64_t j) const { return data_[static_cast<size_t>(j * rows_ + i)]; }
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  int rows() const { return static_cast<int>(rows_); }
  int cols() const { return static_cast<int>(cols_); }

 private:
  int64_t rows_, cols_;
  std::vector<T> data_;
};

}  // namespace trt::linalg
