"""What several ops share about their results: named tuples, dimensions to work along, and gradients put back by
index.
"""

from __future__ import annotations

from collections import namedtuple

from backends.dtypes import int64
from framework.core.shape import wrap_dim
from framework.core.tensor import make
from framework.dispatch.registry import T


def named(name, *fields):
    """The type of an op's several results, with PyTorch's field names."""
    result = namedtuple(name, fields)
    result.__module__ = "framework.return_types"
    return result


def along(input, dim, name):
    """A dimension to reduce, counted from the front. IndexError if it has no elements."""
    dim = wrap_dim(dim, input.ndim)
    if input.ndim and not input.shape[dim]:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
    return dim


def put_back(xp, g, indices, shape, dim, keepdim):
    """The gradient of elements that were chosen along `dim` by index (each at most once), in the places they came
    from.
    """
    if not shape:
        return xp.reshape(g, ())
    if not keepdim:
        g, indices = xp.unsqueeze(g, (dim,)), xp.unsqueeze(indices, (dim,))
    return xp.scatter(xp.full(shape, 0, xp.like(g)), dim, indices, g)


def dropped(t, dim, keepdim):
    """A result with one index along `dim`, that dimension kept or not."""
    return t if keepdim or not t.ndim else T.squeeze(t, (dim,))


def positions(like, n, dim=0, ndim=1):
    """0, 1, ... n - 1 as int64 on the device of `like`, along one dimension of so many."""
    b = like.backend
    t = make(b, b.arange(0, n, 1, int64), int64)
    return t if ndim == 1 else T.reshape(t, (*[1] * dim, n, *[1] * (ndim - dim - 1)))
