"""Running extremes, order and search along a dimension, for NumPy and CuPy."""

from __future__ import annotations

from typing import Any

from .array_api import ArrayAPI
from .base import Array


class Order(ArrayAPI):
    """Primitives that compare elements along a dimension. `np` is the module."""

    np: Any

    # ---------------------------------------------------------------- running ones
    def cummax(self, x: Array, dim: int) -> tuple[Array, Array]:
        return self._running(self.np.maximum, x, dim)

    def cummin(self, x: Array, dim: int) -> tuple[Array, Array]:
        return self._running(self.np.minimum, x, dim)

    def _running(self, ufunc: Any, x: Array, dim: int) -> tuple[Array, Array]:
        """The extreme so far and the last place where it was met; every nan is met."""
        if not x.ndim:
            return x.copy(), self.np.zeros((), self.np.int64)
        values = self._accumulate(ufunc, x, dim)
        met = (x == values) | (x != x)
        at = self.np.arange(x.shape[dim]).reshape((-1, *[1] * (x.ndim - dim - 1)))
        return values, self._accumulate(self.np.maximum, self.np.where(met, at, -1), dim)

    def _accumulate(self, ufunc: Any, x: Array, dim: int) -> Array:
        return ufunc.accumulate(x, dim)

    def logcumsumexp(self, x: Array, dim: int) -> Array:
        if not x.ndim or not x.size:
            return x.copy()
        if x.dtype.kind != "c":
            return self._accumulate(self.np.logaddexp, x, dim)
        r = x.copy()
        rows = self.np.moveaxis(r, dim, 0)
        for i in range(1, len(rows)):
            a, b = rows[i - 1], rows[i]
            larger = self.np.where(a.real > b.real, a, b)
            smaller = self.np.where(a.real > b.real, b, a)
            rows[i] = larger + self.np.log1p(self.np.exp(smaller - larger))
        return r

    # ---------------------------------------------------------------- search
    def searchsorted(self, x: Array, values: Array, right: bool) -> Array:
        side = "right" if right else "left"
        if x.ndim == 1:
            return self.np.asarray(self.np.searchsorted(x, values, side))
        rows, wanted = x.reshape(-1, x.shape[-1]), values.reshape(-1, values.shape[-1])
        found = self.np.empty(wanted.shape, self.np.int64)
        for row, value, out in zip(rows, wanted, found):
            out[...] = self.np.searchsorted(row, value, side)
        return found.reshape(values.shape)
