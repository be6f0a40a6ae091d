"""Gradients: backward and grad, modes, hooks, custom functions, errors that Python raised inside, checks by differences."""

import gc
import threading
import traceback
import unittest
import weakref

import trt
from trt import autograd
from trt.autograd import Function


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, grad):
        result, = ctx.saved_tensors
        return grad * result


class Scale(Function):
    """Two tensors, a number, two outputs; the second has no gradient."""

    @staticmethod
    def forward(ctx, x, factor, y):
        ctx.save_for_backward(x, y)
        ctx.factor = factor
        sign = y > 0
        ctx.mark_non_differentiable(sign)
        return x * y * factor, sign

    @staticmethod
    def backward(ctx, grad, sign_grad):
        x, y = ctx.saved_tensors
        return (grad * y * ctx.factor if ctx.needs_input_grad[0] else None), None, (grad * x * ctx.factor if ctx.needs_input_grad[2] else None)


class Square(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return grad * 2 * ctx.saved_tensors[0]


class Failure(Exception):
    pass


class Fails(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        raise Failure("the original message")


class Backward(unittest.TestCase):
    def test_accumulation(self):
        x = trt.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        (x * 3).sum().backward()
        self.assertEqual(x.grad.tolist(), [5, 7])
        self.assertIs(x.grad, x.grad)
        g = trt.ones(2)
        x.grad = g
        self.assertIs(x.grad, g)
        x.grad = None
        self.assertIsNone(x.grad)
        (x * x).backward(trt.tensor([1.0, 10.0]))
        self.assertEqual(x.grad.tolist(), [2, 40])
        with self.assertRaises(TypeError):
            x.grad = 3
        with self.assertRaises(RuntimeError):
            x.grad = trt.ones(3)

    def test_arguments(self):
        x, y = trt.ones(2, requires_grad=True), trt.ones(2, requires_grad=True)
        z = (x * y).sum()
        z.backward(retain_graph=True, inputs=[x])
        self.assertIsNone(y.grad)
        z.backward()
        self.assertEqual((x.grad.tolist(), y.grad.tolist()), ([2, 2], [1, 1]))
        with self.assertRaisesRegex(RuntimeError, "second time|freed"):
            z.backward()
        with self.assertRaises(RuntimeError):
            (x * 2).backward()
        with self.assertRaises(RuntimeError):
            trt.ones(1).backward()
        autograd.backward([x.sum(), y.sum()])
        self.assertEqual(y.grad.tolist(), [2, 2])

    def test_grad(self):
        x, y = trt.tensor(2.0, requires_grad=True), trt.tensor(3.0, requires_grad=True)
        gx, = autograd.grad(x**3, x, create_graph=True)
        ggx, = autograd.grad(gx, x)
        self.assertEqual((gx.item(), ggx.item()), (12, 12))
        self.assertIsNone(x.grad)
        self.assertEqual(autograd.grad(x * x, [x, y], allow_unused=True)[1], None)
        self.assertEqual(autograd.grad(x * x, [x, y], materialize_grads=True)[1].item(), 0)
        with self.assertRaises(RuntimeError):
            autograd.grad(x * x, [x, y])
        self.assertEqual(autograd.grad([x * y], [x], grad_outputs=[trt.tensor(2.0)])[0].item(), 6)

    def test_node_names(self):
        x, y = trt.rand(2, 2, requires_grad=True), trt.rand(2, 2, requires_grad=True)
        image = trt.rand(1, 1, 4, 4, requires_grad=True)
        zeros = trt.zeros(2, 2)
        names = {
            "AddBackward0": [x + y, x + 2], "SubBackward0": [x - 2], "RsubBackward1": [trt.rsub(x, 2)], "MulBackward0": [x * 2, x * y], "DivBackward0": [x / 2],
            "PowBackward0": [x**2, x.square()], "PowBackward1": [x**y], "PowBackward2": [2**x], "RemainderBackward0": [x % 2],
            "FmodBackward1": [trt.fmod(x, y)], "Log1PBackward0": [x.log1p()], "ClampBackward1": [x.clamp(0.1, 0.5)], "ClampMinBackward0": [trt.clamp_min(x, 0.5)],
            "WhereBackward0": [trt.where(x > 0.3, x, 2.0)], "MaskedFillBackward0": [x.masked_fill(x > 0.3, 1.0)], "SumBackward0": [x.sum()],
            "SumBackward1": [x.sum(0)], "MeanBackward1": [x.mean(0)], "MaxBackward0": [x.max(0)[0]], "MaxBackward1": [x.max()], "VarBackward0": [x.var(0)],
            "SqueezeBackward1": [x.squeeze(0)], "IndexBackward0": [x[trt.tensor([0])]], "IndexFillBackward0": [x.index_fill(0, trt.tensor([0]), 1.0)],
            "ConvolutionBackward0": [trt.nn.functional.conv2d(image, trt.rand(1, 1, 3, 3))], "AvgPool2DBackward0": [trt.nn.functional.avg_pool2d(image, 2)],
            "EluBackward0": [trt.nn.functional.selu(x)], "CopyBackwards": [zeros.copy_(x)], "MedianBackward0": [x.median()], "MedianBackward1": [x.median(0)[0]],
        }
        for name, results in names.items():
            for result in results:
                self.assertEqual(result.grad_fn.name(), name, result)
        self.assertEqual((x * 1).fill_(0.0).grad_fn.name(), "FillBackward2")
        self.assertEqual((x * 1).zero_().grad_fn.name(), "ZeroBackward0")

    def test_leaves(self):
        x = trt.ones(2, requires_grad=True)
        y = x * 2
        self.assertTrue(x.is_leaf and not y.is_leaf)
        self.assertIsNone(x.grad_fn)
        self.assertEqual(y.grad_fn.name(), "MulBackward0")
        y.retain_grad()
        y.sum().backward()
        self.assertEqual(y.grad.tolist(), [1, 1])
        with self.assertRaises(RuntimeError):
            x.add_(1)
        with self.assertRaises(RuntimeError):
            trt.ones(2, dtype=trt.int64).requires_grad_()
        x.requires_grad = False
        self.assertFalse((x * 2).requires_grad)
        z = (trt.ones(2, requires_grad=True) * 2).detach_()
        self.assertTrue(z.is_leaf and not z.requires_grad)

    def test_overwritten(self):
        x = trt.ones(2, requires_grad=True)
        y = x * 1
        z = y * y
        y.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified|overwritten|in.?place"):
            z.sum().backward()


class Modes(unittest.TestCase):
    def test_context_managers(self):
        x = trt.ones(1, requires_grad=True)
        with trt.no_grad():
            self.assertFalse((x * 2).requires_grad or trt.is_grad_enabled())
            with trt.enable_grad():
                self.assertTrue((x * 2).requires_grad)
            with trt.set_grad_enabled(True):
                self.assertTrue((x * 2).requires_grad)
            self.assertFalse(trt.is_grad_enabled())
        self.assertTrue(trt.is_grad_enabled())
        with trt.inference_mode():
            y = x * 2
            self.assertTrue(trt.is_inference_mode_enabled())
        with self.assertRaises(RuntimeError):
            y.requires_grad_()
        with trt.inference_mode(False):
            self.assertTrue((x * 2).requires_grad)
        trt.set_grad_enabled(False)
        self.assertFalse(trt.is_grad_enabled())
        trt.set_grad_enabled(True)

    def test_exceptions_leave_the_mode(self):
        for mode in (trt.no_grad(), trt.inference_mode(), trt.set_grad_enabled(True)):
            with self.assertRaises(Failure), mode:
                raise Failure
            self.assertTrue(trt.is_grad_enabled() and not trt.is_inference_mode_enabled())

    def test_decorators(self):
        x = trt.ones(1, requires_grad=True)

        @trt.no_grad()
        def a():
            """Text."""
            return (x * 2).requires_grad

        @trt.no_grad
        def b(n):
            return (x * 2).requires_grad if n == 0 else b(n - 1)

        @trt.inference_mode()
        def c():
            return (x * 2).requires_grad

        @trt.inference_mode
        def d():
            return (x * 2).requires_grad

        @trt.set_grad_enabled(False)
        def e():
            return (x * 2).requires_grad

        @trt.enable_grad()
        def f():
            return (x * 2).requires_grad

        @trt.no_grad()
        def g():
            got = yield (x * 2).requires_grad
            yield (x * 2).requires_grad, got

        self.assertEqual([a(), b(3), c(), d(), e()], [False] * 5)
        self.assertEqual((a.__name__, a.__doc__), ("a", "Text."))
        self.assertTrue(trt.is_grad_enabled())
        with trt.no_grad():
            self.assertTrue(f())
        generator = g()
        self.assertFalse(next(generator))
        self.assertTrue(trt.is_grad_enabled())
        self.assertEqual(generator.send(5), (False, 5))

    def test_modes_belong_to_the_thread(self):
        seen = []
        with trt.no_grad():
            t = threading.Thread(target=lambda: seen.append(trt.is_grad_enabled()))
            t.start()
            t.join()
        self.assertEqual(seen, [True])


class Hooks(unittest.TestCase):
    def test_hooks(self):
        x = trt.ones(2, requires_grad=True)
        seen = []
        y = x * 3
        handle = y.register_hook(lambda g: seen.append(g.tolist()))
        x.register_hook(lambda g: g * 2)
        y.sum().backward(retain_graph=True)
        self.assertEqual((seen, x.grad.tolist()), ([[1, 1]], [6, 6]))
        handle.remove()
        handle.remove()
        y.sum().backward()
        self.assertEqual(len(seen), 1)
        with self.assertRaises(TypeError):
            x.register_hook(3)
        with self.assertRaises(RuntimeError):
            trt.ones(1).register_hook(print)

    def test_hooks_that_refer_to_their_tensor(self):
        """The collector sees the cycle through the library, as soon as nothing else keeps the tensor or the hook."""

        class Marker:
            pass

        def hooked(t):
            marker = Marker()
            t.register_hook(lambda g: (t, marker) and None)
            return weakref.ref(marker)

        class Mine(trt.Tensor):
            pass

        gc.collect()
        for make in (lambda: trt.ones(2, requires_grad=True), lambda: trt.ones(2, requires_grad=True) * 2, lambda: trt.nn.Parameter(trt.ones(2)),
                     lambda: Mine(trt.ones(2)).requires_grad_()):
            t = make()
            refs = [hooked(t), hooked(t)]
            gc.collect()
            self.assertTrue(all(r() for r in refs))
            gc.disable()
            del t
            self.assertTrue(all(r() for r in refs))
            gc.enable()
            gc.collect()
            self.assertFalse(any(r() for r in refs))

        # A graph that still needs the hook keeps it.
        x = trt.ones(2, requires_grad=True)
        seen = []

        def hooked_sum(t):
            y = t * 3
            y.register_hook(lambda g: (y, seen.append(g.tolist())) and None)
            return y.sum(), weakref.ref(y)

        loss, ref = hooked_sum(x)
        for _ in range(3):
            gc.collect()
        self.assertIsNotNone(ref())
        loss.backward()
        self.assertEqual((seen, x.grad.tolist()), ([[1, 1]], [3, 3]))
        del loss
        gc.collect()
        self.assertIsNone(ref())

        # So does a graph that leads to a leaf.
        leaf = trt.ones(2, requires_grad=True)
        ref, loss = hooked(leaf), (leaf * 2).sum()
        del leaf
        gc.collect()
        self.assertIsNotNone(ref())
        del loss
        gc.collect()
        self.assertIsNone(ref())

        # Removed by hand, by the end of the tensor, or by neither, while the collector runs in between.
        for i in range(200):
            t = trt.ones(2, requires_grad=True) * 1
            handles = [t.register_hook(lambda g, t=t: None) for _ in range(5)]
            for h in handles[:i % 6]:
                h.remove()
            if i % 50 == 0:
                gc.collect()
            t.sum().backward()
        del t, handles, h
        gc.collect()

    def test_hooks_while_the_collector_runs(self):
        """Hooks of live tensors survive collections while other threads run backward without the GIL."""
        stop, failures = threading.Event(), []

        def train():
            try:
                x = trt.ones(20000, requires_grad=True)
                count = [0]
                x.register_hook(lambda g: count.__setitem__(0, count[0] + (x.numel() == 20000)))
                steps = 0
                while not stop.is_set():
                    (x * 2).sum().backward()
                    steps += 1
                    assert count[0] == steps
            except BaseException as e:  # noqa: B902
                failures.append(e)

        threads = [threading.Thread(target=train) for _ in range(2)]
        for t in threads:
            t.start()
        for _ in range(60):
            gc.collect()
        stop.set()
        for t in threads:
            t.join()
        self.assertEqual(failures, [])

    def test_real_views_of_a_changed_complex_tensor(self):
        x = trt.ones(4, dtype=trt.complex64, requires_grad=True)
        y = x * 2
        part = trt.view_as_real(y)[1:3, 0]
        y.mul_(3)
        self.assertEqual(part.tolist(), [6, 6])
        part.sum().backward()
        self.assertEqual(x.grad.tolist(), [0, 6, 6, 0])

    def test_histories_in_place(self):
        x = trt.ones(2, requires_grad=True)
        y = x * 2
        self.assertIs(y.requires_grad_(), y)
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            y.requires_grad = True
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            y.requires_grad_(False)
        with self.assertRaisesRegex(RuntimeError, "view"):
            y[:1].detach_()
        same = y.view(2).detach()
        self.assertIs(same.detach_(), same)
        self.assertIs(y.detach_(), y)
        self.assertEqual((y.requires_grad, y.is_leaf, x.requires_grad), (False, True, True))
        with trt.inference_mode():
            made = trt.ones(2, requires_grad=True)
            net = trt.nn.Sequential(trt.nn.Linear(2, 3), trt.nn.BatchNorm1d(3))
            self.assertFalse(net(trt.ones(4, 2)).requires_grad)
        self.assertTrue(made.requires_grad and all(p.requires_grad for p in net.parameters()))
        with self.assertRaisesRegex(RuntimeError, "inference"):
            net(trt.ones(4, 2, requires_grad=True))

    def test_errors_are_the_callers_own(self):
        x = trt.ones(2, requires_grad=True)
        marker = Failure("the original message")

        def refuse(grad):
            raise marker

        y = x * 1
        y.register_hook(refuse)
        try:
            y.sum().backward()
            self.fail("no error")
        except Failure as e:
            self.assertIs(e, marker)
            self.assertIn("refuse", [f.name for f in traceback.extract_tb(e.__traceback__)])
        y = x * 1
        y.register_hook(lambda g: "text")
        with self.assertRaisesRegex(TypeError, "hook"):
            y.sum().backward()
        y = x * 1
        y.register_hook(lambda g: trt.ones(5))
        with self.assertRaises(RuntimeError):
            y.sum().backward()
        for error in (KeyboardInterrupt, SystemExit, MemoryError):
            y = x * 1
            y.register_hook(lambda g: (_ for _ in ()).throw(error()))
            with self.assertRaises(error):
                y.sum().backward()

    def test_nothing_leaks(self):
        class Data:
            pass

        x = trt.ones(2, requires_grad=True)
        data = Data()
        ref = weakref.ref(data)
        y = x * 1
        y.register_hook(lambda g, data=data: None)
        del data
        y.sum().backward()
        self.assertIsNotNone(ref())
        del y
        gc.collect()
        self.assertIsNone(ref())


class CustomFunctions(unittest.TestCase):
    def test_values_and_gradients(self):
        x = trt.tensor([0.5, 1.0], dtype=trt.float64, requires_grad=True)
        y = Exp.apply(x)
        self.assertEqual(y.grad_fn.name(), "ExpBackward")
        y.sum().backward()
        trt.testing.assert_close(x.grad, x.detach().exp())
        self.assertFalse(Exp.apply(trt.ones(2)).requires_grad)
        with trt.no_grad():
            self.assertFalse(Exp.apply(x).requires_grad)
        a, b = trt.tensor([2.0, 3.0], requires_grad=True), trt.tensor([4.0, -5.0])
        product, sign = Scale.apply(a, 10, b)
        self.assertEqual((product.tolist(), sign.tolist(), sign.requires_grad), ([80, -150], [True, False], False))
        product.sum().backward()
        self.assertEqual(a.grad.tolist(), [40, -50])
        s = Square.apply(a)
        a.grad = None
        s.sum().backward()
        self.assertEqual(a.grad.tolist(), [4, 6])

    def test_second_derivatives(self):
        x = trt.tensor([0.3, -0.7], dtype=trt.float64, requires_grad=True)
        y = Exp.apply(x)
        g, = autograd.grad(y.sum(), x, create_graph=True)
        gg, = autograd.grad(g.sum(), x)
        trt.testing.assert_close(gg, x.detach().exp())
        self.assertTrue(autograd.gradcheck(Exp.apply, (x,)))
        self.assertTrue(autograd.gradgradcheck(Square.apply, (x,)))
        # The saved output has its history, whether or not somebody keeps the output itself.
        self.assertTrue(autograd.gradgradcheck(Exp.apply, (x,)))
        kept = []

        def keep(x):
            kept.append(Exp.apply(x))
            return kept[-1]

        self.assertTrue(autograd.gradgradcheck(keep, (x,)))
        zero = trt.tensor(0.0, requires_grad=True)
        for power, expected in ((1, [1, 1, 1]), (2, [2, 4, 8])):
            g = Exp.apply(zero) ** power
            for value in expected:
                g, = autograd.grad(g, zero, create_graph=True)
                self.assertEqual(g.item(), value)
        class Dead:
            pass
        witness = Dead()
        gone = weakref.ref(witness)
        y = Exp.apply(zero)
        y.register_hook(lambda g, w=witness: None)
        autograd.grad(y * y, zero, create_graph=True)
        del y, witness, g
        gc.collect()
        self.assertIsNone(gone(), "a saved output does not keep its own graph")

    def test_once_differentiable(self):
        class Once(Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            @autograd.once_differentiable
            def backward(ctx, grad):
                x, = ctx.saved_tensors
                return grad * 2 * x

        x = trt.tensor([1.0], requires_grad=True)
        w = trt.tensor([1.0], requires_grad=True)
        Once.apply(x).sum().backward()
        self.assertEqual(x.grad.item(), 2)
        g, = autograd.grad(Once.apply(x), x, w, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable"):
            g.sum().backward()

    def test_saved_tensors_are_checked(self):
        x = trt.ones(2, requires_grad=True)
        y = x * 1
        z = Square.apply(y)
        y.add_(1)
        with self.assertRaisesRegex(RuntimeError, "inplace operation"):
            z.sum().backward()

    def test_missing_gradients(self):
        seen = []

        class Two(Function):
            materialize = True

            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(Two.materialize)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, a, b):
                seen.append((a is None, None if b is None else b.tolist()))
                return b if a is None else a

        x = trt.ones(2, requires_grad=True)
        Two.apply(x)[0].sum().backward()
        Two.materialize = False
        Two.apply(x)[1].sum().backward()
        self.assertEqual(seen, [(False, [0, 0]), (True, [1, 1])])

    def test_wrong_gradients(self):
        class Wrong(Function):
            result = None

            @staticmethod
            def forward(ctx, x, n):
                return x * n

            @staticmethod
            def backward(ctx, grad):
                return Wrong.result(grad)

        x = trt.ones(2, requires_grad=True)
        for result, error in ((lambda g: (g,), RuntimeError), (lambda g: (g, g), RuntimeError), (lambda g: ("a", None), TypeError),
                              (lambda g: (trt.ones(7), None), RuntimeError)):
            Wrong.result = staticmethod(result)
            with self.assertRaises(error):
                Wrong.apply(x, 2).sum().backward()
        Wrong.result = staticmethod(lambda g: (None, None))
        Wrong.apply(x, 2).sum().backward()
        self.assertIsNone(x.grad)

    def test_in_place(self):
        class AddOne(Function):
            @staticmethod
            def forward(ctx, x):
                x.add_(1)
                ctx.mark_dirty(x)
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 10

        x = trt.ones(2, requires_grad=True)
        y = x * 2
        z = AddOne.apply(y)
        self.assertIs(z, y)
        self.assertEqual(z.tolist(), [3, 3])
        z.sum().backward()
        self.assertEqual(x.grad.tolist(), [20, 20])
        with self.assertRaisesRegex(RuntimeError, "leaf"):
            AddOne.apply(x)

    def test_inputs_given_back(self):
        class Identity(Function):
            @staticmethod
            def forward(ctx, x):
                return x

            @staticmethod
            def backward(ctx, grad):
                return grad * 5

        x = trt.ones(2, requires_grad=True)
        y = Identity.apply(x)
        self.assertIsNot(y, x)
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [5, 5])

    def test_errors_are_the_callers_own(self):
        x = trt.ones(2, requires_grad=True)
        try:
            Fails.apply(x).sum().backward()
            self.fail("no error")
        except Failure as e:
            names = [f.name for f in traceback.extract_tb(e.__traceback__)]
            self.assertEqual((str(e), names[0][:4], names[-1]), ("the original message", "test", "backward"))
        with self.assertRaises(Failure):
            autograd.grad(Fails.apply(x).sum(), x)
        caught = []

        def work():
            try:
                Fails.apply(x).sum().backward()
            except Failure as e:
                caught.append(str(e))

        threads = [threading.Thread(target=work) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(caught, ["the original message"] * 4)

    def test_nothing_leaks(self):
        live = weakref.WeakSet()

        class Watched(Function):
            @staticmethod
            def forward(ctx, x):
                live.add(ctx)
                y = x * 2
                ctx.save_for_backward(x, y)
                return y

            @staticmethod
            def backward(ctx, grad):
                ctx.saved_tensors
                return grad

        gc.collect()
        before = trt.memory.allocated()
        for end in ("backward", "drop", "error"):
            x = trt.ones(100, requires_grad=True)
            y = Watched.apply(x)
            if end == "backward":
                y.sum().backward()
            if end == "error":
                y.register_hook(lambda g: 1 / 0)
                with self.assertRaises(ZeroDivisionError):
                    y.sum().backward()
            del x, y
            gc.collect()
            self.assertEqual(len(live), 0, end)
        self.assertEqual(trt.memory.allocated(), before)

    def test_gradcheck_finds_errors(self):
        class Bad(Function):
            @staticmethod
            def forward(ctx, x):
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return grad

        x = trt.tensor([1.0, 2.0], dtype=trt.float64, requires_grad=True)
        with self.assertRaises(autograd.GradcheckError):
            autograd.gradcheck(Bad.apply, (x,))
        self.assertFalse(autograd.gradcheck(Bad.apply, (x,), raise_exception=False))
        self.assertTrue(autograd.gradcheck(lambda a, b: (a @ b).tanh(), (trt.rand(2, 3, dtype=trt.float64, requires_grad=True),
                                                                        trt.rand(3, 2, dtype=trt.float64).T.contiguous().T.requires_grad_())))
        with self.assertRaises(ValueError):
            autograd.gradcheck(Bad.apply, (trt.ones(1, requires_grad=True),))
        with self.assertRaises(ValueError):
            autograd.gradcheck(Bad.apply, (trt.ones(1),))


class Graphs(unittest.TestCase):
    def test_nodes(self):
        x, y = trt.tensor([1.0, 2.0], requires_grad=True), trt.tensor([3.0, 4.0])
        self.assertIsNone(x.grad_fn)
        z = (x * y).sum()
        node = z.grad_fn
        self.assertEqual((node.name(), repr(node)), ("SumBackward0", "<SumBackward0>"))
        self.assertEqual((node, hash(node)), (z.grad_fn, hash(z.grad_fn)))
        del z
        (mul, number), = node.next_functions
        self.assertEqual((mul.name(), number), ("MulBackward0", 0))
        (leaf, _), nothing = mul.next_functions
        self.assertEqual((leaf.name(), leaf.next_functions, nothing), ("AccumulateGrad", (), (None, 0)))
        self.assertEqual(leaf.variable.data_ptr(), x.data_ptr())
        self.assertFalse(hasattr(mul, "variable"))
        self.assertNotEqual(mul, leaf)
        self.assertNotEqual(mul, 1)

        class Pair(Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2, x * 3

            @staticmethod
            def backward(ctx, a, b):
                return a * 2 + b * 3

        a, b = Pair.apply(x)
        self.assertEqual([n for _, n in (b * a).grad_fn.next_functions], [1, 0])


class Cancelling(unittest.TestCase):
    def test_operators_and_passes(self):
        x = trt.ones(3, requires_grad=True)
        loss = (x * 2).sum()
        token = trt.CancelToken()
        with token as entered:
            self.assertIs(entered, token)
            loss.backward(retain_graph=True)
            self.assertFalse(token.is_cancelled())
            x.grad = None
            token.cancel()
            for call in loss.backward, lambda: x + x, lambda: trt.optim.SGD([x], lr=1.0).step():
                with self.assertRaises(trt.CancelledError):
                    call()
            # The innermost counts.
            with trt.CancelToken(), token:
                self.assertRaises(trt.CancelledError, loss.backward)
            with trt.CancelToken():
                self.assertEqual((x + x).sum().item(), 6)
            self.assertRaises(trt.CancelledError, loss.backward)
        self.assertTrue(token.is_cancelled())
        self.assertIsNone(x.grad)
        loss.backward()
        self.assertEqual(x.grad.tolist(), [2, 2, 2])

    def test_crossed_blocks(self):
        def compute():
            return (trt.ones(2) + 1).tolist()

        # Tasks that take turns on one thread: each ends its own block.
        def task(token):
            with token:
                yield
                yield

        for first_ends in (True, False):
            a, b = trt.CancelToken(), trt.CancelToken()
            first, second = task(a), task(b)
            next(first), next(second)
            a.cancel()
            self.assertEqual(compute(), [2, 2])
            ended, other = (first, second) if first_ends else (second, first)
            ended.close()
            if first_ends:
                self.assertEqual(compute(), [2, 2])
                b.cancel()
            with self.assertRaises(trt.CancelledError):
                compute()
            other.close()
            self.assertEqual(compute(), [2, 2])
        # A token that is gone is not in force.
        a, b = trt.CancelToken(), trt.CancelToken()
        a.cancel()
        a.__enter__(), b.__enter__()
        a.__exit__(None, None, None)
        del a
        b.__exit__(None, None, None)
        self.assertEqual(compute(), [2, 2])
        for wrong in (b, trt.CancelToken()):
            with self.assertRaisesRegex(RuntimeError, "no block of this token"):
                wrong.__exit__(None, None, None)
        failures = []
        with b:
            def elsewhere():
                try:
                    b.__exit__(None, None, None)
                except RuntimeError as e:
                    failures.append(e)
            t = threading.Thread(target=elsewhere)
            t.start()
            t.join()
            b.__enter__()
            b.cancel()
            b.__exit__(None, None, None)
            self.assertRaises(trt.CancelledError, compute)
        self.assertEqual(len(failures), 1)
        self.assertEqual(compute(), [2, 2])

    def test_from_another_thread(self):
        token, begun, errors = trt.CancelToken(), threading.Barrier(3), []

        def work():
            x = trt.ones(8, requires_grad=True)
            try:
                with token:
                    (x * x).sum().backward()
                    begun.wait(20)
                    while True:
                        (x * x).sum().backward()
            except trt.CancelledError as e:
                errors.append(e)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        begun.wait(20)
        token.cancel()
        for t in threads:
            t.join(20)
        self.assertEqual([e.code for e in errors], ["CANCELLED"] * 2)
        self.assertEqual(trt.ones(2).sum().item(), 2)


class ViewsInPlace(unittest.TestCase):
    """transpose_, squeeze_, ...: the same tensor with another geometry."""

    FORMS = (("transpose_", (0, 2)), ("swapaxes_", (0, -1)), ("swapdims_", (1, 2)), ("squeeze_", ()), ("squeeze_", (1,)), ("squeeze_", ([0, 1],)), ("unsqueeze_", (-1,)),
             ("as_strided_", ((4, 2), (1, 4))))

    def test_values_and_gradients(self):
        for name, args in self.FORMS:
            with self.subTest(name=name, args=args):
                data = trt.arange(8.0).reshape(2, 1, 4)
                x = data.clone().requires_grad_()
                expected = getattr(x, name[:-1])(*args)
                weights = trt.rand(expected.shape)
                (expected * 3 * weights).sum().backward()
                y = data.clone().requires_grad_()
                z = y * 3
                version = z._version
                self.assertIs(getattr(z, name)(*args), z)
                self.assertEqual((z.shape, z.stride()), (expected.shape, expected.stride()))
                self.assertGreater(z._version, version)
                self.assertTrue(trt.equal(z, expected * 3))
                (z * weights).sum().backward()
                self.assertTrue(trt.equal(x.grad, y.grad))
                plain = data.clone()
                pointer = plain.data_ptr()
                getattr(plain, name)(*args)
                self.assertTrue(trt.equal(plain * 3, z.detach()))
                self.assertEqual(plain.data_ptr(), pointer)
                meta = data.to("meta")
                getattr(meta, name)(*args)
                self.assertEqual((meta.shape, meta.stride()), (z.shape, z.stride()))
        vector = trt.rand(3)
        self.assertIs(vector.t_(), vector)
        self.assertEqual(trt.rand(2, 3).t_().shape, (3, 2))

    def test_second_gradient(self):
        x = trt.rand(2, 3, dtype=trt.float64, requires_grad=True)
        y = (x * x * x).t_()
        (g,) = trt.autograd.grad((y * trt.arange(6.0, dtype=trt.float64).reshape(3, 2)).sum(), x, create_graph=True)
        (gg,) = trt.autograd.grad(g.sum(), x)
        trt.testing.assert_close(gg.detach(), (6 * x * trt.arange(6.0, dtype=trt.float64).reshape(3, 2).t()).detach())

    def test_a_view_of_something(self):
        x = trt.rand(3, 4, requires_grad=True)
        base = x * 2
        row = base[1]
        row.unsqueeze_(0)
        row.mul_(5)
        self.assertEqual(row.shape, (1, 4))
        base.sum().backward()
        self.assertEqual(x.grad.tolist(), [[2.0] * 4, [10.0] * 4, [2.0] * 4])

    def test_other_views_of_it(self):
        x = trt.rand(3, 4, requires_grad=True)
        y = x * 2
        row = y[1]
        y.t_()
        row.mul_(5)
        self.assertEqual(y.shape, (4, 3))
        (y * trt.arange(12.0).reshape(4, 3)).sum().backward()
        expected = 2 * trt.arange(12.0).reshape(4, 3).t()
        expected[1] *= 5
        trt.testing.assert_close(x.grad, expected)

    def test_what_was_saved_is_checked(self):
        x = trt.rand(2, 3, requires_grad=True)
        y = x * 1
        z = (y * y).sum()
        y.t_()
        with self.assertRaisesRegex(RuntimeError, "changed by an in-place operation"):
            z.backward()

    def test_leaves(self):
        x = trt.rand(2, 3, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, r"t_: a leaf tensor that requires gradients \(float32\[2, 3\]\) is changed in place"):
            x.t_()
        with trt.no_grad():
            x.t_()
        (x * 2).sum().backward()
        self.assertEqual(x.grad.shape, (3, 2))
        with trt.no_grad(), self.assertRaisesRegex(RuntimeError, "has a gradient"):
            x.t_()
        y = x * 2
        with trt.no_grad(), self.assertRaisesRegex(RuntimeError, "has a history"):
            y.t_()
        self.assertEqual((x.shape, y.shape), ((3, 2), (3, 2)))

    def test_bad_arguments_change_nothing(self):
        x = trt.rand(2, 3)
        version = x._version
        for call in (lambda: x.transpose_(0, 5), lambda: x.unsqueeze_(7), lambda: x.squeeze_(4), lambda: x.as_strided_((9, 9), (1, 1)), lambda: trt.rand(2, 2, 2).t_(),
                     lambda: x.resize_(-1, 2), lambda: x.resize_(2 ** 62, 2 ** 62)):
            with self.assertRaises((RuntimeError, IndexError)):
                call()
        self.assertEqual((x.shape, x.stride(), x._version), ((2, 3), (3, 1), version))

    def test_resize(self):
        x = trt.arange(6.0).reshape(2, 3)
        pointer = x.data_ptr()
        self.assertEqual(x.resize_(2, 2).tolist(), [[0, 1], [2, 3]])
        self.assertEqual(x.resize_(3, 2).tolist(), [[0, 1], [2, 3], [4, 5]])
        self.assertEqual(x.data_ptr(), pointer)
        self.assertEqual(x.resize_(2, 5)[0].tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(x.resize_as_(trt.rand(3)).tolist(), [0, 1, 2])
        self.assertEqual(trt.empty(0).resize_(2, 2).shape, (2, 2))
        self.assertEqual(trt.empty(4, 4).t().resize_(2, 2).stride(), (2, 1))
        with self.assertRaisesRegex(RuntimeError, "requires gradients"):
            trt.rand(2, requires_grad=True).resize_(3)

    def test_hooks_of_a_view_stay(self):
        for change, args in (("unsqueeze_", (0,)), ("squeeze_", ()), ("t_", ()), ("transpose_", (0, 0))):
            x = trt.ones(2, 3, requires_grad=True)
            v = (x * 1)[0]
            v.register_hook(lambda g: g * 3)
            getattr(v, change)(*args)
            (v * 2).sum().backward()
            self.assertEqual(x.grad.tolist(), [[6] * 3, [0] * 3], change)

    def test_inference_mode(self):
        a = trt.ones(2, 2, requires_grad=True) * 1
        with trt.inference_mode(), self.assertRaisesRegex(RuntimeError, "t_: .* has a history"):
            a.t_()
        plain = trt.arange(6.0).reshape(2, 3)
        with trt.inference_mode():
            plain.t_()
        self.assertEqual(plain.shape, (3, 2))

    def test_bases_that_overlap(self):
        x = trt.ones(4, requires_grad=True)
        a = x * 1
        v = a[:2]
        a.as_strided_((2, 3), (1, 1), 0)
        self.assertEqual(trt.autograd.grad(v.sum(), x)[0].tolist(), [1, 1, 0, 0])
        x = trt.ones(3, requires_grad=True)
        self.assertEqual(trt.autograd.grad(x.unfold(0, 2, 1).as_strided((3,), (1,)).sum(), x)[0].tolist(), [1, 1, 1])


class InPlaceOnViews(unittest.TestCase):
    """Operators that save their result, on a part of a tensor."""

    NAMES = ("exp_", "sigmoid_", "tanh_", "sqrt_", "rsqrt_", "reciprocal_", "relu_", "tan_", "polygamma_")

    def test_second_gradient(self):
        for name in self.NAMES:
            args = (1,) if name == "polygamma_" else ()
            with self.subTest(name=name):
                def penalty(x, in_place):
                    a = x * 0.5
                    if in_place:
                        getattr(a[0], name)(*args)
                    else:
                        a = trt.cat([getattr(a[:1].clone(), name)(*args), a[1:]])
                    (g,) = trt.autograd.grad((a.sin() * a).sum(), x, create_graph=True)
                    (g * g * trt.arange(1.0, 7.0, dtype=trt.float64).reshape(2, 3)).sum().backward()  # no retain_graph
                    return x.grad

                data = trt.rand(2, 3, dtype=trt.float64) + 0.5
                trt.testing.assert_close(penalty(data.clone().requires_grad_(), True), penalty(data.clone().requires_grad_(), False))

    def test_gradients_have_the_order_of_the_leaf(self):
        w = trt.rand(3, 4, requires_grad=True)
        trt.einsum("ij,kj->ik", w, trt.rand(5, 4)).sum().backward()
        (w.t() * 2).sum().backward()
        w2 = trt.rand(3, 4, requires_grad=True)
        (w2.t() * trt.rand(4, 3)).sum().backward()
        self.assertEqual((w.grad.stride(), w2.grad.stride()), ((4, 1), (4, 1)))

    def test_old_arguments_of_grad(self):
        x = trt.rand(2, requires_grad=True)
        self.assertEqual(trt.autograd.grad((x * 2).sum(), x, only_inputs=True)[0].tolist(), [2, 2])
        with self.assertRaises(NotImplementedError):
            trt.autograd.grad((x * 2).sum(), x, is_grads_batched=True)


if __name__ == "__main__":
    unittest.main()
