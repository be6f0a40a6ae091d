#!/usr/bin/env python3
"""Tensors of more than 2^31 elements: counts, positions and offsets that do not fit in 32 bits.

Needs 8 GiB at a time, and says so where there is less. Where larger elements are needed, most of the tensor is memory that nothing touches.
"""

import os
import shutil
import sys
import tempfile
import unittest

import trt
from trt.nn import functional as F

N = 2**31 + 11
EVEN = 2**31 + 8  # of 8 parts
GIB = 2**30
NEEDED = 10 * GIB  # available: 8 GiB and something for the others


def available():
    """Bytes of memory that this process may hope for: of the machine, and of its group."""
    bytes_ = [int(line.split()[1]) * 1024 for line in open("/proc/meminfo") if line.startswith("MemAvailable:")]
    for limit, used in (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes")):
        try:
            with open("/sys/fs/cgroup/" + limit) as a, open("/sys/fs/cgroup/" + used) as b:
                bytes_.append(int(a.read()) - int(b.read()))
        except (OSError, ValueError):
            pass
    return min(bytes_, default=0)


class Bytes(unittest.TestCase):
    """One tensor of 2 GiB serves all; each test leaves it as it was: zeros, but for a few."""

    marks = {5: 3, 2**31 - 1: 4, 2**31: 9, 2**31 + 6: 9, N - 1: 2}

    @classmethod
    def setUpClass(cls):
        cls.x = trt.zeros(N, dtype=trt.uint8)
        cls.restore()

    @classmethod
    def tearDownClass(cls):
        del cls.x

    @classmethod
    def restore(cls, clear=False):
        if clear:
            cls.x.zero_()
        for i, v in cls.marks.items():
            cls.x[i] = v

    def assert_list(self, t, expected):
        self.assertEqual(t.tolist(), expected)

    def test_metadata(self):
        x = self.x
        self.assertEqual((x.numel(), len(x), tuple(x.shape), x.nbytes, x[-1:].storage_offset()), (N, N, (N,), N, N - 1))
        self.assertIn("2", repr(x))
        self.assertEqual(repr(x).count("9"), 0)

    def test_reductions(self):
        x, marks = self.x, self.marks
        for threads in (1, trt.get_num_threads()):
            before = trt.get_num_threads()
            trt.set_num_threads(threads)
            self.assertEqual((x.sum().item(), x.max().item(), x.min().item(), x.argmax().item(), x.argmin().item()), (sum(marks.values()), 9, 0, 2**31, 0))
            trt.set_num_threads(before)
        self.assertEqual((x.count_nonzero().item(), x.any().item(), x.all().item(), x[N - 1 :].all().item()), (len(marks), 1, 0, 1))
        values, indices = x.max(0)
        self.assertEqual((values.item(), indices.item()), (9, 2**31))
        low, high = trt.aminmax(x)
        self.assertEqual((low.item(), high.item()), (0, 9))
        self.assertEqual(x.sum(dtype=trt.uint8).item(), sum(marks.values()))

    def test_reductions_of_parts(self):
        x = self.x[3 : EVEN + 3]
        rows = x.view(8, EVEN // 8)
        self.assert_list(rows.sum(1), [3, 0, 0, 0, 0, 0, 0, 24])
        self.assert_list(rows.count_nonzero(1), [1, 0, 0, 0, 0, 0, 0, 4])
        self.assert_list(rows.argmax(1), [2] + [0] * 6 + [2**31 - 3 - 7 * (EVEN // 8)])
        narrow = x.view(EVEN // 8, 8)
        self.assert_list(narrow.sum(0), self.columns())
        values, indices = narrow.max(0)
        last = {}
        for i, v in self.marks.items():
            if 3 <= i < EVEN + 3 and v > last.get((i - 3) % 8, (0, 0))[0]:
                last[(i - 3) % 8] = (v, (i - 3) // 8)
        self.assert_list(values, [last.get(j, (0, 0))[0] for j in range(8)])
        self.assert_list(indices, [last.get(j, (0, 0))[1] for j in range(8)])
        self.assert_list(narrow.t().argmax(1), indices.tolist())
        self.assert_list(narrow.amax(0), values.tolist())
        self.assert_list(narrow.any(0), [int(v > 0) for v in values.tolist()])

    def columns(self):
        sums = [0] * 8
        for i, v in self.marks.items():
            if 3 <= i < EVEN + 3:
                sums[(i - 3) % 8] += v
        return sums

    def test_positions(self):
        x, marks = self.x, self.marks
        self.assert_list(x.nonzero(), [[i] for i in marks])
        self.assert_list(trt.argwhere(x), [[i] for i in marks])
        hit = x == 9
        self.assertEqual((hit.dtype, hit.sum().item()), (trt.bool, 2))
        self.assert_list(hit.nonzero(), [[2**31], [2**31 + 6]])
        self.assert_list(x[hit], [9, 9])
        self.assert_list(x.masked_select(hit), [9, 9])
        self.assertEqual(hit.argmax().item(), 2**31)
        x[hit] = 8
        self.assert_list(x[2**31 - 1 : 2**31 + 7], [4, 8, 0, 0, 0, 0, 0, 8])
        x.masked_fill_(hit, 7)
        self.assert_list(x[2**31 - 1 : 2**31 + 7], [4, 7, 0, 0, 0, 0, 0, 7])
        y = trt.where(hit, x, trt.tensor(1, dtype=trt.uint8))
        self.assert_list(y[-11:], [7, 1, 1, 1, 1, 1, 7, 1, 1, 1, 1])
        self.assertEqual(y.sum().item(), N + 12)
        self.restore()

    def test_indexing(self):
        x = self.x
        self.assertEqual((x[N - 1].item(), x[-1].item(), x[2**31].item(), x.select(0, 2**31 + 6).item()), (2, 2, 9, 9))
        self.assert_list(x[-12:], [4, 9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2])
        self.assert_list(x.narrow(0, 2**31 - 1, 3), [4, 9, 0])
        self.assert_list(x[6 :: 2**30], [0, 0, 9])
        self.assert_list(x[5 :: 2**31 + 1], [3, 9])
        at = trt.tensor([N - 1, 0, 2**31, -N + 5, -5])
        expected = [2, 0, 9, 3, 9]
        positive = at % N
        self.assert_list(x[at], expected)
        self.assert_list(x.take(positive), expected)
        self.assert_list(x.gather(0, positive), expected)
        self.assert_list(x.index_select(0, positive), expected)
        self.assert_list(x.as_strided((2, 2), (2**31, 6)), [[0, 0], [9, 9]])
        self.assert_list(x.as_strided((2,), (2,), 2**31 + 6), [9, 0])
        for call in (lambda: x[N], lambda: x[trt.tensor([N])], lambda: x.gather(0, trt.tensor([N])), lambda: x.index_select(0, trt.tensor([N])), lambda: x.take(trt.tensor([N])),
                     lambda: x.as_strided((2,), (2**31 + 11,)), lambda: x.narrow(0, N - 1, 2)):
            with self.assertRaises((trt.Error, IndexError)):
                call()

    def test_writing(self):
        x = self.x
        at = trt.tensor([N - 2, 2**31 + 1, 1])
        values = trt.tensor([5, 6, 7], dtype=trt.uint8)
        for write in (lambda: x.index_put_((at,), values), lambda: x.scatter_(0, at, values), lambda: x.index_copy_(0, at, values), lambda: x.put_(at, values),
                      lambda: x.index_add_(0, at, values), lambda: x.scatter_add_(0, at, values), lambda: x.index_put_((at,), values, accumulate=True)):
            write()
            self.assertEqual((x[N - 2].item(), x[2**31 + 1].item(), x[1].item(), x[N - 1].item(), x[2**31 + 2].item()), (5, 6, 7, 2, 0))
            x.index_fill_(0, at, 0)
        x[2**31 + 1 : 2**31 + 4] = values
        x[-2:].add_(1)
        self.assert_list(x[2**31 :], [9, 5, 6, 7, 0, 0, 9, 0, 0, 1, 3])
        x[2**31 + 1 : 2**31 + 4] = 0
        x[-2:].sub_(1)
        self.assertEqual(x.count_nonzero().item(), len(self.marks))

    def test_copies(self):
        x = self.x
        y = x.clone()
        self.assertTrue(trt.equal(x, y))
        y[N - 1] = 3
        self.assertFalse(trt.equal(x, y))
        y.copy_(x)
        self.assertTrue(trt.equal(x, y))
        del y
        self.assert_list(x[::2].contiguous()[-6:], [9, 0, 0, 9, 0, 2])
        t = x[:EVEN].view(2, EVEN // 2).t().contiguous()
        self.assertEqual((t.shape, t.sum().item()), ((EVEN // 2, 2), 25))
        self.assert_list(t[-9:], [[0, 4], [0, 9], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 9], [0, 0]])
        del t
        t = x[:EVEN].view(EVEN // 8, 8).t().contiguous()
        self.assertEqual((t[0, -1].item(), t[6, -1].item(), t[7, -2].item(), t.sum().item()), (9, 9, 4, 25))

    def test_rearranged(self):
        x = self.x
        y = x.flip(0)
        self.assert_list(y[:12], [2, 0, 0, 0, 9, 0, 0, 0, 0, 0, 9, 4])
        self.assertEqual(y[N - 6].item(), 3)
        del y
        y = x.roll(3)
        self.assert_list(y[-12:], [0, 0, 0, 4, 9, 0, 0, 0, 0, 0, 9, 0])
        self.assert_list(y[:9], [0, 0, 2, 0, 0, 0, 0, 0, 3])
        del y
        y = trt.cat([x, x[-3:]])
        self.assert_list(y[-6:], [0, 0, 2, 0, 0, 2])
        self.assertEqual((y.numel(), y[2**31].item()), (N + 3, 9))
        del y
        a, b = x.split(2**31)
        self.assertEqual((a.numel(), b.tolist()), (2**31, [9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2]))
        self.assert_list(x[-5:].cumsum(0), [9, 9, 9, 9, 11])
        y = F.pad(x, (1, 2))
        self.assertEqual((y[-3].item(), y[2**31 + 1].item(), y.numel()), (2, 9, N + 3))

    def test_pointwise(self):
        x = self.x
        y = x + 1
        self.assertEqual((y.sum().item(), y[N - 1].item()), (N + 27, 3))
        y.mul_(x)
        self.assertEqual((y.sum().item(), y[N - 1].item()), (3 * 4 + 4 * 5 + 2 * 9 * 10 + 2 * 3, 6))
        del y
        rows = x[:EVEN].view(2, EVEN // 2)
        rows.add_(trt.tensor([[1], [2]], dtype=trt.uint8))
        self.assertEqual(rows.sum(1).tolist(), [EVEN // 2 + 3, EVEN + 22])
        self.assert_list(rows[1, -9:], [6, 11, 2, 2, 2, 2, 2, 11, 2])
        columns = x[:EVEN].view(EVEN // 8, 8)
        columns.sub_(trt.tensor([0, 1, 0, 0, 0, 0, 0, 1], dtype=trt.uint8))
        self.assert_list(columns[-1], [11, 1, 2, 2, 2, 2, 11, 1])
        self.restore(clear=True)
        self.assertEqual(x.sum().item(), 27)

    def test_random(self):
        x = trt.empty(N, dtype=trt.uint8)
        trt.manual_seed(1)
        x.bernoulli_(0.5)
        ones = x.sum().item()
        self.assertLess(abs(ones - N / 2), 6 * (N / 4) ** 0.5)
        end = x[-4096:].clone()
        self.assertLess(abs(end.sum().item() - 2048), 6 * 32)
        for start in (0, N - 2**31 - 4096, N - 2**30 - 4096):
            self.assertGreater((x[max(start, 0) : max(start, 0) + 4096] != end).sum().item(), 1500)

    def test_largest(self):
        values, indices = self.x.topk(3)
        self.assert_list(values, [9, 9, 4])
        self.assertEqual(sorted(indices.tolist()), [2**31 - 1, 2**31, 2**31 + 6])

    def test_expanded(self):
        for dtype in (trt.uint8, trt.bool, trt.int16):
            one = trt.tensor(3, dtype=dtype).expand(N)
            self.assertEqual(one.sum().item(), N * (1 if dtype == trt.bool else 3))
            self.assertEqual((one.any().item(), one.max().item(), one.count_nonzero().item()), (1, one[0].item(), N))
        self.assertEqual(trt.tensor(3, dtype=trt.uint8).expand(N).argmax().item(), 0)
        self.assertEqual(trt.tensor([2.0]).expand(N).sum().item(), trt.tensor(2.0 * N).item())
        self.assertEqual(trt.tensor([0.5], dtype=trt.float16).expand(N).amax().item(), 0.5)
        self.assertEqual(trt.tensor([-0.25]).expand(N).mean().item(), -0.25)
        self.assertEqual(trt.tensor([[1], [2]], dtype=trt.int64).expand(2, N).sum(1).tolist(), [N, 2 * N])

    def test_exchange(self):
        x = self.x
        y = trt.from_dlpack(x)
        self.assertEqual((y.numel(), y.data_ptr(), y[N - 1].item()), (N, x.data_ptr(), 2))
        y = trt.from_dlpack(x[2**31 :])
        self.assert_list(y, [9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2])
        try:
            import numpy
        except ImportError:
            return
        a = x.numpy()
        self.assertEqual((a.shape, int(a[N - 1]), int(a[2**31])), ((N,), 2, 9))
        self.assertEqual(trt.from_numpy(a)[2**31 + 6].item(), 9)
        self.assertEqual(int(numpy.from_dlpack(x)[N - 1]), 2)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            if shutil.disk_usage(folder).free < 3 * GIB:
                self.skipTest("less than 3 GiB on the disk")
            path = os.path.join(folder, "large.safetensors")
            trt.safetensors.save_file({"x": self.x, "after": trt.tensor([1.5, 2.5])}, path)
            self.assertGreater(os.path.getsize(path), N)
            y = trt.safetensors.load_file(path, mode="map")
            self.assert_list(y["after"], [1.5, 2.5])
            self.assertEqual((y["x"].numel(), y["x"][2**31].item(), y["x"][N - 1].item()), (N, 9, 2))
            self.assertTrue(trt.equal(y["x"], self.x))


class Offsets(unittest.TestCase):
    """Few elements, far from each other: the memory between is never touched."""

    @classmethod
    def setUpClass(cls):
        cls.big = trt.empty(3 * 2**30 + 4096)  # 12 GiB of addresses

    @classmethod
    def tearDownClass(cls):
        del cls.big

    def rows(self, sizes, strides, offset=0):
        t = self.big.as_strided(sizes, strides, offset)
        n = 1
        for s in sizes:
            n *= s
        values = (trt.arange(n) * 37 % 19 - 9).float().view(*sizes)
        t.copy_(values)
        self.assertTrue(trt.equal(t, values))
        self.assertTrue(trt.equal(t.contiguous(), values))
        return t, values

    def test_products(self):
        # The rows lie more apart than 32 bits can say, or only the last one does.
        for rows, stride in ((2, 2**31 + 5), (4, 2**30)):
            a, a0 = self.rows((rows, 40), (stride, 1))
            b = (trt.arange(40 * 7) % 5 - 2).float().view(40, 7)
            v = (trt.arange(40) % 3 - 1).float()
            expected = a0 @ b
            self.assertTrue(trt.equal(a @ b, expected))
            self.assertTrue(trt.equal(b.t() @ a.t(), expected.t()))
            self.assertTrue(trt.equal(a @ v, a0 @ v))
            self.assertTrue(trt.equal(v[:rows] @ a, v[:rows] @ a0))
            self.assertTrue(trt.equal(F.linear(a, b.t()), expected))
            self.assertTrue(trt.equal(a[:, ::2] @ b[::2], a0[:, ::2] @ b[::2]))
            self.assertTrue(trt.equal(trt.bmm(a.view(rows, 1, 40), b.expand(rows, 40, 7)), expected.view(rows, 1, 7)))
            out = self.big.as_strided((rows, 7), (stride, 1), 512)
            trt.mm(a, b, out=out)
            self.assertTrue(trt.equal(out, expected))
        a, a0 = self.rows((40, 3), (1, 2**30))
        self.assertTrue(trt.equal(a.t() @ a, a0.t() @ a0))

    def test_layers(self):
        x, x0 = self.rows((2, 3, 9, 8), (2**31 + 64, 8 * 2**20, 8, 1))
        w = (trt.arange(4 * 3 * 9) % 7 - 3).float().view(4, 3, 3, 3)
        self.assertTrue(trt.equal(F.conv2d(x, w), F.conv2d(x0, w)))
        self.assertTrue(trt.equal(F.max_pool2d(x, 2), F.max_pool2d(x0, 2)))
        self.assertTrue(trt.equal(F.avg_pool2d(x, 2), F.avg_pool2d(x0, 2)))
        self.assertTrue(trt.equal(F.layer_norm(x, (8,)), F.layer_norm(x0, (8,))))
        self.assertTrue(trt.equal(x.softmax(0), x0.softmax(0)))
        self.assertTrue(trt.equal(F.interpolate(x, scale_factor=2), F.interpolate(x0, scale_factor=2)))

    def test_along_a_long_stride(self):
        x, x0 = self.rows((4, 30), (2**30, 1))
        for f in (lambda t: t.sum(0), lambda t: t.sum(1), lambda t: t.argmax(0), lambda t: t.max(0).indices, lambda t: t.sort(0).values, lambda t: t.cumsum(0), lambda t: t.flip(0), lambda t: t.roll(1, 0),
                  lambda t: t.var(0), lambda t: t.t().contiguous(), lambda t: t.to(trt.float64), lambda t: t * 2, lambda t: t + t[3], lambda t: t.exp(), lambda t: trt.cat([t, t], 1),
                  lambda t: t.index_select(0, trt.tensor([3, 0, 3])), lambda t: t.gather(0, trt.tensor([[3] * 30])), lambda t: t[trt.tensor([3, 1])], lambda t: t.take(trt.tensor([119, 3])),
                  lambda t: t.nonzero(), lambda t: t[t > 3], lambda t: t.topk(2, 0).values, lambda t: trt.where(t > 0, t, 0), lambda t: t.repeat(2, 2), lambda t: trt.fft.fft(t, dim=0).real):
            self.assertTrue(trt.equal(f(x), f(x0)))
        for write in (lambda t: t.index_fill_(0, trt.tensor([3]), 5), lambda t: t.scatter_(0, trt.tensor([[3, 2]]), 1.5), lambda t: t.index_put_((trt.tensor([3]), trt.tensor([7])), trt.tensor(9.0)),
                      lambda t: t.masked_fill_(t > 3, 0), lambda t: t.add_(1), lambda t: t.copy_(t.flip(0)), lambda t: t.index_add_(0, trt.tensor([3, 1]), trt.ones(2, 30)), lambda t: t.fill_(2)):
            write(x), write(x0)
            self.assertTrue(trt.equal(x, x0))

    def test_rows_of_a_table(self):
        table = self.big[: (2**25 + 4) * 64].view(2**25 + 4, 64)
        table[2**25 + 2] = trt.arange(64).float()
        table[1] = 3
        at = trt.tensor([2**25 + 2, 1])
        rows = F.embedding(at, table)
        self.assertEqual((rows[0].tolist(), rows[1].sum().item()), (list(range(64)), 192))
        self.assertTrue(trt.equal(table[at], rows))
        self.assertTrue(trt.equal(F.embedding_bag(at.view(1, 2), table, mode="sum")[0], rows.sum(0)))
        self.assertTrue(trt.equal(table.index_select(0, at), rows))
        self.assertEqual(table[2**25 + 2, 63].item(), 63)
        self.assertEqual(table[trt.tensor([2**25 + 2]), trt.tensor([62])].item(), 62)
        table.index_add_(0, at, trt.ones(2, 64))
        self.assertEqual(table[at].sum().item(), rows.sum().item() + 128)
        self.assertEqual(table.view(-1)[(2**25 + 2) * 64 + 5].item(), 6)

    def test_numbers(self):
        self.assertEqual(trt.arange(2**31 - 2, 2**31 + 3).tolist(), list(range(2**31 - 2, 2**31 + 3)))
        self.assertEqual(trt.arange(2**31 + 7, 2**31 + 9, dtype=trt.float64).tolist(), [2.0**31 + 7, 2.0**31 + 8])
        meta = trt.empty(2**20, 2**20, device="meta")
        self.assertEqual((meta.numel(), (meta @ meta).numel(), meta.sum(0).numel(), meta.t().reshape(-1).numel()), (2**40, 2**40, 2**20, 2**40))
        self.assertEqual(trt.zeros(1).expand(2**40).numel(), 2**40)


class Limits(unittest.TestCase):
    def test_lapack(self):
        """Sizes of workspaces that it counts in 32 bits."""
        for f, n in ((trt.linalg.eigh, 32768), (trt.linalg.svd, 20800)):
            with self.assertRaises(trt.NotSupportedError) as caught:
                f(trt.ones(1, 1).expand(n, n))
            self.assertIn("so large", str(caught.exception))
        with self.assertRaises(trt.NotSupportedError) as caught:
            trt.linalg.qr(trt.ones(1, 1).expand(1, 2**26))
        self.assertIn("so large", str(caught.exception))


if __name__ == "__main__":
    if available() < NEEDED:
        print(f"missing: memory; this test needs {NEEDED // GIB} GiB, {available() / GIB:.1f} are available")
        sys.exit(77)
    unittest.main(verbosity=1)
