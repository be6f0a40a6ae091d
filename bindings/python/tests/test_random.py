"""Random numbers: distributions by their probabilities, results that do not depend on threads and strides, bad arguments."""

import math
import unittest

import trt

N = 100_000


def poisson_pmf(rate):
    return lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


def binomial_pmf(n, p):
    return lambda k: math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(p) + (n - k) * math.log1p(-p)) if k <= n else 0.0


class Discrete(unittest.TestCase):
    def check(self, draws, pmf, first):
        """Pearson's chi-squared test of the numbers of each value, with neighbours joined until 50 are expected."""
        counts = {}
        for v in draws.reshape(-1).tolist():
            self.assertEqual(v, int(v))
            counts[int(v)] = counts.get(int(v), 0) + 1
        total, chi2, cells, expected, found, mass = draws.numel(), 0.0, 0, 0.0, 0, 0.0
        for k in range(first, max(counts) + 1):
            expected += total * pmf(k)
            mass += pmf(k)
            found += counts.pop(k, 0)
            if expected >= 50 and total * (1 - mass) >= 50:
                chi2, cells, expected, found = chi2 + (found - expected) ** 2 / expected, cells + 1, 0.0, 0
        expected += total * (1 - mass)
        chi2, cells = chi2 + (found - expected) ** 2 / expected, cells + 1
        self.assertEqual(counts, {}, "values below the first")
        # Six standard deviations of the distribution of chi-squared.
        self.assertLess(chi2, cells - 1 + 6 * math.sqrt(2 * (cells - 1)) + 6, f"{cells} cells")

    def test_poisson(self):
        trt.manual_seed(11)
        for rate in (0.1, 0.7, 4.0, 9.99, 10.0, 12.5, 47.0, 900.0):
            with self.subTest(rate=rate):
                self.check(trt.poisson(trt.full((N,), rate, dtype=trt.float64)), poisson_pmf(rate), 0)
        self.assertEqual(trt.poisson(trt.tensor([0.0, math.inf])).tolist(), [0.0, math.inf])
        large = trt.poisson(trt.full((1000,), 1e12, dtype=trt.float64))
        self.assertLess(abs(float(large.mean()) - 1e12), 6e6 / math.sqrt(1000))
        self.assertLess(abs(float(large.std()) / 1e6 - 1), 0.2)

    def test_binomial(self):
        trt.manual_seed(12)
        for n, p in ((1, 0.3), (7, 0.5), (20, 0.04), (40, 0.25), (40, 0.75), (100, 0.1), (1000, 0.5), (5000, 0.999), (10 ** 6, 1e-5)):
            with self.subTest(n=n, p=p):
                draws = trt.binomial(trt.full((N,), n, dtype=trt.float64), trt.tensor(p, dtype=trt.float64))
                self.check(draws, binomial_pmf(n, p), 0)
        # Counts whose logarithms of factorials have no digits left for differences.
        for n, p in ((1e12, 0.3), (1e15, 0.3), (1e17, 0.3), (1e17, 0.5), (1e18, 1e-16)):
            draws = trt.binomial(trt.full((N,), n, dtype=trt.float64), trt.tensor(p, dtype=trt.float64))
            sigma = math.sqrt(n * p * (1 - p))
            if sigma * 64 > n * 2.0 ** -52:
                self.assertLess(abs(float((draws - n * p).mean())), 6 * sigma / math.sqrt(N) + n * 2.0 ** -52)
                self.assertLess(abs(float((draws - n * p).std()) / sigma - 1), 0.03, (n, p))
        edges = trt.binomial(trt.tensor([5.0, 5, 0, -3, math.nan, 5, math.inf]), trt.tensor([0.0, 1, 0.5, 0.5, 0.5, math.nan, 0.5])).tolist()
        self.assertEqual(edges[:4], [0, 5, 0, 0])
        self.assertTrue(all(math.isnan(v) for v in edges[4:]))

    def test_geometric(self):
        trt.manual_seed(13)
        for p in (0.02, 0.3, 0.9):
            for dtype in (trt.float64, trt.int32):
                with self.subTest(p=p, dtype=dtype):
                    self.check(trt.empty(N, dtype=dtype).geometric_(p), lambda k: p * (1 - p) ** (k - 1), 1)


class Continuous(unittest.TestCase):
    def check(self, draws, quantile):
        """The shares below the deciles."""
        n = draws.numel()
        for i in range(1, 10):
            share = float((draws < quantile(i / 10)).double().mean())
            self.assertLess(abs(share - i / 10), 6 * math.sqrt(0.25 / n), f"decile {i}")

    def test_cauchy(self):
        trt.manual_seed(14)
        self.check(trt.empty(N, dtype=trt.float64).cauchy_(), lambda q: math.tan(math.pi * (q - 0.5)))
        self.check(trt.empty(N).cauchy_(3.0, 0.5), lambda q: 3 + 0.5 * math.tan(math.pi * (q - 0.5)))

    def test_log_normal(self):
        import statistics

        trt.manual_seed(15)
        for mean, std in ((1.0, 2.0), (-0.5, 0.1)):
            normal = statistics.NormalDist(mean, std)
            self.check(trt.empty(N, dtype=trt.float64).log_normal_(mean, std), lambda q: math.exp(normal.inv_cdf(q)))


class Streams(unittest.TestCase):
    def fills(self):
        rate = trt.linspace(0, 60, 5000)
        return {"poisson": lambda g: trt.poisson(rate, generator=g), "binomial": lambda g: trt.binomial(rate, trt.tensor(0.4), generator=g),
                "cauchy_": lambda g: trt.empty(5000).cauchy_(generator=g), "log_normal_": lambda g: trt.empty(5000).log_normal_(generator=g),
                "geometric_": lambda g: trt.empty(5000).geometric_(0.2, generator=g)}

    def test_threads_and_seeds(self):
        before = trt.get_num_threads()
        try:
            for name, fill in self.fills().items():
                with self.subTest(name=name):
                    results = []
                    for threads in (1, 3, 1):
                        trt.set_num_threads(threads)
                        g = trt.Generator()
                        g.manual_seed(5)
                        results.append(fill(g))
                        second = fill(g)
                    self.assertTrue(trt.equal(results[0], results[1]) and trt.equal(results[0], results[2]))
                    self.assertFalse(trt.equal(results[0], second), "the generator went on")
        finally:
            trt.set_num_threads(before)

    def test_strides_and_dtypes(self):
        for name in ("cauchy_", "log_normal_", "geometric_"):
            args = (0.3,) if name == "geometric_" else ()
            trt.manual_seed(3)
            plain = getattr(trt.empty(6, 4), name)(*args)
            trt.manual_seed(3)
            turned = getattr(trt.empty(4, 6).t(), name)(*args)
            self.assertTrue(trt.equal(plain, turned), name)
            self.assertEqual(getattr(trt.empty(3, dtype=trt.bfloat16), name)(*args).dtype, trt.bfloat16)
        trt.manual_seed(3)
        rate = trt.rand(4, 6) * 20
        trt.manual_seed(4)
        a = trt.poisson(rate)
        trt.manual_seed(4)
        b = trt.poisson(rate.t().contiguous().t())
        self.assertEqual(a.shape, b.shape)
        self.assertEqual(trt.poisson(rate.half()).dtype, trt.float16)
        self.assertEqual(trt.poisson(rate.to("meta")).shape, (4, 6))
        self.assertEqual(trt.poisson(rate[:0]).shape, (0, 6))

    def test_gradients_are_zero(self):
        rate = trt.rand(5, requires_grad=True)
        trt.poisson(rate).sum().backward()
        self.assertEqual(rate.grad.tolist(), [0] * 5)
        count, prob = trt.full((5,), 3.0, requires_grad=True), trt.tensor(0.5, requires_grad=True)
        trt.binomial(count, prob).sum().backward()
        self.assertEqual((count.grad.tolist(), prob.grad.tolist()), ([0] * 5, 0))

    def test_bad_arguments(self):
        x = trt.zeros(3)
        for call, text in ((lambda: trt.poisson(trt.tensor([1.0, -0.5])), "poisson: rates must not be negative, got -0.5"),
                           (lambda: trt.poisson(trt.tensor([math.nan])), "poisson"), (lambda: trt.poisson(trt.tensor([1])), "poisson: needs a floating-point tensor"),
                           (lambda: trt.binomial(x, trt.zeros(3).double()), "binomial: count and prob must have one dtype"),
                           (lambda: trt.binomial(x, trt.zeros(2)), "binomial"), (lambda: x.cauchy_(0, 0), "cauchy_: sigma must be positive"),
                           (lambda: x.log_normal_(0, -1), "log_normal_: std must be positive"), (lambda: x.geometric_(0), r"geometric_: p must lie in \(0, 1\)"),
                           (lambda: x.geometric_(1), "geometric_"), (lambda: trt.zeros(2, dtype=trt.int64).cauchy_(), "cauchy_: needs a floating-point tensor"),
                           (lambda: trt.zeros(1).expand(3).cauchy_(), "cauchy_")):
            with self.assertRaisesRegex(RuntimeError, text):
                call()
        self.assertEqual(x.tolist(), [0, 0, 0])


if __name__ == "__main__":
    unittest.main()
