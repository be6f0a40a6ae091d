package org.libtensorrt;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/**
 * A strided, typed view of memory, with PyTorch's semantics: operators broadcast, promote dtypes and record gradients.
 *
 * <p>A tensor is native memory. Close it, or let a {@link TensorScope} do it; what is forgotten goes with the garbage collector, later. Any number of
 * threads may read a tensor at once; writing its elements needs synchronization of one's own.
 */
public final class Tensor extends TensorOperators {
  private Tensor(long pointer) {
    super(pointer);
    ThreadState thread = ThreadState.current();
    thread.made++;
    TensorScope scope = thread.scope;
    if (scope != null) {
      scope.add(this);
    } else {
      watch(thread);
    }
  }

  /** Takes over a reference; null for 0. */
  static Tensor adopt(long pointer) {
    if (pointer == 0) {
      return null;
    }
    try {
      return new Tensor(pointer);
    } catch (OutOfMemoryError e) {
      Native.trt_tensor_release(pointer);
      throw e;
    }
  }

  static Tensor[] adoptAll(long[] pointers) {
    Tensor[] all = new Tensor[pointers.length];
    for (int i = 0; i < all.length; i++) {
      all[i] = adopt(pointers[i]);
    }
    return all;
  }

  @Override
  void releaseHandle() {
    Native.trt_tensor_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.TENSOR;
  }

  // --- from Java ---

  /**
   * A tensor with a copy of an array, as float32.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(float[] data, long... shape) {
    return fromArray(data, data.length, 'F', DType.FLOAT32, shape);
  }

  /**
   * A tensor with a copy of an array, as float64.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(double[] data, long... shape) {
    return fromArray(data, data.length, 'D', DType.FLOAT64, shape);
  }

  /**
   * A tensor with a copy of an array, as int64.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(long[] data, long... shape) {
    return fromArray(data, data.length, 'J', DType.INT64, shape);
  }

  /**
   * A tensor with a copy of an array, as int32.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(int[] data, long... shape) {
    return fromArray(data, data.length, 'I', DType.INT32, shape);
  }

  /**
   * A tensor with a copy of an array, as int16.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(short[] data, long... shape) {
    return fromArray(data, data.length, 'S', DType.INT16, shape);
  }

  /**
   * A tensor with a copy of an array, as int8.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(byte[] data, long... shape) {
    return fromArray(data, data.length, 'B', DType.INT8, shape);
  }

  /**
   * A tensor with a copy of an array, as bool.
   *
   * @param data the elements, row-major
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor of(boolean[] data, long... shape) {
    return fromArray(data, data.length, 'Z', DType.BOOL, shape);
  }

  /**
   * A tensor with a copy of bytes of a dtype of one's choice: uint8, or float16 and bfloat16 as the machine stores them, for example.
   *
   * @param bytes the elements, row-major, in the machine's byte order
   * @param dtype their type
   * @param shape its sizes
   * @return a new tensor
   */
  public static Tensor ofBytes(byte[] bytes, DType dtype, long... shape) {
    if (product(shape) * dtype.size() != bytes.length) {
      throw new IllegalArgumentException("shape " + Arrays.toString(shape) + " of " + dtype + " needs " + product(shape) * dtype.size() + " bytes, not "
          + bytes.length);
    }
    return adopt(Callbacks.fromArray(bytes, 'B', dtype.code, shape));
  }

  /**
   * A tensor with one number and no dimension.
   *
   * @param value the number
   * @return a new tensor of the number's own dtype: int64, the default dtype, or bool for a {@link Scalar} that is one
   */
  public static Tensor of(Number value) {
    return of(value, null);
  }

  /**
   * A tensor with one number and no dimension.
   *
   * @param value the number
   * @param dtype its dtype; null for the number's own
   * @return a new tensor
   */
  public static Tensor of(Number value, DType dtype) {
    return adopt(Native.trt_tensor_from_scalar(Scalar.of(value), DType.code(dtype)));
  }

  /**
   * A tensor on the memory of a direct buffer, without copying: the elements from the buffer's position to its limit. Both see each other's changes.
   * The buffer's memory stays as long as any tensor uses it.
   *
   * @param buffer a direct buffer of the machine's byte order: float, double, long, int or short
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor of the buffer's type
   * @throws IllegalArgumentException for a buffer that is on the heap, read-only, or of another byte order, and for a shape that does not fit
   */
  public static Tensor fromBuffer(Buffer buffer, long... shape) {
    DType dtype;
    ByteOrder order;
    if (buffer instanceof FloatBuffer b) {
      dtype = DType.FLOAT32;
      order = b.order();
    } else if (buffer instanceof DoubleBuffer b) {
      dtype = DType.FLOAT64;
      order = b.order();
    } else if (buffer instanceof LongBuffer b) {
      dtype = DType.INT64;
      order = b.order();
    } else if (buffer instanceof IntBuffer b) {
      dtype = DType.INT32;
      order = b.order();
    } else if (buffer instanceof ShortBuffer b) {
      dtype = DType.INT16;
      order = b.order();
    } else {
      throw new IllegalArgumentException("a dtype must be given for a " + buffer.getClass().getSimpleName());
    }
    return fromBuffer(buffer, order, dtype, dtype.size(), shape);
  }

  /**
   * A tensor on the memory of a direct byte buffer, without copying, as {@link #fromBuffer(Buffer, long...)}.
   *
   * @param buffer a direct buffer whose order is the machine's ({@code buffer.order(ByteOrder.nativeOrder())}) where an element has several bytes
   * @param dtype the type of the elements
   * @param shape its sizes; without any the tensor has one dimension
   * @return a new tensor
   */
  public static Tensor fromBuffer(ByteBuffer buffer, DType dtype, long... shape) {
    return fromBuffer(buffer, dtype.size() == 1 ? ByteOrder.nativeOrder() : buffer.order(), dtype, 1, shape);
  }

  private static Tensor fromBuffer(Buffer buffer, ByteOrder order, DType dtype, int unit, long[] shape) {
    if (!buffer.isDirect() || buffer.isReadOnly()) {
      throw new IllegalArgumentException("a direct buffer that may be written is needed, got " + buffer);
    }
    if (order != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("the buffer's byte order is " + order + ", not the machine's (ByteOrder.nativeOrder())");
    }
    long bytes = (long) buffer.remaining() * unit;
    long[] sizes = shape.length == 0 ? new long[] {bytes / dtype.size()} : shape;
    if (product(sizes) * dtype.size() != bytes) {
      throw new IllegalArgumentException("shape " + Arrays.toString(sizes) + " of " + dtype + " needs " + product(sizes) * dtype.size()
          + " bytes, the buffer has " + bytes);
    }
    return adopt(Callbacks.fromBuffer(buffer, (long) buffer.position() * unit, sizes, null, dtype.code));
  }

  private static Tensor fromArray(Object data, int length, char kind, DType dtype, long[] shape) {
    long[] sizes = shape.length == 0 ? new long[] {length} : shape;
    if (product(sizes) != length) {
      throw new IllegalArgumentException("shape " + Arrays.toString(sizes) + " needs " + product(sizes) + " elements, the array has " + length);
    }
    return adopt(Callbacks.fromArray(data, kind, dtype.code, sizes));
  }

  /** The number of elements; -1 for sizes that are none. */
  private static long product(long[] sizes) {
    long n = 1;
    for (long s : sizes) {
      if (s < 0) {
        return -1;
      }
      n = Math.multiplyExact(n, s);
    }
    return n;
  }

  // --- to Java ---

  /**
   * The elements, row-major, converted to float32.
   *
   * @return a new array
   */
  public float[] toFloatArray() {
    float[] out = new float[count()];
    toArray(out, 'F', DType.FLOAT32);
    return out;
  }

  /**
   * The elements, row-major, converted to float64.
   *
   * @return a new array
   */
  public double[] toDoubleArray() {
    double[] out = new double[count()];
    toArray(out, 'D', DType.FLOAT64);
    return out;
  }

  /**
   * The elements, row-major, converted to int64.
   *
   * @return a new array
   */
  public long[] toLongArray() {
    long[] out = new long[count()];
    toArray(out, 'J', DType.INT64);
    return out;
  }

  /**
   * The elements, row-major, converted to int32.
   *
   * @return a new array
   */
  public int[] toIntArray() {
    int[] out = new int[count()];
    toArray(out, 'I', DType.INT32);
    return out;
  }

  /**
   * The elements, row-major, converted to int16.
   *
   * @return a new array
   */
  public short[] toShortArray() {
    short[] out = new short[count()];
    toArray(out, 'S', DType.INT16);
    return out;
  }

  /**
   * The elements, row-major, converted to int8.
   *
   * @return a new array
   */
  public byte[] toByteArray() {
    byte[] out = new byte[count()];
    toArray(out, 'B', DType.INT8);
    return out;
  }

  /**
   * The elements, row-major, converted to bool.
   *
   * @return a new array
   */
  public boolean[] toBooleanArray() {
    boolean[] out = new boolean[count()];
    toArray(out, 'Z', DType.BOOL);
    return out;
  }

  private int count() {
    long n = numel();
    if (n > Integer.MAX_VALUE - 8) {
      throw new IllegalStateException("a tensor with " + n + " elements is too large for an array");
    }
    return (int) n;
  }

  private void toArray(Object out, char kind, DType dtype) {
    enter();
    try {
      Callbacks.toArray(pointer, out, kind, dtype.code);
    } finally {
      leave();
    }
  }

  /**
   * The tensor's memory as a direct buffer of the machine's byte order, without copying. It stays as long as the buffer or a view of it is reachable, also
   * when the tensor was closed. Who writes to it goes past autograd and the version counter.
   *
   * @return a buffer from the first element to the last
   * @throws IllegalStateException when the tensor is not contiguous, has no data, or is larger than a buffer can be
   */
  public ByteBuffer asByteBuffer() {
    enter();
    try {
      if (!Native.trt_tensor_is_contiguous(pointer)) {
        throw new IllegalStateException("the tensor is not contiguous; take contiguous() first");
      }
      if (device().type() == Device.Type.META) {
        throw new IllegalStateException("a meta tensor has no data");
      }
      if (numel() * dtype().size() > Integer.MAX_VALUE) {
        throw new IllegalStateException("the tensor is too large for one buffer; take parts of it");
      }
      ByteBuffer buffer = Callbacks.data(pointer).order(ByteOrder.nativeOrder());
      ThreadState thread = ThreadState.current();
      // Views of the buffer keep it reachable, and its end releases this reference.
      thread.watch(new HandleRef(buffer, Native.trt_tensor_retain(pointer), HandleRef.TENSOR));
      thread.made++;
      return buffer;
    } finally {
      leave();
    }
  }

  /**
   * Copies the elements, row-major, into a direct buffer, beginning at its position, which moves behind them.
   *
   * @param buffer a direct buffer of the machine's byte order with room for all elements
   * @param dtype what the elements are converted to
   */
  public void copyTo(ByteBuffer buffer, DType dtype) {
    if (!buffer.isDirect() || buffer.isReadOnly() || dtype.size() > 1 && buffer.order() != ByteOrder.nativeOrder()) {
      throw new IllegalArgumentException("a direct buffer of the machine's byte order that may be written is needed, got " + buffer);
    }
    enter();
    try {
      long bytes = numel() * dtype.size();
      if (bytes > buffer.remaining()) {
        throw new IllegalArgumentException(bytes + " bytes are needed, the buffer has room for " + buffer.remaining());
      }
      Callbacks.toBuffer(pointer, buffer, buffer.position(), dtype.code);
      buffer.position(buffer.position() + (int) bytes);
    } finally {
      leave();
    }
  }

  /**
   * The only element of a tensor with one element.
   *
   * @return the number, of the tensor's kind
   */
  public Scalar item() {
    enter();
    try {
      return Native.trt_tensor_item(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The only element as a double.
   *
   * @return the number
   */
  public double itemDouble() {
    enter();
    try {
      return Native.trt_tensor_item_double(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The only element as an integer; floating-point numbers are truncated.
   *
   * @return the number
   */
  public long itemLong() {
    enter();
    try {
      return Native.trt_tensor_item_int(pointer);
    } finally {
      leave();
    }
  }

  /** The text that Python's {@code print} shows: values, shape where they do not tell it, dtype, history. */
  @Override
  public String toString() {
    return super.toString();
  }

  @Override
  String text() {
    return Native.trt_tensor_to_string(pointer);
  }

  // --- metadata ---

  /**
   * The sizes.
   *
   * @return a new array
   */
  public long[] shape() {
    enter();
    try {
      return Callbacks.sizes(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The strides in elements.
   *
   * @return a new array
   */
  public long[] strides() {
    enter();
    try {
      return Callbacks.strides(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The size of one dimension.
   *
   * @param dim its number; negative ones count from the end
   * @return the size
   */
  public long size(long dim) {
    enter();
    try {
      return Native.trt_tensor_size(pointer, dim);
    } finally {
      leave();
    }
  }

  /**
   * The number of dimensions.
   *
   * @return 0 or more
   */
  public int dim() {
    enter();
    try {
      return (int) Native.trt_tensor_ndim(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The number of elements.
   *
   * @return 0 or more
   */
  public long numel() {
    enter();
    try {
      return Native.trt_tensor_numel(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The element type.
   *
   * @return the dtype
   */
  public DType dtype() {
    enter();
    try {
      return DType.ofCode(Native.trt_tensor_dtype(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Where the memory is.
   *
   * @return the device
   */
  public Device device() {
    enter();
    try {
      return Device.ofCode(Native.trt_tensor_device(pointer));
    } finally {
      leave();
    }
  }

  /**
   * The place of the first element in its storage.
   *
   * @return a number of elements
   */
  public long storageOffset() {
    enter();
    try {
      return Native.trt_tensor_storage_offset(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Whether the elements lie row-major without gaps.
   *
   * @return true if so
   */
  public boolean isContiguous() {
    enter();
    try {
      return Native.trt_tensor_is_contiguous(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Whether two tensors share one storage.
   *
   * @param other another tensor
   * @return true if so
   */
  public boolean sharesStorage(Tensor other) {
    enter(this, other);
    try {
      return Native.trt_tensor_shares_storage(pointer, pointer(other));
    } finally {
      leave(this, other);
    }
  }

  /**
   * How often tensors of its storage were changed in place.
   *
   * @return the version
   */
  public long version() {
    enter();
    try {
      return Native.trt_tensor_version(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Another object for the same native tensor, with a life of its own.
   *
   * @return a new object
   */
  public Tensor retain() {
    enter();
    try {
      return adopt(Native.trt_tensor_retain(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Takes the tensor out of the {@link TensorScope} that it is in, if any: the caller closes it, or the garbage collector does.
   *
   * @return this tensor
   */
  public Tensor keep() {
    if (owner instanceof TensorScope) {
      watch(ThreadState.current());
    }
    return this;
  }

  // --- gradients ---

  /**
   * Whether gradients flow to this tensor.
   *
   * @return true if so
   */
  public boolean requiresGrad() {
    enter();
    try {
      return Native.trt_tensor_requires_grad(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Asks for gradients of a leaf.
   *
   * @param requiresGrad whether
   * @return this tensor
   */
  public Tensor setRequiresGrad(boolean requiresGrad) {
    enter();
    try {
      Native.trt_tensor_set_requires_grad(pointer, requiresGrad);
      return this;
    } finally {
      leave();
    }
  }

  /**
   * Whether no operator of a graph made it.
   *
   * @return true for a leaf
   */
  public boolean isLeaf() {
    enter();
    try {
      return Native.trt_tensor_is_leaf(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The name of the node that made the tensor.
   *
   * @return "AddBackward0" and the like; null for a leaf
   */
  public String gradFnName() {
    enter();
    try {
      return Native.trt_tensor_grad_fn_name(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The node of the graph that made the tensor.
   *
   * @return a new object; null for a leaf
   */
  public GraphNode gradFn() {
    enter();
    try {
      return GraphNode.adopt(Native.trt_tensor_grad_fn(pointer));
    } finally {
      leave();
    }
  }

  /**
   * The accumulated gradient.
   *
   * @return a new tensor object; null when there is none
   */
  public Tensor grad() {
    enter();
    try {
      return adopt(Native.trt_tensor_grad(pointer));
    } finally {
      leave();
    }
  }

  /**
   * Sets or drops the gradient.
   *
   * @param grad a tensor of the same shape, dtype and device, or null
   */
  public void setGrad(Tensor grad) {
    enter(this, grad);
    try {
      Native.trt_tensor_set_grad(pointer, pointer(grad));
    } finally {
      leave(this, grad);
    }
  }

  /**
   * Gives this tensor the elements of another one: memory, which they share from now on, sizes, dtype and device. It keeps its identity, and all objects
   * for it see the change. Needs synchronization of one's own with every use of the tensor.
   *
   * @param data another tensor
   */
  public void setData(Tensor data) {
    enter(this, data);
    try {
      Native.trt_tensor_set_data(pointer, pointer(data));
    } finally {
      leave(this, data);
    }
  }

  /**
   * Whether {@link #retainGrad} was called.
   *
   * @return false for a leaf
   */
  public boolean retainsGrad() {
    enter();
    try {
      return Native.trt_tensor_retains_grad(pointer);
    } finally {
      leave();
    }
  }

  /** Keeps the gradient of a tensor that is not a leaf. */
  public void retainGrad() {
    enter();
    try {
      Native.trt_tensor_retain_grad(pointer);
    } finally {
      leave();
    }
  }

  /**
   * The same elements without history; shares memory and version counter.
   *
   * @return a new tensor
   */
  public Tensor detach() {
    enter();
    try {
      return adopt(Native.trt_tensor_detach(pointer));
    } finally {
      leave();
    }
  }

  /** Drops the history of the tensor itself, which becomes a leaf that requires no gradients. A view cannot be detached so. */
  public void detachInPlace() {
    enter();
    try {
      Native.trt_tensor_detach_(pointer);
    } finally {
      leave();
    }
  }

  /** Computes the gradients of this tensor, which has one element: they accumulate in the leaves. Frees the graph. */
  public void backward() {
    enter();
    try {
      Native.trt_tensor_backward(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Computes the gradients of this tensor.
   *
   * @param gradient its own gradient; null for 1, when it has one element
   * @param retainGraph whether the graph can be used again
   * @param createGraph whether the pass is recorded itself, for higher derivatives
   */
  public void backward(Tensor gradient, boolean retainGraph, boolean createGraph) {
    enter(this, gradient);
    try {
      Native.trt_backward(new long[] {pointer}, gradient == null ? null : new long[] {gradient.pointer}, null, retainGraph, createGraph);
    } finally {
      leave(this, gradient);
    }
  }

  /** Sees a gradient in every backward pass, and may replace it. */
  @FunctionalInterface
  public interface Hook {
    /**
     * Called on the thread that runs the pass. What it throws fails the pass and arrives at its caller.
     *
     * @param grad the gradient; closed when the hook returns, unless {@link Tensor#keep() kept}
     * @return another gradient of the same shape, or null to leave it
     */
    Tensor apply(Tensor grad);
  }

  /**
   * Adds a hook to the gradient of this tensor. It stays as long as the native tensor or its graph; it must not hold this tensor.
   *
   * @param hook the hook
   * @return its number, for {@link #removeHook(long)}
   */
  public long registerHook(Hook hook) {
    enter();
    try {
      return Callbacks.addHook(pointer, java.util.Objects.requireNonNull(hook));
    } finally {
      leave();
    }
  }

  /**
   * Removes a hook.
   *
   * @param id its number
   */
  public void removeHook(long id) {
    enter();
    try {
      Native.trt_tensor_remove_hook(pointer, id);
    } finally {
      leave();
    }
  }
}
