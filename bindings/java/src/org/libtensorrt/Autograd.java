package org.libtensorrt;

/** Passes over graphs of several tensors. */
public final class Autograd {
  private Autograd() {}

  /**
   * Backward from outputs: gradients accumulate in the leaves.
   *
   * @param outputs where to begin
   * @param grads one for each output; null, or null elements, stand for 1 where the output has one element
   * @param inputs limits accumulation to these tensors; null for all leaves
   * @param retainGraph whether the graph can be used again
   * @param createGraph whether the pass is recorded itself
   */
  public static void backward(Tensor[] outputs, Tensor[] grads, Tensor[] inputs, boolean retainGraph, boolean createGraph) {
    Tensor[] used = join(outputs, grads, inputs);
    NativeObject.enter(used);
    try {
      Native.trt_backward(NativeObject.pointers(outputs), pointersOrNull(grads), pointersOrNull(inputs), retainGraph, createGraph);
    } finally {
      NativeObject.leave(used);
    }
  }

  /**
   * The gradients of inputs; changes no tensor's grad.
   *
   * @param outputs where to begin
   * @param inputs whose gradients
   * @param grads one for each output; null, or null elements, stand for 1 where the output has one element
   * @param retainGraph whether the graph can be used again
   * @param createGraph whether the pass is recorded itself
   * @param allowUnused whether an input that does not reach the outputs gives null, instead of an error
   * @return one tensor for each input
   */
  public static Tensor[] grad(Tensor[] outputs, Tensor[] inputs, Tensor[] grads, boolean retainGraph, boolean createGraph, boolean allowUnused) {
    Tensor[] used = join(outputs, inputs, grads);
    NativeObject.enter(used);
    try {
      return Tensor.adoptAll(Callbacks.grad(NativeObject.pointers(outputs), NativeObject.pointers(inputs), pointersOrNull(grads), retainGraph, createGraph,
          allowUnused));
    } finally {
      NativeObject.leave(used);
    }
  }

  private static long[] pointersOrNull(Tensor[] tensors) {
    return tensors == null ? null : NativeObject.pointers(tensors);
  }

  private static Tensor[] join(Tensor[]... parts) {
    int n = 0;
    for (Tensor[] p : parts) {
      n += p == null ? 0 : p.length;
    }
    Tensor[] all = new Tensor[n];
    n = 0;
    for (Tensor[] p : parts) {
      if (p != null) {
        System.arraycopy(p, 0, all, n, p.length);
        n += p.length;
      }
    }
    return all;
  }
}
