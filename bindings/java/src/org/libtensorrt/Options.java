package org.libtensorrt;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Function;

/** Changes to the defaults of a struct of options. */
abstract class Options<T> {
  private final List<Consumer<T>> changes = new ArrayList<>();
  Generator generator;

  void change(Consumer<T> c) {
    changes.add(c);
  }

  T make(T o) {
    changes.forEach(c -> c.accept(o));
    return o;
  }

  abstract void delete(T o);

  /** Sets the stream. */
  void use(T o, long stream) {}

  /** Calls with a struct that was made, and deletes it. */
  <R> R call(T o, Function<T, R> function) {
    try {
      NativeObject.enter(generator);
      try {
        use(o, NativeObject.pointer(generator));
        return function.apply(o);
      } finally {
        NativeObject.leave(generator);
      }
    } finally {
      delete(o);
    }
  }
}
