// intrusive_ptr<T>: an owning pointer to an object that carries its own count. T derives from RefCounted<T>.
//
// RefCounted starts at one reference: make_intrusive and intrusive_ptr::adopt take it over. `static void destroy(T*)` of T is
// called when the last reference goes; by default it deletes. A T to which there are weak references (try_retain) has a member
// `static constexpr bool kWeakReferences = true`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/macros.h"

namespace trt {

template <typename T>
class RefCounted {
 public:
  void retain() const noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() const noexcept {
    constexpr bool kHasWeak = requires { T::kWeakReferences; };
    // A count of one means that nobody else can retain it concurrently, so the atomic decrement can be skipped; but not where
    // try_retain() may be asked at the same time, which has to see the zero.
    if ((!kHasWeak && refs_.load(std::memory_order_acquire) == 1) || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
      T::destroy(const_cast<T*>(static_cast<const T*>(this)));
  }
  uint32_t use_count() const noexcept { return refs_.load(std::memory_order_acquire); }
  // For weak references kept under a lock of their own: takes a reference unless the count is already zero.
  bool try_retain() const noexcept {
    static_assert(T::kWeakReferences);
    uint32_t n = refs_.load(std::memory_order_relaxed);
    while (n != 0)
      if (refs_.compare_exchange_weak(n, n + 1, std::memory_order_acq_rel)) return true;
    return false;
  }
  static void destroy(T* self) { delete self; }

 protected:
  RefCounted() = default;
  ~RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

 private:
  mutable std::atomic<uint32_t> refs_{1};
};

template <typename T>
class intrusive_ptr {
 public:
  intrusive_ptr() noexcept = default;
  intrusive_ptr(std::nullptr_t) noexcept {}
  explicit intrusive_ptr(T* p) noexcept : p_(p) {
    if (p_) p_->retain();
  }
  static intrusive_ptr adopt(T* p) noexcept {
    intrusive_ptr r;
    r.p_ = p;
    return r;
  }
  intrusive_ptr(const intrusive_ptr& o) noexcept : p_(o.p_) {
    if (p_) p_->retain();
  }
  intrusive_ptr(intrusive_ptr&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  template <typename U>
    requires(std::is_convertible_v<U*, T*>)
  intrusive_ptr(intrusive_ptr<U> o) noexcept : p_(o.detach()) {}
  intrusive_ptr& operator=(intrusive_ptr o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~intrusive_ptr() {
    if (p_) p_->release();
  }
  T* get() const noexcept { return p_; }
  T* operator->() const noexcept { return p_; }
  T& operator*() const noexcept { return *p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }
  // Gives the reference to the caller.
  T* detach() noexcept { return std::exchange(p_, nullptr); }
  void reset() noexcept { *this = intrusive_ptr(); }
  friend bool operator==(const intrusive_ptr& a, const intrusive_ptr& b) noexcept { return a.p_ == b.p_; }

 private:
  T* p_ = nullptr;
};

template <typename T, typename... A>
intrusive_ptr<T> make_intrusive(A&&... a) {
  return intrusive_ptr<T>::adopt(new T(std::forward<A>(a)...));
}

}  // namespace trt
