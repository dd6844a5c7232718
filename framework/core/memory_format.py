"""Memory formats: in which order the elements of a tensor lie in memory, and whether strides are of a format.

`channels_last` is no other shape, only other strides: a batch of images (N, C, H, W) whose memory runs N, H, W, C.
"""

from __future__ import annotations

from collections.abc import Sequence

from .shape import contiguous_strides


class memory_format:
    """A memory format: `contiguous_format`, `preserve_format`, `channels_last` (4-d), `channels_last_3d` (5-d)."""

    __slots__ = ("name", "order")
    name: str
    order: tuple[int, ...]  # the dimensions from the slowest to the fastest in memory; () for no fixed order

    def __init__(self, name: str, order: tuple[int, ...] = ()) -> None:
        self.name, self.order = name, order

    def __repr__(self) -> str:
        return f"framework.{self.name}"

    def __reduce__(self) -> str:
        return self.name


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))


def order_of(wanted: memory_format, ndim: int) -> tuple[int, ...]:
    """The memory order of a format for so many dimensions. RuntimeError if it is for another number of them."""
    if not wanted.order:
        return tuple(range(ndim))
    if ndim != len(wanted.order):
        raise RuntimeError(f"required rank {len(wanted.order)} tensor to use {wanted.name} format, got rank {ndim}")
    return wanted.order


def is_in_order(shape: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> bool:
    """Whether elements lie in memory without gaps in this order of dimensions; strides of dimensions of size 1 do not
    count.
    """
    if 0 in shape:
        return True
    step = 1
    for d in reversed(order):
        if shape[d] != 1:
            if strides[d] != step:
                return False
            step *= shape[d]
    return True


def strides_in_order(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of elements that lie in memory without gaps in this order of dimensions."""
    steps = contiguous_strides(tuple([shape[d] for d in order]))
    strides = [0] * len(shape)
    for d, step in zip(order, steps, strict=True):
        strides[d] = step
    return tuple(strides)


def dense_order(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...] | None:
    """The order of dimensions in which the elements lie without gaps or overlap; None if they do not."""
    order = tuple(sorted(range(len(shape)), key=lambda d: (-strides[d], shape[d] != 1)))
    return order if is_in_order(shape, strides, order) else None
