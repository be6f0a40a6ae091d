#include "core/state_dict.h"

#include "base/utf8.h"

namespace trt {

const Tensor* StateDict::find(const std::string& name) const {
  const auto at = index_.find(name);
  return at == index_.end() ? nullptr : &entries_[at->second].tensor;
}

const Tensor& StateDict::at(const std::string& name) const {
  const Tensor* t = find(name);
  TRT_CHECK_CODE(t != nullptr, Code::kNotFound, "state dict: there is no entry '", name, "'");
  return *t;
}

void StateDict::set(const std::string& name, Tensor tensor) {
  TRT_CHECK(!name.empty(), "state dict: a name must not be empty");
  check_utf8(name, "state dict: the name");
  TRT_CHECK(tensor.defined(), "state dict: the tensor of '", name, "' is undefined");
  if (const auto at = index_.find(name); at != index_.end()) {
    // The old tensor is freed by the caller, when the dict is whole again: its memory may be the host's.
    std::swap(entries_[at->second].tensor, tensor);
    return;
  }
  entries_.push_back({name, std::move(tensor)});
  try {
    index_.emplace(name, entries_.size() - 1);
  } catch (...) {
    entries_.pop_back();
    throw;
  }
}

bool StateDict::remove(const std::string& name) {
  const auto at = index_.find(name);
  if (at == index_.end()) return false;
  const size_t place = at->second;
  const Tensor removed = std::move(entries_[place].tensor);  // freed last
  index_.erase(at);
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(place));
  for (auto& [key, i] : index_)
    if (i > place) --i;
  return true;
}

void StateDict::set_number(const std::string& name, double value) { set(name, scalar_tensor_of(value, DType::Float64)); }
void StateDict::set_number(const std::string& name, int64_t value) { set(name, scalar_tensor_of(value, DType::Int64)); }
void StateDict::set_number(const std::string& name, bool value) { set(name, scalar_tensor_of(value, DType::Bool)); }

double number_of(const Tensor& t, const std::string& name) {
  TRT_CHECK(t.numel() == 1 && t.device().is_cpu(), "state dict: '", name, "' must be one number, got ", t);
  return dispatch_dtype(t.dtype(), "state dict", [&]<typename T>() { return Scalar(*t.data_ptr<T>()).to_double(); });
}

double StateDict::number(const std::string& name) const { return number_of(at(name), name); }

}  // namespace trt
