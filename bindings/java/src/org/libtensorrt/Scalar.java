package org.libtensorrt;

/**
 * A number with its kind: bool, integer or floating-point, which matters for type promotion. Methods of tensors take any {@link Number}; a Scalar is
 * needed only for a bool, and comes back where an operator returns a number.
 */
public final class Scalar extends Number {
  private static final long serialVersionUID = 1;

  static final Scalar ZERO = new Scalar(1, 0);
  static final Scalar ONE = new Scalar(1, 1);

  // Both are read by the native side.
  /** A trt_scalar_kind. */
  private final int kind;

  /** The number, or the bits of a floating-point one. */
  private final long bits;

  private Scalar(int kind, long bits) {
    this.kind = kind;
    this.bits = bits;
  }

  static Scalar make(int kind, long bits) {
    return new Scalar(kind, bits);
  }

  /**
   * An integer.
   *
   * @param value the number
   * @return it
   */
  public static Scalar of(long value) {
    return value == 0 ? ZERO : value == 1 ? ONE : new Scalar(1, value);
  }

  /**
   * A floating-point number.
   *
   * @param value the number
   * @return it
   */
  public static Scalar of(double value) {
    return new Scalar(2, Double.doubleToRawLongBits(value));
  }

  /**
   * A bool.
   *
   * @param value true or false
   * @return it
   */
  public static Scalar of(boolean value) {
    return new Scalar(0, value ? 1 : 0);
  }

  /**
   * A number of Java: whole numbers become integers, all others floating-point numbers.
   *
   * @param value a number; null gives null
   * @return it as a Scalar
   */
  public static Scalar of(Number value) {
    if (value == null || value instanceof Scalar) {
      return (Scalar) value;
    }
    if (value instanceof Double || value instanceof Float) {
      return of(value.doubleValue());
    }
    if (value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte) {
      return of(value.longValue());
    }
    return of(value.doubleValue());
  }

  /**
   * Whether it is a bool.
   *
   * @return true for a bool
   */
  public boolean isBoolean() {
    return kind == 0;
  }

  /**
   * Whether it is a floating-point number.
   *
   * @return true for one
   */
  public boolean isFloatingPoint() {
    return kind == 2;
  }

  /**
   * Whether it is not zero.
   *
   * @return false for zero
   */
  public boolean booleanValue() {
    return kind == 2 ? doubleValue() != 0 : bits != 0;
  }

  @Override
  public int intValue() {
    return (int) longValue();
  }

  @Override
  public long longValue() {
    return kind == 2 ? (long) doubleValue() : bits;
  }

  @Override
  public float floatValue() {
    return (float) doubleValue();
  }

  @Override
  public double doubleValue() {
    return kind == 2 ? Double.longBitsToDouble(bits) : bits;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Scalar s && s.kind == kind && s.bits == bits;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(bits) * 31 + kind;
  }

  @Override
  public String toString() {
    return kind == 0 ? Boolean.toString(bits != 0) : kind == 1 ? Long.toString(bits) : Double.toString(doubleValue());
  }
}
