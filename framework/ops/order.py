"""Elements in order: sorting, the k largest, medians, quantiles, the most frequent. nan counts as the largest."""

from __future__ import annotations

from backends.dtypes import float32, float64, int64
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_int, wrap_dim
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Num
from framework.ops.reduce import shared_evenly
from framework.ops.results import along, dropped, named, positions, put_back

FULL = slice(None)


# ---------------------------------------------------------------- sorting
@op(opaque=True, exact=True, accept="biuf", outs=("values", "indices"), diff_outs=("values",), spaces=(),
    vjp=(lambda xp, g, indices, shape, dim: put_back(xp, g, indices, shape, dim, True),))  # fmt: skip
def sort(xp, input: Num, dim: Dim, descending, stable):
    """The elements in order along `dim`, and where they were; equal ones stay in order."""
    return xp.sort(input, dim, descending, stable)


ordered = T.sort


def _no_flag(name, dim):
    if isinstance(dim, bool):
        raise TypeError(f"{name}(): dim must be int, not bool; give descending by name")


@op(composite=True)
def sort(input: Num, dim=-1, descending=False, stable=False):
    """(values, indices): the elements in order along `dim`, and where they were. Equal ones always stay in order; nan
    comes last (first if descending)."""
    _no_flag("sort", dim)
    return ordered(input, wrap_dim(dim, input.ndim), bool(descending), bool(stable))


@op(composite=True)
def argsort(input: Num, dim=-1, descending=False, stable=False):
    """Where the elements in order along `dim` were: the indices of `sort`."""
    _no_flag("argsort", dim)
    return ordered(input, wrap_dim(dim, input.ndim), bool(descending), bool(stable))[1]


@op(composite=True)
def msort(input: Num):
    """The elements in order along dimension 0."""
    return ordered(input, 0, False, False)[0]


TOPK, KTHVALUE, MEDIAN, NANMEDIAN, MODE = [
    named(n, "values", "indices") for n in ("topk", "kthvalue", "median", "nanmedian", "mode")
]


@op(composite=True)
def topk(input: Num, k, dim=-1, largest=True, sorted=True):
    """(values, indices) of the k largest (or smallest) elements along `dim`, in order."""
    k, dim = as_int(k, "k"), wrap_dim(dim, input.ndim)
    size = input.shape[dim] if input.ndim else 1
    if not 0 <= k <= size:
        raise RuntimeError(f"selected index k out of range (topk): k is {k}, dimension {dim} has size {size}")
    values, indices = ordered(input, dim, bool(largest), False)
    if not input.ndim:
        return TOPK(values, indices)
    key = (*[FULL] * dim, slice(0, k))
    return TOPK(T.slice(values, key), T.slice(indices, key))


def _at(values, indices, index, dim, keepdim, result):
    """Elements of a sorted tensor at one place, or one place a row, along `dim`."""
    if not values.ndim:
        return result(values, indices)
    if isinstance(index, Tensor):
        return result(*[dropped(T.gather(x, dim, index), dim, keepdim) for x in (values, indices)])
    key = (*[FULL] * dim, slice(index, index + 1) if keepdim else index)
    return result(T.slice(values, key), T.slice(indices, key))


@op(composite=True)
def kthvalue(input: Num, k, dim=-1, keepdim=False):
    """(values, indices) of the k-th smallest elements along `dim`, counted from 1."""
    k, dim = as_int(k, "k"), along(input, dim, "kthvalue")
    if not 1 <= k <= (input.shape[dim] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    return _at(*ordered(input, dim, False, False), k - 1, dim, keepdim, KTHVALUE)


# ---------------------------------------------------------------- medians
def _middle(xp, input, dim, ignore_nan):
    """(values, indices, place of the lower median in each row of the sorted tensor): a nan wins, or is passed over."""
    values, indices = xp.sort(input, dim, False, False)
    n = input.shape[dim] if len(input.shape) else 1
    if not len(input.shape) or not xp.dtype_of(input).is_floating_point:
        return values, indices, (n - 1) // 2
    numbers = xp.sum(xp.astype(xp.logical_not(xp.isnan(values)), int64), (dim,), True)
    if ignore_nan:
        place = xp.maximum(numbers - 1, xp.full((), 0, xp.like(numbers))) // 2
    else:
        place = xp.where(numbers < n, numbers, xp.full((), (n - 1) // 2, xp.like(numbers)))
    return values, indices, place


@op(batch="dims", exact=True, accept="iuf", spaces=(),
    vjp=(lambda xp, g, input, out, shape, dim: shared_evenly(xp, g, input, out, shape, (dim,), False),))  # fmt: skip
def middle(xp, input: Num, dim: Dim, ignore_nan):
    """The lower median along `dim`; elements equal to it share the gradient."""
    values, _, place = _middle(xp, input, dim, ignore_nan)
    if isinstance(place, int):
        return xp.slice(values, (*[FULL] * dim, place)) if len(input.shape) else values
    return xp.squeeze(xp.gather(values, dim, place), (dim,))


def _median(name, input, dim, keepdim, ignore_nan, result):
    if input.dtype.category in (0, 3):
        raise NotImplementedError(f"\"median_cpu\" not implemented for '{scalar_type_name(input.dtype)}'")
    if dim is not None:
        dim = along(input, dim, name)
        return _at(*_middle(T, input, dim, ignore_nan), dim, keepdim, result)
    if not input.numel():
        return T.full((), float("nan") if input.dtype.category > 1 else -(2 ** (8 * input.dtype.itemsize - 1)), input)
    return T.middle(T.reshape(input, (-1,)), 0, ignore_nan)


@op(composite=True)
def median(input: Num, dim=None, keepdim=False):
    """The median of all elements; with `dim`, (values, indices) along it. Of two in the middle the lower; nan if there
    is a nan.
    """
    return _median("median", input, dim, keepdim, False, MEDIAN)


@op(composite=True)
def nanmedian(input: Num, dim=None, keepdim=False):
    """The median of the elements that are not nan; with `dim`, (values, indices) along it. Of two in the middle the
    lower.
    """
    return _median("nanmedian", input, dim, keepdim, True, NANMEDIAN)


@op(composite=True)
def mode(input: Num, dim=-1, keepdim=False):
    """(values, indices) of the most frequent element along `dim`, the smallest of several, and where it last is."""
    if not input.numel():
        dim = along(input, dim, "mode")
        shape = tuple([n for d, n in enumerate(input.shape) if d != dim or keepdim])
        return MODE(T.full(shape, 0, input), T.full(shape, 0, positions(input, 0)))
    dim = along(input, dim, "mode")
    values, indices = ordered(input, dim, False, True)
    if not input.ndim:
        return MODE(values, indices)
    n = input.shape[dim]
    at = positions(input, n, dim, input.ndim)
    new = T.ne(T.slice(values, (*[FULL] * dim, slice(1, n))), T.slice(values, (*[FULL] * dim, slice(0, n - 1))))
    first = T.cat([T.full((*input.shape[:dim], 1, *input.shape[dim + 1 :]), True, new), new], dim)
    start = T.cummax(T.where(first, at, T.full((), 0, at)), dim)[0]
    place = T.argmax(T.sub(at, start), dim, True)  # the end of the longest run of equal elements, the first such run
    return _at(values, indices, place, dim, keepdim, MODE)


# ---------------------------------------------------------------- quantiles
INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(name, input, q, dim, keepdim, interpolation, ignore_nan):
    if input.dtype not in (float32, float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        q = make(input.backend, input.backend.full((), q, input.dtype), input.dtype)
    elif q.dtype is not input.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    elif q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    elif q.level is None and q.numel() and not bool(T.all(T.logical_and(T.ge(q, 0), T.le(q, 1)))):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    if not input.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    ndim = input.ndim
    if dim is None:
        x = T.reshape(input, (-1,))
        kept = (1,) * ndim
    else:
        dim = wrap_dim(dim, ndim)
        x = T.permute(input, (*[d for d in range(ndim) if d != dim], *[dim] * bool(ndim)))
        kept = tuple([1 if d == dim else n for d, n in enumerate(input.shape)])
    if not x.ndim:
        x = T.reshape(x, (1,))
    out = _interpolated(x, q, interpolation, ignore_nan)  # (*rest, *q)
    lead = tuple(q.shape)
    if q.ndim:
        out = T.permute(out, (out.ndim - 1, *range(out.ndim - 1)))
    return T.reshape(out, (*lead, *kept)) if keepdim else out


def _interpolated(x, q, interpolation, ignore_nan):
    """Quantiles along the last dimension, those of each q side by side in its place."""
    last, n = x.ndim - 1, x.shape[-1]
    values = ordered(x, last, False, False)[0]
    numbers = T.sum(T.logical_not(T.isnan(values)), last, True)
    qs = T.reshape(q, (-1,))
    if ignore_nan:
        rank = T.mul(qs, T.astype(T.clamp_min(T.sub(numbers, 1), 0), x.dtype))
    else:
        rank = T.expand(T.mul(qs, n - 1), (*x.shape[:-1], qs.shape[0]))
        rank = T.where(T.eq(numbers, n), rank, T.full((), n - 1, rank))  # a nan lies last
    if interpolation == "lower":
        rank = T.floor(rank)
    elif interpolation == "higher":
        rank = T.ceil(rank)
    elif interpolation == "nearest":
        rank = T.round(rank)
    below = T.floor(rank)
    index = T.to_dtype(below, positions(x, 0).dtype)
    out = T.gather(values, last, index)
    if interpolation in ("linear", "midpoint"):
        above = T.gather(values, last, T.to_dtype(T.ceil(rank), index.dtype))
        weight = T.sub(rank, below) if interpolation == "linear" else T.astype(T.ne(rank, below), x.dtype) * 0.5
        out = T.lerp(out, above, weight)
    return out if q.ndim else T.squeeze(out, (last,))


@op(composite=True)
def quantile(input: Num, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The q-th quantiles (in [0, 1]; a number or a vector) of all elements or along `dim`; nan if there is a nan.

    Several q come first in the result's shape. interpolation: what to take between two elements.
    """
    return _quantile("quantile", input, q, dim, keepdim, interpolation, False)


@op(composite=True)
def nanquantile(input: Num, q, dim=None, keepdim=False, *, interpolation="linear"):
    """As `quantile`, of the elements that are not nan."""
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation, True)
