"""Operators as functions and methods: how arguments are matched to signatures, results, documentation, and that nothing of the declarations is missing."""

import ctypes
import inspect
import unittest

import trt
from trt import _C
from trt.nn import functional as F


class Matching(unittest.TestCase):
    def setUp(self):
        self.x = trt.arange(6.0).view(2, 3)

    def test_positions_and_names(self):
        x = self.x
        expected = x.sum(1, True).tolist()
        for y in (trt.sum(x, 1, True), trt.sum(x, dim=1, keepdim=True), trt.sum(input=x, dim=1, keepdim=True), x.sum(dim=(1,), keepdim=True), x.sum([1], True),
                  trt.sum(x, axis=1, keepdims=True), trt.sum(self=x, dim=1, keepdim=True)):
            self.assertEqual(y.tolist(), expected)
        self.assertEqual(x.sum().item(), 15)
        self.assertEqual(x.sum(dim=None).item(), 15)
        self.assertEqual(x.sum((0, 1)).item(), 15)
        self.assertEqual(x.sum(dtype=trt.float64).dtype, trt.float64)
        self.assertEqual(trt.add(x, x, alpha=2).tolist(), (x * 3).tolist())

    def test_elements_standing_alone(self):
        x = self.x
        self.assertEqual(x.view(3, 2).shape, x.view((3, 2)).shape)
        self.assertEqual(x.view(-1).shape, (6,))
        self.assertEqual(x.reshape(3, -1).shape, (3, 2))
        self.assertEqual(x.permute(1, 0).shape, x.permute((1, 0)).shape)
        self.assertEqual(x.unsqueeze(0).expand(4, -1, -1).shape, (4, 2, 3))
        self.assertEqual(x.repeat(2, 2).shape, (4, 6))
        self.assertEqual(x.flip(0, 1)[0, 0].item(), 5)
        self.assertEqual(trt.zeros(()).shape, ())
        self.assertEqual([t.shape for t in trt.broadcast_tensors(x, trt.ones(3))], [(2, 3), (2, 3)])
        self.assertEqual(len(trt.meshgrid(trt.ones(2), trt.ones(3), indexing="ij")), 2)
        self.assertEqual(trt.meshgrid([trt.ones(2), trt.ones(3)])[0].shape, (2, 3))

    def test_overloads(self):
        x = self.x
        self.assertEqual(trt.max(x).item(), 5)
        values, indices = trt.max(x, 1)
        self.assertEqual((values.tolist(), indices.tolist()), ([2.0, 5.0], [2, 2]))
        self.assertEqual(trt.max(x, trt.full((2, 3), 3.0)).sum().item(), 3 * 4 + 4 + 5)
        self.assertEqual(x.max(dim=0, keepdim=True).values.shape, (1, 3))
        self.assertEqual((x.std().dim(), x.std(1).shape, x.std(1, True).shape, x.std(dim=1, unbiased=False).shape, x.std(unbiased=False).dim()), (0, (2,), (2,), (2,), 0))
        self.assertEqual(trt.pow(2, x).tolist(), (2**x).tolist())
        self.assertEqual(trt.clamp(x, 1, 3).max().item(), 3)
        self.assertEqual(x.clamp(min=trt.full((3,), 2.0)).min().item(), 2)
        self.assertEqual(x.clamp(trt.full((3,), 2.0), 4).max().item(), 4)
        self.assertEqual([t.shape for t in x.split(2, 1)], [(2, 2), (2, 1)])
        self.assertEqual([t.shape for t in x.split([1, 2], dim=1)], [(2, 1), (2, 2)])
        self.assertEqual(trt.randint(3, (2,)).shape, trt.randint(1, 3, (2,)).shape)
        self.assertEqual(x.norm().item(), x.norm(2).item())
        self.assertEqual(x.norm("fro", 1).shape, (2,))
        self.assertEqual(trt.where(x > 2, x, 0).sum().item(), 12)
        self.assertEqual(trt.where(x > 2, 1, 0).dtype, trt.int64)
        self.assertEqual([t.tolist() for t in trt.where(x > 3)], [[1, 1], [1, 2]])
        self.assertEqual(trt.div(x, 2, rounding_mode="floor").tolist(), [[0, 0, 1], [1, 2, 2]])
        self.assertEqual(x.masked_fill(x > 2, -1).min().item(), -1)
        self.assertEqual(trt.tensordot(x, x, ([0, 1], [0, 1])).item(), trt.tensordot(x, x, 2).item())
        self.assertEqual(trt.broadcast_shapes((2, 1), (3,)), (2, 3))
        self.assertEqual(x.roll(1, 1)[0].tolist(), [2, 0, 1])
        self.assertEqual(trt.nonzero(x, as_tuple=True)[1].tolist(), [1, 2, 0, 1, 2])

    def test_numbers(self):
        x = self.x
        self.assertEqual(x.sum(trt.tensor(1)).tolist(), x.sum(1).tolist())
        self.assertEqual((x * trt.tensor(2)).tolist(), x.mul(2).tolist())
        self.assertEqual(trt.full((2,), trt.tensor(3.0)).tolist(), [3, 3])
        self.assertEqual(trt.add(2, x).tolist(), (x + 2).tolist())
        self.assertEqual(trt.maximum(x, 3).min().item(), 3)
        self.assertEqual(F.dropout(x, 0, True).tolist(), x.tolist())
        with self.assertRaises(OverflowError):
            x + 2**70

    def test_number_first(self):
        x = trt.tensor([1.0, 2.0])
        for name, values in (("div", [3, 1.5]), ("divide", [3, 1.5]), ("true_divide", [3, 1.5]), ("mul", [3, 6]), ("multiply", [3, 6]), ("sub", [2, 1]), ("subtract", [2, 1])):
            self.assertEqual(getattr(trt, name)(3, x).tolist(), values, name)

    def test_out(self):
        x = self.x
        out = trt.empty(2, 3)
        self.assertIs(trt.add(x, 1, out=out), out)
        self.assertEqual(out.tolist(), (x + 1).tolist())
        values, indices = trt.empty(0), trt.empty(0, dtype=trt.int64)
        result = trt.sort(x, 1, True, out=(values, indices))
        self.assertIs(result[0], values)
        self.assertEqual(values[0].tolist(), [2, 1, 0])
        with self.assertRaisesRegex(TypeError, "out"):
            trt.sort(x, out=(values,))

    def test_errors(self):
        x = self.x
        for call, text in ((lambda: trt.relu("a"), "argument 'self' .*Tensor, not str"), (lambda: x.mul(), "received an invalid combination|missing"),
                           (lambda: trt.exp(x, 1), "takes 1 positional"), (lambda: x.tril(diagonal="a"), "argument 'diagonal' .*int, not str"),
                           (lambda: x.tril(nonsense=1), "unexpected keyword argument 'nonsense'"), (lambda: x.tril(1, diagonal=1), "multiple values"),
                           (lambda: trt.max(x, "a"), r"(?s)invalid combination.*got \(Tensor, str\).*max|Tensor input"), (lambda: x.view(2, "a"), "view"),
                           (lambda: trt.cat([x, 1]), "tensors"), (lambda: x.transpose(1), "missing"), (lambda: trt.zeros(2, dtype="float32"), "dtype"),
                           (lambda: trt.linear(x, 3), "weight")):
            with self.assertRaisesRegex(TypeError, text):
                call()
        with self.assertRaisesRegex(RuntimeError, "nonsense"):
            trt.zeros(2, device="nonsense")

    def test_results(self):
        result = trt.sort(self.x)
        self.assertIs(result.values, result[0])
        self.assertIsInstance(result, tuple)
        self.assertIsInstance(result, trt.return_types.sort)
        self.assertIs(trt.equal(self.x, self.x), True)
        self.assertIsInstance(self.x.unbind(), tuple)


class Completeness(unittest.TestCase):
    def test_every_operator_is_there(self):
        # What is in the table and neither a function nor a method is internal: it has no C function.
        names = {n.split(".")[0] for n in trt.ops.names()}
        here = {n for n in names if n in _C._operators or hasattr(trt.Tensor, n)}
        library = ctypes.CDLL(_C.__file__)  # finds the library's functions, too
        self.assertEqual([n for n in names - here if hasattr(library, "trt_" + n)], [])
        self.assertGreater(len(here), 300)

    def test_methods_and_functions_belong_together(self):
        self.assertIs(type(trt.add), type(len))
        for name in ("add", "sum", "view", "exp_", "masked_fill_", "float", "contiguous"):
            self.assertTrue(hasattr(trt.Tensor, name), name)
        self.assertFalse(hasattr(trt, "exp_"))
        self.assertIs(trt.float, trt.float32)  # not the method's function
        self.assertTrue(callable(F.conv2d) and callable(F.cross_entropy) and callable(F.gelu))

    def test_documentation(self):
        for name, function in _C._operators.items():
            self.assertIn(name + "(", function.__doc__, name)
            self.assertIn("->", function.__doc__, name)
            self.assertGreater(len(function.__doc__.strip().split("\n")), 2, name)
        self.assertEqual(str(inspect.signature(trt.softmax)), "(input, dim, dtype=None, *, out=None)")
        self.assertEqual(str(inspect.signature(trt.Tensor.sum)), "(self, /, dim=None, keepdim=False, *, dtype=None, out=None)")

    def test_boxed_calls(self):
        x = trt.ones(2)
        self.assertEqual(trt.ops.call("add.Scalar", x, 2, alpha=3).tolist(), [7, 7])
        self.assertIs(trt.ops.call("add_", x, trt.ones(2)), x)
        self.assertEqual([t.tolist() for t in trt.ops.call("split", x, 1)], [[2], [2]])
        self.assertTrue(trt.ops.schema("add").startswith("add(Tensor self"))
        with self.assertRaises(trt.NotFoundError):
            trt.ops.call("nonsense")
        with self.assertRaises(TypeError):
            trt.ops.call("add", x, object())


class Factories(unittest.TestCase):
    def test_out(self):
        calls = {"zeros": ((3,),), "ones": ((3,),), "full": ((3,), 2.5), "arange": (3,), "linspace": (0, 1, 3), "logspace": (0, 1, 3), "eye": (2, 3), "rand": ((3,),),
                 "randn": ((2, 2),), "randint": (0, 9, (3,)), "randperm": (5,), "normal": (1.0, 2.0, (3,)), "empty": ((4,),)}
        for name, args in calls.items():
            f = getattr(trt, name)
            for dtype in (trt.float32, trt.float64):
                trt.manual_seed(3)
                expected = f(*args, dtype=dtype)
                for out in (trt.empty(0, dtype=dtype), trt.empty(expected.shape, dtype=dtype), trt.empty(*expected.shape, 2, dtype=dtype)[..., 0]):
                    version = out._version
                    trt.manual_seed(3)
                    self.assertIs(f(*args, out=out), out, name)
                    self.assertEqual((out.shape, out.dtype), (expected.shape, dtype), name)
                    self.assertGreater(out._version, version)
                    if name != "empty":
                        self.assertEqual(out.tolist(), expected.tolist(), name)
            self.assertIs(f(*args, out=out, dtype=trt.float64), out)
            with self.assertRaisesRegex(RuntimeError, f"{name}: dtype float32 does not match that of 'out', float64"):
                f(*args, out=out, dtype=trt.float32)
            leaf = trt.empty(expected.shape, requires_grad=True)
            with self.assertRaisesRegex(RuntimeError, name):
                f(*args, out=leaf)
        out = trt.empty(3)
        self.assertTrue(trt.rand(3, out=out, requires_grad=True).requires_grad and out.requires_grad)
        mean, std = trt.zeros(3), trt.ones(3)
        for args in ((mean, 1.0), (0.0, std), (mean, std)):
            trt.manual_seed(1)
            expected = trt.normal(*args)
            trt.manual_seed(1)
            self.assertEqual(trt.normal(*args, out=trt.empty(3)).tolist(), expected.tolist())
        self.assertEqual(trt.bernoulli(std, out=trt.empty(3)).tolist(), [1, 1, 1])
        self.assertEqual(trt.complex(mean, std, out=trt.empty(3, dtype=trt.complex64)).tolist(), [1j] * 3)
        self.assertEqual(trt.multinomial(trt.tensor([0.0, 1.0]), 1, out=trt.empty(1, dtype=trt.int64)).tolist(), [1])

    def test_names_in_errors(self):
        # The operator that was called comes first; one that it is made of, at the end.
        F = trt.nn.functional
        for call, name, inner in ((lambda: F.kl_div(trt.ones(3), trt.ones(4), "sum"), "kl_div", "mul"), (lambda: trt.hstack([trt.ones(2, 2), trt.ones(3, 3)]), "hstack", "cat"),
                                  (lambda: trt.add(trt.ones(2), trt.ones(3)), "add", None)):
            with self.assertRaises(trt.InvalidArgumentError) as caught:
                call()
            message = str(caught.exception)
            self.assertTrue(message.startswith(name + ": ") and message.count(": ") == 1, message)
            self.assertEqual(message.endswith(f" (in {inner})"), inner is not None, message)
            self.assertEqual(caught.exception.op, name)


if __name__ == "__main__":
    unittest.main()
