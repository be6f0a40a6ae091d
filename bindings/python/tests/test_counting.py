"""Counting and sampled functions: unique, mode, histograms, quantiles, segments, integrals and derivatives, against plain Python."""

import collections
import itertools
import math
import random
import unittest

import trt

nan = math.nan


class Counting(unittest.TestCase):
    def test_unique(self):
        r = random.Random(1)
        numbers = [r.randrange(9) for _ in range(60)]
        for dtype in (trt.int64, trt.uint8, trt.float32, trt.bfloat16, trt.float64):
            x = trt.tensor(numbers, dtype=dtype).reshape(3, 4, 5)
            values, inverse, counts = trt.unique(x, return_inverse=True, return_counts=True)
            expected = collections.Counter(numbers)
            self.assertEqual([int(v) for v in values.tolist()], sorted(expected))
            self.assertEqual(counts.tolist(), [expected[v] for v in sorted(expected)])
            self.assertEqual(values[inverse].tolist(), x.tolist())
        self.assertEqual(trt.unique(trt.tensor([nan, 1.0, nan, -0.0, 0.0])).numel(), 4)
        self.assertEqual(trt.unique(trt.tensor([True, False, True])).tolist(), [False, True])
        rows = trt.tensor([[3, 1], [0, 2], [3, 1], [0, 1]])
        values, inverse, counts = rows.unique(dim=0, return_inverse=True, return_counts=True)
        self.assertEqual(values.tolist(), [[0, 1], [0, 2], [3, 1]])
        self.assertEqual((inverse.tolist(), counts.tolist()), ([2, 1, 2, 0], [1, 1, 2]))
        self.assertEqual(trt.unique(rows.t().contiguous(), dim=1).tolist(), [[0, 0, 3], [1, 2, 1]])
        x = trt.tensor([1, 1, 2, 2, 2, 1, 3, 3])
        values, inverse, counts = trt.unique_consecutive(x, return_inverse=True, return_counts=True)
        self.assertEqual((values.tolist(), inverse.tolist(), counts.tolist()), ([1, 2, 1, 3], [0, 0, 1, 1, 1, 2, 3, 3], [2, 3, 1, 2]))
        self.assertEqual(trt.unique_consecutive(trt.tensor([[1, 2], [1, 2], [3, 4]]), dim=0).tolist(), [[1, 2], [3, 4]])
        self.assertEqual(trt.unique(trt.zeros(0)).tolist(), [])

    def test_mode(self):
        x = trt.tensor([[3, 1, 3, 1, 2], [5, 4, 4, 4, 5]], dtype=trt.float64, requires_grad=True)
        values, indices = trt.mode(x)
        self.assertEqual((values.tolist(), indices.tolist()), ([1, 4], [3, 3]))
        values.sum().backward()
        self.assertEqual(x.grad.tolist(), [[0, 0, 0, 1, 0], [0, 0, 0, 1, 0]])
        self.assertEqual(trt.mode(trt.tensor([[1, 2], [1, 3]]), 0, True).values.tolist(), [[1, 2]])
        with self.assertRaises(trt.Error):
            trt.mode(trt.zeros(2, 0))

    def test_histograms(self):
        self.assertEqual(trt.bincount(trt.tensor([1, 3, 1]), minlength=6).tolist(), [0, 2, 0, 1, 0, 0])
        self.assertEqual(trt.bincount(trt.tensor([1, 3, 1]), trt.tensor([0.5, 2, 0.25])).tolist(), [0, 0.75, 0, 2])
        self.assertEqual(trt.bincount(trt.tensor([1, 0]), trt.tensor([1, 2])).dtype, trt.float64)
        with self.assertRaises(trt.Error):
            trt.bincount(trt.tensor([-1]))
        x = trt.tensor([0.0, 0.1, 0.5, 0.99, 1.0, 2.0, -1.0, nan])
        self.assertEqual(trt.histc(x, 4, 0, 1).tolist(), [2, 0, 1, 2])
        self.assertEqual(trt.histc(trt.tensor([1.0, 2, 5]), 4).tolist(), [1, 1, 0, 1])
        self.assertEqual(trt.histc(trt.tensor([3.0]), 2).tolist(), [0, 1])
        hist, edges = trt.histogram(trt.tensor([1.0, 2, 2, 4]), 3)
        self.assertEqual((hist.tolist(), edges.tolist()), ([1, 2, 1], [1, 2, 3, 4]))
        hist, edges = trt.histogram(trt.tensor([1.0, 2, 2, 4]), 2, range=(0.0, 4.0), weight=trt.tensor([1.0, 2, 3, 4]), density=True)
        self.assertEqual((hist * 20).round().tolist(), [1, 9])
        self.assertEqual(trt.histogram(trt.tensor([1.0, 2, 2, 4]), trt.tensor([0.0, 1.5, 2])).hist.tolist(), [1, 2])
        points = trt.tensor([[0.0, 0.0], [1.0, 2.0], [1.0, 1.9], [0.2, 2.0]])
        hist, edges = trt.histogramdd(points, [2, 2])
        self.assertEqual(hist.tolist(), [[1, 1], [0, 2]])
        self.assertEqual([e.tolist() for e in edges], [[0, 0.5, 1], [0, 1, 2]])
        self.assertEqual(trt.histogramdd(points, [trt.tensor([0.0, 1]), trt.tensor([0.0, 1, 3])]).hist.tolist(), [[1, 3]])

    def test_combinations(self):
        for n, r, again in itertools.product(range(5), range(1, 4), (False, True)):
            expected = list((itertools.combinations_with_replacement if again else itertools.combinations)(range(n), r))
            self.assertEqual(trt.combinations(trt.arange(n), r, again).tolist(), [list(c) for c in expected])


class Sampled(unittest.TestCase):
    def test_quantiles(self):
        r = random.Random(2)
        rows = [[r.uniform(-5, 5) for _ in range(7)] for _ in range(3)]

        def expected(row, q, how):
            s, rank = sorted(row), q * (len(row) - 1)
            below, above = s[math.floor(rank)], s[math.ceil(rank)]
            if how == "linear":
                return below + (above - below) * (rank - math.floor(rank))
            return {"lower": below, "higher": above, "midpoint": (below + above) / 2, "nearest": s[round(rank)]}[how]

        x = trt.tensor(rows, dtype=trt.float64)
        for how in ("linear", "lower", "higher", "midpoint", "nearest"):
            q = trt.tensor([0.0, 0.3, 0.5, 1.0], dtype=trt.float64)
            got = trt.quantile(x, q, 1, interpolation=how)
            self.assertEqual(list(got.shape), [4, 3])
            for i, j in itertools.product(range(4), range(3)):
                self.assertAlmostEqual(got[i, j].item(), expected(rows[j], q[i].item(), how), 12)
            self.assertAlmostEqual(trt.quantile(x, 0.4, interpolation=how).item(), expected(sum(rows, []), 0.4, how), 12)
        self.assertEqual(list(trt.quantile(x, 0.5, 0, True).shape), [1, 7])
        self.assertEqual(list(trt.quantile(x, 0.5, keepdim=True).shape), [1, 1])
        self.assertEqual(list(trt.quantile(x, trt.tensor([0.5, 0.6], dtype=trt.float64), 1, True).shape), [2, 3, 1])
        holes = trt.tensor([[1.0, nan, 3.0], [nan, nan, nan]])
        self.assertTrue(trt.quantile(holes, 0.0, 1).isnan().all().item())
        self.assertEqual(trt.nanquantile(holes, 0.5, 1)[0].item(), 2.0)
        self.assertTrue(trt.nanquantile(holes, 0.5, 1)[1].isnan().item())
        self.assertTrue(trt.autograd.gradcheck(lambda t: trt.quantile(t, 0.35, 1), (x.clone().requires_grad_(),)))
        for call in (lambda: trt.quantile(x, 1.5), lambda: trt.quantile(x.long(), 0.5), lambda: trt.quantile(x, 0.5, interpolation="cubic")):
            with self.assertRaises(trt.Error):
                call()

    def test_segments(self):
        x = trt.tensor([4.0, -1.0, 2.0, 8.0, 3.0], dtype=trt.float64)
        lengths = trt.tensor([2, 0, 3])
        for reduce, values in (("sum", [3, 0, 13]), ("max", [4, -math.inf, 8]), ("min", [-1, math.inf, 2]), ("prod", [-4, 1, 48])):
            self.assertEqual(trt.segment_reduce(x, reduce, lengths=lengths).tolist(), values)
            self.assertEqual(trt.segment_reduce(x, reduce, offsets=trt.tensor([0, 2, 2, 5])).tolist(), values)
        # The first segment begins at the first offset, and nothing follows the last one.
        self.assertEqual(trt.segment_reduce(trt.tensor([1.0, 2.0, 3.0, 4.0, 5.0]), "sum", offsets=trt.tensor([1, 3, 4])).tolist(), [5, 4])
        with self.assertRaises(trt.Error):
            trt.segment_reduce(x, "sum", offsets=trt.tensor([-1, 2]))
        mean = trt.segment_reduce(x, "mean", lengths=lengths).tolist()
        self.assertEqual(mean[0], 1.5)
        self.assertTrue(math.isnan(mean[1]))
        self.assertEqual(trt.segment_reduce(x, "max", lengths=lengths, initial=5.0).tolist(), [5, 5, 8])
        grid = trt.stack([x, x + 1])
        both = trt.segment_reduce(grid, "sum", lengths=trt.tensor([[2, 3], [1, 4]]), axis=1)
        self.assertEqual(both.tolist(), [[3, 13], [5, 16]])
        self.assertEqual(trt.segment_reduce(x, "sum", lengths=trt.tensor([1, 2]), unsafe=True).tolist(), [4, 1])
        for reduce in ("sum", "mean", "max", "min", "prod"):
            self.assertTrue(trt.autograd.gradcheck(lambda t: trt.segment_reduce(t, reduce, lengths=trt.tensor([2, 3]), initial=1.5), (x.clone().requires_grad_(),)))
        with self.assertRaises(trt.Error):
            trt.segment_reduce(x, "sum", lengths=trt.tensor([2, 2]))

    def test_integrals(self):
        y = trt.tensor([1.0, 5.0, 10.0], dtype=trt.float64)
        self.assertEqual(trt.trapezoid(y).item(), 10.5)
        self.assertEqual(trt.trapezoid(y, dx=2).item(), 21)
        self.assertEqual(trt.trapz(y, trt.tensor([1.0, 3.0, 6.0], dtype=trt.float64)).item(), 28.5)
        self.assertEqual(trt.cumulative_trapezoid(y, trt.tensor([1.0, 3.0, 6.0], dtype=trt.float64)).tolist(), [6, 28.5])
        self.assertEqual(trt.cumulative_trapezoid(y, dx=2.0).tolist(), [6, 21])
        grid = trt.arange(9).reshape(3, 3)
        self.assertEqual(trt.trapezoid(grid, dim=0).tolist(), [6, 8, 10])
        self.assertEqual(trt.trapezoid(grid, trt.tensor([1, 3, 6]), dim=0).tolist(), [16.5, 21.5, 26.5])
        self.assertEqual(trt.trapezoid(trt.zeros(2, 0)).tolist(), [0, 0])

    def test_derivatives(self):
        x = trt.tensor([0.0, 1.0, 1.5, 3.5, 4.0], dtype=trt.float64)
        parabola = x * x + 2 * x
        # Three points give the derivative of a parabola exactly.
        at_ends = trt.gradient(parabola, spacing=[x], edge_order=2)[0]
        for got, expected in zip(at_ends.tolist(), (2 * x + 2).tolist()):
            self.assertAlmostEqual(got, expected, 12)
        self.assertEqual(trt.gradient(parabola, spacing=[x])[0][0].item(), 3.0)
        even = trt.arange(5, dtype=trt.float64) * 2
        self.assertEqual(trt.gradient(even * even, spacing=2.0, edge_order=2)[0].tolist(), (2 * even).tolist())
        self.assertEqual(trt.gradient(trt.tensor([1, 2, 4, 8]))[0].tolist(), [1, 1.5, 3, 4])
        rows, columns = trt.gradient(trt.tensor([[1.0, 2.0], [4.0, 8.0]]), spacing=[3.0, 1.0])
        self.assertEqual((rows.tolist(), columns.tolist()), ([[1, 2], [1, 2]], [[1, 1], [4, 4]]))
        with self.assertRaises(trt.Error):
            trt.gradient(trt.zeros(2), edge_order=2)


if __name__ == "__main__":
    unittest.main()
