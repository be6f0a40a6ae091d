package org.libtensorrt;

import java.util.Locale;

/**
 * Where a tensor's memory is.
 *
 * @param type the kind of device
 * @param index its number, 0 for the CPU
 */
public record Device(Type type, int index) {
  /** Kinds of devices. */
  public enum Type {
    /** The processor. */
    CPU(Native.TRT_CPU),
    /** A graphics card. */
    CUDA(Native.TRT_CUDA),
    /** Shapes and dtypes without data. */
    META(Native.TRT_META),
    /** The first plug-in. */
    PRIVATEUSE1(Native.TRT_PRIVATEUSE1),
    /** The second plug-in. */
    PRIVATEUSE2(Native.TRT_PRIVATEUSE2),
    /** The third plug-in. */
    PRIVATEUSE3(Native.TRT_PRIVATEUSE3);

    private final int code;

    Type(int code) {
      this.code = code;
    }
  }

  /** The processor. */
  public static final Device CPU = new Device(Type.CPU, 0);

  /** Shapes and dtypes without data. */
  public static final Device META = new Device(Type.META, 0);

  /**
   * Checks the index.
   *
   * @param type the kind of device
   * @param index its number
   */
  public Device {
    if (type == null || index < 0 || index > 127) {
      throw new IllegalArgumentException("no device: " + type + ", index " + index);
    }
  }

  /**
   * A device by its name.
   *
   * @param name "cpu", "cuda:1", "meta"
   * @return the device
   */
  public static Device of(String name) {
    String[] parts = name.split(":", 2);
    return new Device(Type.valueOf(parts[0].toUpperCase(Locale.ROOT)), parts.length > 1 ? Integer.parseInt(parts[1]) : 0);
  }

  /** How the native side reads it; -1 for null, which means "not given". */
  static int code(Device device) {
    return device == null ? -1 : device.type.code << 16 | device.index;
  }

  static Device ofCode(int code) {
    for (Type t : Type.values()) {
      if (t.code == code >> 16) {
        return new Device(t, code & 0xffff);
      }
    }
    throw new IllegalStateException("unknown device " + code);
  }

  @Override
  public String toString() {
    String name = type.name().toLowerCase(Locale.ROOT);
    return type == Type.CPU || type == Type.META ? name : name + ":" + index;
  }
}
