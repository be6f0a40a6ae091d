"""Modules of modules."""

from collections import OrderedDict
import itertools

from trt.nn.module import Module
from trt.nn.parameter import Parameter


class Sequential(Module):
    """Runs modules in order: Sequential(a, b), or Sequential(OrderedDict(first=a, second=b))."""

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], dict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _name(self, index):
        n = len(self._modules)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return next(itertools.islice(self._modules, index % n, None))

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._name(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name(index), module)

    def __delitem__(self, index):
        names = list(self._modules)[index] if isinstance(index, slice) else [self._name(index)]
        kept = [m for name, m in self._modules.items() if name not in names]
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(kept))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        return Sequential(*self, *other)

    def append(self, module):
        """Adds a module at the end; gives self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds modules at the end; gives self."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Adds a module before position `index`; gives self."""
        modules = list(self)
        modules.insert(index, module)
        self._modules.clear()
        for i, m in enumerate(modules):
            self.add_module(str(i), m)
        return self


class ModuleList(Module):
    """A list whose modules are registered."""

    def __repr__(self):
        """Neighbours of the same text stand once: "(0-2): 3 x ReLU()"."""
        blocks = []
        for name, module in self._modules.items():
            text = repr(module)
            if blocks and blocks[-1][2] == text:
                blocks[-1][1] = name
            else:
                blocks.append([name, name, text])
        lines = []
        for first, last, text in blocks:
            place = f"({first})" if first == last else f"({first}-{last}): {int(last) - int(first) + 1} x"
            lines.append("\n  ".join(((f"{place}: " if first == last else f"{place} ") + text).split("\n")))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)" if lines else f"{self._get_name()}()"

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def _name(self, index):
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        return str(index % n)

    def __getitem__(self, index):
        return type(self)(list(self)[index]) if isinstance(index, slice) else self._modules[self._name(index)]

    def __setitem__(self, index, module):
        setattr(self, self._name(index), module)

    def _replace(self, modules):
        self._modules.clear()
        self.extend(modules)

    def __delitem__(self, index):
        modules = list(self)
        del modules[index]
        self._replace(modules)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        return type(self)(itertools.chain(self, other))

    def __iadd__(self, modules):
        return self.extend(modules)

    def append(self, module):
        """Adds a module at the end; gives self."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Adds modules at the end; gives self."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Adds a module before position `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._replace(modules)

    def pop(self, index=-1):
        """Removes a module, and gives it."""
        module = self[index]
        del self[index]
        return module


class ModuleDict(Module):
    """A dict whose modules are registered."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        return self._modules.pop(key)

    def update(self, modules):
        for key, module in modules.items() if isinstance(modules, (dict, ModuleDict)) else modules:
            self[key] = module


def _parameter(value):
    return value if isinstance(value, Parameter) or value is None else Parameter(value)


class ParameterList(Module):
    """A list whose parameters are registered; tensors become parameters."""

    def __init__(self, values=None):
        super().__init__()
        self.extend(values or ())

    def __getitem__(self, index):
        values = list(self)
        return type(self)(values[index]) if isinstance(index, slice) else values[index]

    def __setitem__(self, index, value):
        n = len(self)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of range")
        self._parameters[str(index % n)] = _parameter(value)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def append(self, value):
        """Adds a parameter at the end; gives self."""
        self.register_parameter(str(len(self)), _parameter(value))
        return self

    def extend(self, values):
        """Adds parameters at the end; gives self."""
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"({name}): Parameter containing: [{p.dtype} of size {'x'.join(map(str, p.shape))}]" for name, p in self._parameters.items())


class ParameterDict(Module):
    """A dict whose parameters are registered; tensors become parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        self.update(parameters or {})

    def __getitem__(self, key):
        return self._parameters[key]

    def __setitem__(self, key, value):
        self.register_parameter(key, _parameter(value))

    def __delitem__(self, key):
        del self._parameters[key]

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def __contains__(self, key):
        return key in self._parameters

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()

    def pop(self, key):
        return self._parameters.pop(key)

    def update(self, parameters):
        for key, value in parameters.items() if isinstance(parameters, (dict, ParameterDict)) else parameters:
            self[key] = value

    extra_repr = ParameterList.extra_repr
