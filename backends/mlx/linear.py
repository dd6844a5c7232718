"""Matrix products."""

from __future__ import annotations

import mlx.core as mx

from ..base import Array
from .arrays import Arrays
from .elementwise import is_float


class Linear(Arrays):
    """Matrix products. MLX has none of integers; the host computes those."""

    def matmul(self, a: Array, b: Array) -> Array:
        if not (is_float(a) or a.dtype == mx.complex64):
            return self._on_host("matmul", a, b)
        if a.ndim == 1 and b.ndim > 2:  # refused
            return mx.squeeze(mx.matmul(mx.expand_dims(a, 0), b), -2)
        return mx.matmul(a, b)
