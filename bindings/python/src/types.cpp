// trt.dtype, trt.device, and sizes as trt.Size.
#include <cstring>
#include <string>

#include "binding.h"

namespace trt_python {

namespace {

struct DTypeObject {
  PyObject_HEAD
  trt_dtype dtype;
};
struct DeviceObject {
  PyObject_HEAD
  trt_device device;
};

constexpr trt_dtype kDTypes[] = {TRT_UINT8, TRT_INT8, TRT_INT16, TRT_INT32, TRT_INT64, TRT_FLOAT16, TRT_FLOAT32, TRT_FLOAT64, TRT_BOOL, TRT_BFLOAT16, TRT_COMPLEX64, TRT_COMPLEX128};
constexpr int kDTypeNumbers = TRT_BFLOAT16 + 1;
struct Alias {
  const char* name;
  trt_dtype dtype;
};
constexpr Alias kAliases[] = {{"half", TRT_FLOAT16}, {"float", TRT_FLOAT32}, {"double", TRT_FLOAT64}, {"short", TRT_INT16}, {"int", TRT_INT32}, {"long", TRT_INT64}, {"cfloat", TRT_COMPLEX64}, {"cdouble", TRT_COMPLEX128}};
constexpr const char* kDeviceTypes[] = {"cpu", "cuda", "meta", "privateuse1", "privateuse2", "privateuse3"};

PyTypeObject *dtype_type, *device_type, *size_type;
PyObject* dtypes[kDTypeNumbers];

trt_dtype dtype_of(PyObject* self) { return reinterpret_cast<DTypeObject*>(self)->dtype; }
trt_device device_of(PyObject* self) { return reinterpret_cast<DeviceObject*>(self)->device; }
bool has_index(trt_device d) { return d.type != TRT_CPU && d.type != TRT_META; }
const char* device_name(trt_device d) {
  const auto i = static_cast<size_t>(d.type);
  return i < sizeof kDeviceTypes / sizeof *kDeviceTypes ? kDeviceTypes[i] : "unknown";
}

// --- dtype ---

void plain_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}
PyObject* dtype_repr(PyObject* self) { return PyUnicode_FromFormat("trt.%s", trt_dtype_name(dtype_of(self))); }
PyObject* dtype_reduce(PyObject* self, PyObject*) { return PyUnicode_FromString(trt_dtype_name(dtype_of(self))); }
PyObject* dtype_name(PyObject* self, void*) { return PyUnicode_FromString(trt_dtype_name(dtype_of(self))); }
PyObject* dtype_itemsize(PyObject* self, void*) { return PyLong_FromSize_t(trt_dtype_size(dtype_of(self))); }
PyObject* dtype_is_floating(PyObject* self, void*) { return PyBool_FromLong(is_floating(dtype_of(self))); }
PyObject* dtype_is_complex(PyObject* self, void*) { return PyBool_FromLong(is_complex(dtype_of(self))); }
PyObject* dtype_is_signed(PyObject* self, void*) { return PyBool_FromLong(dtype_of(self) != TRT_UINT8 && dtype_of(self) != TRT_BOOL); }

PyMethodDef dtype_methods[] = {{"__reduce__", dtype_reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef dtype_getset[] = {{"name", dtype_name, nullptr, "Its name, \"float32\".", nullptr},
                              {"itemsize", dtype_itemsize, nullptr, "Bytes of an element.", nullptr},
                              {"is_floating_point", dtype_is_floating, nullptr, "Whether its numbers are floating-point ones.", nullptr},
                              {"is_complex", dtype_is_complex, nullptr, "Whether its numbers are complex.", nullptr},
                              {"is_signed", dtype_is_signed, nullptr, "Whether it holds negative numbers.", nullptr},
                              {}};
PyType_Slot dtype_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(plain_dealloc)},
                             {Py_tp_repr, reinterpret_cast<void*>(dtype_repr)},
                             {Py_tp_methods, dtype_methods},
                             {Py_tp_getset, dtype_getset},
                             {Py_tp_doc, const_cast<char*>("An element type, as trt.float32.")},
                             {}};
PyType_Spec dtype_spec = {"trt.dtype", sizeof(DTypeObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, dtype_slots};

// --- device ---

bool parse_device(const char* text, trt_device* out) {
  const char* colon = strchr(text, ':');
  const size_t length = colon ? static_cast<size_t>(colon - text) : strlen(text);
  for (size_t i = 0; i < sizeof kDeviceTypes / sizeof *kDeviceTypes; ++i) {
    if (strlen(kDeviceTypes[i]) != length || strncmp(kDeviceTypes[i], text, length) != 0) continue;
    *out = {static_cast<int32_t>(i), 0};
    if (!colon) return true;
    char* end;
    const long index = strtol(colon + 1, &end, 10);
    if (colon[1] >= '0' && colon[1] <= '9' && *end == 0 && index < 1 << 16) {
      out->index = static_cast<int32_t>(index);
      return true;
    }
  }
  PyErr_Format(PyExc_RuntimeError, "Invalid device string: '%.100s'; expected cpu, meta, cuda or privateuse1 to 3, and an index as in cuda:0", text);
  return false;
}

PyObject* device_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"type", "index", nullptr};
  PyObject *type, *index = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:device", const_cast<char**>(names), &type, &index)) return nullptr;
  trt_device d{TRT_CPU, 0};
  if (!to_device(type, &d)) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "device(): 'type' must be a str or a device, not %.100s", Py_TYPE(type)->tp_name);
    return nullptr;
  }
  if (index != Py_None) {
    const long i = PyLong_AsLong(index);
    if (i == -1 && PyErr_Occurred()) return nullptr;
    d.index = static_cast<int32_t>(i);
  }
  return wrap_device(d);
}
PyObject* device_str(PyObject* self) {
  const trt_device d = device_of(self);
  return has_index(d) ? PyUnicode_FromFormat("%s:%d", device_name(d), d.index) : PyUnicode_FromString(device_name(d));
}
PyObject* device_repr(PyObject* self) {
  const trt_device d = device_of(self);
  return has_index(d) ? PyUnicode_FromFormat("device(type='%s', index=%d)", device_name(d), d.index)
                      : PyUnicode_FromFormat("device(type='%s')", device_name(d));
}
PyObject* device_compare(PyObject* a, PyObject* b, int op) {
  if (!Py_IS_TYPE(b, device_type) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const trt_device x = device_of(a), y = device_of(b);
  return PyBool_FromLong((x.type == y.type && x.index == y.index) == (op == Py_EQ));
}
Py_hash_t device_hash(PyObject* self) { return device_of(self).type * 1009 + device_of(self).index + 1; }
PyObject* device_reduce(PyObject* self, PyObject*) {
  Ref text(device_str(self));
  return text ? Py_BuildValue("O(O)", device_type, text.get()) : nullptr;
}
PyObject* get_device_type(PyObject* self, void*) { return PyUnicode_FromString(device_name(device_of(self))); }
PyObject* get_device_index(PyObject* self, void*) {
  if (!has_index(device_of(self))) Py_RETURN_NONE;
  return PyLong_FromLong(device_of(self).index);
}
PyMethodDef device_methods[] = {{"__reduce__", device_reduce, METH_NOARGS, nullptr}, {}};
PyGetSetDef device_getset[] = {{"type", get_device_type, nullptr, "\"cpu\", \"cuda\", \"meta\" ...", nullptr},
                               {"index", get_device_index, nullptr, "Its number among the devices of its type; None for the CPU.", nullptr},
                               {}};
PyType_Slot device_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(plain_dealloc)},
                              {Py_tp_new, reinterpret_cast<void*>(device_new)},
                              {Py_tp_str, reinterpret_cast<void*>(device_str)},
                              {Py_tp_repr, reinterpret_cast<void*>(device_repr)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(device_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(device_hash)},
                              {Py_tp_methods, device_methods},
                              {Py_tp_getset, device_getset},
                              {Py_tp_doc, const_cast<char*>("device(type, index=None)\n--\n\nWhere a tensor's elements are: device('cpu'), device('cuda:0').")},
                              {}};
PyType_Spec device_spec = {"trt.device", sizeof(DeviceObject), 0, Py_TPFLAGS_DEFAULT, device_slots};

PyObject* set_size_class(PyObject*, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), &PyTuple_Type)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of tuple is needed");
    return nullptr;
  }
  Py_INCREF(type);
  size_type = reinterpret_cast<PyTypeObject*>(type);
  Py_RETURN_NONE;
}
PyMethodDef functions[] = {{"_set_size_class", set_size_class, METH_O, nullptr}, {}};

}  // namespace

bool is_floating(trt_dtype dtype) { return dtype == TRT_FLOAT32 || dtype == TRT_FLOAT64 || dtype == TRT_FLOAT16 || dtype == TRT_BFLOAT16; }

bool is_complex(trt_dtype dtype) { return dtype == TRT_COMPLEX64 || dtype == TRT_COMPLEX128; }

PyObject* wrap_dtype(trt_dtype dtype) {
  PyObject* found = dtype >= 0 && dtype < kDTypeNumbers && dtypes[dtype] ? dtypes[dtype] : Py_None;
  Py_INCREF(found);
  return found;
}

PyObject* wrap_device(trt_device device) {
  auto* self = PyObject_New(DeviceObject, device_type);
  if (self) self->device = device;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* wrap_size(const int64_t* sizes, size_t ndim) {
  Ref out(size_type->tp_alloc(size_type, static_cast<Py_ssize_t>(ndim)));
  for (size_t i = 0; out && i < ndim; ++i) {
    PyObject* n = PyLong_FromLongLong(sizes[i]);
    if (!n) return nullptr;
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), n);
  }
  return out.release();
}

bool to_dtype(PyObject* object, trt_dtype* out) {
  if (Py_IS_TYPE(object, dtype_type)) *out = dtype_of(object);
  else if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) *out = TRT_FLOAT64;
  else if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) *out = TRT_INT64;
  else if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) *out = TRT_BOOL;
  else if (object == reinterpret_cast<PyObject*>(&PyComplex_Type)) *out = TRT_COMPLEX128;
  else return false;
  return true;
}

bool to_device(PyObject* object, trt_device* out) {
  if (Py_IS_TYPE(object, device_type)) {
    *out = device_of(object);
    return true;
  }
  if (!PyUnicode_Check(object)) return false;
  const char* text = PyUnicode_AsUTF8(object);
  return text && parse_device(text, out);
}

bool init_types(PyObject* module) {
  dtype_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&dtype_spec));
  device_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&device_spec));
  size_type = &PyTuple_Type;
  if (!dtype_type || !device_type || PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(dtype_type)) < 0 ||
      PyModule_AddObjectRef(module, "device", reinterpret_cast<PyObject*>(device_type)) < 0 || PyModule_AddFunctions(module, functions) < 0)
    return false;
  // A module-level dict keeps the names apart from the operators' (float, bool).
  Ref names(PyDict_New());
  if (!names) return false;
  for (trt_dtype d : kDTypes) {
    auto* object = PyObject_New(DTypeObject, dtype_type);
    if (!object) return false;
    object->dtype = d;
    dtypes[d] = reinterpret_cast<PyObject*>(object);
    if (PyDict_SetItemString(names.get(), trt_dtype_name(d), dtypes[d]) < 0) return false;
  }
  for (const Alias& a : kAliases)
    if (PyDict_SetItemString(names.get(), a.name, dtypes[a.dtype]) < 0) return false;
  return PyModule_AddObjectRef(module, "_dtypes", names.get()) == 0;
}

}  // namespace trt_python
