"""Norms and distances. Sub-gradients: 0 where a 2-norm is 0; ties of a maximum share evenly."""

from __future__ import annotations

import math

from framework.core.promotion import scalar_type_name
from framework.core.shape import broadcast_shapes, wrap_dim, wrap_dims
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dims, Num
from framework.ops.reduce import spread

INF = math.inf


# ---------------------------------------------------------------- vector norms
def _zero_where(xp, condition, value):
    return xp.where(condition, xp.full((), 0, xp.like(value)), value)


def _safe(xp, x):
    """x with ones for zeros, for dividing by it."""
    return xp.where(x == 0, xp.full((), 1, xp.like(x)), x)


def _norm_vjp(xp, g, input, out, shape, ord, dim, keepdim):
    if ord == 0:
        return xp.full(shape, 0, xp.like(input))
    g, out = spread(xp, g, shape, dim, keepdim), spread(xp, out, shape, dim, keepdim)
    if ord == 1:
        return g * xp.sgn(input)
    if ord == 2:
        return input * _zero_where(xp, out == 0, g / _safe(xp, out))
    size = xp.abs(input)
    if math.isinf(ord):
        hit = xp.astype(xp.eq(size, out), xp.dtype_of(g))
        return xp.sgn(input) * (g * (hit / xp.sum(hit, dim, True)))
    power = _zero_where(xp, size == 0, xp.pow(_safe(xp, size), ord - 1))
    scale = _zero_where(xp, out == 0, g * xp.pow(_safe(xp, out), 1 - ord))
    return xp.sgn(input) * (power * scale)


@op(batch="dims", dtype="real", accept="fc", spaces=(), vjp=(_norm_vjp,))
def vector_norm(xp, input: Num, ord, dim: Dims, keepdim):
    """(sum of |x| ** ord) ** (1 / ord) over `dim`; the largest |x| for inf, the smallest for -inf, the count of
    non-zeros for 0.
    """
    if ord == 2:
        squares = (
            xp.real(input) * xp.real(input) + xp.imag(input) * xp.imag(input)
            if xp.dtype_of(input).is_complex
            else input * input
        )
        return xp.sqrt(xp.sum(squares, dim, keepdim))
    size = xp.abs(input)
    if ord == INF:
        return xp.amax(size, dim, keepdim)
    if ord == -INF:
        return xp.amin(size, dim, keepdim)
    if ord == 0:
        return xp.sum(xp.astype(xp.ne(size, 0), xp.dtype_of(size)), dim, keepdim)
    if ord == 1:
        return xp.sum(size, dim, keepdim)
    return xp.pow(xp.sum(xp.pow(size, ord), dim, keepdim), 1 / ord)


plain_norm = T.vector_norm


def length(name, x, p, dim, keepdim, dtype=None):
    """The vector norm, with PyTorch's checks."""
    if x.dtype.category < 2:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {scalar_type_name(x.dtype)}"
        )
    if dtype is not None:
        if dtype.category < 2 or dtype.is_complex != x.dtype.is_complex:
            raise RuntimeError(
                f"{name}: dtype should be {'complex' if x.dtype.is_complex else 'floating point'}, but got {dtype}"
            )
        x = T.astype(x, dtype)
    dims = None if dim is None or dim in ((), []) else wrap_dims(dim, x.ndim)
    if p < 0 or p == INF:
        for d in range(x.ndim) if dims is None else dims:
            if x.shape[d] == 0:
                if dims is None:
                    raise RuntimeError(
                        f"{name} cannot compute the {p} norm on an empty tensor because the operation does not have "
                        "an identity"
                    )
                raise RuntimeError(
                    f"{name} cannot compute the {p} norm on the dimension {d} because this dimension is empty and the "
                    "operation does not have an identity"
                )
    return plain_norm(x, p, dims, keepdim)


@op(composite=True, spaces=("linalg",))
def vector_norm(x: Num, ord=2, dim=None, keepdim=False, *, dtype=None):
    """The vector norm over `dim` (all elements by default): `ord` a number, inf, -inf or 0 (counts what is not
    zero).
    """
    return length("linalg.vector_norm", x, ord, dim, keepdim, dtype)


@op(composite=True)
def norm(input: Num, p="fro", dim=None, keepdim=False, dtype=None):
    """A norm over `dim` (all elements by default): a number, inf, -inf, 0, "fro" (2) or "nuc" (the sum of singular
    values).
    """
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        if p != "nuc":
            raise RuntimeError(f"linalg.matrix_norm: Order {p} not supported.")
        return _nuclear(input if dtype is None else T.astype(input, dtype), dim, keepdim)
    if isinstance(p, Tensor):
        p = p.item()
    return length("linalg.vector_norm", input, p, dim, keepdim, dtype)


def _nuclear(x, dim, keepdim):
    dims = (0, 1) if dim is None else wrap_dims(dim, x.ndim)
    if dim is None and x.ndim != 2 or len(dims) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim} for a tensor of {x.ndim} dimensions")
    order = (*[d for d in range(x.ndim) if d not in dims], *dims)
    total = T.sum(T.svdvals(T.permute(x, order)), -1)
    if keepdim:
        for d in sorted(dims):
            total = T.unsqueeze(total, (d,))
    return total


@op(composite=True)
def dist(input: Num, other: Num, p=2):
    """The p-norm of input - other."""
    return length("linalg.vector_norm", T.sub(input, other), p, None, False)


@op(composite=True, inplace=True)
def renorm(input: Num, p, dim, maxnorm):
    """The tensor with each slice along `dim` whose p-norm exceeds `maxnorm` scaled down to it."""
    if input.dtype.category < 2:
        raise RuntimeError(f"renorm: expected a floating point or complex tensor, got {scalar_type_name(input.dtype)}")
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError("renorm: expected maxnorm to be >= 0")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim} dimensions")
    dim = wrap_dim(dim, input.ndim)
    size = plain_norm(input, p, tuple([d for d in range(input.ndim) if d != dim]), True)
    factor = T.where(T.gt(size, maxnorm), T.div(maxnorm, T.add(size, 1e-7)), T.full((), 1, size))
    return T.mul(input, T.astype(factor, input.dtype.to_real()))


# ---------------------------------------------------------------- distances of all pairs
def _pair_vjp(xp, g, x1, x2, out, p):
    """(gradient of x1, of x2). Ties of a maximum are not shared: each has the whole gradient."""
    a, b = xp.unsqueeze(x1, (len(x1.shape) - 1,)), xp.unsqueeze(x2, (len(x2.shape) - 2,))
    d = a - b
    g, out = [xp.unsqueeze(v, (len(v.shape),)) for v in (g, out)]
    if p == 0:
        each = d * 0
    elif p == 1:
        each = xp.sign(d) * g
    elif p == 2:
        each = d * _zero_where(xp, out == 0, g / _safe(xp, out))
    elif math.isinf(p):
        each = xp.sign(d) * xp.astype(xp.eq(xp.abs(d), out), xp.dtype_of(g)) * g
    else:
        size = xp.abs(d)
        power = _zero_where(xp, size == 0, xp.pow(_safe(xp, size), p - 1))
        each = xp.sign(d) * power * _zero_where(xp, out == 0, g * xp.pow(_safe(xp, out), 1 - p))
    rank = len(each.shape)
    return xp.sum(each, (rank - 2,), False), -xp.sum(each, (rank - 3,), False)


def _pairs_batch(fn, size, flags, args):
    """Both with the batch axis and equal rank, so that stacks of points broadcast."""
    x1, x2, p = args
    rank = max([x.ndim - bool(f) for x, f in zip((x1, x2), flags, strict=False)])

    def wide(x, flag):
        if not flag:
            return x
        return T.reshape(x, (size, *[1] * (rank - x.ndim + 1), *x.shape[1:]))

    return fn(wide(x1, flags[0]), wide(x2, flags[1]), p)


@op(accept="f", batch=_pairs_batch, spaces=(), vjp=_pair_vjp)
def pair_distances(xp, x1: Num, x2: Num, p):
    """The p-norm distance of every row of x1 to every row of x2."""
    a, b = xp.unsqueeze(x1, (len(x1.shape) - 1,)), xp.unsqueeze(x2, (len(x2.shape) - 2,))
    d = xp.abs(a - b)
    axis = (len(d.shape) - 1,)
    if 0 in d.shape[-1:]:
        return xp.sum(d, axis, False)
    if p == 2:
        return xp.sqrt(xp.sum(d * d, axis, False))
    if p == 0:
        return xp.sum(xp.astype(xp.ne(d, 0), xp.dtype_of(d)), axis, False)
    if p == 1:
        return xp.sum(d, axis, False)
    if math.isinf(p):
        return xp.amax(d, axis, False)
    return xp.pow(xp.sum(xp.pow(d, p), axis, False), 1 / p)


@op(composite=True, method=False)
def cdist(x1: Num, x2: Num, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distance of every row of x1 (..., P, M) to every row of x2 (..., R, M): (..., P, R). Stacks broadcast.

    compute_mode is accepted; differences are always taken, which loses no digits where points lie close.
    """
    for x, name in ((x1, "X1"), (x2, "X2")):
        if x.dtype.category != 2:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {scalar_type_name(x.dtype)}")
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    if compute_mode not in (
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    broadcast_shapes([tuple(x1.shape[:-2]), tuple(x2.shape[:-2])], "cdist")
    rank = max(x1.ndim, x2.ndim)
    x1, x2 = [x if x.ndim == rank else T.reshape(x, (*[1] * (rank - x.ndim), *x.shape)) for x in (x1, x2)]
    return T.pair_distances(x1, x2, p)
