"""CuPy where it is not NumPy.

Seen in CuPy 14: only `add` and `multiply` reduce; an index out of range wraps silently (so `guards` is False, and
the framework looks at indices first); the result of a reduction is an array also in zero dimensions; flags know
nothing of writing; atomic addition lacks int64 and small integers; logical functions lack complex numbers, `sign` of
a complex number is the sign of its real part; shifts beyond the width are the processor's; bfloat16 can be stored
and cast, so everything else casts it first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import cupy
import cupyx
import numpy

from ..base import Array, Dims, Geometry, Shape
from ..dtypes import dtype
from ..numpy import Numpy
from ..numpy_like import NumpyLike

_HOST = Numpy()
_ATOMIC = ("float16", "float32", "float64", "int32", "uint32", "uint64")


class Cupy(NumpyLike):
    """Primitives on `cupy.ndarray`, on one device.

    On a machine with several, every primitive makes its device the current one; operators between arrays run on the
    device that is current, so code that writes them enters `self.device` first.
    """

    device_type = "cuda"
    capabilities = replace(NumpyLike.capabilities, guards_indices=False)
    guards = False
    conv_workspace = 1 << 28  # a GPU wants few, large calls
    pool_workspace = 1 << 40
    special_module = "cupyx.scipy.special"

    def __init__(self, index: int) -> None:
        super().__init__(cupy)
        self.name, self.device_index = f"cuda:{index}", index
        self.device: Any = cupy.cuda.Device(index)
        if cupy.cuda.runtime.getDeviceCount() > 1:
            for name in dir(self):
                f = getattr(self, name)
                if name[0] != "_" and callable(f) and not isinstance(f, type) and name not in ("np", "xp", "device"):
                    setattr(self, name, _on(self.device, f))

    # ---------------------------------------------------------------- making and converting
    def asarray(self, a: Any, dtype: dtype | None = None) -> Array:
        """A copy on the device of a NumPy array; a CuPy array is taken as it is."""
        if not isinstance(a, cupy.ndarray):
            a = numpy.asarray(a)
            self.framework_dtype[a.dtype]  # TypeError for strings, dates and records
            if not a.dtype.isnative:
                a = a.astype(a.dtype.newbyteorder("="))
        return super().asarray(a, dtype)

    def to_numpy(self, a: Array) -> Any:
        """A copy on the host; waits for it."""
        return cupy.asnumpy(a)

    # ---------------------------------------------------------------- elementwise
    def where(self, condition: Array, x: Array, y: Array) -> Array:
        """Moves bits, so bfloat16 goes as integers."""
        if getattr(x, "dtype", numpy.dtype(bool)).name != "bfloat16":
            return cupy.where(condition, x, y)
        return cupy.where(condition, x.view(numpy.uint16), y.view(numpy.uint16)).view(x.dtype)

    def sign(self, x: Array) -> Array:
        """0 for NaN; z / |z| for complex numbers."""
        if x.dtype.kind == "c":
            size = cupy.absolute(x)
            return x / cupy.where(size == 0, size.dtype.type(1), size)
        return cupy.where(cupy.isnan(x), x.dtype.type(0), cupy.sign(x)) if x.dtype.kind not in "biu" else cupy.sign(x)

    sgn = sign

    def logical_not(self, x: Array) -> Array:
        return cupy.logical_not(_truth(x))

    def logical_and(self, x: Array, y: Array) -> Array:
        return cupy.logical_and(_truth(x), _truth(y))

    def logical_or(self, x: Array, y: Array) -> Array:
        return cupy.logical_or(_truth(x), _truth(y))

    def logical_xor(self, x: Array, y: Array) -> Array:
        return cupy.logical_xor(_truth(x), _truth(y))

    def bitwise_left_shift(self, x: Array, y: Array) -> Array:
        """0 if the distance is negative or the width or more."""
        inside = self._inside(x, y)
        return cupy.where(inside, cupy.left_shift(x, y * inside), x.dtype.type(0))

    def bitwise_right_shift(self, x: Array, y: Array) -> Array:
        """The sign if the distance is negative or the width or more."""
        inside = self._inside(x, y)
        return cupy.where(inside, cupy.right_shift(x, y * inside), -(x < 0).astype(x.dtype))

    @staticmethod
    def _inside(x: Array, y: Array) -> Array:
        return cupy.logical_and(y >= 0, y < y.dtype.type(8 * x.dtype.itemsize))

    # ---------------------------------------------------------------- shape
    def expand(self, x: Array, shape: Shape) -> Array:
        return cupy.broadcast_to(x, shape)

    @staticmethod
    def _diagonal(x: Array, offset: int, dim1: int, dim2: int) -> Array:
        return x.diagonal(offset, dim1, dim2)

    # ---------------------------------------------------------------- reductions
    def amax(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return x.max(dims, None, keepdim)

    def amin(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return x.min(dims, None, keepdim)

    def any(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return x.any(dims, None, keepdim)

    def all(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return x.all(dims, None, keepdim)

    def _accumulate(self, ufunc: Any, x: Array, dim: int) -> Array:
        """By doubling: log2(n) steps of an associative function."""
        r = x.copy()
        rows, reach = cupy.moveaxis(r, dim, 0), 1
        while reach < len(rows):
            rows[reach:] = ufunc(rows[reach:], rows[:-reach])
            reach *= 2
        return r

    def polygamma(self, x: Array, n: int) -> Array:
        return super().polygamma(x, cupy.asarray(n, x.dtype))

    def softmax(self, x: Array, dim: int) -> Array:
        if not x.ndim or not x.size:
            return cupy.exp(x - x)
        e = cupy.exp(x - x.max(dim, None, True))
        e /= e.sum(dim, None, None, True)
        return e

    # ---------------------------------------------------------------- indexing
    def _add_at(self, r: Array, at: tuple[Any, ...], src: Array) -> None:
        """Atomic addition. In two's complement int64 adds as uint64 does; small integers add in int32 and wrap."""
        if r.dtype.kind == "c":
            self._add_at(r.real, at, src.real)
            self._add_at(r.imag, at, src.imag)
        elif r.dtype == numpy.int64:
            self._add_at(r.view(numpy.uint64), at, src.astype(numpy.uint64))
        elif r.dtype.name in _ATOMIC:
            cupyx.scatter_add(r, at, src)
        else:
            wide = numpy.float32 if r.dtype.name == "bfloat16" else numpy.int32
            total = r.astype(wide)
            cupyx.scatter_add(total, at, src.astype(wide))
            r[...] = total.astype(r.dtype)

    def _reduced_at(self, how: str, x: Array, dim: int, index: Array, src: Array) -> Array:
        """On the host: there are atomic maxima and products for few dtypes only."""
        host = self.to_numpy
        return self.asarray(_HOST._reduced_at(how, host(x), dim, host(index), host(src)))

    # ---------------------------------------------------------------- storage
    def _strided(self, x: Array, shape: Shape, strides: tuple[int, ...], shift: int = 0) -> Array:
        """A view by byte strides, `shift` bytes from x's own first element: a pointer carries the whole allocation."""
        return cupy.ndarray(shape, x.dtype, x.data + shift, strides)

    def _at(self, flat: Array, g: Geometry) -> Array:
        size = flat.itemsize
        return cupy.ndarray(g.shape, flat.dtype, flat.data + g.offset * size, tuple([s * size for s in g.strides]))


def _truth(x: Array) -> Array:
    return x != 0 if x.dtype.kind == "c" else x


def _on(device: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f, assigned=("__doc__",))
    def on_device(*args: Any) -> Any:
        with device:
            return f(*args)

    return on_device
