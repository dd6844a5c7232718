"""Putting tensors together."""

from __future__ import annotations

from framework.core.shape import wrap_dim
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Nums


def _joinable(tensors, dim, sizes=None):
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for t in tensors:
        if not t.ndim:
            raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated; use stack()")
        if t.ndim != tensors[0].ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {tensors[0].ndim} and {t.ndim}")
        for d, (n, m) in enumerate(zip(tensors[0].shape, t.shape, strict=True)):
            if d != dim and n != m:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for "
                    f"tensor number {next(i for i, x in enumerate(tensors) if x is t)} in the list."
                )


@op(
    opaque=True,
    linear="jointly",
    exact=True,
    check=_joinable,
    vjp=(lambda xp, g, sizes, dim: _cut(xp, g, sizes, dim),),
    spaces=(),
)
def join(xp, tensors: Nums, dim: Dim, sizes):
    """Tensors of one rank put one after the other along `dim`, where they have `sizes`."""
    return xp.cat(tensors, dim)


def _cut(xp, g, sizes, dim):
    """A gradient cut into the parts that were joined."""
    grads, start = [], 0
    for n in sizes:
        grads.append(xp.slice(g, (*[slice(None)] * dim, slice(start, start + n))))
        start += n
    return grads


@op(composite=True, method=False, alias=("concat", "concatenate"))
def cat(tensors, dim=0):
    """Tensors put one after the other along a dimension. One-dimensional empty tensors are passed over."""
    if not isinstance(tensors, (tuple, list)) or not tensors:
        if isinstance(tensors, (tuple, list)):
            raise ValueError("torch.cat(): expected a non-empty list of Tensors")
        raise TypeError(
            f"cat(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    kept = [t for t in tensors if tuple(t.shape) != (0,)] or [tensors[0]]
    if len({t.ndim for t in kept}) > 1:
        _joinable(kept, 0)
    dim = wrap_dim(dim, kept[0].ndim)
    return join(tuple(kept), dim, tuple([t.shape[dim] if t.ndim else 0 for t in kept]))


@op(composite=True, method=False)
def stack(tensors, dim=0):
    """Tensors of one shape put side by side along a new dimension."""
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    first = tuple(tensors[0].shape)
    for i, t in enumerate(tensors):
        if tuple(t.shape) != first:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(first)} at entry 0 and {list(t.shape)} at "
                f"entry {i}"
            )
    dim = wrap_dim(dim, len(first) + 1)
    return cat([T.unsqueeze(t, (dim,)) for t in tensors], dim)
