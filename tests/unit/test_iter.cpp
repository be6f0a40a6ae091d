// iter/: type promotion, broadcasting, TensorIterator, the pointwise driver, copies; and generators through the random operators. Everything random is
// compared with plain loops over indices.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "core/modes.h"
#include "gen/factory_ops.h"
#include "gen/pointwise_ops.h"
#include "gen/random_ops.h"
#include "gen/shape_ops.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "iter/tensor_iterator.h"

#include "expect.h"

namespace {

using namespace trt;

constexpr DType kTypes[] = {DType::UInt8,   DType::Int8,    DType::Int16,   DType::Int32, DType::Int64,
                            DType::Float16, DType::Float32, DType::Float64, DType::Bool,  DType::BFloat16};

// The table in PyTorch's documentation of tensor attributes ("Type promotion"), in the order of kTypes.
void promotion_table(void**) {
  const char* const rows[] = {
      "u1 i2 i2 i4 i8 f2 f4 f8 u1 bf", "i2 i1 i2 i4 i8 f2 f4 f8 i1 bf", "i2 i2 i2 i4 i8 f2 f4 f8 i2 bf", "i4 i4 i4 i4 i8 f2 f4 f8 i4 bf",
      "i8 i8 i8 i8 i8 f2 f4 f8 i8 bf", "f2 f2 f2 f2 f2 f2 f4 f8 f2 f4", "f4 f4 f4 f4 f4 f4 f4 f8 f4 f4", "f8 f8 f8 f8 f8 f8 f8 f8 f8 f8",
      "u1 i1 i2 i4 i8 f2 f4 f8 b1 bf", "bf bf bf bf bf f4 f4 f8 bf bf",
  };
  const std::map<std::string, DType> names = {{"u1", DType::UInt8},   {"i1", DType::Int8},    {"i2", DType::Int16},   {"i4", DType::Int32}, {"i8", DType::Int64},
                                              {"f2", DType::Float16}, {"f4", DType::Float32}, {"f8", DType::Float64}, {"b1", DType::Bool},  {"bf", DType::BFloat16}};
  for (size_t a = 0; a < 10; ++a)
    for (size_t b = 0; b < 10; ++b) {
      const DType want = names.at(std::string(rows[a] + 3 * b, 2));
      assert_true(promote_types(kTypes[a], kTypes[b]) == want);
      assert_true(op::add(empty_tensor({2}, kTypes[a], kMeta), empty_tensor({2}, kTypes[b], kMeta)).dtype() == want);
    }
  assert_true(promote_types(DType::Undefined, DType::Int8) == DType::Int8);
}

void promotion_categories(void**) {
  const auto result = [](std::initializer_list<Tensor> tensors, std::initializer_list<Scalar> numbers) {
    PromotionState s;
    for (const Tensor& t : tensors) s.add(t);
    for (const Scalar& n : numbers) s.add(n);
    return s.result();
  };
  const auto dim = [](DType t) { return empty_tensor({1}, t); };
  const auto zero = [](DType t) { return empty_tensor({}, t); };
  using D = DType;
  assert_true(result({dim(D::Float16), zero(D::Float64)}, {}) == D::Float16);
  assert_true(result({dim(D::UInt8), zero(D::Int64)}, {}) == D::UInt8);
  assert_true(result({dim(D::Int32), zero(D::Float64)}, {}) == D::Float64);
  assert_true(result({dim(D::Int32), zero(D::Float16)}, {}) == D::Float16);
  assert_true(result({dim(D::Bool), zero(D::UInt8)}, {}) == D::UInt8);
  assert_true(result({dim(D::Int8)}, {Scalar(1000)}) == D::Int8);
  assert_true(result({dim(D::Int8)}, {Scalar(1.5)}) == D::Float32);
  assert_true(result({dim(D::BFloat16)}, {Scalar(1.5)}) == D::BFloat16);
  assert_true(result({dim(D::Bool)}, {Scalar(true)}) == D::Bool);
  assert_true(result({dim(D::Bool)}, {Scalar(1)}) == D::Int64);
  assert_true(result({zero(D::Int16)}, {Scalar(1)}) == D::Int16);
  assert_true(result({zero(D::Int16)}, {Scalar(0.5)}) == D::Float32);
  assert_true(result({dim(D::Float16), dim(D::BFloat16), zero(D::Float64)}, {Scalar(1)}) == D::Float32);
  assert_true(result({dim(D::Int8), wrapped_scalar_tensor(Scalar(2.5))}, {}) == D::Float32);
  assert_true(result({dim(D::Float16), wrapped_scalar_tensor(Scalar(2.5))}, {}) == D::Float16);
  thread_state.default_dtype = D::Float64;
  assert_true(result({dim(D::Int8)}, {Scalar(1.5)}) == D::Float64);
  assert_true(result({dim(D::Float32)}, {Scalar(1.5)}) == D::Float32);
  thread_state.default_dtype = D::Float32;
  for (const DType from : kTypes)
    for (const DType to : kTypes) {
      const auto kind = [](DType t) { return t == D::Bool ? 0 : is_floating(t) ? 2 : 1; };
      assert_int_equal(can_cast(from, to), kind(from) <= kind(to));
    }
}

void broadcasting(void**) {
  const auto is = [](IntArrayRef a, IntArrayRef b, DimVector want) {
    return broadcast_shapes(a, b, "op") == want && broadcast_shapes(b, a, "op") == want;
  };
  assert_true(is({}, {}, {}) && is({3}, {}, {3}) && is({2, 1, 4}, {3, 1}, {2, 3, 4}) && is({0}, {1}, {0}) && is({5, 0}, {1, 1}, {5, 0}));
  throws(Code::kInvalidArgument, "op: shapes [2, 3] and [4]", [] { broadcast_shapes({2, 3}, {4}, "op"); });
  throws(Code::kInvalidArgument, "[0]", [] { broadcast_shapes({0}, {2}, "op"); });
  throws(Code::kInvalidArgument, "add", [] { op::add(op::ones({2, 3}), op::ones({3, 2})); });
}

std::mt19937 g_random(1234);
int64_t below(int64_t n) { return static_cast<int64_t>(g_random() % static_cast<uint64_t>(n)); }

DimVector random_shape(int64_t max_dims, int64_t max_numel) {
  DimVector shape;
  int64_t numel = 1;
  for (int64_t n = below(max_dims + 1); n > 0; --n) {
    const int64_t kind = below(12);
    const int64_t size = kind == 0 ? 0 : kind < 4 ? 1 : kind < 10 ? 2 + below(6) : 2 + below(max_numel);
    if (numel * std::max<int64_t>(size, 1) > max_numel) continue;
    numel *= std::max<int64_t>(size, 1);
    shape.push_back(size);
  }
  return shape;
}

double read(const Tensor& t, int64_t offset) {  // from the begin of the storage
  return dispatch_dtype(t.dtype(), "read", [&]<typename T>() { return static_cast<double>(static_cast<T*>(t.impl()->storage()->data())[offset]); });
}
// The offset of element `i` (row-major in `shape`), as broadcasting says.
int64_t offset_of(const Tensor& t, IntArrayRef shape, int64_t i) {
  int64_t at = t.storage_offset();
  for (size_t d = shape.size(); d-- > 0; i /= shape[d]) {
    const int64_t own = static_cast<int64_t>(d) - static_cast<int64_t>(shape.size()) + t.dim();
    if (own >= 0 && t.sizes()[static_cast<size_t>(own)] != 1) at += i % shape[d] * t.strides()[static_cast<size_t>(own)];
  }
  return at;
}

// A view that broadcasts to `shape` (or has exactly it): permuted, stepped, expanded, somewhere in a larger storage filled with small integers.
Tensor random_operand(IntArrayRef shape, DType dtype, bool exact) {
  DimVector sizes(shape.data(), shape.size());
  if (!exact) {
    const int64_t drop = below(4) == 0 ? below(static_cast<int64_t>(sizes.size()) + 1) : 0;
    for (int64_t i = 0; i < drop; ++i) sizes.erase(0);
    for (auto& s : sizes)
      if (below(4) == 0) s = 1;
  }
  std::vector<size_t> order(sizes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
  if (below(3) == 0) std::shuffle(order.begin(), order.end(), g_random);
  DimVector strides(sizes.size());
  int64_t step = below(4) == 0 ? 1 + below(3) : 1, last = below(3);
  const int64_t offset = last;
  for (const size_t d : order) {
    strides[d] = !exact && below(8) == 0 ? 0 : step;
    step = std::max<int64_t>(step, strides[d] * std::max<int64_t>(sizes[d], 1)) + (below(6) == 0 ? below(4) : 0);
    last += std::max<int64_t>(sizes[d] - 1, 0) * strides[d];
  }
  const int64_t elements = last + 2;
  auto storage = StorageImpl::allocate(static_cast<size_t>(elements) * element_size(dtype), kCPU);
  dispatch_dtype(dtype, "fill", [&]<typename T>() {
    for (int64_t i = 0; i < elements; ++i) static_cast<T*>(storage->data())[i] = static_cast<T>(static_cast<float>(below(dtype == DType::Bool ? 2 : 8)));
  });
  Tensor t = Tensor::adopt(TensorImpl::create(storage, dtype, sizes, strides, offset));
  t.impl()->verify();
  return t;
}

// Which elements of the operands meet, for any cut of the iteration space.
void the_iterator_visits_everything_once(void**) {
  for (int run = 0; run < 400; ++run) {
    const DimVector shape = random_shape(6, 300);
    const Tensor tensors[] = {random_operand(shape, DType::Int16, true), random_operand(shape, DType::Float64, false), random_operand(shape, DType::Bool, false)};
    const Tensor* operands[] = {&tensors[0], &tensors[1], &tensors[2]};
    const TensorIterator it(shape, ArrayRef<const Tensor*>(operands, 3));
    using Meeting = std::array<int64_t, 3>;
    std::vector<Meeting> got, want;
    const auto loop = [&](char* const* ptrs, int64_t n) {
      assert_true(n > 0);
      for (int64_t i = 0; i < n; ++i) {
        Meeting m;
        for (size_t k = 0; k < 3; ++k) {
          const auto& o = it.operand(static_cast<int>(k));
          const int64_t stride = it.ndim() ? o.strides[0] : 0;
          m[k] = (ptrs[k] + i * stride - static_cast<char*>(tensors[k].impl()->storage()->data())) / static_cast<int64_t>(tensors[k].itemsize());
        }
        got.push_back(m);
      }
    };
    int64_t numel = 1;
    for (const int64_t s : shape) numel *= s;
    assert_int_equal(it.numel(), numel);
    for (int64_t at = 0; at < numel;) {
      const int64_t end = std::min(numel, at + 1 + below(numel));
      it.for_range(at, end, loop);
      at = end;
    }
    for (int64_t i = 0; i < numel; ++i) want.push_back({offset_of(tensors[0], shape, i), offset_of(tensors[1], shape, i), offset_of(tensors[2], shape, i)});
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    if (got != want) print_error("%s\n", it.dump().c_str());
    assert_true(got == want);
  }
  // Neighbouring dimensions are one loop, and memory is walked in order.
  const Tensor a = op::ones({4, 5, 6}), b = op::permute(a, {2, 0, 1});
  const Tensor* dense[] = {&b, &b};
  const TensorIterator it(b.sizes(), ArrayRef<const Tensor*>(dense, 2));
  assert_true(it.ndim() == 1 && it.shape()[0] == 120);
}

double wrapped(double v, DType t) {
  return dispatch_dtype(t, "wrap", [&]<typename T>() {
    if constexpr (std::is_same_v<T, bool>) return v != 0 ? 1.0 : 0.0;
    else if constexpr (std::is_integral_v<T>) return static_cast<double>(static_cast<T>(static_cast<int64_t>(v)));
    else return static_cast<double>(static_cast<float>(T(static_cast<float>(v))));
  });
}

// All numbers are small integers, so that double precision arithmetic and a cast give what any dtype must give.
void pointwise_against_loops(void**) {
  struct Op {
    const char* name;
    std::function<Tensor(const Tensor&, const Tensor&)> run;
    double (*plain)(double, double);
    bool compare, boolean;
  };
  const Op ops[] = {
      {"add", [](const Tensor& a, const Tensor& b) { return op::add(a, b, 2); }, [](double a, double b) { return a + 2 * b; }, false, false},
      {"mul", [](const Tensor& a, const Tensor& b) { return op::mul(a, b); }, [](double a, double b) { return a * b; }, false, true},
      {"sub", [](const Tensor& a, const Tensor& b) { return op::sub(a, b); }, [](double a, double b) { return a - b; }, false, false},
      {"maximum", [](const Tensor& a, const Tensor& b) { return op::maximum(a, b); }, [](double a, double b) { return std::max(a, b); }, false, true},
      {"lt", [](const Tensor& a, const Tensor& b) { return op::lt(a, b); }, [](double a, double b) { return double(a < b); }, true, true},
  };
  for (int run = 0; run < 1500; ++run) {
    const Op& o = ops[below(5)];
    const DimVector shape = random_shape(5, run % 50 == 0 ? 40000 : 1500);
    const DType ta = kTypes[below(10)], tb = below(2) ? ta : kTypes[below(10)];
    const Tensor a = random_operand(shape, ta, false), b = random_operand(shape, tb, below(2));
    PromotionState promotion;
    promotion.add(a);
    promotion.add(b);
    if (promotion.result() == DType::Bool && !o.boolean) continue;
    if (&o == &ops[2] && (ta == DType::Bool || tb == DType::Bool)) {  // bool is not subtracted, whatever the other operand is
      throws(Code::kNotSupported, "sub", [&] { o.run(a, b); });
      continue;
    }
    const DType type = o.compare ? DType::Bool : promotion.result();
    const Tensor r = o.run(a, b);
    const DimVector want = broadcast_shapes(a.sizes(), b.sizes(), "test");
    assert_true(r.sizes() == IntArrayRef(want) && r.dtype() == type);
    r.impl()->verify();
    for (int64_t i = 0; i < r.numel(); ++i) {
      const double x = read(a, offset_of(a, want, i)), y = read(b, offset_of(b, want, i)), got = read(r, offset_of(r, want, i));
      if (got == wrapped(o.plain(x, y), type)) continue;
      print_error("%s of %s and %s, element %ld: %g and %g give %g\n", o.name, describe(a).c_str(), describe(b).c_str(), static_cast<long>(i), x, y, got);
      fail();
    }
  }
}

void three_operands(void**) {
  for (int run = 0; run < 200; ++run) {
    const DimVector shape = random_shape(4, 2000);
    const Tensor c = random_operand(shape, DType::Bool, false), a = random_operand(shape, kTypes[below(10)], false), b = random_operand(shape, kTypes[below(10)], true);
    const Tensor r = op::where(c, a, b);
    for (int64_t i = 0; i < r.numel(); ++i) {
      const double want = read(c, offset_of(c, r.sizes(), i)) != 0 ? read(a, offset_of(a, r.sizes(), i)) : read(b, offset_of(b, r.sizes(), i));
      assert_true(read(r, offset_of(r, r.sizes(), i)) == want);
    }
  }
}

void in_place(void**) {
  int done = 0;
  for (int run = 0; run < 800; ++run) {
    const DimVector shape = random_shape(4, 1500);
    Tensor out = random_operand(shape, kTypes[below(10)], true);
    const Tensor in = below(6) == 0 ? out : random_operand(shape, kTypes[below(10)], false);
    PromotionState promotion;
    promotion.add(out);
    promotion.add(in);
    if (promotion.result() == DType::Bool) continue;
    std::vector<double> before, other, memory;
    for (int64_t i = 0; i < out.numel(); ++i) before.push_back(read(out, offset_of(out, shape, i))), other.push_back(read(in, offset_of(in, shape, i)));
    const int64_t elements = static_cast<int64_t>(out.impl()->storage()->bytes() / out.itemsize());
    for (int64_t i = 0; i < elements; ++i) memory.push_back(read(out, i));
    const uint32_t version = out.impl()->storage()->version();
    if (!can_cast(promotion.result(), out.dtype())) {
      throws(Code::kInvalidArgument, "add", [&] { op::add_(out, in, 2); });
      assert_int_equal(out.impl()->storage()->version(), version);
      continue;
    }
    op::add_(out, in, 2);
    ++done;
    assert_int_equal(out.impl()->storage()->version(), version + 1);
    for (int64_t i = 0; i < out.numel(); ++i) {
      const int64_t at = offset_of(out, shape, i);
      assert_true(read(out, at) == wrapped(before[static_cast<size_t>(i)] + 2 * other[static_cast<size_t>(i)], out.dtype()));
      memory[static_cast<size_t>(at)] = read(out, at);
    }
    for (int64_t i = 0; i < elements; ++i) assert_true(read(out, i) == memory[static_cast<size_t>(i)]);  // nothing else was written
  }
  assert_true(done > 200);
  throws(Code::kInvalidArgument, "shape", [] {
    Tensor a = op::ones({1, 3});
    op::add_(a, op::ones({2, 3}));
  });
}

void overlap(void**) {
  Tensor x = op::arange(24);
  const auto part = [&](int64_t begin, int64_t end, int64_t step) { return op::slice(x, 0, begin, end, step); };
  const auto add = [](Tensor out, const Tensor& in) { op::add_(out, in); };
  throws(Code::kInvalidArgument, "share", [&] { add(part(0, 10, 1), part(1, 11, 1)); });
  throws(Code::kInvalidArgument, "share", [&] { add(x, op::select(x, 0, 5)); });
  throws(Code::kInvalidArgument, "share", [&] { add(op::view(x, {4, 6}), op::expand(op::slice(x, 0, 6, 12), {4, 6})); });
  throws(Code::kInvalidArgument, "share", [&] { add(op::view(x, {4, 6}), op::expand(op::slice(x, 0, 0, 6), {4, 6})); });
  throws(Code::kInvalidArgument, "share", [&] { add(op::transpose(op::slice(op::view(x, {4, 6}), 0, 0, 3), 0, 1), op::view(op::slice(x, 0, 3, 21), {6, 3})); });
  throws(Code::kInvalidArgument, "several elements", [&] { add(op::expand(op::slice(x, 0, 0, 1), {4}), op::ones({4}, DType::Int64)); });
  // These do not meet although their ranges do.
  add(part(0, 24, 2), part(1, 24, 2));
  add(part(4, 6, 1), part(0, 9, 8));
  add(op::slice(op::view(x, {4, 6}), 1, 0, 3), op::slice(op::view(x, {4, 6}), 1, 3, 6));
  add(part(0, 5, 1), part(5, 10, 1));
  add(x, x);
  add(x, op::view(x, {24}));
  throws(Code::kInvalidArgument, "share", [&] {
    Tensor out = part(0, 8, 1);
    op::mul_out(part(2, 10, 1), part(2, 10, 1), out);
  });
}

// copy_ reads everything before it writes, whatever the two views are.
void copies_that_overlap(void**) {
  for (int run = 0; run < 600; ++run) {
    const DimVector shape = random_shape(4, 400);
    const DType type = kTypes[below(10)];
    Tensor dst = random_operand(shape, type, true);
    const int64_t elements = static_cast<int64_t>(dst.impl()->storage()->bytes() / dst.itemsize());
    Tensor src;
    if (below(3) == 0) {  // elsewhere, with another dtype
      src = random_operand(shape, kTypes[below(10)], false);
    } else {  // permuted or shifted in the same memory
      DimVector sizes(shape.data(), shape.size()), strides(dst.strides().data(), shape.size());
      for (size_t i = 1; i < strides.size(); ++i)
        if (below(2) && sizes[i] == sizes[i - 1]) std::swap(strides[i], strides[i - 1]);
      for (auto& s : strides) s = below(5) == 0 ? 0 : s;
      int64_t last = 0;
      for (size_t i = 0; i < strides.size(); ++i) last += std::max<int64_t>(sizes[i] - 1, 0) * strides[i];
      src = alias_tensor(dst, sizes, strides, below(std::max<int64_t>(1, elements - last)));
    }
    std::vector<double> want;
    for (int64_t i = 0; i < dst.numel(); ++i) want.push_back(wrapped(read(src, offset_of(src, shape, i)), type));
    copy_tensor(dst, src);
    for (int64_t i = 0; i < dst.numel(); ++i) assert_true(read(dst, offset_of(dst, shape, i)) == want[static_cast<size_t>(i)]);
  }
}

// Geometry stays sound through chains of views.
void views_of_views(void**) {
  for (int run = 0; run < 500; ++run) {
    Tensor t = random_operand(random_shape(5, 200), DType::Int32, true);
    for (int step = 0; step < 6; ++step) {
      const int64_t n = t.dim(), d = n ? below(n) : 0;
      switch (below(8)) {
        case 0: t = n ? op::transpose(t, d, below(n)) : t; break;
        case 1: t = n ? op::slice(t, d, below(4), 2 + below(5), 1 + below(3)) : t; break;
        case 2: t = n && t.size(d) ? op::select(t, d, below(t.size(d))) : t; break;
        case 3: t = op::unsqueeze(t, below(n + 1)); break;
        case 4: t = op::squeeze(t); break;
        case 5: t = n && t.size(d) >= 2 ? op::unfold(t, d, 2, 1 + below(2)) : t; break;
        case 6: t = n >= 2 && d > 0 ? op::diagonal(t, below(3) - 1, d, 0) : t; break;
        default: {
          DimVector sizes(t.sizes().data(), t.sizes().size());
          sizes.insert(0, 2);
          t = op::expand(t, sizes);
        }
      }
      t.impl()->verify();
    }
    const Tensor flat = op::reshape(t, {-1 + (t.numel() == 0)});
    for (int64_t i = 0; i < t.numel(); ++i) assert_true(read(flat, offset_of(flat, flat.sizes(), i)) == read(t, offset_of(t, t.sizes(), i)));
  }
}

void random_numbers(void**) {
  const std::function<Tensor(GeneratorImpl*)> fills[] = {
      [](GeneratorImpl* g) { return op::randn({300, 400}, g); },
      [](GeneratorImpl* g) { return op::rand({123457}, g, DType::Float64); },
      [](GeneratorImpl* g) { return op::randint(1000, {70001}, g); },
      [](GeneratorImpl* g) { return op::randperm(5000, g); },
      [](GeneratorImpl* g) { return op::bernoulli(op::full({99999}, 0.3), g); },
      [](GeneratorImpl* g) { return op::randn({3}, g, DType::Float16); },
  };
  for (const auto& fill : fills) {
    Tensor first, second;
    for (int threads = 1; threads <= 4; ++threads) {
      set_num_threads(threads);
      GeneratorImpl g(42);
      const Tensor a = fill(&g);
      const auto middle = g.state();
      assert_true(middle.offset > 0);
      const Tensor b = fill(&g);
      const size_t bytes = static_cast<size_t>(a.numel()) * a.itemsize();
      if (threads == 1) first = a, second = b;
      assert_memory_equal(a.data(), first.data(), bytes);
      assert_memory_equal(b.data(), second.data(), bytes);
      g.set_state(middle);  // from the middle of the stream
      assert_memory_equal(fill(&g).data(), b.data(), bytes);
    }
    assert_memory_not_equal(first.data(), second.data(), static_cast<size_t>(first.numel()) * first.itemsize());
    GeneratorImpl other(43);
    assert_memory_not_equal(fill(&other).data(), first.data(), static_cast<size_t>(first.numel()) * first.itemsize());
  }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(promotion_table), cmocka_unit_test(promotion_categories),   cmocka_unit_test(broadcasting),        cmocka_unit_test(the_iterator_visits_everything_once),
      cmocka_unit_test(pointwise_against_loops), cmocka_unit_test(three_operands), cmocka_unit_test(in_place),            cmocka_unit_test(overlap),
      cmocka_unit_test(copies_that_overlap),     cmocka_unit_test(views_of_views), cmocka_unit_test(random_numbers),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
