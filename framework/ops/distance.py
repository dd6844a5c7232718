"""Distances and angles between vectors, and vectors of length one."""

from __future__ import annotations

from math import inf

from framework.core.shape import broadcast_shapes, wrap_dim
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Num


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
    total = T.sum(T.pow(size, p), (dim,), True)
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
            raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {x.dtype} (cosine_similarity)")
    shape = broadcast_shapes([tuple(x1.shape), tuple(x2.shape)])
    dim = wrap_dim(dim, len(shape))
    unit = [x / T.clip(euclidean_length(x, dim), eps, None) for x in (T.expand(x1, shape), T.expand(x2, shape))]
    return T.sum(unit[0] * unit[1], (dim,))


@op(composite=True, spaces=("nn.functional",), method=False)
def normalize(input: Num, p=2.0, dim=1, eps=1e-12, out=None):
    """input over its p-norm along `dim`, which counts as eps at least."""
    found = input / T.clip(length(input, p, wrap_dim(dim, input.ndim)), eps, None)
    return found if out is None else out.copy_(found)
