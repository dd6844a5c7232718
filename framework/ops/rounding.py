"""Rounding, parts of numbers, infinities and nan replaced or tested for, membership."""

from __future__ import annotations

from backends.dtypes import bfloat16, float16, float32, float64
from framework.core.tensor import Tensor, make
from framework.dispatch.batched import elementwise_batch
from framework.dispatch.registry import T, op, unary
from framework.dispatch.schema import Num

frac = unary(
    "frac",
    doc="x without its whole part; has the sign of x.",
    forward=lambda xp, input: input - xp.trunc(input),
    accept="f",
    batch=elementwise_batch,
    deriv=(lambda xp, input: xp.full(tuple(input.shape), 1, xp.like(input)),),
)


def _zero(xp, g):
    return xp.full(tuple(g.shape), 0, xp.like(g))


_ROUND = dict(elementwise=True, batch=elementwise_batch, spaces=())


@op(opaque=True, exact=True, accept="iuf", vjp=(_zero,), **_ROUND)
def round(xp, input: Num):
    """To the nearest whole number, halves to the even one."""
    return xp.round(input)


@op(accept="f", vjp=(_zero,), **_ROUND)
def round_decimals(xp, input: Num, decimals):
    """To so many decimals, halves to the even one; of a negative number, to tens, hundreds ..."""
    scale = 10.0 ** abs(decimals)
    return xp.round(input * scale) / scale if decimals > 0 else xp.round(input / scale) * scale


nearest = T.round


@op(composite=True, inplace=True, spaces=("", "special"))
def round(input: Num, *, decimals=0):
    """To the nearest number with so many decimals, halves to the even one."""
    return T.round_decimals(input, decimals) if decimals else nearest(input)


# ---------------------------------------------------------------- infinities and nan
LARGEST = {
    float16: 65504.0,
    bfloat16: 3.3895313892515355e38,
    float32: 3.4028234663852886e38,
    float64: 1.7976931348623157e308,
}


def _finite(xp, x, nan, posinf, neginf):
    return xp.logical_not(xp.logical_or(xp.isnan(x), xp.isinf(x)))


def _replaced(xp, x, nan, posinf, neginf):
    d = xp.dtype_of(x)
    if d.is_complex:
        return xp.complex(
            _replaced(xp, xp.real(x), nan, posinf, neginf), _replaced(xp, xp.imag(x), nan, posinf, neginf)
        )
    constant = lambda v: xp.full((), v, xp.like(x))
    x = xp.where(xp.isnan(x), constant(nan), x)
    x = xp.where(xp.eq(x, constant(float("inf"))), constant(LARGEST[d] if posinf is None else posinf), x)
    return xp.where(xp.eq(x, constant(float("-inf"))), constant(-LARGEST[d] if neginf is None else neginf), x)


def _replaced_vjp(xp, g, input):
    bad = lambda x: xp.logical_or(xp.isnan(x), xp.isinf(x))
    if not xp.dtype_of(input).is_complex:
        return xp.where(bad(input), xp.full((), 0, xp.like(g)), g)
    zero = xp.full((), 0, xp.like(xp.real(g)))
    return xp.complex(xp.where(bad(xp.real(input)), zero, xp.real(g)), xp.where(bad(xp.imag(input)), zero, xp.imag(g)))


@op(elementwise=True, batch=elementwise_batch, exact=True, accept="fc", spaces=(), vjp=(_replaced_vjp,))
def nan_replaced(xp, input: Num, nan, posinf, neginf):
    """nan and infinities replaced by numbers; None: the largest or smallest of the dtype."""
    return _replaced(xp, input, nan, posinf, neginf)


@op(composite=True, inplace=True)
def nan_to_num(input: Num, nan=None, posinf=None, neginf=None):
    """nan replaced by `nan` (0), infinities by `posinf` and `neginf` (the largest and smallest numbers of the
    dtype).
    """
    if input.dtype.category < 2:
        return T.clone(input)
    return T.nan_replaced(input, 0.0 if nan is None else nan, posinf, neginf)


@op(composite=True)
def isposinf(input: Num):
    """Where the element is +inf."""
    if input.dtype.is_complex:
        raise RuntimeError("isposinf does not support complex inputs.")
    return T.eq(input, float("inf")) if input.dtype.is_floating_point else _nowhere(input)


@op(composite=True)
def isneginf(input: Num):
    """Where the element is -inf."""
    if input.dtype.is_complex:
        raise RuntimeError("isneginf does not support complex inputs.")
    return T.eq(input, float("-inf")) if input.dtype.is_floating_point else _nowhere(input)


def _nowhere(input):
    return T.ne(input, input)


# ---------------------------------------------------------------- membership
@op(composite=True, method=False)
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Where an element is among the test elements (where it is not, with `invert`)."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise TypeError("isin(): elements or test_elements must be a Tensor")
    if not isinstance(elements, Tensor):
        elements = _number_like(elements, test_elements)
    if not isinstance(test_elements, Tensor):
        test_elements = _number_like(test_elements, elements)
    if elements.dtype.is_complex or test_elements.dtype.is_complex:
        raise RuntimeError("Unsupported input type encountered for isin(): complex")
    wanted = T.reshape(test_elements, (-1,))
    if not wanted.numel():
        found = T.lt(elements, elements)
    elif wanted.numel() <= 16:
        found = T.any(T.eq(T.unsqueeze(elements, (elements.ndim,)), wanted), (elements.ndim,))
    else:
        d = (
            T.add(T.reshape(elements, (-1,))[:1], wanted[:1]).dtype
            if elements.dtype is not wanted.dtype
            else wanted.dtype
        )
        values = T.sort(T.astype(wanted, d), 0, False, False)[0]
        x = T.astype(elements, d)
        place = T.clamp_max(T.searchsorted(values, T.reshape(x, (-1,)), False), values.shape[0] - 1)
        found = T.eq(T.reshape(T.index_select(values, 0, place), tuple(x.shape)), x)
    return T.logical_not(found) if invert else found


def _number_like(value, like):
    from framework.dispatch.slow import promoted

    d = promoted([like, value])
    return make(like.backend, like.backend.full((), value, d), d)
