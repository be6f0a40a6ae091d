// The few macros of the code base: branch hints, inlining, visibility.
#pragma once

#define TRT_LIKELY(x) (__builtin_expect(!!(x), 1))
#define TRT_UNLIKELY(x) (__builtin_expect(!!(x), 0))
#define TRT_NOINLINE __attribute__((noinline, cold))
#define TRT_INLINE inline __attribute__((always_inline))
#define TRT_EXPORT __attribute__((visibility("default")))

// Thread-local variables of the library use the initial-exec model: one load instead of a call to __tls_get_addr.
// They stay small (a few hundred bytes in total), so that dlopen of the library finds room in the static TLS block.
#define TRT_TLS thread_local __attribute__((tls_model("initial-exec")))

#if defined(__SANITIZE_ADDRESS__)
#define TRT_ASAN 1
#else
#define TRT_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#define TRT_TSAN 1
#else
#define TRT_TSAN 0
#endif

// TRT_CHECK(cond, parts...): a user error. Throws trt::Error with Code::kInvalidArgument and the concatenated parts.
#define TRT_CHECK(cond, ...)                                                           \
  do {                                                                                 \
    if (TRT_UNLIKELY(!(cond))) ::trt::throw_error(::trt::Code::kInvalidArgument, ::trt::str_cat(__VA_ARGS__)); \
  } while (0)

// TRT_CHECK_CODE(cond, Code::kX, parts...): a user error with another code.
#define TRT_CHECK_CODE(cond, code, ...)                                        \
  do {                                                                         \
    if (TRT_UNLIKELY(!(cond))) ::trt::throw_error(code, ::trt::str_cat(__VA_ARGS__)); \
  } while (0)

// TRT_INTERNAL(cond, parts...): an invariant of the library. Throws Code::kInternal; the message says which one broke.
#define TRT_INTERNAL(cond, ...)                                                                                  \
  do {                                                                                                           \
    if (TRT_UNLIKELY(!(cond)))                                                                                   \
      ::trt::throw_error(::trt::Code::kInternal, ::trt::str_cat("internal invariant broken: " #cond " ", ##__VA_ARGS__)); \
  } while (0)
