#include "ops/backend_util.h"

#include "iter/copy.h"
#include "iter/pointwise.h"
#include "iter/promotion.h"

namespace trt {

void throw_devices_differ(const char* op, const Tensor& a, const Tensor& b) {
  throw_error(Code::kInvalidArgument, str_cat(op, ": arguments are on different devices, ", a.device(), " and ", b.device()));
}

void copy_values(Tensor& dst, const Tensor& src) {
  if (!dst.is_meta()) copy_tensor(dst, src);
}

void check_inplace_result(const Tensor& self, const TensorSpec& spec, const char* op) {
  TRT_CHECK(self.sizes() == IntArrayRef(spec.sizes), op, ": the result has shape ", spec.sizes, ", the tensor ", self.sizes());
  TRT_CHECK(can_cast(spec.dtype, self.dtype()), op, ": a result of dtype ", spec.dtype, " cannot be written into a tensor of dtype ", self.dtype());
  check_no_internal_overlap(self, op);
}

void store_inplace(Tensor& self, const Tensor& result, const char* op) {
  check_inplace_result(self, TensorSpec(result.sizes(), result.dtype(), result.device()), op);
  copy_values(self, result);
  self.impl()->storage()->bump_version();
}

void store_out(Tensor& out, const Tensor& result, const char* op) {
  check_output(out, result.sizes(), result.dtype(), result.device(), op);
  write_output(out, result);
}

void write_output(Tensor& out, const Tensor& result) {
  if (out.sizes() == result.sizes()) {
    copy_values(out, result);
  } else {
    Tensor fresh = empty_tensor(result.sizes(), out.dtype(), out.device());
    copy_values(fresh, result);
    replace_output(out, fresh);
  }
  out.impl()->storage()->bump_version();
}

void check_outputs_apart(std::initializer_list<const Tensor*> outputs, const char* op) {
  for (auto a = outputs.begin(); a != outputs.end(); ++a)
    for (auto b = outputs.begin(); b != a; ++b)
      TRT_CHECK(!(*a)->is_same(**b) && !may_overlap(**a, **b), op, ": two outputs share memory, ", **b, " and ", **a);
}

OutWriter::OutWriter(const TensorSpec& spec, Tensor& out, std::initializer_list<const Tensor*> inputs, const char* op) : out_(out) {
  check_output(out, spec.sizes, spec.dtype, spec.device, op);
  bool direct = out.sizes() == IntArrayRef(spec.sizes) && out.is_contiguous() && out.dtype() == spec.dtype;
  for (const Tensor* t : inputs) direct &= !t->defined() || !may_overlap(out, *t);
  if (!direct) temporary_ = spec.allocate();
}

void OutWriter::finish() {
  if (!temporary_.defined()) {
    out_.impl()->storage()->bump_version();
  } else if (!(out_.sizes() == temporary_.sizes()) && out_.dtype() == temporary_.dtype()) {
    replace_output(out_, temporary_);
    out_.impl()->storage()->bump_version();
  } else {
    write_output(out_, temporary_);
  }
}

}  // namespace trt
