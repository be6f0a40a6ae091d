"""Datasets and the loader: batches, orders, workers, errors raised inside."""

import gc
import gzip
import os
import struct
import tempfile
import threading
import unittest
import weakref

import trt
from trt.data import (BatchSampler, ConcatDataset, DataLoader, Dataset, ImageDataset, IterableDataset, RandomSampler, SequentialSampler, Subset, SubsetRandomSampler,
                      TensorDataset, WeightedRandomSampler, load_idx, random_split)


class Squares(Dataset):
    def __init__(self, n=10):
        self.n, self.threads = n, set()

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        self.threads.add(threading.get_ident())
        return trt.tensor([float(i), float(i * i)]), i


class Failing(Squares):
    def __getitem__(self, i):
        if i == 5:
            raise KeyError("sample five")
        return super().__getitem__(i)


def labels(loader):
    return [y for batch in loader for y in batch[1].tolist()]


class Datasets(unittest.TestCase):
    def test_tensors(self):
        d = TensorDataset(trt.arange(6.0).view(3, 2), trt.arange(3))
        self.assertEqual((len(d), [t.tolist() for t in d[1]], [t.tolist() for t in d[-1]]), (3, [[2, 3], 1], [[4, 5], 2]))
        self.assertEqual([y.item() for _, y in d], [0, 1, 2])
        with self.assertRaises(IndexError):
            d[3]
        with self.assertRaises(ValueError):
            TensorDataset(trt.ones(2), trt.ones(3))
        m = d.map(lambda x, y: (x * 2, y + 1))
        self.assertEqual([t.tolist() for t in m[0]], [[0, 2], 1])
        with self.assertRaises(ZeroDivisionError):
            d.map(lambda x, y: 1 / 0, fields=2)[0]

    def test_combinations(self):
        d, s = TensorDataset(trt.arange(10)), Squares()
        self.assertEqual([x[0].item() for x in Subset(d, [7, 2])], [7, 2])
        self.assertEqual([Subset(s, [7, 2])[i][1] for i in range(2)], [7, 2])
        c = ConcatDataset([s, Squares(3)])
        self.assertEqual((len(c), c[11][1], c[-1][1]), (13, 1, 2))
        self.assertEqual(len(s + s), 20)
        parts = random_split(s, [7, 3], generator=trt.Generator().manual_seed(1))
        self.assertEqual(sorted(i for p in parts for i in p.indices), list(range(10)))
        self.assertEqual([len(p) for p in random_split(s, [0.55, 0.45])], [6, 4])
        with self.assertRaises(ValueError):
            random_split(s, [5, 6])

    def test_images(self):
        with tempfile.TemporaryDirectory() as folder:
            images, names = os.path.join(folder, "i.gz"), os.path.join(folder, "l")
            with gzip.open(images, "wb") as f:
                f.write(bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 2, 2) + bytes([0, 255, 51, 0, 0, 0, 0, 255]))
            with open(names, "wb") as f:
                f.write(bytes([0, 0, 8, 1]) + struct.pack(">I", 2) + bytes([3, 4]))
            self.assertEqual(load_idx(names).tolist(), [3, 4])
            d = ImageDataset(images, names)
            image, label = d[0]
            self.assertEqual((image.shape, label.item(), label.dtype), ((1, 2, 2), 3, trt.int64))
            trt.testing.assert_close(image[0], [[0.0, 1.0], [0.2, 0.0]])
            raw = ImageDataset(load_idx(images), normalize=False, add_channel=False)
            self.assertEqual((raw[1][0].dtype, raw[1][0].tolist()), (trt.uint8, [[0, 0], [0, 255]]))
            with self.assertRaises(FileNotFoundError):
                ImageDataset(os.path.join(folder, "nothing"), names)
            with self.assertRaises(trt.DataError):
                load_idx(__file__)


class Loader(unittest.TestCase):
    def test_batches(self):
        for dataset in (TensorDataset(trt.arange(20.0).view(10, 2), trt.arange(10)), Squares()):
            loader = DataLoader(dataset, batch_size=4)
            batches = list(loader)
            self.assertEqual((len(loader), [b[0].shape for b in batches]), (3, [(4, 2), (4, 2), (2, 2)]))
            self.assertEqual(labels(loader), list(range(10)))
            self.assertEqual(len(list(DataLoader(dataset, batch_size=4, drop_last=True))), 2)
            self.assertIsInstance(batches[0], list)

    def test_kinds_of_samples(self):
        class Of(Dataset):
            def __init__(self, make):
                self.make = make

            def __len__(self):
                return 4

            def __getitem__(self, i):
                return self.make(i)

        self.assertEqual(next(iter(DataLoader(Of(lambda i: i), batch_size=2))).tolist(), [0, 1])
        self.assertEqual(next(iter(DataLoader(Of(lambda i: i / 2), batch_size=2))).dtype, trt.float64)
        self.assertEqual(next(iter(DataLoader(Of(lambda i: trt.ones(3) * i), batch_size=2))).shape, (2, 3))
        batch = next(iter(DataLoader(Of(lambda i: {"x": trt.ones(2), "name": str(i), "pair": (i, i)}), batch_size=2)))
        self.assertEqual((batch["x"].shape, batch["name"], [t.tolist() for t in batch["pair"]]), ((2, 2), ["0", "1"], [[0, 1], [0, 1]]))
        self.assertEqual(len(list(DataLoader(Of(lambda i: i), batch_size=None))), 4)
        self.assertEqual(list(DataLoader(Of(lambda i: i), batch_size=2, collate_fn=sum)), [1, 5])

    def test_orders(self):
        d = TensorDataset(trt.arange(50), trt.arange(50))
        a = DataLoader(d, batch_size=7, shuffle=True, seed=3)
        first, second = labels(a), labels(a)
        self.assertEqual(sorted(first), list(range(50)))
        self.assertNotEqual(first, second)
        b = DataLoader(Squares(50), batch_size=7, shuffle=True, seed=3, num_workers=2)
        self.assertEqual([labels(b), labels(b)], [first, second])
        a.set_epoch(1)
        self.assertEqual(labels(a), second)
        trt.manual_seed(1)
        x = labels(DataLoader(d, shuffle=True))
        trt.manual_seed(1)
        self.assertEqual(labels(DataLoader(d, shuffle=True)), x)
        g = trt.Generator().manual_seed(1)
        self.assertEqual(sorted(labels(DataLoader(d, shuffle=True, generator=g))), list(range(50)))

    def test_samplers(self):
        d = Squares()
        self.assertEqual(labels(DataLoader(d, sampler=[3, 1], batch_size=2)), [3, 1])
        self.assertEqual(labels(DataLoader(d, batch_sampler=[[3], [1, 2]])), [3, 1, 2])
        self.assertEqual(labels(DataLoader(d, sampler=SequentialSampler(d))), list(range(10)))
        self.assertEqual(sorted(labels(DataLoader(d, sampler=RandomSampler(d)))), list(range(10)))
        self.assertEqual(len(labels(DataLoader(d, sampler=RandomSampler(d, replacement=True, num_samples=25)))), 25)
        self.assertEqual(set(labels(DataLoader(d, sampler=WeightedRandomSampler([0, 1] + [0] * 8, 5)))), {1})
        self.assertEqual(sorted(labels(DataLoader(d, sampler=SubsetRandomSampler([2, 4])))), [2, 4])
        self.assertEqual(list(BatchSampler(range(5), 2, False)), [[0, 1], [2, 3], [4]])
        self.assertEqual(sorted(RandomSampler(range(5))), list(range(5)))
        self.assertEqual(sorted(WeightedRandomSampler([1.0] * 4, 4, replacement=False)), list(range(4)))

    def test_iterable(self):
        class Count(IterableDataset):
            def __iter__(self):
                return iter(range(5))

        self.assertEqual([b.tolist() for b in DataLoader(Count(), batch_size=2)], [[0, 1], [2, 3], [4]])
        self.assertEqual(len(list(DataLoader(Count(), batch_size=2, drop_last=True))), 2)
        with self.assertRaises(ValueError):
            DataLoader(Count(), shuffle=True)

    def test_iteration(self):
        loader = DataLoader(TensorDataset(trt.arange(4)), batch_size=2)
        first = iter(loader)
        next(first)
        second = iter(loader)
        with self.assertRaises(RuntimeError):
            next(first)
        self.assertEqual(len(list(second)), 2)
        with self.assertRaises(StopIteration):
            next(second)
        self.assertEqual(len(list(loader)), 2)

    def test_pytorchs_name(self):
        from trt.utils.data import DataLoader as Same

        self.assertIs(Same, DataLoader)
        self.assertFalse(trt.cuda.is_available())

    def test_bad_arguments(self):
        d = Squares()
        for bad in (dict(batch_size=0), dict(num_workers=-1), dict(shuffle=True, sampler=[1]), dict(batch_sampler=[[1]], batch_size=2), dict(prefetch_factor=2)):
            with self.assertRaises((ValueError, RuntimeError), msg=bad):
                list(DataLoader(d, **bad))
        for size in (0, -1, 1.5, True, "2"):
            with self.assertRaisesRegex(ValueError, "batch_size"):
                DataLoader(d, batch_size=size)
        self.assertEqual(list(DataLoader(Squares(0))), [])


class Workers(unittest.TestCase):
    def test_threads(self):
        d = Squares(40)
        self.assertEqual(labels(DataLoader(d, batch_size=4, num_workers=3)), list(range(40)))
        d.threads.discard(threading.get_ident())
        self.assertGreaterEqual(len(d.threads), 1)
        d = Squares(40)
        self.assertEqual(labels(DataLoader(d, batch_size=4, num_workers=3, collate_fn=trt.data.default_collate)), list(range(40)))
        self.assertGreaterEqual(len(d.threads), 1)

    def test_errors_are_the_callers_own(self):
        for options in (dict(), dict(num_workers=2), dict(num_workers=2, collate_fn=trt.data.default_collate)):
            seen = []
            with self.assertRaisesRegex(KeyError, "sample five"):
                for batch in DataLoader(Failing(), batch_size=2, **options):
                    seen += batch[1].tolist()
            self.assertEqual(seen, [0, 1, 2, 3], options)

        class Wrong(Squares):
            def __getitem__(self, i):
                return super().__getitem__(i) if i < 3 else (trt.ones(1),)

        with self.assertRaises(ValueError):
            list(DataLoader(Wrong(), batch_size=2))

    def test_abandoned(self):
        # A loader that goes with threads at work, which hold the dataset and need the GIL.
        class Slow(Squares):
            def __getitem__(self, i):
                for _ in range(1000):
                    pass
                return super().__getitem__(i)

        for _ in range(10):
            d = Slow(100)
            ref = weakref.ref(d)
            loader = DataLoader(d, batch_size=2, num_workers=3)
            next(iter(loader))
            del loader, d
            gc.collect()
            self.assertIsNone(ref())

    def test_cycles_are_collected(self):
        """Through the library's datasets and loaders to functions that refer to them."""

        class Owner(Dataset):
            def __init__(self):
                self.mapped = TensorDataset(trt.arange(8)).map(self.change).map(self.change)
                self.loader = DataLoader(Subset(self.mapped, [1, 2, 3]), batch_size=3)
                self.mine = DataLoader(self, batch_size=4, num_workers=2)

            def change(self, x):
                return x + 1

            def __len__(self):
                return 8

            def __getitem__(self, index):
                return index * 2

        owner = Owner()
        self.assertEqual([b[0].tolist() for b in owner.loader], [[3, 4, 5]])
        self.assertEqual([b.tolist() for b in owner.mine], [[0, 2, 4, 6], [8, 10, 12, 14]])
        next(iter(owner.mine))
        ref = weakref.ref(owner)
        del owner
        gc.collect()
        self.assertIsNone(ref())
        # The source stays as long as what was made of it.
        mapped = TensorDataset(trt.arange(3)).map(lambda x: x * 2).map(lambda x: x + 1)
        gc.collect()
        self.assertEqual([x.item() for x, in DataLoader(mapped)], [1, 3, 5])

    def test_loader_in_another_thread(self):
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(sum(labels(DataLoader(Squares(30), batch_size=3, num_workers=2))))) for _ in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        self.assertEqual(seen, [sum(range(30))] * 4)


if __name__ == "__main__":
    unittest.main()
