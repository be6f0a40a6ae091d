// Between the typed and the boxed calling convention: the conversions of single arguments and the two adaptors that the
// generated tables use for every operator (one template instance per signature).
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "dispatch/operator.h"

namespace trt::boxing {

// Typed argument from a stack value. The value outlives the call, so references and views into it are sound.
template <typename T>
struct From;
template <>
struct From<const Tensor&> {
  static Tensor undefined_tensor;
  static const Tensor& get(Value& v) { return v.is_none() ? undefined_tensor : v.get<Tensor>(); }
};
inline Tensor From<const Tensor&>::undefined_tensor;
template <>
struct From<Tensor&> {
  static Tensor& get(Value& v) { return v.get<Tensor>(); }
};
template <>
struct From<TensorList> {
  static TensorList get(Value& v) { return v.get<std::vector<Tensor>>(); }
};
template <>
struct From<IntArrayRef> {
  static IntArrayRef get(Value& v) { return v.get<std::vector<int64_t>>(); }
};
template <>
struct From<ArrayRef<double>> {
  static ArrayRef<double> get(Value& v) { return v.get<std::vector<double>>(); }
};
template <>
struct From<const Scalar&> {
  static Scalar get(Value& v) { return v.get<Scalar>(); }
};
template <>
struct From<std::string_view> {
  static std::string_view get(Value& v) { return v.get<std::string>(); }
};
template <>
struct From<GeneratorImpl*> {
  static GeneratorImpl* get(Value& v) { return v.is_none() ? nullptr : v.get<intrusive_ptr<GeneratorImpl>>().get(); }
};
template <typename T>
  requires(std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, bool> || std::is_same_v<T, DType> ||
           std::is_same_v<T, Device>)
struct From<T> {
  static T get(Value& v) { return v.get<T>(); }
};
template <typename T>
struct From<std::optional<T>> {
  static std::optional<T> get(Value& v) {
    if (v.is_none()) return std::nullopt;
    return From<T>::get(v);
  }
};
template <>
struct From<const std::optional<Scalar>&> {
  static std::optional<Scalar> get(Value& v) {
    if (v.is_none()) return std::nullopt;
    return v.get<Scalar>();
  }
};

// Stack value from a typed argument.
inline Value to_value(const Tensor& t) { return t.defined() ? Value(t) : Value(); }
inline Value to_value(TensorList l) { return Value(l.vec()); }
inline Value to_value(IntArrayRef l) { return Value(l.vec()); }
inline Value to_value(ArrayRef<double> l) { return Value(l.vec()); }
inline Value to_value(std::string_view s) { return Value(std::string(s)); }
inline Value to_value(const std::vector<Tensor>& l) { return Value(l); }
inline Value to_value(GeneratorImpl* g) { return g ? Value(intrusive_ptr<GeneratorImpl>(g)) : Value(); }
inline Value to_value(const Scalar& s) { return Value(s); }
template <typename T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, Device>)
Value to_value(T v) {
  return Value(v);
}
template <typename T>
Value to_value(const std::optional<T>& v) {
  return v ? to_value(*v) : Value();
}

template <typename R>
struct Results {
  static R pop(Stack& s) { return std::move(s.at(0).template get<R>()); }
  static void push(Stack& s, R r) { s.push_back(to_value(r)); }
};
template <typename... T>
struct Results<std::tuple<T...>> {
  template <size_t... I>
  static std::tuple<T...> pop_at(Stack& s, std::index_sequence<I...>) {
    return {std::move(s.at(I).template get<T>())...};
  }
  static std::tuple<T...> pop(Stack& s) { return pop_at(s, std::index_sequence_for<T...>()); }
  static void push(Stack& s, std::tuple<T...> r) {
    std::apply([&](auto&... v) { (s.push_back(to_value(v)), ...); }, r);
  }
};

// The results of an out variant with several outputs.
template <typename R>
inline constexpr size_t kRefTupleSize = 0;
template <typename... T>
  requires(sizeof...(T) > 0 && (std::is_same_v<T, Tensor&> && ...))
inline constexpr size_t kRefTupleSize<std::tuple<T...>> = sizeof...(T);

template <typename... A, size_t... I>
TRT_INLINE decltype(auto) apply_stack(auto* fn, Stack& s, std::index_sequence<I...>) {
  return fn(From<A>::get(s[I])...);
}

// Unboxes the stack, calls fn, leaves the results on the stack.
template <typename R, typename... A>
void call_from_stack(R (*fn)(A...), Stack& s) {
  TRT_INTERNAL(s.size() == sizeof...(A), "argument count of a boxed call");
  if constexpr (std::is_reference_v<R>) {
    Tensor r = apply_stack<A...>(fn, s, std::index_sequence_for<A...>());
    s.clear();
    s.push_back(Value(std::move(r)));
  } else if constexpr (kRefTupleSize<R> > 0) {
    // The references point into the stack: they become references of their own before it is cleared.
    std::apply([&](auto&... t) {
      Stack results;
      (results.push_back(Value(Tensor(t))), ...);
      s = std::move(results);
    }, apply_stack<A...>(fn, s, std::index_sequence_for<A...>()));
  } else if constexpr (std::is_void_v<R>) {
    apply_stack<A...>(fn, s, std::index_sequence_for<A...>());
    s.clear();
  } else {
    R r = apply_stack<A...>(fn, s, std::index_sequence_for<A...>());
    s.clear();
    Results<R>::push(s, std::move(r));
  }
}

// The boxing thunk of a signature: what an unfilled slot runs.
template <typename R, typename... A>
struct Thunk {
  static R run(Call call, A... args) {
    Stack s;
    s.reserve(sizeof...(A));
    (s.push_back(to_value(args)), ...);
    run_boxed(call, s);
    if constexpr (std::is_reference_v<R>) {
      // In-place and out variants return the argument they changed: the only Tensor& among the arguments.
      Tensor* changed = nullptr;
      auto pick = [&]<typename T>(T& a) {
        if constexpr (std::is_same_v<T, Tensor>) changed = &a;
      };
      (pick(args), ...);
      return *changed;
    } else if constexpr (kRefTupleSize<R> > 0) {
      std::array<Tensor*, kRefTupleSize<R>> changed{};
      size_t n = 0;
      auto pick = [&]<typename T>(T& a) {
        if constexpr (std::is_same_v<T, Tensor>) changed[n++] = &a;
      };
      (pick(args), ...);
      return [&]<size_t... I>(std::index_sequence<I...>) { return R(*changed[I]...); }(std::make_index_sequence<kRefTupleSize<R>>());
    } else if constexpr (!std::is_void_v<R>) {
      return Results<R>::pop(s);
    }
  }
};
template <typename R, typename... A>
AnyFn thunk_of(R (*)(A...)) {
  return reinterpret_cast<AnyFn>(&Thunk<R, A...>::run);
}

}  // namespace trt::boxing
