#include "arguments.h"

#include <cstring>
#include <string>

namespace trt_python {

namespace {

// Names that PyTorch also knows a parameter by.
struct Alias {
  const char* name;
  const char* other;
  PyObject* key;
};
Alias aliases[] = {{"self", "input", nullptr}, {"dim", "axis", nullptr}, {"keepdim", "keepdims", nullptr}, {"other", "x2", nullptr}};

const char* alias_of(const char* name) {
  for (const Alias& a : aliases)
    if (strcmp(a.name, name) == 0) return a.other;
  return nullptr;
}

int find_param(const Signature& s, PyObject* key) {
  for (int i = 0; i < s.count; ++i)
    if (s.params[i].key == key) return i;
  const char* text = PyUnicode_AsUTF8(key);
  for (int i = 0; text && i < s.count; ++i) {
    const char* other = alias_of(s.params[i].name);
    if (strcmp(s.params[i].name, text) == 0 || (other && strcmp(other, text) == 0)) return i;
  }
  return -1;
}

bool is_integer(PyObject* object) {
  return PyLong_CheckExact(object) || (!PyBool_Check(object) && !is_tensor(object) && PyIndex_Check(object) && !PySequence_Check(object));
}

// A tensor of one element that may stand for a number.
bool is_number_tensor(PyObject* object) {
  return is_tensor(object) && trt_tensor_numel(tensor_of(object)) == 1 && !trt_tensor_requires_grad(tensor_of(object));
}

bool item(PyObject* tensor, trt_scalar* out) {
  if (trt_status* s = trt_tensor_item(tensor_of(tensor), out)) {
    trt_status_release(s);
    return false;
  }
  return true;
}

// The conversions below give false without an exception where the object does not fit.
bool to_integer(PyObject* object, bool strict, int64_t* out) {
  if (is_integer(object)) {
    *out = PyLong_CheckExact(object) ? PyLong_AsLongLong(object) : PyNumber_AsSsize_t(object, PyExc_OverflowError);
    return !(*out == -1 && PyErr_Occurred());
  }
  trt_scalar s;
  if (strict || !is_number_tensor(object) || is_floating(trt_tensor_dtype(tensor_of(object))) || is_complex(trt_tensor_dtype(tensor_of(object))) || !item(object, &s)) return false;
  *out = s.value.i;
  return true;
}

double number_of(const trt_scalar& s) { return s.kind == TRT_SCALAR_DOUBLE ? s.value.d : static_cast<double>(s.value.i); }

bool to_real(PyObject* object, bool strict, double* out) {
  if (PyFloat_CheckExact(object)) {
    *out = PyFloat_AS_DOUBLE(object);
    return true;
  }
  trt_scalar s;
  if (to_scalar(object, &s)) {
    if (s.kind == TRT_SCALAR_COMPLEX || (strict && s.kind == TRT_SCALAR_BOOL)) return false;
  } else if (PyErr_Occurred() || strict || !is_number_tensor(object) || !item(object, &s)) {
    return false;
  }
  if (s.kind == TRT_SCALAR_COMPLEX) return false;
  *out = number_of(s);
  return true;
}

std::string describe(PyObject* object) {
  if (is_tensor(object)) return "Tensor";
  if (PyTuple_Check(object) || PyList_Check(object)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(object);
    std::string text = PyTuple_Check(object) ? "tuple of (" : "list of [";
    for (Py_ssize_t i = 0; i < n && i < 4; ++i) text += (i ? ", " : "") + describe(PySequence_Fast_GET_ITEM(object, i));
    return text + (n > 4 ? ", ...": "") + (PyTuple_Check(object) ? ")" : "]");
  }
  return Py_TYPE(object)->tp_name;
}

const char* expected(const Param& p) {
  switch (p.kind) {
    case ArgKind::kTensor: return "Tensor";
    case ArgKind::kTensors: return "tuple of Tensors";
    case ArgKind::kScalar: return "Number";
    case ArgKind::kInt: return "int";
    case ArgKind::kDouble: return "float";
    case ArgKind::kBool: return "bool";
    case ArgKind::kInts: return p.list_size ? "int or tuple of ints" : "tuple of ints";
    case ArgKind::kDoubles: return "tuple of floats";
    case ArgKind::kString: return "str";
    case ArgKind::kDType: return "trt.dtype";
    case ArgKind::kDevice: return "trt.device";
    case ArgKind::kGenerator: return "trt.Generator";
    case ArgKind::kIgnored: return "anything";
  }
  return "";
}

// Why a call fits no signature, as a TypeError.
void raise_mismatch(const Function& f, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (f.count == 1) {
    const Signature& s = f.signatures[0];
    const int first = self ? 1 : 0;
    // A name that is not known, or given twice.
    for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k) {
      PyObject* key = PyTuple_GET_ITEM(keywords, k);
      const int i = find_param(s, key);
      if (i < 0) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", f.name, key);
        return;
      }
      if (i < first + count && !s.variadic) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", f.name, key);
        return;
      }
    }
    if (!s.variadic && first + count > s.positional) {
      PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd %s given", f.name, s.positional - first, s.positional - first == 1 ? "" : "s", count,
                   count == 1 ? "was" : "were");
      return;
    }
    for (int i = first; i < s.count; ++i) {
      PyObject* given = i < first + count ? args[i - first] : nullptr;
      for (Py_ssize_t k = 0; keywords && !given && k < PyTuple_GET_SIZE(keywords); ++k)
        if (find_param(s, PyTuple_GET_ITEM(keywords, k)) == i) given = args[count + k];
      const Param& p = s.params[i];
      if (!given) {
        if (p.has_default) continue;
        PyErr_Format(PyExc_TypeError, "%s() missing 1 required argument: '%s'", f.name, p.name);
        return;
      }
      if (given == Py_None && p.optional) continue;
      Args probe;
      const Signature one = {const_cast<Param*>(&p), 1, 1, false, nullptr, nullptr};
      if (probe.match(one, nullptr, &given, 1, nullptr, false)) continue;
      if (PyErr_Occurred()) return;
      PyErr_Format(PyExc_TypeError, "%s(): argument '%s' (position %d) must be %s, not %s", f.name, p.name, i - first + 1, expected(p),
                   describe(given).c_str());
      return;
    }
  }
  std::string got;
  for (Py_ssize_t i = 0; i < count; ++i) got += (i ? ", " : "") + describe(args[i]);
  for (Py_ssize_t k = 0; keywords && k < PyTuple_GET_SIZE(keywords); ++k)
    got += (got.empty() ? "" : ", ") + std::string(PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, k))) + "=" + describe(args[count + k]);
  std::string text = std::string(f.name) + "() received an invalid combination of arguments - got (" + got + "), but expected one of:";
  for (int i = 0; i < f.count; ++i) text += std::string("\n * ") + f.signatures[i].text;
  PyErr_SetString(PyExc_TypeError, text.c_str());
}

}  // namespace

Args::~Args() {
  Py_XDECREF(variadic_);
  for (trt_tensor* t : owned_) trt_tensor_release(t);
}

template <typename T, size_t N>
T* Args::room(T (&inlined)[N], size_t* used, size_t count) {
  if (*used + count <= N) {
    T* p = inlined + *used;
    *used += count;
    return p;
  }
  heap_.push_back(std::make_unique<char[]>(count * sizeof(T)));
  return reinterpret_cast<T*>(heap_.back().get());
}

bool Args::bind(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  params_ = s.count;
  memset(objects_, 0, sizeof(PyObject*) * s.count);
  const Py_ssize_t first = self ? 1 : 0;
  if (self) objects_[0] = self;
  const Py_ssize_t last = s.positional - 1;  // the variadic parameter
  if (s.variadic && first + count > last && (first + count > last + 1 || (count && !PySequence_Check(args[last - first])) ||
                                              (count && is_tensor(args[last - first])))) {
    // Lone elements: view(2, 3), meshgrid(x, y).
    const Py_ssize_t start = last - first;
    if (start < 0) return false;
    for (Py_ssize_t i = 0; i < start; ++i) objects_[first + i] = args[i];
    if (count == start + 1 && args[start] == Py_None) {
      objects_[last] = Py_None;
    } else {
      Py_XDECREF(variadic_);
      variadic_ = PyTuple_New(count - start);
      if (!variadic_) return false;
      for (Py_ssize_t i = start; i < count; ++i) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(variadic_, i - start, args[i]);
      }
      objects_[last] = variadic_;
    }
  } else {
    if (first + count > s.positional) return false;
    for (Py_ssize_t i = 0; i < count; ++i) objects_[first + i] = args[i];
  }
  if (keywords) {
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(keywords); ++k) {
      const int i = find_param(s, PyTuple_GET_ITEM(keywords, k));
      if (i < 0 || objects_[i]) return false;
      objects_[i] = args[count + k];
    }
  }
  return true;
}

bool Args::match(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords, bool strict) {
  if (!bind(s, self, args, count, keywords)) return false;
  used_ints_ = used_tensors_ = 0;
  work_ = 0;
  all_ = s.params;
  for (int i = 0; i < s.count; ++i) {
    const Param& p = s.params[i];
    PyObject* object = objects_[i];
    if (!object) {
      if (!p.has_default) return false;
      values_[i] = p.fallback;
      continue;
    }
    if (object == Py_None) {
      if (p.optional) values_[i] = Value();
      else if (p.has_default && !strict) values_[i] = p.fallback;  // None often stands for the default
      else return false;
      continue;
    }
    values_[i].given = true;
    if (!convert(p, object, &values_[i], strict)) return false;
  }
  return true;
}

bool Args::convert_tensor(const Param& p, PyObject* object, Value* out, bool strict) {
  if (is_tensor(object)) {
    out->tensor = tensor_of(object);
    count_work(out->tensor);
    return true;
  }
  trt_scalar number;
  if (strict || !p.number || !to_scalar(object, &number)) return false;
  // It promotes as a number beside the first tensor of the call.
  const trt_tensor* beside = nullptr;
  for (int i = 0; i < params_ && !beside; ++i)
    if (objects_[i] && is_tensor(objects_[i]) && strcmp(all_[i].name, "condition") != 0) beside = tensor_of(objects_[i]);
  trt_tensor* t = number_tensor(number, beside);
  if (!t) return false;
  owned_.push_back(t);
  out->tensor = t;
  return true;
}

bool Args::convert_tensors(const Param& p, PyObject* object, Value* out, bool) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(object));
  trt_tensor** list = room(tensor_room_, &used_tensors_, n);
  for (size_t i = 0; i < n; ++i) {
    PyObject* element = PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i));
    if (element == Py_None && p.optional_element) {
      list[i] = nullptr;
      continue;
    }
    if (!is_tensor(element)) return false;
    list[i] = tensor_of(element);
    count_work(list[i]);
  }
  out->tensors = list;
  out->count = n;
  return true;
}

bool Args::convert_ints(const Param& p, PyObject* object, Value* out, bool strict) {
  int64_t lone;
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    if ((strict && !p.list_size) || !to_integer(object, strict, &lone)) {
      // Other sequences of ints, as range(3) or a NumPy array.
      if (PyErr_Occurred() || strict || !PySequence_Check(object) || PyUnicode_Check(object) || is_tensor(object)) return false;
      Ref list(PySequence_List(object));
      if (!list) {
        PyErr_Clear();
        return false;
      }
      return convert_ints(p, list.get(), out, false);
    }
    const size_t n = p.list_size ? p.list_size : 1;
    int64_t* list = room(int_room_, &used_ints_, n);
    for (size_t i = 0; i < n; ++i) list[i] = lone;
    out->ints = list;
    out->count = n;
  } else {
    const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(object));
    int64_t* list = room(int_room_, &used_ints_, n);
    for (size_t i = 0; i < n; ++i)
      if (!to_integer(PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i)), false, &list[i])) return false;
    // A list of one stands for a pair of equals.
    if (n == 1 && p.list_size > 1) {
      int64_t* all = room(int_room_, &used_ints_, p.list_size);
      for (size_t i = 0; i < p.list_size; ++i) all[i] = list[0];
      list = all;
      out->ints = list;
      out->count = p.list_size;
    } else {
      out->ints = list;
      out->count = n;
    }
  }
  if (p.size) {
    int64_t elements = 1;
    for (size_t i = 0; i < out->count; ++i)
      if (__builtin_mul_overflow(elements, out->ints[i], &elements)) elements = kHeldElements + 1;
    if (elements > 0) work_ += elements < kHeldElements ? elements : kHeldElements + 1;
  }
  return true;
}

bool Args::convert_doubles(PyObject* object, Value* out) {
  if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
  const auto n = static_cast<size_t>(PySequence_Fast_GET_SIZE(object));
  heap_.push_back(std::make_unique<char[]>((n ? n : 1) * sizeof(double)));
  auto* list = reinterpret_cast<double*>(heap_.back().get());
  for (size_t i = 0; i < n; ++i)
    if (!to_real(PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i)), false, &list[i])) return false;
  out->doubles = list;
  out->count = n;
  return true;
}

bool Args::convert(const Param& p, PyObject* object, Value* out, bool strict) {
  switch (p.kind) {
    case ArgKind::kTensor: return convert_tensor(p, object, out, strict);
    case ArgKind::kTensors: return convert_tensors(p, object, out, strict);
    case ArgKind::kScalar:
      if (to_scalar(object, &out->scalar)) {
        if (p.size && !(number_of(out->scalar) < kHeldElements)) work_ += kHeldElements + 1;
        return true;
      }
      return !PyErr_Occurred() && !strict && is_number_tensor(object) && item(object, &out->scalar);
    case ArgKind::kInt:
      if (!to_integer(object, strict, &out->i)) return false;
      if (p.size && out->i > 0) work_ += out->i < kHeldElements ? out->i : kHeldElements + 1;
      return true;
    case ArgKind::kDouble: return to_real(object, strict, &out->d);
    case ArgKind::kBool:
      if (PyBool_Check(object)) {
        out->i = object == Py_True;
        return true;
      }
      if (strict || !(is_integer(object) || is_number_tensor(object))) return false;
      out->i = PyObject_IsTrue(object);
      return out->i >= 0;
    case ArgKind::kInts: return convert_ints(p, object, out, strict);
    case ArgKind::kDoubles: return convert_doubles(object, out);
    case ArgKind::kString:
      if (!PyUnicode_Check(object)) return false;
      out->string = PyUnicode_AsUTF8(object);
      return out->string != nullptr;
    case ArgKind::kDType: {
      trt_dtype dtype;
      if (!to_dtype(object, &dtype)) return false;
      out->i = dtype;
      return true;
    }
    case ArgKind::kDevice: return to_device(object, &out->device);
    case ArgKind::kGenerator: {
      void* handle;
      if (to_handle(object, HandleKind::kGenerator, &handle)) {
        out->generator = static_cast<trt_generator*>(handle);
        return true;
      }
      PyErr_Clear();
      return false;
    }
    case ArgKind::kIgnored: return true;
  }
  return false;
}

PyObject* dispatch(Function& f, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  count = PyVectorcall_NARGS(static_cast<size_t>(count));
  if (keywords && PyTuple_GET_SIZE(keywords) == 0) keywords = nullptr;
  Args values;
  // One signature has nothing to be told apart from.
  for (int strict = f.count > 1; strict >= 0; --strict) {
    for (int i = 0; i < f.count; ++i) {
      if (values.match(f.signatures[i], self, args, count, keywords, strict != 0)) return WarningsRaise().finish(f.signatures[i].call(values));
      if (PyErr_Occurred()) return nullptr;
    }
  }
  raise_mismatch(f, self, args, count, keywords);
  return nullptr;
}

PyObject* dispatch_binary(Function& f, PyObject* a, PyObject* b) {
  PyObject* const args[] = {a, b};
  Args values;
  for (int strict = 1; strict >= 0; --strict) {
    for (int i = 0; i < f.count; ++i) {
      if (values.match(f.signatures[i], nullptr, args, 2, nullptr, strict != 0)) return f.signatures[i].call(values);
      if (PyErr_Occurred()) return nullptr;
    }
  }
  // NumPy arrays beside tensors.
  for (int i = 0; i < 2; ++i) {
    if (is_tensor(args[i]) || !PyObject_HasAttrString(args[i], "__array_interface__") || !is_tensor(args[1 - i])) continue;
    trt_tensor* handle = tensor_from_data(args[i], TRT_DTYPE_NONE);
    Ref converted(handle ? wrap(handle) : nullptr);
    if (!converted) return nullptr;
    return i == 0 ? dispatch_binary(f, converted.get(), b) : dispatch_binary(f, a, converted.get());
  }
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject* give(trt_status* status, trt_tensor* handle, PyObject* self) {
  if (status) return raise(status);
  if (self && handle == tensor_of(self)) {
    trt_tensor_release(handle);
    Py_INCREF(self);
    return self;
  }
  return wrap(handle);
}

PyObject* give_created(trt_status* status, trt_tensor* handle, bool requires_grad) {
  if (status) return raise(status);
  if (requires_grad) {
    if (trt_status* s = trt_tensor_set_requires_grad(handle, true)) {
      trt_tensor_release(handle);
      return raise(s);
    }
  }
  return wrap(handle);
}

PyObject* give_list(trt_status* status, trt_tensor_list* list) { return status ? raise(status) : wrap_list(list); }

PyObject* give_tuple(trt_status* status, PyTypeObject* type, trt_tensor* const* handles, int count) {
  if (status) return raise(status);
  Ref out(PyStructSequence_New(type));
  for (int i = 0; i < count; ++i) {
    PyObject* t = out ? wrap(handles[i]) : (trt_tensor_release(handles[i]), nullptr);
    if (!t) out = Ref();
    else PyStructSequence_SetItem(out.get(), i, t);
  }
  return out.release();
}

PyObject* give_again(trt_status* status, PyObject* object) {
  if (status) return raise(status);
  Py_INCREF(object);
  return object;
}

PyTypeObject* return_type(const char* name, const char* const* fields, int count) {
  std::vector<PyStructSequence_Field> list;
  for (int i = 0; i < count; ++i) list.push_back({fields[i], nullptr});
  list.push_back({});
  PyStructSequence_Desc desc = {name, "Results by name.", list.data(), count};
  return PyStructSequence_NewType(&desc);
}

bool prepare(Function* const* functions, size_t count) {
  for (size_t f = 0; f < count; ++f)
    for (int s = 0; s < functions[f]->count; ++s)
      for (int i = 0; i < functions[f]->signatures[s].count; ++i) {
        Param& p = functions[f]->signatures[s].params[i];
        p.key = PyUnicode_InternFromString(p.name);
        if (!p.key) return false;
      }
  return true;
}

}  // namespace trt_python
