// Random fills. Each takes one part of the generator's stream; element i of the result depends on the stream's position
// and i only, also for strided tensors (elements are counted in row-major order).
#include <cmath>
#include <limits>
#include <numbers>

#include "core/generator.h"
#include "core/modes.h"
#include "gen/pointwise_ops.h"
#include "gen/random_native.h"
#include "gen/random_ops.h"
#include "gen/shape_ops.h"
#include "iter/copy.h"
#include "iter/promotion.h"
#include "iter/tensor_iterator.h"
#include "kernels/cpu/distributions.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/sort.h"

namespace trt {

namespace {

// The 128-bit counters that a fill of n elements takes (Note [Random element layout] in kernels/cpu/random.h).
uint64_t counters32(int64_t n) { return static_cast<uint64_t>((n + 63) / 64) * 16; }
uint64_t counters64(int64_t n) { return static_cast<uint64_t>((n + 31) / 32) * 16; }

GeneratorImpl::State take_stream(GeneratorImpl* generator, uint64_t counters) {
  return (generator ? *generator : default_generator()).reserve(counters);
}

void check_floating(const Tensor& t, const char* op) {
  TRT_CHECK(is_floating(t.dtype()), op, ": needs a floating-point tensor, got ", t);
}

// Lets make(target) fill a contiguous tensor of dtype `compute` and brings it into self.
template <typename F>
Tensor& fill_through(Tensor& self, DType compute, const char* op, F&& make) {
  check_no_internal_overlap(self, op);
  if (!self.is_meta() && self.numel() > 0) {
    Tensor target = self.is_contiguous() && self.dtype() == compute ? self : empty_tensor(self.sizes(), compute);
    make(target);
    if (!target.is_same(self)) copy_tensor(self, target);
  }
  self.impl()->storage()->bump_version();
  return self;
}

DType float_compute(DType t) { return t == DType::Float64 ? DType::Float64 : DType::Float32; }
uint64_t float_counters(DType compute, int64_t n) { return compute == DType::Float64 ? counters64(n) : counters32(n); }

// Uniform integers in [low, low + count), count == 0 standing for 2^64.
void fill_integers(Tensor& t, int64_t low, uint64_t count, GeneratorImpl* generator) {
  const auto s = take_stream(generator, counters64(t.numel()));
  int64_t* p = t.data_ptr<int64_t>();
  if (count != 0 && count <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) &&
      low <= std::numeric_limits<int64_t>::max() - static_cast<int64_t>(count)) {
    cpu::fill_randint(p, t.numel(), low, low + static_cast<int64_t>(count), s.seed, s.offset);
    return;
  }
  // Spans that have no exclusive upper bound in int64.
  cpu::fill_bits64(reinterpret_cast<uint64_t*>(p), t.numel(), s.seed, s.offset);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const uint64_t w = static_cast<uint64_t>(p[i]);
    const uint64_t r = count == 0 ? w : static_cast<uint64_t>((static_cast<unsigned __int128>(w) * count) >> 64);
    p[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + r);
  }
}

// The largest integer up to which a dtype holds every one.
int64_t last_integer(DType t) {
  switch (t) {
    case DType::Bool:
      return 1;
    case DType::UInt8:
      return 255;
    case DType::Int8:
      return 127;
    case DType::Int16:
      return 32767;
    case DType::Int32:
      return std::numeric_limits<int32_t>::max();
    case DType::Float16:
      return int64_t{1} << 11;
    case DType::BFloat16:
      return int64_t{1} << 8;
    case DType::Float32:
      return int64_t{1} << 24;
    case DType::Float64:
      return int64_t{1} << 53;
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

Tensor& random_range(Tensor& self, int64_t low, int64_t last, GeneratorImpl* generator) {
  TRT_CHECK(low <= last, "random_: the range from ", low, " to ", last, " is empty");
  return fill_through(self, DType::Int64, "random_", [&](Tensor& t) {
    fill_integers(t, low, static_cast<uint64_t>(last) - static_cast<uint64_t>(low) + 1, generator);
  });
}

// t becomes f(u) of numbers u uniform in [0, 1); t is contiguous and float64.
template <typename F>
void map_uniform(Tensor& t, GeneratorImpl* generator, F&& f) {
  const auto s = take_stream(generator, counters64(t.numel()));
  double* p = t.data_ptr<double>();
  cpu::fill_uniform(p, t.numel(), 0.0, 1.0, s.seed, s.offset);
  parallel_for(0, t.numel(), 4096, [&](int64_t b, int64_t e) {
    for (int64_t i = b; i < e; ++i) p[i] = f(p[i]);
  });
}

void check_probability(double p, const char* op) {
  TRT_CHECK(p >= 0 && p <= 1, op, ": a probability must lie in [0, 1], got ", p);
}

}  // namespace

namespace native {

Tensor& uniform_(Tensor& self, double from, double to, GeneratorImpl* generator) {
  check_floating(self, "uniform_");
  TRT_CHECK(from <= to && std::isfinite(to - from), "uniform_: the range from ", from, " to ", to,
            " is empty or not finite");
  const DType compute = float_compute(self.dtype());
  return fill_through(self, compute, "uniform_", [&](Tensor& t) {
    const auto s = take_stream(generator, float_counters(compute, t.numel()));
    dispatch_float(compute, "uniform_", [&]<typename T>() {
      T* p = t.data_ptr<T>();
      cpu::fill_uniform(p, t.numel(), from, to, s.seed, s.offset);
      if (!is_reduced_floating(self.dtype())) return;
      // Rounding to 16 bits may reach the upper bound: those few become the lower bound.
      dispatch_floating(self.dtype(), "uniform_", [&]<typename H>() {
        for (int64_t i = 0; i < t.numel(); ++i)
          if (static_cast<double>(static_cast<float>(H(static_cast<float>(p[i])))) >= to) p[i] = static_cast<T>(from);
      });
    });
  });
}

Tensor& normal_(Tensor& self, double mean, double std, GeneratorImpl* generator) {
  check_floating(self, "normal_");
  TRT_CHECK(std >= 0, "normal_: the standard deviation must not be negative, got ", std);
  const DType compute = float_compute(self.dtype());
  return fill_through(self, compute, "normal_", [&](Tensor& t) {
    const auto s = take_stream(generator, float_counters(compute, t.numel()));
    dispatch_float(compute, "normal_",
                   [&]<typename T>() { cpu::fill_normal(t.data_ptr<T>(), t.numel(), mean, std, s.seed, s.offset); });
  });
}

Tensor& exponential_(Tensor& self, double lambd, GeneratorImpl* generator) {
  check_floating(self, "exponential_");
  TRT_CHECK(lambd > 0, "exponential_: the rate must be positive, got ", lambd);
  return fill_through(self, DType::Float64, "exponential_",
                      [&](Tensor& t) { map_uniform(t, generator, [&](double u) { return -std::log1p(-u) / lambd; }); });
}

Tensor& cauchy_(Tensor& self, double median, double sigma, GeneratorImpl* generator) {
  check_floating(self, "cauchy_");
  TRT_CHECK(sigma > 0, "cauchy_: sigma must be positive, got ", sigma);
  return fill_through(self, DType::Float64, "cauchy_", [&](Tensor& t) {
    map_uniform(t, generator, [&](double u) { return median + sigma * std::tan(std::numbers::pi * (u - 0.5)); });
  });
}

Tensor& log_normal_(Tensor& self, double mean, double std, GeneratorImpl* generator) {
  check_floating(self, "log_normal_");
  TRT_CHECK(std > 0, "log_normal_: std must be positive, got ", std);
  return fill_through(self, DType::Float64, "log_normal_", [&](Tensor& t) {
    const auto s = take_stream(generator, counters64(t.numel()));
    double* p = t.data_ptr<double>();
    cpu::fill_normal(p, t.numel(), mean, std, s.seed, s.offset);
    parallel_for(0, t.numel(), 4096, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) p[i] = std::exp(p[i]);
    });
  });
}

Tensor& geometric_(Tensor& self, double p, GeneratorImpl* generator) {
  TRT_CHECK(p > 0 && p < 1, "geometric_: p must lie in (0, 1), got ", p);
  TRT_CHECK_CODE(!is_complex(self.dtype()), Code::kNotSupported, "geometric_: not supported for ", self);
  const double scale = 1 / std::log1p(-p);
  return fill_through(self, DType::Float64, "geometric_", [&](Tensor& t) {
    map_uniform(t, generator, [&](double u) { return std::max(1.0, std::ceil(std::log1p(-u) * scale)); });
  });
}

Tensor poisson(const Tensor& self, GeneratorImpl* generator) {
  check_floating(self, "poisson");
  Tensor out = empty_like_tensor(self);
  if (self.is_meta() || self.numel() == 0) return out;
  Tensor rate = empty_tensor(self.sizes(), DType::Float64);
  copy_tensor(rate, self);
  const double* r = rate.data_ptr<double>();
  for (int64_t i = 0; i < self.numel(); ++i) TRT_CHECK(r[i] >= 0, "poisson: rates must not be negative, got ", r[i]);
  return fill_through(out, DType::Float64, "poisson", [&](Tensor& t) {
    const auto s = take_stream(generator, cpu::kDrawCounters);
    cpu::fill_poisson(r, t.data_ptr<double>(), t.numel(), s.seed, s.offset);
  });
}

Tensor binomial(const Tensor& count, const Tensor& prob, GeneratorImpl* generator) {
  check_floating(count, "binomial");
  check_floating(prob, "binomial");
  TRT_CHECK(count.dtype() == prob.dtype(), "binomial: count and prob must have one dtype, got ", count, " and ", prob);
  const DimVector shape = broadcast_shapes(count.sizes(), prob.sizes(), "binomial");
  Tensor out = empty_tensor(shape, count.dtype(), count.device());
  if (out.is_meta() || out.numel() == 0) return out;
  Tensor trials = empty_tensor(shape, DType::Float64), p = empty_tensor(shape, DType::Float64);
  copy_tensor(trials, count);
  copy_tensor(p, prob);
  return fill_through(out, DType::Float64, "binomial", [&](Tensor& t) {
    const auto s = take_stream(generator, cpu::kDrawCounters);
    cpu::fill_binomial(trials.data_ptr<double>(), p.data_ptr<double>(), t.data_ptr<double>(), t.numel(), s.seed, s.offset);
  });
}

Tensor& bernoulli__float(Tensor& self, double p, GeneratorImpl* generator) {
  check_probability(p, "bernoulli_");
  return fill_through(self, DType::Bool, "bernoulli_", [&](Tensor& t) {
    const auto s = take_stream(generator, counters32(t.numel()));
    cpu::fill_bernoulli(t.data_ptr<uint8_t>(), t.numel(), p, s.seed, s.offset);
  });
}

Tensor& bernoulli__Tensor(Tensor& self, const Tensor& p, GeneratorImpl* generator) {
  check_floating(p, "bernoulli_");
  TRT_CHECK(
      broadcast_shapes(self.sizes(), p.sizes(), "bernoulli_") == DimVector(self.sizes().data(), self.sizes().size()),
      "bernoulli_: probabilities ", p, " do not broadcast to ", self);
  if (self.is_meta()) return fill_through(self, DType::Bool, "bernoulli_", [](Tensor&) {});
  Tensor probabilities = empty_tensor(self.sizes(), DType::Float64);
  copy_tensor(probabilities, p);
  const double* q = probabilities.data_ptr<double>();
  for (int64_t i = 0; i < self.numel(); ++i) check_probability(q[i], "bernoulli_");
  return fill_through(self, DType::Bool, "bernoulli_", [&](Tensor& t) {
    const auto s = take_stream(generator, counters64(t.numel()));
    Tensor u = empty_tensor(t.sizes(), DType::Float64);
    double* draws = u.data_ptr<double>();
    cpu::fill_uniform(draws, t.numel(), 0.0, 1.0, s.seed, s.offset);
    uint8_t* o = t.data_ptr<uint8_t>();
    for (int64_t i = 0; i < t.numel(); ++i) o[i] = draws[i] < q[i];
  });
}

Tensor bernoulli(const Tensor& self, GeneratorImpl* generator) {
  check_floating(self, "bernoulli");
  Tensor out = empty_like_tensor(self);
  bernoulli__Tensor(out, self, generator);
  return out;
}

Tensor& random_(Tensor& self, GeneratorImpl* generator) {
  return random_range(self, 0, last_integer(self.dtype()), generator);
}

Tensor& random__from(Tensor& self, int64_t from, std::optional<int64_t> to, GeneratorImpl* generator) {
  TRT_CHECK(!to || from < *to, "random_: the range from ", from, " to ", to.value_or(0), " is empty");
  return random_range(self, from, to ? *to - 1 : last_integer(self.dtype()), generator);
}

// Complex numbers whose parts are drawn, each times `scale`.
static Tensor complex_of(Tensor (*draw)(IntArrayRef, GeneratorImpl*, std::optional<DType>, std::optional<Device>), double scale, IntArrayRef size,
                         GeneratorImpl* generator, DType dtype, std::optional<Device> device) {
  DimVector parts(size.data(), size.size());
  parts.push_back(2);
  Tensor t = draw(parts, generator, real_dtype(dtype), device);
  if (scale != 1) op::mul_(t, Scalar(scale));
  return op::view_as_complex(t);
}

Tensor rand(IntArrayRef size, GeneratorImpl* generator, std::optional<DType> dtype, std::optional<Device> device) {
  if (dtype && is_complex(*dtype)) return complex_of(native::rand, 1, size, generator, *dtype, device);
  Tensor t = empty_tensor(size, dtype.value_or(thread_state.default_dtype), device.value_or(kCPU));
  return op::uniform_(t, 0, 1, generator);
}

Tensor randn(IntArrayRef size, GeneratorImpl* generator, std::optional<DType> dtype, std::optional<Device> device) {
  // The variance is 1 for the number as a whole.
  if (dtype && is_complex(*dtype)) return complex_of(native::randn, std::sqrt(0.5), size, generator, *dtype, device);
  Tensor t = empty_tensor(size, dtype.value_or(thread_state.default_dtype), device.value_or(kCPU));
  return op::normal_(t, 0, 1, generator);
}

Tensor normal_float_float(double mean, double std, IntArrayRef size, GeneratorImpl* generator,
                          std::optional<DType> dtype, std::optional<Device> device) {
  Tensor t = empty_tensor(size, dtype.value_or(thread_state.default_dtype), device.value_or(kCPU));
  return op::normal_(t, mean, std, generator);
}

Tensor randint_low(int64_t low, int64_t high, IntArrayRef size, GeneratorImpl* generator, std::optional<DType> dtype,
                   std::optional<Device> device) {
  TRT_CHECK(low < high, "randint: the range from ", low, " to ", high, " is empty");
  Tensor t = empty_tensor(size, dtype.value_or(DType::Int64), device.value_or(kCPU));
  return op::random_(t, low, high, generator);
}
Tensor randint(int64_t high, IntArrayRef size, GeneratorImpl* generator, std::optional<DType> dtype,
               std::optional<Device> device) {
  return randint_low(0, high, size, generator, dtype, device);
}

Tensor randperm(int64_t n, GeneratorImpl* generator, std::optional<DType> dtype, std::optional<Device> device) {
  TRT_CHECK(n >= 0, "randperm: n must not be negative, got ", n);
  const DType type = dtype.value_or(DType::Int64);
  TRT_CHECK(n - 1 <= last_integer(type), "randperm: ", n, " numbers do not fit dtype ", type);
  TRT_CHECK_CODE(!device || device->is_cpu() || device->is_meta(), Code::kNotSupported, "randperm: not supported on ",
                 device.value_or(kCPU));
  Tensor t = empty_tensor({n}, type, device.value_or(kCPU));
  if (t.is_meta()) return t;
  fill_through(t, DType::Int64, "randperm", [&](Tensor& target) {
    const auto s = take_stream(generator, counters64(n));
    cpu::fill_randperm(target.data_ptr<int64_t>(), n, s.seed, s.offset);
  });
  return t;
}

void multinomial(const Tensor& self, int64_t num_samples, bool replacement, GeneratorImpl* generator, Tensor& out) {
  const Tensor weights = contiguous_tensor(self, DType::Float64);
  const int64_t n = self.size(-1), rows = n ? self.numel() / n : 0;
  const double* w = weights.data_ptr<double>();
  std::vector<double> totals(static_cast<size_t>(rows));
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    int64_t positive = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double v = w[r * n + i];
      TRT_CHECK(v >= 0 && std::isfinite(v), "multinomial: weights must be finite and not negative, got ", v);
      sum += v;
      positive += v > 0;
    }
    TRT_CHECK(sum > 0, "multinomial: the weights of row ", r, " add up to ", sum);
    TRT_CHECK(replacement || positive >= num_samples, "multinomial: row ", r, " has ", positive,
              " weights above zero, too few for ", num_samples, " draws without replacement");
    totals[static_cast<size_t>(r)] = sum;
  }
  int64_t* o = out.data_ptr<int64_t>();
  const int64_t draws = replacement ? out.numel() : self.numel();
  if (out.numel() == 0) return;
  const auto s = take_stream(generator, counters64(draws));
  std::vector<double> u(static_cast<size_t>(draws));
  cpu::fill_uniform(u.data(), draws, 0.0, 1.0, s.seed, s.offset);
  if (replacement) {
    std::vector<double> cumulative(static_cast<size_t>(n));
    for (int64_t r = 0; r < rows; ++r) {
      double sum = 0;
      int64_t last = 0;
      for (int64_t i = 0; i < n; ++i) {
        sum += w[r * n + i];
        cumulative[static_cast<size_t>(i)] = sum;
        if (w[r * n + i] > 0) last = i;
      }
      for (int64_t k = 0; k < num_samples; ++k) {
        const double x = u[static_cast<size_t>(r * num_samples + k)] * sum;
        const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), x) - cumulative.begin();
        o[r * num_samples + k] = std::min<int64_t>(at, last);
      }
    }
    return;
  }
  // The race of exponential clocks: the smallest -log(1 - u) / weight come first, in the right distribution.
  for (int64_t i = 0; i < draws; ++i) {
    const double weight = w[i];
    u[static_cast<size_t>(i)] = weight > 0 ? -std::log1p(-u[static_cast<size_t>(i)]) / weight : HUGE_VAL;
  }
  cpu::topk_rows<double>(u.data(), nullptr, o, rows, n, num_samples, false);
}

}  // namespace native

namespace meta {

Tensor& uniform_(Tensor& self, double from, double to, GeneratorImpl* g) { return native::uniform_(self, from, to, g); }
Tensor& normal_(Tensor& self, double mean, double std, GeneratorImpl* g) { return native::normal_(self, mean, std, g); }
Tensor& exponential_(Tensor& self, double lambd, GeneratorImpl* g) { return native::exponential_(self, lambd, g); }
Tensor& cauchy_(Tensor& self, double median, double sigma, GeneratorImpl* g) {
  return native::cauchy_(self, median, sigma, g);
}
Tensor& log_normal_(Tensor& self, double mean, double std, GeneratorImpl* g) {
  return native::log_normal_(self, mean, std, g);
}
Tensor& geometric_(Tensor& self, double p, GeneratorImpl* g) { return native::geometric_(self, p, g); }
Tensor poisson(const Tensor& self, GeneratorImpl* g) { return native::poisson(self, g); }
Tensor binomial(const Tensor& count, const Tensor& prob, GeneratorImpl* g) { return native::binomial(count, prob, g); }
Tensor& bernoulli__float(Tensor& self, double p, GeneratorImpl* g) { return native::bernoulli__float(self, p, g); }
Tensor& bernoulli__Tensor(Tensor& self, const Tensor& p, GeneratorImpl* g) {
  return native::bernoulli__Tensor(self, p, g);
}
Tensor bernoulli(const Tensor& self, GeneratorImpl* g) { return native::bernoulli(self, g); }
Tensor& random_(Tensor& self, GeneratorImpl* g) { return native::random_(self, g); }
Tensor& random__from(Tensor& self, int64_t from, std::optional<int64_t> to, GeneratorImpl* g) {
  return native::random__from(self, from, to, g);
}

TensorSpec multinomial(const Tensor& self, int64_t num_samples, bool replacement, GeneratorImpl*) {
  TRT_CHECK(self.dim() == 1 || self.dim() == 2, "multinomial: needs a vector or a matrix of weights, got ", self);
  check_floating(self, "multinomial");
  TRT_CHECK(num_samples > 0, "multinomial: num_samples must be positive, got ", num_samples);
  const int64_t n = self.size(-1);
  TRT_CHECK(n > 0, "multinomial: there are no weights in ", self);
  TRT_CHECK(replacement || num_samples <= n, "multinomial: ", num_samples, " draws without replacement from ", n,
            " weights");
  if (self.dim() == 1) return {{num_samples}, DType::Int64, self.device()};
  return {{self.sizes()[0], num_samples}, DType::Int64, self.device()};
}

}  // namespace meta

}  // namespace trt
