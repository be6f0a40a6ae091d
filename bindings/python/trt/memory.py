"""The allocator: statistics, limit, cache."""

from trt import _C

_FIELDS = ("allocated_current", "allocated_peak", "allocated_total", "freed_total", "reserved_current", "reserved_peak", "allocations", "segments",
           "out_of_memory_count", "limit")


def stats(device="cpu") -> dict:
    """Bytes held by tensors and taken from the system, and counts (the fields of trt_memory_stats)."""
    s = _C.new_trt_memory_stats()
    try:
        _C.trt_memory_stats_init(s)
        _C.trt_memory_get_stats(device, s)
        return {name: getattr(_C, f"trt_memory_stats_{name}_get")(s) for name in _FIELDS}
    finally:
        _C.delete_trt_memory_stats(s)


def allocated(device="cpu") -> int:
    """Bytes held by tensors."""
    return stats(device)["allocated_current"]


def reset_peak(device="cpu"):
    """Sets the peaks to the current values."""
    _C.trt_memory_reset_peak(device)


def empty_cache(device="cpu"):
    """Gives cached, unused memory back to the system."""
    _C.trt_memory_empty_cache(device)


def set_limit(bytes, device="cpu"):
    """Limits the memory taken from the system (None or 0: no limit); what exceeds it raises trt.OutOfMemoryError."""
    _C.trt_memory_set_limit(device, bytes or 0)
