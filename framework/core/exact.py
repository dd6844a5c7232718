"""Elementwise arithmetic on the host to the last bit: the C library's functions, and multiply-add with one rounding.

PyTorch's samplers call the C library one number at a time. NumPy's own kernels are faster, but on some processors
(those with AVX-512) a few of them differ in the last place, so what must match bit for bit goes through here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

_FEW = 32  # below this many numbers a Python loop is as fast as a NumPy call
_DOMAIN = {
    "log": (0.0, 1.0),
    "log1p": (-1.0, 0.0),
    "cos": (0.0, 6.3),
    "sin": (0.0, 6.3),
    "tan": (-1.5, 1.5),
    "exp": (-9.0, 9.0),
}
_LARGEST_EXP = 709.0  # math.exp raises a little above, where the result is infinite


def libm(name: str, x: Array) -> Array:
    """The C library's `log`, `log1p`, `cos`, `sin`, `tan` or `exp` of every element of a float64 array.

    log and log1p want arguments inside their domain.
    """
    if x.size >= _FEW:
        if _agrees(name, getattr(np, name)):
            return getattr(np, name)(x)  # type: ignore[no-any-return]
        if name == "log" and _agrees(name, _compiled_log):
            return _compiled_log(x)
    f = getattr(math, name)
    if name == "exp":
        large = x > _LARGEST_EXP
        return np.where(large, np.exp(x), _each(f, np.where(large, 0.0, x)))
    return _each(f, x)


def _each(f: Callable[[float], float], x: Array) -> Array:
    return np.fromiter(map(f, x.ravel().tolist()), np.float64, x.size).reshape(x.shape)


def _compiled_log(x: Array) -> Array:
    """SciPy's x * log(y), which calls the C library's log from compiled code."""
    from scipy.special import xlogy

    return xlogy(1.0, x)  # type: ignore[no-any-return]


@cache
def _agrees(name: str, f: Callable[[Array], Array]) -> bool:
    """Whether an elementwise function gives the C library's results: tried once, on points all over its domain."""
    low, high = _DOMAIN[name]
    x = low + (high - low) * (np.arange(1, 8192) * 0.6180339887498949 % 1)
    return bool((f(x) == _each(getattr(math, name), x)).all())


def multiply_add(x: Array, a: float, b: float) -> Array:
    """x * a + b with one rounding, in float64: the fused multiply-add.

    The rounding errors of the product (Veltkamp and Dekker) and of the sum (Knuth) are added before the last
    rounding, which is the fused result but for a chance of about 2**-50 at a near tie.
    """
    if b == 0 or a == 1:
        return x * a + b if b else x * a
    if abs(a) > 2.0**900 or abs(b) > 2.0**900:  # the splitting below must not overflow
        return multiply_add(x, a * 2.0**-200, b * 2.0**-200) * 2.0**200
    product = x * a
    x_high, x_low = _split(x)
    a_high, a_low = _split(a)
    product_error = ((x_high * a_high - product) + x_high * a_low + x_low * a_high) + x_low * a_low
    total = product + b
    part = total - product
    sum_error = (product - (total - part)) + (b - part)
    return total + (product_error + sum_error)  # type: ignore[no-any-return]


def _split(x: Any) -> tuple[Any, Any]:
    """Two numbers of half the bits each whose sum is x."""
    shifted = x * 134217729.0  # 2**27 + 1
    high = shifted - (shifted - x)
    return high, x - high


def multiply_add_f32(x: Array, a: float, b: float) -> Array:
    """x * a + b for flat float32 x in [-1, 1] and float32 a and b, with one rounding to float32.

    In float64 the product is exact. If the sum may not be, its rounding matters only where it lands on the middle
    between two float32 numbers; there the error says which way to go.
    """
    total = np.multiply(x, a, dtype=np.float64)
    total += b
    finest = min(
        float(np.spacing(np.float32(abs(a)))) * 2.0**-24, float(np.spacing(np.float32(abs(b)))) if b else math.inf
    )
    if abs(a) + abs(b) > 2.0**53 * finest:
        middle = np.flatnonzero((total.view(np.int64) & 0x1FFFFFFF) == 0x10000000)
        t, p = total[middle], np.multiply(x[middle], a, dtype=np.float64)
        part = t - p
        error = (p - (t - part)) + (b - part)
        total[middle] = np.where(error == 0, t, np.nextafter(t, np.where(error > 0, np.inf, -np.inf)))
    return total.astype(np.float32)
