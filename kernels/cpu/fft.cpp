#include "kernels/cpu/fft.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/fork.h"
#include "base/lazy.h"
#include "base/parallel.h"
#include "kernels/cpu/fft_kernels.h"
#include "kernels/cpu/scratch.h"

namespace trt::cpu {

namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;

// exp(-2 pi i k / n) for 0 <= k < n, from an angle of at most 45 degrees.
std::complex<double> root_of_unity(int64_t k, int64_t n) {
  const double eighth = static_cast<double>(n) / 8;
  if (k > n / 2) return std::conj(root_of_unity(n - k, n));
  auto turn = [n](double x) { return std::complex<double>(std::cos(kTwoPi * x / static_cast<double>(n)), -std::sin(kTwoPi * x / static_cast<double>(n))); };
  const double x = static_cast<double>(k), quarter = 2 * eighth;
  if (x <= eighth) return turn(x);
  if (x <= 3 * eighth) {
    const std::complex<double> v = turn(quarter - x);
    return {-v.imag(), -v.real()};
  }
  const std::complex<double> v = turn(2 * quarter - x);
  return {-v.real(), v.imag()};
}

// exp(-2 pi i k / n) as a product of two entries of short tables.
class Roots {
 public:
  explicit Roots(int64_t n) : n_(n) {
    while (step_ * step_ < n) ++step_;
    for (int64_t k = 0; k < std::min(step_, n); ++k) fine_.push_back(root_of_unity(k, n));
    for (int64_t k = 0; k < n; k += step_) coarse_.push_back(root_of_unity(k, n));
  }
  std::complex<double> operator()(int64_t k) const {
    const std::complex<double> a = coarse_[static_cast<size_t>(k / step_)], b = fine_[static_cast<size_t>(k % step_)];
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }
  int64_t size() const { return n_; }

 private:
  int64_t n_, step_ = 1;
  std::vector<std::complex<double>> coarse_, fine_;
};

template <typename T>
struct Numbers {
  std::vector<T> re, im;
  void push(std::complex<double> v) {
    re.push_back(static_cast<T>(v.real()));
    im.push_back(static_cast<T>(v.imag()));
  }
  size_t bytes() const { return 2 * re.size() * sizeof(T); }
  FftParts<const T> from(size_t at) const { return {re.data() + at, im.data() + at}; }
};

// How to transform lines of one length, forward.
template <typename T>
class Plan {
 public:
  explicit Plan(int64_t n) : n_(n) {
    int64_t rest = n;
    for (int r : {4, 2, 3, 5})
      for (; rest % r == 0 && rest > 1; rest /= r) radices_.push_back(r);
    for (int r = 7; r <= kMaxFftRadix; r += 2)
      for (; rest % r == 0; rest /= r) radices_.push_back(r);
    if (rest > 1) {
      radices_.clear();
      make_chirp();
      return;
    }
    const Roots root(n);
    int64_t left = n;
    for (int r : radices_) {
      const int64_t m = left / r, step = n / left;
      for (int k = 1; k < r; ++k)
        for (int64_t p = 0; p < m; ++p) twiddles_.push(root(p * k * step));
      left = m;
      if (r > 5)
        for (int j = 0; j < r; ++j) roots_.push(root_of_unity(j, r));
    }
  }

  // Numbers of scratch that a transform of `lines` lines needs, besides the lines.
  int64_t scratch(int64_t lines) const { return convolution_ ? 2 * convolution_->n_ * lines + convolution_->scratch(lines) : 2 * n_ * lines; }

  // Whether lines that lie one after the other are better transformed each for itself than side by side: then the first pass fills the vectors.
  bool alone() const { return convolution_ ? true : n_ >= 64 && n_ % 16 == 0; }

  size_t bytes() const { return sizeof *this + twiddles_.bytes() + roots_.bytes() + filter_.bytes() + (convolution_ ? convolution_->bytes() : 0); }

  // Transforms x, which is [n, lines] in parts. Gives the place of the result, which is x or in the scratch; the other one is overwritten.
  FftParts<T> run(FftParts<T> x, int64_t lines, T* scratch) const {
    if (convolution_) return run_chirp(x, lines, scratch);
    FftParts<T> a = x, b{scratch, scratch + n_ * lines};
    const FftKernels<T>& kernels = fft_kernels<T>();
    int64_t left = n_, s = lines;
    size_t twiddle = 0, root = 0;
    for (int r : radices_) {
      const int64_t m = left / r;
      kernels.pass(r, m, s, {a.re, a.im}, b, twiddles_.from(twiddle), roots_.from(root));
      twiddle += static_cast<size_t>((r - 1) * m);
      if (r > 5) root += static_cast<size_t>(r);
      left = m;
      s *= r;
      std::swap(a, b);
    }
    return a;
  }

 private:
  // Bluestein, "A linear filtering approach to the computation of discrete Fourier transform", IEEE Trans. Audio Electroacoustics 1970: with
  // jk = (j^2 + k^2 - (k - j)^2) / 2 the sum is a convolution with exp(pi i j^2 / n), of a length that has small factors.
  void make_chirp() {
    int64_t length = 1;
    while (length < 2 * n_ - 1) length *= 2;
    for (int64_t candidate : {length / 4 * 3, length / 8 * 5})
      if (candidate >= 2 * n_ - 1) length = candidate;
    convolution_ = std::make_unique<Plan>(length);
    const Roots root(2 * n_);
    std::vector<T> re(static_cast<size_t>(length)), im(static_cast<size_t>(length));
    int64_t square = 0;  // j^2 mod 2n
    for (int64_t j = 0; j < n_; ++j) {
      const std::complex<double> v = root(square);
      twiddles_.push(v);
      for (int64_t at : {j, j == 0 ? j : length - j}) {
        re[static_cast<size_t>(at)] = static_cast<T>(v.real() / static_cast<double>(length));
        im[static_cast<size_t>(at)] = static_cast<T>(-v.imag() / static_cast<double>(length));
      }
      square = (square + 2 * j + 1) % (2 * n_);
    }
    std::vector<T> scratch(static_cast<size_t>(convolution_->scratch(1)));
    const FftParts<T> y = convolution_->run({re.data(), im.data()}, 1, scratch.data());
    filter_ = {{y.re, y.re + length}, {y.im, y.im + length}};
  }

  FftParts<T> run_chirp(FftParts<T> x, int64_t lines, T* scratch) const {
    const int64_t length = convolution_->n_;
    FftParts<T> y{scratch, scratch + length * lines};
    // (ar + i ai) * (br + i bi), conjugated if `conjugate`.
    auto multiply = [lines](FftParts<T> from, FftParts<T> to, const Numbers<T>& by, int64_t count, bool conjugate) {
      const T sign = conjugate ? T(-1) : T(1);
      auto one = [&](int64_t q, T br, T bi) {
        const T ar = from.re[q], ai = from.im[q];
        to.re[q] = ar * br - ai * bi;
        to.im[q] = sign * (ar * bi + ai * br);
      };
      const T *br = by.re.data(), *bi = by.im.data();
      if (lines == 1) {
        for (int64_t k = 0; k < count; ++k) one(k, br[k], bi[k]);
        return;
      }
      for (int64_t k = 0; k < count; ++k)
        for (int64_t q = k * lines; q < (k + 1) * lines; ++q) one(q, br[k], bi[k]);
    };
    multiply(x, y, twiddles_, n_, false);
    std::fill_n(y.re + n_ * lines, (length - n_) * lines, T(0));
    std::fill_n(y.im + n_ * lines, (length - n_) * lines, T(0));
    T* rest = scratch + 2 * length * lines;
    FftParts<T> z = convolution_->run(y, lines, rest);
    multiply(z, z, filter_, length, true);  // the inverse transform is the conjugate of that of the conjugate
    z = convolution_->run(z, lines, z.re == y.re ? rest : y.re);
    for (int64_t q = 0; q < n_ * lines; ++q) z.im[q] = -z.im[q];
    multiply(z, x, twiddles_, n_, false);
    return x;
  }

  int64_t n_;
  std::vector<int> radices_;
  Numbers<T> twiddles_, roots_;  // Bluestein: the chirp
  std::unique_ptr<Plan> convolution_;
  Numbers<T> filter_;
};

// A plan, and for the transform of 2 * n real numbers the powers 0 to n of the 2n-th root of unity, which take the halves apart.
template <typename T>
struct Prepared {
  Prepared(int64_t n, bool halves) : plan(n) {
    if (!halves) return;
    const Roots root(2 * n);
    for (int64_t k = 0; k <= n; ++k) turns.push(root(k));
  }
  size_t bytes() const { return plan.bytes() + turns.bytes(); }

  Plan<T> plan;
  Numbers<T> turns;
};

// The plans that were used last. Those in use live on when they leave.
template <typename T>
class Plans {
 public:
  std::shared_ptr<const Prepared<T>> get(int64_t n, bool halves) {
    {
      const std::lock_guard lock(mutex_);
      const auto at = std::find_if(kept_.begin(), kept_.end(), [&](const Kept& k) { return k.n == n && k.halves == halves; });
      if (at != kept_.end()) {
        std::rotate(kept_.begin(), at, at + 1);
        return kept_.front().plan;
      }
    }
    // Made without the lock: another thread may make the same, and the one that is ready first stays.
    auto made = std::make_shared<const Prepared<T>>(n, halves);
    const size_t bytes = made->bytes();
    if (bytes > kMostBytes) return made;
    std::vector<Kept> dropped;  // freed after the lock
    const std::lock_guard lock(mutex_);
    for (const Kept& k : kept_)
      if (k.n == n && k.halves == halves) return k.plan;
    dropped.reserve(kept_.size());
    while (!kept_.empty() && (bytes_ + bytes > kMostBytes || kept_.size() >= kMostPlans)) {
      bytes_ -= kept_.back().plan->bytes();
      dropped.push_back(std::move(kept_.back()));
      kept_.pop_back();
    }
    kept_.insert(kept_.begin(), Kept{n, halves, made});
    bytes_ += bytes;
    return made;
  }

  // Around a fork(), so that the child finds the lock free and the plans whole.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  void clear() noexcept {
    std::vector<Kept> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(kept_);
    bytes_ = 0;
  }

 private:
  static constexpr size_t kMostBytes = size_t{32} << 20, kMostPlans = 64;
  struct Kept {
    int64_t n;
    bool halves;
    std::shared_ptr<const Prepared<T>> plan;
  };
  std::mutex mutex_;
  std::vector<Kept> kept_;  // the last one used first
  size_t bytes_ = 0;
};

template <typename T>
constinit Lazy<Plans<T>> g_plans;
template <typename T>
Plans<T>& plans();
template <typename T>
void lock_plans() {
  plans<T>().lock();
}
template <typename T>
void unlock_plans() {
  plans<T>().unlock();
}
template <typename T>
Plans<T>& plans() {
  return g_plans<T>.get([] {
    auto* p = new Plans<T>;
    at_fork<lock_plans<T>, unlock_plans<T>, unlock_plans<T>>();
    return p;
  });
}

// Cuts the lines into blocks and calls f(first, count, parts, scratch) for each, with room for `length` numbers a line in `parts`.
template <typename T, typename F>
void for_blocks(FftLines lines, int64_t length, const Plan<T>& plan, F&& f) {
  constexpr int64_t kBlockNumbers = 65536, kMostLines = 32;
  const bool alone = lines.inner == 1 && plan.alone();
  const int64_t total = lines.outer * lines.inner, block = alone ? 1 : std::clamp<int64_t>(kBlockNumbers / length / 4, 1, kMostLines);
  const int64_t blocks = (total + block - 1) / block;
  parallel_for(0, blocks, std::max<int64_t>(1, 32768 / (length * block)), [&](int64_t begin, int64_t end) {
    const Scratch memory(static_cast<size_t>(2 * length * block + plan.scratch(block)) * sizeof(T));
    T* p = memory.as<T>();
    for (int64_t b = begin; b < end; ++b) {
      const int64_t count = std::min(block, total - b * block);
      f(b * block, count, FftParts<T>{p, p + length * block}, p + 2 * length * block);
    }
  });
}

// Calls f(element in the array [outer, length, inner], position in the block [length, count]) for elements k < upto of all lines of a block, in the order
// in which the array lies in memory as far as possible.
template <typename F>
void for_elements(FftLines lines, int64_t length, int64_t upto, int64_t first, int64_t count, F&& f) {
  if (lines.inner == 1) {
    for (int64_t q = 0; q < count; ++q)
      for (int64_t k = 0; k < upto; ++k) f((first + q) * length + k, k, q);
    return;
  }
  for (int64_t q = 0; q < count;) {
    const int64_t outer = (first + q) / lines.inner, inner = (first + q) % lines.inner, run = std::min(count - q, lines.inner - inner);
    for (int64_t k = 0; k < upto; ++k)
      for (int64_t i = 0; i < run; ++i) f((outer * length + k) * lines.inner + inner + i, k, q + i);
    q += run;
  }
}

}  // namespace

// The inverse transform is the forward one with real and imaginary parts exchanged, before and after.

template <typename T>
void fft_complex(FftLines lines, int64_t n, const std::complex<T>* from, std::complex<T>* to, bool forward, T scale) {
  const auto prepared = plans<T>().get(n, false);
  const Plan<T>& plan = prepared->plan;
  const FftKernels<T>& kernels = fft_kernels<T>();
  auto side = [forward](FftParts<T> x) { return forward ? x : FftParts<T>{x.im, x.re}; };
  for_blocks<T>(lines, n, plan, [&](int64_t first, int64_t count, FftParts<T> x, T* scratch) {
    const bool line = count == 1 && lines.inner == 1;
    const FftParts<T> in = side(x);
    if (line) kernels.split(n, reinterpret_cast<const T*>(from + first * n), in.re, in.im);
    else
      for_elements(lines, n, n, first, count, [&](int64_t at, int64_t k, int64_t q) {
        in.re[k * count + q] = from[at].real();
        in.im[k * count + q] = from[at].imag();
      });
    const FftParts<T> y = side(plan.run(x, count, scratch));
    if (line) return kernels.join(n, y.re, y.im, scale, reinterpret_cast<T*>(to + first * n));
    for_elements(lines, n, n, first, count, [&](int64_t at, int64_t k, int64_t q) { to[at] = {scale * y.re[k * count + q], scale * y.im[k * count + q]}; });
  });
}

// Even lengths are half as many complex numbers, of which the even and the odd elements are the parts; the transforms of both are told apart by their symmetry.

template <typename T>
void fft_from_real(FftLines lines, int64_t n, const T* from, std::complex<T>* to, bool forward, bool both_sides, T scale) {
  const bool even = n % 2 == 0;
  const int64_t length = even ? n / 2 : n, half = n / 2 + 1, written = both_sides ? n : half;
  const auto prepared = plans<T>().get(length, even);
  const Plan<T>& plan = prepared->plan;
  const Numbers<T>& turns = prepared->turns;
  const FftKernels<T>& kernels = fft_kernels<T>();
  const T sign = forward ? scale : -scale;
  for_blocks<T>(lines, length, plan, [&](int64_t first, int64_t count, FftParts<T> x, T* scratch) {
    const bool line = even && count == 1 && lines.inner == 1;
    if (line) kernels.split(length, from + first * n, x.re, x.im);
    else
      for_elements(lines, n, n, first, count, [&](int64_t at, int64_t k, int64_t q) {
        if (even) {
          // Not through a choice of pointers: with sanitizers GCC 12 loses such stores.
          if (k % 2) x.im[k / 2 * count + q] = from[at];
          else x.re[k / 2 * count + q] = from[at];
        } else {
          x.re[k * count + q] = from[at];
          x.im[k * count + q] = 0;
        }
      });
    const FftParts<T> y = plan.run(x, count, scratch);
    if (line) {
      std::complex<T>* p = to + first * written;
      p[0] = {scale * (y.re[0] + y.im[0]), 0};
      kernels.take_apart(length, {y.re, y.im}, turns.from(0), scale, forward ? T(1) : T(-1), reinterpret_cast<T*>(p));
      p[length] = {scale * (y.re[0] - y.im[0]), 0};
      for (int64_t k = half; k < written; ++k) p[k] = std::conj(p[n - k]);
      return;
    }
    auto element = [&](int64_t k, int64_t q) -> std::complex<T> {
      if (!even) return {y.re[k * count + q], y.im[k * count + q]};
      const int64_t a = (k == length ? 0 : k) * count + q, b = (k == 0 ? 0 : length - k) * count + q;
      const T er = (y.re[a] + y.re[b]) / 2, ei = (y.im[a] - y.im[b]) / 2, dr = (y.im[a] + y.im[b]) / 2, di = (y.re[b] - y.re[a]) / 2;
      const T wr = turns.re[static_cast<size_t>(k)], wi = turns.im[static_cast<size_t>(k)];
      return {er + (dr * wr - di * wi), ei + (dr * wi + di * wr)};
    };
    for_elements(lines, written, written, first, count, [&](int64_t at, int64_t k, int64_t q) {
      const std::complex<T> v = element(k < half ? k : n - k, q);
      to[at] = {scale * v.real(), (k < half ? sign : -sign) * v.imag()};
    });
  });
}

template <typename T>
void fft_to_real(FftLines lines, int64_t n, const std::complex<T>* from, T* to, bool forward, T scale) {
  const bool even = n % 2 == 0;
  const int64_t length = even ? n / 2 : n, half = n / 2 + 1;
  const auto prepared = plans<T>().get(length, even);
  const Plan<T>& plan = prepared->plan;
  const Numbers<T>& turns = prepared->turns;
  const FftKernels<T>& kernels = fft_kernels<T>();
  const int64_t room = std::max(length, half);
  for_blocks<T>(lines, room, plan, [&](int64_t first, int64_t count, FftParts<T> x, T* scratch) {
    const bool line = even && count == 1 && lines.inner == 1;
    // Exchanged parts: the transform below is an inverse one.
    const FftParts<T> side{x.im, x.re};
    const T sign = forward ? T(-1) : T(1);
    if (line) {
      const std::complex<T>* p = from + first * half;
      side.re[0] = p[0].real() + p[length].real();
      side.im[0] = p[0].real() - p[length].real();
      kernels.put_together(length, reinterpret_cast<const T*>(p), sign, turns.from(0), side.re, side.im);
    } else {
      for_elements(lines, half, half, first, count, [&](int64_t at, int64_t k, int64_t q) {
        const bool own = k == 0 || 2 * k == n;
        side.re[k * count + q] = from[at].real();
        side.im[k * count + q] = own ? T(0) : sign * from[at].imag();
        if (!even && k > 0) {
          side.re[(n - k) * count + q] = from[at].real();
          side.im[(n - k) * count + q] = -sign * from[at].imag();
        }
      });
      if (even)
        for (int64_t k = 0; 2 * k <= length; ++k)
          for (int64_t q = 0; q < count; ++q) {
            const int64_t a = k * count + q, b = (length - k) * count + q;
            const T ar = side.re[a], ai = side.im[a], br = side.re[b], bi = side.im[b];
            // The sums of even elements of the result in e, those of odd ones in o; what is kept is e + i o, for k and for length - k.
            auto put = [&](int64_t to_element, T xr, T xi, T yr, T yi, int64_t j) {
              const T er = xr + yr, ei = xi - yi, dr = xr - yr, di = xi + yi;
              const T wr = turns.re[static_cast<size_t>(j)], wi = -turns.im[static_cast<size_t>(j)];
              side.re[to_element] = er - (dr * wi + di * wr);
              side.im[to_element] = ei + (dr * wr - di * wi);
            };
            put(a, ar, ai, br, bi, k);
            if (k > 0 && 2 * k != length) put(b, br, bi, ar, ai, length - k);
          }
    }
    const FftParts<T> turned = plan.run(x, count, scratch), y{turned.im, turned.re};
    if (line) return kernels.join(length, y.re, y.im, scale, to + first * n);
    for_elements(lines, n, n, first, count, [&](int64_t at, int64_t k, int64_t q) {
      if (!even) to[at] = scale * y.re[k * count + q];
      else if (k % 2) to[at] = scale * y.im[k / 2 * count + q];
      else to[at] = scale * y.re[k / 2 * count + q];
    });
  });
}

void fft_forget_plans() noexcept {
  try {
    plans<float>().clear();
    plans<double>().clear();
  } catch (const std::bad_alloc&) {
    // There are none yet, and no memory for the place where they would be.
  }
}

#define TRT_FFT(T)                                                                                                  \
  template void fft_complex(FftLines, int64_t, const std::complex<T>*, std::complex<T>*, bool, T);                  \
  template void fft_from_real(FftLines, int64_t, const T*, std::complex<T>*, bool, bool, T);                        \
  template void fft_to_real(FftLines, int64_t, const std::complex<T>*, T*, bool, T);
TRT_FFT(float)
TRT_FFT(double)
#undef TRT_FFT

}  // namespace trt::cpu
