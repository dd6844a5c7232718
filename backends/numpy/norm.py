"""Normalisation by fused kernels, in slices on the worker pool. See `fused.py` for what kernels take."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..base import Array, Dims
from .fused import PART, SMALL, plain
from .kernels import load
from .pool import cut, pool

KERNELS = frozenset(("standardize", "standardize_vjp", "normalized", "normalized_vjp"))


class Normalisation:
    """Kernels of `standardize` and `normalized`, by their entries' names: over the last dimensions, or over all but the
    second."""

    def standardize(self, x: Array, dims: Dims, eps: float) -> Any:
        """(out, mean, var)"""
        layout = _layout(x, dims)
        if layout is None:
            return NotImplemented
        return self._forward(x, np.ones(layout[1], x.dtype), np.zeros(layout[1], x.dtype), dims, eps, layout)

    def standardize_vjp(self, g: Any, out: Array, var: Array, shape: Any, dims: Dims, eps: float) -> Any:
        layout = _layout(out, dims)
        if layout is None or g[1] is not None or g[2] is not None or not plain(out, g[0]):
            return NotImplemented
        # the derivative at out, whose mean is 0 and variance 1, is that at the input but for the factor
        count = layout[2]
        ones, zeros = np.ones(count, out.dtype), np.zeros(count, out.dtype)
        grad = self._backward(g[0], out, np.ones(layout[1], out.dtype), zeros, ones, dims, 0.0, layout)[0]
        grad *= 1 / np.sqrt(var + eps)
        return grad

    def normalized(self, x: Array, w: Array, b: Array, dims: Dims, eps: float) -> Any:
        """(out, mean, var)"""
        layout = _layout(x, dims)
        if layout is None or not _fits(w, x, dims, layout) or not _fits(b, x, dims, layout):
            return NotImplemented
        return self._forward(x, w.reshape(-1), b.reshape(-1), dims, eps, layout)

    def normalized_vjp(self, g: Any, x: Array, w: Array, mean: Array, var: Array, dims: Dims, eps: float) -> Any:
        layout = _layout(x, dims)
        if (
            layout is None
            or g[1] is not None
            or g[2] is not None
            or not plain(x, g[0])
            or not _fits(w, x, dims, layout)
        ):
            return NotImplemented
        grad, grad_w, grad_b = self._backward(
            g[0], x, w.reshape(-1), mean.reshape(-1), var.reshape(-1), dims, eps, layout
        )
        return grad, grad_w.reshape(w.shape), grad_b.reshape(w.shape)

    def _forward(self, x: Array, w: Array, b: Array, dims: Dims, eps: float, layout: Any) -> tuple[Array, Array, Array]:
        by_rows, _, count = layout
        out, mean, var = np.empty(x.shape, x.dtype), np.empty(count, x.dtype), np.empty(count, x.dtype)
        shape, e = tuple([1 if d in dims else n for d, n in enumerate(x.shape)]), x.dtype.type(eps)
        parts = max(1, min(pool.size, x.size // PART))
        if by_rows:
            rows, o = x.reshape(count, -1), out.reshape(count, -1)
            pool.run(load("norm").rows, [(rows[s], o[s], mean[s], var[s], w, b, e) for s in cut(count, parts)])
        else:
            rows, o = x.reshape(x.shape[0] * count, -1), out.reshape(x.shape[0] * count, -1)
            pieces = [(s.start, s.stop, rows, o, mean, var, w, b, e) for s in cut(count, parts)]
            pool.run(load("norm").channels, pieces)
        return out, mean.reshape(shape), var.reshape(shape)

    def _backward(
        self, g: Array, x: Array, w: Array, mean: Array, var: Array, dims: Dims, eps: float, layout: Any
    ) -> tuple[Array, Array, Array]:
        by_rows, size, count = layout
        grad, e = np.empty(x.shape, x.dtype), x.dtype.type(eps)
        parts = max(1, min(pool.size, x.size // PART))
        if by_rows:
            chosen = cut(count, parts)
            sums = np.zeros((2, len(chosen), size), x.dtype)
            rows, o, h = x.reshape(count, -1), grad.reshape(count, -1), g.reshape(count, -1)
            pieces = [(h[s], rows[s], o[s], mean[s], var[s], w, e, *sums[:, i]) for i, s in enumerate(chosen)]
            pool.run(load("norm").rows_vjp, pieces)
            grad_w, grad_b = sums.sum(1)
        else:
            grad_w, grad_b = np.empty(count, x.dtype), np.empty(count, x.dtype)
            rows, o, h = (a.reshape(x.shape[0] * count, -1) for a in (x, grad, g))
            pool.run(
                load("norm").channels_vjp,
                [(s.start, s.stop, h, rows, o, mean, var, w, e, grad_w, grad_b) for s in cut(count, parts)],
            )
        return grad, grad_w, grad_b


def _layout(x: Array, dims: Dims) -> tuple[bool, int, int] | None:
    """(whether dims are the last ones, elements of the weight, number of means), or None where no kernel serves."""
    if x.size < SMALL or not plain(x) or not dims or load("norm") is None:
        return None
    if dims == tuple(range(x.ndim - len(dims), x.ndim)):
        n = prod(x.shape[x.ndim - len(dims) :])
        return True, n, x.size // n
    if dims == (0, *range(2, x.ndim)):
        return False, x.shape[1], x.shape[1]
    return None


def _fits(w: Array, x: Array, dims: Dims, layout: Any) -> bool:
    if w.dtype != x.dtype or not w.flags.c_contiguous or w.size != layout[1]:
        return False
    wanted = x.shape[x.ndim - len(dims) :] if layout[0] else (1, x.shape[1], *[1] * (x.ndim - 2))
    return bool(w.shape == wanted)
