"""A Python number as an element of a tensor: what filling and assigning do with it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from backends.dtypes import bfloat16, dtype, float16, float32

__all__ = ["as_number"]

_LARGEST = {float16: 65504.0, bfloat16: 3.3895313892515355e38, float32: 3.4028234663852886e38}


def as_number(value: Any, d: dtype) -> Any:
    """`value` as a number that a tensor of dtype `d` holds: floats are truncated for an integer dtype.

    RuntimeError if it does not fit (a negative number wraps into an unsigned dtype once, as in C) or has an imaginary
    part to lose; TypeError if it is no Python or NumPy number.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"can't assign a {type(value).__name__} to a {d.name} tensor; it takes a number or a Tensor")
    if d.is_complex:
        return complex(value)
    if isinstance(value, complex):
        if value.imag:
            _overflow(d)
        value = value.real
    if d.kind == "b":
        return bool(value)
    if d.is_floating_point:
        try:
            value = float(value)
        except OverflowError:
            _overflow(d)
        if d in _LARGEST and _LARGEST[d] < abs(value) < float("inf"):
            _overflow(d)
        return value
    bits = 8 * d.itemsize
    largest = (1 << (bits - d.is_signed)) - 1
    if not -largest - d.is_signed <= value <= largest:  # nan too
        _overflow(d)
    value = int(value)
    return value if value >= 0 or d.is_signed else value + (1 << bits)


def _overflow(d: dtype) -> NoReturn:
    raise RuntimeError(f"value cannot be converted to type {d.name} without overflow")
