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
  private final Mode mode = new Mode(Native.trt_set_grad_mode(false));

  /** Switches recording off. */
  public NoGrad() {}

  /** Whether this thread records gradients.
   *
   * @return true at first
   */
  public static boolean isGradEnabled() {
    return Native.trt_grad_mode();
  }

  /** Restores the mode from before. */
  @Override
  public void close() {
    if (mode.end()) {
      Native.trt_set_grad_mode(mode.before);
    }
  }

  /** A mode of a thread, to be restored by it, once. */
  static final class Mode {
    final boolean before;
    private final Thread thread = Thread.currentThread();
    private boolean ended;

    Mode(boolean before) {
      this.before = before;
    }

    boolean end() {
      if (ended) {
        return false;
      }
      if (Thread.currentThread() != thread) {
        throw new IllegalStateException("a mode must be ended by the thread that began it");
      }
      ended = true;
      return true;
    }
  }
}
