"""How elements lie in memory: contiguity, memory formats, views by strides, bytes read as another dtype."""

from __future__ import annotations

from framework.core.memory_format import (
    contiguous_format,
    dense_order,
    is_in_order,
    order_of,
    preserve_format,
    strides_in_order,
)
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_int, as_ints
from framework.core.storage import Storage, View, storage_of
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Num
from framework.dispatch.views import self_overlapping
from framework.ops.become import in_place_view

copied, laid_out = T.clone, T.contiguous


# ---------------------------------------------------------------- contiguity
def is_contiguous(self: Tensor, memory_format=contiguous_format) -> bool:
    """Whether the elements lie in memory without gaps, in row-major order or in that of a memory format."""
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    if not memory_format.order:
        a = self.array
        if type(a).__module__ == "numpy":
            return bool(a.flags.c_contiguous)
    elif self.ndim != len(memory_format.order):
        return False
    return is_in_order(self.shape, self.stride(), order_of(memory_format, self.ndim))


def in_order(input: Tensor, order: tuple[int, ...]) -> Tensor:
    """A copy of `input` whose elements lie in this order of dimensions."""
    out = laid_out(input, order)
    if out.level is None and not out.backend.aliasing and order != tuple(range(out.ndim)):
        lay_out(out, order)
    return out


def lay_out(t: Tensor, order: tuple[int, ...]) -> None:
    """Give a new tensor of a backend without strides the geometry of elements in this order."""
    b, back = t.backend, sorted(range(t.ndim), key=order.__getitem__)
    t.storage = memory = Storage()
    memory.add(t)
    storage_of(t)
    assert t._view is not None
    memory.flat = b.reshape(b.permute(t.array, order), (-1,))
    t._view = View(None, None, t._view.shadow.reshape([t.shape[d] for d in order]).transpose(back))


@op(composite=True, spaces=("method",))
def contiguous(input: Num, memory_format=contiguous_format):
    """The tensor itself if its elements lie in that order in memory, else a copy where they do.

    memory_format: `contiguous_format` (row-major), `channels_last` for 4 dimensions, `channels_last_3d` for 5.
    """
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    order = order_of(memory_format, input.ndim)
    return input if is_in_order(input.shape, input.stride(), order) else in_order(input, order)


def converted(input: Tensor, memory_format) -> Tensor:
    """The tensor itself if it has exactly the strides of a memory format, also along dimensions of size 1, else a copy
    that has.
    """
    if memory_format is None or memory_format is preserve_format:
        return input
    order = order_of(memory_format, input.ndim)
    return input if input.stride() == strides_in_order(input.shape, order) else in_order(input, order)


@op(composite=True)
def clone(input: Num, *, memory_format=preserve_format):
    """A copy with history: its gradient goes to `input`.

    memory_format: `preserve_format` keeps the order in memory of a tensor without gaps or overlap, and makes others
    contiguous.
    """
    if memory_format is None or memory_format is preserve_format:
        if input.level is None and not input.backend.aliasing and input._view is not None:
            order = dense_order(input.shape, input.stride())
            if order is not None and order != tuple(range(input.ndim)):
                return in_order(input, order)
        return copied(input)
    return in_order(input, order_of(memory_format, input.ndim))


# ---------------------------------------------------------------- by strides
@op(composite=True)
def as_strided(input: Num, size, stride, storage_offset=None):
    """The view of the input's storage with this shape, these strides and this offset, in elements.

    The offset is the input's own unless given. RuntimeError for negative strides and for elements outside the storage.
    """
    size, stride = as_ints(size, "size"), as_ints(stride, "stride")
    own = input.stride(), input.storage_offset()
    offset = own[1] if storage_offset is None else as_int(storage_offset, "storage_offset")
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(s < 0 for s in stride):
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    if input.level is None and not input.backend.aliasing and input._view is not None and input._view.base is not None:
        input = input._view.base
        own = input.stride(), 0
    count = _storage_count(input)
    last = offset + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)]) if 0 not in size else -1
    if last >= count:
        item = input.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {(last + 1) * item} are out of bounds for storage of size {count * item}"
        )
    geometry = tuple(input.shape), own[0], own[1], count, input.level is None and self_overlapping(input)
    return T.strided(input, size, stride, offset - own[1], geometry)


def _storage_count(x: Tensor) -> int:
    """The number of elements in a tensor's storage."""
    while x.level is not None:
        x = x.value  # type: ignore[attr-defined]
    x = x._view.base if x._view is not None and x._view.base is not None else x
    shape, strides = tuple(x.shape), x.stride()
    return 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


# ---------------------------------------------------------------- bytes
def view_dtype(input: Tensor, dtype) -> Tensor:
    """The memory of `input` read as another dtype. Where arrays do not alias, the bytes are copied."""
    if dtype is input.dtype:
        return T.view(input, tuple(input.shape))
    have, want = input.dtype.itemsize, dtype.itemsize
    if have != want:
        names = f"to view {scalar_type_name(input.dtype)} as {scalar_type_name(dtype)} (different element sizes)"
        if not input.ndim:
            raise RuntimeError(f"self.dim() cannot be 0 {names}")
        if input.stride(-1) != 1 and input.shape[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 {names}, but got {input.stride(-1)}")
        if want > have and input.shape[-1] * have % want:
            raise RuntimeError(f"self.size(-1) must be divisible by {want // have} {names}, but got {input.shape[-1]}")
    return T.view_bytes(input, dtype)


T.view_dtype = view_dtype
attach(is_contiguous=is_contiguous, as_strided_=in_place_view("as_strided_", as_strided))
