"""Levels: modes that wrap Tensors in Tensors (vmap, forward AD), and `fresh`, which makes a variable at the innermost
one.

A wrapper's payload is a Tensor whose own history is the tape outside the level; the wrapper's `node` is the tape inside
it. Edges join tensors of one level only. Wrappers are values: an in-place write gives them a new payload.
"""

from __future__ import annotations

import weakref
from typing import Any

from framework.core.graph import Leaf, Node
from framework.core.modes import DECOMPOSE, Mode
from framework.core.shape import Size, wrap_dim
from framework.core.state import STATE
from framework.core.storage import View, share
from framework.core.tensor import Tensor, arr

from .record import record, strip
from .registry import T
from .schema import SEQUENCES, Entry
from .slow import checked, compute_dtype, operands

new = object.__new__


class Wrapper(Tensor):
    """A Tensor whose payload `value` is a Tensor. `extra` belongs to the level: is the payload batched; its tangent."""

    __slots__ = ("extra", "level", "value")
    value: Tensor
    extra: Any

    @classmethod
    def of(cls, level: Level, value: Tensor, extra: Any, node: Node | None = None) -> Wrapper:
        """Wrap a payload at a level."""
        w = new(cls)
        w.array = w.storage = w._view = None
        w.level, w.value, w.extra, w.node = level, value, extra, node
        w.backend, w.dtype = value.backend, value.dtype
        return w

    def like(self, node: Node | None) -> Wrapper:
        """The same payload with another node."""
        return type(self).of(self.level, self.value, self.extra, node)

    def adopt(self, other: Wrapper) -> None:
        """Take over another wrapper's payload and node, as an in-place write does."""
        self.value, self.extra, self.node = other.value, other.extra, other.node

    @property
    def shape(self) -> Size:
        return self.value.shape

    def stride(self, dim: int | None = None) -> Any:
        strides = self.strides_shown()
        return strides if dim is None else strides[wrap_dim(dim, len(strides))]

    def strides_shown(self) -> tuple[int, ...]:
        """The strides of what the wrapper shows."""
        return self.value.stride()  # type: ignore[no-any-return]

    def storage_offset(self) -> int:
        return self.value.storage_offset()

    def detach(self) -> Tensor:
        """The same elements without history, inside this level and outside it."""
        return type(self).of(self.level, self.value.detach(), self.extra)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(level={STATE.modes.index(self.level) if self.level in STATE.modes else 'ended'}, value={self.value!r})"


class Level(Mode):
    """What every level does with a call: find its wrappers, decline what it cannot see into, compute on payloads, wrap,
    and record on the wrappers if they carry history of this level (that is how grad inside vmap keeps one gradient per
    example)."""

    def handle(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        mine = [self.owns(a) for a in args]
        if not (any(mine) or entry.random and self.takes_random(entry)):
            return NotImplemented
        if entry.composite:
            return NotImplemented  # nobody below can see into it either: its body runs under the whole stack
        if not (entry.opaque or entry.batch):
            return DECOMPOSE
        checked(entry, args)
        outs = self.compute(entry, args, mine)
        if entry.view:
            note_view(entry, args, outs[0])
        nums = operands(entry, args)
        compute = None if not nums or entry.view or entry.dtype is None else compute_dtype(entry, args, nums)
        return record(entry, args, tuple(outs), compute, self)

    def owns(self, a: Any) -> bool:
        """Whether an argument is, or contains, a wrapper of this level."""
        if type(a) is tuple:
            return any([isinstance(x, Wrapper) and x.level is self for x in a])
        return isinstance(a, Wrapper) and a.level is self

    def takes_random(self, entry: Entry) -> bool:
        """Whether the level wants random ops without wrapped operands too."""
        return False

    def read(self, x: Tensor) -> Tensor:
        """What stands for a wrapper whose values are read on the host."""
        return x.value  # type: ignore[attr-defined, no-any-return]

    def lift(self, x: Tensor) -> Wrapper:
        """A plain tensor as a wrapper of this level."""
        raise NotImplementedError

    def compute(self, entry: Entry, args: tuple[Any, ...], mine: list[bool]) -> list[Wrapper]:
        """The results of a call on wrappers, wrapped."""
        raise NotImplementedError


class _Values:
    """A wrapper's stand-in for storage: it lists the views of a base, which replay when the base gets a new payload."""

    version = 0
    inference = False
    written_at = None

    def __init__(self) -> None:
        self.views: list[weakref.ref[Tensor]] = []

    def add(self, t: Tensor) -> None:
        self.views.append(weakref.ref(t))


def note_view(e: Entry, args: tuple[Any, ...], out: Wrapper) -> None:
    """Remember that a wrapper is a view of another."""
    x = args[0]
    base, chain = (x._view.base, x._view.chain) if x._view is not None else (x, None)
    out._view = View(base, (chain, e, tuple(args[1:]), tuple(x.shape)), None)
    if base.storage is None:
        base.storage = _Values()
    out.storage = base.storage
    base.storage.add(out)


def innermost() -> Level | None:
    """The innermost level of this thread."""
    return next((m for m in reversed(STATE.modes) if isinstance(m, Level)), None)


def fresh(x: Tensor) -> Tensor:
    """An alias of x that is a variable at the innermost level, still linked to whatever history x has."""
    level = innermost()
    if level is not None and x.level is not level:
        x = level.lift(x)
    if x.node is not None:
        t: Tensor = T.alias(x)
        if x.level is None:  # on the same storage, so that a later write to x is noticed
            t, node = share(x, arr(x), None), t.node
            t.node = node
        return t
    x = strip(x)
    x.node = Leaf(x, x.level)
    return x


def map_tensors(f: Any, e: Entry, args: tuple[Any, ...]) -> list[Any]:
    """Arguments with `f` applied to those that are tensors by the schema, members of sequences included."""
    done = []
    for a, kind in zip(args, e.order, strict=True):
        if kind in SEQUENCES:
            done.append(tuple([f(x) if isinstance(x, Tensor) else x for x in a]))
        else:
            done.append(f(a) if isinstance(a, Tensor) and kind in ("Num", "Index") else a)
    return done


__all__ = ["Level", "Wrapper", "fresh", "innermost", "map_tensors", "note_view"]
