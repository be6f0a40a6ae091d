// Fourier transforms: the kernels' side, and the functions that are made of them.
#include <algorithm>
#include <complex>

#include "core/modes.h"
#include "gen/all_ops.h"
#include "gen/fft_native.h"
#include "iter/copy.h"
#include "kernels/cpu/fft.h"

namespace trt {

namespace {

size_t at(int64_t d) { return static_cast<size_t>(d); }

void check_dims(const Tensor& self, IntArrayRef dim, const char* op) {
  for (int64_t d : dim) TRT_CHECK(self.size(d) > 0, op, ": dimension ", d, " has no elements, got ", self);
}

DimVector with_size(const Tensor& self, int64_t d, int64_t n) {
  DimVector sizes(self.sizes().data(), self.sizes().size());
  sizes[at(wrap_dim(d, self.dim(), "fft"))] = n;
  return sizes;
}

// [outer, n, inner] along dimension d.
cpu::FftLines lines_along(IntArrayRef sizes, int64_t d) {
  cpu::FftLines lines{1, 1};
  for (size_t i = 0; i < sizes.size(); ++i) (i < at(d) ? lines.outer : lines.inner) *= i == at(d) ? 1 : sizes[i];
  return lines;
}

template <typename T>
T factor(int normalization, double elements) {
  return static_cast<T>(normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(elements) : 1 / elements);
}

template <typename F>
void dispatch_parts(DType complex_dtype, F&& f) {
  if (complex_dtype == DType::Complex64) f.template operator()<float>();
  else f.template operator()<double>();
}

// The transform over the first `count` dimensions of a list, in place.
template <typename T>
void transform(Tensor& t, IntArrayRef dim, size_t count, bool forward) {
  auto* p = t.data_ptr<std::complex<T>>();
  for (size_t i = 0; i < count; ++i) {
    const int64_t d = wrap_dim(dim[i], t.dim(), "fft");
    cpu::fft_complex<T>(lines_along(t.sizes(), d), t.size(d), p, p, forward, T(1));
  }
}

double elements_of(const Tensor& t, IntArrayRef dim) {
  double n = 1;
  for (int64_t d : dim) n *= static_cast<double>(t.size(d));
  return n;
}

}  // namespace

namespace meta {

TensorSpec fft_complex(const Tensor& self, IntArrayRef dim, int64_t, bool) {
  TRT_CHECK(is_complex(self.dtype()), "fft: a complex tensor is needed, got ", self);
  check_dims(self, dim, "fft");
  return {self.sizes(), self.dtype(), self.device()};
}

TensorSpec fft_from_real(const Tensor& self, IntArrayRef dim, int64_t, bool, bool both_sides) {
  TRT_CHECK(self.dtype() == DType::Float32 || self.dtype() == DType::Float64, "fft: a float32 or float64 tensor is needed, got ", self);
  check_dims(self, dim, "fft");
  const int64_t last = dim[dim.size() - 1], n = self.size(last);
  return {with_size(self, last, both_sides ? n : n / 2 + 1), complex_dtype(self.dtype()), self.device()};
}

TensorSpec fft_to_real(const Tensor& self, IntArrayRef dim, int64_t, int64_t last_size, bool) {
  TRT_CHECK(is_complex(self.dtype()), "fft: a complex tensor is needed, got ", self);
  check_dims(self, dim, "fft");
  const int64_t last = dim[dim.size() - 1];
  TRT_CHECK(last_size > 0 && self.size(last) == last_size / 2 + 1, "fft: ", self, " does not fit a result of size ", last_size, " in dimension ", last);
  return {with_size(self, last, last_size), real_dtype(self.dtype()), self.device()};
}

}  // namespace meta

namespace native {

void fft_complex(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward, Tensor& out) {
  if (out.numel() == 0) return;
  if (dim.empty()) return copy_tensor(out, self);
  const Tensor x = contiguous_tensor(self);
  dispatch_parts(x.dtype(), [&]<typename T>() {
    const int64_t last = wrap_dim(dim[dim.size() - 1], x.dim(), "fft");
    cpu::fft_complex<T>(lines_along(x.sizes(), last), x.size(last), x.data_ptr<std::complex<T>>(), out.data_ptr<std::complex<T>>(), forward,
                        factor<T>(static_cast<int>(normalization), elements_of(x, dim)));
    transform<T>(out, dim, dim.size() - 1, forward);
  });
}

void fft_from_real(const Tensor& self, IntArrayRef dim, int64_t normalization, bool forward, bool both_sides, Tensor& out) {
  if (out.numel() == 0) return;
  const Tensor x = contiguous_tensor(self);
  dispatch_parts(out.dtype(), [&]<typename T>() {
    const int64_t last = wrap_dim(dim[dim.size() - 1], x.dim(), "fft");
    cpu::fft_from_real<T>(lines_along(x.sizes(), last), x.size(last), x.data_ptr<T>(), out.data_ptr<std::complex<T>>(), forward, both_sides,
                          factor<T>(static_cast<int>(normalization), elements_of(x, dim)));
    transform<T>(out, dim, dim.size() - 1, forward);
  });
}

void fft_to_real(const Tensor& self, IntArrayRef dim, int64_t normalization, int64_t, bool forward, Tensor& out) {
  if (out.numel() == 0) return;
  Tensor x = contiguous_tensor(self);
  if (dim.size() > 1 && x.is_same(self)) {
    x = empty_tensor(self.sizes(), self.dtype());
    copy_tensor(x, self);
  }
  dispatch_parts(x.dtype(), [&]<typename T>() {
    transform<T>(x, dim, dim.size() - 1, forward);
    const int64_t last = wrap_dim(dim[dim.size() - 1], x.dim(), "fft");
    cpu::fft_to_real<T>(lines_along(x.sizes(), last), out.size(last), x.data_ptr<std::complex<T>>(), out.data_ptr<T>(), forward,
                        factor<T>(static_cast<int>(normalization), elements_of(out, dim)));
  });
}

}  // namespace native

namespace composite {

namespace {

constexpr int64_t kNone = 0, kRoot = 1, kNumber = 2;

int64_t normalization_of(const std::optional<std::string_view>& norm, bool forward, const char* op) {
  if (!norm || *norm == "backward") return forward ? kNone : kNumber;
  if (*norm == "ortho") return kRoot;
  TRT_CHECK(*norm == "forward", op, ": norm must be 'backward', 'ortho' or 'forward', got '", *norm, "'");
  return forward ? kNumber : kNone;
}

// In the dtype of the transform: integers in the default dtype.
Tensor prepared(const Tensor& self, const char* op) {
  const DType dtype = is_integral(self.dtype(), true) ? thread_state.default_dtype : self.dtype();
  TRT_CHECK_CODE(!is_reduced_floating(dtype), Code::kNotSupported, op, ": needs float32, float64, complex or integer tensors, got ", self);
  return op::to(self, dtype);
}
Tensor as_complex(const Tensor& x) { return is_complex(x.dtype()) ? x : op::to(x, complex_dtype(x.dtype())); }

void check_real(const Tensor& self, const char* op) { TRT_CHECK(!is_complex(self.dtype()), op, ": needs a real tensor, got ", self); }

// Cut or filled with zeros to `sizes` along `dims`.
Tensor resized(const Tensor& x, IntArrayRef dims, IntArrayRef sizes) {
  Tensor out = x;
  DimVector pad(at(2 * x.dim()), 0);
  bool grows = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    const int64_t d = dims[i], n = x.size(d);
    if (sizes[i] < n) out = op::narrow(out, d, 0, sizes[i]);
    if (sizes[i] <= n) continue;
    pad[at(2 * (x.dim() - 1 - d) + 1)] = sizes[i] - n;
    grows = true;
  }
  return grows ? op::constant_pad_nd(out, pad, Scalar(0)) : out;
}

struct Dims {
  DimVector dims, sizes;
};

// The dimensions of a transform and their sizes. The last size of a result that is twice the input's is `doubled`.
Dims dims_of(const Tensor& self, const std::optional<IntArrayRef>& s, const std::optional<IntArrayRef>& dim, bool doubled, const char* op) {
  Dims out;
  if (dim) {
    for (int64_t d : *dim) {
      const int64_t w = wrap_dim(d, self.dim(), op);
      TRT_CHECK(std::find(out.dims.begin(), out.dims.end(), w) == out.dims.end(), op, ": dimension ", d, " stands twice in dim ", *dim);
      out.dims.push_back(w);
    }
    TRT_CHECK(!s || s->size() == dim->size(), op, ": dim ", *dim, " and s ", *s, " must have the same length");
  } else {
    const int64_t count = s ? static_cast<int64_t>(s->size()) : self.dim();
    TRT_CHECK(count <= self.dim(), op, ": s has ", count, " sizes, but the tensor is ", self);
    for (int64_t d = self.dim() - count; d < self.dim(); ++d) out.dims.push_back(d);
  }
  for (size_t i = 0; i < out.dims.size(); ++i) {
    const int64_t n = self.size(out.dims[i]);
    const bool given = s && (*s)[i] != -1;
    const int64_t size = given ? (*s)[i] : doubled && i + 1 == out.dims.size() ? 2 * (n - 1) : n;
    TRT_CHECK(size >= 1 && size < int64_t{1} << 40, op, ": the transform of dimension ", out.dims[i], " has ", size, " elements, at least 1 is needed, got ", self);
    out.sizes.push_back(size);
  }
  return out;
}
Dims one_dim(const Tensor& self, const std::optional<int64_t>& n, int64_t dim, bool doubled, const char* op) {
  const int64_t d = wrap_dim(dim, self.dim(), op);
  TRT_CHECK(self.dim() > 0, op, ": needs at least one dimension, got ", self);
  TRT_CHECK(!n || *n >= 1, op, ": n must be at least 1, got ", *n);
  if (!n) return dims_of(self, std::nullopt, IntArrayRef(&d, 1), doubled, op);
  return dims_of(self, IntArrayRef(&*n, 1), IntArrayRef(&d, 1), doubled, op);
}

Tensor any_transform(const Tensor& self, const Dims& to, const std::optional<std::string_view>& norm, bool forward, const char* op) {
  const Tensor x = resized(prepared(self, op), to.dims, to.sizes);
  const int64_t normalization = normalization_of(norm, forward, op);
  if (is_complex(x.dtype()) || to.dims.size() != 1) return op::fft_complex(as_complex(x), to.dims, normalization, forward);
  return op::fft_from_real(x, to.dims, normalization, forward, true);
}

// The first half of the spectrum of a real tensor.
Tensor half_transform(const Tensor& self, const Dims& to, const std::optional<std::string_view>& norm, bool forward, const char* op) {
  check_real(self, op);
  TRT_CHECK(!to.dims.empty(), op, ": needs at least one dimension, got ", self);
  return op::fft_from_real(resized(prepared(self, op), to.dims, to.sizes), to.dims, normalization_of(norm, forward, op), forward, false);
}

Tensor real_transform(const Tensor& self, const Dims& to, const std::optional<std::string_view>& norm, bool forward, const char* op) {
  TRT_CHECK(!to.dims.empty(), op, ": needs at least one dimension, got ", self);
  DimVector sizes = to.sizes;
  const int64_t last = sizes.back();
  sizes.back() = last / 2 + 1;
  return op::fft_to_real(resized(as_complex(prepared(self, op)), to.dims, sizes), to.dims, normalization_of(norm, forward, op), last, forward);
}

Tensor shifted(const Tensor& self, const std::optional<IntArrayRef>& dim, bool back) {
  DimVector dims, by;
  if (dim) dims = DimVector(dim->data(), dim->size());
  else
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  for (int64_t d : dims) by.push_back(back ? (self.size(d) + 1) / 2 : self.size(d) / 2);
  return dims.empty() ? op::clone(self) : op::roll(self, by, dims);
}

// The window of stft and istft in the middle of n_fft elements; undefined when all are 1.
Tensor full_window(const Tensor& window, int64_t win_length, int64_t n_fft, const Tensor& like, const char* op) {
  TRT_CHECK(win_length > 0 && win_length <= n_fft, op, ": win_length must be from 1 to n_fft (", n_fft, "), got ", win_length);
  TRT_CHECK(!window.defined() || (window.dim() == 1 && window.size(0) == win_length), op, ": the window must be a vector of win_length (", win_length,
            ") elements, got ", window);
  if (win_length == n_fft) return window;
  const int64_t left = (n_fft - win_length) / 2;
  const Tensor w = window.defined() ? window : op::ones({win_length}, real_dtype(like.dtype()), like.device());
  return op::constant_pad_nd(w, {left, n_fft - win_length - left}, Scalar(0));
}

}  // namespace

using Size = std::optional<int64_t>;
using Sizes = std::optional<IntArrayRef>;
using Norm = std::optional<std::string_view>;

Tensor fft_fft(const Tensor& self, Size n, int64_t dim, Norm norm) { return any_transform(self, one_dim(self, n, dim, false, "fft_fft"), norm, true, "fft_fft"); }
Tensor fft_ifft(const Tensor& self, Size n, int64_t dim, Norm norm) { return any_transform(self, one_dim(self, n, dim, false, "fft_ifft"), norm, false, "fft_ifft"); }
Tensor fft_rfft(const Tensor& self, Size n, int64_t dim, Norm norm) { return half_transform(self, one_dim(self, n, dim, false, "fft_rfft"), norm, true, "fft_rfft"); }
Tensor fft_irfft(const Tensor& self, Size n, int64_t dim, Norm norm) { return real_transform(self, one_dim(self, n, dim, true, "fft_irfft"), norm, false, "fft_irfft"); }
Tensor fft_hfft(const Tensor& self, Size n, int64_t dim, Norm norm) { return real_transform(self, one_dim(self, n, dim, true, "fft_hfft"), norm, true, "fft_hfft"); }
Tensor fft_ihfft(const Tensor& self, Size n, int64_t dim, Norm norm) { return half_transform(self, one_dim(self, n, dim, false, "fft_ihfft"), norm, false, "fft_ihfft"); }

Tensor fft_fftn(const Tensor& self, Sizes s, Sizes dim, Norm norm) { return any_transform(self, dims_of(self, s, dim, false, "fft_fftn"), norm, true, "fft_fftn"); }
Tensor fft_ifftn(const Tensor& self, Sizes s, Sizes dim, Norm norm) { return any_transform(self, dims_of(self, s, dim, false, "fft_ifftn"), norm, false, "fft_ifftn"); }
Tensor fft_rfftn(const Tensor& self, Sizes s, Sizes dim, Norm norm) { return half_transform(self, dims_of(self, s, dim, false, "fft_rfftn"), norm, true, "fft_rfftn"); }
Tensor fft_irfftn(const Tensor& self, Sizes s, Sizes dim, Norm norm) { return real_transform(self, dims_of(self, s, dim, true, "fft_irfftn"), norm, false, "fft_irfftn"); }
Tensor fft_hfftn(const Tensor& self, Sizes s, Sizes dim, Norm norm) { return real_transform(self, dims_of(self, s, dim, true, "fft_hfftn"), norm, true, "fft_hfftn"); }
Tensor fft_ihfftn(const Tensor& self, Sizes s, Sizes dim, Norm norm) { return half_transform(self, dims_of(self, s, dim, false, "fft_ihfftn"), norm, false, "fft_ihfftn"); }

Tensor fft_fftfreq(int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  TRT_CHECK(n >= 0, "fft_fftfreq: n must not be negative, got ", n);
  const DType type = dtype.value_or(thread_state.default_dtype);
  const Tensor k = op::arange(Scalar(0), Scalar(n), Scalar(1), DType::Float64, device);
  const Tensor turned = op::where(op::gt(k, Scalar(static_cast<double>((n - 1) / 2))), op::sub(k, Scalar(static_cast<double>(n))), k);
  return op::to(op::mul(turned, Scalar(1.0 / (static_cast<double>(n) * d))), type);
}
Tensor fft_rfftfreq(int64_t n, double d, std::optional<DType> dtype, std::optional<Device> device) {
  TRT_CHECK(n >= 0, "fft_rfftfreq: n must not be negative, got ", n);
  const Tensor k = op::arange(Scalar(0), Scalar(n / 2 + 1), Scalar(1), DType::Float64, device);
  return op::to(op::mul(k, Scalar(1.0 / (static_cast<double>(n) * d))), dtype.value_or(thread_state.default_dtype));
}
Tensor fft_fftshift(const Tensor& self, Sizes dim) { return shifted(self, dim, false); }
Tensor fft_ifftshift(const Tensor& self, Sizes dim) { return shifted(self, dim, true); }

Tensor stft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const Tensor& window, bool center, std::string_view pad_mode,
            bool normalized, std::optional<bool> onesided, std::optional<bool> return_complex) {
  TRT_CHECK(is_differentiable(self.dtype()) && !is_reduced_floating(self.dtype()) && (self.dim() == 1 || self.dim() == 2),
            "stft: needs a vector or matrix of float32, float64 or complex numbers, got ", self);
  const int64_t hop = hop_length.value_or(n_fft / 4), half = n_fft / 2;
  TRT_CHECK(hop > 0, "stft: hop_length must be positive, got ", hop);
  const Tensor w = full_window(window, win_length.value_or(n_fft), n_fft, self, "stft");
  Tensor x = self.dim() == 1 ? op::unsqueeze(self, 0) : self;
  if (center) x = op::squeeze(op::pad(op::unsqueeze(x, 0), {half, half}, pad_mode, std::nullopt), 0);
  TRT_CHECK(n_fft > 0 && n_fft <= x.size(1), "stft: n_fft must be from 1 to the length of the signal (", x.size(1), "), got ", n_fft);
  Tensor frames = op::unfold(x, 1, n_fft, hop);
  if (w.defined()) frames = op::mul(frames, w);
  const bool complex = is_complex(frames.dtype()), half_only = onesided.value_or(!complex);
  TRT_CHECK(!complex || !half_only, "stft: onesided is for real signals and windows, got ", self);
  const int64_t last = 2, norm = normalized ? kRoot : kNone;
  Tensor out = complex ? op::fft_complex(frames, IntArrayRef(&last, 1), norm, true) : op::fft_from_real(frames, IntArrayRef(&last, 1), norm, true, !half_only);
  out = op::transpose(out, 1, 2);
  if (self.dim() == 1) out = op::squeeze(out, 0);
  return return_complex.value_or(complex) ? out : op::view_as_real(op::contiguous(out));
}

Tensor istft(const Tensor& self, int64_t n_fft, std::optional<int64_t> hop_length, std::optional<int64_t> win_length, const Tensor& window, bool center, bool normalized,
             std::optional<bool> onesided, std::optional<int64_t> length, bool return_complex) {
  Tensor x = self;
  if (!is_complex(x.dtype())) {
    TRT_CHECK((x.dtype() == DType::Float32 || x.dtype() == DType::Float64) && x.dim() >= 1 && x.size(-1) == 2,
              "istft: needs a complex tensor, or one with a last dimension of real and imaginary parts, got ", self);
    x = op::view_as_complex(op::contiguous(x));
  }
  TRT_CHECK((x.dim() == 2 || x.dim() == 3) && x.numel() > 0, "istft: needs [frequencies, windows] or [batch, frequencies, windows], got ", self);
  const bool batched = x.dim() == 3;
  if (!batched) x = op::unsqueeze(x, 0);
  const int64_t frequencies = x.size(1), frames = x.size(2), win = win_length.value_or(n_fft), hop = hop_length.value_or(n_fft / 4), half = n_fft / 2;
  const bool half_only = onesided.value_or(frequencies != n_fft);
  TRT_CHECK(n_fft > 0 && frequencies == (half_only ? half + 1 : n_fft), "istft: n_fft ", n_fft, half_only ? " (onesided)" : "", " does not fit ", frequencies, " frequencies, got ", self);
  TRT_CHECK(hop > 0 && hop <= win, "istft: hop_length must be from 1 to win_length (", win, "), got ", hop);
  TRT_CHECK(!length || *length >= 0, "istft: length must not be negative, got ", *length);
  Tensor w = full_window(window, win, n_fft, x, "istft");
  if (!w.defined()) w = op::ones({n_fft}, real_dtype(x.dtype()), x.device());
  TRT_CHECK(return_complex || !is_complex(w.dtype()), "istft: a complex window needs return_complex, got ", w);
  TRT_CHECK(!return_complex || !half_only, "istft: onesided has no complex result");
  x = op::transpose(x, 1, 2);
  const int64_t last = 2, norm = normalized ? kRoot : kNumber;
  Tensor y = return_complex ? op::fft_complex(x, IntArrayRef(&last, 1), norm, false)
                            : op::fft_to_real(half_only ? x : op::narrow(x, 2, 0, half + 1), IntArrayRef(&last, 1), norm, n_fft, false);
  const Tensor places = op::reshape(op::add(op::unsqueeze(op::mul(op::arange(Scalar(0), Scalar(frames), Scalar(1), DType::Int64, x.device()), Scalar(hop)), 1),
                                            op::arange(Scalar(0), Scalar(n_fft), Scalar(1), DType::Int64, x.device())),
                                    {-1});
  // The windows [batch, frames, n_fft] added up where they overlap.
  auto overlapped = [&](const Tensor& t) {
    const int64_t total = n_fft + hop * (frames - 1);
    if (!is_complex(t.dtype())) return op::index_add(op::zeros({t.size(0), total}, t.dtype(), t.device()), 1, places, op::reshape(t, {t.size(0), -1}), Scalar(1));
    const Tensor parts = op::reshape(op::view_as_real(op::contiguous(t)), {t.size(0), -1, 2});
    return op::view_as_complex(op::index_add(op::zeros({t.size(0), total, 2}, parts.dtype(), t.device()), 1, places, parts, Scalar(1)));
  };
  y = overlapped(op::mul(y, w));
  Tensor envelope = overlapped(op::expand(op::reshape(op::mul(w, w), {1, 1, n_fft}), {1, frames, n_fft}));
  const int64_t total = y.size(1);
  const int64_t from = center ? half : 0, to = length ? from + *length : center ? total - half : total, end = std::min(to, total);
  TRT_CHECK(end >= from, "istft: nothing is left between ", from, " and ", to, " of ", total, " elements, got ", self);
  y = op::narrow(y, 1, from, end - from);
  envelope = op::narrow(envelope, 1, from, end - from);
  if (!envelope.is_meta() && envelope.numel() > 0) {
    const GradModeGuard no_graph(false);
    const Tensor least = op::to(op::amin(op::abs(envelope), {}, false), DType::Float64);
    TRT_CHECK(*least.data_ptr<double>() > 1e-11, "istft: there are elements that no window covers, among ", from, " to ", end);
  }
  y = op::div(y, envelope);
  if (to > end) y = op::constant_pad_nd(y, {0, to - end}, Scalar(0));
  return batched ? y : op::squeeze(y, 0);
}

}  // namespace composite

}  // namespace trt
