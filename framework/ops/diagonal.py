"""Diagonals and triangles of matrices."""

from __future__ import annotations

import numpy as np

from backends.dtypes import int64
from framework.core.device import backend_of
from framework.core.promotion import scalar_type_name
from framework.core.shape import wrap_dim
from framework.core.tensor import make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num


@op(composite=True)
def diag(input: Num, diagonal=0):
    """The diagonal of a matrix, or the matrix with a vector on its diagonal and zeros elsewhere."""
    if input.ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    if input.ndim == 2:
        return T.clone(T.diagonal(input, diagonal, 0, 1))
    return diag_embed(input, diagonal)


@op(composite=True)
def diagflat(input: Num, offset=0):
    """The matrix with all elements of `input` on its diagonal and zeros elsewhere."""
    return diag_embed(T.reshape(input, (-1,)), offset)


@op(composite=True)
def diag_embed(input: Num, offset=0, dim1=-2, dim2=-1):
    """Matrices with the last dimension of `input` on their diagonals and zeros elsewhere; they stand in `dim1` and
    `dim2`.
    """
    ndim = input.ndim + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if not input.ndim:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    side = input.shape[-1] + abs(offset)
    rest = iter(input.shape[:-1])
    size = tuple([side if d in (first, second) else next(rest) for d in range(ndim)])
    return T.diagonal_put(input, size, offset, first, second)


# ---------------------------------------------------------------- triangles
def _two_or_more(name):
    def canon(input, diagonal):
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return (diagonal,)

    return canon


def _own(fn, size, flags, args):
    return fn(*args)


@op(opaque=True, linear="each", exact=True, inplace=True, batch=_own, canon=_two_or_more("tril"),
    vjp=(lambda xp, g, diagonal: xp.tril(g, diagonal),))  # fmt: skip
def tril(xp, input: Num, diagonal=0):
    """The elements of matrices on and below a diagonal, zeros above. `diagonal` counts upwards from the main one."""
    return xp.tril(input, diagonal)


@op(opaque=True, linear="each", exact=True, inplace=True, batch=_own, canon=_two_or_more("triu"),
    vjp=(lambda xp, g, diagonal: xp.triu(g, diagonal),))  # fmt: skip
def triu(xp, input: Num, diagonal=0):
    """The elements of matrices on and above a diagonal, zeros below. `diagonal` counts upwards from the main one."""
    return xp.triu(input, diagonal)


def _triangle(find, row, col, offset, dtype, device):
    """Row and column numbers of a triangle's elements."""
    if row < 0 or col < 0:
        raise RuntimeError(f"row and col must be non-negative, got {row} and {col}")
    if dtype is not None and dtype.category != 1:
        raise RuntimeError(f"\"tril_indices\" not implemented for '{scalar_type_name(dtype)}': give an integer dtype")
    backend = backend_of(device)
    return make(backend, backend.asarray(np.stack(find(row, offset, col)), dtype or int64))


@op(composite=True, method=False)
def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """The coordinates of the elements on and below a diagonal of a row x col matrix, in row-major order: shape (2,
    count).
    """
    return _triangle(np.tril_indices, row, col, offset, dtype, device)


@op(composite=True, method=False)
def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """The coordinates of the elements on and above a diagonal of a row x col matrix, in row-major order: shape (2,
    count).
    """
    return _triangle(np.triu_indices, row, col, offset, dtype, device)
