// Batch normalization of [n, c, s]. Two layouts: where s is long, each (image, channel) is a row whose channel gives
// scalar coefficients; where s is short, [n, c * s] is a matrix whose columns have their coefficients in vectors, and
// the s columns of a channel are merged afterwards. Sums are taken over fixed pieces and merged in index order.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/parallel.h"
#include "kernels/cpu/hwy_targets.h"
#include "kernels/cpu/norm.h"
#include "kernels/cpu/reduce_kernels.h"
#include "kernels/cpu/tables.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm_batch.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/cpu/simd_inl.h"

#ifndef TRT_KERNELS_CPU_NORM_BATCH_ONCE
#define TRT_KERNELS_CPU_NORM_BATCH_ONCE
namespace trt::cpu {
// y = (x - mean) * scale + shift, or, in the gradient, gx = (gy - shift) * scale - (x - mean) * slope.
template <typename T>
struct BatchNormCoefficients {
  const T *mean, *scale, *shift, *slope;
};

// Rows [begin, end) of n elements each. rows_*: coefficient `row % c` for a row; cols_*: coefficient j for column j.
template <typename T>
struct BatchNormTable {
  using Forward = void (*)(const T* x, T* y, int64_t begin, int64_t end, int64_t n, int64_t c,
                           BatchNormCoefficients<T> k, bool stream);
  using Backward = void (*)(const T* gy, const T* x, T* gx, int64_t begin, int64_t end, int64_t n, int64_t c,
                            BatchNormCoefficients<T> k, bool stream);
  Forward rows_forward, cols_forward;
  Backward rows_backward, cols_backward;
};
}  // namespace trt::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace trt::cpu {
namespace HWY_NAMESPACE {

// Calls f(offset, coefficient, load, store) for each vector; coefficient(p) gives the vector that belongs to it.
template <bool kCols, class D, class F>
HWY_INLINE void for_normalized(D d, int64_t begin, int64_t end, int64_t n, int64_t c, bool stream, const F& f) {
  using T = hn::TFromD<D>;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t base = row * n, channel = kCols ? 0 : row % c;
    const auto body = [&](int64_t j, auto load, auto store) HWY_ATTR {
      const auto coefficient = [&](const T* p) HWY_ATTR {
        if constexpr (kCols) {
          return load(p + j);
        } else {
          return hn::Set(d, p[channel]);
        }
      };
      f(base + j, coefficient, load, store);
    };
    if (stream) {
      for_streamed_vectors(d, n, body);
    } else {
      for_vectors(d, n, body);
    }
  }
}

template <bool kCols, typename T>
void bn_forward(const T* x, T* y, int64_t begin, int64_t end, int64_t n, int64_t c, BatchNormCoefficients<T> k,
                bool stream) {
  const hn::ScalableTag<T> d;
  for_normalized<kCols>(d, begin, end, n, c, stream, [&](int64_t i, auto at, auto load, auto store) HWY_ATTR {
    store(hn::MulAdd(hn::Sub(load(x + i), at(k.mean)), at(k.scale), at(k.shift)), y + i);
  });
}

template <bool kCols, typename T>
void bn_backward(const T* gy, const T* x, T* gx, int64_t begin, int64_t end, int64_t n, int64_t c,
                 BatchNormCoefficients<T> k, bool stream) {
  const hn::ScalableTag<T> d;
  for_normalized<kCols>(d, begin, end, n, c, stream, [&](int64_t i, auto at, auto load, auto store) HWY_ATTR {
    const auto g = hn::Mul(hn::Sub(load(gy + i), at(k.shift)), at(k.scale));
    store(hn::NegMulAdd(hn::Sub(load(x + i), at(k.mean)), at(k.slope), g), gx + i);
  });
}

template <typename T>
constexpr BatchNormTable<T> kBatchNorm = {bn_forward<false, T>, bn_forward<true, T>, bn_backward<false, T>, bn_backward<true, T>};
constexpr Tables<BatchNormTable, float, double> kBatchNorms = {kBatchNorm<float>, kBatchNorm<double>};
const Tables<BatchNormTable, float, double>* batch_norm_tables() { return &kBatchNorms; }

}  // namespace HWY_NAMESPACE
}  // namespace trt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace trt::cpu {

HWY_EXPORT(batch_norm_tables);

namespace {

template <typename T>
const BatchNormTable<T>& table() {
  return *HWY_DYNAMIC_DISPATCH(batch_norm_tables)();
}

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t grain_for(int64_t cost) { return std::max<int64_t>(1, kReduceGrain / 2 / std::max<int64_t>(1, cost)); }

// How [n, c, s] is cut for the sums. As rows: `images` images by `length` elements of one channel. As columns: `images`
// images by a tile of columns, whose sums are merged over the s columns of each channel.
struct Plan {
  Plan(int64_t n, int64_t c, int64_t s) : n(n), c(c), s(s), cols(s < 16) {
    if (cols) {
      images = std::max<int64_t>(kStatRows, kReduceChunk / (c * s));
      tiles = ceil_div(c * s, kReduceTile);
    } else {
      length = std::min(s, kStatChunk);
      images = std::clamp<int64_t>(kStatChunk / s, 1, 64);
      tiles = ceil_div(s, length);
    }
    images = std::min(images, n);
    pieces = ceil_div(n, images);
  }
  int64_t n, c, s;
  bool cols;
  int64_t images = 0, length = 0, tiles = 0, pieces = 0;

  int64_t images_of(int64_t piece) const { return std::min(images, n - piece * images); }
};

// Per channel: the moments of x, or the pair (sum gy, sum gy * (x - center)), whose partial results simply add.
// rows(x offset, images, length) gives one partial result; cols(x offset, images, width, first column, out) those of a
// tile of columns.
template <typename R, typename Rows, typename Cols>
std::vector<R> sum_channels(const Plan& p, const Rows& rows, const Cols& cols) {
  const int64_t width = p.cols ? p.c * p.s : p.c;
  std::vector<R> partial(static_cast<size_t>(p.pieces * width * (p.cols ? 1 : p.tiles)));
  if (p.cols) {
    parallel_for(0, p.pieces * p.tiles, grain_for(p.images * std::min(width, kReduceTile)), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const int64_t piece = i / p.tiles, column = i % p.tiles * kReduceTile;
        cols(piece * p.images * width + column, p.images_of(piece), std::min(kReduceTile, width - column), column,
             &partial[static_cast<size_t>(piece * width + column)]);
      }
    });
  } else {
    parallel_for(0, p.pieces * p.c * p.tiles, grain_for(p.images * p.length), [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i) {
        const int64_t tile = i % p.tiles, channel = i / p.tiles % p.c, piece = i / p.tiles / p.c;
        const int64_t begin = tile * p.length;
        partial[static_cast<size_t>(i)] = rows((piece * p.images * p.c + channel) * p.s + begin, p.images_of(piece),
                                               std::min(p.length, p.s - begin), channel);
      }
    });
  }
  // Both layouts of `partial` are [pieces, c, parts].
  const int64_t parts = p.cols ? p.s : p.tiles;
  std::vector<R> out(static_cast<size_t>(p.c));
  for (int64_t channel = 0; channel < p.c; ++channel) {
    for (int64_t piece = 0; piece < p.pieces; ++piece) {
      for (int64_t k = 0; k < parts; ++k) {
        out[static_cast<size_t>(channel)].merge(partial[static_cast<size_t>((piece * p.c + channel) * parts + k)]);
      }
    }
  }
  return out;
}

template <typename T>
std::vector<Moments> channel_moments(const T* x, const Plan& p) {
  return sum_channels<Moments>(
      p,
      [&](int64_t at, int64_t images, int64_t length, int64_t) {
        return row_moments(x + at, images, p.c * p.s, length);
      },
      [&](int64_t at, int64_t images, int64_t width, int64_t, Moments* out) {
        double mean[kReduceTile], m2[kReduceTile];
        col_moments(x + at, images, p.c * p.s, width, mean, m2);
        for (int64_t j = 0; j < width; ++j) out[j] = {static_cast<double>(images), mean[j], m2[j]};
      });
}

struct DotSums {
  double s1 = 0, s2 = 0;
  void merge(const DotSums& b) { s1 += b.s1, s2 += b.s2; }
};

// center: one value per channel (rows) or per column (columns).
template <typename T>
std::vector<DotSums> channel_dots(const T* gy, const T* x, const T* center, const Plan& p) {
  const StatKernels<T>& k = stat_kernels<T>();
  const int64_t stride = p.c * p.s;
  return sum_channels<DotSums>(
      p,
      [&](int64_t at, int64_t images, int64_t length, int64_t channel) {
        T s1, s2;
        k.dot_rows(x + at, gy + at, images, stride, length, center[channel], &s1, &s2);
        return DotSums{s1, s2};
      },
      [&](int64_t at, int64_t images, int64_t width, int64_t column, DotSums* out) {
        T s1[kReduceTile], s2[kReduceTile];
        for (int64_t i = 0; i < images; i += kStatRows) {
          const int64_t from = at + i * stride;
          k.dot_cols(x + from, gy + from, std::min(kStatRows, images - i), stride, width, center + column, s1, s2);
          for (int64_t j = 0; j < width; ++j) out[j].merge({s1[j], s2[j]});
        }
      });
}

// Coefficients of every channel, for the columns layout repeated s times, and the element-wise pass.
template <typename T>
class Coefficients {
 public:
  explicit Coefficients(const Plan& p)
      : p_(p), width_(p.cols ? p.c * p.s : p.c), data_(static_cast<size_t>(4 * width_)) {}

  void set(int64_t channel, T mean, T scale, T shift, T slope) {
    const int64_t repeat = p_.cols ? p_.s : 1;
    const T value[4] = {mean, scale, shift, slope};
    for (int64_t k = 0; k < 4; ++k) std::fill_n(data_.data() + k * width_ + channel * repeat, repeat, value[k]);
  }
  const T* means() const { return data_.data(); }

  void forward(const T* x, T* y) const {
    const auto f = p_.cols ? table<T>().cols_forward : table<T>().rows_forward;
    each_range(y, x, x, [&](int64_t b, int64_t e, int64_t n, bool stream) { f(x, y, b, e, n, p_.c, view(), stream); });
  }
  void backward(const T* gy, const T* x, T* gx) const {
    const auto f = p_.cols ? table<T>().cols_backward : table<T>().rows_backward;
    each_range(gx, gy, x,
               [&](int64_t b, int64_t e, int64_t n, bool stream) { f(gy, x, gx, b, e, n, p_.c, view(), stream); });
  }

 private:
  BatchNormCoefficients<T> view() const {
    const T* d = data_.data();
    return {d, d + width_, d + 2 * width_, d + 3 * width_};
  }
  template <typename F>
  void each_range(const T* out, const T* in1, const T* in2, const F& f) const {
    const int64_t rows = p_.cols ? p_.n : p_.n * p_.c, n = p_.cols ? width_ : p_.s;
    const bool stream = should_stream(out, in1, in2, rows, n * static_cast<int64_t>(sizeof(T)));
    parallel_for(0, rows, grain_for(n), [&](int64_t b, int64_t e) {
      f(b, e, n, stream);
      if (stream) hwy::FlushStream();
    });
  }

  const Plan& p_;
  int64_t width_;
  std::vector<T> data_;
};

template <typename T>
T or_value(const T* p, int64_t i, T value) {
  return p == nullptr ? value : p[i];
}

}  // namespace

template <typename T>
void batch_norm_forward_train(const T* x, const T* gamma, const T* beta, T* y, T* save_mean, T* save_invstd,
                              T* running_mean, T* running_var, double momentum, double eps, int64_t n, int64_t c,
                              int64_t s) {
  if (c == 0) return;
  if (n * s == 0) {
    std::fill_n(save_mean, c, T(0));
    std::fill_n(save_invstd, c, T(0));
    return;
  }
  const Plan p(n, c, s);
  const std::vector<Moments> moments = channel_moments(x, p);
  Coefficients<T> k(p);
  for (int64_t i = 0; i < c; ++i) {
    const Moments& m = moments[static_cast<size_t>(i)];
    const double invstd = 1 / std::sqrt(m.m2 / m.n + eps);
    save_mean[i] = static_cast<T>(m.mean);
    save_invstd[i] = static_cast<T>(invstd);
    if (running_mean) running_mean[i] = static_cast<T>((1 - momentum) * running_mean[i] + momentum * m.mean);
    if (running_var) running_var[i] = static_cast<T>((1 - momentum) * running_var[i] + momentum * (m.m2 / (m.n - 1)));
    k.set(i, save_mean[i], static_cast<T>(invstd * or_value(gamma, i, T(1))), or_value(beta, i, T(0)), T(0));
  }
  k.forward(x, y);
}

template <typename T>
void batch_norm_forward_eval(const T* x, const T* gamma, const T* beta, const T* running_mean, const T* running_var,
                             double eps, T* y, int64_t n, int64_t c, int64_t s) {
  if (n * c * s == 0) return;
  const Plan p(n, c, s);
  Coefficients<T> k(p);
  for (int64_t i = 0; i < c; ++i) {
    const double invstd = 1 / std::sqrt(static_cast<double>(running_var[i]) + eps);
    k.set(i, running_mean[i], static_cast<T>(invstd * or_value(gamma, i, T(1))), or_value(beta, i, T(0)), T(0));
  }
  k.forward(x, y);
}

template <typename T>
void batch_norm_backward(const T* gy, const T* x, const T* save_mean, const T* save_invstd, const T* gamma, T* gx,
                         T* ggamma, T* gbeta, bool train, int64_t n, int64_t c, int64_t s) {
  if (c == 0) return;
  if (n * s == 0) {
    if (ggamma != nullptr) std::fill_n(ggamma, c, T(0));
    if (gbeta != nullptr) std::fill_n(gbeta, c, T(0));
    return;
  }
  const Plan p(n, c, s);
  Coefficients<T> k(p);
  for (int64_t i = 0; i < c; ++i) k.set(i, save_mean[i], T(0), T(0), T(0));
  const bool sums = ggamma != nullptr || gbeta != nullptr || (train && gx != nullptr);
  std::vector<DotSums> dots(static_cast<size_t>(c));
  if (sums) dots = channel_dots(gy, x, k.means(), p);
  const double count = static_cast<double>(n) * static_cast<double>(s);
  for (int64_t i = 0; i < c; ++i) {
    const DotSums& d = dots[static_cast<size_t>(i)];
    const double invstd = save_invstd[i], scale = invstd * or_value(gamma, i, T(1));
    if (ggamma != nullptr) ggamma[i] = static_cast<T>(d.s2 * invstd);
    if (gbeta != nullptr) gbeta[i] = static_cast<T>(d.s1);
    if (train) {
      const double slope = scale * invstd * invstd * d.s2 / count;
      k.set(i, save_mean[i], static_cast<T>(scale), static_cast<T>(d.s1 / count), static_cast<T>(slope));
    } else {
      k.set(i, T(0), static_cast<T>(scale), T(0), T(0));
    }
  }
  if (gx == nullptr) return;
  if (train) {
    k.backward(gy, x, gx);
  } else {
    k.forward(gy, gx);
  }
}

#define TRT_BATCH_NORM(T)                                                                                              \
  template void batch_norm_forward_train<T>(const T*, const T*, const T*, T*, T*, T*, T*, T*, double, double, int64_t, \
                                            int64_t, int64_t);                                                         \
  template void batch_norm_forward_eval<T>(const T*, const T*, const T*, const T*, const T*, double, T*, int64_t,      \
                                           int64_t, int64_t);                                                          \
  template void batch_norm_backward<T>(const T*, const T*, const T*, const T*, const T*, T*, T*, T*, bool, int64_t,    \
                                       int64_t, int64_t);
TRT_BATCH_NORM(float)
TRT_BATCH_NORM(double)
#undef TRT_BATCH_NORM

}  // namespace trt::cpu
#endif  // HWY_ONCE
