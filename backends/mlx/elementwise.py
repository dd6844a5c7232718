"""Elementwise primitives that MLX lacks, or that are wrong there.

Comments give what MLX 0.32 returns. The rest is MLX's own, bound by name in `ArrayAPI`.
"""

from __future__ import annotations

from math import factorial, pi, sqrt
from typing import Any

import mlx.core as mx

from ..base import Array
from .arrays import Arrays

_SIGNED = {mx.float16: mx.int16, mx.bfloat16: mx.int16, mx.float32: mx.int32, mx.float64: mx.int64}
# ln 2 in two parts: the first has trailing zeros, so that its product with an exponent is exact
_LN2 = {
    mx.float32: (0.693145751953125, 1.428606765330187e-06),
    mx.float64: (0.6931471803691238, 1.9082149292705877e-10),
}
# erf x = x (c_0 + c_1 x^2 + ...), c_n = 2/sqrt(pi) (-1)^n / (n! (2n + 1)): eleven terms are enough below 1
_ERF = [2 / sqrt(pi) * (-1) ** n / (factorial(n) * (2 * n + 1)) for n in range(11)]
_LOWEST = {mx.int8: -(2**7), mx.int16: -(2**15), mx.int32: -(2**31), mx.int64: -(2**63)}


def is_float(x: Array) -> bool:
    return x.dtype in _SIGNED


class Elementwise(Arrays):
    """Functions of each element alone."""

    # ---------------------------------------------------------------- exponentials
    def exp(self, x: Array) -> Array:
        """exp(k ln 2 + r) = 2^k (1 + expm1(r)). On the CPU MLX's own is 50 ulp off at -66, inf above 88.04
        (float32), and has float32 accuracy in float64; its expm1 is right.
        """
        parts = _LN2.get(x.dtype) if self.on_cpu else None
        if parts is None:
            return mx.exp(x)
        k = mx.clip(mx.round(x * 1.4426950408889634), -1100.0, 1100.0)
        r = (x - k * parts[0]) - k * parts[1]
        half, two = mx.floor(k * 0.5), mx.array(2.0, x.dtype)
        return (mx.expm1(r) + 1) * mx.power(two, half) * mx.power(two, k - half)

    def exp2(self, x: Array) -> Array:
        return mx.power(mx.array(2, x.dtype), x)

    def expm1(self, x: Array) -> Array:
        return mx.expm1(x) if x.dtype != mx.complex64 else self._on_host("expm1", x)

    def sigmoid(self, x: Array) -> Array:
        """Through exp, whose accuracy it takes over; complex is not supported."""
        if x.dtype == mx.complex64:
            return 1 / (1 + mx.exp(-x))
        z = self.exp(-mx.abs(x))
        return mx.where(x >= 0, mx.array(1, x.dtype), z) / (1 + z)

    def logaddexp(self, x: Array, y: Array) -> Array:
        """float64 has float32 accuracy; a zero loses its sign beside -inf."""
        return mx.logaddexp(x, y) if x.dtype != mx.float64 else self._on_host("logaddexp", x, y)

    def logaddexp2(self, x: Array, y: Array) -> Array:
        """max + log2(1 + 2^-|x - y|); missing."""
        d = mx.where(x == y, mx.array(0, x.dtype), x - y)  # of two infinities too
        return mx.maximum(x, y) + mx.log1p(self.exp2(-mx.abs(d))) * 1.4426950408889634

    def erf(self, x: Array) -> Array:
        """Below 1 the Taylor series at 0: MLX's own loses all digits near 0, and has float32 accuracy in float64."""
        if x.dtype == mx.float64:
            return self._on_host("erf", x)
        y = x.astype(mx.float32)
        square = mx.minimum(y * y, mx.array(1.0))
        series = mx.full(x.shape, _ERF[-1], mx.float32)
        for coefficient in _ERF[-2::-1]:
            series = series * square + coefficient
        return mx.where(mx.abs(y) < 1, y * series, mx.erf(y)).astype(x.dtype)

    # ---------------------------------------------------------------- circular functions
    def sin(self, x: Array) -> Array:
        """float64 has float32 accuracy; -0.0 becomes 0.0."""
        if x.dtype == mx.float64:
            return self._on_host("sin", x)
        return mx.where(x == 0, x, mx.sin(x))

    def cos(self, x: Array) -> Array:
        """float64 has float32 accuracy."""
        return mx.cos(x) if x.dtype != mx.float64 else self._on_host("cos", x)

    def atan2(self, x: Array, y: Array) -> Array:
        return mx.arctan2(x, y)

    def deg2rad(self, x: Array) -> Array:
        return mx.radians(x)

    def rad2deg(self, x: Array) -> Array:
        return mx.degrees(x)

    # ---------------------------------------------------------------- signs
    def sign(self, x: Array) -> Array:
        """A complex infinity becomes NaN there."""
        return self._on_host("sign", x) if x.dtype == mx.complex64 else mx.sign(x)

    sgn = sign

    def signbit(self, x: Array) -> Array:
        """Missing: the sign of the same bits as an integer."""
        return mx.less(x.view(_SIGNED[x.dtype]) if is_float(x) else x, 0)

    def copysign(self, x: Array, y: Array) -> Array:
        """Missing."""
        size = mx.abs(x)
        return mx.where(self.signbit(y), -size, size)

    def relu(self, x: Array) -> Array:
        return mx.maximum(x, mx.array(0, x.dtype))

    def rsqrt(self, x: Array) -> Array:
        return mx.rsqrt(x)

    def abs(self, x: Array) -> Array:
        return mx.abs(x)

    def bitwise_not(self, x: Array) -> Array:
        return mx.bitwise_invert(x)

    # ---------------------------------------------------------------- rounding and division
    def reciprocal(self, x: Array) -> Array:
        return mx.reciprocal(x) if is_float(x) or x.dtype == mx.complex64 else self._on_host("reciprocal", x)

    def remainder(self, x: Array, y: Array) -> Array:
        """With the sign of the divisor, also of a zero result. For integers 0 if the divisor is 0 (x there)."""
        if is_float(x):
            r = mx.remainder(x, y)
            return mx.where(r == 0, self.copysign(r, y), r)
        if x.dtype == mx.bool_:
            return self._on_host("remainder", x, y)
        odd = self._odd(y)
        return mx.where(odd, mx.array(0, x.dtype), mx.remainder(x, mx.where(odd, mx.array(1, y.dtype), y)))

    def fmod(self, x: Array, y: Array) -> Array:
        """Remainder with the sign of the dividend; missing. For integers 0 if the divisor is 0."""
        if is_float(x):
            return self.copysign(mx.remainder(mx.abs(x), mx.abs(y)), x)
        if x.dtype == mx.bool_:
            return self._on_host("fmod", x, y)
        odd = self._odd(y)
        r = mx.remainder(x, mx.where(odd, mx.array(1, y.dtype), y))
        wrong = mx.logical_and(r != 0, mx.less(x, 0) != mx.less(y, 0))
        return mx.where(odd, mx.array(0, x.dtype), mx.where(wrong, r - y, r))

    def floor_divide(self, x: Array, y: Array) -> Array:
        """The floor of the exact quotient: x less its remainder is divided, then rounded. An infinite dividend gives
        NaN (inf there); the lowest integer over -1 wraps instead of killing the process.
        """
        if is_float(x):
            r = self.fmod(x, y)
            q = (x - r) / y
            q = mx.where(mx.logical_and(r != 0, mx.less(r, 0) != mx.less(y, 0)), q - 1, q)
            whole = mx.floor(q)
            whole = mx.where(q - whole > 0.5, whole + 1, whole)
            whole = mx.where(q == 0, self.copysign(mx.array(0, x.dtype), x / y), whole)
            return mx.where(y == 0, x / y, whole)
        if x.dtype == mx.bool_:
            return self._on_host("floor_divide", x, y)
        if x.dtype not in _LOWEST:
            return mx.floor_divide(x, y)
        minus = y == -1
        return mx.where(minus, -x, mx.floor_divide(x, mx.where(minus, mx.array(1, y.dtype), y)))

    def _odd(self, y: Array) -> Array:
        """Integer divisors by which every remainder is 0 here: 0, and -1, which kills the process."""
        return mx.logical_or(y == 0, y == -1) if y.dtype in _LOWEST else y == 0

    def pow(self, x: Array, y: Array) -> Array:
        """Complex powers of zero and of infinities are NaN there."""
        return mx.power(x, y) if x.dtype != mx.complex64 else self._on_host("pow", x, y)

    # ---------------------------------------------------------------- shifts
    def bitwise_left_shift(self, x: Array, y: Array) -> Array:
        """0 if the distance is negative or the width or more; the processor's own rule there."""
        out = self._too_far(x, y)
        shifted = mx.left_shift(x, mx.where(out, mx.array(0, y.dtype), y))
        return mx.where(out, mx.array(0, x.dtype), shifted)

    def bitwise_right_shift(self, x: Array, y: Array) -> Array:
        """The sign if the distance is negative or the width or more."""
        width = 8 * x.dtype.size
        distance = mx.where(self._too_far(x, y), mx.array(width - 1, y.dtype), y)
        shifted = mx.right_shift(x, distance)
        return shifted if x.dtype in _LOWEST else mx.where(self._too_far(x, y), mx.array(0, x.dtype), shifted)

    def _too_far(self, x: Array, y: Array) -> Array:
        far = y > 8 * x.dtype.size - 1
        return mx.logical_or(far, mx.less(y, 0)) if y.dtype in _LOWEST else far

    # ---------------------------------------------------------------- of two numbers
    def fmax(self, x: Array, y: Array) -> Array:
        """The larger; of a number and NaN the number. Missing."""
        return mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, mx.maximum(x, y)))

    def fmin(self, x: Array, y: Array) -> Array:
        """The smaller; of a number and NaN the number. Missing."""
        return mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, mx.minimum(x, y)))

    def heaviside(self, x: Array, y: Array) -> Array:
        """0 below zero and at NaN, 1 above, y at zero. Missing."""
        return mx.where(x == 0, y, mx.greater(x, 0).astype(x.dtype))

    def hypot(self, x: Array, y: Array) -> Array:
        """Missing. In float32 the modulus of x + iy; float64 on the host."""
        if x.dtype == mx.float64:
            return self._on_host("hypot", x, y)
        one, other = mx.broadcast_arrays(x.astype(mx.float32), y.astype(mx.float32))
        r = mx.abs(mx.squeeze(mx.view(mx.stack([one, other], -1), mx.complex64), -1))
        return mx.where(mx.logical_or(mx.isinf(one), mx.isinf(other)), mx.array(float("inf")), r).astype(x.dtype)

    def nextafter(self, x: Array, y: Array) -> Array:
        return self._on_host("nextafter", x, y)

    def gcd(self, x: Array, y: Array) -> Array:
        return self._on_host("gcd", x, y)

    def lcm(self, x: Array, y: Array) -> Array:
        return self._on_host("lcm", x, y)

    def ldexp(self, x: Array, y: Array) -> Array:
        return self._on_host("ldexp", x, y)

    def float_power(self, x: Array, y: Array) -> Any:
        """In float64 (complex: TypeError, MLX has no complex128)."""
        return self._on_host("float_power", x, y)

    # ---------------------------------------------------------------- parts
    def real(self, x: Array) -> Array:
        return mx.real(x) if x.dtype == mx.complex64 else x

    def imag(self, x: Array) -> Array:
        return mx.imag(x) if x.dtype == mx.complex64 else mx.zeros_like(x)

    def angle(self, x: Array) -> Array:
        """Missing."""
        if x.dtype == mx.complex64:
            return mx.arctan2(mx.imag(x), mx.real(x))
        d = x.dtype if is_float(x) else mx.float32
        turned = mx.where(mx.less(x, 0), mx.array(3.141592653589793, d), mx.array(0, d))
        return mx.where(mx.isnan(x), x, turned) if is_float(x) else turned

    # ---------------------------------------------------------------- special functions: missing, or inaccurate
    def erfc(self, x: Array) -> Array:
        return self._on_host("erfc", x)

    def erfinv(self, x: Array) -> Array:
        return self._on_host("erfinv", x)

    def lgamma(self, x: Array) -> Array:
        return self._on_host("lgamma", x)

    def digamma(self, x: Array) -> Array:
        return self._on_host("digamma", x)

    def polygamma(self, x: Array, n: int) -> Array:
        return self._on_host("polygamma", x, n)

    def igamma(self, x: Array, y: Array) -> Array:
        return self._on_host("igamma", x, y)

    def igammac(self, x: Array, y: Array) -> Array:
        return self._on_host("igammac", x, y)

    def i0(self, x: Array) -> Array:
        return self._on_host("i0", x)

    def i0e(self, x: Array) -> Array:
        return self._on_host("i0e", x)

    def i1(self, x: Array) -> Array:
        return self._on_host("i1", x)

    def i1e(self, x: Array) -> Array:
        return self._on_host("i1e", x)

    def frexp(self, x: Array) -> tuple[Array, Array]:
        return self._on_host("frexp", x)  # type: ignore[no-any-return]
