// The two loops of the plain reductions, along contiguous rows and down columns, and their commonest operations. An operation is a struct with
//   map(d, v, p)      applied to each element first (p: exponent of a norm),
//   combine(d, a, b)  associative and commutative,
//   identity<T>()     neutral element of combine.
// Included once per instruction set, inside a file that uses hwy/foreach_target.h; everything here is private to the including file.
#if defined(TRT_KERNELS_CPU_REDUCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TRT_KERNELS_CPU_REDUCE_INL_H_
#undef TRT_KERNELS_CPU_REDUCE_INL_H_
#else
#define TRT_KERNELS_CPU_REDUCE_INL_H_
#endif

#include <limits>

#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/simd_inl.h"

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

struct Plain {
  template <class D, class V, typename T>
  static HWY_INLINE V map(D, V v, T) {
    return v;
  }
};

struct Sum : Plain, AddLanes {
  template <typename T>
  static constexpr T identity() {
    return T(0);
  }
};

struct Prod : Plain {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <typename T>
  static constexpr T identity() {
    return T(1);
  }
};

// Max and Min keep a NaN of either side; where the instruction returns b already, only a needs a look.
struct Max : Plain {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Max(a, b);
    } else if constexpr (kNanReturnsSecond) {
      return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
    } else {
      return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
    }
  }
  template <typename T>
  static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                : std::numeric_limits<T>::lowest();
  }
};

struct Min : Plain {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    if constexpr (!hwy::IsFloat<hn::TFromD<D>>()) {
      return hn::Min(a, b);
    } else if constexpr (kNanReturnsSecond) {
      return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b));
    } else {
      return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
    }
  }
  template <typename T>
  static constexpr T identity() {
    return std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
  }
};

// All lanes combined. Lanes of 1 and 2 bytes are brought together within 4 bytes first.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> finish_lanes(D d, hn::Vec<D> v) {
  constexpr size_t kSize = sizeof(hn::TFromD<D>);
  if constexpr (kSize >= 4 || hn::MaxLanes(D()) == 1) {
    return reduce_lanes<Op>(d, v);
  } else {
    const hn::Repartition<uint32_t, D> d4;
    constexpr size_t kLanes = hn::MaxLanes(decltype(d4)());
    if constexpr (kSize == 1) {
      const hn::Repartition<uint16_t, D> d2;
      v = Op::combine(d, v, hn::BitCast(d, hn::ShiftRight<8>(hn::BitCast(d2, v))));
    }
    v = Op::combine(d, v, hn::BitCast(d, hn::ShiftRight<16>(hn::BitCast(d4, v))));
    if constexpr (kLanes >= 2) v = Op::combine(d, v, hn::BitCast(d, hn::Reverse2(d4, hn::BitCast(d4, v))));
    if constexpr (kLanes >= 4) v = Op::combine(d, v, hn::BitCast(d, hn::Reverse4(d4, hn::BitCast(d4, v))));
    if constexpr (kLanes >= 8) v = Op::combine(d, v, hn::BitCast(d, hn::Reverse8(d4, hn::BitCast(d4, v))));
    if constexpr (kLanes >= 16) v = Op::combine(d, v, hn::BitCast(d, hn::Reverse(d4, hn::BitCast(d4, v))));
    return hn::GetLane(v);
  }
}

template <class Op, class D, typename T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> mapped_tail(D d, const T* x, int64_t n, T p) {
  const auto v = Op::map(d, load_tail(d, x, n), p);
  return hn::IfThenElse(hn::FirstN(d, static_cast<size_t>(n)), v, hn::Set(d, Op::template identity<T>()));
}

// Eight running vectors per block of 2,048 elements, blocks folded into one vector: a lane sees at most about 16 terms
// and then one term per block, of which a piece of kReduceChunk elements has 16 (small integers, which lose nothing, make one block).
template <class Op, typename T>
T reduce_row(const T* HWY_RESTRICT x, int64_t n, T p) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int64_t kBlock = sizeof(T) >= 4 ? 2048 : kReduceChunk;
  auto total = hn::Set(d, Op::template identity<T>());
  int64_t i = 0;
  const auto at = [&](int64_t k) HWY_ATTR { return Op::map(d, hn::LoadU(d, x + i + k * lanes), p); };
  while (n - i >= 8 * lanes) {
    const int64_t left = (n - i) / (8 * lanes) * (8 * lanes);
    const int64_t end = i + (left < kBlock ? left : kBlock);
    auto a0 = at(0), a1 = at(1), a2 = at(2), a3 = at(3), a4 = at(4), a5 = at(5), a6 = at(6), a7 = at(7);
    for (i += 8 * lanes; i < end; i += 8 * lanes) {
      a0 = Op::combine(d, a0, at(0));
      a1 = Op::combine(d, a1, at(1));
      a2 = Op::combine(d, a2, at(2));
      a3 = Op::combine(d, a3, at(3));
      a4 = Op::combine(d, a4, at(4));
      a5 = Op::combine(d, a5, at(5));
      a6 = Op::combine(d, a6, at(6));
      a7 = Op::combine(d, a7, at(7));
    }
    a0 = Op::combine(d, Op::combine(d, a0, a1), Op::combine(d, a2, a3));
    a4 = Op::combine(d, Op::combine(d, a4, a5), Op::combine(d, a6, a7));
    total = Op::combine(d, total, Op::combine(d, a0, a4));
  }
  for (; i + lanes <= n; i += lanes) total = Op::combine(d, total, at(0));
  if (i < n) total = Op::combine(d, total, mapped_tail<Op>(d, x + i, n - i, p));
  return finish_lanes<Op>(d, total);
}

template <class Op, typename T>
void reduce_rows(const T* HWY_RESTRICT x, int64_t outer, int64_t r, T p, T* HWY_RESTRICT out) {
  const hn::ScalableTag<T> d;
  if (r <= 8) {
    const hn::CappedTag<T, 1> one;  // so few elements are faster added one by one
    for (int64_t i = 0; i < outer; ++i) {
      auto v = Op::map(one, hn::LoadU(one, x + i * r), p);
      for (int64_t k = 1; k < r; ++k) v = Op::combine(one, v, Op::map(one, hn::LoadU(one, x + i * r + k), p));
      out[i] = hn::GetLane(v);
    }
  } else if (r < static_cast<int64_t>(hn::Lanes(d))) {
    for (int64_t i = 0; i < outer; ++i) out[i] = finish_lanes<Op>(d, mapped_tail<Op>(d, x + i * r, r, p));
  } else {
    for (int64_t i = 0; i < outer; ++i) out[i] = reduce_row<Op>(x + i * r, r, p);
  }
}

// Adds up to 8 rows to acc (replaces acc when first).
template <class Op, typename T>
HWY_INLINE void combine_few_rows(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n, T p,
                                 T* HWY_RESTRICT acc, bool first) {
  const hn::ScalableTag<T> d;
  for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
    const T* q = x + j;
    const auto at = [&](int64_t k) HWY_ATTR { return Op::map(d, load(q + k * stride), p); };
    auto v = at(0);
    if (HWY_LIKELY(rows == 8)) {
      const auto a = Op::combine(d, Op::combine(d, v, at(1)), Op::combine(d, at(2), at(3)));
      const auto b = Op::combine(d, Op::combine(d, at(4), at(5)), Op::combine(d, at(6), at(7)));
      v = Op::combine(d, a, b);
    } else {
      for (int64_t k = 1; k < rows; ++k) v = Op::combine(d, v, at(k));
    }
    store(first ? v : Op::combine(d, load(acc + j), v), acc + j);
  });
}

// Groups of 8 rows, blocks of 16 groups, then blocks: the depth of the cascade for columns.
template <class Op, typename T>
void reduce_cols(const T* HWY_RESTRICT x, int64_t rows, int64_t stride, int64_t n, T p, T* HWY_RESTRICT out) {
  constexpr int64_t kBlockRows = 128;
  HWY_ALIGN T acc[kReduceTile];
  for (int64_t block = 0; block < rows; block += kBlockRows) {
    const int64_t end = rows - block < kBlockRows ? rows : block + kBlockRows;
    T* to = block == 0 ? out : acc;
    for (int64_t i = block; i < end; i += 8) {
      combine_few_rows<Op>(x + i * stride, end - i < 8 ? end - i : 8, stride, n, p, to, i == block);
    }
    if (block == 0) continue;
    const hn::ScalableTag<T> d;
    for_vectors(d, n, [&](int64_t j, auto load, auto store) HWY_ATTR {
      store(Op::combine(d, load(out + j), load(acc + j)), out + j);
    });
  }
}

// The smallest and the largest of a row at once.
template <typename T>
void minmax_row(const T* HWY_RESTRICT x, int64_t n, T* min, T* max) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  auto a0 = hn::Set(d, Min::identity<T>()), b0 = hn::Set(d, Max::identity<T>());
  auto a1 = a0, a2 = a0, a3 = a0, b1 = b0, b2 = b0, b3 = b0;
  int64_t i = 0;
  const auto take = [&](int64_t k, auto& a, auto& b) HWY_ATTR {
    const auto v = hn::LoadU(d, x + i + k * lanes);
    a = Min::combine(d, a, v);
    b = Max::combine(d, b, v);
  };
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    take(0, a0, b0);
    take(1, a1, b1);
    take(2, a2, b2);
    take(3, a3, b3);
  }
  a0 = Min::combine(d, Min::combine(d, a0, a1), Min::combine(d, a2, a3));
  b0 = Max::combine(d, Max::combine(d, b0, b1), Max::combine(d, b2, b3));
  for (; i + lanes <= n; i += lanes) take(0, a0, b0);
  if (i < n) {
    a0 = Min::combine(d, a0, mapped_tail<Min>(d, x + i, n - i, T(0)));
    b0 = Max::combine(d, b0, mapped_tail<Max>(d, x + i, n - i, T(0)));
  }
  *min = finish_lanes<Min>(d, a0);
  *max = finish_lanes<Max>(d, b0);
}

template <class Op, typename T>
constexpr ReduceKernel<T> kernel(const ReduceKernel<T>* fold) {
  return {reduce_rows<Op, T>, reduce_cols<Op, T>, Op::template identity<T>(), fold};
}

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
