// The private SWIG module of the Java binding: class Native with one static method per C function. Handles are longs, statuses become
// exceptions, outputs become results. No class is made for handles; structs of options become classes that only the facade sees.
%module Native

%pragma(java) moduleclassmodifiers="final class"
%pragma(java) jniclassclassmodifiers="final class"

%begin %{
#pragma GCC diagnostic ignored "-Wunused-function"  // helpers for arrays that no struct has
%}
%{
#include "jni_support.h"
%}

#define SWIGWORDSIZE64
%include "stdint.i"
%include "enumsimple.swg"
%include "arrays_java.i"

%javaconst(1);
%pragma(java) jniclasscode=%{
  static {
    Library.load();
  }
%}
%typemap(javaclassmodifiers) SWIGTYPE "final class"
%typemap(javafinalize) SWIGTYPE ""
%apply long long { int64_t };
%apply long long[ANY] { int64_t[ANY] };
%typemap(javabody) SWIGTYPE %{
  private transient long swigCPtr;
  protected transient boolean swigCMemOwn;

  protected $javaclassname(long cPtr, boolean cMemoryOwn) {
    swigCMemOwn = cMemoryOwn;
    swigCPtr = cPtr;
  }

  protected static long getCPtr($javaclassname obj) {
    return obj == null ? 0 : obj.swigCPtr;
  }
%}

// Structs of options: pointers without type punning.
%typemap(in) SWIGTYPE* %{ $1 = ($1_ltype)$input; %}
%typemap(out) SWIGTYPE* %{ $result = (jlong)$1; %}

// --- handles: longs ---
%define TRT_HANDLE(TYPE)
%typemap(jni) TYPE*, const TYPE* "jlong"
%typemap(jtype) TYPE*, const TYPE* "long"
%typemap(jstype) TYPE*, const TYPE* "long"
%typemap(javain) TYPE*, const TYPE* "$javainput"
%typemap(javaout) TYPE*, const TYPE* { return $jnicall; }
%typemap(in) TYPE*, const TYPE* %{ $1 = reinterpret_cast<TYPE*>($input); %}
%typemap(out) TYPE*, const TYPE* %{ $result = reinterpret_cast<jlong>($1); %}
%typemap(in, numinputs=0) TYPE** out (TYPE* made = nullptr) %{ $1 = &made; %}
%typemap(argout) TYPE** out %{ trtj::put(jenv, $result, *$1, trt_at); %}
%typemap(jni) (TYPE* const* handles, size_t handles_count) "jlongArray"
%typemap(jtype) (TYPE* const* handles, size_t handles_count) "long[]"
%typemap(jstype) (TYPE* const* handles, size_t handles_count) "long[]"
%typemap(javain) (TYPE* const* handles, size_t handles_count) "$javainput"
%typemap(in) (TYPE* const* handles, size_t handles_count) (trtj::Array<TYPE*, jlong> list) %{
  if (!list.read(jenv, $input)) return $null;
  $1 = ($1_ltype)list.data();
  $2 = list.size();
%}
%enddef

TRT_HANDLE(trt_tensor)
TRT_HANDLE(trt_tensor_list)
TRT_HANDLE(trt_module)
TRT_HANDLE(trt_state_dict)
TRT_HANDLE(trt_optimizer)
TRT_HANDLE(trt_scheduler)
TRT_HANDLE(trt_dataset)
TRT_HANDLE(trt_data_loader)
TRT_HANDLE(trt_generator)
TRT_HANDLE(trt_safetensors)
TRT_HANDLE(trt_cancel_token)
TRT_HANDLE(trt_node)
TRT_HANDLE(trt_status)

// --- results: an error is thrown, outputs are put into the result ---
%define TRT_RESULT(ALIAS, JNI, JAVA)
%typemap(jni) ALIAS "JNI"
%typemap(jtype) ALIAS "JAVA"
%typemap(jstype) ALIAS "JAVA"
%typemap(javaout) ALIAS { return $jnicall; }
%typemap(out) ALIAS %{
  if ($1) {
    trtj::throw_status(jenv, $1);
    return $null;
  }
  [[maybe_unused]] int trt_at = 0;
%}
%enddef
%define TRT_HANDLES(ALIAS, COUNT)
TRT_RESULT(ALIAS, jlongArray, long[])
%typemap(out) ALIAS %{
  if ($1) {
    trtj::throw_status(jenv, $1);
    return $null;
  }
  $result = jenv->NewLongArray(COUNT);
  int trt_at = 0;
%}
%enddef

%typemap(jni) trt_returns_nothing "void"
%typemap(jtype) trt_returns_nothing "void"
%typemap(jstype) trt_returns_nothing "void"
%typemap(javaout) trt_returns_nothing { $jnicall; }
%typemap(out) trt_returns_nothing %{
  if ($1) trtj::throw_status(jenv, $1);
%}
TRT_RESULT(trt_returns_tensor, jlong, long)
TRT_RESULT(trt_returns_module, jlong, long)
TRT_RESULT(trt_returns_state_dict, jlong, long)
TRT_RESULT(trt_returns_optimizer, jlong, long)
TRT_RESULT(trt_returns_scheduler, jlong, long)
TRT_RESULT(trt_returns_dataset, jlong, long)
TRT_RESULT(trt_returns_data_loader, jlong, long)
TRT_RESULT(trt_returns_generator, jlong, long)
TRT_RESULT(trt_returns_safetensors, jlong, long)
TRT_RESULT(trt_returns_cancel_token, jlong, long)
TRT_RESULT(trt_returns_node, jlong, long)
TRT_RESULT(trt_returns_int64, jlong, long)
TRT_RESULT(trt_returns_uint64, jlong, long)
TRT_RESULT(trt_returns_size, jlong, long)
TRT_RESULT(trt_returns_double, jdouble, double)
TRT_RESULT(trt_returns_bool, jboolean, boolean)
TRT_RESULT(trt_returns_string, jstring, String)
TRT_RESULT(trt_returns_scalar, jobject, Scalar)
TRT_RESULT(trt_returns_tensor_list, jlongArray, long[])
TRT_RESULT(trt_returns_tensor_list_bool, jlongArray, long[])
TRT_HANDLES(trt_returns_tensor_tensor, 2)
TRT_HANDLES(trt_returns_tensor_tensor_tensor, 3)
TRT_HANDLES(trt_returns_tensor_tensor_tensor_tensor, 4)
TRT_HANDLES(trt_returns_tensor_tensor_tensor_tensor_tensor, 5)
TRT_HANDLES(trt_returns_uint64_uint64, 2)

%define TRT_OUT(TYPE)
%typemap(in, numinputs=0) TYPE* out (TYPE made = TYPE()) %{ $1 = &made; %}
%typemap(argout) TYPE* out %{ trtj::put(jenv, $result, *$1, trt_at); %}
%enddef
TRT_OUT(int64_t)
TRT_OUT(uint64_t)
TRT_OUT(size_t)
TRT_OUT(double)
TRT_OUT(bool)
TRT_OUT(trt_scalar)
%typemap(in, numinputs=0) char** out (char* made = nullptr) %{ $1 = &made; %}
%typemap(argout) char** out %{ trtj::put(jenv, $result, *$1, trt_at); %}

// --- numbers ---
%typemap(jni) uint64_t "jlong"
%typemap(jtype) uint64_t "long"
%typemap(jstype) uint64_t "long"
%typemap(javain) uint64_t "$javainput"
%typemap(javaout) uint64_t { return $jnicall; }
%typemap(in) uint64_t %{ $1 = static_cast<uint64_t>($input); %}
%typemap(out) uint64_t %{ $result = static_cast<jlong>($1); %}

%define TRT_ENUM(TYPE)
%typemap(jni) TYPE "jint"
%typemap(jtype) TYPE "int"
%typemap(jstype) TYPE "int"
%typemap(javain) TYPE "$javainput"
%typemap(javaout) TYPE { return $jnicall; }
%typemap(in) TYPE %{ $1 = static_cast<TYPE>($input); %}
%typemap(out) TYPE %{ $result = static_cast<jint>($1); %}
%enddef
TRT_ENUM(trt_dtype)
TRT_ENUM(trt_code)
TRT_ENUM(trt_log_level)
TRT_ENUM(trt_load_mode)

%typemap(jni) trt_scalar "jobject"
%typemap(jtype) trt_scalar "Scalar"
%typemap(jstype) trt_scalar "Scalar"
%typemap(javain) trt_scalar "$javainput"
%typemap(in) trt_scalar %{
  if (!$input) {
    trtj::throw_new(jenv, "java/lang/NullPointerException", "a number is null");
    return $null;
  }
  $1 = trtj::scalar(jenv, $input);
%}

%typemap(jni) trt_device "jint"
%typemap(jtype) trt_device "int"
%typemap(jstype) trt_device "int"
%typemap(javain) trt_device "$javainput"
%typemap(javaout) trt_device { return $jnicall; }
%typemap(in) trt_device %{ $1 = trtj::device($input); %}
%typemap(out) trt_device %{ $result = trtj::device($1); %}

// Optional ones: null, or a boxed number.
%define TRT_OPTIONAL(TYPE, NAME, JAVA, READ)
%typemap(jni) const TYPE* NAME "jobject"
%typemap(jtype) const TYPE* NAME "JAVA"
%typemap(jstype) const TYPE* NAME "JAVA"
%typemap(javain) const TYPE* NAME "$javainput"
%typemap(in) const TYPE* NAME (TYPE value = TYPE()) %{
  if ($input) {
    value = READ;
    $1 = &value;
  }
%}
%enddef
TRT_OPTIONAL(int64_t, optional_int64, Long, jenv->GetLongField($input, trtj::ids.long_value))
TRT_OPTIONAL(double, optional_double, Double, jenv->GetDoubleField($input, trtj::ids.double_value))
TRT_OPTIONAL(bool, optional_bool, Boolean, jenv->GetBooleanField($input, trtj::ids.boolean_value))
%typemap(jni) const trt_scalar* optional_scalar "jobject"
%typemap(jtype) const trt_scalar* optional_scalar "Scalar"
%typemap(jstype) const trt_scalar* optional_scalar "Scalar"
%typemap(javain) const trt_scalar* optional_scalar "$javainput"
%typemap(in) const trt_scalar* optional_scalar (trt_scalar value = trt_scalar()) %{
  if ($input) {
    value = trtj::scalar(jenv, $input);
    $1 = &value;
  }
%}
// A device that may be missing: -1.
%typemap(jni) const trt_device* optional_device "jint"
%typemap(jtype) const trt_device* optional_device "int"
%typemap(jstype) const trt_device* optional_device "int"
%typemap(javain) const trt_device* optional_device "$javainput"
%typemap(in) const trt_device* optional_device (trt_device value = trt_device()) %{
  if ($input >= 0) {
    value = trtj::device($input);
    $1 = &value;
  }
%}

// --- lists: arrays; null gives NULL and 0 ---
%define TRT_LIST(TYPE, NAME, CTYPE, ELEMENT, J, JAVA)
%typemap(jni) (TYPE NAME, size_t NAME ## _count) "J"
%typemap(jtype) (TYPE NAME, size_t NAME ## _count) "JAVA[]"
%typemap(jstype) (TYPE NAME, size_t NAME ## _count) "JAVA[]"
%typemap(javain) (TYPE NAME, size_t NAME ## _count) "$javainput"
%typemap(in) (TYPE NAME, size_t NAME ## _count) (trtj::Array<CTYPE, ELEMENT> list) %{
  if (!list.read(jenv, $input)) return $null;
  $1 = ($1_ltype)list.data();
  $2 = list.size();
%}
%enddef
TRT_LIST(const int64_t*, ints, int64_t, jlong, jlongArray, long)
TRT_LIST(const double*, doubles, double, jdouble, jdoubleArray, double)
TRT_LIST(const trt_tensor* const*, tensors, const trt_tensor*, jlong, jlongArray, long)
%typemap(jni) (const char* const* strings, size_t strings_count) "jobjectArray"
%typemap(jtype) (const char* const* strings, size_t strings_count) "String[]"
%typemap(jstype) (const char* const* strings, size_t strings_count) "String[]"
%typemap(javain) (const char* const* strings, size_t strings_count) "$javainput"
%typemap(in) (const char* const* strings, size_t strings_count) (trtj::Strings list) %{
  if (!list.read(jenv, $input)) return $null;
  $1 = ($1_ltype)list.data();
  $2 = list.size();
%}

// --- strings: UTF-8 ---
%typemap(jni) const char* "jstring"
%typemap(jtype) const char* "String"
%typemap(jstype) const char* "String"
%typemap(javain) const char* "$javainput"
%typemap(javaout) const char* { return $jnicall; }
%typemap(in) const char* (trtj::Utf8 text) %{
  if (!text.read(jenv, $input)) return $null;
  $1 = const_cast<char*>(text.get());
%}
%typemap(freearg) const char* ""
%typemap(out) const char* %{ $result = trtj::to_java(jenv, $1); %}

// Borrowed arrays of sizes and strides are copied by functions of callbacks.cpp, which know their length.
%ignore trt_tensor_sizes;
%ignore trt_tensor_strides;
%ignore trt_safetensors_sizes;
%ignore trt_tensor_list_get;
%ignore trt_tensor_list_size;
%ignore trt_tensor_list_release;
%ignore trt_status_code;
%ignore trt_status_message;
%ignore trt_status_op;
%ignore trt_status_release;
%ignore trt_status_create;
%ignore trt_string_release;
%ignore trt_scalar_double;
%ignore trt_scalar_int;
%ignore trt_scalar_bool;
%ignore trt_scalar_complex;
%ignore trt_scalar;
%ignore trt_device;
%ignore trt_value;
%ignore trt_value_kind;
%ignore trt_values_release;
%ignore trt_data_loader_options::weights;
%ignore trt_data_loader_options::weights_count;

%include "declarations.i"
