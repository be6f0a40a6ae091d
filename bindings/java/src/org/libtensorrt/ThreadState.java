package org.libtensorrt;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * What a thread keeps: its innermost scope and modes, and a table that keeps the HandleRefs of its objects alive. Only its thread writes the table, so
 * watching an object takes no lock; a closed HandleRef gives its place to the next one. The table of a thread that ended goes, with what is
 * in it, to the next new thread.
 */
final class ThreadState {
  private static final int SMALLEST = 64;
  private static final int NEAR = 4;
  private static final int LOOKED_AT = 8;
  private static final List<ThreadState> ALL = new ArrayList<>();
  private static int hand; // the place in ALL that was looked at last
  private static final ThreadLocal<ThreadState> CURRENT = ThreadLocal.withInitial(ThreadState::create);

  TensorScope scope;
  /** The innermost modes that are on. */
  NoGrad.Mode gradMode;
  NoGrad.Mode inferenceMode;
  /** Handles that this thread received and gave back: each counted by one thread only. */
  long made;
  long released;

  private WeakReference<Thread> thread;
  private HandleRef[] places = new HandleRef[SMALLEST];
  private int next;
  private int taken; // places that were found taken since the last round

  static ThreadState current() {
    return CURRENT.get();
  }

  private static ThreadState create() {
    synchronized (ALL) {
      // A few at a time: with many threads alive a new one must not look at all of them.
      for (int i = 0; i < LOOKED_AT && i < ALL.size(); i++) {
        hand = (hand + 1) % ALL.size();
        ThreadState s = ALL.get(hand);
        Thread t = s.thread.get();
        if (t == null || !t.isAlive()) {
          s.thread = new WeakReference<>(Thread.currentThread());
          s.gradMode = null;
          s.inferenceMode = null;
          if (s.scope != null) {
            s.scope.abandon(s);
          }
          return s;
        }
      }
      ThreadState s = new ThreadState();
      s.thread = new WeakReference<>(Thread.currentThread());
      ALL.add(s);
      return s;
    }
  }

  /** Handles that Java holds. Exact when no other thread works meanwhile. */
  static long alive() {
    long n = 0;
    synchronized (ALL) {
      for (ThreadState s : ALL) {
        n += s.made - s.released;
      }
    }
    return n;
  }

  void watch(HandleRef ref) {
    HandleRef.drain(4);
    HandleRef[] table = places;
    // Places just behind are the likeliest to be free again, and taking them keeps few closed HandleRefs alive.
    int end = next;
    for (int i = Math.max(0, end - NEAR); i < end; i++) {
      if (table[i].closed) {
        table[i] = ref;
        return;
      }
    }
    int i = end;
    for (;;) {
      if (i == table.length) {
        i = resize();
        table = places;
      }
      HandleRef there = table[i];
      if (there == null || there.closed) {
        table[i] = ref;
        next = i + 1;
        return;
      }
      taken++;
      i++;
    }
  }

  /** After each round: twice as large when most places were taken, as small as fits when few are. Returns where to go on. */
  private int resize() {
    HandleRef[] old = places;
    int size = old.length;
    boolean grow = taken > size / 2;
    taken = 0;
    if (grow) {
      places = Arrays.copyOf(old, size * 2);
      return size;
    }
    int open = 0;
    for (HandleRef r : old) {
      if (r != null && !r.closed) {
        open++;
      }
    }
    if (size > SMALLEST && open < size / 8) {
      int smaller = Math.max(SMALLEST, Integer.highestOneBit(open) * 4);
      HandleRef[] kept = new HandleRef[smaller];
      int n = 0;
      for (HandleRef r : old) {
        if (r != null && !r.closed) {
          kept[n++] = r; // others can only close theirs meanwhile
        }
      }
      places = kept;
      return n;
    }
    return 0;
  }
}
