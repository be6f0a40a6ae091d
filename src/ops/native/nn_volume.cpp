// Pooling in three dimensions. One description of windows serves fixed and adaptive ones: what an output covers along a
// dimension is a range of input positions, and a window is the product of three ranges.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "gen/all_ops.h"
#include "gen/nn_volume_native.h"
#include "iter/copy.h"
#include "ops/native/pool_util.h"
#include "ops/window.h"

namespace trt {

namespace {

struct Span {
  int64_t begin, end;  // the positions begin, begin + step, ... below end
  int64_t count;       // what they count for in an average
};

struct Axis {
  int64_t in, step;
  std::vector<Span> spans;
};

struct PoolArgs {
  IntArrayRef kernel;
  std::optional<IntArrayRef> stride;  // none or empty: the kernel's size
  IntArrayRef padding, dilation;
  bool ceil_mode;
};

using Window = Window3d;

// Only the batch may be empty, and with `no_channels` they may.
void check_input(IntArrayRef input, const char* op, bool no_channels = false) {
  TRT_CHECK(input.size() == 4 || input.size() == 5, op, ": input must have 4 or 5 dimensions, got shape ", input);
  for (size_t i = input.size() - (no_channels ? 3 : 4); i < input.size(); ++i)
    TRT_CHECK(input[i] > 0, op, ": dimension ", i, " must not be empty, got shape ", input);
  TRT_CHECK(input[0] >= 0, op, ": sizes must not be negative, got ", input);
}

Window window_of(IntArrayRef input, const PoolArgs& a, const char* op) {
  check_input(input, op);
  Window w;
  w.kernel = triple_of(a.kernel, op, "kernel_size");
  w.stride = a.stride && !a.stride->empty() ? triple_of(*a.stride, op, "stride") : w.kernel;
  w.padding = triple_of(a.padding, op, "padding");
  w.dilation = triple_of(a.dilation, op, "dilation");
  for (size_t i = 0; i < 3; ++i) {
    const int64_t k = w.kernel[i], s = w.stride[i], p = w.padding[i], d = w.dilation[i];
    TRT_CHECK(k > 0, op, ": kernel_size must be positive, got ", a.kernel);
    TRT_CHECK(s > 0, op, ": stride must be positive, got ", s);
    TRT_CHECK(d > 0, op, ": dilation must be positive, got ", a.dilation);
    TRT_CHECK(p >= 0 && p <= k / 2, op, ": padding must be between 0 and half the kernel, got padding ", a.padding,
              " for kernel_size ", a.kernel);
    w.out.at[i] = pooled_extent(input[input.size() - 3 + i], k, s, p, d, a.ceil_mode, op);
    TRT_CHECK(w.out[i] > 0, op, ": the output of input shape ", input, " would be empty");
  }
  return w;
}

DimVector with_volume(IntArrayRef input, const Triple& size) {
  DimVector out(input.data(), input.size());
  for (size_t i = 0; i < 3; ++i) out[out.size() - 3 + i] = size[i];
  return out;
}

Triple volume_of(IntArrayRef sizes) {
  const size_t n = sizes.size();
  return {{sizes[n - 3], sizes[n - 2], sizes[n - 1]}};
}

Triple adaptive_size(IntArrayRef output_size, const char* op) {
  const Triple t = triple_of(output_size, op, "output_size");
  TRT_CHECK(t[0] >= 0 && t[1] >= 0 && t[2] >= 0, op, ": output_size must not be negative, got ", output_size);
  return t;
}

void check_floating(DType t, const char* op) {
  TRT_CHECK_CODE(is_floating(t), Code::kNotSupported, op, ": not supported for dtype ", t);
}

void check_not_bool(DType t, const char* op) {
  TRT_CHECK_CODE(is_floating(t) || is_integral(t, false), Code::kNotSupported, op, ": not supported for dtype ", t);
}

void check_divisor(std::optional<int64_t> divisor, const char* op) {
  TRT_CHECK(!divisor || *divisor != 0, op, ": divisor_override must not be 0");
}

constexpr int64_t kOne = 1;
const IntArrayRef kNoDilation(&kOne, 1);

using Axes = std::array<Axis, 3>;

// Windows of a maximum: positions outside of the input are left out.
Axes max_axes(const Triple& in, const Window& w) {
  Axes axes;
  for (size_t i = 0; i < 3; ++i) {
    axes[i] = {in[i], w.dilation[i], {}};
    for (int64_t o = 0; o < w.out[i]; ++o) {
      const int64_t first = o * w.stride[i] - w.padding[i],
                    end = std::min(first + (w.kernel[i] - 1) * w.dilation[i] + 1, axes[i].in);
      const int64_t skipped = first < 0 ? (-first + w.dilation[i] - 1) / w.dilation[i] : 0;
      axes[i].spans.push_back({first + skipped * w.dilation[i], end, 0});
    }
  }
  return axes;
}

Axes average_axes(IntArrayRef input, const Window& w, bool count_include_pad) {
  Axes axes;
  for (size_t i = 0; i < 3; ++i) {
    axes[i] = {input[input.size() - 3 + i], 1, {}};
    for (int64_t o = 0; o < w.out[i]; ++o) {
      const int64_t first = o * w.stride[i] - w.padding[i],
                    last = std::min(first + w.kernel[i], axes[i].in + w.padding[i]),
                    begin = std::max<int64_t>(first, 0), end = std::min(last, axes[i].in);
      axes[i].spans.push_back({begin, end, count_include_pad ? last - first : std::max<int64_t>(0, end - begin)});
    }
  }
  return axes;
}

// Output o of m covers floor(o * n / m) .. ceil((o + 1) * n / m) - 1.
Axes adaptive_axes(IntArrayRef input, IntArrayRef output) {
  const Triple in = volume_of(input), out = volume_of(output);
  Axes axes;
  for (size_t i = 0; i < 3; ++i) {
    axes[i] = {in[i], 1, {}};
    for (int64_t o = 0; o < out[i]; ++o) {
      // In parts, so that no product overflows.
      const int64_t q = in[i] / out[i], r = in[i] % out[i];
      const int64_t begin = o * q + o * r / out[i], end = (o + 1) * q + ((o + 1) * r + out[i] - 1) / out[i];
      axes[i].spans.push_back({begin, end, end - begin});
    }
  }
  return axes;
}

int64_t outputs_of(const Axes& a) {
  return static_cast<int64_t>(a[0].spans.size() * a[1].spans.size() * a[2].spans.size());
}
int64_t inputs_of(const Axes& a) { return a[0].in * a[1].in * a[2].in; }

// f(output's place in its volume, spans of depth, row, column) for every window.
template <typename F>
void for_each_window(const Axes& a, F&& f) {
  int64_t at = 0;
  for (const Span& d : a[0].spans)
    for (const Span& h : a[1].spans)
      for (const Span& w : a[2].spans) f(at++, d, h, w);
}

// f(place in the input's volume) for every element of a window, row by row.
template <typename F>
void for_each_element(const Axes& a, const Span& d, const Span& h, const Span& w, F&& f) {
  for (int64_t i = d.begin; i < d.end; i += a[0].step)
    for (int64_t j = h.begin; j < h.end; j += a[1].step)
      for (int64_t k = w.begin; k < w.end; k += a[2].step) f((i * a[1].in + j) * a[2].in + k);
}

// f(volume) for all volumes, shared among threads; a volume belongs to one of them.
template <typename F>
void for_each_volume(int64_t volumes, const Axes& a, F&& f) {
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, inputs_of(a)));
  parallel_for(0, volumes, grain, [&](int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) f(v);
  });
}

int64_t divisor_of(const Span& d, const Span& h, const Span& w, int64_t divisor) {
  return divisor ? divisor : d.count * h.count * w.count;
}

template <typename T>
void average(const T* x, T* y, int64_t volumes, const Axes& a, int64_t divisor) {
  for_each_volume(volumes, a, [&](int64_t v) {
    const T* from = x + v * inputs_of(a);
    T* to = y + v * outputs_of(a);
    for_each_window(a, [&](int64_t o, const Span& d, const Span& h, const Span& w) {
      const int64_t n = divisor_of(d, h, w, divisor);
      if constexpr (std::is_integral_v<T>) {
        uint64_t sum = 0;  // wraps
        for_each_element(a, d, h, w, [&](int64_t i) { sum += static_cast<uint64_t>(from[i]); });
        // -1 apart, because the smallest integer divided by it would trap.
        to[o] = n == 0 ? 0 : n == -1 ? static_cast<T>(0 - sum) : static_cast<T>(sum) / n;
      } else {
        T sum = 0;
        for_each_element(a, d, h, w, [&](int64_t i) { sum += from[i]; });
        to[o] = n == 0 ? T(0) : sum / static_cast<T>(n);
      }
    });
  });
}

template <typename T>
void average_backward(const T* gy, T* gx, int64_t volumes, const Axes& a, int64_t divisor) {
  for_each_volume(volumes, a, [&](int64_t v) {
    const T* from = gy + v * outputs_of(a);
    T* to = gx + v * inputs_of(a);
    std::fill_n(to, inputs_of(a), T(0));
    for_each_window(a, [&](int64_t o, const Span& d, const Span& h, const Span& w) {
      const int64_t n = divisor_of(d, h, w, divisor);
      if (n == 0) return;
      const T g = from[o] / static_cast<T>(n);
      for_each_element(a, d, h, w, [&](int64_t i) { to[i] += g; });
    });
  });
}

// Of one volume. The first of equal maxima counts; NaN is greater than everything, and the last NaN gives the index. A window without
// elements (dilation can step over a small volume) gives `nothing` and -1. `indices` may be null.
template <typename T>
void maximum_of(const T* x, T* y, int64_t* indices, const Axes& a, T nothing) {
  for_each_window(a, [&](int64_t o, const Span& d, const Span& h, const Span& w) {
    T best = nothing;
    int64_t at = -1;
    for_each_element(a, d, h, w, [&](int64_t i) {
      if (at >= 0 && !(x[i] > best) && x[i] == x[i]) return;
      best = x[i];
      at = i;
    });
    y[o] = best;
    if (indices) indices[o] = at;
  });
}

template <typename T>
void maximum(const T* x, T* y, int64_t* indices, int64_t volumes, const Axes& a, T nothing = -std::numeric_limits<T>::infinity()) {
  const int64_t n = inputs_of(a), m = outputs_of(a);
  for_each_volume(volumes, a, [&](int64_t v) { maximum_of(x + v * n, y + v * m, indices ? indices + v * m : nullptr, a, nothing); });
}

// Where a fractional pooling's windows of `kernel` elements begin (Graham, "Fractional max-pooling", 2014): steps of the mean length, rounded
// down from a start that `sample` in [0, 1) shifts; the last window ends with the input. In T, the input's compute dtype, as PyTorch.
template <typename T>
Axis fractional_axis(int64_t in, int64_t out, int64_t kernel, T sample) {
  Axis axis{in, 1, {}};
  const T step = out > 1 ? static_cast<T>(in - kernel) / static_cast<T>(out - 1) : T(0);
  for (int64_t o = 0; o < out; ++o) {
    int64_t begin = in - kernel;
    // (Samples are not checked: limited, so that none leads out of the input.)
    if (o + 1 < out) {
      const T at = (static_cast<T>(o) + sample) * step, shift = sample * step;
      const T from = std::trunc(at) - std::trunc(shift);
      begin = from >= 0 ? std::min(begin, static_cast<int64_t>(std::min(from, static_cast<T>(begin)))) : 0;
    }
    axis.spans.push_back({begin, begin + kernel, kernel});
  }
  return axis;
}

// Runs f<T>(x, y, volumes) on `input` as contiguous data of the compute dtype, with the result going to `out`.
template <typename F>
void on_volumes(const Tensor& input, Tensor& out, const char* op, F&& f) {
  const DType dtype = compute_dtype(out.dtype());
  const Tensor x = contiguous_tensor(input, dtype);
  Computed y(out, dtype);
  const IntArrayRef sizes = input.sizes();
  const int64_t volumes = sizes.size() == 5 ? sizes[0] * sizes[1] : sizes[0];
  dispatch_float(dtype, op, [&]<typename T>() { f(x.data_ptr<T>(), y.data<T>(), volumes); });
  y.finish();
}

// The output's shape of a fractional pooling over the last `dims` dimensions, with the checks of its arguments.
DimVector fractional_sizes(const Tensor& self, IntArrayRef kernel, IntArrayRef output, const Tensor& samples, size_t dims, const char* op) {
  check_floating(self.dtype(), op);
  const IntArrayRef in = self.sizes();
  const size_t n = in.size();
  TRT_CHECK(n == dims + 1 || n == dims + 2, op, ": input must have ", dims + 1, " or ", dims + 2, " dimensions, got ", self);
  for (size_t i = n - dims; i < n; ++i) TRT_CHECK(in[i] > 0, op, ": dimension ", i, " must not be empty, got ", self);
  TRT_CHECK(kernel.size() == 1 || kernel.size() == dims, op, ": kernel_size must be one number or ", dims, ", got ", kernel);
  TRT_CHECK(output.size() == 1 || output.size() == dims, op, ": output_size must be one number or ", dims, ", got ", output);
  DimVector sizes(in.data(), n);
  for (size_t i = 0; i < dims; ++i) {
    const int64_t k = kernel[kernel.size() == 1 ? 0 : i], o = output[output.size() == 1 ? 0 : i], extent = in[n - dims + i];
    TRT_CHECK(k > 0 && o >= 0, op, ": kernel_size must be positive and output_size not negative, got ", kernel, " and ", output);
    TRT_CHECK(k <= extent && o <= extent - k + 1, op, ": ", o, " windows of ", k, " elements do not fit dimension ", n - dims + i, " of ", self);
    sizes[n - dims + i] = o;
  }
  TRT_CHECK(samples.dtype() == self.dtype(), op, ": random_samples must have the input's dtype, got ", samples, " for ", self);
  const int64_t batch = n == dims + 2 ? in[0] : 1, channels = in[n - dims - 1];
  TRT_CHECK(samples.dim() == 3 && samples.sizes()[0] >= batch && samples.sizes()[1] >= channels && samples.sizes()[2] == static_cast<int64_t>(dims), op,
            ": random_samples must have the shape [", batch, ", ", channels, ", ", dims, "], got ", samples);
  return sizes;
}

// Of the last `dims` dimensions. In two dimensions the first sample is the columns', in three the depth's, as in PyTorch.
void fractional_max(const Tensor& self, IntArrayRef kernel, const Tensor& samples, size_t dims, Tensor& output, Tensor& indices, const char* op) {
  if (output.numel() == 0) return;
  const DType dtype = compute_dtype(output.dtype());
  const Tensor x = contiguous_tensor(self, dtype), s = contiguous_tensor(samples, dtype);
  Computed y(output, dtype);
  const size_t n = self.sizes().size();
  const int64_t channels = self.sizes()[n - dims - 1], planes = n == dims + 2 ? self.sizes()[0] * channels : channels;
  const int64_t inputs = x.numel() / planes, outputs = output.numel() / planes;
  dispatch_float(dtype, op, [&]<typename T>() {
    parallel_for(0, planes, std::max<int64_t>(1, 32768 / inputs), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const T* sample = s.data_ptr<T>() + (p / channels * samples.sizes()[1] + p % channels) * static_cast<int64_t>(dims);
        Axes axes;
        for (size_t i = 0; i < dims; ++i)
          axes[3 - dims + i] = fractional_axis<T>(self.sizes()[n - dims + i], output.sizes()[n - dims + i], kernel[kernel.size() == 1 ? 0 : i],
                                                  sample[dims == 2 ? 1 - i : i]);
        if (dims == 2) axes[0] = {1, 1, {{0, 1, 1}}};
        maximum_of(x.data_ptr<T>() + p * inputs, y.data<T>() + p * outputs, indices.data_ptr<int64_t>() + p * outputs, axes, T(0));
      }
    });
  });
  y.finish();
}

// The sizes of the output from either argument.
DimVector fractional_output(const Tensor& self, std::optional<IntArrayRef> size, std::optional<ArrayRef<double>> ratio, size_t dims, const char* op) {
  TRT_CHECK(size || ratio, op, ": output_size or output_ratio must be given");
  TRT_CHECK(!size || !ratio, op, ": only one of output_size and output_ratio may be given");
  if (size) return DimVector(size->data(), size->size());
  TRT_CHECK(ratio->size() == 1 || ratio->size() == dims, op, ": output_ratio must be one number or ", dims);
  TRT_CHECK(self.sizes().size() > dims, op, ": input must have ", dims + 1, " or ", dims + 2, " dimensions, got ", self);
  DimVector out(dims);
  for (size_t i = 0; i < dims; ++i) {
    const double r = (*ratio)[ratio->size() == 1 ? 0 : i];
    TRT_CHECK(r > 0 && r < 1, op, ": output_ratio must lie in (0, 1), got ", r);
    out[i] = static_cast<int64_t>(static_cast<double>(self.sizes()[self.sizes().size() - dims + i]) * r);
  }
  return out;
}

Tensor fractional_samples(const Tensor& self, const Tensor& given, size_t dims, GeneratorImpl* generator) {
  if (given.defined()) return given;
  const size_t n = self.sizes().size();
  if (n < dims + 1 || !is_floating(self.dtype())) return op::empty({0, 0, static_cast<int64_t>(dims)}, self.dtype(), self.device());  // refused later
  return op::rand({n == dims + 2 ? self.sizes()[0] : 1, self.sizes()[n - dims - 1], static_cast<int64_t>(dims)}, generator, self.dtype(), self.device());
}

}  // namespace

void max_pool_integers(const Tensor& self, const Triple& in, const Window3d& w, Tensor& output, Tensor* indices) {
  if (output.numel() == 0) return;
  const Tensor x = contiguous_tensor(self, DType::Int64);
  Computed y(output, DType::Int64);
  const Axes axes = max_axes(in, w);
  int64_t least = 0;
  dispatch_dtype(output.dtype(), "max_pool", [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) least = static_cast<int64_t>(std::numeric_limits<T>::lowest());
  });
  maximum(x.data_ptr<int64_t>(), y.data<int64_t>(), indices ? indices->data_ptr<int64_t>() : nullptr, output.numel() / outputs_of(axes), axes, least);
  y.finish();
}

namespace meta {

std::array<TensorSpec, 2> fractional_max_pool2d_at(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size, const Tensor& random_samples) {
  const DimVector sizes = fractional_sizes(self, kernel_size, output_size, random_samples, 2, "fractional_max_pool2d");
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

std::array<TensorSpec, 2> fractional_max_pool3d_at(const Tensor& self, IntArrayRef kernel_size, IntArrayRef output_size, const Tensor& random_samples) {
  const DimVector sizes = fractional_sizes(self, kernel_size, output_size, random_samples, 3, "fractional_max_pool3d");
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

std::array<TensorSpec, 2> max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel_size,
                                                  std::optional<IntArrayRef> stride, IntArrayRef padding,
                                                  IntArrayRef dilation, bool ceil_mode) {
  check_not_bool(self.dtype(), "max_pool3d");
  const Window w = window_of(self.sizes(), {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool3d");
  const DimVector sizes = with_volume(self.sizes(), w.out);
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

TensorSpec max_pool3d_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef input_size) {
  check_input(input_size, "max_pool3d_backward");
  check_floating(grad_output.dtype(), "max_pool3d_backward");
  TRT_CHECK(grad_output.sizes().size() == input_size.size() &&
                grad_output.sizes() == IntArrayRef(with_volume(input_size, volume_of(grad_output.sizes()))),
            "max_pool3d_backward: gradient ", grad_output, " does not fit input shape ", input_size);
  TRT_CHECK(indices.dtype() == DType::Int64 && indices.sizes() == grad_output.sizes(),
            "max_pool3d_backward: indices must be int64 of shape ", grad_output.sizes(), ", got ", indices);
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

TensorSpec avg_pool3d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride,
                      IntArrayRef padding, bool ceil_mode, bool, std::optional<int64_t> divisor_override) {
  TRT_CHECK_CODE(is_floating(self.dtype()) || self.dtype() == DType::Int64, Code::kNotSupported,
                 "avg_pool3d: not supported for dtype ", self.dtype());
  check_divisor(divisor_override, "avg_pool3d");
  const Window w = window_of(self.sizes(), {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool3d");
  return TensorSpec(with_volume(self.sizes(), w.out), self.dtype(), self.device());
}

TensorSpec avg_pool3d_backward(const Tensor& grad_output, IntArrayRef input_size, IntArrayRef kernel_size,
                               std::optional<IntArrayRef> stride, IntArrayRef padding, bool ceil_mode, bool,
                               std::optional<int64_t> divisor_override) {
  check_divisor(divisor_override, "avg_pool3d_backward");
  check_floating(grad_output.dtype(), "avg_pool3d_backward");
  const Window w =
      window_of(input_size, {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool3d_backward");
  TRT_CHECK(grad_output.sizes() == IntArrayRef(with_volume(input_size, w.out)), "avg_pool3d_backward: gradient ",
            grad_output, " does not fit the output's shape ", with_volume(input_size, w.out));
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

TensorSpec adaptive_avg_pool3d(const Tensor& self, IntArrayRef output_size) {
  check_floating(self.dtype(), "adaptive_avg_pool3d");
  check_input(self.sizes(), "adaptive_avg_pool3d", true);
  return TensorSpec(with_volume(self.sizes(), adaptive_size(output_size, "adaptive_avg_pool3d")), self.dtype(),
                    self.device());
}

TensorSpec adaptive_avg_pool3d_backward(const Tensor& grad_output, IntArrayRef input_size) {
  check_input(input_size, "adaptive_avg_pool3d_backward", true);
  check_floating(grad_output.dtype(), "adaptive_avg_pool3d_backward");
  TRT_CHECK(grad_output.sizes().size() == input_size.size() &&
                grad_output.sizes() == IntArrayRef(with_volume(input_size, volume_of(grad_output.sizes()))),
            "adaptive_avg_pool3d_backward: gradient ", grad_output, " does not fit input shape ", input_size);
  return TensorSpec(input_size, grad_output.dtype(), grad_output.device());
}

std::array<TensorSpec, 2> adaptive_max_pool3d_with_indices(const Tensor& self, IntArrayRef output_size) {
  check_floating(self.dtype(), "adaptive_max_pool3d");
  check_input(self.sizes(), "adaptive_max_pool3d");
  const DimVector sizes = with_volume(self.sizes(), adaptive_size(output_size, "adaptive_max_pool3d"));
  return {TensorSpec(sizes, self.dtype(), self.device()), TensorSpec(sizes, DType::Int64, self.device())};
}

}  // namespace meta

namespace native {

void fractional_max_pool2d_at(const Tensor& self, IntArrayRef kernel_size, IntArrayRef, const Tensor& random_samples, Tensor& output, Tensor& indices) {
  fractional_max(self, kernel_size, random_samples, 2, output, indices, "fractional_max_pool2d");
}

void fractional_max_pool3d_at(const Tensor& self, IntArrayRef kernel_size, IntArrayRef, const Tensor& random_samples, Tensor& output, Tensor& indices) {
  fractional_max(self, kernel_size, random_samples, 3, output, indices, "fractional_max_pool3d");
}

void max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride,
                             IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, Tensor& output,
                             Tensor& indices) {
  if (output.numel() == 0) return;
  const Window window = window_of(self.sizes(), {kernel_size, stride, padding, dilation, ceil_mode}, "max_pool3d");
  if (!is_floating(self.dtype())) return max_pool_integers(self, volume_of(self.sizes()), window, output, &indices);
  const Axes axes = max_axes(volume_of(self.sizes()), window);
  on_volumes(self, output, "max_pool3d",
             [&](auto* x, auto* y, int64_t volumes) { maximum(x, y, indices.data_ptr<int64_t>(), volumes, axes); });
}

void adaptive_max_pool3d_with_indices(const Tensor& self, IntArrayRef, Tensor& output, Tensor& indices) {
  if (output.numel() == 0) return;
  const Axes axes = adaptive_axes(self.sizes(), output.sizes());
  on_volumes(self, output, "adaptive_max_pool3d",
             [&](auto* x, auto* y, int64_t volumes) { maximum(x, y, indices.data_ptr<int64_t>(), volumes, axes); });
}

void max_pool3d_backward(const Tensor& grad_output, const Tensor& indices, IntArrayRef, Tensor& out) {
  if (grad_output.numel() == 0) return fill_tensor(out, 0);
  const Tensor at = contiguous_tensor(indices);
  const Triple in = volume_of(out.sizes()), from = volume_of(grad_output.sizes());
  const int64_t n = in[0] * in[1] * in[2], m = from[0] * from[1] * from[2];
  on_volumes(grad_output, out, "max_pool3d_backward", [&](auto* gy, auto* gx, int64_t volumes) {
    const int64_t* p = at.data_ptr<int64_t>();
    parallel_for(0, volumes, std::max<int64_t>(1, 32768 / n), [&](int64_t begin, int64_t end) {
      std::fill(gx + begin * n, gx + end * n, 0);
      for (int64_t v = begin; v < end; ++v)
        for (int64_t i = v * m; i < (v + 1) * m; ++i) {
          if (p[i] == -1) continue;
          TRT_CHECK_CODE(p[i] >= 0 && p[i] < n, Code::kOutOfRange, "max_pool3d_backward: index ", p[i],
                         " is out of range for ", n, " elements");
          gx[v * n + p[i]] += gy[i];
        }
    });
  });
}

void avg_pool3d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override, Tensor& out) {
  if (out.numel() == 0) return;
  const Axes axes = average_axes(
      self.sizes(), window_of(self.sizes(), {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool3d"),
      count_include_pad);
  const int64_t divisor = divisor_override.value_or(0);
  if (out.dtype() == DType::Int64) {
    const Tensor x = contiguous_tensor(self);
    return average(x.data_ptr<int64_t>(), out.data_ptr<int64_t>(), out.numel() / outputs_of(axes), axes, divisor);
  }
  on_volumes(self, out, "avg_pool3d",
             [&](auto* x, auto* y, int64_t volumes) { average(x, y, volumes, axes, divisor); });
}

void avg_pool3d_backward(const Tensor& grad_output, IntArrayRef input_size, IntArrayRef kernel_size,
                         std::optional<IntArrayRef> stride, IntArrayRef padding, bool ceil_mode, bool count_include_pad,
                         std::optional<int64_t> divisor_override, Tensor& out) {
  if (out.numel() == 0) return;
  const Axes axes = average_axes(
      input_size,
      window_of(input_size, {kernel_size, stride, padding, kNoDilation, ceil_mode}, "avg_pool3d_backward"),
      count_include_pad);
  on_volumes(grad_output, out, "avg_pool3d_backward", [&](auto* gy, auto* gx, int64_t volumes) {
    average_backward(gy, gx, volumes, axes, divisor_override.value_or(0));
  });
}

void adaptive_avg_pool3d(const Tensor& self, IntArrayRef, Tensor& out) {
  if (out.numel() == 0) return;
  const Axes axes = adaptive_axes(self.sizes(), out.sizes());
  on_volumes(self, out, "adaptive_avg_pool3d",
             [&](auto* x, auto* y, int64_t volumes) { average(x, y, volumes, axes, 0); });
}

void adaptive_avg_pool3d_backward(const Tensor& grad_output, IntArrayRef, Tensor& out) {
  if (grad_output.numel() == 0) return fill_tensor(out, 0);
  const Axes axes = adaptive_axes(out.sizes(), grad_output.sizes());
  on_volumes(grad_output, out, "adaptive_avg_pool3d_backward",
             [&](auto* gy, auto* gx, int64_t volumes) { average_backward(gy, gx, volumes, axes, 0); });
}

}  // namespace native

namespace composite {

Tensor max_pool3d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  return std::get<0>(op::max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode));
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> output_size,
                                                              std::optional<ArrayRef<double>> output_ratio, const Tensor& random_samples,
                                                              GeneratorImpl* generator) {
  const DimVector out = fractional_output(self, output_size, output_ratio, 2, "fractional_max_pool2d");
  return op::fractional_max_pool2d_at(self, kernel_size, out, fractional_samples(self, random_samples, 2, generator));
}

std::tuple<Tensor, Tensor> fractional_max_pool3d_with_indices(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> output_size,
                                                              std::optional<ArrayRef<double>> output_ratio, const Tensor& random_samples,
                                                              GeneratorImpl* generator) {
  const DimVector out = fractional_output(self, output_size, output_ratio, 3, "fractional_max_pool3d");
  return op::fractional_max_pool3d_at(self, kernel_size, out, fractional_samples(self, random_samples, 3, generator));
}

Tensor fractional_max_pool2d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> output_size,
                             std::optional<ArrayRef<double>> output_ratio, const Tensor& random_samples, GeneratorImpl* generator) {
  return std::get<0>(op::fractional_max_pool2d_with_indices(self, kernel_size, output_size, output_ratio, random_samples, generator));
}

Tensor fractional_max_pool3d(const Tensor& self, IntArrayRef kernel_size, std::optional<IntArrayRef> output_size,
                             std::optional<ArrayRef<double>> output_ratio, const Tensor& random_samples, GeneratorImpl* generator) {
  return std::get<0>(op::fractional_max_pool3d_with_indices(self, kernel_size, output_size, output_ratio, random_samples, generator));
}

Tensor adaptive_max_pool3d(const Tensor& self, IntArrayRef output_size) {
  return std::get<0>(op::adaptive_max_pool3d_with_indices(self, output_size));
}

}  // namespace composite

}  // namespace trt
