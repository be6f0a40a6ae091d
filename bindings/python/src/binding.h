// The C++ side of the module trt._C: objects, conversions, errors.
//
// Conventions: a function that returns a PyObject* or a pointer gives nullptr with a Python exception set when it fails; one that returns bool
// gives false then. Handles that a function takes over are named `handle`, borrowed ones `tensor`. All of it needs the GIL, but for what says
// otherwise.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>
#include <utility>

#include "tensorrt/tensorrt.h"

#define TRT_LIKELY(x) __builtin_expect(!!(x), 1)

namespace trt_python {

// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* object) : object_(object) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// --- errors (errors.cpp) ---

// Raises the Python exception of a status, which it releases: the exception of the Python callback that made it, or the subclass of trt.Error that
// belongs to its code. Always gives nullptr.
PyObject* raise(trt_status* status);
// The current Python exception as a status, for callbacks: raise() raises that very exception.
trt_status* status_from_exception();
// Makes the classes and adds them to the module.
bool init_errors(PyObject* module);

// --- dtypes, devices, sizes (types.cpp) ---

PyObject* wrap_dtype(trt_dtype dtype);
PyObject* wrap_device(trt_device device);
// A trt.Size.
PyObject* wrap_size(const int64_t* sizes, size_t ndim);
// Whether the object names a dtype (a trt.dtype, or float, int, bool).
bool to_dtype(PyObject* object, trt_dtype* out);
// Whether the object is a device or names one. Sets an exception only for a text that names none.
bool to_device(PyObject* object, trt_device* out);
bool is_floating(trt_dtype dtype);
bool is_complex(trt_dtype dtype);
bool init_types(PyObject* module);

// --- handles of other kinds (handle.cpp) ---

enum class HandleKind { kModule, kOptimizer, kScheduler, kDataset, kDataLoader, kGenerator, kSafetensors, kCancelToken, kNode, kCount };
PyObject* wrap_handle(void* handle, HandleKind kind);
// The handle of a trt._C.Handle of that kind, or of an object whose attribute _handle is one; nullptr for None without an exception.
bool to_handle(PyObject* object, HandleKind kind, void** out);
bool init_handles(PyObject* module);

// --- tensors (tensor.cpp) ---

struct HookRecord;

struct TensorObject {
  PyObject_HEAD
  trt_tensor* handle;
  PyObject* dict;
  PyObject* weak_references;
  bool listed;  // in the table that finds the object of a handle
  HookRecord* hooks;  // that were added through this object and still exist
};

// A hook on a tensor. The library owns the record and with it the reference to the function; while the object lives through which the hook was
// added, that knows the record, for the sake of Python's collector (Note [Hooks and the collector] in tensor.cpp).
struct HookRecord {
  PyObject* function;
  TensorObject* object;  // null when it is gone
  HookRecord* next;
  uint64_t id;
  bool owned;  // found by the collector's pass that runs
};
void link_hook(HookRecord* record, PyObject* object);
void unlink_hook(HookRecord* record);

extern PyTypeObject* tensor_base;   // trt._C.TensorBase
extern PyTypeObject* tensor_class;  // trt.Tensor

inline bool is_tensor(PyObject* object) { return Py_TYPE(object) == tensor_class || PyObject_TypeCheck(object, tensor_base); }
inline trt_tensor* tensor_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object)->handle; }

// A trt.Tensor that owns the handle; None for nullptr.
PyObject* wrap(trt_tensor* handle);
// The same for a handle that Python may have an object of already (a gradient, a parameter): gives that object.
PyObject* wrap_shared(trt_tensor* handle);
// Makes wrap_shared find this object.
void list_tensor(PyObject* object);
// Takes the list over: a tuple of tensors.
PyObject* wrap_list(trt_tensor_list* handle);
bool init_tensor(PyObject* module);
// Elements that a call may touch while it keeps the GIL: releasing it costs about as much as an operator on so many.
constexpr int64_t kHeldElements = 4096;

// --- numbers ---

// Whether the object is a Python or NumPy number (no tensor): `out` receives it with its kind. An integer that does not fit raises OverflowError.
bool to_scalar(PyObject* object, trt_scalar* out);
PyObject* wrap_scalar(trt_scalar scalar);
// A number as a 0-d tensor that promotes as the number would beside `other` (may be null).
trt_tensor* number_tensor(trt_scalar number, const trt_tensor* other);

// --- elements (elements.cpp): lists, buffers, DLPack ---

extern PyMethodDef element_methods[];         // of TensorBase
extern PyMethodDef element_functions[];       // of the module
int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags);
void tensor_releasebuffer(PyObject* self, Py_buffer* view);
// A tensor from a number, a sequence, or an object with a buffer or __array__, copied; dtype TRT_DTYPE_NONE infers. Gives the handle.
trt_tensor* tensor_from_data(PyObject* data, trt_dtype dtype);

// --- indexing (indexing.cpp) ---

PyObject* tensor_subscript(PyObject* self, PyObject* index);
int tensor_ass_subscript(PyObject* self, PyObject* index, PyObject* value);

// --- callbacks (callbacks.cpp) ---

extern PyMethodDef callback_methods[];    // of TensorBase
extern PyMethodDef callback_functions[];  // of the module
// Learns which thread ends the interpreter.
bool init_callbacks();

// Whether a warning that a filter made an exception is raised by the call that runs in this thread, and whether there was one.
extern thread_local bool warnings_raise, warning_raised;

// Stands around calls of operators.
class WarningsRaise {
 public:
  WarningsRaise() : before_(std::exchange(warnings_raise, true)) {}
  ~WarningsRaise() { warnings_raise = before_; }
  WarningsRaise(const WarningsRaise&) = delete;
  // The result, or nullptr when a warning was raised.
  PyObject* finish(PyObject* result) const {
    if (TRT_LIKELY(!warning_raised)) return result;
    warning_raised = false;
    Py_XDECREF(result);
    return nullptr;
  }

 private:
  bool before_;
};

// --- the GIL ---

// Whether the interpreter ends. Any thread, with or without the GIL.
bool interpreter_ends();
// Whether it ends, and this thread is not the one that ends it. Any thread, with or without the GIL.
bool ends_elsewhere();
// Waits until the process has exited.
[[noreturn]] void wait_for_exit();

class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) {}
  // A thread that comes back while the interpreter ends would be unwound by force: it waits here instead.
  ~ReleasedGil() noexcept(false) {
    if (ends_elsewhere()) wait_for_exit();
    PyEval_RestoreThread(state_);
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* state_;
};

// Runs f without the GIL when it may take long: `elements` are those of its tensors.
template <typename F>
auto run(int64_t elements, F&& f) {
  if (TRT_LIKELY(elements <= kHeldElements)) return f();
  ReleasedGil released;
  return f();
}

}  // namespace trt_python
