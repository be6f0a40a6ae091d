package org.libtensorrt;

/**
 * Switches the recording of gradients off on this thread until it is closed:
 *
 * <pre>{@code
 * try (NoGrad mode = new NoGrad()) {
 *   weight.sub_(grad);
 * }
 * }</pre>
 */
public final class NoGrad implements AutoCloseable {
  private final Mode mode = Mode.grad(false);

  /** Switches recording off. */
  public NoGrad() {}

  /** Whether this thread records gradients.
   *
   * @return true at first
   */
  public static boolean isGradEnabled() {
    return Native.trt_grad_mode();
  }

  /**
   * Restores the mode from before.
   *
   * @throws IllegalStateException on another thread, or while a mode that was begun inside of this one is still on; nothing changes then
   */
  @Override
  public void close() {
    mode.end();
  }

  /** A mode of a thread, to be restored by it, once. Those of grad mode nest, and those of inference mode. */
  static final class Mode {
    private final Thread thread = Thread.currentThread();
    private final ThreadState state = ThreadState.current();
    private final boolean inference;
    private final Mode outer;
    private final boolean before;
    private boolean ended;

    private Mode(boolean inference, boolean value) {
      this.inference = inference;
      outer = inference ? state.inferenceMode : state.gradMode;
      before = inference ? Native.trt_set_inference_mode(value) : Native.trt_set_grad_mode(value);
      become(this);
    }

    static Mode grad(boolean value) {
      return new Mode(false, value);
    }

    static Mode inference(boolean value) {
      return new Mode(true, value);
    }

    private void become(Mode innermost) {
      if (inference) {
        state.inferenceMode = innermost;
      } else {
        state.gradMode = innermost;
      }
    }

    void end() {
      if (ended) {
        return;
      }
      if (Thread.currentThread() != thread) {
        throw new IllegalStateException("a mode must be ended by the thread that began it");
      }
      if ((inference ? state.inferenceMode : state.gradMode) != this) {
        throw new IllegalStateException("a mode that was begun inside of this one is still on");
      }
      ended = true;
      become(outer);
      if (inference) {
        Native.trt_set_inference_mode(before);
      } else {
        Native.trt_set_grad_mode(before);
      }
    }
  }
}
