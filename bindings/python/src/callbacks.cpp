// Python functions that the library calls: hooks, gradients of custom functions, datasets, schedules, log lines.
//
// Note [Callbacks]
// A callback takes the GIL, on whatever thread the library calls it; an exception becomes a status (errors.cpp) and is raised again, as the same object, by the call
// that the status reaches. When the interpreter ends nothing enters it any more: callbacks fail, and what they own stays with the
// process.
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "binding.h"

namespace trt_python {

thread_local bool warnings_raise = false, warning_raised = false;

namespace {

// The thread that ends the interpreter; 0 until then.
std::atomic<unsigned long> ending_thread;

PyObject* note_end(PyObject*, PyObject*) {
  ending_thread = PyThread_get_thread_ident();
  Py_RETURN_NONE;
}
PyMethodDef note_end_method = {"_note_end", note_end, METH_NOARGS, nullptr};

class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

// user_data of every callback is the Python function.
void* hold(PyObject* function) {
  Py_INCREF(function);
  return function;
}
void drop(void* function) {
  if (interpreter_ends()) return;
  const Gil gil;
  // It may end an object whose destructor raises while another exception is set.
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_DECREF(static_cast<PyObject*>(function));
  PyErr_Restore(type, value, traceback);
}
trt_status* ended() { return trt_status_create(TRT_UNAVAILABLE, "the Python interpreter ends"); }

PyObject* wrap_borrowed(const trt_tensor* t) { return wrap(trt_tensor_retain(t)); }

Ref tuple_of(const trt_tensor* const* tensors, size_t count) {
  Ref out(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; out && i < count; ++i) {
    PyObject* t = wrap_borrowed(tensors[i]);
    if (!t) return Ref();
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), t);
  }
  return out;
}

// The tensors of a callback's result into out[0..count).
bool take_tensors(PyObject* result, trt_tensor** out, size_t count, bool may_be_none, const char* what) {
  Ref list(is_tensor(result) || (result == Py_None && may_be_none) ? PyTuple_Pack(1, result) : PySequence_Fast(result, what));
  if (!list) return false;
  if (static_cast<size_t>(PySequence_Fast_GET_SIZE(list.get())) != count) {
    PyErr_Format(PyExc_ValueError, "%s: %zu are needed, got %zd", what, count, PySequence_Fast_GET_SIZE(list.get()));
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i));
    if (is_tensor(t) || (may_be_none && t == Py_None)) continue;
    PyErr_Format(PyExc_TypeError, "%s: number %zu is no tensor but %.100s", what, i, Py_TYPE(t)->tp_name);
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    PyObject* t = PySequence_Fast_GET_ITEM(list.get(), static_cast<Py_ssize_t>(i));
    out[i] = t == Py_None ? nullptr : trt_tensor_retain(tensor_of(t));
  }
  return true;
}

trt_status* call_hook(const trt_tensor* grad, trt_tensor** out, void* record) {
  if (interpreter_ends()) return ended();
  const Gil gil;
  Ref argument(wrap_borrowed(grad));
  Ref result(argument ? PyObject_CallOneArg(static_cast<HookRecord*>(record)->function, argument.get()) : nullptr);
  if (result && result.get() != Py_None) {
    if (is_tensor(result.get())) *out = trt_tensor_retain(tensor_of(result.get()));
    else PyErr_Format(PyExc_TypeError, "a hook must return None or a tensor, not %.100s", Py_TYPE(result.get())->tp_name);
  }
  return PyErr_Occurred() ? status_from_exception() : nullptr;
}

void drop_hook(void* data) {
  if (interpreter_ends()) return;
  auto* record = static_cast<HookRecord*>(data);
  PyObject* function = record->function;
  {
    const Gil gil;
    unlink_hook(record);
    delete record;
  }
  drop(function);
}

trt_status* call_backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* function) {
  if (interpreter_ends()) return ended();
  const Gil gil;
  Ref arguments = tuple_of(grads, grads_count);
  Ref result(arguments ? PyObject_CallOneArg(static_cast<PyObject*>(function), arguments.get()) : nullptr);
  return result && take_tensors(result.get(), out, out_count, true, "gradients of a custom function") ? nullptr : status_from_exception();
}

trt_status* call_dataset(int64_t index, trt_tensor** out, size_t fields, void* function) {
  if (interpreter_ends()) return ended();
  const Gil gil;
  Ref result(PyObject_CallFunction(static_cast<PyObject*>(function), "L", static_cast<long long>(index)));
  return result && take_tensors(result.get(), out, fields, false, "tensors of a sample") ? nullptr : status_from_exception();
}

trt_status* call_map(const trt_tensor* const* in, size_t count, trt_tensor** out, size_t fields, void* function) {
  if (interpreter_ends()) return ended();
  const Gil gil;
  Ref arguments = tuple_of(in, count);
  Ref result(arguments ? PyObject_CallObject(static_cast<PyObject*>(function), arguments.get()) : nullptr);
  return result && take_tensors(result.get(), out, fields, false, "tensors of a sample") ? nullptr : status_from_exception();
}

trt_status* call_schedule(int64_t epoch, size_t group, double* out, void* function) {
  if (interpreter_ends()) return ended();
  const Gil gil;
  Ref result(PyObject_CallFunction(static_cast<PyObject*>(function), "Ln", static_cast<long long>(epoch), static_cast<Py_ssize_t>(group)));
  if (result) *out = PyFloat_AsDouble(result.get());
  return PyErr_Occurred() ? status_from_exception() : nullptr;
}

void call_log(int level, const char* message, void* function) {
  if (interpreter_ends()) return;
  const Gil gil;
  Ref result(PyObject_CallFunction(static_cast<PyObject*>(function), "is", level, message));
  if (!result) PyErr_WriteUnraisable(static_cast<PyObject*>(function));
}

// How many Python calls lie between the library and the first code that is not of this package, as warnings count them.
int level_of_caller() {
  int level = 1;
  Ref frame = Ref::borrow(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (; frame; ++level) {
    Ref globals(PyObject_GetAttrString(frame.get(), "f_globals"));
    PyObject* name = globals && PyDict_Check(globals.get()) ? PyDict_GetItemString(globals.get(), "__name__") : nullptr;
    const char* text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    if (!text || (strcmp(text, "trt") != 0 && strncmp(text, "trt.", 4) != 0)) break;
    frame = Ref(PyObject_GetAttrString(frame.get(), "f_back"));
    if (frame && frame.get() == Py_None) break;
  }
  PyErr_Clear();
  return level;
}

// Python code runs in the midst of an operator; what it raises waits until the operator has ended (WarningsRaise).
void call_warning(int level, const char* message, void*) {
  constexpr int kWarning = 2;
  if (level < kWarning || interpreter_ends()) return;
  const Gil gil;
  if (PyErr_Occurred() || PyErr_WarnEx(PyExc_UserWarning, message, level_of_caller()) == 0) return;
  if (warnings_raise) warning_raised = true;
  else PyErr_WriteUnraisable(nullptr);
}

bool callable(PyObject* function) {
  if (PyCallable_Check(function)) return true;
  PyErr_Format(PyExc_TypeError, "a callable is needed, not %.100s", Py_TYPE(function)->tp_name);
  return false;
}

// --- registration ---

PyObject* add_hook(PyObject* self, PyObject* function) {
  if (!callable(function)) return nullptr;
  auto* record = new HookRecord{function, nullptr, nullptr, 0, false};
  hold(function);
  uint64_t id = 0;
  if (trt_status* s = trt_tensor_add_hook(tensor_of(self), call_hook, record, drop_hook, &id)) return raise(s);
  record->id = id;
  link_hook(record, self);
  return PyLong_FromUnsignedLongLong(id);
}

// Borrowed handles of a sequence of tensors.
class TensorList {
 public:
  // `missing`: None stands for nullptr.
  bool read(PyObject* object, const char* what, bool missing = false) {
    list_ = Ref(PySequence_Fast(object, what));
    if (!list_) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list_.get()); ++i) {
      PyObject* t = PySequence_Fast_GET_ITEM(list_.get(), i);
      if (!is_tensor(t) && !(missing && t == Py_None)) {
        PyErr_Format(PyExc_TypeError, "%s: number %zd is no tensor but %.100s", what, i, Py_TYPE(t)->tp_name);
        return false;
      }
      handles.push_back(t == Py_None ? nullptr : tensor_of(t));
    }
    return true;
  }
  const trt_tensor* const* data() const { return handles.data(); }
  size_t size() const { return handles.size(); }

  std::vector<trt_tensor*> handles;

 private:
  Ref list_;
};

PyObject* tuple_taking(std::vector<trt_tensor*> handles) {
  Ref out(PyTuple_New(static_cast<Py_ssize_t>(handles.size())));
  for (size_t i = 0; i < handles.size(); ++i) {
    PyObject* t = out ? wrap(handles[i]) : (trt_tensor_release(handles[i]), nullptr);
    if (!t) out = Ref();
    else PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i), t);
  }
  return out.release();
}

// _custom_function(name, inputs, outputs, backward): the outputs with history.
PyObject* custom_function(PyObject*, PyObject* args) {
  const char* name;
  PyObject *inputs, *outputs, *function;
  if (!PyArg_ParseTuple(args, "sOOO:_custom_function", &name, &inputs, &outputs, &function)) return nullptr;
  TensorList in, out;
  if (!callable(function) || !in.read(inputs, "inputs") || !out.read(outputs, "outputs")) return nullptr;
  std::vector<trt_tensor*> made(out.size());
  trt_status* s = trt_custom_function(name, in.data(), in.size(), out.data(), out.size(), call_backward, hold(function), drop, made.data());
  return s ? raise(s) : tuple_taking(std::move(made));
}

// _grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused).
PyObject* grad(PyObject*, PyObject* args) {
  PyObject *outputs, *inputs, *grads;
  int retain_graph, create_graph, allow_unused;
  if (!PyArg_ParseTuple(args, "OOOppp:_grad", &outputs, &inputs, &grads, &retain_graph, &create_graph, &allow_unused)) return nullptr;
  TensorList out, in, given;
  if (!out.read(outputs, "outputs") || !in.read(inputs, "inputs") || !given.read(grads, "grad_outputs", true)) return nullptr;
  std::vector<trt_tensor*> made(in.size());
  trt_status* s;
  {
    ReleasedGil released;
    s = trt_grad(out.data(), out.size(), in.data(), in.size(), given.data(), given.size(), retain_graph != 0, create_graph != 0, allow_unused != 0, made.data());
  }
  return s ? raise(s) : tuple_taking(std::move(made));
}

// _dataset_from_callback(size, fields, function).
PyObject* dataset_from_callback(PyObject*, PyObject* args) {
  long long size;
  Py_ssize_t fields;
  PyObject* function;
  if (!PyArg_ParseTuple(args, "LnO:_dataset_from_callback", &size, &fields, &function) || !callable(function)) return nullptr;
  trt_dataset* out = nullptr;
  trt_status* s = trt_dataset_from_callback(size, static_cast<size_t>(fields), call_dataset, hold(function), drop, &out);
  return s ? raise(s) : wrap_handle(out, HandleKind::kDataset);
}
// _dataset_map(dataset, fields, function).
PyObject* dataset_map(PyObject*, PyObject* args) {
  PyObject *dataset, *function;
  Py_ssize_t fields;
  void* handle;
  if (!PyArg_ParseTuple(args, "OnO:_dataset_map", &dataset, &fields, &function) || !callable(function) ||
      !to_handle(dataset, HandleKind::kDataset, &handle))
    return nullptr;
  trt_dataset* out = nullptr;
  trt_status* s = trt_dataset_map(static_cast<trt_dataset*>(handle), static_cast<size_t>(fields), call_map, hold(function), drop, &out);
  return s ? raise(s) : wrap_handle(out, HandleKind::kDataset);
}
// _lambda_lr(optimizer, function(epoch, group)).
PyObject* lambda_lr(PyObject*, PyObject* args) {
  PyObject *optimizer, *function;
  void* handle;
  if (!PyArg_ParseTuple(args, "OO:_lambda_lr", &optimizer, &function) || !callable(function) || !to_handle(optimizer, HandleKind::kOptimizer, &handle)) return nullptr;
  trt_scheduler* out = nullptr;
  trt_status* s = trt_lambda_lr_create(static_cast<trt_optimizer*>(handle), call_schedule, hold(function), drop, &out);
  return s ? raise(s) : wrap_handle(out, HandleKind::kScheduler);
}
// _warn_of_logs(): warnings of the library become Python's.
PyObject* warn_of_logs(PyObject*, PyObject*) {
  trt_status* s;
  {
    ReleasedGil released;
    s = trt_set_log_callback(call_warning, nullptr, nullptr);
  }
  if (s) return raise(s);
  Py_RETURN_NONE;
}
// _set_log_callback(function(level, message) or None).
PyObject* set_log_callback(PyObject*, PyObject* function) {
  if (function != Py_None && !callable(function)) return nullptr;
  const bool given = function != Py_None;
  void* data = given ? hold(function) : nullptr;
  trt_status* s;
  {
    // The callback of another thread may run, which needs the GIL.
    ReleasedGil released;
    s = trt_set_log_callback(given ? call_log : nullptr, data, given ? drop : nullptr);
  }
  if (s) return raise(s);
  Py_RETURN_NONE;
}

// --- functions with raw arrays ---

bool read_strings(PyObject* object, std::vector<Ref>* keep, std::vector<const char*>* out) {
  Ref list(PySequence_Fast(object, "a sequence of str is needed"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    const char* text = PyUnicode_Check(item) ? PyUnicode_AsUTF8(item) : nullptr;
    if (!text) {
      if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "a str is needed, not %.100s", Py_TYPE(item)->tp_name);
      return false;
    }
    out->push_back(text);
  }
  keep->push_back(std::move(list));
  return true;
}

// _safetensors_save(path, names, tensors, keys, values).
PyObject* safetensors_save(PyObject*, PyObject* args) {
  const char* path;
  PyObject *names, *tensors, *keys, *values;
  if (!PyArg_ParseTuple(args, "sOOOO:_safetensors_save", &path, &names, &tensors, &keys, &values)) return nullptr;
  std::vector<Ref> keep;
  std::vector<const char*> name_list, key_list, value_list;
  TensorList list;
  if (!read_strings(names, &keep, &name_list) || !read_strings(keys, &keep, &key_list) || !read_strings(values, &keep, &value_list) ||
      !list.read(tensors, "tensors"))
    return nullptr;
  if (list.size() != name_list.size() || key_list.size() != value_list.size()) return PyErr_Format(PyExc_ValueError, "lists of equal length are needed");
  trt_status* s;
  {
    ReleasedGil released;
    s = trt_safetensors_save(path, name_list.data(), list.data(), list.size(), key_list.data(), value_list.data(), key_list.size());
  }
  if (s) return raise(s);
  Py_RETURN_NONE;
}

// _optimizer_add_group(optimizer, params, names, values).
PyObject* optimizer_add_group(PyObject*, PyObject* args) {
  PyObject *optimizer, *params, *names, *values;
  void* handle;
  if (!PyArg_ParseTuple(args, "OOOO!:_optimizer_add_group", &optimizer, &params, &names, &PyList_Type, &values) ||
      !to_handle(optimizer, HandleKind::kOptimizer, &handle))
    return nullptr;
  std::vector<Ref> keep;
  std::vector<const char*> name_list;
  std::vector<double> value_list;
  TensorList list;
  if (!read_strings(names, &keep, &name_list) || !list.read(params, "params")) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(values); ++i) value_list.push_back(PyFloat_AsDouble(PyList_GET_ITEM(values, i)));
  if (PyErr_Occurred()) return nullptr;
  if (value_list.size() != name_list.size()) return PyErr_Format(PyExc_ValueError, "lists of equal length are needed");
  trt_status* s = trt_optimizer_add_group(static_cast<trt_optimizer*>(handle), list.data(), list.size(), name_list.data(), value_list.data(), value_list.size());
  if (s) return raise(s);
  Py_RETURN_NONE;
}

// --- operators by name ---

class Boxed {
 public:
  bool read(PyObject* o, trt_value* v) {
    *v = {};
    trt_scalar number;
    trt_dtype dtype;
    void* handle;
    if (o == Py_None) {
      v->kind = TRT_VALUE_NONE;
    } else if (is_tensor(o)) {
      v->kind = TRT_VALUE_TENSOR;
      v->v.tensor = tensor_of(o);
    } else if (!PyType_Check(o) && to_scalar(o, &number)) {
      v->kind = number.kind == TRT_SCALAR_BOOL ? TRT_VALUE_BOOL : number.kind == TRT_SCALAR_INT ? TRT_VALUE_INT : number.kind == TRT_SCALAR_DOUBLE ? TRT_VALUE_DOUBLE : TRT_VALUE_COMPLEX;
      if (number.kind == TRT_SCALAR_COMPLEX) v->v.c[0] = number.value.c[0], v->v.c[1] = number.value.c[1];
      else if (number.kind == TRT_SCALAR_DOUBLE) v->v.d = number.value.d;
      else v->v.i = number.value.i;
    } else if (PyErr_Occurred()) {
      return false;
    } else if (PyUnicode_Check(o)) {
      v->kind = TRT_VALUE_STRING;
      v->v.string = PyUnicode_AsUTF8(o);
      return v->v.string != nullptr;
    } else if (to_dtype(o, &dtype)) {
      v->kind = TRT_VALUE_DTYPE;
      v->v.i = dtype;
    } else if (to_device(o, &v->v.device)) {
      v->kind = TRT_VALUE_DEVICE;
    } else if (PyList_Check(o) || PyTuple_Check(o)) {
      return read_list(o, v);
    } else if (to_handle(o, HandleKind::kGenerator, &handle)) {
      v->kind = TRT_VALUE_GENERATOR;
      v->v.generator = static_cast<trt_generator*>(handle);
    } else {
      PyErr_Format(PyExc_TypeError, "a %.100s cannot be passed to an operator", Py_TYPE(o)->tp_name);
      return false;
    }
    return true;
  }

 private:
  bool read_list(PyObject* o, trt_value* v) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    bool tensors = false, doubles = false;
    for (Py_ssize_t i = 0; i < n; ++i) {
      tensors |= is_tensor(PySequence_Fast_GET_ITEM(o, i));
      doubles |= PyFloat_Check(PySequence_Fast_GET_ITEM(o, i)) != 0;
    }
    v->count = static_cast<size_t>(n);
    rooms_.push_back(std::make_unique<int64_t[]>(static_cast<size_t>(n) + 1));
    int64_t* room = rooms_.back().get();
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* e = PySequence_Fast_GET_ITEM(o, i);
      if (tensors) {
        if (!is_tensor(e) && e != Py_None) {
          PyErr_SetString(PyExc_TypeError, "a list of tensors holds something else");
          return false;
        }
        reinterpret_cast<trt_tensor**>(room)[i] = e == Py_None ? nullptr : tensor_of(e);
      } else if (doubles) {
        reinterpret_cast<double*>(room)[i] = PyFloat_AsDouble(e);
      } else {
        room[i] = PyLong_AsLongLong(e);
      }
      if (PyErr_Occurred()) return false;
    }
    v->kind = tensors ? TRT_VALUE_TENSOR_LIST : doubles ? TRT_VALUE_DOUBLE_LIST : TRT_VALUE_INT_LIST;
    if (tensors) v->v.tensors = reinterpret_cast<trt_tensor**>(room);
    else if (doubles) v->v.doubles = reinterpret_cast<double*>(room);
    else v->v.ints = room;
    return true;
  }
  std::vector<std::unique_ptr<int64_t[]>> rooms_;
};

PyObject* unbox(const trt_value& v, PyObject* const* args, Py_ssize_t count) {
  switch (v.kind) {
    case TRT_VALUE_TENSOR:
      // An operator in place gives its argument again.
      for (Py_ssize_t i = 0; i < count; ++i)
        if (is_tensor(args[i]) && tensor_of(args[i]) == v.v.tensor) return Ref::borrow(args[i]).release();
      return wrap(trt_tensor_retain(v.v.tensor));
    case TRT_VALUE_TENSOR_LIST: return tuple_of(v.v.tensors, v.count).release();
    case TRT_VALUE_BOOL: return PyBool_FromLong(v.v.i != 0);
    case TRT_VALUE_INT: return PyLong_FromLongLong(v.v.i);
    case TRT_VALUE_DOUBLE: return PyFloat_FromDouble(v.v.d);
    case TRT_VALUE_COMPLEX: return PyComplex_FromDoubles(v.v.c[0], v.v.c[1]);
    default: Py_RETURN_NONE;
  }
}

// _op_call(name, *args, **kwargs).
PyObject* op_call(PyObject*, PyObject* const* args, Py_ssize_t nargs, PyObject* keywords) {
  const char* name = nargs > 0 && PyUnicode_Check(args[0]) ? PyUnicode_AsUTF8(args[0]) : nullptr;
  if (!name) return PyErr_Occurred() ? nullptr : PyErr_Format(PyExc_TypeError, "the name of an operator is needed");
  const Py_ssize_t named = keywords ? PyTuple_GET_SIZE(keywords) : 0, count = nargs - 1 + named;
  Boxed boxed;
  std::vector<trt_value> values(static_cast<size_t>(count));
  std::vector<const char*> names(static_cast<size_t>(count), nullptr);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!boxed.read(args[1 + i], &values[static_cast<size_t>(i)])) return nullptr;
    if (i >= nargs - 1 && !(names[static_cast<size_t>(i)] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, i - (nargs - 1))))) return nullptr;
  }
  trt_value* out = nullptr;
  size_t out_count = 0;
  trt_status* s;
  {
    ReleasedGil released;
    s = trt_op_call(name, values.data(), names.data(), static_cast<size_t>(count), &out, &out_count);
  }
  if (s) return raise(s);
  Ref results(PyTuple_New(static_cast<Py_ssize_t>(out_count)));
  for (size_t i = 0; results && i < out_count; ++i) {
    PyObject* r = unbox(out[i], args + 1, count);
    if (!r) results = Ref();
    else PyTuple_SET_ITEM(results.get(), static_cast<Py_ssize_t>(i), r);
  }
  trt_values_release(out, out_count);
  if (results && out_count == 1) return Ref::borrow(PyTuple_GET_ITEM(results.get(), 0)).release();
  return results.release();
}

}  // namespace

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

bool ends_elsewhere() { return interpreter_ends() && ending_thread.load() != PyThread_get_thread_ident(); }

void wait_for_exit() {
  for (;;) pause();
}

bool init_callbacks() {
  Ref atexit(PyImport_ImportModule("atexit")), function(PyCFunction_New(&note_end_method, nullptr));
  Ref done(atexit && function ? PyObject_CallMethod(atexit.get(), "register", "O", function.get()) : nullptr);
  return static_cast<bool>(done);
}

PyMethodDef callback_methods[] = {{"_add_hook", add_hook, METH_O, nullptr}, {}};
PyMethodDef callback_functions[] = {
    {"_custom_function", custom_function, METH_VARARGS, nullptr},
    {"_grad", grad, METH_VARARGS, nullptr},
    {"_dataset_from_callback", dataset_from_callback, METH_VARARGS, nullptr},
    {"_dataset_map", dataset_map, METH_VARARGS, nullptr},
    {"_lambda_lr", lambda_lr, METH_VARARGS, nullptr},
    {"_set_log_callback", set_log_callback, METH_O, nullptr},
    {"_warn_of_logs", warn_of_logs, METH_NOARGS, nullptr},
    {"_safetensors_save", safetensors_save, METH_VARARGS, nullptr},
    {"_optimizer_add_group", optimizer_add_group, METH_VARARGS, nullptr},
    {"_op_call", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(op_call)), METH_FASTCALL | METH_KEYWORDS,
     "_op_call(name, *args, **kwargs): calls an operator of the table, with overload (\"add.Scalar\")."},
    {}};

}  // namespace trt_python
