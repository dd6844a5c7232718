"""What holds for the running thread: gradients on or off, the stack of modes, hooks on saved tensors.

The fast path of an op reads one global list, `ACTIVE`: it is empty exactly when no thread has anything pushed that must
see ops.
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
        self.saved_hooks: list[tuple[Any, Any]] = []  # (pack, unpack), the innermost last
        self.saved_hooks_refused: str | None = None  # why none may be pushed


class Anomaly:
    """Whether nodes remember the line that made them, and whether backward passes look for nan. For all threads."""

    enabled = False
    check_nan = True


STATE = State()
ANOMALY = Anomaly()
ACTIVE: list[
    Any
] = []  # one item per pushed mode of any thread, and per reason to take the slow path; only its truth value is read
next_seq = count().__next__  # nodes are ordered by creation: a node's inputs have lower numbers


@contextmanager
def grad_enabled(flag: bool) -> Iterator[None]:
    """Run a block with gradients recorded or not."""
    before, STATE.grad = STATE.grad, flag
    try:
        yield
    finally:
        STATE.grad = before
