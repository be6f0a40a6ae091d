"""Modules: building blocks of networks, with PyTorch's names, defaults and initial values."""

from trt.nn import functional, init, utils
from trt.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from trt.nn.module import Module
from trt.nn.containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from trt.nn.layers import *  # noqa: F403
from trt.nn.dropout import *  # noqa: F403
from trt.nn.padding import *  # noqa: F403
from trt.nn.activations import *  # noqa: F403
from trt.nn.recurrent import *  # noqa: F403
from trt.nn.attention import *  # noqa: F403
from trt.nn.adaptive import *  # noqa: F403
from trt.nn.lazy import *  # noqa: F403
from trt.nn.losses import *  # noqa: F403
