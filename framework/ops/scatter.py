"""Reading and writing single elements along one dimension: gather, the scatter family, take_along_dim.

Index tensors are int64 or int32 without negative numbers, and are checked here, on every backend, before a primitive
sees them.
"""

from __future__ import annotations

import warnings

import numpy as np

from backends.dtypes import bool_, int64
from framework.core.number import as_number
from framework.core.promotion import scalar_type_name
from framework.core.shape import broadcast_shapes, wrap_dim
from framework.core.tensor import Tensor, arr
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.inplace import assigned
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Index, Num
from framework.ops.index import in_place
from framework.ops.index_range import as_int64, check_natural, extent, from_start, out_of_bounds, sizes
from framework.ops.setitem import unlinked

read_at, write_at, add_at = T.gather, T.scatter, T.scatter_add
EXTREMES = {"amax": T.scatter_amax, "amin": T.scatter_amin, "prod": T.scatter_prod}


def _ranks(t):
    return t.ndim or 1


def _as_rank_one(t):
    return t if t.ndim else T.reshape(t, (1,))


def _checked_index(input, dim, index, op_name):
    """(dim, int64 index) of gather and scatter; the primitives check its range."""
    dim = wrap_dim(dim, input.ndim)
    index = as_int64(index, "", f"{op_name}(): Expected dtype int32/int64 for index")
    return dim, index


@op(composite=True)
def gather(input: Num, dim, index: Index, *, sparse_grad=False):
    """out[i, j, k] = input[index[i, j, k], j, k] for dim 0 of three, and so on; of the shape of `index`.

    `index` has as many dimensions as `input` and is no larger outside `dim`. RuntimeError for an index out of range
    (negative ones are). `sparse_grad` is accepted; gradients are dense.
    """
    dim, index = _checked_index(input, dim, index, "gather")
    if not index.numel():
        return T.reshape(T.slice(T.reshape(input, (-1,)), (slice(0, 0),)), tuple(index.shape))  # nothing, with history
    if _ranks(index) != _ranks(input):
        raise RuntimeError(
            f"Index tensor must have the same number of dimensions as input tensor, got {index.ndim} and {input.ndim} "
            "(gather)"
        )
    for d, (n, m) in enumerate(zip(index.shape, input.shape)):
        if d != dim and n > m:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(index.shape)} to be no larger than self "
                f"{list(input.shape)} apart from dimension {dim}"
            )
    out = read_at(_as_rank_one(input), dim, _as_rank_one(index))
    return out if index.ndim else unlinked(T.reshape(out, ()))


def _checked(input, dim, index, src, op_name):
    """(dim, index, src of the index's shape) of the scatter family."""
    dim, index = _checked_index(input, dim, index, op_name)
    if src.dtype is not input.dtype:
        raise RuntimeError(
            f"{op_name}(): Expected self.dtype to be equal to src.dtype, got {scalar_type_name(input.dtype)} and "
            f"{scalar_type_name(src.dtype)}"
        )
    if not index.numel():
        return dim, None, src
    shape, have, into = [sizes(t) or (1,) for t in (index, src, input)]
    for name, t in (("self", input), ("src", src)):
        if len(shape) != (t.ndim or 1):
            raise RuntimeError(
                f"Index tensor must have the same number of dimensions as {name} tensor, got {index.ndim} and "
                f"{t.ndim} ({op_name})"
            )
    if any(n > m for n, m in zip(shape, have)) or any(n > m for d, (n, m) in enumerate(zip(shape, into)) if d != dim):
        raise RuntimeError(
            f"Expected index {list(shape)} to be no larger than self {list(into)} apart from dimension {dim} and to "
            f"be no larger size than src {list(have)} ({op_name})"
        )
    src = _as_rank_one(src)
    return dim, _as_rank_one(index), src if have == shape else T.slice(src, tuple([slice(0, n, 1) for n in shape]))


def _exceeds(sizes, limits):
    return any([n > m for n, m in zip(sizes, limits)])


def _written(write, input, dim, index, src, op_name):
    dim, index, src = _checked(input, dim, index, src, op_name)
    if index is None:
        return T.clone(input)
    out = write(_as_rank_one(input), dim, index, src)
    return out if input.ndim else unlinked(T.reshape(out, ()))


def _source(input, index, src, value):
    """The tensor that scatter writes: `src`, or one number everywhere."""
    if src is None and value is None:
        raise TypeError("scatter(): needs src (a Tensor) or value (a number)")
    if isinstance(src, Tensor):
        return src
    return T.full(tuple(index.shape), as_number(src if value is None else value, input.dtype), input)


@op(composite=True)
def scatter(input: Num, dim, index: Index, src=None, value=None, *, reduce=None):
    """`input` with out[index[i, j, k], j, k] = src[i, j, k] for dim 0 of three, and so on; `src` may be one number.

    reduce: None (overwrite; which element stays where an index appears twice is undefined), 'add' or 'multiply'.
    RuntimeError for an index out of range (negative ones are), another dtype, or an index larger than `src`, or than
    `input` outside `dim`.
    """
    if reduce not in (None, "add", "multiply"):
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}.")
    if reduce is not None and isinstance(src, Tensor):
        warnings.warn(
            "The reduce argument of scatter with Tensor src is deprecated; use scatter_reduce, which has more modes",
            UserWarning,
            stacklevel=3,
        )
    write = {None: write_at, "add": add_at, "multiply": T.scatter_prod}[reduce]
    return _written(write, input, dim, index, _source(input, index, src, value), "scatter")


@op(composite=True)
def scatter_add(input: Num, dim, index: Index, src: Num):
    """`input` with out[index[i, j, k], j, k] += src[i, j, k] for dim 0 of three, and so on. Errors as `scatter`."""
    return _written(add_at, input, dim, index, src, "scatter")


@op(composite=True)
def scatter_reduce(input: Num, dim, index: Index, src: Num, reduce, *, include_self=True):
    """`input` with the elements of `src` that the index sends to one place reduced there.

    reduce: 'sum', 'prod', 'mean', 'amax', 'amin'. Without `include_self` an element that anything is sent to does not
    take part itself. Ties of 'amax' and 'amin' share the gradient evenly. Errors as `scatter`.
    """
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    dim, at, source = _checked(input, dim, index, src, "scatter")
    if at is None:
        return T.clone(input)
    own = _as_rank_one(input)
    if not include_self:
        own = write_at(own, dim, at, T.full(tuple(at.shape), neutral(reduce, input.dtype), own))
    if reduce in EXTREMES:
        out = EXTREMES[reduce](own, dim, at, source)
    else:
        out = add_at(own, dim, at, source)
        if reduce == "mean":
            out = _divided(out, _counts(own, dim, at, include_self))
    return out if input.ndim else T.reshape(out, ())


@op(composite=True, inplace=True)
def index_reduce(input: Num, dim, index: Index, source: Num, reduce, *, include_self=True):
    """`input` with the slices of `source` that a vector of indices sends to one place along `dim` reduced there.

    reduce: 'prod', 'mean', 'amax', 'amin'. Without `include_self` a slice that anything is sent to does not take part
    itself. IndexError for an index out of range (negative ones are).
    """
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if index.ndim > 1:
        raise IndexError(f"index_reduce(): Index is supposed to be a vector, got shape {list(index.shape)}")
    dim = wrap_dim(dim, input.ndim)
    shape, have = _as_rank_one(input).shape, _as_rank_one(source).shape
    if len(have) != len(shape) or index.numel() != have[dim]:
        raise RuntimeError(
            f"index_reduce(): Number of indices ({index.numel()}) should be equal to the size in `dim` of a source "
            f"with as many dimensions as self, got {list(have)} for {list(shape)} and dim {dim}"
        )
    check_natural(index, shape[dim], out_of_bounds(dim, shape[dim], op="index_reduce(): "))
    index = T.reshape(index, (*[1] * dim, have[dim], *[1] * (len(shape) - dim - 1)))
    return scatter_reduce(input, dim, T.expand(index, tuple(have)), source, reduce, include_self=include_self)


def neutral(reduce, d):
    """The number that changes nothing in a reduction of dtype `d`."""
    if reduce in ("sum", "mean", "prod"):
        return 1 if reduce == "prod" else 0
    if d is bool_:
        return reduce == "amin"
    if d.is_floating_point:
        return float("-inf") if reduce == "amax" else float("inf")
    limits = np.iinfo(d.name)
    return limits.min if reduce == "amax" else limits.max


def _counts(own, dim, index, include_self):
    """How many elements each place takes the mean of, at least 1."""
    like = T.full((), 0, own) if own.dtype.category > 1 else T.to_dtype(T.full((), 0, own), int64)
    count = add_at(T.full(tuple(own.shape), int(include_self), like), dim, index, T.full(tuple(index.shape), 1, like))
    return count if include_self else T.where(T.eq(count, 0), T.full((), 1, like), count)


def _divided(total, count):
    if total.dtype.category > 1:
        return T.div(total, count)
    return T.to_dtype(T.floor_divide(T.to_dtype(total, int64), count), total.dtype)


@op(composite=True)
def take_along_dim(input: Num, indices: Index, dim=None):
    """The elements that `indices` (as `argsort` gives them) names along `dim`; in the flattened input without `dim`.

    `input` and `indices` broadcast against each other outside `dim`. Negative indices count from the end.
    """
    if indices.dtype is not int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {scalar_type_name(indices.dtype)}"
        )
    if dim is None:
        input, indices, dim = T.reshape(input, (-1,)), T.reshape(indices, (-1,)), 0
    if input.ndim != indices.ndim:
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.ndim} dimensions for input, and {indices.ndim} dimensions for indices"
        )
    dim = wrap_dim(dim, input.ndim)
    others = lambda t: tuple([1 if d == dim else n for d, n in enumerate(t.shape)])
    joint = broadcast_shapes([others(input), others(indices)])
    sized = lambda t: tuple([t.shape[d] if d == dim else n for d, n in enumerate(joint)])
    size = input.shape[dim] if input.ndim else 1
    found = extent(indices)
    if found is not None and (found[0] < -size or found[1] >= size):
        raise out_of_bounds(dim, size, RuntimeError)(found[0] if found[0] < -size else found[1])
    indices = from_start(indices, size, dim)
    out = read_at(_as_rank_one(T.expand(input, sized(input))), dim, _as_rank_one(T.expand(indices, sized(indices))))
    return out if input.ndim else T.reshape(out, ())


# ------------------------------------------------------------------------------------------------------------- in place
def _write_elements(self, accumulate, dim, index, src):
    dim, index, src = _checked(self, dim, index, src, "scatter")
    if index is not None:
        self.backend.write_scattered(self.array, dim, arr(index), arr(src), accumulate)


_overwrite = in_place(scatter, False, lambda self, dim, index, src: _write_elements(self, False, dim, index, src))


def scatter_(self, dim, index, src=None, value=None, *, reduce=None):
    """In-place form of `scatter`: only the elements named are written."""
    if not isinstance(index, Tensor):
        not_a_tensor("scatter_", "index", 1, index)
    if reduce is not None:
        return assigned(scatter.entry, "scatter_", self, (dim, index, src, value), {"reduce": reduce})
    return _overwrite(self, dim, index, _source(self, index, src, value))


def scatter_reduce_(self, dim, index, src, reduce, *, include_self=True):
    """In-place form of `scatter_reduce`."""
    return assigned(
        scatter_reduce.entry, "scatter_reduce_", self, (dim, index, src, reduce), {"include_self": include_self}
    )


attach(
    scatter_=scatter_,
    scatter_add_=in_place(
        scatter_add, True, lambda self, dim, index, src: _write_elements(self, True, dim, index, src)
    ),
    scatter_reduce_=scatter_reduce_,
)
