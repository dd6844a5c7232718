"""Distances and angles between vectors, and vectors of length one."""

from __future__ import annotations

from math import inf

import numpy as np

from framework.core.shape import broadcast_shapes, wrap_dim
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Num
from framework.ops.index_range import from_host


def _length_vjp(xp, g, input, out, dim):
    """input / out, and 0 at the origin."""
    zero = xp.eq(out, 0)
    safe = xp.where(zero, xp.full((), 1, xp.like(out)), out)
    return input * xp.where(zero, xp.full((), 0, xp.like(g)), g / safe)


@op(spaces=(), accept="f", batch="dims", vjp=(_length_vjp,))
def euclidean_length(xp, input: Num, dim: Dim):
    """The Euclidean norm along `dim`, which stays as size 1."""
    return xp.sqrt(xp.sum(input * input, (dim,), True))


def length(x, p, dim):
    """The p-norm of x along `dim`, which stays as size 1; its gradient at the origin is 0."""
    if p == 2:
        return euclidean_length(x, dim)
    if p == 0:
        return T.sum(T.astype(T.ne(x, 0), x.dtype), (dim,), True)
    size = T.abs(x)
    if p in (inf, -inf):
        return T.amax(size, (dim,), True) if p > 0 else T.amin(size, (dim,), True)
    if p == 1:
        return T.sum(size, (dim,), True)
    if p < 1:  # its derivative at 0 is infinite: equal elements stay out of it
        equal = T.eq(size, 0)
        powers = T.where(equal, T.full((), 0, size), T.pow(T.where(equal, T.full((), 1, size), size), p))
    else:
        powers = T.pow(size, p)
    total = T.sum(powers, (dim,), True)
    zero = T.eq(total, 0)
    return T.where(zero, T.full((), 0, total), T.pow(T.where(zero, T.full((), 1, total), total), 1 / p))


@op(composite=True, spaces=("nn.functional", ""), method=False)
def pairwise_distance(x1: Num, x2: Num, p=2.0, eps=1e-6, keepdim=False):
    """The p-norm of x1 - x2 + eps along the last dimension, which is dropped unless `keepdim`."""
    difference = x1 - x2 + eps
    last = difference.ndim - 1
    found = length(difference, p, last)
    return found if keepdim else T.squeeze(found, (last,))


@op(composite=True, spaces=("nn.functional", ""), method=False)
def cosine_similarity(x1: Num, x2: Num, dim=1, eps=1e-8):
    """x1 . x2 / (max(|x1|, eps) max(|x2|, eps)) along `dim`; the operands broadcast."""
    for x in (x1, x2):
        if not x.dtype.is_floating_point:
            raise RuntimeError(
                f"expected common dtype to be floating point, yet common dtype is {x.dtype} (cosine_similarity)"
            )
    shape = broadcast_shapes([tuple(x1.shape), tuple(x2.shape)])
    dim = wrap_dim(dim, len(shape))
    unit = [x / T.clip(euclidean_length(x, dim), eps, None) for x in (T.expand(x1, shape), T.expand(x2, shape))]
    return T.sum(unit[0] * unit[1], (dim,))


@op(composite=True, spaces=("nn.functional",), method=False)
def normalize(input: Num, p=2.0, dim=1, eps=1e-12, out=None):
    """input over its p-norm along `dim`, which counts as eps at least."""
    found = input / T.clip(length(input, p, wrap_dim(dim, input.ndim)), eps, None)
    return found if out is None else out.copy_(found)


@op(composite=True, spaces=("nn.functional", ""), method=False)
def pdist(input: Num, p=2.0):
    """The p-norms of the differences of all pairs of rows i < j of input (N, M), in order: (N (N - 1) / 2). Gradient 0
    for equal rows.

    RuntimeError unless the input has two dimensions and a floating point dtype, and for negative p.
    """
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"pdist only supports floating-point dtypes, got: {input.dtype}")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    first, second = np.triu_indices(input.shape[0], 1)
    difference = T.index_select(input, 0, from_host(input, first)) - T.index_select(input, 0, from_host(input, second))
    if not input.shape[1]:
        return T.full((len(first),), 0, T.like(input))
    return T.squeeze(length(difference, p, 1), (1,))
