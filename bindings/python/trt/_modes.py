"""Modes of the thread: recording of gradients, inference mode (each is a context manager and a decorator), and its cancel token."""

import functools
import inspect
import threading

from trt import _C


def is_grad_enabled() -> bool:
    """Whether operators on this thread record gradients."""
    return _C.trt_grad_mode() and not _C.trt_inference_mode()


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread."""
    return _C.trt_inference_mode()


class _Mode:
    def __call__(self, function):
        if inspect.isclass(function):
            raise TypeError("a mode decorates functions, not classes")
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return wrapped

    def _again(self):
        return type(self)()

    def _wrap_generator(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            sent, error = None, None
            try:
                while True:
                    with self._again():
                        try:
                            value = generator.throw(error) if error is not None else generator.send(sent)
                        except StopIteration as stop:
                            return stop.value
                    error = None
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as e:
                        error = e
            finally:
                generator.close()

        return wrapped


class _ConstantMode(_Mode):
    """A mode without arguments also decorates without brackets: @no_grad."""

    def __new__(cls, function=None):
        return super().__new__(cls) if function is None else cls()(function)

    def __init__(self, function=None):
        pass


class no_grad(_ConstantMode):
    """Records no gradients inside."""

    def __enter__(self):
        self._previous = _C.trt_set_grad_mode(False)

    def __exit__(self, *_):
        _C.trt_set_grad_mode(self._previous)


class enable_grad(_ConstantMode):
    """Records gradients inside, also within no_grad."""

    def __enter__(self):
        self._previous = _C.trt_set_grad_mode(True)

    def __exit__(self, *_):
        _C.trt_set_grad_mode(self._previous)


class set_grad_enabled(_Mode):
    """Switches recording at once, as a function; as a context manager until the block's end."""

    def __init__(self, mode: bool):
        self.mode = bool(mode)
        self._previous = _C.trt_set_grad_mode(self.mode)

    def __call__(self, function):
        _C.trt_set_grad_mode(self._previous)
        return super().__call__(function)

    def _again(self):
        return type(self)(self.mode)

    def __enter__(self):
        _C.trt_set_grad_mode(self.mode)

    def __exit__(self, *_):
        _C.trt_set_grad_mode(self._previous)


class inference_mode(_Mode):
    """Records nothing inside; tensors made there can never take part in recording, which saves bookkeeping."""

    def __new__(cls, mode=True):
        return super().__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode=True):
        self.mode = mode

    def _again(self):
        return type(self)(self.mode)

    def __enter__(self):
        self._previous = _C.trt_set_inference_mode(self.mode)

    def __exit__(self, *_):
        _C.trt_set_inference_mode(self._previous)


_blocks = threading.local()  # of a thread: the tokens whose blocks are open, and what was in force around them


class CancelToken:
    """Asks threads that compute to give up. A thread in whose `with` block a cancelled token stands gets a CancelledError at the next point where nothing is half
    done: before an operator, between the nodes of a backward pass (which has changed no gradient then), while it waits for a batch (which comes next time).

        token = trt.CancelToken()
        def work():
            with token:
                train()
        threading.Thread(target=work).start()
        token.cancel()

    Blocks nest; the innermost, of those that are open in the thread, counts. One token may stand in blocks of any number of threads. Blocks that end in another
    order than that of their beginnings (as those of generators may) leave in force what is still open.
    """

    def __init__(self):
        self._handle = _C.trt_cancel_token_create()

    def cancel(self) -> None:
        """Cancels, for ever. Any thread may do it."""
        _C.trt_cancel_token_cancel(self)

    def is_cancelled(self) -> bool:
        """Whether cancel was called."""
        return _C.trt_cancel_token_is_cancelled(self)

    def __enter__(self):
        # The library only borrows tokens: the list keeps those of open blocks.
        blocks = _blocks.__dict__.setdefault("tokens", [])
        before = _C.trt_cancel_token_set_current(self)
        if not blocks:
            _blocks.outside = before
        blocks.append(self)
        return self

    def __exit__(self, *_):
        blocks = _blocks.__dict__.get("tokens", [])
        if self not in blocks:
            raise RuntimeError("CancelToken: no block of this token is open in this thread")
        del blocks[len(blocks) - 1 - blocks[::-1].index(self)]
        _C.trt_cancel_token_set_current(blocks[-1] if blocks else _blocks.outside)
