"""What `tensor(data)` and `from_numpy(array)` make of their argument: a NumPy array and a dtype.

Nested sequences are flattened one level at a time, so that the work per number is done by the interpreter's C loops
and by NumPy; the set of leaf types then decides the dtype. bfloat16 results come as float32 arrays: a backend rounds
them once.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, NoReturn

import numpy as np

from backends.dtypes import ALL, bfloat16, bool_, dtype, float16, uint64

from . import defaults
from .promotion import promote_types, scalar_type_name

__all__ = ["check_ndarray", "data_to_numpy", "host_cast"]

Array = np.ndarray[Any, Any]
ReadTensor = Callable[[Any], "tuple[Array, dtype] | None"]

MAX_DIMS = 64  # NumPy's own limit
_NUMBERS = frozenset({bool, int, float, complex})
_LISTS = frozenset({list, tuple})
_PLAIN = _NUMBERS | _LISTS
_NATIVE = {d: np.dtype(d.name) for d in ALL if d is not bfloat16} | {bfloat16: np.dtype(np.float32)}
_DTYPE_OF = {native: d for d, native in _NATIVE.items() if d is not bfloat16}


def _no_tensors(element: Any) -> tuple[Array, dtype] | None:
    return None


def data_to_numpy(data: Any, d: dtype | None = None, read_tensor: ReadTensor = _no_tensors) -> tuple[Array, dtype]:
    """Read numbers, nested sequences, arrays or tensors into a fresh NumPy array and say which dtype they stand for.

    d: the dtype asked for, or None to infer it: bool, int64, the default dtype and its complex counterpart for Python
    numbers, the own dtype of NumPy scalars, arrays and tensors; several promote pairwise. Without numbers it is the
    default dtype. read_tensor: gives the array and dtype of a tensor, and None for everything else. Returns the array
    (float32 where the dtype is bfloat16) and the dtype.

    ValueError: ragged sequences; integers beyond 64 bits; too many dimensions. RuntimeError: a number out of the
    range of an integer dtype that was asked for; an object of no dtype. TypeError: strings, numbers where sequences
    stand elsewhere, complex numbers for a real dtype, arrays of a type that no dtype stands for.
    """
    if type(data) not in _PLAIN:
        whole = _as_array(data, read_tensor)
        if whole is not None:
            array, found = whole
            return host_cast(array, d or found, copy=True), d or found
    values, types, shape = _flatten(data, read_tensor)
    if types.keys() <= _NUMBERS:
        target = d or _promote(map(defaults.number_dtype, types)) or defaults.get_default_dtype()
    else:
        values, inferred = _resolve(values, types, read_tensor, d)
        target, types = d or inferred, dict.fromkeys(map(type, values))
    packed = _pack(values, types, target)
    return packed if len(shape) == 1 else packed.reshape(shape), target


def _as_array(data: Any, read_tensor: ReadTensor) -> tuple[Array, dtype] | None:
    """A tensor, an array, or what can make itself an array; None for the rest."""
    if isinstance(data, np.ndarray):
        return data, check_ndarray(data)
    if isinstance(data, (np.generic, str, bytes)):
        return None
    tensor = read_tensor(data)
    if (
        tensor is None
        and not isinstance(data, type)
        and (hasattr(data, "__array__") or hasattr(data, "__array_interface__"))
    ):
        array = np.asarray(data)
        return array, check_ndarray(array)
    return tensor


# ---------------------------------------------------------------- nested sequences to a flat list
def _is_sequence(t: type) -> bool:
    if t is list or t is tuple:
        return True
    if issubclass(t, (str, bytes, np.generic, Mapping)):
        return False
    return hasattr(t, "__len__") and hasattr(t, "__getitem__")


def _splits(types: Iterable[type], level: list[Any], read_tensor: ReadTensor) -> list[bool]:
    """For each type whether its objects have elements. Tensors and 0-d arrays have none: they are numbers here."""
    found = []
    for t in types:
        splits = _is_sequence(t)
        if splits and t is not list and t is not tuple:
            example: Any = next(x for x in level if type(x) is t)
            if issubclass(t, np.ndarray):
                splits = example.ndim > 0
            elif read_tensor(example) is not None:
                splits = False
        found.append(splits)
    return found


def _flatten(data: Any, read_tensor: ReadTensor) -> tuple[list[Any], dict[type, None], list[int]]:
    """The numbers in `data` in order, their types in order of appearance, and the shape of `data`."""
    level: list[Any] = [data]
    shape: list[int] = []
    while True:
        types = dict.fromkeys(map(type, level))
        if types.keys() <= _NUMBERS:
            return level, types, shape
        if not types.keys() <= _LISTS:
            if type(level[0]) is str and shape:
                raise ValueError("too many dimensions 'str'")
            splits = _splits(types, level, read_tensor)
            if not any(splits):
                return level, types, shape
            if not all(splits):
                _raise_mixed(types, splits, level, len(shape))
        if len(shape) == MAX_DIMS or (not shape and _depth(data) > MAX_DIMS):
            raise ValueError(f"too many dimensions '{type(level[0]).__name__}': at most {MAX_DIMS}")
        lengths = dict.fromkeys(map(len, level))
        if len(lengths) > 1:
            first, other = list(lengths)[:2]
            raise ValueError(f"expected sequence of length {first} at dim {len(shape)} (got {other})")
        shape.append(len(level[0]))
        if types.keys() == {np.ndarray} and len({(x.shape, x.dtype) for x in level}) == 1:
            stacked = np.stack(level)
            level = list(stacked.reshape(-1))  # NumPy scalars: they remember the dtype
            return level, dict.fromkeys(map(type, level)), [*shape, *stacked.shape[2:]]
        level = list(chain.from_iterable(level)) if len(level) > 1 else list(level[0])


def _depth(x: Any) -> int:
    """How deep the first elements nest, counted up to just above the limit: a list that holds itself has no end."""
    depth = 0
    while type(x) in (list, tuple) and x and depth <= MAX_DIMS:
        x, depth = x[0], depth + 1
    return depth


def _raise_mixed(types: Iterable[type], splits: list[bool], level: list[Any], dim: int) -> NoReturn:
    sequence = next(t.__name__ for t, s in zip(types, splits, strict=True) if s)
    number = next(t for t, s in zip(types, splits, strict=True) if not s)
    if issubclass(number, (str, bytes)):
        raise TypeError(f"invalid data type '{number.__name__}'")
    if type(level[0]).__name__ == sequence:
        raise TypeError(
            f"not a sequence: {number.__name__} at dim {dim}, where a {sequence} of length {len(level[0])} is expected"
        )
    raise TypeError(
        f"'{sequence}' object cannot be interpreted as a number, as its neighbour of type {number.__name__} is"
    )


# ---------------------------------------------------------------- which dtype
def _resolve(
    leaves: list[Any], types: dict[type, None], read_tensor: ReadTensor, asked: dtype | None
) -> tuple[list[Any], dtype]:
    """Leaves of any type as numbers that NumPy reads, and the dtype they promote to (or the one that is asked for)."""
    found: list[dtype] = []
    opaque: dict[type, None] = {}  # types whose objects have to be asked one by one
    for t in types:
        if t in _NUMBERS:
            found.append(defaults.number_dtype(t))
        elif issubclass(t, (str, bytes)):
            raise TypeError(f"invalid data type '{t.__name__}'")
        elif issubclass(t, np.generic):
            native = np.dtype(t)
            if native not in _DTYPE_OF and native.name != "bfloat16" and (asked is None or native.kind not in "fc"):
                raise _unsupported(native)
            found.append(_DTYPE_OF.get(native, bfloat16))
        elif issubclass(t, (int, float, complex)):
            found.append(defaults.number_dtype(t))
        else:
            opaque[t] = None
    if opaque:
        leaves = [_number(x, read_tensor, found, asked) if type(x) in opaque else x for x in leaves]
    return leaves, asked or _promote(found) or defaults.get_default_dtype()


def _number(x: Any, read_tensor: ReadTensor, found: list[dtype], asked: dtype | None) -> Any:
    """The number that a 0-d array, a tensor of one element or, if a dtype is asked for, any object stands for."""
    whole = _as_array(x, read_tensor)
    if whole is not None:
        array, d = whole
        if array.size != 1:
            raise ValueError(
                f"only one element tensors can be converted to Python scalars, got shape {list(array.shape)}"
            )
        if d not in found:
            found.append(d)
        return array.item()
    if asked is None:
        raise RuntimeError(f"Could not infer dtype of {type(x).__name__}")
    if asked is bool_:
        return bool(x)
    if asked.category == 1:
        return operator.index(x)
    return float(x) if asked.is_floating_point else complex(x)


def _promote(found: Iterable[dtype]) -> dtype | None:
    result = None
    for d in found:
        result = d if result is None else promote_types(result, d)
    return result


# ---------------------------------------------------------------- numbers to an array
def _pack(values: list[Any], types: dict[type, None], target: dtype) -> Array:
    """A flat list of numbers as an array of the NumPy dtype for `target`; numbers have to fit into integers."""
    if target is bool_:
        return np.fromiter(map(bool, values), np.bool_, len(values))
    if not target.is_complex:
        for t in types:
            if issubclass(t, (complex, np.complexfloating)):
                raise TypeError(
                    f"must be real number, not {t.__name__}: a complex number has no value of dtype {target.name}"
                )
        if target.category == 1:
            return _pack_integers(values, types, target)
    array = np.array(values, np.complex128 if target.is_complex else np.float64)
    return array if array.dtype == _NATIVE[target] else host_cast(array, target)


def _pack_integers(values: list[Any], types: dict[type, None], target: dtype) -> Array:
    info = np.iinfo(_NATIVE[target])
    if any(issubclass(t, (float, np.floating)) for t in types):
        floats = (x for x in values if isinstance(x, (float, np.floating)))
        if not all(info.min <= x <= info.max for x in floats):  # false for nan, too
            _overflow(target)
        values = list(map(int, values))
    elif np.uint64 in types:
        values = list(map(int, values))
    if target is uint64:
        return np.array(values, np.uint64)
    try:
        wide = np.array(values, np.int64)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long: an integer does not fit into 64 bits") from None
    # A negative number may wrap into an unsigned dtype once, as it does in C.
    least = info.min if target.is_signed else -int(info.max)
    if wide.size and (wide.min() < least or wide.max() > info.max):
        _overflow(target)
    return wide.astype(_NATIVE[target], copy=False)


def _overflow(target: dtype) -> NoReturn:
    raise RuntimeError(f"value cannot be converted to type {target.name} without overflow")


# ---------------------------------------------------------------- arrays
def _unsupported(native: np.dtype[Any]) -> TypeError:
    supported = ", ".join(d.name for d in ALL)
    return TypeError(
        f"can't convert np.ndarray of type numpy.{native.type.__name__}. The only supported types are: {supported}."
    )


def check_ndarray(array: Any, *, shared: bool = False) -> dtype:
    """The dtype of a NumPy array that a tensor can be made of.

    shared: the tensor will share its memory, so a read-only array gives a UserWarning.
    TypeError: not an array, or of a type that no dtype stands for. ValueError: foreign byte order, negative strides, or
    strides that are no multiple of the element size.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(array).__name__})")
    native = array.dtype
    if not native.isnative:
        raise ValueError(f"given numpy array has byte order different from the native byte order: {native.str!r}. "
                         "Convert it first, with array.astype(array.dtype.newbyteorder('='))")  # fmt: skip
    found = _DTYPE_OF.get(native)
    if found is None:
        if native.name != "bfloat16":
            raise _unsupported(native)
        found = bfloat16
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not "
            "supported. Copy it first, with .copy()"
        )
    if any(stride % native.itemsize for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy it first, with .copy()"
        )
    if shared and not array.flags.writeable:
        warnings.warn(
            "The given NumPy array is not writable, but the tensor that shares its memory is. Writing to the tensor "
            "is undefined: copy the array first if you mean to",
            UserWarning,
            stacklevel=3,
        )
    return found


def host_cast(array: Array, d: dtype, *, copy: bool = False) -> Array:
    """An array in the NumPy dtype for `d`: float32 for bfloat16, unless it is bfloat16 already.

    Floats truncate to integers, integers wrap, complex numbers lose their imaginary part with a UserWarning.
    """
    native = array.dtype
    if d is bfloat16 and native.name == "bfloat16":
        return array.copy() if copy else array
    if native.kind == "c" and not d.is_complex and d is not bool_:
        warnings.warn(
            f"Casting complex values to real discards the imaginary part (to {scalar_type_name(d)})",
            UserWarning,
            stacklevel=3,
        )
        array = array.real
    with np.errstate(over="ignore", invalid="ignore"):
        if d is float16 and native != np.float16:
            array = array.astype(np.float32)
        elif native.kind == "f" and d.category == 1 and d.itemsize < (4 if d.is_signed else 8):
            array = array.astype(np.int64)
        return array.astype(_NATIVE[d], copy=copy)
