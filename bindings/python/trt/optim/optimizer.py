"""The base of optimizers, which may also be written in Python."""

from collections import defaultdict

from trt import _C
from trt._modes import enable_grad

required = object()


def parameter_groups(params):
    """[{"params": [...], options}] of an iterable of parameters, of (name, parameter), or of groups."""
    if isinstance(params, _C.TensorBase):
        raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got trt.Tensor")
    params = list(params)
    if not params:
        raise ValueError("optimizer got an empty parameter list")
    if not isinstance(params[0], dict):
        params = [{"params": params}]
    groups = []
    for group in params:
        group = dict(group)
        tensors = group["params"]
        tensors = [tensors] if isinstance(tensors, _C.TensorBase) else list(tensors)
        group["params"] = [t[1] if isinstance(t, tuple) else t for t in tensors]
        for t in group["params"]:
            if not isinstance(t, _C.TensorBase):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(t).__name__}")
            if not t.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        groups.append(group)
    return groups


class Optimizer:
    """Base of optimizers written in Python: param_groups (dicts with "params" and options), state (a dict for each parameter), step()."""

    def __init__(self, params, defaults):
        self.defaults, self.param_groups, self.state = dict(defaults), [], defaultdict(dict)
        for group in parameter_groups(params):
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Adds a group: a dict with "params" and options of its own."""
        group, = parameter_groups([param_group])
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, default)
        known = {id(p) for g in self.param_groups for p in g["params"]}
        if known & {id(p) for p in group["params"]}:
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or fills them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad = None if set_to_none else p.grad.detach().zero_()

    def step(self, closure=None):
        """Updates the parameters."""
        raise NotImplementedError

    def state_dict(self):
        """State by the parameters' numbers, and the groups' options: for trt.save."""
        numbers = {id(p): i for i, p in enumerate(p for g in self.param_groups for p in g["params"])}
        return {"state": {numbers[id(p)]: dict(s) for p, s in self.state.items()},
                "param_groups": [{**{k: v for k, v in g.items() if k != "params"}, "params": [numbers[id(p)] for p in g["params"]]} for g in self.param_groups]}

    def load_state_dict(self, state_dict):
        """Takes over the values of a state dict."""
        groups = state_dict["param_groups"]
        if [len(g["params"]) for g in groups] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError("loaded state dict has a different number of parameter groups, or groups of other sizes")
        params = [p for g in self.param_groups for p in g["params"]]
        for own, group in zip(self.param_groups, groups):
            own.update({k: v for k, v in group.items() if k != "params"})
        self.state = defaultdict(dict, {params[i]: {k: v.clone() if isinstance(v, _C.TensorBase) else v for k, v in s.items()} for i, s in state_dict["state"].items()})

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines + [")"])


def call_closure(closure):
    """The loss of a closure, with recording on."""
    if closure is None:
        return None
    with enable_grad():
        return closure()
