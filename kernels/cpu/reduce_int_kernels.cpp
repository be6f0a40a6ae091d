// Vector kernels of the plain reductions of small integers, in their own width, and of counts (reduce_inl.h).
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce_int_kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/reduce_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

template <class D>
using Widest = hn::Repartition<uint64_t, D>;

// The lanes, unsigned, summed within 8 bytes.
template <class D>
HWY_INLINE hn::Vec<Widest<D>> sums_of(D d, hn::Vec<D> v) {
  const Widest<D> d8;
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    (void)d;
    return hn::BitCast(d8, v);
  } else if constexpr (sizeof(hn::TFromD<D>) == 4) {
    const auto w = hn::BitCast(d8, v);
    return hn::Add(hn::And(w, hn::Set(d8, 0xffffffffu)), hn::ShiftRight<32>(w));
  } else if constexpr (sizeof(hn::TFromD<D>) == 2) {
    const hn::Repartition<uint32_t, D> d4;
    const auto w = hn::BitCast(d4, v);
    return sums_of(d4, hn::Add(hn::And(w, hn::Set(d4, 0xffffu)), hn::ShiftRight<16>(w)));
  } else {
    return hn::SumsOf8(hn::BitCast(hn::Repartition<uint8_t, D>(), v));
  }
}

template <typename T>
constexpr T kSign = std::is_signed_v<T> ? std::numeric_limits<T>::min() : T(0);

// The number of vectors whose lanes, 0 or 1, add up within a lane.
template <typename T>
constexpr int64_t kCountable = sizeof(T) == 1 ? 255 : 32767;

// Numbers are made unsigned by adding 2^(bits - 1), which the number of lanes takes off again.
template <typename T>
int64_t sum_row(const T* HWY_RESTRICT x, int64_t n) {
  const hn::ScalableTag<T> d;
  if constexpr (hn::MaxLanes(decltype(d)()) == 1) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
    return static_cast<int64_t>(sum);
  } else {
    const Widest<decltype(d)> d8;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto sign = hn::Set(d, kSign<T>);
    const auto sums = [&](auto v) HWY_ATTR { return sums_of(d, hn::Xor(v, sign)); };
    auto a = hn::Zero(d8), b = a;
    int64_t i = 0;
    for (; i + 2 * lanes <= n; i += 2 * lanes) {
      a = hn::Add(a, sums(hn::LoadU(d, x + i)));
      b = hn::Add(b, sums(hn::LoadU(d, x + i + lanes)));
    }
    for (; i + lanes <= n; i += lanes) a = hn::Add(a, sums(hn::LoadU(d, x + i)));
    if (i < n) {
      a = hn::Add(a, sums(load_tail(d, x + i, n - i)));
      i += lanes;
    }
    constexpr uint64_t kBias = kSign<T> == 0 ? 0 : uint64_t{1} << (8 * sizeof(T) - 1);
    return static_cast<int64_t>(sum_lanes(d8, hn::Add(a, b)) - kBias * static_cast<uint64_t>(i));
  }
}

template <typename T>
void sum_rows(const T* HWY_RESTRICT x, int64_t outer, int64_t r, T, int64_t* HWY_RESTRICT out) {
  for (int64_t i = 0; i < outer; ++i) {
    if (r <= 8) {
      out[i] = 0;
      for (int64_t k = 0; k < r; ++k) out[i] += x[i * r + k];
    } else {
      out[i] = sum_row(x + i * r, r);
    }
  }
}

template <typename T>
struct Wider;
template <>
struct Wider<uint8_t> {
  using type = uint16_t;
};
template <>
struct Wider<int8_t> {
  using type = int16_t;
};
template <>
struct Wider<int16_t> {
  using type = int32_t;
};
template <>
struct Wider<int32_t> {
  using type = int64_t;
};

// Sums in lanes of twice the width, into out before they overflow.
template <typename T>
void sum_cols(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n, T, int64_t* HWY_RESTRICT out) {
  using W = typename Wider<T>::type;
  const hn::ScalableTag<W> d;
  const hn::Rebind<T, decltype(d)> dx;
  constexpr int64_t kBlock = sizeof(T) == 1 ? 256 : 32768, kRows = 8;
  HWY_ALIGN W acc[kReduceTile];
  for (int64_t block = 0; block < rows; block += kBlock) {
    const int64_t end = std::min(rows, block + kBlock);
    for (int64_t i = block; i < end; i += kRows) {
      const int64_t stop = std::min(end, i + kRows);
      for_vectors(dx, n, [&](int64_t j, auto load, auto) HWY_ATTR {
        auto v = i == block ? hn::Zero(d) : hn::Load(d, acc + j);
        for (int64_t k = i; k < stop; ++k) v = hn::Add(v, hn::PromoteTo(d, load(x + k * stride + j)));
        hn::Store(v, d, acc + j);
      });
    }
    for (int64_t j = 0; j < n; ++j) out[j] = (block == 0 ? 0 : out[j]) + acc[j];
  }
}

// 1 in the lanes that are zero but for the bits not in p; subtracted from `zeros`, as a mask is -1.
template <class D>
HWY_INLINE hn::Vec<D> count_zeros(D d, hn::Vec<D> zeros, hn::Vec<D> v, hn::Vec<D> p) {
  return hn::Sub(zeros, hn::VecFromMask(d, hn::Eq(hn::And(v, p), hn::Zero(d))));
}

template <typename T>
int64_t count_row(const T* HWY_RESTRICT x, int64_t n, T bits) {
  const hn::ScalableTag<T> d;
  if constexpr (hn::MaxLanes(decltype(d)()) == 1) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; ++i) count += (x[i] & bits) != 0;
    return count;
  } else {
    const Widest<decltype(d)> d8;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto p = hn::Set(d, bits);
    auto total = hn::Zero(d8);
    int64_t i = 0;
    while (i + lanes <= n) {
      const int64_t end = i + std::min((n - i) / lanes, 2 * kCountable<T>) * lanes;
      auto a = hn::Zero(d), b = a;
      for (; i + 2 * lanes <= end; i += 2 * lanes) {
        a = count_zeros(d, a, hn::LoadU(d, x + i), p);
        b = count_zeros(d, b, hn::LoadU(d, x + i + lanes), p);
      }
      if (i < end) {
        b = count_zeros(d, b, hn::LoadU(d, x + i), p);
        i += lanes;
      }
      total = hn::Add(total, hn::Add(sums_of(d, a), sums_of(d, b)));
    }
    if (i < n) {  // the lanes beyond the end are zero
      total = hn::Add(total, sums_of(d, count_zeros(d, hn::Zero(d), load_tail(d, x + i, n - i), p)));
      i += lanes;
    }
    return i - static_cast<int64_t>(sum_lanes(d8, total));
  }
}

template <typename T>
void count_rows(const T* HWY_RESTRICT x, int64_t outer, int64_t r, T bits, int64_t* HWY_RESTRICT out) {
  for (int64_t i = 0; i < outer; ++i) {
    if (r <= 8) {
      out[i] = 0;
      for (int64_t k = 0; k < r; ++k) out[i] += (x[i * r + k] & bits) != 0;
    } else {
      out[i] = count_row(x + i * r, r, bits);
    }
  }
}

template <typename T>
void count_cols(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n, T bits, int64_t* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  const auto p = hn::Set(d, bits);
  constexpr int64_t kBlock = kCountable<T>, kRows = 8;
  HWY_ALIGN T zeros[kReduceTile];
  for (int64_t block = 0; block < rows; block += kBlock) {
    const int64_t end = std::min(rows, block + kBlock);
    for (int64_t i = block; i < end; i += kRows) {
      const int64_t stop = std::min(end, i + kRows);
      for_vectors(d, n, [&](int64_t j, auto load, auto) HWY_ATTR {
        auto v = i == block ? hn::Zero(d) : hn::Load(d, zeros + j);
        for (int64_t k = i; k < stop; ++k) v = count_zeros(d, v, load(x + k * stride + j), p);
        hn::Store(v, d, zeros + j);
      });
    }
    for (int64_t j = 0; j < n; ++j) out[j] = (block == 0 ? rows : out[j]) - zeros[j];
  }
}

template <typename T>
constexpr IntReduceTable<T> kInts = {kernel<Max, T>(&kInts<T>.max), kernel<Min, T>(&kInts<T>.min), {sum_rows<T>, sum_cols<T>, 0, nullptr}, minmax_row<T>};
constexpr Tables<IntReduceTable, uint8_t, int8_t, int16_t, int32_t> kIntTables = {kInts<uint8_t>, kInts<int8_t>, kInts<int16_t>, kInts<int32_t>};
const Tables<IntReduceTable, uint8_t, int8_t, int16_t, int32_t>* int_tables() { return &kIntTables; }

template <typename T>
constexpr CountTable<T> kCounts = {{count_rows<T>, count_cols<T>, 0, nullptr}};
constexpr Tables<CountTable, uint8_t, int16_t, int32_t, int64_t> kCountTables = {kCounts<uint8_t>, kCounts<int16_t>, kCounts<int32_t>, kCounts<int64_t>};
const Tables<CountTable, uint8_t, int16_t, int32_t, int64_t>* count_tables() { return &kCountTables; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(int_tables);
HWY_EXPORT(count_tables);

template <typename T>
const IntReduceTable<T>& int_reduce_table() {
  return *HWY_DYNAMIC_DISPATCH(int_tables)();
}
template const IntReduceTable<uint8_t>& int_reduce_table<uint8_t>();
template const IntReduceTable<int8_t>& int_reduce_table<int8_t>();
template const IntReduceTable<int16_t>& int_reduce_table<int16_t>();
template const IntReduceTable<int32_t>& int_reduce_table<int32_t>();

template <typename T>
const CountTable<T>& count_table() {
  return *HWY_DYNAMIC_DISPATCH(count_tables)();
}
template const CountTable<uint8_t>& count_table<uint8_t>();
template const CountTable<int16_t>& count_table<int16_t>();
template const CountTable<int32_t>& count_table<int32_t>();
template const CountTable<int64_t>& count_table<int64_t>();

}  // namespace trt::cpu
#endif  // HWY_ONCE
