"""The order of samples."""

from trt import _C


class Sampler:
    """Base of samplers: a subclass has __iter__, which gives indices."""

    def __iter__(self):
        raise NotImplementedError("a sampler needs __iter__")


class SequentialSampler(Sampler):
    """In order."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new permutation each time, or (replacement) independent draws."""

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator
        if self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self):
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        n, left = len(self.data_source), self.num_samples
        if self.replacement:
            yield from _C._operators["randint"](n, (left,), generator=self.generator).tolist()
            return
        while left > 0:
            order = _C._operators["randperm"](n, generator=self.generator).tolist()[:left]
            left -= len(order)
            yield from order

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices in a new order each time."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = list(indices), generator

    def __iter__(self):
        return (self.indices[i] for i in _C._operators["randperm"](len(self.indices), generator=self.generator).tolist())

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """Independent draws, each index with the probability of its weight."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        self.weights = weights.tolist() if isinstance(weights, _C.TensorBase) else [float(w) for w in weights]
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        weights = _C._from_data(self.weights, _C._dtypes["float64"])
        return iter(_C._operators["multinomial"](weights, self.num_samples, self.replacement, generator=self.generator).tolist())

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of the indices of another sampler."""

    def __init__(self, sampler, batch_size, drop_last=False):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self):
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)
