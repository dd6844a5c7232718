"""Views that NumPy makes by strides, and the writes that are their transposes: reads and writes by position here."""

from __future__ import annotations

from typing import Any

import mlx.core as mx

from ..base import Array, Geometry, Shape
from .storage import Storage


class Views(Storage):
    """Views by strides, windows and diagonals. IndexError where one would reach beyond its array."""

    def strided(self, x: Array, size: Shape, stride: tuple[int, ...], shift: int, geometry: Any) -> Array:
        """Elements of `x` in row-major order; `geometry` is of use only to backends with memory of their own."""
        return self.strided_read(mx.reshape(x, (-1,)), size, stride, shift)

    def strided_read(self, x: Array, size: Shape, stride: tuple[int, ...], offset: int) -> Array:
        """The elements of the flat array `x` at these strides."""
        return self.read_at(x, Geometry(size, stride, offset))

    def strided_put(self, g: Array, count: int, stride: tuple[int, ...], offset: int) -> Array:
        """`count` zeros, with the elements of `g` added where `strided_read` finds them."""
        flat = mx.zeros((count,), g.dtype)
        if not g.size:
            return flat
        at = self._places(flat, Geometry(g.shape, stride, offset))
        return self._add_at(flat, (at,), mx.reshape(g, (-1,)))

    def windows(self, x: Array, dim: int, size: int, step: int) -> Array:
        """Slices of `size` elements along `dim`, every `step`, the elements of each in a new last dimension."""
        count = (x.shape[dim] - size) // step + 1
        at = mx.expand_dims(mx.arange(count) * step, 1) + mx.arange(size)
        return mx.moveaxis(mx.take(x, at, axis=dim), dim + 1, -1)

    def windows_put(self, g: Array, dim: int, length: int, step: int) -> Array:
        """The transpose of `windows`: elements that several windows share are added up."""
        r = mx.zeros((*g.shape[:dim], length, *g.shape[dim + 1 : -1]), g.dtype)
        lead, count = (slice(None),) * dim, g.shape[dim]
        for k in range(g.shape[-1] if g.size else 0):
            key = (*lead, slice(k, k + step * (count - 1) + 1, step))
            r[key] = r[key] + g[..., k]
        return r

    def diagonal_put(self, g: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
        """Zeros of that shape with `g` on a diagonal."""
        order = [*[d for d in range(len(shape)) if d not in (dim1, dim2)], dim1, dim2]
        n, down, right = g.shape[-1], max(-offset, 0), max(offset, 0)
        if down + n > shape[dim1] or right + n > shape[dim2]:
            raise IndexError(f"diagonal {offset} of {shape} is shorter than {n}")
        along = mx.arange(n)
        r = self._put_at(mx.zeros([shape[d] for d in order], g.dtype), (..., along + down, along + right), g)
        return mx.transpose(r, sorted(range(len(shape)), key=order.__getitem__))
