"""Tensors cut into several views along a dimension. Such views may not be written in place where gradients are
tracked.
"""

from __future__ import annotations

from framework.core.host import to_host
from framework.core.shape import as_int, as_ints, wrap_dim
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num

FULL = slice(None)


def pieces(input, dim, ranges, name):
    """The views start:stop along `dim`, marked as the outputs of one function of that name."""
    lead = (FULL,) * dim
    return marked([T.slice(input, (*lead, slice(start, stop))) for start, stop in ranges], name)


def marked(views, name):
    """Views as a tuple, marked as the outputs of one function: `inplace.check_writable` refuses writes to them."""
    for i, v in enumerate(views):
        if v._view is not None and v._view.base is not None and not v._view.origin:
            v._view.origin, v._view.output = name, i
    return tuple(views)


def _from_sizes(sizes):
    start, ranges = 0, []
    for n in sizes:
        ranges.append((start, start + n))
        start += n
    return ranges


def _from_bounds(bounds, size):
    """Ranges between bounds, which slice as Python's do: negative ones count from the end, large ones stop there."""
    starts, stops = [0, *bounds], [*bounds, size]
    ranges = [slice(a, b).indices(size)[:2] for a, b in zip(starts, stops, strict=True)]
    return [(a, max(a, b)) for a, b in ranges]


def _not_scalar(input, name):
    if not input.ndim:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")


def by_sizes(input, sizes, dim, name="SplitWithSizes"):
    """Views of the given sizes, which must add up to the dimension."""
    size = input.shape[dim]
    if any(n < 0 for n in sizes):
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {dim}), "
            f"but got split_sizes={list(sizes)}"
        )
    return pieces(input, dim, _from_sizes(sizes), name)


def by_size(input, length, dim, name="Split"):
    """Views of `length` along `dim`; the last may be shorter."""
    size = input.shape[dim]
    if length < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={length}")
    if not length and size:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return pieces(input, dim, [(i, min(i + length, size)) for i in range(0, size, length or 1)] or [(0, 0)], name)


@op(composite=True)
def split(tensor: Num, split_size_or_sections, dim=0):
    """Views of one size along `dim` (the last may be shorter), or of each of a list of sizes."""
    _not_scalar(tensor, "split")
    dim = wrap_dim(dim, tensor.ndim)
    if isinstance(split_size_or_sections, (tuple, list)):
        return by_sizes(tensor, as_ints(split_size_or_sections), dim)
    return by_size(tensor, as_int(split_size_or_sections, "split_size"), dim)


@op(composite=True)
def split_with_sizes(input: Num, split_sizes, dim=0):
    """Views of each of the given sizes along `dim`, which must add up to it."""
    _not_scalar(input, "split")
    return by_sizes(input, as_ints(split_sizes), wrap_dim(dim, input.ndim))


@op(composite=True)
def chunk(input: Num, chunks, dim=0):
    """At most `chunks` views of one size along `dim`; the last may be shorter, and there may be fewer."""
    _not_scalar(input, "chunk")
    chunks = as_int(chunks, "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if not size:
        return by_sizes(input, (0,) * chunks, dim)
    return by_size(input, -(-size // chunks), dim)


def _sections(input, count, dim):
    """Ranges of `count` parts that differ by one at most, the longer ones first."""
    size = input.shape[dim]
    if count <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {count}")
    short, longer = divmod(size, count)
    return _from_sizes([short + 1] * longer + [short] * (count - longer))


def _parts(input, given, dim):
    if isinstance(given, Tensor):
        if given.ndim > 1 or given.dtype.name != "int64":
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional int64 "
                f"tensor, but got a tensor with {given.ndim} dims and dtype {given.dtype}"
            )
        given = to_host(given).tolist()
    ranges = _sections(input, given, dim) if isinstance(given, int) else _from_bounds(as_ints(given), input.shape[dim])
    lead = (FULL,) * dim
    return tuple(
        [T.slice(input, (*lead, slice(start, stop))) for start, stop in ranges]
    )  # these may be written, as in PyTorch


@op(composite=True)
def tensor_split(input: Num, indices_or_sections=None, dim=0, *, indices=None, sections=None):
    """Views of nearly one size, so many as asked for (the first ones longer), or those between the indices given."""
    if not input.ndim:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    return _parts(input, _given(indices_or_sections, indices, sections), wrap_dim(dim, input.ndim))


def _even(name, input, given, dim, least):
    """Parts of exactly one size, or between indices."""
    if input.ndim < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.ndim} "
            "dimensions!"
        )
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"torch.{name} expects a positive number of sections, got {given}")
        if input.shape[dim] % given:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                f"{input.shape[dim]} is not divisible by the split_size {given}!"
            )
    return _parts(input, given, dim)


def _given(*given):
    return next((x for x in given if x is not None), None)


@op(composite=True)
def hsplit(input: Num, indices_or_sections=None, *, indices=None, sections=None):
    """Views of one size, or between indices, along dimension 1 (of a vector, along its only one)."""
    return _even("hsplit", input, _given(indices_or_sections, indices, sections), 0 if input.ndim == 1 else 1, 1)


@op(composite=True)
def vsplit(input: Num, indices_or_sections=None, *, indices=None, sections=None):
    """Views of one size, or between indices, along dimension 0."""
    return _even("vsplit", input, _given(indices_or_sections, indices, sections), 0, 2)


@op(composite=True)
def dsplit(input: Num, indices_or_sections=None, *, indices=None, sections=None):
    """Views of one size, or between indices, along dimension 2."""
    return _even("dsplit", input, _given(indices_or_sections, indices, sections), 2, 3)


@op(composite=True)
def unbind(input: Num, dim=0):
    """The views at each index of a dimension, which goes away."""
    if not input.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, input.ndim)
    lead = (FULL,) * dim
    return marked([T.slice(input, (*lead, i)) for i in range(input.shape[dim])], "Unbind")
