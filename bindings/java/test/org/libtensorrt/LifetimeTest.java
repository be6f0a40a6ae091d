package org.libtensorrt;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Closing early, twice, during calls, in other threads, or never. */
final class LifetimeTest {
  /** Collects until a condition holds. */
  static void collectUntil(java.util.function.BooleanSupplier done) throws InterruptedException {
    for (int i = 0; i < 200 && !done.getAsBoolean(); i++) {
      System.gc();
      HandleRef.drain(1 << 20);
      Thread.sleep(5);
    }
    assertTrue(done.getAsBoolean());
  }

  /** What earlier tests forgot must not vanish while this one counts. */
  @BeforeEach
  void settle() throws InterruptedException {
    long last = -1;
    for (int quiet = 0; quiet < 3;) {
      System.gc();
      Thread.sleep(5);
      HandleRef.drain(1 << 20);
      quiet = ThreadState.alive() == last ? quiet + 1 : 0;
      last = ThreadState.alive();
    }
  }

  @Test
  void closingTwiceAndUseAfterClose() {
    long before = ThreadState.alive();
    Tensor t = Tensor.ones(3);
    Tensor other = Tensor.ones(3);
    assertFalse(t.isClosed());
    t.close();
    t.close();
    assertTrue(t.isClosed());
    IllegalStateException e = assertThrows(IllegalStateException.class, () -> t.add(other));
    assertEquals("this Tensor was closed", e.getMessage());
    assertThrows(IllegalStateException.class, () -> other.add(t));
    assertThrows(IllegalStateException.class, () -> Tensor.cat(other, t));
    assertThrows(IllegalStateException.class, t::shape);
    assertThrows(IllegalStateException.class, () -> Dataset.of(t));
    // The failed calls left nothing in use: closing releases at once.
    long allocations = ThreadState.alive();
    other.close();
    assertEquals(allocations - 1, ThreadState.alive());
    Module m = Layers.linear(2, 2);
    m.close();
    m.close();
    assertThrows(IllegalStateException.class, m::parameterCount);
    assertEquals("Module(closed)", m.toString());
    Generator g = new Generator(1);
    assertEquals("Generator", g.toString());
    g.close();
    assertEquals("Generator(closed)", g.toString());
    Module anonymous = new Module("Mine") {};
    assertEquals("Mine()", anonymous.toString());
    anonymous.close();
    assertEquals("Module(closed)", anonymous.toString());
    assertEquals(before, ThreadState.alive());
  }

  @Test
  void closeDuringCalls() throws Exception {
    // Threads use tensors that another closes at any moment: each call works or throws, and everything is released.
    long before = ThreadState.alive();
    Throwable[] failure = new Throwable[1];
    for (int round = 0; round < 60; round++) {
      Tensor a = Tensor.ones(1000 + round);
      Tensor b = Tensor.ones(1000 + round);
      CountDownLatch ready = new CountDownLatch(3);
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        Thread t = new Thread(() -> {
          try {
            ready.countDown();
            for (;;) {
              try (Tensor c = a.add(b)) {
                if (c.numel() < 1000) {
                  throw new AssertionError("wrong result");
                }
              } catch (IllegalStateException e) {
                return;
              }
            }
          } catch (Throwable e) {
            failure[0] = e;
          }
        });
        t.start();
        threads.add(t);
      }
      ready.await();
      Thread.sleep(0, 200_000);
      Thread closer = new Thread(a::close);
      closer.start();
      a.close();
      b.close();
      closer.join();
      for (Thread t : threads) {
        t.join();
      }
    }
    assertNull(failure[0]);
    assertEquals(before, ThreadState.alive());
  }

  @Test
  void closeWaitsForTheCallToEnd() throws Exception {
    // A call that is held up inside of a callback: the object is closed meanwhile, the call goes on with it.
    CountDownLatch inside = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    Dataset d = Dataset.of(1, 1, i -> {
      inside.countDown();
      closed.await();
      return new Tensor[] {Tensor.ones(2)};
    });
    AtomicReference<float[]> got = new AtomicReference<>();
    Thread user = new Thread(() -> {
      try (TensorScope scope = new TensorScope()) {
        got.set(d.get(0)[0].toFloatArray());
      }
    });
    user.start();
    inside.await();
    d.close();
    assertTrue(d.isClosed());
    assertThrows(IllegalStateException.class, d::size);
    closed.countDown();
    user.join();
    assertArrayEquals(new float[] {1, 1}, got.get());
  }

  @Test
  void scopes() {
    long before = ThreadState.alive();
    Tensor kept;
    Tensor early;
    Tensor inner;
    try (TensorScope scope = new TensorScope()) {
      Tensor a = Tensor.ones(2);
      early = a.add(1);
      early.close();
      kept = scope.keep(a.add(2));
      assertSame(kept, scope.keep(kept));
      try (TensorScope nested = new TensorScope()) {
        inner = a.add(3);
        assertThrows(IllegalStateException.class, scope::close);
      }
      assertTrue(inner.isClosed());
      assertFalse(a.isClosed());
      // More than the scope has room for at first, most closed at once.
      for (int i = 0; i < 5000; i++) {
        Tensor t = a.add(i);
        if (i % 50 != 0) {
          t.close();
        }
      }
    }
    assertEquals(before + 1, ThreadState.alive());
    assertArrayEquals(new float[] {3, 3}, kept.toFloatArray());
    kept.close();
    assertEquals(before, ThreadState.alive());
    TensorScope twice = new TensorScope();
    twice.close();
    twice.close();
  }

  /** Tensors that nobody closes do not use up the limit of the memory. */
  @Test
  void forgottenUnderALimit() throws Exception {
    System.gc();
    TensorRuntime.emptyCache();
    try (Tensor weights = Tensor.ones(8 << 20)) {
      TensorRuntime.setMemoryLimit(TensorRuntime.memoryStats().reservedCurrent() + (48 << 20));
      for (int i = 0; i < 500; i++) {
        assertEquals(2, Tensor.ones(1 << 18).add(1).max().item().doubleValue());
      }
    } finally {
      TensorRuntime.setMemoryLimit(0);
    }
  }

  @Test
  void scopeOfAnotherThread() throws Exception {
    TensorScope scope = new TensorScope();
    Throwable[] thrown = new Throwable[1];
    Thread t = new Thread(() -> thrown[0] = assertThrows(IllegalStateException.class, scope::close));
    t.start();
    t.join();
    assertTrue(thrown[0].getMessage().contains("thread"));
    scope.close();
    NoGrad mode = new NoGrad();
    t = new Thread(() -> thrown[0] = assertThrows(IllegalStateException.class, mode::close));
    t.start();
    t.join();
    mode.close();
    assertTrue(NoGrad.isGradEnabled());
  }

  @Test
  void crossedModes() {
    NoGrad outer = new NoGrad();
    EnableGrad inner = new EnableGrad();
    InferenceMode other = new InferenceMode();
    assertTrue(assertThrows(IllegalStateException.class, outer::close).getMessage().contains("still on"));
    assertTrue(NoGrad.isGradEnabled() && InferenceMode.isEnabled());
    InferenceMode again = new InferenceMode();
    assertThrows(IllegalStateException.class, other::close);
    again.close();
    inner.close(); // inference mode is another matter
    inner.close();
    assertFalse(NoGrad.isGradEnabled());
    outer.close();
    assertTrue(NoGrad.isGradEnabled() && InferenceMode.isEnabled());
    other.close();
    assertFalse(InferenceMode.isEnabled());
  }

  @Test
  void forgottenObjects() throws Exception {
    long before = ThreadState.alive();
    for (int i = 0; i < 10_000; i++) {
      Tensor.ones(4).add(1);
    }
    Layers.linear(2, 2);
    new Generator(1);
    new StateDict();
    Dataset.of(Tensor.ones(3));
    // Of a thread that ended, in a scope that nobody closed.
    Thread t = new Thread(() -> {
      TensorScope scope = new TensorScope();
      for (int i = 0; i < 100; i++) {
        Tensor.ones(4);
      }
    });
    t.start();
    t.join();
    collectUntil(() -> {
      // Another thread takes over what the ended one left.
      Thread heir = new Thread(() -> Tensor.ones(1).close());
      heir.start();
      try {
        heir.join();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      return ThreadState.alive() <= before;
    });
  }

  @Test
  void bufferLivesAsLongAsItsTensor() throws Exception {
    long references = Callbacks.keptReferences();
    Tensor view;
    {
      FloatBuffer b = ByteBuffer.allocateDirect(4 << 20).order(ByteOrder.nativeOrder()).asFloatBuffer();
      b.put(5, 42);
      try (Tensor t = Tensor.fromBuffer(b)) {
        view = t.slice(0, 5, 6);
      }
      b = null;
    }
    for (int i = 0; i < 5; i++) {
      System.gc();
      ByteBuffer.allocateDirect(4 << 20).order(ByteOrder.nativeOrder()).asFloatBuffer().put(5, 13);
    }
    assertEquals(42, view.itemDouble());
    assertEquals(references + 1, Callbacks.keptReferences());
    view.close();
    assertEquals(references, Callbacks.keptReferences());
  }

  @Test
  void tensorLivesAsLongAsItsBuffer() throws Exception {
    long before = ThreadState.alive();
    Tensor t = Tensor.full(new long[] {1 << 20}, 7.0);
    FloatBuffer view = t.asByteBuffer().asFloatBuffer().slice();
    t.close();
    for (int i = 0; i < 5; i++) {
      System.gc();
      HandleRef.drain(1000);
      Tensor.zeros(1 << 20).close();
    }
    assertEquals(7, view.get(1000));
    assertEquals(before + 1, ThreadState.alive());
    view = null;
    collectUntil(() -> ThreadState.alive() == before);
  }

  @Test
  void manyThreadsMakeAndForget() throws Exception {
    long before = ThreadState.alive();
    AtomicInteger failures = new AtomicInteger();
    for (int round = 0; round < 3; round++) {
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        Thread t = new Thread(() -> {
          List<Tensor> some = new ArrayList<>();
          for (int k = 0; k < 3000; k++) {
            Tensor x = Tensor.of(k);
            if (k % 3 == 0) {
              x.close();
            } else if (k % 100 == 1) {
              some.add(x);
            }
          }
          for (Tensor x : some) {
            if (x.itemLong() % 100 != 1) {
              failures.incrementAndGet();
            }
          }
        });
        t.start();
        threads.add(t);
      }
      for (Thread t : threads) {
        t.join();
      }
    }
    assertEquals(0, failures.get());
    collectUntil(() -> ThreadState.alive() <= before);
  }
}
