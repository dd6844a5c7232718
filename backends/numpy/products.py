"""Matrix products on the worker pool: rows, columns or members of the batch, one block a thread."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..base import Array
from ..numpy_like_convolution import as_matrix
from .pool import cut, pool

# Multiplications from which on handing a part over is worth it: some 100 microseconds of work.
_ENOUGH = 6_000_000
# A block this large is cut once more, so that a core that others use does not hold everything up.
_LARGE = 100_000_000
# No operand below this size has a product worth splitting, unless the other is large.
SMALL = 1 << 14


def matmul(a: Array, b: Array) -> Array:
    """np.matmul(a, b) for operands of two dimensions or more."""
    if a.ndim < 2 or b.ndim < 2 or a.dtype.char not in "fdFD" or a.shape[-1] != b.shape[-2]:
        return np.matmul(a, b)
    if b.ndim == 2 and a.ndim > 2 and a.flags.c_contiguous:  # one product of many rows
        many = prod(a.shape[:-1])
        return matmul(a.reshape(many, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[-1])
    rows, inner, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    batch = a.shape[:-2] if a.shape[:-2] == b.shape[:-2] else np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    work = prod(batch) * rows * inner * columns
    if work < _ENOUGH:
        return np.matmul(a, b)
    a, b = as_matrix(np, a), as_matrix(np, b)
    if pool.size == 1:
        return np.matmul(a, b)
    out = np.empty((*batch, rows, columns), a.dtype)
    parts = pool.size * (2 if work > pool.size * _LARGE else 1)
    pieces: list[tuple[Any, ...]] = []
    if batch and batch[0] >= pool.size:
        for s in cut(batch[0], parts, 1):
            pieces.append((_members(a, s, out.ndim), _members(b, s, out.ndim), out[s]))
    elif rows >= columns:
        for s in cut(rows, parts, 8):
            pieces.append((a[..., s, :], b, out[..., s, :]))
    else:
        for s in cut(columns, parts, 16):
            pieces.append((a, b[..., s], out[..., s]))
    pool.run(np.matmul, pieces)
    return out


def _members(a: Array, s: slice, ndim: int) -> Array:
    return a[s] if a.ndim == ndim and a.shape[0] != 1 else a
