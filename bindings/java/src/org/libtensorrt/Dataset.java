package org.libtensorrt;

import java.util.Objects;

/** A fixed number of samples, each a list of CPU tensors. All methods from any thread. */
public final class Dataset extends NativeObject {
  /** Where the samples of a dataset of one's own come from. */
  @FunctionalInterface
  public interface Source {
    /**
     * Makes a sample. Called on any thread, on several at once when a loader has more than one worker. Tensors made in it are closed
     * afterwards; those that are returned live on in the library.
     *
     * @param index the number of the sample
     * @return its tensors
     * @throws Exception anything, which fails the call that needed the sample and arrives there itself
     */
    Tensor[] get(long index) throws Exception;
  }

  /** Changes samples. */
  @FunctionalInterface
  public interface Transform {
    /**
     * Changes a sample; threads and tensors as with {@link Source}.
     *
     * @param sample its tensors, to be used during the call; they may be returned
     * @return the new tensors
     * @throws Exception anything, which fails the call that needed the sample and arrives there itself
     */
    Tensor[] apply(Tensor[] sample) throws Exception;
  }

  private Dataset(long pointer) {
    super(pointer);
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_dataset_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.DATASET;
  }

  /**
   * Row i of every tensor is sample i.
   *
   * @param tensors CPU tensors with one number of rows, which are held, not copied
   * @return a new dataset
   */
  public static Dataset of(Tensor... tensors) {
    Tensor[] used = tensors.clone();
    enter(used);
    try {
      return new Dataset(Native.trt_dataset_from_tensors(pointers(used)));
    } finally {
      leave(used);
    }
  }

  /**
   * Samples that Java makes.
   *
   * @param size number of samples
   * @param fields number of tensors in each
   * @param source makes them
   * @return a new dataset, which keeps the source
   */
  public static Dataset of(long size, int fields, Source source) {
    return new Dataset(Callbacks.dataset(size, fields, Objects.requireNonNull(source)));
  }

  /**
   * Images and labels.
   *
   * @param images uint8 [N, H, W]
   * @param labels integers [N], or null for samples without
   * @param options what differs from the defaults
   * @return a new dataset of (image, label)
   */
  public static Dataset ofImages(Tensor images, Tensor labels, ImageOptions options) {
    enter(images, labels);
    try {
      return options.call(options.make(), o -> new Dataset(Native.trt_dataset_from_images(pointer(images), pointer(labels), o)));
    } finally {
      leave(images, labels);
    }
  }

  /**
   * Images and labels from IDX files, plain or gzip.
   *
   * @param imagesPath a file
   * @param labelsPath a file, or null for samples without labels
   * @param options what differs from the defaults
   * @return a new dataset of (image, label)
   */
  public static Dataset ofIdx(String imagesPath, String labelsPath, ImageOptions options) {
    return options.call(options.make(), o -> new Dataset(Native.trt_dataset_from_idx(imagesPath, labelsPath, o)));
  }

  /**
   * The array of an IDX file, plain or gzip.
   *
   * @param path the file
   * @return a new tensor
   */
  public static Tensor loadIdx(String path) {
    return Tensor.adopt(Native.trt_idx_load(path));
  }

  /**
   * The samples, each changed when it is needed.
   *
   * @param fields number of tensors in a changed sample
   * @param transform changes them
   * @return a new dataset, which keeps the transform
   */
  public Dataset map(int fields, Transform transform) {
    Objects.requireNonNull(transform);
    enter();
    try {
      return new Dataset(Callbacks.datasetMap(pointer, fields, transform));
    } finally {
      leave();
    }
  }

  /**
   * Some of the samples.
   *
   * @param indices their numbers in the order wanted; repetitions are allowed
   * @return a new dataset
   */
  public Dataset subset(long... indices) {
    enter();
    try {
      return new Dataset(Native.trt_dataset_subset(pointer, indices));
    } finally {
      leave();
    }
  }

  /**
   * Number of samples.
   *
   * @return 0 or more
   */
  public long size() {
    enter();
    try {
      return Native.trt_dataset_size(pointer);
    } finally {
      leave();
    }
  }

  /**
   * A sample.
   *
   * @param index its number
   * @return its tensors, which may share memory with the dataset
   */
  public Tensor[] get(long index) {
    enter();
    try {
      return Tensor.adoptAll(Native.trt_dataset_get(pointer, index));
    } finally {
      leave();
    }
  }

  /**
   * Samples stacked along a new first dimension.
   *
   * @param indices their numbers, at least one
   * @return new tensors
   */
  public Tensor[] batch(long... indices) {
    enter();
    try {
      return Tensor.adoptAll(Native.trt_dataset_batch(pointer, indices));
    } finally {
      leave();
    }
  }
}
