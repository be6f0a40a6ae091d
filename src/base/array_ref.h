// ArrayRef<T>: a borrowed, read-only list (pointer and count), passed by value; it must not outlive what it points to.
// SmallVector<T, N>: an owned list of trivially copyable elements, the first N of them inline.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "base/str.h"

namespace trt {

template <typename T, size_t N>
class SmallVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SmallVector() noexcept : data_(inline_), size_(0), capacity_(N) {}
  explicit SmallVector(size_t n, T value = T()) : SmallVector() { resize(n, value); }
  SmallVector(std::initializer_list<T> l) : SmallVector() { assign(l.begin(), l.size()); }
  SmallVector(const T* p, size_t n) : SmallVector() { assign(p, n); }
  SmallVector(const SmallVector& o) : SmallVector() { assign(o.data_, o.size_); }
  SmallVector(SmallVector&& o) noexcept : SmallVector() { take(o); }
  SmallVector& operator=(const SmallVector& o) {
    if (this != &o) assign(o.data_, o.size_);
    return *this;
  }
  SmallVector& operator=(SmallVector&& o) noexcept {
    if (this != &o) {
      drop();
      take(o);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  void assign(const T* p, size_t n) {
    if (n > capacity_) grow(n, false);
    if (n) std::memmove(data_, p, n * sizeof(T));
    size_ = n;
  }
  void resize(size_t n, T value = T()) {
    if (n > capacity_) grow(n, true);
    for (size_t i = size_; i < n; ++i) data_[i] = value;
    size_ = n;
  }
  void reserve(size_t n) {
    if (n > capacity_) grow(n, true);
  }
  void push_back(T v) {
    if (size_ == capacity_) grow(capacity_ * 2, true);
    data_[size_++] = v;
  }
  void pop_back() { --size_; }
  void insert(size_t at, T v) {
    push_back(v);
    std::rotate(data_ + at, data_ + size_ - 1, data_ + size_);
  }
  void erase(size_t at) {
    std::memmove(data_ + at, data_ + at + 1, (size_ - at - 1) * sizeof(T));
    --size_;
  }
  void clear() { size_ = 0; }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }
  friend bool operator==(const SmallVector& a, const SmallVector& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

 private:
  void grow(size_t n, bool keep) {
    n = std::max(n, capacity_ * 2);
    T* p = new T[n];
    if (keep && size_) std::memcpy(p, data_, size_ * sizeof(T));
    drop();
    data_ = p;
    capacity_ = n;
  }
  void drop() noexcept {
    if (data_ != inline_) delete[] data_;
    data_ = inline_;
    capacity_ = N;
  }
  void take(SmallVector& o) noexcept {
    if (o.data_ == o.inline_) {
      std::memcpy(static_cast<void*>(inline_), o.inline_, o.size_ * sizeof(T));
      size_ = o.size_;
    } else {
      data_ = o.data_;
      size_ = o.size_;
      capacity_ = o.capacity_;
      o.data_ = o.inline_;
      o.capacity_ = N;
    }
    o.size_ = 0;
  }

  T* data_;
  size_t size_;
  size_t capacity_;
  T inline_[N];
};

template <typename T>
class ArrayRef {
 public:
  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T* p, size_t n) : data_(p), size_(n) {}
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Winit-list-lifetime"
#endif
  // Only for arguments of a call: the list lives until the end of the full expression.
  constexpr ArrayRef(const std::initializer_list<T>& l) : data_(l.begin()), size_(l.size()) {}
#pragma GCC diagnostic pop
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  ArrayRef(const std::vector<T>& v) : data_(v.data()), size_(v.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& v) : data_(v.data()), size_(N) {}
  template <size_t N>
  ArrayRef(const SmallVector<T, N>& v) : data_(v.data()), size_(v.size()) {}

  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T& operator[](size_t i) const { return data_[i]; }
  constexpr const T& back() const { return data_[size_ - 1]; }
  ArrayRef slice(size_t from, size_t count) const { return {data_ + from, count}; }
  std::vector<T> vec() const { return {begin(), end()}; }
  // A plain loop: shapes are short, and a call of memcmp costs more than it saves.
  friend bool operator==(ArrayRef a, ArrayRef b) {
    if (a.size_ != b.size_) return false;
    for (size_t i = 0; i < a.size_; ++i)
      if (!(a.data_[i] == b.data_[i])) return false;
    return true;
  }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

using IntArrayRef = ArrayRef<int64_t>;
using DimVector = SmallVector<int64_t, 6>;

// "[2, 3]", as shapes are printed in messages.
inline void append(std::string& s, IntArrayRef v) {
  s.push_back('[');
  for (size_t i = 0; i < v.size(); ++i) {
    if (i) s.append(", ");
    append(s, v[i]);
  }
  s.push_back(']');
}
inline void append(std::string& s, const DimVector& v) { append(s, IntArrayRef(v)); }
inline void append(std::string& s, const std::vector<int64_t>& v) { append(s, IntArrayRef(v)); }

}  // namespace trt
