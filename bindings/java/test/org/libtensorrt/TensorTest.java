package org.libtensorrt;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Values in and out, operators in their forms, errors. */
final class TensorTest {
  private TensorScope scope;

  @BeforeEach
  void open() {
    scope = new TensorScope();
  }

  @AfterEach
  void close() {
    scope.close();
  }

  private static Tensor floats(float... v) {
    return Tensor.of(v);
  }

  @Test
  void arrays() {
    assertArrayEquals(new float[] {1, -2.5f, Float.NaN}, floats(1, -2.5f, Float.NaN).toFloatArray());
    assertArrayEquals(new double[] {1, Double.MAX_VALUE}, Tensor.of(new double[] {1, Double.MAX_VALUE}).toDoubleArray());
    assertArrayEquals(new long[] {Long.MIN_VALUE, 7}, Tensor.of(new long[] {Long.MIN_VALUE, 7}).toLongArray());
    assertArrayEquals(new int[] {Integer.MIN_VALUE, 7}, Tensor.of(new int[] {Integer.MIN_VALUE, 7}).toIntArray());
    assertArrayEquals(new short[] {-32768, 7}, Tensor.of(new short[] {-32768, 7}).toShortArray());
    assertArrayEquals(new byte[] {-128, 7}, Tensor.of(new byte[] {-128, 7}).toByteArray());
    assertArrayEquals(new boolean[] {true, false}, Tensor.of(new boolean[] {true, false}).toBooleanArray());
    DType[] dtypes = {DType.FLOAT32, DType.FLOAT64, DType.INT64, DType.INT32, DType.INT16, DType.INT8, DType.BOOL};
    Tensor[] all = {floats(1), Tensor.of(new double[1]), Tensor.of(new long[1]), Tensor.of(new int[1]), Tensor.of(new short[1]), Tensor.of(new byte[1]),
        Tensor.of(new boolean[1])};
    for (int i = 0; i < all.length; i++) {
      assertEquals(dtypes[i], all[i].dtype());
    }
    // Converted, from another order in memory, and of no elements.
    Tensor m = Tensor.of(new int[] {1, 2, 3, 4, 5, 6}, 2, 3);
    assertArrayEquals(new float[] {1, 4, 2, 5, 3, 6}, m.transpose(0, 1).toFloatArray());
    assertArrayEquals(new long[] {1, 4, 2, 5, 3, 6}, m.t().toLongArray());
    assertEquals(0, Tensor.zeros(0, 3).toFloatArray().length);
    assertArrayEquals(new long[] {0}, Tensor.of(new float[0]).shape());
    assertArrayEquals(new long[] {0, 4}, Tensor.of(new float[0], 0, 4).shape());
    assertEquals(0, Tensor.of(new float[] {5}, new long[] {1}).sub(5).item().intValue());
    // Larger than one piece of the copy.
    float[] large = new float[700_001];
    for (int i = 0; i < large.length; i++) {
      large[i] = i;
    }
    assertArrayEquals(large, Tensor.of(large).toFloatArray());
    assertArrayEquals(new byte[] {1, 2, (byte) 255}, Tensor.ofBytes(new byte[] {1, 2, (byte) 255}, DType.UINT8, 3).toByteArray());
    assertEquals(255, Tensor.ofBytes(new byte[] {(byte) 255}, DType.UINT8, 1).itemLong());
    assertEquals(1.0, Tensor.ofBytes(new byte[] {0, 0x3c}, DType.FLOAT16, 1).itemDouble());
    assertThrows(IllegalArgumentException.class, () -> Tensor.ofBytes(new byte[3], DType.FLOAT32, 1));
    assertThrows(IllegalArgumentException.class, () -> Tensor.of(new float[3], 2, 2));
    assertThrows(IllegalArgumentException.class, () -> Tensor.of(new float[3], -3));
    assertThrows(NullPointerException.class, () -> Tensor.of((float[]) null));
  }

  @Test
  void numbers() {
    assertEquals(DType.INT64, Tensor.of(3).dtype());
    assertEquals(DType.FLOAT32, Tensor.of(3.5).dtype());
    assertEquals(DType.BOOL, Tensor.of(Scalar.of(true)).dtype());
    assertEquals(DType.FLOAT64, Tensor.of(3, DType.FLOAT64).dtype());
    assertEquals(Scalar.of(3), Tensor.of(3).item());
    assertEquals(Scalar.of(true), Tensor.of(Scalar.of(true)).item());
    assertEquals(2.5, Tensor.of(2.5).item().doubleValue());
    assertEquals(Long.MAX_VALUE, Tensor.of(Long.MAX_VALUE).item().longValue());
    assertEquals(0, floats().dim() - 1);
    // Kinds matter in promotion: int64 with an integer stays, with a floating-point number does not.
    Tensor ints = Tensor.of(new long[] {1, 2});
    assertEquals(DType.INT64, ints.add(1).dtype());
    assertEquals(DType.FLOAT32, ints.add(1.0).dtype());
    assertEquals(DType.INT64, ints.add((short) 1).dtype());
    assertEquals(DType.FLOAT32, ints.add(1f).dtype());
    assertEquals("3", Scalar.of(3).toString());
    assertEquals(3, Scalar.of((Number) 3).intValue());
    assertNull(Scalar.of((Number) null));
    assertThrows(NullPointerException.class, () -> ints.add((Number) null));
    DType.setDefault(DType.FLOAT64);
    try {
      assertEquals(DType.FLOAT64, Tensor.of(1.5).dtype());
      assertEquals(DType.FLOAT64, DType.getDefault());
    } finally {
      DType.setDefault(DType.FLOAT32);
    }
  }

  @Test
  void dtypes() {
    // Every dtype of the library is one of Java's, with its name and size.
    int found = 0;
    for (int code = 0; code < 32; code++) {
      if (Native.trt_dtype_size(code) > 0) {
        assertEquals(code, DType.ofCode(code).code);
        assertEquals(Native.trt_dtype_name(code), DType.ofCode(code).name().toLowerCase());
        assertEquals(Native.trt_dtype_size(code), Tensor.zeros(new long[] {1}, DType.ofCode(code)).dtype().size());
        found++;
      }
    }
    assertEquals(DType.values().length, found);
    for (ErrorCode c : ErrorCode.values()) {
      assertEquals(c.name(), Native.trt_code_name(c.number()));
    }
    assertEquals("UNKNOWN", Native.trt_code_name(ErrorCode.values().length + 1));
    assertEquals(Device.META, Tensor.zeros(new long[] {2}, DType.FLOAT32, Device.META).device());
    assertEquals(Device.of("cuda:1"), new Device(Device.Type.CUDA, 1));
    assertEquals("cuda:1", Device.of("cuda:1").toString());
    assertEquals("cpu", Device.CPU.toString());
    assertThrows(IllegalArgumentException.class, () -> Device.of("abacus"));
  }

  @Test
  void forms() {
    Tensor m = Tensor.of(new float[] {1, 2, 3, 4, 5, 6}, 2, 3);
    assertEquals(21, m.sum().itemDouble());
    assertArrayEquals(new float[] {5, 7, 9}, m.sum(0).toFloatArray());
    assertArrayEquals(new float[] {6, 15}, m.sum(-1).toFloatArray());
    assertArrayEquals(new long[] {2, 1}, m.sum(1, true).shape());
    assertArrayEquals(new long[] {1, 1}, m.sum(new long[] {0, 1}, true).shape());
    assertEquals(DType.FLOAT64, m.sum(DType.FLOAT64).dtype());
    assertArrayEquals(new long[] {3, 2}, m.reshape(3, 2).shape());
    assertArrayEquals(new long[] {3, 2}, m.reshape(new long[] {3, -1}).shape());
    assertArrayEquals(new float[] {2, 5}, m.select(1, 1).toFloatArray());
    assertArrayEquals(new float[] {2, 3, 5, 6}, m.slice(1, 1, 3).toFloatArray());
    assertArrayEquals(new float[] {4, 5, 6}, m.slice(0, 1).toFloatArray());
    assertArrayEquals(new float[] {1, 4}, m.slice(1, null, null, 3).toFloatArray());
    assertArrayEquals(new long[] {4, 3}, Tensor.cat(m, m).shape());
    assertArrayEquals(new long[] {2, 6}, Tensor.cat(new Tensor[] {m, m}, 1).shape());
    assertArrayEquals(new float[] {1, 3, 5}, Tensor.arange(1, 6, 2).to(DType.FLOAT32).toFloatArray());
    assertEquals(DType.INT64, Tensor.arange(3).dtype());
    assertArrayEquals(new float[] {7, 7}, Tensor.full(new long[] {2}, 7.0).toFloatArray());
    assertArrayEquals(new float[] {14, 32, 32, 77}, m.matmul(m.t()).toFloatArray());
    try (TensorOperators.ValuesIndices top = m.max(1)) {
      assertArrayEquals(new float[] {3, 6}, top.values().toFloatArray());
      assertArrayEquals(new long[] {2, 2}, top.indices().toLongArray());
    }
    Tensor[] parts = m.split(2, 1);
    assertEquals(2, parts.length);
    assertArrayEquals(new float[] {3, 6}, parts[1].toFloatArray());
    assertTrue(m.equal(m.clone()));
    assertNotSame(m, m.clone());
    Tensor c = m.clone();
    assertSame(c, c.add_(1));
    assertArrayEquals(new float[] {2, 3, 4, 5, 6, 7}, c.toFloatArray());
    assertEquals(1, c.version());
    Tensor out = Tensor.empty(new long[] {2, 3});
    assertSame(out, m.addOut(m, 1, out));
    assertArrayEquals(m.mul(2).toFloatArray(), out.toFloatArray());
    // Overloads of one name: a tensor, a number, a number on the left.
    assertArrayEquals(new float[] {1, 4}, floats(1, 2).pow(2).toFloatArray());
    assertArrayEquals(new float[] {1, 4}, floats(1, 2).pow(floats(2, 2)).toFloatArray());
    assertArrayEquals(new float[] {2, 4}, Tensor.pow(2, floats(1, 2)).toFloatArray());
    Tensor image = Tensor.ones(1, 1, 4, 4);
    assertArrayEquals(new long[] {1, 1, 2, 2}, image.maxPool2d(2).shape());
    assertArrayEquals(new long[] {1, 1, 3, 2}, image.maxPool2d(new long[] {2, 2}, new long[] {1, 2}).shape());
    assertEquals(0.5, floats(1, 2).var().itemDouble());
    assertEquals(0.25, floats(1, 2).var(0, 0).itemDouble(), 0);
    // Optional tensors, texts and streams.
    Tensor scores = Tensor.of(new float[] {2, 0, 0, 2}, 2, 2);
    Tensor labels = Tensor.of(new long[] {0, 1});
    assertEquals(Math.log(1 + Math.exp(-2)), scores.crossEntropy(labels).itemDouble(), 1e-6);
    assertArrayEquals(new long[] {2}, scores.crossEntropy(labels, null, -100, "none").shape());
    try (Generator g = new Generator(7); Generator h = new Generator(7)) {
      assertArrayEquals(Tensor.rand(new long[] {4}, g).toFloatArray(), Tensor.rand(new long[] {4}, h).toFloatArray());
      assertEquals(new Generator.State(7, g.getState().offset()), h.getState());
    }
    assertArrayEquals(new long[] {3}, Tensor.rand(3).shape());
  }

  @Test
  void errors() {
    TensorException e = assertThrows(TensorException.InvalidArgument.class, () -> Tensor.zeros(2, 3).add(Tensor.zeros(4)));
    assertEquals(ErrorCode.INVALID_ARGUMENT, e.code());
    assertEquals("add", e.op());
    assertTrue(e.getMessage().contains("[2, 3]") && e.getMessage().contains("[4]"), e.getMessage());
    assertThrows(TensorException.OutOfRange.class, () -> Tensor.zeros(2).size(3));
    assertThrows(TensorException.InvalidArgument.class, () -> Tensor.zeros(2).add((Tensor) null));
    TensorException io = assertThrows(TensorException.NotFound.class, () -> StateDict.load("/nowhere/\u00e4\ud83d\ude00.safetensors"));
    assertTrue(io.getMessage().contains("/nowhere/\u00e4\ud83d\ude00.safetensors"), io.getMessage());
    assertThrows(IllegalArgumentException.class, () -> StateDict.load("a\0b"));
    TensorRuntime.setMemoryLimit(1 << 20);
    try {
      assertThrows(TensorException.OutOfMemory.class, () -> Tensor.zeros(1L << 24));
    } finally {
      TensorRuntime.setMemoryLimit(0);
    }
  }

  @Test
  void texts() {
    // Latin, beyond the basic plane, long enough for memory of its own, and what is no text.
    String odd = "w\u00fc\u4e16\ud83d\ude00" + "x".repeat(1000);
    StateDict dict = new StateDict();
    dict.set(odd, floats(1));
    assertEquals(odd, dict.names().get(0));
    assertTrue(dict.contains(odd));
    dict.set("half \ud83d", floats(1));
    assertEquals("half \ufffd", dict.names().get(1));
    dict.close();
  }

  @Test
  void buffersIn() {
    FloatBuffer b = ByteBuffer.allocateDirect(24).order(ByteOrder.nativeOrder()).asFloatBuffer();
    b.put(new float[] {9, 1, 2, 3, 4, 9});
    b.position(1).limit(5);
    Tensor t = Tensor.fromBuffer(b, 2, 2);
    assertArrayEquals(new float[] {1, 2, 3, 4}, t.toFloatArray());
    t.mul_(10);
    assertEquals(40, b.get(4));
    b.put(1, -1);
    assertEquals(-1, t.select(0, 0).select(0, 0).itemDouble());
    LongBuffer longs = ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asLongBuffer();
    longs.put(1, 5);
    assertArrayEquals(new long[] {0, 5}, Tensor.fromBuffer(longs).toLongArray());
    ByteBuffer bytes = ByteBuffer.allocateDirect(4);
    bytes.put(2, (byte) 3);
    assertArrayEquals(new byte[] {0, 0, 3, 0}, Tensor.fromBuffer(bytes, DType.UINT8).toByteArray());
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBuffer(bytes, DType.FLOAT32));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBuffer(FloatBuffer.allocate(4)));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBuffer(bytes.asReadOnlyBuffer(), DType.UINT8));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBuffer(b, 5));
    assertThrows(IllegalArgumentException.class, () -> Tensor.fromBuffer((java.nio.Buffer) bytes));
    assertThrows(TensorException.InvalidArgument.class, () -> Tensor.fromBuffer(ByteBuffer.allocateDirect(9).order(ByteOrder.nativeOrder()).position(1)
        .slice().order(ByteOrder.nativeOrder()), DType.FLOAT64));
  }

  @Test
  void buffersOut() {
    Tensor t = floats(1, 2, 3);
    FloatBuffer view = t.asByteBuffer().asFloatBuffer();
    t.add_(1);
    assertEquals(3, view.get(1));
    view.put(0, 7);
    assertArrayEquals(new float[] {7, 3, 4}, t.toFloatArray());
    t.close();
    assertEquals(7, view.get(0));
    assertThrows(IllegalStateException.class, () -> Tensor.zeros(2, 3).t().asByteBuffer());
    assertThrows(IllegalStateException.class, () -> Tensor.zeros(new long[] {2}, DType.FLOAT32, Device.META).asByteBuffer());
    ByteBuffer room = ByteBuffer.allocateDirect(20).order(ByteOrder.nativeOrder());
    room.position(4);
    floats(5, 6).copyTo(room, DType.FLOAT64);
    assertEquals(20, room.position());
    assertEquals(6, room.getDouble(12));
    assertThrows(IllegalArgumentException.class, () -> floats(5).copyTo(room, DType.FLOAT32));
    assertThrows(IllegalArgumentException.class, () -> floats(5).copyTo(ByteBuffer.allocate(9), DType.FLOAT32));
    assertEquals(0, Tensor.zeros(0).asByteBuffer().capacity());
  }

  @Test
  void gradients() {
    Tensor x = floats(1, 2, 3).setRequiresGrad(true);
    assertNull(x.grad());
    Tensor y = x.mul(x).sum();
    assertEquals("SumBackward0", y.gradFnName());
    assertNull(x.gradFnName());
    assertTrue(x.isLeaf() && !y.isLeaf() && y.requiresGrad());
    y.backward();
    assertArrayEquals(new float[] {2, 4, 6}, x.grad().toFloatArray());
    x.setGrad(null);
    assertNull(x.grad());
    x.mul(2).backward(floats(1, 10, 100), false, false);
    assertArrayEquals(new float[] {2, 20, 200}, x.grad().toFloatArray());
    // Second derivatives, unused inputs.
    Tensor z = x.pow(3).sum();
    Tensor unused = floats(1).setRequiresGrad(true);
    Tensor[] first = Autograd.grad(new Tensor[] {z}, new Tensor[] {x, unused}, null, true, true, true);
    assertNull(first[1]);
    Tensor[] second = Autograd.grad(new Tensor[] {first[0].sum()}, new Tensor[] {x}, null, false, false, false);
    assertArrayEquals(new float[] {6, 12, 18}, second[0].toFloatArray());
    assertThrows(TensorException.class, () -> Autograd.grad(new Tensor[] {x.sum()}, new Tensor[] {unused}, null, false, false, false));
    Autograd.backward(new Tensor[] {x.sum(), unused.sum()}, null, new Tensor[] {unused}, false, false);
    assertEquals(1, unused.grad().itemDouble());
    Tensor middle = x.mul(2);
    middle.retainGrad();
    middle.sum().backward();
    assertArrayEquals(new float[] {1, 1, 1}, middle.grad().toFloatArray());
    assertFalse(middle.detach().requiresGrad());
    assertTrue(middle.detach().sharesStorage(middle));
    Tensor product = middle.mul(middle);
    product.detachInPlace();
    assertTrue(product.isLeaf() && !product.requiresGrad());
    Tensor other = floats(7, 8);
    Tensor same = x.retain();
    x.setData(other);
    assertArrayEquals(new float[] {7, 8}, same.toFloatArray());
    assertTrue(x.sharesStorage(other) && x.requiresGrad());
    try (NoGrad mode = new NoGrad()) {
      assertFalse(NoGrad.isGradEnabled());
      assertFalse(x.mul(2).requiresGrad());
      try (EnableGrad on = new EnableGrad()) {
        assertTrue(x.mul(2).requiresGrad());
      }
      assertFalse(NoGrad.isGradEnabled());
    }
    assertTrue(NoGrad.isGradEnabled());
    try (InferenceMode mode = new InferenceMode()) {
      assertTrue(InferenceMode.isEnabled());
      mode.close();
      assertFalse(InferenceMode.isEnabled());
    }
    assertFalse(InferenceMode.isEnabled());
  }

  @Test
  void printing() {
    assertEquals("tensor([1., 2.])", floats(1, 2).toString());
    Tensor t = floats(1);
    t.close();
    assertEquals("Tensor(closed)", t.toString());
    assertTrue(TensorRuntime.buildInfo().contains(TensorRuntime.version()));
    assertEquals(TensorRuntime.version(), "0.1.0");
    int n = TensorRuntime.getNumThreads();
    TensorRuntime.setNumThreads(1);
    assertEquals(1, TensorRuntime.getNumThreads());
    TensorRuntime.setNumThreads(n);
  }
}
