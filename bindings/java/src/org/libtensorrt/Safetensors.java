package org.libtensorrt;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** An open safetensors file, validated completely. All methods from any thread. */
public final class Safetensors extends NativeObject {
  /**
   * Opens and validates a file.
   *
   * @param path the file
   */
  public Safetensors(String path) {
    super(Native.trt_safetensors_open(path));
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_safetensors_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.SAFETENSORS;
  }

  /**
   * The names in the file's order.
   *
   * @return a new list
   */
  public List<String> names() {
    enter();
    try {
      List<String> names = new ArrayList<>();
      for (long i = 0; i < Native.trt_safetensors_size(pointer); i++) {
        names.add(Native.trt_safetensors_name(pointer, i));
      }
      return names;
    } finally {
      leave();
    }
  }

  /**
   * A tensor in memory of the library.
   *
   * @param name its name
   * @return a new tensor
   */
  public Tensor get(String name) {
    return load(name, Native.TRT_LOAD_COPY);
  }

  /**
   * A tensor on a private mapping of the file, without copying where the data is aligned. Writing to it never changes the file, which must
   * not be shortened meanwhile.
   *
   * @param name its name
   * @return a new tensor
   */
  public Tensor map(String name) {
    return load(name, Native.TRT_LOAD_MAP);
  }

  private Tensor load(String name, int mode) {
    enter();
    try {
      return Tensor.adopt(Native.trt_safetensors_tensor(pointer, name, mode));
    } finally {
      leave();
    }
  }

  /**
   * The dtype of a tensor.
   *
   * @param name its name
   * @return its dtype; null for one that the library lacks
   */
  public DType dtype(String name) {
    enter();
    try {
      return DType.ofCode(Native.trt_safetensors_dtype(pointer, Native.trt_safetensors_find(pointer, name)));
    } finally {
      leave();
    }
  }

  /**
   * The sizes of a tensor.
   *
   * @param name its name
   * @return a new array
   */
  public long[] shape(String name) {
    enter();
    try {
      return Callbacks.fileSizes(pointer, Native.trt_safetensors_find(pointer, name));
    } finally {
      leave();
    }
  }

  /**
   * The strings that were saved with the tensors.
   *
   * @return a new map in the file's order
   */
  public Map<String, String> metadata() {
    enter();
    try {
      Map<String, String> all = new LinkedHashMap<>();
      for (long i = 0; i < Native.trt_safetensors_metadata_size(pointer); i++) {
        all.put(Native.trt_safetensors_metadata_key(pointer, i), Native.trt_safetensors_metadata_value(pointer, i));
      }
      return all;
    } finally {
      leave();
    }
  }

  /**
   * Saves CPU tensors, in the map's order, atomically.
   *
   * @param path the file
   * @param tensors names and tensors
   * @param metadata strings to be saved with them
   */
  public static void save(String path, Map<String, Tensor> tensors, Map<String, String> metadata) {
    String[] names = tensors.keySet().toArray(new String[0]);
    Tensor[] used = tensors.values().toArray(new Tensor[0]);
    String[] keys = metadata.keySet().toArray(new String[0]);
    String[] values = metadata.values().toArray(new String[0]);
    enter(used);
    try {
      Callbacks.safetensorsSave(path, names, pointers(used), keys, values);
    } finally {
      leave(used);
    }
  }
}
