"""Views of one index or a range along a dimension, and the out-of-place writes through such views."""

from __future__ import annotations

import numpy as np

from framework.core.shape import as_int, wrap_dim
from framework.core.storage import SHADOW, View
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num

FULL = slice(None)


def _select_key(input, dim, index, name="select"):
    if not input.ndim:
        raise IndexError(f"{name}() cannot be applied to a 0-dim tensor.")
    dim, index = wrap_dim(dim, input.ndim), as_int(index, "index")
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"{name}(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}"
        )
    return (*[FULL] * dim, index % size)


@op(composite=True)
def select(input: Num, dim, index):
    """The view of `input` at one index of dimension `dim`, which goes away. IndexError for an index out of range."""
    return T.slice(input, _select_key(input, dim, index))


@op(composite=True)
def narrow(input: Num, dim, start, length):
    """The view of `length` elements from `start` along `dim`. `start`, an int or 0-d tensor, may count from the end.

    IndexError for a start out of range, RuntimeError if the view would end beyond the dimension.
    """
    if not input.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if isinstance(start, Tensor) and (start.ndim or start.dtype.category != 1):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim = wrap_dim(dim, input.ndim)
    start, length, size = as_int(start, "start"), as_int(length, "length"), input.shape[dim]
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative, got {length}.")
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return T.slice(input, (*[FULL] * dim, slice(start, start + length, 1)))


@op(composite=True)
def narrow_copy(input: Num, dim, start, length):
    """As `narrow`, but a copy."""
    return T.clone(narrow(input, dim, start, length))


def written_through(input, src, entry, params):
    """`input` with the elements that a view of it (by one op) shows replaced by `src`, as a new tensor."""
    view = View(None, (None, entry, params, tuple(input.shape)), None)
    shown = entry.run(SHADOW, (np.empty(tuple(input.shape), np.int8), *params)).shape
    if tuple(src.shape) != shown:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(shown)}"
        )
    if src.dtype is not input.dtype:
        src = T.to_dtype(src, input.dtype)
    return T.write_view(input, src, view)


@op(composite=True)
def select_scatter(input: Num, src: Num, dim, index):
    """A copy of `input` with `select(dim, index)` of it replaced by `src`, which has that view's shape."""
    return written_through(input, src, T.slice.entry, (_select_key(input, dim, index),))


@op(composite=True)
def slice_scatter(input: Num, src: Num, dim=0, start=None, end=None, step=1):
    """A copy of `input` with the range start:end:step along `dim` replaced by `src`, which has that view's shape."""
    if not input.ndim:
        raise RuntimeError("slice_scatter() cannot be applied to a 0-dim tensor.")
    if step <= 0:
        raise RuntimeError(f"slice step must be positive, got {step}")
    dim = wrap_dim(dim, input.ndim)
    start, end, step = slice(start, end, step).indices(input.shape[dim])
    return written_through(input, src, T.slice.entry, ((*[FULL] * dim, slice(start, max(start, end), step)),))


@op(composite=True)
def diagonal_scatter(input: Num, src: Num, offset=0, dim1=0, dim2=1):
    """A copy of `input` with `diagonal(offset, dim1, dim2)` of it replaced by `src`, which has that view's shape."""
    params = (offset, wrap_dim(dim1, input.ndim), wrap_dim(dim2, input.ndim))
    return written_through(input, src, T.diagonal.entry, params)
