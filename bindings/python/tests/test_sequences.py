"""Attention, recurrent layers, transformers: memory, random numbers, equal results with any number of threads; torch where it is installed."""

import unittest

import trt
from trt import nn
from trt.nn import functional as F

try:
    import torch
except ImportError:
    torch = None


class Attention(unittest.TestCase):
    def peak(self, length, **kwargs):
        """MiB that a forward and backward pass takes at most, for one head of 16."""
        q, k, v = (trt.randn(1, length, 16).requires_grad_() for _ in range(3))
        before = trt.memory.allocated()
        trt.memory.reset_peak()
        F.scaled_dot_product_attention(q, k, v, **kwargs).sum().backward()
        return (trt.memory.stats()["allocated_peak"] - before) / 2**20

    def test_memory_grows_with_the_length_only(self):
        self.peak(256)
        # The scores of 8192 queries and keys alone are 256 MiB.
        for kwargs in ({}, {"is_causal": True}, {"dropout_p": 0.1}, {"attn_mask": trt.ones(8192, dtype=trt.bool)}):
            short, long = self.peak(4096, **{k: v[:4096] if k == "attn_mask" else v for k, v in kwargs.items()}), self.peak(8192, **kwargs)
            self.assertLess(long, 24, kwargs)
            self.assertLess(long, 2.5 * short, kwargs)

    def test_threads_and_dropout(self):
        q, k, v = (trt.randn(2, 3, n, 8).requires_grad_() for n in (300, 530, 530))
        bias = trt.randn(300, 530).requires_grad_()
        results = []
        threads = trt.get_num_threads()
        try:
            for n in (1, 2, 3):
                trt.set_num_threads(n)
                trt.manual_seed(4)
                y = F.scaled_dot_product_attention(q, k, v, bias, 0.25)
                results.append([y.detach()] + list(trt.autograd.grad([(y * y).sum()], [q, k, v, bias])))
        finally:
            trt.set_num_threads(threads)
        for other in results[1:]:
            for a, b in zip(results[0], other):
                self.assertTrue(trt.equal(a, b))
        trt.manual_seed(5)
        self.assertFalse(trt.equal(results[0][0], F.scaled_dot_product_attention(q, k, v, bias, 0.25)))

    def test_dropout_is_that_of_the_probabilities(self):
        # The identity as values shows the probabilities after dropout.
        q, k = trt.randn(2, 40, 4), trt.randn(2, 70, 4)
        plain = F.scaled_dot_product_attention(q, k, trt.eye(70).expand(2, 70, 70))
        trt.manual_seed(1)
        dropped = F.scaled_dot_product_attention(q, k, trt.eye(70).expand(2, 70, 70), dropout_p=0.4)
        kept = dropped != 0
        trt.testing.assert_close(dropped, trt.where(kept, plain / 0.6, trt.zeros(())), rtol=1e-5, atol=1e-6)
        self.assertAlmostEqual(kept.float().mean().item(), 0.6, delta=0.03)
        self.assertEqual(F.scaled_dot_product_attention(q, k, k, dropout_p=1.0).abs().sum().item(), 0)

    def test_derivatives_with_dropout(self):
        q, k, v = (trt.randn(2, n, 3, dtype=trt.float64).requires_grad_() for n in (3, 4, 4))

        def call(*tensors):
            trt.manual_seed(7)
            return F.scaled_dot_product_attention(*tensors, None, 0.3)

        self.assertTrue(trt.autograd.gradcheck(call, (q, k, v)))
        self.assertTrue(trt.autograd.gradgradcheck(call, (q, k, v)))

    def test_queries_without_keys(self):
        q, k, v = (trt.randn(2, 5, 4).requires_grad_() for _ in range(3))
        mask = trt.ones(5, 5, dtype=trt.bool)
        mask[2] = False
        y = F.scaled_dot_product_attention(q, k, v, mask)
        self.assertEqual(y[:, 2].abs().sum().item(), 0)
        y.sum().backward()
        self.assertEqual(q.grad[:, 2].abs().sum().item(), 0)
        for x in (q, k, v):
            self.assertTrue(bool(x.grad.isfinite().all()))

    @unittest.skipUnless(torch, "torch is not installed")
    def test_long_sequences_against_torch(self):
        for causal, dtype, tolerance in ((False, "float32", 2e-5), (True, "float64", 1e-10), (True, "float32", 2e-5)):
            torch.manual_seed(2)
            theirs = [torch.randn(2, 2, n, 8, dtype=getattr(torch, dtype), requires_grad=True) for n in (700, 1100, 1100)]
            ours = [trt.from_dlpack(x.detach()).clone().requires_grad_() for x in theirs]
            expected = torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=causal)
            actual = F.scaled_dot_product_attention(*ours, is_causal=causal)
            (expected * expected).sum().backward()
            (actual * actual).sum().backward()
            for a, e in [(actual.detach(), expected.detach())] + [(x.grad, y.grad) for x, y in zip(ours, theirs)]:
                trt.testing.assert_close(a, trt.from_dlpack(e.contiguous()), rtol=tolerance * 10, atol=tolerance)


class SecondDerivativeCheck(unittest.TestCase):
    def test_views_as_arguments(self):
        x = trt.randn(2, 5, 3, dtype=trt.float64)[:, :2].detach().requires_grad_()
        self.assertTrue(trt.autograd.gradgradcheck(lambda a: a**3, (x,)))


def run_by_cells(layer, cell, x, suffix="_l0", reverse=False):
    """The states of a layer of one direction, step by step through a cell with its parameters; the last states."""
    cell.load_state_dict({n: layer.state_dict()[n + suffix] for n in cell.state_dict()})
    h, outputs = None, []
    for step in reversed(range(x.size(0))) if reverse else range(x.size(0)):
        h = cell(x[step], h)
        outputs.append(h[0] if isinstance(h, tuple) else h)
    return trt.stack(outputs[::-1] if reverse else outputs), h


class Recurrent(unittest.TestCase):
    kinds = ((nn.LSTM, nn.LSTMCell, {}), (nn.GRU, nn.GRUCell, {}), (nn.RNN, nn.RNNCell, {}), (nn.RNN, nn.RNNCell, {"nonlinearity": "relu"}))

    def test_layers_are_their_cells(self):
        x = trt.randn(6, 3, 4)
        for layer_type, cell_type, kwargs in self.kinds:
            layer, cell = layer_type(4, 5, bidirectional=True, **kwargs), cell_type(4, 5, **kwargs)
            y, last = layer(x)
            for at, suffix, reverse in ((0, "_l0", False), (1, "_l0_reverse", True)):
                expected, h = run_by_cells(layer, cell, x, suffix, reverse)
                trt.testing.assert_close(y[..., at * 5:at * 5 + 5], expected, rtol=1e-5, atol=1e-6)
                for a, e in zip(last if isinstance(last, tuple) else (last,), h if isinstance(h, tuple) else (h,)):
                    trt.testing.assert_close(a[at], e, rtol=1e-5, atol=1e-6)

    def test_forms_of_input(self):
        x = trt.randn(2, 6, 4)
        for layer_type, _, kwargs in self.kinds:
            layer = layer_type(4, 5, num_layers=2, batch_first=True, **kwargs)
            y, h = layer(x)
            one, h_one = layer(x[1])
            trt.testing.assert_close(one, y[1], rtol=1e-5, atol=1e-6)
            states = (h, h_one) if isinstance(h, tuple) else ((h,), (h_one,))
            for a, e in zip(*states):
                trt.testing.assert_close(e, a[:, 1], rtol=1e-5, atol=1e-6)
            # The second half goes on from the states of the first.
            first, h = layer(x[:, :3])
            second, _ = layer(x[:, 3:], h)
            trt.testing.assert_close(trt.cat([first, second], 1), y, rtol=1e-5, atol=1e-6)

    def test_dropout_between_layers(self):
        layer = nn.GRU(3, 4, num_layers=2, dropout=1.0)
        x = trt.randn(5, 2, 3)
        plain = nn.GRU(4, 4)
        plain.load_state_dict({n.replace("_l1", "_l0"): v for n, v in layer.state_dict().items() if "_l1" in n})
        trt.testing.assert_close(layer(x)[0], plain(trt.zeros(5, 2, 4))[0])
        layer.eval()
        self.assertFalse(trt.equal(layer(x)[0], plain(trt.zeros(5, 2, 4))[0]))

    def test_gradients_with_threads(self):
        layer = nn.LSTM(16, 64, num_layers=2, proj_size=8)
        x = trt.randn(7, 33, 16)
        results = []
        threads = trt.get_num_threads()
        try:
            for n in (1, 2):
                trt.set_num_threads(n)
                layer.zero_grad()
                y, _ = layer(x)
                (y * y).sum().backward()
                results.append([y.detach()] + [p.grad.clone() for p in layer.parameters()])
        finally:
            trt.set_num_threads(threads)
        for a, b in zip(*results):
            self.assertTrue(trt.equal(a, b))

    def test_derivatives(self):
        for layer_type, _, kwargs in self.kinds[:3] + ((nn.LSTM, None, {"proj_size": 1, "bidirectional": True}),):
            layer = layer_type(2, 2, dtype=trt.float64, **kwargs)
            x = trt.randn(3, 2, 2, dtype=trt.float64).requires_grad_()

            def call(x):
                y, h = layer(x)
                return (y, *h) if isinstance(h, tuple) else (y, h)

            self.assertTrue(trt.autograd.gradcheck(call, (x,)))
            self.assertTrue(trt.autograd.gradgradcheck(call, (x,)))

    def test_errors(self):
        layer = nn.LSTM(4, 5)
        for bad in (lambda: layer(trt.ones(2, 3, 5)), lambda: layer(trt.ones(2, 3, 4), (trt.ones(1, 2, 5), trt.ones(1, 3, 5))), lambda: layer(trt.ones(0, 3, 4)),
                    lambda: layer(trt.ones(2, 3, 4), (trt.ones(3, 5), trt.ones(3, 5)))):
            self.assertRaises(trt.Error, bad)
        for bad in (lambda: nn.GRU(4, 0), lambda: nn.LSTM(4, 5, proj_size=5), lambda: nn.RNN(4, 5, nonlinearity="gelu"), lambda: nn.GRU(4, 5, dropout=2)):
            self.assertRaises(ValueError, bad)

    @unittest.skipUnless(torch, "torch is not installed")
    def test_checkpoints_of_torch(self):
        for name, kwargs in (("LSTM", {"num_layers": 2, "bidirectional": True, "proj_size": 2}), ("GRU", {"batch_first": True}), ("RNN", {"bias": False}),
                             ("LSTMCell", {}), ("GRUCell", {}), ("RNNCell", {"nonlinearity": "relu"}), ("MultiheadAttention", {"kdim": 4, "vdim": 4}),
                             ("TransformerEncoderLayer", {"dim_feedforward": 8}), ("TransformerDecoderLayer", {"dim_feedforward": 8})):
            theirs, ours = getattr(torch.nn, name)(4, 4, **kwargs), getattr(nn, name)(4, 4, **kwargs)
            self.assertEqual(list(theirs.state_dict()), list(ours.state_dict()))
            self.assertEqual(repr(theirs), repr(ours))
            ours.load_state_dict({n: trt.from_dlpack(v.detach()) for n, v in theirs.state_dict().items()})
            theirs.eval()
            ours.eval()
            x = torch.randn(3, 2, 4) if "Cell" not in name else torch.randn(3, 4)
            inputs = [x] * {"MultiheadAttention": 3, "TransformerDecoderLayer": 2}.get(name, 1)
            expected, actual = theirs(*inputs), ours(*[trt.from_dlpack(i) for i in inputs])
            while isinstance(expected, tuple):
                expected, actual = expected[0], actual[0]
            trt.testing.assert_close(actual.detach(), trt.from_dlpack(expected.detach().contiguous()), rtol=1e-4, atol=1e-5)


class Transformers(unittest.TestCase):
    def test_both_ways_of_attention(self):
        for kwargs in ({}, {"batch_first": True}, {"add_bias_kv": True}, {"add_zero_attn": True, "bias": False}):
            attention = nn.MultiheadAttention(8, 2, **kwargs)
            x = trt.randn(5, 5, 8)
            causal = trt.full((5, 5), float("-inf")).triu(1)
            padding = trt.zeros(5, 5, dtype=trt.bool)
            padding[1, 3:] = True
            for masks in ({}, {"attn_mask": causal}, {"attn_mask": causal, "is_causal": True}, {"key_padding_mask": padding},
                          {"attn_mask": causal.isinf(), "key_padding_mask": padding}):
                with_weights, weights = attention(x, x, x, **masks)
                without, none = attention(x, x, x, need_weights=False, **masks)
                trt.testing.assert_close(with_weights, without, rtol=1e-4, atol=1e-5)
                self.assertIsNone(none)
                trt.testing.assert_close(weights.sum(-1), trt.ones(5, 5), rtol=1e-5, atol=1e-5)
            one, _ = attention(x[:, 2], x[:, 2], x[:, 2]) if not kwargs.get("batch_first") else attention(x[2], x[2], x[2])
            every, _ = attention(x, x, x)
            trt.testing.assert_close(one, every[2] if kwargs.get("batch_first") else every[:, 2], rtol=1e-4, atol=1e-5)

    def test_layers(self):
        x = trt.randn(2, 5, 8)
        for norm_first in (False, True):
            layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=norm_first, activation="gelu")
            attended = lambda y: layer.self_attn(y, y, y)[0]  # noqa: E731
            fed = lambda y: layer.linear2(F.gelu(layer.linear1(y)))  # noqa: E731
            if norm_first:
                y = x + attended(layer.norm1(x))
                expected = y + fed(layer.norm2(y))
            else:
                y = layer.norm1(x + attended(x))
                expected = layer.norm2(y + fed(y))
            trt.testing.assert_close(layer(x), expected, rtol=1e-4, atol=1e-5)
            stack = nn.TransformerEncoder(layer, 2)
            self.assertIsNot(stack.layers[0].linear1.weight, stack.layers[1].linear1.weight)
            trt.testing.assert_close(stack(x), layer(layer(x)), rtol=1e-4, atol=1e-5)
            decoder = nn.TransformerDecoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=norm_first)
            self.assertEqual(nn.TransformerDecoder(decoder, 2)(x, x).shape, x.shape)


if __name__ == "__main__":
    unittest.main()
