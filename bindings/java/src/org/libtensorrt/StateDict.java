package org.libtensorrt;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** An ordered map from names to tensors. Needs synchronization of one's own. */
public final class StateDict extends NativeObject {
  /** An empty dict. */
  public StateDict() {
    this(Native.trt_state_dict_create());
  }

  StateDict(long pointer) {
    super(pointer);
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_state_dict_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.STATE_DICT;
  }

  /**
   * All tensors of a safetensors file, copied into memory.
   *
   * @param path the file
   * @return a new dict
   */
  public static StateDict load(String path) {
    return new StateDict(Native.trt_state_dict_load(path));
  }

  /**
   * Saves the entries as a safetensors file, atomically.
   *
   * @param path the file
   */
  public void save(String path) {
    save(path, Map.of());
  }

  /**
   * Saves the entries as a safetensors file, atomically.
   *
   * @param path the file
   * @param metadata strings to be saved with them
   */
  public void save(String path, Map<String, String> metadata) {
    String[] keys = new String[metadata.size()];
    String[] values = new String[metadata.size()];
    int i = 0;
    for (Map.Entry<String, String> e : metadata.entrySet()) {
      keys[i] = e.getKey();
      values[i++] = e.getValue();
    }
    enter();
    try {
      Callbacks.stateDictSave(pointer, path, keys, values);
    } finally {
      leave();
    }
  }

  /**
   * Number of entries.
   *
   * @return 0 or more
   */
  public int size() {
    enter();
    try {
      return (int) Native.trt_state_dict_size(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The names in order.
   *
   * @return a new list
   */
  public List<String> names() {
    enter();
    try {
      List<String> names = new ArrayList<>();
      for (long i = 0; i < Native.trt_state_dict_size(pointer); i++) {
        names.add(Native.trt_state_dict_name(pointer, i));
      }
      return names;
    } finally {
      leave();
    }
  }

  /**
   * Whether there is an entry.
   *
   * @param name its name
   * @return true if so
   */
  public boolean contains(String name) {
    enter();
    try {
      return Native.trt_state_dict_contains(pointer, name);
    } finally {
      leave();
    }
  }

  /**
   * The tensor of a name.
   *
   * @param name a name
   * @return a new object for it
   * @throws TensorException.NotFound when there is none
   */
  public Tensor get(String name) {
    enter();
    try {
      return Tensor.adopt(Native.trt_state_dict_get(pointer, name));
    } finally {
      leave();
    }
  }

  /**
   * Appends an entry, or replaces the tensor of an existing one.
   *
   * @param name its name
   * @param tensor a tensor, of which the dict keeps a reference
   */
  public void set(String name, Tensor tensor) {
    enter(this, tensor);
    try {
      Native.trt_state_dict_set(pointer, name, pointer(tensor));
    } finally {
      leave(this, tensor);
    }
  }

  /**
   * Removes an entry.
   *
   * @param name its name
   * @throws TensorException.NotFound when there is none
   */
  public void remove(String name) {
    enter();
    try {
      Native.trt_state_dict_remove(pointer, name);
    } finally {
      leave();
    }
  }
}
