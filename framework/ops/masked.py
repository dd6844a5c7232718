"""Masks: filling, selecting and replacing where a bool tensor is True, and the coordinates of what is not zero."""

from __future__ import annotations

from backends.dtypes import bool_
from framework.core.number import as_number
from framework.core.promotion import scalar_type_name
from framework.core.shape import broadcast_shapes
from framework.core.tensor import FAST, Tensor, arr
from framework.dispatch.inplace import assigned, check_writable
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Index, Num
from framework.ops.getitem import FULL, positions
from framework.ops.setitem import is_plain, noticed, unlinked

coordinates, select_rows, copy_rows = T.nonzero, T.index_select, T.index_copy


def _filling(input, mask, value, native=False):
    """The value of masked_fill as a tensor without dimensions, of input's dtype; or as a number or native array."""
    if mask.dtype is not bool_:
        raise RuntimeError(
            f"masked_fill_ only supports boolean masks, but got mask with dtype {scalar_type_name(mask.dtype)}"
        )
    if not isinstance(value, Tensor):
        number = as_number(value, input.dtype)
        return number if native else T.full((), number, input)
    if value.ndim:
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )
    if value.dtype.is_complex and not input.dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {input.dtype.name} without overflow (masked_fill)")
    if value.backend is not input.backend:
        value = T.to_device(value, input.backend)
    value = T.astype(value, input.dtype)
    return arr(value) if native else value


@op(composite=True)
def masked_fill(input: Num, mask: Index, value):
    """`input` with a number or 0-d tensor where the bool `mask` is True; the two broadcast against each other."""
    return T.where(mask, _filling(input, mask, value), input)


def masked_fill_(self, mask, value):
    """In-place form of `masked_fill`: the mask broadcasts to this tensor."""
    if type(mask) in FAST and is_plain(self, mask, value):
        check_writable(self, "masked_fill_")
        filling = _filling(self, mask, value, True)
        shape, of_mask = self.array.shape, arr(mask).shape
        if shape == of_mask or broadcast_shapes([shape, of_mask], "masked_fill_") == shape:
            self.backend.write_where(self.array, arr(mask), filling)
            noticed(self, "masked_fill_")
            return self
    return assigned(masked_fill.entry, "masked_fill_", self, (mask, value), {})


@op(composite=True)
def masked_select(input: Num, mask: Index):
    """The elements where the bool `mask` is True, in row-major order; input and mask broadcast against each other."""
    if mask.dtype is not bool_:
        raise RuntimeError(f"masked_select: expected BoolTensor for mask, got {scalar_type_name(mask.dtype)}")
    shape = broadcast_shapes([tuple(input.shape), tuple(mask.shape)], "masked_select")
    if tuple(input.shape) != shape:
        input = T.expand(input, shape)
    if tuple(mask.shape) != shape:
        mask = T.expand(mask, shape)
    return select_rows(T.reshape(input, (-1,)), 0, positions(input, mask))


@op(composite=True, inplace=True)
def masked_scatter(input: Num, mask: Index, source: Num):
    """`input` with the elements where the bool `mask` is True replaced by the first elements of `source`, in order."""
    if mask.dtype is not bool_:
        raise RuntimeError(
            f"masked_scatter_ only supports boolean masks, but got mask with dtype {scalar_type_name(mask.dtype)}"
        )
    if source.dtype is not input.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{scalar_type_name(input.dtype)} and {scalar_type_name(source.dtype)}"
        )
    shape = broadcast_shapes([tuple(input.shape), tuple(mask.shape)], "masked_scatter")
    if tuple(input.shape) != shape:
        input = T.expand(input, shape)
    if tuple(mask.shape) != shape:
        mask = T.expand(mask, shape)
    at = positions(input, mask)
    count = at.shape[0]
    if source.numel() < count:
        raise RuntimeError(
            f"Number of elements of source < number of ones in mask: {source.numel()} < {count} (masked_scatter)"
        )
    values = T.slice(T.reshape(source, (-1,)), (slice(0, count, 1),))
    return unlinked(T.reshape(copy_rows(T.reshape(input, (-1,)), 0, at, values), shape))


@op(composite=True)
def nonzero(input: Num, *, as_tuple=False):
    """The coordinates of the elements that are not zero: int64 of shape (count, ndim), in row-major order.

    as_tuple: one vector of coordinates for each dimension instead, which index the input (a 0-d input counts as 1-d).
    """
    if not as_tuple:
        return coordinates(input)
    found = coordinates(input if input.ndim else T.reshape(input, (1,)))
    return tuple([T.slice(found, (FULL, d)) for d in range(found.shape[1])])


@op(composite=True)
def argwhere(input: Num):
    """The coordinates of the elements that are not zero: `nonzero(input)`."""
    return coordinates(input)


attach(masked_fill_=masked_fill_)
