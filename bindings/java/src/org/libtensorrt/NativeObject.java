package org.libtensorrt;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * An object of the native library. It belongs to whoever made it and ends with {@link #close()}; objects that nobody closes are released some
 * time after the garbage collector found them.
 *
 * <p>Closing twice does nothing. A call on a closed object throws {@link IllegalStateException}. An object may be closed by one thread while
 * another is inside a call on it: that call ends undisturbed, and the memory goes when it is over.
 */
public abstract sealed class NativeObject implements AutoCloseable
    permits TensorOperators, Module, StateDict, Optimizer, LRScheduler, Dataset, DataLoader, Generator, Safetensors, CancelToken,
        GraphNode {
  // `state`: twice the number of calls that use the object, plus CLOSED; DESTROYED is added by the one who releases the handle.
  private static final int CLOSED = 1;
  private static final int DESTROYED = 1 << 30;
  private static final VarHandle STATE;

  static {
    Library.load();
    try {
      STATE = MethodHandles.lookup().findVarHandle(NativeObject.class, "state", int.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final long pointer;
  private volatile int state;
  /** The HandleRef, or the TensorScope that closes this object. */
  Object owner;

  NativeObject(long pointer) {
    this.pointer = pointer;
  }

  /** Releases the native reference. */
  abstract void releaseHandle();

  /** The number of the type in {@link HandleRef}. */
  abstract int kind();

  /** Counts a new object and puts it under the safety net of the garbage collector. */
  final void watch() {
    ThreadState thread = ThreadState.current();
    thread.made++;
    watch(thread);
  }

  /** Puts the object under the safety net of the garbage collector. */
  final void watch(ThreadState thread) {
    HandleRef ref = new HandleRef(this, pointer, kind());
    owner = ref;
    thread.watch(ref);
  }

  /**
   * Releases the object. Memory that other objects (views, graphs, modules) share stays as long as they need it.
   */
  @Override
  public void close() {
    // The usual case: nobody is inside a call.
    if (STATE.compareAndSet(this, 0, CLOSED | DESTROYED)) {
      destroy();
      return;
    }
    for (;;) {
      int s = state;
      if ((s & CLOSED) != 0) {
        return;
      }
      if (STATE.compareAndSet(this, s, s | CLOSED)) {
        if (s == 0) {
          endOfUses();
        }
        return;
      }
    }
  }

  /**
   * Whether {@link #close()} was called.
   *
   * @return true after it
   */
  public final boolean isClosed() {
    return (state & CLOSED) != 0;
  }

  /** For a scope that releases many at once: true when the caller must release the handle. */
  final boolean closeLater() {
    if (!STATE.compareAndSet(this, 0, CLOSED | DESTROYED)) {
      close();
      return false;
    }
    return true;
  }

  private void destroy() {
    if (owner instanceof HandleRef ref) {
      ref.closed = true;
    }
    ThreadState.current().released++;
    releaseHandle();
  }

  private void endOfUses() {
    if (STATE.compareAndSet(this, CLOSED, CLOSED | DESTROYED)) {
      destroy();
    }
  }

  /** What toString() gives while the object is open: within enter() and leave(). */
  String text() {
    return typeName(getClass());
  }

  /**
   * The object as text.
   *
   * @return what the subclass tells; "Tensor(closed)" and the like for a closed object
   */
  @Override
  public String toString() {
    try {
      enter();
    } catch (IllegalStateException e) {
      return typeName(getClass()) + "(closed)";
    }
    try {
      return text();
    } finally {
      leave();
    }
  }

  /** The name of a class; of the one above where it has none. */
  private static String typeName(Class<?> c) {
    return c.getSimpleName().isEmpty() ? typeName(c.getSuperclass()) : c.getSimpleName();
  }

  /** Begins a call that uses the object: until leave() the handle stays valid. */
  final void enter() {
    int before = (int) STATE.getAndAdd(this, 2);
    if ((before & CLOSED) != 0) {
      leave();
      throw new IllegalStateException("this " + typeName(getClass()) + " was closed");
    }
  }

  final void leave() {
    if ((int) STATE.getAndAdd(this, -2) == (2 | CLOSED)) {
      endOfUses();
    }
  }

  // --- several at once; null is passed on: the library says where it must not be ---

  static void enter(NativeObject a) {
    if (a != null) {
      a.enter();
    }
  }

  static void leave(NativeObject a) {
    if (a != null) {
      a.leave();
    }
  }

  static void enter(NativeObject a, NativeObject b) {
    enter(a);
    try {
      enter(b);
    } catch (IllegalStateException e) {
      leave(a);
      throw e;
    }
  }

  static void leave(NativeObject a, NativeObject b) {
    leave(b);
    leave(a);
  }

  static void enter(NativeObject a, NativeObject b, NativeObject c) {
    enter(a, b);
    try {
      enter(c);
    } catch (IllegalStateException e) {
      leave(a, b);
      throw e;
    }
  }

  static void leave(NativeObject a, NativeObject b, NativeObject c) {
    leave(c);
    leave(b);
    leave(a);
  }

  static void enter(NativeObject... all) {
    for (int i = 0; i < all.length; i++) {
      try {
        enter(all[i]);
      } catch (IllegalStateException e) {
        while (--i >= 0) {
          leave(all[i]);
        }
        throw e;
      }
    }
  }

  static void leave(NativeObject... all) {
    for (NativeObject o : all) {
      leave(o);
    }
  }

  static long pointer(NativeObject o) {
    return o == null ? 0 : o.pointer;
  }

  static long[] pointers(NativeObject[] all) {
    long[] p = new long[all.length];
    for (int i = 0; i < p.length; i++) {
      p[i] = pointer(all[i]);
    }
    return p;
  }
}
