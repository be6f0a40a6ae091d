"""The base of all modules."""

from collections import OrderedDict, namedtuple
from collections.abc import Mapping
import itertools
import weakref

from trt import _C
from trt.nn._backward_hooks import BackwardHooks
from trt.nn.parameter import Buffer, Parameter, is_lazy


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict did not find, and what it had no place for."""

    __slots__ = ()

    def __repr__(self):
        return "<All keys matched successfully>" if not self.missing_keys and not self.unexpected_keys else super().__repr__()


class RemovableHandle:
    """A hook that can be removed."""

    _numbers = itertools.count()

    def __init__(self, hooks):
        self._hooks, self.id = weakref.ref(hooks), next(self._numbers)

    def remove(self):
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def _add_indent(text):
    first, *rest = text.split("\n")
    return "\n".join([first] + ["  " + line for line in rest])


class Module:
    """A part of a network: parameters, buffers and other modules are registered by assigning them to attributes; forward computes.

        class Net(trt.nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden = trt.nn.Linear(4, 8)
                self.scale = trt.nn.Parameter(trt.ones(8))

            def forward(self, x):
                return self.hidden(x).relu() * self.scale
    """

    training: bool

    def __init__(self):
        set_ = super().__setattr__
        set_("training", True)
        for name in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks", "_load_hooks"):
            set_(name, OrderedDict())
        set_("_non_persistent", set())

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"Module [{type(self).__name__}] is missing the required \"forward\" function")

    def __call__(self, *args, **kwargs):
        try:
            if not (self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks):
                return self.forward(*args, **kwargs)
            return self._call_with_hooks(args, kwargs)
        except _C.Error as error:
            self._add_place(error)
            raise

    def _add_place(self, error):
        """To the message of an error of the library: the innermost module that it left, by its name in the outermost so far, and its type."""
        if len(error.args) != 1 or not isinstance(error.args[0], str):
            return
        text, kind, path, inner = error.__dict__.get("_place", (error.args[0], type(self).__name__, "", None))
        if inner is not None and inner is not self:
            name = next((n for n, m in self.named_modules() if m is inner), f"<{type(inner).__name__}>")
            path = f"{name}.{path}" if path else name
            error.args = (f"{text} (in module '{path}', {kind})",)
        error._place = text, kind, path, self

    def _call_with_hooks(self, args, kwargs):
        for hook, with_kwargs in list(self._forward_pre_hooks.values()):
            if with_kwargs:
                result = hook(self, args, kwargs)
                if result is not None:
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        backward = BackwardHooks(self, self._backward_pre_hooks, self._backward_hooks) if self._backward_hooks or self._backward_pre_hooks else None
        if backward:
            args = backward.enter(args)
        output = self.forward(*args, **kwargs)
        for hook, with_kwargs in list(self._forward_hooks.values()):
            result = hook(self, args, kwargs, output) if with_kwargs else hook(self, args, output)
            if result is not None:
                output = result
        return backward.leave(output) if backward else output

    def _known(self, size):
        """The size of a layer's input; a lazy one's is 0 as long as it is None."""
        if size is None and not getattr(self, "_takes_any_size", False):
            raise TypeError(f"{type(self).__name__}: the size of the input is needed, got None")
        return size or 0

    # --- registration ---

    def _tables(self):
        try:
            return self.__dict__["_parameters"], self.__dict__["_buffers"], self.__dict__["_modules"]
        except KeyError:
            raise AttributeError("cannot assign parameters, buffers or modules before Module.__init__() call") from None

    def _check_name(self, name, kind):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f"{kind} name can't contain \".\", got: {name}")
        if name == "":
            raise KeyError(f"{kind} name can't be empty string \"\"")
        if hasattr(self, name) and not any(name in t for t in self._tables()):
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Adds a parameter (or None)."""
        self._tables()
        self._check_name(name, "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' (trt.nn.Parameter or None required)")
        if param is not None and not param.is_leaf:
            raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'.")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """Adds a buffer (or None); only persistent ones are in the state dict."""
        self._tables()
        self._check_name(name, "buffer")
        if tensor is not None and not isinstance(tensor, _C.TensorBase):
            raise TypeError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (trt Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def register_module(self, name, module):
        """Adds a child (or None)."""
        self._tables()
        self._check_name(name, "module")
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    add_module = register_module

    def __setattr__(self, name, value):
        if isinstance(value, (Parameter, Buffer, Module)):
            parameters, buffers, modules = self._tables()
            for table in (self.__dict__, parameters, buffers, modules):
                if not (isinstance(value, Parameter) and table is parameters or isinstance(value, Buffer) and table is buffers
                        or isinstance(value, Module) and table is modules):
                    table.pop(name, None)
            if isinstance(value, Parameter):
                self.register_parameter(name, value)
            elif isinstance(value, Buffer):
                self.register_buffer(name, value, value.persistent)
            else:
                modules[name] = value
            return
        for kind, table in (("parameter", self.__dict__.get("_parameters")), ("child module", self.__dict__.get("_modules"))):
            if table is not None and name in table:
                if value is not None:
                    wanted = "trt.nn.Parameter" if kind == "parameter" else "trt.nn.Module"
                    raise TypeError(f"cannot assign '{type(value).__name__}' as {kind} '{name}' ({wanted} or None expected)")
                table[name] = None
                return
        buffers = self.__dict__.get("_buffers")
        if buffers is not None and name in buffers:
            if value is not None and not isinstance(value, _C.TensorBase):
                raise TypeError(f"cannot assign '{type(value).__name__}' as buffer '{name}' (trt.Tensor or None expected)")
            buffers[name] = value
            return
        super().__setattr__(name, value)

    def __getattr__(self, name):
        for table in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for table in self._tables():
            if name in table:
                del table[name]
                self._non_persistent.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    # --- the tree ---

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """Every module of the tree with its name, this one first."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        """Every module of the tree."""
        return (module for _, module in self.named_modules())

    def named_children(self):
        """The children with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        """The children."""
        return (module for _, module in self.named_children())

    def _named(self, table, prefix, recurse, remove_duplicate):
        seen = set()
        for module_name, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, t in getattr(module, table).items():
                if t is None or id(t) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(t))
                yield f"{module_name}.{name}" if module_name else name, t

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """The parameters with their names, each tensor once."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """The buffers with their names, each tensor once."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target):
        """The module of that name, "encoder.0"."""
        module = self
        for name in target.split(".") if target else ():
            module = module._modules.get(name)
            if module is None:
                raise AttributeError(f"{type(self).__name__} has no module '{target}'")
        return module

    def _get(self, target, table):
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), table)
        if found.get(name) is None:
            raise AttributeError(f"{type(self).__name__} has no `{target}`")
        return found[name]

    def get_parameter(self, target):
        """The parameter of that name, "encoder.0.weight"."""
        return self._get(target, "_parameters")

    def get_buffer(self, target):
        """The buffer of that name."""
        return self._get(target, "_buffers")

    def apply(self, fn):
        """Calls fn for every module, children before their parents; gives self."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # --- modes and gradients ---

    def train(self, mode=True):
        """Sets training mode, or (False) eval mode, in the whole tree; gives self."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Sets eval mode in the whole tree; gives self."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets requires_grad of all parameters; gives self."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Drops the gradients of all parameters, or fills them with zeros."""
        for p in self.parameters():
            if p.grad is not None:
                if set_to_none:
                    p.grad = None
                else:
                    p.grad = p.grad.detach().zero_()

    # --- dtype and device ---

    def _apply(self, fn):
        for module in self.children():
            module._apply(fn)
        for p in self._parameters.values():
            if p is None:
                continue
            old = p.detach()
            new = fn(old)
            if new is not old:
                grad, p.grad = p.grad, None
                p.data = new
                if grad is not None:
                    p.grad = fn(grad.detach())
        for name, b in self._buffers.items():
            if is_lazy(b):
                b.data = fn(b.detach())
            elif b is not None:
                self._buffers[name] = fn(b)
        return self

    def to(self, *args, dtype=None, device=None, non_blocking=False):
        """Converts floating-point parameters and buffers to a dtype, and all to a device; gives self. Parameters keep their identity."""
        for a in args:
            if isinstance(a, _C.TensorBase):
                dtype, device = a.dtype, a.device
            elif isinstance(a, _C.dtype):
                dtype = a
            elif a is not None and not isinstance(a, bool):
                device = a
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(f"nn.Module.to only accepts floating point dtypes, but got desired dtype={dtype}")

        def convert(t):
            return t.to(device=device, dtype=dtype if t.is_floating_point() else None)

        return self._apply(convert)

    def type(self, dtype):
        """to(dtype)."""
        return self.to(dtype)

    def float(self):
        """to(trt.float32)."""
        return self.to(_C._dtypes["float32"])

    def double(self):
        """to(trt.float64)."""
        return self.to(_C._dtypes["float64"])

    def half(self):
        """to(trt.float16)."""
        return self.to(_C._dtypes["float16"])

    def bfloat16(self):
        """to(trt.bfloat16)."""
        return self.to(_C._dtypes["bfloat16"])

    def cpu(self):
        """to("cpu")."""
        return self.to(device="cpu")

    # --- state ---

    def state_dict(self, *, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by name. The tensors share the module's memory, and have no history (but with keep_vars)."""
        out = OrderedDict() if destination is None else destination
        for name, p in self._parameters.items():
            if p is not None:
                out[prefix + name] = p if keep_vars or is_lazy(p) else p.detach()
        for name, b in self._buffers.items():
            if b is not None and name not in self._non_persistent:
                out[prefix + name] = b if keep_vars or is_lazy(b) else b.detach()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=out, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return out

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies the values of a state dict into the module. Names that are missing or unexpected (strict only) and shapes that differ are told in one error, and
        nothing has changed then."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict).__name__}.")
        own = self.state_dict(keep_vars=True)
        missing, unexpected = [k for k in own if k not in state_dict], [k for k in state_dict if k not in own]
        errors = []
        if strict and unexpected:
            errors.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{k}"' for k in unexpected) + ".")
        if strict and missing:
            errors.append("Missing key(s) in state_dict: " + ", ".join(f'"{k}"' for k in missing) + ".")
        for k, t in own.items():
            if k not in state_dict:
                continue
            value = state_dict[k]
            if not isinstance(value, _C.TensorBase):
                errors.append(f'While copying the parameter named "{k}", expected a tensor from the checkpoint but received {type(value).__name__}.')
            elif is_lazy(t):
                pass  # takes any shape
            elif is_lazy(value):
                errors.append(f"size mismatch for {k}: the checkpoint's has no shape yet, the shape in current model is {t.shape}.")
            elif value.shape != t.shape:
                errors.append(f"size mismatch for {k}: copying a param with shape {value.shape} from checkpoint, the shape in current model is {t.shape}.")
        if errors:
            raise _C.InvalidArgumentError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors))
        previous = _C.trt_set_grad_mode(False)
        try:
            for k, t in own.items():
                if k in state_dict and not is_lazy(state_dict[k]):
                    if is_lazy(t):
                        t.materialize(state_dict[k].shape)
                    if assign:
                        t.data = state_dict[k].detach()
                    else:
                        t.copy_(state_dict[k])
        finally:
            _C.trt_set_grad_mode(previous)
        return IncompatibleKeys(missing, unexpected)

    # --- hooks ---

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, args, output) after forward; what it returns, if not None, is the output. Gives a handle with remove()."""
        return self._register(self._forward_hooks, (hook, with_kwargs), prepend)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Calls hook(module, args) before forward; what it returns, if not None, are the arguments. Gives a handle with remove()."""
        return self._register(self._forward_pre_hooks, (hook, with_kwargs), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Calls hook(module, grad_input, grad_output) when the gradients of the module's positional inputs are known: tuples, with None for what is no tensor or needs
        no gradient. What it returns, if not None, replaces grad_input. Gives a handle with remove()."""
        return self._register(self._backward_hooks, hook, prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Calls hook(module, grad_output) when the gradients of the module's outputs are known; what it returns, if not None, replaces them. Gives a handle with
        remove()."""
        return self._register(self._backward_pre_hooks, hook, prepend)

    @staticmethod
    def _register(hooks, entry, prepend):
        handle = RemovableHandle(hooks)
        hooks[handle.id] = entry
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    # --- text ---

    def extra_repr(self):
        """What stands in the brackets of repr()."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_add_indent(repr(module))}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(\n  {body}\n)" if body else f"{self._get_name()}()"
