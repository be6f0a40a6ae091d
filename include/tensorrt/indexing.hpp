// x[i], x.index({...}) and the operators of expressions, over ops.hpp. Included by tensorrt.hpp.
#ifndef TENSORRT_INDEXING_HPP
#define TENSORRT_INDEXING_HPP

#include "tensorrt/ops.hpp"

namespace trt {

/** What stands between the brackets of Python's x[...]. */
namespace indexing {

/** A new dimension of size one; as a bound of a Slice, no bound. */
inline constexpr std::nullopt_t None = std::nullopt;
/** As many full slices as there are dimensions left. */
struct EllipsisType {};
inline constexpr EllipsisType Ellipsis{};

/** start:stop:step. */
class Slice {
 public:
  constexpr Slice(std::optional<std::int64_t> start = std::nullopt, std::optional<std::int64_t> stop = std::nullopt,
                  std::optional<std::int64_t> step = std::nullopt)
      : start_(start), stop_(stop), step_(step.value_or(1)) {}
  constexpr std::optional<std::int64_t> start() const { return start_; }
  constexpr std::optional<std::int64_t> stop() const { return stop_; }
  constexpr std::int64_t step() const { return step_; }

 private:
  std::optional<std::int64_t> start_, stop_;
  std::int64_t step_;
};

/** One index: a number, a bool, a Slice, None, Ellipsis (or "..."), a tensor of integers, or a mask. */
class TensorIndex {
 public:
  enum class Kind { kNone, kEllipsis, kInteger, kBoolean, kSlice, kTensor };
  TensorIndex(std::nullopt_t) : kind_(Kind::kNone) {}
  TensorIndex(EllipsisType) : kind_(Kind::kEllipsis) {}
  TensorIndex(const char* text) : kind_(Kind::kEllipsis) {
    if (!text || std::string(text) != "...")
      throw Error(TRT_INVALID_ARGUMENT, "index: the only text that is an index is \"...\"");
  }
  template <typename T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  TensorIndex(T value)
      : kind_(std::is_same_v<T, bool> ? Kind::kBoolean : Kind::kInteger), integer_(static_cast<std::int64_t>(value)) {
    detail::check_range(value);
  }
  TensorIndex(const indexing::Slice& slice) : kind_(Kind::kSlice), slice_(slice) {}
  TensorIndex(const trt::Tensor& tensor) : kind_(tensor.defined() ? Kind::kTensor : Kind::kSlice), tensor_(tensor) {}
  Kind kind() const { return kind_; }
  std::int64_t integer() const { return integer_; }
  const indexing::Slice& slice() const { return slice_; }
  const trt::Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  indexing::Slice slice_;
  trt::Tensor tensor_;
};

}  // namespace indexing

namespace detail {

/** The view that numbers, slices, None and Ellipsis make, and what remains to be indexed by tensors (an empty one
 * stands for a full slice). */
struct Indexed {
  Tensor view;
  std::vector<Tensor> indices;
  bool by_tensors = false;
};

inline bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

template <typename List>
Indexed apply_index(const Tensor& self, const List& list) {
  using Kind = indexing::TensorIndex::Kind;
  std::int64_t used = 0;
  int ellipses = 0;
  for (const indexing::TensorIndex& i : list) {
    const Kind k = i.kind();
    used += k == Kind::kInteger || k == Kind::kSlice ? 1
            : k == Kind::kTensor                     ? (is_mask(i.tensor()) ? i.tensor().dim() : 1)
                                                     : 0;
    ellipses += k == Kind::kEllipsis;
  }
  if (ellipses > 1) throw Error(TRT_INVALID_ARGUMENT, "index: there may be only one ellipsis");
  if (used > self.dim())
    throw Error(TRT_OUT_OF_RANGE, "index: " + std::to_string(used) + " dimensions are indexed, the tensor has " +
                                      std::to_string(self.dim()));
  Indexed r{self, {}, false};
  std::int64_t dim = 0;
  const auto by_tensor = [&](const Tensor& t, std::int64_t dims) {
    r.indices.push_back(t);
    r.by_tensors = true;
    dim += dims;
  };
  const auto keep = [&](std::int64_t dims) {
    r.indices.resize(r.indices.size() + static_cast<std::size_t>(dims));
    dim += dims;
  };
  for (const indexing::TensorIndex& i : list) switch (i.kind()) {
      case Kind::kInteger:
        r.view = trt::select(r.view, dim, i.integer());
        break;
      case Kind::kNone:
        r.view = trt::unsqueeze(r.view, dim);
        keep(1);
        break;
      case Kind::kEllipsis:
        keep(self.dim() - used);
        break;
      case Kind::kSlice:
        if (i.slice().start() || i.slice().stop() || i.slice().step() != 1)
          r.view = trt::slice(r.view, dim, i.slice().start(), i.slice().stop(), i.slice().step());
        keep(1);
        break;
      case Kind::kBoolean:
        r.view = trt::unsqueeze(r.view, dim);
        by_tensor(trt::zeros({i.integer()}, DType::Int64), 1);
        break;
      case Kind::kTensor:
        if (is_mask(i.tensor()) && i.tensor().dim() == 0) {
          r.view = trt::unsqueeze(r.view, dim);
          by_tensor(trt::zeros({i.tensor().item<bool>() ? 1 : 0}, DType::Int64), 1);
        } else {
          by_tensor(i.tensor(), is_mask(i.tensor()) ? i.tensor().dim() : 1);
        }
        break;
    }
  return r;
}

template <typename List>
Tensor index(const Tensor& self, const List& list) {
  const Indexed r = apply_index(self, list);
  return r.by_tensors ? trt::index(r.view, r.indices) : r.view.is_same(self) ? trt::expand(self, self.sizes()) : r.view;
}
template <typename List>
void index_put(const Tensor& self, const List& list, const Tensor& value) {
  const Indexed r = apply_index(self, list);
  // As in NumPy, leading dimensions of size one of the value do not count.
  Tensor v = value.dtype() == self.dtype() ? value : trt::to(value, self.dtype());
  while (v.dim() > r.view.dim() && v.size(0) == 1 && !r.by_tensors) v = trt::squeeze(v, 0);
  if (r.by_tensors)
    trt::index_put_(r.view, r.indices, v);
  else
    trt::copy_(r.view, v);
}
inline Tensor number_like(const Tensor& self, Scalar value) { return Tensor::from_scalar(value, self.dtype()); }

}  // namespace detail

/** Of all elements, computed in a dtype and given in it. */
template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
Tensor sum(const Tensor& self, T dtype) {
  return self.sum(dtype);
}
template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
Tensor nansum(const Tensor& self, T dtype) {
  return self.nansum(dtype);
}
template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
Tensor mean(const Tensor& self, T dtype) {
  return self.mean(dtype);
}
template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
Tensor nanmean(const Tensor& self, T dtype) {
  return self.nanmean(dtype);
}

inline Tensor Tensor::operator[](std::int64_t i) const { return trt::select(*this, 0, i); }
inline Tensor Tensor::operator[](const Tensor& i) const { return index({i}); }
inline Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return detail::index(*this, indices);
}
inline Tensor Tensor::index(const std::vector<indexing::TensorIndex>& indices) const {
  return detail::index(*this, indices);
}
inline const Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices,
                                        const Tensor& value) const {
  detail::index_put(*this, indices, value);
  return *this;
}
inline const Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, Scalar value) const {
  detail::index_put(*this, indices, detail::number_like(*this, value));
  return *this;
}
inline const Tensor& Tensor::index_put_(const std::vector<indexing::TensorIndex>& indices, const Tensor& value) const {
  detail::index_put(*this, indices, value);
  return *this;
}
inline const Tensor& Tensor::index_put_(const std::vector<indexing::TensorIndex>& indices, Scalar value) const {
  detail::index_put(*this, indices, detail::number_like(*this, value));
  return *this;
}
inline Tensor& Tensor::operator=(const Tensor& source) && {
  trt::copy_(*this, source);
  return *this;
}
inline Tensor& Tensor::operator=(Tensor&& source) && {
  trt::copy_(*this, source);
  return *this;
}
inline Tensor& Tensor::operator=(Scalar value) && {
  trt::fill_(*this, value);
  return *this;
}
inline Tensor Tensor::to(const TensorOptions& o) const {
  return o.device() ? trt::to(*this, *o.device(), o.dtype()) : o.dtype() ? trt::to(*this, *o.dtype()) : *this;
}
inline Tensor Tensor::to(const Tensor& other) const { return trt::to(*this, other.device(), other.dtype()); }

// The operators of expressions: elementwise, broadcast, with numbers on either side.
inline Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
inline Tensor operator+(const Tensor& a, Scalar b) { return add(a, b); }
inline Tensor operator+(Scalar a, const Tensor& b) { return add(b, a); }
inline Tensor operator-(const Tensor& a, const Tensor& b) { return sub(a, b); }
inline Tensor operator-(const Tensor& a, Scalar b) { return sub(a, b); }
inline Tensor operator-(Scalar a, const Tensor& b) { return rsub(b, a); }
inline Tensor operator*(const Tensor& a, const Tensor& b) { return mul(a, b); }
inline Tensor operator*(const Tensor& a, Scalar b) { return mul(a, b); }
inline Tensor operator*(Scalar a, const Tensor& b) { return mul(b, a); }
inline Tensor operator/(const Tensor& a, const Tensor& b) { return div(a, b); }
inline Tensor operator/(const Tensor& a, Scalar b) { return div(a, b); }
inline Tensor operator/(Scalar a, const Tensor& b) { return mul(reciprocal(b), a); }
inline Tensor operator%(const Tensor& a, const Tensor& b) { return remainder(a, b); }
inline Tensor operator%(const Tensor& a, Scalar b) { return remainder(a, b); }
inline Tensor operator%(Scalar a, const Tensor& b) { return remainder(detail::number_like(b, a), b); }
inline Tensor operator&(const Tensor& a, const Tensor& b) { return bitwise_and(a, b); }
inline Tensor operator&(const Tensor& a, Scalar b) { return bitwise_and(a, b); }
inline Tensor operator&(Scalar a, const Tensor& b) { return bitwise_and(b, a); }
inline Tensor operator|(const Tensor& a, const Tensor& b) { return bitwise_or(a, b); }
inline Tensor operator|(const Tensor& a, Scalar b) { return bitwise_or(a, b); }
inline Tensor operator|(Scalar a, const Tensor& b) { return bitwise_or(b, a); }
inline Tensor operator^(const Tensor& a, const Tensor& b) { return bitwise_xor(a, b); }
inline Tensor operator^(const Tensor& a, Scalar b) { return bitwise_xor(a, b); }
inline Tensor operator^(Scalar a, const Tensor& b) { return bitwise_xor(b, a); }
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator+(const Tensor& a) { return a; }
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }
/** Elementwise logical not. Whether there is a tensor is asked with defined(). */
inline Tensor operator!(const Tensor& a) { return logical_not(a); }

inline Tensor operator==(const Tensor& a, const Tensor& b) { return eq(a, b); }
inline Tensor operator==(const Tensor& a, Scalar b) { return eq(a, b); }
inline Tensor operator==(Scalar a, const Tensor& b) { return eq(b, a); }
inline Tensor operator!=(const Tensor& a, const Tensor& b) { return ne(a, b); }
inline Tensor operator!=(const Tensor& a, Scalar b) { return ne(a, b); }
inline Tensor operator!=(Scalar a, const Tensor& b) { return ne(b, a); }
inline Tensor operator<(const Tensor& a, const Tensor& b) { return lt(a, b); }
inline Tensor operator<(const Tensor& a, Scalar b) { return lt(a, b); }
inline Tensor operator<(Scalar a, const Tensor& b) { return gt(b, a); }
inline Tensor operator<=(const Tensor& a, const Tensor& b) { return le(a, b); }
inline Tensor operator<=(const Tensor& a, Scalar b) { return le(a, b); }
inline Tensor operator<=(Scalar a, const Tensor& b) { return ge(b, a); }
inline Tensor operator>(const Tensor& a, const Tensor& b) { return gt(a, b); }
inline Tensor operator>(const Tensor& a, Scalar b) { return gt(a, b); }
inline Tensor operator>(Scalar a, const Tensor& b) { return lt(b, a); }
inline Tensor operator>=(const Tensor& a, const Tensor& b) { return ge(a, b); }
inline Tensor operator>=(const Tensor& a, Scalar b) { return ge(a, b); }
inline Tensor operator>=(Scalar a, const Tensor& b) { return le(b, a); }

// In place; the left side may be an expression: x[0] += 1.
inline const Tensor& operator+=(const Tensor& a, const Tensor& b) { return add_(a, b); }
inline const Tensor& operator+=(const Tensor& a, Scalar b) { return add_(a, b); }
inline const Tensor& operator-=(const Tensor& a, const Tensor& b) { return sub_(a, b); }
inline const Tensor& operator-=(const Tensor& a, Scalar b) { return sub_(a, b); }
inline const Tensor& operator*=(const Tensor& a, const Tensor& b) { return mul_(a, b); }
inline const Tensor& operator*=(const Tensor& a, Scalar b) { return mul_(a, b); }
inline const Tensor& operator/=(const Tensor& a, const Tensor& b) { return div_(a, b); }
inline const Tensor& operator/=(const Tensor& a, Scalar b) { return div_(a, b); }
inline const Tensor& operator%=(const Tensor& a, const Tensor& b) { return remainder_(a, b); }
inline const Tensor& operator%=(const Tensor& a, Scalar b) { return remainder_(a, b); }
inline const Tensor& operator&=(const Tensor& a, const Tensor& b) { return bitwise_and_(a, b); }
inline const Tensor& operator&=(const Tensor& a, Scalar b) { return bitwise_and_(a, b); }
inline const Tensor& operator|=(const Tensor& a, const Tensor& b) { return bitwise_or_(a, b); }
inline const Tensor& operator|=(const Tensor& a, Scalar b) { return bitwise_or_(a, b); }
inline const Tensor& operator^=(const Tensor& a, const Tensor& b) { return bitwise_xor_(a, b); }
inline const Tensor& operator^=(const Tensor& a, Scalar b) { return bitwise_xor_(a, b); }

namespace detail {
inline Tensor tensor_of(const Tensor& t, const TensorOptions& o) {
  const DType d = t.is_floating_point() ? get_default_dtype() : t.dtype() == DType::Bool ? DType::Bool : DType::Int64;
  return with_grad(t.to(TensorOptions(o).dtype(o.dtype().value_or(d))), o);
}
template <typename U>
constexpr bool is_element = std::is_arithmetic_v<U>;
template <typename U>
Tensor rows(std::vector<Tensor> r) {
  return r.empty() ? zeros({0, 0}, dtype_of<U>()) : stack(r);
}
}  // namespace detail

/**
 * A tensor of numbers, nested as deep as three lists: trt::tensor(1.5), trt::tensor({1, 2}), trt::tensor({{1., 2.},
 * {3., 4.}}, trt::kFloat64). Without a dtype in the options: the default dtype, int64 or bool. All lists of a level
 * have one length.
 */
template <typename U, std::enable_if_t<detail::is_element<U>, int> = 0>
Tensor tensor(U value, const TensorOptions& options = {}) {
  return detail::tensor_of(Tensor::from({value}, IntArrayRef()), options);
}
template <typename U, std::enable_if_t<detail::is_element<U>, int> = 0>
Tensor tensor(std::initializer_list<U> values, const TensorOptions& options = {}) {
  return detail::tensor_of(Tensor::from(values), options);
}
template <typename U, std::enable_if_t<detail::is_element<U>, int> = 0>
Tensor tensor(std::initializer_list<std::initializer_list<U>> values, const TensorOptions& options = {}) {
  std::vector<Tensor> r;
  for (const auto& v : values) r.push_back(Tensor::from(v));
  return detail::tensor_of(detail::rows<U>(std::move(r)), options);
}
template <typename U, std::enable_if_t<detail::is_element<U>, int> = 0>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<U>>> values,
              const TensorOptions& options = {}) {
  std::vector<Tensor> r;
  for (const auto& v : values) {
    std::vector<Tensor> inner;
    for (const auto& w : v) inner.push_back(Tensor::from(w));
    r.push_back(detail::rows<U>(std::move(inner)));
  }
  return detail::tensor_of(detail::rows<U>(std::move(r)), options);
}
template <typename U>
Tensor tensor(const std::vector<U>& values, const TensorOptions& options = {}) {
  return detail::tensor_of(Tensor::from(values), options);
}

}  // namespace trt

#endif
