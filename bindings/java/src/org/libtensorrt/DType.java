package org.libtensorrt;

/** Element types of tensors. */
public enum DType {
  /** Unsigned 8-bit integers. */
  UINT8(Native.TRT_UINT8),
  /** 8-bit integers. */
  INT8(Native.TRT_INT8),
  /** 16-bit integers. */
  INT16(Native.TRT_INT16),
  /** 32-bit integers. */
  INT32(Native.TRT_INT32),
  /** 64-bit integers. */
  INT64(Native.TRT_INT64),
  /** 16-bit floating point (IEEE half precision). */
  FLOAT16(Native.TRT_FLOAT16),
  /** 32-bit floating point. */
  FLOAT32(Native.TRT_FLOAT32),
  /** 64-bit floating point. */
  FLOAT64(Native.TRT_FLOAT64),
  /** True or false. */
  BOOL(Native.TRT_BOOL),
  /** 16-bit floating point with the range of float32. */
  BFLOAT16(Native.TRT_BFLOAT16),
  /** Complex numbers of two float32. */
  COMPLEX64(Native.TRT_COMPLEX64),
  /** Complex numbers of two float64. */
  COMPLEX128(Native.TRT_COMPLEX128);

  private static final DType[] BY_CODE = new DType[32];

  static {
    for (DType d : values()) {
      BY_CODE[d.code] = d;
    }
  }

  final int code;

  DType(int code) {
    this.code = code;
  }

  /** The number in the C API; -1 for null, which means "not given". */
  static int code(DType dtype) {
    return dtype == null ? Native.TRT_DTYPE_NONE : dtype.code;
  }

  static DType ofCode(int code) {
    return code < 0 ? null : BY_CODE[code];
  }

  /**
   * Bytes of an element.
   *
   * @return 1 to 16
   */
  public int size() {
    return (int) Native.trt_dtype_size(code);
  }

  /**
   * Whether it is one of the floating-point types.
   *
   * @return false for integers, bool and complex numbers
   */
  public boolean isFloatingPoint() {
    return this == FLOAT16 || this == FLOAT32 || this == FLOAT64 || this == BFLOAT16;
  }

  /**
   * Whether it is one of the complex types.
   *
   * @return false for all others
   */
  public boolean isComplex() {
    return this == COMPLEX64 || this == COMPLEX128;
  }

  /** PyTorch's name, "float32". */
  @Override
  public String toString() {
    return Native.trt_dtype_name(code);
  }

  /**
   * The default floating-point dtype of this thread, float32 at first.
   *
   * @return it
   */
  public static DType getDefault() {
    return ofCode(Native.trt_get_default_dtype());
  }

  /**
   * Sets the default dtype of this thread.
   *
   * @param dtype a floating-point type
   */
  public static void setDefault(DType dtype) {
    Native.trt_set_default_dtype(code(dtype));
  }
}
