import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.libtensorrt.AdamOptions;
import org.libtensorrt.ConvOptions;
import org.libtensorrt.DataLoader;
import org.libtensorrt.DataLoaderOptions;
import org.libtensorrt.Dataset;
import org.libtensorrt.Generator;
import org.libtensorrt.ImageOptions;
import org.libtensorrt.LRScheduler;
import org.libtensorrt.Layers;
import org.libtensorrt.LinearOptions;
import org.libtensorrt.Module;
import org.libtensorrt.NoGrad;
import org.libtensorrt.OneCycleOptions;
import org.libtensorrt.Optimizer;
import org.libtensorrt.Safetensors;
import org.libtensorrt.StateDict;
import org.libtensorrt.Tensor;
import org.libtensorrt.TensorException;
import org.libtensorrt.TensorRuntime;
import org.libtensorrt.TensorScope;

/**
 * Trains a small convolutional network on Fashion-MNIST (60,000 images of clothes, 28 x 28 grey pixels, 10 classes), evaluates it on the 10,000 test
 * images, saves a checkpoint after every epoch, resumes from one, and predicts. The same program as examples/c/fashion_mnist.c: the same losses, digit
 * for digit, and each reads the other's checkpoints.
 */
public final class FashionMnist {
  private static final int SIDE = 28;
  private static final int EVAL_BATCH = 500;
  private static final float MEAN = 0.2860f; // of the training images
  private static final float STD = 0.3530f;
  private static final String[] CLASSES = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"};
  private static final String FORMAT = "libtensorrt fashion_mnist 1";

  /** What ends the program with a message. */
  private static final class Stop extends RuntimeException {
    private static final long serialVersionUID = 1;
    final int status;

    Stop(int status, String message) {
      super(message);
      this.status = status;
    }
  }

  // --- command line ---

  private String data = "/usr/share/datasets/fashion-mnist";
  private long epochs = 5;
  private long batchSize = 128;
  private long threads;
  private long workers;
  private long seed = 1;
  private long predict = -1;
  private long stopAfter;
  private double lr = 5e-3;
  private String save;
  private String resume;

  private static long integer(String name, String text, long low, long high) {
    try {
      long v = Long.parseLong(text);
      if (v >= low && v <= high) {
        return v;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new Stop(2, name + " needs an integer from " + low + " to " + high + ", got '" + text + "'");
  }

  private FashionMnist(String[] args) {
    for (int i = 0; i < args.length; i += 2) {
      String name = args[i];
      if (name.equals("--help")) {
        System.out.println("usage: fashion_mnist [--data DIR] [--epochs N] [--batch-size N] [--lr X] [--threads N] [--workers N] [--seed N]\n"
            + "                     [--save FILE] [--resume FILE] [--predict INDEX] [--stop-after N]\n\n"
            + "  --data        folder with the four gzipped IDX files (default: Debian's package dataset-fashion-mnist)\n"
            + "  --epochs      passes over the training images that the schedule spans (5)\n"
            + "  --threads     threads of the library (its own choice)      --workers  threads that prepare batches (0)\n"
            + "  --save        write a checkpoint after every epoch         --resume   continue from one\n"
            + "  --predict     show test image INDEX and what the network thinks\n"
            + "  --stop-after  end after N epochs of the schedule");
        throw new Stop(0, null);
      }
      if (i + 1 == args.length) {
        throw new Stop(2, name + " needs a value (or is unknown); see --help");
      }
      String value = args[i + 1];
      switch (name) {
        case "--data" -> data = value;
        case "--epochs" -> epochs = integer(name, value, 0, 1000);
        case "--batch-size" -> batchSize = integer(name, value, 2, 60000);
        case "--threads" -> threads = integer(name, value, 1, 1024);
        case "--workers" -> workers = integer(name, value, 0, 64);
        case "--seed" -> seed = integer(name, value, 0, Integer.MAX_VALUE);
        case "--predict" -> predict = integer(name, value, 0, 9999);
        case "--stop-after" -> stopAfter = integer(name, value, 1, 1000);
        case "--save" -> save = value;
        case "--resume" -> resume = value;
        case "--lr" -> {
          try {
            lr = Double.parseDouble(value);
          } catch (NumberFormatException e) {
            lr = 0;
          }
          if (!(lr > 0) || Double.isInfinite(lr)) {
            throw new Stop(2, "--lr needs a positive number, got '" + value + "'");
          }
        }
        default -> throw new Stop(2, "unknown option " + name + "; see --help");
      }
    }
  }

  // --- data and network ---

  private Dataset images(String part) {
    String path = data + "/" + part + "-images-idx3-ubyte.gz";
    Dataset d = Dataset.ofIdx(path, data + "/" + part + "-labels-idx1-ubyte.gz", new ImageOptions().mean(MEAN).std(STD));
    // A file of another shape would train, or fail somewhere deep; say it here.
    try (TensorScope scope = new TensorScope()) {
      Tensor[] sample = d.get(0);
      long[] s = sample[0].shape();
      if (s.length != 3 || s[1] != SIDE || s[2] != SIDE || sample[1].dim() != 0) {
        throw new Stop(1, path + " does not hold " + SIDE + " x " + SIDE + " images with one label each");
      }
    }
    return d;
  }

  private DataLoader loader(Dataset d, long batch, boolean train) {
    return new DataLoader(d, new DataLoaderOptions().batchSize(batch).shuffle(train).dropLast(train).numWorkers((int) workers).seed(seed));
  }

  private static Module network() {
    ConvOptions conv = new ConvOptions().padding(1).bias(false); // the normalization behind it has one
    List<Module> m = new ArrayList<>();
    for (int block = 0; block < 2; block++) {
      long in = block == 0 ? 1 : 32;
      long out = block == 0 ? 32 : 64;
      m.addAll(List.of(Layers.conv2d(in, out, 3, 3, conv), Layers.batchNorm2d(out), Layers.relu(), Layers.maxPool2d(2, 2)));
    }
    m.addAll(List.of(Layers.flatten(1, -1), Layers.dropout(0.25), Layers.linear(64 * 7 * 7, 128, new LinearOptions().bias(false)), Layers.batchNorm1d(128),
        Layers.relu(), Layers.linear(128, CLASSES.length)));
    return Module.sequential(m.toArray(new Module[0]));
  }

  // --- a run: everything that a checkpoint holds ---

  private Module network;
  private Optimizer optimizer;
  private LRScheduler scheduler;
  private long epoch; // completed

  private void save() {
    try (TensorScope scope = new TensorScope(); StateDict all = new StateDict()) {
      for (Map.Entry<String, StateDict> part : Map.of("network", network.stateDict(), "optimizer", optimizer.stateDict(), "scheduler",
          scheduler.stateDict()).entrySet()) {
        try (StateDict dict = part.getValue()) {
          for (String name : dict.names()) {
            all.set(part.getKey() + "." + name, dict.get(name));
          }
        }
      }
      Generator.State state = Generator.getDefaultState();
      Map<String, String> metadata = new LinkedHashMap<>();
      metadata.put("format", FORMAT);
      metadata.put("epoch", Long.toString(epoch));
      metadata.put("epochs", Long.toString(epochs));
      metadata.put("batch_size", Long.toString(batchSize));
      metadata.put("seed", Long.toString(seed));
      metadata.put("generator_seed", Long.toUnsignedString(state.seed()));
      metadata.put("generator_offset", Long.toUnsignedString(state.offset()));
      all.save(save, metadata);
    } catch (TensorException e) {
      throw new Stop(1, "saving the checkpoint: " + e.getMessage());
    }
  }

  private static long metadataInteger(Map<String, String> metadata, String path, String key) {
    try {
      long v = Long.parseLong(metadata.getOrDefault(key, ""));
      if (v >= 0) {
        return v;
      }
    } catch (NumberFormatException e) {
      // told below
    }
    throw new Stop(1, path + ": the entry '" + key + "' is missing or no number");
  }

  private static StateDict section(Safetensors file, String prefix) {
    StateDict dict = new StateDict();
    for (String name : file.names()) {
      if (name.startsWith(prefix + ".")) {
        dict.set(name.substring(prefix.length() + 1), file.get(name));
      }
    }
    return dict;
  }

  private interface Load {
    void from(StateDict dict);
  }

  private static void load(Safetensors file, String prefix, String what, Load target) {
    try (StateDict dict = section(file, prefix)) {
      target.from(dict);
    } catch (TensorException e) {
      throw new Stop(1, what + ": " + e.getMessage());
    }
  }

  private void resume() {
    try (TensorScope scope = new TensorScope(); Safetensors file = new Safetensors(resume)) {
      Map<String, String> metadata = file.metadata();
      if (!FORMAT.equals(metadata.get("format"))) {
        throw new Stop(1, resume + " is no checkpoint of this program (format '" + metadata.getOrDefault("format", "none") + "', expected '" + FORMAT + "')");
      }
      // The order of the images and the schedule follow from these: another value would silently continue something else.
      Map<String, Long> same = new LinkedHashMap<>();
      same.put("epochs", epochs);
      same.put("batch_size", batchSize);
      same.put("seed", seed);
      same.forEach((key, value) -> {
        if (metadataInteger(metadata, resume, key) != value) {
          throw new Stop(1, resume + " was trained with " + key + " " + metadata.get(key) + ", now it is " + value + "; give the same value");
        }
      });
      load(file, "network", "resuming (is it of another architecture?)", network::loadStateDict);
      load(file, "optimizer", "resuming the optimizer", optimizer::loadStateDict);
      load(file, "scheduler", "resuming the schedule", scheduler::loadStateDict);
      epoch = metadataInteger(metadata, resume, "epoch");
      Generator.setDefaultState(new Generator.State(Long.parseUnsignedLong(metadata.getOrDefault("generator_seed", "0")),
          Long.parseUnsignedLong(metadata.getOrDefault("generator_offset", "0"))));
    }
    System.out.println("resumed " + resume + " after epoch " + epoch);
  }

  // --- training ---

  /** As %.9g in C. */
  private static String digits(double v) {
    String exponent = String.format(Locale.ROOT, "%.8e", v);
    int e = Integer.parseInt(exponent.substring(exponent.indexOf('e') + 1));
    String text = e < -4 || e >= 9 ? exponent : String.format(Locale.ROOT, "%." + (8 - e) + "f", v);
    int at = text.indexOf('e');
    String mantissa = at < 0 ? text : text.substring(0, at);
    if (mantissa.contains(".")) {
      mantissa = mantissa.replaceAll("0+$", "").replaceAll("\\.$", "");
    }
    return mantissa + (at < 0 ? "" : text.substring(at));
  }

  private double trainStep(Tensor images, Tensor labels) {
    Tensor loss = network.forward(images).crossEntropy(labels);
    optimizer.zeroGrad();
    loss.backward();
    optimizer.step();
    scheduler.step();
    return loss.itemDouble();
  }

  private double trainEpoch(DataLoader loader) {
    long steps = loader.batches();
    loader.setEpoch(epoch);
    network.train();
    long start = System.nanoTime();
    double[] total = new double[1];
    long[] step = new long[1];
    loader.forEachBatch(batch -> {
      double loss = trainStep(batch[0], batch[1]);
      if (!Double.isFinite(loss)) {
        throw new Stop(1, "the loss became " + loss + " in epoch " + (epoch + 1) + ", step " + step[0] + "; try a smaller --lr");
      }
      total[0] += loss;
      step[0]++;
      if (step[0] % 100 == 0) {
        double rate = step[0] * batchSize / ((System.nanoTime() - start) * 1e-9);
        System.out.printf(Locale.ROOT, "epoch %d/%d  step %d/%d  loss %s  %.0f images/s%n", epoch + 1, epochs, step[0], steps, digits(total[0] / step[0]), rate);
      }
    });
    return total[0] / Math.max(1, step[0]);
  }

  private double evaluate(DataLoader loader) {
    network.eval();
    long[] counts = new long[2];
    try (NoGrad mode = new NoGrad()) {
      loader.reset();
      loader.forEachBatch(batch -> {
        counts[0] += network.forward(batch[0]).argmax(1L).eq(batch[1]).sum().itemLong();
        counts[1] += batch[1].numel();
      });
    }
    return 100.0 * counts[0] / Math.max(1, counts[1]);
  }

  private void predict(Dataset test) {
    try (TensorScope scope = new TensorScope()) {
      Tensor[] sample = test.get(predict);
      float[] pixels = sample[0].toFloatArray();
      System.out.println("\ntest image " + predict + ":");
      for (int y = 0; y < SIDE; y += 2) {
        StringBuilder line = new StringBuilder();
        for (int x = 0; x < SIDE; x++) {
          float grey = (pixels[y * SIDE + x] + pixels[(y + 1) * SIDE + x]) / 2 * STD + MEAN;
          line.append(" .:-=+*#%@".charAt(Math.max(0, Math.min(9, (int) (grey * 9.99f)))));
        }
        System.out.println(line);
      }
      network.eval();
      float[] p;
      try (NoGrad mode = new NoGrad()) {
        p = network.forward(sample[0].unsqueeze(0)).softmax(1).toFloatArray();
      }
      int best = 0;
      for (int c = 0; c < p.length; c++) {
        best = p[c] > p[best] ? c : best;
        if (p[c] >= 0.01f) {
          System.out.printf(Locale.ROOT, "  %5.1f %%  %s%n", 100 * p[c], CLASSES[c]);
        }
      }
      System.out.println("prediction: " + CLASSES[best] + " (it is: " + CLASSES[(int) sample[1].itemLong()] + ")");
    }
  }

  private void run() {
    if (threads > 0) {
      TensorRuntime.setNumThreads((int) threads);
    }
    Generator.manualSeed(seed);
    // Training takes minutes: a checkpoint that cannot be written is told before.
    if (save != null && !Files.isWritable(Path.of(save).toAbsolutePath().getParent())) {
      throw new Stop(1, "saving the checkpoint: cannot write into " + Path.of(save).toAbsolutePath().getParent());
    }
    try (Dataset train = images("train"); Dataset test = images("t10k"); DataLoader trainLoader = loader(train, batchSize, true);
        DataLoader testLoader = loader(test, EVAL_BATCH, false)) {
      long steps = trainLoader.batches();
      network = network();
      try (TensorScope scope = new TensorScope()) {
        optimizer = Optimizer.adamw(network.parameters(), new AdamOptions().lr(lr));
      }
      scheduler = LRScheduler.oneCycleLR(optimizer, new OneCycleOptions().maxLr(lr).totalSteps(Math.max(1, steps * epochs)));
      System.out.printf(Locale.ROOT, "%s%n%d parameters, %d training images, %d test images, %d threads%n", network, network.parameterCount(), train.size(), test.size(),
          TensorRuntime.getNumThreads());
      if (resume != null) {
        resume();
      }
      long last = stopAfter > 0 && stopAfter < epochs ? stopAfter : epochs;
      long start = System.nanoTime();
      if (epoch >= last) {
        System.out.printf(Locale.ROOT, "test accuracy %.2f %%%n", evaluate(testLoader));
      }
      while (epoch < last) {
        long begin = System.nanoTime();
        double loss = trainEpoch(trainLoader);
        double rate = steps * batchSize / ((System.nanoTime() - begin) * 1e-9);
        double accuracy = evaluate(testLoader);
        epoch++;
        System.out.printf(Locale.ROOT, "epoch %d/%d  loss %s  test accuracy %.2f %%  %.0f images/s%n", epoch, epochs, digits(loss), accuracy, rate);
        if (save != null) {
          save();
          System.out.println("saved " + save);
        }
      }
      System.out.printf(Locale.ROOT, "done in %.1f s%n", (System.nanoTime() - start) * 1e-9);
      if (predict >= 0) {
        predict(test);
      }
    }
  }

  /**
   * The program.
   *
   * @param args see --help
   */
  public static void main(String[] args) {
    try {
      new FashionMnist(args).run();
    } catch (Stop e) {
      if (e.getMessage() != null) {
        System.err.println("fashion_mnist: " + e.getMessage());
      }
      System.exit(e.status);
    } catch (TensorException e) {
      System.err.println("fashion_mnist: " + e.getMessage());
      System.exit(1);
    }
  }
}
