#include "autograd/formulas_reduction.h"

#include "gen/all_ops.h"

namespace trt::formulas {

namespace {

// `t` with the dimensions that a reduction without keepdim dropped put back as size 1.
Tensor restore_reduced(const Tensor& t, size_t ndim, std::optional<IntArrayRef> dim, bool keepdim) {
  if (keepdim || ndim == 0) return t;
  const bool all = !dim || dim->empty();
  DimVector sizes(ndim);
  for (size_t d = 0; d < ndim; ++d) sizes[d] = all ? 1 : 0;
  if (!all)
    for (int64_t d : *dim) sizes[static_cast<size_t>(d < 0 ? d + static_cast<int64_t>(ndim) : d)] = 1;
  size_t next = 0;
  for (size_t d = 0; d < ndim; ++d)
    if (sizes[d] == 0) sizes[d] = t.sizes()[next++];
  return op::reshape(t, sizes);
}

}  // namespace

Tensor expand_reduced(const Tensor& grad, IntArrayRef sizes, std::optional<IntArrayRef> dim, bool keepdim) {
  return op::expand(restore_reduced(grad, sizes.size(), dim, keepdim), sizes);
}

}  // namespace trt::formulas
