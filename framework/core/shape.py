"""Shapes: Size, dimension numbers and broadcasting, with PyTorch's errors."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

from backends.base import Shape


class Size(tuple[int, ...]):
    """A tensor's shape: a tuple of ints that also counts its elements."""

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements of a tensor of this shape."""
        return prod(self)

    def __repr__(self) -> str:
        return f"framework.Size({list(self)})"

    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return Size(item) if isinstance(key, slice) else item

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return Size(tuple(other) + tuple(self))

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...]]]:
        return Size, (tuple(self),)


def wrap_dim(d: Any, ndim: int) -> int:
    """A dimension number counted from the front. Raises IndexError outside [-ndim, ndim - 1] (a scalar has one
    dimension).
    """
    if type(d) is not int:
        d = as_int(d, "dim")
    n = ndim or 1
    if not -n <= d < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})")
    return d % n  # type: ignore[no-any-return]


def wrap_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """Dimension numbers counted from the front; None means all. Raises RuntimeError if one appears twice."""
    if dims is None:
        return tuple(range(ndim))
    if type(dims) is int:
        return (wrap_dim(dims, ndim),) if ndim else (wrap_dim(dims, ndim),)[:0]
    if not isinstance(dims, (tuple, list)):
        return (wrap_dim(dims, ndim),)[: 1 if ndim else 0]
    if not ndim:
        for d in dims:
            wrap_dim(d, 0)
        return ()
    wrapped = tuple([wrap_dim(d, ndim) for d in dims])
    if len(set(wrapped)) != len(wrapped):
        twice = next(d for d in wrapped if wrapped.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return wrapped


def as_int(value: Any, name: str) -> int:
    """An int from anything with `__index__`; TypeError otherwise."""
    try:
        return value.__index__()  # type: ignore[no-any-return]
    except AttributeError:
        raise TypeError(f"argument '{name}' must be int, not {type(value).__name__}") from None


def as_ints(values: Any, name: str = "size") -> tuple[int, ...]:
    """A tuple of ints from a tuple, list, Size, array or single int."""
    if isinstance(values, (tuple, list)) or (hasattr(values, "__iter__") and getattr(values, "ndim", 1) == 1):
        return tuple([v if type(v) is int else as_int(v, name) for v in values])
    return (as_int(values, name),)


def broadcast_shapes(shapes: Iterable[Shape], op: str = "") -> Shape:
    """The shape that operands of these shapes broadcast to. Raises RuntimeError naming the first pair of sizes that
    differ.
    """
    result: list[int] = []
    for shape in shapes:
        if len(shape) > len(result):
            result[:0] = [1] * (len(shape) - len(result))
        lead = len(result) - len(shape)
        for i, n in enumerate(shape):
            have = result[lead + i]
            if n == have or n == 1:
                continue
            if have != 1:
                raise RuntimeError(
                    f"The size of tensor a ({have}) must match the size of tensor b ({n}) at non-singleton "
                    f"dimension {lead + i}{f' ({op})' if op else ''}"
                )
            result[lead + i] = n
    return tuple(result)


def infer_size(shape: Shape, numel: int) -> Shape:
    """`shape` with its -1 filled in. Raises RuntimeError if the elements do not fit."""
    if -1 in shape or any(n < 0 for n in shape):
        if min(shape) < -1:
            raise RuntimeError(
                f"invalid shape dimension {min(shape)} at index {shape.index(min(shape))} of shape {list(shape)}"
            )
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        rest = prod([n for n in shape if n != -1])
        if rest == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension "
                "size -1 can be any value and is ambiguous"
            )
        if rest and numel % rest == 0:
            return tuple([numel // rest if n == -1 else n for n in shape])
    elif prod(shape) == numel:
        return shape
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")


def contiguous_strides(shape: Shape) -> tuple[int, ...]:
    """Element strides of a row-major array; a dimension of size 0 counts as 1."""
    strides, step = [], 1
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))
