"""Fused kernels of MLX that give the framework's numbers, under the names of the formulas that they replace."""

from __future__ import annotations

from math import prod
from typing import Any

import mlx.core as mx

from ..base import Array, Dims
from .elementwise import Elementwise

ON_METAL = frozenset({"scaled_to_unit", "softmax", "standardize"})
ON_CPU = frozenset({"softmax"})  # the others are no faster than their formulas there, and add naively


class Kernels(Elementwise):
    """Softmax, and the normalisations of `mx.fast` over any dimensions."""

    def softmax(self, x: Array, dim: int) -> Array:
        """float64 goes through `exp` here, for MLX's own has float32 accuracy; so do complex numbers."""
        if not x.ndim:
            return mx.where(mx.isfinite(x), mx.array(1, x.dtype), mx.array(float("nan"), x.dtype))
        if x.dtype != mx.float64 and x.dtype != mx.complex64:
            return mx.softmax(x, dim, precise=True)
        if not x.size:
            return x
        e = self.exp(x - mx.max(x, dim, keepdims=True))
        return e / mx.sum(e, dim, keepdims=True)

    def scaled_to_unit(self, x: Array, dims: Dims, eps: float) -> Array:
        """x / sqrt(mean of x^2 over `dims` + eps)."""
        return _over(x, dims, lambda rows: mx.fast.rms_norm(rows, None, eps))

    def standardize(self, x: Array, dims: Dims, eps: float) -> tuple[Array, Array, Array]:
        """(x - mean) / sqrt(var + eps) over `dims`, the mean and the biased variance, which are computed if they are
        read.
        """
        mean = mx.mean(x, dims, keepdims=True)
        return (
            _over(x, dims, lambda rows: mx.fast.layer_norm(rows, None, None, eps)),
            mean,
            mx.var(x, dims, keepdims=True),
        )


def _over(x: Array, dims: Dims, f: Any) -> Array:
    """f, which works along the last dimension, over several dimensions, wherever they are."""
    if not x.size or not dims:
        return f(mx.expand_dims(x, -1))[..., 0]
    kept = [d for d in range(x.ndim) if d not in dims]
    order = [*kept, *dims]
    rows = mx.transpose(x, order)
    shape = rows.shape
    rows = mx.reshape(rows, (*shape[: len(kept)], prod(shape[len(kept) :])))
    back = sorted(range(x.ndim), key=order.__getitem__)
    return mx.transpose(mx.reshape(f(rows), shape), back)
