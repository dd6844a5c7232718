"""Largest and smallest elements, and where they are. nan counts as larger and as smaller than everything; ties: see
each.
"""

from __future__ import annotations

from backends.dtypes import int64
from framework.core.shape import wrap_dim
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Num
from framework.ops.results import along, named, put_back

_EXTREME = dict(opaque=True, exact=True, accept="biuf", spaces=())
_PAIR = dict(outs=("values", "indices"), diff_outs=("values",), batch="dims", vjp=(
    lambda xp, g, indices, shape, dim, keepdim: put_back(xp, g, indices, shape, dim, keepdim),))  # fmt: skip


# ---------------------------------------------------------------- along one dimension
@op(dtype=int64, **_EXTREME)
def argmax(xp, input: Num, dim: Dim, keepdim=False):
    """Where the largest element along `dim` is; the first of several."""
    return xp.argmax(input, dim, keepdim)


@op(dtype=int64, **_EXTREME)
def argmin(xp, input: Num, dim: Dim, keepdim=False):
    """Where the smallest element along `dim` is; the first of several."""
    return xp.argmin(input, dim, keepdim)


@op(**_EXTREME | _PAIR)
def max(xp, input: Num, dim: Dim, keepdim=False):
    """The largest element along `dim`, and where it is."""
    return xp.amax(input, (dim,) if len(input.shape) else (), keepdim), xp.argmax(input, dim, keepdim)


@op(**_EXTREME | _PAIR)
def min(xp, input: Num, dim: Dim, keepdim=False):
    """The smallest element along `dim`, and where it is."""
    return xp.amin(input, (dim,) if len(input.shape) else (), keepdim), xp.argmin(input, dim, keepdim)


largest, smallest, where_largest, where_smallest = T.max, T.min, T.argmax, T.argmin


def _whole(name, input, reduce):
    if not input.numel():
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
            "the 'dim' argument."
        )
    return reduce(input, None, False)


def _extreme(name, input, dim, keepdim, other, pair, reduce, elementwise):
    if isinstance(dim, Tensor) or other is not None:
        return elementwise(input, dim if other is None else other)
    if dim is None:
        return _whole(name, input, reduce)
    if input.dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support complex input")
    return pair(input, along(input, dim, name), keepdim)


@op(composite=True)
def max(input: Num, dim=None, keepdim=False, *, other=None):
    """The largest element; with `dim`, (values, indices) of the largest along it; with another tensor, the larger of
    each two.

    Gradients: of all elements, ties share evenly; along `dim`, the element that `indices` names has it all; of two,
    halves. RuntimeError for no elements.
    """
    return _extreme("max", input, dim, keepdim, other, largest, T.amax, T.maximum)


@op(composite=True)
def min(input: Num, dim=None, keepdim=False, *, other=None):
    """The smallest element; with `dim`, (values, indices) of the smallest along it; with another tensor, the smaller of
    each two.

    Gradients: of all elements, ties share evenly; along `dim`, the element that `indices` names has it all; of two,
    halves. RuntimeError for no elements.
    """
    return _extreme("min", input, dim, keepdim, other, smallest, T.amin, T.minimum)


def _where(name, input, dim, keepdim, find):
    if not input.dtype.category or input.dtype.is_complex:
        raise RuntimeError(f"{name}(): does not support {'complex' if input.dtype.is_complex else 'bool'} input")
    if dim is not None:
        return find(input, along(input, dim, name), keepdim)
    if not input.numel():
        raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
    found = find(T.reshape(input, (-1,)), 0, False)
    return T.reshape(found, (1,) * input.ndim) if keepdim else found


@op(composite=True)
def argmax(input: Num, dim=None, keepdim=False):
    """Where the largest element is: along `dim`, or in row-major order of all. The first of several; nan is the
    largest.
    """
    return _where("argmax", input, dim, keepdim, where_largest)


@op(composite=True)
def argmin(input: Num, dim=None, keepdim=False):
    """Where the smallest element is: along `dim`, or in row-major order of all. The first of several; nan is the
    smallest.
    """
    return _where("argmin", input, dim, keepdim, where_smallest)


AMINMAX = named("aminmax", "min", "max")


@op(composite=True)
def aminmax(input: Num, *, dim=None, keepdim=False):
    """(min, max) of all elements or along `dim`. Ties share the gradient evenly."""
    if dim is not None:
        dim = wrap_dim(dim, input.ndim)
        if input.ndim and not input.shape[dim]:
            raise IndexError(f"aminmax: Expected reduction dim {dim} to have non-zero size.")
    elif not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    return AMINMAX(T.amin(input, dim, keepdim), T.amax(input, dim, keepdim))


# ---------------------------------------------------------------- running ones
_RUNNING = dict(opaque=True, exact=True, accept="biuf", outs=("values", "indices"), diff_outs=("values",))


def _gathered_vjp(xp, g, indices, shape, dim):
    return xp.scatter_add(xp.full(shape, 0, xp.like(g)), dim, indices, g) if shape else g


@op(vjp=(_gathered_vjp,), **_RUNNING)
def cummax(xp, input: Num, dim: Dim):
    """The largest element so far along `dim`, and where it is; the last of several."""
    return xp.cummax(input, dim)


@op(vjp=(_gathered_vjp,), **_RUNNING)
def cummin(xp, input: Num, dim: Dim):
    """The smallest element so far along `dim`, and where it is; the last of several."""
    return xp.cummin(input, dim)
