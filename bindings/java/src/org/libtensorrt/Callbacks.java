package org.libtensorrt;

import java.nio.ByteBuffer;

/**
 * The hand-written natives, and what they call: each method below that takes an Object is the way of the native side into an object of the user. Tensors come
 * in as references that are ours to release, and go out as references that become the library's. A scope closes what the user's code
 * leaves behind. This class has no initializer, because the native side looks it up while it is being loaded.
 */
final class Callbacks {
  private Callbacks() {}

  static native long[] sizes(long tensor);

  static native long[] strides(long tensor);

  static native long[] fileSizes(long file, long index);

  static native long allocatedBytes();

  static native long keptReferences();

  static native void releaseTensors(long[] tensors, int count);

  static native long fromArray(Object array, char kind, int dtype, long[] sizes);

  static native void toArray(long tensor, Object array, char kind, int dtype);

  static native long fromBuffer(Object buffer, long offset, long[] sizes, long[] strides, int dtype);

  static native ByteBuffer data(long tensor);

  static native void toBuffer(long tensor, Object buffer, long offset, int dtype);

  static native long[] grad(long[] outputs, long[] inputs, long[] grads, boolean retainGraph, boolean createGraph, boolean allowUnused);

  static native long addHook(long tensor, Object hook);

  static native long addModuleHook(long module, boolean before, Object hook);

  static native long[] customFunction(String name, long[] inputs, long[] outputs, Object context);

  static native void setLogCallback(Object callback);

  static native long dataset(long size, long fields, Object source);

  static native long datasetMap(long dataset, long fields, Object function);

  static native long customModule(String name, Object link);

  static native long lambdaLr(long optimizer, Object function);

  static native long dataLoader(long dataset, long options, double[] weights);

  static native void safetensorsSave(String path, String[] names, long[] tensors, String[] keys, String[] values);

  static native void stateDictSave(long dict, String path, String[] keys, String[] values);

  static native void addGroup(long optimizer, long[] params, String[] names, double[] values);

  // --- called by the native side ---

  static long hook(Object hook, long grad) {
    try (TensorScope scope = TensorScope.aroundCallback()) {
      Tensor replaced = ((Tensor.Hook) hook).apply(Tensor.adopt(grad));
      return give(replaced);
    }
  }

  static long moduleHook(Object hook, long module, long input, long output) {
    try (TensorScope scope = TensorScope.aroundCallback()) {
      Module m = Module.ofReference(module);
      try {
        Tensor x = Tensor.adopt(input);
        if (hook instanceof Module.PreHook before) {
          return give(before.apply(m, x));
        }
        return give(((Module.Hook) hook).apply(m, x, Tensor.adopt(output)));
      } finally {
        Module.endOfReference(m);
      }
    }
  }

  static void backward(Object context, long[] grads, long[] out) {
    try (TensorScope scope = TensorScope.aroundCallback()) {
      give(((AutogradFunction.Context) context).backward(adopt(grads)), out, "backward", true);
    }
  }

  static void sample(Object source, long index, long[] out) {
    try (TensorScope scope = TensorScope.aroundCallback()) {
      give(((Dataset.Source) source).get(index), out, "a dataset", false);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Exception e) {
      sneak(e);
    }
  }

  static void map(Object function, long[] in, long[] out) {
    try (TensorScope scope = TensorScope.aroundCallback()) {
      give(((Dataset.Transform) function).apply(adopt(in)), out, "a transform", false);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Exception e) {
      sneak(e);
    }
  }

  static long forward(Object link, long input) {
    try (TensorScope scope = TensorScope.aroundCallback()) {
      Tensor x = Tensor.adopt(input);
      long out = give(((Module.Link) link).module().compute(x));
      if (out == 0) {
        throw new NullPointerException("forward returned null");
      }
      return out;
    }
  }

  static double factor(Object function, long epoch, long group) {
    return ((LRScheduler.Factor) function).apply(epoch, Math.toIntExact(group));
  }

  static void log(Object callback, int level, String message) {
    ((Log.Callback) callback).log(Log.Level.of(level), message);
  }

  static void ended(Object object) {
    if (object instanceof AutogradFunction.Context context) {
      context.end();
    }
  }

  private static Tensor[] adopt(long[] pointers) {
    Tensor[] tensors = new Tensor[pointers.length];
    for (int i = 0; i < pointers.length; i++) {
      tensors[i] = pointers[i] == 0 ? null : Tensor.adopt(pointers[i]);
    }
    return tensors;
  }

  /** A reference for the library. */
  private static long give(Tensor t) {
    if (t == null) {
      return 0;
    }
    TensorScope.checkNoneIsLeftOpen();
    t.enter();
    try {
      return Native.trt_tensor_retain(t.pointer);
    } finally {
      t.leave();
    }
  }

  private static void give(Tensor[] tensors, long[] out, String who, boolean nulls) {
    if (tensors == null || tensors.length != out.length) {
      throw new IllegalStateException(who + " must give " + out.length + " tensors, got " + (tensors == null ? "null" : tensors.length));
    }
    for (int i = 0; i < out.length; i++) {
      if (tensors[i] == null && !nulls) {
        throw new NullPointerException(who + " gave null for tensor " + i);
      }
      out[i] = give(tensors[i]);
    }
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void sneak(Exception e) throws E {
    throw (E) e;
  }
}
