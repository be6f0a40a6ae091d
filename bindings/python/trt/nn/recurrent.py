"""Recurrent layers and their cells."""

import math

from trt import _C
from trt.nn import init
from trt.nn.layers import _parameter
from trt.nn.module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell"]

_ops = _C._operators


def _reset(module, hidden_size):
    """PyTorch's default: all parameters uniform in +-1/sqrt(hidden_size)."""
    bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0
    for p in module.parameters():
        init.uniform_(p, -bound, bound)


class RNNBase(Module):
    """What LSTM, GRU and RNN share. `mode` is "LSTM", "GRU", "RNN_TANH" or "RNN_RELU"."""

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0, device=None,
                 dtype=None):
        super().__init__()
        gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}.get(mode)
        if gates is None:
            raise ValueError(f"RNNBase: mode must be LSTM, GRU, RNN_TANH or RNN_RELU, got {mode!r}")
        if hidden_size <= 0 or num_layers <= 0 or input_size < 0:
            raise ValueError(f"{mode}: hidden_size and num_layers must be positive, got {hidden_size} and {num_layers}")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{mode}: dropout must lie in [0, 1], got {dropout}")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"{mode}: proj_size must not be negative and smaller than hidden_size, got {proj_size} and {hidden_size}")
        if proj_size and mode != "LSTM":
            raise ValueError(f"{mode}: proj_size is for LSTM only")
        self.mode, self.input_size, self.hidden_size, self.num_layers, self.bias = mode, input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = batch_first, float(dropout), bidirectional, proj_size
        self._weight_names = []
        out_size = proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:self._directions()]:
                size = input_size if layer == 0 else out_size * self._directions()
                shapes = {"weight_ih": (gates * hidden_size, size), "weight_hh": (gates * hidden_size, out_size)}
                if bias:
                    shapes.update(bias_ih=(gates * hidden_size,), bias_hh=(gates * hidden_size,))
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    self._weight_names.append(f"{name}_l{layer}{suffix}")
                    self.register_parameter(self._weight_names[-1], _parameter(shape, dtype, device))
        self.reset_parameters()

    def _directions(self):
        return 2 if self.bidirectional else 1

    def reset_parameters(self):
        """Draws the parameters anew."""
        _reset(self, self.hidden_size)

    def flatten_parameters(self):
        """Does nothing: the parameters need no common memory here."""

    @property
    def all_weights(self):
        """The parameters of each layer and direction."""
        each = len(self._weight_names) // (self.num_layers * self._directions())
        return [[getattr(self, n) for n in self._weight_names[i:i + each]] for i in range(0, len(self._weight_names), each)]

    def _run(self, operator, input, states, sizes):
        """The operator on a batch; `states` are given (None: zeros) and have these sizes."""
        if input.dim() not in (2, 3):
            raise ValueError(f"{type(self).__name__}: the input must have 2 or 3 dimensions, got {input.dim()}")
        if input.size(-1) != self.input_size:
            raise _C.InvalidArgumentError(f"{type(self).__name__}: the input must have {self.input_size} features, got {list(input.shape)}")
        single = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        x = input.unsqueeze(batch_dim) if single else input
        layers = self.num_layers * self._directions()
        if states is None:
            states = [_ops["zeros"]((layers, x.size(batch_dim), n), dtype=x.dtype, device=x.device) for n in sizes]
        elif any(s.dim() != input.dim() for s in states):
            raise _C.InvalidArgumentError(f"{type(self).__name__}: for an input of {input.dim()} dimensions states must have as many, got "
                                          f"{[list(s.shape) for s in states]}")
        elif single:
            states = [s.unsqueeze(1) for s in states]
        hx = list(states) if len(sizes) > 1 else states[0]
        output, *last = operator(x, hx, [getattr(self, n) for n in self._weight_names], self.bias, self.num_layers, self.dropout, self.training,
                                 self.bidirectional, self.batch_first)
        if single:
            output, last = output.squeeze(batch_dim), [s.squeeze(1) for s in last]
        return output, last

    def forward(self, input, hx=None):
        operator = _ops[{"GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}[self.mode]]
        output, (last,) = self._run(operator, input, None if hx is None else [hx], [self.hidden_size])
        return output, last

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0.0, "bidirectional": False}
        return text + "".join(f", {n}={getattr(self, n)}" for n, default in defaults.items() if getattr(self, n) != default)


class RNN(RNNBase):
    """Elman layers: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu. Input [t, n, input_size] ([n, t, ...] with `batch_first`, [t, ...] without a batch);
    gives the states of the last layer, and the last states of all layers [layers * directions, n, hidden_size]."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None,
                 dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        super().__init__("RNN_" + nonlinearity.upper(), input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units; input and results as those of RNN."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype)


class LSTM(RNNBase):
    """Long short-term memory; input as that of RNN, states a pair (h, c). With `proj_size` the states h are projected to that size."""

    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0, device=None,
                 dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device, dtype)

    def forward(self, input, hx=None):
        output, last = self._run(_ops["lstm"], input, hx, [self.proj_size or self.hidden_size, self.hidden_size])
        return output, tuple(last)


class _Cell(Module):
    def __init__(self, input_size, hidden_size, bias, gates, device, dtype):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        self.weight_ih = _parameter((gates * hidden_size, input_size), dtype, device)
        self.weight_hh = _parameter((gates * hidden_size, hidden_size), dtype, device)
        self.register_parameter("bias_ih", _parameter((gates * hidden_size,), dtype, device) if bias else None)
        self.register_parameter("bias_hh", _parameter((gates * hidden_size,), dtype, device) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew."""
        _reset(self, self.hidden_size)

    def _zeros(self, input):
        return _ops["zeros"](tuple(input.shape[:-1]) + (self.hidden_size,), dtype=input.dtype, device=input.device)

    def _weights(self):
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self):
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return (f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")
                + ("" if nonlinearity == "tanh" else f", nonlinearity={nonlinearity}"))


class RNNCell(_Cell):
    """One step of RNN: input [n, input_size] or [input_size], the state (zeros at first); gives the new state."""

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        return _ops[f"rnn_{self.nonlinearity}_cell"](input, self._zeros(input) if hx is None else hx, *self._weights())


class GRUCell(_Cell):
    """One step of GRU: input [n, input_size] or [input_size], the state (zeros at first); gives the new state."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return _ops["gru_cell"](input, self._zeros(input) if hx is None else hx, *self._weights())


class LSTMCell(_Cell):
    """One step of LSTM: input [n, input_size] or [input_size], states (h, c) (zeros at first); gives the new ones."""

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return tuple(_ops["lstm_cell"](input, [self._zeros(input)] * 2 if hx is None else list(hx), *self._weights()))
