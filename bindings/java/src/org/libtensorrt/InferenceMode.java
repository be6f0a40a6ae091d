package org.libtensorrt;

/**
 * Inference mode on this thread until it is closed: as {@link NoGrad}, and tensors made in it can never take part in recording, which saves
 * bookkeeping.
 */
public final class InferenceMode implements AutoCloseable {
  private final NoGrad.Mode mode = NoGrad.Mode.inference(true);

  /** Switches inference mode on. */
  public InferenceMode() {}

  /**
   * Whether inference mode is on.
   *
   * @return false at first
   */
  public static boolean isEnabled() {
    return Native.trt_inference_mode();
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
}
