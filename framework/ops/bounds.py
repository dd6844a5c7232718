"""What the parameters of random distributions must satisfy, with PyTorch's errors."""

from __future__ import annotations

import warnings
from math import isnan
from typing import Any

import numpy as np

from backends.dtypes import bfloat16, bool_, float16, float32, float64, int64
from backends.dtypes import dtype as Dtype
from framework.core.promotion import c_type_name
from framework.dispatch.errors import not_implemented_for

DIGITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53}  # bits of the mantissa, with the hidden one
_LARGEST = {float16: 65504.0, bfloat16: float.fromhex("0x1.fep127"), float32: float(np.finfo(np.float32).max),
            float64: float(np.finfo(np.float64).max)}  # fmt: skip


def check_uniform(d: Dtype, low: float, high: float) -> None:
    """NotImplementedError for integers; RuntimeError for bounds out of order or of the dtype's range."""
    if not (d.is_floating_point or d.is_complex):
        not_implemented_for("check_uniform_bounds", d)
    real = d.to_real()
    largest = _LARGEST[real]
    for name, bound in (("from", low), ("to", high)):
        if isnan(bound) or abs(bound) > largest:
            raise RuntimeError(f"uniform_: {name} is out of bounds for {c_type_name(real)}, got {bound:g}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > largest:
        raise RuntimeError(f"uniform_ expects to-from <= std::numeric_limits<{c_type_name(real)}>::max(), but found "
                           f"to={high:g} and from={low:g} which result in to-from to exceed the limit")  # fmt: skip


def check_normal(d: Dtype, mean: float, std: float) -> None:
    """NotImplementedError for integers, RuntimeError for a negative standard deviation."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if not (d.is_floating_point or d.is_complex):
        not_implemented_for("normal_kernel_cpu", d)


def representable(d: Dtype, low: int, high: int) -> tuple[int, int]:
    """Integer bounds, drawn in so that rounding to a floating dtype does not leave them."""
    digits = DIGITS[d]
    if _rounded(low + 1, digits) < low:
        low = _rounded(low + 1, digits) + (1 << (abs(low + 1).bit_length() - digits))
    if _rounded(high - 1, digits) >= high:
        high = _rounded(high - 1, digits) - (1 << (abs(high - 1).bit_length() - digits))
    return low, high


def _rounded(x: int, digits: int) -> int:
    """An integer rounded to so many bits, ties to even."""
    step = 1 << max(abs(x).bit_length() - digits, 0)
    return round(x / step) * step


def check_integers(d: Dtype, low: int, high: int) -> tuple[int, int]:
    """Bounds of integers. RuntimeError for complex dtypes, an empty range, and bounds that the dtype cannot hold."""
    if d.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if d.is_floating_point:
        low, high = representable(d, low, high)
        smallest, largest = -_LARGEST[d], _LARGEST[d]
    elif d is bool_:
        smallest, largest = 0, 1
    else:
        smallest, largest = int(np.iinfo(d.name).min), int(np.iinfo(d.name).max)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    for name, bound in (("from", low), ("to - 1", high - 1)):
        if not smallest <= bound <= largest:
            raise RuntimeError(f"random_: {name} is out of bounds for {c_type_name(d)}, got {bound}")
        if d.is_floating_point and abs(bound) > 1 << DIGITS[d]:
            reach, kind = f"2^{DIGITS[d]}", c_type_name(d)
            warnings.warn(f"{name} is out of bounds [-({reach}), {reach}]. Due to precision "
                          f"limitations {kind} can support discrete uniform distribution only within this range.",
                          UserWarning, stacklevel=4)  # fmt: skip
    return low, high


def check_all_from(d: Dtype, low: int) -> tuple[int, int]:
    """Bounds of integers from `low` to the last that the dtype holds without gaps. Errors as in `check_integers`."""
    if d.is_floating_point:
        top = 1 << DIGITS[d]
        return representable(d, low, top)[0], top + 1
    if d is int64 and low == -(2**63):
        return low, 2**63
    return check_integers(d, low, 2 if d is bool_ or d.is_complex else int(np.iinfo(d.name).max) + 1)


def probability(p: Any) -> float:
    """A number in [0, 1]. RuntimeError for another one."""
    p = float(p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    return p


def check_bernoulli(d: Dtype) -> None:
    """NotImplementedError for complex dtypes."""
    if d.is_complex:
        not_implemented_for("bernoulli_scalar_cpu_", d)
