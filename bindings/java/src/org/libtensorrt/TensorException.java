package org.libtensorrt;

/**
 * An error of the library. The message names the operator, shapes and dtypes. An exception that a callback (a hook, a dataset, a module of one's own)
 * throws is not wrapped: it arrives itself.
 */
@SuppressWarnings("serial") // the kinds below add no field
public class TensorException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The kind of error. */
  private final ErrorCode code;

  /** The operator or function that failed. */
  private final String op;

  /** Added on its way out of the modules. */
  private volatile String place = "";

  TensorException(ErrorCode code, String op, String message) {
    super(message);
    this.code = code;
    this.op = op;
  }

  /** The message; at its end, for an error inside of a module's part, the place: {@code (in module 'encoder.2', Linear)}. */
  @Override
  public String getMessage() {
    return super.getMessage() + place;
  }

  /** Adds what the message that came out of the library has more than this one's text. */
  final void readPlace(String text) {
    String own = Errors.describe(this);
    if (text.length() > own.length() && text.startsWith(own)) {
      place += text.substring(own.length());
    }
  }

  /**
   * The kind of error.
   *
   * @return its code
   */
  public ErrorCode code() {
    return code;
  }

  /**
   * The operator or function that failed.
   *
   * @return its name; "" when none applies
   */
  public String op() {
    return op;
  }

  /** Wrong shape, rank, dtype, device or option value, or null. */
  public static final class InvalidArgument extends TensorException {
    InvalidArgument(String op, String message) {
      super(ErrorCode.INVALID_ARGUMENT, op, message);
    }
  }

  /** An index or dimension outside its range. */
  public static final class OutOfRange extends TensorException {
    OutOfRange(String op, String message) {
      super(ErrorCode.OUT_OF_RANGE, op, message);
    }
  }

  /** The system or the limit set by the program refused native memory. */
  public static final class OutOfMemory extends TensorException {
    OutOfMemory(String op, String message) {
      super(ErrorCode.OUT_OF_MEMORY, op, message);
    }
  }

  /** No kernel for this dtype or device. */
  public static final class NotSupported extends TensorException {
    NotSupported(String op, String message) {
      super(ErrorCode.NOT_SUPPORTED, op, message);
    }
  }

  /** No such operator, file, key or plug-in. */
  public static final class NotFound extends TensorException {
    NotFound(String op, String message) {
      super(ErrorCode.NOT_FOUND, op, message);
    }
  }

  /** Reading or writing a file failed. */
  public static final class Io extends TensorException {
    Io(String op, String message) {
      super(ErrorCode.IO, op, message);
    }
  }

  /** A file's content is not what its format demands. */
  public static final class Data extends TensorException {
    Data(String op, String message) {
      super(ErrorCode.DATA, op, message);
    }
  }

  /** A {@link CancelToken} cancelled the call. */
  public static final class Cancelled extends TensorException {
    Cancelled(String op, String message) {
      super(ErrorCode.CANCELLED, op, message);
    }
  }

  /** The object's state forbids the call. */
  public static final class FailedPrecondition extends TensorException {
    FailedPrecondition(String op, String message) {
      super(ErrorCode.FAILED_PRECONDITION, op, message);
    }
  }
}
