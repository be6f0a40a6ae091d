// base/ and core/ below the dispatcher: short vectors, counted pointers, 16-bit floats, numbers, key sets, tensors' metadata, generators.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "core/generator.h"
#include "core/key_set.h"
#include "core/modes.h"
#include "core/philox.h"
#include "core/tensor.h"

#include "expect.h"

namespace {

using namespace trt;

// Every operation of SmallVector against std::vector, inline and on the heap.
void small_vector_is_a_vector(void**) {
  using Small = SmallVector<int64_t, 4>;
  std::mt19937 random(1);
  const auto same = [](const Small& a, const std::vector<int64_t>& b) { return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin()); };
  for (int run = 0; run < 50; ++run) {
    Small a, other;
    std::vector<int64_t> b, other_b;
    for (int step = 0; step < 200; ++step) {
      const int64_t v = random() % 100;
      const size_t at = b.empty() ? 0 : random() % b.size();
      switch (random() % 14) {
        case 0:
        case 1:
        case 2: a.push_back(v), b.push_back(v); break;
        case 3: a.insert(at, v), b.insert(b.begin() + static_cast<std::ptrdiff_t>(at), v); break;
        case 4:
          if (!b.empty()) a.erase(at), b.erase(b.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 5:
          if (!b.empty()) a.pop_back(), b.pop_back();
          break;
        case 6: a.resize(static_cast<size_t>(v % 9), v), b.resize(static_cast<size_t>(v % 9), v); break;
        case 7: other = a, other_b = b; break;
        case 8: std::swap(a, other), std::swap(b, other_b); break;
        case 9: a = Small(other), b = other_b; break;
        case 10: {
          Small moved(std::move(other));
          assert_true(same(moved, other_b) && other.empty());
          other = std::move(moved);
          break;
        }
        case 11: a = static_cast<const Small&>(a); break;
        case 12:
          if (!b.empty()) {  // an element of its own, when it must grow
            a.push_back(a[at]);
            b.push_back(int64_t{b[at]});
          }
          break;
        default:
          if (b.size() > 2) {  // a part of itself
            a.assign(a.data() + 1, a.size() - 1);
            b.erase(b.begin());
          }
      }
      assert_true(same(a, b) && same(other, other_b));
      assert_int_equal(a == other, b == other_b);
      if (!b.empty()) assert_true(a.back() == b.back());
    }
  }
  assert_true(Small({1, 2, 3, 4, 5}) == Small({1, 2, 3, 4, 5}));
  assert_true(IntArrayRef({1, 2}) == IntArrayRef(std::vector<int64_t>{1, 2}));
  assert_string_equal(str_cat(DimVector{2, 0, -3}).c_str(), "[2, 0, -3]");
}

struct Probe : RefCounted<Probe> {
  static constexpr bool kWeakReferences = true;
  explicit Probe(std::atomic<int>* d) : destroyed(d) {}
  static void destroy(Probe* self) {
    self->destroyed->fetch_add(1);
    delete self;
  }
  std::atomic<int>* destroyed;
};

void counted_pointers(void**) {
  std::atomic<int> destroyed{0};
  {
    auto a = make_intrusive<Probe>(&destroyed);
    assert_int_equal(a->use_count(), 1);
    intrusive_ptr<Probe> b = a, c(std::move(b));
    assert_int_equal(a->use_count(), 2);
    assert_false(static_cast<bool>(b));
    assert_true(a == c);
    auto& self = a;
    a = self;
    assert_int_equal(a->use_count(), 2);
    Probe* raw = c.detach();
    assert_int_equal(a->use_count(), 2);
    auto d = intrusive_ptr<Probe>::adopt(raw);
    d.reset();
    assert_int_equal(a->use_count(), 1);
    intrusive_ptr<Probe> e(a.get());
    assert_int_equal(a->use_count(), 2);
    assert_true(a->try_retain());
    a->release();
    a = make_intrusive<Probe>(&destroyed);
    assert_int_equal(destroyed.load(), 0);
    e = nullptr;
    assert_int_equal(destroyed.load(), 1);
  }
  assert_int_equal(destroyed.load(), 2);
  destroyed = 0;
  {
    auto shared = make_intrusive<Probe>(&destroyed);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([shared] {
        for (int i = 0; i < 20000; ++i) intrusive_ptr<Probe> copy = shared;
      });
    shared.reset();
    for (auto& t : threads) t.join();
  }
  assert_int_equal(destroyed.load(), 1);
}

// Kept in a weak pointer under a lock, as a leaf keeps its accumulator. The memory stays, so that a fault is seen and not a crash.
struct Weak {
  std::mutex mutex;
  struct Target* object = nullptr;
};
struct Target : RefCounted<Target> {
  static constexpr bool kWeakReferences = true;
  explicit Target(Weak* w) : weak(w) {}
  static void destroy(Target* self) {
    std::lock_guard lock(self->weak->mutex);
    self->weak->object = nullptr;
    self->destroyed.fetch_add(1);
  }
  Weak* weak;
  std::atomic<int> destroyed{0};
};

// A reference from a weak pointer must never revive an object whose last reference goes at the same time.
void weak_references(void**) {
  for (int run = 0; run < 30; ++run) {
    Weak weak;
    Target object(&weak);
    weak.object = &object;
    std::atomic<bool> locked{false}, destroyed_while_held{false};
    std::thread other([&] {
      bool taken = false;
      {
        std::lock_guard lock(weak.mutex);
        locked = true;
        // Meanwhile the last reference goes, and its destroy() waits for the lock.
        std::this_thread::sleep_for(std::chrono::milliseconds(run % 3));
        taken = weak.object && weak.object->try_retain();
      }
      if (!taken) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      destroyed_while_held = object.destroyed.load() != 0;
      object.release();
    });
    while (!locked) std::this_thread::yield();
    object.release();
    other.join();
    assert_int_equal(object.destroyed.load(), 1);
    assert_false(destroyed_while_held);
  }
}

float exact_half(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), mantissa = static_cast<int>(bits & 1023);
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return mantissa ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  return sign * (exponent ? std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25) : std::ldexp(static_cast<float>(mantissa), -24));
}
float exact_bfloat16(uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 7 & 255), mantissa = static_cast<int>(bits & 127);
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 255) return mantissa ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  return sign * (exponent ? std::ldexp(static_cast<float>(128 + mantissa), exponent - 134) : std::ldexp(static_cast<float>(mantissa), -133));
}

// All 65,536 values there and back; between neighbours the nearer one, in the middle the even one.
template <typename To, typename From, typename Exact>
void check_sixteen_bits(uint32_t infinity, To to_float, From from_float, Exact exact) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = to_float(static_cast<uint16_t>(bits)), want = exact(bits);
    if (std::isnan(want)) {
      assert_true(std::isnan(value));
      const uint16_t back = from_float(value);
      assert_true((back & infinity) == infinity && (back & ~(infinity | 0x8000)) != 0);
      assert_int_equal(back >> 15, bits >> 15);
      continue;
    }
    assert_true(value == want && std::signbit(value) == std::signbit(want));
    assert_int_equal(from_float(value), bits);
    if ((bits & 0x7fff) >= infinity) continue;
    // The next one away from zero; for the largest, what would follow it.
    const bool largest = (bits & 0x7fff) + 1 == infinity;
    const double next = largest ? 2.0 * want - static_cast<double>(exact(bits - 1)) : static_cast<double>(exact(bits + 1));
    const double middle = (static_cast<double>(want) + next) / 2;
    const float tie = static_cast<float>(middle);
    if (static_cast<double>(tie) != middle) continue;  // below float's own grid
    assert_int_equal(from_float(tie), bits & 1 ? bits + 1 : bits);
    assert_int_equal(from_float(std::nextafter(tie, want)), bits);
    assert_int_equal(from_float(std::nextafter(tie, static_cast<float>(2 * next))), bits + 1);
  }
  assert_int_equal(from_float(std::numeric_limits<float>::max()), infinity);
  assert_int_equal(from_float(-std::numeric_limits<float>::denorm_min()), 0x8000);
}
void sixteen_bit_floats(void**) {
  check_sixteen_bits(0x7c00, half_bits_to_float, float_to_half_bits, exact_half);
  check_sixteen_bits(0x7f80, bfloat16_bits_to_float, float_to_bfloat16_bits, exact_bfloat16);
}

void scalars(void**) {
  assert_true(Scalar(true).is_bool() && Scalar(3).is_int() && Scalar(3.0f).is_double() && Scalar(Half(1.5f)).is_double());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  assert_true(Scalar(-2.9).to_int() == -2 && Scalar(nan).to_int() == lowest && Scalar(1e19).to_int() == lowest && Scalar(-1e30).to_int() == lowest);
  assert_true(Scalar(-9223372036854775808.0).to_int() == lowest && Scalar(9007199254740993).to_int() == 9007199254740993);
  assert_true(Scalar(0.5).to<bool>() && !Scalar(0).to<bool>() && Scalar(nan).to<bool>());
  assert_true(Scalar(300).to<uint8_t>() == 44 && Scalar(-1).to<uint8_t>() == 255 && Scalar(2.5).to<float>() == 2.5f);
  assert_int_equal(Scalar(1.0).to<Half>().bits, 0x3c00);
  assert_true((-Scalar(lowest)).to_int() == lowest && (-Scalar(2.5)).to_double() == -2.5 && (-Scalar(true)).to_int() == -1);
  assert_true(Scalar(3).equals(3.0) && !Scalar(nan).equals(nan) && Scalar(true).equals(1));
  assert_true(Scalar(1.0).natural_dtype(DType::Float16) == DType::Float16 && Scalar(1).natural_dtype(DType::Float16) == DType::Int64 &&
              Scalar(true).natural_dtype(DType::Float16) == DType::Bool);
  assert_string_equal(str_cat(Scalar(0.1), " ", Scalar(-7), " ", Scalar(true)).c_str(), "0.1 -7 true");
}

void key_sets(void**) {
  assert_int_equal(KeySet().highest(), kNoKey);
  assert_true(KeySet().empty());
  for (int a = 0; a < kNumKeys; ++a)
    for (int b = 0; b < kNumKeys; ++b) {
      const Key ka = static_cast<Key>(a), kb = static_cast<Key>(b);
      const KeySet both = KeySet(ka) | KeySet(kb);
      assert_int_equal(both.highest(), std::max(a, b));
      assert_true(both.has(ka) && both.has(kb));
      assert_true((both - KeySet(ka)) == (a == b ? KeySet() : KeySet(kb)));
      assert_true(both.below(ka) == (b < a ? KeySet(kb) : KeySet()));
      assert_true((both & KeySet(kb)) == KeySet(kb));
    }
  assert_true((kBackendKeys & kWrapperKeys).empty());
  assert_true(backend_key(DeviceType::Meta) == Key::Meta && device_type_of(Key::PrivateUse1) == DeviceType::PrivateUse1);
  const KeySet before = thread_state.exclude;
  {
    ExcludeKeysGuard outer(KeySet(Key::Trace));
    BelowAutogradGuard inner;
    assert_true(thread_state.exclude == (before | KeySet(Key::Trace) | KeySet(Key::Autograd)));
  }
  assert_true(thread_state.exclude == before);
}

void shapes(void**) {
  throws(Code::kInvalidArgument, "[2, -1]", [] { checked_numel({2, -1}, DType::Bool); });
  throws(Code::kInvalidArgument, "too many", [] { checked_numel({int64_t{1} << 40, int64_t{1} << 30}, DType::Bool); });
  throws(Code::kInvalidArgument, "too many", [] { checked_numel({int64_t{1} << 61}, DType::Float32); });
  throws(Code::kInvalidArgument, "too many", [] { checked_numel({0, int64_t{1} << 40, int64_t{1} << 30}, DType::Bool); });
  assert_true(checked_numel({}, DType::Float32) == 1 && checked_numel({3, 0, 2}, DType::Float32) == 0);
  assert_true(contiguous_strides({2, 0, 3}) == DimVector({3, 3, 1}));
  assert_true(strides_are_contiguous({2, 1, 3}, {3, 77, 1}) && !strides_are_contiguous({2, 3}, {1, 2}) && strides_are_contiguous({0, 5}, {9, 9}));
  assert_int_equal(wrap_dim(-1, 3, "op"), 2);
  assert_int_equal(wrap_dim(-1, 0, "op"), 0);
  throws(Code::kOutOfRange, "op", [] { wrap_dim(3, 3, "op"); });
}

// verify() accepts whatever fits its storage, through many dimensions and changes of them, and nothing else.
void tensor_metadata(void**) {
  std::mt19937 random(3);
  for (int run = 0; run < 2000; ++run) {
    DimVector sizes, strides;
    const size_t n = random() % 9;
    int64_t last = random() % 5;
    const int64_t offset = last;
    bool empty = false;
    for (size_t i = 0; i < n; ++i) {
      sizes.push_back(random() % 8 == 0 ? 0 : 1 + random() % 3);
      strides.push_back(random() % 6);
      empty |= sizes.back() == 0;
      last += std::max<int64_t>(sizes.back() - 1, 0) * strides.back();
    }
    const DType dtype = random() % 2 ? DType::Float64 : DType::Int16;
    const auto make = [&](int64_t elements) {
      auto storage = StorageImpl::allocate(static_cast<size_t>(elements) * element_size(dtype), kCPU);
      return Tensor::adopt(TensorImpl::create(storage, dtype, sizes, strides, offset));
    };
    const Tensor t = make(last + 1);
    t.impl()->verify();
    assert_true(t.sizes() == IntArrayRef(sizes) && t.strides() == IntArrayRef(strides));
    check_in_storage(sizes, strides, offset, last + 1, "op");
    const Tensor short_one = make(last);
    if (!empty) {
      throws(Code::kInternal, "storage", [&] { short_one.impl()->verify(); });
      throws(Code::kOutOfRange, "op", [&] { check_in_storage(sizes, strides, offset, last, "op"); });
    }
    // Another number of dimensions, on the heap or back.
    DimVector other(random() % 9, 1);
    t.impl()->set_storage(StorageImpl::allocate(16, kCPU), DType::Float32, other, contiguous_strides(other), 0);
    t.impl()->verify();
    assert_true(t.impl()->is_contiguous() && t.numel() == 1 && t.dtype() == DType::Float32);
  }
  const DimVector many(TensorImpl::kMaxDims + 1, 1);
  throws(Code::kInvalidArgument, "64", [&] { empty_tensor(many, DType::Bool); });
  throws(Code::kInvalidArgument, "64", [&] { empty_strided_tensor(many, many, DType::Bool); });
  throws(Code::kUnavailable, "cuda", [] { empty_tensor({2}, DType::Float32, Device(DeviceType::CUDA, 1)); });
  const Tensor meta = empty_tensor({int64_t{1} << 30, int64_t{1} << 30}, DType::Float16, kMeta);
  meta.impl()->verify();
  assert_null(meta.data());
  assert_string_equal(describe(meta).c_str(), "float16[1073741824, 1073741824]@meta");
}

void philox_known_answers(void**) {  // of the authors' library Random123
  const auto is = [](PhiloxBlock got, PhiloxBlock want) { return got == want; };
  assert_true(is(philox4x32(PhiloxBlock{0, 0, 0, 0}, {0, 0}), {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t ones = 0xffffffff;
  assert_true(is(philox4x32(PhiloxBlock{ones, ones, ones, ones}, {ones, ones}), {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  assert_true(is(philox4x32(PhiloxBlock{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
                 {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

void generators(void**) {
  GeneratorImpl g(9);
  assert_true(g.reserve(5).offset == 0 && g.reserve(1).offset == 5 && g.state().offset == 6 && g.state().seed == 9);
  g.set_state({4, 100});
  assert_true(g.reserve(2).offset == 100 && g.state().seed == 4);
  g.set_seed(4);
  assert_true(g.state().offset == 0);
  // Threads get parts that do not meet.
  std::vector<std::vector<uint64_t>> parts(4);
  std::vector<std::thread> threads;
  for (auto& part : parts)
    threads.emplace_back([&g, &part] {
      for (int i = 0; i < 2000; ++i) part.push_back(g.reserve(3).offset);
    });
  for (auto& t : threads) t.join();
  std::vector<bool> seen(8000);
  for (const auto& part : parts)
    for (const uint64_t at : part) {
      assert_true(at % 3 == 0 && at / 3 < seen.size() && !seen[at / 3]);
      seen[at / 3] = true;
    }
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(small_vector_is_a_vector), cmocka_unit_test(counted_pointers), cmocka_unit_test(weak_references),
      cmocka_unit_test(sixteen_bit_floats),       cmocka_unit_test(scalars),          cmocka_unit_test(key_sets),
      cmocka_unit_test(shapes),                   cmocka_unit_test(tensor_metadata),  cmocka_unit_test(philox_known_answers),
      cmocka_unit_test(generators),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
