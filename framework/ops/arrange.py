"""Elements reversed, rotated, repeated and laid side by side along dimensions."""

from __future__ import annotations

import itertools

import numpy as np

from backends.dtypes import int32, int64
from framework.core.host import to_host
from framework.core.shape import as_int, as_ints, wrap_dim, wrap_dims
from framework.core.shape import broadcast_shapes as _broadcast
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Ints, Num
from framework.ops.shape import flat_tensors, swapped

FULL = slice(None)


# ---------------------------------------------------------------- reversed and rotated
@op(opaque=True, linear="each", exact=True, canon=lambda input, dims: (wrap_dims(dims, input.ndim),), vjp=(lambda xp, g, dims: xp.flip(g, dims),),
    batch=lambda fn, size, flags, args: fn(args[0], tuple([d + 1 for d in args[1]])))  # fmt: skip
def flip(xp, input: Num, dims: Ints):
    """The elements in reverse order along each of `dims`, as a copy."""
    return xp.flip(input, dims)


@op(composite=True)
def fliplr(input: Num):
    """The columns in reverse order: `flip` of dimension 1."""
    if input.ndim < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return flip(input, (1,))


@op(composite=True)
def flipud(input: Num):
    """The rows in reverse order: `flip` of dimension 0."""
    if input.ndim < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return flip(input, (0,))


def _rolled(x, shift, dim):
    size = x.shape[dim]
    shift = shift % size if size else 0
    if not shift:
        return x
    lead = (FULL,) * dim
    return T.cat((T.slice(x, (*lead, slice(size - shift, None))), T.slice(x, (*lead, slice(0, size - shift)))), dim)


@op(composite=True)
def roll(input: Num, shifts, dims=()):
    """The elements moved by `shifts` along `dims`, those that fall off coming in at the other end; without `dims`, as a
    vector.
    """
    shifts, dims = as_ints(shifts, "shifts"), as_ints(() if dims is None else dims, "dims")
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        out = T.reshape(_rolled(T.reshape(input, (-1,)), shifts[0], 0), tuple(input.shape))
    elif len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    else:
        out = input
        for shift, dim in zip(shifts, dims, strict=True):
            if not input.ndim:
                raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
            out = _rolled(out, shift, wrap_dim(dim, input.ndim))
    return T.clone(out) if out is input or out._view is not None else out


@op(composite=True)
def rot90(input: Num, k=1, dims=(0, 1)):
    """The plane of two dimensions turned `k` times by 90 degrees, from the first towards the second."""
    dims = as_ints(dims, "dims")
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.ndim}")
    if dims[0] == dims[1] or abs(dims[0] - dims[1]) == input.ndim:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    a, b = wrap_dim(dims[0], input.ndim), wrap_dim(dims[1], input.ndim)
    turns = k % 4
    if turns == 2:
        return flip(input, (a, b))
    if turns == 0:
        return T.clone(input)
    return swapped(flip(input, (b if turns == 1 else a,)), a, b)


# ---------------------------------------------------------------- repeated
@op(composite=True, spaces=("method",))
def repeat(self: Num, repeats: Ints):
    """The tensor repeated so often along each dimension, as a copy; there may be more numbers than dimensions."""
    repeats = as_ints(repeats, "repeats")
    lead = len(repeats) - self.ndim
    if lead < 0:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * lead + tuple(self.shape)
    if any(n < 0 for n in repeats):
        whole = [n * m for n, m in zip(repeats, shape, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(whole)}: {whole}")
    folded = T.reshape(self, tuple([m for n in shape for m in (1, n)]))
    wide = T.expand(folded, tuple([m for n, r in zip(shape, repeats, strict=True) for m in (r, n)]))
    out = T.reshape(wide, tuple([n * r for n, r in zip(shape, repeats, strict=True)]))
    return T.clone(out) if out._view is not None else out


@op(composite=True)
def tile(input: Num, dims: Ints):
    """The tensor repeated so often along each dimension, as a copy; there may be fewer numbers than dimensions, or
    more.
    """
    dims = as_ints(dims, "dims")
    return repeat(input, (1,) * (input.ndim - len(dims)) + dims)


def _counts(repeats):
    if repeats.dtype not in (int32, int64):
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    counts = to_host(repeats)
    if (counts < 0).any():
        raise RuntimeError("repeats can not be negative")
    return counts


@op(composite=True)
def repeat_interleave(input: Num, repeats=None, dim=None, *, output_size=None):
    """Each element (or slice along `dim`) repeated: so often as one number says, or each as its own number says.

    Without `dim` the elements form a vector. Called with counts alone, gives each position so often as its count.
    """
    if repeats is None:
        if input.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return _positions(input, _counts(input), None, output_size, input.dtype)
    if dim is None:
        input, dim = T.reshape(input, (-1,)), 0
    elif not input.ndim:
        wrap_dim(dim, 0)
        input, dim = T.reshape(input, (1,)), 0
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if isinstance(repeats, Tensor) and repeats.numel() != 1:
        counts = _counts(repeats)
        if counts.shape[0] != size:
            raise RuntimeError(
                f"repeats must have the same size as input along dim, but got repeats.size(0) = {counts.shape[0]} and "
                f"input.size({dim}) = {size}"
            )
        return T.index_select(input, dim, _positions(input, counts, size, output_size, int64))
    count = int(_counts(repeats).reshape(())) if isinstance(repeats, Tensor) else as_int(repeats, "repeats")
    if count < 0:
        raise RuntimeError("Repeats must be non-negative")
    if output_size is not None and output_size != size * count:
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {size * count} but got {output_size}")
    shape = tuple(input.shape)
    wide = T.expand(T.unsqueeze(input, (dim + 1,)), (*shape[: dim + 1], count, *shape[dim + 1 :]))
    out = T.reshape(wide, (*shape[:dim], size * count, *shape[dim + 1 :]))
    return T.clone(out) if out._view is not None else out


def _positions(like, counts, size, output_size, dtype):
    positions = np.repeat(np.arange(counts.shape[0]), counts)
    if output_size is not None and output_size != len(positions):
        raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {len(positions)} but got {output_size}")
    return make(like.backend, like.backend.asarray(positions, dtype))


# ---------------------------------------------------------------- broadcast together
@op(composite=True, method=False)
def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes (tuples, or ints for vectors) broadcast to."""
    from framework.core.shape import Size

    given = [as_ints(s) for s in shapes]
    whole: list[int] = []
    for i, shape in enumerate(given):
        for n in shape:
            if n < 0:
                raise RuntimeError(f"Trying to create tensor with negative dimension ({n}): {shape}")
        try:
            whole = list(_broadcast([tuple(whole), shape]))
        except RuntimeError:
            back = next(
                k
                for k in range(1, min(len(shape), len(whole)) + 1)
                if shape[-k] != whole[-k] and 1 not in (shape[-k], whole[-k])
            )
            raise RuntimeError(
                f"Attempting to broadcast a dimension of length {shape[-back]} at {-back}! Mismatching argument at "
                f"index {i} had {shape}; but expected shape should be broadcastable to {whole}"
            ) from None
    return Size(whole)


@op(composite=True, method=False)
def broadcast_tensors(*tensors):
    """The tensors expanded to the shape that they broadcast to, as views."""
    tensors = flat_tensors("broadcast_tensors", tensors)
    shape = _broadcast([tuple(t.shape) for t in tensors])
    return tuple([T.expand(t, shape) for t in tensors])


@op(composite=True, method=False)
def meshgrid(*tensors, indexing=None):
    """For vectors of n1, n2, ... coordinates, one view of shape (n1, n2, ...) each, in which it runs along its own
    dimension.

    indexing: "ij" so, "xy" with the first two dimensions exchanged.
    """
    tensors = flat_tensors("meshgrid", tensors)
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if t.ndim > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: shape {list(t.shape)}"
            )
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.backend is not tensors[0].backend:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    if indexing not in (None, "xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    exchanged = indexing == "xy" and len(tensors) > 1
    if exchanged:
        tensors[0], tensors[1] = tensors[1], tensors[0]
    shape = tuple([t.numel() for t in tensors])
    views = [
        T.expand(T.reshape(t, (*[1] * i, t.numel(), *[1] * (len(shape) - i - 1))), shape) for i, t in enumerate(tensors)
    ]
    if exchanged:
        views = [swapped(v, 0, 1) for v in views]
        views[0], views[1] = views[1], views[0]
    return tuple(views)


@op(composite=True, method=False)
def cartesian_prod(*tensors):
    """All tuples with one element of each vector, as rows."""
    tensors = flat_tensors("cartesian_prod", tensors)
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return T.stack([T.reshape(v, (-1,)) for v in meshgrid(*tensors, indexing="ij")], 1)


@op(composite=True)
def combinations(input: Num, r=2, with_replacement=False):
    """All combinations of `r` elements of a vector, in order of position, as rows."""
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return T.full((0,), 0, input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(input.shape[0]), r)), np.int64).reshape(-1, r)
    return T.index_select(input, 0, make(input.backend, input.backend.asarray(rows)))
