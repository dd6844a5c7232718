"""MLX arrays: dtypes, making and converting, the way to the host and back, evaluation and what may go wrong there."""

from __future__ import annotations

import os
import weakref
from math import prod
from typing import Any

import mlx.core as mx
import numpy as np

from .. import dtypes as dt
from ..array_api import ArrayAPI
from ..base import Array, Dims, Shape
from ..dtypes import dtype
from ..numpy import Numpy

NATIVE: dict[dtype, Any] = {
    d: mx.bool_ if d is dt.bool_ else getattr(mx, d.name) for d in dt.ALL if d is not dt.complex128
}
LARGEST = 2**31 - 1  # the longest dimension that MLX can express
MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

_forked = False


def _after_fork() -> None:
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)


def fits(r: Array) -> Array:
    """`r`, which is not computed yet; MemoryError if it cannot be: MLX would kill the process."""
    if r.nbytes > MEMORY:
        raise MemoryError(
            f"an MLX array of shape {r.shape} and dtype {r.dtype} needs {r.nbytes} bytes; there are {MEMORY}"
        )
    return r


def from_parts(real: Array, imag: Array) -> Array:
    """The complex array with these float32 parts."""
    return mx.squeeze(mx.view(mx.stack([real, imag], -1), mx.complex64), -1)


class Failed:
    """The arrays whose evaluation failed: MLX returns stale memory when asked for them again."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[weakref.ref[Any], str]] = {}

    def add(self, a: Array, error: str) -> None:
        key = id(a)
        self._arrays[key] = (weakref.ref(a, lambda _: self._arrays.pop(key, None)), error)

    def check(self, arrays: Any) -> None:
        """Raise RuntimeError if one of the arrays failed before."""
        if self._arrays:
            for a in arrays:
                if id(a) in self._arrays:
                    raise RuntimeError(
                        f"this MLX array was never computed; its evaluation failed: {self._arrays[id(a)][1]}"
                    )


class Ranges:
    """Between which bounds the elements of index arrays lie, for as long as those live."""

    def __init__(self) -> None:
        self._arrays: dict[int, tuple[weakref.ref[Any], int, int]] = {}

    def add(self, index: Array, low: int, high: int) -> Array:
        """Record it, and return the array."""
        key = id(index)
        self._arrays[key] = (weakref.ref(index, lambda _: self._arrays.pop(key, None)), low, high)
        return index

    def get(self, index: Array) -> tuple[int, int] | None:
        found = self._arrays.get(id(index))
        return found and found[1:]


class Arrays(ArrayAPI):
    """What every part of the MLX backend stands on."""

    aliasing = False
    guards = True
    on_cpu = True

    def __init__(self, xp: Any, array: type) -> None:
        self.native = dict(NATIVE)
        self.framework_dtype = {n: d for d, n in self.native.items()}
        self.failed = Failed()
        self.ranges = Ranges()
        self.host = Numpy()
        self.xp, self.array = xp, array

    # ---------------------------------------------------------------- evaluation
    def evaluate(self, arrays: list[Array]) -> None:
        """Compute pending values, all in one run. Arrays that go to another thread must have been evaluated.

        A failure is raised here, once; the array is then refused for good. What else depends on it must not be
        evaluated: MLX may wait for ever. So primitives whose data can be wrong (linear algebra) run on the host,
        where they raise at once.
        """
        if _forked:
            raise RuntimeError("MLX does not work in a forked process; start workers with the 'spawn' method")
        self.failed.check(arrays)
        try:
            mx.eval(arrays)
        except RuntimeError as error:
            if "There is no Stream" in str(error):
                raise RuntimeError(
                    "these MLX values were begun in another thread, which alone can compute them; evaluate arrays "
                    "there before handing them over"
                ) from error
            for a in arrays:
                self.failed.add(a, str(error))
            raise

    def _view(self, a: Array) -> Any:
        """A NumPy array on the memory of `a`, for reading only; waits for its value."""
        self.evaluate([a])  # np.asarray would wait too, but may miss a failure
        if a.dtype == mx.bfloat16:
            import ml_dtypes

            bits = a.view(mx.uint16)
            mx.eval(bits)
            v = np.asarray(bits).view(ml_dtypes.bfloat16)
        else:
            v = np.asarray(a)
        v.flags.writeable = False
        return v

    def _on_host(self, name: str, *args: Any) -> Any:
        """The NumPy backend's primitive `name` on these arguments. Waits for the arrays among them."""
        result = getattr(self.host, name)(*[self._view(a) if type(a) is mx.array else a for a in args])
        return tuple(map(self.asarray, result)) if type(result) is tuple else self.asarray(result)

    # ---------------------------------------------------------------- making and converting
    def dtype_of(self, a: Array) -> dtype:
        return self.framework_dtype[a.dtype]

    like = dtype_of

    def _native_dtype(self, d: dtype) -> Any:
        """MLX's dtype; TypeError for one that this device lacks."""
        try:
            return self.native[d]
        except KeyError:
            instead = "complex64" if d is dt.complex128 else "float32"
            raise TypeError(f"MLX on {self.name} has no {d.name}; use {instead}, or device 'cpu'") from None

    def asarray(self, a: Any, dtype: dtype | None = None) -> Array:
        """A native array; NumPy's memory is copied. TypeError for dtypes that MLX lacks."""
        if type(a) is mx.array:
            return a if dtype is None else self.astype(a, dtype)
        a = np.asarray(a)
        here = self.host.dtype_of(a)
        if dtype is not None and dtype is not here:
            a, here = self.host.astype(a, dtype), dtype
        native = self._native_dtype(here)
        if not a.dtype.isnative:
            a = a.astype(a.dtype.newbyteorder("="))
        if not a.flags.c_contiguous:
            a = a.copy(order="C")  # negative strides are refused
        if here is dt.bfloat16:
            return mx.array(a.view(np.uint16)).view(mx.bfloat16)
        return mx.array(a, native)

    def to_numpy(self, a: Array) -> Any:
        """A copy on the host, which the caller may write."""
        return self._view(a).copy()

    def astype(self, x: Array, dtype: dtype) -> Array:
        native = self._native_dtype(dtype)
        if x.dtype == native:
            return x
        if dtype is dt.bool_:
            return mx.not_equal(x, mx.array(0, x.dtype))
        if x.dtype == mx.complex64 and not dtype.is_complex:
            x = mx.real(x)
        return x.astype(native)

    def clone(self, x: Array) -> Array:
        """`x` itself, as another object: arrays are immutable."""
        return mx.array(x)

    def full(self, shape: Shape, value: Any, dtype: dtype) -> Array:
        native = self._native_dtype(dtype)
        if type(value) is int and value > 2**63 - 1:
            value = np.array(value, np.uint64)
        self._sized(shape, native.size)
        return mx.full(shape, mx.array(value, native), native)

    def _sized(self, shape: Shape, itemsize: int) -> None:
        """MemoryError for an array that is too large, before MLX hears of it."""
        if prod(shape) * itemsize > MEMORY:
            raise MemoryError(
                f"an MLX array of shape {tuple(shape)} needs {prod(shape) * itemsize} bytes; there are {MEMORY}"
            )

    def arange(self, start: Any, stop: Any, step: Any, dtype: dtype) -> Array:
        """MLX computes integers in double precision, so the host counts."""
        if not step:
            raise ValueError("arange: step must be nonzero")
        native = self._native_dtype(dtype)
        self._sized((max(0, int(-((start - stop) // step))),), native.size)
        return self.asarray(self.host.arange(start, stop, step, dtype))

    # ---------------------------------------------------------------- shape
    def reshape(self, x: Array, shape: Shape) -> Array:
        return mx.reshape(x, shape)

    def permute(self, x: Array, dims: Dims) -> Array:
        return mx.transpose(x, dims)

    def expand(self, x: Array, shape: Shape) -> Array:
        return mx.broadcast_to(x, shape)

    def unsqueeze(self, x: Array, dims: Dims) -> Array:
        return mx.expand_dims(x, dims)

    def squeeze(self, x: Array, dims: Dims) -> Array:
        return mx.squeeze(x, dims)

    def mT(self, x: Array) -> Array:
        return mx.swapaxes(x, -1, -2)

    def flip(self, x: Array, dims: Dims) -> Array:
        return mx.flip(x, dims) if dims else x

    def cat(self, arrays: list[Array], dim: int) -> Array:
        return mx.concatenate(arrays, dim)

    def diagonal(self, x: Array, offset: int, dim1: int, dim2: int) -> Array:
        return mx.diagonal(x, offset, dim1, dim2)

    def tril(self, x: Array, diagonal: int) -> Array:
        return mx.tril(x, diagonal)

    def triu(self, x: Array, diagonal: int) -> Array:
        return mx.triu(x, diagonal)

    def contiguous(self, x: Array, order: tuple[int, ...]) -> Array:
        """Geometry is the framework's: an array has no strides of its own here."""
        return mx.array(x)

    def view_dtype(self, x: Array, dtype: dtype) -> Array:
        """The same bits as elements of another dtype; the last dimension changes with their size."""
        return mx.view(x, self._native_dtype(dtype))

    def complex(self, real: Array, imag: Array) -> Array:
        """complex64 from its parts; there is no wider one."""
        return from_parts(*mx.broadcast_arrays(real.astype(mx.float32), imag.astype(mx.float32)))

    def view_as_real(self, x: Array) -> Array:
        """Real and imaginary part along a new last dimension."""
        return mx.view(mx.expand_dims(x, -1), mx.float32)

    def view_as_complex(self, x: Array) -> Array:
        """Undoes `view_as_real`."""
        return mx.squeeze(mx.view(x, mx.complex64), -1)
