// Matrix products: mm, bmm, mv, dot, addmm, baddbmm, linear.
//
// Float and double go to BLAS, with transposed operands passed as they lie in memory. The 16-bit floats are converted
// to float and back, the integers to int64 (whose low bits are the result in their own width). Fractions among alpha
// and beta are cut off for integers.
#include "gen/linalg_native.h"
#include "iter/copy.h"
#include "kernels/cpu/convert.h"
#include "kernels/cpu/gemm.h"

namespace trt {

namespace {

// The dtype a product is computed in.
DType product_dtype(DType t) {
  return is_reduced_floating(t) ? DType::Float32 : is_integral(t, true) ? DType::Int64 : t;
}

void check_same_dtype(const Tensor& a, const Tensor& b, const char* op) {
  TRT_CHECK(a.dtype() == b.dtype(), op, ": operands must have the same dtype, got ", a, " and ", b);
  TRT_CHECK(a.device() == b.device(), op, ": operands must be on the same device, got ", a, " and ", b);
  TRT_CHECK_CODE(a.dtype() != DType::Bool, Code::kNotSupported, op, ": not supported for dtype bool");
}

void check_expandable(const Tensor& self, IntArrayRef sizes, const char* op) {
  const size_t n = self.sizes().size();
  bool fits = n <= sizes.size();
  for (size_t i = 0; fits && i < n; ++i) {
    const int64_t s = self.sizes()[n - 1 - i];
    fits = s == 1 || s == sizes[sizes.size() - 1 - i];
  }
  TRT_CHECK(fits, op, std::string_view(op) == "linear" ? ": bias of shape " : ": self of shape ", self.sizes(), " does not broadcast to the product's shape ", sizes);
}

// A matrix as BLAS takes it. Holds the tensor whose memory it is.
struct Matrix {
  Tensor memory;
  bool transposed = false;
  int64_t ld = 1;
  int64_t batch_stride = 0;
};

// The last two dimensions of t (2-d or 3-d) as an operand in `dtype`; copied only when the strides or the dtype ask for
// it.
Matrix as_matrix(const Tensor& t, DType dtype) {
  const size_t n = t.sizes().size();
  const auto sizes = t.sizes(), strides = t.strides();
  const int64_t rows = sizes[n - 2], cols = sizes[n - 1];
  const int64_t row_step = strides[n - 2], col_step = strides[n - 1];
  Matrix m;
  const bool rows_lie = (col_step == 1 || cols <= 1) && (row_step >= std::max<int64_t>(1, cols) || rows <= 1);
  const bool cols_lie = (row_step == 1 || rows <= 1) && (col_step >= std::max<int64_t>(1, rows) || cols <= 1);
  if (t.dtype() == dtype && (rows_lie || cols_lie)) {
    m.memory = t;
    m.transposed = !rows_lie;
    // A single row or column leaves the distance free; BLAS wants one that a whole row fits in.
    m.ld = rows_lie ? (rows <= 1 ? std::max<int64_t>(1, cols) : row_step)
                    : (cols <= 1 ? std::max<int64_t>(1, rows) : col_step);
    m.batch_stride = n == 3 ? strides[0] : 0;
    return m;
  }
  m.memory = contiguous_tensor(t, dtype);
  m.ld = std::max<int64_t>(1, cols);
  m.batch_stride = rows * cols;
  return m;
}

// c[b,m,n] = alpha * a[b,m,k] b[b,k,n] + beta * c for contiguous c of the compute dtype.
void multiply(const Tensor& a, const Tensor& b, Tensor& c, const Scalar& alpha, const Scalar& beta) {
  const DType dtype = c.dtype();
  const size_t rank = a.sizes().size();
  const int64_t batch = rank == 3 ? a.sizes()[0] : 1, m = a.sizes()[rank - 2], k = a.sizes()[rank - 1],
                n = b.sizes()[rank - 1];
  if (c.numel() == 0) return;
  const Matrix x = as_matrix(a, dtype), y = as_matrix(b, dtype);
  auto run = [&]<typename T>() {
    const T* p = x.memory.data_ptr<T>();
    const T* q = y.memory.data_ptr<T>();
    T* out = c.data_ptr<T>();
    if constexpr (std::is_integral_v<T>) {
      for (int64_t i = 0; i < batch; ++i)
        cpu::gemm_naive<T>(x.transposed, y.transposed, m, n, k, alpha.to_int(), p + i * x.batch_stride, x.ld,
                           q + i * y.batch_stride, y.ld, beta.to_int(), out + i * m * n, n);
    } else if (batch == 1) {
      cpu::gemm(x.transposed, y.transposed, m, n, k, alpha.to<T>(), p, x.ld, q, y.ld, beta.to<T>(), out, n);
    } else {
      cpu::gemm_batched(x.transposed, y.transposed, batch, m, n, k, alpha.to<T>(), p, x.ld, x.batch_stride, q, y.ld,
                        y.batch_stride, beta.to<T>(), out, n, m * n);
    }
  };
  if (dtype == DType::Int64)
    run.template operator()<int64_t>();
  else if (dtype == DType::Float64)
    run.template operator()<double>();
  else
    run.template operator()<float>();
}

// out = beta * self + alpha * a b; self may be undefined.
void product_into(const Tensor& self, const Tensor& a, const Tensor& b, Tensor& out, const Scalar& alpha,
                  const Scalar& beta) {
  const DType dtype = product_dtype(out.dtype());
  Tensor target = dtype == out.dtype() ? out : empty_tensor(out.sizes(), dtype);
  const bool reads_self = self.defined() && !beta.equals(0);
  if (reads_self) copy_tensor(target, self);
  multiply(a, b, target, alpha, reads_self ? beta : Scalar(0));
  if (!target.is_same(out)) copy_tensor(out, target);
}

TensorSpec product_spec(const Tensor& a, const Tensor& b, size_t rank, const char* op) {
  TRT_CHECK(a.sizes().size() == rank && b.sizes().size() == rank, op, ": needs two ", rank, "-d tensors, got ", a,
            " and ", b);
  check_same_dtype(a, b, op);
  TRT_CHECK(rank == 2 || a.sizes()[0] == b.sizes()[0], op, ": batch sizes differ, got ", a, " and ", b);
  TRT_CHECK(a.sizes()[rank - 1] == b.sizes()[rank - 2], op, ": inner sizes ", a.sizes()[rank - 1], " and ", b.sizes()[rank - 2], " differ, got ", a, " and ", b);
  DimVector sizes(a.sizes().data(), rank - 1);
  sizes.push_back(b.sizes()[rank - 1]);
  return TensorSpec(sizes, a.dtype(), a.device());
}

TensorSpec add_product_spec(const Tensor& self, const Tensor& a, const Tensor& b, size_t rank, const char* op) {
  TensorSpec spec = product_spec(a, b, rank, op);
  check_same_dtype(self, a, op);
  check_expandable(self, spec.sizes, op);
  return spec;
}

}  // namespace

namespace meta {

TensorSpec mm(const Tensor& self, const Tensor& mat2) { return product_spec(self, mat2, 2, "mm"); }
TensorSpec bmm(const Tensor& self, const Tensor& mat2) { return product_spec(self, mat2, 3, "bmm"); }

TensorSpec mv(const Tensor& self, const Tensor& vec) {
  TRT_CHECK(self.dim() == 2 && vec.dim() == 1, "mv: needs a matrix and a vector, got ", self, " and ", vec);
  check_same_dtype(self, vec, "mv");
  TRT_CHECK(self.sizes()[1] == vec.sizes()[0], "mv: inner sizes ", self.sizes()[1], " and ", vec.sizes()[0], " differ, got ", self, " and ", vec);
  return TensorSpec({self.sizes()[0]}, self.dtype(), self.device());
}

TensorSpec dot(const Tensor& self, const Tensor& tensor) {
  TRT_CHECK(self.dim() == 1 && tensor.dim() == 1, "dot: needs two vectors, got ", self, " and ", tensor);
  check_same_dtype(self, tensor, "dot");
  TRT_CHECK(self.sizes()[0] == tensor.sizes()[0], "dot: sizes differ, got ", self, " and ", tensor);
  return TensorSpec({}, self.dtype(), self.device());
}

TensorSpec addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar&, const Scalar&) {
  return add_product_spec(self, mat1, mat2, 2, "addmm");
}

TensorSpec baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar&, const Scalar&) {
  return add_product_spec(self, batch1, batch2, 3, "baddbmm");
}

TensorSpec linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  TRT_CHECK(input.dim() >= 1, "linear: input needs at least one dimension, got ", input);
  TRT_CHECK(weight.dim() == 1 || weight.dim() == 2, "linear: weight must be [out, in] or [in], got ", weight);
  check_same_dtype(input, weight, "linear");
  TRT_CHECK(input.sizes().back() == weight.sizes().back(), "linear: input ", input, " does not fit weight ", weight);
  DimVector sizes(input.sizes().data(), input.sizes().size() - 1);
  if (weight.dim() == 2) sizes.push_back(weight.sizes()[0]);
  if (bias.defined()) {
    TRT_CHECK(weight.dim() == 2 || bias.dim() == 0, "linear: a bias with dimensions needs a weight [out, in], got ", weight, " and bias ", bias);
    check_same_dtype(input, bias, "linear");
    check_expandable(bias, sizes, "linear");
  }
  return TensorSpec(sizes, input.dtype(), input.device());
}

}  // namespace meta

namespace native {

void mm(const Tensor& self, const Tensor& mat2, Tensor& out) { product_into(Tensor(), self, mat2, out, 1, 0); }
void bmm(const Tensor& self, const Tensor& mat2, Tensor& out) { product_into(Tensor(), self, mat2, out, 1, 0); }

void addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta, const Scalar& alpha,
           Tensor& out) {
  product_into(self, mat1, mat2, out, alpha, beta);
}

void baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta, const Scalar& alpha,
             Tensor& out) {
  product_into(self, batch1, batch2, out, alpha, beta);
}

void mv(const Tensor& self, const Tensor& vec, Tensor& out) {
  if (out.numel() == 0) return;
  const DType dtype = product_dtype(out.dtype());
  const int64_t m = self.sizes()[0], n = self.sizes()[1];
  if (dtype != out.dtype() || dtype == DType::Int64) {
    const Tensor column = alias_tensor(vec, {n, 1}, {vec.strides()[0], 1}, vec.storage_offset());
    Tensor matrix = alias_tensor(out, {m, 1}, {1, 1}, out.storage_offset());
    return product_into(Tensor(), self, column, matrix, 1, 0);
  }
  const Matrix x = as_matrix(self, dtype);
  dispatch_float(dtype, "mv", [&]<typename T>() {
    const T* p = x.memory.data_ptr<T>();
    if (x.transposed)
      cpu::gemv(true, n, m, T(1), p, x.ld, vec.data_ptr<T>(), vec.strides()[0], T(0), out.data_ptr<T>(), 1);
    else
      cpu::gemv(false, m, n, T(1), p, x.ld, vec.data_ptr<T>(), vec.strides()[0], T(0), out.data_ptr<T>(), 1);
  });
}

void dot(const Tensor& self, const Tensor& tensor, Tensor& out) {
  const int64_t n = self.sizes()[0];
  const DType dtype = product_dtype(out.dtype());
  if (dtype == out.dtype() && is_floating(dtype)) {
    dispatch_float(dtype, "dot", [&]<typename T>() {
      *out.data_ptr<T>() =
          n == 0 ? T(0) : cpu::dot(n, self.data_ptr<T>(), self.strides()[0], tensor.data_ptr<T>(), tensor.strides()[0]);
    });
    return;
  }
  const Tensor row = alias_tensor(self, {1, n}, {std::max<int64_t>(n, 1), self.strides()[0]}, self.storage_offset());
  const Tensor column = alias_tensor(tensor, {n, 1}, {tensor.strides()[0], 1}, tensor.storage_offset());
  Tensor matrix = alias_tensor(out, {1, 1}, {1, 1}, out.storage_offset());
  product_into(Tensor(), row, column, matrix, 1, 0);
}

void linear(const Tensor& input, const Tensor& weight, const Tensor& bias, Tensor& out) {
  if (out.numel() == 0) return;
  const int64_t k = input.sizes().back();
  const int64_t n = weight.dim() == 2 ? weight.sizes()[0] : 1;
  const int64_t m = out.numel() / n;
  Tensor rows = input.dim() == 2 ? input : contiguous_tensor(input);
  if (input.dim() != 2) rows = alias_tensor(rows, {m, k}, {std::max<int64_t>(k, 1), 1}, rows.storage_offset());
  const auto ws = weight.strides();
  const Tensor wt = weight.dim() == 2
                        ? alias_tensor(weight, {k, n}, {ws[1], ws[0]}, weight.storage_offset())
                        : alias_tensor(weight, {k, 1}, {ws[0], std::max<int64_t>(k, 1) * std::max<int64_t>(ws[0], 1)},
                                       weight.storage_offset());
  Tensor matrix = alias_tensor(out, {m, n}, {n, 1}, out.storage_offset());
  if (!bias.defined()) return product_into(Tensor(), rows, wt, matrix, 1, 0);
  if (bias.dim() <= 1) return product_into(bias, rows, wt, matrix, 1, 1);
  // A bias with more dimensions broadcasts over the unmerged shape.
  Tensor spread = empty_tensor(out.sizes(), out.dtype());
  copy_tensor(spread, bias);
  product_into(alias_tensor(spread, {m, n}, {n, 1}, spread.storage_offset()), rows, wt, matrix, 1, 1);
}

}  // namespace native

}  // namespace trt
