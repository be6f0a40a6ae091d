// Tensors in the C++ wrapper: arguments in every form, operators of expressions, methods, indexing, values in and out.
#include "wrapper_support.h"

#include <array>
#include <limits>
#include <sstream>

namespace {

using namespace trt::indexing;

Tensor grid() { return trt::arange(12).view({3, 4}); }
template <typename T>
bool same(const Tensor& t, const std::vector<T>& want) {
  return t.to_vector<T>() == want;
}

void list_arguments(void**) {
  const Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f, 5.f, 6.f}, {2, 3});
  const std::array<std::int64_t, 1> first = {0};
  const std::int64_t raw[] = {0, 1};
  const Ints none;
  assert_true(is(trt::sum(x, 0), {5, 7, 9}) && is(trt::sum(x, {0}), {5, 7, 9}) && is(trt::sum(x, Ints{0}), {5, 7, 9}) &&
              is(trt::sum(x, first), {5, 7, 9}));
  assert_true(is(trt::sum(x, {0, 1}), {21}) && is(trt::sum(x, raw), {21}) && is(trt::sum(x, {}), {21}) &&
              is(trt::sum(x, std::nullopt), {21}));
  assert_true(is(trt::sum(x, std::optional<Ints>()), {21}) && is(trt::sum(x, std::optional<Ints>(Ints{1})), {6, 15}) &&
              is(trt::sum(x, std::optional<int>(1)), {6, 15}));
  assert_true(is(x.sum(-1, true), {6, 15}) && x.sum(-1, true).sizes() == Ints({2, 1}));
  assert_true(is(x.amax(none), {6}) && is(x.mean(std::size_t{1}), {2, 5}));
  // A number is a dimension, a bool is not.
  assert_true(is(x.var(1), {1, 1}) && is(x.var(1, false), {2.0 / 3, 2.0 / 3}) && is(x.var(1, 0), {2.0 / 3, 2.0 / 3}) &&
              is(x.var(1, 2), {2, 2}) && is(x.var(1, true), {1, 1}) && is(x.var(false), {35.0 / 12}) &&
              is(x.var({0, 1}), {3.5}));
  assert_true(x.std(0).sizes() == Ints{3} && std::get<0>(trt::var_mean(x, 0)).sizes() == Ints{3});
  assert_true(is(trt::count_nonzero(x, 0), {2, 2, 2}) && is(trt::count_nonzero(x), {6}) &&
              is(trt::count_nonzero(x, {0, 1}), {6}));
  assert_true(is(x.argsort(1, true), {2, 1, 0, 2, 1, 0}) && is(x.argsort(true, 1, false), {0, 1, 2, 0, 1, 2}));
  assert_true((x > 5).any(0).to_vector<bool>() == std::vector<bool>({false, false, true}) &&
              (x > 0).all({0, 1}).item<bool>());
  assert_true(is(x.norm(2, 1), {std::sqrt(14.0), std::sqrt(77.0)}) && is(x.norm("fro", {0, 1}), {std::sqrt(91.0)}));
  assert_true(x.view(6).sizes() == Ints{6} && x.reshape({3, -1}).sizes() == Ints({3, 2}) &&
              x.permute({1, 0}).sizes() == Ints({3, 2}));
  assert_true(is(x.flip(1), {3, 2, 1, 6, 5, 4}) && is(x.roll(1, 0), {4, 5, 6, 1, 2, 3}) &&
              x.expand({4, 2, 3}).sizes() == Ints({4, 2, 3}));
  assert_true(x.split(1).size() == 2 && x.split({1, 2}, 1).size() == 2 && x.tensor_split(3, 1).size() == 3 &&
              x.tensor_split(Ints{1}, 1).size() == 2);
  assert_true(x.movedim(0, 1).sizes() == Ints({3, 2}) && x.movedim({0, 1}, {1, 0}).sizes() == Ints({3, 2}));
  const Tensor image = trt::ones({1, 1, 4, 4}), kernel = trt::ones({1, 1, 3, 3});
  assert_true(trt::conv2d(image, kernel, {}, 1, 1).sizes() == Ints({1, 1, 4, 4}) &&
              trt::conv2d(image, kernel, std::nullopt, {2, 1}).sizes() == Ints({1, 1, 1, 2}));
  assert_true(trt::conv2d(image, kernel, std::optional<Tensor>(trt::ones({1})), 1, "same").sizes() ==
              Ints({1, 1, 4, 4}));
  assert_true(trt::max_pool2d(image, 2).sizes() == Ints({1, 1, 2, 2}) &&
              trt::max_pool2d(image, {2, 1}, 1).sizes() == Ints({1, 1, 3, 4}));
  const std::array<Tensor, 2> pair = {x, x};
  assert_true(trt::cat(pair).sizes() == Ints({4, 3}) && trt::stack({x, x, x}).sizes() == Ints({3, 2, 3}) &&
              trt::cat({x}, 1).sizes() == Ints({2, 3}));
  assert_true(is(trt::clamp(x, 2, std::nullopt), {2, 2, 3, 4, 5, 6}) &&
              is(trt::clamp(x, {}, vec({1, 2, 3})), {1, 2, 3, 1, 2, 3}) && is(x.clamp(2, 3), {2, 2, 3, 3, 3, 3}));
}

void new_tensors(void**) {
  assert_true(trt::zeros(3).sizes() == Ints{3} && trt::zeros({2, 3}, trt::kFloat64).dtype() == DType::Float64 &&
              trt::zeros({}).dim() == 0);
  const Ints size = {2, 2};
  const auto options = trt::dtype(trt::kFloat64).requires_grad();
  const Tensor a = trt::ones(size, options), b = trt::randn({2}, trt::Generator(1), trt::kFloat64),
               c = trt::full({2}, 7, trt::kInt8);
  assert_true(a.requires_grad() && a.dtype() == trt::kDouble && b.dtype() == DType::Float64 &&
              c.dtype() == trt::kChar && is(c, {7, 7}));
  assert_true(trt::zeros({2}, trt::kMeta).device().is_meta() &&
              trt::zeros({2}, trt::TensorOptions().device(trt::kMeta).dtype(trt::kInt64)).dtype() == trt::kLong);
  assert_true(trt::arange(4, trt::kFloat32).dtype() == DType::Float32 && is(trt::arange(1, 3), {1, 2}) &&
              is(trt::arange(0, 1, 0.25, trt::kFloat64), {0, 0.25, 0.5, 0.75}));
  assert_true(trt::eye(2, 3, trt::kInt64).sizes() == Ints({2, 3}) && trt::eye(2, trt::kBool).dtype() == DType::Bool &&
              trt::rand({2, 2}, trt::requires_grad()).requires_grad());
  assert_true(trt::randint(0, 3, {5}).dtype() == DType::Int64 &&
              trt::randint(3, {5}, trt::kInt32).dtype() == DType::Int32 && trt::randperm(4).numel() == 4);
  assert_true(a.new_zeros({3}).dtype() == DType::Float64 && trt::zeros_like(a, trt::kInt32).sizes() == size &&
              trt::zeros({2}, c.options()).dtype() == DType::Int8);
  assert_true(c.to(trt::kFloat32).dtype() == DType::Float32 &&
              c.to(trt::kCPU).is_same(c) == c.to(trt::Device()).is_same(c) && c.to(a).dtype() == DType::Float64);
  assert_true(c.to(trt::dtype(trt::kInt16).device(trt::kMeta)).device().is_meta() &&
              c.to(trt::kMeta, trt::kInt16).dtype() == DType::Int16);

  assert_true(trt::tensor(1.5).dtype() == DType::Float32 && trt::tensor(1.5).dim() == 0 &&
              trt::tensor(2).dtype() == DType::Int64 && trt::tensor(true).dtype() == DType::Bool);
  const Tensor m = trt::tensor({{1, 2}, {3, 4}, {5, 6}}), n = trt::tensor({{{1.0, 2.0}}, {{3.0, 4.0}}}, trt::kFloat64);
  assert_true(m.sizes() == Ints({3, 2}) && same<int>(m, {1, 2, 3, 4, 5, 6}) && n.sizes() == Ints({2, 1, 2}) &&
              n.dtype() == DType::Float64);
  assert_true(trt::tensor({1.f, 2.f}, trt::requires_grad()).requires_grad() &&
              same<int>(trt::tensor(std::vector<int>{4, 5}), {4, 5}));
  throws(TRT_INVALID_ARGUMENT, "stack", [] { trt::tensor({{1, 2}, {3}}); });
  {
    struct DefaultDtype {
      DefaultDtype() { trt::set_default_dtype(trt::kFloat64); }
      ~DefaultDtype() { trt::set_default_dtype(trt::kFloat32); }
    } const wide;
    assert_true(trt::tensor({1.f}).dtype() == DType::Float64 && trt::get_default_dtype() == DType::Float64);
  }

  float memory[] = {1, 2, 3, 4, 5, 6};
  int freed = 0;
  {
    const Tensor columns = trt::from_blob(memory, {3, 2}, {1, 3}, trt::kFloat32);
    assert_true(is(columns, {1, 4, 2, 5, 3, 6}) && columns.data() == memory && !columns.is_contiguous() &&
                columns.strides() == Ints({1, 3}));
    const Tensor whole = trt::from_blob(memory, {6}, [&](void* p) { freed += p == memory; });
    assert_true(is(whole, {1, 2, 3, 4, 5, 6}) && freed == 0);
  }
  assert_int_equal(freed, 1);
  throws(TRT_INVALID_ARGUMENT, "strides", [&] { trt::from_blob(memory, {3, 2}, {1}); });
}

void values_in_and_out(void**) {
  assert_true(Tensor::from({1.f, 2.f}, {2}).dtype() == DType::Float32 &&
              Tensor::from({1.0, 2.0}).dtype() == DType::Float64 && Tensor::from({1, 2}).dtype() == DType::Int32);
  const Tensor flags = Tensor::from<bool>({true, false, true, true}, {2, 2}),
               more = Tensor::from(std::vector<bool>{false, true});
  assert_true(flags.dtype() == DType::Bool && flags.to_vector<bool>() == std::vector<bool>({true, false, true, true}) &&
              more.to_vector<bool>() == std::vector<bool>({false, true}));
  assert_true(same<std::size_t>(Tensor::from(std::vector<std::size_t>{7, 8}), {7, 8}) &&
              Tensor::from({std::size_t{7}}).dtype() == DType::Int64);
  assert_true(same<std::uint16_t>(Tensor::from<std::uint16_t>({65535}), {65535}) &&
              Tensor::from<std::uint16_t>({1}).dtype() == DType::Int32);
  assert_true(same<std::uint32_t>(Tensor::from<std::uint32_t>({4000000000u}), {4000000000u}) &&
              Tensor::from<std::uint32_t>({1}).dtype() == DType::Int64);
  assert_true(Tensor::from<char>({1}).dim() == 1 && same<short>(Tensor::from<short>({-3}), {-3}) &&
              same<long double>(Tensor::from<long double>({0.5L}), {0.5L}));
  throws(TRT_OUT_OF_RANGE, "18446744073709551615", [] { Tensor::from({std::numeric_limits<std::uint64_t>::max()}); });
  throws(TRT_OUT_OF_RANGE, "18446744073709551615", [] { trt::Scalar s(std::numeric_limits<std::uint64_t>::max()); });
  const std::array<double, 4> a = {1, 2, 3, 4};
  assert_true(is(Tensor::from(a, {2, 2}), {1, 2, 3, 4}) && is(Tensor::from(a), {1, 2, 3, 4}) &&
              is(Tensor::from_data(a.data(), {2}), {1, 2}));
  throws(TRT_INVALID_ARGUMENT, "number of values, 3", [] { Tensor::from({1, 2, 3}, {2, 2}); });
  throws(TRT_INVALID_ARGUMENT, "negative", [] { Tensor::from({1}, {-1}); });

  const Tensor seven = trt::tensor(7);
  assert_true(seven.item<int>() == 7 && seven.item<std::uint8_t>() == 7 && seven.item<float>() == 7.f &&
              seven.item<bool>() && seven.item().is_integral() && seven.item() == 7);
  const double as_double = trt::tensor(2.5, trt::kFloat64).item();
  assert_true(trt::tensor(2.5).item().toDouble() == 2.5 && trt::tensor(2.5).item().toFloat() == 2.5f && trt::tensor(3).item().toLong() == 3 &&
              trt::tensor(true).item().toBool() && trt::tensor(2.5).scalar_type() == trt::kFloat32);
  assert_true(as_double == 2.5 && trt::tensor(-2.9).item<int>() == -2 && trt::tensor(true).item().is_bool());
  assert_true(trt::tensor(std::int64_t{9007199254740993}).item<std::int64_t>() == 9007199254740993 &&
              trt::tensor(std::int64_t{9007199254740993}).item().to_int() == 9007199254740993);
  throws(TRT_OUT_OF_RANGE, "300", [] { trt::tensor(300).item<std::uint8_t>(); });
  throws(TRT_OUT_OF_RANGE, "-1", [] { trt::tensor(-1).item<unsigned>(); });
  throws(TRT_OUT_OF_RANGE, "nan", [] { trt::tensor(std::nan("")).item<int>(); });
  throws(TRT_OUT_OF_RANGE, "fit", [] { trt::Scalar(9.3e18).to<std::int64_t>(); });
  assert_true(trt::Scalar(-0.5).to<unsigned>() == 0 &&
              trt::Scalar(-9223372036854775808.0).to<std::int64_t>() == std::numeric_limits<std::int64_t>::min());
  assert_true(trt::Scalar(255.9).to<std::uint8_t>() == 255 && trt::Scalar(-128).to<std::int8_t>() == -128);

  Tensor x = Tensor::from({1.f, 2.f, 3.f, 4.f}, {2, 2});
  const Tensor transposed = x.t();
  auto e = transposed.accessor<float, 2>();
  e[0][1] = 30;
  assert_true(is(x, {1, 2, 30, 4}) && e.size(0) == 2 && x.data_ptr<float>()[2] == 30 &&
              x.data_ptr<const float>()[0] == 1);
  throws(TRT_INVALID_ARGUMENT, "float32", [&] { x.data_ptr<double>(); });
  throws(TRT_INVALID_ARGUMENT, "dimensions", [&] { x.accessor<float, 1>(); });
  assert_true(x.half().data_ptr<std::uint16_t>()[0] == 0x3c00);
  std::ostringstream out;
  out << trt::tensor({1, 2}) << ' ' << Tensor() << ' ' << DType::BFloat16 << ' ' << trt::Scalar(3) << ' '
      << trt::Scalar(true) << ' ' << trt::Scalar(0.5);
  assert_string_equal(out.str().c_str(),
                      (trt::tensor({1, 2}).to_string() + " [ Tensor (undefined) ] bfloat16 3 true 0.5").c_str());
  assert_true(trt::size_of(DType::Int16) == 2 && x.numel() == 4 && x.storage_offset() == 0 &&
              x[1].storage_offset() == 2 && x[1].is_alias_of(x) && x.is_same(x));
}

void expressions(void**) {
  const Tensor a = trt::tensor({1, 2, 3}), b = trt::tensor({3, 2, 1}), f = vec({1, 2, 4});
  assert_true(same<int>(a == b, {0, 1, 0}) && same<int>(a != b, {1, 0, 1}) && same<int>(a < b, {1, 0, 0}) &&
              same<int>(a <= b, {1, 1, 0}));
  assert_true(same<int>(a > b, {0, 0, 1}) && same<int>(a >= b, {0, 1, 1}) && (a == b).dtype() == DType::Bool);
  assert_true(same<int>(a == 2, {0, 1, 0}) && same<int>(2 == a, {0, 1, 0}) && same<int>(a != 2, {1, 0, 1}) &&
              same<int>(2 != a, {1, 0, 1}));
  assert_true(same<int>(a < 2, {1, 0, 0}) && same<int>(2 < a, {0, 0, 1}) && same<int>(a <= 2, {1, 1, 0}) &&
              same<int>(2 <= a, {0, 1, 1}));
  assert_true(same<int>(a > 2, {0, 0, 1}) && same<int>(2 > a, {1, 0, 0}) && same<int>(a >= 2, {0, 1, 1}) &&
              same<int>(2 >= a, {1, 1, 0}));
  assert_true(same<int>(a & b, {1, 2, 1}) && same<int>(a | b, {3, 2, 3}) && same<int>(a ^ b, {2, 0, 2}) &&
              same<int>(~a, {-2, -3, -4}) && same<int>(-a, {-1, -2, -3}));
  assert_true(same<int>(a & 1, {1, 0, 1}) && same<int>(1 & a, {1, 0, 1}) && same<int>(a | 4, {5, 6, 7}) &&
              same<int>(4 | a, {5, 6, 7}) && same<int>(a ^ 1, {0, 3, 2}) && same<int>(1 ^ a, {0, 3, 2}));
  assert_true(same<int>(a % 2, {1, 0, 1}) && same<int>(7 % b, {1, 1, 0}) && same<int>(a % b, {1, 0, 0}) &&
              same<int>(!(a > 1), {1, 0, 0}) && same<int>(+a, {1, 2, 3}));
  assert_true(is(f + 1.5, {2.5, 3.5, 5.5}) && is(1 + f, {2, 3, 5}) && is(8 / f, {8, 4, 2}) && is(1 - f, {0, -1, -3}) &&
              is(2.f * f, {2, 4, 8}));
  Tensor c = a.clone();
  const void* memory = c.data();
  c += b;
  c -= 1;
  c *= a;
  c %= 5;
  c |= 8;
  c &= trt::tensor({15, 15, 15});
  c ^= 1;
  assert_true(same<int>(c, {10, 8, 13}) && c.data() == memory);
  Tensor d = f.clone();
  d /= 2;
  d /= f;
  assert_true(is(d, {0.5, 0.5, 0.5}));
  // Methods chain; in-place ones change the tensor, also where the handle is const.
  assert_true(is(f.sub(2).relu().sum(0), {2}) && is(f.clone().add_(1).mul_(2), {4, 6, 10}) && f.equal(vec({1, 2, 4})) &&
              !f.equal(vec({1, 2, 5})));
  assert_true(f.matmul(f).item<float>() == 21 && trt::arange(4).view({2, 2}).t()[0][1].item<int>() == 2 &&
              f.max().item<float>() == 4 && std::get<1>(f.max(0)).item<int>() == 2);
  assert_true(is(f.where(f > 1, trt::zeros({3})), {0, 2, 4}) && is(trt::where(f > 1, f, trt::zeros({3})), {0, 2, 4}));
  const Tensor out = trt::zeros({3});
  trt::add_out(out, f, f);
  assert_true(is(out, {2, 4, 8}));
}

void indexing(void**) {
  const Tensor x = grid();
  assert_true(same<int>(x[1], {4, 5, 6, 7}) && same<int>(x[-1][2], {10}) && same<int>(x.index({1, 2}), {6}) &&
              x.index({}).is_alias_of(x));
  assert_true(same<int>(x.index({Slice(), 1}), {1, 5, 9}) &&
              same<int>(x.index({Slice(1, None), Slice(None, None, 2)}), {4, 6, 8, 10}) &&
              same<int>(x.index({Slice(None, -1), 0}), {0, 4}));
  assert_true(same<int>(x.index({"...", 0}), {0, 4, 8}) && same<int>(x.index({Ellipsis, Slice(3)}), {3, 7, 11}) &&
              x.index({None, Ellipsis, None}).sizes() == Ints({1, 3, 4, 1}));
  assert_true(x.index({Ellipsis, None, 0}).sizes() == Ints({3, 1}) && x.index({true}).sizes() == Ints({1, 3, 4}) &&
              x.index({false}).sizes() == Ints({0, 3, 4}));
  const Tensor rows = trt::tensor({2, 0}), mask = x > 8, columns = trt::tensor({true, false, true, false});
  assert_true(same<int>(x[rows], {8, 9, 10, 11, 0, 1, 2, 3}) && same<int>(x[mask], {9, 10, 11}) &&
              same<int>(x.index({rows, 1}), {9, 1}) && same<int>(x.index({Slice(1), columns}), {4, 6, 8, 10}));
  assert_true(same<int>(x.index({Slice(1, None), columns}), {4, 6, 8, 10}) &&
              same<int>(x.index({rows, trt::tensor({3, 1})}), {11, 1}) && same<int>(x.index({0, rows}), {2, 0}));
  assert_true(same<int>(x.index({Tensor(), rows}), {2, 0, 6, 4, 10, 8}) &&
              same<int>(x.index({trt::tensor(1)}), {4, 5, 6, 7}) &&
              same<int>(x.index({Ellipsis, rows}), {2, 0, 6, 4, 10, 8}));
  // A mask over two dimensions, then a slice of the third.
  const Tensor cube = trt::arange(12).view({2, 2, 3}), square = trt::tensor({{true, false}, {false, true}});
  assert_true(same<int>(cube.index({square, Slice(1, None)}), {1, 2, 10, 11}) &&
              same<int>(cube.index({square}), {0, 1, 2, 9, 10, 11}));
  assert_true(same<int>(cube.index({Slice(), rows.clamp(0, 1), 0}), {3, 0, 9, 6}) &&
              cube.index({rows.clamp(0, 1), None}).sizes() == Ints({2, 1, 2, 3}));
  const std::vector<TensorIndex> list = {1, Slice(), 0};
  assert_true(same<int>(cube.index(list), {6, 9}));
  throws(TRT_OUT_OF_RANGE, "dimensions", [&] { x.index({0, 0, 0}); });
  throws(TRT_INVALID_ARGUMENT, "ellipsis", [&] { x.index({Ellipsis, Ellipsis}); });
  throws(TRT_INVALID_ARGUMENT, "...", [&] { x.index({".."}); });
  throws(TRT_OUT_OF_RANGE, "select", [&] { x[3]; });
}

void writing(void**) {
  Tensor x = trt::zeros({2, 3}, trt::kInt64);
  x[0] = 1;
  x[1] = trt::tensor({4, 5, 6});
  assert_true(same<int>(x, {1, 1, 1, 4, 5, 6}));
  x.index({Slice(), 0}) = 9;
  x.index_put_({1, Slice(1, None)}, trt::tensor({7.9, 8.1}));
  assert_true(same<int>(x, {9, 1, 1, 9, 7, 8}));
  x.index_put_({x == 9}, -1);
  x.index_put_({trt::tensor({0, 1}), trt::tensor({2, 1})}, trt::tensor({20, 30}));
  assert_true(same<int>(x, {-1, 1, 20, -1, 30, 8}));
  x.index_put_({Ellipsis, trt::tensor({0})}, trt::tensor({{100}, {200}}));
  x[1] += 1;
  x.index_put_({0}, trt::tensor({{{5, 6, 7}}}));
  assert_true(same<int>(x, {5, 6, 7, 201, 31, 9}));
  const std::vector<TensorIndex> list = {Slice(), 1};
  x.index_put_(list, 0);
  x.index_put_(list, trt::tensor({3, 4}));
  assert_true(same<int>(x, {5, 3, 7, 201, 4, 9}));
  // A name is made to refer to another tensor; nothing is written.
  Tensor y = x;
  y = trt::tensor({1});
  assert_true(same<int>(x, {5, 3, 7, 201, 4, 9}) && same<int>(y, {1}));
  throws(TRT_INVALID_ARGUMENT, "copy_", [&] { x[0] = trt::tensor({1, 2}); });
  const Tensor moved = vec({1, 2}), seen = moved;
  moved.set_data(x);
  assert_true(seen.is_alias_of(x) && seen.dtype() == DType::Int64 && seen.sizes() == Ints({2, 3}));
  // Gradients go through what is read and written.
  const Tensor w = vec({1, 2, 3}).requires_grad_();
  Tensor z = trt::zeros({2, 3});
  z[1] = w * 2;
  z.index_put_({0, trt::tensor({0, 2})}, w.index({Slice(1, None)}));
  (z * z)[trt::tensor({0, 1})].sum().backward();
  assert_true(is(z, {2, 0, 3, 2, 4, 6}) && is(w.grad(), {8, 20, 30}));
  throws(TRT_FAILED_PRECONDITION, "view", [&] { z[0].detach_(); });
  assert_true(!z.detach_().requires_grad() && z.is_leaf());
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {cmocka_unit_test(list_arguments),    cmocka_unit_test(new_tensors),
                              cmocka_unit_test(values_in_and_out), cmocka_unit_test(expressions),
                              cmocka_unit_test(indexing),          cmocka_unit_test(writing)};
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
