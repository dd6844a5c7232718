"""Modes: everything but autograd that wants to see operations (forward AD levels, vmap, autocast, recording ...).

A mode exists only while pushed. It answers a call with a result, with NotImplemented (the mode below, or the array
library, is asked) or with DECOMPOSE ("mine, but I only know its parts": the op's formula runs on Tensors under the
whole stack). It runs with the stack cut below itself, so what it calls is seen by the modes beneath it alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .state import ACTIVE, STATE

if TYPE_CHECKING:
    from .tensor import Tensor

DECOMPOSE: Any = object()


class Mode:
    """A watcher of operations; push it with `with`."""

    def __enter__(self) -> Mode:
        STATE.modes.append(self)
        ACTIVE.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        popped = STATE.modes.pop()
        ACTIVE.pop()
        if popped is not self:
            STATE.modes.append(popped)
            ACTIVE.append(popped)
            raise RuntimeError(f"{type(self).__name__}: modes must be left in the reverse order they were entered")

    def handle(self, entry: Any, args: tuple[Any, ...]) -> Any:
        """The result of calling `entry` on `args`, NotImplemented, or DECOMPOSE."""
        return NotImplemented

    def wrote(self, x: Tensor, value: Tensor) -> None:
        """Told that `x` was overwritten in place by `value`."""


@contextmanager
def below(depth: int) -> Iterator[Mode]:
    """Cut this thread's stack below the mode at `depth` and hand that mode over; the stack is put back afterwards."""
    modes = STATE.modes
    cut = modes[depth:]
    del modes[depth:]
    for _ in cut:
        ACTIVE.pop()  # other threads push and pop meanwhile: only the number of items counts
    try:
        yield cut[0]
    finally:
        modes[depth:] = cut
        ACTIVE.extend(cut)
