"""Views by strides, and the writes that are their transposes, for NumPy and CuPy."""

from __future__ import annotations

from typing import Any

from .array_api import ArrayAPI
from .base import Array, Geometry, Shape
from .dtypes import dtype


class Views(ArrayAPI):
    """Primitives that read and write elements by where they lie in memory. `np` is the module."""

    np: Any

    # ---------------------------------------------------------------- by strides
    def _strided(self, x: Array, shape: Shape, strides: tuple[int, ...], shift: int = 0) -> Array:
        """A view by byte strides, `shift` bytes from x's own first element."""
        owner = x
        while isinstance(owner.base, self.array):
            owner = owner.base
        start = shift if owner is x else shift + self._address(x) - self._address(owner)
        if not owner.flags.forc:  # dense all the same, or foreign memory
            flat = owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d])).reshape(-1)
            if not self.np.may_share_memory(flat, owner):
                return self.np.lib.stride_tricks.as_strided(x, shape, strides)
            owner = flat
        return self.np.ndarray(shape, x.dtype, owner, start, strides)

    @staticmethod
    def _address(x: Array) -> int:
        return x.__array_interface__["data"][0]  # type: ignore[no-any-return]

    def strided(self, x: Array, size: Shape, stride: tuple[int, ...], shift: int, geometry: Any) -> Array:
        """A view of x by strides in elements, which begins `shift` elements from its first one in memory."""
        item = x.dtype.itemsize
        return self._strided(x, size, tuple([s * item for s in stride]), shift * item)

    def strided_read(self, x: Array, size: Shape, stride: tuple[int, ...], offset: int) -> Array:
        """A copy of the elements of x, in row-major order, at these strides."""
        return self._at(self.np.ascontiguousarray(x), Geometry(size, stride, offset)).copy()

    def strided_put(self, g: Array, count: int, stride: tuple[int, ...], offset: int) -> Array:
        """`count` zeros, with the elements of `g` added where `strided_read` finds them."""
        flat = self.np.zeros(count, g.dtype)
        at = self._positions(flat, Geometry(g.shape, stride, offset))
        self._add_at(flat, (self.np.broadcast_to(at, g.shape),), g)
        return flat

    def _at(self, flat: Array, g: Geometry) -> Array:
        size = flat.itemsize
        if 0 in g.shape:  # its offset may lie behind the last element
            return self.np.empty(g.shape, flat.dtype)
        return self.np.ndarray(g.shape, flat.dtype, flat, g.offset * size, tuple([s * size for s in g.strides]))

    def _add_at(self, r: Array, at: tuple[Any, ...], src: Array) -> None:
        self.np.add.at(r, at, src)

    # ---------------------------------------------------------------- sliding windows along one dimension
    def windows(self, x: Array, dim: int, size: int, step: int) -> Array:
        """Slices of `size` elements along `dim`, every `step`, the elements of each in a new last dimension."""
        count = (x.shape[dim] - size) // step + 1
        shape = (*x.shape[:dim], count, *x.shape[dim + 1 :], size)
        strides = (*x.strides[:dim], x.strides[dim] * step, *x.strides[dim + 1 :], x.strides[dim])
        return self._strided(x, shape, strides)

    def windows_put(self, g: Array, dim: int, length: int, step: int) -> Array:
        """The transpose of `windows`: elements that several windows share are added up."""
        r = self.np.zeros((*g.shape[:dim], length, *g.shape[dim + 1 : -1]), g.dtype)
        lead, count = (slice(None),) * dim, g.shape[dim]
        for k in range(g.shape[-1] if count else 0):
            r[(*lead, slice(k, k + step * (count - 1) + 1, step))] += g[..., k]
        return r

    # ---------------------------------------------------------------- diagonals
    def diagonal(self, x: Array, offset: int, dim1: int, dim2: int) -> Array:
        return self._diagonal(x, offset, dim1, dim2)

    def diagonal_put(self, g: Array, shape: Shape, offset: int, dim1: int, dim2: int) -> Array:
        """Zeros of that shape with `g` on a diagonal."""
        r = self.np.zeros(shape, g.dtype)
        self._diagonal(r, offset, dim1, dim2)[...] = g
        return r

    @staticmethod
    def _diagonal(x: Array, offset: int, dim1: int, dim2: int) -> Array:
        view = x.diagonal(offset, dim1, dim2)
        if x.flags.writeable and not view.flags.writeable:
            view.flags.writeable = True
        return view

    # ---------------------------------------------------------------- elements read as other numbers
    def view_dtype(self, x: Array, dtype: dtype) -> Array:
        """The same bits as elements of another dtype; the last dimension changes with their size."""
        return x.view(self.native[dtype])

    def view_as_real(self, x: Array) -> Array:
        """Real and imaginary part along a new last dimension."""
        x = self.np.asarray(x)
        size = x.real.dtype.itemsize
        return self._strided(x.real, (*x.shape, 2), (*x.strides, size))

    def view_as_complex(self, x: Array) -> Array:
        """Undoes `view_as_real`."""
        whole = self.np.dtype("complex64" if x.dtype.itemsize == 4 else "complex128")
        if x.strides[-1] != x.itemsize:
            x = self.np.ascontiguousarray(x)
        return x.view(whole)[..., 0]

    def complex(self, real: Array, imag: Array) -> Array:
        """The complex array with these parts."""
        shape = self.np.broadcast_shapes(real.shape, imag.shape)
        r = self.np.empty(shape, self.np.result_type(real.dtype, self.np.complex64))
        r.real, r.imag = real, imag
        return r

    def angle(self, x: Array) -> Array:
        if x.dtype.kind == "c":
            return self.np.arctan2(x.imag, x.real)
        turned = self.np.where(x < 0, 3.141592653589793, 0.0)
        return self.np.where(x != x, x, turned).astype(x.dtype) if x.dtype.kind == "f" else turned

    # ---------------------------------------------------------------- order in memory
    def contiguous(self, x: Array, order: tuple[int, ...]) -> Array:
        """A copy whose dimensions lie in memory in that order."""
        back = sorted(range(x.ndim), key=order.__getitem__)
        return self.np.array(x.transpose(order), order="C").transpose(back)
