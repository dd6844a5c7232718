"""The default floating dtype: what Python floats, integer-to-float results and factories without `dtype=` get.

One value for the whole process (not one a thread), as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from backends.dtypes import bool_, complex64, complex128, dtype, float32, float64, int64

__all__ = [
    "as_dtype",
    "get_default_complex_dtype",
    "get_default_dtype",
    "number_dtype",
    "on_change",
    "set_default_dtype",
]

_default: dtype = float32
_listeners: list[Callable[[], None]] = []
_of_number: dict[type, dtype] = {bool: bool_, int: int64, float: float32, complex: complex64}
_of_python: dict[Any, dtype] = {bool: bool_, int: int64, float: float64, complex: complex128}


def get_default_dtype() -> dtype:
    """The floating dtype of Python floats and of factories that are given no dtype."""
    return _default


def get_default_complex_dtype() -> dtype:
    """The dtype of Python complex numbers: complex128 if the default dtype is float64, else complex64."""
    return complex128 if _default is float64 else complex64


def set_default_dtype(d: dtype, /) -> None:
    """Make `d` the default floating dtype, in every thread.

    TypeError if `d` is no dtype, or one that is not floating.
    """
    global _default
    if not isinstance(d, dtype):
        raise TypeError(f"set_default_dtype: invalid dtype object {d!r}: give a floating dtype, such as float64")
    if not d.is_floating_point:
        raise TypeError(f"set_default_dtype: only floating-point types are supported as the default type, got {d!r}")
    _default = d
    _of_number[float], _of_number[complex] = d, get_default_complex_dtype()
    for listener in _listeners:
        listener()


def number_dtype(number_type: type) -> dtype:
    """The dtype of a Python number of this type: bool, int64, the default dtype, or its complex counterpart.

    Subclasses count as their base. TypeError for any other type.
    """
    found = _of_number.get(number_type)
    if found is not None:
        return found
    for base in number_type.__mro__:
        if base in _of_number:
            return _of_number[base]
    raise TypeError(f"expected a bool, int, float or complex number, got {number_type.__name__}")


def as_dtype(d: Any, name: str) -> dtype | None:
    """The argument `dtype=` of the function `name`: a dtype, None, or a Python type, which means its own width.

    TypeError for anything else.
    """
    if d is None or isinstance(d, dtype):
        return d
    try:
        return _of_python[d]
    except (KeyError, TypeError):
        raise TypeError(f"{name}(): argument 'dtype' must be a dtype, not {type(d).__name__}") from None


def on_change(listener: Callable[[], None]) -> None:
    """Call `listener` after each change of the default dtype; for tables that depend on it."""
    _listeners.append(listener)
