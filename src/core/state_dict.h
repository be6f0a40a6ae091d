// StateDict: an ordered map from names to tensors, what modules, optimizers and schedulers are saved as and loaded from.
// Numbers are 0-d tensors in it, so a file format that stores named tensors can hold all of it.
//
// Names are unique and not empty; the order is that of insertion. Counted; externally synchronized.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "base/intrusive_ptr.h"
#include "core/tensor.h"

namespace trt {

class StateDict final : public RefCounted<StateDict> {
 public:
  struct Entry {
    std::string name;
    Tensor tensor;
  };

  StateDict() = default;
  size_t size() const { return entries_.size(); }
  const std::vector<Entry>& entries() const { return entries_; }
  // Null when there is none.
  const Tensor* find(const std::string& name) const;
  // Throws kNotFound.
  const Tensor& at(const std::string& name) const;
  // Appends, or replaces the tensor of an existing name.
  void set(const std::string& name, Tensor tensor);
  bool remove(const std::string& name);

  void set_number(const std::string& name, double value);
  void set_number(const std::string& name, int64_t value);
  void set_number(const std::string& name, bool value);
  // The value of a one-element tensor; throws kNotFound or kInvalidArgument.
  double number(const std::string& name) const;

 private:
  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;
};

using StateDictPtr = intrusive_ptr<StateDict>;

// The number in a one-element CPU tensor; throws kInvalidArgument naming `name`.
double number_of(const Tensor& t, const std::string& name);

}  // namespace trt
