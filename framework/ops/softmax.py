"""Softmax and its logarithm: formulas that a backend may replace by a fused kernel."""

from __future__ import annotations

from framework.dispatch.registry import op
from framework.dispatch.schema import Cast, Dim, Num

_SHARED = dict(kernel=True, kernel_vjp=True, batch="dims", dtype="float", accept="fc", spaces=("", "special"))


def _dims(x, dim):
    """The dimension to sum over; none of a 0-d tensor."""
    return (dim,) if len(x.shape) else ()


def _shifted(xp, input, dims):
    """input less its largest element along the dimension."""
    return input - (xp.amax(input, dims, True) if 0 not in input.shape else xp.full((), 0, xp.like(input)))


def _softmax_vjp(xp, g, out, dim):
    return out * (g - xp.sum(g * out, _dims(out, dim), True))


@op(vjp=(_softmax_vjp,), **_SHARED)
def softmax(xp, input: Num, dim: Dim, dtype: Cast = None):
    """exp(input) over its sum along `dim`."""
    dims = _dims(input, dim)
    e = xp.exp(_shifted(xp, input, dims))
    return e / xp.sum(e, dims, True)


def _log_softmax_vjp(xp, g, out, dim):
    return g - xp.exp(out) * xp.sum(g, _dims(out, dim), True)


@op(vjp=(_log_softmax_vjp,), **_SHARED)
def log_softmax(xp, input: Num, dim: Dim, dtype: Cast = None):
    """The logarithm of softmax, without overflow or cancellation."""
    dims = _dims(input, dim)
    x = _shifted(xp, input, dims)
    return x - xp.log(xp.sum(xp.exp(x), dims, True))
