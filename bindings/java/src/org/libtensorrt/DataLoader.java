package org.libtensorrt;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.function.Consumer;

/**
 * Iterates over a dataset in batches. Each iteration is an epoch, with an order of its own where the loader shuffles:
 *
 * <pre>{@code
 * loader.forEachBatch(batch -> train(batch[0], batch[1]));
 * }</pre>
 *
 * <p>Needs synchronization of one's own, but for {@link #close()}.
 */
public final class DataLoader extends NativeObject implements Iterable<Tensor[]> {
  private boolean begun;

  /**
   * A loader at the beginning of epoch 0. Workers start with the first batch.
   *
   * @param dataset which the loader holds
   * @param options what differs from the defaults
   */
  public DataLoader(Dataset dataset, DataLoaderOptions options) {
    super(create(dataset, options));
    watch();
  }

  private static long create(Dataset dataset, DataLoaderOptions options) {
    enter(dataset);
    try {
      return options.call(options.make(), o -> Callbacks.dataLoader(pointer(dataset), trt_data_loader_options.getCPtr(o), options.weights));
    } finally {
      leave(dataset);
    }
  }

  @Override
  void releaseHandle() {
    Native.trt_data_loader_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.DATA_LOADER;
  }

  /**
   * The next batch.
   *
   * @return its tensors; null at the end of the epoch
   */
  public Tensor[] next() {
    enter();
    try {
      begun = true;
      long[] made = Native.trt_data_loader_next(pointer);
      return made == null ? null : Tensor.adoptAll(made);
    } finally {
      leave();
    }
  }

  /** Begins the next epoch, abandoning what is left of this one. */
  public void reset() {
    enter();
    try {
      Native.trt_data_loader_reset(pointer);
      begun = false;
    } finally {
      leave();
    }
  }

  /**
   * Begins an epoch: a resumed training sees the order that it would have seen.
   *
   * @param epoch its number
   */
  public void setEpoch(long epoch) {
    enter();
    try {
      Native.trt_data_loader_set_epoch(pointer, epoch);
      begun = false;
    } finally {
      leave();
    }
  }

  /**
   * The number of the current epoch.
   *
   * @return 0 at first
   */
  public long epoch() {
    enter();
    try {
      return Native.trt_data_loader_epoch(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Batches in an epoch.
   *
   * @return a number
   */
  public long batches() {
    enter();
    try {
      return Native.trt_data_loader_batches(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The batches of the current epoch if none was taken of it yet, else of the next one. The batches are the caller's to close.
   *
   * @return an iterator; only the latest one may be used
   */
  @Override
  public Iterator<Tensor[]> iterator() {
    if (begun) {
      reset();
    }
    return new Iterator<>() {
      private Tensor[] ahead;
      private boolean ended;

      @Override
      public boolean hasNext() {
        if (ahead == null && !ended) {
          ahead = DataLoader.this.next();
          ended = ahead == null;
        }
        return !ended;
      }

      @Override
      public Tensor[] next() {
        if (!hasNext()) {
          throw new NoSuchElementException();
        }
        Tensor[] batch = ahead;
        ahead = null;
        return batch;
      }
    };
  }

  /**
   * Calls a function for each batch of an epoch, as {@link #iterator()}, each time in a {@link TensorScope} that closes the batch and all that was made
   * from it.
   *
   * @param function takes the tensors of a batch
   */
  public void forEachBatch(Consumer<? super Tensor[]> function) {
    if (begun) {
      reset();
    }
    for (;;) {
      try (TensorScope scope = TensorScope.aroundCallback()) {
        Tensor[] batch = next();
        if (batch == null) {
          return;
        }
        function.accept(batch);
      }
    }
  }
}
