// What SWIG's typemaps cannot express: callbacks into Java, and memory shared with Java. Natives of class org.libtensorrt.Callbacks.
//
// A callback's user_data is a global reference to a Java object. The library gives it back through `end`, once. Callbacks run on threads of
// Java, whose frame goes back to Java soon, and on threads of the library, whose frame never does: each call makes a local frame.
#include <cstring>

#include "jni_support.h"

using trtj::ids;

namespace {

class Frame {
 public:
  explicit Frame(JNIEnv* env) : env_(env), open_(env && env->PushLocalFrame(16) == 0) {}
  Frame(const Frame&) = delete;
  ~Frame() {
    if (open_) env_->PopLocalFrame(nullptr);
  }
  explicit operator bool() const { return open_; }

 private:
  JNIEnv* env_;
  bool open_;
};

trt_status* no_environment() { return trt_status_create(TRT_UNAVAILABLE, "the Java virtual machine does not take this thread"); }

// New references to tensors, as an array of longs for Java, which owns them.
jlongArray lend(JNIEnv* env, const trt_tensor* const* tensors, size_t count) {
  jlongArray array = env->NewLongArray(static_cast<jsize>(count));
  for (size_t i = 0; array && i < count; ++i) {
    const jlong p = reinterpret_cast<jlong>(trt_tensor_retain(tensors[i]));
    env->SetLongArrayRegion(array, static_cast<jsize>(i), 1, &p);
  }
  return array;
}

// Takes what Java put into `array`: references that are ours.
void take(JNIEnv* env, jlongArray array, trt_tensor** out, size_t count) {
  static_assert(sizeof(jlong) == sizeof(trt_tensor*));
  env->GetLongArrayRegion(array, 0, static_cast<jsize>(count), reinterpret_cast<jlong*>(out));
}

void end(void* user_data) {
  JNIEnv* env = trtj::environment();
  if (!env) return;
  auto object = static_cast<jobject>(user_data);
  // A release may run while an exception of Java is on its way.
  jthrowable pending = env->ExceptionOccurred();
  if (pending) env->ExceptionClear();
  env->CallStaticVoidMethod(ids.callbacks, ids.ended, object);
  if (env->ExceptionCheck()) env->ExceptionClear();
  trtj::drop(env, object);
  if (pending) {
    env->Throw(pending);
    env->DeleteLocalRef(pending);
  }
}

trt_status* hook(const trt_tensor* grad, trt_tensor** out, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  const jlong lent = reinterpret_cast<jlong>(trt_tensor_retain(grad));
  const jlong made = env->CallStaticLongMethod(ids.callbacks, ids.hook, static_cast<jobject>(user_data), lent);
  if (env->ExceptionCheck()) return trtj::take_exception(env);
  if (made) *out = reinterpret_cast<trt_tensor*>(made);
  return nullptr;
}

jlong reference(const trt_tensor* t) { return reinterpret_cast<jlong>(trt_tensor_retain(t)); }

trt_status* module_hook(trt_module* module, const trt_tensor* input, const trt_tensor* output, trt_tensor** out, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  const jlong made = env->CallStaticLongMethod(ids.callbacks, ids.module_hook, static_cast<jobject>(user_data),
                                               reinterpret_cast<jlong>(trt_module_retain(module)), reference(input), reference(output));
  if (env->ExceptionCheck()) return trtj::take_exception(env);
  if (made) *out = reinterpret_cast<trt_tensor*>(made);
  return nullptr;
}
trt_status* module_pre_hook(trt_module* module, const trt_tensor* input, trt_tensor** out, void* user_data) {
  return module_hook(module, input, nullptr, out, user_data);
}

// A call whose outputs Java puts into an array; also when it threw, what is there is ours to release.
template <typename F>
trt_status* filled(JNIEnv* env, trt_tensor** out, size_t count, F&& call) {
  jlongArray made = env->NewLongArray(static_cast<jsize>(count));
  if (!made) return trtj::take_exception(env);
  call(made);
  trt_status* status = env->ExceptionCheck() ? trtj::take_exception(env) : nullptr;
  take(env, made, out, count);
  return status;
}

trt_status* backward(const trt_tensor* const* grads, size_t grads_count, trt_tensor** out, size_t out_count, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  return filled(env, out, out_count, [&](jlongArray made) {
    if (jlongArray given = lend(env, grads, grads_count))
      env->CallStaticVoidMethod(ids.callbacks, ids.backward, static_cast<jobject>(user_data), given, made);
  });
}

trt_status* sample(int64_t index, trt_tensor** out, size_t fields, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  return filled(env, out, fields, [&](jlongArray made) {
    env->CallStaticVoidMethod(ids.callbacks, ids.sample, static_cast<jobject>(user_data), static_cast<jlong>(index), made);
  });
}

trt_status* map(const trt_tensor* const* in, size_t in_count, trt_tensor** out, size_t fields, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  return filled(env, out, fields, [&](jlongArray made) {
    if (jlongArray given = lend(env, in, in_count))
      env->CallStaticVoidMethod(ids.callbacks, ids.map, static_cast<jobject>(user_data), given, made);
  });
}

trt_status* forward(trt_module*, const trt_tensor* input, trt_tensor** out, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  const jlong lent = reinterpret_cast<jlong>(trt_tensor_retain(input));
  const jlong made = env->CallStaticLongMethod(ids.callbacks, ids.forward, static_cast<jobject>(user_data), lent);
  if (env->ExceptionCheck()) return trtj::take_exception(env);
  *out = reinterpret_cast<trt_tensor*>(made);
  return nullptr;
}

trt_status* factor(int64_t epoch, size_t group, double* out, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame) return no_environment();
  const jdouble made = env->CallStaticDoubleMethod(ids.callbacks, ids.factor, static_cast<jobject>(user_data), static_cast<jlong>(epoch),
                                                   static_cast<jlong>(group));
  if (env->ExceptionCheck()) return trtj::take_exception(env);
  *out = made;
  return nullptr;
}

void log_line(int level, const char* message, void* user_data) {
  JNIEnv* env = trtj::environment();
  Frame frame(env);
  if (!frame || env->ExceptionCheck()) return;
  if (jstring text = trtj::to_java(env, message))
    env->CallStaticVoidMethod(ids.callbacks, ids.log, static_cast<jobject>(user_data), static_cast<jint>(level), text);
  // There is nobody to whom a failing log callback could be reported.
  if (env->ExceptionCheck()) env->ExceptionClear();
}

// Throws when the status is an error; true when it is not.
bool good(JNIEnv* env, trt_status* status) {
  if (status) trtj::throw_status(env, status);
  return !status;
}

template <typename T>
T* handle(jlong p) {
  return reinterpret_cast<T*>(p);
}

// The elements of a primitive array in pieces, so that the virtual machine never waits long for a copy.
constexpr jsize kPiece = 1 << 18;

template <typename F>
void in_pieces(JNIEnv* env, jsize count, F&& copy) {
  for (jsize at = 0; at < count && !env->ExceptionCheck(); at += kPiece) copy(at, count - at < kPiece ? count - at : kPiece);
}

// `kind` is the letter of the array's element type in Java's signatures.
void read_array(JNIEnv* env, jarray a, jchar kind, void* to) {
  const jsize count = env->GetArrayLength(a);
  in_pieces(env, count, [&](jsize at, jsize n) {
    switch (kind) {
      case 'F': return env->GetFloatArrayRegion(static_cast<jfloatArray>(a), at, n, static_cast<jfloat*>(to) + at);
      case 'D': return env->GetDoubleArrayRegion(static_cast<jdoubleArray>(a), at, n, static_cast<jdouble*>(to) + at);
      case 'J': return env->GetLongArrayRegion(static_cast<jlongArray>(a), at, n, static_cast<jlong*>(to) + at);
      case 'I': return env->GetIntArrayRegion(static_cast<jintArray>(a), at, n, static_cast<jint*>(to) + at);
      case 'S': return env->GetShortArrayRegion(static_cast<jshortArray>(a), at, n, static_cast<jshort*>(to) + at);
      case 'B': return env->GetByteArrayRegion(static_cast<jbyteArray>(a), at, n, static_cast<jbyte*>(to) + at);
      default: return env->GetBooleanArrayRegion(static_cast<jbooleanArray>(a), at, n, static_cast<jboolean*>(to) + at);
    }
  });
}
void write_array(JNIEnv* env, jarray a, jchar kind, const void* from) {
  const jsize count = env->GetArrayLength(a);
  in_pieces(env, count, [&](jsize at, jsize n) {
    switch (kind) {
      case 'F': return env->SetFloatArrayRegion(static_cast<jfloatArray>(a), at, n, static_cast<const jfloat*>(from) + at);
      case 'D': return env->SetDoubleArrayRegion(static_cast<jdoubleArray>(a), at, n, static_cast<const jdouble*>(from) + at);
      case 'J': return env->SetLongArrayRegion(static_cast<jlongArray>(a), at, n, static_cast<const jlong*>(from) + at);
      case 'I': return env->SetIntArrayRegion(static_cast<jintArray>(a), at, n, static_cast<const jint*>(from) + at);
      case 'S': return env->SetShortArrayRegion(static_cast<jshortArray>(a), at, n, static_cast<const jshort*>(from) + at);
      case 'B': return env->SetByteArrayRegion(static_cast<jbyteArray>(a), at, n, static_cast<const jbyte*>(from) + at);
      default: return env->SetBooleanArrayRegion(static_cast<jbooleanArray>(a), at, n, static_cast<const jboolean*>(from) + at);
    }
  });
}

// The end of a tensor on a Java buffer's memory.
void let_buffer_go(void* buffer) {
  if (JNIEnv* env = trtj::environment()) trtj::drop(env, static_cast<jobject>(buffer));
}

jlongArray longs(JNIEnv* env, const int64_t* values, size_t count) {
  jlongArray a = env->NewLongArray(static_cast<jsize>(count));
  if (a && count) env->SetLongArrayRegion(a, 0, static_cast<jsize>(count), reinterpret_cast<const jlong*>(values));
  return a;
}

using Longs = trtj::Array<int64_t, jlong>;
using Tensors = trtj::Array<const trt_tensor*, jlong>;
using Doubles = trtj::Array<double, jdouble>;

}  // namespace

#define NATIVE(result, name, ...) extern "C" JNIEXPORT result JNICALL Java_org_libtensorrt_Callbacks_##name(JNIEnv* env, jclass, ##__VA_ARGS__)

// --- metadata ---

NATIVE(jlongArray, sizes, jlong tensor) {
  const auto* t = handle<trt_tensor>(tensor);
  return longs(env, trt_tensor_sizes(t), trt_tensor_ndim(t));
}
NATIVE(jlongArray, strides, jlong tensor) {
  const auto* t = handle<trt_tensor>(tensor);
  return longs(env, trt_tensor_strides(t), trt_tensor_ndim(t));
}
NATIVE(jlongArray, fileSizes, jlong file, jlong index) {
  const auto* f = handle<trt_safetensors>(file);
  const auto i = static_cast<size_t>(index);
  return longs(env, trt_safetensors_sizes(f, i), trt_safetensors_ndim(f, i));
}
NATIVE(jlong, allocatedBytes) {
  trt_memory_stats stats;
  trt_memory_stats_init(&stats);
  return good(env, trt_memory_get_stats({TRT_CPU, 0}, &stats)) ? stats.allocated_current : 0;
}
NATIVE(jlong, keptReferences) {
  (void)env;
  return trtj::kept_count();
}
NATIVE(void, releaseTensors, jlongArray tensors, jint count) {
  jlong some[128];
  for (jint at = 0; at < count; at += 128) {
    const jint n = count - at < 128 ? count - at : 128;
    env->GetLongArrayRegion(tensors, at, n, some);
    for (jint i = 0; i < n; ++i) trt_tensor_release(handle<trt_tensor>(some[i]));
  }
}

// --- memory ---

NATIVE(jlong, fromArray, jarray array, jchar kind, jint dtype, jlongArray sizes) {
  Longs shape;
  if (!shape.read(env, sizes)) return 0;
  trt_tensor* t = nullptr;
  if (!good(env, trt_empty(shape.data(), shape.size(), static_cast<trt_dtype>(dtype), nullptr, &t))) return 0;
  read_array(env, array, kind, trt_tensor_data(t));
  trtj::count_tensor(env, t);
  return reinterpret_cast<jlong>(t);
}

NATIVE(void, toArray, jlong tensor, jarray array, jchar kind, jint dtype) {
  const auto* t = handle<trt_tensor>(tensor);
  const jsize count = env->GetArrayLength(array);
  if (trt_tensor_is_contiguous(t) && trt_tensor_dtype(t) == dtype && trt_tensor_device(t).type == TRT_CPU && trt_tensor_numel(t) == count)
    return write_array(env, array, kind, trt_tensor_data(t));
  const size_t bytes = trt_dtype_size(static_cast<trt_dtype>(dtype)) * static_cast<size_t>(count);
  void* copy = std::malloc(bytes ? bytes : 1);
  if (!copy) return trtj::throw_new(env, "java/lang/OutOfMemoryError", "no native memory for a copy");
  if (good(env, trt_tensor_copy_to_host(t, copy, static_cast<trt_dtype>(dtype), count))) write_array(env, array, kind, copy);
  std::free(copy);
}

NATIVE(jlong, fromBuffer, jobject buffer, jlong offset, jlongArray sizes, jlongArray strides, jint dtype) {
  Longs shape, steps;
  if (!shape.read(env, sizes) || !steps.read(env, strides)) return 0;
  char* address = static_cast<char*>(env->GetDirectBufferAddress(buffer));
  if (!address && env->GetDirectBufferCapacity(buffer) != 0) {
    trtj::throw_new(env, "java/lang/IllegalArgumentException", "a direct buffer is needed");
    return 0;
  }
  jobject kept = trtj::keep(env, buffer);
  if (!kept) {
    trtj::throw_new(env, "java/lang/OutOfMemoryError", "no reference to the buffer");
    return 0;
  }
  trt_tensor* t = nullptr;
  if (trt_status* status = trt_tensor_from_blob(address ? address + offset : nullptr, shape.data(), steps.data(), shape.size(), static_cast<trt_dtype>(dtype),
                                                {TRT_CPU, 0}, let_buffer_go, kept, &t)) {
    trtj::drop(env, kept);
    trtj::throw_status(env, status);
    return 0;
  }
  trtj::count_tensor(env, t);
  return reinterpret_cast<jlong>(t);
}

NATIVE(jobject, data, jlong tensor) {
  auto* t = handle<trt_tensor>(tensor);
  const jlong bytes = trt_tensor_numel(t) * static_cast<jlong>(trt_dtype_size(trt_tensor_dtype(t)));
  static char nothing;
  void* address = trt_tensor_data(t);
  return env->NewDirectByteBuffer(address ? address : &nothing, bytes);
}

NATIVE(void, toBuffer, jlong tensor, jobject buffer, jlong offset, jint dtype) {
  const auto* t = handle<trt_tensor>(tensor);
  char* address = static_cast<char*>(env->GetDirectBufferAddress(buffer));
  good(env, trt_tensor_copy_to_host(t, address ? address + offset : nullptr, static_cast<trt_dtype>(dtype), trt_tensor_numel(t)));
}

// --- autograd ---

NATIVE(jlongArray, grad, jlongArray outputs, jlongArray inputs, jlongArray grads, jboolean retain_graph, jboolean create_graph, jboolean allow_unused) {
  Tensors from, to, given;
  if (!from.read(env, outputs) || !to.read(env, inputs) || !given.read(env, grads)) return nullptr;
  const auto n = static_cast<jsize>(to.size());
  jlongArray result = env->NewLongArray(n);
  trt_tensor** made = result ? static_cast<trt_tensor**>(std::calloc(to.size() + 1, sizeof *made)) : nullptr;
  if (!made) {
    if (result) trtj::throw_new(env, "java/lang/OutOfMemoryError", "no native memory for handles");
    return nullptr;
  }
  if (good(env, trt_grad(from.data(), from.size(), to.data(), to.size(), given.data(), given.size(), retain_graph, create_graph, allow_unused, made)))
    env->SetLongArrayRegion(result, 0, n, reinterpret_cast<const jlong*>(made));
  else
    result = nullptr;
  std::free(made);
  return result;
}

NATIVE(jlong, addHook, jlong tensor, jobject fn) {
  uint64_t id = 0;
  good(env, trt_tensor_add_hook(handle<trt_tensor>(tensor), hook, trtj::keep(env, fn), end, &id));
  return static_cast<jlong>(id);
}

NATIVE(jlong, addModuleHook, jlong module, jboolean before, jobject fn) {
  uint64_t id = 0;
  jobject kept = trtj::keep(env, fn);
  good(env, before ? trt_module_add_forward_pre_hook(handle<trt_module>(module), module_pre_hook, kept, end, &id)
                   : trt_module_add_forward_hook(handle<trt_module>(module), module_hook, kept, end, &id));
  return static_cast<jlong>(id);
}

NATIVE(jlongArray, customFunction, jstring name, jlongArray inputs, jlongArray outputs, jobject context) {
  trtj::Utf8 text;
  Tensors from, to;
  if (!text.read(env, name) || !from.read(env, inputs) || !to.read(env, outputs)) return nullptr;
  const auto n = static_cast<jsize>(to.size());
  jlongArray result = env->NewLongArray(n);
  trt_tensor** made = result ? static_cast<trt_tensor**>(std::calloc(to.size() + 1, sizeof *made)) : nullptr;
  if (!made) {
    if (result) trtj::throw_new(env, "java/lang/OutOfMemoryError", "no native memory for handles");
    return nullptr;
  }
  if (good(env, trt_custom_function(text.get(), from.data(), from.size(), to.data(), to.size(), backward, trtj::keep(env, context), end, made)))
    env->SetLongArrayRegion(result, 0, n, reinterpret_cast<const jlong*>(made));
  else
    result = nullptr;
  std::free(made);
  return result;
}

// --- objects with callbacks ---

NATIVE(void, setLogCallback, jobject fn) {
  good(env, fn ? trt_set_log_callback(log_line, trtj::keep(env, fn), end) : trt_set_log_callback(nullptr, nullptr, nullptr));
}

NATIVE(jlong, dataset, jlong size, jlong fields, jobject source) {
  trt_dataset* made = nullptr;
  good(env, trt_dataset_from_callback(size, static_cast<size_t>(fields), sample, trtj::keep(env, source), end, &made));
  return reinterpret_cast<jlong>(made);
}
NATIVE(jlong, datasetMap, jlong dataset, jlong fields, jobject fn) {
  trt_dataset* made = nullptr;
  good(env, trt_dataset_map(handle<trt_dataset>(dataset), static_cast<size_t>(fields), map, trtj::keep(env, fn), end, &made));
  return reinterpret_cast<jlong>(made);
}
NATIVE(jlong, customModule, jstring name, jobject link) {
  trtj::Utf8 text;
  if (!text.read(env, name)) return 0;
  trt_module* made = nullptr;
  good(env, trt_custom_module_create(text.get(), forward, trtj::keep(env, link), end, &made));
  return reinterpret_cast<jlong>(made);
}
NATIVE(jlong, lambdaLr, jlong optimizer, jobject fn) {
  trt_scheduler* made = nullptr;
  good(env, trt_lambda_lr_create(handle<trt_optimizer>(optimizer), factor, trtj::keep(env, fn), end, &made));
  return reinterpret_cast<jlong>(made);
}

// --- functions with several arrays of one length ---

NATIVE(jlong, dataLoader, jlong dataset, jlong options, jdoubleArray weights) {
  Doubles list;
  if (!list.read(env, weights)) return 0;
  auto* o = handle<trt_data_loader_options>(options);
  o->weights = list.data();
  o->weights_count = list.size();
  trt_data_loader* made = nullptr;
  good(env, trt_data_loader_create(handle<trt_dataset>(dataset), o, &made));
  o->weights = nullptr;
  return reinterpret_cast<jlong>(made);
}

NATIVE(void, safetensorsSave, jstring path, jobjectArray names, jlongArray tensors, jobjectArray keys, jobjectArray values) {
  trtj::Utf8 file;
  trtj::Strings name, key, value;
  Tensors list;
  if (!file.read(env, path) || !name.read(env, names) || !list.read(env, tensors) || !key.read(env, keys) || !value.read(env, values)) return;
  good(env, trt_safetensors_save(file.get(), name.data(), list.data(), list.size(), key.data(), value.data(), key.size()));
}
NATIVE(void, stateDictSave, jlong dict, jstring path, jobjectArray keys, jobjectArray values) {
  trtj::Utf8 file;
  trtj::Strings key, value;
  if (!file.read(env, path) || !key.read(env, keys) || !value.read(env, values)) return;
  good(env, trt_state_dict_save(handle<trt_state_dict>(dict), file.get(), key.data(), value.data(), key.size()));
}
NATIVE(void, addGroup, jlong optimizer, jlongArray params, jobjectArray names, jdoubleArray values) {
  trtj::Strings name;
  Tensors list;
  Doubles value;
  if (!list.read(env, params) || !name.read(env, names) || !value.read(env, values)) return;
  good(env, trt_optimizer_add_group(handle<trt_optimizer>(optimizer), list.data(), list.size(), name.data(), value.data(), name.size()));
}
