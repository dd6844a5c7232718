"""Elementary functions of one number as branch-free arithmetic, which compilers turn into vector instructions; and
sums and maxima along rows.

float32 has its own polynomials (Cephes, by Stephen Moshier; Muller, "Elementary Functions", on the reduction of
arguments); float64 takes the C library's functions. Errors are below 2 units in the last place; nan and inf come out as
in NumPy.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import int32, types
from numba.extending import intrinsic, overload

from .compiled import inlined, summing

F = np.float32


def _as_float(typing: Any, x: Any) -> Any:
    """The float32 with these 32 bits."""
    return types.float32(types.int32), lambda ctx, b, sig, args: b.bitcast(args[0], ir.FloatType())


def _as_int(typing: Any, x: Any) -> Any:
    """The 32 bits of a float32."""
    return types.int32(types.float32), lambda ctx, b, sig, args: b.bitcast(args[0], ir.IntType(32))


as_float: Any = intrinsic(_as_float)
as_int: Any = intrinsic(_as_int)


ONE, TWO, HALF, ZERO = F(1), F(2), F(0.5), F(0)
LOG2_E, LN2_HIGH, LN2_LOW = F(1.44269504088896341), F(0.693359375), F(-2.12194440e-4)
ROUND = F(12582912.0)  # 1.5 * 2**23: adding it rounds to a whole number, which then stands in the low bits
ROUND_BITS = int(np.float32(12582912.0).view(np.int32))
LOWEST, HIGHEST = F(-104), F(89)  # beyond these exp is 0 and inf
E0, E1, E2 = F(1.9875691500e-4), F(1.3981999507e-3), F(8.3334519073e-3)
E3, E4, E5 = F(4.1665795894e-2), F(1.6666665459e-1), F(5.0000001201e-1)


@inlined
def exp32(x: Any) -> Any:
    """e**x: 2**n e**r with |r| <= ln(2) / 2; the power of two in two factors, for results below the normal range."""
    x = LOWEST if x < LOWEST else x
    x = HIGHEST if x > HIGHEST else x
    t = x * LOG2_E + ROUND
    n = t - ROUND
    r = x - n * LN2_HIGH
    r = r - n * LN2_LOW
    p = ((((E0 * r + E1) * r + E2) * r + E3) * r + E4) * r + E5
    y = p * (r * r) + r + ONE
    whole = int32(as_int(t) - int32(ROUND_BITS))
    half = int32(whole >> int32(1))
    rest = int32(whole - half)
    return y * as_float(int32((half + int32(127)) << int32(23))) * as_float(int32((rest + int32(127)) << int32(23)))


T0, T1, T2 = F(-5.70498872745e-3), F(2.06390887954e-2), F(-5.37397155531e-2)
T3, T4 = F(1.33314422036e-1), F(-3.33332819422e-1)
NEAR, FAR = F(0.625), F(10)


@inlined
def tanh32(x: Any) -> Any:
    """An odd polynomial near 0, else 1 - 2 / (e**2|x| + 1) with the sign of x."""
    a = abs(x)
    big = ONE - TWO / (exp32(TWO * (FAR if a > FAR else a)) + ONE)
    s = x * x
    p = (((T0 * s + T1) * s + T2) * s + T3) * s + T4
    small = p * s * x + x
    return math.copysign(small if a < NEAR else big, x)


@inlined
def sigmoid32(x: Any) -> Any:
    """1 / (1 + e**-x) without overflow."""
    z = exp32(-abs(x))
    return (z if x < ZERO else ONE) / (ONE + z)


SQRT_HALF, MANTISSA, HALF_BITS = F(0.70710678118654752), 0x007FFFFF, 0x3F000000
L0, L1, L2, L3 = F(7.0376836292e-2), F(-1.1514610310e-1), F(1.1676998740e-1), F(-1.2420140846e-1)
L4, L5, L6, L7, L8 = (
    F(1.4249322787e-1),
    F(-1.6668057665e-1),
    F(2.0000714765e-1),
    F(-2.4999993993e-1),
    F(3.3333331174e-1),
)
TINY, SCALE, INF, NAN = F(1.17549435e-38), F(8388608.0), F(np.inf), F(np.nan)


@inlined
def log32(x: Any) -> Any:
    """n ln(2) + ln(m) with m in [sqrt(1/2), sqrt(2))."""
    subnormal = x < TINY
    v = x * SCALE if subnormal else x
    bits = as_int(v)
    n = F((bits >> int32(23)) - int32(126)) - (F(23) if subnormal else ZERO)
    m = as_float(int32((bits & int32(MANTISSA)) | int32(HALF_BITS)))
    low = m < SQRT_HALF
    n = n - ONE if low else n
    m = m + m - ONE if low else m - ONE
    s = m * m
    p = (((((((L0 * m + L1) * m + L2) * m + L3) * m + L4) * m + L5) * m + L6) * m + L7) * m + L8
    y = p * m * s + n * LN2_LOW
    y = y - HALF * s
    r = m + y + n * LN2_HIGH
    r = x if x == INF else r
    r = -INF if x == ZERO else r
    return r if x >= ZERO else NAN


# ---------------------------------------------------------------- the normal distribution
UPPER_BITS = -4096
SIXTH = F(1 / 6)


@inlined
def bell32(x: Any) -> Any:
    """exp(-x**2 / 2). The square is taken in two parts: rounded, it would cost x**2 / 4 units in the last place."""
    high = as_float(int32(as_int(x) & int32(UPPER_BITS)))
    d = HALF * (x - high) * (x + high)
    d = ONE if d > ONE else d  # of no account there, but inf - inf
    d = d if d == d else ZERO
    rest = ONE - d * (ONE - d * (HALF - d * SIXTH))
    return exp32(-HALF * high * high) * rest


# exp(z**2) erfc(z) (1 + 2 z) as a polynomial of (z - 2) / (z + 2), fitted to scipy.special.erfcx on [0, 10.5] by least
# squares of the relative error at Chebyshev's nodes; the error is 2e-8.
C0, C1, C2 = F(1.27697839), F(-0.0927640206), F(-0.166031204)
C3, C4, C5 = F(0.164056081), F(-0.0542061695), F(-0.00806372906)
C6, C7 = F(0.00863628919), F(0.00132105992)
C8, C9 = F(-0.00123300584), F(-0.000405091822)
MOST = F(10.5)


# (Phi(x) - 1/2) / x as a polynomial of x**2 on [0, 1], fitted in the same way; the error is 1e-9.
D0, D1, D2 = F(0.39894228), F(-0.0664903597), F(0.00997332174)
D3, D4, D5 = F(-0.00118632534), F(0.000113481162), F(-7.65214011e-06)


@inlined
def normal32(x: Any, bell: Any) -> Any:
    """The normal distribution function, given exp(-x**2 / 2)."""
    z = abs(x) * SQRT_HALF
    z = MOST if z > MOST else z
    a, b = z + TWO, TWO * z + ONE
    q = ONE / (a * b)
    t = (z - TWO) * b * q
    p = (((((((C9 * t + C8) * t + C7) * t + C6) * t + C5) * t + C4) * t + C3) * t + C2) * t + C1
    tail = HALF * bell * (p * t + C0) * (a * q)
    s = x * x
    middle = HALF + x * (((((D5 * s + D4) * s + D3) * s + D2) * s + D1) * s + D0)
    return middle if s < ONE else tail if x < ZERO else ONE - tail


def exp(x: Any) -> Any:
    """e**x of a float32 or float64, in kernels."""
    raise NotImplementedError


def log(x: Any) -> Any:
    """The natural logarithm of a float32 or float64, in kernels."""
    raise NotImplementedError


def _by_type(single: Any, double: Any) -> Any:
    """What `overload` wants: a function of a type that gives the function for it."""

    def choose(x: Any) -> Any:
        f = single if x == types.float32 else double

        def chosen(x: Any) -> Any:
            return f(x)

        return chosen

    return choose


overload(exp, jit_options={"fastmath": {"contract"}})(_by_type(exp32, math.exp))
overload(log, jit_options={"fastmath": {"contract"}})(_by_type(log32, math.log))


# ---------------------------------------------------------------- along row r of a matrix
@inlined
def row_max(x: Any, r: Any) -> Any:
    """The largest element; nan if there is one."""
    return _row_max(x, r)


def _row_max(x: Any, r: Any) -> Any:
    raise NotImplementedError


@inlined
def _row_max32(x: Any, r: Any) -> Any:
    """Compares the bits as integers, which turns into vector instructions: floats have that order, nan above inf or
    below -inf."""
    top, low = int32(-2147483648), int32(2147483647)
    for j in range(x.shape[1]):
        n = as_int(x[r, j])
        n = int32(n ^ ((n >> int32(31)) & int32(2147483647)))
        top = n if n > top else top
        low = n if n < low else low
    worst = top if low >= LOWEST_NUMBER else low
    return as_float(int32(worst ^ ((worst >> int32(31)) & int32(2147483647))))


@inlined
def _row_max64(x: Any, r: Any) -> Any:
    top = -np.inf
    for j in range(x.shape[1]):
        v = x[r, j]
        top = v if v > top or v != v else top
        if v != v:
            return v
    return top


LOWEST_NUMBER = -2139095041  # -inf in that order


def _choose_row_max(x: Any, r: Any) -> Any:
    f = _row_max32 if x.dtype == types.float32 else _row_max64

    def chosen(x: Any, r: Any) -> Any:
        return f(x, r)

    return chosen


overload(_row_max)(_choose_row_max)


@summing
def row_sum(x: Any, r: Any) -> Any:
    """The sum."""
    total = x.dtype.type(0)
    for j in range(x.shape[1]):
        total += x[r, j]
    return total


@summing
def row_dot(x: Any, y: Any, r: Any) -> Any:
    """The sum of products of two matrices' rows."""
    total = x.dtype.type(0)
    for j in range(x.shape[1]):
        total += x[r, j] * y[r, j]
    return total


@summing
def row_exp(x: Any, r: Any, top: Any, out: Any, to: Any) -> Any:
    """out[to] = exp(x[r] - top), and its sum."""
    total = x.dtype.type(0)
    for j in range(x.shape[1]):
        e = exp(x[r, j] - top)
        out[to, j] = e
        total += e
    return total
