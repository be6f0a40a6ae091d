package org.libtensorrt;

/**
 * A number with its kind: bool, integer, floating-point or complex, which matters for type promotion. Methods of tensors take any {@link Number}; a
 * Scalar is needed only for a bool or a complex number, and comes back where an operator returns a number.
 */
public final class Scalar extends Number {
  private static final long serialVersionUID = 1;

  static final Scalar ZERO = new Scalar(1, 0, 0);
  static final Scalar ONE = new Scalar(1, 1, 0);

  // All are read by the native side.
  /** A trt_scalar_kind. */
  private final int kind;

  /** The number, or the bits of a floating-point one or a real part. */
  private final long bits;

  /** The imaginary part of a complex number. */
  private final double imag;

  private Scalar(int kind, long bits, double imag) {
    this.kind = kind;
    this.bits = bits;
    this.imag = imag;
  }

  static Scalar make(int kind, long bits, double imag) {
    return new Scalar(kind, bits, imag);
  }

  /**
   * A complex number.
   *
   * @param real its real part
   * @param imag its imaginary part
   * @return it
   */
  public static Scalar complex(double real, double imag) {
    return new Scalar(3, Double.doubleToRawLongBits(real), imag);
  }

  /**
   * An integer.
   *
   * @param value the number
   * @return it
   */
  public static Scalar of(long value) {
    return value == 0 ? ZERO : value == 1 ? ONE : new Scalar(1, value, 0);
  }

  /**
   * A floating-point number.
   *
   * @param value the number
   * @return it
   */
  public static Scalar of(double value) {
    return new Scalar(2, Double.doubleToRawLongBits(value), 0);
  }

  /**
   * A bool.
   *
   * @param value true or false
   * @return it
   */
  public static Scalar of(boolean value) {
    return new Scalar(0, value ? 1 : 0, 0);
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
   * Whether it is a complex number.
   *
   * @return true for one
   */
  public boolean isComplex() {
    return kind == 3;
  }

  /**
   * The real part; of a real number the number itself.
   *
   * @return it
   */
  public double real() {
    return doubleValue();
  }

  /**
   * The imaginary part.
   *
   * @return it, 0 for a real number
   */
  public double imag() {
    return imag;
  }

  /**
   * Whether it is not zero.
   *
   * @return false for zero
   */
  public boolean booleanValue() {
    return kind >= 2 ? doubleValue() != 0 || imag != 0 : bits != 0;
  }

  @Override
  public int intValue() {
    return (int) longValue();
  }

  @Override
  public long longValue() {
    return kind >= 2 ? (long) doubleValue() : bits;
  }

  @Override
  public float floatValue() {
    return (float) doubleValue();
  }

  @Override
  public double doubleValue() {
    return kind >= 2 ? Double.longBitsToDouble(bits) : bits;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Scalar s && s.kind == kind && s.bits == bits && Double.compare(s.imag, imag) == 0;
  }

  @Override
  public int hashCode() {
    return (Long.hashCode(bits) * 31 + kind) * 31 + Double.hashCode(imag);
  }

  @Override
  public String toString() {
    if (kind == 3) {
      return "(" + real() + (Math.copySign(1, imag) < 0 ? "" : "+") + imag + "j)";
    }
    return kind == 0 ? Boolean.toString(bits != 0) : kind == 1 ? Long.toString(bits) : Double.toString(doubleValue());
  }
}
