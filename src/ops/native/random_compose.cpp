// Random operators that are made of others.
#include "gen/factory_ops.h"
#include "gen/pointwise_ops.h"
#include "gen/random_native.h"
#include "gen/random_ops.h"
#include "iter/promotion.h"

namespace trt::composite {

Tensor& random__to(Tensor& self, int64_t to, GeneratorImpl* generator) { return op::random_(self, 0, to, generator); }

Tensor bernoulli_p(const Tensor& self, double p, GeneratorImpl* generator) {
  Tensor out = op::empty_like(self);
  return op::bernoulli_(out, p, generator);
}

Tensor normal_Tensor_float(const Tensor& mean, double std, GeneratorImpl* generator) {
  TRT_CHECK(std >= 0, "normal: the standard deviation must not be negative, got ", std);
  return op::add(op::mul(op::randn(mean.sizes(), generator, mean.dtype(), mean.device()), Scalar(std)), mean);
}
Tensor normal_float_Tensor(double mean, const Tensor& std, GeneratorImpl* generator) {
  return op::add(op::mul(op::randn(std.sizes(), generator, std.dtype(), std.device()), std), Scalar(mean));
}
Tensor normal_Tensor_Tensor(const Tensor& mean, const Tensor& std, GeneratorImpl* generator) {
  const DimVector shape = broadcast_shapes(mean.sizes(), std.sizes(), "normal");
  return op::add(op::mul(op::randn(shape, generator, mean.dtype(), mean.device()), std), mean);
}

}  // namespace trt::composite
