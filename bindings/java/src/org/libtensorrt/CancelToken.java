package org.libtensorrt;

import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.util.concurrent.Callable;

/**
 * Asks threads that compute to give up. A thread that {@link #run runs} something under a token gets a {@link TensorException.Cancelled}, once the token is
 * cancelled, at the next point where nothing is half done: before an operator, between the nodes of a backward pass (which has changed no gradient
 * then), while it waits for a batch (which comes next time).
 *
 * <pre>{@code
 * CancelToken token = new CancelToken();
 * Future<?> work = threads.submit(() -> token.run(() -> train(model)));
 * token.cancel();
 * }</pre>
 *
 * <p>{@link #interruptible} makes {@link Thread#interrupt} do the same. All methods from any thread.
 */
public final class CancelToken extends NativeObject {
  /** A token that is not cancelled. */
  public CancelToken() {
    super(Native.trt_cancel_token_create());
    watch();
  }

  @Override
  void releaseHandle() {
    Native.trt_cancel_token_release(pointer);
  }

  @Override
  int kind() {
    return HandleRef.CANCEL_TOKEN;
  }

  /** Cancels, for ever. */
  public void cancel() {
    enter();
    try {
      Native.trt_cancel_token_cancel(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Whether the token was cancelled.
   *
   * @return true after {@link #cancel()}
   */
  public boolean isCancelled() {
    enter();
    try {
      return Native.trt_cancel_token_is_cancelled(pointer);
    } finally {
      leave();
    }
  }

  /**
   * Runs a task on this thread under the token, instead of under one around it.
   *
   * @param task what to run
   * @param <T> what it gives
   * @return its result
   * @throws TensorException.Cancelled when a call of the library was cancelled
   * @throws Exception what the task throws
   */
  public <T> T call(Callable<T> task) throws Exception {
    enter();
    try {
      long before = Native.trt_cancel_token_set_current(pointer);
      try {
        return task.call();
      } finally {
        Native.trt_cancel_token_set_current(before);
      }
    } finally {
      leave();
    }
  }

  /**
   * Runs a task on this thread under the token, as {@link #call}.
   *
   * @param task what to run
   */
  public void run(Runnable task) {
    enter();
    try {
      long before = Native.trt_cancel_token_set_current(pointer);
      try {
        task.run();
      } finally {
        Native.trt_cancel_token_set_current(before);
      }
    } finally {
      leave();
    }
  }

  /**
   * Runs a task on this thread so that {@link Thread#interrupt} cancels what the library computes. A task that itself waits
   * for channels should not be run so: the last one who waits is the one that an interrupt finds.
   *
   * @param task what to run
   * @param <T> what it gives
   * @return its result
   * @throws InterruptedException when a call of the library was cancelled by an interrupt; the thread's mark is cleared then, as usual
   * @throws Exception what the task throws
   */
  public static <T> T interruptible(Callable<T> task) throws Exception {
    try (CancelToken token = new CancelToken()) {
      Interrupts interrupts = new Interrupts(token);
      interrupts.start();
      try {
        return token.call(task);
      } catch (TensorException.Cancelled e) {
        if (!token.isCancelled()) {
          throw e;
        }
        Thread.interrupted();
        InterruptedException interrupted = new InterruptedException(e.getMessage());
        interrupted.initCause(e);
        throw interrupted;
      } finally {
        interrupts.stop();
      }
    }
  }

  /** Is told of interrupts: the virtual machine closes a channel whose thread is interrupted while it waits for it. */
  private static final class Interrupts extends AbstractInterruptibleChannel {
    private final CancelToken token;

    Interrupts(CancelToken token) {
      this.token = token;
    }

    void start() {
      begin();
    }

    void stop() {
      try {
        end(true);
      } catch (java.nio.channels.AsynchronousCloseException e) {
        // The interrupt was told by the library's error, or came when all was done: the thread's mark says so.
      }
    }

    @Override
    protected void implCloseChannel() {
      token.cancel();
    }
  }
}
