"""trt.Tensor: creation, operators of the language, metadata, conversions, errors."""

import copy
import gc
import math
import unittest
import weakref

import trt


class Creation(unittest.TestCase):
    def test_results_keep_the_order_in_memory(self):
        a, b = trt.rand(2, 3, 4), trt.rand(4, 6)[:, ::2].t()
        turned = a.permute(2, 0, 1)
        # Strides of PyTorch's results.
        self.assertEqual([b.clone().stride(), b.double().stride(), (b + 1).stride(), trt.sin(b).stride()], [(1, 3)] * 4)
        likes = (trt.empty_like, trt.zeros_like, trt.ones_like, lambda t: trt.full_like(t, 2), trt.rand_like, trt.randn_like, lambda t: trt.randint_like(t, 5))
        self.assertEqual([f(b).stride() for f in likes] + [f(turned).stride() for f in likes], [(1, 3)] * 7 + [(1, 12, 4)] * 7)
        self.assertTrue(trt.equal(trt.full_like(b, 2), trt.full((3, 4), 2.0)))
        self.assertEqual([trt.sin(turned).stride(), (turned + trt.rand(3)).stride(), (trt.rand(4, 1, 1) + turned).stride()], [(1, 12, 4)] * 3)
        square = trt.rand(2, 2)
        self.assertEqual([(square.t() + square).stride(), (square + square.t()).stride()], [(1, 2), (2, 1)])
        self.assertEqual([(trt.rand(3, 1) + trt.rand(4)).stride(), (trt.rand(3, 1).expand(3, 2) * 2).stride()], [(4, 1), (2, 1)])

    def test_inference_of_dtypes(self):
        for data, dtype in ((1, trt.int64), (1.5, trt.float32), (True, trt.bool), ([1, 2], trt.int64), ([1, 2.0], trt.float32), ([True, 2], trt.int64),
                            ([True, False], trt.bool), ([], trt.float32), ([[]], trt.float32), ((1, (2)), trt.int64), (range(3), trt.int64)):
            self.assertEqual(trt.tensor(data).dtype, dtype, data)
        self.assertEqual(trt.tensor([[], []]).shape, (2, 0))

    def test_default_dtype(self):
        self.assertEqual(trt.get_default_dtype(), trt.float32)
        trt.set_default_dtype(trt.float64)
        try:
            self.assertEqual(trt.tensor(1.5).dtype, trt.float64)
            self.assertEqual(trt.zeros(2).dtype, trt.float64)
        finally:
            trt.set_default_dtype(trt.float32)
        with self.assertRaises(ValueError):
            trt.set_default_dtype(trt.int64)

    def test_nested(self):
        x = trt.tensor([[1, 2, 3], [4, 5, 6]])
        self.assertEqual((x.shape, x.tolist()), ((2, 3), [[1, 2, 3], [4, 5, 6]]))
        self.assertEqual(trt.tensor([trt.tensor(1.0), trt.tensor(2.0)]).tolist(), [1.0, 2.0])
        self.assertEqual(trt.tensor([trt.tensor([1, 2], dtype=trt.int8), trt.tensor([3, 4], dtype=trt.int8)]).dtype, trt.int8)
        for data in ([[1], [2, 3]], [[1, 2], 3], [1, [2]], [[1, 2], [3, [4]]]):
            with self.assertRaises((ValueError, TypeError), msg=data):
                trt.tensor(data)
        for data in ("text", ["a"], object(), None, [None], {1: 2}):
            with self.assertRaises(TypeError, msg=data):
                trt.tensor(data)

    def test_every_dtype(self):
        for name in ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16"):
            dtype = getattr(trt, name)
            values = [True, False] if name == "bool" else [1.5, 2.0] if dtype.is_floating_point else [1, 2]
            x = trt.tensor(values, dtype=dtype)
            self.assertEqual((x.dtype, x.tolist()), (dtype, values))
            self.assertEqual(x.element_size(), dtype.itemsize)
            self.assertEqual(repr(dtype), "trt." + name)

    def test_overflow(self):
        with self.assertRaisesRegex(RuntimeError, "300"):
            trt.tensor([1, 300], dtype=trt.uint8)
        with self.assertRaises(OverflowError):
            trt.tensor(2**70)
        self.assertEqual(trt.tensor([2**62, -(2**63)]).tolist(), [2**62, -(2**63)])

    def test_copies(self):
        x = trt.tensor([1.0, 2.0], requires_grad=True)
        y = trt.tensor(x)
        y[0] = 5
        self.assertEqual(x.tolist(), [1.0, 2.0])
        self.assertFalse(y.requires_grad)
        self.assertIs(trt.as_tensor(x), x)
        self.assertEqual(trt.as_tensor([1, 2], dtype=trt.float64).dtype, trt.float64)

    def test_factories(self):
        self.assertEqual(trt.zeros(2, 3).shape, (2, 3))
        self.assertEqual(trt.zeros((2, 3)).shape, trt.zeros([2, 3]).shape)
        self.assertEqual(trt.zeros(trt.Size([2, 3]), dtype=trt.int8).dtype, trt.int8)
        self.assertEqual(trt.ones(2, dtype=int).tolist(), [1, 1])
        self.assertEqual(trt.full((2,), 7).dtype, trt.int64)
        self.assertEqual(trt.arange(5).tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(trt.arange(1, 2, 0.5).tolist(), [1.0, 1.5])
        self.assertEqual(trt.linspace(0, 1, 3).tolist(), [0.0, 0.5, 1.0])
        self.assertEqual(trt.eye(2).tolist(), [[1.0, 0.0], [0.0, 1.0]])
        self.assertTrue(trt.rand(3, requires_grad=True).requires_grad)
        self.assertEqual(trt.empty(0).numel(), 0)
        self.assertEqual(trt.zeros_like(trt.ones(2, 2)).sum().item(), 0)
        self.assertEqual(trt.ones(2).new_zeros(3, 1).shape, (3, 1))
        self.assertEqual(trt.ones(2, dtype=trt.float64).new_tensor([1]).dtype, trt.float64)
        self.assertEqual(trt.zeros(2, device="meta").device.type, "meta")
        self.assertEqual(trt.randperm(5).sort().values.tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(trt.Tensor(2, 3).shape, (2, 3))
        self.assertEqual(trt.Tensor([1, 2]).dtype, trt.float32)

    def test_random_streams(self):
        trt.manual_seed(3)
        a = trt.randn(4)
        trt.manual_seed(3)
        self.assertTrue(trt.equal(a, trt.randn(4)))
        g = trt.Generator().manual_seed(3)
        self.assertTrue(trt.equal(a, trt.randn(4, generator=g)))
        state = g.get_state()
        b = trt.rand(2, generator=g)
        g.set_state(state)
        self.assertTrue(trt.equal(b, trt.rand(2, generator=g)))
        self.assertEqual((g.initial_seed(), trt.initial_seed()), (3, 3))
        offset = g.get_offset()
        c = trt.rand(2, generator=g)
        self.assertGreater(g.get_offset(), offset)
        self.assertTrue(trt.equal(c, trt.rand(2, generator=trt.Generator().manual_seed(3).set_offset(offset))))
        state = trt.get_rng_state()
        b = trt.rand(2)
        trt.set_rng_state(state)
        self.assertTrue(trt.equal(b, trt.rand(2)))


class Operators(unittest.TestCase):
    def test_arithmetic(self):
        a, b = trt.tensor([1.0, -2.0, 3.0]), trt.tensor([4.0, 5.0, -6.0])
        x, y = a.tolist(), b.tolist()
        for f in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q, lambda p, q: p // q, lambda p, q: p % q):
            expected = [f(p, q) for p, q in zip(x, y)]
            trt.testing.assert_close(f(a, b), expected)
            trt.testing.assert_close(f(a, 2.5), [f(p, 2.5) for p in x])
            trt.testing.assert_close(f(2.5, a), [f(2.5, p) for p in x])
            trt.testing.assert_close(f(a, 2), [f(p, 2) for p in x])
            trt.testing.assert_close(f(2, a), [f(2, p) for p in x])
        trt.testing.assert_close(a**2, [p**2 for p in x])
        trt.testing.assert_close(2**a, [2**p for p in x])
        trt.testing.assert_close(abs(a), [abs(p) for p in x])
        trt.testing.assert_close(-a, [-p for p in x])
        self.assertEqual((a @ b).item(), sum(p * q for p, q in zip(x, y)))
        with self.assertRaises(TypeError):
            pow(a, 2, 3)

    def test_integers_and_bools(self):
        a, b = trt.tensor([6, 5]), trt.tensor([3, 1])
        self.assertEqual([(a & b).tolist(), (a | b).tolist(), (a ^ b).tolist(), (a << b).tolist(), (a >> b).tolist(), (~a).tolist()],
                         [[2, 1], [7, 5], [5, 4], [48, 10], [0, 2], [-7, -6]])
        self.assertEqual((a & 2).tolist(), [2, 0])
        self.assertEqual((2 & a).tolist(), [2, 0])
        m = trt.tensor([True, False])
        self.assertEqual([(~m).tolist(), (m & True).tolist(), (m | trt.tensor([True, True])).tolist()], [[False, True], [True, False], [True, True]])
        self.assertEqual((a / b).dtype, trt.float32)
        self.assertEqual((a // b).dtype, trt.int64)

    def test_promotion_with_numbers(self):
        for dtype in (trt.float16, trt.bfloat16, trt.float64):
            x = trt.ones(2, dtype=dtype)
            for y in (x + 1, 1 + x, x * 2.5, 2.5 - x, x / 2, 2 / x, x**2, 2.0**x, x // 2, 2 // x):
                self.assertEqual(y.dtype, dtype)
        i = trt.ones(2, dtype=trt.int8)
        self.assertEqual((i + 1).dtype, trt.int8)
        self.assertEqual((1 - i).dtype, trt.int8)
        self.assertEqual((i + 1.5).dtype, trt.float32)
        self.assertEqual((i > 0.5).dtype, trt.bool)
        self.assertEqual(trt.where(trt.tensor([True, False]), trt.ones(2, dtype=trt.float64), 0).dtype, trt.float64)
        self.assertEqual((trt.tensor([True]) + 1).dtype, trt.int64)
        self.assertEqual(trt.promote_types(trt.int32, trt.float16), trt.float16)
        self.assertEqual(trt.result_type(trt.ones(1, dtype=trt.int8), 1.0), trt.float32)
        self.assertTrue(trt.can_cast(trt.int64, trt.float32))
        self.assertFalse(trt.can_cast(trt.float32, trt.int64))

    def test_in_place(self):
        x = trt.ones(3)
        same = x
        x += 1
        x *= trt.tensor([1.0, 2.0, 3.0])
        x -= 1
        x /= 2
        self.assertIs(x, same)
        self.assertEqual(x.tolist(), [0.5, 1.5, 2.5])
        self.assertIs(x.add_(1, alpha=2), x)
        i = trt.tensor([5, 6])
        same = i
        i //= 2
        i |= 1
        i <<= 1
        self.assertIs(i, same)
        self.assertEqual(i.tolist(), [6, 6])
        x @= trt.ones(3)  # there is no such operator in place: a new tensor
        self.assertEqual(x.dim(), 0)

    def test_comparisons(self):
        a = trt.tensor([1, 2, 3])
        self.assertEqual([(a == 2).tolist(), (a != 2).tolist(), (a < 2).tolist(), (a <= 2).tolist(), (2 > a).tolist(), (a >= trt.tensor([3, 2, 1])).tolist()],
                         [[False, True, False], [True, False, True], [True, False, False], [True, True, False], [True, False, False], [False, True, True]])
        self.assertFalse(a == "text")
        self.assertTrue(a != None)  # noqa: E711
        self.assertIn(2, a)
        self.assertNotIn(7, a)
        with self.assertRaises(TypeError):
            a < "text"
        self.assertEqual(len({a, a, trt.tensor(1)}), 2)

    def test_truth_and_numbers(self):
        self.assertTrue(trt.tensor([2]))
        self.assertFalse(trt.tensor(0.0))
        self.assertEqual((int(trt.tensor(2.7)), float(trt.tensor(2)), bool(trt.tensor(True))), (2, 2.0, True))
        self.assertEqual(["a", "b", "c"][trt.tensor(1)], "b")
        self.assertEqual(list(range(trt.tensor(3))), [0, 1, 2])
        self.assertIs(type(trt.tensor(True).item()), bool)
        self.assertIs(type(trt.tensor(1).item()), int)
        self.assertTrue(math.isnan(trt.tensor(math.nan).item()))
        self.assertEqual(math.sqrt(trt.tensor(4.0)), 2.0)
        for bad in (lambda: bool(trt.ones(2)), lambda: bool(trt.ones(0)), lambda: trt.ones(2).item(), lambda: float(trt.ones(2))):
            with self.assertRaises(RuntimeError):
                bad()
        with self.assertRaises(TypeError):
            [1][trt.tensor(0.0)]

    def test_sequence_protocol(self):
        x = trt.tensor([[1, 2], [3, 4]])
        self.assertEqual(len(x), 2)
        self.assertEqual([row.tolist() for row in x], [[1, 2], [3, 4]])
        a, b = x
        self.assertEqual(b.tolist(), [3, 4])
        self.assertEqual(list(reversed(trt.tensor([1, 2])))[0].item(), 2)
        for bad in (lambda: len(trt.tensor(1)), lambda: iter(trt.tensor(1))):
            with self.assertRaisesRegex(TypeError, "0-d"):
                bad()

    def test_text(self):
        self.assertEqual(repr(trt.tensor([1.0, 2.5])), "tensor([1.0000, 2.5000])")
        self.assertEqual(f"{trt.tensor(1.23456):.2f} {trt.tensor(3)}", "1.23 3")
        self.assertIn("requires_grad=True", repr(trt.ones(1, requires_grad=True)))
        self.assertIn("grad_fn=<AddBackward0>", repr(trt.ones(1, requires_grad=True) + trt.ones(1)))
        self.assertEqual(str(trt.ones(2, 3).shape), "trt.Size([2, 3])")


class Metadata(unittest.TestCase):
    def test_sizes(self):
        x = trt.zeros(2, 3, 4)
        self.assertEqual((x.shape, x.size(), x.size(1), x.size(dim=-1), x.ndim, x.dim(), x.numel(), x.nelement()), ((2, 3, 4), (2, 3, 4), 3, 4, 3, 3, 24, 24))
        self.assertEqual((x.stride(), x.stride(0), x.storage_offset(), x[1].storage_offset()), ((12, 4, 1), 12, 0, 12))
        self.assertIsInstance(x.shape, trt.Size)
        self.assertEqual(x.shape.numel(), 24)
        self.assertIsInstance(x.shape[1:], trt.Size)
        self.assertIsInstance(x.shape + (1,), trt.Size)
        with self.assertRaises(IndexError):
            x.size(3)
        self.assertEqual((x.itemsize, x.nbytes, x.element_size()), (4, 96, 4))
        self.assertTrue(x.is_contiguous() and x.is_floating_point() and x.is_cpu and not x.is_cuda)
        self.assertFalse(x.transpose(0, 1).is_contiguous())
        self.assertEqual(x.transpose(0, 1).dim_order(), (1, 0, 2))

    def test_device(self):
        d = trt.device("cpu")
        self.assertEqual((d, d.type, d.index, str(d), repr(d)), (trt.zeros(1).device, "cpu", None, "cpu", "device(type='cpu')"))
        self.assertEqual((trt.device("cuda:1").index, trt.device("cuda", 1), str(trt.device("cuda:1"))), (1, trt.device("cuda:1"), "cuda:1"))
        self.assertEqual(len({trt.device("cpu"), trt.device("cpu"), trt.device("meta")}), 2)
        for bad in ("nonsense", "cpu:x", "cuda:", ""):
            with self.assertRaises(RuntimeError, msg=bad):
                trt.device(bad)
        with self.assertRaises(TypeError):
            trt.device(1.5)

    def test_dtype(self):
        self.assertIs(trt.ones(1).dtype, trt.float32)
        self.assertIs(trt.float, trt.float32)
        self.assertTrue(trt.bfloat16.is_floating_point and not trt.int8.is_floating_point and trt.int8.is_signed and not trt.uint8.is_signed)
        self.assertEqual((trt.finfo(trt.float32).eps, trt.finfo(trt.float16).max, trt.iinfo(trt.int8).min, trt.iinfo(trt.uint8).max), (2.0**-23, 65504.0, -128, 255))
        with self.assertRaises(TypeError):
            trt.dtype()

    def test_conversion(self):
        x = trt.tensor([1.5, -2.5])
        self.assertIs(x.to(trt.float32), x)
        self.assertIs(x.to("cpu"), x)
        self.assertIs(x.contiguous(), x)
        self.assertIsNot(x.to(trt.float32, copy=True), x)
        self.assertEqual(x.to(trt.int64).tolist(), [1, -2])
        self.assertEqual(x.to("cpu", trt.float64).dtype, trt.float64)
        self.assertEqual(x.to(trt.ones(1, dtype=trt.float16)).dtype, trt.float16)
        self.assertEqual((x.double().dtype, x.half().dtype, x.bfloat16().dtype, x.int().dtype, x.long().dtype, x.bool().dtype), 
                         (trt.float64, trt.float16, trt.bfloat16, trt.int32, trt.int64, trt.bool))
        self.assertEqual(x.type(trt.float64).dtype, trt.float64)
        self.assertEqual(x.to(device="meta").device, trt.device("meta"))
        with self.assertRaises(TypeError):
            x.to(3)

    def test_attributes_and_references(self):
        x = trt.ones(2)
        x.note = [x]  # a cycle through an attribute
        ref = weakref.ref(x)
        self.assertIs(ref(), x)
        del x
        gc.collect()
        self.assertIsNone(ref())

        class Mine(trt.Tensor):
            pass

        m = Mine([1.0])
        m.note = 1
        self.assertIsInstance(m, Mine)
        self.assertIs(type(m + 1), trt.Tensor)
        ref = weakref.ref(m)
        del m
        self.assertIsNone(ref())

    def test_data_and_versions(self):
        x = trt.ones(2, requires_grad=True)
        x.data.mul_(3)
        self.assertEqual(x.tolist(), [3.0, 3.0])
        y = x.detach()
        self.assertTrue(y._shares_storage(x))
        before = y._version
        y.add_(1)
        self.assertEqual(x._version, before + 1)

    def test_copying(self):
        x = trt.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        y = copy.deepcopy(x)
        self.assertTrue(y.requires_grad and trt.equal(y.grad, x.grad))
        self.assertFalse(y._shares_storage(x))
        with self.assertRaises(RuntimeError):
            copy.deepcopy(x * 2)
        self.assertTrue(copy.copy(x)._shares_storage(x) or trt.equal(copy.copy(x), x))


class Errors(unittest.TestCase):
    def test_classes(self):
        with self.assertRaises(trt.Error) as e:
            trt.ones(2) + trt.ones(3)
        self.assertEqual((e.exception.code, e.exception.op), ("INVALID_ARGUMENT", "add"))
        self.assertIsInstance(e.exception, (RuntimeError, ValueError))
        self.assertRegex(str(e.exception), r"add: .*\[2\].*\[3\]")
        with self.assertRaises(IndexError) as e:
            trt.ones(2).sum(5)
        self.assertIsInstance(e.exception, trt.OutOfRangeError)
        with self.assertRaises(MemoryError) as e:
            trt.empty(2**50)
        self.assertIsInstance(e.exception, trt.OutOfMemoryError)
        with self.assertRaises(LookupError):
            trt.ops.schema("nonsense")
        with self.assertRaises(FileNotFoundError) as e:
            trt.load("/no/such/file")
        self.assertIsInstance(e.exception, trt.NotFoundError)

    def test_nothing_happened(self):
        x = trt.ones(2)
        with self.assertRaises(RuntimeError):
            x += trt.ones(3)
        self.assertEqual(x.tolist(), [1.0, 1.0])


class Memory(unittest.TestCase):
    def test_objects_release_their_memory(self):
        gc.collect()
        before = trt.memory.stats()["allocated_current"]
        for _ in range(200):
            x = trt.ones(1000, requires_grad=True)
            y = (x[:500] * 2).view(10, 50).sum(1)
            y.sum().backward()
            x.grad
            [t for t in y]
            del x, y
        gc.collect()
        self.assertEqual(trt.memory.stats()["allocated_current"], before)

    def test_limit(self):
        limit = trt.memory.stats()["reserved_current"] + (1 << 20)
        trt.memory.set_limit(limit)
        try:
            with self.assertRaises(trt.OutOfMemoryError):
                trt.empty(1 << 22)
        finally:
            trt.memory.set_limit(None)
        self.assertEqual(trt.empty(1 << 22).numel(), 1 << 22)


if __name__ == "__main__":
    unittest.main()
