"""What holds for the running thread: gradients on or off, and the stack of modes.

The fast path of an op reads one global list, `ACTIVE`: it is empty exactly when no thread has a mode pushed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .modes import Mode


class State(threading.local):
    """Per-thread settings; a new thread starts with gradients on and no mode."""

    def __init__(self) -> None:
        self.grad = True
        self.inference = False
        self.modes: list[Mode] = []


STATE = State()
ACTIVE: list[Any] = []  # one item per pushed mode of any thread; only its truth value is read
next_seq = count().__next__  # nodes are ordered by creation: a node's inputs have lower numbers


@contextmanager
def grad_enabled(flag: bool) -> Iterator[None]:
    """Run a block with gradients recorded or not."""
    before, STATE.grad = STATE.grad, flag
    try:
        yield
    finally:
        STATE.grad = before
