"""Kernels along rows: softmax, its logarithm, cross-entropy, and their derivatives. Operands are matrices (rows, n)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled
from .scalar import exp, log, row_dot, row_exp, row_max, row_sum


@compiled
def softmax(x: Any, out: Any) -> None:
    """out = exp(x) over its sum, for each row."""
    for r in range(x.shape[0]):
        scale = x.dtype.type(1) / row_exp(x, r, row_max(x, r), out, r)
        for j in range(x.shape[1]):
            out[r, j] *= scale


@compiled
def log_softmax(x: Any, out: Any) -> None:
    """out = x minus the logarithm of the sum of exp(x), for each row."""
    for r in range(x.shape[0]):
        top = row_max(x, r)
        rest = log(row_exp(x, r, top, out, r))
        for j in range(x.shape[1]):
            out[r, j] = (x[r, j] - top) - rest


@compiled
def softmax_vjp(g: Any, out: Any, grad: Any) -> None:
    """grad = out (g - sum(g out)), for each row."""
    for r in range(g.shape[0]):
        total = row_dot(g, out, r)
        for j in range(g.shape[1]):
            grad[r, j] = out[r, j] * (g[r, j] - total)


@compiled
def log_softmax_vjp(g: Any, out: Any, grad: Any) -> None:
    """grad = g - exp(out) sum(g), for each row."""
    for r in range(g.shape[0]):
        total = row_sum(g, r)
        for j in range(g.shape[1]):
            grad[r, j] = g[r, j] - exp(out[r, j]) * total


@compiled
def softmax_entropy(x: Any, target: Any, out: Any) -> None:
    """out[r] = log of the sum of exp(x) less x at the row's target, for each row. Targets must be in the row."""
    room = np.empty((1, x.shape[1]), x.dtype)
    for r in range(x.shape[0]):
        top = row_max(x, r)
        out[r] = log(row_exp(x, r, top, room, 0)) - (x[r, target[r]] - top)


@compiled
def softmax_entropy_vjp(g: Any, x: Any, target: Any, grad: Any) -> None:
    """grad = g[r] times (softmax(x), less 1 at the row's target), for each row."""
    for r in range(x.shape[0]):
        scale = g[r] / row_exp(x, r, row_max(x, r), grad, r)
        for j in range(x.shape[1]):
            grad[r, j] *= scale
        grad[r, target[r]] -= g[r]
