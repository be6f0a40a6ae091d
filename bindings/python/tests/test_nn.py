"""Modules, losses, initial values: registration, state, hooks; and that layers are the library's own, digit for digit."""

import copy
import gc
import math
import re
import unittest
import warnings
import weakref
from collections import OrderedDict

import trt
from trt import _C, nn
from trt._options import options
from trt.nn import functional as F

try:
    import torch
except ImportError:
    torch = None


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.scale = nn.Parameter(trt.ones(8))
        self.register_buffer("offset", trt.zeros(8), persistent=False)
        self.blocks = nn.ModuleList([nn.Linear(8, 8), nn.ReLU()])

    def forward(self, x):
        x = self.norm(self.hidden(x)) * self.scale + self.offset
        for block in self.blocks:
            x = block(x)
        return x


class Places(unittest.TestCase):
    """Errors of the library tell the module in which they happened."""

    def check(self, call, error, operator, place):
        with self.assertRaises(error) as caught:
            call()
        message = str(caught.exception)
        self.assertTrue(message.startswith(operator + ":"), message)
        self.assertEqual(message[message.find(" (in"):] if " (in" in message else "", place)

    def test_places(self):
        net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 4), nn.Linear(5, 6)))
        x = trt.ones(1, 2)
        for _ in range(2):
            self.check(lambda: net(x), trt.InvalidArgumentError, "linear", " (in module '2.1', Linear)")
        self.check(lambda: nn.Linear(3, 4)(x), trt.InvalidArgumentError, "linear", "")

        class Outer(nn.Module):
            def __init__(self, part):
                super().__init__()
                self.parts = nn.ModuleList([nn.Identity(), part])

            def forward(self, x):
                return self.parts[1](x)

        outer = Outer(net)
        self.check(lambda: outer(x), trt.InvalidArgumentError, "linear", " (in module 'parts.1.2.1', Linear)")
        handle = net.register_forward_hook(lambda *_: None)  # the other way through __call__
        self.check(lambda: outer(x), trt.InvalidArgumentError, "linear", " (in module 'parts.1.2.1', Linear)")
        handle.remove()

        class Summing(nn.Module):
            def forward(self, x):
                return x.sum(7)

        self.check(lambda: nn.Sequential(Summing())(x), IndexError, "sum", " (in module '0', Summing)")
        hidden = Summing()
        outer.parts[1] = nn.Sequential()
        outer.parts[1].forward = lambda x: hidden(x)
        self.check(lambda: outer(x), trt.OutOfRangeError, "sum", " (in module 'parts.1.<Summing>', Summing)")
        self.check(lambda: nn.Sequential(nn.BatchNorm2d(3))(trt.ones(2, 3)), ValueError, "BatchNorm2d", " (in module '0', BatchNorm2d)")
        # What is not the library's stays as it is.
        outer.parts[1] = nn.Sequential(Summing())
        with self.assertRaisesRegex(AttributeError, "^'str' object has no attribute 'sum'$"):
            outer("x")


class Registration(unittest.TestCase):
    def test_names(self):
        m = Net()
        self.assertEqual([n for n, _ in m.named_parameters()],
                         ["scale", "hidden.weight", "hidden.bias", "norm.weight", "norm.bias", "blocks.0.weight", "blocks.0.bias"])
        self.assertEqual([n for n, _ in m.named_buffers()], ["offset", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"])
        self.assertEqual([n for n, _ in m.named_modules()], ["", "hidden", "norm", "blocks", "blocks.0", "blocks.1"])
        self.assertEqual([n for n, _ in m.named_children()], ["hidden", "norm", "blocks"])
        self.assertNotIn("offset", m.state_dict())
        self.assertIs(m.get_parameter("blocks.0.weight"), m.blocks[0].weight)
        self.assertIs(m.get_submodule("blocks.0"), m.blocks[0])
        self.assertIs(m.get_buffer("norm.running_mean"), m.norm.running_mean)
        with self.assertRaises(AttributeError):
            m.get_parameter("nothing.weight")
        with self.assertRaises(AttributeError):
            m.nothing

    def test_assignment(self):
        m = Net()
        with self.assertRaises(TypeError):
            m.scale = trt.ones(8)
        with self.assertRaises(TypeError):
            m.hidden = trt.ones(8)
        m.scale = None
        self.assertIsNone(m.scale)
        self.assertNotIn("scale", dict(m.named_parameters()))
        m.offset = trt.ones(8)
        self.assertEqual(dict(m.named_buffers())["offset"].sum().item(), 8)
        m.plain = 3
        m.plain = nn.Linear(1, 1)
        self.assertIn("plain.weight", dict(m.named_parameters()))
        del m.plain
        self.assertFalse(hasattr(m, "plain"))
        m.b = nn.Buffer(trt.ones(2))
        self.assertIn("b", m.state_dict())
        with self.assertRaises(KeyError):
            m.register_parameter("a.b", nn.Parameter(trt.ones(1)))
        with self.assertRaises(KeyError):
            m.register_buffer("forward", trt.ones(1))
        with self.assertRaises(TypeError):
            m.register_parameter("q", trt.ones(1))

        class Early(nn.Module):
            def __init__(self):
                self.weight = nn.Parameter(trt.ones(1))

        with self.assertRaisesRegex(AttributeError, "before Module.__init__"):
            Early()

    def test_shared_parameters(self):
        m = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
        m[1].weight = m[0].weight
        self.assertEqual(len(list(m.parameters())), 3)
        self.assertEqual(len(m.state_dict()), 4)

    def test_parameter(self):
        p = nn.Parameter(trt.ones(2))
        self.assertTrue(p.requires_grad and p.is_leaf and isinstance(p, trt.Tensor))
        self.assertTrue(repr(p).startswith("Parameter containing:\ntensor("))
        self.assertIs(type(p * 1), trt.Tensor)
        self.assertFalse(nn.Parameter(trt.ones(2), requires_grad=False).requires_grad)
        self.assertEqual(nn.Parameter(trt.ones(2, dtype=trt.int64), requires_grad=False).dtype, trt.int64)

    def test_modes_and_gradients(self):
        m = Net()
        m.eval()
        self.assertFalse(any(x.training for x in m.modules()))
        self.assertIs(m.train(), m)
        m(trt.randn(3, 4)).sum().backward()
        self.assertTrue(all(p.grad is not None for p in m.parameters()))
        m.zero_grad(set_to_none=False)
        self.assertEqual(sum(p.grad.abs().sum().item() for p in m.parameters()), 0)
        m.zero_grad()
        self.assertTrue(all(p.grad is None for p in m.parameters()))
        m.requires_grad_(False)
        self.assertFalse(m(trt.randn(3, 4)).requires_grad)

    def test_conversion_keeps_identity(self):
        m = nn.Linear(2, 3)
        weight, optimizer = m.weight, trt.optim.SGD(m.parameters(), lr=1.0)
        m(trt.ones(1, 2)).sum().backward()
        m.double()
        self.assertIs(m.weight, weight)
        self.assertEqual((weight.dtype, weight.grad.dtype), (trt.float64, trt.float64))
        before = weight.detach().clone()
        optimizer.step()
        self.assertEqual((before - weight.detach()).tolist(), [[1, 1]] * 3)
        self.assertEqual(m.to(trt.float16).weight.dtype, trt.float16)
        bn = nn.BatchNorm1d(2).half()
        self.assertEqual((bn.running_mean.dtype, bn.num_batches_tracked.dtype), (trt.float16, trt.int64))
        with self.assertRaises(TypeError):
            m.to(trt.int64)

    def test_hooks(self):
        m, seen = nn.Linear(2, 2), []
        a = m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,))
        b = m.register_forward_hook(lambda mod, args, out: seen.append(args[0].tolist()) or out + 1)
        x = trt.ones(1, 2)
        expected = F.linear(x * 2, m.weight, m.bias) + 1
        self.assertEqual(m(x).tolist(), expected.tolist())
        self.assertEqual(seen, [[[2, 2]]])
        a.remove()
        b.remove()
        self.assertEqual(m(x).tolist(), F.linear(x, m.weight, m.bias).tolist())

    def test_backward_hooks(self):
        m, seen = nn.Linear(2, 3), []
        x, plain = trt.randn(4, 2, requires_grad=True), nn.Linear(2, 3)
        plain.load_state_dict(m.state_dict())
        plain(x).pow(2).sum().backward()
        expected, x.grad = x.grad, None
        handle = m.register_full_backward_hook(lambda mod, grad_input, grad_output: seen.append((mod, grad_input, grad_output)))
        y = m(x)
        y.pow(2).sum().backward()
        (mod, grad_input, grad_output), = seen
        self.assertIs(mod, m)
        self.assertTrue(trt.equal(grad_input[0], expected) and trt.equal(x.grad, expected))
        self.assertTrue(trt.equal(grad_output[0], 2 * y.detach()))
        self.assertTrue(all(trt.equal(a.grad, b.grad) for a, b in zip(m.parameters(), plain.parameters())))
        # What is behind the module in the graph is not its input's gradient alone.
        seen.clear()
        (m(x).sum() + x.sum() * 100).backward()
        self.assertTrue(trt.allclose(seen[0][1][0], m.weight.detach().sum(0).expand(4, 2)))
        handle.remove()
        m(x).sum().backward()
        self.assertEqual(len(seen), 1)

        # Hooks replace gradients, one after another.
        x.grad = None
        with m.register_full_backward_hook(lambda mod, i, o: (i[0] * 10,)), m.register_full_backward_hook(lambda mod, i, o: i[0] + 1, prepend=True), \
                m.register_full_backward_pre_hook(lambda mod, o: (trt.ones_like(o[0]),)):
            (m(x) * 7).sum().backward()
        self.assertTrue(trt.allclose(x.grad, (m.weight.detach().sum(0).expand(4, 2) + 1) * 10))
        for bad, kind in (m.register_full_backward_hook, "grad_input"), (m.register_full_backward_pre_hook, "grad_output"):
            with bad(lambda *_: (None, None)), self.assertRaisesRegex(RuntimeError, f"invalid number of {kind}, got 2, but expected 1"):
                m(x).sum().backward()

        # Several inputs and outputs, of which some need no gradient; keywords are passed by.
        class Two(nn.Module):
            def forward(self, a, b, n, *, scale):
                return a * b * n, trt.ones(2), b * scale

        two, seen = Two(), []
        two.register_full_backward_hook(lambda mod, i, o: seen.append((i, o)))
        a, b = trt.ones(2, requires_grad=True), trt.full((2,), 3.0)
        product, constant, _ = two(a, b, 2, scale=a)
        self.assertEqual((product.tolist(), constant.requires_grad), ([6, 6], False))
        product.sum().backward()
        (grad_input, grad_output), = seen
        self.assertEqual([g if g is None else g.tolist() for g in grad_input], [[6, 6], None, None])
        self.assertEqual([g if g is None else g.tolist() for g in grad_output], [[1, 1], None, None])
        # Without an input that needs a gradient the outputs' are what there is.
        seen.clear()
        handle = m.register_full_backward_hook(lambda mod, i, o: seen.append((i, o[0].shape)))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            m(trt.ones(4, 2)).sum().backward()
        self.assertEqual((seen, len(found)), ([((None,), (4, 3))], 1))
        # Nothing is recorded, and nobody asks.
        with trt.no_grad():
            self.assertFalse(m(x).requires_grad)
        handle.remove()

        # What a hook raises arrives as it is; twice through one graph calls twice; second derivatives go through.
        def fail(*_):
            raise KeyError("mine")

        with m.register_full_backward_hook(fail), self.assertRaisesRegex(KeyError, "mine"):
            m(x).sum().backward()
        seen.clear()
        with m.register_full_backward_hook(lambda mod, i, o: seen.append(i)):
            loss = m(x).pow(3).sum()
            loss.backward(retain_graph=True)
            loss.backward()
            g, = trt.autograd.grad(m(x).pow(3).sum(), x, create_graph=True)
            second, = trt.autograd.grad(g.sum(), x)
        self.assertGreaterEqual(len(seen), 3)
        g, = trt.autograd.grad(plain(x).pow(3).sum(), x, create_graph=True)
        self.assertTrue(trt.allclose(second, trt.autograd.grad(g.sum(), x)[0], atol=1e-4))
        refs = [weakref.ref(m), weakref.ref(two)]
        del m, mod, two, loss, y, product, constant, grad_input, grad_output, bad, handle, seen, found
        gc.collect()
        self.assertEqual([r() for r in refs], [None, None])

    def test_apply_and_copy(self):
        m, names = Net(), []
        m.apply(lambda x: names.append(type(x).__name__))
        self.assertEqual(names[-1], "Net")
        c = copy.deepcopy(m)
        self.assertIsNot(c.scale, m.scale)
        self.assertIsInstance(c.scale, nn.Parameter)
        c.scale.data.fill_(5)
        self.assertEqual(m.scale.sum().item(), 8)

    def test_nothing_leaks(self):
        m = Net()
        refs = [weakref.ref(p) for p in m.parameters()] + [weakref.ref(m)]
        m(trt.randn(3, 4)).sum().backward()
        del m
        gc.collect()
        self.assertEqual([r() for r in refs], [None] * len(refs))


class State(unittest.TestCase):
    def test_round_trip(self):
        a, b = Net(), Net()
        a(trt.randn(5, 4))
        result = b.load_state_dict(a.state_dict())
        self.assertEqual(repr(result), "<All keys matched successfully>")
        a.eval(), b.eval()
        x = trt.randn(2, 4)
        self.assertTrue(trt.equal(a(x), b(x)))
        self.assertTrue(a.state_dict()["scale"]._shares_storage(a.scale))

    def test_errors_change_nothing(self):
        m = Net()
        good = {k: v.clone() + 1 for k, v in m.state_dict().items()}
        before = {k: v.clone() for k, v in m.state_dict().items()}
        bad = dict(good, extra=trt.ones(1))
        del bad["scale"]
        bad["hidden.bias"] = trt.ones(3)
        with self.assertRaises(trt.Error) as e:
            m.load_state_dict(bad)
        for text in ("extra", "scale", "hidden.bias"):
            self.assertIn(text, str(e.exception))
        for k, v in m.state_dict().items():
            self.assertTrue(trt.equal(v, before[k]), k)
        del bad["hidden.bias"]
        result = m.load_state_dict(bad, strict=False)
        self.assertEqual((sorted(result.missing_keys), result.unexpected_keys), (["hidden.bias", "scale"], ["extra"]))


class Containers(unittest.TestCase):
    def test_sequential(self):
        m = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
        m.append(nn.Linear(3, 1))
        self.assertEqual((len(m), m(trt.ones(4, 2)).shape, type(m[-1]), len(m[:2])), (3, (4, 1), nn.Linear, 2))
        n = nn.Sequential(OrderedDict(first=nn.Linear(2, 2), second=nn.Tanh()))
        self.assertEqual(list(n.state_dict()), ["first.weight", "first.bias"])
        m[1] = nn.Tanh()
        self.assertIsInstance(m[1], nn.Tanh)
        m.insert(0, nn.Identity())
        self.assertIsInstance(m[0], nn.Identity)
        del m[0]
        self.assertEqual(list(m._modules), ["0", "1", "2"])
        with self.assertRaises(IndexError):
            m[9]

    def test_lists_and_dicts(self):
        m = nn.ModuleList([nn.Linear(1, 1)])
        m += [nn.ReLU()]
        m.insert(0, nn.Tanh())
        self.assertEqual([type(x).__name__ for x in m], ["Tanh", "Linear", "ReLU"])
        self.assertIsInstance(m.pop(), nn.ReLU)
        d = nn.ModuleDict({"a": nn.Linear(1, 1)})
        d["b"] = nn.ReLU()
        self.assertEqual((list(d), "b" in d, len(list(d.parameters()))), (["a", "b"], True, 2))
        p = nn.ParameterList([trt.ones(1), nn.Parameter(trt.zeros(2))])
        self.assertEqual((len(p), [n for n, _ in p.named_parameters()]), (2, ["0", "1"]))
        q = nn.ParameterDict({"x": trt.ones(1)})
        self.assertTrue(q["x"].requires_grad)


def c_module(name, *args, **kwargs):
    struct = kwargs.pop("struct", None)
    create = getattr(_C, f"trt_{name}_create")
    if struct is None:
        return create(*args)
    with options(struct, **kwargs) as o:
        return create(*args, o)


class SameAsTheLibrary(unittest.TestCase):
    """A layer of Python and the library's own: text, initial values, results in training and evaluation."""

    LAYERS = [
        (lambda: nn.Linear(5, 3), lambda: c_module("linear", 5, 3, None), (4, 5)),
        (lambda: nn.Linear(5, 3, bias=False), lambda: c_module("linear", 5, 3, struct="linear", bias=False), (4, 5)),
        (lambda: nn.Conv2d(2, 4, 3, padding=1), lambda: c_module("conv2d", 2, 4, 3, 3, struct="conv", padding=(1, 1)), (2, 2, 6, 6)),
        (lambda: nn.Conv2d(2, 4, (3, 5), stride=2, groups=2, dilation=(1, 2), bias=False),
         lambda: c_module("conv2d", 2, 4, 3, 5, struct="conv", stride=(2, 2), groups=2, dilation=(1, 2), bias=False), (2, 2, 12, 12)),
        (lambda: nn.Conv2d(2, 2, 3, padding="same"), lambda: c_module("conv2d", 2, 2, 3, 3, struct="conv", padding_same=True), (2, 2, 6, 6)),
        (lambda: nn.Conv1d(2, 4, 3), lambda: c_module("conv1d", 2, 4, 3, None), (2, 2, 6)),
        (lambda: nn.BatchNorm1d(4), lambda: c_module("batch_norm1d", 4, None), (6, 4)),
        (lambda: nn.BatchNorm2d(4, momentum=None), lambda: c_module("batch_norm2d", 4, struct="norm", momentum=-1.0), (2, 4, 3, 3)),
        (lambda: nn.BatchNorm1d(4, affine=False, track_running_stats=False),
         lambda: c_module("batch_norm1d", 4, struct="norm", affine=False, track_running_stats=False), (6, 4)),
        (lambda: nn.LayerNorm((3, 4)), lambda: c_module("layer_norm", (3, 4), None), (2, 3, 4)),
        (lambda: nn.LayerNorm(4, eps=1e-3, bias=False), lambda: c_module("layer_norm", (4,), struct="norm", eps=1e-3, bias=False), (2, 4)),
        (lambda: nn.GroupNorm(2, 4), lambda: c_module("group_norm", 2, 4, None), (2, 4, 3)),
        (lambda: nn.Dropout(0.3), lambda: c_module("dropout", 0.3), (50,)),
        (lambda: nn.Flatten(), lambda: c_module("flatten", 1, -1), (2, 3, 4)),
        (lambda: nn.Unflatten(1, (2, 3)), lambda: c_module("unflatten", 1, (2, 3)), (2, 6)),
        (lambda: nn.Identity(), lambda: c_module("identity"), (3,)),
        (lambda: nn.ReLU(), lambda: c_module("relu"), (9,)), (lambda: nn.ReLU6(), lambda: c_module("relu6"), (9,)),
        (lambda: nn.LeakyReLU(0.2), lambda: c_module("leaky_relu", 0.2), (9,)), (lambda: nn.ELU(0.7), lambda: c_module("elu", 0.7), (9,)),
        (lambda: nn.GELU("tanh"), lambda: c_module("gelu", True), (9,)), (lambda: nn.GELU(), lambda: c_module("gelu", False), (9,)),
        (lambda: nn.SiLU(), lambda: c_module("silu"), (9,)), (lambda: nn.Mish(), lambda: c_module("mish"), (9,)),
        (lambda: nn.Sigmoid(), lambda: c_module("sigmoid"), (9,)), (lambda: nn.Tanh(), lambda: c_module("tanh"), (9,)),
        (lambda: nn.Softplus(2.0, 10.0), lambda: c_module("softplus", 2.0, 10.0), (9,)), (lambda: nn.Hardswish(), lambda: c_module("hardswish"), (9,)),
        (lambda: nn.Softmax(dim=1), lambda: c_module("softmax", 1), (3, 4)), (lambda: nn.LogSoftmax(dim=-1), lambda: c_module("log_softmax", -1), (3, 4)),
        (lambda: nn.MaxPool2d(2), lambda: c_module("max_pool2d", 2, 2, None), (1, 2, 6, 6)),
        (lambda: nn.MaxPool2d((3, 2), stride=1, padding=1, ceil_mode=True),
         lambda: c_module("max_pool2d", 3, 2, struct="pool", stride=(1, 1), padding=(1, 1), ceil_mode=True), (1, 2, 6, 6)),
        (lambda: nn.AvgPool2d(2, padding=1, count_include_pad=False),
         lambda: c_module("avg_pool2d", 2, 2, struct="pool", padding=(1, 1), count_include_pad=False), (1, 2, 6, 6)),
        (lambda: nn.AdaptiveAvgPool2d((2, 3)), lambda: c_module("adaptive_avg_pool2d", 2, 3), (1, 2, 6, 6)),
        (lambda: nn.AdaptiveMaxPool2d(2), lambda: c_module("adaptive_max_pool2d", 2, 2), (1, 2, 6, 6)),
    ]

    # As above; of several inputs the third is the list of their shapes.
    SEVERAL_DIMENSIONS = [
        (lambda: nn.Conv3d(2, 4, (1, 2, 2), stride=(1, 2, 1), groups=2),
         lambda: c_module("convnd", 2, 4, (1, 2, 2), struct="convnd", stride=(1, 2, 1), groups=2), [(1, 2, 2, 3, 3)]),
        (lambda: nn.Conv2d(2, 3, 3, padding=2, padding_mode="reflect"),
         lambda: c_module("convnd", 2, 3, (3, 3), struct="convnd", padding=(2, 2, 0), padding_mode=1), [(1, 2, 5, 5)]),
        (lambda: nn.Conv1d(2, 3, 4, padding="same", padding_mode="circular"),
         lambda: c_module("convnd", 2, 3, (4,), struct="convnd", padding_same=True, padding_mode=3), [(1, 2, 5)]),
        (lambda: nn.ConvTranspose1d(2, 4, 3, stride=2, output_padding=1, groups=2),
         lambda: c_module("conv_transpose", 2, 4, (3,), struct="convnd", stride=(2, 1, 1), output_padding=(1, 0, 0), groups=2), [(1, 2, 4)]),
        (lambda: nn.ConvTranspose2d(2, 3, 2, dilation=2, bias=False),
         lambda: c_module("conv_transpose", 2, 3, (2, 2), struct="convnd", dilation=(2, 2, 1), bias=False), [(1, 2, 3, 4)]),
        (lambda: nn.ConvTranspose3d(1, 2, 2), lambda: c_module("conv_transpose", 1, 2, (2, 2, 2), None), [(1, 1, 2, 2, 2)]),
        (lambda: nn.BatchNorm3d(2), lambda: c_module("batch_norm3d", 2, None), [(2, 2, 2, 2, 3)]),
        (lambda: nn.InstanceNorm1d(3), lambda: c_module("instance_norm", 1, 3, None), [(3, 4)]),
        (lambda: nn.InstanceNorm2d(3, affine=True, track_running_stats=True), lambda: c_module("instance_norm", 2, 3, struct="norm"), [(2, 3, 4, 2)]),
        (lambda: nn.RMSNorm(4), lambda: c_module("rms_norm", (4,), None, True, trt.float32), [(2, 4)]),
        (lambda: nn.RMSNorm((3, 4), elementwise_affine=False), lambda: c_module("rms_norm", (3, 4), None, False, trt.float32), [(2, 3, 4)]),
        (lambda: nn.LocalResponseNorm(2), lambda: c_module("local_response_norm", 2, 1e-4, 0.75, 1.0), [(2, 3, 4)]),
        (lambda: nn.MaxPool1d(2), lambda: c_module("max_poolnd", (2,), None), [(1, 2, 6)]),
        (lambda: nn.MaxPool3d((1, 2, 2), stride=2), lambda: c_module("max_poolnd", (1, 2, 2), struct="poolnd", stride=(2, 2, 2)), [(1, 2, 4, 4)]),
        (lambda: nn.AvgPool1d(3, padding=1), lambda: c_module("avg_poolnd", (3,), struct="poolnd", padding=(1, 0, 0)), [(1, 2, 6)]),
        (lambda: nn.AvgPool3d(2, divisor_override=3), lambda: c_module("avg_poolnd", (2, 2, 2), struct="poolnd", divisor_override=3), [(1, 2, 4, 4)]),
        (lambda: nn.AdaptiveAvgPool3d((1, 2, 3)), lambda: c_module("adaptive_avg_poolnd", (1, 2, 3)), [(1, 3, 4, 5)]),
        (lambda: nn.AdaptiveMaxPool3d(2), lambda: c_module("adaptive_max_poolnd", (2, 2, 2)), [(1, 3, 4, 5)]),
        (lambda: nn.ConstantPad2d((1, 0, 2, 1), 0.5), lambda: c_module("pad", (1, 0, 2, 1), "constant", 0.5), [(1, 2, 3)]),
        (lambda: nn.ZeroPad2d(1), lambda: c_module("pad", (1, 1, 1, 1), "zeros", 0.0), [(1, 2, 3)]),
        (lambda: nn.Unfold((2, 3), padding=1, stride=2), lambda: c_module("unfold", 2, 3, struct="window", padding=(1, 1), stride=(2, 2)), [(1, 2, 4, 4)]),
        (lambda: nn.PReLU(3), lambda: c_module("prelu", 3, 0.25, trt.float32), [(2, 3)]),
        (lambda: nn.Transformer(4, 2, 2, 1, 6, batch_first=True), lambda: c_module("transformer", 4, 2, 2, 1, struct="transformer", dim_feedforward=6, batch_first=True),
         [(2, 3, 4), (2, 5, 4)]),
        (lambda: nn.RReLU(), lambda: c_module("rrelu", 1 / 8, 1 / 3), [(4, 5)]),
        (lambda: nn.RReLU(0.2, 0.7), lambda: c_module("rrelu", 0.2, 0.7), [(4, 5)]),
        (lambda: nn.AlphaDropout(0.3), lambda: c_module("alpha_dropout", 0.3), [(8, 5)]),
        (lambda: nn.FeatureAlphaDropout(0.3), lambda: c_module("feature_alpha_dropout", 0.3), [(4, 5, 3)]),
        (lambda: nn.Softmax2d(), lambda: c_module("softmax2d"), [(2, 3, 2, 2)]),
        (lambda: nn.LPPool1d(2.0, 3, stride=2), lambda: c_module("lp_poolnd", 2.0, (3,), struct="poolnd", stride=(2, 0, 0)), [(1, 2, 7)]),
        (lambda: nn.LPPool2d(4.0, (2, 3), ceil_mode=True), lambda: c_module("lp_poolnd", 4.0, (2, 3), struct="poolnd", ceil_mode=True), [(1, 2, 5, 6)]),
        (lambda: nn.LPPool3d(2.0, 2), lambda: c_module("lp_poolnd", 2.0, (2, 2, 2), None), [(1, 2, 4, 4, 4)]),
        (lambda: nn.FractionalMaxPool2d((2, 3), output_size=3), lambda: c_module("fractional_max_poolnd", (2, 3), (3,), None), [(2, 3, 6, 7)]),
        (lambda: nn.FractionalMaxPool3d(2, output_ratio=(0.5, 0.6, 0.4)), lambda: c_module("fractional_max_poolnd", (2, 2, 2), None, (0.5, 0.6, 0.4)), [(3, 6, 7, 6)]),
        (lambda: nn.Upsample(scale_factor=(2.0, 1.5), mode="bilinear", align_corners=False),
         lambda: c_module("upsample", None, (2.0, 1.5), "bilinear", False, None), [(1, 2, 3, 4)]),
        (lambda: nn.UpsamplingNearest2d(scale_factor=2), lambda: c_module("upsampling2d", None, (2.0,), False), [(1, 2, 3, 4)]),
        (lambda: nn.UpsamplingBilinear2d(size=(4, 5)), lambda: c_module("upsampling2d", (4, 5), None, True), [(1, 2, 3, 4)]),
        (lambda: nn.CosineSimilarity(-1, 1e-6), lambda: c_module("cosine_similarity", -1, 1e-6), [(3, 4), (3, 4)]),
        (lambda: nn.PairwiseDistance(1.0, keepdim=True), lambda: c_module("pairwise_distance", 1.0, 1e-6, True), [(3, 4), (3, 4)]),
        (lambda: nn.Bilinear(2, 3, 4), lambda: c_module("bilinear", 2, 3, 4, None), [(5, 2), (5, 3)]),
        (lambda: nn.MultiheadAttention(4, 2), lambda: c_module("multihead_attention", 4, 2, None), [(3, 2, 4)] * 3),
        (lambda: nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True, batch_first=True, dropout=0.2),
         lambda: c_module("multihead_attention", 4, 2, struct="attention", kdim=3, vdim=5, add_bias_kv=True, add_zero_attn=True, batch_first=True, dropout=0.2),
         [(2, 3, 4), (2, 4, 3), (2, 4, 5)]),
        (lambda: nn.TransformerEncoderLayer(4, 2, 6, activation="gelu", norm_first=True),
         lambda: c_module("transformer_encoder_layer", 4, 2, struct="transformer", dim_feedforward=6, gelu=True, norm_first=True), [(3, 2, 4)]),
        (lambda: nn.TransformerDecoderLayer(4, 2, 6, bias=False, batch_first=True),
         lambda: c_module("transformer_decoder_layer", 4, 2, struct="transformer", dim_feedforward=6, bias=False, batch_first=True), [(2, 3, 4), (2, 5, 4)]),
        (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 6), 3, nn.LayerNorm(4)),
         lambda: c_module("transformer_encoder", c_module("transformer_encoder_layer", 4, 2, struct="transformer", dim_feedforward=6), 3,
                          c_module("layer_norm", (4,), None)), [(3, 2, 4)]),
        (lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6), 2),
         lambda: c_module("transformer_decoder", c_module("transformer_decoder_layer", 4, 2, struct="transformer", dim_feedforward=6), 2, None),
         [(3, 2, 4), (5, 2, 4)]),
    ]

    def test_several_dimensions_and_inputs(self):
        for make, make_c, shapes in self.SEVERAL_DIMENSIONS:
            trt.manual_seed(11)
            m = make()
            after = trt.rand(1).item()
            trt.manual_seed(11)
            h = make_c()
            text = _C.trt_module_to_string(h)
            self.assertEqual(trt.rand(1).item(), after, text)
            self.assertEqual(repr(m), text)
            state = _C.trt_module_state_dict(h)
            self.assertEqual(list(m.state_dict()), list(state), text)
            for name, t in m.state_dict().items():
                self.assertTrue(trt.equal(t, state[name]) and t.dtype == state[name].dtype, f"{text}: {name}")
            inputs = [trt.randn(*shape) for shape in shapes]
            for mode in (True, False):
                m.train(mode)
                _C.trt_module_train(h, mode)
                trt.manual_seed(5)
                y = m(*inputs)
                y = [t for t in y if t is not None] if isinstance(y, tuple) else [y]
                trt.manual_seed(5)
                for a, b in zip(y, _C.trt_module_forward_with(h, inputs, len(y)), strict=True):
                    self.assertEqual(a.shape, b.shape, text)
                    self.assertTrue(trt.allclose(a, b, rtol=1e-5, atol=1e-6), f"{text} in mode {mode}")

    def test_max_unpool(self):
        for dims, pool in enumerate((F.max_pool1d, F.max_pool2d, F.max_pool3d), 1):
            m = getattr(nn, f"MaxUnpool{dims}d")(3, 2, 1)
            h = c_module("max_unpoolnd", (3,) * dims, struct="poolnd", stride=(2, 2, 2), padding=(1, 1, 1))
            self.assertEqual(repr(m), _C.trt_module_to_string(h))
            y, indices = pool(trt.randn(2, 3, *(7,) * dims), 3, 2, 1, return_indices=True)
            self.assertEqual(m(y, indices).tolist(), _C.trt_module_forward_with(h, [y, indices], 1)[0].tolist())

    # Modules of Python without a function of C that makes them, each with its reason.
    ONLY_IN_PYTHON = {
        "a custom module of C with children": ("ModuleDict", "ModuleList", "ParameterDict", "ParameterList"),
        "base classes": ("Module", "RNNBase"),
        "tensors": ("Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"),
        "the layers of C know their sizes": tuple(name for name in dir(nn) if name.startswith("Lazy")),
        "made of Linear and log_softmax, by a forward function that decides by the data": ("AdaptiveLogSoftmaxWithLoss",),
    }

    def test_every_module(self):
        # A loss has no state: in C it is a function.
        made = {re.sub(r"nd$", "", f[4:-7]).replace("_", "") for f in dir(_C) if re.match(r"trt_\w+_create$", f)}
        alike = {"Dropout": "featuredropout", "InstanceNorm": "instancenorm", "ConvTranspose": "convtranspose", "Conv": "conv", "Upsampling": "upsampling2d"}
        missing = []
        for name in dir(nn):
            layer = getattr(nn, name)
            if not isinstance(layer, type) or name in sum(self.ONLY_IN_PYTHON.values(), ()):
                continue
            plain = re.sub(r"[123]d$", "", name)
            candidates = {name.lower(), plain.lower(), re.sub(r"(Nearest|Bilinear)$", "", plain).lower() + "2d", alike.get(plain, "")}
            if name.endswith("Loss"):
                loss = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
                loss = {"bce_loss": "binary_cross_entropy", "bce_with_logits_loss": "binary_cross_entropy_with_logits", "cross_entropy_loss": "cross_entropy",
                        "kl_div_loss": "kl_div", "multi_label_margin_loss": "multilabel_margin_loss",
                        "multi_label_soft_margin_loss": "multilabel_soft_margin_loss", "triplet_margin_with_distance_loss": "triplet_margin_loss"}.get(loss, loss)
                self.assertIn(loss, _C._operators, name)
            elif re.search("Pad$", plain):
                self.assertIn("pad", made)
            elif not candidates & made:
                missing.append(name)
        self.assertEqual(missing, [])

    def test_embedding_bag(self):
        for mode in range(3):
            name = ("sum", "mean", "max")[mode]
            for padding_idx in (None, 2):
                trt.manual_seed(1)
                m = nn.EmbeddingBag(6, 3, mode=name, padding_idx=padding_idx)
                trt.manual_seed(1)
                h = c_module("embedding_bag", 6, 3, struct="embedding_bag", mode=mode, has_padding_idx=padding_idx is not None, padding_idx=padding_idx)
                self.assertEqual(repr(m), _C.trt_module_to_string(h))
                self.assertEqual(m.weight.tolist(), _C.trt_module_parameter(h, "weight").tolist())
                rows, flat, offsets = trt.tensor([[1, 2, 5], [2, 2, 0]]), trt.tensor([1, 2, 5, 0]), trt.tensor([0, 3])
                self.assertEqual(m(rows).tolist(), _C.trt_module_forward(h, rows).tolist())
                self.assertEqual(m(flat, offsets).tolist(), _C.trt_module_forward_with(h, [flat, offsets], 1)[0].tolist())

    def test_layers(self):
        for make, make_c, shape in self.LAYERS:
            trt.manual_seed(11)
            m = make()
            after = trt.rand(1).item()
            trt.manual_seed(11)
            h = make_c()
            text = _C.trt_module_to_string(h)
            self.assertEqual(trt.rand(1).item(), after, text)
            self.assertEqual(repr(m), text)
            state = _C.trt_module_state_dict(h)
            self.assertEqual(list(m.state_dict()), list(state), text)
            for name, t in m.state_dict().items():
                self.assertTrue(trt.equal(t, state[name]) and t.dtype == state[name].dtype, f"{text}: {name}")
            x = trt.randn(*shape)
            for mode in (True, True, False):
                m.train(mode)
                _C.trt_module_train(h, mode)
                trt.manual_seed(5)
                y = m(x)
                trt.manual_seed(5)
                self.assertEqual(y.tolist(), _C.trt_module_forward(h, x).tolist(), f"{text} in mode {mode}")

    def test_embedding(self):
        trt.manual_seed(1)
        m = nn.Embedding(10, 3, padding_idx=-1)
        trt.manual_seed(1)
        h = c_module("embedding", 10, 3, struct="embedding", has_padding_idx=True, padding_idx=-1)
        self.assertEqual(repr(m), _C.trt_module_to_string(h))
        self.assertEqual(m.weight.tolist(), _C.trt_module_parameter(h, "weight").tolist())
        x = trt.tensor([[1, 9], [2, 2]])
        y = m(x)
        self.assertEqual(y.tolist(), _C.trt_module_forward(h, x).tolist())
        y.sum().backward()
        self.assertEqual([m.weight.grad[9].sum().item(), m.weight.grad[2].sum().item()], [0, 6])


class Layers(unittest.TestCase):
    def test_every_layer_runs(self):
        x5, x4, x3, x2 = trt.randn(2, 4, 4, 4, 4), trt.randn(2, 4, 8, 8), trt.randn(2, 4, 8), trt.randn(3, 4)
        for m, inputs in ((nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1), (x4,)), (nn.ConvTranspose1d(4, 2, 3), (x3,)), (nn.InstanceNorm2d(4, affine=True), (x4,)),
                          (nn.InstanceNorm1d(4, track_running_stats=True), (x3,)), (nn.LocalResponseNorm(2), (x4,)), (nn.MaxPool1d(2), (x3,)), (nn.AvgPool1d(2), (x3,)),
                          (nn.AdaptiveAvgPool1d(3), (x3,)), (nn.AdaptiveMaxPool1d(3), (x3,)), (nn.ZeroPad2d(1), (x4,)), (nn.LPPool1d(2, 3), (x3,)), (nn.LPPool2d(2, 3, stride=2), (x4,)), (nn.ConstantPad1d((1, 2), 3.0), (x3,)),
                          (nn.Bilinear(4, 4, 2), (x2, x2)), (nn.CosineSimilarity(), (x2, x2)), (nn.PairwiseDistance(), (x2, x2)), (nn.PReLU(4), (x2,)), (nn.GLU(), (x2,)),
                          (nn.SELU(), (x2,)), (nn.CELU(), (x2,)), (nn.Hardtanh(), (x2,)), (nn.Hardsigmoid(), (x2,)), (nn.Hardshrink(), (x2,)), (nn.Softshrink(), (x2,)),
                          (nn.Tanhshrink(), (x2,)), (nn.Softsign(), (x2,)), (nn.LogSigmoid(), (x2,)), (nn.Softmin(dim=1), (x2,)), (nn.Threshold(0.1, 20), (x2,)),
                          (nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"), (x4,)), (nn.BatchNorm3d(4), (x5,)), (nn.InstanceNorm3d(4), (x5,)),
                          (nn.Conv3d(4, 2, 3, padding=1, padding_mode="replicate"), (x5,)), (nn.ConvTranspose3d(4, 2, 3, stride=2, output_padding=1), (x5,)),
                          (nn.MaxPool3d(2), (x5,)), (nn.AvgPool3d(2), (x5,)), (nn.AdaptiveAvgPool3d((2, None, 1)), (x5,)), (nn.AdaptiveMaxPool3d(2), (x5,)),
                          (nn.UpsamplingNearest2d(scale_factor=2), (x4,)), (nn.UpsamplingBilinear2d(size=(3, 5)), (x4,)), (nn.PixelShuffle(2), (x4,))):
            y = m(*inputs)
            self.assertTrue(bool(y.isfinite().all()), m)
            self.assertTrue(repr(m).startswith(type(m).__name__))
        values, indices = nn.MaxPool2d(2, return_indices=True)(x4)
        self.assertEqual((values.shape, indices.dtype), ((2, 4, 4, 4), trt.int64))
        inplace = trt.tensor([-1.0, 1.0])
        self.assertEqual(nn.ReLU(inplace=True)(inplace).tolist(), inplace.tolist())
        self.assertEqual(F.relu(trt.tensor([-1.0]), inplace=True).item(), 0)

    def test_volumes(self):
        x = trt.randn(2, 4, 5, 6, 7, dtype=trt.float64)
        conv = nn.Conv3d(4, 6, (2, 3, 1), stride=(1, 2, 1), padding=(0, 1, 0), groups=2, dtype=trt.float64)
        y = conv(x)
        # A three-dimensional convolution is the sum of two-dimensional ones over the taps of the depth.
        for d in range(4):
            expected = sum(F.conv2d(x[:, :, d + i], conv.weight[:, :, i], None, (2, 1), (1, 0), 1, 2) for i in range(2)) + conv.bias.reshape(6, 1, 1)
            self.assertTrue(trt.allclose(y[:, :, d], expected), d)
        # The transposed one is its adjoint: <conv(x), g> = <x, conv^T(g)>.
        g = trt.randn(*y.shape, dtype=trt.float64)
        back = F.conv_transpose3d(g, conv.weight, None, (1, 2, 1), (0, 1, 0), (0, 1, 0), 2)
        self.assertEqual(back.shape, x.shape)
        self.assertAlmostEqual(((y - conv.bias.reshape(6, 1, 1, 1)) * g).sum().item(), (x * back).sum().item(), 9)
        values, indices = nn.MaxPool3d(2, return_indices=True)(x)
        kept = nn.MaxUnpool3d(2)(values, indices, output_size=x.shape)
        self.assertEqual((kept != 0).sum().item(), values.numel())
        self.assertTrue(trt.equal(nn.MaxPool3d(2)(kept.where(kept != 0, -100.0)), values))

    def test_bags(self):
        table = trt.arange(12, dtype=trt.float64).reshape(6, 2)
        bags = [[0, 1, 1], [5], []]
        rows, offsets = trt.tensor(sum(bags, [])), trt.tensor([0, 3, 4])
        for mode in ("sum", "mean", "max"):
            module = nn.EmbeddingBag(6, 2, mode=mode, _weight=table.clone())
            y = module(rows, offsets)
            for bag, found in zip(bags, y):
                self.assertEqual(found.tolist(), (table[bag].max(0)[0] if mode == "max" else getattr(table[bag], mode)(0)).tolist() if bag else [0, 0])
            y.sum().backward()
            self.assertAlmostEqual(module.weight.grad.sum().item(), {"sum": 8, "mean": 4, "max": 4}[mode])
        self.assertEqual(F.embedding_bag(rows, table, trt.tensor([0, 3, 4, 4]), include_last_offset=True, padding_idx=1, mode="sum").tolist(), [[0, 1], [10, 11], [0, 0]])
        F.embedding(trt.tensor([5]), table, max_norm=1.0)  # only the rows that are named
        self.assertAlmostEqual(table[5].norm().item(), 1, 5)
        self.assertEqual(table[4].tolist(), [8, 9])
        for bad in (lambda: F.embedding_bag(rows, table), lambda: F.embedding_bag(rows, table, trt.tensor([1])), lambda: F.embedding_bag(rows, table, trt.tensor([0, 9])),
                    lambda: F.embedding_bag(rows, table, offsets, mode="prod")):
            self.assertRaises(ValueError, bad)

    def test_state_of_something_else(self):
        for bad in (None, 5, [("weight", trt.ones(1))]):
            with self.assertRaisesRegex(TypeError, "state_dict"):
                nn.Linear(1, 1).load_state_dict(bad)

    def test_paddings(self):
        x = trt.arange(8.0).reshape(1, 2, 4)
        self.assertEqual(nn.CircularPad1d((1, 0))(x)[0, 0].tolist(), [3, 0, 1, 2, 3])
        self.assertEqual(nn.ReflectionPad1d(2)(x)[0, 0].tolist(), [2, 1, 0, 1, 2, 3, 2, 1])
        self.assertEqual(nn.ReplicationPad1d((0, 2))(x)[0, 1].tolist(), [4, 5, 6, 7, 7, 7])
        self.assertEqual(nn.ZeroPad1d(1)(x).shape, (1, 2, 6))
        self.assertEqual(nn.ConstantPad3d(1, 2.5)(trt.zeros(1, 1, 1, 1, 1)).sum().item(), 26 * 2.5)
        for kind in ("Circular", "Reflection", "Replication", "Zero"):
            for n in (1, 2, 3):
                pad = getattr(nn, f"{kind}Pad{n}d")(1)
                self.assertEqual(pad(trt.rand(2, 3, *[4] * n)).shape, (2, 3, *[6] * n))
                self.assertEqual(repr(pad), f"{kind}Pad{n}d({(1,) * 2 * n})")
        self.assertEqual(repr(nn.ConstantPad1d(1, 0.5)), "ConstantPad1d(padding=(1, 1), value=0.5)")

    def test_dropouts(self):
        trt.manual_seed(5)
        x = trt.ones(64, 16, 3, 3)
        for layer, shape in ((nn.Dropout1d(0.25), (64, 16, 9)), (nn.Dropout2d(0.25), (64, 16, 3, 3)), (nn.Dropout3d(0.25), (64, 16, 3, 3, 1))):
            z = x.reshape(shape)
            y = layer(z).reshape(64, 16, 9)
            self.assertTrue((y == y[:, :, :1]).all().item(), "a channel is dropped as a whole")
            self.assertEqual(set(y.unique().tolist()), {0.0, y.max().item()})
            self.assertAlmostEqual(y.max().item(), 1 / 0.75, 5)
            self.assertAlmostEqual((y > 0).float().mean().item(), 0.75, delta=0.06)
            self.assertTrue(trt.equal(layer.eval()(z), z))
        self.assertEqual(F.dropout1d(trt.ones(5, 4)).shape, (5, 4))
        self.assertEqual(F.dropout3d(trt.ones(5, 4, 4, 4)).shape, (5, 4, 4, 4))
        for f, bad in ((F.dropout1d, x), (F.dropout3d, x[0, 0])):
            with self.assertRaisesRegex(ValueError, "dimensions"):
                f(bad)
        with self.assertWarnsRegex(UserWarning, "dropout2d"):
            F.dropout2d(x[0, 0])
        z = trt.randn(200000)
        y = nn.AlphaDropout(0.3)(z)
        self.assertAlmostEqual(y.mean().item(), 0, delta=0.02)
        self.assertAlmostEqual(y.std().item(), 1, delta=0.02)
        y = nn.FeatureAlphaDropout(0.3)(trt.randn(2000, 50, 2))
        self.assertAlmostEqual(y.std().item(), 1, delta=0.03)
        c = y[:, :, 0] == y[:, :, 1]
        self.assertAlmostEqual(c.float().mean().item(), 0.3, delta=0.02)

    def test_random_activations(self):
        trt.manual_seed(6)
        x = trt.tensor([-1.0] * 3000 + [2.0] * 10, requires_grad=True)
        y = nn.RReLU(0.1, 0.3)(x)
        self.assertTrue(((y[:3000] <= -0.1) & (y[:3000] >= -0.3)).all().item())
        self.assertAlmostEqual(y[:3000].mean().item(), -0.2, delta=0.01)
        y.sum().backward()
        self.assertTrue((x.grad[:3000] == -y[:3000]).all().item())
        self.assertEqual(x.grad[3000:].tolist(), [1.0] * 10)
        self.assertTrue(trt.allclose(nn.RReLU(0.1, 0.3).eval()(x), F.leaky_relu(x, 0.2)))
        logits = trt.tensor([0.1, 0.2, 0.7]).log().expand(20000, 3).clone().requires_grad_()
        hard = F.gumbel_softmax(logits, hard=True)
        self.assertEqual(hard.sum(1).unique().tolist(), [1.0])
        for share, p in zip(hard.mean(0).tolist(), (0.1, 0.2, 0.7)):
            self.assertAlmostEqual(share, p, delta=0.02)
        (hard * trt.tensor([1.0, 2.0, 3.0])).sum().backward()
        self.assertGreater(logits.grad.abs().sum().item(), 0)
        soft = F.gumbel_softmax(logits, tau=0.5, dim=0)
        self.assertTrue(trt.allclose(soft.sum(0), trt.ones(3), atol=1e-3))
        self.assertTrue(trt.allclose(nn.Softmax2d()(trt.rand(2, 3, 4, 5)).sum(1), trt.ones(2, 4, 5)))
        u = trt.tensor([-1.0, 2.0])
        self.assertIs(F.relu_(u), u)
        self.assertEqual(u.tolist(), [0.0, 2.0])

    def test_triplets_with_any_distance(self):
        a, p, n = trt.randn(5, 3), trt.randn(5, 3), trt.randn(5, 3)
        for swap in (False, True):
            self.assertTrue(trt.allclose(nn.TripletMarginWithDistanceLoss(swap=swap)(a, p, n), F.triplet_margin_loss(a, p, n, swap=swap)))
        taxi = F.triplet_margin_with_distance_loss(a, p, n, distance_function=lambda x, y: (x - y).abs().sum(1), margin=0.5, reduction="none")
        self.assertTrue(trt.allclose(taxi, ((a - p).abs().sum(1) - (a - n).abs().sum(1) + 0.5).clamp_min(0)))

    def test_rms_norm(self):
        x = trt.randn(3, 4, dtype=trt.float64)
        y = nn.RMSNorm(4, dtype=trt.float64)(x)
        self.assertTrue(trt.allclose((y * y).mean(1), trt.ones(3, dtype=trt.float64)))
        self.assertTrue(trt.allclose(nn.RMSNorm(4, eps=1e-3, elementwise_affine=False)(x), x / ((x * x).mean(1, True) + 1e-3).sqrt()))
        self.assertRaises(ValueError, lambda: F.rms_norm(x, (3,)))

    def test_images(self):
        x = trt.randn(2, 8, 6, 4, dtype=trt.float64)
        self.assertTrue(trt.equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x))
        self.assertTrue(trt.equal(nn.ChannelShuffle(2)(x)[:, 1], x[:, 4]))
        # Every element comes back as often as windows cover it.
        windows = nn.Unfold(3, padding=1, stride=2)
        ones = nn.Fold((6, 4), 3, padding=1, stride=2)(windows(trt.ones_like(x)))
        self.assertTrue(trt.allclose(nn.Fold((6, 4), 3, padding=1, stride=2)(windows(x)), x * ones))
        up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.assertTrue(trt.allclose(up(x)[:, :, ::11, ::7], x[:, :, ::5, ::3]))
        self.assertEqual((repr(up), nn.Upsample(size=3)(x).shape), ("Upsample(scale_factor=2.0, mode='bilinear')", (2, 8, 3, 3)))
        # The identical map samples every element where it is.
        theta = trt.tensor([[[1.0, 0, 0], [0, 1, 0]]] * 2, dtype=trt.float64)
        for mode in ("bilinear", "nearest", "bicubic"):
            self.assertTrue(trt.allclose(F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), mode, align_corners=False), x), mode)

    def test_errors(self):
        for bad in (lambda: nn.Conv2d(3, 4, 3, groups=2), lambda: nn.Dropout(2.0), lambda: nn.GroupNorm(3, 4), lambda: nn.Embedding(3, 4, padding_idx=5),
                    lambda: nn.Conv2d(1, 1, 3, padding="same", stride=2), lambda: nn.BatchNorm2d(3)(trt.ones(2, 3))):
            with self.assertRaises(ValueError):
                bad()
        for bad in (lambda: nn.ReLU(3, 4), lambda: nn.LeakyReLU(slope=1), lambda: nn.Threshold(1), lambda: nn.MSELoss(nonsense=1)):
            with self.assertRaises(TypeError):
                bad()

    def test_losses(self):
        x, y = trt.randn(4, 3, requires_grad=True), trt.rand(4, 3)
        c = trt.tensor([0, 2, 1, 1])
        self.assertAlmostEqual(nn.CrossEntropyLoss()(x, c).item(), -F.log_softmax(x, 1)[range(4), c].mean().item(), 5)
        self.assertAlmostEqual(nn.MSELoss(reduction="sum")(x, y).item(), ((x - y) ** 2).sum().item(), 4)
        self.assertEqual(nn.CrossEntropyLoss(weight=trt.ones(3), reduction="none")(x, c).shape, (4,))
        self.assertIn("weight", nn.CrossEntropyLoss(weight=trt.ones(3)).state_dict())
        sign = trt.tensor([1.0, -1.0, 1.0, -1.0])
        for loss, inputs in ((nn.L1Loss(), (x, y)), (nn.SmoothL1Loss(beta=0.5), (x, y)), (nn.HuberLoss(delta=0.5), (x, y)), (nn.NLLLoss(), (F.log_softmax(x, 1), c)),
                             (nn.BCELoss(), (x.sigmoid(), y)), (nn.BCEWithLogitsLoss(pos_weight=trt.ones(3)), (x, y)), (nn.KLDivLoss(reduction="batchmean"), (F.log_softmax(x, 1), y)),
                             (nn.CosineEmbeddingLoss(), (x, y, sign)), (nn.HingeEmbeddingLoss(), (x[:, 0], sign)), (nn.MarginRankingLoss(), (x[:, 0], y[:, 0], sign)),
                             (nn.SoftMarginLoss(), (x[:, 0], sign)), (nn.MultiMarginLoss(), (x, c)), (nn.MultiLabelSoftMarginLoss(), (x, y)),
                             (nn.TripletMarginLoss(), (x, y, y + 1)), (nn.PoissonNLLLoss(), (x, y)), (nn.GaussianNLLLoss(), (x, y, y + 1))):
            value = loss(*inputs)
            self.assertEqual(value.dim(), 0, loss)
            value.backward()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(F.softmax(trt.ones(2, 4)).tolist(), F.softmax(trt.ones(2, 4), dim=1).tolist())

    def test_attention(self):
        q, k, v = trt.randn(2, 5, 4), trt.randn(2, 6, 4), trt.randn(2, 6, 3)
        expected = (q @ k.transpose(1, 2) / 2).softmax(-1) @ v
        trt.testing.assert_close(F.scaled_dot_product_attention(q, k, v), expected)
        mask = trt.tensor([True] * 3 + [False] * 3)
        trt.testing.assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=mask), F.scaled_dot_product_attention(q, k[:, :3], v[:, :3]))
        first = F.scaled_dot_product_attention(q, q, q, is_causal=True)[:, 0]
        trt.testing.assert_close(first, q[:, 0])

    def test_init(self):
        w = trt.empty(50, 40)
        g = trt.Generator().manual_seed(1)
        for f in (lambda: nn.init.uniform_(w, -2, 2, g), lambda: nn.init.normal_(w, 1, 2, generator=g), lambda: nn.init.xavier_uniform_(w), lambda: nn.init.xavier_normal_(w),
                  lambda: nn.init.kaiming_uniform_(w, nonlinearity="relu"), lambda: nn.init.kaiming_normal_(w, mode="fan_out"), lambda: nn.init.orthogonal_(w),
                  lambda: nn.init.trunc_normal_(w), lambda: nn.init.constant_(w, 3), lambda: nn.init.ones_(w), lambda: nn.init.zeros_(w), lambda: nn.init.eye_(w)):
            self.assertIs(f(), w)
        self.assertEqual(w.sum().item(), 40)
        nn.init.orthogonal_(w)
        trt.testing.assert_close(w.T @ w, trt.eye(40), atol=1e-4, rtol=0)
        self.assertAlmostEqual(nn.init.calculate_gain("relu"), math.sqrt(2))
        p = nn.Parameter(trt.empty(3, 3))
        nn.init.zeros_(p)  # a leaf that requires gradients
        self.assertTrue(p.requires_grad and p.sum().item() == 0)

    def test_clipping(self):
        p = nn.Parameter(trt.ones(4))
        p.grad = trt.full((4,), 3.0)
        norm = nn.utils.clip_grad_norm_([p], 1.0)
        self.assertAlmostEqual(norm.item(), 6.0, 5)
        self.assertAlmostEqual(p.grad.norm().item(), 1.0, 4)
        nn.utils.clip_grad_value_(p, 0.1)
        self.assertAlmostEqual(p.grad.max().item(), 0.1, 6)
        v = nn.utils.parameters_to_vector([p])
        nn.utils.vector_to_parameters(v * 2, [p])
        self.assertEqual(p.tolist(), [2, 2, 2, 2])


@unittest.skipIf(torch is None, "PyTorch is not installed")
class SameAsTorch(unittest.TestCase):
    def test_text_and_names(self):
        def build(nn):
            return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25),
                                 nn.Linear(4, 2), nn.LayerNorm(3), nn.LeakyReLU(), nn.Softmax(dim=1), nn.ModuleList([nn.Embedding(3, 2)]))

        self.assertEqual(list(build(nn).state_dict()), list(build(torch.nn).state_dict()))

    def test_training_steps(self):
        t = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        m = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        m.load_state_dict({k: trt.from_dlpack(v.detach()).clone() for k, v in t.state_dict().items()})
        a, b = trt.optim.AdamW(m.parameters(), lr=0.01), torch.optim.AdamW(t.parameters(), lr=0.01)
        for step in range(5):
            x, c = torch.randn(6, 4), torch.randint(0, 3, (6,))
            losses = []
            for model, optimizer, functional, cast in ((m, a, F, trt.from_dlpack), (t, b, torch.nn.functional, lambda v: v)):
                loss = functional.cross_entropy(model(cast(x)), cast(c))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            self.assertAlmostEqual(*losses, 5)


if __name__ == "__main__":
    unittest.main()
