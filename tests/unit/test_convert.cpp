// Element conversions, all pairs of dtypes, and data movement, for every instruction set that this machine has. The
// expected values are computed one by one after Note [Conversion rules].

#include <stdint.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels/cpu/convert.h"

#include "each_isa.h"
#include "expect.h"

namespace {

using trt::DType;

const DType kTypes[] = {DType::Bool,  DType::UInt8,   DType::Int8,     DType::Int16,   DType::Int32,
                        DType::Int64, DType::Float16, DType::BFloat16, DType::Float32, DType::Float64};

template <class To, class From>
To ref_convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, bool>) {
    return static_cast<double>(x) != 0;
  } else if constexpr (std::is_same_v<To, trt::Half> || std::is_same_v<To, trt::BFloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    constexpr bool kWide = sizeof(To) == 8 || std::is_same_v<To, uint8_t>;
    const double v = std::trunc(static_cast<double>(x)), limit = kWide ? 0x1p63 : 0x1p31;
    const bool fits = v >= -limit && v < limit;
    const int64_t i = fits ? static_cast<int64_t>(v) : kWide ? INT64_MIN : INT64_C(-0x80000000);
    return static_cast<To>(i);
  } else if constexpr (std::is_same_v<From, trt::Half> || std::is_same_v<From, trt::BFloat16>) {
    return static_cast<To>(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

template <class From>
std::vector<From> conversion_inputs() {
  std::vector<From> v;
  if constexpr (sizeof(From) == 1) {
    if constexpr (std::is_same_v<From, bool>)
      v = {false, true, true, false, true};
    else
      for (int i = 0; i < 256; ++i) v.push_back(static_cast<From>(i));
  } else if constexpr (sizeof(From) == 2) {
    for (int i = 0; i < 65536; ++i) v.push_back(std::bit_cast<From>(static_cast<uint16_t>(i)));
  } else if constexpr (std::is_integral_v<From>) {
    for (int64_t s : {INT64_C(0), INT64_C(1), INT64_C(-1), INT64_C(300), INT64_C(70000), INT64_MAX, INT64_MIN,
                      INT64_C(1) << 32, (INT64_C(1) << 53) + 1, (INT64_C(1) << 24) + 1, INT64_C(0x123456789abcdef)})
      v.push_back(static_cast<From>(s));
    std::mt19937_64 rng(3);
    for (int i = 0; i < 2000; ++i) v.push_back(static_cast<From>(static_cast<int64_t>(rng()) >> (rng() % 60)));
  } else {
    using L = std::numeric_limits<From>;
    for (From s : {From(0), From(0.5), From(1), L::min(), L::denorm_min(), L::max(), L::epsilon(), L::infinity(),
                   From(8388609), From(4503599627370497.0)})
      v.push_back(s), v.push_back(-s);
    v.push_back(L::quiet_NaN());
    for (double s : {300.0,  -300.7,  3e9,     -3e9,    2147483647.5, -2147483648.5, -2147483649.0, 4294967303.0,
                     9.3e18, -9.3e18, 65504.0, 65519.0, 65520.0,      70000.0,       5.9e-8,        2.9e-8,
                     3.0e-8, 1e-40,   255.9,   -0.9,    127.5,        32768.0})
      v.push_back(static_cast<From>(s));
    std::mt19937_64 rng(5);
    for (int i = 0; i < 4000; ++i)
      v.push_back(std::bit_cast<From>(static_cast<std::conditional_t<sizeof(From) == 4, uint32_t, uint64_t>>(rng())));
    // Halfway between two 16-bit floats, and one bit beside it.
    for (int i = 0; i < 1000; ++i)
      for (int k = -1; k <= 1; ++k)
        v.push_back(static_cast<From>(std::bit_cast<float>(static_cast<uint32_t>(0x3c001000 + i * 0x2000 + k))));
    for (int i = 0; i < 1000; ++i) v.push_back(static_cast<From>(std::bit_cast<float>(0x3c008000u + i * 0x10000u)));
  }
  return v;
}

template <class T>
bool same_element(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return a == b;
  else if (std::isnan(static_cast<double>(a)) || std::isnan(static_cast<double>(b)))
    return std::isnan(static_cast<double>(a)) && std::isnan(static_cast<double>(b));
  else
    return std::memcmp(&a, &b, sizeof a) == 0;
}

void test_convert(void**) {
  for_each_isa([&](const char* isa) {
    for (DType from : kTypes)
      trt::dispatch_dtype(from, "test", [&]<typename From>() {
        std::vector<From> v = conversion_inputs<From>();
        const auto* in = new From[v.size()];
        std::copy(v.begin(), v.end(), const_cast<From*>(in));
        for (DType to : kTypes)
          trt::dispatch_dtype(to, "test", [&]<typename To>() {
            auto* out = new To[v.size() + 1];
            std::memset(static_cast<void*>(out), 1, (v.size() + 1) * sizeof(To));
            trt::cpu::convert(in, from, out, to, static_cast<int64_t>(v.size()));
            for (size_t i = 0; i < v.size(); ++i)
              if (!same_element(out[i], ref_convert<To>(in[i])))
                fail_msg("%s %s to %s: element %zu, %.17g, gives %.17g", isa, trt::dtype_name(from),
                         trt::dtype_name(to), i, double(in[i]), double(out[i]));
            const uint8_t* guard = reinterpret_cast<const uint8_t*>(out + v.size());
            assert_int_equal(*guard, 1);
            for (DType c : {DType::Float32, DType::Float64, DType::Int64}) {
              assert_non_null(trt::cpu::load_converter(from, c));
              assert_non_null(trt::cpu::store_converter(c, to));
            }
            delete[] out;
          });
        delete[] in;
      });
    // A Bool in memory may be any byte.
    const uint8_t bytes[3] = {0, 2, 255};
    float f[3];
    trt::cpu::load_converter(DType::Bool, DType::Float32)(bytes, f, 3);
    assert_true(f[0] == 0 && f[1] == 1 && f[2] == 1);
  });
}

void test_movement(void**) {
  for_each_isa([&](const char*) {
    std::vector<uint8_t> src(70000), dst(70000);
    for (size_t i = 0; i < src.size(); ++i) src[i] = static_cast<uint8_t>(i * 31 + i / 256);
    for (size_t size : {1, 2, 4, 8, 16}) {
      const int64_t n = 100, stride = static_cast<int64_t>(size) * 3;
      trt::cpu::gather_strided(src.data(), stride, dst.data(), n, size);
      for (int64_t i = 0; i < n; ++i)
        assert_memory_equal(dst.data() + i * static_cast<int64_t>(size), src.data() + i * stride, size);
      std::vector<uint8_t> back(static_cast<size_t>(n * stride), 7);
      trt::cpu::scatter_strided(dst.data(), back.data() + (n - 1) * stride, -stride, n, size);
      for (int64_t i = 0; i < n; ++i) {
        assert_memory_equal(back.data() + (n - 1 - i) * stride, src.data() + i * stride, size);
        assert_int_equal(back[static_cast<size_t>(i * stride) + size], 7);
      }
      for (int64_t count : {0, 1, 5, 63, 100}) {
        std::fill(dst.begin(), dst.end(), uint8_t(9));
        trt::cpu::fill(dst.data() + 1, src.data() + 3, size, count);
        for (int64_t i = 0; i < count; ++i)
          assert_memory_equal(dst.data() + 1 + i * static_cast<int64_t>(size), src.data() + 3, size);
        assert_int_equal(dst[1 + static_cast<size_t>(count) * size], 9);
      }
    }
    for (size_t offset : {0, 1, 17, 64})
      for (size_t bytes : {0, 1, 63, 64, 255, 256, 1000, 5003}) {
        std::fill(dst.begin(), dst.end(), uint8_t(9));
        trt::cpu::stream_copy(src.data() + 5, dst.data() + offset, bytes);
        trt::cpu::stream_fence();
        if (bytes) assert_memory_equal(dst.data() + offset, src.data() + 5, bytes);
        assert_int_equal(dst[offset + bytes], 9);
      }
    for (size_t size : {1, 2, 4, 8})
      for (int64_t rows : {0, 1, 5, 16, 33, 64, 70})
        for (int64_t cols : {1, 4, 16, 31, 67})
          for (bool stream : {false, true}) {
            const auto s = static_cast<int64_t>(size);
            const int64_t ss = (cols + 1) * s, ds = (rows * s + 63) / 64 * 64 + 64;
            auto* out = static_cast<uint8_t*>(::operator new(static_cast<size_t>(cols * ds), std::align_val_t(64)));
            std::memset(out, 9, static_cast<size_t>(cols * ds));
            trt::cpu::transpose_copy(src.data(), out, rows, cols, ss, ds, size, stream);
            trt::cpu::stream_fence();
            for (int64_t c = 0; c < cols; ++c) {
              for (int64_t r = 0; r < rows; ++r)
                assert_memory_equal(out + c * ds + r * s, src.data() + r * ss + c * s, size);
              assert_int_equal(out[c * ds + rows * s], 9);
            }
            ::operator delete(out, std::align_val_t(64));
          }
  });
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(test_convert), cmocka_unit_test(test_movement)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
