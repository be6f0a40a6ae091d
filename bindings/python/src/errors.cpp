// Statuses and exceptions.
#include <cstring>
#include <string>

#include "binding.h"

namespace trt_python {

namespace {

// A Python exception on its way through the library is the payload of a status.
void drop_exception(void* exception) {
  if (interpreter_ends()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  Py_DECREF(static_cast<PyObject*>(exception));
  PyErr_Restore(type, value, traceback);
  PyGILState_Release(state);
}

struct ErrorClass {
  trt_code code;
  const char* name;
  PyObject** builtin;  // what PyTorch raises in such a case, beside RuntimeError
  const char* doc;
};
PyObject* base_error;
PyObject* file_error;
PyObject* none_builtin;
constexpr int kCodes = 14;
PyObject* classes[kCodes];

Ref make_class(const char* name, PyObject* bases, const char* doc) {
  return Ref(PyErr_NewExceptionWithDoc((std::string("trt.") + name).c_str(), doc, bases, nullptr));
}

bool is_file_function(const char* op) {
  const std::string name = op;
  return name.find("safetensors") != std::string::npos || name.find("idx") != std::string::npos || name == "trt_state_dict_load";
}

}  // namespace

PyObject* raise(trt_status* status) {
  const int code = trt_status_code(status);
  const char* message = trt_status_message(status);
  if (auto* exception = static_cast<PyObject*>(trt_status_payload(status, drop_exception))) {
    Py_INCREF(exception);
    trt_status_release(status);
    Py_INCREF(Py_TYPE(exception));
    PyErr_Restore(reinterpret_cast<PyObject*>(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
    return nullptr;
  }
  PyObject* type = code > 0 && code < kCodes ? classes[code] : base_error;
  if (code == TRT_NOT_FOUND && is_file_function(trt_status_op(status))) type = file_error;
  Ref text(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(strlen(message)), "replace"));
  Ref exception(text ? PyObject_CallOneArg(type, text.get()) : nullptr);
  if (exception) {
    Ref name(PyUnicode_FromString(trt_code_name(static_cast<trt_code>(code)))), op(PyUnicode_FromString(trt_status_op(status)));
    if (name && op && PyObject_SetAttrString(exception.get(), "code", name.get()) == 0 && PyObject_SetAttrString(exception.get(), "op", op.get()) == 0)
      PyErr_SetObject(type, exception.get());
  }
  trt_status_release(status);
  return nullptr;
}

trt_status* status_from_exception() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  Ref text(PyObject_Str(value));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  std::string message = reinterpret_cast<PyTypeObject*>(type)->tp_name;
  if (utf8 && *utf8) message = message + ": " + utf8;
  PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  return trt_status_create_with(TRT_CALLBACK, message.c_str(), value, drop_exception);
}

bool init_errors(PyObject* module) {
  const auto add = [&](const char* name, Ref object) { return object && PyModule_AddObjectRef(module, name, object.get()) == 0 ? object.release() : nullptr; };
  Ref runtime_error(PyTuple_Pack(1, PyExc_RuntimeError));
  base_error = add("Error", make_class("Error", runtime_error.get(),
                                       "An error of the library: `code` is the name of its kind, `op` the operator or function that failed."));
  if (!base_error) return false;
  const ErrorClass table[] = {
      {TRT_INVALID_ARGUMENT, "InvalidArgumentError", &PyExc_ValueError, "A wrong shape, rank, dtype, device or option value."},
      {TRT_OUT_OF_RANGE, "OutOfRangeError", &PyExc_IndexError, "An index or dimension outside its range."},
      {TRT_OUT_OF_MEMORY, "OutOfMemoryError", &PyExc_MemoryError, "The system, or the limit that was set, refused memory."},
      {TRT_NOT_SUPPORTED, "NotSupportedError", &PyExc_NotImplementedError, "No kernel for this dtype or device."},
      {TRT_NOT_FOUND, "NotFoundError", &PyExc_LookupError, "No such operator, file or name."},
      {TRT_IO, "FileIOError", &PyExc_OSError, "Reading or writing failed."},
      {TRT_DATA, "DataError", &PyExc_ValueError, "A file's content is not what its format demands."},
      {TRT_FAILED_PRECONDITION, "FailedPreconditionError", &none_builtin, "The object's state forbids the call."},
      {TRT_CANCELLED, "CancelledError", &none_builtin, "The call was cancelled."},
      {TRT_CALLBACK, "CallbackError", &none_builtin, "A callback failed."},
      {TRT_INTERNAL, "InternalError", &none_builtin, "A fault of the library."},
      {TRT_UNAVAILABLE, "UnavailableError", &none_builtin, "A thread, library or plug-in cannot be had now."},
      {TRT_END_OF_DATA, "EndOfDataError", &none_builtin, "An iterator has no further item."},
  };
  for (const ErrorClass& c : table) {
    // NotImplementedError is a RuntimeError, as the base is.
    Ref bases(*c.builtin ? PyTuple_Pack(2, base_error, *c.builtin) : PyTuple_Pack(1, base_error));
    if (!(classes[c.code] = add(c.name, make_class(c.name, bases.get(), c.doc)))) return false;
  }
  Ref file_bases(PyTuple_Pack(2, classes[TRT_NOT_FOUND], PyExc_FileNotFoundError));
  file_error = add("MissingFileError", make_class("MissingFileError", file_bases.get(), "No such file."));
  return file_error != nullptr;
}

}  // namespace trt_python
