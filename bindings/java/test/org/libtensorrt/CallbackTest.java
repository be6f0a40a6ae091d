package org.libtensorrt;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Java code that the library calls: what it gets, what it gives, what it throws; and that nothing of it stays behind. */
final class CallbackTest {
  private long references;
  private long handles;

  @BeforeEach
  void count() throws Exception {
    TensorRuntime.version();
    System.gc();
    Thread.sleep(20);
    HandleRef.drain(1 << 20);
    references = Callbacks.keptReferences();
    handles = ThreadState.alive();
  }

  @AfterEach
  void nothingLeft() throws Exception {
    LifetimeTest.collectUntil(() -> Callbacks.keptReferences() <= references && ThreadState.alive() <= handles);
  }

  private static Tensor floats(float... v) {
    return Tensor.of(v);
  }

  @Test
  void hooks() {
    try (TensorScope scope = new TensorScope()) {
      Tensor x = floats(1, 2).setRequiresGrad(true);
      Tensor y = x.mul(3);
      List<float[]> seen = new ArrayList<>();
      Tensor[] kept = new Tensor[2];
      long id = y.registerHook(g -> {
        seen.add(g.toFloatArray());
        kept[0] = g;
        kept[1] = g.clone().keep();
        return g.mul(10);
      });
      y.sum().backward(null, true, false);
      assertArrayEquals(new float[] {1, 1}, seen.get(0));
      assertArrayEquals(new float[] {30, 30}, x.grad().toFloatArray());
      assertTrue(kept[0].isClosed());
      assertArrayEquals(new float[] {1, 1}, kept[1].toFloatArray());
      kept[1].close();
      y.removeHook(id);
      assertThrows(TensorException.NotFound.class, () -> y.removeHook(id));
      y.registerHook(g -> null);
      y.sum().backward();
      assertArrayEquals(new float[] {33, 33}, x.grad().toFloatArray());
      // What a hook throws arrives itself; one of another shape is the library's error.
      Tensor z = x.mul(2);
      RuntimeException mine = new RuntimeException("\u00e4rger \ud83d\ude00");
      z.registerHook(g -> {
        throw mine;
      });
      assertSame(mine, assertThrows(RuntimeException.class, () -> z.sum().backward()));
      Tensor w = x.mul(2);
      w.registerHook(g -> floats(1, 2, 3));
      assertThrows(TensorException.class, () -> w.sum().backward());
      Tensor v = x.mul(2);
      StackOverflowError error = new StackOverflowError();
      v.registerHook(g -> {
        throw error;
      });
      assertSame(error, assertThrows(StackOverflowError.class, () -> v.sum().backward()));
      assertThrows(NullPointerException.class, () -> x.registerHook(null));
    }
  }

  /** x * scale, and its gradient in different moods. */
  private static final class Scale extends AutogradFunction {
    final float scale;
    RuntimeException refused;
    boolean wrongCount;
    int calls;

    Scale(float scale) {
      this.scale = scale;
    }

    @Override
    protected Tensor[] forward(Context context, Tensor... in) {
      assertFalse(NoGrad.isGradEnabled());
      context.saveForBackward(in[0], null);
      context.put("scale", scale);
      return new Tensor[] {in[0].mul(scale)};
    }

    @Override
    protected Tensor[] backward(Context context, Tensor... grads) {
      calls++;
      if (refused != null) {
        throw refused;
      }
      Tensor[] saved = context.savedTensors();
      assertEquals(2, saved.length);
      assertNull(saved[1]);
      Tensor g = grads[0].mul((float) context.get("scale")).add(saved[0].mul(0));
      return wrongCount ? new Tensor[] {g, g} : new Tensor[] {g};
    }
  }

  @Test
  void functions() {
    try (TensorScope scope = new TensorScope()) {
      Tensor x = floats(1, 2).setRequiresGrad(true);
      Scale f = new Scale(5);
      Tensor y = f.apply(x)[0];
      assertEquals("ScaleBackward", y.gradFnName());
      assertArrayEquals(new float[] {5, 10}, y.toFloatArray());
      y.sum().backward(null, true, false);
      y.sum().backward();
      assertArrayEquals(new float[] {10, 10}, x.grad().toFloatArray());
      assertEquals(2, f.calls);
      f.refused = new IllegalArgumentException("not today");
      assertSame(f.refused, assertThrows(IllegalArgumentException.class, () -> f.apply(x)[0].sum().backward()));
      f.refused = null;
      f.wrongCount = true;
      assertThrows(IllegalStateException.class, () -> f.apply(x)[0].sum().backward());
      f.wrongCount = false;
      // Changed in place between forward and backward.
      Tensor late = f.apply(x)[0].sum();
      try (NoGrad mode = new NoGrad()) {
        x.add_(1);
      }
      assertTrue(assertThrows(IllegalStateException.class, late::backward).getMessage().contains("version 1, expected 0"));
      // Not recorded: no history, and nothing is kept.
      try (NoGrad mode = new NoGrad()) {
        assertFalse(f.apply(x)[0].requiresGrad());
      }
      assertFalse(f.apply(floats(1))[0].requiresGrad());
      assertThrows(NullPointerException.class, () -> f.apply((Tensor) null));
    }
  }

  @Test
  void functionsOfSeveral() {
    try (TensorScope scope = new TensorScope()) {
      AutogradFunction f = new AutogradFunction() {
        @Override
        protected Tensor[] forward(Context context, Tensor... in) {
          return new Tensor[] {in[0].add(in[1]), in[0].sub(in[1])};
        }

        @Override
        protected Tensor[] backward(Context context, Tensor... g) {
          assertNull(g[1]);
          return new Tensor[] {g[0], null};
        }
      };
      Tensor a = floats(1, 2).setRequiresGrad(true);
      Tensor b = floats(3, 4).setRequiresGrad(true);
      Tensor[] out = f.apply(a, b);
      assertEquals("AutogradFunctionBackward", out[1].gradFnName());
      out[0].sum().backward();
      assertArrayEquals(new float[] {1, 1}, a.grad().toFloatArray());
      assertNull(b.grad());
    }
  }

  @Test
  void datasets() {
    Set<String> threads = Collections.synchronizedSet(new HashSet<>());
    for (int workers = 0; workers < 4; workers++) {
      IOException broken = new IOException("no such image: 21");
      try (TensorScope scope = new TensorScope();
          Dataset base = Dataset.of(40, 2, i -> {
            threads.add(Thread.currentThread().getName() + Thread.currentThread().isDaemon());
            if (i == 21) {
              throw broken;
            }
            Tensor garbage = Tensor.ones(100).add(1);
            return new Tensor[] {Tensor.of(i), garbage.slice(0, 0, 1).mul(i)};
          });
          Dataset mapped = base.map(3, s -> new Tensor[] {s[1], s[0], s[0].add(1)});
          DataLoader loader = new DataLoader(mapped, new DataLoaderOptions().batchSize(8).numWorkers(workers))) {
        assertEquals(40, mapped.size());
        assertEquals(5, loader.batches());
        long seen = 0;
        for (int b = 0; b < 5; b++) {
          if (b == 2) {
            assertSame(broken, assertThrows(IOException.class, loader::next));
            continue;
          }
          Tensor[] batch = loader.next();
          assertEquals(3, batch.length);
          assertArrayEquals(new long[] {8, 1}, batch[0].shape());
          for (int i = 0; i < 8; i++) {
            assertEquals(b * 8 + i, batch[1].toLongArray()[i]);
            assertEquals(b * 8 + i + 1, batch[2].toLongArray()[i]);
            assertEquals(2f * (b * 8 + i), batch[0].toFloatArray()[i]);
            seen++;
          }
        }
        assertNull(loader.next());
        assertEquals(32, seen);
      }
    }
    // On the thread that asks, and on the library's, attached as daemons.
    assertTrue(threads.contains(Thread.currentThread().getName() + Thread.currentThread().isDaemon()));
    assertTrue(threads.contains("tensorrt-nativetrue"), threads.toString());
    assertEquals(2, threads.size(), threads.toString());
  }

  @Test
  void workersEnd() throws Exception {
    // Threads of the library that called into Java leave the virtual machine when they end.
    try (Dataset d = Dataset.of(100, 1, i -> new Tensor[] {Tensor.of(i)})) {
      for (int round = 0; round < 5; round++) {
        try (DataLoader loader = new DataLoader(d, new DataLoaderOptions().batchSize(1).numWorkers(4))) {
          loader.next()[0].close();
        }
      }
    }
    for (int i = 0; i < 100 && attached() > 0; i++) {
      Thread.sleep(10);
    }
    assertEquals(0, attached());
  }

  private static long attached() {
    return Thread.getAllStackTraces().keySet().stream().filter(t -> t.getName().equals("tensorrt-native")).count();
  }

  @Test
  void undeliveredExceptions() {
    // Errors of batches that nobody takes go with the loader.
    try (Dataset d = Dataset.of(100, 1, i -> {
      throw new IllegalStateException("never seen");
    }); DataLoader loader = new DataLoader(d, new DataLoaderOptions().batchSize(1).numWorkers(3).prefetchFactor(4))) {
      assertThrows(IllegalStateException.class, loader::next);
    }
  }

  @Test
  void badDatasets() {
    try (Dataset few = Dataset.of(3, 2, i -> new Tensor[] {Tensor.of(i)}); Dataset nulls = Dataset.of(3, 1, i -> new Tensor[1]);
        Dataset none = Dataset.of(3, 1, i -> null); Dataset second = Dataset.of(3, 2, i -> new Tensor[] {Tensor.of(i), null})) {
      assertTrue(assertThrows(IllegalStateException.class, () -> few.get(0)).getMessage().contains("2 tensors, got 1"));
      assertThrows(NullPointerException.class, () -> nulls.get(0));
      assertThrows(IllegalStateException.class, () -> none.get(0));
      assertThrows(NullPointerException.class, () -> second.get(0));
      assertThrows(TensorException.OutOfRange.class, () -> few.get(3));
      assertThrows(NullPointerException.class, () -> Dataset.of(3, 1, (Dataset.Source) null));
      assertThrows(TensorException.InvalidArgument.class, () -> Dataset.of(-1, 1, i -> null));
    }
  }

  private static final class Affine extends Module {
    final Tensor weight = registerParameter("weight", Tensor.full(new long[] {2}, 3.0));
    final Module inner = registerChild("inner", Layers.relu());
    RuntimeException refused;
    boolean nothing;

    Affine() {
      super("Affine");
    }

    @Override
    protected Tensor compute(Tensor x) {
      if (refused != null) {
        throw refused;
      }
      return nothing ? null : inner.forward(x.mul(weight));
    }
  }

  @Test
  void modules() {
    try (TensorScope scope = new TensorScope()) {
      Affine own = new Affine();
      Module net = Module.sequential(own, Layers.flatten(0, -1));
      assertArrayEquals(new float[] {3, 0}, net.forward(floats(1, -1)).toFloatArray());
      assertEquals("Affine", own.typeName());
      assertEquals(List.of("0.weight"), net.namedParameters().names());
      assertSame(own, net.submodule("0"));
      Tensor loss = net.forward(floats(1, 2)).sum();
      loss.backward();
      assertArrayEquals(new float[] {1, 2}, own.weight.grad().toFloatArray());
      List<String> visited = new ArrayList<>();
      net.apply(m -> visited.add(m.typeName()));
      assertEquals(List.of("ReLU", "Affine", "Flatten", "Sequential"), visited);
      own.refused = new UnsupportedOperationException("closed on Sundays");
      assertSame(own.refused, assertThrows(UnsupportedOperationException.class, () -> net.forward(floats(1, 2))));
      own.refused = null;
      own.nothing = true;
      assertThrows(NullPointerException.class, () -> net.forward(floats(1, 2)));
      own.nothing = false;
      // Errors tell where they happened.
      Module inner = Module.sequential(Layers.linear(2, 3), Layers.linear(4, 5));
      TensorException wrong = assertThrows(TensorException.InvalidArgument.class, () -> Module.sequential(Layers.relu(), inner).forward(floats(1, 2)));
      assertTrue(wrong.getMessage().contains("linear: ") && wrong.getMessage().endsWith(" (in module '1.1', Linear)"), wrong.getMessage());
      wrong = assertThrows(TensorException.InvalidArgument.class, () -> Module.sequential(inner, own).forward(floats(1, 2, 3)));
      assertTrue(wrong.getMessage().endsWith(" (in module '0.0', Linear)"), wrong.getMessage());
      wrong = assertThrows(TensorException.InvalidArgument.class, () -> Module.sequential(Module.sequential(own)).forward(floats(1, 2, 3)));
      assertTrue(wrong.getMessage().contains("mul: ") && wrong.getMessage().endsWith(" (in module '0.0', Affine)"), wrong.getMessage());
      wrong = assertThrows(TensorException.InvalidArgument.class, () -> own.registerChild("encoder", null));
      assertTrue(wrong.getMessage().contains("the child 'encoder' for Affine is NULL (an empty module)"), wrong.getMessage());
      // The module that uses it keeps the Java object alive.
      Module outer = Module.sequential(new Affine());
      for (int i = 0; i < 3; i++) {
        System.gc();
      }
      assertArrayEquals(new float[] {3, 6}, outer.forward(floats(1, 2)).toFloatArray());
      Module part = Module.sequential(outer).submodule("0");
      outer = null;
      for (int i = 0; i < 3; i++) {
        System.gc();
      }
      assertArrayEquals(new float[] {3, 6}, part.forward(floats(1, 2)).toFloatArray());
      assertThrows(UnsupportedOperationException.class, () -> Layers.relu().compute(floats(1)));
    }
  }

  @Test
  void factors() {
    try (TensorScope scope = new TensorScope()) {
      Tensor p = Tensor.ones(2).setRequiresGrad(true);
      try (Optimizer o = Optimizer.sgd(new Tensor[] {p}, new SgdOptions().lr(8))) {
        RuntimeException tired = new RuntimeException("no factor");
        try (LRScheduler s = LRScheduler.lambdaLR(o, (epoch, group) -> {
          if (epoch == 2) {
            throw tired;
          }
          return 1.0 / (1 + epoch);
        })) {
          assertEquals(8, o.getLr(0));
          s.step();
          assertEquals(4, o.getLr(0));
          assertSame(tired, assertThrows(RuntimeException.class, s::step));
          assertEquals(4, o.getLr(0));
        }
        assertSame(tired, assertThrows(RuntimeException.class, () -> LRScheduler.lambdaLR(o, (epoch, group) -> {
          throw tired;
        })));
      }
    }
  }

  @Test
  void moduleHooks() {
    try (TensorScope scope = new TensorScope(); Module inner = Layers.identity(); Module outer = Module.sequential(inner)) {
      Tensor x = floats(1, 2);
      List<String> seen = new ArrayList<>();
      Tensor[] given = new Tensor[1];
      final long before = inner.registerForwardPreHook((m, in) -> {
        seen.add(m.typeName() + Arrays.toString(in.toFloatArray()));
        given[0] = in;
        return in.add(1);
      });
      final long after = inner.registerForwardHook((m, in, out) -> {
        seen.add(Arrays.toString(in.toFloatArray()) + Arrays.toString(out.toFloatArray()));
        return out.mul(10);
      });
      long watching = inner.registerForwardHook((m, in, out) -> null);
      assertArrayEquals(new float[] {20, 30}, outer.forward(x).toFloatArray());
      assertEquals(List.of("Identity[1.0, 2.0]", "[2.0, 3.0][2.0, 3.0]"), seen);
      assertTrue(given[0].isClosed());
      inner.removeHook(before);
      assertArrayEquals(new float[] {10, 20}, inner.forward(x).toFloatArray());
      inner.removeHook(after);
      inner.removeHook(watching);
      assertThrows(TensorException.NotFound.class, () -> inner.removeHook(after));
      RuntimeException mine = new RuntimeException("no");
      outer.registerForwardPreHook((m, in) -> {
        throw mine;
      });
      assertSame(mine, assertThrows(RuntimeException.class, () -> outer.forward(x)));
      assertThrows(NullPointerException.class, () -> outer.registerForwardHook(null));

      // A module of one's own arrives as itself.
      final class Own extends Module {
        Own() {
          super("Own");
        }

        @Override
        protected Tensor compute(Tensor in) {
          return in.neg();
        }
      }
      try (Own own = new Own(); Module all = Module.sequential(own)) {
        Module[] found = new Module[1];
        own.registerForwardHook((m, in, out) -> {
          found[0] = m;
          return null;
        });
        assertArrayEquals(new float[] {-1, -2}, all.forward(x).toFloatArray());
        assertSame(own, found[0]);
        assertFalse(own.isClosed());
        found[0] = null;
      }
    }
  }

  private static final class Exp extends AutogradFunction {
    @Override
    protected Tensor[] forward(Context context, Tensor... in) {
      Tensor y = in[0].exp();
      context.saveForBackward(y);
      return new Tensor[] {y};
    }

    @Override
    protected Tensor[] backward(Context context, Tensor... grads) {
      return new Tensor[] {grads[0].mul(context.savedTensors()[0])};
    }
  }

  /** An output that was saved takes part in the gradient of the gradient. */
  @Test
  void savedOutputs() {
    try (TensorScope scope = new TensorScope()) {
      Tensor x = floats(0).setRequiresGrad(true);
      Tensor y = new Exp().apply(x)[0];
      Tensor g = y.mul(y).sum();
      for (float expected : new float[] {2, 4, 8}) {
        g = Autograd.grad(new Tensor[] {g}, new Tensor[] {x}, null, true, true, false)[0];
        assertArrayEquals(new float[] {expected}, g.toFloatArray());
        g = g.sum();
      }
    }
  }

  /** A scope that a callback forgets is told, and ends with the callback: the thread's next tensors are not held by it. */
  @Test
  void scopesLeftOpen() {
    class Careless extends Module {
      Careless() {
        super("Careless");
      }

      @Override
      protected Tensor compute(Tensor in) {
        new TensorScope();
        return in.add(1);
      }
    }
    try (TensorScope scope = new TensorScope(); Module careless = new Careless()) {
      Tensor x = floats(1, 2).setRequiresGrad(true);
      Tensor y = x.mul(2);
      y.registerHook(g -> {
        new TensorScope();
        new TensorScope();
        return g.mul(2);
      });
      for (Executable e : new Executable[] {() -> careless.forward(x), () -> y.sum().backward()}) {
        assertTrue(assertThrows(IllegalStateException.class, e).getMessage().contains("still open"));
        assertSame(scope, ThreadState.current().scope);
      }
    }
  }

  /** A hook or module that calls itself ends in an error, not in the end of the process. */
  @Test
  void modulesWithoutEnd() throws Exception {
    class Own extends Module {
      Own() {
        super("Own");
      }

      @Override
      protected Tensor compute(Tensor in) {
        return forward(in);
      }
    }
    Throwable[] errors = new Throwable[2];
    Thread thread = new Thread(null, () -> {
      try (TensorScope scope = new TensorScope(); Module linear = Layers.linear(1, 1); Own own = new Own()) {
        linear.registerForwardHook((m, in, out) -> m.forward(in));
        Tensor x = floats(1);
        for (int i = 0; i < 2; i++) {
          try {
            (i == 0 ? linear : own).forward(x);
          } catch (Throwable e) {
            errors[i] = e;
          }
        }
      }
    }, "small", 1 << 20);
    thread.start();
    thread.join();
    for (Throwable e : errors) {
      assertTrue(e instanceof TensorException || e instanceof StackOverflowError, () -> String.valueOf(e));
    }
  }

  @Test
  void graphs() {
    try (TensorScope scope = new TensorScope()) {
      Tensor x = floats(1, 2).setRequiresGrad(true);
      Tensor y = floats(3, 4);
      assertNull(x.gradFn());
      try (GraphNode sum = x.mul(y).sum().gradFn()) {
        assertEquals("<SumBackward0>", sum.toString());
        GraphNode.Edge edge = sum.nextFunctions().get(0);
        try (GraphNode mul = edge.node()) {
          assertEquals("MulBackward0", mul.name());
          assertEquals(0, edge.input());
          assertNull(mul.variable());
          List<GraphNode.Edge> next = mul.nextFunctions();
          assertEquals(2, next.size());
          assertNull(next.get(1).node());
          try (GraphNode leaf = next.get(0).node(); GraphNode again = mul.nextFunctions().get(0).node()) {
            assertEquals("AccumulateGrad", leaf.name());
            assertEquals(again, leaf);
            assertEquals(again.hashCode(), leaf.hashCode());
            assertFalse(leaf.equals(mul));
            assertArrayEquals(new float[] {1, 2}, leaf.variable().toFloatArray());
            assertEquals(List.of(), leaf.nextFunctions());
          }
        }
      }
    }
  }

  @Test
  void cancelTokens() throws Exception {
    try (CancelToken token = new CancelToken(); TensorScope scope = new TensorScope()) {
      Tensor x = floats(1, 2).setRequiresGrad(true);
      Tensor loss = x.mul(2).sum();
      assertFalse(token.isCancelled());
      assertEquals(6, token.call(loss::itemDouble));
      token.cancel();
      token.cancel();
      assertTrue(token.isCancelled());
      TensorException.Cancelled error = assertThrows(TensorException.Cancelled.class, () -> token.run(() -> loss.backward()));
      assertEquals(ErrorCode.CANCELLED, error.code());
      assertNull(x.grad());
      // Only inside.
      assertEquals(6, loss.itemDouble());
      x.mul(2).sum().backward();

      // What a task throws comes out as it is, checked exceptions that the compiler did not see included.
      Exception own = new Exception("own");
      assertSame(own, assertThrows(Exception.class, () -> token.run(() -> CallbackTest.<RuntimeException>hurl(own))));
      assertSame(own, assertThrows(Exception.class, () -> token.call(() -> { throw own; })));
      loss.itemDouble();

      // In another thread, in the middle of a training loop.
      CancelToken other = new CancelToken();
      Throwable[] thrown = new Throwable[1];
      CountDownLatch begun = new CountDownLatch(3);
      Thread thread = new Thread(() -> {
        try {
          other.run(() -> train(begun));
        } catch (Throwable e) {
          thrown[0] = e;
        }
      });
      thread.start();
      begun.await();
      other.cancel();
      thread.join(20_000);
      other.close();
      assertTrue(thrown[0] instanceof TensorException.Cancelled, String.valueOf(thrown[0]));
      assertThrows(IllegalStateException.class, other::cancel);
    }
  }

  @SuppressWarnings("unchecked")
  private static <E extends Exception> void hurl(Exception e) throws E {
    throw (E) e;
  }

  private static void train(CountDownLatch begun) {
    for (;;) {
      try (TensorScope scope = new TensorScope()) {
        floats(1, 2).setRequiresGrad(true).mul(2).sum().backward();
        begun.countDown();
      }
    }
  }

  @Test
  void interrupts() throws Exception {
    CountDownLatch begun = new CountDownLatch(3);
    Throwable[] thrown = new Throwable[1];
    boolean[] mark = new boolean[1];
    Thread thread = new Thread(() -> {
      try {
        CancelToken.interruptible(() -> {
          train(begun);
          return null;
        });
      } catch (Throwable e) {
        thrown[0] = e;
        mark[0] = Thread.currentThread().isInterrupted();
      }
    });
    thread.start();
    begun.await();
    thread.interrupt();
    thread.join(20_000);
    assertTrue(thrown[0] instanceof InterruptedException, String.valueOf(thrown[0]));
    assertTrue(thrown[0].getCause() instanceof TensorException.Cancelled);
    assertFalse(mark[0]);
    // A thread that is marked already, and one that waits for a batch that does not come.
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> CancelToken.interruptible(() -> floats(1).add(1)));
    assertFalse(Thread.currentThread().isInterrupted());
    assertEquals(3.0, CancelToken.interruptible(() -> {
      try (TensorScope scope = new TensorScope()) {
        return floats(1, 2).sum().itemDouble();
      }
    }));
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    try (Dataset d = Dataset.of(4, 1, i -> {
      asked.countDown();
      go.await();
      return new Tensor[] {Tensor.of(i)};
    }); DataLoader loader = new DataLoader(d, new DataLoaderOptions().numWorkers(1))) {
      Thread waiting = new Thread(() -> {
        try {
          CancelToken.interruptible(loader::next);
        } catch (Throwable e) {
          thrown[0] = e;
        }
      });
      thrown[0] = null;
      waiting.start();
      asked.await();
      waiting.interrupt();
      waiting.join(20_000);
      assertTrue(thrown[0] instanceof InterruptedException, String.valueOf(thrown[0]));
      go.countDown();
      try (TensorScope scope = new TensorScope()) {
        assertEquals(0, loader.next()[0].itemLong());
      }
    }
  }

  @Test
  void logs() {
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    Log.setCallback((level, message) -> lines.add(level + " " + message));
    Log.setLevel(Log.Level.DEBUG);
    try {
      Callbacks.log((Log.Callback) (level, message) -> lines.add(level + " " + message), 2, "line");
    } finally {
      Log.setLevel(Log.Level.WARNING);
      Log.setCallback((level, message) -> {
        throw new IllegalStateException("dropped");
      });
      Log.setCallback(null);
    }
    assertEquals(List.of("WARNING line"), lines);
  }
}
