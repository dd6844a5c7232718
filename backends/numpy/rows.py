"""Adding rows at indices: what every gradient of a lookup does. NumPy's own `add.at` takes 10 to 20 times as long.

A product with a sparse matrix of ones that has one entry a column is that sum; SciPy's routine for it adds row by row
in order, into an array that is given. Without it, and for few rows, `add.at` on single elements serves, which NumPy has
a fast loop for.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..base import Array

_KINDS = frozenset("fdFDiIlLqQbBhH")  # element types that SciPy's routine is compiled for
_ENOUGH = 4096  # elements from which on it is worth loading SciPy


def add_rows(r: Array, dim: int, index: Array, src: Array) -> None:
    """r[..., index, ...] += src with `index` at dimension `dim`, in place; an index that appears twice adds twice.

    `r` is any strided array. IndexError for an index outside [-size, size).
    """
    size = r.shape[dim]
    index = index.astype(np.int64, copy=False)
    if not index.size or not src.size:
        return
    if np.maximum.reduce(index.view(np.uint64), None) >= size:
        low, high = index.min(), index.max()
        if low < -size or high >= size:
            raise IndexError(
                f"index {low if low < -size else high} is out of bounds for dimension {dim} with size {size}"
            )
        index = np.where(index < 0, index + size, index)
    if not r.flags.c_contiguous or r.dtype != src.dtype or r.dtype.char not in _KINDS:
        np.add.at(r, (*[slice(None)] * dim, index), src)
        return
    before, after = prod(r.shape[:dim]), prod(r.shape[dim + 1 :])
    rows = index.reshape(-1)
    if before != 1:
        rows = (np.arange(0, before * size, size)[:, None] + rows).reshape(-1)
    if after > 1 and src.size >= _ENOUGH and (add := _sparse_product()) is not None:
        ones, starts = np.ones(rows.size, r.dtype), np.arange(rows.size + 1)
        add(before * size, rows.size, after, starts, rows, ones, np.ascontiguousarray(src).reshape(-1), r.reshape(-1))
        return
    if after > 1:
        rows = (rows[:, None] * after + np.arange(after)).reshape(-1)
    np.add.at(r.reshape(-1), rows, src.reshape(-1))


_found: list[Any] = []


def _sparse_product() -> Any:
    """y += A @ x for A by columns and several x at once, from SciPy; None if this SciPy has no such routine."""
    if not _found:
        try:
            from scipy.sparse._sparsetools import csc_matvecs
        except ImportError:
            csc_matvecs = None
        _found.append(csc_matvecs)
    return _found[0]
