"""Random streams."""

import operator
import secrets

from trt import _C


class Generator:
    """A random stream: Generator().manual_seed(1). Streams are the same for the same seed in every language and with any number of threads."""

    def __init__(self, device="cpu"):
        if _C.device(device).type != "cpu":
            raise RuntimeError(f"generators are on the CPU, not on {device}")
        self._handle = _C.trt_generator_create(secrets.randbits(63))

    def _state(self):
        return tuple(_C.trt_generator_get_state(self._handle))

    @property
    def device(self):
        return _C.device("cpu")

    def manual_seed(self, seed: int) -> "Generator":
        """Starts the stream of that seed; gives self."""
        _C.trt_generator_seed(self._handle, operator.index(seed) % 2**64)
        return self

    def seed(self) -> int:
        """Starts a stream that nobody can foretell; gives its seed."""
        self.manual_seed(secrets.randbits(63))
        return self.initial_seed()

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._state()[0]

    def get_offset(self) -> int:
        """The position in the stream."""
        return self._state()[1]

    def set_offset(self, offset: int) -> "Generator":
        """Goes to a position in the stream; gives self."""
        _C.trt_generator_set_state(self._handle, self.initial_seed(), offset)
        return self

    def get_state(self):
        """Seed and position, as a tensor of bytes."""
        seed, offset = self._state()
        data = seed.to_bytes(8, "little") + offset.to_bytes(8, "little")
        return _C._from_bytes(data, (16,), _C._dtypes["uint8"], 0)

    def set_state(self, state) -> "Generator":
        """Goes to a position of get_state(); gives self."""
        data = state._tobytes()
        if len(data) != 16:
            raise RuntimeError("the state of a generator has 16 bytes")
        _C.trt_generator_set_state(self._handle, int.from_bytes(data[:8], "little"), int.from_bytes(data[8:], "little"))
        return self

    def __repr__(self):
        return f"<trt.Generator seed={self.initial_seed()}>"


default_generator = Generator.__new__(Generator)
default_generator._handle = None


def manual_seed(seed: int) -> Generator:
    """Seeds the default generator, and gives it."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the default generator with a number that nobody can foretell, and gives that."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state."""
    return default_generator.get_state()


def set_rng_state(state):
    """Sets the default generator's state."""
    default_generator.set_state(state)
