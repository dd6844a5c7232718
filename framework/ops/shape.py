"""Shapes and dimensions rearranged without touching elements: composites of the view primitives in `view.py`."""

from __future__ import annotations

import warnings

from backends.dtypes import dtype as Dtype
from framework.core.shape import as_int, as_ints, infer_size, wrap_dim, wrap_dims
from framework.core.tensor import Tensor, arr
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Ints, Num
from framework.dispatch.views import overlap
from framework.ops.become import in_place_view


# ---------------------------------------------------------------- view, reshape
def _fit(input, size):
    return (infer_size(as_ints(size), input.numel()),)


def _viewable(input, size):
    """RuntimeError if the strides do not allow the shape. (Of a batched tensor the primitive itself asks its
    payload.)
    """
    if input.level is not None:
        return
    a = arr(input)
    if input.backend.aliasing:
        possible = overlap(input.backend.reshape(a, size), a)
    else:
        shadow = input._view.shadow if input._view is not None else None
        possible = shadow is None or overlap(shadow.reshape(size), shadow)
    if not possible:
        raise RuntimeError(
            f"view size is not compatible with input tensor's size and stride (shape {list(input.shape)}, strides "
            f"{list(input.stride())}, asked for {list(size)}: at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )


@op(view=True, opaque=True, linear="each", canon=_fit, check=_viewable, trusting="sized", vjp=(lambda xp, g, shape: xp.reshape(g, shape),),
    batch=lambda fn, size, flags, args: fn(args[0], (size, *args[1])), spaces=())  # fmt: skip
def view(xp, input: Num, size: Ints):
    """The same elements in row-major order under another shape, sharing memory; RuntimeError where strides do not allow
    it.
    """
    return xp.reshape(input, size)


shaped = T.view


@op(composite=True, spaces=("method",))
def view(self, *size, dtype=None, **kwargs):
    """The tensor under another shape, sharing memory: `view(2, 3)`, `view((2, -1))`; or its bytes read as another
    `dtype`.

    RuntimeError where strides do not allow the shape (`reshape` copies there), or the last dimension is no whole number
    of elements of the dtype.
    """
    if len(size) == 1 and isinstance(size[0], Dtype):
        dtype, size = size[0], ()
    if dtype is not None:
        return T.view_dtype(self, dtype)
    return shaped(self, *(size or (kwargs["size"],)))


@op(composite=True, spaces=("method",))
def view_as(self: Num, other: Num):
    """`self.view(other.size())`."""
    return shaped(self, tuple(other.shape))


@op(composite=True, spaces=("method",))
def reshape_as(self: Num, other: Num):
    """`self.reshape(other.size())`."""
    return T.reshape(self, tuple(other.shape))


@op(composite=True, spaces=("method",))
def expand_as(self: Num, other: Num):
    """`self.expand(other.size())`."""
    return T.expand(self, tuple(other.shape))


@op(composite=True)
def broadcast_to(input: Num, size: Ints):
    """Dimensions of size 1 repeated, and new ones put in front, without copying: `input.expand(size)`."""
    return T.expand(input, as_ints(size))


@op(composite=True)
def flatten(input: Num, start_dim=0, end_dim=-1):
    """The dimensions from `start_dim` to `end_dim` made one; a 0-d tensor becomes a vector."""
    ndim = input.ndim
    start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if ndim == 0:
        return T.reshape(input, (1,))
    if start == end:
        return input
    shape, count = tuple(input.shape), 1
    for n in shape[start : end + 1]:
        count *= n
    return T.reshape(input, (*shape[:start], count, *shape[end + 1 :]))


@op(composite=True)
def unflatten(input: Num, dim, sizes):
    """One dimension made several, of the given sizes, one of which may be -1."""
    dim, sizes = wrap_dim(dim, input.ndim), as_ints(sizes, "sizes")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    have = input.shape[dim] if input.ndim else 1
    try:
        sizes = infer_size(sizes, have)
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({have}) in the "
            "input tensor"
        ) from None
    return shaped(input, (*input.shape[:dim], *sizes, *input.shape[dim + 1 :]))


@op(composite=True)
def ravel(input: Num):
    """The elements as a vector; a view where they lie in order."""
    return T.reshape(input, (-1,))


# ---------------------------------------------------------------- dimensions in another order
def swapped(input, dim0, dim1):
    """The view with two dimensions exchanged."""
    ndim = input.ndim
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[dim0], order[dim1] = dim1, dim0
    return T.permute(input, tuple(order))


@op(composite=True)
def transpose(input: Num, dim0, dim1):
    """The dimensions `dim0` and `dim1` exchanged."""
    return swapped(input, dim0, dim1)


@op(composite=True)
def swapaxes(input: Num, axis0, axis1):
    """The dimensions `axis0` and `axis1` exchanged: `transpose`."""
    return swapped(input, axis0, axis1)


@op(composite=True)
def swapdims(input: Num, dim0, dim1):
    """The dimensions `dim0` and `dim1` exchanged: `transpose`."""
    return swapped(input, dim0, dim1)


def _small(input):
    if getattr(input, "ndim", 2) == 2:
        return NotImplemented
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return T.permute(input, tuple(range(input.ndim)))


@op(view=True, opaque=True, linear="each", vjp=(lambda xp, g: xp.mT(g),), batch=lambda fn, size, flags, args: T.mT(args[0]), rewrite=_small,
    when="len(a_input.shape) == 2")  # fmt: skip
def t(xp, input: Num):
    """The transpose of a matrix; vectors and 0-d tensors as they are. RuntimeError for more than two dimensions."""
    return xp.mT(input)


def _matrices(input, name):
    if input.ndim < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got {input.ndim}-D tensor."
        )


def _reversed(self):
    """The dimensions in reverse order; for a matrix, its transpose."""
    if self.ndim not in (0, 2):
        warnings.warn(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated. Consider "
            "`x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse "
            "the dimensions of a tensor.",
            UserWarning,
            stacklevel=2,
        )
    return T.permute(self, tuple(range(self.ndim))[::-1])


def _matrix_transpose(self):
    """The last two dimensions exchanged."""
    _matrices(self, "mT")
    return T.mT(self)


def _conjugate_transpose(self):
    """The conjugate transpose of a matrix."""
    if self.ndim == 0:
        return T.conj(self)
    if self.ndim != 2:
        more = " For batches of matrices, consider using tensor.mH" if self.ndim > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.ndim}-D tensor.{more}")
    return T.conj(T.mT(self))


def _conjugate_transposes(self):
    """The last two dimensions exchanged, and elements conjugated."""
    _matrices(self, "mH")
    return T.conj(T.mT(self))


@op(composite=True)
def adjoint(input: Num):
    """The last two dimensions exchanged, and elements conjugated."""
    _matrices(input, "adjoint()")
    return T.conj(T.mT(input))


def _moved(input, source, destination):
    ndim = input.ndim
    if isinstance(source, (tuple, list)) != isinstance(destination, (tuple, list)):
        raise TypeError(
            "movedim() received an invalid combination of arguments: source and destination must both be int, or "
            "both tuples"
        )
    source, destination = as_ints(source, "source"), as_ints(destination, "destination")
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same "
            f"number of dims as destination ({list(destination)} dims)"
        )
    source = tuple([wrap_dim(d, ndim) for d in source])
    destination = tuple([wrap_dim(d, ndim) for d in destination])
    for dims, name in ((source, "source"), (destination, "destination")):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({list(dims)})")
    if not ndim:
        return input
    rest = iter([d for d in range(ndim) if d not in source])
    to = dict(zip(destination, source, strict=True))
    return T.permute(input, tuple([to[d] if d in to else next(rest) for d in range(ndim)]))


@op(composite=True)
def movedim(input: Num, source, destination):
    """The dimensions at `source` moved to `destination`; the others keep their order. Both are ints or tuples of
    ints.
    """
    return _moved(input, source, destination)


@op(composite=True)
def moveaxis(input: Num, source, destination):
    """The dimensions at `source` moved to `destination`: `movedim`."""
    return _moved(input, source, destination)


# ---------------------------------------------------------------- dimensions of size 1
dropped, inserted = T.squeeze, T.unsqueeze


@op(composite=True)
def squeeze(input: Num, dim=None):
    """Dimensions of size 1 dropped: all of them, or those among `dim` (an int or several)."""
    shape = input.shape
    dims = wrap_dims(dim, len(shape))
    return dropped(input, tuple([d for d in dims if shape[d] == 1]))


@op(composite=True)
def unsqueeze(input: Num, dim):
    """A dimension of size 1 inserted at `dim`."""
    return inserted(input, (wrap_dim(dim, input.ndim + 1),))


@op(composite=True, spaces=("method",))
def unfold(input: Num, dimension, size, step):
    """The windows of `size` elements at every `step` along a dimension, as a view: windows are counted along
    `dimension`, their elements along a new last dimension."""
    dimension, size, step = wrap_dim(dimension, input.ndim), as_int(size, "size"), as_int(step, "step")
    have = input.shape[dimension] if input.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > have:
        raise RuntimeError(f"maximum size for tensor at dimension {dimension} is {have} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    if not input.ndim:
        whole = inserted(input, (0,))
        return whole if size == 1 else T.slice(whole, (slice(0, size),))
    return T.windows(input, dimension, size, step)


attach(
    T=property(_reversed),
    mT=property(_matrix_transpose),
    H=property(_conjugate_transpose),
    mH=property(_conjugate_transposes),
    squeeze_=in_place_view("squeeze_", squeeze),
    unsqueeze_=in_place_view("unsqueeze_", unsqueeze),
    transpose_=in_place_view("transpose_", transpose),
    swapaxes_=in_place_view("swapaxes_", swapaxes),
    swapdims_=in_place_view("swapdims_", swapdims),
    t_=in_place_view("t_", t),
)


# ---------------------------------------------------------------- several tensors, and questions
def flat_tensors(name, tensors):
    """Tensors given one by one or as one sequence, as a list."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tensors[0]
    for i, x in enumerate(tensors):
        if not isinstance(x, Tensor):
            not_a_tensor(name, "tensors", i, x)
    return list(tensors)
