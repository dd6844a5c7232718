"""Views: a forward and its transpose each; geometry, in-place writes and replay follow from them."""

from __future__ import annotations

from math import prod

from framework.core.shape import as_ints, infer_size, wrap_dim
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Ints, Num


def _fit(input, shape):
    return (infer_size(as_ints(shape), input.numel()),)


@op(view=True, opaque=True, linear="each", canon=_fit, trusting="sized", vjp=(lambda xp, g, shape: xp.reshape(g, shape),),
    batch=lambda fn, size, flags, args: fn(args[0], (size, *args[1])))  # fmt: skip
def reshape(xp, input: Num, shape: Ints):
    """The same elements in row-major order under another shape; a view where strides allow, else a copy."""
    return xp.reshape(input, shape)


def _expanded(input, size):
    lead = len(size) - input.ndim
    if lead < 0:
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({input.ndim}); got sizes {list(size)} for a tensor of shape {list(input.shape)}"
        )
    shape = list(size)
    for i, n in enumerate(shape):
        have = input.shape[i - lead] if i >= lead else 1
        if n == -1:
            if i < lead:
                raise RuntimeError(
                    "expand: the expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension "
                    f"{i}"
                )
            shape[i] = have
        elif have != n and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at non-singleton "
                f"dimension {i}. Target sizes: {list(size)}. Tensor sizes: {list(input.shape)}"
            )
    return (tuple(shape),)


def _expand_batch(fn, size, flags, args):
    x, shape = args
    return fn(T.reshape(x, (size, *[1] * (len(shape) - x.ndim + 1), *x.shape[1:])), (size, *shape))


@op(
    view=True, opaque=True, linear="each", canon=_expanded, trusting="sized", vjp=(lambda g: g,), batch=_expand_batch
)  # the engine sums broadcasts away
def expand(xp, input: Num, size: Ints):
    """Dimensions of size 1 repeated without copying; -1 keeps a size."""
    return xp.expand(input, size)


def _permutation(input, dims):
    wrapped = tuple([wrap_dim(d, input.ndim) for d in as_ints(dims)])
    if len(wrapped) != input.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {input.ndim} is not equal to len(dims) = {len(wrapped)}"
        )
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {list(dims)}")
    return (wrapped,)


def inverse(dims):
    """The permutation that undoes one."""
    back = [0] * len(dims)
    for i, d in enumerate(dims):
        back[d] = i
    return tuple(back)


@op(view=True, opaque=True, linear="each", canon=_permutation, trusting="checked", vjp=(lambda xp, g, dims: xp.permute(g, inverse(dims)),),
    batch=lambda fn, size, flags, args: fn(args[0], (0, *[d + 1 for d in args[1]])))  # fmt: skip
def permute(xp, input: Num, dims: Ints):
    """The dimensions in another order."""
    return xp.permute(input, dims)


@op(
    view=True,
    opaque=True,
    linear="each",
    vjp=(lambda xp, g: xp.mT(g),),
    batch=lambda fn, size, flags, args: fn(args[0]),
    spaces=(),
)
def mT(xp, input: Num):
    """The last two dimensions swapped."""
    return xp.mT(input)


@op(view=True, opaque=True, linear="each", vjp=(lambda xp, g, shape: xp.reshape(g, shape),), spaces=(),
    batch=lambda fn, size, flags, args: fn(args[0], tuple([d + 1 for d in args[1]])))  # fmt: skip
def unsqueeze(xp, input: Num, dims):
    """Dimensions of size 1 inserted so that they stand at `dims` of the result."""
    return xp.unsqueeze(input, dims)


@op(view=True, opaque=True, linear="each", vjp=(lambda xp, g, dims: xp.unsqueeze(g, dims),), spaces=(),
    batch=lambda fn, size, flags, args: fn(args[0], tuple([d + 1 for d in args[1]])))  # fmt: skip
def squeeze(xp, input: Num, dims):
    """Dimensions of size 1 at `dims` dropped."""
    return xp.squeeze(input, dims)


def _inner_key(fn, size, flags, args):
    return fn(args[0], (slice_all, *args[1]), *([(size, *args[2])] if len(args) > 2 else []))


slice_all = slice(None)


@op(
    view=True,
    opaque=True,
    linear="each",
    vjp=(lambda xp, g, key, shape: xp.slice_put(g, key, shape),),
    batch=_inner_key,
    spaces=(),
    trim=True,
)
def slice_(xp, input: Num, key):
    """Basic indexing by a tuple of ints, slices with positive step, None and at most one Ellipsis."""
    return xp.slice(input, key)


@op(opaque=True, linear="each", vjp=(lambda xp, g, key: xp.slice(g, key),), batch=_inner_key, spaces=(), exact=True)
def slice_put(xp, input: Num, key, size):
    """Zeros of shape `size` with `input` written at `key`: the transpose of `slice`."""
    return xp.slice_put(input, key, size)


def _diagonal_batch(fn, size, flags, args):
    x, offset, dim1, dim2 = args
    return fn(x, offset, dim1 + 1, dim2 + 1)


def _two_dims(input, offset, dim1, dim2):
    if dim1 == dim2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")


@op(view=True, opaque=True, linear="each", batch=_diagonal_batch, check=_two_dims,
    vjp=(lambda xp, g, shape, offset, dim1, dim2: xp.diagonal_put(g, shape, offset, dim1, dim2),))  # fmt: skip
def diagonal(xp, input: Num, offset=0, dim1: Dim = 0, dim2: Dim = 1):
    """The diagonal of the matrices in dimensions `dim1` and `dim2`, as the last dimension."""
    return xp.diagonal(input, offset, dim1, dim2)


def _diagonal_put_batch(fn, size, flags, args):
    x, shape, offset, dim1, dim2 = args
    return fn(x, (size, *shape), offset, dim1 + 1, dim2 + 1)


@op(opaque=True, linear="each", batch=_diagonal_put_batch, exact=True, spaces=(),
    vjp=(lambda xp, g, offset, dim1, dim2: xp.diagonal(g, offset, dim1, dim2),))  # fmt: skip
def diagonal_put(xp, input: Num, size, offset, dim1, dim2):
    """Zeros of shape `size` with `input` on a diagonal: the transpose of `diagonal`. Dimensions count from the
    front.
    """
    return xp.diagonal_put(input, size, offset, dim1, dim2)


# ---------------------------------------------------------------- by strides
def _windows_batch(fn, size, flags, args):
    x, dim, *rest = args
    return fn(x, dim + 1, *rest)


@op(view=True, opaque=True, linear="each", batch=_windows_batch, spaces=(),
    vjp=(lambda xp, g, shape, dim, step: xp.windows_put(g, dim, shape[dim], step),))  # fmt: skip
def windows(xp, input: Num, dim, size, step):
    """Windows of `size` elements at every `step` along `dim`: counted along `dim`, their elements along a new last
    dimension.
    """
    return xp.windows(input, dim, size, step)


@op(opaque=True, linear="each", batch=_windows_batch, spaces=(),
    vjp=(lambda xp, g, shape, dim, step: xp.windows(g, dim, shape[-1], step),))  # fmt: skip
def windows_put(xp, input: Num, dim, length, step):
    """Windows added into the dimension of that length which they were taken from: the transpose of `windows`."""
    return xp.windows_put(input, dim, length, step)


def _strided_vjp(xp, g, stride, shift, geometry):
    """The gradient by memory position, then read where the input's elements lie; elements that lie together share
    it.
    """
    size, strides, offset, count, shared = geometry
    flat = xp.strided_put(g, count, stride, offset + shift)
    if shared:
        often = xp.strided_put(xp.full(size, 1, xp.like(g)), count, strides, offset)
        flat = flat / xp.where(often == 0, xp.full((), 1, xp.like(g)), often)
    return xp.strided_read(flat, size, strides, offset)


def _strided_jvp(xp, tangents, out, input, size, stride, shift, geometry):
    _, strides, offset, count, shared = geometry
    flat = xp.strided_put(tangents[0], count, strides, offset)
    if shared:
        often = xp.strided_put(xp.full(tuple(input.shape), 1, tangents[0]), count, strides, offset)
        flat = flat / xp.where(often == 0, xp.full((), 1, tangents[0]), often)
    return xp.strided_read(flat, size, stride, offset + shift)


def _strided_batch(fn, size, flags, args):
    """Examples are laid out one after the other; inside one, strides count as they do in a contiguous tensor."""
    x, shape, stride, shift, (inner, strides, offset, _, shared) = args
    x = T.contiguous(x, tuple(range(x.ndim)))
    each = prod(inner)
    return fn(
        x, (size, *shape), (each, *stride), shift, ((size, *inner), (each, *strides), offset, each * size, shared)
    )


@op(view=True, opaque=True, vjp=(_strided_vjp,), jvp=_strided_jvp, batch=_strided_batch, spaces=())
def strided(xp, input: Num, size, stride, shift, geometry):
    """The view with these strides that starts `shift` elements after input's first. geometry: input's own shape,
    strides and offset, how many elements its storage has, and whether some of its elements lie in the same place."""
    return xp.strided(input, size, stride, shift, geometry)


def _read_batch(fn, size, flags, args):
    x, shape, stride, offset = args
    return fn(T.reshape(x, (-1,)), (size, *shape), (x.shape[1], *stride), offset)


def _put_batch(fn, size, flags, args):
    x, count, stride, offset = args
    return T.reshape(fn(x, count * size, (count, *stride), offset), (size, count))


@op(opaque=True, linear="each", batch=_read_batch, exact=True, spaces=(),
    vjp=(lambda xp, g, shape, stride, offset: xp.strided_put(g, shape[0], stride, offset),))  # fmt: skip
def strided_read(xp, input: Num, size, stride, offset):
    """Elements of a vector by strides, as a new tensor."""
    return xp.strided_read(input, size, stride, offset)


@op(opaque=True, linear="each", batch=_put_batch, spaces=(),
    vjp=(lambda xp, g, shape, stride, offset: xp.strided_read(g, shape, stride, offset),))  # fmt: skip
def strided_put(xp, input: Num, count, stride, offset):
    """A vector of so many zeros with `input` added at places by strides: the transpose of `strided_read`."""
    return xp.strided_put(input, count, stride, offset)


@op(opaque=True, linear="each", exact=True, spaces=(), vjp=(lambda g: g,),
    batch=lambda fn, size, flags, args: fn(args[0], (0, *[d + 1 for d in args[1]])))  # fmt: skip
def contiguous(xp, input: Num, order):
    """A copy whose elements lie without gaps in this order of dimensions, the slowest first."""
    return xp.contiguous(input, order)


# ---------------------------------------------------------------- bytes read as another dtype
@op(view=True, opaque=True, dtype=None, spaces=(), batch=lambda fn, size, flags, args: fn(*args))
def view_bytes(xp, input: Num, dtype):
    """The memory read as another dtype; the last dimension is counted anew. A copy where arrays do not alias."""
    return xp.view_dtype(input, dtype)
