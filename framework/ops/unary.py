"""Elementwise ops of one operand: one line each. `deriv` is the derivative, which serves reverse and forward mode."""

from __future__ import annotations

from math import log as _ln
from math import pi

from backends.dtypes import bool_, int64
from framework.dispatch.registry import T, op, unary
from framework.dispatch.schema import Num

# ---------------------------------------------------------------- exponentials and logarithms
exp = unary("exp", doc="e to the power of each element.", dtype="float", deriv=(lambda out: out,))
exp2 = unary(
    "exp2",
    doc="2 to the power of each element.",
    dtype="float",
    deriv=(lambda out: out * _ln(2),),
    spaces=("", "special"),
)
expm1 = unary(
    "expm1", doc="exp(x) - 1, accurate near 0.", dtype="float", deriv=(lambda out: out + 1,), spaces=("", "special")
)
log = unary("log", doc="The natural logarithm.", dtype="float", deriv=(lambda input: 1 / input,))
log2 = unary("log2", doc="The logarithm to base 2.", dtype="float", deriv=(lambda input: 1 / (input * _ln(2)),))
log10 = unary("log10", doc="The logarithm to base 10.", dtype="float", deriv=(lambda input: 1 / (input * _ln(10)),))
log1p = unary(
    "log1p",
    doc="log(1 + x), accurate near 0.",
    dtype="float",
    deriv=(lambda input: 1 / (input + 1),),
    spaces=("", "special"),
)
sqrt = unary("sqrt", doc="The square root; nan below 0.", dtype="float", deriv=(lambda out: 0.5 / out,))
rsqrt = unary("rsqrt", doc="1 / sqrt(x).", dtype="float", deriv=(lambda input, out: -0.5 * out / input,))
square = unary("square", doc="x * x.", deriv=(lambda input: 2 * input,), accept="iufc")
reciprocal = unary("reciprocal", doc="1 / x.", dtype="float", deriv=(lambda out: -out * out,))

# ---------------------------------------------------------------- trigonometric and hyperbolic
sin = unary("sin", doc="The sine of an angle in radians.", dtype="float", deriv=(lambda xp, input: xp.cos(input),))
cos = unary("cos", doc="The cosine of an angle in radians.", dtype="float", deriv=(lambda xp, input: -xp.sin(input),))
tan = unary("tan", doc="The tangent of an angle in radians.", dtype="float", deriv=(lambda out: out * out + 1,))
asin = unary(
    "asin",
    doc="The angle in radians whose sine is x; nan outside [-1, 1].",
    dtype="float",
    deriv=(lambda xp, input: xp.rsqrt(1 - input * input),),
    alias=("arcsin",),
)
acos = unary(
    "acos",
    doc="The angle in radians whose cosine is x; nan outside [-1, 1].",
    dtype="float",
    deriv=(lambda xp, input: -xp.rsqrt(1 - input * input),),
    alias=("arccos",),
)
atan = unary(
    "atan",
    doc="The angle in radians whose tangent is x.",
    dtype="float",
    deriv=(lambda input: 1 / (input * input + 1),),
    alias=("arctan",),
)
sinh = unary("sinh", doc="The hyperbolic sine.", dtype="float", deriv=(lambda xp, input: xp.cosh(input),))
cosh = unary("cosh", doc="The hyperbolic cosine.", dtype="float", deriv=(lambda xp, input: xp.sinh(input),))
tanh = unary("tanh", doc="The hyperbolic tangent.", dtype="float", deriv=(lambda out: 1 - out * out,), kernel_vjp=True)
asinh = unary(
    "asinh",
    doc="The inverse hyperbolic sine.",
    dtype="float",
    deriv=(lambda xp, input: xp.rsqrt(input * input + 1),),
    alias=("arcsinh",),
)
acosh = unary(
    "acosh",
    doc="The inverse hyperbolic cosine; nan below 1.",
    dtype="float",
    deriv=(lambda xp, input: xp.rsqrt(input - 1) * xp.rsqrt(input + 1),),
    alias=("arccosh",),
)
atanh = unary(
    "atanh",
    doc="The inverse hyperbolic tangent; nan outside [-1, 1].",
    dtype="float",
    deriv=(lambda input: 1 / (1 - input * input),),
    alias=("arctanh",),
)
sigmoid = unary(
    "sigmoid", doc="1 / (1 + exp(-x)).", dtype="float", deriv=(lambda out: out * (1 - out),), kernel_vjp=True
)
deg2rad = unary(
    "deg2rad",
    doc="Degrees as radians.",
    forward=lambda xp, input: input * (pi / 180),
    dtype="float",
    accept="biuf",
    linear="each",
    vjp=(lambda g: g * (pi / 180),),
)
rad2deg = unary(
    "rad2deg",
    doc="Radians as degrees.",
    forward=lambda xp, input: input * (180 / pi),
    dtype="float",
    accept="biuf",
    linear="each",
    vjp=(lambda g: g * (180 / pi),),
)

# ---------------------------------------------------------------- sign and rounding
neg = unary("neg", doc="-x. Not for bools.", linear="each", vjp=(lambda g: -g,), alias=("negative",), accept="iufc")
positive = unary(
    "positive",
    doc="x itself. Not for bools.",
    forward=lambda xp, input: input,
    linear="each",
    vjp=(lambda g: g,),
    accept="iufc",
    inplace=False,
)
abs = unary(
    "abs",
    doc="The absolute value; real for complex input.",
    dtype="real",
    vjp=(lambda xp, g, input: g * xp.sgn(input),),
    alias=("absolute",),
    inplace=True,
    accept="iufc",
)
sign = unary("sign", doc="-1, 0 or 1 by the sign of x; 0 for nan.", vjp=(lambda g: g * 0,), accept="biuf", exact=True)
sgn = unary(
    "sgn",
    doc="x / |x| and 0 at 0: the sign, also of complex numbers.",
    vjp=(lambda xp, g, input, out: _sgn_vjp(xp, g, input, out),),
    exact=True,
)
floor = unary(
    "floor",
    doc="The greatest integer not above x.",
    deriv=(lambda xp, input: _zero(xp, input),),
    accept="iuf",
    exact=True,
)
ceil = unary(
    "ceil", doc="The least integer not below x.", deriv=(lambda xp, input: _zero(xp, input),), accept="iuf", exact=True
)
trunc = unary(
    "trunc",
    doc="x without its fraction.",
    deriv=(lambda xp, input: _zero(xp, input),),
    accept="iuf",
    exact=True,
    alias=("fix",),
)
relu = unary(
    "relu",
    doc="max(x, 0).",
    deriv=(lambda xp, out: xp.astype(out > 0, xp.dtype_of(out)),),
    accept="iuf",
    spaces=("", "nn.functional"),
    exact=True,
    kernel_vjp=True,
)

# ---------------------------------------------------------------- tests
isnan = unary("isnan", doc="Whether each element is nan.", dtype="bool", exact=True)
isinf = unary("isinf", doc="Whether each element is infinite.", dtype="bool", exact=True)
isfinite = unary("isfinite", doc="Whether each element is neither infinite nor nan.", dtype="bool", exact=True)
signbit = unary("signbit", doc="Whether the sign bit is set, also of -0.0.", dtype="bool", exact=True, accept="biuf")
logical_not = unary("logical_not", doc="Whether each element is 0.", dtype="bool", exact=True, inplace=True)
bitwise_not = unary("bitwise_not", doc="The bits flipped; `not` for bools.", accept="biu", exact=True)


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
@op(
    elementwise=True,
    opaque=True,
    linear="each",
    vjp=(lambda xp, g: xp.conj(g),),
    exact=True,
    spaces=(),
    batch=lambda fn, size, flags, args: fn(*args),
)
def conj(xp, input: Num):
    """The complex conjugate, computed; real input is returned as it is."""
    return xp.conj(input)


@op(dtype="real", opaque=True, linear="each", elementwise=True, vjp=(lambda xp, g: g,), exact=True)
def real(xp, input: Num):
    """The real part."""
    return xp.real(input)


# ---------------------------------------------------------------- bools
squared = T.square


@op(composite=True, inplace=True)
def square(input: Num):
    """input * input; of bools, int64."""
    return squared(input if input.dtype is not bool_ else T.to_dtype(input, int64))
