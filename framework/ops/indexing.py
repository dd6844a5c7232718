"""The index primitives: each read with the write that is its transpose. Other indexing is made of them and of views.

`index` has int64 elements in [-size, size). In `index_select`, `index_add` and `index_copy` it may have any number of
dimensions: they stand where dimension `dim` of the input stood. In `gather`, `scatter` and `scatter_add` it has as many
as the input, and its other dimensions may be smaller. The public functions of these names check more; see `index.py`,
`scatter.py`.

The gradient of a write that overwrites (`index_copy`, `scatter`) is right for distinct indices; of several writes to
one place each gets the whole gradient, as in PyTorch, where which of them wins is undefined.
"""

from __future__ import annotations

from backends.dtypes import int64
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Index, Num
from framework.ops.index_range import check_elements, check_range


def _zeros(xp, g, shape):
    return xp.full(tuple(shape), 0, xp.like(g))


def summed_at(xp, g, shape, dim, index, write):
    """Zeros with g added at the index by `write`. Half types add up in float32 and are rounded once."""
    d = xp.dtype_of(g)
    if d.compute is d:
        return write(_zeros(xp, g, shape), dim, index, g)
    wide = xp.astype(g, d.compute)
    return xp.astype(write(_zeros(xp, wide, shape), dim, index, wide), d)


# ----------------------------------------------------------------------------------- whole slices: batching rules first
def _moved(x, source, target):
    dims = [d for d in range(x.ndim) if d != source]
    dims.insert(target, source)
    return T.permute(x, tuple(dims)) if source != target else x


def _wide(x, flag, size):
    return x if flag else T.expand(x, (size, *x.shape))


def _offset_rows(index, size, rows):
    """A batched index into `rows` rows of each of `size` examples, as an index into all their rows together."""
    start = T.full((size,), 0, index) + T.to_dtype(_counted(index, size), int64) * rows
    index = T.where(T.lt(index, 0), index + rows, index)
    return index + T.reshape(start, (size, *[1] * (index.ndim - 1)))


def _counted(like, n):
    from framework.core.tensor import make

    return make(like.backend, like.backend.arange(0, n, 1, int64))


def _select_batch(fn, size, flags, args):
    x, dim, index = args
    if not flags[2]:
        return fn(x, dim + 1, index)
    if not flags[0]:
        return _moved(fn(x, dim, index), dim, 0)
    rows = _moved(x, dim + 1, 1)  # (batch, n, ...): one table of batch * n rows
    table = T.reshape(rows, (size * rows.shape[1], *rows.shape[2:]))
    y = fn(table, 0, _offset_rows(index, size, rows.shape[1]))
    k = index.ndim - 1
    order = (0, *range(k + 1, k + 1 + dim), *range(1, k + 1), *range(k + 1 + dim, y.ndim))
    return T.permute(y, order)


def _write_batch(fn, size, flags, args):
    x, dim, index, src = args
    x, src = _wide(x, flags[0], size), _wide(src, flags[3], size)
    if not flags[2]:
        return fn(x, dim + 1, index, src)
    rows = _moved(x, dim + 1, 1)
    table = T.reshape(rows, (size * rows.shape[1], *rows.shape[2:]))
    k = index.ndim - 1
    order = (0, *range(dim + 1, dim + 1 + k), *range(1, dim + 1), *range(dim + 1 + k, src.ndim))
    y = fn(table, 0, _offset_rows(index, size, rows.shape[1]), T.permute(src, order))
    return _moved(T.reshape(y, tuple(rows.shape)), 1, dim + 1)


@op(opaque=True, linear="each", exact=True, spaces=(), check=check_range, batch=_select_batch,
    vjp=(lambda xp, g, dim, index, shape: summed_at(xp, g, shape, dim, index, xp.index_add),))  # fmt: skip
def index_select(xp, input: Num, dim, index: Index):
    """The slices of `input` along `dim` that the index names."""
    return xp.index_select(input, dim, index)


@op(opaque=True, linear="jointly", spaces=(), check=check_range, batch=_write_batch,
    vjp=(lambda g: g, lambda xp, g, dim, index: xp.index_select(g, dim, index)))  # fmt: skip
def index_add(xp, input: Num, dim, index: Index, source: Num):
    """`input` with the slices of `source` added at the places along `dim` that the index names."""
    return xp.index_add(input, dim, index, source)


def _erased(xp, g, dim, index):
    shape = tuple(g.shape)
    return xp.index_copy(g, dim, index, _zeros(xp, g, (*shape[:dim], *index.shape, *shape[dim + 1 :])))


@op(opaque=True, linear="jointly", exact=True, spaces=(), check=check_range, batch=_write_batch,
    vjp=(_erased, lambda xp, g, dim, index: xp.index_select(g, dim, index)))  # fmt: skip
def index_copy(xp, input: Num, dim, index: Index, source: Num):
    """`input` with its slices at the places along `dim` that the index names replaced by those of `source`."""
    return xp.index_copy(input, dim, index, source)


# ------------------------------------------------------------------------------------------------------ single elements
@op(opaque=True, linear="each", exact=True, spaces=(), check=check_elements,
    vjp=(lambda xp, g, dim, index, shape: summed_at(xp, g, shape, dim, index, xp.scatter_add),))  # fmt: skip
def gather(xp, input: Num, dim: Dim, index: Index):
    """For each element of the index, the element of `input` at its place, with the index along `dim`."""
    return xp.gather(input, dim, index)


@op(opaque=True, linear="jointly", exact=True, spaces=(), check=check_elements,
    vjp=(lambda xp, g, dim, index: xp.scatter(g, dim, index, _zeros(xp, g, index.shape)),
         lambda xp, g, dim, index: xp.gather(g, dim, index)))  # fmt: skip
def scatter(xp, input: Num, dim: Dim, index: Index, src: Num):
    """`input` with the elements that `gather` would read replaced by those of `src`, which has the index's shape."""
    return xp.scatter(input, dim, index, src)


@op(opaque=True, linear="jointly", spaces=(), check=check_elements,
    vjp=(lambda g: g, lambda xp, g, dim, index: xp.gather(g, dim, index)))  # fmt: skip
def scatter_add(xp, input: Num, dim: Dim, index: Index, src: Num):
    """`input` with the elements of `src`, which has the index's shape, added where `gather` would read."""
    return xp.scatter_add(input, dim, index, src)


def _extreme_vjp(xp, g, input, dim, index, src, out):
    """Of the elements that tie for the extreme each gets an even share."""
    mine = xp.astype(xp.eq(input, out), xp.dtype_of(g))
    theirs = xp.astype(xp.eq(src, xp.gather(out, dim, index)), xp.dtype_of(g))
    share = g / xp.scatter_add(mine, dim, index, theirs)
    return mine * share, theirs * xp.gather(share, dim, index)


@op(opaque=True, exact=True, spaces=(), accept="biuf", check=check_elements, vjp=_extreme_vjp)
def scatter_amax(xp, input: Num, dim: Dim, index: Index, src: Num):
    """The largest of each element of `input` and the elements of `src` that the index sends there; nan wins."""
    return xp.scatter_amax(input, dim, index, src)


@op(opaque=True, exact=True, spaces=(), accept="biuf", check=check_elements, vjp=_extreme_vjp)
def scatter_amin(xp, input: Num, dim: Dim, index: Index, src: Num):
    """The smallest of each element of `input` and the elements of `src` that the index sends there; nan wins."""
    return xp.scatter_amin(input, dim, index, src)


def _prod_vjp(xp, g, input, dim, index, src):
    """Each factor gets the product of the others: with one zero only that factor gets any, with two none does."""
    none, one = _zeros(xp, g, ()), xp.full((), 1, xp.like(g))
    zero_in, zero_src = xp.eq(input, 0), xp.eq(src, 0)
    count = xp.scatter_add(xp.astype(zero_in, xp.dtype_of(g)), dim, index, xp.astype(zero_src, xp.dtype_of(g)))
    safe_in, safe_src = xp.where(zero_in, one, input), xp.where(zero_src, one, src)
    rest = xp.conj(xp.scatter_prod(safe_in, dim, index, safe_src)) * g
    no_zero, one_zero = xp.where(xp.eq(count, 0), rest, none), xp.where(xp.eq(count, 1), rest, none)
    at = lambda y: xp.gather(y, dim, index)
    return (xp.where(zero_in, one_zero, no_zero / xp.conj(safe_in)),
            xp.where(zero_src, at(one_zero), at(no_zero) / xp.conj(safe_src)))  # fmt: skip


@op(opaque=True, spaces=(), check=check_elements, vjp=_prod_vjp)
def scatter_prod(xp, input: Num, dim: Dim, index: Index, src: Num):
    """Each element of `input` times the elements of `src` that the index sends there."""
    return xp.scatter_prod(input, dim, index, src)


# ------------------------------------------------------------------------------------------------------- where not zero
def _no_batch(fn, size, flags, args):
    raise RuntimeError(
        "vmap: the number of elements that are not zero (x[mask], nonzero, masked_select) may differ between "
        "examples, so there is no result of one shape. Use torch.where, or assign through the mask."
    )


@op(opaque=True, dtype=int64, exact=True, spaces=(), batch=_no_batch)
def nonzero(xp, input: Num):
    """The coordinates of the elements that are not zero, one row each, in row-major order."""
    return xp.nonzero(input)


@op(opaque=True, dtype=int64, exact=True, spaces=(), batch=_no_batch)
def positions(xp, input: Num):
    """The row-major positions of the elements that are not zero."""
    return xp.positions(input)
