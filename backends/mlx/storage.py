"""Reads and writes of a view's elements in its storage's flat array, by geometry."""

from __future__ import annotations

import threading
import weakref
from math import gcd, prod
from typing import Any, NamedTuple

import mlx.core as mx

from ..base import Array, Geometry
from .indexing import Indexing


class Region(NamedTuple):
    """A geometry as a basic slice: `flat.reshape(shape)[key]`, whose dimension i is the view's dimension `order[i]`."""

    shape: tuple[int, ...]
    key: tuple[Any, ...]
    order: tuple[int, ...]


def region(size: int, g: Geometry) -> Region | None:
    """The geometry as a basic slice of the flat array reshaped, or None if it is no such thing.

    Dimensions are taken by falling stride. Each gets the largest pitch that divides its stride and the pitch outside
    of it, and must end before the outer one moves on.
    """
    order = sorted((d for d, n in enumerate(g.shape) if n > 1), key=lambda d: -g.strides[d])
    pitch, rest = size, g.offset
    shape: list[int] = []
    key: list[Any] = []
    for d in order:
        n, stride = g.shape[d], g.strides[d]
        if stride <= 0:
            return None
        inner = gcd(stride, pitch)
        step, length = stride // inner, pitch // inner
        start = rest // inner
        if start + (n - 1) * step >= length:
            return None
        shape.append(length)
        key.append(slice(start, start + (n - 1) * step + 1, step))
        pitch, rest = inner, rest % inner
    if pitch != 1 or not order:
        shape.append(pitch)
        key.append(rest)
    return Region(tuple(shape), tuple(key), tuple(order))


class Pending(threading.local):
    """The results of writes that this thread may still have to compute."""

    def __init__(self) -> None:
        self.arrays: list[weakref.ref[Any]] = []


class Storage(Indexing):
    """What stands in for writing through a view: arrays are values here.

    Sums that are only written to, a running mean for one, would grow a graph for ever. So every so many writes the
    living ones are computed.
    """

    writes_before_evaluation = 256

    def __init__(self, xp: Any, array: type) -> None:
        super().__init__(xp, array)
        self._pending = Pending()

    def _written(self, flat: Array) -> Array:
        arrays = self._pending.arrays
        arrays.append(weakref.ref(flat))
        if len(arrays) > self.writes_before_evaluation:
            self._pending.arrays = []
            self.evaluate([a for r in arrays if (a := r()) is not None])
        return flat

    def write(self, array: Array, value: Array) -> None:
        """Refused: MLX arrays are immutable. `write_at` gives the flat array with the elements replaced."""
        raise TypeError("MLX arrays are immutable; use write_at")

    def write_indexed(self, array: Array, key: tuple[Any, ...], value: Array, accumulate: bool) -> None:
        """Refused, as `write`."""
        self.write(array, value)

    def write_scattered(self, array: Array, dim: int, index: Array, src: Array, accumulate: bool) -> None:
        """Refused, as `write`."""
        self.write(array, src)

    def write_where(self, array: Array, mask: Array, value: Any) -> None:
        """Refused, as `write`."""
        self.write(array, value)

    def read_at(self, flat: Array, geometry: Geometry) -> Array:
        g = geometry
        if not prod(g.shape):
            return mx.zeros(g.shape, flat.dtype)
        self._inside(flat, g)
        r = region(flat.size, g)
        if r is None:
            return mx.as_strided(mx.contiguous(flat), g.shape, g.strides, g.offset)
        found = mx.reshape(flat, r.shape)[r.key]
        if r.order != tuple(sorted(r.order)):
            found = mx.transpose(found, sorted(range(len(r.order)), key=r.order.__getitem__))
        return mx.reshape(found, g.shape) if found.shape != g.shape else found

    def write_at(self, flat: Array, geometry: Geometry, value: Array) -> Array:
        g = geometry
        if not prod(g.shape):
            return flat
        self._inside(flat, g)
        value = mx.broadcast_to(value, g.shape)
        r = region(flat.size, g)
        if r is None:
            return self._written(self._put_at(flat, (self._places(flat, g),), mx.reshape(value, (-1,))))
        kept = mx.squeeze(value, tuple([d for d, n in enumerate(g.shape) if n == 1]))
        kept = mx.transpose(kept, [sorted(r.order).index(d) for d in r.order])
        if kept.size == flat.size:
            return self._written(mx.reshape(kept, flat.shape))
        whole = mx.reshape(flat, r.shape)
        whole[r.key] = kept
        return self._written(mx.reshape(whole, flat.shape))

    def _places(self, flat: Array, g: Geometry) -> Array:
        """The numbers of the elements that `g` names, in a vector."""
        self._inside(flat, g)
        return mx.reshape(mx.as_strided(mx.arange(flat.size), g.shape, g.strides, g.offset), (-1,))

    @staticmethod
    def _inside(flat: Array, g: Geometry) -> None:
        """MLX reads and writes foreign memory beyond the buffer."""
        spans = [(n - 1) * s for n, s in zip(g.shape, g.strides, strict=True)]
        low, high = g.offset + sum(min(s, 0) for s in spans), g.offset + sum(max(s, 0) for s in spans)
        if low < 0 or high >= flat.size:
            raise IndexError(f"geometry {g} reaches from {low} to {high}, outside a storage of {flat.size} elements")
