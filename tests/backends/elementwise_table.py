"""Elementwise primitives: for each the reference, the dtypes, and the accuracy asked of it in units in the last place.

References are NumPy's functions in a wider type, rounded once, or closed forms; none of this project's code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import mpmath
import numpy as np

from backends import dtypes as dt
from backends.dtypes import dtype

from .compare import FLOATS, HALVES, INTS, numbers, pairs

REAL = (*FLOATS, dt.float16)
EXACT = (*FLOATS, *HALVES, *INTS)
COMPLEX = (*FLOATS, dt.complex64, dt.complex128)


class Row(NamedTuple):
    """A primitive; `reference` takes operands that are already wide; `result` gives the dtype of the result."""

    name: str
    reference: Callable[..., Any]
    dtypes: tuple[dtype, ...] = COMPLEX
    ulps: float = 4
    operands: Callable[[dtype], tuple[Any, ...]] = lambda d: (numbers(d),)
    result: Callable[[dtype], dtype] = lambda d: d
    signed_zero: bool = True
    scale: float = 0.0


def truth(d: dtype) -> dtype:
    return dt.bool_


def _divisors(d: dtype) -> tuple[Any, Any]:
    """Pairs whose divisor is not zero (NumPy warns and gives 0; the framework refuses)."""
    x, y = pairs(d)
    return (x[y != 0], y[y != 0]) if d.kind in "iu" else (x, y)


def _finite_pairs(d: dtype) -> tuple[Any, Any]:
    x, y = pairs(d)
    keep = np.isfinite(x) & np.isfinite(y)
    return x[keep], y[keep]


def _powers(d: dtype) -> tuple[Any, Any]:
    x, y = pairs(d)
    if d.kind in "iu":
        return x, np.abs(y % 7).astype(y.dtype)
    return x, y


def _shifts(d: dtype) -> tuple[Any, Any]:
    x, y = pairs(d)
    return x, np.clip(y, -3 if d.is_signed else 0, 80).astype(y.dtype)


def _scales(d: dtype) -> tuple[Any, Any]:
    x = numbers(d)
    return x, np.resize(np.array([-3, 0, 1, 5], np.int32), x.shape)


def _steps(d: dtype) -> tuple[Any, Any]:
    x, y = pairs(d)
    return (x[:30], y[:30])


def _positive(d: dtype) -> tuple[Any, Any]:
    a, x = np.meshgrid(np.array([0.3, 1.0, 2.5, 9.0]), np.array([0.0, 0.2, 1.0, 4.0, 12.0]))
    return a.ravel(), x.ravel()


def _gammas(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function of two numbers by mpmath, element by element."""
    return lambda a, x: np.array(
        [float(f(mpmath.mpf(float(p)), mpmath.mpf(float(q)))) for p, q in zip(a, x, strict=True)]
    )


def _where(d: dtype) -> tuple[Any, Any, Any]:
    x, y = pairs(d)
    return np.resize([True, False, False], x.shape), x, y


def _shift_left(x: Any, y: Any) -> Any:
    bits = 8 * x.dtype.itemsize
    good = (y >= 0) & (y < bits)
    return np.where(good, np.left_shift(x, np.where(good, y, 0).astype(y.dtype)), 0)


def _shift_right(x: Any, y: Any) -> Any:
    bits = 8 * x.dtype.itemsize
    good = (y >= 0) & (y < bits)
    return np.where(
        good, np.right_shift(x, np.where(good, y, 0).astype(y.dtype)), np.where(x < 0, -1, 0).astype(x.dtype)
    )


def _sgn(z: Any) -> Any:
    return z if z.dtype.kind != "c" else z / np.where(z == 0, 1, np.abs(z))


def _real_result(d: dtype) -> dtype:
    return d.to_real()


def _sign(x: Any) -> Any:
    return np.where(x > 0, 1, np.where(x < 0, -1, 0)).astype(x.dtype)


UNARY = [
    Row("abs", np.abs, (*EXACT, dt.complex64, dt.complex128), 1, result=_real_result),
    Row("neg", np.negative, (*EXACT, dt.complex64, dt.complex128), 0),
    Row("sign", _sign, (*FLOATS, *HALVES, dt.int32, dt.int64, dt.uint8), 0, signed_zero=False),
    Row("sgn", lambda x: _sgn(x) if x.dtype.kind == "c" else _sign(x), COMPLEX, 2, signed_zero=False),
    Row("square", lambda x: x * x, (*FLOATS, *INTS, dt.complex64), 2),
    Row("sqrt", np.sqrt, (*REAL, dt.complex64, dt.complex128), 2),
    Row("rsqrt", lambda x: 1 / np.sqrt(x), REAL, 2),
    Row("reciprocal", lambda x: 1 / x, COMPLEX, 2),
    Row("exp", np.exp, (*REAL, dt.complex64, dt.complex128)),
    Row("exp2", np.exp2, REAL),
    Row("expm1", np.expm1, COMPLEX),
    Row("log", np.log, (*REAL, dt.complex64, dt.complex128)),
    Row("log1p", np.log1p, COMPLEX),
    Row("log2", np.log2, COMPLEX),
    Row("log10", np.log10, COMPLEX),
    Row("sin", np.sin, (*REAL, dt.complex64, dt.complex128)),
    Row("cos", np.cos, (*REAL, dt.complex64, dt.complex128)),
    Row("tan", np.tan, COMPLEX),
    Row("asin", np.arcsin, COMPLEX),
    Row("acos", np.arccos, COMPLEX),
    Row("atan", np.arctan, COMPLEX),
    Row("sinh", np.sinh, COMPLEX),
    Row("cosh", np.cosh, COMPLEX),
    Row("tanh", np.tanh, COMPLEX),
    Row("asinh", np.arcsinh, COMPLEX),
    Row("acosh", np.arccosh, COMPLEX),
    Row("atanh", np.arctanh, COMPLEX),
    Row("sigmoid", lambda x: 1 / (1 + np.exp(-x)), COMPLEX, 6),
    Row("relu", lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, 0)), FLOATS, 0, signed_zero=False),
    Row("deg2rad", lambda x: x * (np.longdouble(np.pi) / 180), FLOATS, 2),
    Row("rad2deg", lambda x: x * (180 / np.longdouble(np.pi)), FLOATS, 2),
    Row("floor", np.floor, (*FLOATS, *HALVES, dt.int64), 0),
    Row("ceil", np.ceil, (*FLOATS, *HALVES, dt.int64), 0),
    Row("trunc", np.trunc, (*FLOATS, *HALVES, dt.int64), 0),
    Row("round", np.rint, (*FLOATS, *HALVES), 0),
    Row("isnan", np.isnan, (*FLOATS, *HALVES, dt.int32, dt.complex64), 0, result=truth),
    Row("isinf", np.isinf, (*FLOATS, *HALVES, dt.int32, dt.complex64), 0, result=truth),
    Row("isfinite", np.isfinite, (*FLOATS, *HALVES, dt.int32, dt.complex64), 0, result=truth),
    Row("signbit", np.signbit, (*FLOATS, *HALVES), 0, result=truth),
    Row("logical_not", np.logical_not, (dt.bool_, *FLOATS, *INTS, dt.complex64), 0, result=truth),
    Row("bitwise_not", np.invert, (dt.bool_, *INTS), 0),
    Row("real", np.real, COMPLEX, 0, result=_real_result),
    Row("imag", np.imag, COMPLEX, 0, result=_real_result),
    Row("conj", np.conj, (*COMPLEX, dt.int64), 0),
]


def _exactly(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of mpmath on arrays, in 30 digits."""

    def reference(x: Any) -> Any:
        with mpmath.workdps(30):
            return np.array([float(f(mpmath.mpf(float(v)))) for v in x])

    return reference


def _between(*parts: tuple[float, float, int]) -> Callable[[dtype], tuple[Any, ...]]:
    return lambda d: (np.concatenate([np.linspace(*part) for part in parts]).astype(d.name),)


_I0_I1 = _between((-20, 20, 41), (0.01, 0.2, 5), (20, 60, 9))
SPECIAL_FUNCTIONS = [
    Row("erf", _exactly(mpmath.erf), FLOATS, 4, _between((-6, 6, 49), (-1e-6, 1e-3, 9)), signed_zero=False),
    Row("erfc", _exactly(mpmath.erfc), FLOATS, 60, _between((-5, 9, 57))),
    Row("erfinv", _exactly(mpmath.erfinv), FLOATS, 8, _between((-0.99, 0.99, 31), (1e-9, 1e-3, 5)), signed_zero=False),
    Row("lgamma", _exactly(lambda x: mpmath.log(abs(mpmath.gamma(x)))), FLOATS, 8,
        _between((0.1, 30, 60), (-5.7, -0.3, 10)), signed_zero=False, scale=1.0),
    Row("digamma", _exactly(mpmath.digamma), FLOATS, 8, _between((0.1, 30, 60), (-5.7, -0.3, 10)), scale=1.0),
    Row("i0", _exactly(lambda x: mpmath.besseli(0, x)), FLOATS, 8, _I0_I1),
    Row("i0e", _exactly(lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x))), FLOATS, 8, _I0_I1),
    Row("i1", _exactly(lambda x: mpmath.besseli(1, x)), FLOATS, 8, _I0_I1, signed_zero=False),
    Row("i1e", _exactly(lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x))), FLOATS, 8, _I0_I1, signed_zero=False),
]  # fmt: skip
_COMPARED = (dt.bool_, *EXACT)
BINARY = [
    Row("add", np.add, (*EXACT, dt.bool_, dt.complex64, dt.complex128), 1, pairs),
    Row("sub", np.subtract, (*EXACT, dt.complex64, dt.complex128), 1, pairs),
    Row("mul", np.multiply, (*EXACT, dt.bool_, dt.complex64, dt.complex128), 2, pairs),
    Row("div", np.true_divide, (*FLOATS, *HALVES, dt.complex64), 4, pairs),
    Row("pow", np.power, (*FLOATS, *INTS), 4, _powers),
    Row("pow", np.power, (dt.complex64, dt.complex128), 64, _finite_pairs),
    Row("float_power", lambda x, y: x.astype(np.longdouble) ** y.astype(np.longdouble), FLOATS, 4, pairs,
        lambda d: dt.float64),
    Row("floor_divide", np.floor_divide, (*FLOATS, *INTS), 0, _divisors, signed_zero=False),
    Row("remainder", np.remainder, (*FLOATS, *INTS), 0, _divisors),
    Row("fmod", np.fmod, (*FLOATS, *INTS), 0, _divisors),
    Row("atan2", np.arctan2, FLOATS, 2, pairs),
    Row("hypot", np.hypot, FLOATS, 2, pairs),
    Row("copysign", np.copysign, (*FLOATS, *HALVES), 0, pairs),
    Row("nextafter", lambda x, y: None, FLOATS, 0, _steps),
    Row("ldexp", np.ldexp, FLOATS, 0, _scales),
    Row("logaddexp", np.logaddexp, FLOATS, 4, pairs, signed_zero=False, scale=1.0),
    Row("logaddexp2", np.logaddexp2, FLOATS, 4, pairs, signed_zero=False, scale=1.0),
    Row("igamma", _gammas(lambda a, x: mpmath.gammainc(a, 0, x, regularized=True)), (dt.float64,), 64, _positive),
    Row("igammac", _gammas(lambda a, x: mpmath.gammainc(a, x, regularized=True)), (dt.float64,), 64, _positive),
    Row("heaviside", lambda x, y: np.where(np.isnan(x), 0, np.heaviside(x, y)), FLOATS, 0, pairs, signed_zero=False),
    Row("maximum", np.maximum, EXACT, 0, pairs, signed_zero=False),
    Row("minimum", np.minimum, EXACT, 0, pairs, signed_zero=False),
    Row("fmax", np.fmax, (*FLOATS, dt.int64), 0, pairs, signed_zero=False),
    Row("fmin", np.fmin, (*FLOATS, dt.int64), 0, pairs, signed_zero=False),
    Row("gcd", np.gcd, (dt.int32, dt.int64, dt.uint8), 0, pairs),
    Row("lcm", np.lcm, (dt.int64,), 0, lambda d: (np.arange(-5, 7), np.arange(12) % 7)),
    Row("eq", np.equal, (*_COMPARED, dt.complex64), 0, pairs, truth),
    Row("ne", np.not_equal, (*_COMPARED, dt.complex64), 0, pairs, truth),
    Row("lt", np.less, _COMPARED, 0, pairs, truth),
    Row("le", np.less_equal, _COMPARED, 0, pairs, truth),
    Row("gt", np.greater, _COMPARED, 0, pairs, truth),
    Row("ge", np.greater_equal, _COMPARED, 0, pairs, truth),
    Row("logical_and", np.logical_and, (dt.bool_, *FLOATS, *INTS), 0, pairs, truth),
    Row("logical_or", np.logical_or, (dt.bool_, *FLOATS, *INTS), 0, pairs, truth),
    Row("logical_xor", np.logical_xor, (dt.bool_, *FLOATS, *INTS), 0, pairs, truth),
    Row("bitwise_and", np.bitwise_and, (dt.bool_, *INTS), 0, pairs),
    Row("bitwise_or", np.bitwise_or, (dt.bool_, *INTS), 0, pairs),
    Row("bitwise_xor", np.bitwise_xor, (dt.bool_, *INTS), 0, pairs),
    Row("bitwise_left_shift", _shift_left, INTS, 0, _shifts),
    Row("bitwise_right_shift", _shift_right, INTS, 0, _shifts),
    Row("where", np.where, (*EXACT, dt.bool_, dt.complex64), 0, _where),
]  # fmt: skip

# Some references cannot be computed wide: they are about the dtype's own representation.
OWN_TYPE = {"floor_divide": np.floor_divide, "nextafter": np.nextafter, "ldexp": np.ldexp, "gcd": np.gcd, "lcm": np.lcm}
ROWS = [*UNARY, *SPECIAL_FUNCTIONS, *BINARY]
