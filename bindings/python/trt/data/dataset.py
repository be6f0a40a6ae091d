"""Where samples come from."""

import bisect
import itertools
import weakref

from trt import _C
from trt._options import options


class Dataset:
    """Base of datasets: a subclass has __getitem__(index), which gives a sample (a tensor, a number, or a tuple of them, or whatever collate_fn takes),
    and __len__. A loader with workers calls it from several threads."""

    def __getitem__(self, index):
        raise NotImplementedError("a dataset needs __getitem__")

    def __add__(self, other):
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Base of datasets without an order: a subclass has __iter__, which gives samples."""

    def __iter__(self):
        raise NotImplementedError("an iterable dataset needs __iter__")


class NativeDataset(Dataset):
    """A dataset of the library: samples and batches are made without Python."""

    def __init__(self, handle):
        self._handle = handle

    def __len__(self):
        return _C.trt_dataset_size(self._handle)

    def __getitem__(self, index):
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range for a dataset of {n} samples")
        return _C.trt_dataset_get(self._handle, index % n)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def map(self, function, fields=None):
        """The samples, each changed by function(*tensors), which gives a tensor or a tuple of them, when it is needed."""
        if fields is None:
            result = function(*self[0])
            fields = 1 if isinstance(result, _C.TensorBase) else len(result)
        made = NativeDataset(None)
        # The library keeps `call`. What `function` refers to, which may be the dataset, Python's collector must see.
        made._base, made._function = self, function
        this = weakref.ref(made)

        def call(*tensors):
            return this()._function(*tensors)

        made._handle = _C._dataset_map(self._handle, fields, call)
        return made


class TensorDataset(NativeDataset):
    """Row i of every tensor is sample i."""

    def __init__(self, *tensors):
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise ValueError(f"TensorDataset: the first sizes of the tensors must be the same, got {', '.join(str(list(t.shape)) for t in tensors)}")
        self.tensors = tensors
        super().__init__(_C.trt_dataset_from_tensors(tensors))


class ImageDataset(NativeDataset):
    """Images of uint8 [n, h, w] with labels [n], from tensors or IDX files (plain or gzip): samples (image, label). normalize: to float32,
    (pixel / 255 - mean) / std; add_channel: as [1, h, w]."""

    def __init__(self, images, labels=None, *, normalize=True, add_channel=True, mean=0.0, std=1.0):
        from_tensors = isinstance(images, _C.TensorBase)
        create = _C.trt_dataset_from_images if from_tensors else _C.trt_dataset_from_idx
        with options("image", normalize=normalize, add_channel=add_channel, mean=mean, std=std) as o:
            super().__init__(create(images, labels, o))


def load_idx(path):
    """The array of an IDX file (plain or gzip) as a tensor."""
    return _C.trt_idx_load(path)


class Subset(Dataset):
    """The samples `indices` of a dataset, in this order."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, list(indices)
        self._handle = _C.trt_dataset_subset(dataset, self.indices) if getattr(dataset, "_handle", None) is not None else None

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets should not be an empty iterable")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self):
        return self.cumulative_sizes[-1]

    def __getitem__(self, index):
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError("index is out of range for the concatenated datasets")
        which = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]


def random_split(dataset, lengths, generator=None):
    """Subsets of the given lengths (or fractions that add up to 1), drawn without repetition."""
    n = len(dataset)
    if abs(sum(lengths) - 1) < 1e-6 and all(0 <= x <= 1 for x in lengths):
        lengths = [int(n * x) for x in lengths]
        for i in range(n - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != n:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = _C._operators["randperm"](n, generator=generator).tolist()
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length:end]) for end, length in zip(ends, lengths)]
