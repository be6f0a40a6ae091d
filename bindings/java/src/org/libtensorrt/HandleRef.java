package org.libtensorrt;

import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;

/** What remains of an object that nobody closed: its native reference, which is released here. Kept alive by the table of a ThreadState. */
final class HandleRef extends PhantomReference<Object> {
  static final int TENSOR = 0;
  static final int MODULE = 1;
  static final int STATE_DICT = 2;
  static final int OPTIMIZER = 3;
  static final int SCHEDULER = 4;
  static final int DATASET = 5;
  static final int DATA_LOADER = 6;
  static final int GENERATOR = 7;
  static final int SAFETENSORS = 8;
  static final int CANCEL_TOKEN = 9;
  static final int GRAPH_NODE = 10;

  static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();

  static {
    Thread thread = new Thread(null, HandleRef::run, "tensorrt-cleaner", 256 << 10, false);
    thread.setDaemon(true);
    thread.start();
  }

  private final long pointer;
  private final int kind;
  /** The handle was released. Written once; a stale false only keeps a place in a table longer. */
  boolean closed;

  HandleRef(Object referent, long pointer, int kind) {
    super(referent, QUEUE);
    this.pointer = pointer;
    this.kind = kind;
  }

  private void clean() {
    if (closed) {
      return;
    }
    closed = true;
    ThreadState.current().released++;
    switch (kind) {
      case TENSOR -> Native.trt_tensor_release(pointer);
      case MODULE -> {
        Module.forget(pointer);
        Native.trt_module_release(pointer);
      }
      case STATE_DICT -> Native.trt_state_dict_release(pointer);
      case OPTIMIZER -> Native.trt_optimizer_release(pointer);
      case SCHEDULER -> Native.trt_scheduler_release(pointer);
      case DATASET -> Native.trt_dataset_release(pointer);
      case DATA_LOADER -> Native.trt_data_loader_release(pointer);
      case GENERATOR -> Native.trt_generator_release(pointer);
      case CANCEL_TOKEN -> Native.trt_cancel_token_release(pointer);
      case GRAPH_NODE -> Native.trt_node_release(pointer);
      default -> Native.trt_safetensors_release(pointer);
    }
  }

  /** Releases up to `most` objects that the collector found; returns whether there may be more. */
  static boolean drain(int most) {
    for (int i = 0; i < most; i++) {
      Reference<?> found = QUEUE.poll();
      if (found == null) {
        return false;
      }
      ((HandleRef) found).clean();
    }
    return true;
  }

  private static void run() {
    for (;;) {
      try {
        ((HandleRef) QUEUE.remove()).clean();
      } catch (Throwable e) {
        // Nobody could be told; the next object may do better.
      }
    }
  }
}
