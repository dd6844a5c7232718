"""What an index expression means: PyTorch's rules for `x[key]`, decided from the key and the shape of x alone.

`basic(key, shape)` answers the common keys (ints, slices, None, Ellipsis) with one normalised key: one strided view.
`plan(key, shape)` answers every key with a `Plan`: the view that comes first, the index tensors applied to it, and
where their dimensions go. The rules, where they differ from NumPy's:

* ints (0-d integer tensors too) are selected first, as views, and do not count when index tensors are called adjacent:
  `x[0, :, [0, 1]]` on (2, 3, 4) is (3, 2), not (2, 3);
* a list that is the whole key and holds a sequence, a slice, a tensor, None or Ellipsis stands for a tuple;
* steps are positive; `True` and `False` make a new axis of length 1 or 0; uint8 tensors are masks.

Where PyTorch's own behaviour is a defect it is not followed: floats in a list or a NumPy array are an error, not
truncated; masks given as lists or NumPy arrays count all their dimensions; after the first Ellipsis the others stand
for nothing.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from backends.dtypes import bool_, dtype, int64

__all__ = ["Index", "Plan", "basic", "check_bounds", "joint_shape", "plan"]

BasicKey = tuple[int | slice | None, ...]
FULL = slice(None)


class Index(NamedTuple):
    """One index tensor of a plan: its first dimension in the plan's view, and the index.

    `value` is a NumPy array (from bools, lists and arrays) or the tensor that the key held; of integers, which are not
    range-checked, or, if `mask`, of bools (or uint8): then it stands for the columns of its `nonzero`, one for each of
    the dimensions `dim, ..., dim + value.ndim - 1`, whose sizes it has.
    """

    dim: int
    value: Any
    mask: bool


class Plan(NamedTuple):
    """`x[key]` in steps: the view `x[plan.key]` (of shape `shape`), then the `selects`, then the `indices` together.

    `selects` are 0-d integer tensors (dimension of the view, tensor) whose value is not to be read on the host: each
    takes its dimension away. The `indices` count dimensions after that. They broadcast to one shape, which replaces the
    indexed dimensions: at `place`, which is the first of them if they are adjacent, else 0. Without selects and indices
    the view is the answer, otherwise it is a new tensor.
    """

    key: BasicKey
    shape: tuple[int, ...]
    selects: tuple[tuple[int, Any], ...]
    indices: tuple[Index, ...]
    place: int


def basic(key: object, shape: tuple[int, ...]) -> BasicKey | None:
    """The key of one strided view, if `key` consists of ints, slices, None and Ellipsis, else None (then ask `plan`).

    In the result ints lie in [0, size), slices have bounds in [0, size] and a positive step, and there is no Ellipsis;
    it may be shorter than the shape. IndexError for too many indices and ints out of range, ValueError for a negative
    step.
    """
    kind = type(key)
    if kind is int:
        if shape:
            size = shape[0]
            if 0 <= key < size:  # type: ignore[operator]
                return (key,)  # type: ignore[return-value]
            if -size <= key < 0:  # type: ignore[operator]
                return (key + size,)  # type: ignore[operator]
        raise _select_error(key, shape, 0)
    if kind is slice:
        if not shape:
            raise IndexError("slice() cannot be applied to a 0-dim tensor")
        return (_slice(key, shape[0]),)  # type: ignore[arg-type]
    if kind is tuple:
        try:
            return _basic_tuple(key, shape)  # type: ignore[arg-type]
        except (IndexError, ValueError, TypeError):
            error = _first_error(key, shape)
            if error is None:
                raise
            raise error from None
    if key is None:
        return (None,)
    if key is Ellipsis:
        return ()
    return None


def _basic_tuple(key: tuple[Any, ...], shape: tuple[int, ...]) -> BasicKey | None:
    out: list[int | slice | None] = []
    dim, ndim, expanded = 0, len(shape), False
    for position, k in enumerate(key):
        kind = type(k)
        if kind is int:
            if dim < ndim:
                size = shape[dim]
                if 0 <= k < size:
                    out.append(k)
                elif -size <= k < 0:
                    out.append(k + size)
                else:
                    raise _select_error(k, shape, dim)
            dim += 1
        elif kind is slice:
            if dim < ndim:
                out.append(_slice(k, shape[dim]))
            dim += 1
        elif k is None:
            out.append(None)
        elif k is Ellipsis:
            if not expanded:
                expanded, used = True, 0
                for later in key[position + 1 :]:
                    kind = type(later)
                    if kind is int or kind is slice:
                        used += 1
                    elif later is not None and later is not Ellipsis:
                        return None
                for size in shape[dim : ndim - used]:
                    out.append(slice(0, size, 1))
                    dim += 1
        else:
            return None
    if dim > ndim:
        raise _too_many(dim, shape)
    return tuple(out)


def plan(key: object, shape: Sequence[int], as_int: Callable[[Any], int | None] = operator.index) -> Plan:
    """Everything about `x[key]` for x of the given shape, without touching x.

    A tensor in the key is what has a `dtype` of ours, `shape` and `ndim`. `as_int` reads a 0-d integer tensor: None
    says that its value is not to be read, and leaves it to the plan's `selects`. 0-d masks are read with `bool`.

    Errors as PyTorch's: IndexError for too many indices, ints out of range, masks of the wrong shape, tensors of
    another dtype than long, int, byte, bool, and objects that are no index; ValueError for a negative step; TypeError
    for strings and for slice bounds that are no ints. Integers in index tensors are checked when they are used
    (`check_bounds`).
    """
    if _is_tensor(key) and (quick := _lone(key, tuple(shape))) is not None:
        return quick
    items = [_classify(k) for k in _as_tuple(key)]
    used = 0
    for k in items:
        used += _consumed(k)
    shape = tuple(shape)
    if used > len(shape):
        if len(items) == 1:
            basic(items[0], shape)  # x[0] and x[:] of a 0-d tensor have errors of their own
        raise _too_many(used, shape)

    out: list[int | slice | None] = []
    view: list[int] = []  # the shape of the view, as far as it is known
    selects: list[tuple[int, Any]] = []
    indices: list[Index] = []
    dim = 0  # of x
    for k in items:
        if k is None:
            out.append(None)
            view.append(1)
        elif k is Ellipsis:
            skipped = len(shape) - used
            out += [FULL] * skipped
            view += shape[dim : dim + skipped]
            dim, used = dim + skipped, len(shape)
        elif type(k) is bool:
            indices.append(Index(len(view) - len(selects), np.zeros(int(k), np.int64), False))
            out.append(None)
            view.append(1)
        elif type(k) is int:
            out.append(_wrap(k, shape, dim))
            dim += 1
        elif type(k) is slice:
            part = _slice(k, shape[dim])
            length = len(range(part.start, part.stop, part.step))
            out.append(FULL if length == shape[dim] else part)
            view.append(length)
            dim += 1
        elif k.ndim == 0 and (number := as_int(k)) is not None:
            out.append(_wrap(number, shape, dim))
            dim += 1
        else:
            width = _consumed(k)
            if k.ndim == 0:
                selects.append((len(view), k))
            else:
                indices.append(_advanced(k, len(view) - len(selects), shape, dim))
            out += [FULL] * width
            view += shape[dim : dim + width]
            dim += width
    whole = all([k is FULL for k in out])
    return Plan(() if whole else tuple(out), (*view, *shape[dim:]), tuple(selects), tuple(indices), _place(indices))


def _first_error(key: object, shape: tuple[int, ...]) -> Exception | None:
    """Of the several errors that a key may have, the one that PyTorch finds first."""
    try:
        plan(key, shape)
    except (IndexError, ValueError, TypeError) as e:
        return e
    return None


def _lone(key: Any, shape: tuple[int, ...]) -> Plan | None:
    """The plan of the commonest keys that are no view: one integer tensor, one mask that fits."""
    size = tuple(key.shape)
    if not size or not shape:
        return None
    if key.dtype is int64:
        return Plan((), shape, (), (Index(0, key, False),), 0)
    if key.dtype is bool_ and shape[: len(size)] == size:
        return Plan((), shape, (), (Index(0, key, True),), 0)
    return None


def check_bounds(low: int, high: int, size: int, dim: int) -> None:
    """IndexError unless low to high index a dimension of this size; negative integers count from its end."""
    if low < -size or high >= size:
        if size == 0:
            raise IndexError(f"index is out of bounds for dimension {dim} with size 0")
        bad = low if low < -size else high
        raise IndexError(f"index {bad} is out of bounds for dimension {dim} with size {size}")


def joint_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that index tensors of these shapes broadcast to; IndexError if they do not."""
    if len(shapes) == 1:
        return shapes[0]
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    joint = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            listed = ", ".join(str(list(s)) for s in shapes)
            raise IndexError(
                f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}; "
                "a mask counts as one index of as many elements as it has True values"
            )
        joint.append(wide.pop() if wide else 1)
    return tuple(joint)


# ------------------------------------------------------------------------------------------------ what a key is made of
def _as_tuple(key: Any) -> tuple[Any, ...]:
    """The indices in a key: a tuple's own, those of a short list that stands for a tuple, or the key alone."""
    if isinstance(key, tuple):
        return key
    if _is_tensor(key) or not _is_sequence(key) or isinstance(key, (np.ndarray, str, bytes, range)):
        return (key,)
    items = list(key)
    if len(items) < 32 and any(
        k is None or k is Ellipsis or type(k) is slice or _is_tensor(k) or _is_sequence(k) for k in items
    ):
        warnings.warn(
            "Using a non-tuple sequence for multidimensional indexing is deprecated; write x[tuple(seq)] instead of "
            "x[seq], or x[seq,] to index with all of it as one tensor",
            UserWarning,
            stacklevel=4,
        )
        return tuple(items)
    return (key,)


def _classify(k: Any) -> Any:
    """An index as one of: None, Ellipsis, bool, int, slice, int64 or bool NumPy array, integer or mask tensor."""
    kind = type(k)
    if kind is int or kind is slice or k is None or k is Ellipsis or kind is bool:
        return k
    if _is_tensor(k):
        if k.dtype is int64:
            return k
        if _is_mask(k):
            return bool(k) if k.ndim == 0 else k
        if (k.dtype.kind == "i" and k.dtype.itemsize >= 4) or (k.dtype.kind in "iu" and k.ndim == 0):
            return k
        raise _bad_dtype(k.dtype)
    if isinstance(k, np.ndarray):
        return _from_numpy(np.asarray(k), True)
    if isinstance(k, np.generic):
        if isinstance(k, np.integer):
            return int(k)
        raise _not_an_index(k)
    if _is_sequence(k):
        if isinstance(k, (str, bytes)):
            raise _not_an_index(k)
        if isinstance(k, range):
            return np.arange(k.start, k.stop, k.step, dtype=np.int64)
        return _from_numpy(_host_array(k), False)
    try:
        return operator.index(k)
    except TypeError:
        raise _not_an_index(k) from None


def _host_array(sequence: Any) -> np.ndarray[Any, Any]:
    try:
        return np.array(sequence if hasattr(sequence, "__array__") else list(sequence))
    except ValueError as e:
        raise ValueError(f"index: expected sequences of equal lengths, got {sequence!r}") from e


def _from_numpy(array: np.ndarray[Any, Any], given: bool) -> Any:
    """A host index: an int or bool if it has no dimension, else an int64 or bool array. Given uint8 is a mask."""
    kind = array.dtype.kind
    if array.dtype == np.uint8 and given:
        _warn_uint8()
        array = array != 0
    elif kind in "iu" or (array.size == 0 and kind == "f"):
        if array.dtype == np.uint64 and array.size and array.max() >= 2**63:
            raise IndexError(f"index {array.max()} is out of bounds: it does not fit in a signed integer of 64 bits")
        array = array.astype(np.int64, copy=False)
    elif kind != "b":
        raise _bad_dtype(array.dtype) if kind == "f" or kind == "c" and given else _not_an_index(array)
    return array.item() if array.ndim == 0 else array


def _advanced(index: Any, at: int, shape: tuple[int, ...], dim: int) -> Index:
    """The entry of an array or tensor that indexes x from `dim` on and the view from `at` on."""
    if not _is_mask(index):
        return Index(at, index, False)
    for offset, size in enumerate(index.shape):
        if shape[dim + offset] != size:
            raise IndexError(
                f"The shape of the mask {list(index.shape)} at index {offset} does not match the shape of the indexed "
                f"tensor {list(shape)} at index {dim + offset}"
            )
    if index.dtype.kind == "u":
        _warn_uint8()
    return Index(at, index, True)


def _consumed(k: Any) -> int:
    """How many dimensions of x an index takes."""
    if k is None or k is Ellipsis or type(k) is bool:
        return 0
    return 1 if type(k) is int or type(k) is slice or not _is_mask(k) else k.ndim


def _is_tensor(k: object) -> bool:
    return type(getattr(k, "dtype", None)) is dtype


def _is_mask(index: Any) -> bool:
    kind = index.dtype.kind
    return bool(kind == "b" or (kind == "u" and index.dtype.itemsize == 1))


def _is_sequence(k: object) -> bool:
    return hasattr(type(k), "__getitem__") and hasattr(type(k), "__len__") and not isinstance(k, dict)


def _wrap(k: int, shape: tuple[int, ...], dim: int) -> int:
    size = shape[dim]
    if -size <= k < size:
        return k if k >= 0 else k + size
    raise _select_error(k, shape, dim)


def _slice(k: slice, size: int) -> slice:
    start, stop, step = k.indices(size)
    if step < 0:
        raise ValueError(f"step must be greater than zero, got {step}; use flip for the reverse order")
    return slice(start, stop if stop > start else start, step if step <= size else max(size, 1))


def _place(indices: list[Index]) -> int:
    """The first indexed dimension, if they are adjacent, else 0."""
    end = place = indices[0].dim if indices else 0
    if len(indices) == 1:
        return place
    for index in indices:
        if index.dim != end:
            return 0
        end += index.value.ndim if index.mask else 1
    return place


# --------------------------------------------------------------------------------------------------------------- errors
def _select_error(index: object, shape: tuple[int, ...], dim: int) -> IndexError:
    if not shape:
        return IndexError("invalid index of a 0-dim tensor. Use `tensor.item()` to convert a 0-dim tensor to a number")
    return IndexError(f"index {index} is out of bounds for dimension {dim} with size {shape[dim]}")


def _too_many(used: int, shape: tuple[int, ...]) -> IndexError:
    return IndexError(f"too many indices for tensor of dimension {len(shape)} (got {used}, shape {list(shape)})")


def _bad_dtype(dtype: Any) -> IndexError:
    return IndexError(f"tensors used as indices must be long, int, byte or bool tensors (got {dtype})")


def _not_an_index(k: object) -> Exception:
    text = (
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
        f"(got {type(k).__name__}{f' of {k.dtype}' if isinstance(k, np.ndarray) else ''})"
    )
    return TypeError(text) if _is_sequence(k) else IndexError(text)


def _warn_uint8() -> None:
    warnings.warn(
        "indexing with dtype uint8 is now deprecated, please use a dtype bool instead", UserWarning, stacklevel=6
    )
