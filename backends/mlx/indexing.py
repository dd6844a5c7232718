"""Reads and writes by index.

MLX reads and writes foreign memory for an index out of range and dies of a zero step, so every index is looked at
first. That needs its value: an index computed by pending operations is evaluated, the array it points into is not.
Ranges are remembered for as long as the index array lives; those of `argmax` and `sort` are known beforehand.
"""

from __future__ import annotations

from math import prod
from typing import Any

import mlx.core as mx

from ..base import Array, Shape
from .arrays import Arrays


class Indexing(Arrays):
    """Basic slices and integer index arrays. IndexError for an index out of range; negative ones count from the end,
    but for single elements (`gather`, `scatter` and their kin) they are out of range.
    """

    # ---------------------------------------------------------------- what indices are allowed
    def _checked(self, index: Array, size: int, negative: bool = True) -> Array:
        """`index` as non-negative numbers below `size`; IndexError if that cannot be, or for negative ones unless
        allowed.
        """
        if not index.size:
            return index
        found = self.ranges.get(index)
        if found is None:
            v = self._view(index)
            found = int(v.min()), int(v.max())
            self.ranges.add(index, *found)
        low, high = found
        if low < (-size if negative else 0) or high >= size:
            raise IndexError(f"index {high if high >= size else low} is out of bounds for dimension with size {size}")
        return mx.where(mx.less(index, 0), index + size, index) if low < 0 else index

    @staticmethod
    def _key(key: tuple[Any, ...], shape: Shape) -> tuple[Any, ...]:
        """A basic key that MLX can be trusted with: integers in range, steps that are not zero."""
        d, result = 0, []
        for k in key:
            if k is Ellipsis:
                d += len(shape) - sum([i is not None and i is not Ellipsis for i in key])
            elif isinstance(k, slice):
                if k.step == 0:
                    raise ValueError("slice step cannot be zero")
                d += 1
            elif k is not None:
                k = int(k)
                if not -shape[d] <= k < shape[d]:
                    raise IndexError(f"index {k} is out of bounds for dimension {d} with size {shape[d]}")
                d += 1
            result.append(k)
        return tuple(result)

    # ---------------------------------------------------------------- slices
    def slice(self, x: Array, key: tuple[Any, ...]) -> Array:
        return x[self._key(key, x.shape)]

    def slice_put(self, g: Array, key: tuple[Any, ...], shape: Shape) -> Array:
        r = mx.zeros(shape, g.dtype)
        r[self._key(key, shape)] = g
        return r

    # ---------------------------------------------------------------- index arrays
    def index_select(self, x: Array, dim: int, index: Array) -> Array:
        if not x.ndim:
            x = mx.reshape(x, (1,))
        return mx.take(x, self._checked(index, x.shape[dim]), axis=dim)

    def index_add(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        if not x.ndim:
            return mx.reshape(self.index_add(mx.reshape(x, (1,)), 0, index, src), ())
        at = (*[slice(None)] * dim, self._checked(index, x.shape[dim]))
        return self._add_at(x, at, src)

    def index_copy(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        """Of several sources for one place the last is kept on the CPU, any of them on Metal."""
        if not x.ndim:
            return mx.reshape(self.index_copy(mx.reshape(x, (1,)), 0, index, src), ())
        return self._put_at(x, (*[slice(None)] * dim, self._checked(index, x.shape[dim])), src)

    def gather(self, x: Array, dim: int, index: Array) -> Array:
        if not x.ndim:
            return mx.broadcast_to(x, self._checked(index, 1, False).shape)
        index = self._checked(index, x.shape[dim], False)
        return mx.take_along_axis(x[self._block(x, dim, index)], index, dim)

    def scatter(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        if not x.ndim:
            return mx.reshape(
                self.scatter(mx.reshape(x, (1,)), 0, mx.reshape(index, (-1,)), mx.reshape(src, (-1,))), ()
            )
        index = self._checked(index, x.shape[dim], False)
        return self._put_at(x, self._grid(index, dim), src[tuple(map(slice, index.shape))])

    def scatter_add(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        if not x.ndim:
            return mx.reshape(
                self.scatter_add(mx.reshape(x, (1,)), 0, mx.reshape(index, (-1,)), mx.reshape(src, (-1,))), ()
            )
        index = self._checked(index, x.shape[dim], False)
        return self._add_at(x, self._grid(index, dim), src[tuple(map(slice, index.shape))])

    @staticmethod
    def _block(x: Array, dim: int, index: Array) -> tuple[Any, ...]:
        """The part of x that an index array not so long in the other dimensions can reach."""
        return tuple([slice(None) if d == dim else slice(n) for d, n in enumerate(index.shape)])

    def _grid(self, index: Array, dim: int) -> tuple[Array, ...]:
        axes = [mx.reshape(mx.arange(n), (*[1] * d, n, *[1] * (index.ndim - d - 1))) for d, n in enumerate(index.shape)]
        axes[dim] = index
        return tuple(axes)

    def _put_at(self, x: Array, at: tuple[Any, ...], src: Array) -> Array:
        r = mx.array(x)
        if prod(src.shape):
            with self._scatters(x):
                r[at] = src
        return r

    def _add_at(self, x: Array, at: tuple[Any, ...], src: Array) -> Array:
        if not prod(src.shape):
            return x
        if x.dtype == mx.bool_:
            return mx.greater(self._add_at(x.astype(mx.int32), at, src.astype(mx.int32)), 0)
        with self._scatters(x):
            return x.at[at].add(src)

    def scatter_amax(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        return self._reduced_at("maximum", x, dim, index, src)

    def scatter_amin(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        return self._reduced_at("minimum", x, dim, index, src)

    def scatter_prod(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        return self._reduced_at("multiply", x, dim, index, src)

    def _reduced_at(self, how: str, x: Array, dim: int, index: Array, src: Array) -> Array:
        if not prod(src.shape):
            return x
        if x.dtype == mx.bool_:
            return self._reduced_at(how, x.astype(mx.int32), dim, index, src.astype(mx.int32)).astype(mx.bool_)
        at = self._grid(self._checked(index, x.shape[dim], False), dim)
        with self._scatters(x):
            return getattr(x.at[at], how)(src)

    def _scatters(self, x: Array) -> Any:
        """Metal does not scatter elements of 8 bytes; the CPU does, in the same memory."""
        return mx.stream(mx.cpu) if x.dtype.size == 8 and not self.on_cpu else _nothing

    def nonzero(self, x: Array) -> Array:
        """On the host: the size of the result depends on the values."""
        return self._on_host("nonzero", x)

    def positions(self, x: Array) -> Array:
        """On the host, as `nonzero`."""
        return self._on_host("positions", x)


class _Nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...


_nothing = _Nothing()
