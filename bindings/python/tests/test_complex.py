"""Complex tensors: elements, arithmetic, and gradients against differences."""

import cmath
import math
import random
import unittest

import trt

VALUES = [1 + 2j, -0.5 + 0.25j, 0.3 - 1.5j, -1.2 - 0.7j, 0.9 + 0.1j, 2 - 0.4j]


def numeric(loss, z, step=1e-6):
    """dL/dx + i dL/dy of a real loss at every element, by central differences."""
    flat = z.reshape(-1).tolist()
    out = []
    for i in range(len(flat)):
        parts = []
        for direction in (step, 1j * step):
            ends = []
            for sign in (1, -1):
                moved = list(flat)
                moved[i] += sign * direction
                ends.append(loss(trt.tensor(moved, dtype=trt.complex128).reshape(z.shape)).item())
            parts.append((ends[0] - ends[1]) / (2 * step))
        out.append(complex(*parts))
    return out


class Complex(unittest.TestCase):
    def test_elements(self):
        z = trt.tensor(VALUES)
        self.assertEqual(z.dtype, trt.complex64)
        self.assertTrue(z.is_complex() and z.dtype.is_complex and not z.is_floating_point())
        self.assertEqual(trt.tensor(VALUES, dtype=trt.complex128).tolist(), VALUES)
        self.assertEqual(trt.tensor([1, 2.5, 3j]).tolist(), [1, 2.5, 3j])
        self.assertEqual(trt.tensor(1j).item(), 1j)
        self.assertEqual(trt.tensor([1, 2**40], dtype=trt.complex128).tolist(), [1, 2**40])
        self.assertEqual(complex(trt.tensor(2 - 1j)), 2 - 1j)
        self.assertTrue(bool(trt.tensor(1j)))
        with self.assertRaises(RuntimeError):
            float(trt.tensor(1j))
        self.assertEqual(float(trt.tensor(2 + 0j)), 2.0)
        with self.assertRaises(TypeError):
            trt.tensor([1j], dtype=trt.float32)
        self.assertEqual(trt.full((2,), 1 - 1j).tolist(), [1 - 1j] * 2)
        self.assertEqual(trt.zeros(2, dtype=trt.complex128).tolist(), [0, 0])

    def test_parts(self):
        z = trt.tensor(VALUES, dtype=trt.complex128)
        self.assertEqual(z.real.tolist(), [v.real for v in VALUES])
        self.assertEqual(z.imag.tolist(), [v.imag for v in VALUES])
        self.assertEqual(z.conj().tolist(), [v.conjugate() for v in VALUES])
        trt.view_as_real(z)[:, 1] = 0
        self.assertEqual(z.tolist(), [v.real for v in VALUES])
        self.assertEqual(trt.complex(trt.tensor([1.0]), trt.tensor([2.0])).tolist(), [1 + 2j])
        self.assertAlmostEqual(trt.polar(trt.tensor([2.0], dtype=trt.float64), trt.tensor([0.5], dtype=trt.float64)).item(), cmath.rect(2, 0.5))
        with self.assertRaisesRegex(RuntimeError, "stride"):
            trt.view_as_complex(trt.zeros(2, 4)[:, ::2])
        with self.assertRaisesRegex(RuntimeError, "size 2"):
            trt.view_as_complex(trt.zeros(2, 3))
        with self.assertRaisesRegex(RuntimeError, "imag"):
            trt.imag(trt.zeros(2))

    def test_promotion(self):
        z, x = trt.tensor([1j]), trt.tensor([2.0])
        for other, expected in [(x, trt.complex64), (x.double(), trt.complex128), (trt.tensor([1]), trt.complex64), (2, trt.complex64), (1.5, trt.complex64), (2j, trt.complex64),
                                (trt.tensor(2j, dtype=trt.complex128), trt.complex64), (x.half(), trt.complex64)]:
            self.assertEqual((z * other).dtype, expected)
        self.assertEqual((x * 1j).dtype, trt.complex64)
        self.assertEqual((x.double() * 1j).dtype, trt.complex128)
        self.assertEqual((trt.tensor([1]) + 1j).dtype, trt.complex64)
        self.assertEqual(z.abs().dtype, trt.float32)
        self.assertEqual(z.to(trt.float64).tolist(), [0.0])
        self.assertEqual(x.to(trt.complex128).tolist(), [2 + 0j])
        with self.assertRaises(RuntimeError):
            x.add_(1j)
        for name in ("lt", "maximum", "floor_divide", "atan2", "remainder"):
            with self.assertRaisesRegex(RuntimeError, "complex64"):
                getattr(trt, name)(z, z)

    def test_functions(self):
        z = trt.tensor(VALUES, dtype=trt.complex128)
        for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh", "log10"):
            for got, v in zip(getattr(trt, name)(z).tolist(), VALUES):
                self.assertTrue(cmath.isclose(got, getattr(cmath, name)(v), rel_tol=1e-12), name)
        for got, v in zip(trt.angle(z).tolist(), VALUES):
            self.assertAlmostEqual(got, cmath.phase(v), places=14)
        small = trt.tensor([1e-12 + 2e-12j], dtype=trt.complex128)
        self.assertTrue(cmath.isclose(trt.log1p(small).item(), 1e-12 + 2e-12j, rel_tol=1e-9))
        self.assertTrue(cmath.isclose(trt.expm1(small).item(), 1e-12 + 2e-12j, rel_tol=1e-9))
        huge = trt.tensor([1e200 + 1e200j], dtype=trt.complex128)
        self.assertTrue(cmath.isclose((huge / huge).item(), 1))
        self.assertTrue(math.isclose(huge.abs().item(), math.sqrt(2) * 1e200))

    def test_layouts(self):
        rng = random.Random(1)
        values = [complex(rng.uniform(-2, 2), rng.uniform(-2, 2)) for _ in range(24 * 700)]
        z = trt.tensor(values, dtype=trt.complex128).reshape(24, 700)
        expected = [[v * 2 + 1j for v in values[i::700]] for i in range(700)]
        self.assertEqual((z.t() * 2 + 1j).tolist(), expected)
        self.assertEqual((z.t().contiguous() * 2 + 1j).tolist(), expected)
        self.assertEqual(z[::3, 1::7].tolist(), [values[700 * i + 1:700 * (i + 1):7] for i in range(0, 24, 3)])
        single = z.to(trt.complex64)
        for got, v in zip((single + z).reshape(-1).tolist()[:1000], values):
            self.assertTrue(cmath.isclose(got, 2 * v, rel_tol=1e-6))
        self.assertTrue(trt.equal(trt.cat([z, z])[24:], z))
        self.assertTrue(trt.equal(z.flip(0).flip(0), z))
        index = trt.arange(699, -1, -1)
        self.assertTrue(trt.equal(z[:, index], z.flip(1)))
        total = sum(values)
        self.assertTrue(cmath.isclose(z.sum().item(), total, rel_tol=1e-10))
        self.assertTrue(cmath.isclose(z.mean(0).sum().item(), total / 24, rel_tol=1e-10))
        product = z[:5] @ z[:5].mH
        self.assertTrue(cmath.isclose(product[1, 2].item(), sum(a * b.conjugate() for a, b in zip(values[700:1400], values[1400:2100])), rel_tol=1e-10))

    def test_integer_results(self):
        z = trt.tensor([1 + 5j, 2, 3], dtype=trt.complex64)
        for dtype in (trt.int8, trt.int16, trt.int32, trt.int64, trt.uint8):
            self.assertEqual([z.cumsum(0, dtype=dtype).dtype, z.cumprod(0, dtype=dtype).dtype, z.prod(dtype=dtype).dtype, z.prod(0, dtype=dtype).dtype, z.sum(dtype=dtype).dtype], [dtype] * 5)
            self.assertEqual([z.cumsum(0, dtype=dtype).tolist(), z.cumprod(0, dtype=dtype).tolist(), z.prod(dtype=dtype).item()], [[1, 3, 6], [1, 2, 6], 6])

    def test_gradients(self):
        z = trt.tensor(VALUES, dtype=trt.complex128).reshape(2, 3)
        w = trt.tensor(VALUES[::-1], dtype=trt.complex128).reshape(2, 3)
        x = trt.tensor([0.5, -1.5, 2.0], dtype=trt.float64)
        functions = {
            "mul": lambda t: t * w, "mul real": lambda t: t * x, "div": lambda t: w / t, "pow": lambda t: t**3, "pow tensor": lambda t: t**w, "pow base": lambda t: w**t,
            "exp": trt.exp, "log": trt.log, "sqrt": trt.sqrt, "rsqrt": trt.rsqrt, "sin": trt.sin, "tanh": trt.tanh, "sigmoid": trt.sigmoid, "reciprocal": trt.reciprocal,
            "asin": trt.asin, "acosh": lambda t: trt.acosh(t * t.conj() + 1 + t * 0.1), "log1p": trt.log1p, "abs": trt.abs, "angle": trt.angle, "sgn": trt.sgn, "conj": trt.conj, "real": trt.real, "imag": trt.imag,
            "view_as_real": trt.view_as_real, "sum": lambda t: t.sum(1), "mean": lambda t: t.mean(), "prod": lambda t: t.prod(1), "cumsum": lambda t: t.cumsum(0),
            "cumprod": lambda t: t.cumprod(1), "var": lambda t: t.var(), "std": lambda t: t.std(1), "norm": lambda t: t.norm(), "mm": lambda t: t @ w.t(), "mH": lambda t: t @ t.mH,
            "vdot": lambda t: trt.vdot(t[0], t[1]), "where": lambda t: trt.where(trt.tensor([True, False, True]), t, w), "select": lambda t: t[1], "index": lambda t: t[:, [2, 0]],
            "addcmul": lambda t: trt.addcmul(t, t, w, value=2), "lerp": lambda t: trt.lerp(t, w, 0.3), "to": lambda t: t.to(trt.float64), "silu": trt.nn.functional.silu,
            "linear": lambda t: trt.nn.functional.linear(t, w), "in place": lambda t: t.clone().mul_(t).add_(1j), "slice in place": lambda t: _fill_row(t, w),
        }
        for name, f in functions.items():
            with self.subTest(name):
                def loss(t):
                    out = f(t)
                    parts = trt.view_as_real(out) if out.is_complex() else out
                    weights = trt.linspace(0.5, 1.5, parts.numel(), dtype=trt.float64).reshape(parts.shape)
                    return (parts * weights).sum()
                leaf = z.clone().requires_grad_()
                loss(leaf).backward()
                self.assertEqual(leaf.grad.dtype, trt.complex128)
                for got, expected in zip(leaf.grad.reshape(-1).tolist(), numeric(loss, z)):
                    self.assertTrue(abs(got - expected) < 1e-6 * max(1, abs(expected)), f"{name}: {got} instead of {expected}")

    def test_real_leaf(self):
        x = trt.tensor([1.0, 2.0], dtype=trt.float64, requires_grad=True)
        (x * (2 + 3j)).real.sum().backward()
        self.assertEqual(x.grad.tolist(), [2.0, 2.0])
        self.assertEqual(x.grad.dtype, trt.float64)

    def test_second_derivative(self):
        z = trt.tensor([0.3 + 0.4j], dtype=trt.complex128, requires_grad=True)
        (g,) = trt.autograd.grad((z**3).real.sum(), z, create_graph=True)
        (h,) = trt.autograd.grad(g.real.sum(), z)
        # g = conj(3 z^2), Re g = Re(3 z^2), whose gradient is conj(6 z).
        self.assertTrue(cmath.isclose(h.item(), (6 * (0.3 + 0.4j)).conjugate(), rel_tol=1e-12))

    def test_backward_needs_gradient(self):
        z = trt.tensor([1j], requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, "real"):
            (z * 2).sum().backward()
        (z * 2).sum().backward(trt.tensor(1 + 0j))
        self.assertEqual(z.grad.tolist(), [2 + 0j])

    def test_printing(self):
        for values, dtype, text in [
                ([1 + 2j, -3.5 - 1e-5j], None, "tensor([ 1.0000+2.0000e+00j, -3.5000-1.0000e-05j])"), ([[1 + 2j]], trt.complex128, "tensor([[1.+2.j]], dtype=trt.complex128)"),
                ([0.1 + 100000j, 3], None, "tensor([0.1000+100000.j, 3.0000+0.j])"), (1 + 2j, None, "tensor(1.+2.j)"),
                ([], trt.complex64, "tensor([], dtype=trt.complex64)")]:
            self.assertEqual(repr(trt.tensor(values, dtype=dtype)), text)
        self.assertIn("...", repr(trt.zeros(2000, dtype=trt.complex64)))

    def test_numbers_keep_their_precision(self):
        x = trt.tensor([0.31], dtype=trt.float64, requires_grad=True)
        (g,) = trt.autograd.grad((x**0.3).sum(), x, create_graph=True)
        (h,) = trt.autograd.grad(g.sum(), x)
        self.assertAlmostEqual(h.item(), 0.3 * -0.7 * 0.31**-1.7, places=13)
        r = trt.tensor([0.3], dtype=trt.float64)
        self.assertEqual((0.1j - r).item(), 0.1j - 0.3)
        self.assertTrue(cmath.isclose((0.1j / r).item(), 0.1j / 0.3, rel_tol=1e-15))
        self.assertTrue(cmath.isclose((1j**r).item(), 1j**0.3, rel_tol=1e-15))

    def test_what_has_no_order(self):
        z = trt.tensor([1 + 5j, 2 - 3j])
        for name in ("max", "min", "amax", "amin", "argmax", "argmin", "aminmax", "sort", "median"):
            with self.assertRaisesRegex(RuntimeError, "complex64", msg=name):
                getattr(z, name)()
        for call in (lambda: z.topk(1), lambda: z.cummax(0), lambda: z.max(0)):
            with self.assertRaisesRegex(RuntimeError, "complex64"):
                call()

    def test_others(self):
        z = trt.tensor([1 + 5j, 2 - 3j], dtype=trt.complex128)
        self.assertTrue(cmath.isclose(z.logsumexp(0).item(), cmath.log(cmath.exp(1 + 5j) + cmath.exp(2 - 3j)), rel_tol=1e-12))
        self.assertEqual(trt.tensor([[1 + 2j]]).H.tolist(), [[1 - 2j]])
        self.assertEqual(trt.tensor([[1 + 2j]]).adjoint().tolist(), [[1 - 2j]])
        p = trt.tensor([1 + 2j], requires_grad=True)
        p.grad = trt.tensor([3 + 4j])
        self.assertAlmostEqual(float(trt.nn.utils.clip_grad_norm_([p], 1.0)), 5, places=5)
        self.assertTrue(abs(p.grad.item() - (0.6 + 0.8j)) < 1e-5)
        big = trt.tensor([complex(math.inf, 1)], dtype=trt.complex128).nan_to_num().item()
        self.assertEqual((big.real, big.imag), (1.7976931348623157e308, 1))
        self.assertAlmostEqual(trt.log1p(trt.tensor([complex(-3, -0.0)])).item().imag, -math.pi, places=5)
        x = trt.tensor([0.5 + 0.2j], dtype=trt.complex128, requires_grad=True)
        (g,) = trt.autograd.grad((x ** trt.tensor([1 + 2j], dtype=trt.complex128)).real.sum(), x, create_graph=True)
        trt.autograd.grad(g.real.sum(), x)

    def test_numpy(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("numpy is not installed")
        a = np.array(VALUES).reshape(2, 3)
        t = trt.from_numpy(a)
        self.assertEqual(t.dtype, trt.complex128)
        t[0, 0] = 5j
        self.assertEqual(a[0, 0], 5j)
        self.assertTrue((t.numpy() == a).all())
        self.assertEqual(trt.tensor(a.astype(np.complex64)).dtype, trt.complex64)
        self.assertTrue((np.from_dlpack(t) == a).all())


def _fill_row(t, w):
    y = t * 2
    y[0] = y[0] * w[1]
    return y


if __name__ == "__main__":
    unittest.main()
