"""safetensors: named tensors with a map of strings, in a file or in bytes."""

import json
import os
import struct

from trt import _C

_NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float16": "F16", "bfloat16": "BF16", "float32": "F32",
          "float64": "F64", "complex64": "C64"}
_DTYPES = {text: name for name, text in _NAMES.items()}
_MODES = {"map": 0, "copy": 1}


def save_file(tensors, path, metadata=None):
    """Writes a dict of tensors, and a dict of strings, to a file. Atomic: what was at `path` stays until the new content is completely on the disk."""
    metadata = metadata or {}
    _C._safetensors_save(os.fspath(path), list(tensors), [t.detach() for t in tensors.values()], list(metadata), list(metadata.values()))


def load_file(path, *, mode="copy") -> dict:
    """All tensors of a file. mode "map": on a private mapping of the file instead of copies."""
    with safe_open(path, mode=mode) as file:
        return {name: file.get_tensor(name) for name in file.keys()}


class safe_open:
    """A file for reading, validated completely: with safe_open(path) as file: file.keys(), file.get_tensor(name), file.metadata()."""

    def __init__(self, path, framework="trt", device="cpu", *, mode="copy"):
        self._mode = _MODES[mode]
        self._handle = _C.trt_safetensors_open(path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._handle = None

    def _open(self):
        if self._handle is None:
            raise ValueError(f"{type(self).__name__}: the file was closed")
        return self._handle

    def keys(self) -> list[str]:
        """The tensors' names, in the order of the file."""
        h = self._open()
        return [_C.trt_safetensors_name(h, i) for i in range(_C.trt_safetensors_size(h))]

    def get_tensor(self, name):
        """A tensor by its name."""
        return _C.trt_safetensors_tensor(self._open(), name, self._mode)

    def metadata(self) -> dict[str, str]:
        """The strings."""
        h = self._open()
        return {_C.trt_safetensors_metadata_key(h, i): _C.trt_safetensors_metadata_value(h, i) for i in range(_C.trt_safetensors_metadata_size(h))}


def save(tensors, metadata=None) -> bytes:
    """A dict of tensors as the bytes of such a file."""
    header, parts, at = {}, [], 0
    if metadata:
        header["__metadata__"] = dict(metadata)
    for name, t in tensors.items():
        if t.dtype.name not in _NAMES:
            raise _C.NotSupportedError(f"safetensors: tensor '{name}' is {t.dtype.name}{list(t.shape)}, a dtype for which the format has no name; save view_as_real of it")
        data = t.detach()._tobytes()
        header[name] = {"dtype": _NAMES[t.dtype.name], "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *parts])


def _header(data):
    size = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else -1
    if not 0 <= size <= len(data) - 8:
        raise _C.DataError("the bytes are no safetensors file: they are shorter than their header says")
    try:
        header = json.loads(bytes(data[8:8 + size]))
    except ValueError as e:
        raise _C.DataError(f"the bytes are no safetensors file: {e}") from None
    return header, 8 + size


def load(data) -> dict:
    """The tensors in the bytes of such a file."""
    return load_with_metadata(data)[0]


def load_with_metadata(data):
    """(tensors, metadata) of the bytes of such a file."""
    header, start = _header(data)
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] not in _DTYPES:
            raise _C.NotSupportedError(f"tensor '{name}' has the dtype {entry['dtype']}, which is not supported")
        begin, end = entry["data_offsets"]
        t = _C._from_bytes(data, tuple(entry["shape"]), _C._dtypes[_DTYPES[entry["dtype"]]], start + begin)
        if t.nbytes != end - begin:
            raise _C.DataError(f"tensor '{name}' of {entry['shape']} does not fill its {end - begin} bytes")
        tensors[name] = t
    return tensors, metadata
