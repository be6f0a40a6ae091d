"""save and load: tensors in nested dicts and lists, as safetensors files."""

import json
import os

from trt import _C, safetensors

_STRUCTURE = "trt.structure"


def _is_plain(obj):
    return isinstance(obj, dict) and all(isinstance(k, str) and isinstance(v, _C.TensorBase) and v.dtype.name != "complex128" for k, v in obj.items())


def _encode(obj, name, tensors):
    """The structure of an object as JSON; its tensors are put into `tensors` by their path."""
    if isinstance(obj, _C.TensorBase):
        name = name or "tensor"
        if name in tensors:
            raise ValueError(f"save: two tensors would have the name '{name}' in the file; their keys differ by their types or by dots only")
        if obj.dtype.name == "complex128":  # the format has no name for it
            tensors[name] = _C._operators["view_as_real"](obj.detach())
            return {"complex": name}
        tensors[name] = obj
        return {"tensor": name}
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return {"value": obj}
    def inner(key):
        return f"{name}.{key}" if name else str(key)
    if isinstance(obj, dict):
        for k in obj:
            if not isinstance(k, (str, int)):
                raise TypeError(f"save: keys must be str or int, not {type(k).__name__} (in '{name}')")
        return {"dict": [[k, _encode(v, inner(k), tensors)] for k, v in obj.items()]}
    if isinstance(obj, (list, tuple)):
        return {type(obj).__name__ if type(obj) in (list, tuple) else "tuple": [_encode(v, inner(i), tensors) for i, v in enumerate(obj)]}
    raise TypeError(f"save: tensors, numbers, strings, None, and dicts, lists and tuples of them can be saved, not a {type(obj).__name__} (in '{name}')")


def _decode(node, tensors):
    (kind, value), = node.items()
    if kind == "tensor":
        return tensors[value]
    if kind == "complex":
        return _C._operators["view_as_complex"](tensors[value])
    if kind == "value":
        return value
    if kind == "dict":
        return {k: _decode(v, tensors) for k, v in value}
    return (list if kind == "list" else tuple)(_decode(v, tensors) for v in value)


def save(obj, f, *, metadata=None):
    """Saves a state dict, or tensors, numbers and strings in nested dicts, lists and tuples, to a path or a binary file.

    The file is in the safetensors format: every tensor has its path in the structure as name ("optimizer.state.0.step"), so that other programs
    find it (a complex128 one as the float64 tensor of its parts); the structure itself, where it is more than a dict of tensors, and `metadata` (a dict of strings) stand in the file's metadata. A
    file at a path is replaced atomically.
    """
    metadata = dict(metadata or {})
    if _is_plain(obj):
        tensors = obj
    else:
        tensors = {}
        metadata[_STRUCTURE] = json.dumps(_encode(obj, "", tensors))
    if isinstance(f, (str, bytes, os.PathLike)):
        safetensors.save_file(tensors, f, metadata)
    else:
        f.write(safetensors.save(tensors, metadata))


def load(f, map_location=None, *, mmap=False, weights_only=True):
    """Loads what save() saved, or the tensors of any safetensors file as a dict. mmap: on a private mapping of the file instead of copies."""
    if isinstance(f, (str, bytes, os.PathLike)):
        with safetensors.safe_open(f, mode="map" if mmap else "copy") as file:
            tensors, metadata = {name: file.get_tensor(name) for name in file.keys()}, file.metadata()
    else:
        tensors, metadata = safetensors.load_with_metadata(f.read())
    if map_location is not None:
        tensors = {name: t.to(device=map_location) for name, t in tensors.items()}
    return _decode(json.loads(metadata[_STRUCTURE]), tensors) if _STRUCTURE in metadata else tensors
