// Elements in and out: nested lists, objects with buffers (NumPy), DLPack.
#include <cstring>
#include <memory>
#include <string>

#include "arguments.h"
#include "binding.h"

namespace trt_python {

namespace {

// --- dtypes as struct formats ---

struct Format {
  trt_dtype dtype;
  const char* text;
};
constexpr Format kFormats[] = {{TRT_UINT8, "B"},   {TRT_INT8, "b"},    {TRT_INT16, "h"},   {TRT_INT32, "i"}, {TRT_INT64, "q"},
                               {TRT_FLOAT16, "e"}, {TRT_FLOAT32, "f"}, {TRT_FLOAT64, "d"}, {TRT_BOOL, "?"}, {TRT_COMPLEX64, "Zf"}, {TRT_COMPLEX128, "Zd"}};

const char* format_of(trt_dtype dtype) {
  for (const Format& f : kFormats)
    if (f.dtype == dtype) return f.text;
  return nullptr;
}

bool dtype_of_format(const char* format, Py_ssize_t itemsize, trt_dtype* out) {
  if (!format) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (strcmp(format, "l") == 0) format = itemsize == 8 ? "q" : "i";  // NumPy's int64
  for (const Format& f : kFormats) {
    if (strcmp(f.text, format) != 0 || static_cast<Py_ssize_t>(trt_dtype_size(f.dtype)) != itemsize) continue;
    *out = f.dtype;
    return true;
  }
  return false;
}

class Buffer {
 public:
  ~Buffer() {
    if (view.obj) PyBuffer_Release(&view);
  }
  // False without an exception when there is no buffer.
  bool get(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, &view, flags) == 0) return true;
    view.obj = nullptr;
    PyErr_Clear();
    return false;
  }
  Py_buffer view{};
};

trt_tensor* failed(trt_status* s) {
  raise(s);
  return nullptr;
}

trt_tensor* cast(trt_tensor* t, trt_dtype dtype) {
  if (!t || dtype == TRT_DTYPE_NONE || trt_tensor_dtype(t) == dtype) return t;
  trt_tensor* out = nullptr;
  trt_status* s = run(trt_tensor_numel(t), [&] { return trt_to(t, dtype, &out); });
  trt_tensor_release(t);
  return s ? failed(s) : out;
}

bool unknown_format(const Buffer& b) {
  PyErr_Format(PyExc_TypeError, "elements of the kind '%.50s' have no dtype here; known are complex128, complex64, float64, float32, float16, int64, int32, int16, int8, uint8, and bool",
               b.view.format ? b.view.format : "?");
  return false;
}

trt_tensor* copy_of_buffer(const Buffer& b) {
  trt_dtype dtype;
  if (!dtype_of_format(b.view.format, b.view.itemsize, &dtype)) return unknown_format(b), nullptr;
  const auto ndim = static_cast<size_t>(b.view.ndim);
  std::unique_ptr<int64_t[]> sizes(new int64_t[ndim + 1]);
  for (size_t i = 0; i < ndim; ++i) sizes[i] = b.view.shape[i];
  trt_tensor* out = nullptr;
  if (trt_status* s = trt_empty(sizes.get(), ndim, dtype, nullptr, &out)) return failed(s);
  if (b.view.len && PyBuffer_ToContiguous(trt_tensor_data(out), const_cast<Py_buffer*>(&b.view), b.view.len, 'C') < 0) {
    trt_tensor_release(out);
    return nullptr;
  }
  return out;
}

bool has_array(PyObject* object) {
  return !PyFloat_CheckExact(object) && !PyLong_Check(object) && !PyComplex_CheckExact(object) && !PyList_Check(object) && !PyTuple_Check(object) && !is_tensor(object) &&
         (PyObject_HasAttrString(object, "__array_interface__") || PyObject_HasAttrString(object, "__array__"));
}

Ref numpy_array(PyObject* object) {
  Ref numpy(PyImport_ImportModule("numpy"));
  return numpy ? Ref(PyObject_CallMethod(numpy.get(), "asarray", "(O)", object)) : Ref();
}

// --- nested sequences ---

// The elements of a nested sequence, collected as integers, as doubles, or as pairs of doubles (complex).
class Sequence {
 public:
  bool read(PyObject* data) { return find_shape(data) && fill(data, 0); }
  trt_tensor* tensor(trt_dtype dtype) const {
    const trt_dtype natural = any_complex_ ? complex_default() : any_float_ ? trt_get_default_dtype() : any_int_ ? TRT_INT64 : leaves_ ? TRT_BOOL : trt_get_default_dtype();
    if (dtype == TRT_DTYPE_NONE) dtype = leaf_dtype_ != TRT_DTYPE_NONE && !mixed_ ? leaf_dtype_ : natural;
    if (!any_float_ && !is_floating(dtype) && !is_complex(dtype) && dtype != TRT_BOOL && dtype != TRT_INT64 && !fits(dtype)) return nullptr;
    if (any_complex_ && !is_complex(dtype)) {
      PyErr_Format(PyExc_TypeError, "complex numbers cannot become elements of a %s tensor", trt_dtype_name(dtype));
      return nullptr;
    }
    const bool doubles = any_float_;
    trt_tensor* out = nullptr;
    trt_status* s = trt_tensor_from_data(doubles ? static_cast<const void*>(doubles_.data()) : ints_.data(), shape_.data(), shape_.size(),
                                         any_complex_ ? TRT_COMPLEX128 : doubles ? TRT_FLOAT64 : TRT_INT64, &out);
    return s ? failed(s) : cast(out, dtype);
  }

 private:
  bool fits(trt_dtype dtype) const {
    const int64_t bits = 8 * static_cast<int64_t>(trt_dtype_size(dtype));
    const int64_t high = dtype == TRT_UINT8 ? 255 : (int64_t{1} << (bits - 1)) - 1, low = dtype == TRT_UINT8 ? 0 : -high - 1;
    for (int64_t v : ints_) {
      if (v >= low && v <= high) continue;
      PyErr_Format(PyExc_RuntimeError, "value %lld cannot be converted to %s without overflow", static_cast<long long>(v), trt_dtype_name(dtype));
      return false;
    }
    return true;
  }
  static bool is_sequence(PyObject* o) { return PySequence_Check(o) && !PyUnicode_Check(o) && !is_tensor(o); }
  bool find_shape(PyObject* data) {
    Ref current = Ref::borrow(data);
    for (;;) {
      if (is_tensor(current.get())) {
        const trt_tensor* t = tensor_of(current.get());
        shape_.insert(shape_.end(), trt_tensor_sizes(t), trt_tensor_sizes(t) + trt_tensor_ndim(t));
        return true;
      }
      if (!is_sequence(current.get())) return true;
      const Py_ssize_t n = PySequence_Size(current.get());
      if (n < 0) return false;
      shape_.push_back(n);
      if (shape_.size() > 64) {
        PyErr_SetString(PyExc_ValueError, "a tensor has at most 64 dimensions");
        return false;
      }
      if (n == 0) return true;
      current = Ref(PySequence_GetItem(current.get(), 0));
      if (!current) return false;
    }
  }
  bool wrong_length(size_t depth, Py_ssize_t n) {
    PyErr_Format(PyExc_ValueError, "expected sequence of length %lld at dim %zu (got %zd)", static_cast<long long>(shape_[depth]), depth, n);
    return false;
  }
  bool fill(PyObject* data, size_t depth) {
    if (is_tensor(data)) return fill_tensor(data, depth);
    if (depth == shape_.size()) return fill_leaf(data);
    if (!is_sequence(data)) {
      PyErr_Format(PyExc_TypeError, "expected a sequence at dim %zu, got %.100s", depth, Py_TYPE(data)->tp_name);
      return false;
    }
    Ref fast(PySequence_Fast(data, "expected a sequence"));
    if (!fast) return false;
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.get());
    if (n != shape_[depth]) return wrong_length(depth, n);
    for (Py_ssize_t i = 0; i < n; ++i)
      if (!fill(PySequence_Fast_GET_ITEM(fast.get(), i), depth + 1)) return false;
    return true;
  }
  void leaf_dtype(trt_dtype d) {
    if (leaves_ > 0 && d != leaf_dtype_) mixed_ = true;
    leaf_dtype_ = d;
    ++leaves_;
  }
  static trt_dtype complex_default() { return trt_get_default_dtype() == TRT_FLOAT64 ? TRT_COMPLEX128 : TRT_COMPLEX64; }
  void push(const trt_scalar& s) {
    if (s.kind == TRT_SCALAR_COMPLEX && !any_complex_) {
      if (!any_float_) doubles_.assign(ints_.begin(), ints_.end());
      any_float_ = any_complex_ = true;
      std::vector<double> pairs;
      for (double v : doubles_) pairs.insert(pairs.end(), {v, 0});
      doubles_ = std::move(pairs);
    }
    if (any_complex_) {
      const double part = s.kind == TRT_SCALAR_COMPLEX ? s.value.c[0] : s.kind == TRT_SCALAR_DOUBLE ? s.value.d : static_cast<double>(s.value.i);
      doubles_.insert(doubles_.end(), {part, s.kind == TRT_SCALAR_COMPLEX ? s.value.c[1] : 0});
      return;
    }
    const bool is_float = s.kind == TRT_SCALAR_DOUBLE;
    if (is_float && !any_float_) {
      any_float_ = true;
      doubles_.assign(ints_.begin(), ints_.end());
    }
    any_int_ |= s.kind == TRT_SCALAR_INT;
    if (any_float_) doubles_.push_back(is_float ? s.value.d : static_cast<double>(s.value.i));
    else ints_.push_back(s.value.i);
  }
  bool fill_leaf(PyObject* data) {
    trt_scalar s;
    if (!to_scalar(data, &s)) {
      if (!PyErr_Occurred()) {
        if (PySequence_Check(data) && !PyUnicode_Check(data)) PyErr_Format(PyExc_ValueError, "the sequences are nested deeper in one place than in another");
        else PyErr_Format(PyExc_TypeError, "a tensor cannot be made of elements of type %.100s", Py_TYPE(data)->tp_name);
      }
      return false;
    }
    leaf_dtype(TRT_DTYPE_NONE);
    push(s);
    return true;
  }
  bool fill_tensor(PyObject* data, size_t depth) {
    const trt_tensor* t = tensor_of(data);
    const size_t ndim = trt_tensor_ndim(t);
    if (depth + ndim != shape_.size() || (ndim && memcmp(trt_tensor_sizes(t), shape_.data() + depth, ndim * sizeof(int64_t)) != 0)) {
      PyErr_Format(PyExc_ValueError, "the tensors in the sequence have different shapes");
      return false;
    }
    leaf_dtype(trt_tensor_dtype(t));
    const auto n = static_cast<size_t>(trt_tensor_numel(t));
    const bool floats = is_floating(trt_tensor_dtype(t)), complex = is_complex(trt_tensor_dtype(t));
    std::vector<int64_t> room(complex ? 2 * n : n);
    if (trt_status* s = trt_tensor_copy_to_host(t, room.data(), complex ? TRT_COMPLEX128 : floats ? TRT_FLOAT64 : TRT_INT64, static_cast<int64_t>(n)))
      return raise(s), false;
    for (size_t i = 0; i < n; ++i) {
      if (complex) {
        trt_scalar s = {TRT_SCALAR_COMPLEX, 0, {}};
        memcpy(s.value.c, &room[2 * i], sizeof s.value.c);
        push(s);
        continue;
      }
      trt_scalar s = {floats ? TRT_SCALAR_DOUBLE : trt_tensor_dtype(t) == TRT_BOOL ? TRT_SCALAR_BOOL : TRT_SCALAR_INT, 0, {room[i]}};
      if (floats) memcpy(&s.value.d, &room[i], sizeof(double));
      push(s);
    }
    return true;
  }

  std::vector<int64_t> shape_, ints_;
  std::vector<double> doubles_;
  bool any_float_ = false, any_int_ = false, any_complex_ = false, mixed_ = false;
  int64_t leaves_ = 0;
  trt_dtype leaf_dtype_ = TRT_DTYPE_NONE;  // of tensors; NONE for Python's numbers
};

// --- tolist ---

PyObject* nest(const trt_tensor* t, const int64_t* shape, size_t ndim, const char** at) {
  if (ndim == 0) {
    const char* p = *at;
    const trt_dtype d = trt_tensor_dtype(t);
    if (d == TRT_BOOL) {
      *at += 1;
      return PyBool_FromLong(*p);
    }
    *at += 8;
    if (is_complex(d)) {
      double v[2];
      memcpy(v, p, sizeof v);
      *at += 8;
      return PyComplex_FromDoubles(v[0], v[1]);
    }
    if (is_floating(d)) {
      double v;
      memcpy(&v, p, sizeof v);
      return PyFloat_FromDouble(v);
    }
    int64_t v;
    memcpy(&v, p, sizeof v);
    return PyLong_FromLongLong(v);
  }
  Ref out(PyList_New(shape[0]));
  for (int64_t i = 0; out && i < shape[0]; ++i) {
    PyObject* element = nest(t, shape + 1, ndim - 1, at);
    if (!element) return nullptr;
    PyList_SET_ITEM(out.get(), i, element);
  }
  return out.release();
}

PyObject* tensor_tolist(PyObject* self, PyObject*) {
  const trt_tensor* t = tensor_of(self);
  const trt_dtype d = trt_tensor_dtype(t), host = is_complex(d) ? TRT_COMPLEX128 : is_floating(d) ? TRT_FLOAT64 : d == TRT_BOOL ? TRT_BOOL : TRT_INT64;
  const int64_t n = trt_tensor_numel(t);
  std::unique_ptr<char[]> room(new char[static_cast<size_t>(n) * 16 + 16]);
  if (trt_status* s = run(n, [&] { return trt_tensor_copy_to_host(t, room.get(), host, n); })) return raise(s);
  const char* at = room.get();
  return nest(t, trt_tensor_sizes(t), trt_tensor_ndim(t), &at);
}

// The elements' bytes, row-major.
PyObject* tensor_tobytes(PyObject* self, PyObject*) {
  const trt_tensor* t = tensor_of(self);
  const int64_t n = trt_tensor_numel(t);
  const trt_dtype d = trt_tensor_dtype(t);
  Ref out(PyBytes_FromStringAndSize(nullptr, n * static_cast<Py_ssize_t>(trt_dtype_size(d))));
  if (!out) return nullptr;
  char* data = PyBytes_AS_STRING(out.get());
  if (trt_status* s = run(n, [&] { return trt_tensor_copy_to_host(t, data, d, n); })) return raise(s);
  return out.release();
}

// --- memory of other objects ---

void release_buffer(void* context) {
  if (interpreter_ends()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  delete static_cast<Buffer*>(context);
  PyGILState_Release(state);
}

// _from_buffer(object): a tensor on the object's memory.
PyObject* from_buffer(PyObject*, PyObject* object) {
  auto b = std::make_unique<Buffer>();
  if (!b->get(object, PyBUF_RECORDS) && !b->get(object, PyBUF_RECORDS_RO)) {
    PyErr_Format(PyExc_TypeError, "expected an object with a buffer, as np.ndarray, got %.100s", Py_TYPE(object)->tp_name);
    return nullptr;
  }
  trt_dtype dtype;
  if (!dtype_of_format(b->view.format, b->view.itemsize, &dtype)) return unknown_format(*b), nullptr;
  const auto ndim = static_cast<size_t>(b->view.ndim);
  std::vector<int64_t> sizes(ndim), strides(ndim);
  for (size_t i = 0; i < ndim; ++i) {
    sizes[i] = b->view.shape[i];
    if (b->view.strides[i] < 0 || b->view.strides[i] % b->view.itemsize) {
      PyErr_SetString(PyExc_ValueError, b->view.strides[i] < 0 ? "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
                                                                 "supported. (You can probably work around this by making a copy of your array with array.copy().)"
                                                               : "the strides of the array are no multiples of its element size; make a copy of it");
      return nullptr;
    }
    strides[i] = b->view.strides[i] / b->view.itemsize;
  }
  trt_tensor* out = nullptr;
  if (trt_status* s = trt_tensor_from_blob(b->view.buf, sizes.data(), strides.data(), ndim, dtype, {TRT_CPU, 0}, release_buffer, b.get(), &out)) return raise(s);
  b.release();
  return wrap(out);
}

// _from_bytes(buffer, sizes, dtype, offset): a copy of raw elements.
PyObject* from_bytes(PyObject*, PyObject* args) {
  PyObject *object, *shape, *dtype_object;
  Py_ssize_t offset = 0;
  if (!PyArg_ParseTuple(args, "OO!O|n:_from_bytes", &object, &PyTuple_Type, &shape, &dtype_object, &offset)) return nullptr;
  trt_dtype dtype;
  if (!to_dtype(dtype_object, &dtype)) return PyErr_Format(PyExc_TypeError, "a dtype is needed, not %.100s", Py_TYPE(dtype_object)->tp_name);
  std::vector<int64_t> sizes;
  int64_t bytes = static_cast<int64_t>(trt_dtype_size(dtype));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
    sizes.push_back(PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i)));
    if (PyErr_Occurred()) return nullptr;
    if (sizes.back() < 0 || __builtin_mul_overflow(bytes, sizes.back(), &bytes)) return PyErr_Format(PyExc_ValueError, "the sizes are negative or too large");
  }
  Buffer b;
  if (!b.get(object, PyBUF_SIMPLE)) return PyErr_Format(PyExc_TypeError, "a bytes-like object is needed, not %.100s", Py_TYPE(object)->tp_name);
  if (offset < 0 || offset > b.view.len || b.view.len - offset < bytes)
    return PyErr_Format(PyExc_ValueError, "%lld bytes are needed after offset %zd, the buffer has %zd", static_cast<long long>(bytes), offset, b.view.len);
  trt_tensor* out = nullptr;
  trt_status* s = trt_tensor_from_data(static_cast<const char*>(b.view.buf) + offset, sizes.data(), sizes.size(), dtype, &out);
  return s ? raise(s) : wrap(out);
}

// _from_data(data, dtype): a copy of whatever tensor_from_data takes.
PyObject* from_data(PyObject*, PyObject* const* args, Py_ssize_t n) {
  trt_dtype dtype = TRT_DTYPE_NONE;
  if (n != 2 || (args[1] != Py_None && !to_dtype(args[1], &dtype))) {
    PyErr_SetString(PyExc_TypeError, "tensor(): argument 'dtype' must be trt.dtype");
    return nullptr;
  }
  trt_tensor* t = tensor_from_data(args[0], dtype);
  return t ? wrap(t) : nullptr;
}

// --- DLPack (the protocol's structs, versions 0 and 1) ---

struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};
constexpr int32_t kDLCPU = 1, kDLCUDAHost = 3;
enum : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLComplex = 5, kDLBool = 6 };

DLDataType dlpack_type(trt_dtype d) {
  const uint8_t code = d == TRT_BOOL ? kDLBool : d == TRT_BFLOAT16 ? kDLBfloat : is_complex(d) ? kDLComplex : is_floating(d) ? kDLFloat : d == TRT_UINT8 ? kDLUInt : kDLInt;
  return {code, static_cast<uint8_t>(8 * trt_dtype_size(d)), 1};
}
bool dtype_of_dlpack(DLDataType type, trt_dtype* out) {
  for (trt_dtype d : {TRT_UINT8, TRT_INT8, TRT_INT16, TRT_INT32, TRT_INT64, TRT_FLOAT16, TRT_FLOAT32, TRT_FLOAT64, TRT_BOOL, TRT_BFLOAT16, TRT_COMPLEX64, TRT_COMPLEX128}) {
    const DLDataType t = dlpack_type(d);
    if (t.code != type.code || t.bits != type.bits || type.lanes != 1) continue;
    *out = d;
    return true;
  }
  return false;
}

template <typename Managed>
struct Exported {
  Managed managed{};
  trt_tensor* tensor;
  std::vector<int64_t> dims;
};
template <typename Managed>
void delete_exported(Managed* managed) {
  auto* e = static_cast<Exported<Managed>*>(managed->manager_ctx);
  trt_tensor_release(e->tensor);
  delete e;
}
template <typename Managed>
Managed* export_tensor(trt_tensor* handle) {
  auto* e = new Exported<Managed>;
  const size_t ndim = trt_tensor_ndim(handle);
  e->tensor = handle;
  e->dims.assign(trt_tensor_sizes(handle), trt_tensor_sizes(handle) + ndim);
  e->dims.insert(e->dims.end(), trt_tensor_strides(handle), trt_tensor_strides(handle) + ndim);
  e->managed.dl_tensor = {trt_tensor_data(handle), {kDLCPU, 0}, static_cast<int32_t>(ndim), dlpack_type(trt_tensor_dtype(handle)), e->dims.data(), e->dims.data() + ndim, 0};
  e->managed.manager_ctx = e;
  e->managed.deleter = delete_exported<Managed>;
  return &e->managed;
}
template <typename Managed>
void delete_capsule(PyObject* capsule) {
  // Whoever takes the tensor over renames the capsule.
  const char* name = PyCapsule_GetName(capsule);
  if (!name || strncmp(name, "dltensor", 8) != 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (managed && managed->deleter) managed->deleter(managed);
}

PyObject* tensor_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = Py_None, *max_version = Py_None, *device = Py_None, *copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(names), &stream, &max_version, &device, &copy)) return nullptr;
  const trt_tensor* t = tensor_of(self);
  if (trt_tensor_requires_grad(t)) {
    PyErr_SetString(PyExc_BufferError, "Can't export tensors that require gradient, use tensor.detach()");
    return nullptr;
  }
  int type = kDLCPU, id = 0;
  if (device != Py_None && !PyArg_ParseTuple(device, "ii", &type, &id)) return nullptr;
  if (trt_tensor_device(t).type != TRT_CPU || type != kDLCPU) {
    PyErr_SetString(PyExc_BufferError, "only the memory of CPU tensors can be exported, to the CPU");
    return nullptr;
  }
  int major = 0, minor = 0;
  if (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor)) return nullptr;
  trt_tensor* handle = nullptr;
  const int wants_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
  if (trt_status* s = wants_copy ? run(trt_tensor_numel(t), [&] { return trt_clone(t, &handle); }) : trt_tensor_detach(t, &handle)) return raise(s);
  PyObject* capsule;
  if (major >= 1) {
    auto* managed = export_tensor<DLManagedTensorVersioned>(handle);
    managed->major = 1;
    managed->flags = wants_copy ? 2 : 0;
    capsule = PyCapsule_New(managed, "dltensor_versioned", delete_capsule<DLManagedTensorVersioned>);
  } else {
    capsule = PyCapsule_New(export_tensor<DLManagedTensor>(handle), "dltensor", delete_capsule<DLManagedTensor>);
  }
  return capsule;
}
PyObject* tensor_dlpack_device(PyObject* self, PyObject*) {
  if (trt_tensor_device(tensor_of(self)).type != TRT_CPU) {
    PyErr_SetString(PyExc_BufferError, "only CPU tensors can be exported");
    return nullptr;
  }
  return Py_BuildValue("(ii)", kDLCPU, 0);
}

template <typename Managed>
void delete_imported(void* context) {
  auto* managed = static_cast<Managed*>(context);
  if (managed->deleter) managed->deleter(managed);
}
template <typename Managed>
PyObject* import_capsule(PyObject* capsule, const char* name, const char* used) {
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  if (!managed) return nullptr;
  const DLTensor& d = managed->dl_tensor;
  trt_dtype dtype;
  if (d.device.device_type != kDLCPU && d.device.device_type != kDLCUDAHost) return PyErr_Format(PyExc_BufferError, "only memory of the CPU can be imported");
  if (!dtype_of_dlpack(d.dtype, &dtype))
    return PyErr_Format(PyExc_BufferError, "elements of DLPack type %d with %d bits have no dtype here", d.dtype.code, d.dtype.bits);
  trt_tensor* out = nullptr;
  trt_status* s = trt_tensor_from_blob(static_cast<char*>(d.data) + d.byte_offset, d.shape, d.strides, static_cast<size_t>(d.ndim), dtype, {TRT_CPU, 0},
                                       delete_imported<Managed>, managed, &out);
  if (s) return raise(s);
  PyCapsule_SetName(capsule, used);
  PyCapsule_SetDestructor(capsule, nullptr);
  return wrap(out);
}

// _from_dlpack(capsule).
PyObject* from_dlpack(PyObject*, PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
    return import_capsule<DLManagedTensorVersioned>(capsule, "dltensor_versioned", "used_dltensor_versioned");
  if (PyCapsule_IsValid(capsule, "dltensor")) return import_capsule<DLManagedTensor>(capsule, "dltensor", "used_dltensor");
  PyErr_SetString(PyExc_TypeError, "an object with __dlpack__, or a DLPack capsule that was not used before, is needed");
  return nullptr;
}

}  // namespace

static bool all_of_numpy(PyObject* data) {
  if (!PyList_Check(data) && !PyTuple_Check(data)) return false;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(data);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (strncmp(Py_TYPE(PySequence_Fast_GET_ITEM(data, i))->tp_name, "numpy.", 6) != 0) return false;
  return n > 0;
}

trt_tensor* tensor_from_data(PyObject* data, trt_dtype dtype) {
  if (is_tensor(data)) {
    trt_tensor *plain = nullptr, *out = nullptr;
    const int64_t n = trt_tensor_numel(tensor_of(data));
    if (trt_status* s = trt_tensor_detach(tensor_of(data), &plain)) return failed(s);
    trt_status* s = run(n, [&] { return trt_clone(plain, &out); });
    trt_tensor_release(plain);
    return s ? failed(s) : cast(out, dtype);
  }
  if (has_array(data)) {
    Buffer b;
    if (b.get(data, PyBUF_FULL_RO)) return cast(copy_of_buffer(b), dtype);
    Ref array = numpy_array(data);
    if (!array) return nullptr;
    return b.get(array.get(), PyBUF_FULL_RO) ? cast(copy_of_buffer(b), dtype) : (PyErr_SetString(PyExc_TypeError, "the array has no buffer"), nullptr);
  }
  trt_scalar number;
  if (to_scalar(data, &number)) {
    trt_tensor* out = nullptr;
    trt_status* s = trt_tensor_from_scalar(number, dtype, &out);
    return s ? failed(s) : out;
  }
  if (PyErr_Occurred()) return nullptr;
  if (!PySequence_Check(data) || PyUnicode_Check(data)) {
    PyErr_Format(PyExc_TypeError, "a tensor cannot be made of an object of type %.100s", Py_TYPE(data)->tp_name);
    return nullptr;
  }
  // A list of NumPy's numbers or arrays has their dtype.
  if (dtype == TRT_DTYPE_NONE && all_of_numpy(data)) {
    Ref array = numpy_array(data);
    Buffer b;
    if (array && b.get(array.get(), PyBUF_FULL_RO))
      if (trt_tensor* made = copy_of_buffer(b)) return made;
    PyErr_Clear();  // ragged, or of another kind: told below
  }
  Sequence sequence;
  return sequence.read(data) ? sequence.tensor(dtype) : nullptr;
}

// --- the buffer of a tensor ---

namespace {
struct View {
  trt_tensor* alias;  // keeps the memory when the tensor itself gets other memory (as `out=`)
  Py_ssize_t dims[1];
};
}  // namespace

int tensor_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  const trt_tensor* t = tensor_of(self);
  const char* format = format_of(trt_tensor_dtype(t));
  const char* error = nullptr;
  if (trt_tensor_requires_grad(t)) error = "the memory of a tensor that requires grad cannot be exported; use tensor.detach()";
  else if (trt_tensor_device(t).type != TRT_CPU) error = "only the memory of CPU tensors can be exported";
  else if (!format) error = "Python has no format for bfloat16 elements; use tensor.float()";
  else if (!trt_tensor_is_contiguous(t) && ((flags & PyBUF_STRIDES) != PyBUF_STRIDES || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                                            (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS || (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS))
    error = "the tensor is not contiguous";
  else if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && trt_tensor_ndim(t) > 1) error = "the tensor is not in Fortran order";
  view->obj = nullptr;
  if (error) {
    PyErr_SetString(PyExc_BufferError, error);
    return -1;
  }
  const size_t ndim = trt_tensor_ndim(t);
  auto* v = static_cast<View*>(PyMem_Malloc(sizeof(View) + 2 * ndim * sizeof(Py_ssize_t)));
  if (!v) {
    PyErr_NoMemory();
    return -1;
  }
  if (trt_status* s = trt_tensor_detach(t, &v->alias)) {
    PyMem_Free(v);
    raise(s);
    return -1;
  }
  const auto itemsize = static_cast<Py_ssize_t>(trt_dtype_size(trt_tensor_dtype(t)));
  for (size_t i = 0; i < ndim; ++i) {
    v->dims[i] = trt_tensor_sizes(t)[i];
    v->dims[ndim + i] = trt_tensor_strides(t)[i] * itemsize;
  }
  static char nothing[16];
  void* data = trt_tensor_data(t);
  view->buf = data ? data : nothing;
  view->len = trt_tensor_numel(t) * itemsize;
  view->itemsize = itemsize;
  view->readonly = 0;
  view->ndim = static_cast<int>(ndim);
  view->format = flags & PyBUF_FORMAT ? const_cast<char*>(format) : nullptr;
  view->shape = flags & PyBUF_ND ? v->dims : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? v->dims + ndim : nullptr;
  view->suboffsets = nullptr;
  view->internal = v;
  Py_INCREF(self);
  view->obj = self;
  return 0;
}

void tensor_releasebuffer(PyObject*, Py_buffer* view) {
  auto* v = static_cast<View*>(view->internal);
  trt_tensor_release(v->alias);
  PyMem_Free(v);
}

PyMethodDef element_methods[] = {
    {"tolist", tensor_tolist, METH_NOARGS, "tolist($self)\n--\n\nThe elements as nested lists of Python numbers."},
    {"_tobytes", tensor_tobytes, METH_NOARGS, nullptr},
    {"__dlpack__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(tensor_dlpack)), METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nA DLPack capsule on the tensor's memory."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS, "__dlpack_device__($self)\n--\n\nDLPack's numbers of the device."},
    {}};
PyMethodDef element_functions[] = {
    {"_from_data", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(from_data)), METH_FASTCALL, nullptr},
    {"_from_buffer", from_buffer, METH_O, nullptr},
    {"_from_bytes", from_bytes, METH_VARARGS, nullptr},
    {"_from_dlpack", from_dlpack, METH_O, nullptr},
    {}};

}  // namespace trt_python
