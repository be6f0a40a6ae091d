package org.libtensorrt;

/** The library as a whole: version, threads, memory. */
public final class TensorRuntime {
  /**
   * Memory of a device, in bytes unless told otherwise.
   *
   * @param allocatedCurrent held by tensors
   * @param allocatedPeak the most that was held
   * @param allocatedTotal sum of all allocations ever
   * @param freedTotal sum of all that was given back
   * @param reservedCurrent taken from the system, cached blocks included
   * @param reservedPeak the most that was taken
   * @param allocations blocks held by tensors, a count
   * @param segments pieces taken from the system, a count
   * @param outOfMemoryCount how often memory was refused
   * @param limit 0 for none
   * @param handles tensors and other objects that Java holds, a count
   */
  public record MemoryStats(long allocatedCurrent, long allocatedPeak, long allocatedTotal, long freedTotal, long reservedCurrent, long reservedPeak,
      long allocations, long segments, long outOfMemoryCount, long limit, long handles) {}

  private TensorRuntime() {}

  /**
   * The library's version.
   *
   * @return "0.1.0"
   */
  public static String version() {
    return Native.trt_version_string();
  }

  /**
   * A line per fact: version, instruction set in use, BLAS core, threads.
   *
   * @return the text
   */
  public static String buildInfo() {
    return Native.trt_build_info();
  }

  /**
   * Threads that one operator may use, the calling one included.
   *
   * @return at first the processors that the process may run on
   */
  public static int getNumThreads() {
    return Native.trt_get_num_threads();
  }

  /**
   * Sets that number. Results never depend on it.
   *
   * @param threads 1 to 1024
   */
  public static void setNumThreads(int threads) {
    Native.trt_set_num_threads(threads);
  }

  /**
   * The memory of the processor's allocator.
   *
   * @return its statistics
   */
  public static MemoryStats memoryStats() {
    trt_memory_stats s = new trt_memory_stats();
    try {
      Native.trt_memory_stats_init(s);
      Native.trt_memory_get_stats(Device.code(Device.CPU), s);
      return new MemoryStats(s.getAllocated_current(), s.getAllocated_peak(), s.getAllocated_total(), s.getFreed_total(), s.getReserved_current(),
          s.getReserved_peak(), s.getAllocations(), s.getSegments(), s.getOut_of_memory_count(), s.getLimit(), ThreadState.alive());
    } finally {
      s.delete();
    }
  }

  /** Sets the peaks to the current values. */
  public static void resetPeakMemory() {
    Native.trt_memory_reset_peak(Device.code(Device.CPU));
  }

  /** Gives cached, unused memory back to the system. */
  public static void emptyCache() {
    Native.trt_memory_empty_cache(Device.code(Device.CPU));
  }

  /**
   * Limits the memory taken from the system; allocations beyond fail with {@link TensorException.OutOfMemory}. Garbage is collected when the limit comes near:
   * tensors that the program forgot do not use it up.
   *
   * @param bytes the limit, 0 for none
   */
  public static void setMemoryLimit(long bytes) {
    Native.trt_memory_set_limit(Device.code(Device.CPU), bytes);
    Memory.limitChanged();
  }
}
