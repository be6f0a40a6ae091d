/**
 * @file base.h
 * Status, version, scalars, dtypes, devices, memory, logging: what every other header stands on.
 *
 * Conventions of the whole C API:
 * - A function that can fail returns trt_status*: NULL is success, else an object that the caller owns (trt_status_release).
 *   On failure out-parameters are untouched.
 * - A handle received through an out-parameter is the caller's (trt_<type>_release, which takes NULL and may be called from any
 *   thread); a pointer that is returned is borrowed from the object named in its comment. A callback may release the objects of the call
 *   that it serves: they stay until that call is over.
 * - Nothing throws, aborts, exits, prints, or installs a signal handler.
 * - Strings are UTF-8 and NUL-terminated; lists are a pointer and a count.
 * - Enumerator values and signatures never change; a changed function gets the suffix _v2.
 */
#ifndef TENSORRT_BASE_H
#define TENSORRT_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef TRT_API
#if defined(__GNUC__) && !defined(SWIG)
#define TRT_API __attribute__((visibility("default")))
#else
#define TRT_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the headers. trt_version_string() tells that of the library. */
#define TRT_VERSION_MAJOR 0
#define TRT_VERSION_MINOR 1
#define TRT_VERSION_PATCH 0

/** Error codes; the numbers are pinned. */
typedef enum trt_code {
  TRT_OK = 0,
  TRT_INVALID_ARGUMENT = 1,    /**< wrong shape, rank, dtype, device, option value, or NULL */
  TRT_OUT_OF_RANGE = 2,        /**< an index or dimension outside its range */
  TRT_OUT_OF_MEMORY = 3,       /**< the system or the limit set by the host refused memory */
  TRT_NOT_SUPPORTED = 4,       /**< no kernel for this dtype or device */
  TRT_NOT_FOUND = 5,           /**< no such operator, file, key or plug-in */
  TRT_IO = 6,                  /**< reading or writing failed */
  TRT_DATA = 7,                /**< a file's content is not what its format demands */
  TRT_FAILED_PRECONDITION = 8, /**< the object's state forbids the call */
  TRT_CANCELLED = 9,           /**< cancelled through a trt_cancel_token */
  TRT_CALLBACK = 10,           /**< a callback of the host failed */
  TRT_INTERNAL = 11,           /**< a fault of the library */
  TRT_UNAVAILABLE = 12,        /**< a thread, library or plug-in cannot be had now */
  TRT_END_OF_DATA = 13         /**< an iterator has no further item */
} trt_code;

/** An error. Immutable; owned by whoever received it. */
typedef struct trt_status trt_status;

/** The code of a status; TRT_OK for NULL. Any thread. @since 0.1 */
TRT_API trt_code trt_status_code(const trt_status* status);
/**
 * The message (UTF-8), borrowed from the status; "" for NULL. It begins with the name that trt_status_op gives, once and followed by ": ",
 * where that is not "", and tells shapes and dtypes. Any thread. @since 0.1
 */
TRT_API const char* trt_status_message(const trt_status* status);
/**
 * The operator ("add_" for trt_add_; "add" for trt_add and trt_add_out) or else the function that failed ("trt_backward"; "trt_module_forward", whose
 * message tells the operator inside), borrowed from the status; "" when none applies: for statuses of the host, and where there was no memory for
 * a message. Any thread. @since 0.1
 */
TRT_API const char* trt_status_op(const trt_status* status);
/** Releases a status; NULL is allowed. Any thread. @since 0.1 */
TRT_API void trt_status_release(trt_status* status);
/**
 * Makes a status, for callbacks of the host that fail: it reaches the caller of the outer function unchanged. Never fails: without
 * memory it returns a preallocated out-of-memory status. `message` is copied. Any thread. @since 0.1
 */
TRT_API trt_status* trt_status_create(trt_code code, const char* message);
/** Called once when the library lets go of user_data. */
typedef void (*trt_destroy_fn)(void* user_data);
/**
 * The same with an object of the host, the exception of a language binding for example: `destroy` runs exactly once for `payload`, on any thread: when
 * nothing holds the status any more, or before this function returns when there is no memory for it. Without `destroy` no payload is kept. @since 0.1
 */
TRT_API trt_status* trt_status_create_with(trt_code code, const char* message, void* payload, trt_destroy_fn destroy);
/**
 * The payload, borrowed from the status, when it was made with this very `destroy`: so each binding finds its own. NULL otherwise, and for NULL.
 * Any thread. @since 0.1
 */
TRT_API void* trt_status_payload(const trt_status* status, trt_destroy_fn destroy);
/** The name of a code, "INVALID_ARGUMENT"; a constant. @since 0.1 */
TRT_API const char* trt_code_name(trt_code code);

/** "0.1.0", a constant. @since 0.1 */
TRT_API const char* trt_version_string(void);
/**
 * A text of one line per fact: version, instruction set in use, BLAS core (loads the BLAS), threads. `out` receives a string that the
 * caller frees with trt_string_release. Any thread. @since 0.1
 */
TRT_API trt_status* trt_build_info(char** out);
/** Frees a string that the library gave; NULL is allowed. @since 0.1 */
TRT_API void trt_string_release(char* string);
/**
 * Optional: gives back cached memory. Handles still alive stay valid. May be called more than once, from any thread. @since 0.1
 */
TRT_API void trt_shutdown(void);

/** Element types; the numbers are pinned (PyTorch's ScalarType). An element of a complex dtype is its real part and then its imaginary part. */
typedef enum trt_dtype {
  TRT_DTYPE_NONE = -1, /**< "not given", where a dtype is optional */
  TRT_UINT8 = 0,
  TRT_INT8 = 1,
  TRT_INT16 = 2,
  TRT_INT32 = 3,
  TRT_INT64 = 4,
  TRT_FLOAT16 = 5,
  TRT_FLOAT32 = 6,
  TRT_FLOAT64 = 7,
  TRT_COMPLEX64 = 9,   /**< two float32 */
  TRT_COMPLEX128 = 10, /**< two float64 */
  TRT_BOOL = 11,
  TRT_BFLOAT16 = 15
} trt_dtype;

/** Bytes of an element; 0 for an invalid dtype. @since 0.1 */
TRT_API size_t trt_dtype_size(trt_dtype dtype);
/** "float32"; "undefined" for an invalid dtype. A constant. @since 0.1 */
TRT_API const char* trt_dtype_name(trt_dtype dtype);

/** Device types; the numbers are pinned. */
typedef enum trt_device_type {
  TRT_CPU = 0,
  TRT_CUDA = 1,
  TRT_META = 2, /**< shapes and dtypes without data */
  TRT_PRIVATEUSE1 = 3,
  TRT_PRIVATEUSE2 = 4,
  TRT_PRIVATEUSE3 = 5
} trt_device_type;

/** A device: type and index (0 for the CPU). */
typedef struct trt_device {
  int32_t type; /**< a trt_device_type */
  int32_t index;
} trt_device;

/** Kinds of a trt_scalar; the numbers are pinned. */
typedef enum trt_scalar_kind { TRT_SCALAR_BOOL = 0, TRT_SCALAR_INT = 1, TRT_SCALAR_DOUBLE = 2, TRT_SCALAR_COMPLEX = 3 } trt_scalar_kind;

/** A number by value. Its kind matters in type promotion, as a Python number's does. */
typedef struct trt_scalar {
  int32_t kind; /**< a trt_scalar_kind */
  int32_t reserved;
  union {
    int64_t i; /**< for TRT_SCALAR_BOOL (0 or 1) and TRT_SCALAR_INT */
    double d;  /**< for TRT_SCALAR_DOUBLE */
    double c[2]; /**< for TRT_SCALAR_COMPLEX: real and imaginary part */
  } value;
} trt_scalar;

/** A floating-point number. @since 0.1 */
TRT_API trt_scalar trt_scalar_double(double value);
/** An integer. @since 0.1 */
TRT_API trt_scalar trt_scalar_int(int64_t value);
/** A bool. @since 0.1 */
TRT_API trt_scalar trt_scalar_bool(bool value);
/** A complex number. @since 0.1 */
TRT_API trt_scalar trt_scalar_complex(double real, double imag);

/**
 * Threads that one operator may use, the calling one included. At first the processors that the process may run on, or
 * TRT_NUM_THREADS from the environment. The pool is shared by all host threads. Results never depend on the number. Any thread.
 * @since 0.1
 */
TRT_API int32_t trt_get_num_threads(void);
/** Sets that number, 1 to 1024. Internally synchronized. @since 0.1 */
TRT_API trt_status* trt_set_num_threads(int32_t threads);

/**
 * Something that one thread can ask for to be cancelled by another. Counted; internally synchronized. A thread that has a token (see
 * trt_cancel_token_set_current) gives up at the next point where nothing is half done once the token is cancelled: the call fails with TRT_CANCELLED. Such
 * points are: before an operator, an optimizer's step and each module's forward begins, between the nodes of a backward pass, and during the wait for a data
 * loader's next batch, which the next call then gives. A backward pass under a token accumulates at its end, so that a cancelled
 * one has changed no gradient; what it did not need to retain of the graph may be freed. A forward pass keeps what finished layers did to their
 * buffers. A token stays cancelled.
 */
typedef struct trt_cancel_token trt_cancel_token;
/** A new token. Any thread. @since 0.1 */
TRT_API trt_status* trt_cancel_token_create(trt_cancel_token** out);
/** Another reference (returns its argument). NULL gives NULL. @since 0.1 */
TRT_API trt_cancel_token* trt_cancel_token_retain(trt_cancel_token* token);
/** Releases one reference; NULL is allowed; any thread. @since 0.1 */
TRT_API void trt_cancel_token_release(trt_cancel_token* token);
/** Cancels, for ever; again without effect; NULL is allowed. Any thread. @since 0.1 */
TRT_API void trt_cancel_token_cancel(trt_cancel_token* token);
/** Whether it was cancelled; false for NULL. Any thread. @since 0.1 */
TRT_API bool trt_cancel_token_is_cancelled(const trt_cancel_token* token);
/**
 * Makes a token that of the calling thread (NULL: none), which only borrows it: keep it until another one is set on this thread. Returns the previous
 * one, borrowed, to be restored. @since 0.1
 */
TRT_API trt_cancel_token* trt_cancel_token_set_current(trt_cancel_token* token);

/** Log levels; the numbers are pinned. */
typedef enum trt_log_level { TRT_LOG_DEBUG = 0, TRT_LOG_INFO = 1, TRT_LOG_WARNING = 2, TRT_LOG_ERROR = 3, TRT_LOG_OFF = 4 } trt_log_level;
/** Receives a log line (level: a trt_log_level); may be called from any thread of the library, never concurrently with itself. */
typedef void (*trt_log_fn)(int level, const char* message, void* user_data);
/**
 * Sends log lines to `fn` (NULL: nowhere, the default). `destroy` (may be NULL) runs exactly once for `user_data`, when another callback
 * replaces this one. Internally synchronized. @since 0.1
 */
TRT_API trt_status* trt_set_log_callback(trt_log_fn fn, void* user_data, trt_destroy_fn destroy);
/** Lines below this level are not made. @since 0.1 */
TRT_API trt_status* trt_set_log_level(trt_log_level level);

/**
 * Memory of one device, in bytes unless told otherwise. Set struct_size with trt_memory_stats_init.
 *
 * "Allocated" is the data of tensors, in the blocks that hold it: rounded up, to 64 bytes for small tensors, whose block also holds a
 * header of 64 bytes. "Reserved" is what was taken from the system: allocated and cached blocks, and also the library's small objects
 * (headers of tensors, nodes of graphs), which come in pieces of 64 KiB. Memory that the host lends (trt_tensor_from_blob), files mapped
 * into memory and kernels' scratch memory count nowhere.
 *
 * Current values and totals are exact when no other thread allocates or frees during the call. allocated_peak counts also free blocks
 * that wait in a thread's lists, a few MiB per thread at most; reserved_peak is exact.
 */
typedef struct trt_memory_stats {
  size_t struct_size;
  int64_t allocated_current; /**< held by tensors, views of the same data once */
  int64_t allocated_peak;
  int64_t allocated_total; /**< sum of all allocations ever */
  int64_t freed_total;
  int64_t reserved_current; /**< taken from the system, cached blocks included */
  int64_t reserved_peak;
  int64_t allocations; /**< blocks held by tensors, a count */
  int64_t segments;    /**< pieces taken from the system, a count */
  int64_t out_of_memory_count;
  int64_t limit; /**< 0: none */
} trt_memory_stats;
/** Fills in struct_size and zeroes. @since 0.1 */
TRT_API void trt_memory_stats_init(trt_memory_stats* stats);
/** The allocator's statistics. Any thread. @since 0.1 */
TRT_API trt_status* trt_memory_get_stats(trt_device device, trt_memory_stats* stats);
/** Sets the peaks to the current values. @since 0.1 */
TRT_API trt_status* trt_memory_reset_peak(trt_device device);
/**
 * Gives cached, unused memory back to the system. What other threads have in their lists follows when they next allocate or end.
 * Any thread. @since 0.1
 */
TRT_API trt_status* trt_memory_empty_cache(trt_device device);
/**
 * Limits the memory reserved (bytes, 0: no limit), small tensors and objects included: a call that needs more, although everything
 * cached was given back, fails with TRT_OUT_OF_MEMORY. What is alive above a lower limit stays. Any thread. @since 0.1
 */
TRT_API trt_status* trt_memory_set_limit(trt_device device, int64_t bytes);

/** A random stream: seed and position. Counted; internally synchronized. */
typedef struct trt_generator trt_generator;
/** A new generator. @since 0.1 */
TRT_API trt_status* trt_generator_create(uint64_t seed, trt_generator** out);
/** Another reference to it. @since 0.1 */
TRT_API trt_generator* trt_generator_retain(trt_generator* generator);
/** Releases; NULL is allowed. @since 0.1 */
TRT_API void trt_generator_release(trt_generator* generator);
/** Sets the seed and starts its stream from the beginning; NULL means the default generator. @since 0.1 */
TRT_API trt_status* trt_generator_seed(trt_generator* generator, uint64_t seed);
/** The state, to be set again later; NULL means the default generator. @since 0.1 */
TRT_API trt_status* trt_generator_get_state(const trt_generator* generator, uint64_t* seed, uint64_t* offset);
/** Sets the state; NULL means the default generator. @since 0.1 */
TRT_API trt_status* trt_generator_set_state(trt_generator* generator, uint64_t seed, uint64_t offset);
/** Seeds the default generator. @since 0.1 */
TRT_API trt_status* trt_manual_seed(uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
