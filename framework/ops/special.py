"""Special functions, and functions near them that PyTorch shows in `special` too."""

from __future__ import annotations

from math import factorial, pi, sqrt
from math import log as _ln

from framework.core.defaults import get_default_dtype
from framework.core.tensor import Tensor
from framework.dispatch.batched import elementwise_batch
from framework.dispatch.inplace import assigned
from framework.dispatch.registry import PUBLIC, T, attach, binary, op, unary
from framework.dispatch.schema import Num

_BOTH = dict(dtype="float", accept="biuf", spaces=("", "special"))
_SPECIAL = dict(dtype="float", accept="biuf", spaces=("special",))


def zero_where(xp, condition, value):
    """value, and 0 where the condition holds: also where the value is nan there."""
    return xp.where(condition, xp.full((), 0, xp.like(value)), value)


# ---------------------------------------------------------------- error functions
erf = unary(
    "erf", doc="The error function.", deriv=(lambda xp, input: xp.exp(-(input * input)) * (2 / sqrt(pi)),), **_BOTH
)
erfc = unary(
    "erfc",
    doc="1 - erf(x), accurate for large x.",
    deriv=(lambda xp, input: xp.exp(-(input * input)) * (-2 / sqrt(pi)),),
    **_BOTH,
)
erfinv = unary(
    "erfinv",
    doc="The inverse of erf, on (-1, 1).",
    deriv=(lambda xp, out: xp.exp(out * out) * (sqrt(pi) / 2),),
    **_BOTH,
)

# ---------------------------------------------------------------- gamma functions
lgamma = unary(
    "lgamma",
    doc="The logarithm of |Gamma(x)|.",
    deriv=(lambda xp, input: xp.digamma(input),),
    **_BOTH | {"alias": ("gammaln",)},
)
digamma = unary(
    "digamma",
    doc="The derivative of lgamma.",
    deriv=(lambda xp, input: xp.polygamma(input, 1),),
    **_BOTH | {"alias": ("psi",)},
)


@op(
    opaque=True,
    elementwise=True,
    dtype="float",
    accept="biuf",
    spaces=(),
    deriv=(lambda xp, input, order: xp.polygamma(input, order + 1),),
)
def polygamma(xp, input: Num, order):
    """The derivative of digamma of an order."""
    return xp.polygamma(input, order)


polygamma_of = T.polygamma


def _order(n):
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return n


@op(composite=True, spaces=("", "special"), method=False)
def polygamma(n, input: Num):
    """The n-th derivative of digamma; digamma itself for n = 0."""
    return polygamma_of(input, _order(n)) if n else T.digamma(input)


@op(composite=True, inplace=True, spaces=("", "special"), alias=("multigammaln",))
def mvlgamma(input: Num, p):
    """The logarithm of the multivariate gamma function of dimension p."""
    if input.dtype.category < 2:
        input = T.astype(input, get_default_dtype())
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    steps = T.full((), 0, input)
    total = T.add(steps, p * (p - 1) / 4 * _ln(pi))
    for j in range(p):
        total = T.add(total, T.lgamma(T.sub(input, j / 2)))
    return total


def _polygamma(self, n):
    """The n-th derivative of digamma at this tensor's elements."""
    return polygamma(n, self)


def _polygamma_(self, n):
    """In-place form of `polygamma`."""
    return assigned(polygamma_of.entry, "polygamma_", self, (n,), {})


attach(polygamma=_polygamma, polygamma_=_polygamma_)


def _no_derivative(name):
    def rule(g):
        raise NotImplementedError(
            f"derivative for '{name}: input' is not implemented: only the second operand has a gradient"
        )

    return rule


def _gamma_density(xp, input, other):
    """other ** (input - 1) * exp(-other) / gamma(input), the density of the gamma distribution at `other`."""
    return xp.exp(_times_log(xp, xp.log, input - 1, other) - other - xp.lgamma(input))


igamma = binary(
    "igamma",
    doc="The regularised lower incomplete gamma function of (input, other).",
    numbers="none",
    vjp=(_no_derivative("igamma"), lambda xp, g, input, other: g * _gamma_density(xp, input, other)),
    **_BOTH,
)
igammac = binary(
    "igammac",
    doc="The regularised upper incomplete gamma function of (input, other).",
    numbers="none",
    vjp=(_no_derivative("igammac"), lambda xp, g, input, other: -g * _gamma_density(xp, input, other)),
    **_BOTH,
)
PUBLIC["special"].update(gammainc=igamma, gammaincc=igammac)


# ---------------------------------------------------------------- modified Bessel functions
def _over(xp, out, input):
    """out / input, and its limit 1/2 at zero."""
    nowhere = input == 0
    return xp.where(
        nowhere, xp.full((), 0.5, xp.like(out)), out / xp.where(nowhere, xp.full((), 1, xp.like(out)), input)
    )


i0 = unary("i0", doc="The modified Bessel function of order 0.", deriv=(lambda xp, input: xp.i1(input),), **_BOTH)
i0e = unary(
    "i0e", doc="exp(-|x|) times i0.", deriv=(lambda xp, input, out: xp.i1e(input) - xp.sign(input) * out,), **_SPECIAL
)
i1 = unary(
    "i1",
    doc="The modified Bessel function of order 1.",
    deriv=(lambda xp, input, out: xp.i0(input) - _over(xp, out, input),),
    **_SPECIAL,
)
i1e = unary(
    "i1e",
    doc="exp(-|x|) times i1.",
    deriv=(lambda xp, input, out: xp.i0e(input) - xp.sign(input) * out - _over(xp, out, input),),
    **_SPECIAL,
)


# ---------------------------------------------------------------- logit, sinc
def _logit_vjp(xp, g, input, eps):
    """1 / (x (1 - x)) where the function is defined, both ends included; beyond, nan, or 0 where x was clamped."""
    clamped = eps is not None and eps >= 0
    low, high = (eps, 1 - eps) if clamped else (0, 1)
    inside = xp.logical_and(input >= low, input <= high)
    slope = g / (input * (1 - input))
    return xp.where(inside, slope, xp.full((), 0 if clamped else float("nan"), xp.like(slope)))


@op(elementwise=True, batch=elementwise_batch, inplace=True, vjp=(_logit_vjp,), **_BOTH)
def logit(xp, input: Num, eps=None):
    """log(input / (1 - input)), nan outside [0, 1]; with an `eps` that is not negative, of input clamped to [eps, 1 -
    eps].
    """
    if eps is not None and eps >= 0:
        low, high = xp.full((), eps, xp.like(input)), xp.full((), 1 - eps, xp.like(input))
        input = xp.where(input < low, low, xp.where(input > high, high, input))
    twice = input * 2 - 1  # exact near 1/2, where the logarithm of the quotient has no digits left
    return xp.where(xp.abs(twice) < 0.4, xp.log1p(twice) - xp.log1p(-twice), xp.log(input / (1 - input)))


def _circle(xp, x):
    """(sin(pi x), cos(pi x)); of real numbers from x less the nearest whole number, so that whole numbers give exact
    zeros.
    """
    if xp.dtype_of(x).is_complex:
        return xp.sin(x * pi), xp.cos(x * pi)
    n = xp.round(x)
    sign = 1 - 2 * (n - 2 * xp.floor(n * 0.5))
    angle = (x - n) * pi
    return sign * xp.sin(angle), sign * xp.cos(angle)


_SLOPES = [
    (-1) ** k * 2 * k / factorial(2 * k + 1) for k in range(1, 10)
]  # of Taylor's series of sin(u) / u: the derivative's


def _sinc_deriv(xp, input):
    """(cos(pi x) - sinc(x)) / x, near 0 by its Taylor series."""
    u = input * pi
    near = xp.abs(u) < 1
    u = xp.where(
        near, u, xp.full((), 0, xp.like(u))
    )  # each branch on what it is for: no overflow may reach its derivative
    x = xp.where(near, xp.full((), 1, xp.like(u)), input)
    square, series = u * u, xp.full((), 0, xp.like(u))
    for c in reversed(_SLOPES):
        series = series * square + c
    sine, cosine = _circle(xp, x)
    return xp.where(near, series * u * pi, (cosine - sine / (x * pi)) / x)


@op(
    elementwise=True, batch=elementwise_batch, inplace=True, deriv=(_sinc_deriv,), dtype="float", spaces=("", "special")
)
def sinc(xp, input: Num):
    """sin(pi input) / (pi input), and 1 at 0."""
    nowhere = input == 0
    one = xp.full((), 1, xp.like(input))
    return xp.where(nowhere, one, _circle(xp, input)[0] / xp.where(nowhere, one, input * pi))


# ---------------------------------------------------------------- products with logarithms
def _both(xp, x, y):
    """Two operands, numbers among them as 0-d arrays."""
    if isinstance(x, (bool, int, float)):
        return xp.full((), x, xp.like(y)), y
    return x, xp.full((), y, xp.like(x)) if isinstance(y, (bool, int, float)) else y


def _times_log(xp, log, x, y):
    """x * log(y): 0 where x is 0, nan where y is nan."""
    x, y = _both(xp, x, y)
    zero = xp.logical_and(x == 0, xp.logical_not(xp.isnan(y)))
    return zero_where(xp, zero, x * log(y))


def _times_log_vjp(xp, g, log, x, y, edge):
    """The gradient of the factor: log(y), but 0 where the product was set to 0 and log(y) is not a number."""
    x, y = _both(xp, x, y)
    return zero_where(xp, xp.logical_and(x == 0, y <= edge), g * log(y))


xlogy = binary(
    "xlogy",
    doc="input * log(other); 0 where input is 0.",
    forward=lambda xp, input, other: _times_log(xp, xp.log, input, other),
    inplace=True,
    batch=elementwise_batch,
    vjp=(
        lambda xp, g, input, other: _times_log_vjp(xp, g, xp.log, input, other, 0),
        lambda g, input, other: g * input / other,
    ),
    **_BOTH,
)
xlog1py = binary(
    "xlog1py",
    doc="input * log1p(other); 0 where input is 0.",
    forward=lambda xp, input, other: _times_log(xp, xp.log1p, input, other),
    inplace=False,
    batch=elementwise_batch,
    vjp=(
        lambda xp, g, input, other: _times_log_vjp(xp, g, xp.log1p, input, other, -1),
        lambda g, input, other: g * input / (other + 1),
    ),
    **_SPECIAL,
)


# ---------------------------------------------------------------- sums of exponentials of two
def _ratio(xp, a, b, grow):
    """1 / (1 + grow(b - a)), the share of a in the sum; the difference of equal infinities counts as 0."""
    return 1 / (1 + grow(zero_where(xp, xp.eq(a, b), b - a)))


def _is_complex(x):
    return isinstance(x, Tensor) and x.dtype.is_complex


def _complex_logaddexp(xp, input, other):
    """From the operand with the greater real part, so that no exponential overflows."""
    first = xp.real(input) >= xp.real(other)
    greater, lesser = xp.where(first, input, other), xp.where(first, other, input)
    return greater + xp.log1p(xp.exp(zero_where(xp, xp.eq(greater, lesser), lesser - greater)))


binary("complex_logaddexp", _complex_logaddexp, accept="c", spaces=(), batch=elementwise_batch,
       deriv=(lambda xp, input, out: xp.exp(input - out), lambda xp, other, out: xp.exp(other - out)))  # fmt: skip
logaddexp = binary(
    "logaddexp",
    doc="log(exp(input) + exp(other)), without overflow.",
    numbers="none",
    inplace=False,
    accept="f",
    vjp=(
        lambda xp, g, input, other: g * _ratio(xp, input, other, xp.exp),
        lambda xp, g, input, other: g * _ratio(xp, other, input, xp.exp),
    ),
    rewrite=lambda *args: T.complex_logaddexp(*args) if any([_is_complex(x) for x in args]) else NotImplemented,
)
logaddexp2 = binary(
    "logaddexp2",
    doc="log2(2 ** input + 2 ** other), without overflow.",
    numbers="none",
    inplace=False,
    accept="f",
    vjp=(
        lambda xp, g, input, other: g * _ratio(xp, input, other, xp.exp2),
        lambda xp, g, input, other: g * _ratio(xp, other, input, xp.exp2),
    ),
)
