package org.libtensorrt;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Native memory that the garbage collector does not see. The native side calls {@link #check} about once for each megabyte that tensors take;
 * when far more is held than after the last collection, or the limit of the memory comes near, this asks for one and waits a little for what it finds.
 */
final class Memory {
  /** Below this many bytes no collection is asked for. */
  private static final long SMALLEST = Long.getLong("tensorrt.gc.threshold", 64L << 20);
  /** What a tensor takes beside its elements, roughly. */
  private static final long HEADER = 256;

  private static final ReentrantLock LOCK = new ReentrantLock();
  private static volatile long limit = SMALLEST;
  /** Whether the last collection's findings were not all in when the limit was set: that may be too high then, as on a busy machine. */
  private static volatile boolean early;

  /** Between two collections at least so much is made. */
  private static final long STEP = 4L << 20;

  private Memory() {}

  /** What may be held before the next collection, when `held` is all that lives: twice of it, or half of the room below the limit of the memory. */
  private static long next(long held) {
    long most = TensorRuntime.memoryStats().limit();
    long next = Math.max(SMALLEST, 2 * held);
    return most > 0 ? Math.min(next, Math.max(held + STEP, held + (most - held) / 2)) : next;
  }

  /** The limit of the memory is another one. */
  static void limitChanged() {
    limit = next(held());
  }

  private static long held() {
    return Callbacks.allocatedBytes() + HEADER * ThreadState.alive();
  }

  static void check() {
    try {
      long now = held();
      if (now >= limit) {
        collect();
      } else if (early && 2 * now < limit) {
        limit = next(now);
      }
    } catch (Throwable e) {
      // The call that made the tensor must not fail for this.
    }
  }

  private static void collect() throws InterruptedException {
    // Other threads wait here too: they would only make more garbage meanwhile.
    boolean interrupted = Thread.interrupted();
    try {
      if (!LOCK.tryLock(200, TimeUnit.MILLISECONDS)) {
        return;
      }
      try {
        long before = held();
        if (before < limit) {
          return;
        }
        System.gc();
        // The collector's findings come through another thread.
        long last = before;
        early = true;
        for (int wait = 1; wait <= 16; wait *= 2) {
          while (HandleRef.drain(1024)) {
            // more
          }
          long now = held();
          if (now < before / 2 && now >= last) {
            early = false;
            break;
          }
          last = now;
          Thread.sleep(wait);
        }
        limit = next(held());
      } finally {
        LOCK.unlock();
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
