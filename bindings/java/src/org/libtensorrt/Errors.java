package org.libtensorrt;

/** Between statuses and exceptions; called by the native side. */
final class Errors {
  private Errors() {}

  static Throwable make(int number, String op, String message) {
    ErrorCode code = ErrorCode.of(number);
    return switch (code) {
      case INVALID_ARGUMENT -> new TensorException.InvalidArgument(op, message);
      case OUT_OF_RANGE -> new TensorException.OutOfRange(op, message);
      case OUT_OF_MEMORY -> new TensorException.OutOfMemory(op, message);
      case NOT_SUPPORTED -> new TensorException.NotSupported(op, message);
      case NOT_FOUND -> new TensorException.NotFound(op, message);
      case IO -> new TensorException.Io(op, message);
      case DATA -> new TensorException.Data(op, message);
      case FAILED_PRECONDITION -> new TensorException.FailedPrecondition(op, message);
      case CANCELLED -> new TensorException.Cancelled(op, message);
      default -> new TensorException(code, op, message);
    };
  }

  /** The exception that a status carries, which went through the library. */
  static Throwable back(Throwable thrown, String message) {
    if (thrown instanceof TensorException e) {
      e.readPlace(message);
    }
    return thrown;
  }

  /** The message of a status that carries an exception of a callback: for others than Java who read it. */
  static String describe(Throwable thrown) {
    return String.valueOf(thrown).replace('\0', ' ');
  }
}
