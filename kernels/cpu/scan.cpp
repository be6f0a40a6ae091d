// Scans (scan.h). Several lines advance together: adjacent ones when the dimension is strided, so that memory is read
// in order, and four rows when it is the last one, so that the latency of one addition hides behind the others.
#include "kernels/cpu/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/parallel.h"
#include "core/bool.h"

namespace trt::cpu {
namespace {

constexpr int64_t kColumns = 64;
constexpr int64_t kRows = 4;

// How lines and their elements lie in memory; `step` is negative in reverse.
struct Layout {
  int64_t length, step, line;
};

// Scans `lines` lines (kFixed unless that is 0) that start at offset `at`. An operation has a State,
// init(first element), next(state, element, position) and put(state, offset).
template <int64_t kFixed, typename Op, typename T>
void scan_lines(const Op& op, const T* x, int64_t at, int64_t lines, const Layout& layout) {
  typename Op::State state[kFixed ? kFixed : kColumns];
  const int64_t count = kFixed ? kFixed : lines;
  const int64_t line = kFixed ? layout.line : 1;
  for (int64_t l = 0; l < count; ++l) state[l] = op.init(x[at + l * line]);
  for (int64_t i = 0; i < layout.length; ++i, at += layout.step) {
    if constexpr (kFixed != 0) {
#pragma GCC unroll 4  // states live in registers
      for (int64_t l = 0; l < kFixed; ++l) {
        op.next(state[l], x[at + l * line], i);
        op.put(state[l], at + l * line);
      }
    } else {
      for (int64_t l = 0; l < count; ++l) {
        op.next(state[l], x[at + l], i);
        op.put(state[l], at + l);
      }
    }
  }
}

template <typename Op, typename T>
void scan(const Op& op, const T* x, int64_t outer, int64_t r, int64_t inner, bool reverse) {
  if (outer == 0 || r == 0 || inner == 0) return;
  const Layout layout = {r, reverse ? -inner : inner, r};
  const int64_t start = reverse ? (r - 1) * inner : 0;
  if (inner == 1) {
    const int64_t groups = (outer + kRows - 1) / kRows;
    parallel_for(0, groups, std::max<int64_t>(1, 4096 / r), [&](int64_t g0, int64_t g1) {
      for (int64_t g = g0; g < g1; ++g) {
        const int64_t row = g * kRows, rows = std::min(kRows, outer - row);
        if (rows == kRows) {
          scan_lines<kRows>(op, x, row * r + start, kRows, layout);
        } else {
          for (int64_t i = 0; i < rows; ++i) scan_lines<1>(op, x, (row + i) * r + start, 1, layout);
        }
      }
    });
    return;
  }
  const int64_t blocks = (inner + kColumns - 1) / kColumns;
  parallel_for(0, outer * blocks, std::max<int64_t>(1, 16384 / (r * std::min(inner, kColumns))),
               [&](int64_t b0, int64_t b1) {
                 for (int64_t b = b0; b < b1; ++b) {
                   const int64_t o = b / blocks, column = (b - o * blocks) * kColumns;
                   scan_lines<0>(op, x, o * r * inner + start + column, std::min(kColumns, inner - column), layout);
                 }
               });
}

// Integers accumulate unsigned, where overflow is defined.
template <typename T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <typename T>
struct Sum {
  using State = Accumulator<T>;
  T* y;
  State init(T) const { return 0; }
  void next(State& s, T v, int64_t) const { s += static_cast<State>(v); }
  void put(State s, int64_t at) const { y[at] = static_cast<T>(s); }
};

template <typename T>
struct Product {
  using State = Accumulator<T>;
  T* y;
  State init(T) const { return 1; }
  void next(State& s, T v, int64_t) const { s *= static_cast<State>(v); }
  void put(State s, int64_t at) const { y[at] = static_cast<T>(s); }
};

template <typename T>
struct LogSumExp {
  using State = double;
  T* y;
  State init(T) const { return -std::numeric_limits<double>::infinity(); }
  void next(State& s, T v, int64_t) const {
    const double x = v;
    if (x != x || s != s) {
      s = s + x;
    } else if (s != x || std::isfinite(x)) {
      const double low = std::min(s, x), high = std::max(s, x);
      s = high + std::log1p(std::exp(low - high));
    }
  }
  void put(State s, int64_t at) const { y[at] = static_cast<T>(s); }
};

template <typename T, bool kMax>
struct Extremum {
  struct State {
    T value;
    int64_t index;
  };
  T* y;
  int64_t* indices;
  State init(T first) const { return {first, 0}; }
  void next(State& s, T v, int64_t i) const {
    if (v != v || (s.value == s.value && (kMax ? v >= s.value : v <= s.value))) s = {v, i};
  }
  void put(const State& s, int64_t at) const {
    y[at] = s.value;
    indices[at] = s.index;
  }
};

}  // namespace

template <typename T>
void cumsum(const T* x, T* y, int64_t outer, int64_t r, int64_t inner, bool reverse) {
  scan(Sum<T>{y}, x, outer, r, inner, reverse);
}

template <typename T>
void cumprod(const T* x, T* y, int64_t outer, int64_t r, int64_t inner, bool reverse) {
  scan(Product<T>{y}, x, outer, r, inner, reverse);
}

template <typename T>
void logcumsumexp(const T* x, T* y, int64_t outer, int64_t r, int64_t inner) {
  scan(LogSumExp<T>{y}, x, outer, r, inner, false);
}

template <typename T>
void cummax(const T* x, T* y, int64_t* indices, int64_t outer, int64_t r, int64_t inner) {
  scan(Extremum<T, true>{y, indices}, x, outer, r, inner, false);
}

template <typename T>
void cummin(const T* x, T* y, int64_t* indices, int64_t outer, int64_t r, int64_t inner) {
  scan(Extremum<T, false>{y, indices}, x, outer, r, inner, false);
}

#define TRT_INSTANTIATE_SUMS(T)                                        \
  template void cumsum(const T*, T*, int64_t, int64_t, int64_t, bool); \
  template void cumprod(const T*, T*, int64_t, int64_t, int64_t, bool)
TRT_INSTANTIATE_SUMS(float);
TRT_INSTANTIATE_SUMS(double);
TRT_INSTANTIATE_SUMS(int64_t);
#undef TRT_INSTANTIATE_SUMS

template void logcumsumexp(const float*, float*, int64_t, int64_t, int64_t);
template void logcumsumexp(const double*, double*, int64_t, int64_t, int64_t);

#define TRT_INSTANTIATE_EXTREMA(T)                                         \
  template void cummax(const T*, T*, int64_t*, int64_t, int64_t, int64_t); \
  template void cummin(const T*, T*, int64_t*, int64_t, int64_t, int64_t)
TRT_INSTANTIATE_EXTREMA(float);
TRT_INSTANTIATE_EXTREMA(double);
TRT_INSTANTIATE_EXTREMA(int64_t);
TRT_INSTANTIATE_EXTREMA(int32_t);
TRT_INSTANTIATE_EXTREMA(int16_t);
TRT_INSTANTIATE_EXTREMA(int8_t);
TRT_INSTANTIATE_EXTREMA(uint8_t);
TRT_INSTANTIATE_EXTREMA(Bool);
#undef TRT_INSTANTIATE_EXTREMA

}  // namespace trt::cpu
