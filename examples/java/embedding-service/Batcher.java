import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.libtensorrt.TensorException;

/**
 * Joins the texts of requests that wait into batches. A worker that is free takes what waits at once, or its share of it where there are several: no
 * text is delayed for the sake of a larger batch, and batches grow with the load.
 */
final class Batcher implements AutoCloseable {
  /** The answer to a request that does not fit into the queue, or comes after close. */
  static final class Busy extends Exception {
    private static final long serialVersionUID = 1;

    Busy() {
      super("too much is waiting");
    }
  }

  /** Gives the vectors of texts, each given as its tokens' numbers. */
  interface Encode {
    float[][] vectors(int[][] texts);
  }

  /** Is told of each batch. */
  interface Observer {
    void batch(int texts, int tokens);
  }

  /** A text of a request. */
  private record Text(int[] ids, Request of, int index) {}

  private static final class Request {
    final float[][] vectors;
    final CountDownLatch done = new CountDownLatch(1);
    int open; // texts without a vector
    Throwable error;

    Request(int texts) {
      vectors = new float[texts][];
      open = texts;
    }

    /** Ends the request; its texts that still wait are passed over. Under the lock. */
    void fail(Throwable e) {
      if (open > 0 && error == null) {
        error = e;
        done.countDown();
      }
    }
  }

  private final Encode encode;
  private final Observer observer;
  private final int batchTokens;
  private final int queueTokens;
  private final List<Thread> workers = new ArrayList<>();
  // Held for reading by each batch, and for writing by one that had too little memory and is tried again alone.
  private final ReadWriteLock alone = new ReentrantReadWriteLock();

  // Under the lock of this object.
  private final Deque<Text> queue = new ArrayDeque<>();
  private int waiting; // tokens in queue
  private int computing; // tokens in the workers' batches
  private boolean closed;

  /**
   * Starts the workers. A batch has at most batchTokens tokens, or one text; at most queueTokens tokens wait, or one request.
   */
  Batcher(int workers, int batchTokens, int queueTokens, Encode encode, Observer observer) {
    this.encode = encode;
    this.observer = observer;
    this.batchTokens = batchTokens;
    this.queueTokens = queueTokens;
    for (int i = 0; i < workers; i++) {
      this.workers.add(new Thread(this::work, "encoder-" + i));
    }
    this.workers.forEach(Thread::start);
  }

  /** Refuses new requests and returns when those that were taken are answered. */
  @Override
  public void close() {
    synchronized (this) {
      closed = true;
      notifyAll();
    }
    boolean interrupted = false;
    for (Thread t : workers) {
      while (t.isAlive()) {
        try {
          t.join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** The number of texts in the queue. */
  synchronized int waiting() {
    return queue.size();
  }

  /**
   * The vectors of texts, each given as its tokens' numbers.
   *
   * @throws Busy when too much waits
   * @throws InterruptedException when the thread is interrupted; what waits of the request is not computed then
   */
  float[][] embed(int[][] texts) throws Busy, InterruptedException {
    if (texts.length == 0) {
      return new float[0][];
    }
    Request r = new Request(texts.length);
    int tokens = 0;
    for (int[] ids : texts) {
      tokens += ids.length;
    }
    synchronized (this) {
      if (closed || waiting > 0 && waiting + tokens > queueTokens) {
        throw new Busy();
      }
      for (int i = 0; i < texts.length; i++) {
        queue.add(new Text(texts[i], r, i));
      }
      waiting += tokens;
      notify();
    }
    try {
      r.done.await();
    } catch (InterruptedException e) {
      synchronized (this) {
        r.fail(e);
      }
      throw e;
    }
    if (r.error instanceof RuntimeException e) {
      throw e;
    }
    if (r.error instanceof Error e) {
      throw e;
    }
    return r.vectors;
  }

  private void work() {
    for (;;) {
      List<Text> batch = take();
      if (batch == null) {
        return;
      }
      int tokens = tokens(batch);
      try {
        run(batch);
      } finally {
        synchronized (this) {
          computing -= tokens;
        }
      }
    }
  }

  private static int tokens(List<Text> batch) {
    int n = 0;
    for (Text t : batch) {
      n += t.ids.length;
    }
    return n;
  }

  /** Waits for a batch; null when there will be none. */
  private synchronized List<Text> take() {
    List<Text> batch = new ArrayList<>();
    int tokens = 0;
    while (batch.isEmpty()) {
      while (queue.isEmpty()) {
        if (closed) {
          return null;
        }
        try {
          wait();
        } catch (InterruptedException e) {
          // Nobody interrupts a worker; close ends it.
        }
      }
      // An equal share for each worker of all that is in work or waits.
      int limit = Math.min(batchTokens, (waiting + computing + workers.size() - 1) / workers.size());
      while (!queue.isEmpty()) {
        Text t = queue.peek();
        if (t.of.error == null) {
          if (!batch.isEmpty() && tokens + t.ids.length > limit) {
            break;
          }
          batch.add(t);
          tokens += t.ids.length;
        }
        waiting -= t.ids.length;
        queue.remove();
      }
    }
    computing += tokens;
    if (!queue.isEmpty()) {
      notify();
    }
    return batch;
  }

  private void run(List<Text> batch) {
    float[][] vectors = null;
    Throwable error = null;
    Lock shared = alone.readLock();
    shared.lock();
    try {
      vectors = vectors(batch);
    } catch (TensorException.OutOfMemory e) {
      error = e;
    } catch (RuntimeException | Error e) {
      finish(batch, null, e);
      return;
    } finally {
      shared.unlock();
    }
    if (error == null) {
      finish(batch, vectors, null);
      return;
    }
    // Other batches may have the memory, or this one is too large.
    alone.writeLock().lock();
    try {
      runAlone(batch);
    } finally {
      alone.writeLock().unlock();
    }
  }

  /** Halves a batch for which the memory does not suffice. */
  private void runAlone(List<Text> batch) {
    try {
      finish(batch, vectors(batch), null);
    } catch (TensorException.OutOfMemory e) {
      if (batch.size() == 1) {
        finish(batch, null, e);
        return;
      }
      runAlone(batch.subList(0, batch.size() / 2));
      runAlone(batch.subList(batch.size() / 2, batch.size()));
    } catch (RuntimeException | Error e) {
      finish(batch, null, e);
    }
  }

  private float[][] vectors(List<Text> batch) {
    int[][] ids = new int[batch.size()][];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = batch.get(i).ids;
    }
    float[][] vectors = encode.vectors(ids);
    observer.batch(batch.size(), tokens(batch));
    return vectors;
  }

  private synchronized void finish(List<Text> batch, float[][] vectors, Throwable error) {
    for (int i = 0; i < batch.size(); i++) {
      Request r = batch.get(i).of;
      if (error != null) {
        r.fail(error);
        continue;
      }
      r.vectors[batch.get(i).index] = vectors[i];
      if (--r.open == 0 && r.error == null) {
        r.done.countDown();
      }
    }
  }
}
