import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.libtensorrt.Tensor;
import org.libtensorrt.TensorException;
import org.libtensorrt.TensorRuntime;

/** The batcher of the embedding service, with an encoder that waits to be told how to answer. */
@Timeout(60)
final class BatcherTest {
  /** Gives a text's numbers as its vector. Each batch first takes an answer: how it is to end. */
  private static final class Fake implements Batcher.Encode {
    static final Throwable FINE = new Throwable();
    final BlockingQueue<Throwable> answers = new LinkedBlockingQueue<>();
    final BlockingQueue<Integer> begun = new LinkedBlockingQueue<>(); // texts of each batch
    final Set<Integer> seen = ConcurrentHashMap.newKeySet(); // first numbers

    @Override
    public float[][] vectors(int[][] texts) {
      begun.add(texts.length);
      Throwable answer;
      try {
        answer = answers.take();
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
      if (answer instanceof RuntimeException e) {
        throw e;
      }
      if (answer instanceof Error e) {
        throw e;
      }
      return plain(texts);
    }

    float[][] plain(int[][] texts) {
      float[][] vectors = new float[texts.length][];
      for (int i = 0; i < texts.length; i++) {
        seen.add(texts[i][0]);
        vectors[i] = new float[texts[i].length];
        for (int k = 0; k < texts[i].length; k++) {
          vectors[i][k] = texts[i][k];
        }
      }
      return vectors;
    }

    void release(int batches) {
      for (int i = 0; i < batches; i++) {
        answers.add(FINE);
      }
    }

    int next() throws InterruptedException {
      Integer n = begun.poll(20, TimeUnit.SECONDS);
      assertTrue(n != null, "no batch began");
      return n;
    }
  }

  private static final Batcher.Observer NOBODY = (texts, tokens) -> {};

  /** A text of so many tokens that begins with `first`. */
  private static int[] text(int first, int tokens) {
    int[] ids = new int[tokens];
    ids[0] = first;
    return ids;
  }

  /** A request on a thread of its own, which checks that each vector is that of its text. */
  private static CompletableFuture<Void> embed(Batcher b, int[]... texts) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    new Thread(() -> {
      try {
        float[][] vectors = b.embed(texts);
        assertEquals(texts.length, vectors.length);
        for (int i = 0; i < texts.length; i++) {
          assertEquals(texts[i].length, vectors[i].length);
          assertEquals(texts[i][0], vectors[i][0], "another text's vector");
        }
        done.complete(null);
      } catch (Throwable e) {
        done.completeExceptionally(e);
      }
    }).start();
    return done;
  }

  private static Throwable failure(CompletableFuture<Void> request) {
    return assertThrows(CompletionException.class, request::join).getCause();
  }

  private static void await(BooleanSupplier condition) throws InterruptedException {
    for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20); !condition.getAsBoolean(); Thread.sleep(1)) {
      assertTrue(System.nanoTime() < end, "waited in vain");
    }
  }

  @Test
  void joinsWhatWaits() throws Exception {
    Fake f = new Fake();
    List<String> batches = Collections.synchronizedList(new ArrayList<>());
    List<CompletableFuture<Void>> all = new ArrayList<>();
    try (Batcher b = new Batcher(1, 1000, 1000, f, (texts, tokens) -> batches.add(texts + " of " + tokens))) {
      all.add(embed(b, text(1, 2)));
      assertEquals(1, f.next());
      for (int i = 2; i < 12; i++) {
        all.add(embed(b, text(i, 2), text(i, 1)));
      }
      await(() -> b.waiting() == 20);
      f.release(2);
      assertEquals(20, f.next());
      all.forEach(CompletableFuture::join);
    }
    assertEquals(List.of("1 of 2", "20 of 30"), batches);
  }

  @Test
  void workersShare() throws Exception {
    Fake f = new Fake();
    try (Batcher b = new Batcher(2, 10_000, 100_000, f, NOBODY)) {
      int[][] texts = new int[20][];
      for (int i = 0; i < texts.length; i++) {
        texts[i] = text(i, 100);
      }
      CompletableFuture<Void> r = embed(b, texts);
      assertArrayEquals(new int[] {10, 10}, new int[] {f.next(), f.next()});
      f.release(2);
      r.join();
    }
  }

  @Test
  void limits() throws Exception {
    Fake f = new Fake();
    try (Batcher b = new Batcher(1, 10, 20, f, NOBODY)) {
      List<CompletableFuture<Void>> all = new ArrayList<>();
      all.add(embed(b, text(0, 5)));
      f.next();
      all.add(embed(b, text(1, 7), text(2, 7)));
      await(() -> b.waiting() == 2);
      assertThrows(Batcher.Busy.class, () -> b.embed(new int[][] {text(3, 7)}));
      all.add(embed(b, text(4, 6)));
      await(() -> b.waiting() == 3);
      f.release(1);
      for (int i = 0; i < 3; i++) {
        assertEquals(1, f.next());
        f.release(1);
      }
      all.get(2).join();
      // What does not fit into the empty queue is taken none the less.
      all.add(embed(b, text(5, 30)));
      f.next();
      f.release(1);
      all.forEach(CompletableFuture::join);
      assertEquals(0, b.embed(new int[0][]).length);
    }
  }

  @Test
  void closeAnswersWhatWasTaken() throws Exception {
    Fake f = new Fake();
    Batcher b = new Batcher(2, 10, 1000, f, NOBODY);
    List<CompletableFuture<Void>> all = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      all.add(embed(b, text(i, 9)));
    }
    f.next();
    f.next();
    await(() -> b.waiting() == 8); // two are in work, so all ten were taken
    f.release(10);
    b.close();
    all.forEach(CompletableFuture::join);
    assertThrows(Batcher.Busy.class, () -> b.embed(new int[][] {{1}}));
    b.close();
  }

  @Test
  void interruptGivesUp() throws Exception {
    Fake f = new Fake();
    try (Batcher b = new Batcher(1, 1000, 1000, f, NOBODY)) {
      CompletableFuture<Void> first = embed(b, text(1, 1));
      f.next();
      Throwable[] thrown = new Throwable[1];
      Thread gone = new Thread(() -> thrown[0] = assertThrows(InterruptedException.class, () -> b.embed(new int[][] {{2}, {3}})));
      gone.start();
      await(() -> b.waiting() == 2);
      gone.interrupt();
      gone.join();
      assertTrue(thrown[0] instanceof InterruptedException);
      CompletableFuture<Void> last = embed(b, text(4, 1));
      await(() -> b.waiting() == 3);
      f.release(2);
      first.join();
      last.join();
    }
    assertFalse(f.seen.contains(2) || f.seen.contains(3), "a request that was given up was computed");
  }

  @Test
  void errorsReachTheirRequests() throws Exception {
    Fake f = new Fake();
    try (Batcher b = new Batcher(1, 1000, 1000, f, NOBODY)) {
      for (Throwable broken : List.of(new IllegalStateException("broken"), new StackOverflowError())) {
        f.answers.add(broken);
        assertSame(broken, failure(embed(b, text(1, 1), text(2, 1))));
      }
      f.release(1);
      embed(b, text(3, 1)).join(); // the worker lives
    }
  }

  @Test
  void halvesWhatHasTooLittleMemory() throws Exception {
    Fake f = new Fake();
    TensorRuntime.setMemoryLimit(32 << 20);
    TensorException.OutOfMemory refused;
    try {
      refused = assertThrows(TensorException.OutOfMemory.class, () -> Tensor.zeros(1L << 30));
    } finally {
      TensorRuntime.setMemoryLimit(0);
    }
    List<Integer> batches = Collections.synchronizedList(new ArrayList<>());
    Batcher.Encode encode = texts -> {
      for (int[] t : texts) {
        if (texts.length > 2 || t[0] == 13) {
          throw refused;
        }
      }
      batches.add(texts.length);
      return f.plain(texts);
    };
    try (Batcher b = new Batcher(1, 1000, 1000, encode, NOBODY)) {
      embed(b, text(1, 1), text(2, 1), text(3, 1), text(4, 1), text(5, 1), text(6, 1), text(7, 1)).join();
      assertSame(refused, failure(embed(b, text(1, 1), text(13, 1), text(3, 1))));
      embed(b, text(1, 1), text(2, 1)).join();
    }
    assertTrue(batches.stream().allMatch(n -> n <= 2), batches.toString());
  }
}
