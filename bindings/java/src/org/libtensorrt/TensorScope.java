package org.libtensorrt;

/**
 * Closes every tensor that its thread makes inside of it, unless kept:
 *
 * <pre>{@code
 * try (TensorScope scope = new TensorScope()) {
 *   Tensor hidden = x.matmul(w).relu();
 *   return scope.keep(hidden.sum());
 * }
 * }</pre>
 *
 * <p>Scopes nest, and must be closed by their thread in reverse order. Tensors in a scope are not watched by the garbage collector, which makes them
 * cheaper.
 */
public final class TensorScope implements AutoCloseable {
  private final ThreadState thread;
  private final TensorScope outer;
  private Tensor[] tensors = new Tensor[16];
  private int count;
  private boolean closed;
  private boolean aroundCallback;

  /** A scope of the library around code of the program. One that the program leaves open inside ends with it, so that the thread's next tensors are not held. */
  static TensorScope aroundCallback() {
    TensorScope s = new TensorScope();
    s.aroundCallback = true;
    return s;
  }

  /** Opens a scope on this thread. */
  public TensorScope() {
    thread = ThreadState.current();
    outer = thread.scope;
    thread.scope = this;
  }

  /** Before a callback's result is handed over. */
  static void checkNoneIsLeftOpen() {
    TensorScope s = ThreadState.current().scope;
    if (s != null && !s.aroundCallback) {
      throw new IllegalStateException("an inner TensorScope is still open");
    }
  }

  void add(Tensor t) {
    if (count == tensors.length) {
      grow();
    }
    t.owner = this;
    tensors[count++] = t;
  }

  /** Makes room, first by forgetting what is closed or kept. */
  private void grow() {
    int n = 0;
    for (int i = 0; i < count; i++) {
      Tensor t = tensors[i];
      if (t.owner == this && !t.isClosed()) {
        tensors[n++] = t;
      }
    }
    for (int i = n; i < count; i++) {
      tensors[i] = null;
    }
    count = n;
    if (n > tensors.length / 2) {
      tensors = java.util.Arrays.copyOf(tensors, tensors.length * 2);
    }
  }

  /**
   * Takes a tensor out of this scope (or one around it): the caller closes it, or the garbage collector does.
   *
   * @param tensor a tensor; one that is in no scope stays as it is
   * @return the tensor
   */
  public Tensor keep(Tensor tensor) {
    return tensor.keep();
  }

  /**
   * Takes several tensors out of the scope.
   *
   * @param kept tensors
   * @return the array
   */
  public Tensor[] keep(Tensor... kept) {
    for (Tensor t : kept) {
      keep(t);
    }
    return kept;
  }

  /**
   * Closes the scope's tensors.
   *
   * @throws IllegalStateException on another thread than the scope's, or while an inner scope is open; nothing is closed then
   */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    if (ThreadState.current() != thread) {
      throw new IllegalStateException("a TensorScope must be closed by the thread that opened it");
    }
    boolean leftOpen = false;
    while (thread.scope != this) {
      if (!aroundCallback || thread.scope == null) {
        throw new IllegalStateException("an inner TensorScope is still open");
      }
      leftOpen = true;
      thread.scope.close();
    }
    closed = true;
    thread.scope = outer;
    long[] pointers = new long[Math.min(count, 1024)];
    int n = 0;
    for (int i = 0; i < count; i++) {
      Tensor t = tensors[i];
      if (t.owner == this && t.closeLater()) {
        pointers[n++] = t.pointer;
        thread.released++;
        if (n == pointers.length) {
          Callbacks.releaseTensors(pointers, n);
          n = 0;
        }
      }
    }
    if (n > 0) {
      Callbacks.releaseTensors(pointers, n);
    }
    tensors = null;
    if (leftOpen) {
      throw new IllegalStateException("an inner TensorScope is still open");
    }
  }

  /** The thread ended with the scope open: its tensors go to the garbage collector. */
  void abandon(ThreadState heir) {
    for (TensorScope s = this; s != null; s = s.outer) {
      for (int i = 0; i < s.count; i++) {
        Tensor t = s.tensors[i];
        if (t.owner == s && !t.isClosed()) {
          t.watch(heir);
        }
      }
      s.closed = true;
      s.tensors = null;
    }
    heir.scope = null;
  }
}
