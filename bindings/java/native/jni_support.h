// Between JNI and the C API: environments, strings, arrays, errors. Used by the SWIG module's typemaps and by callbacks.cpp.
#pragma once

#include <jni.h>

#include <cstdint>
#include <cstdlib>
#include <new>

#include "tensorrt/tensorrt.h"

namespace trtj {

// Classes, methods and fields that are looked up once, when the library is loaded.
struct Ids {
  jclass errors, memory, callbacks, scalar, string;
  jmethodID errors_make, errors_back, errors_describe, memory_check, scalar_make;
  jmethodID hook, module_hook, backward, sample, map, forward, factor, log, ended;  // of callbacks
  jfieldID scalar_kind, scalar_bits, scalar_imag, long_value, double_value, boolean_value;
};
extern Ids ids;

// The environment of this thread. A thread of the library is attached as a daemon at its first callback and detached when it ends. Null when
// the virtual machine is gone or refuses.
JNIEnv* environment();

// Throws the exception of a status and releases the status. A status that carries a Java exception throws that object itself.
void throw_status(JNIEnv* env, trt_status* status);
// Makes a status of the pending exception, which it clears.
trt_status* take_exception(JNIEnv* env);
void throw_new(JNIEnv* env, const char* class_name, const char* message);

// A global reference that is counted, for tests of leaks.
jobject keep(JNIEnv* env, jobject object);
void drop(JNIEnv* env, jobject kept);
int64_t kept_count();

// A Java string of UTF-8; null for null.
jstring to_java(JNIEnv* env, const char* text);

// A Java string as UTF-8 (standard, not JNI's variant). Short ones stay on the stack.
class Utf8 {
 public:
  Utf8() = default;
  Utf8(const Utf8&) = delete;
  ~Utf8() {
    if (text_ != buffer_) std::free(text_);
  }
  // False with a pending exception when the text contains NUL or memory is short.
  bool read(JNIEnv* env, jstring text);
  const char* get() const { return text_; }

 private:
  char buffer_[128];
  char* text_ = nullptr;
};

template <typename J>
struct JavaArray;
template <>
struct JavaArray<jlong> {
  using Type = jlongArray;
  static void read(JNIEnv* env, jlongArray a, jsize n, jlong* to) { env->GetLongArrayRegion(a, 0, n, to); }
};
template <>
struct JavaArray<jdouble> {
  using Type = jdoubleArray;
  static void read(JNIEnv* env, jdoubleArray a, jsize n, jdouble* to) { env->GetDoubleArrayRegion(a, 0, n, to); }
};

// A copy of a Java array, as an array of C (T has the size of J). Short ones stay on the stack. null gives NULL and 0.
template <typename T, typename J>
class Array {
 public:
  static_assert(sizeof(T) == sizeof(J));
  Array() = default;
  Array(const Array&) = delete;
  ~Array() {
    if (data_ != buffer_) std::free(data_);
  }
  bool read(JNIEnv* env, typename JavaArray<J>::Type array) {
    if (!array) return true;
    const jsize n = env->GetArrayLength(array);
    data_ = buffer_;
    if (n > kShort) {
      data_ = static_cast<J*>(std::malloc(sizeof(J) * static_cast<size_t>(n)));
      if (!data_) {
        throw_new(env, "java/lang/OutOfMemoryError", "no native memory for an array");
        return false;
      }
    }
    JavaArray<J>::read(env, array, n, data_);
    size_ = static_cast<size_t>(n);
    return true;
  }
  T* data() { return reinterpret_cast<T*>(data_); }
  size_t size() const { return size_; }

 private:
  static constexpr jsize kShort = 16;
  J buffer_[kShort];
  J* data_ = nullptr;
  size_t size_ = 0;
};

// An array of strings.
class Strings {
 public:
  Strings() = default;
  Strings(const Strings&) = delete;
  ~Strings() {
    delete[] texts_;
    delete[] pointers_;
  }
  bool read(JNIEnv* env, jobjectArray array);
  const char* const* data() const { return pointers_; }
  size_t size() const { return size_; }

 private:
  Utf8* texts_ = nullptr;
  const char** pointers_ = nullptr;
  size_t size_ = 0;
};

inline trt_scalar scalar(JNIEnv* env, jobject s) {
  trt_scalar r{};
  r.kind = env->GetIntField(s, ids.scalar_kind);
  r.value.i = env->GetLongField(s, ids.scalar_bits);
  if (r.kind == TRT_SCALAR_COMPLEX) r.value.c[1] = env->GetDoubleField(s, ids.scalar_imag);
  return r;
}
// A device as Java passes it: (type << 16) | index.
inline trt_device device(jint d) { return {d >> 16, d & 0xffff}; }
inline jint device(trt_device d) { return d.type << 16 | (d.index & 0xffff); }

// Counts the memory of tensors that Java gets, and now and then lets Java look whether it must collect.
void count_tensor(JNIEnv* env, const trt_tensor* tensor);

// Outputs. The result is one value, or an array of handles in which `at` is the next place.
inline void put(JNIEnv* env, jlong& to, trt_tensor* made, int&) {
  to = reinterpret_cast<jlong>(made);
  count_tensor(env, made);
}
template <typename T>
void put(JNIEnv*, jlong& to, T* made, int&) {
  to = reinterpret_cast<jlong>(made);
}
inline void put(JNIEnv*, jlong& to, int64_t v, int&) { to = v; }
inline void put(JNIEnv*, jlong& to, size_t v, int&) { to = static_cast<jlong>(v); }
inline void put(JNIEnv*, jdouble& to, double v, int&) { to = v; }
inline void put(JNIEnv*, jboolean& to, bool v, int&) { to = v; }
inline void put(JNIEnv* env, jobject& to, const trt_scalar& s, int&) {
  to = env->CallStaticObjectMethod(ids.scalar, ids.scalar_make, static_cast<jint>(s.kind), static_cast<jlong>(s.value.i),
                                   s.kind == TRT_SCALAR_COMPLEX ? s.value.c[1] : 0.0);
}
void put(JNIEnv* env, jstring& to, char* made, int&);
void put(JNIEnv* env, jlongArray& to, trt_tensor* made, int& at);
void put(JNIEnv* env, jlongArray& to, trt_tensor_list* made, int&);
void put(JNIEnv* env, jlongArray& to, uint64_t v, int& at);
// After a list: whether there was one (a missing list is null already).
inline void put(JNIEnv*, jlongArray&, bool, int&) {}

}  // namespace trtj
