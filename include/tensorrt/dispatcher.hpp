// The operator table in C++17, over dispatcher.h (which documents behaviour and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_DISPATCHER_HPP
#define TENSORRT_DISPATCHER_HPP

#include <cstring>
#include <variant>

#include "tensorrt/tensor.hpp"

namespace trt {

/** Listing operators, and calls by name. */
namespace dispatcher {

/** A boxed value: none (std::monostate), or what a schema knows. Numbers of C++ are taken as bool, int and float. */
class Value {
 public:
  using Variant = std::variant<std::monostate, Tensor, bool, std::int64_t, double, std::string, DType, Device,
                               Generator, std::vector<Tensor>, std::vector<std::int64_t>, std::vector<double>>;
  Value() = default;
  Value(std::nullopt_t) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  Value(T v) {
    if constexpr (std::is_same_v<T, bool>)
      value_ = v;
    else if constexpr (std::is_integral_v<T>)
      value_ = static_cast<std::int64_t>(v);
    else
      value_ = static_cast<double>(v);
    detail::check_range(v);
  }
  Value(const Scalar& s) {
    if (s.is_bool())
      value_ = s.to<bool>();
    else if (s.is_integral())
      value_ = s.to<std::int64_t>();
    else
      value_ = s.to<double>();
  }
  Value(const char* s) : value_(std::string(s ? s : "")) {}
  Value(std::string s) : value_(std::move(s)) {}
  Value(Tensor t) : value_(std::move(t)) {}
  Value(DType d) : value_(d) {}
  Value(Device d) : value_(d) {}
  Value(Generator g) : value_(std::move(g)) {}
  Value(std::vector<Tensor> v) : value_(std::move(v)) {}
  Value(std::vector<std::int64_t> v) : value_(std::move(v)) {}
  Value(std::vector<double> v) : value_(std::move(v)) {}
  const Variant& variant() const { return value_; }
  bool is_none() const { return std::holds_alternative<std::monostate>(value_); }
  /** The value as one of the types of Variant; TRT_INVALID_ARGUMENT when it is another. */
  template <typename T>
  const T& get() const {
    if (const T* v = std::get_if<T>(&value_)) return *v;
    throw Error(TRT_INVALID_ARGUMENT, "Value: the value has another type");
  }

 private:
  Variant value_;
};

namespace detail_value {
inline trt_value box(const Value& value, std::vector<std::vector<trt_tensor*>>& lists) {
  trt_value b;
  std::memset(&b, 0, sizeof b);
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          b.kind = TRT_VALUE_NONE;
        } else if constexpr (std::is_same_v<T, Tensor>) {
          b.kind = v.defined() ? TRT_VALUE_TENSOR : TRT_VALUE_NONE;
          b.v.tensor = v.get();
        } else if constexpr (std::is_same_v<T, bool>) {
          b.kind = TRT_VALUE_BOOL;
          b.v.i = v;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          b.kind = TRT_VALUE_INT;
          b.v.i = v;
        } else if constexpr (std::is_same_v<T, double>) {
          b.kind = TRT_VALUE_DOUBLE;
          b.v.d = v;
        } else if constexpr (std::is_same_v<T, std::string>) {
          b.kind = TRT_VALUE_STRING;
          b.v.string = v.c_str();
        } else if constexpr (std::is_same_v<T, DType>) {
          b.kind = TRT_VALUE_DTYPE;
          b.v.i = static_cast<std::int64_t>(v);
        } else if constexpr (std::is_same_v<T, Device>) {
          b.kind = TRT_VALUE_DEVICE;
          b.v.device = v.c();
        } else if constexpr (std::is_same_v<T, Generator>) {
          b.kind = v ? TRT_VALUE_GENERATOR : TRT_VALUE_NONE;
          b.v.generator = v.get();
        } else {
          b.count = v.size();
          if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
            b.kind = TRT_VALUE_TENSOR_LIST;
            std::vector<trt_tensor*> list;
            for (const Tensor& t : v) list.push_back(t.get());
            lists.push_back(std::move(list));
            b.v.tensors = lists.back().data();
          } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
            b.kind = TRT_VALUE_INT_LIST;
            b.v.ints = v.data();
          } else {
            b.kind = TRT_VALUE_DOUBLE_LIST;
            b.v.doubles = v.data();
          }
        }
      },
      value.variant());
  return b;
}
inline Value unbox(const trt_value& b) {
  switch (b.kind) {
    case TRT_VALUE_TENSOR:
      return Tensor::borrow(b.v.tensor);
    case TRT_VALUE_BOOL:
      return b.v.i != 0;
    case TRT_VALUE_INT:
      return b.v.i;
    case TRT_VALUE_DOUBLE:
      return b.v.d;
    case TRT_VALUE_STRING:
      return b.v.string;
    case TRT_VALUE_DTYPE:
      return static_cast<DType>(b.v.i);
    case TRT_VALUE_DEVICE:
      return Device(b.v.device);
    case TRT_VALUE_TENSOR_LIST:
      return detail::borrow(b.v.tensors, b.count);
    case TRT_VALUE_INT_LIST:
      return std::vector<std::int64_t>(b.v.ints, b.v.ints + b.count);
    case TRT_VALUE_DOUBLE_LIST:
      return std::vector<double>(b.v.doubles, b.v.doubles + b.count);
    default:
      return {};
  }
}
}  // namespace detail_value

/** Calls an operator: call("add.Tensor", {x, y}, {{"alpha", 2}}) with positional and keyword arguments. */
inline std::vector<Value> call(const std::string& name, const std::vector<Value>& args,
                               const std::vector<std::pair<std::string, Value>>& kwargs = {}) {
  std::vector<std::vector<trt_tensor*>> lists;
  std::vector<trt_value> values;
  std::vector<const char*> names(args.size(), nullptr);
  for (const Value& v : args) values.push_back(detail_value::box(v, lists));
  for (const auto& [key, v] : kwargs) {
    names.push_back(key.c_str());
    values.push_back(detail_value::box(v, lists));
  }
  struct Results {
    trt_value* values = nullptr;
    std::size_t count = 0;
    ~Results() { trt_values_release(values, count); }
  } results;
  check(trt_op_call(name.c_str(), values.data(), names.data(), values.size(), &results.values, &results.count));
  std::vector<Value> out;
  for (std::size_t i = 0; i < results.count; ++i) out.push_back(detail_value::unbox(results.values[i]));
  return out;
}

/** The names of all operators with their overloads, sorted. */
inline std::vector<std::string> names() {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < trt_op_count(); ++i)
    if (const char* n = trt_op_name(i)) out.emplace_back(n);
  return out;
}
/** The schema of an operator in PyTorch's grammar. */
inline std::string schema(const std::string& name) {
  return detail::take_string(detail::create(trt_op_schema, name.c_str()));
}
/** The dispatch table of an operator, one line a key. */
inline std::string dump(const std::string& name) {
  return detail::take_string(detail::create(trt_dispatcher_dump, name.c_str()));
}

}  // namespace dispatcher
}  // namespace trt

#endif
