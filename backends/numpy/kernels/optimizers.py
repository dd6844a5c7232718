"""Optimizer steps in one pass over the memory of a parameter, its gradient and its state. Arrays are flat."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled


@compiled
def adam(
    p: Any,
    g: Any,
    m: Any,
    v: Any,
    sign: Any,
    keep: Any,
    decay: Any,
    share: Any,
    beta: Any,
    rest: Any,
    scale: Any,
    eps: Any,
    lr: Any,
) -> None:
    """See `AdamStep`; share = 1 - beta1, beta = beta2, rest = 1 - beta2."""
    for i in range(p.size):
        d = g[i] * sign
        w = p[i] * keep
        d = d + p[i] * decay
        mean = m[i] + (d - m[i]) * share
        square = v[i] * beta + d * d * rest
        m[i] = mean
        v[i] = square
        p[i] = w + mean / (np.sqrt(square) / scale + eps) * lr


@compiled
def adam_largest(
    p: Any,
    g: Any,
    m: Any,
    v: Any,
    top: Any,
    sign: Any,
    keep: Any,
    decay: Any,
    share: Any,
    beta: Any,
    rest: Any,
    scale: Any,
    eps: Any,
    lr: Any,
) -> None:
    """`adam` with the largest second moment so far."""
    for i in range(p.size):
        d = g[i] * sign
        w = p[i] * keep
        d = d + p[i] * decay
        mean = m[i] + (d - m[i]) * share
        square = v[i] * beta + d * d * rest
        m[i] = mean
        v[i] = square
        square = top[i] if top[i] > square else square
        top[i] = square
        p[i] = w + mean / (np.sqrt(square) / scale + eps) * lr


@compiled
def sgd(p: Any, g: Any, sign: Any, decay: Any, lr: Any) -> None:
    for i in range(p.size):
        p[i] = p[i] + (g[i] * sign + p[i] * decay) * lr


@compiled
def sgd_momentum(
    p: Any, g: Any, b: Any, sign: Any, decay: Any, lr: Any, momentum: Any, share: Any, ahead: Any, own: Any
) -> None:
    """b = momentum b + share g; p += lr (own g + ahead b)."""
    for i in range(p.size):
        d = g[i] * sign + p[i] * decay
        follow = b[i] * momentum + d * share
        b[i] = follow
        p[i] = p[i] + (d * own + follow * ahead) * lr
