// trt._C.TensorBase: the object of a tensor handle, its operators of the language, and its metadata.
//
// Note [Tensor objects]
// Results are objects of the class that the package registers (trt.Tensor), a subclass of TensorBase in Python. Making one is on the path of every call:
// objects of that very class come from a list of freed ones, and enter the garbage collector's books only when they get attributes. A handle may
// have several objects, all alike; those of gradients and parameters are found again by their handle (wrap_shared).
//
// Note [Hooks and the collector]
// A function that is a hook often refers to its tensor. That cycle leads through the library, which owns the function. As long as the object is all
// that keeps the tensor, and the tensor all that keeps the hook (trt_tensor_owns_hook), the object stands for the library and shows the function
// to the collector. Other threads compute while the collector runs, but the answer must not change between its two passes over the objects: a
// function that the first pass counts and the second does not find would be taken for garbage. So the question is put in the first pass only,
// in which the collector hands each object to itself as the argument; a collector that does not do that never sees the functions.
#include "binding.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <unordered_map>

#include "arguments.h"

namespace trt_python {

PyTypeObject* tensor_base;
PyTypeObject* tensor_class;

namespace {

constexpr trt_scalar kOne = {TRT_SCALAR_INT, 0, {1}};

std::unordered_map<trt_tensor*, PyObject*>* listed;

constexpr int kMostFree = 64;
TensorObject* free_objects[kMostFree];
int free_count;

TensorObject* object_of(PyObject* self) { return reinterpret_cast<TensorObject*>(self); }

// --- life ---

PyObject* allocate(PyTypeObject* type, trt_tensor* handle) {
  TensorObject* self;
  if (type == tensor_class) {
    if (TRT_LIKELY(free_count > 0)) {
      self = free_objects[--free_count];
      PyObject_Init(reinterpret_cast<PyObject*>(self), type);
    } else {
      self = PyObject_GC_New(TensorObject, type);
    }
  } else {
    self = reinterpret_cast<TensorObject*>(type->tp_alloc(type, 0));
  }
  if (!self) {
    trt_tensor_release(handle);
    return nullptr;
  }
  self->handle = handle;
  self->dict = self->weak_references = nullptr;
  self->listed = false;
  self->hooks = nullptr;
  return reinterpret_cast<PyObject*>(self);
}

void forget_hooks(TensorObject* self) {
  for (HookRecord* r = self->hooks; r; r = r->next) r->object = nullptr;
  self->hooks = nullptr;
}

int tensor_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object_of(self)->dict);
  for (HookRecord* r = object_of(self)->hooks; r; r = r->next) {
    if (arg == self) r->owned = trt_tensor_owns_hook(tensor_of(self), r->id);
    if (r->owned) Py_VISIT(r->function);
  }
  return 0;
}
int tensor_clear(PyObject* self) {
  Py_CLEAR(object_of(self)->dict);
  // A removed hook takes its record with it, and may end anything.
  const auto first_owned = [self] {
    HookRecord* r = object_of(self)->hooks;
    while (r && !r->owned) r = r->next;
    return r;
  };
  while (HookRecord* r = first_owned()) {
    r->owned = false;
    trt_status_release(trt_tensor_remove_hook(tensor_of(self), r->id));
  }
  return 0;
}

void tensor_dealloc(PyObject* object) {
  TensorObject* self = object_of(object);
  PyTypeObject* type = Py_TYPE(object);
  if (PyObject_GC_IsTracked(object)) PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  if (self->listed) listed->erase(self->handle);
  forget_hooks(self);
  Py_CLEAR(self->dict);
  trt_tensor_release(self->handle);
  if (type == tensor_class && free_count < kMostFree) free_objects[free_count++] = self;
  else type->tp_free(object);
  Py_DECREF(type);
}

int tensor_setattro(PyObject* self, PyObject* name, PyObject* value) {
  const int result = PyObject_GenericSetAttr(self, name, value);
  if (object_of(self)->dict && !PyObject_GC_IsTracked(self)) PyObject_GC_Track(self);
  return result;
}

// Tensor(), Tensor(2, 3), Tensor([1, 2]), Tensor(tensor).
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  if (kwargs && PyDict_GET_SIZE(kwargs)) {
    PyErr_SetString(PyExc_TypeError, "Tensor() takes no keyword arguments; see trt.tensor");
    return nullptr;
  }
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  PyObject* first = n ? PyTuple_GET_ITEM(args, 0) : nullptr;
  trt_tensor* handle = nullptr;
  if (n == 1 && is_tensor(first)) {
    if (trt_status* s = trt_tensor_detach(tensor_of(first), &handle)) return raise(s);
  } else if (n == 1 && !PyLong_Check(first) && PySequence_Check(first)) {
    if (!(handle = tensor_from_data(first, trt_get_default_dtype()))) return nullptr;
  } else {
    int64_t sizes[64] = {0};
    if (n > 64) {
      PyErr_SetString(PyExc_ValueError, "a tensor has at most 64 dimensions");
      return nullptr;
    }
    for (Py_ssize_t i = 0; i < n; ++i) {
      sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(args, i));
      if (sizes[i] == -1 && PyErr_Occurred()) return nullptr;
    }
    if (trt_status* s = trt_empty(sizes, n ? static_cast<size_t>(n) : 1, TRT_DTYPE_NONE, nullptr, &handle)) return raise(s);
  }
  return allocate(type, handle);
}

// _make_subclass(cls, data, requires_grad=False): an object of a subclass on the elements of `data`, without history.
PyObject* make_subclass(PyObject*, PyObject* args) {
  PyObject *cls, *data;
  int requires_grad = 0;
  if (!PyArg_ParseTuple(args, "O!O!|p:_make_subclass", &PyType_Type, &cls, tensor_base, &data, &requires_grad)) return nullptr;
  if (!PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls), tensor_base)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of Tensor is needed");
    return nullptr;
  }
  trt_tensor* handle;
  if (trt_status* s = trt_tensor_detach(tensor_of(data), &handle)) return raise(s);
  if (requires_grad) {
    if (trt_status* s = trt_tensor_set_requires_grad(handle, true)) {
      trt_tensor_release(handle);
      return raise(s);
    }
  }
  PyObject* self = allocate(reinterpret_cast<PyTypeObject*>(cls), handle);
  if (self) list_tensor(self);
  return self;
}

// _take_handle(other): becomes an object of the other's handle.
PyObject* take_handle(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) {
    PyErr_SetString(PyExc_TypeError, "a tensor is needed");
    return nullptr;
  }
  trt_tensor* old = tensor_of(self);
  if (object_of(self)->listed) listed->erase(old);
  object_of(self)->listed = false;
  forget_hooks(object_of(self));
  object_of(self)->handle = trt_tensor_retain(tensor_of(other));
  trt_tensor_release(old);
  Py_RETURN_NONE;
}

PyObject* set_tensor_class(PyObject*, PyObject* type) {
  if (!PyType_Check(type) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type), tensor_base)) {
    PyErr_SetString(PyExc_TypeError, "a subclass of TensorBase is needed");
    return nullptr;
  }
  auto* cls = reinterpret_cast<PyTypeObject*>(type);
  if (cls->tp_basicsize != static_cast<Py_ssize_t>(sizeof(TensorObject))) {
    PyErr_SetString(PyExc_TypeError, "the class must not have slots of its own");
    return nullptr;
  }
  Py_INCREF(type);
  tensor_class = cls;
  // Without what Python does for attributes of subclasses, of which this one has none.
  cls->tp_dealloc = tensor_dealloc;
  Py_RETURN_NONE;
}

// --- operators ---

template <Binary Op>
PyObject* binary(PyObject* a, PyObject* b) {
  return dispatch_binary(*binary_functions[static_cast<int>(Op)], a, b);
}

// The commonest operators go to the library without a look at signatures.
using TensorsFn = trt_status* (*)(const trt_tensor*, const trt_tensor*, trt_tensor**);
template <Binary Op, typename F>
PyObject* fast_binary(PyObject* a, PyObject* b, F&& f) {
  if (TRT_LIKELY(is_tensor(a) && is_tensor(b))) {
    const trt_tensor *x = tensor_of(a), *y = tensor_of(b);
    trt_tensor* out = nullptr;
    trt_status* s = run(trt_tensor_numel(x) + trt_tensor_numel(y), [&] { return f(x, y, &out); });
    return TRT_LIKELY(!s) ? wrap(out) : raise(s);
  }
  return binary<Op>(a, b);
}
PyObject* tensor_add(PyObject* a, PyObject* b) {
  return fast_binary<Binary::kAdd>(a, b, [](auto* x, auto* y, auto** out) { return trt_add(x, y, kOne, out); });
}
PyObject* tensor_sub(PyObject* a, PyObject* b) {
  return fast_binary<Binary::kSub>(a, b, [](auto* x, auto* y, auto** out) { return trt_sub(x, y, kOne, out); });
}
template <Binary Op, TensorsFn F>
PyObject* two_tensors(PyObject* a, PyObject* b) {
  return fast_binary<Op>(a, b, F);
}
template <Binary Op>
PyObject* inplace(PyObject* a, PyObject* b) {
  Function* f = inplace_functions[static_cast<int>(Op)];
  if (!f) Py_RETURN_NOTIMPLEMENTED;
  return dispatch_binary(*f, a, b);
}
PyObject* tensor_pow(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return binary<Binary::kPow>(a, b);
}
PyObject* tensor_inplace_pow(PyObject* a, PyObject* b, PyObject*) { return inplace<Binary::kPow>(a, b); }

template <trt_status* (*F)(const trt_tensor*, trt_tensor**)>
PyObject* unary(PyObject* self) {
  trt_tensor* out = nullptr;
  trt_status* s = run(trt_tensor_numel(tensor_of(self)), [&] { return F(tensor_of(self), &out); });
  return give(s, out, self);
}

PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_EQ: return two_tensors<Binary::kEq, trt_eq>(a, b);
    case Py_NE: return two_tensors<Binary::kNe, trt_ne>(a, b);
    case Py_LT: return two_tensors<Binary::kLt, trt_lt>(a, b);
    case Py_LE: return two_tensors<Binary::kLe, trt_le>(a, b);
    case Py_GT: return two_tensors<Binary::kGt, trt_gt>(a, b);
    default: return two_tensors<Binary::kGe, trt_ge>(a, b);
  }
}
Py_hash_t tensor_hash(PyObject* self) { return _Py_HashPointer(self); }

// --- numbers ---

bool one_number(PyObject* self, const char* what, trt_scalar* out) {
  const int64_t n = trt_tensor_numel(tensor_of(self));
  if (n != 1) {
    if (strcmp(what, "bool") == 0)
      PyErr_Format(PyExc_RuntimeError, "Boolean value of Tensor with %s is ambiguous", n ? "more than one value" : "no values");
    else PyErr_Format(PyExc_RuntimeError, "a Tensor with %lld elements cannot be converted to %s", static_cast<long long>(n), what);
    return false;
  }
  if (trt_status* s = trt_tensor_item(tensor_of(self), out)) {
    raise(s);
    return false;
  }
  return true;
}
// A complex number without an imaginary part becomes its real one.
bool real_number(trt_scalar* s, const char* what) {
  if (s->kind != TRT_SCALAR_COMPLEX) return true;
  if (s->value.c[1] != 0) {
    PyErr_Format(PyExc_RuntimeError, "value cannot be converted to type %s without overflow: it has an imaginary part", what);
    return false;
  }
  s->kind = TRT_SCALAR_DOUBLE;
  return true;
}
int tensor_bool(PyObject* self) {
  trt_scalar s;
  if (!one_number(self, "bool", &s)) return -1;
  if (s.kind == TRT_SCALAR_COMPLEX) return s.value.c[0] != 0 || s.value.c[1] != 0;
  return s.kind == TRT_SCALAR_DOUBLE ? s.value.d != 0 : s.value.i != 0;
}
PyObject* tensor_int(PyObject* self) {
  trt_scalar s;
  if (!one_number(self, "int", &s) || !real_number(&s, "int")) return nullptr;
  return s.kind == TRT_SCALAR_DOUBLE ? PyLong_FromDouble(s.value.d) : PyLong_FromLongLong(s.value.i);
}
PyObject* tensor_float(PyObject* self) {
  trt_scalar s;
  if (!one_number(self, "float", &s) || !real_number(&s, "float")) return nullptr;
  return PyFloat_FromDouble(s.kind == TRT_SCALAR_DOUBLE ? s.value.d : static_cast<double>(s.value.i));
}
PyObject* tensor_index(PyObject* self) {
  trt_scalar s;
  if (is_floating(trt_tensor_dtype(tensor_of(self))) || is_complex(trt_tensor_dtype(tensor_of(self))) || trt_tensor_numel(tensor_of(self)) != 1) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  return one_number(self, "an index", &s) ? PyLong_FromLongLong(s.value.i) : nullptr;
}
PyObject* tensor_item(PyObject* self, PyObject*) {
  trt_scalar s;
  return one_number(self, "Scalar", &s) ? wrap_scalar(s) : nullptr;
}

// --- metadata ---

Py_ssize_t tensor_length(PyObject* self) {
  const trt_tensor* t = tensor_of(self);
  if (trt_tensor_ndim(t) == 0) {
    PyErr_SetString(PyExc_TypeError, "len() of a 0-d tensor");
    return -1;
  }
  return trt_tensor_sizes(t)[0];
}
PyObject* tensor_iter(PyObject* self) {
  if (trt_tensor_ndim(tensor_of(self)) == 0) {
    PyErr_SetString(PyExc_TypeError, "iteration over a 0-d tensor");
    return nullptr;
  }
  trt_tensor_list* list = nullptr;
  if (trt_status* s = trt_unbind(tensor_of(self), 0, &list)) return raise(s);
  Ref tensors(wrap_list(list));
  return tensors ? PyObject_GetIter(tensors.get()) : nullptr;
}
PyObject* tensor_repr(PyObject* self) {
  char* text;
  if (trt_status* s = trt_tensor_to_string(tensor_of(self), &text)) return raise(s);
  PyObject* out = PyUnicode_FromString(text);
  trt_string_release(text);
  return out;
}

PyObject* one_of(const int64_t* values, size_t ndim, PyObject* dim) {
  Py_ssize_t i = PyNumber_AsSsize_t(dim, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) return nullptr;
  const auto n = static_cast<Py_ssize_t>(ndim);
  if (i < -n || i >= n) {
    PyErr_Format(PyExc_IndexError, "Dimension out of range (expected to be in range of [%zd, %zd], but got %zd)", -n, n - 1, i);
    return nullptr;
  }
  return PyLong_FromLongLong(values[i < 0 ? i + n : i]);
}
// size() and stride(): all of them, or that of a dimension.
PyObject* dims(const char* name, PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords, bool strides) {
  const trt_tensor* t = tensor_of(self);
  const int64_t* values = strides ? trt_tensor_strides(t) : trt_tensor_sizes(t);
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  if (n + named > 1 || (named && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "dim") != 0)) {
    PyErr_Format(PyExc_TypeError, "%s(dim=None) takes one argument", name);
    return nullptr;
  }
  if (n + named == 1 && args[0] != Py_None) return one_of(values, trt_tensor_ndim(t), args[0]);
  Ref sizes(wrap_size(values, trt_tensor_ndim(t)));
  return strides && sizes ? PySequence_Tuple(sizes.get()) : sizes.release();
}
PyObject* tensor_size(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) { return dims("size", self, args, n, keywords, false); }
PyObject* tensor_stride(PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* keywords) { return dims("stride", self, args, n, keywords, true); }

PyObject* tensor_dim(PyObject* self, PyObject*) { return PyLong_FromSize_t(trt_tensor_ndim(tensor_of(self))); }
PyObject* tensor_numel(PyObject* self, PyObject*) { return PyLong_FromLongLong(trt_tensor_numel(tensor_of(self))); }
PyObject* tensor_element_size(PyObject* self, PyObject*) { return PyLong_FromSize_t(trt_dtype_size(trt_tensor_dtype(tensor_of(self)))); }
PyObject* tensor_is_contiguous(PyObject* self, PyObject*) { return PyBool_FromLong(trt_tensor_is_contiguous(tensor_of(self))); }
PyObject* tensor_is_floating(PyObject* self, PyObject*) { return PyBool_FromLong(is_floating(trt_tensor_dtype(tensor_of(self)))); }
PyObject* tensor_storage_offset(PyObject* self, PyObject*) { return PyLong_FromLongLong(trt_tensor_storage_offset(tensor_of(self))); }
PyObject* tensor_data_ptr(PyObject* self, PyObject*) { return PyLong_FromVoidPtr(trt_tensor_data(tensor_of(self))); }
PyObject* tensor_shares(PyObject* self, PyObject* other) {
  if (!is_tensor(other)) {
    PyErr_SetString(PyExc_TypeError, "a tensor is needed");
    return nullptr;
  }
  return PyBool_FromLong(trt_tensor_shares_storage(tensor_of(self), tensor_of(other)));
}
PyObject* tensor_detach(PyObject* self, PyObject*) {
  trt_tensor* out = nullptr;
  trt_status* s = trt_tensor_detach(tensor_of(self), &out);
  return s ? raise(s) : wrap(out);
}
PyObject* tensor_retain_grad(PyObject* self, PyObject*) { return give_again(trt_tensor_retain_grad(tensor_of(self)), Py_None); }
PyObject* tensor_requires_grad_(PyObject* self, PyObject* args) {
  int value = 1;
  if (!PyArg_ParseTuple(args, "|p:requires_grad_", &value)) return nullptr;
  return give_again(trt_tensor_set_requires_grad(tensor_of(self), value != 0), self);
}

PyObject* get_shape(PyObject* self, void*) { return wrap_size(trt_tensor_sizes(tensor_of(self)), trt_tensor_ndim(tensor_of(self))); }
PyObject* get_ndim(PyObject* self, void*) { return tensor_dim(self, nullptr); }
PyObject* get_dtype(PyObject* self, void*) { return wrap_dtype(trt_tensor_dtype(tensor_of(self))); }
PyObject* get_device(PyObject* self, void*) { return wrap_device(trt_tensor_device(tensor_of(self))); }
PyObject* get_requires_grad(PyObject* self, void*) { return PyBool_FromLong(trt_tensor_requires_grad(tensor_of(self))); }
PyObject* get_is_leaf(PyObject* self, void*) { return PyBool_FromLong(trt_tensor_is_leaf(tensor_of(self))); }
PyObject* get_retains_grad(PyObject* self, void*) { return PyBool_FromLong(trt_tensor_retains_grad(tensor_of(self))); }
PyObject* get_version(PyObject* self, void*) { return PyLong_FromUnsignedLong(trt_tensor_version(tensor_of(self))); }
PyObject* get_itemsize(PyObject* self, void*) { return tensor_element_size(self, nullptr); }
PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(trt_tensor_numel(tensor_of(self)) * static_cast<int64_t>(trt_dtype_size(trt_tensor_dtype(tensor_of(self)))));
}
PyObject* get_grad(PyObject* self, void*) {
  trt_tensor* grad = nullptr;
  if (trt_status* s = trt_tensor_grad(tensor_of(self), &grad)) return raise(s);
  if (!grad && !trt_tensor_is_leaf(tensor_of(self)) && !trt_tensor_retains_grad(tensor_of(self)) &&
      PyErr_WarnEx(PyExc_UserWarning, "the .grad of a tensor that is no leaf is asked for, and backward() does not fill it; call retain_grad() on the tensor before, or ask a leaf", 1) < 0)
    return nullptr;
  return wrap_shared(grad);
}
template <trt_status* (*F)(const trt_tensor*, trt_tensor**)>
PyObject* get_view(PyObject* self, void*) {
  trt_tensor* out = nullptr;
  trt_status* s = F(tensor_of(self), &out);
  return give(s, out, self);
}
PyObject* get_T(PyObject* self, void*) {
  if (trt_tensor_ndim(tensor_of(self)) != 2 &&
      PyErr_WarnEx(PyExc_UserWarning, "x.T of a tensor that is no matrix reverses its dimensions, which PyTorch deprecates: x.mT exchanges the last two, x.permute any", 1) < 0)
    return nullptr;
  return get_view<trt_T>(self, nullptr);
}
PyObject* get_grad_fn_name(PyObject* self, void*) {
  char* name = nullptr;
  if (trt_status* s = trt_tensor_grad_fn_name(tensor_of(self), &name)) return raise(s);
  if (!name) Py_RETURN_NONE;
  PyObject* out = PyUnicode_FromString(name);
  trt_string_release(name);
  return out;
}
int none_or_raise(trt_status* s) {
  if (!s) return 0;
  raise(s);
  return -1;
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
  const int on = value ? PyObject_IsTrue(value) : 0;
  if (on > 0 && !trt_tensor_is_leaf(tensor_of(self))) {
    PyErr_SetString(PyExc_RuntimeError, "you can only change requires_grad flags of leaf variables.");
    return -1;
  }
  return on < 0 ? -1 : none_or_raise(trt_tensor_set_requires_grad(tensor_of(self), on != 0));
}
int set_grad(PyObject* self, PyObject* value, void*) {
  if (value && value != Py_None && !is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %.100s", Py_TYPE(value)->tp_name);
    return -1;
  }
  const bool given = value && value != Py_None;
  if (none_or_raise(trt_tensor_set_grad(tensor_of(self), given ? tensor_of(value) : nullptr)) < 0) return -1;
  if (given) list_tensor(value);
  return 0;
}

#define TRT_FAST(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL | METH_KEYWORDS
PyMethodDef tensor_methods[] = {
    {"size", TRT_FAST(tensor_size), "size($self, dim=None)\n--\n\nThe sizes, or the size of one dimension."},
    {"stride", TRT_FAST(tensor_stride), "stride($self, dim=None)\n--\n\nThe strides in elements, or that of one dimension."},
    {"dim", tensor_dim, METH_NOARGS, "dim($self)\n--\n\nNumber of dimensions."},
    {"ndimension", tensor_dim, METH_NOARGS, "ndimension($self)\n--\n\nNumber of dimensions."},
    {"numel", tensor_numel, METH_NOARGS, "numel($self)\n--\n\nNumber of elements."},
    {"nelement", tensor_numel, METH_NOARGS, "nelement($self)\n--\n\nNumber of elements."},
    {"element_size", tensor_element_size, METH_NOARGS, "element_size($self)\n--\n\nBytes of an element."},
    {"is_floating_point", tensor_is_floating, METH_NOARGS, "is_floating_point($self)\n--\n\nWhether the dtype is a floating-point one."},
    {"storage_offset", tensor_storage_offset, METH_NOARGS, "storage_offset($self)\n--\n\nWhere in its storage the first element is, in elements."},
    {"data_ptr", tensor_data_ptr, METH_NOARGS, "data_ptr($self)\n--\n\nAddress of the first element."},
    {"item", tensor_item, METH_NOARGS, "item($self)\n--\n\nThe only element as a Python number."},
    {"detach", tensor_detach, METH_NOARGS, "detach($self)\n--\n\nThe same elements without history."},
    {"retain_grad", tensor_retain_grad, METH_NOARGS, "retain_grad($self)\n--\n\nKeeps the gradient of a tensor that is no leaf in `grad`."},
    {"requires_grad_", tensor_requires_grad_, METH_VARARGS, "requires_grad_($self, requires_grad=True, /)\n--\n\nAsks for gradients; gives self."},
    {"_is_contiguous", tensor_is_contiguous, METH_NOARGS, nullptr},
    {"_shares_storage", tensor_shares, METH_O, nullptr},
    {"_take_handle", take_handle, METH_O, nullptr},
    {"_make_subclass", make_subclass, METH_VARARGS | METH_STATIC, nullptr},
    {}};
PyGetSetDef tensor_getset[] = {
    {"shape", get_shape, nullptr, "The sizes.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"dtype", get_dtype, nullptr, "The element type.", nullptr},
    {"device", get_device, nullptr, "Where the elements are.", nullptr},
    {"requires_grad", get_requires_grad, set_requires_grad, "Whether gradients flow to this tensor.", nullptr},
    {"is_leaf", get_is_leaf, nullptr, "Whether no operator of the graph made it.", nullptr},
    {"retains_grad", get_retains_grad, nullptr, "Whether retain_grad() was called for this tensor, which is no leaf.", nullptr},
    {"grad", get_grad, set_grad, "The accumulated gradient, or None.", nullptr},
    {"itemsize", get_itemsize, nullptr, "Bytes of an element.", nullptr},
    {"nbytes", get_nbytes, nullptr, "Bytes of all elements.", nullptr},
    {"T", get_T, nullptr, "The transpose of a matrix.", nullptr},
    {"mT", get_view<trt_mT>, nullptr, "Matrices transposed: the last two dimensions exchanged.", nullptr},
    {"_version", get_version, nullptr, "How often tensors of its storage were changed in place.", nullptr},
    {"_grad_fn_name", get_grad_fn_name, nullptr, nullptr, nullptr},
    {"__dict__", PyObject_GenericGetDict, nullptr, nullptr, nullptr},
    {}};
PyMemberDef tensor_members[] = {{"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weak_references), READONLY, nullptr},
                                {}};

template <typename F>
void* slot(F* f) {
  return reinterpret_cast<void*>(f);
}
PyType_Slot tensor_slots[] = {{Py_tp_new, slot(tensor_new)},
                              {Py_tp_dealloc, slot(tensor_dealloc)},
                              {Py_tp_traverse, slot(tensor_traverse)},
                              {Py_tp_clear, slot(tensor_clear)},
                              {Py_tp_setattro, slot(tensor_setattro)},
                              {Py_tp_repr, slot(tensor_repr)},
                              {Py_tp_hash, slot(tensor_hash)},
                              {Py_tp_richcompare, slot(tensor_compare)},
                              {Py_tp_iter, slot(tensor_iter)},
                              {Py_tp_methods, tensor_methods},
                              {Py_tp_getset, tensor_getset},
                              {Py_tp_members, tensor_members},
                              {Py_nb_add, slot(tensor_add)},
                              {Py_nb_subtract, slot(tensor_sub)},
                              {Py_nb_multiply, slot(two_tensors<Binary::kMul, trt_mul>)},
                              {Py_nb_true_divide, slot(two_tensors<Binary::kDiv, trt_div>)},
                              {Py_nb_floor_divide, slot(binary<Binary::kFloorDivide>)},
                              {Py_nb_remainder, slot(binary<Binary::kRemainder>)},
                              {Py_nb_power, slot(tensor_pow)},
                              {Py_nb_matrix_multiply, slot(two_tensors<Binary::kMatmul, trt_matmul>)},
                              {Py_nb_and, slot(binary<Binary::kAnd>)},
                              {Py_nb_or, slot(binary<Binary::kOr>)},
                              {Py_nb_xor, slot(binary<Binary::kXor>)},
                              {Py_nb_lshift, slot(binary<Binary::kLeftShift>)},
                              {Py_nb_rshift, slot(binary<Binary::kRightShift>)},
                              {Py_nb_inplace_add, slot(inplace<Binary::kAdd>)},
                              {Py_nb_inplace_subtract, slot(inplace<Binary::kSub>)},
                              {Py_nb_inplace_multiply, slot(inplace<Binary::kMul>)},
                              {Py_nb_inplace_true_divide, slot(inplace<Binary::kDiv>)},
                              {Py_nb_inplace_floor_divide, slot(inplace<Binary::kFloorDivide>)},
                              {Py_nb_inplace_remainder, slot(inplace<Binary::kRemainder>)},
                              {Py_nb_inplace_power, slot(tensor_inplace_pow)},
                              {Py_nb_inplace_and, slot(inplace<Binary::kAnd>)},
                              {Py_nb_inplace_or, slot(inplace<Binary::kOr>)},
                              {Py_nb_inplace_xor, slot(inplace<Binary::kXor>)},
                              {Py_nb_inplace_lshift, slot(inplace<Binary::kLeftShift>)},
                              {Py_nb_inplace_rshift, slot(inplace<Binary::kRightShift>)},
                              {Py_nb_negative, slot(unary<trt_neg>)},
                              {Py_nb_positive, slot(unary<trt_positive>)},
                              {Py_nb_absolute, slot(unary<trt_abs>)},
                              {Py_nb_invert, slot(unary<trt_bitwise_not>)},
                              {Py_nb_bool, slot(tensor_bool)},
                              {Py_nb_int, slot(tensor_int)},
                              {Py_nb_float, slot(tensor_float)},
                              {Py_nb_index, slot(tensor_index)},
                              {Py_mp_length, slot(tensor_length)},
                              {Py_mp_subscript, slot(tensor_subscript)},
                              {Py_mp_ass_subscript, slot(tensor_ass_subscript)},
                              {Py_bf_getbuffer, slot(tensor_getbuffer)},
                              {Py_bf_releasebuffer, slot(tensor_releasebuffer)},
                              {}};
PyType_Spec tensor_spec = {"trt._C.TensorBase", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, tensor_slots};

PyMethodDef functions[] = {{"_set_tensor_class", set_tensor_class, METH_O, nullptr}, {}};

bool add_methods(PyTypeObject* type, PyMethodDef* methods) {
  for (PyMethodDef* m = methods; m->ml_name; ++m) {
    Ref descriptor(PyDescr_NewMethod(type, m));
    if (!descriptor || PyObject_SetAttrString(reinterpret_cast<PyObject*>(type), m->ml_name, descriptor.get()) < 0) return false;
  }
  return true;
}

}  // namespace

PyObject* wrap(trt_tensor* handle) {
  if (TRT_LIKELY(handle != nullptr)) return allocate(tensor_class, handle);
  Py_RETURN_NONE;
}

void list_tensor(PyObject* object) {
  TensorObject* self = object_of(object);
  if (!self->listed) self->listed = listed->emplace(self->handle, object).second;
}

void link_hook(HookRecord* record, PyObject* object) {
  TensorObject* self = object_of(object);
  record->object = self;
  record->next = self->hooks;
  self->hooks = record;
  if (!PyObject_GC_IsTracked(object)) PyObject_GC_Track(object);
}

void unlink_hook(HookRecord* record) {
  if (!record->object) return;
  HookRecord** at = &record->object->hooks;
  while (*at != record) at = &(*at)->next;
  *at = record->next;
  record->object = nullptr;
}

PyObject* wrap_shared(trt_tensor* handle) {
  const auto found = listed->find(handle);
  if (found != listed->end()) {
    trt_tensor_release(handle);
    Py_INCREF(found->second);
    return found->second;
  }
  PyObject* object = wrap(handle);
  if (object && object != Py_None) list_tensor(object);
  return object;
}

PyObject* wrap_list(trt_tensor_list* list) {
  const size_t n = trt_tensor_list_size(list);
  Ref out(PyTuple_New(static_cast<Py_ssize_t>(n)));
  for (size_t i = 0; out && i < n; ++i) {
    trt_tensor* t;
    trt_status* s = trt_tensor_list_get(list, i, &t);
    PyObject* object = s ? raise(s) : wrap(t);
    if (!object) out = Ref();
    else PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), object);
  }
  trt_tensor_list_release(list);
  return out.release();
}

bool to_scalar(PyObject* object, trt_scalar* out) {
  if (PyFloat_Check(object)) {
    *out = {TRT_SCALAR_DOUBLE, 0, {}};
    out->value.d = PyFloat_AS_DOUBLE(object);
    return true;
  }
  if (PyBool_Check(object)) {
    *out = {TRT_SCALAR_BOOL, 0, {object == Py_True}};
    return true;
  }
  if (PyLong_Check(object)) {
    *out = {TRT_SCALAR_INT, 0, {PyLong_AsLongLong(object)}};
    return !(out->value.i == -1 && PyErr_Occurred());
  }
  if (PyComplex_Check(object)) {
    const Py_complex v = PyComplex_AsCComplex(object);
    *out = {TRT_SCALAR_COMPLEX, 0, {}};
    out->value.c[0] = v.real;
    out->value.c[1] = v.imag;
    return true;
  }
  // Numbers of NumPy and their like.
  if (is_tensor(object) || PySequence_Check(object) || PyType_Check(object) || !Py_TYPE(object)->tp_as_number) return false;
  const char* name = Py_TYPE(object)->tp_name;
  if (strcmp(name, "numpy.bool_") == 0 || strcmp(name, "numpy.bool") == 0) {
    *out = {TRT_SCALAR_BOOL, 0, {PyObject_IsTrue(object) == 1}};
    return true;
  }
  if (PyIndex_Check(object)) {
    *out = {TRT_SCALAR_INT, 0, {PyNumber_AsSsize_t(object, PyExc_OverflowError)}};
    return !(out->value.i == -1 && PyErr_Occurred());
  }
  if (!Py_TYPE(object)->tp_as_number->nb_float) return false;
  *out = {TRT_SCALAR_DOUBLE, 0, {}};
  out->value.d = PyFloat_AsDouble(object);
  return !(out->value.d == -1 && PyErr_Occurred());
}

PyObject* wrap_scalar(trt_scalar s) {
  if (s.kind == TRT_SCALAR_DOUBLE) return PyFloat_FromDouble(s.value.d);
  if (s.kind == TRT_SCALAR_COMPLEX) return PyComplex_FromDoubles(s.value.c[0], s.value.c[1]);
  return s.kind == TRT_SCALAR_BOOL ? PyBool_FromLong(s.value.i != 0) : PyLong_FromLongLong(s.value.i);
}

trt_tensor* number_tensor(trt_scalar number, const trt_tensor* other) {
  const auto rank = [](trt_dtype d) { return d == TRT_BOOL ? 0 : is_complex(d) ? 3 : is_floating(d) ? 2 : 1; };
  trt_dtype dtype = TRT_DTYPE_NONE;
  if (other && number.kind <= rank(trt_tensor_dtype(other))) dtype = trt_tensor_dtype(other);
  else if (other && number.kind == TRT_SCALAR_COMPLEX) dtype = trt_tensor_dtype(other) == TRT_FLOAT64 ? TRT_COMPLEX128 : TRT_COMPLEX64;
  trt_tensor* out = nullptr;
  if (trt_status* s = trt_tensor_from_scalar(number, dtype, &out)) raise(s);
  return out;
}

bool init_tensor(PyObject* module) {
  listed = new std::unordered_map<trt_tensor*, PyObject*>;
  tensor_base = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&tensor_spec));
  tensor_class = tensor_base;
  return tensor_base && add_methods(tensor_base, element_methods) && add_methods(tensor_base, callback_methods) &&
         add_methods(tensor_base, operator_methods) && PyModule_AddObjectRef(module, "TensorBase", reinterpret_cast<PyObject*>(tensor_base)) == 0 &&
         PyModule_AddFunctions(module, functions) == 0 && PyModule_AddFunctions(module, element_functions) == 0 &&
         PyModule_AddFunctions(module, callback_functions) == 0;
}

}  // namespace trt_python
