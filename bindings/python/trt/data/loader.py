"""Batches of samples.

The library makes the batches where it can: samples that are tensors, numbers or tuples of them, in order, shuffled or drawn. Python does it where a
collate function, another sampler or an iterable dataset asks for it. Workers are threads in both.
"""

import array
import atexit
from collections import deque
from concurrent.futures import ThreadPoolExecutor
import itertools
import weakref

from trt import _C
from trt._options import options
from trt.data.collate import as_sample_tensor, default_collate
from trt.data.dataset import IterableDataset
from trt.data.sampler import BatchSampler, RandomSampler, SequentialSampler, WeightedRandomSampler


class DataLoader:
    """Iterates over a dataset in batches; each iteration is an epoch.

    num_workers: threads that make batches ahead. The order of a shuffled epoch is a function of (seed, epoch), `seed` (None: drawn from `generator`) being the
    loader's, whatever the number of workers.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None, pin_memory=False, drop_last=False,
                 timeout=0, worker_init_fn=None, *, prefetch_factor=None, generator=None, persistent_workers=False, seed=None):
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable threads that make batches ahead.")
        if batch_size is not None and (not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1):
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size!r}")
        if prefetch_factor is not None and num_workers == 0:
            raise ValueError("prefetch_factor option could only be specified with num_workers > 0")
        iterable = isinstance(dataset, IterableDataset)
        if iterable and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("an iterable dataset has its own order: shuffle, sampler and batch_sampler cannot be given")
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None and (batch_size not in (1, None) or shuffle or sampler is not None or drop_last):
            raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
        self.dataset, self.batch_size, self.shuffle, self.num_workers, self.drop_last = dataset, batch_size, shuffle, num_workers, drop_last
        self.prefetch_factor, self.generator, self.seed = prefetch_factor or 2, generator, seed
        self.sampler, self.batch_sampler, self.collate_fn = sampler, batch_sampler, collate_fn
        self._handle, self._iterator, self._single, self._epoch = None, None, False, 0
        native_order = sampler is None or type(sampler) in (SequentialSampler, RandomSampler) or (type(sampler) is WeightedRandomSampler and sampler.replacement)
        self._native = not iterable and collate_fn is None and batch_sampler is None and batch_size is not None and native_order
        if self._native and getattr(dataset, "_handle", None) is not None:
            self._create(dataset)  # draws the seed now, as the library's loader does
        if not self._native and not iterable and batch_sampler is None:
            order = sampler if sampler is not None else RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
            self.sampler = order
            if batch_size is not None:
                self.batch_sampler = BatchSampler(order, batch_size, drop_last)

    # --- the library's loader ---

    def _create(self, native):
        sampler, fields = self.sampler, {}
        weights = None
        if isinstance(sampler, RandomSampler):
            fields = {"shuffle": not sampler.replacement, "replacement": sampler.replacement, "generator": sampler.generator}
            if sampler._num_samples is not None:
                fields["num_samples"] = sampler._num_samples
        elif isinstance(sampler, WeightedRandomSampler):
            weights = array.array("d", sampler.weights)
            fields = {"weights": weights.buffer_info()[0], "weights_count": len(weights), "num_samples": sampler.num_samples, "generator": sampler.generator}
        else:
            fields = {"shuffle": bool(self.shuffle), "generator": self.generator}
        with options("data_loader", batch_size=self.batch_size, drop_last=bool(self.drop_last), num_workers=self.num_workers, prefetch_factor=self.prefetch_factor,
                     seed=self.seed, **fields) as o:
            self._handle = _C.trt_data_loader_create(native, o)
        if self.num_workers:
            _with_workers.add(self)

    def _prepare(self):
        """Looks at a sample of a dataset in Python: whether the library can make its batches."""
        if self._handle is not None or not self._native:
            return
        if len(self.dataset) == 0:
            self._native = False
            self.batch_sampler = BatchSampler(SequentialSampler(self.dataset), self.batch_size, self.drop_last)
            return
        sample = self.dataset[0]
        several = type(sample) in (tuple, list)
        elements = sample if several else (sample,)
        if not elements or not all(isinstance(e, (_C.TensorBase, int, float)) or hasattr(e, "__array_interface__") for e in elements):
            self._native = False
            order = self.sampler
            if order is None:
                order = RandomSampler(self.dataset, generator=self.generator) if self.shuffle else SequentialSampler(self.dataset)
            self.batch_sampler = BatchSampler(order, self.batch_size, self.drop_last)
            return
        self._single = not several
        # The library keeps this function. What the dataset refers to, which may be the loader, Python's collector must see.
        this = weakref.ref(self)

        def get(index):
            sample = this().dataset[index]
            return [as_sample_tensor(e) for e in (sample if several else (sample,))]

        self._create(_C._dataset_from_callback(len(self.dataset), len(elements), get))
        if self._epoch:
            _C.trt_data_loader_set_epoch(self._handle, self._epoch)

    @property
    def epoch(self) -> int:
        """The number of the epoch that the next iteration, or the one in progress, is."""
        return _C.trt_data_loader_epoch(self._handle) if self._handle is not None else self._epoch

    def set_epoch(self, epoch: int):
        """The next iteration is this epoch: a resumed training sees the order that it would have seen."""
        self._epoch, self._iterator = epoch, None
        if self._handle is not None:
            _C.trt_data_loader_set_epoch(self._handle, epoch)

    # --- iteration ---

    def __iter__(self):
        self._prepare()
        if self._native:
            if self._iterator is not None:
                _C.trt_data_loader_reset(self._handle)
            self._iterator = _NativeIterator(self)
            return self._iterator
        self._epoch += 1
        if isinstance(self.dataset, IterableDataset):
            return self._iterate(iter(self.dataset))
        if self.batch_sampler is None:
            return (default_collate_one(self.dataset[i], self.collate_fn) for i in self.sampler)
        collate = self.collate_fn or default_collate

        def make(indices):
            return collate([self.dataset[i] for i in indices])

        return map(make, self.batch_sampler) if self.num_workers == 0 else _ahead(make, self.batch_sampler, self.num_workers, self.prefetch_factor)

    def _iterate(self, samples):
        if self.batch_size is None:
            yield from (default_collate_one(sample, self.collate_fn) for sample in samples)
            return
        collate = self.collate_fn or default_collate
        while batch := list(itertools.islice(samples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield collate(batch)

    def __len__(self):
        if self._handle is not None:
            return _C.trt_data_loader_batches(self._handle)
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        if self.batch_size is None:
            return len(self.sampler)
        n = len(self.sampler) if self.sampler is not None else len(self.dataset)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def default_collate_one(sample, collate_fn):
    """A sample by itself, where there are no batches."""
    return collate_fn(sample) if collate_fn is not None else sample


class _NativeIterator:
    def __init__(self, loader):
        self._loader = loader

    def __iter__(self):
        return self

    def __next__(self):
        loader = self._loader
        if loader is None:
            raise StopIteration
        if loader._iterator is not self:
            raise RuntimeError("another iteration over the loader has begun; two at once need two loaders")
        batch, has_batch = _C.trt_data_loader_next(loader._handle)
        if not has_batch:
            self._loader = None
            raise StopIteration
        return batch[0] if loader._single else list(batch)

    def __len__(self):
        return len(self._loader) if self._loader is not None else 0


def _ahead(make, batches, workers, factor):
    """make(batch) of all batches in order, by threads that are ahead by factor batches each."""
    with ThreadPoolExecutor(workers, thread_name_prefix="trt.DataLoader") as pool:
        waiting = deque()
        try:
            for batch in batches:
                waiting.append(pool.submit(make, batch))
                if len(waiting) >= workers * factor:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


# Loaders with threads, which call datasets in Python: those end before the interpreter does.
_with_workers = weakref.WeakSet()


@atexit.register
def _close():
    for loader in list(_with_workers):
        loader._handle = loader._iterator = None
