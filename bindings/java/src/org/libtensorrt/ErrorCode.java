package org.libtensorrt;

/** Kinds of errors; the numbers are those of the C API. */
public enum ErrorCode {
  /** Wrong shape, rank, dtype, device or option value, or null. */
  INVALID_ARGUMENT(Native.TRT_INVALID_ARGUMENT),
  /** An index or dimension outside its range. */
  OUT_OF_RANGE(Native.TRT_OUT_OF_RANGE),
  /** The system or the limit set by the program refused memory. */
  OUT_OF_MEMORY(Native.TRT_OUT_OF_MEMORY),
  /** No kernel for this dtype or device. */
  NOT_SUPPORTED(Native.TRT_NOT_SUPPORTED),
  /** No such operator, file, key or plug-in. */
  NOT_FOUND(Native.TRT_NOT_FOUND),
  /** Reading or writing failed. */
  IO(Native.TRT_IO),
  /** A file's content is not what its format demands. */
  DATA(Native.TRT_DATA),
  /** The object's state forbids the call. */
  FAILED_PRECONDITION(Native.TRT_FAILED_PRECONDITION),
  /** Cancelled. */
  CANCELLED(Native.TRT_CANCELLED),
  /** A callback failed. */
  CALLBACK(Native.TRT_CALLBACK),
  /** A fault of the library. */
  INTERNAL(Native.TRT_INTERNAL),
  /** A thread, library or plug-in cannot be had now. */
  UNAVAILABLE(Native.TRT_UNAVAILABLE),
  /** An iterator has no further item. */
  END_OF_DATA(Native.TRT_END_OF_DATA);

  private final int number;

  ErrorCode(int number) {
    this.number = number;
  }

  /**
   * The number in the C API.
   *
   * @return it
   */
  public int number() {
    return number;
  }

  static ErrorCode of(int number) {
    for (ErrorCode c : values()) {
      if (c.number == number) {
        return c;
      }
    }
    return INTERNAL;
  }
}
