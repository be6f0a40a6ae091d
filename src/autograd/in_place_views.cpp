// Operators that change the geometry of a tensor in place: transpose_, squeeze_, ... and resize_.
//
// Note [Views in place]
// The recorded view of the tensor gives the new sizes, strides and offset, and the tensor's history becomes that of the view. The version of the
// storage rises, as PyTorch's: what saved the tensor sees that it changed, and other views of it make their history anew. A tensor that is
// itself a view stays one of its base; its history is up to date until the base changes (refresh_view in meta.cpp).
#include <cstring>

#include "autograd/function_util.h"
#include "gen/all_ops.h"
#include "gen/shape_native.h"

namespace trt::composite {

namespace {

template <typename F>
Tensor& view_in_place(Tensor& self, const char* op, F&& view) {
  autograd::check_inplace(self, autograd::requires_grad(self), op);
  autograd::AutogradMeta* meta = autograd::meta_of(self);
  const bool records = meta && autograd::requires_grad(self);
  TRT_CHECK_CODE(!records || (grad_enabled() && !thread_state.inference) || autograd::is_leaf(self), Code::kFailedPrecondition, op, ": ", self,
                 " has a history, which would not fit its new shape, since nothing is recorded under no_grad and in inference mode");
  TRT_CHECK_CODE(!records || !meta->grad.defined() || !autograd::is_leaf(self), Code::kFailedPrecondition, op, ": the leaf ", self,
                 " has a gradient, which would not fit its new shape; set it to none first");
  const Tensor viewed = view(self);
  // Taken before the version rises, after which the view would make its history anew.
  autograd::NodePtr history;
  uint32_t number = 0;
  if (records && !viewed.is_same(self))
    if (const autograd::AutogradMeta* of = autograd::meta_of(viewed)) history = of->grad_fn, number = of->output_nr;
  self.impl()->set_geometry_in_place(viewed.sizes(), viewed.strides(), viewed.storage_offset());
  self.impl()->storage()->bump_version();
  if (!history) return self;
  meta->replace_history(std::move(history), number);
  if (meta->view) meta->view->version = self.impl()->storage()->version();
  return self;
}

}  // namespace

Tensor& transpose_(Tensor& self, int64_t dim0, int64_t dim1) {
  return view_in_place(self, "transpose_", [&](const Tensor& t) { return op::transpose(t, dim0, dim1); });
}
Tensor& swapaxes_(Tensor& self, int64_t axis0, int64_t axis1) {
  return view_in_place(self, "swapaxes_", [&](const Tensor& t) { return op::transpose(t, axis0, axis1); });
}
Tensor& swapdims_(Tensor& self, int64_t dim0, int64_t dim1) {
  return view_in_place(self, "swapdims_", [&](const Tensor& t) { return op::transpose(t, dim0, dim1); });
}
Tensor& t_(Tensor& self) {
  return view_in_place(self, "t_", [&](const Tensor& t) { return op::t(t); });
}
Tensor& squeeze_(Tensor& self) {
  return view_in_place(self, "squeeze_", [&](const Tensor& t) { return op::squeeze(t); });
}
Tensor& squeeze__dim(Tensor& self, int64_t dim) {
  return view_in_place(self, "squeeze_", [&](const Tensor& t) { return op::squeeze(t, dim); });
}
Tensor& squeeze__dims(Tensor& self, IntArrayRef dim) {
  return view_in_place(self, "squeeze_", [&](const Tensor& t) { return op::squeeze(t, dim); });
}
Tensor& unsqueeze_(Tensor& self, int64_t dim) {
  return view_in_place(self, "unsqueeze_", [&](const Tensor& t) { return op::unsqueeze(t, dim); });
}
Tensor& as_strided_(Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> storage_offset) {
  return view_in_place(self, "as_strided_", [&](const Tensor& t) { return op::as_strided(t, size, stride, storage_offset); });
}

Tensor& resize_(Tensor& self, IntArrayRef size) {
  TRT_CHECK_CODE(!autograd::requires_grad(self), Code::kFailedPrecondition, "resize_: ", self, " requires gradients");
  const int64_t numel = checked_numel(size, self.dtype());
  if (self.sizes() == size) return self;
  const DimVector sizes(size.data(), size.size()), strides = contiguous_strides(sizes);
  StorageImpl* storage = self.impl()->storage().get();
  const int64_t width = static_cast<int64_t>(element_size(self.dtype()));
  const int64_t room = static_cast<int64_t>(storage->bytes()) / width - self.storage_offset();
  if (numel <= room) {
    self.impl()->set_geometry_in_place(sizes, strides, self.storage_offset());
    storage->bump_version();
    return self;
  }
  const autograd::AutogradMeta* meta = autograd::meta_of(self);
  TRT_CHECK_CODE(!meta || !meta->view || !autograd::requires_grad(meta->view->base), Code::kFailedPrecondition, "resize_: ", self,
                 " is a view of a tensor that requires gradients, whose storage is too small for ", size);
  // The elements keep their places in memory.
  const Tensor fresh = op::empty(size, self.dtype(), self.device());
  if (!self.is_meta() && room > 0)
    std::memcpy(fresh.data(), self.data(), static_cast<size_t>(room * width));
  self.impl()->set_storage(fresh.impl()->storage(), self.dtype(), sizes, strides, 0);
  return self;
}

Tensor& resize_as_(Tensor& self, const Tensor& the_template) { return op::resize_(self, the_template.sizes()); }

}  // namespace trt::composite
