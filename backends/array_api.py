"""Primitives on any namespace of the Python array-API standard: the default that a backend overrides where it differs.

Names and positional order on the left are the framework's op entries'; the standard's are on the right.
"""

from __future__ import annotations

from math import prod
from typing import Any

from . import dtypes as dt
from .base import Array, Capabilities, Dims, Geometry, Shape
from .dtypes import dtype

# primitive: the standard's function of the same operands
ELEMENTWISE = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "pow": "pow", "floor_divide": "floor_divide",
    "remainder": "remainder", "neg": "negative", "abs": "abs", "sign": "sign", "exp": "exp", "expm1": "expm1",
    "log": "log", "log1p": "log1p", "log2": "log2", "log10": "log10", "sqrt": "sqrt", "square": "square", "sin": "sin",
    "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan", "sinh": "sinh", "cosh": "cosh",
    "tanh": "tanh", "asinh": "asinh", "acosh": "acosh", "atanh": "atanh", "atan2": "atan2", "hypot": "hypot",
    "copysign": "copysign", "nextafter": "nextafter", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
    "round": "round", "maximum": "maximum", "minimum": "minimum", "eq": "equal", "ne": "not_equal", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "logical_not": "logical_not",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "bitwise_not": "bitwise_invert", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift", "isnan": "isnan", "isinf": "isinf", "isfinite": "isfinite",
    "signbit": "signbit", "where": "where", "real": "real", "imag": "imag", "conj": "conj", "reciprocal": "reciprocal",
}  # fmt: skip


class ArrayAPI:
    """Primitives written with the standard's names alone. `xp` is the namespace."""

    name = "array_api"
    device_type = "cpu"
    device_index: int | None = None
    kernels: frozenset[str] = frozenset()
    capabilities = Capabilities(False, False, False, False, frozenset(dt.ALL) - {dt.bfloat16, dt.float16})
    aliasing = False
    guards = False  # capabilities.guards_indices, writes_out: read on every call
    writes_out = False

    def __init__(self, xp: Any, array: type) -> None:
        self.xp, self.array = xp, array
        self.native: dict[dtype, Any] = {d: getattr(xp, "bool" if d is dt.bool_ else d.name) for d in dt.ALL
                                         if hasattr(xp, "bool" if d is dt.bool_ else d.name)}  # fmt: skip
        self.framework_dtype: dict[Any, dtype] = {xp.empty((0,), dtype=n).dtype: d for d, n in self.native.items()}
        for ours, theirs in ELEMENTWISE.items():
            if hasattr(xp, theirs) and not hasattr(type(self), ours):
                setattr(self, ours, getattr(xp, theirs))

    # ---------------------------------------------------------------- making and converting
    def dtype_of(self, a: Array) -> dtype:
        return self.framework_dtype[a.dtype]

    like = dtype_of

    def asarray(self, a: Any, dtype: dtype | None = None) -> Array:
        return self.xp.asarray(a) if dtype is None else self.xp.asarray(a, dtype=self.native[dtype])

    def to_numpy(self, a: Array) -> Any:
        import numpy as np

        return np.asarray(a)

    def astype(self, x: Array, dtype: dtype) -> Array:
        return self.xp.astype(x, self.native[dtype], copy=False)

    def clone(self, x: Array) -> Array:
        return self.xp.asarray(x, copy=True)

    def full(self, shape: Shape, value: Any, dtype: dtype) -> Array:
        return self.xp.full(shape, value, dtype=self.native[dtype])

    def arange(self, start: Any, stop: Any, step: Any, dtype: dtype) -> Array:
        return self.xp.arange(start, stop, step, dtype=self.native[dtype])

    # ---------------------------------------------------------------- elementwise
    def sign(self, x: Array) -> Array:
        """0 for nan, which the standard leaves nan; a complex nan stays."""
        r = self.xp.sign(x)
        return self.xp.where(r == r, r, self.xp.zeros_like(r)) if self.dtype_of(x).is_floating_point else r

    # ---------------------------------------------------------------- shape
    def reshape(self, x: Array, shape: Shape) -> Array:
        return self.xp.reshape(x, shape)

    def permute(self, x: Array, dims: Dims) -> Array:
        return self.xp.permute_dims(x, dims)

    def expand(self, x: Array, shape: Shape) -> Array:
        return self.xp.broadcast_to(x, shape)

    def unsqueeze(self, x: Array, dims: Dims) -> Array:
        for d in sorted(dims):
            x = self.xp.expand_dims(x, axis=d)
        return x

    def squeeze(self, x: Array, dims: Dims) -> Array:
        return self.xp.squeeze(x, axis=dims)

    def mT(self, x: Array) -> Array:
        return self.xp.matrix_transpose(x)

    def flip(self, x: Array, dims: Dims) -> Array:
        return self.xp.flip(x, axis=dims)

    def cat(self, arrays: list[Array], dim: int) -> Array:
        return self.xp.concat(arrays, axis=dim)

    def slice(self, x: Array, key: tuple[Any, ...]) -> Array:
        return x[key]

    def slice_put(self, g: Array, key: tuple[Any, ...], shape: Shape) -> Array:
        r = self.xp.zeros(shape, dtype=g.dtype)
        r[key] = g
        return r

    def diagonal(self, x: Array, offset: int, dim1: int, dim2: int) -> Array:
        return self.xp.linalg.diagonal(self._last_two(x, dim1, dim2), offset=offset)

    def tril(self, x: Array, diagonal: int) -> Array:
        return self.xp.tril(x, k=diagonal)

    def triu(self, x: Array, diagonal: int) -> Array:
        return self.xp.triu(x, k=diagonal)

    def _last_two(self, x: Array, dim1: int, dim2: int) -> Array:
        return self.xp.permute_dims(x, (*[d for d in range(x.ndim) if d not in (dim1, dim2)], dim1, dim2))

    # ---------------------------------------------------------------- reductions
    def sum(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.xp.sum(x, axis=dims, keepdims=keepdim, dtype=x.dtype)

    def prod(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.xp.prod(x, axis=dims, keepdims=keepdim, dtype=x.dtype)

    def amax(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.xp.max(x, axis=dims, keepdims=keepdim)

    def amin(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.xp.min(x, axis=dims, keepdims=keepdim)

    def any(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.xp.any(x, axis=dims, keepdims=keepdim)

    def all(self, x: Array, dims: Dims | None, keepdim: bool) -> Array:
        return self.xp.all(x, axis=dims, keepdims=keepdim)

    def argmax(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return self.xp.argmax(x, axis=dim, keepdims=keepdim)

    def argmin(self, x: Array, dim: int | None, keepdim: bool) -> Array:
        return self.xp.argmin(x, axis=dim, keepdims=keepdim)

    def cumsum(self, x: Array, dim: int) -> Array:
        return self.xp.cumulative_sum(x, axis=dim, dtype=x.dtype) if x.ndim else x

    def cumprod(self, x: Array, dim: int) -> Array:
        return self.xp.cumulative_prod(x, axis=dim, dtype=x.dtype) if x.ndim else x

    def sort(self, x: Array, dim: int, descending: bool, stable: bool) -> tuple[Array, Array]:
        if not x.ndim:
            return x, self.xp.zeros((), dtype=self.native[dt.int64])
        i = self.xp.argsort(x, axis=dim, descending=descending, stable=stable)
        return self.xp.take_along_axis(x, i, axis=dim), i

    # ---------------------------------------------------------------- indexing: every read and its transposed write
    def index_select(self, x: Array, dim: int, index: Array) -> Array:
        taken = self.xp.take(x, self.xp.reshape(index, (-1,)), axis=dim)
        return self.xp.reshape(taken, x.shape[:dim] + index.shape + x.shape[dim + 1 :])

    def gather(self, x: Array, dim: int, index: Array) -> Array:
        return x[self._grid(index, dim)] if x.ndim else self.xp.broadcast_to(x, index.shape)

    def scatter(self, x: Array, dim: int, index: Array, src: Array) -> Array:
        r = self.clone(x)
        r[self._grid(index, dim) if x.ndim else ...] = src[tuple(map(slice, index.shape))]
        return r

    def _grid(self, index: Array, dim: int) -> tuple[Array, ...]:
        """Index arrays that name, for each element of `index`, the element of x it stands for."""
        axes = [self.xp.reshape(self.xp.arange(n), (*[1] * d, n, *[1] * (index.ndim - d - 1)))
                for d, n in enumerate(index.shape)]  # fmt: skip
        axes[dim] = index
        return tuple(axes)

    # ---------------------------------------------------------------- linear algebra
    def matmul(self, a: Array, b: Array) -> Array:
        return self.xp.matmul(a, b)

    def nonzero(self, x: Array) -> Array:
        if not x.ndim:
            return self.xp.zeros((int(x != 0), 0), dtype=self.native[dt.int64])
        return self.xp.stack(self.xp.nonzero(x), axis=1)

    # ---------------------------------------------------------------- storage
    def read_at(self, flat: Array, geometry: Geometry) -> Array:
        return self.index_select(flat, 0, self._positions(flat, geometry))

    def write_at(self, flat: Array, geometry: Geometry, value: Array) -> Array:
        r = self.clone(flat)
        r[self.xp.reshape(self._positions(flat, geometry), (-1,))] = self.xp.reshape(value, (-1,))
        return r

    def _positions(self, flat: Array, g: Geometry) -> Array:
        if prod(g.shape) == flat.size and g.offset == 0 and not g.shape:
            return self.xp.zeros((), dtype=self.native[dt.int64])
        at = self.xp.full((1,) * len(g.shape), g.offset, dtype=self.native[dt.int64])
        for d, (n, stride) in enumerate(zip(g.shape, g.strides, strict=True)):
            at = at + self.xp.reshape(self.xp.arange(n) * stride, (*[1] * d, n, *[1] * (len(g.shape) - d - 1)))
        return at

    def evaluate(self, arrays: list[Array]) -> None:
        """Nothing is pending."""
