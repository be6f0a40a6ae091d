import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.Reader;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicBoolean;
import org.libtensorrt.TensorException;
import org.libtensorrt.TensorRuntime;

/** A service that gives sentences as vectors: the encoder all-MiniLM-L6-v2 behind the JDK's HTTP server. See README.md. */
public final class EmbeddingService {
  /** Threads for connections that have not sent their header, and for /healthz and /metrics when the service is full. */
  private static final int SPARE = 16;

  private static final String[][] OPTIONS = {
      {"model", "examples/embedding/model", "directory with config.json, model.safetensors and vocab.txt"},
      {"listen", "127.0.0.1:8080", "address; port 0 takes a free one"},
      {"workers", "1", "batches that are computed at a time"},
      {"threads", Integer.toString(Runtime.getRuntime().availableProcessors()), "threads that compute one batch"},
      {"max-tokens", "256", "tokens at which a text is cut off"},
      {"batch-tokens", "1024", "tokens in a batch of more than one text"},
      {"queue-tokens", "32768", "tokens that may wait; requests beyond are answered by 503"},
      {"memory-limit", "256", "MiB that tensors may take; what does not fit is answered by 503"},
      {"max-body", "1048576", "bytes of a request"},
      {"max-inputs", "256", "texts of a request"},
      {"max-requests", "128", "requests that are answered at a time; those beyond get 503"},
      {"drain", "0", "seconds from SIGTERM, during which /healthz fails, until connections are refused"},
      {"grace", "20", "seconds that requests have to end after that"},
  };

  private EmbeddingService() {}

  /** What is wrong with how the program was called, or with its files. */
  private static final class BadStart extends Exception {
    private static final long serialVersionUID = 1;

    BadStart(String text) {
      super(text);
    }
  }

  private static Map<String, String> parse(String[] args) throws BadStart {
    Map<String, String> values = new LinkedHashMap<>();
    for (String[] o : OPTIONS) {
      values.put(o[0], o[1]);
    }
    for (int i = 0; i < args.length; i++) {
      String name = args[i].replaceFirst("^--?", "");
      if (name.equals(args[i])) {
        throw new BadStart("unknown argument " + args[i] + "; see --help");
      }
      String value = null;
      if (name.contains("=")) {
        value = name.substring(name.indexOf('=') + 1);
        name = name.substring(0, name.indexOf('='));
      }
      if (!values.containsKey(name)) {
        throw new BadStart("unknown option --" + name + "; see --help");
      }
      if (value == null) {
        if (++i == args.length) {
          throw new BadStart("--" + name + " needs a value");
        }
        value = args[i];
      }
      values.put(name, value);
    }
    return values;
  }

  private static int size(Map<String, String> options, String name, int least) throws BadStart {
    try {
      int n = Integer.parseInt(options.get(name));
      if (n >= least) {
        return n;
      }
    } catch (NumberFormatException e) {
      // Told below.
    }
    throw new BadStart("--" + name + " must be a whole number of at least " + least + ", got " + options.get(name));
  }

  private static InetSocketAddress address(String text) throws BadStart {
    int colon = text.lastIndexOf(':');
    try {
      String host = text.substring(0, colon).replaceAll("[\\[\\]]", "");
      int port = Integer.parseInt(text.substring(colon + 1));
      InetSocketAddress a = host.isEmpty() ? new InetSocketAddress(port) : new InetSocketAddress(host, port);
      if (a.isUnresolved()) {
        throw new BadStart("--listen: unknown host in the address " + text);
      }
      return a;
    } catch (IllegalArgumentException | StringIndexOutOfBoundsException e) {
      throw new BadStart("--listen: HOST:PORT is needed as the address, got " + text);
    }
  }

  private static void serve(Map<String, String> o) throws BadStart, IOException {
    final int workers = size(o, "workers", 1);
    final int batchTokens = size(o, "batch-tokens", 1);
    final int queueTokens = size(o, "queue-tokens", 1);
    final int maxTokens = size(o, "max-tokens", 2);
    final int drain = size(o, "drain", 0);
    final int grace = size(o, "grace", 0);
    // What a body becomes (text, its parts, tokens) takes several times its size: a sixteenth of the heap for all bodies leaves room.
    final int body = size(o, "max-body", 1);
    final Server.Limits limits = new Server.Limits(body, size(o, "max-inputs", 1), size(o, "max-requests", 1), Math.max(body, Runtime.getRuntime().maxMemory() / 16));
    final InetSocketAddress address = address(o.get("listen"));
    TensorRuntime.setNumThreads(size(o, "threads", 1));
    TensorRuntime.setMemoryLimit((long) size(o, "memory-limit", 1) << 20);

    Path model = Path.of(o.get("model"));
    Tokenizer tokenizer;
    try (Reader vocabulary = Files.newBufferedReader(model.resolve("vocab.txt"))) {
      tokenizer = new Tokenizer(vocabulary, maxTokens);
    }
    Encoder encoder = new Encoder(model);
    if (maxTokens > encoder.maxTokens) {
      throw new BadStart("the model takes " + encoder.maxTokens + " tokens, --max-tokens says " + maxTokens);
    }
    HttpServer http = HttpServer.create(address, 0);
    Metrics metrics = new Metrics();
    AtomicBoolean warm = new AtomicBoolean();
    Batcher batcher = new Batcher(workers, batchTokens, queueTokens, encoder, (texts, tokens) -> {
      if (warm.get()) {
        metrics.batch(texts, tokens);
      }
    });
    warmUp(batcher, workers, batchTokens, maxTokens);
    warm.set(true);
    Server server = new Server(tokenizer, batcher, metrics, limits);
    ExecutorService threads = Executors.newFixedThreadPool(limits.requests() + SPARE);
    http.setExecutor(threads);
    http.createContext("/", server::handle);
    // SIGTERM and SIGINT end a JVM through its shutdown hooks.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(http, server, drain, grace)));
    http.start();
    say("listening on " + address.getAddress().getHostAddress() + ":" + http.getAddress().getPort());
  }

  /** A full batch for each worker: what requests will need is taken now, not with the first rush. With less memory than that, batches become smaller. */
  private static void warmUp(Batcher batcher, int workers, int batchTokens, int maxTokens) throws IOException {
    int perWorker = (batchTokens + maxTokens - 1) / maxTokens;
    int[][] texts = new int[workers * perWorker][];
    for (int i = 0; i < texts.length; i++) {
      texts[i] = new int[Math.min(maxTokens, batchTokens - i % perWorker * maxTokens)];
    }
    try {
      batcher.embed(texts);
    } catch (Batcher.Busy | InterruptedException e) {
      throw new IOException("the first batch was not computed", e);
    } catch (TensorException.OutOfMemory e) {
      // Requests are answered by 503 until the limit is higher.
    }
  }

  private static void stop(HttpServer http, Server server, int drain, int grace) {
    int status = 0;
    try {
      server.drain();
      Thread.sleep(1000L * drain);
      // Closes the listening socket at once, then waits for the time given: for nothing, when there is nothing to answer.
      Thread closing = new Thread(() -> http.stop(grace));
      closing.setDaemon(true);
      closing.start();
      long end = System.nanoTime() + 1_000_000_000L * grace;
      while (server.open() > 0 && System.nanoTime() - end < 0) {
        Thread.sleep(10);
      }
      if (server.open() > 0) {
        say("embedding-service: requests were cut off");
        status = 1;
      } else {
        say("stopped");
      }
    } catch (InterruptedException e) {
      status = 1;
    }
    // A JVM that a signal ended would give 128 and the signal's number.
    Runtime.getRuntime().halt(status);
  }

  private static void say(String line) {
    System.err.println(line);
    System.err.flush();
  }

  /**
   * Serves until SIGTERM.
   *
   * @param args see --help
   */
  public static void main(String[] args) {
    // Read by the server's classes when they are loaded: answers are not held back, and a request may take half a minute to arrive.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    System.setProperty("sun.net.httpserver.maxReqTime", "30");
    System.setProperty("sun.net.httpserver.idleInterval", "120");
    try {
      for (String a : args) {
        if (a.equals("--help") || a.equals("-h")) {
          System.out.println("embedding_service_java [OPTION VALUE]...");
          for (String[] o : OPTIONS) {
            System.out.printf("  --%-14s %s (%s)%n", o[0], o[2], o[1]);
          }
          return;
        }
      }
      serve(parse(args));
    } catch (BadStart | TensorException | IllegalArgumentException e) {
      say("embedding-service: " + e.getMessage());
      Runtime.getRuntime().halt(1);
    } catch (IOException e) {
      say("embedding-service: " + e);
      Runtime.getRuntime().halt(1);
    }
  }
}
