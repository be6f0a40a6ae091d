#include "ops/native/indexing_util.h"

namespace trt {

void check_index_dtype(const Tensor& index, const char* op) {
  TRT_CHECK(index.dtype() == DType::Int64 || index.dtype() == DType::Int32, op,
            ": the index must be int64 or int32, got ", index);
}

Tensor checked_index(const Tensor& index, int64_t n, bool negative, const char* op) {
  check_index_dtype(index, op);
  Tensor t = contiguous_tensor(index, DType::Int64);
  const int64_t* p = t.data_ptr<int64_t>();
  const int64_t count = t.numel(), low = negative ? -n : 0;
  bool good = true, wrap = false;
  for (int64_t i = 0; i < count; ++i) {
    good &= p[i] >= low && p[i] < n;
    wrap |= p[i] < 0;
  }
  if (!good)
    for (int64_t i = 0; i < count; ++i)
      TRT_CHECK_CODE(p[i] >= low && p[i] < n, Code::kOutOfRange, op, ": index ", p[i],
                     " is out of range for a dimension of size ", n);
  if (wrap) {
    Tensor w = empty_tensor(t.sizes(), DType::Int64);
    int64_t* q = w.data_ptr<int64_t>();
    for (int64_t i = 0; i < count; ++i) q[i] = p[i] < 0 ? p[i] + n : p[i];
    return w;
  }
  return t;
}

Tensor readable(const Tensor& t, const Tensor& out) {
  if (!may_overlap(t, out)) return contiguous_tensor(t);
  Tensor copy = empty_like_tensor(t);
  copy_tensor(copy, t);
  return copy;
}

Tensor expanded(const Tensor& t, IntArrayRef sizes) {
  if (t.sizes() == sizes) return t;
  DimVector strides(sizes.size());
  const size_t extra = sizes.size() - t.sizes().size();
  for (size_t d = 0; d < t.sizes().size(); ++d)
    strides[extra + d] = t.sizes()[d] == 1 && sizes[extra + d] != 1 ? 0 : t.strides()[d];
  return alias_tensor(t, sizes, strides, t.storage_offset());
}

}  // namespace trt
