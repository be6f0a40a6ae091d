"""Whether there are CUDA devices: the library has none yet."""


def is_available() -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0
