"""Optimizers and learning-rate schedulers."""

from trt.optim import lr_scheduler
from trt.optim.optimizer import Optimizer
from trt.optim.native import SGD, Adam, AdamW
