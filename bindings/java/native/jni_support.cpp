#include "jni_support.h"

#include <pthread.h>

#include <atomic>
#include <cstring>

namespace trtj {

Ids ids;

namespace {

JavaVM* vm;
pthread_key_t attached;  // set on threads that environment() attached

void detach(void*) {
  if (vm) vm->DetachCurrentThread();
}

void destroy_exception(void* payload) {
  if (JNIEnv* env = environment()) drop(env, static_cast<jobject>(payload));
}

std::atomic<int64_t> kept{0};

jclass global_class(JNIEnv* env, const char* name) {
  jclass local = env->FindClass(name);
  if (!local) return nullptr;
  auto result = static_cast<jclass>(env->NewGlobalRef(local));
  env->DeleteLocalRef(local);
  return result;
}

jfieldID field(JNIEnv* env, const char* class_name, const char* name, const char* signature) {
  jclass c = env->FindClass(class_name);
  jfieldID f = c ? env->GetFieldID(c, name, signature) : nullptr;
  if (c) env->DeleteLocalRef(c);
  return f;
}

bool look_up(JNIEnv* env) {
  return (ids.errors = global_class(env, "org/libtensorrt/Errors")) && (ids.memory = global_class(env, "org/libtensorrt/Memory")) &&
         (ids.callbacks = global_class(env, "org/libtensorrt/Callbacks")) && (ids.scalar = global_class(env, "org/libtensorrt/Scalar")) &&
         (ids.string = global_class(env, "java/lang/String")) &&
         (ids.errors_make = env->GetStaticMethodID(ids.errors, "make", "(ILjava/lang/String;Ljava/lang/String;)Ljava/lang/Throwable;")) &&
         (ids.errors_back = env->GetStaticMethodID(ids.errors, "back", "(Ljava/lang/Throwable;Ljava/lang/String;)Ljava/lang/Throwable;")) &&
         (ids.errors_describe = env->GetStaticMethodID(ids.errors, "describe", "(Ljava/lang/Throwable;)Ljava/lang/String;")) &&
         (ids.memory_check = env->GetStaticMethodID(ids.memory, "check", "()V")) &&
         (ids.scalar_make = env->GetStaticMethodID(ids.scalar, "make", "(IJD)Lorg/libtensorrt/Scalar;")) &&
         (ids.hook = env->GetStaticMethodID(ids.callbacks, "hook", "(Ljava/lang/Object;J)J")) &&
         (ids.module_hook = env->GetStaticMethodID(ids.callbacks, "moduleHook", "(Ljava/lang/Object;JJJ)J")) &&
         (ids.backward = env->GetStaticMethodID(ids.callbacks, "backward", "(Ljava/lang/Object;[J[J)V")) &&
         (ids.sample = env->GetStaticMethodID(ids.callbacks, "sample", "(Ljava/lang/Object;J[J)V")) &&
         (ids.map = env->GetStaticMethodID(ids.callbacks, "map", "(Ljava/lang/Object;[J[J)V")) &&
         (ids.forward = env->GetStaticMethodID(ids.callbacks, "forward", "(Ljava/lang/Object;J)J")) &&
         (ids.factor = env->GetStaticMethodID(ids.callbacks, "factor", "(Ljava/lang/Object;JJ)D")) &&
         (ids.log = env->GetStaticMethodID(ids.callbacks, "log", "(Ljava/lang/Object;ILjava/lang/String;)V")) &&
         (ids.ended = env->GetStaticMethodID(ids.callbacks, "ended", "(Ljava/lang/Object;)V")) &&
         (ids.scalar_kind = env->GetFieldID(ids.scalar, "kind", "I")) && (ids.scalar_bits = env->GetFieldID(ids.scalar, "bits", "J")) &&
         (ids.scalar_imag = env->GetFieldID(ids.scalar, "imag", "D")) &&
         (ids.long_value = field(env, "java/lang/Long", "value", "J")) && (ids.double_value = field(env, "java/lang/Double", "value", "D")) &&
         (ids.boolean_value = field(env, "java/lang/Boolean", "value", "Z"));
}

// Appends code point c.
char* encode(char* to, uint32_t c) {
  if (c < 0x80) {
    *to++ = static_cast<char>(c);
  } else if (c < 0x800) {
    *to++ = static_cast<char>(0xc0 | c >> 6);
    *to++ = static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    *to++ = static_cast<char>(0xe0 | c >> 12);
    *to++ = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    *to++ = static_cast<char>(0x80 | (c & 0x3f));
  } else {
    *to++ = static_cast<char>(0xf0 | c >> 18);
    *to++ = static_cast<char>(0x80 | (c >> 12 & 0x3f));
    *to++ = static_cast<char>(0x80 | (c >> 6 & 0x3f));
    *to++ = static_cast<char>(0x80 | (c & 0x3f));
  }
  return to;
}

bool out_of_memory(JNIEnv* env) {
  throw_new(env, "java/lang/OutOfMemoryError", "no native memory for a string");
  return false;
}

}  // namespace

JNIEnv* environment() {
  JNIEnv* env = nullptr;
  if (!vm) return nullptr;
  const jint found = vm->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_10);
  if (found == JNI_OK) return env;
  char name[] = "tensorrt-native";
  JavaVMAttachArgs args{JNI_VERSION_10, name, nullptr};
  if (found != JNI_EDETACHED || vm->AttachCurrentThreadAsDaemon(reinterpret_cast<void**>(&env), &args) != JNI_OK) return nullptr;
  pthread_setspecific(attached, env);
  return env;
}

jobject keep(JNIEnv* env, jobject object) {
  jobject global = env->NewGlobalRef(object);
  if (global) kept.fetch_add(1, std::memory_order_relaxed);
  return global;
}
void drop(JNIEnv* env, jobject global) {
  if (!global) return;
  env->DeleteGlobalRef(global);
  kept.fetch_sub(1, std::memory_order_relaxed);
}
int64_t kept_count() { return kept.load(std::memory_order_relaxed); }

void throw_new(JNIEnv* env, const char* class_name, const char* message) {
  jclass c = env->FindClass(class_name);
  if (!c) return;  // its own exception is pending
  env->ThrowNew(c, message);
  env->DeleteLocalRef(c);
}

void throw_status(JNIEnv* env, trt_status* status) {
  jthrowable thrown = nullptr;
  if (void* payload = trt_status_payload(status, destroy_exception)) {
    thrown = static_cast<jthrowable>(env->NewLocalRef(static_cast<jobject>(payload)));
    jstring message = thrown ? to_java(env, trt_status_message(status)) : nullptr;
    if (message) thrown = static_cast<jthrowable>(env->CallStaticObjectMethod(ids.errors, ids.errors_back, thrown, message));
  } else {
    jstring op = to_java(env, trt_status_op(status));
    jstring message = op ? to_java(env, trt_status_message(status)) : nullptr;
    if (message)
      thrown = static_cast<jthrowable>(env->CallStaticObjectMethod(ids.errors, ids.errors_make, static_cast<jint>(trt_status_code(status)), op, message));
  }
  trt_status_release(status);
  if (thrown && !env->ExceptionCheck()) env->Throw(thrown);
}

trt_status* take_exception(JNIEnv* env) {
  jthrowable thrown = env->ExceptionOccurred();
  env->ExceptionClear();
  Utf8 message;
  auto text = static_cast<jstring>(env->CallStaticObjectMethod(ids.errors, ids.errors_describe, thrown));
  if (env->ExceptionCheck() || !message.read(env, text)) env->ExceptionClear();
  const char* described = message.get() ? message.get() : "an exception of a Java callback";
  jobject kept = keep(env, thrown);
  if (!kept) return trt_status_create(TRT_CALLBACK, described);
  return trt_status_create_with(TRT_CALLBACK, described, kept, destroy_exception);
}

jstring to_java(JNIEnv* env, const char* text) {
  if (!text) return nullptr;
  const size_t size = std::strlen(text);
  jchar buffer[256];
  buffer[0] = 0;
  jchar* units = buffer;
  if (size > 256 && !(units = static_cast<jchar*>(std::malloc(size * sizeof(jchar))))) {
    out_of_memory(env);
    return nullptr;
  }
  jsize n = 0;
  const auto* p = reinterpret_cast<const unsigned char*>(text);
  for (size_t i = 0; i < size;) {
    const unsigned char lead = p[i];
    const int more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : -1;
    uint32_t c = more <= 0 ? lead : lead & (0x3fu >> more);
    bool good = more >= 0 && i + static_cast<size_t>(more) < size;
    for (int k = 1; good && k <= more; ++k) {
      good = p[i + static_cast<size_t>(k)] >> 6 == 2;
      c = c << 6 | (p[i + static_cast<size_t>(k)] & 0x3f);
    }
    if (!good || c > 0x10ffff) {
      units[n++] = 0xfffd;
      ++i;
      continue;
    }
    if (c >= 0x10000) {
      units[n++] = static_cast<jchar>(0xd800 + ((c - 0x10000) >> 10));
      units[n++] = static_cast<jchar>(0xdc00 + ((c - 0x10000) & 0x3ff));
    } else {
      units[n++] = static_cast<jchar>(c);
    }
    i += static_cast<size_t>(more) + 1;
  }
  jstring result = env->NewString(units, n);
  if (units != buffer) std::free(units);
  return result;
}

bool Utf8::read(JNIEnv* env, jstring text) {
  if (!text) return true;
  const jsize n = env->GetStringLength(text);
  // A UTF-16 unit gives at most three bytes.
  const size_t room = static_cast<size_t>(n) * 3 + 1;
  text_ = buffer_;
  if (room > sizeof buffer_ && !(text_ = static_cast<char*>(std::malloc(room)))) return out_of_memory(env);
  char* to = text_;
  jchar units[256];
  jchar high = 0;
  for (jsize at = 0; at < n; at += 256) {
    const jsize count = n - at < 256 ? n - at : 256;
    env->GetStringRegion(text, at, count, units);
    for (jsize i = 0; i < count; ++i) {
      const jchar c = units[i];
      if (c == 0) {
        throw_new(env, "java/lang/IllegalArgumentException", "a text must not contain the character NUL");
        return false;
      }
      if (high && c >= 0xdc00 && c < 0xe000) {
        to = encode(to, 0x10000u + (static_cast<uint32_t>(high - 0xd800) << 10) + (c - 0xdc00u));
        high = 0;
        continue;
      }
      if (high) to = encode(to, 0xfffd);  // half a pair
      high = 0;
      if (c >= 0xd800 && c < 0xdc00) high = c;
      else to = encode(to, c >= 0xdc00 && c < 0xe000 ? 0xfffd : c);
    }
  }
  if (high) to = encode(to, 0xfffd);
  *to = 0;
  return true;
}

bool Strings::read(JNIEnv* env, jobjectArray array) {
  if (!array) return true;
  const jsize n = env->GetArrayLength(array);
  texts_ = new (std::nothrow) Utf8[static_cast<size_t>(n)];
  pointers_ = new (std::nothrow) const char*[static_cast<size_t>(n)];
  if (!texts_ || !pointers_) return out_of_memory(env);
  for (jsize i = 0; i < n; ++i) {
    auto text = static_cast<jstring>(env->GetObjectArrayElement(array, i));
    const bool read = texts_[i].read(env, text);
    env->DeleteLocalRef(text);
    if (!read) return false;
    pointers_[i] = texts_[i].get();
  }
  size_ = static_cast<size_t>(n);
  return true;
}

void count_tensor(JNIEnv* env, const trt_tensor* tensor) {
  // What a tensor takes beside its elements, roughly.
  constexpr int64_t kHeader = 256, kCheckEvery = 1 << 20;
  static thread_local int64_t bytes = 0;
  bytes += kHeader + trt_tensor_numel(tensor) * 4;
  if (bytes < kCheckEvery) return;
  bytes = 0;
  env->CallStaticVoidMethod(ids.memory, ids.memory_check);
  if (env->ExceptionCheck()) env->ExceptionClear();
}

void put(JNIEnv* env, jstring& to, char* made, int&) {
  to = to_java(env, made);
  trt_string_release(made);
}

void put(JNIEnv* env, jlongArray& to, trt_tensor* made, int& at) {
  if (!to || env->ExceptionCheck()) return trt_tensor_release(made);
  const jlong value = reinterpret_cast<jlong>(made);
  env->SetLongArrayRegion(to, at++, 1, &value);
  count_tensor(env, made);
}

void put(JNIEnv* env, jlongArray& to, uint64_t v, int& at) {
  const auto value = static_cast<jlong>(v);
  if (to) env->SetLongArrayRegion(to, at++, 1, &value);
}

void put(JNIEnv* env, jlongArray& to, trt_tensor_list* made, int&) {
  to = nullptr;
  if (!made) return;
  const auto n = static_cast<jsize>(trt_tensor_list_size(made));
  const trt_tensor* const* tensors = trt_tensor_list_data(made);
  to = env->NewLongArray(n);
  jlong handles[16];
  for (jsize i = 0; to && i < n;) {
    jsize filled = 0;
    for (; filled < 16 && i + filled < n; ++filled) {
      trt_tensor* const t = trt_tensor_retain(tensors[i + filled]);
      handles[filled] = reinterpret_cast<jlong>(t);
      count_tensor(env, t);
    }
    env->SetLongArrayRegion(to, i, filled, handles);
    i += filled;
  }
  trt_tensor_list_release(made);
}

}  // namespace trtj

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  JNIEnv* env = nullptr;
  if (machine->GetEnv(reinterpret_cast<void**>(&env), JNI_VERSION_10) != JNI_OK) return JNI_ERR;
  if (pthread_key_create(&trtj::attached, trtj::detach) != 0) return JNI_ERR;
  if (!trtj::look_up(env)) return JNI_ERR;
  trtj::vm = machine;
  return JNI_VERSION_10;
}
