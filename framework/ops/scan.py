"""Running sums and products along a dimension, products of all elements, differences and integrals of samples."""

from __future__ import annotations

from framework.core.shape import wrap_dim
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Cast, Dim, Dims, Num
from framework.ops.reduce import spread

FULL = slice(None)


# ---------------------------------------------------------------- shared by the rules
def part(xp, x, dim, start, stop):
    """The range start:stop of x along `dim`."""
    return xp.slice(x, (*[FULL] * dim, slice(start, stop)))


def constant_like(xp, x, dim, n, value):
    """A constant of x's shape, but with n elements along `dim`."""
    shape = tuple(x.shape)
    return xp.full((*shape[:dim], n, *shape[dim + 1 :]), value, xp.like(x))


def reversed_cumsum(xp, g, dim):
    """Sums from each element to the end."""
    return xp.flip(xp.cumsum(xp.flip(g, (dim,)), dim), (dim,)) if len(g.shape) else g


def exclusive_product(xp, x, dim):
    """For each element along `dim`, the product of all the others: exact also where some are zero, as nothing is
    divided.
    """
    n, one = x.shape[dim], constant_like(xp, x, dim, 1, 1)
    before = xp.cumprod(xp.cat([one, part(xp, x, dim, 0, n - 1)], dim), dim)
    after = xp.cumprod(xp.cat([one, part(xp, xp.flip(x, (dim,)), dim, 0, n - 1)], dim), dim)
    return before * xp.flip(after, (dim,))


def discounted(xp, g, factor, dim):
    """s with s[i] = g[i] + factor[i] * s[i + 1] along `dim`, by doubling: log2(n) steps on whole arrays, without
    division.
    """
    n, reach = g.shape[dim], 1
    while reach < n:
        gap = constant_like(xp, g, dim, reach, 0)
        g = g + factor * xp.cat([part(xp, g, dim, reach, n), gap], dim)
        factor = factor * xp.cat([part(xp, factor, dim, reach, n), gap], dim)
        reach *= 2
    return g


def shifted(xp, x, dim, edge):
    """x moved by one towards the start (`edge` follows) along `dim`."""
    return xp.cat([part(xp, x, dim, 1, x.shape[dim]), edge], dim)


# ---------------------------------------------------------------- products of all
def _prod_vjp(xp, g, input, shape, dim, keepdim):
    if 0 in shape or not shape:
        return spread(xp, g, shape, dim, keepdim)
    dims = tuple(range(len(shape))) if dim is None else dim
    if len(dims) == 1:
        others = exclusive_product(xp, input, dims[0])
    elif dims:
        order = (*[d for d in range(len(shape)) if d not in dims], *dims)
        lead = tuple([shape[d] for d in order[: len(shape) - len(dims)]])
        moved = xp.permute(input, order)
        others = exclusive_product(xp, xp.reshape(moved, (*lead, -1)), len(lead))
        back = tuple(sorted(range(len(shape)), key=order.__getitem__))
        others = xp.permute(xp.reshape(others, tuple([shape[d] for d in order])), back)
    else:
        return g
    return spread(xp, g, shape, dim, keepdim) * xp.conj(others)


@op(opaque=True, dtype="sum", vjp=(_prod_vjp,))
def prod(xp, input: Num, dim: Dims = None, keepdim=False, *, dtype: Cast = None):
    """The product over `dim` (all by default). Bools and integers multiply in int64."""
    return xp.prod(input, dim, keepdim)


# ---------------------------------------------------------------- running ones
@op(opaque=True, linear="each", dtype="sum", inplace=True, vjp=(lambda xp, g, dim: reversed_cumsum(xp, g, dim),))
def cumsum(xp, input: Num, dim: Dim, *, dtype: Cast = None):
    """The sums of the elements so far along `dim`. Bools and integers add up in int64."""
    return xp.cumsum(input, dim)


def _cumprod_vjp(xp, g, input, out, shape, dim):
    """The product before an element, times the sum over all later results of what they owe to it."""
    if not shape or 0 in shape:
        return g
    x, out, n = xp.conj(input), xp.conj(out), shape[dim]
    before = xp.cat([constant_like(xp, x, dim, 1, 1), part(xp, out, dim, 0, n - 1)], dim)
    return before * discounted(xp, g, shifted(xp, x, dim, constant_like(xp, x, dim, 1, 0)), dim)


@op(opaque=True, dtype="sum", inplace=True, vjp=(_cumprod_vjp,))
def cumprod(xp, input: Num, dim: Dim, *, dtype: Cast = None):
    """The products of the elements so far along `dim`. Bools and integers multiply in int64."""
    return xp.cumprod(input, dim)


def _decay(xp, later, earlier):
    """exp(earlier - later), and 0 where earlier is the logarithm of nothing (also beside another one)."""
    if xp.dtype_of(later).is_complex:
        return xp.conj(xp.exp(earlier - later))
    nothing = earlier == float("-inf")
    zero = xp.full((), 0, xp.like(later))
    return xp.where(nothing, zero, xp.exp(earlier - xp.where(nothing, zero, later)))


def _logcumsumexp_vjp(xp, g, input, out, shape, dim):
    if not shape or 0 in shape:
        return g
    later = shifted(xp, out, dim, constant_like(xp, out, dim, 1, 0))
    return _decay(xp, out, input) * discounted(xp, g, _decay(xp, later, out), dim)


@op(opaque=True, accept="fc", vjp=(_logcumsumexp_vjp,))
def logcumsumexp(xp, input: Num, dim: Dim):
    """The logarithms of the sums of exponentials so far along `dim`, without overflow."""
    return xp.logcumsumexp(input, dim)


# ---------------------------------------------------------------- differences and integrals
@op(composite=True)
def diff(input: Num, n=1, dim=-1, prepend=None, append=None):
    """The differences of neighbours along `dim`, n times over; `prepend` and `append` are put before and behind
    first.
    """
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    dim = wrap_dim(dim, input.ndim)
    ends = [x for x in (prepend, input, append) if x is not None]
    for x in ends:
        if x.ndim != input.ndim:
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d, (a, b) in enumerate(zip(x.shape, input.shape, strict=True)):
            if a != b and d != dim:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of input except along the "
                    f"differencing dimension; input.size({d}) = {b}, but got tensor.size({d}) = {a}"
                )
    if not n:
        return T.clone(input)
    out = T.cat(ends, dim) if len(ends) > 1 else input
    subtract = T.logical_xor if not out.dtype.category else T.sub
    for _ in range(n if n <= out.shape[dim] else out.shape[dim]):
        size = out.shape[dim]
        out = subtract(part(T, out, dim, 1, size), part(T, out, dim, 0, size - 1 if size else 0))
    return out


def _panels(name, y, x, dx, dim):
    """(mean of each two neighbours in y, or their distance-weighted form, dim)."""
    if not y.ndim:
        raise IndexError(f"Dimension out of range: {name} needs a tensor with at least one dimension")
    dim = wrap_dim(dim, y.ndim)
    n = y.shape[dim]
    sums = T.add(part(T, y, dim, 1, n), part(T, y, dim, 0, n - 1 if n else 0))
    if x is None:
        return T.mul(sums, dx / 2.0), dim
    if not x.ndim:
        raise IndexError(f"{name}: `x` must have at least one dimension")
    if x.ndim == 1 and y.ndim > 1:
        if x.shape[0] != n:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = T.reshape(x, (*[1] * dim, n, *[1] * (y.ndim - dim - 1)))
    at = dim - y.ndim + x.ndim
    m = x.shape[at]
    if m != n:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    widths = T.sub(part(T, x, at, 1, m), part(T, x, at, 0, m - 1 if m else 0))
    return T.div(T.mul(widths, sums), 2.0), dim


def _no_bool(name, y, x):
    if not y.dtype.category or isinstance(x, Tensor) and not x.dtype.category:
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")


@op(composite=True, alias=("trapz",), method=False)
def trapezoid(y: Num, x=None, *, dx=1.0, dim=-1):
    """The integral of samples y along `dim` by the trapezoidal rule; they lie at `x`, or `dx` apart."""
    _no_bool("trapezoid", y, x)
    if y.ndim and not y.shape[wrap_dim(dim, y.ndim)]:
        return T.sum(T.mul(y, 1.0), dim)
    areas, dim = _panels("trapezoid", y, x, dx, dim)
    return T.sum(areas, dim)


@op(composite=True, method=False)
def cumulative_trapezoid(y: Num, x=None, *, dx=1.0, dim=-1):
    """The integrals of samples y so far along `dim` by the trapezoidal rule; they lie at `x`, or `dx` apart."""
    _no_bool("cumulative_trapezoid", y, x)
    areas, dim = _panels("cumulative_trapezoid", y, x, dx, dim)
    return cumsum(areas, dim)
