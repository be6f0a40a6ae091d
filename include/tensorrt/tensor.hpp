// Tensors in C++17, over tensor.h and autograd.h (which document behaviour and errors). Included by tensorrt.hpp.
#ifndef TENSORRT_TENSOR_HPP
#define TENSORRT_TENSOR_HPP

#include "tensorrt/base.hpp"

namespace trt {

namespace autograd {
class Node;
}

class Tensor;
namespace indexing {
class TensorIndex;
}

/** Dtype, device and requires_grad of a new tensor: trt::zeros({2, 3}, trt::kFloat64), trt::zeros({2},
 * trt::dtype(trt::kInt64).device(trt::kMeta)). */
class TensorOptions {
 public:
  constexpr TensorOptions() = default;
  constexpr TensorOptions(DType dtype) : dtype_(dtype) {}
  constexpr TensorOptions(Device device) : device_(device) {}
  constexpr TensorOptions dtype(std::optional<DType> v) const {
    TensorOptions o = *this;
    o.dtype_ = v;
    return o;
  }
  constexpr TensorOptions device(std::optional<Device> v) const {
    TensorOptions o = *this;
    o.device_ = v;
    return o;
  }
  constexpr TensorOptions requires_grad(bool v = true) const {
    TensorOptions o = *this;
    o.requires_grad_ = v;
    return o;
  }
  /** None stands for the operator's own default. */
  constexpr std::optional<DType> dtype() const { return dtype_; }
  constexpr std::optional<Device> device() const { return device_; }
  constexpr bool wants_grad() const { return requires_grad_; }

 private:
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  bool requires_grad_ = false;
};
constexpr TensorOptions dtype(DType v) { return TensorOptions(v); }
constexpr TensorOptions device(Device v) { return TensorOptions(v); }
constexpr TensorOptions requires_grad(bool v = true) { return TensorOptions().requires_grad(v); }

/** Elements by index without checks: a[i][j]. Valid as long as a handle to the tensor is alive. */
template <typename T, std::size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const std::int64_t* sizes, const std::int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  std::int64_t size(std::size_t d) const { return sizes_[d]; }
  std::int64_t stride(std::size_t d) const { return strides_[d]; }
  T* data() const { return data_; }
  decltype(auto) operator[](std::int64_t i) const {
    T* const at = data_ + i * strides_[0];
    if constexpr (N == 1)
      return (*at);
    else
      return TensorAccessor<T, N - 1>(at, sizes_ + 1, strides_ + 1);
  }

 private:
  T* data_;
  const std::int64_t *sizes_, *strides_;
};

/** A list of tensors as an argument: {a, b}, a vector or an array, whose memory it borrows. */
class TensorList {
 public:
  TensorList() = default;
  TensorList(const Tensor* data, std::size_t size) : data_(data), size_(size) {}
  inline TensorList(std::initializer_list<Tensor> list);
  inline TensorList(const std::vector<Tensor>& v);
  template <std::size_t N>
  TensorList(const std::array<Tensor, N>& a) : data_(a.data()), size_(N) {}
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Tensor* begin() const { return data_; }
  inline const Tensor* end() const;
  inline const Tensor& operator[](std::size_t i) const;
  inline std::vector<Tensor> vec() const;

 private:
  const Tensor* data_ = nullptr;
  std::size_t size_ = 0;
};

/** A tensor as an argument that may be left out: {}, std::nullopt, an empty tensor and an empty optional are none.
 * Borrows the handle. */
class OptionalTensorRef {
 public:
  constexpr OptionalTensorRef() = default;
  constexpr OptionalTensorRef(std::nullopt_t) {}
  inline OptionalTensorRef(const Tensor& t);
  inline OptionalTensorRef(const std::optional<Tensor>& t);
  /** NULL when there is none. */
  const trt_tensor* get() const { return handle_; }

 private:
  const trt_tensor* handle_ = nullptr;
};

/**
 * A tensor. Copying copies a reference, as in PyTorch; a default-constructed one is empty (defined() is false). Like a
 * pointer, a const Tensor is one that cannot be made to refer to another tensor: its elements may change.
 *
 * Assignment to a named tensor makes it refer to another one; assignment to an expression writes elements: x[0] = 1,
 * x.index({Slice(0, 2)}) = y. Comparison operators compare elements; is_same() compares references.
 */
class Tensor {
 public:
  Tensor() noexcept : handle_(nullptr) {}
  /** Takes over a handle. */
  static Tensor adopt(trt_tensor* t) {
    Tensor r;
    r.handle_ = t;
    return r;
  }
  /** Another reference to a handle that somebody else owns. */
  static Tensor borrow(const trt_tensor* t) { return adopt(trt_tensor_retain(t)); }
  Tensor(const Tensor& o) : handle_(trt_tensor_retain(o.handle_)) {}
  Tensor(Tensor&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  Tensor& operator=(const Tensor& o) & {
    Tensor copy(o);
    std::swap(handle_, copy.handle_);
    return *this;
  }
  Tensor& operator=(Tensor&& o) & noexcept {
    Tensor moved(std::move(o));
    std::swap(handle_, moved.handle_);
    return *this;
  }
  /** Copies the elements of `source`, broadcast and converted. */
  inline Tensor& operator=(const Tensor& source) &&;
  inline Tensor& operator=(Tensor&& source) &&;
  /** Fills with a number. */
  inline Tensor& operator=(Scalar value) &&;
  ~Tensor() { trt_tensor_release(handle_); }

  /** A contiguous tensor of dtype_of<U>() with a copy of `values`, row-major: Tensor::from({1.f, 2.f, 3.f, 4.f}, {2,
   * 2}). */
  template <typename U>
  static Tensor from(std::initializer_list<U> values, IntArrayRef sizes) {
    return from_counted(values.begin(), values.size(), sizes);
  }
  template <typename U>
  static Tensor from(const std::vector<U>& values, IntArrayRef sizes) {
    if constexpr (std::is_same_v<U, bool>) {
      const std::unique_ptr<bool[]> bools(new bool[values.size() + 1]);
      for (std::size_t i = 0; i < values.size(); ++i) bools[i] = values[i];
      return from_counted(bools.get(), values.size(), sizes);
    } else {
      return from_counted(values.data(), values.size(), sizes);
    }
  }
  template <typename U, std::size_t N>
  static Tensor from(const std::array<U, N>& values, IntArrayRef sizes) {
    return from_counted(values.data(), N, sizes);
  }
  /** The same with one dimension. */
  template <typename U>
  static Tensor from(std::initializer_list<U> values) {
    return from(values, IntArrayRef(values.size()));
  }
  template <typename U>
  static Tensor from(const std::vector<U>& values) {
    return from(values, IntArrayRef(values.size()));
  }
  template <typename U, std::size_t N>
  static Tensor from(const std::array<U, N>& values) {
    return from(values, IntArrayRef(N));
  }
  /** The same from memory that holds as many elements as the sizes say. */
  template <typename U>
  static Tensor from_data(const U* values, IntArrayRef sizes) {
    return from_counted(values, static_cast<std::size_t>(count(sizes)), sizes);
  }
  /** A 0-d tensor; the dtype is the number's own (bool, int64, the default dtype) when none is given. */
  static Tensor from_scalar(Scalar value, std::optional<DType> dtype = std::nullopt) {
    return adopt(
        detail::create(trt_tensor_from_scalar, value.c(), dtype ? static_cast<trt_dtype>(*dtype) : TRT_DTYPE_NONE));
  }

  /** Whether there is a tensor. */
  bool defined() const noexcept { return handle_ != nullptr; }
  /** The handle, borrowed; NULL when empty. */
  trt_tensor* get() const noexcept { return handle_; }
  /** Gives the handle to the caller. */
  trt_tensor* release() { return std::exchange(handle_, nullptr); }
  /** Whether both are references to one tensor. */
  bool is_same(const Tensor& o) const noexcept { return handle_ == o.handle_; }
  /** Whether both share one storage. */
  bool is_alias_of(const Tensor& o) const { return trt_tensor_shares_storage(handle_, o.handle_); }

  std::int64_t dim() const { return static_cast<std::int64_t>(trt_tensor_ndim(handle_)); }
  Sizes sizes() const {
    return {trt_tensor_sizes(handle_), trt_tensor_sizes(handle_) + trt_tensor_ndim(handle_)};
  }
  Sizes strides() const {
    return {trt_tensor_strides(handle_), trt_tensor_strides(handle_) + trt_tensor_ndim(handle_)};
  }
  std::int64_t size(std::int64_t d) const { return detail::create(trt_tensor_size, handle_, d); }
  std::int64_t numel() const { return trt_tensor_numel(handle_); }
  DType dtype() const { return static_cast<DType>(trt_tensor_dtype(handle_)); }
  DType scalar_type() const { return dtype(); }
  Device device() const { return Device(trt_tensor_device(handle_)); }
  TensorOptions options() const { return TensorOptions(dtype()).device(device()); }
  bool is_floating_point() const {
    const DType d = dtype();
    return d == DType::Float32 || d == DType::Float64 || d == DType::Float16 || d == DType::BFloat16;
  }
  bool is_contiguous() const { return trt_tensor_is_contiguous(handle_); }
  std::int64_t storage_offset() const { return trt_tensor_storage_offset(handle_); }
  /** How often tensors of its storage were changed in place. */
  std::uint32_t version() const { return trt_tensor_version(handle_); }

  /** The first element. */
  void* data() const { return trt_tensor_data(handle_); }
  /** The same as a pointer to U, which must be the type of the elements (std::uint16_t for the 16-bit floating dtypes).
   */
  template <typename U>
  U* data_ptr() const {
    using V = std::remove_const_t<U>;
    const DType d = dtype();
    const bool bits = std::is_same_v<V, std::uint16_t> && (d == DType::Float16 || d == DType::BFloat16);
    if (!bits && (d != dtype_of<V>() || !detail::same_layout<V>()))
      throw Error(TRT_INVALID_ARGUMENT, std::string("data_ptr: the tensor's elements are ") + name_of(d) +
                                            ", the pointer's are of another type");
    return static_cast<U*>(data());
  }
  template <typename U, std::size_t N>
  TensorAccessor<U, N> accessor() && = delete;
  /** Elements by index: auto a = x.accessor<float, 2>(); a[i][j] = 1; Not of a temporary, whose sizes and elements go with it. */
  template <typename U, std::size_t N>
  TensorAccessor<U, N> accessor() const& {
    if (trt_tensor_ndim(handle_) != N)
      throw Error(TRT_INVALID_ARGUMENT, "accessor: the tensor has " + std::to_string(dim()) +
                                            " dimensions, the accessor " + std::to_string(N));
    return {data_ptr<U>(), trt_tensor_sizes(handle_), trt_tensor_strides(handle_)};
  }
  /** The only element, with its kind. */
  Scalar item() const { return Scalar(detail::create(trt_tensor_item, handle_)); }
  /** The only element as U; an integer that U cannot hold is TRT_OUT_OF_RANGE. */
  template <typename U>
  U item() const {
    if constexpr (std::is_same_v<U, double>)
      return detail::create(trt_tensor_item_double, handle_);
    else if constexpr (std::is_same_v<U, std::int64_t>)
      return detail::create(trt_tensor_item_int, handle_);
    else
      return item().to<U>();
  }
  /** All elements, row-major, converted to U. */
  template <typename U>
  std::vector<U> to_vector() const {
    using E = detail::element_t<U>;
    const std::size_t n = static_cast<std::size_t>(numel());
    const std::unique_ptr<E[]> elements(std::is_same_v<E, U> && !std::is_same_v<U, bool> ? nullptr : new E[n + 1]);
    std::vector<U> v(n);
    E* to = elements.get();
    if constexpr (std::is_same_v<E, U> && !std::is_same_v<U, bool>) to = v.data();
    check(trt_tensor_copy_to_host(handle_, to, static_cast<trt_dtype>(dtype_of<U>()), numel()));
    if (elements)
      for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<U>(elements[i]);
    return v;
  }
  /** As PyTorch prints it. */
  std::string to_string() const { return detail::take_string(detail::create(trt_tensor_to_string, handle_)); }

  bool requires_grad() const { return trt_tensor_requires_grad(handle_); }
  const Tensor& set_requires_grad(bool v = true) const {
    check(trt_tensor_set_requires_grad(handle_, v));
    return *this;
  }
  const Tensor& requires_grad_(bool v = true) const { return set_requires_grad(v); }
  bool is_leaf() const { return trt_tensor_is_leaf(handle_); }
  /** "AddBackward0"; "" for a leaf. */
  std::string grad_fn_name() const { return detail::take_string(detail::create(trt_tensor_grad_fn_name, handle_)); }
  /** The node that made the tensor; empty for a leaf. */
  inline autograd::Node grad_fn() const;
  /** Gradients of this tensor, accumulated in the leaves, or only in `inputs`. `gradient` may be left out where there
   * is one element. */
  void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false,
                TensorList inputs = {}) const;
  /** The accumulated gradient; empty when there is none. */
  Tensor grad() const { return adopt(detail::create(trt_tensor_grad, handle_)); }
  /** Sets the gradient: of the same shape, dtype and device, and not one that keeps this tensor alive. */
  void set_grad(const Tensor& g) const { check(trt_tensor_set_grad(handle_, g.handle_)); }
  /** Drops the gradient. */
  void zero_grad() const { check(trt_tensor_set_grad(handle_, nullptr)); }
  void retain_grad() const { check(trt_tensor_retain_grad(handle_)); }
  bool retains_grad() const { return trt_tensor_retains_grad(handle_); }
  Tensor detach() const { return adopt(detail::create(trt_tensor_detach, handle_)); }
  /** Drops the history of the tensor itself, for every handle to it; not for views. */
  const Tensor& detach_() const {
    check(trt_tensor_detach_(handle_));
    return *this;
  }
  /** Takes the memory, sizes and dtype of `data`, for every handle to this tensor; gradient and hooks stay. */
  void set_data(const Tensor& data) const { check(trt_tensor_set_data(handle_, data.handle_)); }
  /**
   * Calls `fn(gradient)` in every backward pass. What it returns, if anything, replaces the gradient (an empty tensor
   * does not); what it throws reaches the caller of backward. Gives a number for remove_hook.
   */
  template <typename F>
  std::uint64_t register_hook(F fn) const {
    const auto call = [](const trt_tensor* g, trt_tensor** out, void* user_data) {
      return detail::guarded([&] {
        F& f = *static_cast<F*>(user_data);
        if constexpr (std::is_void_v<std::invoke_result_t<F&, Tensor>>) {
          f(borrow(g));
        } else {
          Tensor replacement = f(borrow(g));
          if (replacement.defined()) *out = replacement.release();
        }
      });
    };
    std::uint64_t id = 0;
    check(trt_tensor_add_hook(handle_, call, new F(std::move(fn)), detail::destroy<F>, &id));
    return id;
  }
  void remove_hook(std::uint64_t id) const { check(trt_tensor_remove_hook(handle_, id)); }

  /** The part at position i of the first dimension: a view. */
  inline Tensor operator[](std::int64_t i) const;
  /** The parts that an integer tensor names, or the elements where a mask is true: a copy. */
  inline Tensor operator[](const Tensor& i) const;
  /** No position is a fraction or a bool. */
  template <typename T, std::enable_if_t<std::is_floating_point_v<T> || std::is_same_v<T, bool>, int> = 0>
  Tensor operator[](T) const = delete;
  /** As x[...] in Python: x.index({0, Slice(1, None), None, "...", mask}). Without tensors it is a view. */
  inline Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  inline Tensor index(const std::vector<indexing::TensorIndex>& indices) const;
  /** As x[...] = value in Python. */
  inline const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value) const;
  inline const Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, Scalar value) const;
  inline const Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices, const Tensor& value) const;
  inline const Tensor& index_put_(const std::vector<indexing::TensorIndex>& indices, Scalar value) const;
  /** Converts to the dtype and device of the options. */
  inline Tensor to(const TensorOptions& o) const;
  /** Converts to the dtype and device of another tensor. */
  inline Tensor to(const Tensor& other) const;

  /** Of all elements, computed in a dtype and given in it: x.sum(kFloat64). */
  template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
  Tensor sum(T dtype) const {
    return sum({}, false, dtype);
  }
  template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
  Tensor nansum(T dtype) const {
    return nansum({}, false, dtype);
  }
  template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
  Tensor mean(T dtype) const {
    return mean({}, false, dtype);
  }
  template <typename T, std::enable_if_t<std::is_same_v<T, DType>, int> = 0>
  Tensor nanmean(T dtype) const {
    return nanmean({}, false, dtype);
  }

// The operators.
#include "tensorrt/tensor_methods.inc"

 private:
  static std::int64_t count(IntArrayRef sizes) {
    std::int64_t n = 1;
    for (const std::int64_t s : sizes)
      n = s >= 0 && (s == 0 || n <= std::numeric_limits<std::int64_t>::max() / s) ? n * s : -1;
    if (n < 0) throw Error(TRT_INVALID_ARGUMENT, "Tensor::from: a size is negative, or the sizes are too large");
    return n;
  }
  template <typename U>
  static Tensor from_counted(const U* values, std::size_t number, IntArrayRef sizes) {
    const std::int64_t n = count(sizes);
    if (n != static_cast<std::int64_t>(number))
      throw Error(TRT_INVALID_ARGUMENT,
                  "Tensor::from: the sizes do not give the number of values, " + std::to_string(number));
    trt_tensor* t = nullptr;
    if constexpr (detail::same_layout<U>()) {
      if constexpr (std::is_unsigned_v<U> && sizeof(U) == 8)
        for (std::size_t i = 0; i < number; ++i) detail::check_range(values[i]);
      check(trt_tensor_from_data(values, sizes.data(), sizes.size(), static_cast<trt_dtype>(dtype_of<U>()), &t));
    } else {
      std::vector<detail::element_t<U>> converted;
      converted.reserve(number);
      for (std::size_t i = 0; i < number; ++i) converted.push_back(static_cast<detail::element_t<U>>(values[i]));
      check(trt_tensor_from_data(converted.data(), sizes.data(), sizes.size(), static_cast<trt_dtype>(dtype_of<U>()),
                                 &t));
    }
    return adopt(t);
  }
  trt_tensor* handle_;
};

inline TensorList::TensorList(std::initializer_list<Tensor> list) : size_(list.size()) { data_ = list.begin(); }
inline TensorList::TensorList(const std::vector<Tensor>& v) : data_(v.data()), size_(v.size()) {}
inline const Tensor* TensorList::end() const { return data_ + size_; }
inline const Tensor& TensorList::operator[](std::size_t i) const { return data_[i]; }
inline std::vector<Tensor> TensorList::vec() const { return std::vector<Tensor>(begin(), end()); }
inline OptionalTensorRef::OptionalTensorRef(const Tensor& t) : handle_(t.get()) {}
inline OptionalTensorRef::OptionalTensorRef(const std::optional<Tensor>& t) : handle_(t ? t->get() : nullptr) {}

inline std::ostream& operator<<(std::ostream& out, const Tensor& t) {
  return t.defined() ? out << t.to_string() : out << "[ Tensor (undefined) ]";
}

namespace detail {
inline std::vector<const trt_tensor*> handles(TensorList list) {
  std::vector<const trt_tensor*> out;
  out.reserve(list.size());
  for (const Tensor& t : list) out.push_back(t.get());
  return out;
}
/** Takes over a list. */
inline std::vector<Tensor> take(trt_tensor_list* list) {
  const std::unique_ptr<trt_tensor_list, void (*)(trt_tensor_list*)> owner(list, trt_tensor_list_release);
  const trt_tensor* const* const tensors = trt_tensor_list_data(list);
  std::vector<Tensor> out;
  out.reserve(trt_tensor_list_size(list));
  for (std::size_t i = 0; i < trt_tensor_list_size(list); ++i) out.push_back(Tensor::borrow(tensors[i]));
  return out;
}
/** Gives tensors to a callback's outputs, of which there are `count`. */
inline void give(std::vector<Tensor>&& tensors, trt_tensor** out, std::size_t count) {
  if (tensors.size() != count)
    throw Error(TRT_CALLBACK,
                "the callback gave " + std::to_string(tensors.size()) + " tensors instead of " + std::to_string(count));
  for (std::size_t i = 0; i < count; ++i) out[i] = tensors[i].release();
}
inline std::vector<Tensor> borrow(const trt_tensor* const* tensors, std::size_t count) {
  std::vector<Tensor> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.push_back(Tensor::borrow(tensors[i]));
  return out;
}
inline Tensor with_grad(Tensor t, const TensorOptions& o) {
  if (o.wants_grad()) t.set_requires_grad();
  return t;
}
}  // namespace detail

/**
 * A tensor on the host's own memory, without copying; float32 unless the options name a dtype. The memory must stay
 * valid until `deleter(data)` runs, once, when the last tensor on it is gone. `strides` in elements; row-major without.
 */
inline Tensor from_blob(void* data, IntArrayRef sizes, OptionalIntArrayRef strides, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
  struct Owner {
    std::function<void(void*)> deleter;
    void* data;
  };
  if (strides.has_value() && strides.size() != sizes.size())
    throw Error(TRT_INVALID_ARGUMENT, "from_blob: " + std::to_string(sizes.size()) + " sizes, but " +
                                          std::to_string(strides.size()) + " strides");
  std::unique_ptr<Owner> owner(deleter ? new Owner{std::move(deleter), data} : nullptr);
  const auto destroy = [](void* p) {
    const std::unique_ptr<Owner> o(static_cast<Owner*>(p));
    o->deleter(o->data);
  };
  trt_tensor* t = nullptr;
  check(trt_tensor_from_blob(data, sizes.data(), strides.data(), sizes.size(),
                             static_cast<trt_dtype>(options.dtype().value_or(DType::Float32)),
                             options.device().value_or(Device()).c(), owner ? +destroy : nullptr, owner.get(), &t));
  owner.release();
  return detail::with_grad(Tensor::adopt(t), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  return from_blob(data, sizes, {}, {}, options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                        const TensorOptions& options = {}) {
  return from_blob(data, sizes, {}, std::move(deleter), options);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  return from_blob(data, sizes, OptionalIntArrayRef(strides), {}, options);
}

}  // namespace trt

#endif
