#include "ops/native/reduction_util.h"

#include <algorithm>

#include "iter/copy.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }
bool bit(uint64_t mask, int64_t d) { return (mask >> d) & 1; }

struct Run {
  bool reduced;
  int64_t size;
};
using Runs = std::vector<Run>;

// Neighbours of the same kind merged, sizes of 1 dropped.
Runs runs_of(IntArrayRef sizes, uint64_t mask) {
  Runs runs;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    const bool reduced = bit(mask, static_cast<int64_t>(d));
    if (!runs.empty() && runs.back().reduced == reduced)
      runs.back().size *= sizes[d];
    else
      runs.push_back({reduced, sizes[d]});
  }
  return runs;
}

// Reductions that need a copy of their input make it in parts from this size on.
constexpr int64_t kWholeBytes = int64_t{16} << 20, kPartBytes = int64_t{4} << 20;

// How many positions along `d` make a part: the partial results of all parts shall be few beside the input.
int64_t part_length(const Tensor& self, int64_t d, int64_t kept, size_t element) {
  const int64_t size = self.size(d), others = self.numel() / size;
  return std::max({int64_t{1}, kPartBytes / static_cast<int64_t>(element) / others, (8 * kept + others - 1) / others});
}

}  // namespace

uint64_t reduction_mask(std::optional<IntArrayRef> dim, int64_t ndim, const char* op) {
  if (!dim || dim->empty()) return ndim >= 64 ? ~uint64_t{0} : (uint64_t{1} << ndim) - 1;
  uint64_t mask = 0;
  for (int64_t d : *dim) {
    const int64_t w = wrap_dim(d, ndim, op);
    TRT_CHECK(!bit(mask, w), op, ": dimension ", w, " appears twice in ", *dim);
    mask |= uint64_t{1} << w;
  }
  return mask;
}

uint64_t reduction_mask_one(int64_t dim, int64_t ndim, const char* op) {
  return uint64_t{1} << wrap_dim(dim, ndim, op);
}

DimVector reduced_sizes(IntArrayRef sizes, uint64_t mask, bool keepdim) {
  DimVector out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!bit(mask, static_cast<int64_t>(d)))
      out.push_back(sizes[d]);
    else if (keepdim)
      out.push_back(1);
  }
  return out;
}

int64_t reduced_count(IntArrayRef sizes, uint64_t mask) {
  int64_t n = 1;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (bit(mask, static_cast<int64_t>(d))) n *= sizes[d];
  return n;
}

DType reduction_compute_dtype(DType t) {
  TRT_CHECK_CODE(!is_complex(t), Code::kNotSupported, "not supported for dtype ", t);
  return is_reduced_floating(t) ? DType::Float32 : is_floating(t) ? t : DType::Int64;
}

LineShape line_shape(IntArrayRef sizes, int64_t dim) {
  LineShape l;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (static_cast<int64_t>(d) < dim)
      l.outer *= sizes[d];
    else if (static_cast<int64_t>(d) == dim)
      l.r = sizes[d];
    else
      l.inner *= sizes[d];
  }
  return l;
}

void reduce_into(const Tensor& self, uint64_t mask, DType compute, ArrayRef<ReductionOutput> outs, bool associative,
                 const ReductionKernel& kernel, const ReductionFinish& finish, const ReductionKernel& fold) {
  const size_t n = self.sizes().size();
  // order[i]: the logical dimension that stands at place i of memory.
  DimVector order(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int64_t>(i);
  Tensor x = self;
  bool permuted = false;
  auto permute_to = [&](const DimVector& o) {
    DimVector sizes(n), strides(n);
    for (size_t i = 0; i < n; ++i) {
      sizes[i] = self.sizes()[at(o[i])];
      strides[i] = self.strides()[at(o[i])];
    }
    return alias_tensor(self, sizes, strides, self.storage_offset());
  };
  if (!self.is_contiguous()) {
    DimVector o = order;
    std::stable_sort(o.begin(), o.end(),
                     [&](int64_t a, int64_t b) { return self.strides()[at(a)] > self.strides()[at(b)]; });
    Tensor p = permute_to(o);
    if (p.is_contiguous()) {
      x = p;
      order = o;
      permuted = true;
    }
  }
  auto physical_mask = [&] {
    uint64_t m = 0;
    for (size_t i = 0; i < n; ++i)
      if (bit(mask, order[i])) m |= uint64_t{1} << i;
    return m;
  };
  Runs runs = runs_of(x.sizes(), physical_mask());
  const auto reduced_runs = std::count_if(runs.begin(), runs.end(), [](const Run& r) { return r.reduced; });
  if (reduced_runs > 1 && !associative) {
    std::stable_partition(order.begin(), order.end(), [&](int64_t d) { return !bit(mask, d); });
    x = permute_to(order);
    permuted = true;
    runs = runs_of(x.sizes(), physical_mask());
  }
  if (associative && reduced_runs > 0 && !(x.is_contiguous() && x.dtype() == compute) && x.numel() > kWholeBytes / static_cast<int64_t>(element_size(compute))) {
    int64_t d = -1;
    for (int64_t i = 0; i < self.dim(); ++i)
      if (bit(mask, i) && (d < 0 || self.size(i) > self.size(d))) d = i;
    DimVector sizes = reduced_sizes(self.sizes(), mask, false);
    const int64_t length = part_length(self, d, self.numel() / reduced_count(self.sizes(), mask), element_size(compute)), parts = (self.size(d) + length - 1) / length;
    if (parts > 1) {
      sizes.insert(0, parts);
      const Tensor partial = empty_tensor(sizes, outs[0].compute);
      const IntArrayRef part_sizes = IntArrayRef(sizes).slice(1, sizes.size() - 1);
      DimVector from(self.sizes().data(), self.sizes().size());
      for (int64_t i = 0; i < parts; ++i) {
        from[at(d)] = std::min(length, self.size(d) - i * length);
        Tensor to = alias_tensor(partial, part_sizes, contiguous_strides(part_sizes), i * (partial.numel() / parts));
        reduce_into(alias_tensor(self, from, self.strides(), self.storage_offset() + i * length * self.strides()[at(d)]), mask, compute, ReductionOutput{&to, outs[0].compute}, true,
                    kernel, nullptr, fold);
      }
      return reduce_into(partial, 1, outs[0].compute, outs, true, fold ? fold : kernel, finish, fold);
    }
  }
  x = contiguous_tensor(x, compute);

  // Where the kernel writes: the outputs themselves, or temporaries in the order of memory.
  DimVector kept;  // sizes of the kept dimensions, in the order of memory
  DimVector kept_order;
  int64_t results = 1;
  for (int64_t d : order)
    if (!bit(mask, d)) {
      kept.push_back(self.sizes()[at(d)]);
      kept_order.push_back(d);
      results *= kept.back();
    }
  const bool reordered = permuted && !std::is_sorted(kept_order.begin(), kept_order.end());
  SmallVector<void*, 4> targets;
  std::vector<Tensor> temporaries(outs.size());
  for (size_t i = 0; i < outs.size(); ++i) {
    Tensor* t = outs[i].tensor;
    if (!t) {
      targets.push_back(nullptr);
      continue;
    }
    if (reordered || t->dtype() != outs[i].compute) temporaries[i] = empty_tensor(kept, outs[i].compute);
    targets.push_back(temporaries[i].defined() ? temporaries[i].data() : t->data());
  }

  for (const ReductionKernel* reduce = &kernel;; reduce = fold ? &fold : &kernel) {
    // The last reduced run first: it is the one that reads memory in order.
    size_t last = runs.size();
    int64_t count = 0;
    for (size_t i = 0; i < runs.size(); ++i)
      if (runs[i].reduced) {
        last = i;
        ++count;
      }
    LineShape l;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (i == last)
        l.r = runs[i].size;
      else if (i < last)
        l.outer *= runs[i].size;
      else
        l.inner *= runs[i].size;
    }
    if (count <= 1) {
      (*reduce)(x.data(), targets.data(), l.outer, l.r, l.inner);
      break;
    }
    Tensor next = empty_tensor({l.outer * l.inner}, outs[0].compute);
    void* p = next.data();
    (*reduce)(x.data(), &p, l.outer, l.r, l.inner);
    x = next;
    runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(last));
  }
  if (finish) finish(targets.data(), results);

  for (size_t i = 0; i < outs.size(); ++i) {
    if (!temporaries[i].defined()) continue;
    // Both sides seen without the reduced dimensions, in the logical order.
    const DimVector strides = contiguous_strides(kept);
    DimVector sizes, source_strides;
    for (size_t d = 0; d < n; ++d)
      for (size_t k = 0; k < kept_order.size(); ++k)
        if (kept_order[k] == static_cast<int64_t>(d)) {
          sizes.push_back(kept[k]);
          source_strides.push_back(strides[k]);
        }
    const Tensor source = alias_tensor(temporaries[i], sizes, source_strides, 0);
    Tensor target = alias_tensor(*outs[i].tensor, sizes, contiguous_strides(sizes), outs[i].tensor->storage_offset());
    copy_tensor(target, source);
  }
}

}  // namespace trt
