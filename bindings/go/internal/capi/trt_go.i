// The SWIG interface of the Go binding: a thin package in which everything is a number or a pointer. The facade gives it types.
//
// - A handle is a uintptr.
// - A function whose only output is a tensor returns one word, made by trtgo_result (trtgo.h). For these functions assemble.py names the
//   out-parameter `result`.
// - Any other function that can fail returns the status as a uintptr, 0 for success, and writes its outputs through pointers.
// - Lists, optional numbers and structs of options are unsafe.Pointer, each count an int; NULL as in the C API. What they point to holds no Go pointers.
// - The text "\x00" stands for NULL where a text is optional.
//
// No conversion here allocates or panics, except that a text is copied when it is long.
%module capi

%insert(cgo_comment_typedefs) %{
#include "trtgo.h"
%}
%{
#include "trtgo.h"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wsign-compare"
%}

%rename("$ignore", %$isenum) "";
%rename("$ignore", %$isenumitem) "";
%rename("$ignore", %$isclass) "";

%typemap(gotype) SWIGTYPE* "uintptr"
%typemap(imtype) SWIGTYPE* "uintptr"
%typemap(in) SWIGTYPE* %{ $1 = ($1_ltype)$input; %}
%typemap(out) SWIGTYPE* %{ $result = $1; %}
%typemap(goout) SWIGTYPE* ""

%define TRTGO_POINTER(TYPE)
%typemap(gotype) TYPE "unsafe.Pointer"
%typemap(imtype) TYPE "unsafe.Pointer"
%typemap(in) TYPE %{ $1 = ($1_ltype)$input; %}
%enddef
TRTGO_POINTER(const int64_t*)
TRTGO_POINTER(int64_t*)
TRTGO_POINTER(uint64_t*)
TRTGO_POINTER(size_t*)
TRTGO_POINTER(double*)
TRTGO_POINTER(const double*)
TRTGO_POINTER(bool*)
TRTGO_POINTER(const bool*)
TRTGO_POINTER(trt_scalar*)
TRTGO_POINTER(const trt_scalar*)
TRTGO_POINTER(const trt_device*)
TRTGO_POINTER(char**)
TRTGO_POINTER(const char* const*)
TRTGO_POINTER(const trt_tensor* const*)
TRTGO_POINTER(trt_tensor**)
TRTGO_POINTER(trt_tensor_list**)
TRTGO_POINTER(trt_module**)
TRTGO_POINTER(trt_module* const*)
TRTGO_POINTER(trt_state_dict**)
TRTGO_POINTER(trt_optimizer**)
TRTGO_POINTER(trt_scheduler**)
TRTGO_POINTER(trt_scheduler* const*)
TRTGO_POINTER(trt_dataset**)
TRTGO_POINTER(trt_data_loader**)
TRTGO_POINTER(trt_generator**)
TRTGO_POINTER(trt_safetensors**)
TRTGO_POINTER(trt_cancel_token**)
TRTGO_POINTER(trt_node**)
TRTGO_POINTER(trt_memory_stats*)
TRTGO_POINTER(const SWIGTYPE* options)
TRTGO_POINTER(SWIGTYPE* options)

%typemap(gotype) size_t, int64_t "int"
%typemap(imtype) size_t, int64_t "int"
%typemap(in) size_t, int64_t %{ $1 = ($1_ltype)$input; %}
%typemap(out) size_t, int64_t %{ $result = (intgo)$1; %}
%typemap(goout) size_t, int64_t ""

%typemap(gotype) trt_dtype, trt_code, trt_log_level, trt_load_mode, enum SWIGTYPE "int"
%typemap(imtype) trt_dtype, trt_code, trt_log_level, trt_load_mode, enum SWIGTYPE "int"
%typemap(in) trt_dtype, trt_code, trt_log_level, trt_load_mode, enum SWIGTYPE %{ $1 = ($1_ltype)$input; %}
%typemap(out) trt_dtype, trt_code, trt_log_level, trt_load_mode, enum SWIGTYPE %{ $result = (intgo)$1; %}
%typemap(goout) trt_dtype, trt_code, trt_log_level, trt_load_mode, enum SWIGTYPE ""

%typemap(gotype) trt_scalar "Scalar"
%typemap(imtype) trt_scalar "Scalar"
%typemap(in) trt_scalar %{ $1 = $input; %}
%typemap(out) trt_scalar %{ $result = $1; %}
%typemap(goout) trt_scalar ""
%typemap(gotype) trt_device "Device"
%typemap(imtype) trt_device "Device"
%typemap(in) trt_device %{ $1 = $input; %}
%typemap(out) trt_device %{ $result = $1; %}
%typemap(goout) trt_device ""

%typemap(gotype) const char* "string"
%typemap(imtype) const char* "string"
%typemap(in) const char* (trtgo_text temp) %{ $1 = trtgo_text_in(&temp, $input.p, $input.n); %}
%typemap(freearg) const char* %{ trtgo_text_free(&temp$argnum); %}

// A text that a function returns is borrowed: Go copies it.
typedef const char* trtgo_borrowed;
%typemap(gotype) trtgo_borrowed "string"
%typemap(imtype) trtgo_borrowed "uintptr"
%typemap(out) trtgo_borrowed %{ $result = $1; %}
%typemap(goout) trtgo_borrowed %{ $result = borrowed($input) %}

%typemap(in, numinputs=0) trt_tensor** result (trt_tensor* temp = NULL) %{ $1 = &temp; %}
%typemap(argout) trt_tensor** result %{ _swig_go_result = trtgo_result(result, temp$argnum); %}

// Functions that the library calls back into are in native.go.
%ignore trt_scalar_double;
%ignore trt_scalar_int;
%ignore trt_scalar_bool;
%ignore trt_scalar_complex;
%ignore trt_string_release;
%ignore trt_tensor_sizes;
%ignore trt_tensor_strides;
%ignore trt_safetensors_sizes;
// The library's scopes are not used: InScope closes tensors itself.
%ignore trt_scope_begin;
%ignore trt_scope_end;
%ignore trt_scope_keep;

%include <stdint.i>
%include "declarations.i"
