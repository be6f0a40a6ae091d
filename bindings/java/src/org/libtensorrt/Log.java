package org.libtensorrt;

/** The library's log lines. */
public final class Log {
  /** How important a line is. */
  public enum Level {
    /** For those who work on the library. */
    DEBUG(Native.TRT_LOG_DEBUG),
    /** What happens. */
    INFO(Native.TRT_LOG_INFO),
    /** What may be wrong. */
    WARNING(Native.TRT_LOG_WARNING),
    /** What is wrong. */
    ERROR(Native.TRT_LOG_ERROR),
    /** Nothing at all. */
    OFF(Native.TRT_LOG_OFF);

    private final int number;

    Level(int number) {
      this.number = number;
    }

    static Level of(int number) {
      for (Level l : values()) {
        if (l.number == number) {
          return l;
        }
      }
      return ERROR;
    }
  }

  /** Receives log lines. */
  @FunctionalInterface
  public interface Callback {
    /**
     * A line. Called from any thread, never concurrently with itself; what it throws is dropped.
     *
     * @param level its level
     * @param message the text
     */
    void log(Level level, String message);
  }

  static {
    Library.load();
  }

  private Log() {}

  /**
   * Sends log lines to a callback.
   *
   * @param callback receives them; null for nobody, as at first
   */
  public static void setCallback(Callback callback) {
    Callbacks.setLogCallback(callback);
  }

  /**
   * Lines below a level are not made.
   *
   * @param level the level
   */
  public static void setLevel(Level level) {
    Native.trt_set_log_level(level.number);
  }
}
