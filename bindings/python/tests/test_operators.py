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
        self.assertTrue(trt.exp_ and not hasattr(trt, "uniform_"))  # in-place forms of functions
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


class LaterOperators(unittest.TestCase):
    """Values recorded from PyTorch 2.15."""

    def test_fractional_max_pool(self):
        F = trt.nn.functional
        x = ((trt.arange(45.0) * 37) % 101).reshape(1, 1, 5, 9)
        s = trt.tensor([[[0.3, 0.8]]])
        y, at = F.fractional_max_pool2d(x, (2, 3), output_size=(3, 4), _random_samples=s, return_indices=True)
        self.assertEqual(y.tolist(), [[[[74, 77, 84, 94], [97, 77, 80, 87], [93, 100, 73, 83]]]])
        self.assertEqual(at.tolist(), [[[[2, 13, 5, 8], [19, 13, 24, 16], [38, 30, 32, 35]]]])
        self.assertEqual(F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.4), _random_samples=s).tolist(), [[[[67, 77, 94], [90, 100, 83]]]])
        v = ((trt.arange(120.0) * 53) % 127).reshape(1, 4, 5, 6)
        y, at = F.fractional_max_pool3d(v, 2, output_size=(2, 3, 3), _random_samples=trt.tensor([[[0.9, 0.25, 0.6]]]), return_indices=True)
        self.assertEqual(y.tolist(), [[[[119, 109, 88], [120, 109, 88], [121, 110, 89]], [[124, 114, 93], [125, 114, 93], [126, 115, 94]]]])
        self.assertEqual(at.tolist(), [[[[31, 38, 40], [43, 38, 40], [55, 50, 52]], [[91, 98, 100], [103, 98, 100], [115, 110, 112]]]])
        # Each maximum lies where the index says, and gets the gradient.
        x = trt.rand(2, 3, 9, 10, requires_grad=True)
        y, at = F.fractional_max_pool2d(x, 3, output_size=4, return_indices=True)
        self.assertTrue(trt.equal(x.flatten(2).gather(2, at.flatten(2)).reshape(y.shape), y))
        y.sum().backward()
        self.assertEqual(float(x.grad.sum()), y.numel())
        layer = trt.nn.FractionalMaxPool2d(3, output_ratio=0.5)
        self.assertEqual(layer(x).shape, (2, 3, 4, 5))
        self.assertEqual(trt.nn.FractionalMaxPool3d(2, output_size=3)(trt.rand(2, 5, 5, 5)).shape, (2, 3, 3, 3))
        trt.manual_seed(1)
        first = F.fractional_max_pool2d(x, 3, output_size=4)
        trt.manual_seed(1)
        self.assertTrue(trt.equal(first, F.fractional_max_pool2d(x, 3, output_size=4)))
        # Samples out of range do not lead out of the input.
        for bad in (-5.0, 7.0, 1e30, -1e30, float("nan"), float("inf")):
            F.fractional_max_pool2d(x, 3, output_size=4, _random_samples=trt.full((2, 3, 2), bad))
        for kwargs, text in (({}, "output_size or output_ratio"), ({"output_size": 9}, "do not fit"), ({"output_ratio": 1.5}, r"output_ratio must lie in \(0, 1\)"),
                             ({"output_size": 4, "_random_samples": trt.rand(1, 3, 2)}, "random_samples must have the shape"),
                             ({"output_size": 4, "_random_samples": trt.rand(2, 3, 2).double()}, "random_samples must have the input's dtype")):
            with self.assertRaisesRegex(RuntimeError, "fractional_max_pool2d: .*" + text):
                F.fractional_max_pool2d(x, 3, **kwargs)

    def test_max_pool_of_integers(self):
        F = trt.nn.functional
        x = trt.randint(-100, 100, (2, 3, 7, 8))
        for dtype in (trt.int8, trt.int32, trt.int64):
            y, at = F.max_pool2d(x.to(dtype), 3, 2, 1, 2, True, return_indices=True)
            expected, places = F.max_pool2d(x.double(), 3, 2, 1, 2, True, return_indices=True)
            self.assertTrue(y.dtype == dtype and trt.equal(y.double(), expected) and trt.equal(at, places))
            self.assertTrue(trt.equal(F.max_pool3d(x.to(dtype), 2).double(), F.max_pool3d(x.double(), 2)))
        self.assertTrue(trt.equal(F.max_pool2d(trt.full((1, 2, 2), -2 ** 63, dtype=trt.int64), 2), trt.full((1, 1, 1), -2 ** 63, dtype=trt.int64)))
        with self.assertRaisesRegex(NotImplementedError, "max_pool2d: not supported for dtype bool"):
            F.max_pool2d(trt.ones(1, 4, 4, dtype=trt.bool), 2)

    def test_diagonals_and_parts(self):
        self.assertEqual(trt.zeros(7, 3).fill_diagonal_(5, wrap=True).tolist(), [[5, 0, 0], [0, 5, 0], [0, 0, 5], [0, 0, 0], [5, 0, 0], [0, 5, 0], [0, 0, 5]])
        self.assertEqual(trt.zeros(7, 3).fill_diagonal_(5).sum().item(), 15)
        self.assertEqual(trt.zeros(2, 3).t().fill_diagonal_(5, True).tolist(), [[5, 0], [0, 5], [0, 0]])
        self.assertEqual(trt.zeros(2, 2, 2).fill_diagonal_(1).tolist(), [[[1, 0], [0, 0]], [[0, 0], [0, 1]]])
        self.assertEqual(trt.zeros(0, 3).fill_diagonal_(1, True).shape, (0, 3))
        with self.assertRaisesRegex(RuntimeError, "fill_diagonal_: all dimensions must be equal"):
            trt.zeros(2, 2, 3).fill_diagonal_(1)
        m = trt.tensor([[1, 0], [2, 3]])
        self.assertEqual(trt.nonzero_static(m, size=2).tolist(), [[0, 0], [1, 0]])
        self.assertEqual(trt.nonzero_static(m, size=5, fill_value=-7).tolist(), [[0, 0], [1, 0], [1, 1], [-7, -7], [-7, -7]])
        z = trt.zeros(3, 3)
        self.assertEqual(trt.as_strided_scatter(z, trt.ones(2, 2), (2, 2), (1, 2)).tolist(), [[1, 1, 1], [1, 0, 0], [0, 0, 0]])
        self.assertEqual(trt.as_strided_scatter(z[1:], trt.ones(2), (2,), (2,)).tolist(), [[1, 0, 1], [0, 0, 0]])
        self.assertEqual(trt.as_strided_scatter(z[1:], trt.ones(2), (2,), (2,), 0).tolist(), [[0, 0, 0], [0, 0, 0]])
        z = trt.zeros(2, 3).scatter_(1, trt.tensor([[0, 1], [1, 1]]), trt.tensor([[1.0, 2], [3, 4]]), reduce="add")
        self.assertEqual(z.tolist(), [[1, 2, 0], [0, 7, 0]])
        self.assertEqual(trt.ones(2, 3).scatter_(1, trt.tensor([[0, 1], [1, 1]]), 3.0, reduce="multiply").tolist(), [[3, 3, 1], [1, 9, 1]])

    def test_ranges_and_norms(self):
        self.assertEqual(trt.range(1, 2.5, 0.5).tolist(), [1, 1.5, 2, 2.5])
        self.assertEqual(trt.range(5, 1, -2).tolist(), [5, 3, 1])
        self.assertEqual(str(trt.range(0, 3, dtype=trt.int64)), "tensor([0, 1, 2, 3])")
        w = trt.arange(12.0).reshape(3, 4)
        trt.testing.assert_close(trt.norm_except_dim(w, 2, 0), w.pow(2).sum(1, keepdim=True).sqrt())
        self.assertEqual(trt.norm_except_dim(w, 1, 1).tolist(), [[12, 15, 18, 21]])
        self.assertAlmostEqual(float(trt.norm_except_dim(w, 2, -1)), 506 ** 0.5, places=4)
        for p in (2, "nuc", 1, float("inf")):
            self.assertEqual(trt.linalg.matrix_norm(trt.zeros(2, 0, 3), p).tolist(), [0, 0])
        self.assertEqual(trt.fft.fftfreq(0).shape, (0,))

    def test_low_rank(self):
        trt.manual_seed(2)
        for shape in ((9, 6), (6, 9), (2, 8, 5)):
            a = trt.rand(*shape[:-1], 3, dtype=trt.float64) @ trt.rand(*shape[:-2], 3, shape[-1], dtype=trt.float64)
            u, s, v = trt.svd_lowrank(a, q=4)
            trt.testing.assert_close((u * s.unsqueeze(-2)) @ v.mT, a)
            trt.testing.assert_close(s[..., :3], trt.linalg.svdvals(a)[..., :3])
            u, s, v = trt.pca_lowrank(a, q=3)
            trt.testing.assert_close(s, trt.linalg.svdvals(a - a.mean(-2, keepdim=True))[..., :3])
        with self.assertRaisesRegex(RuntimeError, "pca_lowrank: niter must lie between 0 and 1000"):
            trt.pca_lowrank(trt.rand(2, 3), niter=2 ** 62)
        with self.assertRaisesRegex(RuntimeError, "svd_lowrank: q must lie between 0 and 2"):
            trt.svd_lowrank(trt.rand(2, 3))

    def test_pad_sequence(self):
        from trt.nn.utils.rnn import pad_sequence, unpad_sequence

        a, b = trt.rand(2, 3, requires_grad=True), trt.rand(4, 3, requires_grad=True)
        y = pad_sequence([a, b], batch_first=True, padding_value=7)
        self.assertTrue(y.shape == (2, 4, 3) and trt.equal(y[0, :2], a) and trt.equal(y[1], b) and y[0, 2:].tolist() == [[7] * 3] * 2)
        self.assertTrue(trt.equal(pad_sequence([a, b], padding_value=7), y.transpose(0, 1)))
        self.assertTrue(trt.equal(pad_sequence([a, b], True, padding_side="left")[0, 2:], a))
        self.assertTrue(all(map(trt.equal, unpad_sequence(y, [2, 4], batch_first=True), (a, b))))
        y.sum().backward()
        self.assertEqual((a.grad.sum().item(), b.grad.sum().item()), (6, 12))
        with self.assertRaisesRegex(RuntimeError, "pad_sequence: sequences must be alike"):
            pad_sequence([a, trt.rand(2, 4)])

    def test_other_names_in_place(self):
        x = trt.rand(3, 3, dtype=trt.float64) * 0.5 + 0.2
        for name, of in (("absolute_", "abs"), ("arccos_", "acos"), ("arcsin_", "asin"), ("arctan_", "atan"), ("arcsinh_", "asinh"), ("arctanh_", "atanh"), ("negative_", "neg"),
                         ("fix_", "trunc"), ("nan_to_num_", "nan_to_num")):
            y = x.clone()
            self.assertIs(getattr(y, name)(), y)
            self.assertTrue(trt.equal(y, getattr(trt, of)(x)), name)
            self.assertTrue(trt.equal(getattr(trt, name)(x.clone()), y))
        self.assertTrue(trt.equal(x.add(1).arccosh_(), x.add(1).acosh()))
        for name, of in (("multiply_", "mul"), ("divide_", "div"), ("true_divide_", "div"), ("subtract_", "sub"), ("greater_", "gt"), ("less_equal_", "le"), ("not_equal_", "ne"),
                         ("arctan2_", "atan2"), ("float_power_", "pow")):
            for other in (x.t().contiguous(), trt.tensor(0.3, dtype=trt.float64)):
                self.assertTrue(trt.equal(getattr(x.clone(), name)(other), getattr(trt, of)(x, other).double()), name)
        self.assertTrue(trt.equal(x.clone().clip_(0.3, 0.5), x.clamp(0.3, 0.5)))
        self.assertTrue(trt.equal(x.clone().polygamma_(1), trt.polygamma(1, x)) and trt.equal(x.polygamma(1), trt.polygamma(1, x)))
        index, source = trt.tensor([0, 2]), trt.rand(2, 3, dtype=trt.float64)
        self.assertTrue(trt.equal(x.clone().index_reduce_(0, index, source, "prod"), trt.index_reduce(x, 0, index, source, "prod")))
        y = x.clone().requires_grad_()
        z = y * 1
        z.arctan_()
        z.sum().backward()
        trt.testing.assert_close(y.grad, 1 / (1 + x * x))

    def test_zeros_keep_their_sign(self):
        z = trt.tensor([0.0, -0.0] * 9)
        signs = trt.signbit(z).tolist()
        for y in (trt.relu(z), z.clamp(min=0), z.clamp(max=-0.0), trt.maximum(z, z.flip(0)), trt.minimum(z, z.flip(0)), trt.nn.functional.relu6(z), z.clamp(min=trt.zeros(18))):
            self.assertEqual(trt.signbit(y).tolist(), signs)
        for dtype in (trt.float32, trt.float64, trt.float16):
            a, b = trt.tensor([1.0, float("nan"), 2.0], dtype=dtype), trt.tensor([float("nan"), 1.0, 3.0], dtype=dtype)
            self.assertEqual(trt.isnan(trt.maximum(a, b)).tolist(), [True, True, False])
            self.assertEqual(trt.isnan(trt.minimum(a, b)).tolist(), [True, True, False])

    def test_powers(self):
        inf = float("inf")
        x = trt.tensor([0.0, -0.0, 4.0, 1e-40, -1.0, inf, -inf, 2.25])
        for exponent in (0.5, -0.5, -2.0):
            expected = [0.0 ** exponent if v == 0 and exponent > 0 else inf if v == 0 else v ** exponent if v > 0 or exponent == -2 else float("nan") for v in x.double().tolist()]
            if exponent != -2:
                expected[6] = inf ** exponent
            for e in (exponent, trt.tensor(exponent), trt.full((8,), exponent)):
                got = (x.double() ** e).tolist()
                self.assertEqual([repr(g) for g in got], [repr(w) for w in expected])

    def test_windows_without_elements(self):
        for dtype in (trt.int8, trt.int16, trt.int32, trt.int64):
            x = trt.full((1, 7, 1), -5, dtype=dtype)
            self.assertEqual(trt.max_pool2d(x, [4, 2], [2, 3], [0, 1], [2, 2]).flatten().tolist(), [trt.iinfo(dtype).min] * 1)
        self.assertEqual(trt.nn.FractionalMaxPool2d(2, output_size=3)(trt.rand(0, 8, 8)).shape, (0, 3, 3))
        self.assertEqual(trt.range(-3, -1.2, 1, dtype=trt.int64).tolist(), [-3, -2, -1])

    def test_rounding_in_place(self):
        x = trt.tensor([-3.7, 2.26, 5.0])
        for mode in ("floor", "trunc", None):
            for other in (2, trt.tensor([2.0, -1.0, 3.0])):
                self.assertEqual(x.clone().div_(other, rounding_mode=mode).tolist(), trt.div(x, other, rounding_mode=mode).tolist())
                self.assertEqual(x.clone().divide_(other, rounding_mode=mode).tolist(), trt.divide(x, other, rounding_mode=mode).tolist())
        self.assertEqual(x.clone().round_(decimals=1).tolist(), trt.round(x, decimals=1).tolist())
        self.assertEqual(trt.tensor([7, -7]).div_(2, rounding_mode="floor").tolist(), [3, -4])

    def test_bits(self):
        x = trt.tensor([1.0, -2.0])
        self.assertEqual(x.view(trt.int32).tolist(), [0x3F800000, -0x40000000])
        self.assertEqual(x.view(trt.uint8).tolist(), [0, 0, 128, 63, 0, 0, 0, 192])
        self.assertEqual(x.view(trt.uint8).view(trt.float32).tolist(), [1, -2])
        x.view(trt.int32)[0] = 0x40000000
        self.assertEqual(x.tolist(), [2, -2])
        m = trt.arange(12, dtype=trt.int16).reshape(3, 4)
        self.assertEqual(m[1:].view(trt.int64).shape, (2, 1))
        self.assertEqual(m[1:].view(trt.int64).view(trt.int16).tolist(), m[1:].tolist())
        self.assertEqual(m.to("meta").view(trt.int8).shape, (3, 8))
        for call in (lambda: m.t().view(trt.int64), lambda: m[:, 1:].view(trt.int32), lambda: trt.rand(2, requires_grad=True).view(trt.int32), lambda: trt.ones(()).view(trt.int8),
                     lambda: x.view(trt.complex64)):
            with self.assertRaisesRegex(RuntimeError, "view"):
                call()

    def test_distances(self):
        trt.manual_seed(4)
        for shape1, shape2 in (((40, 3), (7, 3)), ((2, 30, 5), (2, 31, 5)), ((2, 30, 5), (26, 5)), ((0, 3), (30, 3))):
            a, b = (trt.rand(*s, dtype=trt.float64, requires_grad=True) for s in (shape1, shape2))
            fast, plain = trt.cdist(a, b), trt.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
            trt.testing.assert_close(fast.detach(), plain.detach(), rtol=1e-9, atol=1e-9)
            g = trt.rand(*plain.shape, dtype=trt.float64)
            for x, y in zip(trt.autograd.grad((fast * g).sum(), (a, b)), trt.autograd.grad((plain * g).sum(), (a, b))):
                trt.testing.assert_close(x, y, rtol=1e-7, atol=1e-9)
        far = trt.rand(30, 4) + 1e4  # what is far from the origin loses nothing
        trt.testing.assert_close(trt.cdist(far, far[:5]), trt.cdist(far, far[:5], compute_mode="donot_use_mm_for_euclid_dist"), rtol=1e-3, atol=1e-2)
        same = trt.ones(30, 3, requires_grad=True)
        trt.cdist(same, same).sum().backward()
        self.assertEqual(same.grad.abs().sum().item(), 0)

    def test_numbers_beside_a_condition(self):
        for dtype in (trt.bool, trt.uint8):
            self.assertEqual(str(trt.where(trt.tensor([1, 0]).to(dtype), 300, 0)), "tensor([300,   0])")

    def test_complex_random_numbers(self):
        trt.manual_seed(5)
        z = trt.randn(20000, dtype=trt.complex64)
        self.assertTrue(z.dtype == trt.complex64 and abs(float(z.abs().square().mean()) - 1) < 0.05 and abs(float((z.real * z.imag).mean())) < 0.02)
        u = trt.rand(3, 4, dtype=trt.complex128)
        self.assertTrue(u.shape == (3, 4) and float(u.real.min()) >= 0 and float(u.imag.max()) < 1)
        self.assertEqual(trt.randn_like(u).dtype, trt.complex128)
        u.real = 2
        u.imag = trt.zeros(3, 4, dtype=trt.float64)
        self.assertEqual(u.tolist(), [[2 + 0j] * 4] * 3)

    def test_bool_is_not_subtracted(self):
        b, i, f = trt.tensor([True, False]), trt.tensor([3, 4]), trt.tensor([1.5, 2.0])
        for call in (lambda: b - b, lambda: b - i, lambda: i - b, lambda: b - 1, lambda: 1 - b, lambda: i - True, lambda: f - b, lambda: b - f, lambda: f - True,
                     lambda: trt.rsub(i, b), lambda: f.clone().sub_(b), lambda: f.clone().sub_(True), lambda: trt.subtract(i, b)):
            with self.assertRaisesRegex(NotImplementedError, "(r?sub_?|subtract): not supported for dtype bool"):
                call()
        self.assertEqual((f + True).tolist(), [2.5, 3.0])
        self.assertEqual(trt.isclose(b, trt.tensor([True, True])).tolist(), [True, False])
        self.assertEqual(trt.diff(trt.tensor([True, False, False])).tolist(), [True, False])


class Reductions(unittest.TestCase):
    """Of integers, bools and floats, with any strides and numbers of threads; the kernels themselves are tested in tests/unit/test_reduce.cpp."""

    def reference(self, rows, name):
        nan = lambda row: next((i for i, v in enumerate(row) if v != v), None)
        pick = lambda best: lambda row: nan(row) if nan(row) is not None else row.index(best(row))
        position = {"argmax": pick(max), "argmin": pick(min)}
        if name in position:
            return [position[name](row) for row in rows]
        if name in ("amax", "amin"):
            return [row[position["arg" + name[1:]](row)] for row in rows]
        return [{"sum": sum, "any": any, "all": all, "count_nonzero": lambda row: sum(v != 0 for v in row)}[name](row) for row in rows]

    def views(self, dtype, rows, cols):
        """[rows, cols] in several layouts."""
        n = rows * cols
        base = ((trt.arange(3 * n + 7) * 7919 + 11) % 65521 % 251 % 41 - (0 if dtype in (trt.uint8, trt.bool) else 20)).to(dtype)
        if dtype.is_floating_point:
            base[n + 5 :: 97] = float("nan")
        yield base[:n].view(rows, cols)
        yield base[3 : n + 3].view(rows, cols)
        yield base[5 : n + 5].view(cols, rows).t()
        yield base[1 : 2 * n + 1].view(rows, 2 * cols)[:, ::2]
        yield base[1 : 3 * n + 1].view(3 * rows, cols)[2::3]
        yield base[2 : 2 + cols].expand(rows, cols)
        yield base[4 : 4 + rows].view(rows, 1).expand(rows, cols)
        yield base[:n].view(rows, cols).flip(1)

    def test_layouts(self):
        for dtype in (trt.uint8, trt.int8, trt.int16, trt.int32, trt.int64, trt.bool, trt.float16, trt.float32, trt.float64):
            for rows, cols in ((1, 1), (7, 5), (3, 70), (300, 9)):
                for x in self.views(dtype, rows, cols):
                    lines = x.tolist()
                    sides = ((0, list(map(list, zip(*lines)))), (1, lines), (None, [sum(lines, [])]))
                    for name in ("sum", "any", "all", "count_nonzero", "amax", "amin", "argmax", "argmin"):
                        if name == "sum" and dtype.is_floating_point:
                            continue
                        for dim, given in sides:
                            with self.subTest(name=name, dtype=dtype, shape=x.shape, strides=x.stride(), dim=dim):
                                got = getattr(trt, name)(x) if dim is None else getattr(trt, name)(x, dim)
                                want = self.reference(given, name)
                                expected = want if dim is not None else want[0]
                                self.assertEqual(str(got.tolist() if dim is not None else got.item()), str([type(got.flatten()[0].item())(v) for v in want] if dim is not None else type(got.item())(expected)))
                    low, high = trt.aminmax(x)
                    self.assertEqual((str(low), str(high)), (str(trt.amin(x)), str(trt.amax(x))))
                    low, high = trt.aminmax(x, dim=0, keepdim=True)
                    self.assertEqual((str(low), str(high)), (str(trt.amin(x, 0, True)), str(trt.amax(x, 0, True))))

    def test_dimensions_apart(self):
        for dtype in (trt.uint8, trt.int16, trt.int32, trt.bool, trt.float32):
            x = ((trt.arange(4 * 300 * 5) * 7919) % 241 % 17 - 3).to(dtype).view(4, 300, 5)
            y = x.transpose(0, 1).contiguous()
            for name in ("sum", "any", "all", "amax", "amin", "count_nonzero"):
                f = getattr(trt, name)
                self.assertTrue(trt.equal(f(x, (0, 2)), f(y, (1, 2))), (name, dtype))
                self.assertTrue(trt.equal(f(x, (0, 2)), f(f(y.view(300, 20), 1, *((True,) if name != "count_nonzero" else ())).view(300, 1), 1) if name not in ("count_nonzero", "sum")
                                          else f(y.reshape(300, 20), 1)), (name, dtype))

    def test_large_copies(self):
        """What needs a copy is reduced in parts from 16 MiB on."""
        n = 3000
        base = (trt.arange(n * n) * 7919 % 65521 % 241 - 120).view(n, n)
        for dtype in (trt.float32, trt.float16, trt.int16, trt.bool):
            whole = base.to(dtype)
            x = trt.cat([whole, whole], 1)[:, ::2] if dtype != trt.float16 else whole
            y = x.contiguous()
            for name in ("sum", "amax", "any", "all", "count_nonzero"):
                if name == "sum" and dtype == trt.float16:
                    continue
                f = getattr(trt, name)
                for dim in (0, 1, (0, 1)):
                    exact = f(y.to(trt.float64 if dtype.is_floating_point else trt.int64), dim)
                    if dtype == trt.bool and name != "count_nonzero" and name != "sum":
                        exact = exact.to(trt.bool)
                    got = f(x, dim)
                    self.assertTrue(trt.equal(got, exact.to(got.dtype)), (name, dtype, dim))
        ones = trt.tensor([1.5], dtype=trt.float16).expand(5000, 3000)
        self.assertEqual((ones.sum(dtype=trt.float32).item(), ones.mean().item(), ones[:, :2500].mean(1).tolist()[-1]), (22500000.0, 1.5, 1.5))
        apart = trt.ones(1, 1, 1).expand(300, 200, 300)
        self.assertEqual((apart.sum((0, 2)).tolist(), apart.sum(1)[7, 8].item(), apart.mean((0, 1)).tolist()), ([90000.0] * 200, 200.0, [1.0] * 300))
        wide = trt.arange(5.0).view(5, 1).expand(5, 2_000_000)
        self.assertEqual((wide.sum(0).min().item(), wide.amax(0)[-1].item(), wide.sum(1).tolist()), (10.0, 4.0, [i * 2e6 for i in range(5)]))

    def test_limits(self):
        for dtype, low, high in ((trt.uint8, 0, 255), (trt.int8, -128, 127), (trt.int16, -(2**15), 2**15 - 1), (trt.int32, -(2**31), 2**31 - 1)):
            for n in (9, 1000, 70001):
                for value in (low, high):
                    x = trt.full((n,), value, dtype=dtype)
                    self.assertEqual((x.sum().item(), x.sum().dtype), (n * value, trt.int64))
                    self.assertEqual((x.max().item(), x.min().item(), x.argmax().item(), x.argmin().item()), (value, value, 0, 0))
                    self.assertEqual(x.view(n, 1).expand(n, 3).sum(0).tolist(), [n * value] * 3)
                    self.assertEqual(x.sum(dtype=dtype).item(), (n * value - low) % (high - low + 1) + low)
                    self.assertEqual(x.sum(dtype=trt.float64).item(), float(n * value))

    def test_bytes_of_bools(self):
        for n in (1, 40, 9000):
            b = trt.zeros(8 * n, dtype=trt.bool)
            ctypes.memmove(b.data_ptr(), bytes([0, 2, 255, 0, 128, 1, 0, 4]) * n, 8 * n)
            self.assertEqual((b.sum().item(), b.count_nonzero().item(), b.argmax().item(), b.argmin().item()), (5 * n, 5 * n, 1, 0))
            self.assertEqual(b.view(n, 8).argmax(1).tolist(), [1] * n)
            self.assertEqual(b.view(n, 8)[:, 1:3].argmax(1).tolist(), [0] * n)
            self.assertEqual(b.view(n, 8).all(0).tolist(), [False, True, True, False, True, True, False, True])
            values, indices = b.view(n, 8).max(0)
            self.assertEqual((values.tolist(), indices.tolist()), ([False, True, True, False, True, True, False, True], [0] * 8))

    def test_threads(self):
        before = trt.get_num_threads()
        try:
            for dtype in (trt.uint8, trt.int16, trt.int32, trt.bool, trt.float32):
                x = ((trt.arange(300000) * 7919) % 65521 % 241 - 120).to(dtype)
                results = []
                for threads in (1, 2, 5):
                    trt.set_num_threads(threads)
                    results.append([str(f(*a)) for f in (trt.sum, trt.amax, trt.aminmax, trt.argmax, trt.argmin, trt.count_nonzero, trt.any, trt.all)
                                    for a in ((x,), (x.view(3, 100000),), (x.view(100000, 3),))] +
                                   [str(f(x.view(shape), dim)) for f in (trt.sum, trt.amax, trt.argmax, trt.max, trt.min, trt.count_nonzero, trt.any, trt.all)
                                    for shape in ((3, 100000), (100000, 3), (300, 1000)) for dim in (0, 1)])
                self.assertEqual(results[0], results[1])
                self.assertEqual(results[0], results[2])
        finally:
            trt.set_num_threads(before)

    def test_count_nonzero(self):
        x = trt.tensor([[0.0, -0.0, float("nan")], [1.0, 0.0, -2.0]])
        for dtype in (trt.float32, trt.float64, trt.float16, trt.bfloat16, trt.complex64):
            y = x.to(dtype)
            self.assertEqual((y.count_nonzero().item(), y.count_nonzero(0).tolist(), y.count_nonzero((0, 1)).item(), y.count_nonzero(()).item(), y.count_nonzero(-1).tolist()),
                             (3, [1, 0, 2], 3, 3, [1, 2]))
        self.assertEqual(trt.zeros(0, 3).count_nonzero(0).tolist(), [0, 0, 0])
        self.assertEqual(trt.tensor(2).count_nonzero(0).item(), 1)
        self.assertEqual(x.requires_grad_().count_nonzero().requires_grad, False)
        for dim in (2, (0, 0), (0, -2)):
            with self.assertRaises(trt.Error) as caught:
                x.count_nonzero(dim)
            self.assertIn("count_nonzero: ", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
