"""Reads and writes by index arrays, shared by NumPy and CuPy: each read and its transposed write, and writes in place.

Elements are found by their row-major position where the array is contiguous: one index array instead of one a
dimension.
"""

from __future__ import annotations

from typing import Any

from .array_api import ArrayAPI
from .base import Array, Shape


class Indexing(ArrayAPI):
    """Index primitives written with the module `np`, which is NumPy or CuPy."""

    np: Any
    _add_at: Any  # (array, key, values): array[key] += values, twice for an element named twice

    # ---------------------------------------------------------------- slices along a dimension
    def index_select(self, x: Array, dim: int, index: Array) -> Array:
        return x.take(index, dim)

    def index_add(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        r = self.np.array(x, order="C")
        self._add_rows(r, dim, index, src)
        return r

    def index_copy(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        r = self.np.array(x, order="C")
        r[(*[slice(None)] * dim, index)] = src
        return r

    def _add_rows(self, r: Array, dim: int, index: Array, src: Array) -> None:
        self._add_at(r, (*[slice(None)] * dim, index), src)

    # ---------------------------------------------------------------- single elements
    def gather(self, x: Array, dim: int, index: Array) -> Array:
        index = self._checked(index, x.shape[dim] if x.ndim else 1)
        if not x.ndim:
            return self.np.broadcast_to(x, index.shape).copy()
        return x.reshape(-1).take(self._positions_of(x.shape, dim, index))

    def scatter(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        r = self.np.array(x, order="C")
        self.write_scattered(r, dim, index, src, False)
        return r

    def scatter_add(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        r = self.np.array(x, order="C")
        self.write_scattered(r, dim, index, src, True)
        return r

    def scatter_amax(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        return self._reduced_at("maximum", x, dim, index, src)

    def scatter_amin(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        return self._reduced_at("minimum", x, dim, index, src)

    def scatter_prod(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        return self._reduced_at("multiply", x, dim, index, src)

    def _reduced_at(self, how: str, x: Array, dim: int, index: Array, src: Array) -> Array:
        r = self.np.array(x, order="C")
        at = self._positions_of(r.shape, dim, self._checked(index, r.shape[dim]))
        getattr(self.np, how).at(r.reshape(-1), at.reshape(-1), src.reshape(-1))
        return r

    def _checked(self, index: Array, size: int) -> Array:
        """The index; IndexError for an element outside [0, size), on a library that looks at its own indices too."""
        # Read as unsigned, negative numbers are huge.
        if self.guards and index.size and self.np.maximum.reduce(index.view(self.np.uint64), None) >= size:
            raise IndexError(f"an index is out of bounds for a dimension of size {size}")
        return index

    def _positions_of(self, shape: Shape, dim: int, index: Array) -> Array:
        """The row-major positions, in an array of this shape, of the elements that `index` names along `dim`."""
        step, steps = 1, [1] * len(shape)
        for d in range(len(shape) - 1, -1, -1):
            steps[d] = step
            step *= shape[d]
        at = index if steps[dim] == 1 else index * steps[dim]
        for d, n in enumerate(index.shape):
            if d != dim and n > 1:
                own = self.np.arange(n) * steps[d]
                at = at + (own if d == index.ndim - 1 else own.reshape((n, *[1] * (index.ndim - d - 1))))
        return at

    def _grid(self, index: Array, dim: int) -> tuple[Array, ...]:
        axes = [self.np.arange(n).reshape((n, *[1] * (index.ndim - d - 1))) for d, n in enumerate(index.shape)]
        axes[dim] = index
        return tuple(axes)

    # ---------------------------------------------------------------- what is not zero
    def nonzero(self, x: Array) -> Array:
        if not x.ndim:
            return self.np.zeros((int(x != 0), 0), self.np.int64)
        if x.ndim == 1 or x.size < 1024:
            return self.np.stack(self.np.nonzero(x), 1)
        # Twice as fast where many are not zero.
        return self.np.stack(self.np.unravel_index(self.positions(x), x.shape), 1)

    def positions(self, x: Array) -> Array:
        """The row-major positions of the elements that are not zero."""
        return self.np.nonzero(x.reshape(-1))[0]

    # ---------------------------------------------------------------- writes through a native view
    def write(self, array: Array, value: Array) -> None:
        array[...] = value

    def write_indexed(self, array: Array, key: tuple[Any, ...], value: Array, accumulate: bool) -> None:
        """array[key] = or += value; with `accumulate` an element named twice is added to twice."""
        if not accumulate:
            array[key] = value
        elif all([type(k) is slice for k in key[:-1]]) and key[-1].dtype.kind == "i":
            dim, index = len(key) - 1, key[-1]
            shape = array.shape[:dim] + index.shape + array.shape[dim + 1 :]
            self._add_rows(array, dim, index, value if value.shape == shape else self.np.broadcast_to(value, shape))
        else:
            self._add_at(array, key, value)

    def write_scattered(self, array: Array, dim: int, index: Array, src: Array, accumulate: bool) -> None:
        """The elements that `gather` reads = or += those of `src`, which is at least as large as the index."""
        if src.shape != index.shape:
            src = src[tuple(map(slice, index.shape))]
        if not array.ndim:
            array, index, src = array.reshape(1), index.reshape(-1), src.reshape(-1)
        index = self._checked(index, array.shape[dim])
        if not array.flags.c_contiguous:
            at = self._grid(index, dim)
        else:
            at = (self._positions_of(array.shape, dim, index).reshape(-1),)
            array, src = array.reshape(-1), src.reshape(-1)
        if accumulate:
            self._add_at(array, at, src)
        else:
            array[at] = src

    def write_where(self, array: Array, mask: Array, value: Any) -> None:
        """The elements where the mask is True := a number or 0-d array; the mask broadcasts to the view."""
        if array.size >= 1024 and mask.shape == array.shape and array.flags.c_contiguous:
            array.reshape(-1)[self.positions(mask)] = value  # five times as fast as the loop with a condition
        else:
            self.np.copyto(array, value, where=mask)
