// Decompositions of matrices.
#include <cmath>

#include "gen/linalg_native.h"
#include "iter/copy.h"
#include "kernels/cpu/lapack.h"

namespace trt {

namespace meta {

std::array<TensorSpec, 3> thin_svd(const Tensor& self) {
  TRT_CHECK(self.dim() >= 2, "svd: a matrix is needed, got ", self);
  TRT_CHECK_CODE(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, Code::kNotSupported,
                 "svd: needs float32 or float64, got ", self);
  const int64_t m = self.size(-2), n = self.size(-1), k = std::min(m, n);
  TRT_CHECK(std::max(m, n) < (int64_t{1} << 31), "svd: the matrices are too large, got ", self);
  DimVector u(self.sizes().data(), self.sizes().size() - 2), s = u, vh = u;
  u.push_back(m);
  u.push_back(k);
  s.push_back(k);
  vh.push_back(k);
  vh.push_back(n);
  return {TensorSpec(u, self.dtype(), self.device()), TensorSpec(s, self.dtype(), self.device()),
          TensorSpec(vh, self.dtype(), self.device())};
}

}  // namespace meta

namespace native {

void thin_svd(const Tensor& self, Tensor& u, Tensor& s, Tensor& vh) {
  if (s.numel() == 0) return;
  const int64_t m = self.size(-2), n = self.size(-1);
  Tensor a = empty_tensor(self.sizes(), self.dtype());
  copy_tensor(a, self);
  dispatch_float(self.dtype(), "svd", [&]<typename T>() {
    T* p = a.data_ptr<T>();
    TRT_CHECK(std::all_of(p, p + a.numel(), [](T v) { return std::isfinite(v); }), "svd: ", self,
              " holds an infinity or NaN");
    TRT_CHECK(cpu::svd(a.numel() / (m * n), m, n, p, u.data_ptr<T>(), s.data_ptr<T>(), vh.data_ptr<T>()),
              "svd: no convergence for ", self);
  });
}

}  // namespace native

}  // namespace trt
