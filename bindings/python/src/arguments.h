// Calls of operators from Python: signatures, the values of a call's arguments, and what the generated functions (operators.cpp) are made of.
//
// Note [Operators in Python]
// bindings/python/generate.py writes, from the operators' declarations, a Function for every name: its Signatures in the order of the declarations, each
// with a C++ function that calls the C API with converted arguments. dispatch() takes the first signature that the arguments fit, first strictly
// (an argument has exactly the type asked for), then with the conversions that PyTorch knows: a number for a tensor, a tensor of one
// element for a number, one int for a list.
#pragma once

#include <memory>
#include <vector>

#include "binding.h"

namespace trt_python {

enum class ArgKind : uint8_t { kTensor, kTensors, kScalar, kInt, kDouble, kBool, kInts, kDoubles, kString, kDType, kDevice, kGenerator, kIgnored };

struct Value {
  constexpr Value() : given(false), count(0), i(0) {}
  static constexpr Value none() { return Value(); }
  static constexpr Value integer(int64_t v) { return Value(true, 0, v); }
  static constexpr Value boolean(bool v) { return Value(true, 0, v); }
  static constexpr Value real(double v) {
    Value r(true, 0, 0);
    r.d = v;
    return r;
  }
  static constexpr Value scalar_int(int64_t v) {
    Value r(true, 0, 0);
    r.scalar = {TRT_SCALAR_INT, 0, {v}};
    return r;
  }
  static constexpr Value scalar_double(double v) {
    Value r(true, 0, 0);
    r.scalar = {TRT_SCALAR_DOUBLE, 0, {}};
    r.scalar.value.d = v;
    return r;
  }
  static constexpr Value text(const char* v) {
    Value r(true, 0, 0);
    r.string = v;
    return r;
  }
  static constexpr Value list(const int64_t* v, size_t count) {
    Value r(true, count, 0);
    r.ints = v;
    return r;
  }
  static constexpr Value dtype_of(trt_dtype v) { return Value(true, 0, v); }

  bool given;  // not None
  size_t count;
  union {
    int64_t i;  // also bool and dtype
    double d;
    trt_tensor* tensor;
    trt_tensor* const* tensors;
    const int64_t* ints;
    const double* doubles;
    const char* string;
    trt_generator* generator;
    trt_scalar scalar;
    trt_device device;
  };

 private:
  constexpr Value(bool given_, size_t count_, int64_t i_) : given(given_), count(count_), i(i_) {}
};

struct Param {
  const char* name;
  ArgKind kind;
  bool optional;          // None is allowed
  bool optional_element;  // and inside a list
  bool keyword_only;
  bool has_default;
  bool size;          // how large the result is: counted for the GIL
  bool number;        // a number may stand for the tensor
  uint8_t list_size;  // one int stands for a list of so many
  Value fallback;
  PyObject* key;  // the name, interned; set by prepare()
};

class Args;

struct Signature {
  Param* params;
  uint8_t count;
  uint8_t positional;  // parameters that may be given without a name
  bool variadic;       // the last positional parameter is a list whose elements may stand alone: view(2, 3)
  PyObject* (*call)(Args& args);
  const char* text;  // "sum(Tensor input, ...) -> Tensor"
};

struct Function {
  const char* name;
  Signature* signatures;
  uint8_t count;
};

constexpr int kMostParams = 16;
constexpr int kInlineInts = 64;
constexpr int kInlineTensors = 32;

// The converted arguments of a call, with what must live as long as it.
class Args {
 public:
  Args() = default;
  ~Args();
  Args(const Args&) = delete;
  Args& operator=(const Args&) = delete;

  // Binds and converts; false when the signature does not fit (without an exception), or when a Python exception is set.
  bool match(const Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords, bool strict);

  // --- the arguments, for generated code ---
  trt_tensor* tensor(int i) const { return values_[i].given ? values_[i].tensor : nullptr; }
  trt_tensor* const* tensors(int i) const { return values_[i].given ? values_[i].tensors : nullptr; }
  const int64_t* ints(int i) const { return values_[i].given ? values_[i].ints : nullptr; }
  const double* doubles(int i) const { return values_[i].given ? values_[i].doubles : nullptr; }
  size_t count(int i) const { return values_[i].given ? values_[i].count : 0; }
  bool given(int i) const { return values_[i].given; }
  trt_scalar scalar(int i) const { return values_[i].scalar; }
  int64_t integer(int i) const { return values_[i].i; }
  double real(int i) const { return values_[i].d; }
  bool boolean(int i) const { return values_[i].i != 0; }
  const char* string(int i) const { return values_[i].given ? values_[i].string : nullptr; }
  trt_dtype dtype(int i) const { return values_[i].given ? static_cast<trt_dtype>(values_[i].i) : TRT_DTYPE_NONE; }
  trt_device device(int i) const { return values_[i].device; }
  trt_generator* generator(int i) const { return values_[i].given ? values_[i].generator : nullptr; }
  const trt_scalar* optional_scalar(int i) const { return values_[i].given ? &values_[i].scalar : nullptr; }
  const int64_t* optional_integer(int i) const { return values_[i].given ? &values_[i].i : nullptr; }
  const double* optional_real(int i) const { return values_[i].given ? &values_[i].d : nullptr; }
  const bool* optional_boolean(int i) {
    if (!values_[i].given) return nullptr;
    flags_[i] = values_[i].i != 0;
    return &flags_[i];
  }
  const trt_device* optional_device(int i) const { return values_[i].given ? &values_[i].device : nullptr; }
  PyObject* object(int i) const { return objects_[i]; }
  // The object of argument i where that is a tensor.
  PyObject* same(int i) const { return objects_[i] && is_tensor(objects_[i]) ? objects_[i] : nullptr; }

  // Calls the library, without the GIL when there is much to do.
  template <typename F>
  trt_status* call(F&& f) const {
    return run(work_, f);
  }

 private:
  bool bind(const Signature& signature, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
  bool convert(const Param& p, PyObject* object, Value* out, bool strict);
  bool convert_tensor(const Param& p, PyObject* object, Value* out, bool strict);
  bool convert_tensors(const Param& p, PyObject* object, Value* out, bool strict);
  bool convert_ints(const Param& p, PyObject* object, Value* out, bool strict);
  bool convert_doubles(PyObject* object, Value* out);
  void count_work(const trt_tensor* tensor) { work_ += trt_tensor_numel(tensor); }
  template <typename T, size_t N>
  T* room(T (&inlined)[N], size_t* used, size_t count);

  Value values_[kMostParams];
  const Param* all_ = nullptr;      // of the signature that is tried
  PyObject* objects_[kMostParams];  // borrowed; nullptr: not given
  bool flags_[kMostParams];
  int params_ = 0;
  int64_t work_ = 0;
  PyObject* variadic_ = nullptr;  // owned: the list that lone elements were gathered in
  size_t used_ints_ = 0, used_tensors_ = 0;
  int64_t int_room_[kInlineInts];
  trt_tensor* tensor_room_[kInlineTensors];
  std::vector<std::unique_ptr<char[]>> heap_;
  std::vector<trt_tensor*> owned_;
};

// Calls the first signature that fits. `self` (may be null) stands before the arguments.
PyObject* dispatch(Function& function, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords);
// The same for operators of two: NotImplemented where no signature fits.
PyObject* dispatch_binary(Function& function, PyObject* a, PyObject* b);

// --- results, for generated code ---

// One new tensor, or an exception. `self` (may be null) is the object that is given again where the call gave its own tensor.
PyObject* give(trt_status* status, trt_tensor* handle, PyObject* self);
PyObject* give_list(trt_status* status, trt_tensor_list* list);
// Several, as a structseq of that type.
PyObject* give_tuple(trt_status* status, PyTypeObject* type, trt_tensor* const* handles, int count);
// The written object itself.
PyObject* give_again(trt_status* status, PyObject* object);
// Sets requires_grad of a new tensor.
PyObject* give_created(trt_status* status, trt_tensor* handle, bool requires_grad);
// A structseq type of the module trt.return_types.
PyTypeObject* return_type(const char* name, const char* const* fields, int count);

// --- tables, made by the generator ---

struct OperatorEntry {
  PyMethodDef method;
  const char* group;  // the file of declarations
};
extern OperatorEntry operator_functions[];  // of the module
extern PyMethodDef operator_methods[];      // of TensorBase

enum class Binary { kAdd, kSub, kMul, kDiv, kFloorDivide, kRemainder, kPow, kAnd, kOr, kXor, kLeftShift, kRightShift, kMatmul, kEq, kNe, kLt, kLe, kGt, kGe, kCount };
extern Function* const binary_functions[];   // by Binary
extern Function* const inplace_functions[];  // by Binary; nullptr: there is none
// Makes the types of results with several tensors, interns names.
bool init_operators(PyObject* module);
bool prepare(Function* const* functions, size_t count);

}  // namespace trt_python
