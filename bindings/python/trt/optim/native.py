"""The library's optimizers: one pass over the memory of each group."""

from collections.abc import MutableMapping

from trt import _C
from trt._options import options
from trt.optim.optimizer import Optimizer, call_closure, parameter_groups

# Options of Python that are pairs or flags of the library.
_PAIRS = {"betas": ("beta1", "beta2")}
_FLAGS = ("nesterov", "maximize", "amsgrad")


def _pair(key, value):
    """(name, number) of the two options of the library that `key` stands for."""
    numbers = tuple(value)
    if len(numbers) != 2:
        raise ValueError(f"{key} are two numbers, got {value!r}")
    return zip(_PAIRS[key], numbers)


class ParamGroup(MutableMapping):
    """The parameters and options of a group; the options are the library's own: setting one takes effect at the next step."""

    def __init__(self, optimizer, index, params, names):
        self._optimizer, self._index, self._params, self._names, self._more = optimizer, index, params, names, {}

    def __getitem__(self, key):
        if key == "params":
            return self._params
        if key in self._more:
            return self._more[key]
        if key not in self._names:
            raise KeyError(key)
        handle = self._optimizer._handle
        if key in _PAIRS:
            return tuple(_C.trt_optimizer_get_option(handle, self._index, name) for name in _PAIRS[key])
        value = _C.trt_optimizer_get_option(handle, self._index, key)
        return bool(value) if key in _FLAGS else value

    def __setitem__(self, key, value):
        if key == "params":
            raise ValueError("the parameters of a group cannot be replaced; add_param_group adds a group")
        if key not in self._names:
            self._more[key] = value
            return
        for name, number in _pair(key, value) if key in _PAIRS else ((key, value),):
            _C.trt_optimizer_set_option(self._optimizer._handle, self._index, name, float(number))

    def __delitem__(self, key):
        del self._more[key]

    def __iter__(self):
        return iter(("params", *self._names, *self._more))

    def __len__(self):
        return 1 + len(self._names) + len(self._more)

    def __repr__(self):
        return repr(dict(self))


def _flat(values):
    """(names, numbers) of options as the library knows them."""
    out = {}
    for key, value in values.items():
        if key in _PAIRS:
            out.update(_pair(key, value))
        else:
            out[key] = value
    return list(out), [float(v) for v in out.values()]


class _Native(Optimizer):
    _names = ()
    _steps = 0  # taken; schedulers look at it

    def __init__(self, create, kind, params, given, init=None):
        first, *others = parameter_groups(params)
        self.defaults, self.param_groups = given, []
        names, numbers = _flat(given)
        fields = {n: bool(v) if n in _FLAGS else v for n, v in zip(names, numbers)}
        with options(kind, init, **fields) as struct:
            self._handle = create(first["params"], struct)
        self.param_groups.append(ParamGroup(self, 0, first["params"], self._names))
        for key, value in first.items():
            if key != "params":
                self.param_groups[0][key] = value
        for group in others:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Adds a group: a dict with "params" and options of its own."""
        group, = parameter_groups([param_group])
        names, numbers = _flat({k: v for k, v in group.items() if k in self._names})
        _C._optimizer_add_group(self._handle, group["params"], names, numbers)
        self.param_groups.append(ParamGroup(self, len(self.param_groups), group["params"], self._names))
        for key, value in group.items():
            if key != "params" and key not in self._names:
                self.param_groups[-1][key] = value

    def step(self, closure=None):
        """Updates every parameter that has a gradient. A closure computes the loss anew before, which is given back."""
        loss = call_closure(closure)
        _C.trt_optimizer_step(self._handle)
        self._steps += 1
        return loss

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or fills them with zeros."""
        _C.trt_optimizer_zero_grad(self._handle, bool(set_to_none))

    def state_dict(self) -> dict:
        """All of the optimizer but the parameters, as a dict of tensors: "param_groups.0.lr", "state.0.exp_avg", ... They share the optimizer's memory."""
        return _C.trt_optimizer_state_dict(self._handle)

    def load_state_dict(self, state_dict):
        """Copies a state dict of an optimizer of the same kind and groups into this one."""
        _C.trt_optimizer_load_state_dict(self._handle, state_dict)

    @property
    def state(self):
        """The state of each parameter: a dict of tensors (read only)."""
        numbers, found = {}, {}
        for i, p in enumerate(p for g in self.param_groups for p in g["params"]):
            numbers[str(i)] = p
        for name, t in self.state_dict().items():
            kind, number, *rest = name.split(".", 2)
            if kind == "state":
                found.setdefault(numbers[number], {})[rest[0]] = t
        return found


class SGD(_Native):
    """Stochastic gradient descent, with momentum (also Nesterov's) and weight decay."""

    _names = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize")

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, foreach=None, differentiable=False, fused=None):
        super().__init__(_C.trt_sgd_create, "sgd", params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                                                                maximize=maximize))


class Adam(_Native):
    """Adam; weight decay is added to the gradient."""

    _names = ("lr", "betas", "eps", "weight_decay", "amsgrad", "maximize")

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, maximize=False, foreach=None, capturable=False,
                 differentiable=False, fused=None):
        super().__init__(_C.trt_adam_create, "adam", params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize))


class AdamW(_Native):
    """Adam with weight decay of its own, apart from the gradient."""

    _names = Adam._names

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None, capturable=False,
                 differentiable=False, fused=None):
        super().__init__(_C.trt_adamw_create, "adam", params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize), "adamw")
