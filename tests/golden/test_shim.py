#!/usr/bin/env python3
"""The ctypes shim: data in and out, calls, errors, gradients."""

import math
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bindings", "python", "shim"))

import trt_shim as trt  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


class Shim(unittest.TestCase):
    def test_data_of_every_dtype(self):
        for name, d in trt.DTYPES.items():
            values = [True, False] if name == "bool" else [1, 2] if not d.is_floating_point else [1.5, -2.0]
            t = trt.from_flat(values, [2], name)
            self.assertEqual(t.dtype, d)
            self.assertEqual(t.tolist(), values, name)

    def test_nested_lists_and_inference(self):
        self.assertEqual(trt.tensor([[1, 2], [3, 4]]).dtype.name, "int64")
        self.assertEqual(trt.tensor(1.5).shape, ())
        self.assertEqual(trt.tensor([[1.0], [2.0]]).tolist(), [[1.0], [2.0]])
        self.assertEqual(trt.tensor([True]).dtype.name, "bool")
        with self.assertRaises(ValueError):
            trt.tensor([[1], [2, 3]])

    def test_strides(self):
        t = trt.from_flat([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3], "float64", strides=[1, 2])
        self.assertFalse(t.is_contiguous())
        self.assertEqual(t.strides, (1, 2))
        self.assertEqual(t.tolist(), [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        t.release()
        self.assertFalse(trt._blobs)

    def test_bfloat16_rounding(self):
        t = trt.from_flat([1 + 2**-8, 1 + 3 * 2**-8, math.inf, 1e39], [4], "bfloat16")
        self.assertEqual(t.tolist(), [1.0, 1 + 2**-6, math.inf, math.inf])
        self.assertTrue(math.isnan(trt.from_flat([math.nan], [1], "bfloat16").item()))

    def test_calls(self):
        x = trt.tensor([1.0, 2.0])
        self.assertEqual(trt.call("add", x, x, alpha=2).tolist(), [3.0, 6.0])
        self.assertEqual((x * 3).tolist(), [3.0, 6.0])
        values, indices = trt.call("max.dim", x, 0)
        self.assertEqual((values.item(), indices.item()), (2.0, 1))
        self.assertEqual([t.item() for t in trt.call("split", x, 1)], [1.0, 2.0])
        self.assertEqual(trt.call("cat", [x, x]).shape, (4,))
        self.assertEqual(trt.call("zeros", [2, 3], dtype=trt.dtype("int32")).dtype.name, "int32")
        self.assertIn("add.out", trt.operators())
        self.assertTrue(trt.schema("add").startswith("add(Tensor self"))

    def test_errors(self):
        x = trt.tensor([1.0, 2.0])
        with self.assertRaises(trt.Error) as e:
            trt.call("add", x, trt.tensor([1.0, 2.0, 3.0]))
        self.assertEqual(e.exception.code, "INVALID_ARGUMENT")
        with self.assertRaises(trt.Error) as e:
            trt.call("no_such_operator", x)
        self.assertEqual(e.exception.code, "NOT_FOUND")
        with self.assertRaises(TypeError):
            trt.call("add", x, object())

    def test_gradients(self):
        x = trt.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        y = trt.call("sum", trt.call("mul", x, x))
        y.backward()
        self.assertEqual(x.grad.tolist(), [[2.0, 4.0], [6.0, 8.0]])
        x.grad = None
        self.assertIsNone(x.grad)
        g, none = trt.grad([trt.call("sum", x * x)], [x, trt.tensor([1.0], requires_grad=True)], allow_unused=True)
        self.assertEqual(g.tolist(), [[2.0, 4.0], [6.0, 8.0]])
        self.assertIsNone(none)
        self.assertFalse(x.detach().requires_grad)

    @unittest.skipIf(numpy is None, "numpy is not installed")
    def test_numpy(self):
        a = numpy.arange(6, dtype="float32").reshape(2, 3)
        self.assertTrue((trt.from_numpy(a.T).numpy() == a.T).all())
        self.assertEqual(trt.from_numpy(numpy.float64(2.0)).shape, ())


if __name__ == "__main__":
    unittest.main()
