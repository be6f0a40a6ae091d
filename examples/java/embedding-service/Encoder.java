import com.google.gson.Gson;
import com.google.gson.JsonParseException;
import com.google.gson.annotations.SerializedName;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.libtensorrt.DType;
import org.libtensorrt.InferenceMode;
import org.libtensorrt.NoGrad;
import org.libtensorrt.Safetensors;
import org.libtensorrt.Tensor;
import org.libtensorrt.TensorScope;

/**
 * BERT's encoder (Devlin et al., 2019) with the mean over the tokens as a text's vector, scaled to length 1. {@link #vectors} may be called from any
 * number of threads.
 */
final class Encoder implements Batcher.Encode {
  /** A weight and a bias. */
  private record Affine(Tensor weight, Tensor bias) {}

  /** qkv: queries (scaled), keys and values of one product. */
  private record Layer(Affine qkv, Affine attention, Affine attentionNorm, Affine up, Affine down, Affine norm) {}

  /** Where a text's tokens are. */
  private record Span(int row, int tokens) {}

  private static final class Config {
    @SerializedName("hidden_act") String activation = "";
    @SerializedName("hidden_size") int width;
    @SerializedName("layer_norm_eps") double eps;
    @SerializedName("max_position_embeddings") int positions;
    @SerializedName("model_type") String type = "";
    @SerializedName("num_attention_heads") int heads;
    @SerializedName("num_hidden_layers") int layers;
    @SerializedName("position_embedding_type") String positionType = "absolute";
  }

  final int maxTokens;
  private final int heads;
  private final int width;
  private final double eps;
  private final Tensor words; // [vocabulary, width]
  private final Tensor positions; // [positions, width], the type of the first sentence added
  private final Affine norm;
  private final List<Layer> layers = new ArrayList<>();

  /**
   * Reads config.json and model.safetensors of a directory. The weights stay on a mapping of the file, but for those of the attention, which are put
   * together.
   *
   * @throws IOException when the configuration cannot be read, or is of another kind of model
   */
  Encoder(Path directory) throws IOException {
    Config c = readConfig(directory.resolve("config.json"));
    heads = c.heads;
    width = c.width;
    eps = c.eps;
    maxTokens = c.positions;
    try (Safetensors file = new Safetensors(directory.resolve("model.safetensors").toString()); NoGrad mode = new NoGrad(); TensorScope scope = new TensorScope()) {
      words = get(file, "embeddings.word_embeddings.weight", -1, width).keep();
      Tensor types = get(file, "embeddings.token_type_embeddings.weight", -1, width);
      positions = get(file, "embeddings.position_embeddings.weight", c.positions, width).add(types.select(0, 0)).keep();
      norm = norm(file, "embeddings.LayerNorm");
      for (int i = 0; i < c.layers; i++) {
        String prefix = "encoder.layer." + i + ".";
        Affine query = linear(file, prefix + "attention.self.query", width, width);
        // The scores' factor 1/sqrt(width of a head) goes into the queries.
        double scale = 1 / Math.sqrt((double) width / heads);
        query = new Affine(query.weight.mul(scale), query.bias.mul(scale));
        Affine key = linear(file, prefix + "attention.self.key", width, width);
        Affine value = linear(file, prefix + "attention.self.value", width, width);
        layers.add(new Layer(
            kept(new Affine(Tensor.cat(query.weight, key.weight, value.weight), Tensor.cat(query.bias, key.bias, value.bias))),
            kept(linear(file, prefix + "attention.output.dense", width, width)), norm(file, prefix + "attention.output.LayerNorm"),
            kept(linear(file, prefix + "intermediate.dense", -1, width)), kept(linear(file, prefix + "output.dense", width, -1)),
            norm(file, prefix + "output.LayerNorm")));
      }
    }
  }

  private static Config readConfig(Path path) throws IOException {
    Config c;
    try (Reader in = Files.newBufferedReader(path)) {
      c = new Gson().fromJson(in, Config.class);
    } catch (JsonParseException e) {
      throw new IOException(path + ": " + e.getMessage(), e);
    }
    if (c == null || !c.type.equals("bert") || !c.activation.equals("gelu") || !c.positionType.equals("absolute")) {
      throw new IOException(path + ": a BERT encoder with gelu and absolute positions is needed");
    }
    if (c.heads < 1 || c.width < 1 || c.width % c.heads != 0 || c.layers < 1 || c.positions < 2 || !(c.eps > 0)) {
      throw new IOException(path + ": sizes that do not fit together");
    }
    return c;
  }

  private static Tensor get(Safetensors file, String name, long... shape) {
    Tensor t = file.map(name);
    long[] got = t.shape();
    boolean ok = t.dtype() == DType.FLOAT32 && got.length == shape.length;
    for (int i = 0; ok && i < shape.length; i++) {
      ok = got[i] == shape[i] || shape[i] < 0;
    }
    if (!ok) {
      throw new IllegalArgumentException("model.safetensors: " + name + ": float32 of shape " + Arrays.toString(shape) + " is needed, got " + t.dtype() + " of "
          + Arrays.toString(got));
    }
    return t;
  }

  private static Affine linear(Safetensors file, String name, long out, long in) {
    return new Affine(get(file, name + ".weight", out, in), get(file, name + ".bias", out));
  }

  private Affine norm(Safetensors file, String name) {
    return kept(new Affine(get(file, name + ".weight", width), get(file, name + ".bias", width)));
  }

  private static Affine kept(Affine a) {
    return new Affine(a.weight.keep(), a.bias.keep());
  }

  /**
   * The vectors of texts, each given as its tokens' numbers. All tokens of all texts are the rows of one matrix, so that no work goes into padding; only
   * the attention goes through the texts one by one.
   */
  @Override
  public float[][] vectors(int[][] texts) {
    int rows = 0;
    Span[] spans = new Span[texts.length];
    for (int i = 0; i < texts.length; i++) {
      int n = texts[i].length;
      if (n == 0 || n > maxTokens) {
        throw new IllegalArgumentException("a text needs 1 to " + maxTokens + " tokens, got " + n);
      }
      spans[i] = new Span(rows, n);
      rows += n;
    }
    int[] ids = new int[rows];
    int[] places = new int[rows];
    for (int i = 0; i < texts.length; i++) {
      System.arraycopy(texts[i], 0, ids, spans[i].row, spans[i].tokens);
      for (int p = 0; p < spans[i].tokens; p++) {
        places[spans[i].row + p] = p;
      }
    }
    float[] flat;
    try (InferenceMode mode = new InferenceMode(); TensorScope scope = new TensorScope()) {
      Tensor x = words.embedding(Tensor.of(ids)).add_(positions.embedding(Tensor.of(places)));
      x = normalized(x, norm);
      for (Layer l : layers) {
        // What a layer made but its result goes when the layer is done.
        Tensor before = x;
        try (TensorScope inner = new TensorScope()) {
          x = inner.keep(layer(l, before, spans, rows));
        } finally {
          before.close();
        }
      }
      try (Tensor last = x) {
        Tensor[] means = new Tensor[spans.length];
        for (int i = 0; i < means.length; i++) {
          means[i] = last.narrow(0, spans[i].row, spans[i].tokens).mean(0);
        }
        flat = Tensor.stack(means).normalize().toFloatArray();
      }
    }
    float[][] vectors = new float[texts.length][];
    for (int i = 0; i < vectors.length; i++) {
      vectors[i] = Arrays.copyOfRange(flat, i * width, (i + 1) * width);
    }
    return vectors;
  }

  private Tensor normalized(Tensor x, Affine n) {
    return x.layerNorm(new long[] {width}, n.weight, n.bias, eps);
  }

  private Tensor layer(Layer l, Tensor x, Span[] spans, int rows) {
    Tensor qkv = x.linear(l.qkv.weight, l.qkv.bias);
    Tensor context = Tensor.empty(rows, width);
    long size = width / heads;
    long step = 3L * width;
    for (Span s : spans) {
      // The queries, keys and values of each head, as they lie in the product.
      long first = s.row * step;
      long[] across = {size, step, 1};
      Tensor q = qkv.asStrided(new long[] {heads, s.tokens, size}, across, first);
      Tensor k = qkv.asStrided(new long[] {heads, size, s.tokens}, new long[] {size, 1, step}, first + width);
      Tensor v = qkv.asStrided(new long[] {heads, s.tokens, size}, across, first + 2L * width);
      Tensor into = context.asStrided(new long[] {heads, s.tokens, size}, new long[] {size, width, 1}, (long) s.row * width);
      q.bmm(k).softmax(-1).bmmOut(v, into);
    }
    Tensor y = normalized(context.linear(l.attention.weight, l.attention.bias).add_(x), l.attentionNorm);
    qkv.close();
    Tensor up = y.linear(l.up.weight, l.up.bias);
    Tensor active = up.gelu();
    up.close();
    return normalized(active.linear(l.down.weight, l.down.bias).add_(y), l.norm);
  }
}
