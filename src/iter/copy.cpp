#include "iter/copy.h"

#include <cstring>

#include "iter/promotion.h"
#include "iter/tensor_iterator.h"
#include "kernels/cpu/convert.h"

namespace trt {

namespace {

constexpr int64_t kCopyGrain = 65536;

// Two dimensions that want to be walked in different orders by source and destination.
bool is_transpose(const TensorIterator& it) {
  if (it.ndim() < 2 || it.operand(0).dtype != it.operand(1).dtype) return false;
  const int64_t item = static_cast<int64_t>(element_size(it.operand(0).dtype));
  if (item > 8) return false;
  return it.operand(0).strides[0] == item && it.operand(1).strides[1] == item && it.shape()[0] >= 8 && it.shape()[1] >= 8;
}

void copy_transposed(const TensorIterator& it) {
  const auto& dst = it.operand(0);
  const auto& src = it.operand(1);
  const size_t item = element_size(dst.dtype);
  const int64_t cols = it.shape()[0], rows = it.shape()[1];
  int64_t outer = 1;
  for (int d = 2; d < it.ndim(); ++d) outer *= it.shape()[static_cast<size_t>(d)];
  // Strips of destination rows; a strip is the unit of work.
  constexpr int64_t kStrip = 64;
  const int64_t strips = (rows + kStrip - 1) / kStrip;
  parallel_for(0, outer * strips, std::max<int64_t>(1, kCopyGrain / std::max<int64_t>(1, kStrip * cols)), [&](int64_t b, int64_t e) {
    for (int64_t k = b; k < e; ++k) {
      int64_t rest = k / strips;
      const int64_t r0 = k % strips * kStrip, r1 = std::min(rows, r0 + kStrip);
      char* d = dst.data + r0 * dst.strides[1];
      const char* s = src.data + r0 * src.strides[1];
      for (int dim = 2; dim < it.ndim(); ++dim) {
        const int64_t i = rest % it.shape()[static_cast<size_t>(dim)];
        rest /= it.shape()[static_cast<size_t>(dim)];
        d += i * dst.strides[static_cast<size_t>(dim)];
        s += i * src.strides[static_cast<size_t>(dim)];
      }
      // In memory order the source is the matrix [cols, rows of the strip]; the destination its transpose.
      cpu::transpose_copy(s, d, cols, r1 - r0, src.strides[0], dst.strides[1], item);
    }
  });
}

void copy_disjoint(Tensor& dst, const Tensor& src) {
  const Tensor* operands[] = {&dst, &src};
  const TensorIterator it(dst.sizes(), ArrayRef<const Tensor*>(operands, 2));
  if (it.numel() == 0) return;
  if (is_transpose(it)) return copy_transposed(it);
  const DType from = src.dtype(), to = dst.dtype();
  const int64_t from_size = static_cast<int64_t>(element_size(from)), to_size = static_cast<int64_t>(element_size(to));
  const int64_t ds = it.ndim() ? it.operand(0).strides[0] : to_size, ss = it.ndim() ? it.operand(1).strides[0] : from_size;
  it.for_each(
      [&](char* const* ptrs, int64_t n) {
        if (from == to) {
          if (ds == to_size && ss == from_size) std::memcpy(ptrs[0], ptrs[1], static_cast<size_t>(n * from_size));
          else if (ds == to_size && ss == 0) cpu::fill(ptrs[0], ptrs[1], static_cast<size_t>(to_size), n);
          else if (ds == to_size) cpu::gather_strided(ptrs[1], ss, ptrs[0], n, static_cast<size_t>(from_size));
          else if (ss == from_size) cpu::scatter_strided(ptrs[1], ptrs[0], ds, n, static_cast<size_t>(to_size));
          else
            for (int64_t i = 0; i < n; ++i) std::memcpy(ptrs[0] + i * ds, ptrs[1] + i * ss, static_cast<size_t>(from_size));
          return;
        }
        constexpr int64_t kStaged = 512;  // elements; the largest has 16 bytes
        alignas(64) char a[kStaged * 16];
        alignas(64) char b[kStaged * 16];
        for (int64_t at = 0; at < n; at += kStaged) {
          const int64_t m = std::min(kStaged, n - at);
          const char* s = ptrs[1] + at * ss;
          char* d = ptrs[0] + at * ds;
          if (ss != from_size) {
            if (ss == 0) cpu::fill(a, s, static_cast<size_t>(from_size), m);
            else cpu::gather_strided(s, ss, a, m, static_cast<size_t>(from_size));
            s = a;
          }
          if (ds == to_size) {
            cpu::convert(s, from, d, to, m);
          } else {
            cpu::convert(s, from, b, to, m);
            cpu::scatter_strided(b, d, ds, m, static_cast<size_t>(to_size));
          }
        }
      },
      kCopyGrain);
}

}  // namespace

void copy_tensor(Tensor& dst, const Tensor& src) {
  if (dst.is_same(src) || same_view(dst, src)) return;
  if (may_overlap(dst, src)) {
    Tensor copy = empty_tensor(src.sizes(), src.dtype());
    copy_disjoint(copy, src);
    copy_disjoint(dst, copy);
    return;
  }
  copy_disjoint(dst, src);
}

Tensor contiguous_tensor(const Tensor& src) { return contiguous_tensor(src, src.dtype()); }

Tensor contiguous_tensor(const Tensor& src, DType dtype) {
  if (src.is_contiguous() && src.dtype() == dtype) return src;
  Tensor out = empty_tensor(src.sizes(), dtype, src.device());
  if (!src.is_meta()) copy_tensor(out, src);
  return out;
}

void check_fits(const Scalar& value, DType dtype, const char* op) {
  const bool fits = dispatch_all(dtype, op, [&]<typename T>() { return value.fits<T>(); });
  TRT_CHECK_CODE(fits, Code::kOutOfRange, op, ": ", value, " is out of the range of dtype ", dtype);
}

void fill_tensor(Tensor& dst, const Scalar& value) {
  if (dst.numel() == 0 || dst.is_meta()) return;
  const Tensor source = scalar_tensor_of(value, dst.dtype());
  copy_disjoint(dst, source);
}

}  // namespace trt
