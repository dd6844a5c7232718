"""Reductions. `dim` is a number, several, or None for all."""

from __future__ import annotations

from math import prod as _count

from backends.dtypes import bool_, uint8
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Cast, Dims, Num


def spread(xp, g, shape, dim, keepdim):
    """A reduced gradient (or value) in the shape before the reduction."""
    if dim is None:
        dim = tuple(range(len(shape)))
    if not dim:
        return g
    return xp.expand(g if keepdim else xp.unsqueeze(g, dim), shape)


@op(
    opaque=True,
    linear="each",
    dtype="sum",
    vjp=(lambda xp, g, shape, dim, keepdim: spread(xp, g, shape, dim, keepdim),),
)
def sum(xp, input: Num, dim: Dims = None, keepdim=False, *, dtype: Cast = None):
    """The sum over `dim`. Bools and integers add up in int64."""
    return xp.sum(input, dim, keepdim)


def _size(shape, dim):
    return _count([shape[d] for d in (range(len(shape)) if dim is None else dim)])


def _mean_vjp(xp, g, shape, dim, keepdim):
    return spread(xp, g / max(_size(shape, dim), 1), shape, dim, keepdim)


def _mean_dtype(input, dim, keepdim, dtype):
    d = dtype or input.dtype
    if d.category < 2:
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {d}"
        )


@op(linear="each", batch="dims", vjp=(_mean_vjp,), check=_mean_dtype)
def mean(xp, input: Num, dim: Dims = None, keepdim=False, *, dtype: Cast = None):
    """The arithmetic mean over `dim`; nan over no elements."""
    total = xp.sum(input, dim, keepdim)
    count = _size(input.shape, dim)
    return total / count if count else total * float("nan")


def shared_evenly(xp, g, input, out, shape, dim, keepdim):
    """The gradient of a chosen element; all that equal it share it evenly."""
    chosen = spread(xp, out, shape, dim, keepdim)
    hit = xp.astype(
        xp.logical_or(xp.eq(input, chosen), xp.logical_and(xp.isnan(input), xp.isnan(chosen))), xp.dtype_of(g)
    )
    return spread(xp, g, shape, dim, keepdim) * (hit / xp.sum(hit, dim, True))


def _not_empty(name):
    def check(input, dim, keepdim):
        if dim is None and not input.numel():
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim "
                "with the 'dim' argument."
            )
        for d in range(input.ndim) if dim is None else dim:
            if input.shape[d] == 0:
                raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")

    return check


def _dim_or_all(input, dim, keepdim):
    return (None if dim == () or dim is None else dim), keepdim


@op(opaque=True, vjp=(shared_evenly,), exact=True, accept="biuf", check=_not_empty("amax"), canon=_dim_or_all)
def amax(xp, input: Num, dim: Dims = None, keepdim=False):
    """The largest element over `dim`; nan wins."""
    return xp.amax(input, dim, keepdim)


@op(opaque=True, vjp=(shared_evenly,), exact=True, accept="biuf", check=_not_empty("amin"), canon=_dim_or_all)
def amin(xp, input: Num, dim: Dims = None, keepdim=False):
    """The smallest element over `dim`; nan wins."""
    return xp.amin(input, dim, keepdim)


@op(opaque=True, dtype=bool_, exact=True, spaces=())
def any(xp, input: Num, dim: Dims = None, keepdim=False):
    """Whether some element is not zero."""
    return xp.any(input, dim, keepdim)


@op(opaque=True, dtype=bool_, exact=True, spaces=())
def all(xp, input: Num, dim: Dims = None, keepdim=False):
    """Whether every element is not zero."""
    return xp.all(input, dim, keepdim)


some, every = T.any, T.all


@op(composite=True)
def any(input: Num, dim=None, keepdim=False):
    """Whether some element over `dim` (all by default) is not zero: a bool; for uint8, uint8."""
    found = some(input, dim, keepdim)
    return T.to_dtype(found, uint8) if input.dtype is uint8 else found


@op(composite=True)
def all(input: Num, dim=None, keepdim=False):
    """Whether every element over `dim` (all by default) is not zero: a bool; for uint8, uint8."""
    found = every(input, dim, keepdim)
    return T.to_dtype(found, uint8) if input.dtype is uint8 else found
