// Sorting and selection (sort.h).
//
// Note [Sort keys]
// A value maps to an unsigned key whose order is the wanted one; complementing the key reverses the order but not that
// of equal elements. A 64-bit composite (32 bits of key << 32 | index) then carries all there is to compare, so that
// one radix sort over integers serves all dtypes. Of a 64-bit key the composite takes the 32 bits from the highest one
// in which the keys of the row differ; runs that agree in those, rare in real data, are sorted by the full key
// afterwards.
#include "kernels/cpu/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "core/bool.h"
#include "core/half.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {
namespace {

using u128 = unsigned __int128;

template <typename T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Keys fill the low 8 * sizeof(T) bits.
template <typename T>
constexpr KeyOf<T> kAllBits = sizeof(T) >= 4 ? static_cast<KeyOf<T>>(~KeyOf<T>{0})
                                             : (KeyOf<T>{1} << (8 * sizeof(T) % 32)) - 1;

// The bit pattern of a floating-point type and that of its infinity.
template <typename T>
struct FloatBits {
  static constexpr bool kIsFloat = false;
};
template <typename U, U kInf>
struct FloatLayout {
  using Bits = U;
  static constexpr bool kIsFloat = true;
  static constexpr U kInfinity = kInf;
};
template <>
struct FloatBits<float> : FloatLayout<uint32_t, 0x7f800000u> {};
template <>
struct FloatBits<double> : FloatLayout<uint64_t, 0x7ff0000000000000u> {};
template <>
struct FloatBits<Half> : FloatLayout<uint16_t, 0x7c00u> {};
template <>
struct FloatBits<BFloat16> : FloatLayout<uint16_t, 0x7f80u> {};

template <typename T>
inline KeyOf<T> key_of(T v) {
  if constexpr (FloatBits<T>::kIsFloat) {
    using F = FloatBits<T>;
    const typename F::Bits bits = std::bit_cast<typename F::Bits>(v);
    constexpr KeyOf<T> kSign = KeyOf<T>{1} << (8 * sizeof(T) - 1);
    const KeyOf<T> magnitude = bits & (kSign - 1);
    const KeyOf<T> key = (bits & kSign) ? kSign - magnitude : kSign + magnitude;  // both zeros: kSign
    return magnitude > F::kInfinity ? kAllBits<T> : key;
  } else if constexpr (std::is_same_v<T, Bool>) {
    return bool{v};
  } else if constexpr (std::is_unsigned_v<T>) {
    return v;
  } else {
    constexpr KeyOf<T> kSign = KeyOf<T>{1} << (8 * sizeof(T) - 1);
    return (static_cast<KeyOf<T>>(v) & kAllBits<T>)^kSign;
  }
}

constexpr int64_t kMaxRow = (int64_t{1} << 32) - 1;
constexpr int64_t kSmallRow = 56;                   // shorter rows are sorted by comparison
constexpr int64_t kParallelRow = int64_t{1} << 17;  // longer rows are sorted one after another, each in parallel
constexpr int64_t kShortList = 24;                  // selections up to this length are kept in order while scanning
constexpr int kMaxDigit = 11;
constexpr int64_t kMaxChunks = 16;

// One stable counting pass on the `width` bits from bit `shift`. Returns false, with nothing moved, if all digits are
// equal.
bool radix_pass(const uint64_t* from, uint64_t* to, int64_t n, int shift, int width, int64_t chunks, uint32_t* counts) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  const int64_t buckets = int64_t{1} << width, step = (n + chunks - 1) / chunks;
  parallel_for(0, chunks, 1, [&](int64_t c0, int64_t c1) {
    for (int64_t c = c0; c < c1; ++c) {
      uint32_t* count = counts + (c << kMaxDigit);
      std::fill(count, count + buckets, 0u);
      const int64_t end = std::min(n, (c + 1) * step);
      for (int64_t i = c * step; i < end; ++i) ++count[(from[i] >> shift) & mask];
    }
  });
  uint32_t sum = 0;
  for (int64_t b = 0; b < buckets; ++b) {
    const uint32_t before = sum;
    for (int64_t c = 0; c < chunks; ++c) {
      uint32_t& count = counts[(c << kMaxDigit) + b];
      const uint32_t start = sum;
      sum += count;
      count = start;
    }
    if (static_cast<int64_t>(sum - before) == n) return false;
  }
  parallel_for(0, chunks, 1, [&](int64_t c0, int64_t c1) {
    for (int64_t c = c0; c < c1; ++c) {
      uint32_t* place = counts + (c << kMaxDigit);
      const int64_t end = std::min(n, (c + 1) * step);
      for (int64_t i = c * step; i < end; ++i) to[place[(from[i] >> shift) & mask]++] = from[i];
    }
  });
  return true;
}

// Sorts n composites; `differ` has a bit for each bit in which their keys differ. Returns a or b, where the result is.
uint64_t* sort_composites(uint64_t* a, uint64_t* b, int64_t n, uint32_t differ) {
  if (differ == 0) return a;
  if (n <= kSmallRow) {
    std::sort(a, a + n);
    return a;
  }
  const int low = std::countr_zero(differ), bits = 32 - std::countl_zero(differ) - low;
  const int digit = n < (1 << 13) ? 8 : kMaxDigit;
  const int passes = (bits + digit - 1) / digit, width = (bits + passes - 1) / passes;
  const bool parallel = n >= kParallelRow && !in_parallel_region();
  const int64_t chunks = parallel ? std::min<int64_t>(num_threads(), kMaxChunks) : 1;
  const Scratch counts(sizeof(uint32_t) * static_cast<size_t>(chunks) << kMaxDigit);
  for (int p = 0; p < passes; ++p) {
    if (radix_pass(a, b, n, 32 + low + p * width, width, chunks, counts.as<uint32_t>())) std::swap(a, b);
  }
  return a;
}

// Sorts one row. Returns n composites in order, of which the low halves (the indices) matter, somewhere in scratch[0,
// 2n).
template <typename T>
uint64_t* order_row(const T* x, int64_t n, KeyOf<T> flip, uint64_t* scratch) {
  uint64_t* a = scratch;
  KeyOf<T> differ = 0;
  const KeyOf<T> first = key_of(x[0]);
  int shift = 0;
  if constexpr (sizeof(T) == 8) {
    for (int64_t i = 0; i < n; ++i) differ |= key_of(x[i]) ^ first;
    shift = std::max(0, 32 - std::countl_zero(differ));
  }
  for (int64_t i = 0; i < n; ++i) {
    const KeyOf<T> key = key_of(x[i]);
    if constexpr (sizeof(T) < 8) differ |= key ^ first;
    a[i] = static_cast<uint64_t>(static_cast<uint32_t>((key ^ flip) >> shift)) << 32 | static_cast<uint64_t>(i);
  }
  a = sort_composites(a, scratch + n, n, static_cast<uint32_t>(differ >> shift));
  if constexpr (sizeof(T) == 8) {
    for (int64_t i = 0; shift > 0 && i < n;) {
      int64_t end = i + 1;
      while (end < n && (a[end] >> 32) == (a[i] >> 32)) ++end;
      if (end - i > 1) {
        std::sort(a + i, a + end, [&](uint64_t l, uint64_t r) {
          const uint32_t li = static_cast<uint32_t>(l), ri = static_cast<uint32_t>(r);
          const uint64_t lk = key_of(x[li]) ^ flip, rk = key_of(x[ri]) ^ flip;
          return lk != rk ? lk < rk : li < ri;
        });
      }
      i = end;
    }
  }
  return a;
}

template <typename T>
void write_out(const T* x, const uint64_t* order, T* values, int64_t* indices, int64_t count) {
  parallel_for(0, count, kParallelRow / 2, [&](int64_t begin, int64_t end) {
    if (values) {
      for (int64_t i = begin; i < end; ++i) values[i] = x[static_cast<uint32_t>(order[i])];
    }
    if (indices) {
      for (int64_t i = begin; i < end; ++i) indices[i] = static_cast<uint32_t>(order[i]);
    }
  });
}

// Sorts every row and writes the elements of the ranks [first, first + count).
template <typename T>
void sort_and_take(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, KeyOf<T> flip, int64_t first,
                   int64_t count) {
  const auto run = [&](int64_t r0, int64_t r1) {
    const Scratch scratch(2 * sizeof(uint64_t) * static_cast<size_t>(n));
    for (int64_t r = r0; r < r1; ++r) {
      const uint64_t* order = order_row(x + r * n, n, flip, scratch.as<uint64_t>());
      write_out(x + r * n, order + first, values ? values + r * count : nullptr,
                indices ? indices + r * count : nullptr, count);
    }
  };
  if (n >= kParallelRow) {
    if (rows > 0) run(0, rows);
  } else {
    parallel_for(0, rows, std::max<int64_t>(1, 4096 / n), run);
  }
}

// Selection of a few compares full keys: 64-bit composites for keys of 32 bits, 128-bit ones for keys of 64.
template <typename T>
using CompositeOf = std::conditional_t<sizeof(T) == 8, u128, uint64_t>;

template <typename T>
int64_t first_of_row(const T* x, int64_t n, KeyOf<T> flip) {
  KeyOf<T> best = key_of(x[0]) ^ flip;
  int64_t at = 0;
  for (int64_t i = 1; i < n; ++i) {
    const KeyOf<T> key = key_of(x[i]) ^ flip;
    if (TRT_UNLIKELY(key < best)) best = key, at = i;
  }
  return at;
}

// The k smallest composites of a row in order, in a[0, k), where n >= capacity > k. One scan collects candidates below
// the k-th best so far; as it goes upwards, an equal key never displaces an earlier one. A short list is kept in order
// by insertion; a longer one is cut to k when the buffer is full.
template <typename T>
void smallest_of_row(const T* x, int64_t n, int64_t k, KeyOf<T> flip, CompositeOf<T>* a, int64_t capacity) {
  using C = CompositeOf<T>;
  constexpr int kShift = sizeof(T) == 8 ? 64 : 32;
  const auto composite = [](KeyOf<T> key, int64_t i) { return static_cast<C>(key) << kShift | static_cast<C>(i); };
  const auto scan = [&](int64_t from, KeyOf<T> limit, auto&& take) {
    for (int64_t i = from; i < n; ++i) {
      const KeyOf<T> key = key_of(x[i]) ^ flip;
      if (TRT_UNLIKELY(key < limit)) limit = take(composite(key, i), limit);
    }
  };
  if (k <= kShortList) {
    const auto insert = [&](int64_t at, C c) {
      for (; at > 0 && a[at - 1] > c; --at) a[at] = a[at - 1];
      a[at] = c;
    };
    for (int64_t i = 0; i < k; ++i) insert(i, composite(key_of(x[i]) ^ flip, i));
    scan(k, static_cast<KeyOf<T>>(a[k - 1] >> kShift), [&](C c, KeyOf<T>) {
      insert(k - 1, c);
      return static_cast<KeyOf<T>>(a[k - 1] >> kShift);
    });
    return;
  }
  for (int64_t i = 0; i < capacity; ++i) a[i] = composite(key_of(x[i]) ^ flip, i);
  int64_t count = capacity;
  const auto cut = [&] {
    std::nth_element(a, a + k - 1, a + count);
    count = k;
    return static_cast<KeyOf<T>>(a[k - 1] >> kShift);
  };
  scan(capacity, cut(), [&](C c, KeyOf<T> limit) {
    a[count++] = c;
    return count == capacity ? cut() : limit;
  });
  if (count > k) cut();
  std::sort(a, a + k);
}

void check_row(const char* what, int64_t n) {
  TRT_CHECK_CODE(n <= kMaxRow, Code::kNotSupported, what, ": ", n,
                 " elements along the dimension; at most 2^32 - 1 work");
}

}  // namespace

template <typename T>
void sort_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, bool descending) {
  check_row("sort", n);
  if (n > 0) sort_and_take<T>(x, values, indices, rows, n, descending ? kAllBits<T> : 0, 0, n);
}

template <typename T>
void topk_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, int64_t k, bool largest) {
  check_row("topk", n);
  if (k == 0) return;
  using C = CompositeOf<T>;
  const KeyOf<T> flip = largest ? kAllBits<T> : 0;
  const int64_t capacity = 2 * k + 32;
  if (k > 1 && (n <= capacity || (k > kShortList && n <= 32 * k))) {
    return sort_and_take<T>(x, values, indices, rows, n, flip, 0, k);
  }
  parallel_for(0, rows, std::max<int64_t>(1, 4096 / n), [&](int64_t r0, int64_t r1) {
    const Scratch scratch(sizeof(C) * static_cast<size_t>(capacity));
    C* best = scratch.as<C>();
    for (int64_t r = r0; r < r1; ++r) {
      const T* row = x + r * n;
      if (k == 1) {
        *best = static_cast<C>(first_of_row(row, n, flip));
      } else {
        smallest_of_row(row, n, k, flip, best, capacity);
      }
      for (int64_t i = 0; i < k; ++i) {
        const uint32_t at = static_cast<uint32_t>(best[i]);
        if (values) values[r * k + i] = row[at];
        if (indices) indices[r * k + i] = at;
      }
    }
  });
}

template <typename T>
void kth_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, int64_t k) {
  check_row("kthvalue", n);
  sort_and_take<T>(x, values, indices, rows, n, 0, k, 1);
}

// Whether an element is NaN, which sorts behind all numbers.
template <typename T>
bool is_nan_element(T v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return std::isnan(static_cast<float>(v));
  else if constexpr (std::is_floating_point_v<T>) return std::isnan(v);
  else return false;
}

template <typename T>
void median_rows(const T* x, T* values, int64_t* indices, int64_t rows, int64_t n, bool skip_nan) {
  check_row("median", n);
  const auto run = [&](int64_t r0, int64_t r1) {
    const Scratch scratch(2 * sizeof(uint64_t) * static_cast<size_t>(n));
    for (int64_t r = r0; r < r1; ++r) {
      const T* row = x + r * n;
      const uint64_t* order = order_row(row, n, KeyOf<T>(0), scratch.as<uint64_t>());
      const auto element = [&](int64_t rank) { return row[static_cast<uint32_t>(order[rank])]; };
      int64_t numbers = n;
      while (numbers > 0 && is_nan_element(element(numbers - 1))) --numbers;
      const int64_t rank = numbers < n && !skip_nan ? numbers : numbers > 0 ? (numbers - 1) / 2 : 0;
      values[r] = element(rank);
      if (indices) indices[r] = static_cast<uint32_t>(order[rank]);
    }
  };
  if (n >= kParallelRow) run(0, rows);
  else parallel_for(0, rows, std::max<int64_t>(1, 4096 / n), run);
}

#define TRT_INSTANTIATE_SORT(T)                                                     \
  template void sort_rows(const T*, T*, int64_t*, int64_t, int64_t, bool);          \
  template void topk_rows(const T*, T*, int64_t*, int64_t, int64_t, int64_t, bool); \
  template void kth_rows(const T*, T*, int64_t*, int64_t, int64_t, int64_t);        \
  template void median_rows(const T*, T*, int64_t*, int64_t, int64_t, bool)
TRT_INSTANTIATE_SORT(float);
TRT_INSTANTIATE_SORT(double);
TRT_INSTANTIATE_SORT(Half);
TRT_INSTANTIATE_SORT(BFloat16);
TRT_INSTANTIATE_SORT(int64_t);
TRT_INSTANTIATE_SORT(int32_t);
TRT_INSTANTIATE_SORT(int16_t);
TRT_INSTANTIATE_SORT(int8_t);
TRT_INSTANTIATE_SORT(uint8_t);
TRT_INSTANTIATE_SORT(Bool);
#undef TRT_INSTANTIATE_SORT

}  // namespace trt::cpu
