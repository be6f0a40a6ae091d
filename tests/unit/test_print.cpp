// Printing: texts that PyTorch 2 gave for the same tensors, under the locale of the C library and under one with a decimal comma.
#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/modes.h"
#include "core/print.h"

#include "expect.h"

namespace {

using trt::DType;
using trt::Tensor;

template <typename T>
Tensor make(std::vector<T> values, trt::DimVector sizes) {
  Tensor t = trt::empty_tensor(sizes, trt::dtype_of<T>());
  for (size_t i = 0; i < values.size(); ++i) t.data_ptr<T>()[i] = values[i];
  return t;
}
// A vector<bool> has no elements to copy from.
Tensor bools(std::vector<int> values) {
  Tensor t = trt::empty_tensor({static_cast<int64_t>(values.size())}, DType::Bool);
  for (size_t i = 0; i < values.size(); ++i) t.data_ptr<bool>()[i] = values[i] != 0;
  return t;
}
template <typename T>
Tensor vec(std::vector<T> values) {
  return make<T>(values, {static_cast<int64_t>(values.size())});
}
template <typename T>
Tensor range(trt::DimVector sizes, T scale) {
  Tensor t = trt::empty_tensor(sizes, trt::dtype_of<T>());
  for (int64_t i = 0; i < t.numel(); ++i) t.data_ptr<T>()[i] = static_cast<T>(i) * scale;
  return t;
}

void prints(const Tensor& t, const char* want, const char* suffix = "") { assert_string_equal(trt::tensor_to_string(t, suffix).c_str(), want); }

void numbers() {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  prints(make<float>({1}, {}), "tensor(1.)");
  prints(make<float>({0.5f}, {}), "tensor(0.5000)");
  prints(vec<float>({0, -0.0f}), "tensor([0., -0.])");
  prints(vec<float>({1, 2.5f, -3}), "tensor([ 1.0000,  2.5000, -3.0000])");
  prints(vec<float>({1, 10, -100}), "tensor([   1.,   10., -100.])");
  prints(vec<float>({1, 2000.5f}), "tensor([1.0000e+00, 2.0005e+03])");
  prints(vec<float>({1e-5f, 1e-6f}), "tensor([1.0000e-05, 1.0000e-06])");
  prints(vec<float>({1, 1e9f}), "tensor([1.0000e+00, 1.0000e+09])");
  prints(vec<float>({nan, inf, -inf}), "tensor([nan, inf, -inf])");
  prints(vec<float>({1, nan, inf}), "tensor([1., nan, inf])");
  prints(vec<float>({100, nan, -inf}), "tensor([100.,  nan, -inf])");
  prints(vec<float>({1.5f, nan, -inf}), "tensor([1.5000,    nan,   -inf])");
  prints(vec<double>({1.00005, 2}), "tensor([1.0001, 2.0000], dtype=trt.float64)");
  prints(vec<double>({1e-300, 1e300}), "tensor([1.0000e-300, 1.0000e+300], dtype=trt.float64)");
  prints(vec<trt::Half>({trt::Half(65504.0f), trt::Half(1.0f)}), "tensor([6.5504e+04, 1.0000e+00], dtype=trt.float16)");
  prints(vec<trt::BFloat16>({trt::BFloat16(0.1f)}), "tensor([0.1001], dtype=trt.bfloat16)");
  prints(vec<int64_t>({1, -20, 300}), "tensor([  1, -20, 300])");
  prints(vec<int64_t>({std::numeric_limits<int64_t>::min()}), "tensor([-9223372036854775808])");
  prints(vec<uint8_t>({0, 255}), "tensor([  0, 255], dtype=trt.uint8)");
  prints(bools({1, 0}), "tensor([ True, False])");
}

void test_numbers(void**) {
  numbers();
  // Whichever of these is installed has a decimal comma.
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"})
    if (std::setlocale(LC_ALL, name)) break;
  numbers();
  std::setlocale(LC_ALL, "C");
}

void test_shapes(void**) {
  prints(range<int64_t>({2, 3}, 1), "tensor([[0, 1, 2],\n        [3, 4, 5]])");
  prints(range<int64_t>({2, 1, 2}, 1), "tensor([[[0, 1]],\n\n        [[2, 3]]])");
  prints(range<int64_t>({30}, 1),
         "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
         "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
  const Tensor t = range<int64_t>({2, 3}, 1);
  prints(trt::alias_tensor(t, {3, 2}, {1, 3}, 0), "tensor([[0, 3],\n        [1, 4],\n        [2, 5]])");
  prints(trt::alias_tensor(t, {2, 2}, {0, 1}, 1), "tensor([[1, 2],\n        [1, 2]])");
  prints(range<int64_t>({1000}, 0), ("tensor([" + [] {
           std::string s;
           for (int i = 0; i < 1000; ++i) s += i == 0 ? "0" : i % 24 == 0 ? ",\n        0" : ", 0";
           return s;
         }() + "])").c_str());
  prints(range<float>({1001}, 1), "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])");
  prints(range<int64_t>({8, 200}, 1),
         "tensor([[   0,    1,    2,  ...,  197,  198,  199],\n"
         "        [ 200,  201,  202,  ...,  397,  398,  399],\n"
         "        [ 400,  401,  402,  ...,  597,  598,  599],\n"
         "        ...,\n"
         "        [1000, 1001, 1002,  ..., 1197, 1198, 1199],\n"
         "        [1200, 1201, 1202,  ..., 1397, 1398, 1399],\n"
         "        [1400, 1401, 1402,  ..., 1597, 1598, 1599]])");
}

void test_empty_and_meta(void**) {
  prints(trt::empty_tensor({0}, DType::Float32), "tensor([])");
  prints(trt::empty_tensor({0}, DType::Int64), "tensor([], dtype=trt.int64)");
  prints(trt::empty_tensor({2, 0}, DType::Bool), "tensor([], size=(2, 0), dtype=trt.bool)");
  const trt::Device meta(trt::DeviceType::Meta, 0);
  prints(trt::empty_tensor({2, 3}, DType::Float32, meta), "tensor(..., device='meta', size=(2, 3))");
  prints(trt::empty_tensor({4}, DType::Int64, meta), "tensor(..., device='meta', size=(4,), dtype=trt.int64)");
  prints(trt::empty_tensor({}, DType::Float32, meta), "tensor(..., device='meta', size=())");
}

// Fresh or foreign memory may hold any byte.
void test_bool_bytes(void**) {
  trt::Tensor t = trt::empty_tensor({4}, DType::Bool);
  const uint8_t bytes[] = {0, 1, 2, 255};
  std::memcpy(t.data(), bytes, sizeof bytes);
  prints(t, "tensor([False,  True,  True,  True])");
}

void test_suffixes(void**) {
  prints(vec<float>({1}), "tensor([1.], requires_grad=True)", "requires_grad=True");
  prints(vec<double>({1}), "tensor([1.], dtype=trt.float64, grad_fn=<AddBackward0>)", "grad_fn=<AddBackward0>");
  // The line is full: the suffix begins another one.
  prints(range<float>({8}, 0.5f), "tensor([0.0000, 0.5000, 1.0000, 1.5000, 2.0000, 2.5000, 3.0000, 3.5000],\n       requires_grad=True)", "requires_grad=True");
  trt::thread_state.default_dtype = DType::Float64;
  prints(vec<float>({1}), "tensor([1.], dtype=trt.float32)");
  prints(vec<double>({1}), "tensor([1.])");
  trt::thread_state.default_dtype = DType::Float32;
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_empty_and_meta),
      cmocka_unit_test(test_bool_bytes),
      cmocka_unit_test(test_suffixes),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
