"""What NumPy and CuPy share: everything is written with the module passed in, so what runs on NumPy is what CUDA
runs.
"""

from __future__ import annotations

from typing import Any

from . import dtypes as dt
from .array_api import ELEMENTWISE
from .base import Array, Capabilities, Dims, Geometry, Shape
from .dtypes import dtype
from .numpy_like_convolution import Convolution
from .numpy_like_indexing import Indexing
from .numpy_like_order import Order
from .numpy_like_pooling import Pooling
from .numpy_like_special import Special
from .numpy_like_views import Views

# Names that the standard lacks, or that the two libraries spell in another way.
_RENAMED = {"round": "rint", "bitwise_not": "invert", "bitwise_left_shift": "left_shift",
            "bitwise_right_shift": "right_shift", "pow": "power", "atan2": "arctan2", "asin": "arcsin",
            "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
            "abs": "absolute", "conj": "conjugate"}  # fmt: skip
_MORE = {"exp2": "exp2", "fmod": "fmod", "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "fmax": "fmax",
         "fmin": "fmin", "gcd": "gcd", "lcm": "lcm", "deg2rad": "deg2rad",
         "rad2deg": "rad2deg", "ldexp": "ldexp", "float_power": "float_power"}  # fmt: skip


class _Native(dict[dtype, Any]):
    """Framework dtype -> the library's. bfloat16 comes from ml_dtypes, which is slow to import, so it waits."""

    def __init__(self, np: Any) -> None:
        super().__init__({d: np.dtype(d.name) for d in dt.ALL if d is not dt.bfloat16})

    def __missing__(self, key: dtype) -> Any:
        import ml_dtypes
        import numpy

        self[key] = numpy.dtype(ml_dtypes.bfloat16)
        return self[key]


class _Framework(dict[Any, dtype]):
    """The library's dtype -> framework dtype."""

    def __missing__(self, key: Any) -> dtype:
        if getattr(key, "name", None) == "bfloat16":
            self[key] = dt.bfloat16
            return dt.bfloat16
        if not key.isnative and key.newbyteorder("=") in self:
            return self[key.newbyteorder("=")]
        raise TypeError(f"can't convert np.ndarray of type {key}; the supported types are: {', '.join(dt.BY_NAME)}")


class NumpyLike(Convolution, Indexing, Pooling, Views, Order, Special):
    """Primitives on arrays of `np`, which is NumPy or CuPy."""

    capabilities = Capabilities(True, False, True, True, frozenset(dt.ALL))
    aliasing = True
    guards = True
    writes_out = True

    def __init__(self, np: Any) -> None:
        self.np = self.xp = np
        self.array = np.ndarray  # the exact type a result must have; NumPy's 0-d results are scalars and are wrapped
        self.native = _Native(np)
        self.framework_dtype = _Framework({n: d for d, n in self.native.items()})
        for ours, theirs in (ELEMENTWISE | _RENAMED | _MORE).items():
            if not hasattr(type(self), ours):
                setattr(self, ours, getattr(np, theirs))

    # ---------------------------------------------------------------- making and converting
    def dtype_of(self, a: Array) -> dtype:
        return self.framework_dtype[a.dtype]

    like = dtype_of

    def asarray(self, a: Any, dtype: dtype | None = None) -> Array:
        a = self.np.asarray(a)
        return a if dtype is None or a.dtype == self.native[dtype] else self.astype(a, dtype)

    def to_numpy(self, a: Array) -> Any:
        return a

    def astype(self, x: Array, dtype: dtype) -> Array:
        if x.dtype.kind == "c" and not dtype.is_complex:
            x = x.real if dtype is not dt.bool_ else x != 0
        return x.astype(self.native[dtype])

    def clone(self, x: Array) -> Array:
        return self.np.array(x, None, copy=True, order="C" if 0 in x.strides else "K")

    def full(self, shape: Shape, value: Any, dtype: dtype) -> Array:
        return self.np.full(shape, value, self.native[dtype])

    def arange(self, start: Any, stop: Any, step: Any, dtype: dtype) -> Array:
        return self.np.arange(start, stop, step, self.native[dtype])

    # ---------------------------------------------------------------- elementwise that the libraries lack
    def sigmoid(self, x: Array) -> Array:
        z = self.np.exp(-self.np.absolute(x)) if x.dtype.kind != "c" else None
        if z is None:
            return 1 / (1 + self.np.exp(-x))
        return self.np.where(x >= 0, 1, z) / (1 + z)

    def rsqrt(self, x: Array) -> Array:
        return 1 / self.np.sqrt(x)

    def relu(self, x: Array) -> Array:
        return self.np.maximum(x, 0)

    def heaviside(self, x: Array, y: Array) -> Array:
        """0 below zero and at nan (nan in NumPy), 1 above, y at zero."""
        return self.np.where(x == 0, y, (x > 0).astype(x.dtype))

    def sign(self, x: Array) -> Array:
        """0 for nan (nan in NumPy); a complex nan stays."""
        if x.dtype.kind == "b":
            return x.copy()
        r = self.np.sign(x)
        return r if x.dtype.kind in "iuc" else self.np.where(r == r, r, self.np.zeros((), x.dtype))

    sgn = sign

    # ---------------------------------------------------------------- shape
    def reshape(self, x: Array, shape: Shape) -> Array:
        return x.reshape(shape)

    def permute(self, x: Array, dims: Dims) -> Array:
        return x.transpose(dims)

    def expand(self, x: Array, shape: Shape) -> Array:
        if not x.flags.writeable:
            return self.np.broadcast_to(x, shape)
        lead = len(shape) - x.ndim
        if lead < 0 or any([n != m and n != 1 or m < 0 for n, m in zip(x.shape, shape[lead:])]):
            raise ValueError(f"cannot expand {x.shape} to {shape}")
        strides = (0,) * lead + tuple([0 if n != m else s for n, m, s in zip(x.shape, shape[lead:], x.strides)])
        return self._strided(x, shape, strides)

    def unsqueeze(self, x: Array, dims: Dims) -> Array:
        return self.np.expand_dims(x, dims)

    def squeeze(self, x: Array, dims: Dims) -> Array:
        return x.squeeze(dims) if x.ndim else x[...]

    def mT(self, x: Array) -> Array:
        return x.T if x.ndim == 2 else x.swapaxes(-1, -2)

    def flip(self, x: Array, dims: Dims) -> Array:
        return self.np.flip(x, dims).copy()

    def cat(self, arrays: list[Array], dim: int) -> Array:
        return self.np.concatenate(arrays, dim)

    def slice(self, x: Array, key: tuple[Any, ...]) -> Array:
        view = x[key]
        return view if type(view) is self.array else x[(*key, ...)]  # the dots make x[0] a 0-d view, not a scalar

    def slice_put(self, g: Array, key: tuple[Any, ...], shape: Shape) -> Array:
        r = self.np.zeros(shape, g.dtype)
        r[key] = g
        return r

    def real(self, x: Array) -> Array:
        return x.real

    def imag(self, x: Array) -> Array:
        return x.imag

    # ---------------------------------------------------------------- reductions: the ufunc's own is two frames faster
    def sum(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":  # half types add up in float32
            return self.np.add.reduce(x.astype(self.np.float32), dims, None, None, keepdim).astype(x.dtype)
        return self.np.add.reduce(x, dims, None, None, keepdim)

    def prod(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.np.multiply.reduce(x, dims, None, None, keepdim)

    def amax(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.np.maximum.reduce(x, dims, None, None, keepdim)

    def amin(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.np.minimum.reduce(x, dims, None, None, keepdim)

    def any(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.np.logical_or.reduce(x, dims, None, None, keepdim)

    def all(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.np.logical_and.reduce(x, dims, None, None, keepdim)

    def argmax(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return self.np.argmax(x, dim, keepdims=keepdim)

    def argmin(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return self.np.argmin(x, dim, keepdims=keepdim)

    def cumsum(self, x: Array, dim: int) -> Array:
        return self.np.add.accumulate(x, dim) if x.ndim else x.copy()

    def cumprod(self, x: Array, dim: int) -> Array:
        return self.np.multiply.accumulate(x, dim) if x.ndim else x.copy()

    def sort(self, x: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
        if not x.ndim:
            return x.copy(), self.np.zeros((), self.np.int64)
        if descending:  # a stable descending order is the reversed stable order of the reversed array
            x = self.np.flip(x, dim)
        order = self.np.argsort(x, dim, kind="stable")
        values = self.np.take_along_axis(x, order, dim)
        if descending:
            order, values = x.shape[dim] - 1 - self.np.flip(order, dim), self.np.flip(values, dim)
        return self.np.ascontiguousarray(values), self.np.ascontiguousarray(order)

    # ---------------------------------------------------------------- linear algebra
    def matmul(self, a: Array, b: Array) -> Array:
        return self.np.matmul(a, b)

    # ---------------------------------------------------------------- fused kernels
    kernels = frozenset({"softmax", "conv_bias"})

    def softmax(self, x: Array, dim: int) -> Array:
        if not x.ndim:
            return self.np.exp(x - x)
        e = x - self.amax(x, (dim,), True) if x.size else x.copy()
        self.np.exp(e, e)
        e /= self.np.add.reduce(e, dim, None, None, True)
        return e

    # ---------------------------------------------------------------- storage
    def read_at(self, flat: Array, geometry: Geometry) -> Array:
        return self.asarray(self._at(flat, geometry))

    def write_at(self, flat: Array, geometry: Geometry, value: Array) -> Array:
        flat = flat.copy()
        self._at(flat, geometry)[...] = value
        return flat
