"""Matrix products, and the fused kernels of `mx.fast`."""

from __future__ import annotations

import mlx.core as mx

from ..base import Array
from .elementwise import Elementwise, is_float
from .reductions import Reductions


class Linear(Elementwise, Reductions):
    """Matrix products. MLX has none of integers; the host computes those."""

    def matmul(self, a: Array, b: Array) -> Array:
        if not (is_float(a) or a.dtype == mx.complex64):
            return self._on_host("matmul", a, b)
        if a.ndim == 1 and b.ndim > 2:  # refused
            return mx.squeeze(mx.matmul(mx.expand_dims(a, 0), b), -2)
        return mx.matmul(a, b)

    # ---------------------------------------------------------------- fused kernels
    kernels = frozenset({"softmax"})

    def softmax(self, x: Array, dim: int) -> Array:
        """float64 goes through `exp` here, MLX's own has float32 accuracy."""
        if not x.ndim:
            return self.exp(x - x)
        if x.dtype != mx.float64:
            return mx.softmax(x, dim, precise=True)
        if not x.size:
            return x
        e = self.exp(x - mx.max(x, dim, keepdims=True))
        return e / mx.sum(e, dim, keepdims=True)
