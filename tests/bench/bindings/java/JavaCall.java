import java.util.Locale;
import org.libtensorrt.Tensor;
import org.libtensorrt.TensorScope;

/** What the calls of call.c cost in Java: prints "name nanoseconds" for each, closed one by one, and those in a scope. */
public final class JavaCall {
  private static final int ROUNDS = 20;
  private static final int CALLS = 200_000;

  private JavaCall() {}

  private static double add(Tensor a, Tensor b) {
    long start = System.nanoTime();
    for (int i = 0; i < CALLS; i++) {
      a.add(b).close();
    }
    return (System.nanoTime() - start) / (double) CALLS;
  }

  private static double sum(Tensor a) {
    long start = System.nanoTime();
    for (int i = 0; i < CALLS; i++) {
      a.sum(0).close();
    }
    return (System.nanoTime() - start) / (double) CALLS;
  }

  private static double scoped(Tensor a, Tensor b) {
    long start = System.nanoTime();
    for (int i = 0; i < CALLS; i += 50) {
      try (TensorScope scope = new TensorScope()) {
        for (int k = 0; k < 50; k++) {
          a.add(b);
        }
      }
    }
    return (System.nanoTime() - start) / (double) CALLS;
  }

  public static void main(String[] args) {
    Tensor a = Tensor.of(new float[] {1, 2, 3, 4});
    Tensor b = Tensor.of(new float[] {1, 2, 3, 4});
    double add = 1e9;
    double sum = 1e9;
    double scoped = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
      add = Math.min(add, add(a, b));
      sum = Math.min(sum, sum(a));
      scoped = Math.min(scoped, scoped(a, b));
    }
    System.out.printf(Locale.ROOT, "add %.1f%nsum %.1f%nscoped %.1f%n", add, sum, scoped);
  }
}
