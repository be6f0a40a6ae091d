// base.h: status, version, dtypes, threads, logging, memory, generators.
#include "tensorrt/base.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/cancel.h"
#include "base/log.h"
#include "base/parallel.h"
#include "capi/convert.h"
#include "capi/handles.h"
#include "device/allocator.h"
#include "dispatch/operator_names.h"
#include "kernels/cpu/blas.h"
#include "kernels/cpu/fft.h"
#include "kernels/cpu/isa.h"

using namespace trt;
using namespace trt::capi;

namespace {

// Returned when there is no memory to make another status. Made by the library's initializer, never freed.
constinit trt_status* g_out_of_memory = nullptr;
trt_status& out_of_memory_status() { return *g_out_of_memory; }

trt_status* make_status(int code, std::string message, std::string op, std::shared_ptr<const trt_status::Payload> payload = nullptr) noexcept {
  try {
    return new trt_status{code, false, std::move(message), std::move(op), std::move(payload)};
  } catch (...) {
    return &out_of_memory_status();
  }
}

// "_name_" without overload and trailing underscore, and with underscores for spaces: a form in which whole words can be found.
std::string words_of(std::string_view name) {
  std::string words = str_cat('_', name.substr(0, name.find('.')));
  std::replace(words.begin(), words.end(), ' ', '_');
  if (words.back() != '_') words += '_';
  return words;
}

// Whether `label`, the text before the first ": " of a message, says no more than `op`: the same name, one that begins with the other
// ("gelu_erf" in gelu, "expand" in expand_as), or words of the C function `op` ("size" in trt_tensor_size).
bool names_same(std::string_view label, std::string_view op) {
  const std::string inner = words_of(label), outer = words_of(op);
  if (op.rfind("trt_", 0) == 0) return outer.find(inner) != std::string::npos;
  return inner.rfind(outer, 0) == 0 || outer.rfind(inner, 0) == 0;
}

// The one place where a message gets its form, "op: message". Messages from inside often begin with a name of their own. Where that says no more
// than `op`, the latter stands in its place; an operator that the called one is made of is told at the end: "kl_div: shapes ... (in mul)".
trt_status* make_named_status(int code, std::string_view op, std::string_view message) noexcept {
  try {
    const size_t colon = message.find(": ");
    if (op.empty()) return make_status(code, std::string(message), "");
    const std::string_view label = colon == std::string_view::npos ? std::string_view() : message.substr(0, colon);
    if (label.empty()) return make_status(code, str_cat(op, ": ", message), std::string(op));
    const bool same = names_same(label, op);
    if (same || (is_operator_name(op) && is_operator_name(label))) {
      message.remove_prefix(colon + 2);
      if (!same) return make_status(code, str_cat(op, ": ", message, " (in ", label, ")"), std::string(op));
    }
    return make_status(code, str_cat(op, ": ", message), std::string(op));
  } catch (...) {
    return &out_of_memory_status();
  }
}

trt_cancel_token* handle(CancelToken* t) { return reinterpret_cast<trt_cancel_token*>(t); }
CancelToken* impl(trt_cancel_token* t) { return reinterpret_cast<CancelToken*>(t); }

CachingAllocator& allocator_of(trt_device device) {
  const Device d = to_device(device);
  TRT_CHECK_CODE(d.is_cpu(), Code::kUnavailable, "no allocator for device ", d);
  return cpu_allocator();
}

GeneratorImpl& generator_or_default(const trt_generator* g) {
  return g ? *generator(const_cast<trt_generator*>(g)) : default_generator();
}

}  // namespace

namespace trt::capi {

void prepare_statuses() { g_out_of_memory = new trt_status{TRT_OUT_OF_MEMORY, true, "out of memory", "", nullptr}; }

trt_status* status_of_exception(const char* op) noexcept {
  if (!op) op = "";
  try {
    throw;
  } catch (StatusError& e) {
    return e.take();
  } catch (const Error& e) {
    return make_named_status(static_cast<int>(e.code()), op, e.message());
  } catch (const std::bad_alloc&) {
    return &out_of_memory_status();
  } catch (const std::length_error&) {
    return make_named_status(TRT_INVALID_ARGUMENT, op, "a list is too long");
  } catch (const std::exception& e) {
    return make_named_status(TRT_INTERNAL, op, e.what());
  } catch (...) {
    return make_named_status(TRT_INTERNAL, op, "an unknown exception");
  }
}

StatusError::StatusError(const StatusError& o) : status_(nullptr) {
  if (o.status_) status_ = make_status(o.status_->code, o.status_->message, o.status_->op, o.status_->payload);
}

void throw_null_argument(const char* name) { throw_error(Code::kInvalidArgument, str_cat("argument '", name, "' is NULL")); }

char* copy_string(std::string_view s) {
  char* p = static_cast<char*>(std::malloc(s.size() + 1));
  if (!p) throw std::bad_alloc();
  std::memcpy(p, s.data(), s.size());
  p[s.size()] = 0;
  return p;
}

}  // namespace trt::capi

extern "C" {

TRT_EXPORT trt_code trt_status_code(const trt_status* status) { return status ? static_cast<trt_code>(status->code) : TRT_OK; }
TRT_EXPORT const char* trt_status_message(const trt_status* status) { return status ? status->message.c_str() : ""; }
TRT_EXPORT const char* trt_status_op(const trt_status* status) { return status ? status->op.c_str() : ""; }
TRT_EXPORT void trt_status_release(trt_status* status) {
  if (status && !status->shared) delete status;
}
TRT_EXPORT trt_status* trt_status_create(trt_code code, const char* message) { return trt_status_create_with(code, message, nullptr, nullptr); }
TRT_EXPORT trt_status* trt_status_create_with(trt_code code, const char* message, void* payload, trt_destroy_fn destroy) {
  std::shared_ptr<const trt_status::Payload> shared;
  try {
    if (destroy) shared = std::make_shared<const trt_status::Payload>(payload, destroy);
  } catch (...) {
    destroy(payload);
    return &out_of_memory_status();
  }
  try {
    return make_status(code == TRT_OK ? TRT_CALLBACK : code, message ? message : "", "", std::move(shared));
  } catch (...) {
    return &out_of_memory_status();
  }
}
TRT_EXPORT void* trt_status_payload(const trt_status* status, trt_destroy_fn destroy) {
  return status && status->payload && status->payload->destroy == destroy ? status->payload->object : nullptr;
}

TRT_EXPORT const char* trt_code_name(trt_code code) {
  static constexpr const char* kNames[] = {"OK",        "INVALID_ARGUMENT",    "OUT_OF_RANGE", "OUT_OF_MEMORY", "NOT_SUPPORTED", "NOT_FOUND",   "IO",
                                           "DATA",      "FAILED_PRECONDITION", "CANCELLED",    "CALLBACK",      "INTERNAL",      "UNAVAILABLE", "END_OF_DATA"};
  const auto i = static_cast<size_t>(code);
  return i < sizeof kNames / sizeof *kNames ? kNames[i] : "UNKNOWN";
}

#define TRT_STRING_(x) #x
#define TRT_STRING(x) TRT_STRING_(x)
TRT_EXPORT const char* trt_version_string(void) {
  return TRT_STRING(TRT_VERSION_MAJOR) "." TRT_STRING(TRT_VERSION_MINOR) "." TRT_STRING(TRT_VERSION_PATCH);
}

TRT_EXPORT trt_status* trt_build_info(char** out) {
  return guard("trt_build_info", [&] {
    require_out(out, "out");
    *out = copy_string(str_cat("libtensorrt ", trt_version_string(), "\nkernels: ", cpu::isa_name(), "\nblas: OpenBLAS, core ", cpu::blas().core_name,
                               "\nthreads: ", num_threads(), "\n"));
  });
}

TRT_EXPORT void trt_string_release(char* string) { std::free(string); }

TRT_EXPORT void trt_shutdown(void) {
  cpu::fft_forget_plans();
  cpu_empty_cache();
}

TRT_EXPORT size_t trt_dtype_size(trt_dtype dtype) { return is_valid_dtype(dtype) ? element_size(static_cast<DType>(dtype)) : 0; }
TRT_EXPORT const char* trt_dtype_name(trt_dtype dtype) { return dtype_name(is_valid_dtype(dtype) ? static_cast<DType>(dtype) : DType::Undefined); }

TRT_EXPORT trt_scalar trt_scalar_complex(double real, double imag) { return from_scalar(Scalar(std::complex<double>(real, imag))); }
TRT_EXPORT trt_scalar trt_scalar_double(double value) { return from_scalar(Scalar(value)); }
TRT_EXPORT trt_scalar trt_scalar_int(int64_t value) { return from_scalar(Scalar(value)); }
TRT_EXPORT trt_scalar trt_scalar_bool(bool value) { return from_scalar(Scalar(value)); }

TRT_EXPORT int32_t trt_get_num_threads(void) { return num_threads(); }
TRT_EXPORT trt_status* trt_set_num_threads(int32_t threads) {
  return guard("trt_set_num_threads", [&] { set_num_threads(threads); });
}

TRT_EXPORT trt_status* trt_cancel_token_create(trt_cancel_token** out) {
  return guard("trt_cancel_token_create", [&] {
    require_out(out, "out");
    *out = handle(new CancelToken);
  });
}
TRT_EXPORT trt_cancel_token* trt_cancel_token_retain(trt_cancel_token* token) {
  if (token) impl(token)->retain();
  return token;
}
TRT_EXPORT void trt_cancel_token_release(trt_cancel_token* token) {
  if (token) impl(token)->release();
}
TRT_EXPORT void trt_cancel_token_cancel(trt_cancel_token* token) {
  if (token) impl(token)->cancel();
}
TRT_EXPORT bool trt_cancel_token_is_cancelled(const trt_cancel_token* token) {
  return token && reinterpret_cast<const CancelToken*>(token)->cancelled();
}
TRT_EXPORT trt_cancel_token* trt_cancel_token_set_current(trt_cancel_token* token) { return handle(std::exchange(current_cancel_token, impl(token))); }

TRT_EXPORT trt_status* trt_set_log_callback(trt_log_fn fn, void* user_data, trt_destroy_fn destroy) {
  return guard("trt_set_log_callback", [&] { set_log_callback(fn, user_data, destroy); });
}
TRT_EXPORT trt_status* trt_set_log_level(trt_log_level level) {
  return guard("trt_set_log_level", [&] {
    TRT_CHECK(level >= TRT_LOG_DEBUG && level <= TRT_LOG_OFF, "unknown log level ", static_cast<int>(level));
    set_log_level(static_cast<LogLevel>(level));
  });
}

TRT_EXPORT void trt_memory_stats_init(trt_memory_stats* stats) {
  if (!stats) return;
  std::memset(stats, 0, sizeof *stats);
  stats->struct_size = sizeof *stats;
}

TRT_EXPORT trt_status* trt_memory_get_stats(trt_device device, trt_memory_stats* stats) {
  return guard("trt_memory_get_stats", [&] {
    require_out(stats, "stats");
    TRT_CHECK(stats->struct_size >= sizeof(size_t) && stats->struct_size <= 4096, "stats->struct_size is ", stats->struct_size, "; call trt_memory_stats_init first");
    allocator_of(device);
    const MemoryStats s = cpu_memory_stats();
    trt_memory_stats full{};
    full.struct_size = stats->struct_size;
    full.allocated_current = static_cast<int64_t>(s.allocated_bytes.current);
    full.allocated_peak = static_cast<int64_t>(s.allocated_bytes.peak);
    full.allocated_total = static_cast<int64_t>(s.allocated_bytes.allocated);
    full.freed_total = static_cast<int64_t>(s.allocated_bytes.freed);
    full.reserved_current = static_cast<int64_t>(s.reserved_bytes.current);
    full.reserved_peak = static_cast<int64_t>(s.reserved_bytes.peak);
    full.allocations = static_cast<int64_t>(s.allocations.current);
    full.segments = static_cast<int64_t>(s.segments.current);
    full.out_of_memory_count = static_cast<int64_t>(s.ooms);
    full.limit = static_cast<int64_t>(s.limit_bytes);
    std::memcpy(stats, &full, std::min(stats->struct_size, sizeof full));
  });
}
TRT_EXPORT trt_status* trt_memory_reset_peak(trt_device device) {
  return guard("trt_memory_reset_peak", [&] {
    allocator_of(device);
    cpu_reset_peak();
  });
}
TRT_EXPORT trt_status* trt_memory_empty_cache(trt_device device) {
  return guard("trt_memory_empty_cache", [&] {
    allocator_of(device);
    cpu::fft_forget_plans();
    cpu_empty_cache();
  });
}
TRT_EXPORT trt_status* trt_memory_set_limit(trt_device device, int64_t bytes) {
  return guard("trt_memory_set_limit", [&] {
    TRT_CHECK(bytes >= 0, "the limit must not be negative, got ", bytes);
    allocator_of(device);
    cpu_set_limit(static_cast<size_t>(bytes));
  });
}

TRT_EXPORT trt_status* trt_generator_create(uint64_t seed, trt_generator** out) {
  return guard("trt_generator_create", [&] {
    require_out(out, "out");
    *out = reinterpret_cast<trt_generator*>(new GeneratorImpl(seed));
  });
}
TRT_EXPORT trt_generator* trt_generator_retain(trt_generator* g) {
  if (g) generator(g)->retain();
  return g;
}
TRT_EXPORT void trt_generator_release(trt_generator* g) {
  if (g) generator(g)->release();
}
TRT_EXPORT trt_status* trt_generator_seed(trt_generator* g, uint64_t seed) {
  return guard("trt_generator_seed", [&] { generator_or_default(g).set_seed(seed); });
}
TRT_EXPORT trt_status* trt_generator_get_state(const trt_generator* g, uint64_t* seed, uint64_t* offset) {
  return guard("trt_generator_get_state", [&] {
    require_out(seed, "seed");
    require_out(offset, "offset");
    const auto s = generator_or_default(g).state();
    *seed = s.seed;
    *offset = s.offset;
  });
}
TRT_EXPORT trt_status* trt_generator_set_state(trt_generator* g, uint64_t seed, uint64_t offset) {
  return guard("trt_generator_set_state", [&] { generator_or_default(g).set_state({seed, offset}); });
}
TRT_EXPORT trt_status* trt_manual_seed(uint64_t seed) { return trt_generator_seed(nullptr, seed); }

}  // extern "C"
