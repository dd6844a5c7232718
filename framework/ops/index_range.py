"""Integer index tensors before a backend sees them: their dtype, their range, negative numbers counted from the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from backends.dtypes import int32, int64
from framework.core.indexing import check_bounds
from framework.core.promotion import scalar_type_name
from framework.core.tensor import Tensor, arr, make
from framework.dispatch.registry import T


def sizes(t: Tensor) -> tuple[int, ...]:
    """The shape as a plain tuple."""
    a = t.array
    return tuple(t.shape) if a is None else a.shape


def extent(index: Tensor) -> tuple[int, int] | None:
    """The smallest and the largest element (of all examples, inside vmap); None if there are none.

    On a backend that remembers the ranges of its arrays (`backend.ranges`) only the first question costs a reduction.
    """
    while index.level is not None:
        index = index.value
    a, b = arr(index), index.backend
    if 0 in a.shape:
        return None
    ranges = getattr(b, "ranges", None)
    found = None if ranges is None else ranges.get(a)
    if found is None:
        found = int(b.amin(a, None, False)), int(b.amax(a, None, False))
        if ranges is not None:
            ranges.add(a, *found)
    return found


def natural(index: Tensor, size: int) -> bool:
    """Whether every element is known to lie in [0, size). A host array takes one reduction: negatives read as huge."""
    a = index.array
    if type(a) is np.ndarray and a.dtype == np.int64:
        return not a.size or bool(np.maximum.reduce(a.view(np.uint64), None) < size)
    found = extent(index)
    return found is not None and found[0] >= 0 and found[1] < size


def check_range(input, dim, index, *rest) -> None:
    """IndexError for an element outside [-size, size): what the primitives check where the backend does not."""
    found = extent(index)
    if found is not None and input.shape:
        check_bounds(*found, input.shape[dim], dim)


def check_elements(input, dim, index, *rest) -> None:
    """RuntimeError for an element outside [0, size): the same for `gather`, `scatter` and their kin."""
    size = input.shape[dim] if input.shape else 1
    check_natural(index, size, out_of_bounds(dim, size, RuntimeError))


def from_start(index: Tensor, size: int, dim: int) -> Tensor:
    """`index` with negative numbers counted from the end; IndexError for one out of range."""
    if natural(index, size):
        return index
    found = extent(index)
    if found is not None:
        check_bounds(*found, size, dim)
    if found is None or found[0] >= 0:
        return index
    return T.where(T.lt(index, 0), T.add(index, size), index)


def check_natural(index: Tensor, size: int, error: Callable[[int], Exception]) -> None:
    """Raise `error(i)` for an element i outside [0, size)."""
    if not natural(index, size):
        found = extent(index)
        if found is not None and (found[0] < 0 or found[1] >= size):
            raise error(found[0] if found[0] < 0 else found[1])


def out_of_bounds(dim: int, size: int, kind: type[Exception] = IndexError, op: str = "") -> Callable[[int], Exception]:
    """The usual error of an index out of range, for `check_natural`."""
    return lambda i: kind(f"{op}index {i} is out of bounds for dimension {dim} with size {size}")


def as_int64(index: Tensor, op: str, text: str = "", kind: type[Exception] = RuntimeError) -> Tensor:
    """An int32 or int64 index as int64; `kind` with PyTorch's text for any other dtype."""
    if index.dtype is int64:
        return index
    if index.dtype is int32 or not index.numel():  # an index without elements may have any dtype
        return T.to_dtype(index, int64)
    raise kind(text or f"{op}(): Expected dtype int32/int64 for index but got: {scalar_type_name(index.dtype)}")


def only_int64(index: Tensor, op: str) -> None:
    """RuntimeError unless the index is int64."""
    if index.dtype is not int64:
        raise RuntimeError(f"{op}(): Expected a long tensor for index, but got {scalar_type_name(index.dtype)}")


def on_device_of(x: Tensor, index: Tensor) -> Tensor:
    """The index where x is: one on the CPU goes anywhere; RuntimeError for any other device."""
    if index.backend is x.backend:
        return index
    if index.backend.name != "cpu":
        raise RuntimeError(
            f"indices should be either on cpu or on the same device as the indexed tensor ({x.device}), got "
            f"{index.device}"
        )
    return T.to_device(index, x.backend)


def from_host(x: Tensor, a: np.ndarray) -> Tensor:
    """A NumPy index where x is."""
    return make(x.backend, x.backend.asarray(a))
