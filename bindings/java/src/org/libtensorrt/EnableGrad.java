package org.libtensorrt;

/** Switches the recording of gradients on, inside of a {@link NoGrad}, on this thread until it is closed. */
public final class EnableGrad implements AutoCloseable {
  private final NoGrad.Mode mode = new NoGrad.Mode(Native.trt_set_grad_mode(true));

  /** Switches recording on. */
  public EnableGrad() {}

  /** Restores the mode from before. */
  @Override
  public void close() {
    if (mode.end()) {
      Native.trt_set_grad_mode(mode.before);
    }
  }
}
