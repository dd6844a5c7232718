"""Fused kernels of the `cpu` device, in slices on the worker pool; see `kernels/` for the loops themselves.

A method that returns NotImplemented declines its operands, and the op's formula runs (`framework/dispatch/schema.py`).
Kernels take float32 and float64 (elementwise ones float32 alone), contiguous arrays, and from some size on: below it
NumPy is as fast, and Numba need not be imported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import Array
from .kernels import load
from .pool import cut, pool

SMALL = 1 << 14  # elements below which kernels decline
FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")
PART = 1 << 15  # elements that are worth handing to another thread

_ROWS = ("softmax", "log_softmax", "softmax_vjp", "log_softmax_vjp", "softmax_entropy", "softmax_entropy_vjp")
_FORMULAS = ("gelu_kernel", "gelu_tanh_kernel", "silu_kernel")
_DERIVATIVES = ("gelu_kernel_vjp", "gelu_tanh_kernel_vjp", "silu_kernel_vjp", "tanh_vjp", "sigmoid_vjp", "relu_vjp")
KERNELS = frozenset((*_ROWS, *_FORMULAS, *_DERIVATIVES))


def plain(*arrays: Array) -> bool:
    """Whether kernels can take these arrays: row-major, of one floating-point dtype and one shape."""
    first = arrays[0]
    kind, shape = first.dtype, first.shape
    if kind != FLOAT32 and kind != FLOAT64:
        return False
    return all([a.dtype == kind and a.shape == shape and a.flags.c_contiguous and a.flags.aligned for a in arrays])


def share_out(kernel: Any, rows: int, size: int, *arrays: Array) -> None:
    """Run a kernel on slices of `rows` rows of arrays, which have `size` elements in all."""
    parts = min(pool.size, size // PART)
    if parts < 2:
        kernel(*arrays)
    else:
        pool.run(kernel, [tuple([a[s] for a in arrays]) for s in cut(rows, parts, 16 if rows > 64 * parts else 1)])


class Fused:
    """Kernels of formulas, by their entries' names."""

    # ---------------------------------------------------------------- along the last dimension
    def log_softmax(self, x: Array, dim: int) -> Any:
        return self._along_rows("log_softmax", dim, x)

    def softmax_vjp(self, g: Array, out: Array, dim: int) -> Any:
        return self._along_rows("softmax_vjp", dim, g, out)

    def log_softmax_vjp(self, g: Array, out: Array, dim: int) -> Any:
        return self._along_rows("log_softmax_vjp", dim, g, out)

    def _along_rows(self, name: str, dim: int, *arrays: Array) -> Any:
        x = arrays[0]
        if x.size < SMALL or dim != x.ndim - 1 or not plain(*arrays) or (module := load("rows")) is None:
            return NotImplemented
        out, n = np.empty(x.shape, x.dtype), x.shape[-1]
        share_out(getattr(module, name), x.size // n, x.size, *[a.reshape(-1, n) for a in (*arrays, out)])
        return out

    def softmax_entropy(self, x: Array, target: Array) -> Any:
        if x.size < SMALL or x.ndim != 2 or not plain(x) or not _classes(target, x.shape[1]):
            return NotImplemented
        if (module := load("rows")) is None:
            return NotImplemented
        out = np.empty(x.shape[0], x.dtype)
        share_out(module.softmax_entropy, x.shape[0], x.size, x, target, out)
        return out

    def softmax_entropy_vjp(self, g: Array, x: Array, target: Array, shape: Any) -> Any:
        if x.size < SMALL or x.ndim != 2 or not plain(x) or not _classes(target, x.shape[1]):
            return NotImplemented
        if g.dtype != x.dtype or (module := load("rows")) is None:
            return NotImplemented
        grad = np.empty(x.shape, x.dtype)
        share_out(module.softmax_entropy_vjp, x.shape[0], x.size, np.ascontiguousarray(g), x, target, grad)
        return grad

    # ---------------------------------------------------------------- elementwise
    def _each(self, name: str, *arrays: Array) -> Any:
        x = arrays[0]
        if x.size < SMALL or x.dtype.char != "f" or not plain(*arrays) or (module := load("elementwise")) is None:
            return NotImplemented
        out = np.empty(x.shape, x.dtype)
        share_out(getattr(module, name), x.size, x.size, *[a.reshape(-1) for a in (*arrays, out)])
        return out

    def gelu_kernel(self, x: Array) -> Any:
        return self._each("gelu_kernel", x)

    def gelu_tanh_kernel(self, x: Array) -> Any:
        return self._each("gelu_tanh_kernel", x)

    def silu_kernel(self, x: Array) -> Any:
        return self._each("silu_kernel", x)

    def gelu_kernel_vjp(self, g: Array, x: Array) -> Any:
        return self._each("gelu_kernel_vjp", g, x)

    def gelu_tanh_kernel_vjp(self, g: Array, x: Array) -> Any:
        return self._each("gelu_tanh_kernel_vjp", g, x)

    def silu_kernel_vjp(self, g: Array, x: Array) -> Any:
        return self._each("silu_kernel_vjp", g, x)

    def tanh_vjp(self, g: Array, out: Array) -> Any:
        return self._each("tanh_vjp", g, out)

    def sigmoid_vjp(self, g: Array, out: Array) -> Any:
        return self._each("sigmoid_vjp", g, out)

    def relu_vjp(self, g: Array, out: Array) -> Any:
        return self._each("relu_vjp", g, out)

    # ---------------------------------------------------------------- primitives
    def _in_slices(self, ufunc: Any, name: str, x: Array, out: Array | None) -> Array:
        """A large array's ufunc of one operand: the kernel `name` for float32 where there is one, in slices in any
        case."""
        if not plain(x) or (out is not None and not plain(x, out)):
            return ufunc(x) if out is None else ufunc(x, out)
        if out is None:
            out = np.empty(x.shape, x.dtype)
        module = load("elementwise") if name and x.dtype.char == "f" else None
        f = ufunc if module is None else getattr(module, name)
        share_out(f, x.size, x.size, x.reshape(-1), out.reshape(-1))
        return out

    def exp(self, x: Array, out: Array | None = None) -> Array:
        return np.exp(x, out) if x.size < SMALL else self._in_slices(np.exp, "exp", x, out)

    def log(self, x: Array, out: Array | None = None) -> Array:
        return np.log(x, out) if x.size < SMALL else self._in_slices(np.log, "log", x, out)

    def tanh(self, x: Array, out: Array | None = None) -> Array:
        return np.tanh(x, out) if x.size < SMALL else self._in_slices(np.tanh, "tanh", x, out)

    def sqrt(self, x: Array, out: Array | None = None) -> Array:
        return np.sqrt(x, out) if x.size < SMALL else self._in_slices(np.sqrt, "", x, out)

    def sin(self, x: Array, out: Array | None = None) -> Array:
        return np.sin(x, out) if x.size < SMALL else self._in_slices(np.sin, "", x, out)

    def cos(self, x: Array, out: Array | None = None) -> Array:
        return np.cos(x, out) if x.size < SMALL else self._in_slices(np.cos, "", x, out)


def _classes(target: Array, n: int) -> bool:
    """Whether all targets name one of n classes, in a form that kernels can take."""
    if target.dtype.char not in "lq" or target.ndim != 1 or not target.flags.c_contiguous or not target.size:
        return False
    return bool(target.view(np.uint64).max() < n)
