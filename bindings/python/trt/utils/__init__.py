"""PyTorch's place of trt.data: trt.utils.data."""

import sys

from trt import data

sys.modules["trt.utils.data"] = data
