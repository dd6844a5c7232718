"""Rows of a table: `embedding`, sums and means of rows (`embedding_bag`), and `one_hot`."""

from __future__ import annotations

import numpy as np

from backends.dtypes import int64
from framework.core.host import to_host
from framework.core.state import grad_enabled
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Index, Num
from framework.ops.distance import length
from framework.ops.index_range import as_int64, check_natural, from_host
from framework.ops.indexing import summed_at
from framework.ops.spatial import type_name

_FUNCTIONAL = {"composite": True, "spaces": ("nn.functional",), "method": False}


def _rows_vjp(xp, g, index, padding_idx, scale_grad_by_freq, shape):
    def column(x):
        return xp.unsqueeze(x, (x.ndim,))

    if padding_idx is not None:
        g = xp.where(column(xp.eq(index, padding_idx)), xp.full((), 0, xp.like(g)), g)
    if scale_grad_by_freq:
        ones = xp.full(tuple(index.shape), 1, xp.like(g))
        counts = summed_at(xp, ones, (shape[0],), 0, index, xp.index_add)
        g = g / column(xp.index_select(counts, 0, index))
    return summed_at(xp, g, shape, 0, index, xp.index_add)


@op(spaces=(), linear="each", exact=True, vjp=(_rows_vjp,))
def rows(xp, weight: Num, index: Index, padding_idx, scale_grad_by_freq):
    """The rows of `weight` at the index; the row `padding_idx` gets no gradient, the others theirs over how often they
    were taken.
    """
    return xp.index_select(weight, 0, index)


def _checked(name, index, weight):
    """The index as int64, in the range of the table."""
    if weight.ndim != 2:
        raise RuntimeError(f"'weight' must be 2-D ({name}: got shape {list(weight.shape)})")
    if index.dtype.category != 1 or index.dtype.itemsize < 4:
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{type_name(index)} instead (while checking arguments for {name})"
        )
    index = as_int64(index, name)
    check_natural(
        index,
        weight.shape[0],
        lambda i: IndexError(f"index out of range in self: {name} got {i} for a table of {weight.shape[0]} rows"),
    )
    return index


def _padding_row(padding_idx, weight):
    if padding_idx is None:
        return None
    n = weight.shape[0]
    if not -n <= padding_idx < n:
        raise AssertionError(f"Padding_idx must be within num_embeddings: got {padding_idx} for a table of {n} rows")
    return padding_idx + n if padding_idx < 0 else padding_idx


def _no_sparse(name, sparse):
    if sparse:
        raise NotImplementedError(f"{name}: sparse gradients do not exist yet; with sparse=False the gradient is dense")


def _shorten(weight, index, max_norm, norm_type):
    """Scale the rows in use whose norm exceeds `max_norm` down to it, in place."""
    with grad_enabled(False):
        table = weight.detach()
        norms = length(table, norm_type, 1)
        used = T.index_add(T.full((table.shape[0],), 0, T.like(table)), 0, T.reshape(index, (-1,)),
                           T.full((index.numel(),), 1, T.like(table)))  # fmt: skip
        long = T.logical_and(norms > max_norm, T.unsqueeze(used, (1,)) > 0)
        weight.mul_(T.where(long, max_norm / (norms + 1e-7), T.full((), 1, norms)))


@op(**_FUNCTIONAL)
def embedding(
    input: Index, weight: Num, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """The rows of `weight` (rows, columns) at the integers of `input`: (*) to (*, columns).

    The row `padding_idx` gets no gradient. With `max_norm`, rows that are looked up are first scaled down to that
    `norm_type`-norm, in place. `scale_grad_by_freq` divides a row's gradient by how often it was looked up. IndexError
    for a row that does not exist.
    """
    _no_sparse("embedding", sparse)
    index = _checked("embedding", input, weight)
    padding_idx = _padding_row(padding_idx, weight)
    if max_norm is not None:
        _shorten(weight, index, max_norm, norm_type)
    if padding_idx is None and not scale_grad_by_freq:
        return T.index_select(weight, 0, index)
    return rows(weight, index, padding_idx, bool(scale_grad_by_freq))


# ---------------------------------------------------------------- bags


def _bags(input, offsets, include_last_offset):
    """(which bag each element of the flat input falls into, how many bags), on the host."""
    total = input.numel()
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        bags, size = input.shape
        return np.repeat(np.arange(bags), size), bags
    if input.ndim != 1:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if offsets.ndim != 1:
        raise ValueError("offsets has to be a 1D Tensor")
    starts = to_host(offsets).astype("int64")
    if include_last_offset and not len(starts):
        raise RuntimeError("include_last_offset: number of offsets should be at least 1 (embedding_bag)")
    if len(starts) and starts[0] != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {starts[0]} (embedding_bag)"
        )
    if len(starts) and (starts[-1] > total or (np.diff(starts) < 0).any()):
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length: {total}, and offsets must not decrease, but got "
            f"{starts.tolist()} (embedding_bag)"
        )
    ends = starts if include_last_offset else np.append(starts, total)
    bags = len(ends) - 1
    return np.repeat(np.arange(bags), np.diff(ends)), bags


@op(**_FUNCTIONAL)
def embedding_bag(
    input: Index,
    weight: Num,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """Sums, means or maxima (`mode`) of rows of `weight`, one for each bag of indices; an empty bag gives zeros.

    The bags are the rows of a 2-D input, or the parts of a 1-D input that begin at `offsets`. Rows at `padding_idx`
    count for nothing, `per_sample_weights` (sums alone) weigh them. ValueError for arguments that do not fit each
    other.
    """
    if per_sample_weights is not None and tuple(per_sample_weights.shape) != tuple(input.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    bag_of, bags = _bags(input, offsets, include_last_offset)
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}')."
        )
    _no_sparse("embedding_bag", sparse)
    index = T.reshape(_checked("embedding_bag", input, weight), (-1,))
    index = T.slice(index, (slice(0, len(bag_of)),))  # what lies behind the last offset is in no bag
    padding_idx = _padding_row(padding_idx, weight)
    if max_norm is not None:
        _shorten(weight, index, max_norm, norm_type)
    found = rows(weight, index, padding_idx, bool(scale_grad_by_freq))
    counted = None if padding_idx is None else T.astype(T.ne(index, padding_idx), found.dtype)
    place = from_host(weight, bag_of)
    if mode == "max":
        return _largest(found, place, bags, counted)
    if counted is not None:
        found = found * T.unsqueeze(counted, (1,))
    if per_sample_weights is not None:
        found = found * T.unsqueeze(T.slice(T.reshape(per_sample_weights, (-1,)), (slice(0, len(bag_of)),)), (1,))
    total = T.index_add(T.full((bags, weight.shape[1]), 0, T.like(found)), 0, place, found)
    if mode == "sum":
        return total
    ones = T.full((len(bag_of),), 1, T.like(found)) if counted is None else counted
    counts = T.index_add(T.full((bags,), 0, T.like(found)), 0, place, ones)
    return total / T.unsqueeze(T.clip(counts, 1, None), (1,))


def _largest(found, place, bags, counted):
    """The largest of each column of each bag; its gradient goes to the rows that have it."""
    lowest = T.full((), float("-inf"), T.like(found))
    if counted is not None:
        found = T.where(T.unsqueeze(counted, (1,)) > 0, found, lowest)
    columns = T.expand(T.unsqueeze(place, (1,)), tuple(found.shape))
    out = T.scatter_amax(T.full((bags, found.shape[1]), float("-inf"), T.like(found)), 0, columns, found)
    return T.where(T.eq(out, lowest), T.full((), 0, T.like(found)), out)


@op(**_FUNCTIONAL)
def one_hot(tensor: Index, num_classes=-1):
    """1 at each element's place along a new last dimension of `num_classes`, 0 elsewhere; int64. -1 takes the largest
    element plus 1.

    RuntimeError for other dtypes and for elements outside [0, num_classes).
    """
    if tensor.dtype is not int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, got {type_name(tensor)}.")
    if num_classes == -1:
        if not tensor.numel():
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(T.amax(tensor).item()) + 1
    if num_classes < 1 and tensor.numel() or num_classes < 0:
        raise RuntimeError("Class values must be non-negative and num_classes positive: got num_classes "
                           f"{num_classes} (one_hot)")  # fmt: skip
    check_natural(
        tensor,
        num_classes,
        lambda i: RuntimeError(
            "Class values must be non-negative."
            if i < 0
            else f"Class values must be smaller than num_classes: got {i} of {num_classes}."
        ),
    )
    classes = from_host(tensor, np.arange(num_classes))
    return T.astype(T.eq(T.unsqueeze(tensor, (tensor.ndim,)), classes), int64)
