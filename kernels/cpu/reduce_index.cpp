// Extremum with its position. Contiguous rows are read twice, the second time from the cache: first the extremum, then
// a search for its first place; of a long row, only the first piece with the extremum is searched. Columns keep the running
// extremum and its row number in vectors.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/reduce.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce_index.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd_inl.h"

#ifndef TRT_KERNELS_CPU_REDUCE_INDEX_ONCE
#define TRT_KERNELS_CPU_REDUCE_INDEX_ONCE
namespace trt::cpu {
template <typename T>
struct FindTable {
  // The first i < n with x[i] == value, or with x[i] a NaN when value is one; there is such an i.
  int64_t (*find)(const T* x, int64_t n, T value);
};
template <typename T>
struct IndexTable {
  // values[j], indices[j] of x[i * stride + j] over i < rows < 2^31, j < n <= kReduceTile, by largest and smallest.
  using Cols = void (*)(const T* x, int64_t rows, int64_t stride, int64_t n, T* values, int64_t* indices);
  Cols max_cols, min_cols;
};
}  // namespace trt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <typename T>
int64_t find_value(const T* HWY_RESTRICT x, int64_t n, T value) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto v = hn::Set(d, value);
  const bool nan = value != value;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto e = hn::LoadU(d, x + i);
    auto hit = hn::Eq(e, v);
    if constexpr (hwy::IsFloat<T>()) hit = nan ? hn::IsNaN(e) : hit;
    if (const intptr_t k = hn::FindFirstTrue(d, hit); k >= 0) return i + k;
  }
  while (i < n - 1 && !(nan ? x[i] != x[i] : x[i] == value)) ++i;
  return i;
}

// The row numbers in `at` count from the first row here, and fit in T's width.
template <bool kMax, typename T, typename TI>
void index_block(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n, T* HWY_RESTRICT values, TI* HWY_RESTRICT at) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR { store(load(x + j), values + j); });
  std::memset(at, 0, kReduceTile * sizeof(TI));
  constexpr int64_t kRows = 8;  // rows per load and store of the running values
  for (int64_t i = 1; i < rows; i += kRows) {
    const int64_t end = std::min(rows, i + kRows);
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
      auto best = load(values + j);
      auto where = hn::Load(di, at + j);
      for (int64_t k = i; k < end; ++k) {
        const auto v = load(x + k * stride + j);
        auto better = kMax ? hn::Gt(v, best) : hn::Lt(v, best);
        if constexpr (hwy::IsFloat<T>()) {
          better = hn::Or(better, hn::And(hn::IsNaN(v), hn::Eq(best, best)));
        }
        best = hn::IfThenElse(better, v, best);
        where = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, static_cast<TI>(k)), where);
      }
      store(best, values + j);
      hn::Store(where, di, at + j);
    });
  }
}

template <bool kMax, typename T>
void index_cols(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n, T* HWY_RESTRICT values,
                int64_t* HWY_RESTRICT indices) {
  using TI = hn::TFromD<hn::RebindToSigned<hn::ScalableTag<T>>>;
  HWY_ALIGN TI at[kReduceTile];
  if constexpr (sizeof(T) >= 4) {
    index_block<kMax>(x, rows, stride, n, values, at);
    for (int64_t j = 0; j < n; ++j) indices[j] = at[j];
  } else {
    constexpr int64_t kBlock = int64_t{1} << (8 * sizeof(T) - 1);
    HWY_ALIGN T best[kReduceTile];
    for (int64_t block = 0; block < rows; block += kBlock) {
      index_block<kMax>(x + block * stride, std::min(rows - block, kBlock), stride, n, best, at);
      for (int64_t j = 0; j < n; ++j) {
        if (block != 0 && !(kMax ? best[j] > values[j] : best[j] < values[j])) continue;
        values[j] = best[j];
        indices[j] = block + at[j];
      }
    }
  }
}

// Integers of one size are equal where their bits are.
constexpr Tables<FindTable, float, double, int64_t, int32_t, int16_t, int8_t> kFinds = {{find_value<float>},   {find_value<double>},  {find_value<int64_t>},
                                                                                      {find_value<int32_t>}, {find_value<int16_t>}, {find_value<int8_t>}};
const Tables<FindTable, float, double, int64_t, int32_t, int16_t, int8_t>* find_tables() { return &kFinds; }

template <typename T>
constexpr IndexTable<T> kIndex = {index_cols<true, T>, index_cols<false, T>};
constexpr Tables<IndexTable, float, double, int64_t, int32_t, int16_t, int8_t, uint8_t> kIndices = {kIndex<float>,   kIndex<double>, kIndex<int64_t>, kIndex<int32_t>,
                                                                                                   kIndex<int16_t>, kIndex<int8_t>, kIndex<uint8_t>};
const Tables<IndexTable, float, double, int64_t, int32_t, int16_t, int8_t, uint8_t>* index_tables() { return &kIndices; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(find_tables);
HWY_EXPORT(index_tables);

namespace {

constexpr int64_t kShort = 16;  // elements of a row that are faster looked at one by one

template <typename T>
int64_t find(const T* x, int64_t n, T value) {
  const auto* tables = HWY_DYNAMIC_DISPATCH(find_tables)();
  if constexpr (std::is_same_v<T, uint8_t>) {
    return static_cast<const FindTable<int8_t>*>(tables)->find(reinterpret_cast<const int8_t*>(x), n, static_cast<int8_t>(value));
  } else {
    return static_cast<const FindTable<T>*>(tables)->find(x, n, value);
  }
}

// Whether v comes before `best`, which stands before it, as the extremum.
template <bool kMax, typename T>
bool better(T v, T best) {
  if constexpr (std::is_floating_point_v<T>) {
    if (v != v) return best == best;
  }
  return kMax ? v > best : v < best;
}

template <bool kMax, typename T>
void index_rows(const ReduceKernel<T>& extremum, const T* x, T* values, int64_t* indices, int64_t outer, int64_t r) {
  if (r <= kReduceChunk) {
    const int64_t grain = std::max<int64_t>(1, kReduceGrain / r);
    parallel_for(0, outer, grain, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const T* row = x + i * r;
        int64_t at = 0;
        if (r <= kShort) {
          T best = row[0];
          for (int64_t k = 1; k < r; ++k) {
            const bool take = better<kMax>(row[k], best);
            best = take ? row[k] : best;
            at = take ? k : at;
          }
        } else {
          T best;
          extremum.rows(row, 1, r, T(0), &best);
          at = find(row, r, best);
        }
        indices[i] = at;
        if (values != nullptr) values[i] = row[at];
      }
    });
    return;
  }
  const int64_t pieces = (r + kReduceChunk - 1) / kReduceChunk;
  const auto length = [&](int64_t piece) { return std::min(kReduceChunk, r - piece * kReduceChunk); };
  const std::unique_ptr<T[]> partial(new T[static_cast<size_t>(outer * pieces)]);
  parallel_for(0, outer * pieces, 1, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) extremum.rows(x + i / pieces * r + i % pieces * kReduceChunk, 1, length(i % pieces), T(0), &partial[static_cast<size_t>(i)]);
  });
  parallel_for(0, outer, 1, [&](int64_t b, int64_t e) {
    for (int64_t o = b; o < e; ++o) {
      const T* bests = partial.get() + o * pieces;
      int64_t first = 0;
      for (int64_t piece = 1; piece < pieces; ++piece) first = better<kMax>(bests[piece], bests[first]) ? piece : first;
      const int64_t at = first * kReduceChunk + find(x + o * r + first * kReduceChunk, length(first), bests[first]);
      indices[o] = at;
      if (values != nullptr) values[o] = x[o * r + at];
    }
  });
}

template <bool kMax, typename T>
void reduce_index(const T* x, T* values, int64_t* indices, int64_t outer, int64_t r, int64_t inner) {
  if (outer == 0 || inner == 0) return;
  TRT_CHECK(r > 0, kMax ? "max" : "min", ": the dimension to reduce has size 0 and the operation has no identity");
  if (inner == 1) {
    const auto& table = [&]() -> const auto& {
      if constexpr (std::is_integral_v<T> && sizeof(T) < 8) return int_reduce_table<T>();
      else return reduce_table<T>();
    }();
    return index_rows<kMax>(kMax ? table.max : table.min, x, values, indices, outer, r);
  }
  const IndexTable<T>& t = *HWY_DYNAMIC_DISPATCH(index_tables)();
  const auto cols = kMax ? t.max_cols : t.min_cols;

  const int64_t tile_size = std::min(inner, kReduceTile), tiles = (inner + kReduceTile - 1) / kReduceTile;
  // As in reduce_with, rows are cut only where outputs are few; and so that row numbers fit in 32 bits.
  int64_t piece_rows = std::min<int64_t>(r, int64_t{1} << 30);
  if (outer * inner < kReduceChunk) piece_rows = std::min(r, std::max<int64_t>(128, kReduceChunk / inner));
  const int64_t pieces = (r + piece_rows - 1) / piece_rows;
  const int64_t total = outer * pieces * inner;
  std::unique_ptr<T[]> value_space;
  std::unique_ptr<int64_t[]> index_space;
  T* v = values;
  int64_t* at = indices;
  if (values == nullptr || pieces > 1) v = (value_space.reset(new T[static_cast<size_t>(total)]), value_space.get());
  if (pieces > 1) at = (index_space.reset(new int64_t[static_cast<size_t>(total)]), index_space.get());

  const int64_t cost = piece_rows * tile_size;
  parallel_for(0, outer * pieces * tiles, cost >= kReduceGrain ? 1 : kReduceGrain / cost, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) {
      const int64_t tile = i % tiles * kReduceTile, piece = i / tiles % pieces, o = i / tiles / pieces;
      const int64_t rows = std::min(piece_rows, r - piece * piece_rows);
      const T* from = x + (o * r + piece * piece_rows) * inner + tile;
      const int64_t to = (o * pieces + piece) * inner + tile;
      cols(from, rows, inner, std::min(kReduceTile, inner - tile), v + to, at + to);
    }
  });
  if (pieces == 1) return;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t j = 0; j < inner; ++j) {
      int64_t best = o * pieces * inner + j, best_piece = 0;
      for (int64_t piece = 1; piece < pieces; ++piece) {
        const int64_t k = (o * pieces + piece) * inner + j;
        if (better<kMax>(v[k], v[best])) best = k, best_piece = piece;
      }
      indices[o * inner + j] = at[best] + best_piece * piece_rows;
      if (values != nullptr) values[o * inner + j] = v[best];
    }
  }
}

}  // namespace

template <typename T>
void reduce_max_index(const T* x, T* values, int64_t* indices, int64_t outer, int64_t r, int64_t inner) {
  reduce_index<true>(x, values, indices, outer, r, inner);
}
template <typename T>
void reduce_min_index(const T* x, T* values, int64_t* indices, int64_t outer, int64_t r, int64_t inner) {
  reduce_index<false>(x, values, indices, outer, r, inner);
}

#define TRT_REDUCE_INDEX(T)                                                             \
  template void reduce_max_index<T>(const T*, T*, int64_t*, int64_t, int64_t, int64_t); \
  template void reduce_min_index<T>(const T*, T*, int64_t*, int64_t, int64_t, int64_t);
TRT_REDUCE_INDEX(float)
TRT_REDUCE_INDEX(double)
TRT_REDUCE_INDEX(int64_t)
TRT_REDUCE_INDEX(int32_t)
TRT_REDUCE_INDEX(int16_t)
TRT_REDUCE_INDEX(int8_t)
TRT_REDUCE_INDEX(uint8_t)
#undef TRT_REDUCE_INDEX

}  // namespace trt::cpu
#endif  // HWY_ONCE
