#include "iter/pointwise.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "core/modes.h"
#include "iter/promotion.h"
#include "iter/tensor_iterator.h"
#include "kernels/cpu/convert.h"

namespace trt {

namespace {

constexpr int64_t kBlock = 512;        // elements staged at a time, half as many when a complex dtype takes part; a few blocks of doubles fit the L1 cache
constexpr int64_t kShortRun = 128;     // innermost runs shorter than this are packed several to a block
constexpr int64_t kGrain = 32768;      // elements that a thread should get at least
constexpr int kMaxInputs = 8;
constexpr int kMaxScalars = 8;

DType compute_type(DType t) { return t == DType::Float64 || is_complex(t) ? t : is_floating(t) ? DType::Float32 : DType::Int64; }
int slot_of(DType compute) {
  switch (compute) {
    case DType::Float32: return kSlotFloat;
    case DType::Float64: return kSlotDouble;
    case DType::Complex64: return kSlotComplexFloat;
    case DType::Complex128: return kSlotComplexDouble;
    default: return kSlotInt;
  }
}

// A number in the compute type.
ScalarValue value_of(const Scalar& s, DType compute) {
  ScalarValue v{};
  switch (compute) {
    case DType::Float32: v.f = static_cast<float>(s.to_double()); break;
    case DType::Float64: v.d = s.to_double(); break;
    case DType::Complex64: v.cf[0] = static_cast<float>(s.to_double()), v.cf[1] = static_cast<float>(s.imag()); break;
    case DType::Complex128: v.cd[0] = s.to_double(), v.cd[1] = s.imag(); break;
    default: v.i = s.to_int();
  }
  return v;
}

std::string text_of(const PointwiseInput& i) { return i.tensor ? describe(*i.tensor) : str_cat(*i.scalar); }

[[noreturn]] void throw_dtype(const PointwiseOp& op, DType t, ArrayRef<PointwiseInput> in) {
  std::string args;
  for (const auto& i : in) {
    if (!args.empty()) args += ", ";
    args += text_of(i);
  }
  throw_error(Code::kNotSupported, str_cat(op.name, ": not supported for dtype ", t, " (arguments ", args, ")"));
}

// What the dtypes say: the dtype of the kernel's operands and of the result.
struct Types {
  DType common;
  DType result;
};

Types infer_types(const PointwiseOp& op, ArrayRef<PointwiseInput> in, ArrayRef<Scalar> scalars) {
  DType common;
  if (op.promotion == Promotion::FirstInput) {
    common = in[0].tensor->dtype();
  } else {
    PromotionState state;
    if (op.promotion == Promotion::SkipFirst && in[0].tensor) {
      const DType t = in[0].tensor->dtype();
      TRT_CHECK(t == DType::Bool || t == DType::UInt8, op.name, ": the condition must be bool, got ", *in[0].tensor);
    }
    for (size_t i = op.promotion == Promotion::SkipFirst ? 1 : 0; i < in.size(); ++i) {
      if (in[i].tensor) state.add(*in[i].tensor);
      else state.add(*in[i].scalar);
    }
    if (op.promote_scalars)
      for (const Scalar& s : scalars) state.add(s);
    common = state.result();
  }
  if ((op.promotion == Promotion::IntToFloat || op.promotion == Promotion::IntToFloatCompare) && !is_differentiable(common))
    common = thread_state.default_dtype;
  if (op.promotion == Promotion::BoolToInt && common == DType::Bool) common = DType::Int64;
  const uint8_t kind = is_complex(common) ? kTakesComplex : is_floating(common) ? kTakesFloat : common == DType::Bool ? kTakesBool : kTakesInt;
  if (!(op.kinds & kind)) throw_dtype(op, common, in);
  if (op.kinds & kNoBoolOperand)
    for (const auto& i : in)
      if (i.tensor ? i.tensor->dtype() == DType::Bool : i.scalar->is_bool()) throw_dtype(op, DType::Bool, in);
  const bool compare = op.promotion == Promotion::Compare || op.promotion == Promotion::IntToFloatCompare;
  return {common, compare ? DType::Bool : op.kinds & kRealResult ? real_dtype(common) : common};
}

bool only_numbers(ArrayRef<PointwiseInput> in) {
  for (const auto& i : in)
    if (i.tensor && !i.tensor->impl()->is_wrapped_number()) return false;
  return true;
}
DType widest(DType t) { return is_complex(t) ? DType::Complex128 : is_floating(t) ? DType::Float64 : t; }

// One device for all; a 0-d CPU tensor may meet tensors of another device.
Device common_device(const PointwiseOp& op, ArrayRef<PointwiseInput> in) {
  Device device = kCPU;
  bool found = false;
  for (const auto& i : in) {
    if (!i.tensor) continue;
    const Tensor& t = *i.tensor;
    if (t.device().is_cpu() && t.dim() == 0 && in.size() > 1) continue;
    TRT_CHECK(!found || device == t.device(), op.name, ": arguments are on different devices, ", device, " and ", t.device());
    device = t.device();
    found = true;
  }
  return device;
}

DimVector common_shape(const PointwiseOp& op, ArrayRef<PointwiseInput> in) {
  DimVector shape;
  bool first = true;
  for (const auto& i : in) {
    if (!i.tensor) continue;
    const auto sizes = i.tensor->sizes();
    if (first) shape.assign(sizes.data(), sizes.size());
    else if (!(IntArrayRef(shape) == sizes)) shape = broadcast_shapes(shape, sizes, op.name);
    first = false;
  }
  return shape;
}

// A result that keeps the memory order of its inputs.
Tensor allocate_result(ArrayRef<PointwiseInput> in, IntArrayRef shape, DType dtype, Device device) {
  const Tensor* operands[kMaxInputs];
  size_t n = 0;
  bool plain = true, same = true;
  for (const auto& i : in) {
    if (!i.tensor || i.tensor->dim() == 0) continue;
    plain &= i.tensor->is_contiguous();
    same &= i.tensor->sizes() == shape && i.tensor->strides() == (n ? operands[0] : i.tensor)->strides();
    operands[n++] = i.tensor;
  }
  if (plain || std::find(shape.begin(), shape.end(), 0) != shape.end()) return empty_tensor(shape, dtype, device);
  if (same) return empty_in_order_of(*operands[0], dtype, device);
  return empty_strided_tensor(shape, dense_strides(ArrayRef<const Tensor*>(operands, n), shape), dtype, device);
}

void fill_scalars(const PointwiseOp& op, ArrayRef<Scalar> scalars, DType compute, ScalarValue* out) {
  for (size_t i = 0; i < scalars.size(); ++i) {
    TRT_CHECK(!scalars[i].is_complex() || is_complex(compute), op.name, ": a complex argument (", scalars[i], ") with real tensors");
    if (compute == DType::Int64) {
      TRT_CHECK(!scalars[i].is_double() || op.truncate_scalars, op.name, ": a floating-point argument (", scalars[i], ") with integer tensors");
      TRT_CHECK_CODE(scalars[i].fits<int64_t>(), Code::kOutOfRange, op.name, ": ", scalars[i], " does not fit the integer tensors");
    }
    out[i] = value_of(scalars[i], compute);
  }
}

// Whether an integer or bool tensor has an element 0.
bool has_zero(const Tensor& t) {
  const Tensor* operands[] = {&t};
  const TensorIterator it(t.sizes(), ArrayRef<const Tensor*>(operands, 1));
  std::atomic<bool> found{false};
  dispatch_dtype(t.dtype(), "has_zero", [&]<typename T>() {
    it.for_each([&](char* const* ptrs, int64_t n) {
      const int64_t stride = it.ndim() ? it.operand(0).strides[0] : 0;
      const char* p = ptrs[0];
      bool zero = false;
      if (stride == static_cast<int64_t>(sizeof(T)))
        for (int64_t i = 0; i < n; ++i) zero |= reinterpret_cast<const T*>(p)[i] == T(0);
      else
        for (int64_t i = 0; i < n; ++i) zero |= *reinterpret_cast<const T*>(p + i * stride) == T(0);
      if (zero) found.store(true, std::memory_order_relaxed);
    }, kGrain);
  });
  return found.load(std::memory_order_relaxed);
}

// A number as exponent of integers; in tensors negative exponents are allowed, as in PyTorch.
void check_exponent(const PointwiseOp& op, ArrayRef<PointwiseInput> in, DType common) {
  if (op.exponent < 0 || is_differentiable(common)) return;
  const PointwiseInput& e = in[static_cast<size_t>(op.exponent)];
  TRT_CHECK(!e.scalar || e.scalar->to_double() >= 0, op.name, ": integers to a negative integer power, ", *e.scalar, ", are not allowed (base ",
            text_of(in[0]), ")");
}

int64_t last_level_cache() {
  static constinit std::atomic<int64_t> bytes{0};
  if (const int64_t known = bytes.load(std::memory_order_relaxed)) return known;
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const int64_t found = l3 > 0 ? std::min<int64_t>(l3, int64_t{64} << 20) : int64_t{32} << 20;
  bytes.store(found, std::memory_order_relaxed);
  return found;
}

// How one operand reaches the kernel.
struct Stage {
  enum class Mode : uint8_t { Direct, Constant, Convert, Gather } mode;
  size_t item;
  int64_t stride;          // bytes, innermost
  cpu::ConvertFn convert;  // to (inputs) or from (output) the compute type; null where the types agree
  bool round;              // elements pass through the common dtype
};

struct alignas(64) Block {
  char bytes[kBlock * 8];
};

class Driver {
 public:
  Driver(PointwiseFn fn, ArrayRef<PointwiseInput> in, const ScalarValue* scalars, DType compute, DType common, DType result, const Tensor& out)
      : fn_(fn), scalars_(scalars), compute_(compute), common_(common), result_(result), item_(element_size(compute)),
        inputs_(static_cast<int>(in.size())), in_(in), out_(out) {}

  void run() {
    const Tensor* operands[kMaxInputs + 1] = {&out_};
    int n = 1;
    for (int i = 0; i < inputs_; ++i) {
      index_[i] = in_[static_cast<size_t>(i)].tensor ? n : -1;
      if (in_[static_cast<size_t>(i)].tensor) operands[n++] = in_[static_cast<size_t>(i)].tensor;
    }
    TensorIterator it(out_.sizes(), ArrayRef<const Tensor*>(operands, static_cast<size_t>(n)));
    if (it.numel() == 0) return;
    it_ = &it;
    for (int i = 0; i < n; ++i)
      if (is_complex(it.operand(i).dtype)) block_ = kBlock / 2;
    packed_ = it.ndim() > 1 && it.shape()[0] < kShortRun;
    out_stage_ = stage(0, true);
    int64_t bytes = out_.numel() * static_cast<int64_t>(out_.itemsize());
    bool aliased = false;
    for (int i = 0; i < inputs_; ++i) {
      stages_[i] = index_[i] < 0 ? Stage{Stage::Mode::Constant, item_, 0, nullptr, false} : stage(index_[i], false);
      if (index_[i] < 0) continue;
      const Tensor& t = *in_[static_cast<size_t>(i)].tensor;
      bytes += t.numel() * static_cast<int64_t>(t.itemsize());
      aliased |= t.shares_storage(out_);
    }
    // A large fresh output is written around the caches: that saves reading its lines first.
    stream_ = out_stage_.mode == Stage::Mode::Direct && !packed_ && !aliased && bytes > last_level_cache();
    if (out_stage_.round || std::any_of(stages_, stages_ + inputs_, [](const Stage& s) { return s.round; })) {
      to_common_ = cpu::store_converter(compute_, common_);
      from_common_ = cpu::load_converter(common_, compute_);
    }
    parallel_for(0, it.numel(), kGrain, [&](int64_t b, int64_t e) { range(b, e); });
  }

 private:
  Stage stage(int operand, bool output) const {
    const auto& o = it_->operand(operand);
    Stage s;
    s.item = element_size(o.dtype);
    s.stride = it_->ndim() ? o.strides[0] : static_cast<int64_t>(s.item);
    s.convert = o.dtype == compute_ ? nullptr : output ? cpu::store_converter(compute_, o.dtype) : cpu::load_converter(o.dtype, compute_);
    // Integers that a 16-bit float may not hold become one of it first. A result of a narrow dtype is rounded (or wraps) before it goes into a
    // wider tensor.
    if (output) s.round = o.dtype != result_ && result_ == common_ && common_ != compute_;
    else s.round = is_reduced_floating(common_) && is_integral(o.dtype, false) && element_size(o.dtype) > 1;
    const bool unit = s.stride == static_cast<int64_t>(s.item);
    if (s.stride == 0 && !output && it_->numel() > 1) s.mode = Stage::Mode::Constant;
    else if (!unit) s.mode = Stage::Mode::Gather;
    else s.mode = s.convert || s.round ? Stage::Mode::Convert : Stage::Mode::Direct;
    return s;
  }

  struct Scratch {
    Block in[kMaxInputs];
    Block raw;  // one operand before or after conversion
    Block out;
  };

  void range(int64_t begin, int64_t end) const {
    Scratch scratch;
    // Numbers fill their block once for the whole range.
    for (int i = 0; i < inputs_; ++i)
      if (index_[i] < 0) {
        const ScalarValue v = value_of(*in_[static_cast<size_t>(i)].scalar, compute_);
        cpu::fill(scratch.in[i].bytes, &v, item_, std::min(block_, end - begin));
      }
    if (packed_) packed_range(begin, end, scratch);
    else it_->for_range(begin, end, [&](char* const* ptrs, int64_t n) { run_loop(ptrs, n, scratch); });
    if (stream_) cpu::stream_fence();
  }

  // One innermost run of n elements.
  void run_loop(char* const* ptrs, int64_t n, Scratch& scratch) const {
    const void* in[kMaxInputs];
    bool staged = out_stage_.mode != Stage::Mode::Direct || stream_;
    for (int i = 0; i < inputs_; ++i) {
      const Stage& s = stages_[i];
      if (s.mode == Stage::Mode::Direct) {
        in[i] = ptrs[index_[i]];
        continue;
      }
      staged = true;
      in[i] = scratch.in[i].bytes;
      if (s.mode == Stage::Mode::Constant && index_[i] >= 0) fill_constant(s, ptrs[index_[i]], scratch.in[i].bytes, std::min(n, block_));
    }
    if (!staged) {
      void* out = ptrs[0];
      fn_(in, &out, n, scalars_);
      return;
    }
    // Streamed blocks begin at whole cache lines, so that each line is written by one kind of store.
    const int64_t line = 64 / static_cast<int64_t>(item_);
    const int64_t first = stream_ ? block_ - static_cast<int64_t>(reinterpret_cast<uintptr_t>(ptrs[0]) / item_) % line : block_;
    for (int64_t at = 0, m = std::min(first, n); at < n; at += m, m = std::min(block_, n - at)) {
      const void* ahead[kMaxInputs];
      int n_ahead = 0;
      for (int i = 0; i < inputs_; ++i) {
        const Stage& s = stages_[i];
        if (s.mode == Stage::Mode::Constant) continue;
        if (s.mode != Stage::Mode::Gather && at + m < n) ahead[n_ahead++] = ptrs[index_[i]] + (at + m) * s.stride;
        const char* src = ptrs[index_[i]] + at * s.stride;
        if (s.mode == Stage::Mode::Direct) in[i] = src;
        else load(s, src, scratch.in[i].bytes, scratch.raw.bytes, m);
      }
      char* dst = ptrs[0] + at * out_stage_.stride;
      void* out = out_stage_.mode == Stage::Mode::Direct && !stream_ ? dst : scratch.out.bytes;
      fn_(in, &out, m, scalars_);
      if (stream_) cpu::stream_copy(out, dst, static_cast<size_t>(m) * item_, ahead, n_ahead);
      else if (out != dst) store(dst, scratch, m);
    }
  }

  void fill_constant(const Stage& s, const char* src, char* block, int64_t n) const {
    ScalarValue v;
    if (s.convert) s.convert(src, &v, 1);
    else std::memcpy(&v, src, item_);
    if (s.round) round(&v, 1);
    cpu::fill(block, &v, item_, n);
  }

  // Rounds n elements of the compute type to the common dtype, in place.
  void round(void* elements, int64_t n) const {
    char narrow[kBlock * 4];
    to_common_(elements, narrow, n);
    from_common_(narrow, elements, n);
  }

  void load(const Stage& s, const char* src, char* block, char* raw, int64_t n) const {
    if (s.mode == Stage::Mode::Convert) {
      s.convert(src, block, n);
    } else if (s.convert) {
      cpu::gather_strided(src, s.stride, raw, n, s.item);
      s.convert(raw, block, n);
    } else {
      cpu::gather_strided(src, s.stride, block, n, s.item);
    }
    if (s.round) round(block, n);
  }

  void store(char* dst, Scratch& scratch, int64_t n) const {
    const Stage& s = out_stage_;
    if (s.round) round(scratch.out.bytes, n);
    if (s.mode == Stage::Mode::Convert && !s.convert) {
      std::memcpy(dst, scratch.out.bytes, static_cast<size_t>(n) * item_);
    } else if (s.mode == Stage::Mode::Convert) {
      s.convert(scratch.out.bytes, dst, n);
    } else if (s.convert) {
      s.convert(scratch.out.bytes, scratch.raw.bytes, n);
      cpu::scatter_strided(scratch.raw.bytes, dst, s.stride, n, s.item);
    } else {
      cpu::scatter_strided(scratch.out.bytes, dst, s.stride, n, s.item);
    }
  }

  // Short innermost runs: several of them fill a block, so that the kernel's cost is spread.
  void packed_range(int64_t begin, int64_t end, Scratch& scratch) const {
    struct Run {
      char* ptr;
      int64_t n;
    };
    Run runs[kBlock];
    for (int64_t at = begin; at < end; at += block_) {
      const int64_t m = std::min(block_, end - at);
      int64_t filled = 0;
      int count = 0;
      it_->for_range(at, at + m, [&](char* const* ptrs, int64_t n) {
        runs[count++] = {ptrs[0], n};
        for (int i = 0; i < inputs_; ++i) {
          if (index_[i] < 0) continue;
          const auto& o = it_->operand(index_[i]);
          gather_any(ptrs[index_[i]], o.strides[0], scratch.in[i].bytes + static_cast<size_t>(filled) * stages_[i].item, n, stages_[i].item);
        }
        filled += n;
      });
      const void* in[kMaxInputs];
      for (int i = 0; i < inputs_; ++i) {
        in[i] = scratch.in[i].bytes;
        if (index_[i] < 0 || !stages_[i].convert) continue;
        std::memcpy(scratch.raw.bytes, scratch.in[i].bytes, static_cast<size_t>(m) * stages_[i].item);
        stages_[i].convert(scratch.raw.bytes, scratch.in[i].bytes, m);
        if (stages_[i].round) round(scratch.in[i].bytes, m);
      }
      void* out = scratch.out.bytes;
      fn_(in, &out, m, scalars_);
      const char* src = scratch.out.bytes;
      if (out_stage_.round) round(scratch.out.bytes, m);
      if (out_stage_.convert) {
        out_stage_.convert(scratch.out.bytes, scratch.raw.bytes, m);
        src = scratch.raw.bytes;
      }
      for (int r = 0; r < count; ++r) {
        if (out_stage_.stride == static_cast<int64_t>(out_stage_.item)) std::memcpy(runs[r].ptr, src, static_cast<size_t>(runs[r].n) * out_stage_.item);
        else cpu::scatter_strided(src, runs[r].ptr, out_stage_.stride, runs[r].n, out_stage_.item);
        src += static_cast<size_t>(runs[r].n) * out_stage_.item;
      }
    }
  }

  static void gather_any(const char* src, int64_t stride, char* dst, int64_t n, size_t item) {
    if (stride == static_cast<int64_t>(item)) std::memcpy(dst, src, static_cast<size_t>(n) * item);
    else if (stride == 0) cpu::fill(dst, src, item, n);
    else cpu::gather_strided(src, stride, dst, n, item);
  }

  PointwiseFn fn_;
  const ScalarValue* scalars_;
  DType compute_, common_, result_;
  int64_t block_ = kBlock;  // elements
  size_t item_;
  int inputs_;
  ArrayRef<PointwiseInput> in_;
  const Tensor& out_;
  const TensorIterator* it_ = nullptr;
  int index_[kMaxInputs];
  Stage stages_[kMaxInputs];
  Stage out_stage_;
  cpu::ConvertFn to_common_ = nullptr, from_common_ = nullptr;
  bool packed_ = false;
  bool stream_ = false;
};

void compute(const PointwiseOp& op, ArrayRef<PointwiseInput> in, ArrayRef<Scalar> scalars, DType common, Tensor& out) {
  TRT_INTERNAL(in.size() <= kMaxInputs && scalars.size() <= kMaxScalars);
  const DType compute_dtype = compute_type(common);
  PointwiseFn fn = op.cpu[slot_of(compute_dtype)].load(std::memory_order_relaxed);
  if (common == DType::Bool && op.cpu[kSlotBool].load(std::memory_order_relaxed)) fn = op.cpu[kSlotBool].load(std::memory_order_relaxed);
  if (!fn) throw_dtype(op, common, in);
  ScalarValue values[kMaxScalars];
  fill_scalars(op, scalars, compute_dtype, values);
  // A number, and a 0-d tensor that gave way in promotion, first becomes a number of the common dtype: uint8 sees -1 as 255, and float16 sees
  // 2049 as 2048. As in PyTorch, products and quotients keep their second operand in the compute type.
  const bool compare = op.promotion == Promotion::Compare || op.promotion == Promotion::IntToFloatCompare;
  SmallVector<PointwiseInput, kMaxInputs> operands(in.data(), in.size());
  Scalar numbers[kMaxInputs];
  for (size_t i = op.promotion == Promotion::SkipFirst ? 1 : 0; i < in.size(); ++i) {
    if (in[i].scalar) {
      numbers[i] = *in[i].scalar;
    } else {
      const Tensor& t = *in[i].tensor;
      if (t.dim() != 0 || t.dtype() == common || !t.device().is_cpu()) continue;
      numbers[i] = dispatch_all(t.dtype(), op.name, [&]<typename T>() { return Scalar(*t.data_ptr<T>()); });
    }
    if (!is_differentiable(common) || (is_floating(common) && static_cast<int>(i) != op.unrounded))
      numbers[i] = dispatch_all(common, op.name, [&]<typename T>() { return Scalar(numbers[i].to<T>()); });
    operands[i] = PointwiseInput(numbers[i]);
  }
  if (op.divisor >= 0 && compute_dtype == DType::Int64 && out.numel() > 0) {
    const PointwiseInput& d = operands[static_cast<size_t>(op.divisor)];
    TRT_CHECK(d.scalar ? d.scalar->to_bool() : !has_zero(*d.tensor), op.name, ": integer division by zero, the divisor is ",
              text_of(in[static_cast<size_t>(op.divisor)]));
  }
  Driver(fn, operands, values, compute_dtype, common, compare ? DType::Bool : common, out).run();
}

}  // namespace

Tensor pointwise(const PointwiseOp& op, ArrayRef<PointwiseInput> in, ArrayRef<Scalar> scalars) {
  // The common small case: CPU tensors of one float dtype and shape, contiguous.
  if (TRT_LIKELY(in[0].tensor != nullptr)) {
    const TensorImpl& first = *in[0].tensor->impl();
    const DType dtype = first.dtype();
    const int slot = dtype == DType::Float32 ? kSlotFloat : kSlotDouble;
    bool plain = (dtype == DType::Float32 || dtype == DType::Float64) && op.keeps_float && first.numel() <= kGrain;
    const void* ptrs[kMaxInputs];
    for (size_t i = 0; plain && i < in.size(); ++i) {
      if (TRT_UNLIKELY(!in[i].tensor)) {
        plain = false;
        break;
      }
      const TensorImpl& t = *in[i].tensor->impl();
      plain = t.dtype() == dtype && t.is_contiguous() && t.device().is_cpu() && !t.is_wrapped_number() && t.sizes() == first.sizes();
      ptrs[i] = t.data();
    }
    PointwiseFn fn = op.cpu[slot].load(std::memory_order_relaxed);
    if (TRT_LIKELY(plain && fn)) {
      ScalarValue values[kMaxScalars];
      for (size_t i = 0; i < scalars.size(); ++i) {
        const double v = scalars[i].to_double();
        if (slot == kSlotFloat) values[i].f = static_cast<float>(v);
        else values[i].d = v;
      }
      Tensor out = Tensor::adopt(TensorImpl::create_contiguous(
          StorageImpl::allocate(static_cast<size_t>(first.numel()) * element_size(dtype), kCPU), dtype, first.sizes()));
      void* dst = out.data();
      fn(ptrs, &dst, first.numel(), values);
      return out;
    }
  }
  Types types = infer_types(op, in, scalars);
  // Numbers among themselves, as in formulas of gradients, stay numbers: in full precision, and weak in what they meet next.
  const bool numbers = only_numbers(in);
  if (numbers) types = {widest(types.common), types.result == DType::Bool ? DType::Bool : widest(types.result)};
  check_exponent(op, in, types.common);
  const Device device = common_device(op, in);
  const DimVector shape = common_shape(op, in);
  Tensor out = allocate_result(in, shape, types.result, device);
  if (!device.is_meta()) compute(op, in, scalars, types.common, out);
  if (numbers) out.impl()->set_wrapped_number(true);
  return out;
}

void check_output(const Tensor& out, IntArrayRef sizes, DType dtype, Device device, const char* op) {
  TRT_CHECK(out.device() == device, op, ": the result is on ", device, ", the output on ", out.device());
  TRT_CHECK(can_cast(dtype, out.dtype()), op, ": a result of dtype ", dtype, " cannot be written into a tensor of dtype ", out.dtype());
  if (out.sizes() == sizes) return check_no_internal_overlap(out, op);
  // As PyTorch: an out tensor of another shape gets fresh memory, unless others see its memory or it is the host's.
  TRT_CHECK(!out.impl()->storage()->is_host_memory() && !(out.impl()->autograd() && out.impl()->autograd()->is_view), op, ": out tensor of shape ",
            out.sizes(), " cannot be resized to ", sizes, ": it is a view or the host's memory");
  TRT_CHECK(!requires_grad_quick(out), op, ": out tensor of shape ", out.sizes(), " cannot be resized to ", sizes, ": it requires gradients");
}

void replace_output(Tensor& out, const Tensor& fresh) {
  TRT_INTERNAL(out.dtype() == fresh.dtype());
  if (out.numel() > 0)
    log(LogLevel::kWarning, "an out tensor of shape ", out.sizes(), " was resized to the result's shape ", fresh.sizes(), "; give one of that shape, or without elements");
  out.impl()->set_storage(fresh.impl()->storage(), fresh.dtype(), fresh.sizes(), fresh.strides(), fresh.storage_offset());
}

void pointwise_into(const PointwiseOp& op, ArrayRef<PointwiseInput> in, ArrayRef<Scalar> scalars, Tensor& out, bool resize) {
  const Types types = infer_types(op, in, scalars);
  check_exponent(op, in, types.common);
  const Device device = common_device(op, in);
  const DimVector shape = common_shape(op, in);
  check_output(out, shape, types.result, device, op.name);
  if (!(out.sizes() == IntArrayRef(shape))) {
    // An input that is the output as well would lose its shape.
    const bool input = std::any_of(in.begin(), in.end(), [&](const PointwiseInput& i) { return i.tensor && i.tensor->is_same(out); });
    TRT_CHECK(resize && !input, op.name, ": the output of shape ", out.sizes(), " does not have the broadcast shape ", IntArrayRef(shape));
    Tensor fresh = empty_tensor(shape, out.dtype(), out.device());
    if (!device.is_meta()) compute(op, in, scalars, types.common, fresh);
    replace_output(out, fresh);
  } else {
    for (const auto& i : in)
      if (i.tensor) check_no_partial_overlap(out, *i.tensor, op.name);
    if (!device.is_meta()) compute(op, in, scalars, types.common, out);
  }
  out.impl()->storage()->bump_version();
}

}  // namespace trt
