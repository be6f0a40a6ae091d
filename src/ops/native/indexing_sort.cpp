// Sorting, selection and searching.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gen/indexing_native.h"
#include "iter/promotion.h"
#include "kernels/cpu/sort.h"
#include "ops/native/indexing_util.h"
#include "ops/native/reduction_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }
int64_t extent(const Tensor& t, int64_t d) { return t.dim() == 0 ? 1 : t.sizes()[at(d)]; }

// A tensor with dimension d moved to the end, as an alias.
Tensor dim_last(const Tensor& t, int64_t d) {
  if (t.dim() == 0) return t;
  DimVector sizes(t.sizes().data(), t.sizes().size()), strides(t.strides().data(), t.strides().size());
  const int64_t size = sizes[at(d)], stride = strides[at(d)];
  sizes.erase(at(d));
  strides.erase(at(d));
  sizes.push_back(size);
  strides.push_back(stride);
  return alias_tensor(t, sizes, strides, t.storage_offset());
}

// Runs f(x, values, indices, rows, n) with the lines of `self` along d as rows; the outputs have k entries along d.
template <typename F>
void with_rows(const Tensor& self, int64_t d, Tensor& values, Tensor& indices, F&& f) {
  const int64_t n = extent(self, d), rows = n ? self.numel() / n : 0;
  const Tensor x = contiguous_tensor(dim_last(self, d));
  const bool direct = self.dim() == 0 || d == self.dim() - 1;
  Tensor target_values = dim_last(values, d), target_indices = dim_last(indices, d);
  Tensor v = direct ? values : empty_tensor(target_values.sizes(), values.dtype()),
         i = direct ? indices : empty_tensor(target_indices.sizes(), DType::Int64);
  f(x, v, i, rows, n);
  if (direct) return;
  copy_tensor(target_values, v);
  copy_tensor(target_indices, i);
}

bool right_side(bool right, const std::optional<std::string_view>& side) {
  if (!side) return right;
  TRT_CHECK(*side == "left" || *side == "right", "searchsorted: side must be left or right, got \"", *side, "\"");
  TRT_CHECK(!right || *side == "right", "searchsorted: side left and right=True contradict each other");
  return *side == "right";
}

TensorSpec median_spec(const Tensor& self, const char* op) {
  TRT_CHECK_CODE(self.dtype() != DType::Bool, Code::kNotSupported, op, ": not supported for dtype bool (argument ", self, ")");
  return {{}, self.dtype(), self.device()};
}

std::array<TensorSpec, 2> median_specs(const Tensor& self, int64_t dim, bool keepdim, const char* op) {
  const DType dtype = median_spec(self, op).dtype;
  const int64_t d = wrap_dim(dim, self.dim(), op);
  const DimVector sizes = reduced_sizes(self.sizes(), uint64_t{1} << d, keepdim);
  TRT_CHECK_CODE(extent(self, d) > 0, Code::kOutOfRange, op, ": dimension ", dim, " of ", self, " has no elements");
  return {TensorSpec(sizes, dtype, self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

void median_along(const Tensor& self, int64_t dim, bool skip_nan, Tensor& values, Tensor& indices, const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op), n = extent(self, d);
  if (values.numel() == 0) return;
  const Tensor x = contiguous_tensor(dim_last(self, d));
  dispatch_dtype(self.dtype(), op, [&]<typename T>() {
    cpu::median_rows(x.data_ptr<T>(), values.data_ptr<T>(), indices.data_ptr<int64_t>(), self.numel() / n, n, skip_nan);
  });
}

// Of all elements. Without any it is NaN, and among integers, which have none, the smallest, as in PyTorch.
void median_of(const Tensor& self, bool skip_nan, Tensor& out, const char* op) {
  const Tensor x = contiguous_tensor(self);
  dispatch_dtype(self.dtype(), op, [&]<typename T>() {
    T* result = out.data_ptr<T>();
    if (x.numel() > 0) {
      cpu::median_rows(x.data_ptr<T>(), result, static_cast<int64_t*>(nullptr), 1, x.numel(), skip_nan);
    } else if (is_floating(self.dtype())) {
      *result = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    } else {
      *result = std::numeric_limits<T>::lowest();
    }
  });
}

}  // namespace

namespace meta {

std::array<TensorSpec, 2> sort(const Tensor& self, int64_t dim, bool) {
  wrap_dim(dim, self.dim(), "sort");
  return {TensorSpec(self.sizes(), self.dtype(), self.device()), TensorSpec(self.sizes(), DType::Int64, self.device())};
}

std::array<TensorSpec, 2> topk(const Tensor& self, int64_t k, int64_t dim, bool, bool) {
  const int64_t d = wrap_dim(dim, self.dim(), "topk");
  TRT_CHECK_CODE(k >= 0 && k <= extent(self, d), Code::kOutOfRange, "topk: k is ", k, ", dimension ", dim, " of ", self,
                 " has ", extent(self, d), " elements");
  DimVector sizes(self.sizes().data(), self.sizes().size());
  if (self.dim() > 0) sizes[at(d)] = k;
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

std::array<TensorSpec, 2> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  const int64_t d = wrap_dim(dim, self.dim(), "kthvalue");
  TRT_CHECK_CODE(k >= 1 && k <= extent(self, d), Code::kOutOfRange, "kthvalue: k is ", k, ", dimension ", dim, " of ",
                 self, " has ", extent(self, d), " elements");
  const DimVector sizes = reduced_sizes(self.sizes(), uint64_t{1} << d, keepdim);
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

std::array<TensorSpec, 2> median_dim(const Tensor& self, int64_t dim, bool keepdim) { return median_specs(self, dim, keepdim, "median"); }
std::array<TensorSpec, 2> nanmedian_dim(const Tensor& self, int64_t dim, bool keepdim) {
  return median_specs(self, dim, keepdim, "nanmedian");
}
TensorSpec median(const Tensor& self) { return median_spec(self, "median"); }
TensorSpec nanmedian(const Tensor& self) { return median_spec(self, "nanmedian"); }

TensorSpec searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                               std::optional<std::string_view> side, const Tensor& sorter) {
  right_side(right, side);
  TRT_CHECK(sorted_sequence.dim() > 0, "searchsorted: the sorted sequence needs at least one dimension, got ",
            sorted_sequence);
  if (sorted_sequence.dim() > 1) {
    bool fits = self.dim() == sorted_sequence.dim();
    for (int64_t d = 0; fits && d + 1 < self.dim(); ++d) fits = self.sizes()[at(d)] == sorted_sequence.sizes()[at(d)];
    TRT_CHECK(fits, "searchsorted: ", sorted_sequence, " and ", self, " may differ in the last dimension only");
  }
  if (sorter.defined())
    TRT_CHECK(sorter.dtype() == DType::Int64 && sorter.sizes() == sorted_sequence.sizes(),
              "searchsorted: sorter must be int64 of the shape of ", sorted_sequence, ", got ", sorter);
  TRT_CHECK(!out_int32 || sorted_sequence.size(-1) < (int64_t{1} << 31), "searchsorted: positions in ", sorted_sequence,
            " do not fit int32");
  return {self.sizes(), out_int32 ? DType::Int32 : DType::Int64, self.device()};
}

TensorSpec isin_Tensor_Tensor(const Tensor& elements, const Tensor&, bool, bool) {
  return {elements.sizes(), DType::Bool, elements.device()};
}

}  // namespace meta

namespace native {

void sort(const Tensor& self, int64_t dim, bool descending, Tensor& values, Tensor& indices) {
  with_rows(self, wrap_dim(dim, self.dim(), "sort"), values, indices,
            [&](const Tensor& x, Tensor& v, Tensor& i, int64_t rows, int64_t n) {
              dispatch_dtype(self.dtype(), "sort", [&]<typename T>() {
                cpu::sort_rows(x.data_ptr<T>(), v.data_ptr<T>(), i.data_ptr<int64_t>(), rows, n, descending);
              });
            });
}

void topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool, Tensor& values, Tensor& indices) {
  if (values.numel() == 0) return;
  with_rows(self, wrap_dim(dim, self.dim(), "topk"), values, indices,
            [&](const Tensor& x, Tensor& v, Tensor& i, int64_t rows, int64_t n) {
              dispatch_dtype(self.dtype(), "topk", [&]<typename T>() {
                // A 0-d tensor gives its element whatever k is, as in PyTorch.
                cpu::topk_rows(x.data_ptr<T>(), v.data_ptr<T>(), i.data_ptr<int64_t>(), rows, n,
                               self.dim() == 0 ? 1 : k, largest);
              });
            });
}

void kthvalue(const Tensor& self, int64_t k, int64_t dim, bool, Tensor& values, Tensor& indices) {
  const int64_t d = wrap_dim(dim, self.dim(), "kthvalue"), n = extent(self, d);
  if (values.numel() == 0) return;
  const Tensor x = contiguous_tensor(dim_last(self, d));
  dispatch_dtype(self.dtype(), "kthvalue", [&]<typename T>() {
    cpu::kth_rows(x.data_ptr<T>(), values.data_ptr<T>(), indices.data_ptr<int64_t>(), self.numel() / n, n, k - 1);
  });
}

void median_dim(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  median_along(self, dim, false, values, indices, "median");
}
void nanmedian_dim(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  median_along(self, dim, true, values, indices, "nanmedian");
}
void median(const Tensor& self, Tensor& out) { median_of(self, false, out, "median"); }
void nanmedian(const Tensor& self, Tensor& out) { median_of(self, true, out, "nanmedian"); }

void searchsorted_Tensor(const Tensor& sorted_sequence, const Tensor& self, bool, bool right,
                         std::optional<std::string_view> side, const Tensor& sorter, Tensor& out) {
  if (out.numel() == 0) return;
  const bool upper = right_side(right, side);
  const int64_t n = sorted_sequence.size(-1);
  PromotionState promotion;
  promotion.add(sorted_sequence);
  promotion.add(self);
  const DType type = promotion.result();
  const Tensor s = contiguous_tensor(sorted_sequence, type), x = contiguous_tensor(self, type);
  const Tensor order = sorter.defined() ? checked_index(sorter, n, false, "searchsorted") : Tensor();
  const int64_t* o = order.defined() ? order.data_ptr<int64_t>() : nullptr;
  // With a single row all values are looked up in it.
  const int64_t per_row = sorted_sequence.dim() == 1 ? self.numel() : self.size(-1);
  Tensor wide = out.dtype() == DType::Int64 ? out : empty_tensor(out.sizes(), DType::Int64);
  int64_t* result = wide.data_ptr<int64_t>();
  dispatch_dtype(type, "searchsorted", [&]<typename T>() {
    using C = opmath_t<T>;
    const T *sp = s.data_ptr<T>(), *xp = x.data_ptr<T>();
    parallel_for(0, self.numel(), 2048, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const T* row = sp + i / per_row * n;
        const int64_t* ranks = o ? o + i / per_row * n : nullptr;
        const C v = static_cast<C>(xp[i]);
        int64_t low = 0, high = n;
        while (low < high) {
          const int64_t middle = low + (high - low) / 2;
          const C m = static_cast<C>(row[ranks ? ranks[middle] : middle]);
          // Written so that a NaN among the values stands behind all numbers.
          if (upper ? !(m > v) : !(m >= v))
            low = middle + 1;
          else
            high = middle;
        }
        result[i] = low;
      }
    });
  });
  if (!wide.is_same(out)) copy_tensor(out, wide);
}

void isin_Tensor_Tensor(const Tensor& elements, const Tensor& test_elements, bool, bool invert, Tensor& out) {
  PromotionState promotion;
  promotion.add(elements);
  promotion.add(test_elements);
  const DType type = reduction_compute_dtype(promotion.result());
  const Tensor x = contiguous_tensor(elements, type), t = contiguous_tensor(test_elements, type);
  Bool* o = out.data_ptr<Bool>();
  auto run = [&]<typename T>() {
    std::vector<T> sorted(t.data_ptr<T>(), t.data_ptr<T>() + t.numel());
    // A NaN equals nothing, and would break the order.
    std::erase_if(sorted, [](T v) { return v != v; });
    std::sort(sorted.begin(), sorted.end());
    const T* p = x.data_ptr<T>();
    parallel_for(0, x.numel(), 4096, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i)
        o[i] = (p[i] == p[i] && std::binary_search(sorted.begin(), sorted.end(), p[i])) != invert;
    });
  };
  if (type == DType::Int64)
    run.template operator()<int64_t>();
  else
    dispatch_float(type, "isin", run);
}

}  // namespace native

}  // namespace trt
