"""Elementwise ops of one operand: one line each. `deriv` is the derivative, which serves reverse and forward mode."""

from __future__ import annotations

from math import log as _ln
from math import pi

from framework.dispatch.registry import op, unary
from framework.dispatch.schema import Num

# ---------------------------------------------------------------- exponentials and logarithms
exp = unary("exp", dtype="float", deriv=(lambda out: out,))
exp2 = unary("exp2", dtype="float", deriv=(lambda out: out * _ln(2),), spaces=("", "special"))
expm1 = unary("expm1", dtype="float", deriv=(lambda out: out + 1,), spaces=("", "special"))
log = unary("log", dtype="float", deriv=(lambda input: 1 / input,))
log2 = unary("log2", dtype="float", deriv=(lambda input: 1 / (input * _ln(2)),))
log10 = unary("log10", dtype="float", deriv=(lambda input: 1 / (input * _ln(10)),))
log1p = unary("log1p", dtype="float", deriv=(lambda input: 1 / (input + 1),), spaces=("", "special"))
sqrt = unary("sqrt", dtype="float", deriv=(lambda out: 0.5 / out,))
rsqrt = unary("rsqrt", dtype="float", deriv=(lambda input, out: -0.5 * out / input,))
square = unary("square", deriv=(lambda input: 2 * input,), accept="iufc")
reciprocal = unary("reciprocal", dtype="float", deriv=(lambda out: -out * out,))

# ---------------------------------------------------------------- trigonometric and hyperbolic
sin = unary("sin", dtype="float", deriv=(lambda xp, input: xp.cos(input),))
cos = unary("cos", dtype="float", deriv=(lambda xp, input: -xp.sin(input),))
tan = unary("tan", dtype="float", deriv=(lambda out: out * out + 1,))
asin = unary("asin", dtype="float", deriv=(lambda xp, input: xp.rsqrt(1 - input * input),), alias=("arcsin",))
acos = unary("acos", dtype="float", deriv=(lambda xp, input: -xp.rsqrt(1 - input * input),), alias=("arccos",))
atan = unary("atan", dtype="float", deriv=(lambda input: 1 / (input * input + 1),), alias=("arctan",))
sinh = unary("sinh", dtype="float", deriv=(lambda xp, input: xp.cosh(input),))
cosh = unary("cosh", dtype="float", deriv=(lambda xp, input: xp.sinh(input),))
tanh = unary("tanh", dtype="float", deriv=(lambda out: 1 - out * out,), kernel_vjp=True)
asinh = unary("asinh", dtype="float", deriv=(lambda xp, input: xp.rsqrt(input * input + 1),), alias=("arcsinh",))
acosh = unary("acosh", dtype="float", deriv=(lambda xp, input: xp.rsqrt(input - 1) * xp.rsqrt(input + 1),), alias=("arccosh",))
atanh = unary("atanh", dtype="float", deriv=(lambda input: 1 / (1 - input * input),), alias=("arctanh",))
sigmoid = unary("sigmoid", dtype="float", deriv=(lambda out: out * (1 - out),), kernel_vjp=True)
deg2rad = unary("deg2rad", lambda xp, input: input * (pi / 180), dtype="float", linear="each", vjp=(lambda g: g * (pi / 180),))
rad2deg = unary("rad2deg", lambda xp, input: input * (180 / pi), dtype="float", linear="each", vjp=(lambda g: g * (180 / pi),))

# ---------------------------------------------------------------- sign and rounding
neg = unary("neg", linear="each", vjp=(lambda g: -g,), alias=("negative",), accept="iufc")
positive = unary("positive", lambda xp, input: input, linear="each", vjp=(lambda g: g,), accept="iufc", inplace=False)
abs = unary("abs", dtype="real", vjp=(lambda xp, g, input: g * xp.sgn(input),), alias=("absolute",), inplace=True, accept="iufc")
sign = unary("sign", vjp=(lambda g: g * 0,), accept="biuf", exact=True)
sgn = unary("sgn", vjp=(lambda xp, g, input, out: _sgn_vjp(xp, g, input, out),), exact=True)
floor = unary("floor", deriv=(lambda xp, input: _zero(xp, input),), accept="iuf", exact=True)
ceil = unary("ceil", deriv=(lambda xp, input: _zero(xp, input),), accept="iuf", exact=True)
trunc = unary("trunc", deriv=(lambda xp, input: _zero(xp, input),), accept="iuf", exact=True, alias=("fix",))
relu = unary("relu", deriv=(lambda xp, out: xp.astype(out > 0, xp.dtype_of(out)),), accept="iuf", spaces=("", "nn.functional"), exact=True,
             kernel_vjp=True)  # fmt: skip

# ---------------------------------------------------------------- tests
isnan = unary("isnan", dtype="bool", exact=True)
isinf = unary("isinf", dtype="bool", exact=True)
isfinite = unary("isfinite", dtype="bool", exact=True)
signbit = unary("signbit", dtype="bool", exact=True, accept="biuf")
logical_not = unary("logical_not", dtype="bool", exact=True, inplace=True)
bitwise_not = unary("bitwise_not", accept="biu", exact=True)


def _zero(xp, x):
    """A constant zero of x's shape; never x * 0, which is nan where x is inf."""
    return xp.full(tuple(x.shape), 0, xp.like(x))


def _sgn_vjp(xp, g, input, out):
    """d sgn(z): the part of g orthogonal to z, over |z|; zero for real z and at z = 0."""
    if not xp.dtype_of(input).is_complex:
        return g * 0
    size = xp.abs(input)
    safe = xp.where(size == 0, xp.full((), 1, xp.like(size)), size)
    turn = g / safe
    along = xp.real(turn * xp.conj(out))
    return xp.where(size == 0, xp.full((), 0, xp.like(g)), turn - out * along)


# ---------------------------------------------------------------- complex parts
@op(elementwise=True, opaque=True, linear="each", vjp=(lambda xp, g: xp.conj(g),), exact=True, spaces=(), batch=lambda fn, size, flags, args: fn(*args))
def conj(xp, input: Num):
    """The complex conjugate, computed; real input is returned as it is."""
    return xp.conj(input)


@op(dtype="real", opaque=True, linear="each", elementwise=True, vjp=(lambda xp, g: g,), exact=True)
def real(xp, input: Num):
    """The real part."""
    return xp.real(input)
