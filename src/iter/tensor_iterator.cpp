#include "iter/tensor_iterator.h"

#include <algorithm>

namespace trt {

TensorIterator::TensorIterator(IntArrayRef shape, ArrayRef<const Tensor*> operands) : count_(static_cast<int>(operands.size())) {
  TRT_INTERNAL(operands.size() <= kMaxOperands);
  numel_ = 1;
  const size_t n = shape.size();
  for (size_t d = n; d-- > 0;) {
    numel_ *= shape[d];
    shape_.push_back(shape[d]);
  }
  for (int i = 0; i < count_; ++i) {
    const Tensor& t = *operands[static_cast<size_t>(i)];
    Operand& o = operands_[i];
    o.data = static_cast<char*>(t.data());
    o.dtype = t.dtype();
    o.strides.resize(n);
    const auto sizes = t.sizes(), strides = t.strides();
    const int64_t item = static_cast<int64_t>(t.itemsize());
    for (size_t d = 0; d < n; ++d) {
      if (d >= sizes.size()) {
        o.strides[d] = 0;
        continue;
      }
      const int64_t size = sizes[sizes.size() - 1 - d];
      TRT_INTERNAL(size == shape_[d] || size == 1, "an operand does not broadcast to the iteration shape");
      o.strides[d] = size == shape_[d] ? strides[sizes.size() - 1 - d] * item : 0;
    }
  }
  // Dimensions of size 1 say nothing.
  size_t kept = 0;
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] == 1) continue;
    if (kept != d) {
      shape_[kept] = shape_[d];
      for (int i = 0; i < count_; ++i) operands_[i].strides[kept] = operands_[i].strides[d];
    }
    ++kept;
  }
  shape_.resize(kept);
  for (int i = 0; i < count_; ++i) operands_[i].strides.resize(kept);
  if (kept > 1) {
    sort_dims();
    coalesce();
  }
}

void TensorIterator::sort_dims() {
  // Insertion sort by the strides of the first operand that tells two dimensions apart (stride 0 tells nothing).
  const int n = ndim();
  auto after = [&](int a, int b) {  // dimension a should stand outside of b
    for (int i = 0; i < count_; ++i) {
      const int64_t sa = operands_[i].strides[a], sb = operands_[i].strides[b];
      if (sa == 0 || sb == 0 || sa == sb) continue;
      return sa > sb;
    }
    return false;
  };
  for (int i = 1; i < n; ++i)
    for (int j = i; j > 0 && after(j - 1, j); --j) {
      std::swap(shape_[j - 1], shape_[j]);
      for (int k = 0; k < count_; ++k) std::swap(operands_[k].strides[j - 1], operands_[k].strides[j]);
    }
}

void TensorIterator::coalesce() {
  size_t last = 0;
  for (size_t d = 1; d < shape_.size(); ++d) {
    bool merge = true;
    for (int i = 0; merge && i < count_; ++i) merge = operands_[i].strides[d] == operands_[i].strides[last] * shape_[last];
    if (merge) {
      shape_[last] *= shape_[d];
      continue;
    }
    ++last;
    shape_[last] = shape_[d];
    for (int i = 0; i < count_; ++i) operands_[i].strides[last] = operands_[i].strides[d];
  }
  shape_.resize(last + 1);
  for (int i = 0; i < count_; ++i) operands_[i].strides.resize(last + 1);
}

std::string TensorIterator::dump() const {
  std::string s = str_cat("shape (innermost first) ", shape_);
  for (int i = 0; i < count_; ++i)
    append(s, str_cat("\n  operand ", i, " ", operands_[i].dtype, " strides ", IntArrayRef(operands_[i].strides), " bytes"));
  return s;
}

void check_no_internal_overlap(const Tensor& t, const char* op) {
  if (t.is_contiguous()) return;
  const auto sizes = t.sizes(), strides = t.strides();
  for (size_t d = 0; d < sizes.size(); ++d)
    TRT_CHECK(sizes[d] <= 1 || strides[d] != 0, op, ": the output of shape ", sizes, " and strides ", strides,
              " has several elements in one place of memory (an expanded tensor); clone it before writing");
}

bool same_view(const Tensor& a, const Tensor& b) {
  return a.data() == b.data() && a.dtype() == b.dtype() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (!a.shares_storage(b) && !(a.impl()->storage()->is_host_memory() && b.impl()->storage()->is_host_memory())) return false;
  if (a.numel() == 0 || b.numel() == 0) return false;
  auto last = [](const Tensor& t) {
    int64_t n = 0;
    for (size_t d = 0; d < t.sizes().size(); ++d) n += (t.sizes()[d] - 1) * t.strides()[d];
    return static_cast<char*>(t.data()) + (n + 1) * static_cast<int64_t>(t.itemsize());
  };
  if (!a.data() || !b.data()) return false;
  return static_cast<char*>(a.data()) < last(b) && static_cast<char*>(b.data()) < last(a);
}

bool is_dense(const Tensor& t) {
  if (t.is_contiguous()) return true;
  // The strides, sorted, are the products of the sizes before.
  SmallVector<int, 8> order;
  for (int d = 0; d < t.dim(); ++d)
    if (t.sizes()[static_cast<size_t>(d)] != 1) order.push_back(d);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return t.strides()[static_cast<size_t>(a)] < t.strides()[static_cast<size_t>(b)]; });
  int64_t step = 1;
  for (int d : order) {
    if (t.strides()[static_cast<size_t>(d)] != step) return false;
    step *= t.sizes()[static_cast<size_t>(d)];
  }
  return true;
}

DimVector dense_strides(ArrayRef<const Tensor*> operands, IntArrayRef shape) {
  const size_t n = shape.size();
  // The stride of an operand along a dimension of the result; 0 where it is spread.
  const auto stride = [&](const Tensor& t, size_t d) -> int64_t {
    const size_t own = t.sizes().size();
    if (d + own < n || (t.sizes()[d + own - n] == 1 && shape[d] != 1)) return 0;
    return t.strides()[d + own - n];
  };
  // > 0 where dimension a belongs outside of b: the first operand decides to which it matters.
  const auto compare = [&](size_t a, size_t b) {
    for (const Tensor* t : operands) {
      const int64_t x = stride(*t, a), y = stride(*t, b);
      if (x == 0 || y == 0) continue;
      if (x != y) return x < y ? -1 : 1;
      if (shape[a] > shape[b]) return 1;
    }
    return 0;
  };
  // Insertion, the innermost first, because comparisons that do not decide are not transitive.
  SmallVector<size_t, 8> order;
  for (size_t d = n; d-- > 0;) {
    order.push_back(d);
    for (size_t at = order.size() - 1, i = at; i-- > 0;) {
      const int c = compare(order[i], order[at]);
      if (c < 0) break;
      if (c > 0) {
        std::swap(order[i], order[at]);
        at = i;
      }
    }
  }
  DimVector strides(n, 0);
  int64_t step = 1;
  for (size_t d : order) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

Tensor empty_in_order_of(const Tensor& t, DType dtype, Device device) {
  if (t.is_contiguous() || t.numel() == 0) return empty_tensor(t.sizes(), dtype, device);
  if (is_dense(t)) return empty_strided_tensor(t.sizes(), t.strides(), dtype, device);
  const Tensor* one = &t;
  return empty_strided_tensor(t.sizes(), dense_strides(ArrayRef<const Tensor*>(&one, 1), t.sizes()), dtype, device);
}

Tensor in_order_of(const Tensor& like, const Tensor& fresh) {
  if (like.is_contiguous() || like.numel() == 0) return fresh;
  const Tensor* one = &like;
  if (is_dense(like)) return alias_tensor(fresh, like.sizes(), like.strides(), 0);
  return alias_tensor(fresh, like.sizes(), dense_strides(ArrayRef<const Tensor*>(&one, 1), like.sizes()), 0);
}

void check_no_partial_overlap(const Tensor& out, const Tensor& in, const char* op) {
  if (out.is_same(in) || !may_overlap(out, in) || same_view(out, in)) return;
  // Ranges that meet say little about strided tensors (even and odd columns). An element inside of the range of a dense tensor is
  // certain to be shared.
  const auto shared = [](const Tensor& dense, const Tensor& other) {
    if (!is_dense(dense)) return false;
    const char* const begin = static_cast<char*>(dense.data());
    const char* const end = begin + dense.numel() * static_cast<int64_t>(dense.itemsize());
    const char* const first = static_cast<char*>(other.data());
    const char* last = first;
    for (size_t d = 0; d < other.sizes().size(); ++d) last += (other.sizes()[d] - 1) * other.strides()[d] * static_cast<int64_t>(other.itemsize());
    const auto inside = [&](const char* p) { return p < end && p + other.itemsize() > begin; };
    return inside(first) || inside(last);
  };
  TRT_CHECK(!(shared(out, in) || shared(in, out)), op, ": output ", out, " and input ", in,
            " share part of their memory; clone one of them");
}

}  // namespace trt
