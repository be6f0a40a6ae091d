// The private module trt._C: everything of the C API but the operators, as flat functions, plus the types of src/*.cpp.
//
// The functions are declared by declarations.i (bindings/swig/declare.py makes it of the headers and tells the patterns). A status becomes an exception,
// outputs become results: one output itself, several a list. Functions with callbacks or raw memory are in src/callbacks.cpp and src/elements.cpp,
// the operators in operators.cpp (generate.py).
%module _C

%{
#include "arguments.h"
#include "binding.h"

#include <memory>
#include <string>
#include <vector>

using namespace trt_python;

namespace {
struct StateDict {
  ~StateDict() { trt_state_dict_release(handle); }
  trt_state_dict* handle = nullptr;
};

// One output itself, several as a list (no output is one). Takes both over.
PyObject* append(PyObject* result, PyObject* output) {
  if (!output || result == Py_None) {
    Py_XDECREF(result);
    return output;
  }
  if (!PyList_Check(result)) return Py_BuildValue("[NN]", result, output);
  const int failed = PyList_Append(result, output);
  Py_DECREF(output);
  if (failed) Py_CLEAR(result);
  return result;
}

bool init_module(PyObject* module) {
  if (!init_errors(module) || !init_types(module) || !init_handles(module) || !init_operators(module) || !init_tensor(module) || !init_callbacks()) return false;
  // The operators stand in a dict, by name, with the group of each.
  Ref functions(PyDict_New()), groups(PyDict_New()), package(PyUnicode_FromString("trt"));
  if (!functions || !groups || !package) return false;
  for (OperatorEntry* e = operator_functions; e->method.ml_name; ++e) {
    Ref function(PyCFunction_NewEx(&e->method, module, package.get())), group(PyUnicode_FromString(e->group));
    if (!function || !group || PyDict_SetItemString(functions.get(), e->method.ml_name, function.get()) < 0 ||
        PyDict_SetItemString(groups.get(), e->method.ml_name, group.get()) < 0)
      return false;
  }
  return PyModule_AddObjectRef(module, "_operators", functions.get()) == 0 && PyModule_AddObjectRef(module, "_groups", groups.get()) == 0;
}
}  // namespace
%}

%include <stdint.i>

// Objects count their handles; scopes of handles would release what an object owns.
%rename("$ignore", regextarget=1) "_(retain|release)$";
%rename("$ignore", regextarget=1) "^trt_(scope|status|scalar|string|tensor_list|state_dict)_";
%rename("$ignore", regextarget=1) "^trt_tensor_(sizes|strides)$";
%ignore trt_safetensors_sizes;
%ignore trt_value;
%ignore trt_scalar;
%ignore trt_device;

// Everything may compute, wait or call back; what does not is too cheap for that below.
%exception {
  {
    ReleasedGil released;
    $action
  }
}
%define TRT_TRIVIAL(name)
%exception name { $action }
%enddef
TRT_TRIVIAL(trt_grad_mode)
TRT_TRIVIAL(trt_set_grad_mode)
TRT_TRIVIAL(trt_inference_mode)
TRT_TRIVIAL(trt_set_inference_mode)
TRT_TRIVIAL(trt_cancel_token_create)
TRT_TRIVIAL(trt_cancel_token_is_cancelled)
TRT_TRIVIAL(trt_cancel_token_set_current)
TRT_TRIVIAL(trt_node_next)
TRT_TRIVIAL(trt_node_next_count)
TRT_TRIVIAL(trt_node_next_input)
TRT_TRIVIAL(trt_node_name)
TRT_TRIVIAL(trt_tensor_grad_fn)
TRT_TRIVIAL(trt_get_default_dtype)
TRT_TRIVIAL(trt_set_default_dtype)
TRT_TRIVIAL(trt_optimizer_get_option)
TRT_TRIVIAL(trt_optimizer_set_option)

// --- errors ---

%typemap(out) trt_status* {
  if ($1) {
    raise($1);
    SWIG_fail;
  }
  Py_INCREF(Py_None);
  $result = Py_None;
}

// --- tensors ---

%typemap(in) trt_tensor*, const trt_tensor* {
  if ($input == Py_None) {
    $1 = nullptr;
  } else if (is_tensor($input)) {
    $1 = tensor_of($input);
  } else {
    PyErr_Format(PyExc_TypeError, "$symname(): argument $argnum must be Tensor, not %.100s", Py_TYPE($input)->tp_name);
    SWIG_fail;
  }
}
%typemap(in, numinputs=0) trt_tensor** out (trt_tensor* made = nullptr) { $1 = &made; }
%typemap(argout) trt_tensor** out { if (!($result = append($result, wrap_shared(*$1)))) SWIG_fail; }
%typemap(in, numinputs=0) trt_tensor_list** out (trt_tensor_list* made = nullptr) { $1 = &made; }
%typemap(argout) trt_tensor_list** out { if (!($result = append($result, wrap_list(*$1)))) SWIG_fail; }

%typemap(in) (const trt_tensor* const* tensors, size_t tensors_count) (std::vector<trt_tensor*> handles, Ref list) {
  list = Ref(PySequence_Fast($input, "a sequence of tensors is needed"));
  if (!list) SWIG_fail;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(list.get(), i);
    if (item != Py_None && !is_tensor(item)) {
      PyErr_Format(PyExc_TypeError, "$symname(): number %zd of argument $argnum is no tensor but %.100s", i, Py_TYPE(item)->tp_name);
      SWIG_fail;
    }
    handles.push_back(item == Py_None ? nullptr : tensor_of(item));
  }
  $1 = handles.data();
  $2 = handles.size();
}

// A state dict is a dict.
%typemap(in) const trt_state_dict* (StateDict held) {
  if (trt_status* s = trt_state_dict_create(&held.handle)) {
    raise(s);
    SWIG_fail;
  }
  $1 = held.handle;
  Ref items(PyMapping_Items($input));
  if (!items) SWIG_fail;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyList_GET_ITEM(items.get(), i);
    PyObject *name = PyTuple_GET_ITEM(item, 0), *tensor = PyTuple_GET_ITEM(item, 1);
    const char* text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
    if (!text || !is_tensor(tensor)) {
      if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "$symname(): a state dict maps names to tensors, got %.100s: %.100s", Py_TYPE(name)->tp_name, Py_TYPE(tensor)->tp_name);
      SWIG_fail;
    }
    if (trt_status* s = trt_state_dict_set($1, text, tensor_of(tensor))) {
      raise(s);
      SWIG_fail;
    }
  }
}
%typemap(in, numinputs=0) trt_state_dict** out (StateDict made) { $1 = &made.handle; }
%typemap(argout) trt_state_dict** out {
  Ref found(PyDict_New());
  for (size_t i = 0; found && i < trt_state_dict_size(*$1); ++i) {
    trt_tensor* t = nullptr;
    trt_status* s = trt_state_dict_tensor(*$1, i, &t);
    Ref tensor(s ? raise(s) : wrap(t));
    if (!tensor || PyDict_SetItemString(found.get(), trt_state_dict_name(*$1, i), tensor.get()) < 0) found = Ref();
  }
  if (!found) SWIG_fail;
  if (!($result = append($result, found.release()))) SWIG_fail;
}

// --- other handles ---

%define TRT_HANDLE(type, kind)
%typemap(in) type*, const type* {
  void* handle;
  if (!to_handle($input, HandleKind::kind, &handle)) SWIG_fail;
  $1 = static_cast<type*>(handle);
}
%typemap(in, numinputs=0) type** out (type* made = nullptr) { $1 = &made; }
%typemap(argout) type** out { if (!($result = append($result, wrap_handle(*$1, HandleKind::kind)))) SWIG_fail; }
%typemap(in) (type* const* handles, size_t handles_count) (std::vector<type*> list, Ref items) {
  items = Ref(PySequence_Fast($input, "a sequence is needed"));
  if (!items) SWIG_fail;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    void* handle;
    if (!to_handle(PySequence_Fast_GET_ITEM(items.get(), i), HandleKind::kind, &handle)) SWIG_fail;
    list.push_back(static_cast<type*>(handle));
  }
  $1 = list.data();
  $2 = list.size();
}
%enddef
TRT_HANDLE(trt_module, kModule)
TRT_HANDLE(trt_optimizer, kOptimizer)
TRT_HANDLE(trt_scheduler, kScheduler)
TRT_HANDLE(trt_dataset, kDataset)
TRT_HANDLE(trt_data_loader, kDataLoader)
TRT_HANDLE(trt_generator, kGenerator)
TRT_HANDLE(trt_safetensors, kSafetensors)
TRT_HANDLE(trt_cancel_token, kCancelToken)
TRT_HANDLE(trt_node, kNode)
%typemap(out) trt_cancel_token* { $result = wrap_handle(trt_cancel_token_retain($1), HandleKind::kCancelToken); }
// Borrowed children.
%typemap(out) trt_module* { $result = wrap_handle(trt_module_retain($1), HandleKind::kModule); }

// --- numbers, texts ---

%typemap(in) trt_scalar {
  if (!to_scalar($input, &$1)) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "$symname(): argument $argnum must be a number, not %.100s", Py_TYPE($input)->tp_name);
    SWIG_fail;
  }
}
%typemap(in) trt_dtype, int32_t dtype {
  trt_dtype wanted = TRT_DTYPE_NONE;
  if ($input != Py_None && !to_dtype($input, &wanted)) {
    PyErr_Format(PyExc_TypeError, "$symname(): argument $argnum must be a dtype, not %.100s", Py_TYPE($input)->tp_name);
    SWIG_fail;
  }
  $1 = wanted;
}
%typemap(out) trt_dtype { $result = wrap_dtype($1); }
%typemap(in) trt_device {
  if (!to_device($input, &$1)) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "$symname(): argument $argnum must be trt.device, not %.100s", Py_TYPE($input)->tp_name);
    SWIG_fail;
  }
}
%typemap(out) trt_device { $result = wrap_device($1); }

%typemap(in, numinputs=0) int64_t* out (int64_t made = 0), uint64_t* out (uint64_t made = 0), size_t* out (size_t made = 0), double* out (double made = 0),
                          bool* out (bool made = false), trt_scalar* out (trt_scalar made = {}), char** out (char* made = nullptr) { $1 = &made; }
%typemap(argout) int64_t* out { if (!($result = append($result, PyLong_FromLongLong(*$1)))) SWIG_fail; }
%typemap(argout) uint64_t* out { if (!($result = append($result, PyLong_FromUnsignedLongLong(*$1)))) SWIG_fail; }
%typemap(argout) size_t* out { if (!($result = append($result, PyLong_FromSize_t(*$1)))) SWIG_fail; }
%typemap(argout) double* out { if (!($result = append($result, PyFloat_FromDouble(*$1)))) SWIG_fail; }
%typemap(argout) bool* out { if (!($result = append($result, PyBool_FromLong(*$1)))) SWIG_fail; }
%typemap(argout) trt_scalar* out { if (!($result = append($result, wrap_scalar(*$1)))) SWIG_fail; }
%typemap(argout) char** out {
  PyObject* text = *$1 ? PyUnicode_FromString(*$1) : (Py_INCREF(Py_None), Py_None);
  trt_string_release(*$1);
  if (!($result = append($result, text))) SWIG_fail;
}

// None is no list.
%typemap(in) (const int64_t* ints, size_t ints_count) (std::vector<int64_t> list, Ref items) {
  if ($input != Py_None) {
    items = Ref(PySequence_Fast($input, "a sequence of ints is needed"));
    if (!items) SWIG_fail;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      Ref number(PyNumber_Index(PySequence_Fast_GET_ITEM(items.get(), i)));
      if (!number) SWIG_fail;
      list.push_back(PyLong_AsLongLong(number.get()));
      if (PyErr_Occurred()) SWIG_fail;
    }
  }
  $1 = $input == Py_None ? nullptr : list.data();
  $2 = list.size();
}
%typemap(in) (const double* doubles, size_t doubles_count) (std::vector<double> list, Ref items) {
  if ($input != Py_None) {
    items = Ref(PySequence_Fast($input, "a sequence of numbers is needed"));
    if (!items) SWIG_fail;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      list.push_back(PyFloat_AsDouble(PySequence_Fast_GET_ITEM(items.get(), i)));
      if (PyErr_Occurred()) SWIG_fail;
    }
  }
  $1 = $input == Py_None ? nullptr : list.data();
  $2 = list.size();
}

%typemap(in) const bool* optional_bool (bool value) {
  const int truth = $input == Py_None ? 0 : PyObject_IsTrue($input);
  if (truth < 0) SWIG_fail;
  value = truth == 1;
  $1 = $input == Py_None ? nullptr : &value;
}

// Members of options: pairs of ints, and weights.
%typemap(in) int64_t[ANY] (int64_t values[$1_dim0]) {
  Ref items(PySequence_Fast($input, "a sequence of $1_dim0 ints is needed"));
  if (!items) SWIG_fail;
  if (PySequence_Fast_GET_SIZE(items.get()) != $1_dim0) {
    PyErr_SetString(PyExc_ValueError, "$1_dim0 ints are needed");
    SWIG_fail;
  }
  for (int i = 0; i < $1_dim0; ++i) values[i] = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items.get(), i));
  if (PyErr_Occurred()) SWIG_fail;
  $1 = values;
}
%typemap(memberin) int64_t[ANY] {
  for (int i = 0; i < $1_dim0; ++i) $1[i] = $input[i];
}
// The address of doubles that the caller keeps until the options were used.
%typemap(in) const double* weights { $1 = static_cast<double*>(PyLong_AsVoidPtr($input)); if (PyErr_Occurred()) SWIG_fail; }

// Paths: str, bytes or os.PathLike.
%typemap(in) const char* path (Ref bytes), const char* images_path (Ref bytes), const char* labels_path (Ref bytes) {
  if ($input == Py_None) {
    $1 = nullptr;
  } else {
    PyObject* encoded = nullptr;
    if (!PyUnicode_FSConverter($input, &encoded)) SWIG_fail;
    bytes = Ref(encoded);
    $1 = PyBytes_AS_STRING(encoded);
  }
}

%include "declarations.i"

// SWIG puts this into a function that gives a pointer or, from 4.4 on, an int: {} is right for both, the exception being set.
%init %{
  if (!init_module(m)) return {};
%}
