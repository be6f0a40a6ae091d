package org.libtensorrt;

/** Switches the recording of gradients on, inside of a {@link NoGrad}, on this thread until it is closed. */
public final class EnableGrad implements AutoCloseable {
  private final NoGrad.Mode mode = NoGrad.Mode.grad(true);

  /** Switches recording on. */
  public EnableGrad() {}

  /**
   * Restores the mode from before.
   *
   * @throws IllegalStateException on another thread, or while a mode that was begun inside of this one is still on; nothing changes then
   */
  @Override
  public void close() {
    mode.end();
  }
}
