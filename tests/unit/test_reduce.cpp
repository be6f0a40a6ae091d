// Sums of integers, counts, extrema with and without positions, any and all: every dtype, for every instruction set that this machine has, against loops
// that take one element after the other. The input begins at an odd element and ends where its memory does.

#include <stdint.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cpu/reduce.h"

#include "each_isa.h"
#include "expect.h"

namespace {

using trt::DType;

struct Shape {
  int64_t outer, r, inner;
};
// Rows and columns around the lengths of vectors, of blocks (128, 255, 256 rows of bytes), of pieces (32768) and of tiles (1024 columns).
const Shape kShapes[] = {{1, 1, 1},    {5, 2, 1},    {3, 7, 1},     {3, 8, 1},      {3, 9, 1},      {2, 16, 1},    {2, 17, 1},  {4, 31, 1},   {4, 63, 1},    {3, 64, 1},    {3, 65, 1},
                         {2, 127, 1},  {2, 513, 1},  {1, 1029, 1},  {3, 8191, 1},   {1, 32768, 1},  {2, 32769, 1}, {1, 100003, 1}, {1, 1, 5},  {1, 300, 1},   {1, 300, 3},   {2, 300, 5},
                         {1, 127, 33}, {1, 128, 33}, {1, 129, 33},  {2, 255, 17},   {2, 256, 17},   {2, 257, 17},  {1, 700, 64}, {3, 40, 65},  {1, 9, 1025},  {1, 270, 1100}, {1, 40000, 2},
                         {1, 66000, 3}, {9, 6, 4000}, {0, 5, 3},    {3, 5, 0}};

enum Fill { kRandom, kLowest, kHighest, kZeros, kNegativeZeros, kLateHit, kNaNs };

template <typename T>
std::vector<T> numbers(int64_t n, Fill fill) {
  std::vector<T> x(static_cast<size_t>(n), T(0));
  std::mt19937 random(static_cast<unsigned>(n) * 7 + static_cast<unsigned>(fill));
  for (size_t i = 0; i < x.size(); ++i) {
    T& v = x[i];
    const auto bits = random();
    if (fill == kRandom || fill == kNaNs) {
      // Few values, so that there are ties; in between the limits.
      v = static_cast<T>(static_cast<int64_t>(bits % 11) - (std::is_signed_v<T> ? 5 : 0));
      if (bits % 97 == 50) v = std::numeric_limits<T>::max();
      if (bits % 89 == 50) v = std::numeric_limits<T>::lowest();
      if (fill == kNaNs && bits % 61 == 50) v = std::numeric_limits<T>::quiet_NaN();
    }
    if (fill == kLowest) v = std::numeric_limits<T>::lowest();
    if (fill == kHighest) v = std::numeric_limits<T>::max();
    if (fill == kNegativeZeros) v = static_cast<T>(-static_cast<T>(0));
  }
  if (fill == kLateHit && n > 0) x.back() = T(1);
  return x;
}

template <typename T>
bool better(bool largest, T v, T best) {
  return largest ? v > best || (v != v && best == best) : v < best || (v != v && best == best);
}
template <typename T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

// Names what is wrong.
template <typename A, typename B>
void expect(const char* isa, DType t, const char* what, const Shape& s, int fill, const std::vector<A>& got, const std::vector<B>& want) {
  assert_int_equal(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i)
    if (!same<A>(got[i], static_cast<A>(want[i])))
      fail_msg("%s %s of %s[%lld, %lld, %lld], fill %d: element %zu is %.17g, expected %.17g", isa, what, trt::dtype_name(t), static_cast<long long>(s.outer),
               static_cast<long long>(s.r), static_cast<long long>(s.inner), fill, i, static_cast<double>(got[i]), static_cast<double>(want[i]));
}

template <typename T>
void check(const char* isa, DType t, const Shape& s, Fill fill) {
  const int64_t n = s.outer * s.r * s.inner, m = s.outer * s.inner;
  const std::vector<T> values = numbers<T>(n, fill);
  const std::unique_ptr<T[]> space(new T[static_cast<size_t>(n) + 1]);
  T* x = space.get() + 1;
  std::copy(values.begin(), values.end(), x);
  const size_t size = static_cast<size_t>(m);
  std::vector<int64_t> sum(size), count(size), at_max(size), at_min(size);
  std::vector<T> max(size), min(size);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t j = 0; j < s.inner; ++j) {
      const size_t k = static_cast<size_t>(o * s.inner + j);
      const auto element = [&](int64_t i) { return x[(o * s.r + i) * s.inner + j]; };
      max[k] = min[k] = element(0);
      for (int64_t i = 0; i < s.r; ++i) {
        const T v = element(i);
        if constexpr (std::is_integral_v<T>) sum[k] = static_cast<int64_t>(static_cast<uint64_t>(sum[k]) + static_cast<uint64_t>(v));
        count[k] += v != 0;
        if (better(true, v, max[k])) max[k] = v, at_max[k] = i;
        if (better(false, v, min[k])) min[k] = v, at_min[k] = i;
      }
    }
  std::vector<int64_t> i64(size), i64b(size);
  std::vector<uint8_t> byte(size);
  std::vector<T> a(size), b(size);
  if constexpr (std::is_integral_v<T>) {
    if constexpr (sizeof(T) < 8) trt::cpu::reduce_sum_int64(x, i64.data(), s.outer, s.r, s.inner);
    else trt::cpu::reduce_sum(x, i64.data(), s.outer, s.r, s.inner);
    expect(isa, t, "sum", s, fill, i64, sum);
  }
  trt::cpu::reduce_nonzero(x, t, i64.data(), s.outer, s.r, s.inner);
  expect(isa, t, "count", s, fill, i64, count);
  std::vector<int64_t> any(count), all(count);
  for (int64_t& c : any) c = c != 0;
  for (int64_t& c : all) c = c == s.r;
  trt::cpu::reduce_any(x, t, byte.data(), s.outer, s.r, s.inner);
  expect(isa, t, "any", s, fill, byte, any);
  trt::cpu::reduce_all(x, t, byte.data(), s.outer, s.r, s.inner);
  expect(isa, t, "all", s, fill, byte, all);
  trt::cpu::reduce_max(x, a.data(), s.outer, s.r, s.inner);
  expect(isa, t, "max", s, fill, a, max);
  trt::cpu::reduce_min(x, a.data(), s.outer, s.r, s.inner);
  expect(isa, t, "min", s, fill, a, min);
  trt::cpu::reduce_minmax(x, a.data(), b.data(), s.outer, s.r, s.inner);
  expect(isa, t, "minmax", s, fill, a, min);
  expect(isa, t, "minmax", s, fill, b, max);
  trt::cpu::reduce_max_index(x, a.data(), i64.data(), s.outer, s.r, s.inner);
  expect(isa, t, "max of indices", s, fill, a, max);
  expect(isa, t, "argmax", s, fill, i64, at_max);
  trt::cpu::reduce_min_index<T>(x, nullptr, i64b.data(), s.outer, s.r, s.inner);
  expect(isa, t, "argmin", s, fill, i64b, at_min);
}

template <typename T>
void check_all(const char* isa, DType t) {
  for (const Shape& s : kShapes)
    for (const Fill fill : {kRandom, kLowest, kHighest, kZeros, kLateHit}) check<T>(isa, t, s, fill);
  if constexpr (std::is_floating_point_v<T>)
    for (const Shape& s : kShapes)
      for (const Fill fill : {kNegativeZeros, kNaNs}) check<T>(isa, t, s, fill);
}

void test_all_dtypes(void**) {
  for_each_isa([](const char* isa) {
    check_all<uint8_t>(isa, DType::UInt8);
    check_all<int8_t>(isa, DType::Int8);
    check_all<int16_t>(isa, DType::Int16);
    check_all<int32_t>(isa, DType::Int32);
    check_all<int64_t>(isa, DType::Int64);
    check_all<float>(isa, DType::Float32);
    check_all<double>(isa, DType::Float64);
  });
}

// 16-bit floats and bools are counted where they lie.
void test_counts_of_bits(void**) {
  for_each_isa([](const char*) {
    const uint16_t halves[] = {0, 0x8000, 1, 0x8001, 0x3c00, 0x7e00, 0xfe00, 0x8000, 0, 0, 0x7c00};
    const uint8_t bools[] = {0, 1, 2, 255, 128, 0, 0, 1, 64, 0, 0};
    int64_t count;
    for (const DType t : {DType::Float16, DType::BFloat16}) {
      trt::cpu::reduce_nonzero(halves, t, &count, 1, 11, 1);
      assert_int_equal(count, 6);
    }
    trt::cpu::reduce_nonzero(bools, DType::Bool, &count, 1, 11, 1);
    assert_int_equal(count, 6);
    uint8_t truth[2] = {7, 7};
    trt::cpu::reduce_all(bools + 1, DType::Bool, truth, 2, 2, 1);
    assert_true(truth[0] == 1 && truth[1] == 1);
    trt::cpu::reduce_all(halves + 1, DType::Float16, truth, 1, 1, 2);
    assert_true(truth[0] == 0 && truth[1] == 1);
  });
}

void test_empty(void**) {
  int64_t numbers[2] = {5, 5};
  int32_t extrema[4] = {};
  uint8_t truth[2] = {7, 7};
  trt::cpu::reduce_nonzero(nullptr, DType::Float32, numbers, 2, 0, 1);
  assert_true(numbers[0] == 0 && numbers[1] == 0);
  trt::cpu::reduce_sum_int64<int16_t>(nullptr, numbers, 1, 0, 2);
  assert_true(numbers[0] == 0 && numbers[1] == 0);
  trt::cpu::reduce_any(nullptr, DType::Int32, truth, 1, 0, 2);
  assert_true(truth[0] == 0 && truth[1] == 0);
  trt::cpu::reduce_all(nullptr, DType::Int32, truth, 2, 0, 1);
  assert_true(truth[0] == 1 && truth[1] == 1);
  trt::cpu::reduce_minmax<int32_t>(nullptr, extrema, extrema + 2, 2, 0, 1);
  assert_true(extrema[0] == std::numeric_limits<int32_t>::max() && extrema[3] == std::numeric_limits<int32_t>::min());
  throws(trt::Code::kInvalidArgument, "size 0", [&] { trt::cpu::reduce_max_index<uint8_t>(nullptr, nullptr, numbers, 1, 0, 1); });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_all_dtypes), cmocka_unit_test(test_counts_of_bits), cmocka_unit_test(test_empty)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
