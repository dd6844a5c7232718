"""Elementwise functions of two operands: extremes that pass over nan, signs, steps, whole numbers, bits."""

from __future__ import annotations

from framework.core.defaults import get_default_dtype
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, binary, op
from framework.dispatch.schema import Num
from framework.dispatch.slow import promoted
from framework.ops.special import zero_where


# ---------------------------------------------------------------- extremes that pass over nan
def _wins(xp, input, other, better):
    """Where the first operand is taken: it is better or equal, or the other is nan."""
    return xp.logical_or(better, xp.isnan(other))


fmax = binary("fmax", doc="The greater of two elements; a number wins over nan.", numbers="none", exact=True, accept="biuf", inplace=False, vjp=(
    lambda xp, g, input, other: zero_where(xp, xp.logical_not(_wins(xp, input, other, input >= other)), g),
    lambda xp, g, input, other: zero_where(xp, _wins(xp, input, other, input >= other), g)))  # fmt: skip
fmin = binary("fmin", doc="The lesser of two elements; a number wins over nan.", numbers="none", exact=True, accept="biuf", inplace=False, vjp=(
    lambda xp, g, input, other: zero_where(xp, xp.logical_not(_wins(xp, input, other, input <= other)), g),
    lambda xp, g, input, other: zero_where(xp, _wins(xp, input, other, input <= other), g)))  # fmt: skip

# ---------------------------------------------------------------- sizes and signs
hypot = binary(
    "hypot",
    doc="sqrt(input ** 2 + other ** 2), without overflow.",
    numbers="none",
    accept="f",
    vjp=(
        lambda xp, g, input, out: zero_where(xp, out == 0, g * (input / out)),
        lambda xp, g, other, out: zero_where(xp, out == 0, g * (other / out)),
    ),
)
copysign = binary("copysign", doc="The magnitude of input with the sign of other.", numbers="other", dtype="float", accept="biuf", vjp=(
    lambda xp, g, input, out: zero_where(xp, input == 0, g * (out / input)), lambda g: g * 0))  # fmt: skip
nextafter = binary(
    "nextafter", doc="The next floating number after input towards other.", numbers="none", accept="f", exact=True
)


def _one_dtype(input, other):
    if isinstance(input, Tensor) and isinstance(other, Tensor) and input.dtype is not other.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")


heaviside = binary(
    "heaviside",
    doc="0 below 0, 1 above, and other where input is 0.",
    numbers="none",
    accept="biuf",
    exact=True,
    check=_one_dtype,
)

# ---------------------------------------------------------------- whole numbers and bits
gcd = binary("gcd", doc="The greatest common divisor.", numbers="none", accept="iu", exact=True)
lcm = binary("lcm", doc="The least common multiple.", numbers="none", accept="iu", exact=True)


# ---------------------------------------------------------------- mantissas and exponents
@op(composite=True, inplace=True)
def ldexp(input: Num, other: Num):
    """input * 2 ** other."""
    d = promoted([input, other])
    return T.mul(input, T.pow(2.0, T.astype(other, d if d.category > 1 else get_default_dtype())))


@op(opaque=True, accept="f", outs=("mantissa", "exponent"), diff_outs=("mantissa",), batch=lambda fn, size, flags, args: fn(*args),
    vjp=(lambda xp, g, exponent: g / xp.pow(xp.full((), 2, xp.like(g)), xp.astype(exponent, xp.dtype_of(g))),))  # fmt: skip
def frexp(xp, input: Num):
    """(mantissa in [0.5, 1), int32 exponent) with input = mantissa * 2 ** exponent."""
    return xp.frexp(input)
