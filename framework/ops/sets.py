"""Distinct elements of a tensor, or distinct slices along a dimension."""

from __future__ import annotations

import numpy as np

from backends.dtypes import int64
from framework.core.host import to_host
from framework.core.promotion import scalar_type_name
from framework.core.shape import wrap_dim
from framework.core.tensor import make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num
from framework.ops.results import positions

FULL = slice(None)


def _groups(rows, order):
    """(positions in `order` where a new group of equal rows starts, number of the group of each position) of a sequence
    of rows.

    `rows` is a vector or a matrix, already in the order in which equal ones stand side by side.
    """
    n = rows.shape[0]
    if not n:
        empty = positions(rows, 0)
        return empty, empty
    differs = T.ne(T.slice(rows, (slice(1, n),)), T.slice(rows, (slice(0, n - 1),)))
    if differs.ndim > 1:
        differs = T.any(differs, (1,))
    first = T.cat([T.full((1,), True, differs), differs], 0)
    starts = T.squeeze(T.nonzero(first), (1,))
    return starts, T.sub(T.cumsum(first, 0), 1)


def _distinct(input, rows, order, dim, shape, return_inverse, return_counts):
    """(distinct slices, group of each slice, size of each group). order: where the rows, put in order, were; None: as
    they stand.
    """
    n = rows.shape[0]
    starts, group = _groups(rows if order is None else T.index_select(rows, 0, order), order)
    chosen = starts if order is None else T.index_select(order, 0, starts)
    results = [T.index_select(input, dim, chosen)]
    if return_inverse:
        inverse = group if order is None else T.scatter(T.full((n,), 0, group), 0, order, group)
        results.append(T.reshape(inverse, shape))
    if return_counts:
        ends = T.cat([T.slice(starts, (slice(1, None),)), T.full((1,), n, starts)], 0) if n else starts
        results.append(T.sub(ends, starts))
    return results[0] if len(results) == 1 else tuple(results)


def _as_rows(name, input, dim):
    """The slices along `dim` as the rows of a matrix."""
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, input.ndim)
    rest = [n for d, n in enumerate(input.shape) if d != dim]
    if 0 in rest and input.shape[dim]:
        raise RuntimeError(f"There are 0 sized dimensions, and they aren't selected, so {name} cannot be applied")
    moved = T.permute(input, (dim, *[d for d in range(input.ndim) if d != dim]))
    return T.reshape(moved, (input.shape[dim], int(np.prod(rest)))), dim


def _no_order(name, input):
    if input.dtype.is_complex:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(input.dtype)}'")


@op(composite=True)
def unique(input: Num, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The distinct elements in order, or the distinct slices along `dim` in lexicographic order; nan equals nothing,
    itself either.

    return_inverse: also where each element of the input (each slice) stands among them; return_counts: also how often
    each occurs.
    """
    _no_order("unique", input)
    input = input.detach()
    if dim is None:
        flat = T.reshape(input, (-1,))
        return _distinct(
            flat, flat, T.sort(flat, 0, False, True)[1], 0, tuple(input.shape), return_inverse, return_counts
        )
    rows, dim = _as_rows("unique", input, dim)
    host = to_host(rows)
    keys = np.lexsort(host.T[::-1]) if host.shape[1] else np.arange(host.shape[0])
    order = make(input.backend, input.backend.asarray(keys, int64))
    return _distinct(input, rows, order, dim, (rows.shape[0],), return_inverse, return_counts)


@op(composite=True)
def unique_consecutive(input: Num, return_inverse=False, return_counts=False, dim=None):
    """The elements, or the slices along `dim`, without those that equal the one before.

    return_inverse: also where each element of the input (each slice) went; return_counts: also how many equal ones
    stood together.
    """
    input = input.detach()
    if dim is None:
        flat = T.reshape(input, (-1,))
        return _distinct(flat, flat, None, 0, tuple(input.shape), return_inverse, return_counts)
    rows, dim = _as_rows("unique_consecutive", input, dim)
    return _distinct(input, rows, None, dim, (rows.shape[0],), return_inverse, return_counts)
