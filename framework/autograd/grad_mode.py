"""Gradients on or off: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`. Each holds for the running
thread.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from framework.core.state import ACTIVE, STATE
from framework.core.tensor import Tensor


class _Decorator:
    """A context manager that also decorates functions and generator functions (around each resume)."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exc: object) -> None:
        raise NotImplementedError

    def again(self) -> Any:
        """A fresh context of the same kind."""
        return type(self)()

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        if inspect.isclass(f):
            f.__init__ = self(f.__init__)  # type: ignore[misc]
            return f
        if inspect.isgeneratorfunction(f):

            @functools.wraps(f)
            def generator(*args: Any, **kwargs: Any) -> Any:
                made = f(*args, **kwargs)
                send: Callable[[], Any] = made.__next__
                while True:
                    try:
                        with self.again():
                            value = send()
                    except StopIteration as stop:
                        return stop.value
                    try:
                        answer = yield value
                        send = functools.partial(made.send, answer)
                    except GeneratorExit:
                        with self.again():
                            made.close()
                        raise
                    except BaseException as error:
                        send = functools.partial(made.throw, error)

            return generator

        @functools.wraps(f)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.again():
                return f(*args, **kwargs)

        return wrapped


class _GradMode(_Decorator):
    flag = True

    def __new__(cls, orig_func: Callable[..., Any] | None = None) -> Any:
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __enter__(self) -> None:
        self.before, STATE.grad = STATE.grad, self.flag

    def __exit__(self, *exc: object) -> None:
        STATE.grad = self.before


class no_grad(_GradMode):
    """A context, or a decorator, in which ops leave no graph."""

    flag = False


class enable_grad(_GradMode):
    """A context, or a decorator, in which ops leave a graph, also inside `no_grad`."""


class set_grad_enabled(_Decorator):
    """Turn gradients on or off: at once, until the end of the block if used with `with`."""

    def __init__(self, mode: bool) -> None:
        self.mode, self.before, STATE.grad = mode, STATE.grad, mode

    def again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        STATE.grad = self.before  # as a decorator it says nothing about now
        return super().__call__(f)

    def __enter__(self) -> None:
        STATE.grad = self.mode

    def __exit__(self, *exc: object) -> None:
        STATE.grad = self.before


class inference_mode(_Decorator):
    """A context, or a decorator, in which ops leave no graph and their results can never join one."""

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        self = object.__new__(cls)
        if callable(mode):
            self.mode = True
            return self(mode)
        self.mode = mode
        return self

    def again(self) -> Any:
        return type(self)(self.mode)

    def __enter__(self) -> None:
        self.before = (STATE.grad, STATE.inference)
        if self.mode:
            STATE.grad = False
            ACTIVE.append(self)  # ops take the slow path, which marks their results
        elif STATE.inference:
            STATE.grad = True
        STATE.inference = self.mode

    def __exit__(self, *exc: object) -> None:
        if self.mode:
            ACTIVE.pop()
        STATE.grad, STATE.inference = self.before


def is_grad_enabled() -> bool:
    """Whether ops leave a graph in this thread."""
    return STATE.grad


def is_inference(tensor: Tensor) -> bool:
    """Whether a tensor was made in inference mode."""
    return tensor.is_inference()


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return STATE.inference
