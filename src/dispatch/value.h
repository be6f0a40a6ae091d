// Value: one argument or result in the boxed calling convention, a tagged union over what schemas can say. A Stack of them
// is how fallbacks, custom operators, tracing and other languages call operators.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/generator.h"
#include "core/tensor.h"

namespace trt {

class Value {
 public:
  using List = std::vector<Tensor>;
  Value() = default;
  template <typename T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, Value>)
  Value(T&& v) : v_(std::forward<T>(v)) {}

  bool is_none() const { return std::holds_alternative<std::monostate>(v_); }
  template <typename T>
  bool is() const {
    return std::holds_alternative<T>(v_);
  }
  template <typename T>
  const T& get() const {
    const T* p = std::get_if<T>(&v_);
    TRT_CHECK(p, "a value of another type was expected, got ", type_name());
    return *p;
  }
  template <typename T>
  T& get() {
    return const_cast<T&>(static_cast<const Value*>(this)->get<T>());
  }
  const char* type_name() const {
    static constexpr const char* kNames[] = {"None",  "Tensor", "bool",        "int",    "float", "Scalar",    "Tensor[]",
                                             "int[]", "float[]", "str", "ScalarType", "Device", "Generator"};
    return kNames[v_.index()];
  }

 private:
  std::variant<std::monostate, Tensor, bool, int64_t, double, Scalar, std::vector<Tensor>, std::vector<int64_t>,
               std::vector<double>, std::string, DType, Device, intrusive_ptr<GeneratorImpl>>
      v_;
};

using Stack = std::vector<Value>;

}  // namespace trt
