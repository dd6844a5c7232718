"""Softmax and its logarithm: formulas that a backend may replace by a fused kernel."""

from __future__ import annotations

from framework.dispatch.registry import op
from framework.dispatch.schema import Cast, Dim, Num


@op(kernel=True, kernel_vjp=True, batch="dims", dtype="float", accept="fc", spaces=("", "special"), vjp=(lambda xp, g, out, dim: out * (g - xp.sum(g * out, (dim,), True)),))
def softmax(xp, input: Num, dim: Dim, *, dtype: Cast = None):
    """exp(input) over its sum along `dim`."""
    e = xp.exp(input - xp.amax(input, (dim,), True))
    return e / xp.sum(e, (dim,), True)


@op(kernel=True, kernel_vjp=True, batch="dims", dtype="float", accept="fc", spaces=("", "special"), vjp=(lambda xp, g, out, dim: g - xp.exp(out) * xp.sum(g, (dim,), True),))
def log_softmax(xp, input: Num, dim: Dim, *, dtype: Cast = None):
    """The logarithm of softmax, without overflow or cancellation."""
    x = input - xp.amax(input, (dim,), True)
    return x - xp.log(xp.sum(xp.exp(x), (dim,), True))
