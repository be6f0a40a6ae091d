import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.libtensorrt.TensorRuntime;

/** Counts what the service does. It may be used from any thread. */
final class Metrics implements Batcher.Observer {
  private static final class Histogram {
    private final double[] bounds;
    private final long[] counts; // one more than bounds
    private double sum;

    Histogram(double... bounds) {
      this.bounds = bounds;
      counts = new long[bounds.length + 1];
    }

    void add(double v) {
      int i = 0;
      while (i < bounds.length && v > bounds[i]) {
        i++;
      }
      counts[i]++;
      sum += v;
    }

    void write(StringBuilder out, String name, String help) {
      head(out, "histogram", name, help);
      long n = 0;
      for (int i = 0; i < bounds.length; i++) {
        n += counts[i];
        out.append(name).append("_bucket{le=\"").append(number(bounds[i])).append("\"} ").append(n).append('\n');
      }
      n += counts[bounds.length];
      out.append(name).append("_bucket{le=\"+Inf\"} ").append(n).append('\n').append(name).append("_sum ").append(number(sum)).append('\n').append(name)
          .append("_count ").append(n).append('\n');
    }
  }

  private final Map<Integer, Long> requests = new TreeMap<>(); // by status
  private final Histogram seconds = new Histogram(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10);
  private final Histogram texts = new Histogram(1, 2, 4, 8, 16, 32, 64, 128, 256); // of a batch
  private final Histogram tokens = new Histogram(16, 32, 64, 128, 256, 512, 1024, 2048, 4096);

  /** Counts an answer to POST /embed. */
  synchronized void request(int status, long nanoseconds) {
    requests.merge(status, 1L, Long::sum);
    seconds.add(nanoseconds * 1e-9);
  }

  @Override
  public synchronized void batch(int batchTexts, int batchTokens) {
    texts.add(batchTexts);
    tokens.add(batchTokens);
  }

  /** All in Prometheus' text format. */
  String text(int waiting, int inFlight) {
    StringBuilder out = new StringBuilder();
    synchronized (this) {
      head(out, "counter", "embedding_requests_total", "Answers to POST /embed.");
      requests.forEach((code, n) -> out.append("embedding_requests_total{code=\"").append(code).append("\"} ").append(n).append('\n'));
      seconds.write(out, "embedding_request_seconds", "Time from the request's header to its answer.");
      texts.write(out, "embedding_batch_texts", "Texts in a batch.");
      tokens.write(out, "embedding_batch_tokens", "Tokens in a batch.");
    }
    value(out, "gauge", "embedding_waiting_texts", "Texts that wait for a worker.", waiting);
    value(out, "gauge", "embedding_requests_in_flight", "Requests that are being answered.", inFlight);
    TensorRuntime.MemoryStats s = TensorRuntime.memoryStats();
    value(out, "gauge", "tensorrt_memory_allocated_bytes", "Held by tensors.", s.allocatedCurrent());
    value(out, "gauge", "tensorrt_memory_reserved_bytes", "Taken from the system for tensors, cached blocks included.", s.reservedCurrent());
    value(out, "gauge", "tensorrt_memory_reserved_peak_bytes", "The most that was reserved.", s.reservedPeak());
    value(out, "gauge", "tensorrt_memory_limit_bytes", "What may be reserved.", s.limit());
    value(out, "counter", "tensorrt_memory_refused_total", "Allocations that the limit or the system refused.", s.outOfMemoryCount());
    long resident = residentBytes();
    if (resident >= 0) {
      value(out, "gauge", "process_resident_memory_bytes", "Resident memory of the process, the mapped model included.", resident);
    }
    return out.toString();
  }

  private static void head(StringBuilder out, String kind, String name, String help) {
    out.append("# HELP ").append(name).append(' ').append(help).append("\n# TYPE ").append(name).append(' ').append(kind).append('\n');
  }

  private static void value(StringBuilder out, String kind, String name, String help, long v) {
    head(out, kind, name, help);
    out.append(name).append(' ').append(v).append('\n');
  }

  private static String number(double v) {
    return v == Math.rint(v) && Math.abs(v) < 1e15 ? Long.toString((long) v) : Double.toString(v);
  }

  /** -1 where the system does not say. */
  private static long residentBytes() {
    try {
      for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
        if (line.startsWith("VmRSS:")) {
          return 1024 * Long.parseLong(line.replaceAll("[^0-9]", ""));
        }
      }
    } catch (IOException e) {
      // Not Linux.
    }
    return -1;
  }
}
