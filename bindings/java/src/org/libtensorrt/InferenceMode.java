package org.libtensorrt;

/**
 * Inference mode on this thread until it is closed: as {@link NoGrad}, and tensors made in it can never take part in recording, which saves
 * bookkeeping.
 */
public final class InferenceMode implements AutoCloseable {
  private final NoGrad.Mode mode = new NoGrad.Mode(Native.trt_set_inference_mode(true));

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

  /** Restores the mode from before. */
  @Override
  public void close() {
    if (mode.end()) {
      Native.trt_set_inference_mode(mode.before);
    }
  }
}
