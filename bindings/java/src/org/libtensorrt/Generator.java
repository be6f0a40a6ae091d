package org.libtensorrt;

/** A random stream: seed and position. All methods from any thread. */
public final class Generator extends NativeObject {
  /**
   * Where a stream is.
   *
   * @param seed the seed, an unsigned number
   * @param offset the position, an unsigned number
   */
  public record State(long seed, long offset) {}

  /**
   * A new stream.
   *
   * @param seed an unsigned number
   */
  public Generator(long seed) {
    super(Native.trt_generator_create(seed));
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_generator_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.GENERATOR;
  }

  /**
   * Sets the seed and starts the stream from its beginning.
   *
   * @param seed an unsigned number
   */
  public void setSeed(long seed) {
    enter();
    try {
      Native.trt_generator_seed(pointer, seed);
    } finally {
      leave();
    }
  }

  /**
   * Where the stream is.
   *
   * @return its state
   */
  public State getState() {
    enter();
    try {
      return state(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Goes to a place in a stream.
   *
   * @param state as {@link #getState()} gave it
   */
  public void setState(State state) {
    enter();
    try {
      Native.trt_generator_set_state(pointer, state.seed(), state.offset());
    } finally {
      leave();
    }
  }

  /**
   * Seeds the default stream.
   *
   * @param seed an unsigned number
   */
  public static void manualSeed(long seed) {
    Native.trt_manual_seed(seed);
  }

  /**
   * Where the default stream is.
   *
   * @return its state
   */
  public static State getDefaultState() {
    return state(0);
  }

  /**
   * Goes to a place in the default stream.
   *
   * @param state as {@link #getDefaultState()} gave it
   */
  public static void setDefaultState(State state) {
    Native.trt_generator_set_state(0, state.seed(), state.offset());
  }

  private static State state(long pointer) {
    long[] s = Native.trt_generator_get_state(pointer);
    return new State(s[0], s[1]);
  }
}
