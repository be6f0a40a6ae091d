// Private to softmax: the vector kernels for the processor at hand. They are serial and never allocate.
#pragma once

#include <cstdint>

namespace trt::cpu {

enum class SoftmaxMode { kSoftmax, kLog };

// The longest row that the kernels can write past the caches: the exponentials wait in a buffer on the stack.
constexpr int64_t kStreamedRow = 8192;

// Functions that come as softmax and as log-softmax are indexed by SoftmaxMode.
template <typename T>
struct SoftmaxTable {
  // y = softmax(x) over n elements; n <= kStreamedRow to stream.
  void (*row)(const T* x, T* y, int64_t n, bool stream);
  // m = max x, s = sum exp(x - m), or sum exp(x) when m is infinite.
  void (*row_stats)(const T* x, int64_t n, T* m, T* s);
  // y = exp(x - m) * c, or y = x - m - c.
  void (*row_apply[2])(const T* x, T* y, int64_t n, T m, T c, bool stream);
  // sum gy * y, or sum gy; then gx = (gy - dot) * y, or gy - exp(y) * dot.
  T (*row_dot[2])(const T* gy, const T* y, int64_t n);
  void (*row_grad[2])(const T* gy, const T* y, T* gx, int64_t n, T dot, bool stream);
  // The same for columns j < n <= kReduceTile of r rows; cols is for tiles that fit in the cache.
  void (*cols[2])(const T* x, T* y, int64_t r, int64_t stride, int64_t n);
  void (*cols_stats)(const T* x, int64_t r, int64_t stride, int64_t n, T* m, T* s);
  void (*cols_apply[2])(const T* x, T* y, int64_t r, int64_t stride, int64_t n, const T* m, const T* c);
  void (*cols_dot[2])(const T* gy, const T* y, int64_t r, int64_t stride, int64_t n, T* dot);
  void (*cols_grad[2])(const T* gy, const T* y, T* gx, int64_t r, int64_t stride, int64_t n, const T* dot);
  // Merges the column statistics of several pieces, in place of those of the first.
  void (*merge_stats)(T* m, T* s, int64_t pieces, int64_t stride, int64_t n);
};

template <typename T>
const SoftmaxTable<T>& softmax_table();  // float, double

}  // namespace trt::cpu
