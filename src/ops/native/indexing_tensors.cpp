// Indexing by lists of tensors (index, index_put) and by masks.
//
// Note [Index geometry]
// Integer tensors are broadcast to one shape B; a mask of k dimensions stands for k integer tensors, the coordinates of
// its true positions. The result is [before, B, after]: `before` and `after` are the dimensions that are not indexed,
// on both sides of the indexed ones when those are neighbours; otherwise B comes first and all others after. An
// element's place in self is then the sum of three offsets, one of each part. A mask without dimensions stands for a new
// dimension of size one at its place, of which it takes all or nothing.
#include <algorithm>

#include "gen/indexing_native.h"
#include "iter/promotion.h"
#include "ops/native/indexing_util.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }
bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

// The true elements of a mask, counted in chunks of a fixed size: where each chunk's part of a list of them begins.
class MaskScan {
 public:
  explicit MaskScan(const Tensor& mask)
      : mask_(contiguous_tensor(mask, DType::Bool)), begins_(at((mask.numel() + kChunk - 1) / kChunk) + 1) {
    const uint8_t* p = mask_.data_ptr<uint8_t>();
    for_chunks([&](size_t c, int64_t from, int64_t to) {
      int64_t n = 0;
      for (int64_t i = from; i < to; ++i) n += p[i] != 0;
      begins_[c + 1] = n;
    });
    for (size_t c = 1; c < begins_.size(); ++c) begins_[c] += begins_[c - 1];
  }
  int64_t count() const { return begins_.back(); }

  // f(number, position) for the true elements, in parallel.
  template <typename F>
  void for_each(F&& f) const {
    const uint8_t* p = mask_.data_ptr<uint8_t>();
    for_chunks([&](size_t c, int64_t from, int64_t) {
      // Every element is visited as if it were the next true one, and the number moves on where it is: no branch to
      // mispredict. A chunk stops at its last true element, so nothing is written beyond its part.
      int64_t n = begins_[c];
      const int64_t end = begins_[c + 1];
      for (int64_t i = from; n < end; ++i) {
        f(n, i);
        n += p[i] != 0;
      }
    });
  }

 private:
  static constexpr int64_t kChunk = 65536;
  template <typename F>
  void for_chunks(F&& f) const {
    const int64_t n = mask_.numel();
    parallel_for(0, static_cast<int64_t>(begins_.size()) - 1, 1, [&](int64_t b, int64_t e) {
      for (int64_t c = b; c < e; ++c) f(at(c), c * kChunk, std::min(n, (c + 1) * kChunk));
    });
  }
  Tensor mask_;
  std::vector<int64_t> begins_;
};

// Their numbers, in row-major order.
std::vector<int64_t> true_positions(const Tensor& mask) {
  const MaskScan scan(mask);
  std::vector<int64_t> out(at(scan.count()));
  scan.for_each([&](int64_t n, int64_t i) { out[at(n)] = i; });
  return out;
}

int64_t count_true(const Tensor& mask) { return MaskScan(mask).count(); }

// out[n] = the n-th element of x where mask is true. Both contiguous, of one shape.
void select_true(const Tensor& x, const MaskScan& scan, Tensor& out) {
  with_element_bits(x.itemsize(), [&]<typename T>() {
    const T* s = x.data_ptr<T>();
    T* d = out.data_ptr<T>();
    scan.for_each([=](int64_t n, int64_t i) { d[n] = s[i]; });
  });
}

// Coordinate `d` of the positions in a tensor of shape `sizes`.
Tensor coordinate(const std::vector<int64_t>& positions, IntArrayRef sizes, size_t d) {
  int64_t inner = 1;
  for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  Tensor t = empty_tensor({static_cast<int64_t>(positions.size())}, DType::Int64);
  int64_t* p = t.data_ptr<int64_t>();
  for (size_t i = 0; i < positions.size(); ++i) p[i] = positions[i] / inner % sizes[d];
  return t;
}

bool is_scalar_mask(const Tensor& t) { return t.defined() && is_mask(t) && t.dim() == 0; }
bool any_scalar_mask(TensorList indices) { return std::any_of(indices.begin(), indices.end(), is_scalar_mask); }

// Where masks without dimensions stand, counted in the dimensions of the tensor with those that they add.
std::vector<size_t> added_dims(const Tensor& self, TensorList indices, const char* op) {
  std::vector<size_t> places;
  size_t d = 0;
  for (const Tensor& t : indices) {
    if (is_scalar_mask(t)) places.push_back(d);
    d += t.defined() && is_mask(t) && t.dim() > 0 ? at(t.dim()) : 1;
  }
  TRT_CHECK_CODE(places.empty() || places.back() <= self.sizes().size() + places.size() - 1, Code::kOutOfRange, op,
                 ": too many indices for a tensor of shape ", self.sizes());
  return places;
}
Tensor with_dims(const Tensor& t, const std::vector<size_t>& places) {
  DimVector sizes(t.sizes().data(), t.sizes().size()), strides(t.strides().data(), t.strides().size());
  for (const size_t d : places) {
    const int64_t stride = d < sizes.size() ? sizes[d] * strides[d] : 1;
    sizes.insert(d, 1);
    strides.insert(d, stride);
  }
  return alias_tensor(t, sizes, strides, t.storage_offset());
}
// The indices with those masks as vectors of one element.
std::vector<Tensor> vector_masks(TensorList indices) {
  std::vector<Tensor> out(indices.begin(), indices.end());
  for (Tensor& t : out)
    if (is_scalar_mask(t)) t = alias_tensor(t, {1}, {1}, t.storage_offset());
  return out;
}

struct IndexGeometry {
  DimVector before, shape, after;  // sizes of the three parts
  int64_t first = 0;               // the first dimension of self behind `before`
  std::vector<Tensor> tensors;  // one per dimension of self, undefined where it is not indexed; with expand = true only
  DimVector sizes() const {
    DimVector s = before;
    for (int64_t v : shape) s.push_back(v);
    for (int64_t v : after) s.push_back(v);
    return s;
  }
};

// `expand`: the index tensors are wanted too, not the shape alone.
IndexGeometry index_geometry(const Tensor& self, TensorList indices, bool expand, const char* op) {
  IndexGeometry g;
  std::vector<bool> indexed;
  bool any = false;
  for (const Tensor& t : indices) {
    if (!t.defined()) {
      indexed.push_back(false);
      g.tensors.emplace_back();
      continue;
    }
    TRT_CHECK(is_mask(t) || t.dtype() == DType::Int64 || t.dtype() == DType::Int32, op,
              ": an index must be int64, int32, bool or uint8, got ", t);
    DimVector shape(t.sizes().data(), t.sizes().size());
    if (is_mask(t)) {
      TRT_CHECK_CODE(!t.is_meta() && !self.is_meta(), Code::kNotSupported, op,
                     ": the shape of a result depends on the values of the mask, which a meta tensor lacks");
      const size_t from = indexed.size();
      TRT_CHECK_CODE(from + t.sizes().size() <= self.sizes().size(), Code::kOutOfRange, op,
                     ": too many indices for a tensor of shape ", self.sizes());
      for (size_t k = 0; k < t.sizes().size(); ++k)
        TRT_CHECK_CODE(t.sizes()[k] == self.sizes()[from + k], Code::kOutOfRange, op, ": the mask ", t,
                       " at dimension ", from, " does not match the shape ", self.sizes());
      std::vector<int64_t> positions;
      if (expand) positions = true_positions(t);
      shape = DimVector{expand ? static_cast<int64_t>(positions.size()) : count_true(t)};
      for (size_t k = 0; k < t.sizes().size(); ++k) {
        indexed.push_back(true);
        g.tensors.push_back(expand ? coordinate(positions, t.sizes(), k) : Tensor());
      }
    } else {
      indexed.push_back(true);
      g.tensors.push_back(t);
    }
    g.shape = any ? broadcast_shapes(g.shape, shape, op) : shape;
    any = true;
  }
  TRT_CHECK_CODE(indexed.size() <= self.sizes().size(), Code::kOutOfRange, op, ": too many indices (", indexed.size(),
                 ") for a tensor of shape ", self.sizes());
  indexed.resize(self.sizes().size(), false);
  g.tensors.resize(self.sizes().size());
  int64_t first = -1, last = -1, count = 0;
  for (size_t d = 0; d < indexed.size(); ++d)
    if (indexed[d]) {
      if (first < 0) first = static_cast<int64_t>(d);
      last = static_cast<int64_t>(d);
      ++count;
    }
  const bool neighbours = count == 0 || last - first + 1 == count;
  g.first = count == 0 ? self.dim() : neighbours ? first : 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (indexed[at(d)]) continue;
    (d < g.first ? g.before : g.after).push_back(self.sizes()[at(d)]);
  }
  return g;
}

// Offsets, in elements of a contiguous tensor of self's shape.
struct IndexOffsets {
  std::vector<int64_t> before, shape, after;
  int64_t run = 1;           // the number of elements of `after`
  bool after_is_run = true;  // `after` would count 0, 1, 2, ... and is left empty
};

std::vector<int64_t> offsets_of(IntArrayRef sizes, IntArrayRef strides) {
  std::vector<int64_t> out{0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(out.size() * at(sizes[d]));
    for (int64_t o : out)
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(o + i * strides[d]);
    out = std::move(next);
  }
  return out;
}

IndexOffsets index_offsets(const Tensor& self, const IndexGeometry& g, const char* op) {
  const DimVector strides = contiguous_strides(self.sizes());
  IndexOffsets o;
  DimVector before_strides, after_strides;
  int64_t expected = 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (!g.tensors[at(d)].defined()) (d < g.first ? before_strides : after_strides).push_back(strides[at(d)]);
  for (size_t i = after_strides.size(); i-- > 0;) {
    if (g.after[i] != 1 && after_strides[i] != expected) o.after_is_run = false;
    expected *= g.after[i];
  }
  o.before = offsets_of(g.before, before_strides);
  o.run = expected;
  if (!o.after_is_run) o.after = offsets_of(g.after, after_strides);
  int64_t count = 1;
  for (int64_t s : g.shape) count *= s;
  o.shape.assign(at(count), 0);
  if (count == 0) return o;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const Tensor& t = g.tensors[at(d)];
    if (!t.defined()) continue;
    const Tensor index = contiguous_tensor(expanded(checked_index(t, self.sizes()[at(d)], true, op), g.shape));
    const int64_t* p = index.data_ptr<int64_t>();
    for (int64_t i = 0; i < count; ++i) o.shape[at(i)] += p[i] * strides[at(d)];
  }
  return o;
}

}  // namespace

namespace meta {

TensorSpec index_Tensor(const Tensor& self, TensorList indices) {
  if (any_scalar_mask(indices)) return index_Tensor(with_dims(self, added_dims(self, indices, "index")), vector_masks(indices));
  return {index_geometry(self, indices, false, "index").sizes(), self.dtype(), self.device()};
}

TensorSpec index_put(const Tensor& self, TensorList indices, const Tensor& values, bool) {
  TRT_CHECK(self.dtype() == values.dtype(), "index_put: self and values must have the same dtype, got ", self, " and ",
            values);
  if (any_scalar_mask(indices)) {
    index_put(with_dims(self, added_dims(self, indices, "index_put")), vector_masks(indices), values, false);
  } else if (!self.is_meta()) {
    const DimVector shape = index_geometry(self, indices, false, "index_put").sizes();
    checked_numel(shape, DType::Int64);
    DimVector squeezed(values.sizes().data(), values.sizes().size());
    while (squeezed.size() > shape.size() && squeezed[0] == 1) squeezed.erase(0);
    TRT_CHECK(squeezed.size() <= shape.size() && broadcast_shapes(shape, squeezed, "index_put") == shape,
              "index_put: values ", values, " cannot be broadcast to the indexed shape ", shape);
  }
  return {self.sizes(), self.dtype(), self.device()};
}

TensorSpec masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  TRT_CHECK(is_mask(mask), "masked_scatter: the mask must be bool, got ", mask);
  TRT_CHECK(self.dtype() == source.dtype(), "masked_scatter: self and source must have the same dtype, got ", self,
            " and ", source);
  return {broadcast_shapes(self.sizes(), mask.sizes(), "masked_scatter"), self.dtype(), self.device()};
}

}  // namespace meta

namespace native {

void index_Tensor(const Tensor& self, TensorList indices, Tensor& out) {
  if (any_scalar_mask(indices))
    return index_Tensor(with_dims(self, added_dims(self, indices, "index")), vector_masks(indices), out);
  if (indices.size() == 1 && indices[0].defined() && is_mask(indices[0]) && indices[0].dim() == self.dim())
    return select_true(contiguous_tensor(self), MaskScan(indices[0]), out);
  const IndexGeometry g = index_geometry(self, indices, true, "index");
  const IndexOffsets o = index_offsets(self, g, "index");
  if (out.numel() == 0) return;
  const Tensor x = contiguous_tensor(self);
  const int64_t rows = static_cast<int64_t>(o.shape.size()), run = o.run;
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = x.data_ptr<T>();
    T* d = out.data_ptr<T>();
    parallel_for(0, static_cast<int64_t>(o.before.size()) * rows, std::max<int64_t>(1, 32768 / run),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = b; i < e; ++i) {
                     const T* from = s + o.before[at(i / rows)] + o.shape[at(i % rows)];
                     T* to = d + i * run;
                     if (run == 1)
                       *to = *from;
                     else if (o.after_is_run)
                       std::memcpy(to, from, at(run) * sizeof(T));
                     else
                       for (int64_t k = 0; k < run; ++k) to[k] = from[o.after[at(k)]];
                   }
                 });
  });
}

void index_put(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate, Tensor& out) {
  if (any_scalar_mask(indices)) {
    const std::vector<size_t> added = added_dims(self, indices, "index_put");
    Tensor target = with_dims(out, added);
    return index_put(with_dims(self, added), vector_masks(indices), values, accumulate, target);
  }
  const IndexGeometry g = index_geometry(self, indices, true, "index_put");
  const IndexOffsets o = index_offsets(self, g, "index_put");
  const DimVector shape = g.sizes();
  const bool nothing = o.before.empty() || o.shape.empty() || o.run == 0;
  Tensor src;
  if (!nothing) {
    Tensor v = values;
    while (v.dim() > static_cast<int64_t>(shape.size())) {
      DimVector sizes(v.sizes().data() + 1, v.sizes().size() - 1),
          strides(v.strides().data() + 1, v.sizes().size() - 1);
      v = alias_tensor(v, sizes, strides, v.storage_offset());
    }
    src = readable(expanded(v, shape), out);
  }
  ChangedCopy target(self, out);
  if (!nothing) {
    const int64_t rows = static_cast<int64_t>(o.shape.size()), run = o.run;
    dispatch_all(self.dtype(), "index_put", [&]<typename T>() {
      using C = opmath_t<T>;
      const T* s = src.data_ptr<T>();
      T* t = target.get().data_ptr<T>();
      // Positions may repeat along B, so that is walked in order; `before` and `after` never make two places one.
      auto block = [&](int64_t before, int64_t from, int64_t to) {
        for (int64_t r = 0; r < rows; ++r) {
          T* d = t + o.before[at(before)] + o.shape[at(r)];
          const T* v = s + (before * rows + r) * run;
          for (int64_t k = from; k < to; ++k) {
            T& place = d[o.after_is_run ? k : o.after[at(k)]];
            place = accumulate ? static_cast<T>(static_cast<C>(static_cast<C>(place) + static_cast<C>(v[k]))) : v[k];
          }
        }
      };
      if (o.before.size() > 1)
        parallel_for(0, static_cast<int64_t>(o.before.size()), std::max<int64_t>(1, 32768 / (rows * run)),
                     [&](int64_t b, int64_t e) {
                       for (int64_t i = b; i < e; ++i) block(i, 0, run);
                     });
      else
        parallel_for(0, run, std::max<int64_t>(16, 32768 / rows), [&](int64_t b, int64_t e) { block(0, b, e); });
    });
  }
  target.finish();
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  TRT_CHECK(is_mask(mask), "masked_select: the mask must be bool, got ", mask);
  const DimVector shape = broadcast_shapes(self.sizes(), mask.sizes(), "masked_select");
  const Tensor x = contiguous_tensor(expanded(self, shape));
  const MaskScan scan(expanded(mask, shape));
  Tensor out = empty_tensor({scan.count()}, self.dtype());
  select_true(x, scan, out);
  return out;
}

void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source, Tensor& out) {
  const DimVector shape = broadcast_shapes(self.sizes(), mask.sizes(), "masked_scatter");
  const std::vector<int64_t> positions = true_positions(expanded(mask, shape));
  TRT_CHECK(static_cast<int64_t>(positions.size()) <= source.numel(), "masked_scatter: the mask has ", positions.size(),
            " true elements, the source only ", source.numel());
  const Tensor src = readable(source, out);
  const Tensor x = expanded(self, shape);
  ChangedCopy target(x, out);
  with_element_bits(self.itemsize(), [&]<typename T>() {
    const T* s = src.data_ptr<T>();
    T* d = target.get().data_ptr<T>();
    for (size_t i = 0; i < positions.size(); ++i) d[positions[i]] = s[i];
  });
  target.finish();
}

Tensor nonzero(const Tensor& self) {
  const std::vector<int64_t> positions = true_positions(self);
  const int64_t n = static_cast<int64_t>(positions.size()), dims = self.dim();
  Tensor out = empty_tensor({n, dims}, DType::Int64);
  int64_t* p = out.data_ptr<int64_t>();
  if (dims == 0) return out;
  const int64_t width = self.sizes().back();
  parallel_for(0, n, 16384, [&](int64_t b, int64_t e) {
    int64_t row = -1, row_begin = 0, row_end = -1;
    for (int64_t i = b; i < e; ++i) {
      const int64_t position = positions[at(i)];
      int64_t* to = p + i * dims;
      if (position < row_end) {
        // The same row as the one before: only the last coordinate is new.
        for (int64_t d = 0; d + 1 < dims; ++d) to[d] = to[d - dims];
      } else {
        row = position / width;
        row_begin = row * width;
        row_end = row_begin + width;
        int64_t rest = row;
        for (int64_t d = dims - 1; d-- > 0;) {
          to[d] = rest % self.sizes()[at(d)];
          rest /= self.sizes()[at(d)];
        }
      }
      to[dims - 1] = position - row_begin;
    }
  });
  return out;
}

Tensor repeat_interleave_Tensor(const Tensor& repeats, std::optional<int64_t> output_size) {
  TRT_CHECK(repeats.dim() == 1, "repeat_interleave: repeats must be a vector, got ", repeats);
  check_index_dtype(repeats, "repeat_interleave");
  const Tensor r = contiguous_tensor(repeats, DType::Int64);
  const int64_t* p = r.data_ptr<int64_t>();
  int64_t total = 0;
  for (int64_t i = 0; i < r.numel(); ++i) {
    TRT_CHECK(p[i] >= 0, "repeat_interleave: repeats must not be negative, got ", p[i]);
    TRT_CHECK(!__builtin_add_overflow(total, p[i], &total), "repeat_interleave: too many elements");
  }
  TRT_CHECK(!output_size || *output_size == total, "repeat_interleave: output_size is ", output_size.value_or(0),
            " but the repeats add up to ", total);
  Tensor out = empty_tensor({total}, repeats.dtype());
  Tensor wide = out.dtype() == DType::Int64 ? out : empty_tensor({total}, DType::Int64);
  int64_t* q = wide.data_ptr<int64_t>();
  for (int64_t i = 0; i < r.numel(); ++i) q = std::fill_n(q, p[i], i);
  if (!wide.is_same(out)) copy_tensor(out, wide);
  return out;
}

}  // namespace native

}  // namespace trt
