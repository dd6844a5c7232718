"""Reductions, scans and sorting.

MLX adds naively (the float32 sum of ten million tenths is 9% off), returns 0 for 2^31 terms or more, widens small
integers and indexes with uint32; results here have the dtype of the operand, indices int64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from ..base import Array, Dims
from .arrays import LARGEST, Arrays, from_parts

_HALF = (mx.float16, mx.bfloat16)
_NEUTRAL = {mx.prod: 1, mx.all: 1}  # 0 for the rest: of the greatest and least element nobody asks if there is none
_FEW = 64  # terms that are added as they are


class Reductions(Arrays):
    """Reductions over dimensions, running ones along a dimension, order."""

    def _reduce(self, f: Callable[..., Any], x: Array, dims: Dims | None, keepdim: bool) -> Array:
        """One dimension after the other where the terms are too many for MLX's counter.

        Over an array without elements MLX walks memory that is not there and may never come back.
        """
        if not x.size:
            reduced = range(x.ndim) if dims is None else dims
            sizes = [1 if d in reduced else n for d, n in enumerate(x.shape) if keepdim or d not in reduced]
            return mx.full(sizes, _NEUTRAL.get(f, 0)).astype(mx.bool_ if f in (mx.any, mx.all) else x.dtype)
        if x.size <= LARGEST:
            return f(x, dims, keepdims=keepdim)
        dims = tuple(range(x.ndim)) if dims is None else dims
        for d in dims:
            x = f(x, d, keepdims=True)
        return x if keepdim else mx.squeeze(x, dims)

    def sum(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        """In float64 on the CPU (float32 on Metal, which adds in a tree), rounded once."""
        dtype = x.dtype
        if dtype == mx.complex64 and self.on_cpu:
            return from_parts(*[self.sum(part(x), dims, keepdim) for part in (mx.real, mx.imag)])
        return self._reduce(mx.sum, self._wide(x), dims, keepdim).astype(dtype)

    def _wide(self, x: Array) -> Array:
        """Floating-point terms in the precision in which they are added."""
        if x.dtype == mx.float32 or x.dtype in _HALF:
            return x.astype(mx.float64) if self.on_cpu and x.size > _FEW else x.astype(mx.float32)
        return x

    def prod(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        wide = x.astype(mx.float32) if x.dtype in _HALF else x
        return self._reduce(mx.prod, wide, dims, keepdim).astype(x.dtype)

    def amax(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self._reduce(mx.max, _with_elements(x, dims), dims, keepdim)

    def amin(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self._reduce(mx.min, _with_elements(x, dims), dims, keepdim)

    def any(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self._reduce(mx.any, x, dims, keepdim)

    def all(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self._reduce(mx.all, x, dims, keepdim)

    def argmax(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return self._position(mx.argmax, x, dim, keepdim)

    def argmin(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return self._position(mx.argmin, x, dim, keepdim)

    def _position(self, f: Callable[..., Any], x: Array, dim: int | None, keepdim: bool) -> Array:
        """MLX refuses an array without elements even if the dimension has some."""
        if not x.ndim:
            return mx.array(0, mx.int64)
        if not x.size and dim is not None and x.shape[dim]:
            rest = x.shape[dim + 1 :]
            return mx.zeros((*x.shape[:dim], *[1] * keepdim, *rest), mx.int64)
        r = f(x, dim, keepdims=keepdim).astype(mx.int64)
        return self.ranges.add(r, 0, (x.size if dim is None else x.shape[dim]) - 1)

    def cumsum(self, x: Array, dim: int) -> Array:
        return self._scan(mx.cumsum, x, dim)

    def cumprod(self, x: Array, dim: int) -> Array:
        return self._scan(mx.cumprod, x, dim)

    def _scan(self, f: Callable[..., Any], x: Array, dim: int) -> Array:
        """float16 saturates in MLX; running sums are rounded once, as sums are."""
        return f(self._wide(x), axis=dim).astype(x.dtype) if x.ndim else x

    def sort(self, x: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
        """Always stable; NaN is the largest. A stable descending order is the reversed stable order of the reversed
        array.
        """
        if not x.ndim:
            return x, mx.array(0, mx.int64)
        if descending:
            x = mx.flip(x, dim)
        order = mx.argsort(x, dim).astype(mx.int64)
        values = mx.take_along_axis(x, order, dim)
        if descending:
            order, values = x.shape[dim] - 1 - mx.flip(order, dim), mx.flip(values, dim)
        return values, self.ranges.add(order, 0, x.shape[dim] - 1)

    def cummax(self, x: Array, dim: int) -> tuple[Array, Array]:
        return self._running(mx.cummax, x, dim)

    def cummin(self, x: Array, dim: int) -> tuple[Array, Array]:
        return self._running(mx.cummin, x, dim)

    def _running(self, f: Callable[..., Any], x: Array, dim: int) -> tuple[Array, Array]:
        """The extreme so far and the last place where it was met; every nan is met. Bools go through int8."""
        if not x.ndim or not x.size:
            return x, mx.zeros(x.shape, mx.int64)
        plain = x.astype(mx.int8) if x.dtype == mx.bool_ else x
        values = f(plain, axis=dim)
        at = mx.reshape(mx.arange(x.shape[dim]), (-1, *[1] * (x.ndim - dim - 1)))
        met = mx.logical_or(plain == values, plain != plain)
        last = mx.cummax(mx.where(met, at, mx.array(-1, at.dtype)), axis=dim)
        return values.astype(x.dtype), self.ranges.add(last.astype(mx.int64), 0, x.shape[dim] - 1)

    def logcumsumexp(self, x: Array, dim: int) -> Array:
        """MLX has one without this accuracy in float64, and none for complex numbers."""
        if x.dtype == mx.float32 and x.ndim and x.size:
            return mx.logcumsumexp(x, axis=dim)
        return self._on_host("logcumsumexp", x, dim)

    def searchsorted(self, x: Array, values: Array, right: bool) -> Array:
        """On the host: missing."""
        return self._on_host("searchsorted", x, values, right)


def _with_elements(x: Array, dims: Dims | None) -> Array:
    """x, if there is something to take an extreme of; ValueError else, as NumPy says it."""
    if 0 in (x.shape if dims is None else [x.shape[d] for d in dims]):
        raise ValueError(f"zero-size array to reduction operation which has no identity: shape {x.shape}, dims {dims}")
    return x
