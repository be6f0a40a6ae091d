package org.libtensorrt;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Networks, training, data, files. */
final class ModelTest {
  private TensorScope scope;

  @BeforeEach
  void open() {
    scope = new TensorScope();
    Generator.manualSeed(1);
  }

  @AfterEach
  void close() {
    scope.close();
  }

  private static Module network() {
    return Module.sequential(Layers.linear(4, 16), Layers.batchNorm1d(16), Layers.relu(), Layers.linear(16, 3, new LinearOptions().bias(false)));
  }

  @Test
  void layers() {
    assertEquals("Sequential(\n  (0): Linear(in_features=4, out_features=16, bias=True)\n"
        + "  (1): BatchNorm1d(16, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)\n  (2): ReLU()\n"
        + "  (3): Linear(in_features=16, out_features=3, bias=False)\n)", network().toString());
    assertEquals("Conv2d(1, 8, kernel_size=(3, 3), stride=(2, 1), padding=(1, 1), bias=False)",
        Layers.conv2d(1, 8, 3, 3, new ConvOptions().stride(2, 1).padding(1).bias(false)).toString());
    assertEquals("LayerNorm((3, 4), eps=0.5, elementwise_affine=True, bias=True)", Layers.layerNorm(new long[] {3, 4}, new NormOptions().eps(0.5)).toString());
    assertEquals(DType.FLOAT64, Layers.linear(2, 2, new LinearOptions().dtype(DType.FLOAT64)).parameter("weight").dtype());
    Module table = Layers.embedding(5, 3, new EmbeddingOptions().paddingIdx(1));
    assertArrayEquals(new float[3], table.forward(Tensor.of(new long[] {1})).toFloatArray());
    try (Generator a = new Generator(3); Generator b = new Generator(3)) {
      assertTrue(Layers.linear(3, 3, new LinearOptions().generator(a)).parameter("weight")
          .equal(Layers.linear(3, 3, new LinearOptions().generator(b)).parameter("weight")));
      a.close();
      assertThrows(IllegalStateException.class, () -> Layers.linear(3, 3, new LinearOptions().generator(a)));
    }
    assertArrayEquals(new long[] {1, 2, 2, 2}, Layers.maxPool2d(3, 3, new PoolOptions().stride(2).padding(1)).forward(Tensor.ones(1, 2, 4, 4)).shape());
    assertThrows(TensorException.InvalidArgument.class, () -> Layers.dropout(2));
    Tensor w = Tensor.empty(3, 3);
    assertArrayEquals(new float[] {1, 0, 0, 0, 1, 0, 0, 0, 1}, Init.eye(w).toFloatArray());
    Init.kaimingUniform(w, 0, 0, "relu");
    assertTrue(w.abs().max().itemDouble() <= Math.sqrt(2.0));
  }

  @Test
  void recurrentLayers() {
    Tensor x = Tensor.randn(5, 3, 2);
    Module lstm = Layers.lstm(2, 4, new RecurrentOptions().numLayers(2).bidirectional(true));
    assertEquals("LSTM(2, 4, num_layers=2, bidirectional=True)", lstm.toString());
    Module.RecurrentResult r = lstm.forwardRecurrent(x, null, null);
    assertArrayEquals(new long[] {5, 3, 8}, r.output().shape());
    assertArrayEquals(new long[] {4, 3, 4}, r.cell().shape());
    assertTrue(r.output().equal(lstm.forward(x)));
    assertFalse(r.output().equal(lstm.forwardRecurrent(x, r.hidden(), r.cell()).output()));
    assertNull(Layers.gru(2, 4).forwardRecurrent(x, null, null).cell());
    assertArrayEquals(new long[] {5, 3, 4}, Layers.rnn(2, 4, new RecurrentOptions().relu(true)).forward(x).shape());
    Tensor step = x.select(0, 0);
    for (Module cell : List.of(Layers.lstmCell(2, 4), Layers.gruCell(2, 4), Layers.rnnCell(2, 4))) {
      assertArrayEquals(new long[] {3, 4}, cell.forward(step).shape());
    }
    assertThrows(TensorException.InvalidArgument.class, () -> Layers.identity().forwardRecurrent(x, null, null));
  }

  @Test
  void moreLayers() {
    assertEquals(
        "Conv3d(2, 4, kernel_size=(1, 2, 2), stride=(1, 2, 1), padding=(1, 1, 1), groups=2, bias=False)",
        Layers.convnd(2, 4, new long[] {1, 2, 2}, new ConvndOptions().stride(1, 2, 1).padding(1).groups(2).bias(false)).toString());
    assertEquals(
        "Conv2d(2, 3, kernel_size=(3, 3), stride=(2, 1), padding=(1, 1), padding_mode=circular)",
        Layers.convnd(2, 3, new long[] {3, 3}, new ConvndOptions().stride(2, 1).padding(1).paddingMode(3)).toString());
    assertArrayEquals(new long[] {1, 4, 6}, Layers.convTranspose(2, 4, 3).forward(Tensor.ones(1, 2, 4)).shape());
    assertEquals(
        "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)", Layers.instanceNorm(2, 3).toString());
    assertEquals(
        "InstanceNorm2d(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=False)",
        Layers.instanceNorm(2, 3, new NormOptions().affine(true)).toString());
    assertEquals("BatchNorm3d(2, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)", Layers.batchNorm3d(2).toString());
    assertEquals("RMSNorm((4,), eps=None, elementwise_affine=True)", Layers.rmsNorm(new long[] {4}, null, true, null).toString());
    assertEquals("RMSNorm((4,), eps=0.5, elementwise_affine=False)", Layers.rmsNorm(new long[] {4}, 0.5, false, DType.FLOAT64).toString());
    assertEquals(
        "MaxPool3d(kernel_size=(1, 2, 2), stride=2, padding=0, dilation=1, ceil_mode=False)",
        Layers.maxPoolnd(new long[] {1, 2, 2}, new PoolndOptions().stride(2)).toString());
    assertEquals("AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))", Layers.avgPoolnd(2).toString());
    assertEquals("AdaptiveMaxPool3d(output_size=(1, 2, 3))", Layers.adaptiveMaxPoolnd(1, 2, 3).toString());
    assertEquals("ConstantPad1d(padding=(1, 2), value=2.0)", Layers.pad(new long[] {1, 2}, "constant", 2).toString());
    assertEquals(
        "Upsample(scale_factor=2.0, mode='bilinear')", Layers.upsample(null, new double[] {2}, "bilinear", true, null).toString());
    assertEquals("Upsample(size=(4, 5), mode='nearest')", Layers.upsample(new long[] {4, 5}, null, "nearest", null, null).toString());
    assertEquals(
        "Unfold(kernel_size=(2, 3), dilation=1, padding=1, stride=2)",
        Layers.unfold(2, 3, new WindowOptions().padding(1).stride(2)).toString());
    assertEquals("Dropout2d(p=0.5, inplace=False)", Layers.featureDropout(2, 0.5).toString());
    assertEquals("EmbeddingBag(4, 3, mode='sum')", Layers.embeddingBag(4, 3, new EmbeddingBagOptions().mode(0)).toString());
    assertEquals("PReLU(num_parameters=3)", Layers.prelu(3, 0.25, null).toString());

    assertEquals("RReLU(lower=0.125, upper=0.5)", Layers.rrelu(0.125, 0.5).toString());
    assertEquals("AlphaDropout(p=0.5, inplace=False)", Layers.alphaDropout(0.5).toString());
    assertEquals("FeatureAlphaDropout(p=0.5, inplace=False)", Layers.featureAlphaDropout(0.5).toString());
    assertEquals(
        "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')", Layers.upsampling2d(null, new double[] {2}, false).toString());
    assertEquals(
        "LPPool2d(norm_type=2.0, kernel_size=(2, 3), stride=None, ceil_mode=True)",
        Layers.lpPoolnd(2, new long[] {2, 3}, new PoolndOptions().ceilMode(true)).toString());
    assertArrayEquals(
        new long[] {2, 3, 4}, Layers.fractionalMaxPoolnd(new long[] {2, 2}, new long[] {3, 4}, null).forward(Tensor.ones(2, 6, 7)).shape());
    assertArrayEquals(new long[] {2, 4, 1, 1}, Layers.softmax2d().forward(Tensor.ones(2, 4, 1, 1)).shape());
    assertArrayEquals(
        new float[] {0, 5, 7, 0},
        Layers.maxUnpoolnd(2).forwardWith(1, Tensor.of(new float[] {5, 7}, 1, 2), Tensor.of(new long[] {1, 2}, 1, 2))[0].toFloatArray());
    assertEquals(6, Layers.pairwiseDistance(1, 0, true).forwardWith(1, Tensor.ones(2, 3), Tensor.zeros(2, 3))[0].sum().itemDouble());
    assertArrayEquals(new long[] {2}, Layers.cosineSimilarity(1, 1e-8).forwardWith(1, Tensor.ones(2, 3), Tensor.ones(2, 3))[0].shape());
    Module bilinear = Layers.bilinear(2, 3, 4);
    assertArrayEquals(new long[] {5, 4}, bilinear.forwardWith(1, Tensor.ones(5, 2), Tensor.ones(5, 3))[0].shape());
    assertThrows(TensorException.InvalidArgument.class, () -> bilinear.forwardWith(1, Tensor.ones(5, 2), null));
    Tensor x = Tensor.randn(2, 3, 4);
    Tensor[] all = Layers.multiheadAttention(4, 2, new AttentionOptions().batchFirst(true)).forwardWith(3, x, x, x, null, null);
    assertEquals(3, all.length);
    assertArrayEquals(new long[] {2, 3, 3}, all[1].shape());
    assertArrayEquals(new long[] {2, 2, 3, 3}, all[2].shape());
    TransformerOptions options = new TransformerOptions().dimFeedforward(6).batchFirst(true).dropout(0);
    assertArrayEquals(
        new long[] {2, 5, 4}, Layers.transformer(4, 2, 1, 2, options).forwardWith(1, x, Tensor.ones(2, 5, 4))[0].shape());
    Module encoder = Layers.transformerEncoder(Layers.transformerEncoderLayer(4, 2, options), 2, Layers.layerNorm(4));
    Module decoder = Layers.transformerDecoder(Layers.transformerDecoderLayer(4, 2, options), 1, null);
    assertEquals(26, encoder.parameters().length);
    assertArrayEquals(new long[] {2, 3, 4}, decoder.forwardWith(1, x, encoder.forward(x))[0].shape());
    assertThrows(TensorException.InvalidArgument.class, () -> Layers.transformerEncoder(encoder, 2, null));
  }

  @Test
  void modules() {
    Module m = network();
    assertEquals(4 * 16 + 16 + 32 + 48, m.parameterCount());
    assertEquals(5, m.parameters().length);
    assertEquals(List.of("0", "1", "2", "3"), m.childNames());
    assertTrue(m.isTraining());
    assertFalse(m.eval().isTraining());
    assertEquals("Linear", m.submodule("0").typeName());
    assertArrayEquals(new long[] {16}, m.buffer("1.running_mean").shape());
    assertEquals(List.of("1.running_mean", "1.running_var", "1.num_batches_tracked"), m.namedBuffers().names());
    m.setRequiresGrad(false);
    assertEquals(0, m.trainableParameterCount());
    m.setRequiresGrad(true).to(DType.FLOAT64);
    assertEquals(DType.FLOAT64, m.parameter("3.weight").dtype());
    assertThrows(TensorException.NotFound.class, () -> m.parameter("9.weight"));
    Tensor shared = Tensor.ones(new long[] {3, 16}, DType.FLOAT64).setRequiresGrad(true);
    m.setParameter("3.weight", shared);
    assertTrue(m.parameter("3.weight").sharesStorage(shared));
    m.resetParameters(null);
    m.zeroGrad();
    assertThrows(TensorException.class, () -> m.registerChild("x", m));
  }

  private static Tensor[] data(int n) {
    Tensor x = Tensor.randn(n, 4);
    Tensor y = x.matmul(Tensor.randn(4, 3)).argmax(1L);
    return new Tensor[] {x, y};
  }

  @Test
  void training(@TempDir Path directory) {
    Tensor[] xy = data(256);
    Dataset all = Dataset.of(xy);
    Module m = network();
    Optimizer o = Optimizer.adamw(m.parameters(), new AdamOptions().lr(0.02).weightDecay(0.1));
    assertEquals(0.1, o.getOption(0, "weight_decay"));
    DataLoader loader = new DataLoader(all, new DataLoaderOptions().batchSize(32).shuffle(true).dropLast(true).seed(5).numWorkers(1));
    LRScheduler s = LRScheduler.oneCycleLR(o, new OneCycleOptions().maxLr(0.02).totalSteps(8 * 12));
    double first = 0;
    double last = 0;
    for (int epoch = 0; epoch < 10; epoch++) {
      double[] total = new double[1];
      loader.forEachBatch(batch -> {
        Tensor loss = m.forward(batch[0]).crossEntropy(batch[1]);
        o.zeroGrad();
        loss.backward();
        assertTrue(Optimizer.clipGradNorm(m.parameters(), 10, 2, true) > 0);
        o.step();
        s.step();
        total[0] += loss.itemDouble();
      });
      assertEquals(epoch, loader.epoch());
      first = epoch == 0 ? total[0] : first;
      last = total[0];
    }
    assertTrue(last < first / 2, first + " -> " + last);
    assertEquals(80, s.lastEpoch());
    // A checkpoint of everything, into objects made anew: both go on alike.
    String file = directory.resolve("check\u00e4\ud83d\ude00.safetensors").toString();
    StateDict everything = new StateDict();
    for (Map.Entry<String, StateDict> part : Map.of("m", m.stateDict(), "o", o.stateDict(), "s", s.stateDict()).entrySet()) {
      for (String name : part.getValue().names()) {
        everything.set(part.getKey() + "/" + name, part.getValue().get(name));
      }
    }
    everything.save(file, Map.of("epoch", "10"));
    Module m2 = network();
    Optimizer o2 = Optimizer.adamw(m2.parameters(), new AdamOptions());
    LRScheduler s2 = LRScheduler.oneCycleLR(o2, new OneCycleOptions().maxLr(0.02).totalSteps(8 * 12));
    StateDict read = StateDict.load(file);
    m2.loadStateDict(section(read, "m/"));
    o2.loadStateDict(section(read, "o/"));
    s2.loadStateDict(section(read, "s/"));
    double[] losses = new double[2];
    for (int i = 0; i < 2; i++) {
      Module model = i == 0 ? m : m2;
      Optimizer opt = i == 0 ? o : o2;
      for (int step = 0; step < 3; step++) {
        Tensor loss = model.forward(xy[0]).crossEntropy(xy[1]);
        opt.zeroGrad();
        loss.backward();
        opt.step();
        (i == 0 ? s : s2).step();
        losses[i] = loss.itemDouble();
      }
    }
    assertEquals(losses[0], losses[1]);
    assertEquals(o.getLr(0), o2.getLr(0));
    assertNull(m2.compareStateDict(m.stateDict()));
    assertNotNull(Layers.linear(2, 2).compareStateDict(m.stateDict()));
    assertThrows(TensorException.InvalidArgument.class, () -> Layers.linear(2, 2).loadStateDict(m.stateDict()));
    for (AutoCloseable c : new NativeObject[] {m, m2, o, o2, s, s2, loader, all, everything, read}) {
      ((NativeObject) c).close();
    }
  }

  private static StateDict section(StateDict all, String prefix) {
    StateDict part = new StateDict();
    for (String name : all.names()) {
      if (name.startsWith(prefix)) {
        part.set(name.substring(prefix.length()), all.get(name));
      }
    }
    return part;
  }

  @Test
  void optimizers() {
    Tensor p = Tensor.ones(2).setRequiresGrad(true);
    Tensor q = Tensor.ones(2).setRequiresGrad(true);
    Optimizer o = Optimizer.sgd(new Tensor[] {p}, new SgdOptions().lr(0.5).momentum(0.9));
    o.addGroup(new Tensor[] {q}, Map.of("lr", 0.25));
    assertEquals(2, o.groupCount());
    assertEquals(0.25, o.getLr(1));
    assertEquals(1, o.groupParameters(1).length);
    p.add(q).sum().backward();
    o.step();
    assertArrayEquals(new float[] {0.5f, 0.5f}, p.toFloatArray());
    assertArrayEquals(new float[] {0.75f, 0.75f}, q.toFloatArray());
    o.zeroGrad(false);
    assertArrayEquals(new float[] {0, 0}, p.grad().toFloatArray());
    o.zeroGrad();
    assertNull(p.grad());
    o.setLr(1);
    o.setOption(0, "momentum", 0);
    assertEquals(1, o.getLr(1));
    assertTrue(o.toString().contains("momentum: 0"), o.toString());
    assertEquals("SGD", o.typeName());
    assertThrows(TensorException.NotFound.class, () -> o.getOption(0, "beta1"));
    assertThrows(TensorException.InvalidArgument.class, () -> Optimizer.adam(new Tensor[0], new AdamOptions()));
    p.mul(100).sum().backward();
    Optimizer.clipGradValue(new Tensor[] {p}, 2);
    assertArrayEquals(new float[] {2, 2}, p.grad().toFloatArray());
    LRScheduler first = LRScheduler.constantLR(o, 0.5, 2);
    LRScheduler then = LRScheduler.exponentialLR(o, 0.1);
    LRScheduler both = LRScheduler.sequentialLR(o, new LRScheduler[] {first, then}, new long[] {2});
    assertEquals(0.5, both.lastLr(0), 1e-12);
    both.step();
    both.step();
    assertEquals(1, o.getLr(0), 1e-12);
    both.step();
    assertEquals(0.1, o.getLr(0), 1e-12);
    for (LRScheduler s : List.of(LRScheduler.stepLR(o, 2, 0.5), LRScheduler.multiStepLR(o, new long[] {1, 3}, 0.5), LRScheduler.linearLR(o, 0.5, 1, 4),
        LRScheduler.polynomialLR(o, 4, 2), LRScheduler.cosineAnnealingLR(o, 4, 0))) {
      s.step();
      assertEquals(1, s.lastEpoch());
      s.close();
    }
  }

  @Test
  void loaders() {
    Dataset d = Dataset.of(Tensor.arange(10));
    assertEquals(10, d.size());
    assertArrayEquals(new long[] {3, 1}, d.batch(3, 1)[0].toLongArray());
    assertArrayEquals(new long[] {7, 7}, d.subset(7, 7).batch(0, 1)[0].toLongArray());
    DataLoader l = new DataLoader(d, new DataLoaderOptions().batchSize(4));
    for (int epoch = 0; epoch < 2; epoch++) {
      List<Long> seen = new ArrayList<>();
      for (Tensor[] batch : l) {
        for (long v : batch[0].toLongArray()) {
          seen.add(v);
        }
      }
      assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L), seen);
      assertEquals(epoch, l.epoch());
    }
    assertThrows(java.util.NoSuchElementException.class, () -> {
      var it = l.iterator();
      for (int i = 0; i < 4; i++) {
        it.next();
      }
    });
    l.setEpoch(7);
    l.iterator().next();
    assertEquals(7, l.epoch());
    // Weights: only samples that have one are drawn.
    double[] weights = new double[10];
    weights[3] = 1;
    weights[8] = 2;
    DataLoader drawn = new DataLoader(d, new DataLoaderOptions().weights(weights).numSamples(50).seed(1));
    int[] counts = new int[10];
    drawn.forEachBatch(b -> counts[(int) b[0].itemLong()]++);
    assertEquals(50, counts[3] + counts[8]);
    assertTrue(counts[8] > counts[3]);
    assertThrows(TensorException.InvalidArgument.class, () -> new DataLoader(d, new DataLoaderOptions().batchSize(0)));
    try (Generator g = new Generator(1); DataLoader a = new DataLoader(d, new DataLoaderOptions().shuffle(true).batchSize(10).generator(g))) {
      assertFalse(Arrays.equals(d.batch(0, 1, 2, 3, 4, 5, 6, 7, 8, 9)[0].toLongArray(), a.next()[0].toLongArray()));
    }
  }

  @Test
  void images() {
    Tensor pixels = Tensor.ofBytes(new byte[] {0, (byte) 255, 51, 102}, DType.UINT8, 1, 2, 2);
    Dataset d = Dataset.ofImages(pixels, Tensor.of(new byte[] {3}), new ImageOptions().mean(0.5f).std(0.5f));
    assertArrayEquals(new float[] {-1, 1, -0.6f, -0.2f}, d.get(0)[0].toFloatArray(), 1e-6f);
    assertArrayEquals(new long[] {1, 2, 2}, d.get(0)[0].shape());
    assertEquals(3, d.get(0)[1].itemLong());
    assertEquals(1, Dataset.ofImages(pixels, null, new ImageOptions().normalize(false)).get(0).length);
    assertThrows(TensorException.NotFound.class, () -> Dataset.ofIdx("/nowhere", null, new ImageOptions()));
  }

  @Test
  void files(@TempDir Path directory) {
    String path = directory.resolve("a.safetensors").toString();
    Map<String, Tensor> tensors = new LinkedHashMap<>();
    tensors.put("one", Tensor.of(new float[] {1, 2}, 1, 2));
    tensors.put("two", Tensor.of(new long[] {3}));
    Safetensors.save(path, tensors, Map.of("k", "w\u00fc"));
    try (Safetensors f = new Safetensors(path)) {
      assertEquals(List.of("one", "two"), f.names());
      assertArrayEquals(new float[] {1, 2}, f.get("one").toFloatArray());
      assertArrayEquals(new long[] {3}, f.map("two").toLongArray());
      assertEquals(DType.INT64, f.dtype("two"));
      assertArrayEquals(new long[] {1, 2}, f.shape("one"));
      assertEquals(Map.of("k", "w\u00fc"), f.metadata());
      assertThrows(TensorException.NotFound.class, () -> f.get("three"));
      Tensor mapped = f.map("one");
      f.close();
      assertEquals(3, mapped.sum().itemDouble());
    }
    assertThrows(TensorException.NotFound.class, () -> new Safetensors(path + "x"));
    assertThrows(TensorException.class, () -> Safetensors.save("/nowhere/x", tensors, Map.of()));
  }

  @Test
  void manyRequestThreadsShareAModel() throws Exception {
    Module m = network().eval();
    Tensor input = Tensor.randn(64, 4);
    float[] expected;
    try (InferenceMode mode = new InferenceMode()) {
      expected = m.forward(input).toFloatArray();
    }
    ExecutorService pool = Executors.newFixedThreadPool(16);
    try {
      List<Future<Boolean>> results = new ArrayList<>();
      for (int i = 0; i < 64; i++) {
        int row = i;
        Callable<Boolean> request = () -> {
          for (int k = 0; k < 40; k++) {
            try (InferenceMode mode = new InferenceMode(); TensorScope inner = new TensorScope()) {
              float[] got = m.forward(input.slice(0, row, row + 1)).toFloatArray();
              for (int c = 0; c < 3; c++) {
                if (Math.abs(got[c] - expected[3 * row + c]) > 1e-5) {
                  return false;
                }
              }
            }
          }
          return true;
        };
        results.add(pool.submit(request));
      }
      for (Future<Boolean> r : results) {
        assertTrue(r.get());
      }
    } finally {
      pool.shutdown();
    }
    m.close();
  }

  @Test
  void backwardInManyThreads() throws Exception {
    Tensor w = Tensor.ones(8).setRequiresGrad(true);
    ExecutorService pool = Executors.newFixedThreadPool(8);
    try {
      List<Future<?>> results = new ArrayList<>();
      for (int i = 0; i < 8; i++) {
        results.add(pool.submit(() -> {
          for (int k = 0; k < 50; k++) {
            try (TensorScope inner = new TensorScope()) {
              w.mul(2).sum().backward();
            }
          }
        }));
      }
      for (Future<?> r : results) {
        r.get();
      }
    } finally {
      pool.shutdown();
    }
    assertEquals(800, w.grad().select(0, 0).itemDouble());
  }
}
