import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.JsonWriter;
import com.google.gson.stream.MalformedJsonException;
import com.sun.net.httpserver.HttpExchange;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.libtensorrt.TensorException;

/** Answers POST /embed, GET /healthz and GET /metrics. */
final class Server {
  /**
   * What clients may ask for.
   *
   * @param body bytes of a request
   * @param inputs texts of a request
   * @param requests requests at a time
   * @param bodies bytes of all requests at a time
   */
  record Limits(int body, int inputs, int requests, long bodies) {}

  /** An error with the status that it is answered with. */
  private static final class Failure extends Exception {
    private static final long serialVersionUID = 1;
    private final int status;

    Failure(int status, String text) {
      super(text);
      this.status = status;
    }
  }

  private final Tokenizer tokenizer;
  private final Batcher batcher;
  private final Metrics metrics;
  private final Limits limits;
  private final AtomicInteger inFlight = new AtomicInteger(); // of POST /embed
  private final AtomicInteger exchanges = new AtomicInteger(); // of all
  private final AtomicLong bodies = new AtomicLong(); // bytes of requests that are being answered
  private volatile boolean draining;

  Server(Tokenizer tokenizer, Batcher batcher, Metrics metrics, Limits limits) {
    this.tokenizer = tokenizer;
    this.batcher = batcher;
    this.metrics = metrics;
    this.limits = limits;
  }

  /** Makes /healthz tell that no requests should be sent any more. They are still answered. */
  void drain() {
    draining = true;
  }

  /** Requests of all kinds that have begun and are not answered. */
  int open() {
    return exchanges.get();
  }

  void handle(HttpExchange exchange) throws IOException {
    exchanges.incrementAndGet();
    try (exchange) {
      switch (exchange.getRequestURI().getPath()) {
        case "/embed" -> embed(exchange);
        case "/healthz" -> reply(exchange, draining ? 503 : 200, "application/json", utf8("{\"status\": \"" + (draining ? "stopping" : "ok") + "\"}\n"));
        case "/metrics" -> reply(exchange, 200, "text/plain; version=0.0.4; charset=utf-8", utf8(metrics.text(batcher.waiting(), inFlight.get())));
        default -> reply(exchange, 404, "application/json", error("no such path"));
      }
    } finally {
      exchanges.decrementAndGet();
    }
  }

  private void embed(HttpExchange exchange) throws IOException {
    long began = System.nanoTime();
    int status = 200;
    byte[] body;
    try {
      body = encode(vectors(exchange));
    } catch (Failure e) {
      status = e.status;
      body = error(e.getMessage());
    } catch (Batcher.Busy | TensorException.OutOfMemory e) {
      status = 503;
      body = error(e.getMessage());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      status = 503;
      body = error("the service stops");
    } catch (OutOfMemoryError e) {
      status = 503;
      body = error("too little memory for the request");
    } catch (RuntimeException e) {
      status = 500;
      body = error(String.valueOf(e.getMessage()));
    }
    if (status == 503) {
      exchange.getResponseHeaders().set("Retry-After", "1");
    } else if (status == 405) {
      exchange.getResponseHeaders().set("Allow", "POST");
    }
    metrics.request(status, System.nanoTime() - began);
    reply(exchange, status, "application/json", body);
  }

  private static void reply(HttpExchange exchange, int status, String type, byte[] body) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", type);
    boolean head = exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(status, head ? -1 : body.length);
    if (!head) {
      exchange.getResponseBody().write(body);
    }
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static byte[] error(String text) {
    JsonObject o = new JsonObject();
    o.addProperty("error", text);
    return utf8(o + "\n");
  }

  private float[][] vectors(HttpExchange exchange) throws Failure, Batcher.Busy, InterruptedException {
    if (!exchange.getRequestMethod().equals("POST")) {
      throw new Failure(405, "POST is needed");
    }
    long reserved = 0;
    try {
      if (inFlight.incrementAndGet() > limits.requests) {
        throw new Batcher.Busy();
      }
      Failure tooLarge = new Failure(413, "a request may have " + limits.body + " bytes");
      long length = length(exchange);
      if (length > limits.body) {
        throw tooLarge;
      }
      reserved = length < 0 ? limits.body : length;
      if (bodies.addAndGet(reserved) > limits.bodies) {
        throw new Batcher.Busy();
      }
      byte[] data;
      try (InputStream in = exchange.getRequestBody()) {
        data = in.readNBytes(limits.body + 1);
        if (data.length > limits.body) {
          throw tooLarge;
        }
      } catch (IOException e) {
        throw new Failure(400, "reading the request: " + e.getMessage());
      }
      List<String> inputs = inputs(data);
      int[][] ids = new int[inputs.size()][];
      for (int i = 0; i < ids.length; i++) {
        ids[i] = tokenizer.encode(inputs.get(i));
      }
      return batcher.embed(ids);
    } finally {
      bodies.addAndGet(-reserved);
      inFlight.decrementAndGet();
    }
  }

  /** -1 when the request does not tell. */
  private static long length(HttpExchange exchange) throws Failure {
    String text = exchange.getRequestHeaders().getFirst("Content-Length");
    try {
      return text == null ? -1 : Long.parseLong(text.trim());
    } catch (NumberFormatException e) {
      throw new Failure(400, "Content-Length is " + text);
    }
  }

  /** Reads {"inputs": ["...", ...]}. */
  private List<String> inputs(byte[] data) throws Failure {
    List<String> inputs = null;
    try (JsonReader in = new JsonReader(new InputStreamReader(new ByteArrayInputStream(data), StandardCharsets.UTF_8))) {
      in.beginObject();
      while (in.hasNext()) {
        String key = in.nextName();
        if (!key.equals("inputs") || inputs != null) {
          throw needed("the key \"" + key + "\" is not");
        }
        inputs = new ArrayList<>();
        int count = 0;
        in.beginArray();
        while (in.hasNext()) {
          if (in.peek() != JsonToken.STRING) {
            throw needed("input " + count + " is " + in.peek());
          }
          String text = in.nextString();
          if (count++ < limits.inputs) {
            inputs.add(text);
          }
        }
        in.endArray();
        if (count > limits.inputs) {
          throw new Failure(413, "a request may have " + limits.inputs + " inputs, got " + count);
        }
      }
      in.endObject();
      if (in.peek() != JsonToken.END_DOCUMENT) {
        throw needed("something follows the object");
      }
    } catch (EOFException e) {
      throw needed("the text ends too early");
    } catch (MalformedJsonException | IllegalStateException | JsonParseException e) {
      throw needed(e.getMessage());
    } catch (IOException e) {
      throw new Failure(400, e.getMessage());
    }
    if (inputs == null) {
      throw needed("\"inputs\" is missing");
    }
    return inputs;
  }

  private static Failure needed(String text) {
    return new Failure(400, "{\"inputs\": [\"...\", ...]} is needed: " + text);
  }

  /** {"embeddings": [[...], ...]}, each number with as many digits as tell it from its neighbours. */
  private static byte[] encode(float[][] vectors) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream(64 + vectors.length * (vectors.length == 0 ? 0 : 13 * vectors[0].length));
    try (Writer text = new OutputStreamWriter(bytes, StandardCharsets.US_ASCII); JsonWriter out = new JsonWriter(text)) {
      out.beginObject().name("embeddings").beginArray();
      for (float[] v : vectors) {
        out.beginArray();
        for (float x : v) {
          out.value(x);
        }
        out.endArray();
      }
      out.endArray().endObject().flush();
      text.write('\n');
    }
    return bytes.toByteArray();
  }
}
