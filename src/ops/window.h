// What operators over windows (convolution, pooling) and kernels that compute in another dtype than they store have in
// common. Below the dispatcher.
#pragma once

#include "core/tensor.h"
#include "iter/copy.h"

namespace trt {

struct Pair {
  int64_t h, w;
};

// One or two numbers for height and width, small enough that arithmetic on sizes cannot overflow.
inline Pair pair_of(IntArrayRef v, const char* op, const char* name) {
  TRT_CHECK(v.size() == 1 || v.size() == 2, op, ": ", name, " must be one number or two, got ", v);
  for (int64_t x : v)
    TRT_CHECK(x > -(int64_t{1} << 31) && x < (int64_t{1} << 31), op, ": ", name, " is out of range: ", v);
  return {v[0], v.back()};
}

struct Triple {
  int64_t at[3];
  int64_t operator[](size_t i) const { return at[i]; }
};

// One or three numbers for depth, height and width, in the same range.
inline Triple triple_of(IntArrayRef v, const char* op, const char* name) {
  TRT_CHECK(v.size() == 1 || v.size() == 3, op, ": ", name, " must be one number or three, got ", v);
  for (int64_t x : v)
    TRT_CHECK(x > -(int64_t{1} << 31) && x < (int64_t{1} << 31), op, ": ", name, " is out of range: ", v);
  return {{v[0], v[v.size() / 2], v.back()}};
}

// The number of positions of a window (stride and dilation positive) in an extent padded on both sides; 0 when it does
// not fit.
inline int64_t window_count(int64_t extent, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                            const char* op) {
  constexpr int64_t kLimit = int64_t{1} << 31;
  TRT_CHECK(extent < (int64_t{1} << 48) && kernel < kLimit, op, ": an extent of ", extent, " or a kernel of ", kernel,
            " is too large");
  const int64_t room = extent + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

// The number of windows of a pooling; with `ceil_mode` the last one may overhang the end.
inline int64_t pooled_extent(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil_mode,
                             const char* op) {
  constexpr int64_t kLimit = int64_t{1} << 48;
  TRT_CHECK(in < kLimit, op, ": an extent of ", in, " is too large");
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1;
  if (room < 0 && !(ceil_mode && room > -stride)) return 0;
  int64_t out = (room < 0 ? 0 : (room + (ceil_mode ? stride - 1 : 0)) / stride) + 1;
  // A window that would begin in the padding at the end is left out.
  if (ceil_mode && (out - 1) * stride >= in + padding) --out;
  return out;
}

// The dtype in which kernels for float and double treat a tensor of dtype t.
inline DType compute_dtype(DType t) { return is_reduced_floating(t) ? DType::Float32 : t; }

// An output as a kernel of another dtype writes it: the tensor itself, or a temporary that finish() converts into it.
class Computed {
 public:
  Computed(Tensor& out, DType dtype) : out_(out) {
    if (out.dtype() != dtype) temporary_ = empty_tensor(out.sizes(), dtype, out.device());
  }
  template <typename T>
  T* data() const {
    return temporary_.defined() ? temporary_.data_ptr<T>() : out_.data_ptr<T>();
  }
  void finish() {
    if (temporary_.defined()) copy_tensor(out_, temporary_);
  }

 private:
  Tensor& out_;
  Tensor temporary_;
};

// Data of an optional tensor: null when there is none.
template <typename T>
T* optional_data(const Tensor& t) {
  return t.defined() ? t.data_ptr<T>() : nullptr;
}
inline Tensor optional_contiguous(const Tensor& t, DType dtype) {
  return t.defined() ? contiguous_tensor(t, dtype) : Tensor();
}

}  // namespace trt
