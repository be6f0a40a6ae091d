"""Transformer, the functional form of attention, the adaptive softmax, lazy modules. Expected sums are PyTorch's: parameters filled with (i % 7) / 10 - 0.25, inputs
with (i % 11) / 5 - 0.9, in float64; the second sum weighs element i with i % 5 + 1."""

import copy
import math
import pickle
import unittest

import trt
from trt import nn
from trt.nn import functional as F


def ramp(*shape):
    n = math.prod(shape)
    return ((trt.arange(n) % 11).double() * 0.2 - 0.9).reshape(shape)


def filled(module):
    module.double()
    with trt.no_grad():
        for p in module.parameters():
            p.copy_(((trt.arange(p.numel()) % 7).double() * 0.1 - 0.25).reshape(p.shape))
    return module


class Networks(unittest.TestCase):
    def has_sums(self, t, plain, weighted):
        flat = t.detach().reshape(-1).double()
        self.assertAlmostEqual(flat.sum().item(), plain, places=7)
        self.assertAlmostEqual((flat * (trt.arange(flat.numel()) % 5 + 1)).sum().item(), weighted, places=7)

    def test_transformer(self):
        t = filled(nn.Transformer(4, 2, 1, 2, 6, dropout=0.0, batch_first=True, activation="gelu")).eval()
        mask = nn.Transformer.generate_square_subsequent_mask(3, dtype=trt.float64)
        self.assertEqual(mask.tolist(), [[0, -math.inf, -math.inf], [0, 0, -math.inf], [0, 0, 0]])
        src, tgt = ramp(2, 5, 4), ramp(2, 3, 4)
        y = t(src, tgt, tgt_mask=mask)
        self.has_sums(y, -0.5678196733, -0.7486783176)
        self.assertTrue(trt.allclose(y, t(src, tgt, tgt_mask=mask, tgt_is_causal=True)))
        self.assertTrue(trt.equal(y, t.decoder(tgt, t.encoder(src), mask)))
        self.assertTrue(trt.allclose(y[0], t(src[0], tgt[0], tgt_mask=mask)))
        parts = ["self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight", "self_attn.out_proj.bias"]
        cross = [p.replace("self", "multihead") for p in parts]
        linear = [f"{n}.{k}" for n in ("linear1", "linear2") for k in ("weight", "bias")]
        norms = [f"norm{i}.{k}" for i in (1, 2, 3) for k in ("weight", "bias")]
        self.assertEqual(list(t.state_dict()), [f"encoder.layers.0.{n}" for n in parts + linear + norms[:4]] + ["encoder.norm.weight", "encoder.norm.bias"]
                         + [f"decoder.layers.{i}.{n}" for i in (0, 1) for n in parts + cross + linear + norms] + ["decoder.norm.weight", "decoder.norm.bias"])
        t = filled(nn.Transformer(4, 2, 1, 1, 6, dropout=0.0, norm_first=True, bias=False)).eval()
        self.has_sums(t(ramp(5, 4), ramp(3, 4)), 0.5985132807, 1.662648454)
        self.assertEqual(len(t.state_dict()), 17)
        own = nn.Transformer(4, 2, custom_encoder=nn.Identity(), custom_decoder=t.decoder)
        self.assertIsInstance(own.encoder, nn.Identity)
        for src, tgt, text in ((ramp(5, 2, 4), ramp(3, 1, 4), "batch number"), (ramp(5, 2, 3), ramp(3, 2, 3), "d_model"), (ramp(5, 2, 4), ramp(3, 4), "dimensions")):
            with self.assertRaisesRegex(trt.Error, text):
                t(src, tgt)
        # Weights are drawn once more, all with a bound of their own shape.
        large = nn.Transformer(64, 2, 1, 1, 8)
        self.assertLessEqual(large.encoder.layers[0].linear1.weight.abs().max().item(), math.sqrt(6 / 72))
        self.assertGreater(large.encoder.layers[0].linear1.weight.abs().max().item(), 1 / 8)

    def test_multi_head_attention_forward(self):
        w, b, wo, bo = ramp(12, 4), ramp(12), ramp(4, 4) * 0.5, ramp(4)
        q, k = ramp(3, 2, 4), ramp(5, 2, 4) * 0.7
        padding = trt.tensor([[False] * 5, [True] + [False] * 4])
        y, p = F.multi_head_attention_forward(q, k, k, 4, 2, w, b, ramp(1, 1, 4), ramp(1, 1, 4) * 2, True, 0.0, wo, bo, training=False, attn_mask=ramp(3, 5),
                                              key_padding_mask=padding, average_attn_weights=False)
        self.has_sums(y, -11.85794011, -30.90237015)
        self.has_sums(p, 12.0, 35.88667955)
        self.assertEqual(p.shape, (2, 2, 3, 7))
        separate = {"use_separate_proj_weight": True, "q_proj_weight": ramp(4, 4), "k_proj_weight": ramp(4, 4), "v_proj_weight": ramp(4, 4)}
        y, p = F.multi_head_attention_forward(q, k, k, 4, 2, None, b, None, None, False, 0.0, wo, bo, **separate, static_k=ramp(4, 6, 2), static_v=ramp(4, 6, 2) * 0.3,
                                              training=False)
        self.has_sums(y, -14.30581688, -40.37995289)
        self.has_sums(p, 6.0, 17.18918716)
        m = filled(nn.MultiheadAttention(4, 2))
        given = (4, 2, m.in_proj_weight, m.in_proj_bias, None, None, False, 0.0, m.out_proj.weight, m.out_proj.bias)
        for a, b in zip(m(q, k, k), F.multi_head_attention_forward(q, k, k, *given)):
            self.assertTrue(trt.equal(a, b))
        # Without probabilities another way is taken.
        self.assertTrue(trt.allclose(m(q, k, k)[0], F.multi_head_attention_forward(q, k, k, *given, need_weights=False)[0]))
        self.assertIsNone(m(q, k, k, need_weights=False)[1])
        with self.assertRaisesRegex(trt.Error, "multiple of 2"):
            F.multi_head_attention_forward(ramp(3, 2, 3), k, k, *given)
        with self.assertRaisesRegex(trt.Error, "static_k"):
            F.multi_head_attention_forward(q, k, k, *given[:4], ramp(1, 1, 4), ramp(1, 1, 4), *given[6:], static_k=ramp(4, 6, 2))
        with self.assertRaisesRegex(RuntimeError, "is_causal needs attn_mask"):
            F.multi_head_attention_forward(q, k, k, *given, is_causal=True)

    def test_adaptive_softmax(self):
        m = filled(nn.AdaptiveLogSoftmaxWithLoss(8, 12, [3, 7], div_value=2.0, head_bias=True))
        x, target = ramp(5, 8), trt.tensor([0, 5, 11, 2, 7])
        output, loss = m(x, target)
        for got, expected in zip(output.tolist(), [-1.3603056296391196, -2.6214068582090384, -3.71530902584185, -1.7567922283104622, -2.7192696086260275]):
            self.assertAlmostEqual(got, expected)
        self.assertAlmostEqual(loss.item(), 2.4346166701253)
        logs = m.log_prob(x)
        self.has_sums(logs, -164.1459378, -498.5524843)
        self.assertTrue(trt.allclose(logs.exp().sum(1), trt.ones(5).double()))
        self.assertTrue(trt.allclose(logs.gather(1, target.unsqueeze(1)).squeeze(1), output))
        self.assertEqual(m.predict(x[:4]).tolist(), [0, 2, 1, 0])  # in the last sample the scores of two classes are equal
        loss.backward()
        sums = [(0, 1.242908606), (0, -0.4085599375), (-0.0004778257593, 0.02094214519), (0, 0.348108569), (0.01728719487, -0.02697637165), (0, -0.6511251755)]
        for p, expected in zip(m.parameters(), sums, strict=True):
            self.has_sums(p.grad, *expected)
        self.assertEqual(list(m.state_dict()), ["head.weight", "head.bias", "tail.0.0.weight", "tail.0.1.weight", "tail.1.0.weight", "tail.1.1.weight"])
        single = m(x[1], target[1])
        self.assertEqual((single.output.shape, single.output.item(), single.loss.item()), ((), output[1].item(), -output[1].item()))
        # Where the head prefers a cluster all classes are compared.
        m.head.bias.data[3:] += 3.0
        self.assertEqual(m.predict(x).tolist(), m.log_prob(x).argmax(1).tolist())
        self.assertGreaterEqual(int(m.predict(x).min()), 3)
        for cutoffs in ([], [0, 3], [3, 3], [7, 3], [12], [1.5]):
            with self.assertRaisesRegex(ValueError, "cutoffs"):
                nn.AdaptiveLogSoftmaxWithLoss(8, 12, cutoffs)
        for bad, text in ((trt.tensor([0, 5, 12, 2, 7]), r"in range \[0, 12\]"), (trt.tensor([0]), "same size"), (target.unsqueeze(0), "needed")):
            with self.assertRaisesRegex(RuntimeError, text):
                m(x, bad)


# The lazy layer, the layer that it becomes, and the shape of an input.
LAZY = [
    (lambda: nn.LazyLinear(3), lambda: nn.Linear(5, 3), (2, 5)),
    (lambda: nn.LazyLinear(3, bias=False), lambda: nn.Linear(5, 3, bias=False), (5,)),
    (lambda: nn.LazyConv1d(4, 3, groups=2), lambda: nn.Conv1d(2, 4, 3, groups=2), (1, 2, 6)),
    (lambda: nn.LazyConv2d(4, (3, 2), stride=2, padding_mode="reflect", padding=1), lambda: nn.Conv2d(3, 4, (3, 2), stride=2, padding_mode="reflect", padding=1), (3, 6, 6)),
    (lambda: nn.LazyConv3d(4, 2, bias=False), lambda: nn.Conv3d(2, 4, 2, bias=False), (1, 2, 3, 3, 3)),
    (lambda: nn.LazyConvTranspose1d(4, 3, output_padding=1, stride=2), lambda: nn.ConvTranspose1d(2, 4, 3, output_padding=1, stride=2), (2, 6)),
    (lambda: nn.LazyConvTranspose2d(4, 3, groups=2), lambda: nn.ConvTranspose2d(2, 4, 3, groups=2), (1, 2, 4, 4)),
    (lambda: nn.LazyConvTranspose3d(4, 2), lambda: nn.ConvTranspose3d(2, 4, 2), (1, 2, 3, 3, 3)),
    (lambda: nn.LazyBatchNorm1d(), lambda: nn.BatchNorm1d(5), (4, 5)),
    (lambda: nn.LazyBatchNorm1d(momentum=None), lambda: nn.BatchNorm1d(5, momentum=None), (4, 5, 3)),
    (lambda: nn.LazyBatchNorm2d(affine=False), lambda: nn.BatchNorm2d(5, affine=False), (4, 5, 2, 2)),
    (lambda: nn.LazyBatchNorm3d(track_running_stats=False), lambda: nn.BatchNorm3d(5, track_running_stats=False), (4, 5, 2, 2, 2)),
    (lambda: nn.LazyInstanceNorm1d(), lambda: nn.InstanceNorm1d(5, affine=True, track_running_stats=True), (5, 4)),
    (lambda: nn.LazyInstanceNorm2d(), lambda: nn.InstanceNorm2d(5, affine=True, track_running_stats=True), (2, 5, 4, 3)),
    (lambda: nn.LazyInstanceNorm3d(affine=False, track_running_stats=False), lambda: nn.InstanceNorm3d(5), (2, 5, 4, 3, 2)),
]


class Lazy(unittest.TestCase):
    def test_becomes_the_layer(self):
        for make, make_known, shape in LAZY:
            trt.manual_seed(3)
            lazy = make()
            text = repr(lazy)
            trt.manual_seed(3)
            known = make_known()
            after = trt.rand(1).item()
            self.assertEqual(type(lazy).__name__, "Lazy" + type(known).__name__)
            self.assertEqual(list(lazy.state_dict()), list(known.state_dict()), text)
            self.assertIn("=0" if isinstance(lazy, nn.Linear) else "(0,", text)
            trt.manual_seed(3)
            x = trt.ones(shape) * trt.arange(math.prod(shape)).reshape(shape) / 7
            y = lazy(x)
            self.assertEqual(trt.rand(1).item(), after, text)
            self.assertIs(type(lazy), type(known))
            self.assertEqual(y.tolist(), known(x).tolist(), text)
            self.assertEqual(repr(lazy), repr(known))
            for (name, a), b in zip(lazy.state_dict(keep_vars=True).items(), known.state_dict(keep_vars=True).values(), strict=True):
                self.assertEqual((type(a).__name__, a.dtype, a.tolist()), (type(b).__name__ if type(b) is nn.Parameter or name == "num_batches_tracked" else "Buffer",
                                                                         b.dtype, b.tolist()), f"{text} {name}")

    def test_parameters_before(self):
        m = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyBatchNorm1d())
        weight = m[0].weight
        self.assertIsInstance(weight, nn.UninitializedParameter)
        self.assertIsInstance(m[2].running_mean, nn.UninitializedBuffer)
        self.assertEqual(repr(weight), "<UninitializedParameter>")
        with self.assertRaisesRegex(RuntimeError, "shape of an uninitialized"):
            weight.shape
        self.assertTrue(m[0].has_uninitialized_params())
        optimizer = trt.optim.SGD(m.parameters(), lr=0.5)
        copied = pickle.loads(pickle.dumps(copy.deepcopy(m)))
        m.double()
        self.assertEqual((weight.dtype, m[2].running_var.dtype), (trt.float64, trt.float64))
        y = m(ramp(3, 5))
        self.assertIs(m[0].weight, weight)  # of the class that it became
        self.assertEqual((type(weight), weight.shape, weight.dtype), (nn.Parameter, (4, 5), trt.float64))
        self.assertEqual(m[2].running_mean.shape, (4,))
        before = weight.detach().clone()
        (y * ramp(3, 4)).sum().backward()
        optimizer.step()
        self.assertTrue(trt.allclose(weight, before - 0.5 * weight.grad))
        # The copies are lazy still, in the dtype that they had.
        self.assertEqual(copied(ramp(2, 3).float()).shape, (2, 4))
        self.assertEqual(type(copied[0]), nn.Linear)

    def test_state_dicts(self):
        known, lazy, other = nn.Linear(5, 3), nn.LazyLinear(3), nn.LazyLinear(3)
        self.assertEqual(str(lazy.load_state_dict(other.state_dict())), "<All keys matched successfully>")
        self.assertTrue(lazy.has_uninitialized_params())
        lazy.load_state_dict(known.state_dict())
        self.assertFalse(lazy.has_uninitialized_params())
        self.assertEqual(lazy.weight.tolist(), known.weight.tolist())
        x = trt.ones(2, 5)
        self.assertEqual(lazy(x).tolist(), known(x).tolist())
        self.assertEqual((type(lazy), lazy.in_features), (nn.Linear, 5))
        with self.assertRaisesRegex(trt.Error, "no shape yet"):
            known.load_state_dict(other.state_dict())
        norm = nn.LazyBatchNorm2d()
        norm.load_state_dict(nn.BatchNorm2d(4).state_dict())
        self.assertEqual((norm(trt.ones(1, 4, 2, 2)).shape, norm.num_features), ((1, 4, 2, 2), 4))
        conv = nn.LazyConvTranspose2d(4, 2, groups=2)
        conv.load_state_dict(nn.ConvTranspose2d(6, 4, 2, groups=2).state_dict())
        self.assertEqual((conv(trt.ones(1, 6, 2, 2)).shape, conv.in_channels), ((1, 4, 3, 3), 6))
        # What does not fit changes nothing.
        with self.assertRaisesRegex(trt.Error, "Unexpected"):
            other.load_state_dict({**known.state_dict(), "more": x})
        self.assertTrue(other.has_uninitialized_params())

    def test_mistakes(self):
        with self.assertRaisesRegex(RuntimeError, "LazyConv2d.*3 or 4 dimensions"):
            nn.LazyConv2d(4, 3)(trt.ones(2, 3))
        m = nn.LazyConv1d(4, 3, groups=2)
        with self.assertRaisesRegex(ValueError, "3 channels cannot be divided into 2 groups"):
            m(trt.ones(1, 3, 6))
        self.assertTrue(m.has_uninitialized_params())
        self.assertEqual(m(trt.ones(1, 4, 6)).shape, (1, 4, 4))
        for make in (lambda: nn.Linear(None, 3), lambda: nn.Conv1d(None, 2, 3), lambda: nn.BatchNorm2d(None)):
            with self.assertRaises(TypeError):
                make()


if __name__ == "__main__":
    unittest.main()
