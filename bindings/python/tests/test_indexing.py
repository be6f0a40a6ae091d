"""Indexing and assignment, against NumPy."""

import random
import unittest

import trt

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None


class Plain(unittest.TestCase):
    def test_views(self):
        x = trt.arange(24).view(2, 3, 4)
        for index in (0, -1, slice(1, None), (0, 1), (slice(None), 1), (..., 0), None, (None, 0), (0, ..., 1), (slice(0, 2), slice(None), slice(1, 4, 2)), ..., ()):
            y = x[index]
            self.assertTrue(y._shares_storage(x), index)
        y = x[...]
        y.fill_(7)
        self.assertEqual(x.sum().item(), 7 * 24)

    def test_errors(self):
        x = trt.zeros(2, 3)
        for index, error in ((2, IndexError), (-3, IndexError), ((0, 0, 0), IndexError), ((..., ...), IndexError), ("a", IndexError), (1.5, IndexError),
                             (slice(None, None, -1), ValueError), (slice(None, None, 0), ValueError), (trt.tensor([0.5]), IndexError), (trt.tensor([5]), IndexError),
                             (trt.tensor([True, False, True]), (IndexError, ValueError)), ({}, IndexError), ((0, "a"), IndexError)):
            with self.assertRaises(error, msg=index):
                x[index]
            with self.assertRaises(error, msg=index):
                x[index] = 1
        self.assertEqual(x.sum().item(), 0)
        with self.assertRaises(IndexError):
            trt.tensor(1)[0]
        with self.assertRaises(TypeError):
            del x[0]
        with self.assertRaises((RuntimeError, ValueError)):
            x[0] = trt.ones(4)

    def test_assignment(self):
        x = trt.zeros(2, 3)
        x[0] = 1
        x[:, 1] = trt.tensor([2.0, 3.0])
        x[1, 2] = True
        x[..., 0] = [8, 9]
        self.assertEqual(x.tolist(), [[8, 2, 1], [9, 3, 1]])
        x[x > 7] = 0
        self.assertEqual(x.tolist(), [[0, 2, 1], [0, 3, 1]])
        x[trt.tensor([0, 1]), trt.tensor([0, 2])] = trt.tensor([5.0, 6.0])
        self.assertEqual(x.tolist(), [[5, 2, 1], [0, 3, 6]])
        x[[1]] += 1
        self.assertEqual(x[1].tolist(), [1, 4, 7])
        x[None, None, 0] = trt.ones(1, 1, 3)
        self.assertEqual(x[0].tolist(), [1, 1, 1])
        x[...] = 3
        self.assertEqual(x.sum().item(), 18)
        x[False] = 100
        self.assertEqual(x.sum().item(), 18)
        x[True] = 2
        self.assertEqual(x.sum().item(), 12)
        i = trt.zeros(2, dtype=trt.int64)
        i[0] = 2.7
        self.assertEqual(i.tolist(), [2, 0])
        i[trt.tensor([1])] = 5
        self.assertEqual(i.tolist(), [2, 5])

    def test_masks_without_dimensions(self):
        x = trt.arange(6).view(2, 3)
        t, f, byte = trt.tensor(True), trt.tensor(False), trt.tensor(1, dtype=trt.uint8)
        for index, shape, values in (
                (t, (1, 2, 3), [[[0, 1, 2], [3, 4, 5]]]), (f, (0, 2, 3), []), (byte, (1, 2, 3), [[[0, 1, 2], [3, 4, 5]]]), (True, (1, 2, 3), [[[0, 1, 2], [3, 4, 5]]]),
                ((0, t), (1, 3), [[0, 1, 2]]), ((slice(None), t), (2, 1, 3), [[[0, 1, 2]], [[3, 4, 5]]]), (([0, 1], t), (2, 3), [[0, 1, 2], [3, 4, 5]]),
                (([0, 1], t, [0, 1]), (2,), [0, 4]), ((t, t), (1, 2, 3), [[[0, 1, 2], [3, 4, 5]]]), ((slice(None), f), (2, 0, 3), [[], []]),
                ((t, slice(None), [1]), (1, 2), [[1, 4]]), ((..., t), (2, 3, 1), [[[0], [1], [2]], [[3], [4], [5]]]),
                ((trt.tensor([True, False]), t), (1, 3), [[0, 1, 2]])):
            y = x[index]
            self.assertEqual((tuple(y.shape), y.tolist()), (shape, values), index)
        self.assertEqual(trt.arange(3)[True].tolist(), [[0, 1, 2]])
        self.assertEqual(trt.tensor(5)[t].tolist(), [5])
        for index, value, result in ((t, 7, [7] * 6), (f, 7, [0, 1, 2, 3, 4, 5]), (([0], t), 7, [7, 7, 7, 3, 4, 5]), (True, [[1, 2, 3], [4, 5, 6]], [1, 2, 3, 4, 5, 6])):
            y = x.clone()
            y[index] = value
            self.assertEqual(y.flatten().tolist(), result, index)
        with self.assertRaises(IndexError):
            x[0, 0, 0, t]

    def test_gradients(self):
        x = trt.arange(6.0).requires_grad_()
        (x[1:4] * trt.tensor([1.0, 2.0, 3.0])).sum().backward()
        self.assertEqual(x.grad.tolist(), [0, 1, 2, 3, 0, 0])
        x.grad = None
        x[trt.tensor([0, 0, 5])].sum().backward()
        self.assertEqual(x.grad.tolist(), [2, 0, 0, 0, 0, 1])
        x.grad = None
        y = x * 1
        y[2] = 0
        y[y > 3] = 0
        y.sum().backward()
        self.assertEqual(x.grad.tolist(), [1, 1, 0, 1, 0, 0])
        v = trt.tensor(2.0, requires_grad=True)
        z = trt.zeros(3)
        z[1] = v
        z.sum().backward()
        self.assertEqual(v.grad.item(), 1)


@unittest.skipIf(np is None, "NumPy is not installed")
class AgainstNumPy(unittest.TestCase):
    def one(self, rng, size):
        """(index, dimensions it stands for)."""
        kind = rng.randrange(9)
        if kind == 0:
            return rng.randrange(-size, size), 1
        if kind in (1, 2):
            a, b = sorted(rng.randrange(-size - 1, size + 2) for _ in range(2))
            return slice(rng.choice([None, a]), rng.choice([None, b]), rng.choice([None, 1, 2, 3])), 1
        if kind == 3:
            return None, 0
        if kind == 4:
            return [rng.randrange(-size, size) for _ in range(2)], 1
        if kind == 5:
            return np.array([[rng.randrange(size), rng.randrange(size)]]), 1
        if kind == 6:
            return np.array([rng.random() < 0.5 for _ in range(size)]), 1
        if kind == 7:
            return np.array(rng.randrange(size)), 1
        return slice(None), 1

    def indices(self, rng, shape):
        index, dim, ellipsis = [], 0, False
        for _ in range(rng.randrange(len(shape) + 3)):
            if not ellipsis and rng.random() < 0.15:
                ellipsis = True
                index.append(...)
                continue
            if dim == len(shape):
                break
            i, d = self.one(rng, shape[dim] if not ellipsis else min(shape))
            index.append(i)
            dim += d
        return index[0] if len(index) == 1 and rng.random() < 0.5 else tuple(index)

    def test_random_indices(self):
        rng, tried = random.Random(1), 0
        for _ in range(6000):
            shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 5)))
            a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            index = self.indices(rng, shape)
            if self.mixes(index):
                continue
            try:
                expected = a[index]
            except IndexError:
                continue
            tried += 1
            x = trt.tensor(a)
            convert = rng.random() < 0.5
            given = index
            if convert:
                to = lambda i: trt.tensor(i) if isinstance(i, np.ndarray) else i
                given = tuple(to(i) for i in index) if isinstance(index, tuple) else to(index)
            found = x[given]
            self.assertEqual((found.shape, found.tolist()), (expected.shape, expected.tolist()), (shape, index))
            b = a.copy()
            b[index] = 7
            x[given] = 7
            self.assertEqual(x.tolist(), b.tolist(), (shape, index))
            if expected.size and not self.repeats(a, index):
                values = np.arange(100, 100 + expected.size, dtype=np.float32).reshape(expected.shape)
                b[index] = values
                x[given] = trt.tensor(values)
                self.assertEqual(x.tolist(), b.tolist(), (shape, index))
        self.assertGreater(tried, 3000)

    @staticmethod
    def mixes(index):
        """Whether ints stand beside arrays (NumPy counts them among the arrays, PyTorch takes them first), or an Ellipsis between them (which separates them in
        NumPy even if it stands for no dimension)."""
        items = index if isinstance(index, tuple) else (index,)
        arrays = [i for i in items if isinstance(i, list) or (isinstance(i, np.ndarray) and i.ndim)]
        if len(arrays) > 1 and any(i is Ellipsis for i in items):
            return True
        return bool(arrays) and any(isinstance(i, int) or (isinstance(i, np.ndarray) and not i.ndim) for i in items)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_random_indices_against_torch(self):
        rng, tried = random.Random(2), 0
        for _ in range(4000):
            shape = tuple(rng.randrange(1, 5) for _ in range(rng.randrange(1, 5)))
            t = torch.arange(float(np.prod(shape))).reshape(shape)
            index = self.indices(rng, shape)
            items = [torch.tensor(i) if isinstance(i, np.ndarray) else i for i in (index if isinstance(index, tuple) else (index,))]
            try:
                expected = t[tuple(items)]
            except (IndexError, ValueError):
                continue
            tried += 1
            found = trt.from_dlpack(t)[tuple(trt.from_dlpack(i) if isinstance(i, torch.Tensor) and i.dtype != torch.bool else trt.tensor(i.tolist())
                                             if isinstance(i, torch.Tensor) else i for i in items)]
            self.assertEqual((tuple(found.shape), found.tolist()), (tuple(expected.shape), expected.tolist()), (shape, index))
        self.assertGreater(tried, 1500)

    @staticmethod
    def repeats(a, index):
        places = np.arange(a.size).reshape(a.shape)[index]
        return len(set(places.ravel().tolist())) != places.size

    def test_masks_of_several_dimensions(self):
        a = np.arange(24).reshape(2, 3, 4)
        m = np.array([[True, False, True], [False, False, True]])
        x, mask = trt.tensor(a), trt.tensor(m)
        self.assertEqual(x[mask].tolist(), a[m].tolist())
        self.assertEqual(x[mask, 1].tolist(), a[m, 1].tolist())
        self.assertEqual(x[mask, 1:3].tolist(), a[m, 1:3].tolist())
        self.assertEqual(x[..., trt.tensor([True, False, True, False])].tolist(), a[..., [True, False, True, False]].tolist())
        x[mask] = trt.zeros(3, 4, dtype=trt.int64)
        a[m] = 0
        self.assertEqual(x.tolist(), a.tolist())


if __name__ == "__main__":
    unittest.main()
