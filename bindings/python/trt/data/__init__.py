"""Datasets and the loader that makes batches of them."""

from trt.data.collate import default_collate
from trt.data.dataset import ConcatDataset, Dataset, ImageDataset, IterableDataset, Subset, TensorDataset, load_idx, random_split
from trt.data.loader import DataLoader
from trt.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
