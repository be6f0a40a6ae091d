package org.libtensorrt;

import java.util.HashMap;
import java.util.Map;

/**
 * A function with a gradient of one's own:
 *
 * <pre>{@code
 * final class Cube extends AutogradFunction {
 *   protected Tensor[] forward(Context context, Tensor... in) {
 *     context.saveForBackward(in[0]);
 *     return new Tensor[] {in[0].pow(3)};
 *   }
 *
 *   protected Tensor[] backward(Context context, Tensor... grads) {
 *     Tensor x = context.savedTensors()[0];
 *     return new Tensor[] {grads[0].mul(x.mul(x)).mul(3)};
 *   }
 * }
 * Tensor y = new Cube().apply(x)[0];
 * }</pre>
 *
 * <p>Tensors made in either method are closed when it returns; what is returned, and what is saved, lives on.
 */
public abstract class AutogradFunction {
  /** What a call keeps from forward for backward. */
  public final class Context {
    private final Map<String, Object> values = new HashMap<>();
    private Tensor[] saved = {};
    private long[] versions = {};
    private int[] outputs = {}; // which output of forward each saved tensor is, -1: none

    private Context() {}

    /**
     * Keeps tensors for backward, instead of those kept before.
     *
     * @param tensors inputs, outputs, or others; null elements are allowed
     */
    public void saveForBackward(Tensor... tensors) {
      Tensor[] kept = new Tensor[tensors.length];
      long[] at = new long[tensors.length];
      try (TensorScope scope = TensorScope.aroundCallback()) {
        for (int i = 0; i < kept.length; i++) {
          if (tensors[i] != null) {
            kept[i] = scope.keep(tensors[i].retain());
            at[i] = kept[i].version();
          }
        }
      }
      end();
      int[] none = new int[kept.length];
      java.util.Arrays.fill(none, -1);
      synchronized (this) {
        saved = kept;
        versions = at;
        outputs = none;
      }
    }

    /** An output has a history only when it has left forward, and then it must not be kept: its history owns this object. */
    synchronized void findOutputs(Tensor[] in, Tensor[] out) {
      for (int i = 0; i < saved.length; i++) {
        if (saved[i] != null && indexOf(saved[i], in) < 0) {
          outputs[i] = indexOf(saved[i], out);
        }
      }
    }

    private static int indexOf(Tensor t, Tensor[] list) {
      for (int i = 0; i < list.length; i++) {
        if (list[i] != null && list[i].pointer == t.pointer) {
          return i;
        }
      }
      return -1;
    }

    /**
     * The kept tensors, to be used during backward. An output of the function has the history of the function's result, so that gradients of gradients are
     * complete; it is a new tensor then.
     *
     * @return a new array
     * @throws IllegalStateException when one was changed in place meanwhile
     */
    public synchronized Tensor[] savedTensors() {
      for (int i = 0; i < saved.length; i++) {
        if (saved[i] != null && saved[i].version() != versions[i]) {
          throw new IllegalStateException("saved tensor " + i + " was changed in place: it is at version " + saved[i].version() + ", expected "
              + versions[i]);
        }
      }
      Tensor[] found = saved.clone();
      for (int i = 0; i < found.length; i++) {
        if (outputs[i] >= 0) {
          found[i].enter();
          try {
            found[i] = Tensor.adopt(Native.trt_custom_function_saved_output(found[i].pointer, outputs[i]));
          } finally {
            saved[i].leave();
          }
        }
      }
      return found;
    }

    /**
     * Keeps any other value.
     *
     * @param name its name
     * @param value the value
     */
    public synchronized void put(String name, Object value) {
      values.put(name, value);
    }

    /**
     * A value that was kept.
     *
     * @param name its name
     * @return the value; null when there is none
     */
    public synchronized Object get(String name) {
      return values.get(name);
    }

    Tensor[] backward(Tensor[] grads) {
      return AutogradFunction.this.backward(this, grads);
    }

    synchronized void end() {
      for (Tensor t : saved) {
        if (t != null) {
          t.close();
        }
      }
      saved = new Tensor[0];
      versions = new long[0];
      outputs = new int[0];
    }
  }

  /** For subclasses. */
  protected AutogradFunction() {}

  /**
   * Computes the outputs; nothing is recorded meanwhile.
   *
   * @param context keeps what backward needs
   * @param inputs as given to {@link #apply}
   * @return the outputs
   */
  protected abstract Tensor[] forward(Context context, Tensor... inputs);

  /**
   * Computes the gradients of the inputs. What it throws arrives at the caller of the pass.
   *
   * @param context what forward kept
   * @param grads the gradients of the outputs; null where none arrived
   * @return one gradient for each input; null where there is none
   */
  protected abstract Tensor[] backward(Context context, Tensor... grads);

  /**
   * Calls the function.
   *
   * @param inputs its inputs
   * @return its outputs, new tensors with the gradient of this function
   */
  public final Tensor[] apply(Tensor... inputs) {
    Context context = new Context();
    Tensor[] in = inputs.clone();
    long[] made;
    boolean done = false;
    try (TensorScope scope = TensorScope.aroundCallback()) {
      Tensor[] out;
      try (NoGrad mode = new NoGrad()) {
        out = forward(context, in).clone();
      }
      context.findOutputs(in, out);
      NativeObject.enter(in);
      try {
        NativeObject.enter(out);
        try {
          String name = getClass().getSimpleName();
          made = Callbacks.customFunction((name.isEmpty() ? "AutogradFunction" : name) + "Backward", NativeObject.pointers(in), NativeObject.pointers(out),
              context);
          done = true;
        } finally {
          NativeObject.leave(out);
        }
      } finally {
        NativeObject.leave(in);
      }
    } finally {
      if (!done) {
        context.end();
      }
    }
    return Tensor.adoptAll(made);
  }
}
