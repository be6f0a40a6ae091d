"""Attention and recurrent layers: memory, random numbers, equal results with any number of threads; torch where it is installed."""

import unittest

import trt
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


if __name__ == "__main__":
    unittest.main()
