// Handles of modules, optimizers, loaders and so on as Python objects: trt._C.Handle.
#include "binding.h"

namespace trt_python {

namespace {

struct HandleObject {
  PyObject_HEAD
  void* handle;
  HandleKind kind;
};

struct Kind {
  const char* name;
  void (*release)(void*);
};
template <typename T, void (*Release)(T*)>
void release(void* handle) {
  Release(static_cast<T*>(handle));
}
const Kind kKinds[] = {
    {"module", release<trt_module, trt_module_release>},
    {"optimizer", release<trt_optimizer, trt_optimizer_release>},
    {"scheduler", release<trt_scheduler, trt_scheduler_release>},
    {"dataset", release<trt_dataset, trt_dataset_release>},
    {"data_loader", release<trt_data_loader, trt_data_loader_release>},
    {"generator", release<trt_generator, trt_generator_release>},
    {"safetensors", release<trt_safetensors, trt_safetensors_release>},
    {"cancel token", release<trt_cancel_token, trt_cancel_token_release>},
    {"node", release<trt_node, trt_node_release>},
};
static_assert(sizeof kKinds / sizeof *kKinds == static_cast<size_t>(HandleKind::kCount));

PyTypeObject* handle_type;
PyObject* handle_attribute;

const Kind& kind_of(const HandleObject* self) { return kKinds[static_cast<size_t>(self->kind)]; }

void handle_dealloc(PyObject* self) {
  {
    // The last release may wait for a callback, which needs the GIL.
    const auto* h = reinterpret_cast<HandleObject*>(self);
    ReleasedGil released;
    kind_of(h).release(h->handle);
  }
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* handle_repr(PyObject* self) {
  const auto* h = reinterpret_cast<HandleObject*>(self);
  return PyUnicode_FromFormat("<trt._C.Handle of a %s at %p>", kind_of(h).name, h->handle);
}

// Two objects for one thing of the library are equal.
PyObject* handle_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || !Py_IS_TYPE(other, handle_type)) Py_RETURN_NOTIMPLEMENTED;
  const bool same = reinterpret_cast<HandleObject*>(self)->handle == reinterpret_cast<HandleObject*>(other)->handle;
  return PyBool_FromLong(same == (operation == Py_EQ));
}

Py_hash_t handle_hash(PyObject* self) { return static_cast<Py_hash_t>(reinterpret_cast<uintptr_t>(reinterpret_cast<HandleObject*>(self)->handle) >> 4); }

PyType_Slot handle_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(handle_dealloc)},
                              {Py_tp_repr, reinterpret_cast<void*>(handle_repr)},
                              {Py_tp_richcompare, reinterpret_cast<void*>(handle_compare)},
                              {Py_tp_hash, reinterpret_cast<void*>(handle_hash)},
                              {Py_tp_doc, const_cast<char*>("A counted handle of the C library.")},
                              {}};
PyType_Spec handle_spec = {"trt._C.Handle", sizeof(HandleObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

}  // namespace

PyObject* wrap_handle(void* handle, HandleKind kind) {
  if (!handle) Py_RETURN_NONE;
  auto* self = PyObject_New(HandleObject, handle_type);
  if (!self) {
    kKinds[static_cast<size_t>(kind)].release(handle);
    return nullptr;
  }
  self->handle = handle;
  self->kind = kind;
  return reinterpret_cast<PyObject*>(self);
}

bool to_handle(PyObject* object, HandleKind kind, void** out) {
  *out = nullptr;
  if (object == Py_None) return true;
  Ref attribute;
  if (!Py_IS_TYPE(object, handle_type)) {
    attribute = Ref(PyObject_GetAttr(object, handle_attribute));
    if (!attribute) PyErr_Clear();
    if (attribute.get() == Py_None) return true;
  }
  PyObject* found = attribute ? attribute.get() : object;
  const char* wanted = kKinds[static_cast<size_t>(kind)].name;
  if (!Py_IS_TYPE(found, handle_type) || reinterpret_cast<HandleObject*>(found)->kind != kind) {
    PyErr_Format(PyExc_TypeError, "a %s is needed, not %.200s", wanted, Py_TYPE(object)->tp_name);
    return false;
  }
  *out = reinterpret_cast<HandleObject*>(found)->handle;
  return true;
}

bool init_handles(PyObject* module) {
  handle_attribute = PyUnicode_InternFromString("_handle");
  handle_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&handle_spec));
  return handle_attribute && handle_type && PyModule_AddObjectRef(module, "Handle", reinterpret_cast<PyObject*>(handle_type)) == 0;
}

}  // namespace trt_python
