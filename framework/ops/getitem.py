"""Reading and writing `x[key]`, and `index_put`: a plan of views and index tensors, carried out by the primitives.

Reading: the view of the plan, then `index_select` along one dimension, or along the indexed dimensions flattened to one with
the index numbers combined. Writing: the same with `index_copy` or `index_add` back, so history follows from theirs; where
nothing is tracked and arrays alias, the elements are written in place and nothing else is touched.
"""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from backends.dtypes import int64
from framework.core.indexing import Plan, basic, joint_shape, plan
from framework.core.number import as_number
from framework.core.promotion import scalar_type_name
from framework.core.state import ACTIVE, STATE
from framework.core.storage import storage_of
from framework.core.tensor import FAST, Tensor, arr, make
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.inplace import assign, check_writable, note, preserve
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Num
from framework.ops.index_range import from_host, from_start, on_device_of

FULL = slice(None)
select_rows, copy_rows, add_rows, slice_ = T.index_select, T.index_copy, T.index_add, T.slice


# --------------------------------------------------------------------------------------------------------------- reading
def getitem(self, key):
    """x[key] with PyTorch's rules: a view for ints, slices, None and Ellipsis, a new tensor for index tensors and masks."""
    shape = self.array.shape if self.array is not None else self.shape
    simple = basic(key, shape)
    if simple is not None:
        return slice_(self, simple)
    if type(self) not in FAST and (hook := overriding(self)) is not None:
        return hook(Tensor.__getitem__, (type(self),), (self, key), {})
    return read(self, plan(key, shape, number_of))


def overriding(x):
    """The `__torch_function__` of a subclass's instance, if it is to be asked."""
    if x.level is not None or STATE.__dict__.get("plain_subclasses"):
        return None
    return getattr(type(x), "__torch_function__", None)


def number_of(index):
    """The value of a 0-d integer index; None if it differs between the examples of a vmap."""
    try:
        return operator.index(index)
    except RuntimeError:
        if index.level is None:
            raise
        return None


def read(x: Tensor, p: Plan) -> Tensor:
    """Carry out a plan."""
    x = viewed(x, p)
    if not p.indices:
        return x
    if len(p.indices) == 1:
        dim, value, mask = p.indices[0]
        if mask:
            return _masked(x, dim, value)
        index = placed(x, value)
        if 0 in index.shape or 0 not in x.shape:
            return select_rows(x, dim, index)
    dims, columns, joint = columns_of(x, p)
    x, dim, index = _flattened(x, dims, columns, p.place)
    return select_rows(x, dim, T.expand(index, joint) if tuple(index.shape) != joint else index)


def viewed(x: Tensor, p: Plan) -> Tensor:
    """The view a plan starts from, its 0-d tensors selected; x itself if index tensors do all the work."""
    if p.key or not p.indices:
        x = slice_(x, p.key)
    for dim, index in reversed(p.selects):
        x = select_rows(x, dim, on_device_of(x, index))
    return x


def positions(x: Tensor, mask: Tensor) -> Tensor:
    """The row-major positions of a mask's True elements. Reads the mask on the host where sizes must be known there."""
    if type(mask) is np.ndarray:
        return placed(x, np.flatnonzero(mask))
    return slice_(T.nonzero(T.reshape(on_device_of(x, mask), (-1,))), (FULL, 0))


def placed(x: Tensor, index) -> Tensor:
    """The value of an index of a plan as a tensor where x is."""
    return from_host(x, index) if type(index) is np.ndarray else on_device_of(x, index)


def _masked(x, dim, mask):
    flat = positions(x, mask)
    if mask.ndim != 1:
        shape = tuple(x.shape)
        x = T.reshape(x, (*shape[:dim], prod(mask.shape), *shape[dim + mask.ndim :]))
    return select_rows(x, dim, flat)


def columns_of(x: Tensor, p: Plan):
    """(dimensions, their index tensors with numbers in range and from the start, the shape those broadcast to)."""
    dims, columns = [], []
    for dim, value, mask in p.indices:
        if mask:
            dims += range(dim, dim + value.ndim)
            if type(value) is np.ndarray:
                columns += [from_host(x, column) for column in value.nonzero()]
            else:
                where = T.nonzero(on_device_of(x, value))
                columns += [slice_(where, (FULL, i)) for i in range(value.ndim)]
        else:
            dims.append(dim)
            columns.append(placed(x, value))
    columns = [T.to_dtype(c, int64) if c.dtype is not int64 else c for c in columns]
    joint = joint_shape([tuple(c.shape) for c in columns])
    shape = x.shape
    empty = 0 in joint or 0 in [n for d, n in enumerate(shape) if d not in dims]
    for i, (dim, c) in enumerate(zip(dims, columns)):
        if not empty or shape[dim] == 0 and 0 not in joint:
            columns[i] = from_start(c, shape[dim], dim)
        else:  # nothing is read, so any number will do
            columns[i] = T.full(tuple(c.shape), 0, c)
    return dims, columns, joint


def _flattened(x, dims, columns, place):
    """x with the indexed dimensions made one, that dimension, and the index into it."""
    shape = tuple(x.shape)
    if len(dims) == 1:
        return x, dims[0], columns[0]
    sizes = [shape[d] for d in dims]
    if dims != list(range(place, place + len(dims))):
        rest = [d for d in range(len(shape)) if d not in dims]
        x = T.permute(x, (*dims, *rest))
        shape = (*sizes, *[shape[d] for d in rest])
    x = T.reshape(x, (*shape[:place], prod(sizes), *shape[place + len(dims) :]))
    return x, place, _combined(columns, sizes)


def _combined(columns, sizes):
    """One index number for each tuple of them, in row-major order."""
    if not ACTIVE and all(type(c) in FAST for c in columns):
        raw = [arr(c) for c in columns]
        total = raw[0]
        for a, n in zip(raw[1:], sizes[1:]):
            total = total * n + a
        return make(columns[0].backend, total)
    total = columns[0]
    for c, n in zip(columns[1:], sizes[1:]):
        total = total * n + c
    return total


# --------------------------------------------------------------------------------------------------------------- writing
def setitem(self, key, value):
    """x[key] = value: value is a tensor that broadcasts to x[key] (leading ones aside), or a number."""
    if type(self) not in FAST and (hook := overriding(self)) is not None:
        hook(Tensor.__setitem__, (type(self),), (self, key, value), {})
        return
    array = self.array
    shape = array.shape if array is not None else self.shape
    simple = basic(key, shape)
    if simple is not None:
        if not _stored(self, array, simple, value):
            copy_into(slice_(self, simple), value)
        return
    if key is False:
        return
    if key is True:
        copy_into(slice_(self, (None,)), value)
        return
    p = plan(key, shape, number_of)
    target = viewed(self, p)
    if not p.indices:
        copy_into(target, value)
    else:
        put_into(target, p, value)


def _stored(x, array, key, value):
    """Write straight through the native view, where it is no more than that; False: it may be more."""
    if not is_plain(x, value) or not array.flags.forc or x.is_inference():
        return False
    kind, d = type(value), x.dtype
    if kind in FAST:
        source, target = value.array, array[(*key, ...)]
        if value.dtype is not d or source.shape and source.shape != target.shape[-source.ndim :]:
            return False
        target[...] = source
    elif kind is float and d.category == 2 and -65504 <= value <= 65504 or kind is bool:
        array[key] = value
    elif kind is int and d.category and (0 <= value < 128 or d.is_signed and -128 <= value < 0):
        array[key] = value
    else:
        return False
    noticed(x, "setitem")
    return True


def copy_into(target: Tensor, value) -> None:
    """target := value, with history."""
    check_writable(target, "setitem")
    value = as_values(target, value)
    extra = value.ndim - target.ndim
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        value = T.reshape(value, tuple(value.shape[extra:]))
    if tuple(value.shape) != tuple(target.shape):
        value = T.expand(value, tuple(target.shape))
    assign(target, value, "setitem")


def as_values(x: Tensor, value) -> Tensor:
    """What is assigned, as a tensor: a number in the dtype of x."""
    if isinstance(value, Tensor):
        return value
    return T.full((), as_number(value, x.dtype), x)


def put_into(x: Tensor, p: Plan, value, accumulate: bool = False) -> None:
    """x[indices of the plan] := or += value, in place."""
    values = as_values(x, value)
    if not accumulate and (mask := lone_mask(x, p)) is not None and values.numel() == 1:
        x.masked_fill_(mask, T.reshape(values, ()) if values.ndim else values)
        return
    same_dtype(x, values)
    check_writable(x, "index_put_")
    if is_plain(x, values):
        dims, columns, joint = columns_of(x, p)
        key = [FULL] * (dims[-1] + 1)
        for d, c in zip(dims, columns):
            key[d] = arr(c)
        write_native(x, tuple(key), arr(fitted_values(values, result_shape(x, p, dims, joint))), accumulate, "index_put_")
    else:
        tracked = STATE.grad and (x.node is not None or values.node is not None)
        assign(x, put(preserve(x) if tracked else x, p, values, accumulate), "index_put_")


def lone_mask(x: Tensor, p: Plan) -> Tensor | None:
    """The mask of a plan that has nothing else, in a shape that broadcasts to x."""
    if len(p.indices) != 1 or not p.indices[0].mask:
        return None
    dim, mask, _ = p.indices[0]
    mask = placed(x, mask)
    if mask.dtype.kind != "b":
        mask = T.ne(mask, 0)
    tail = x.ndim - dim - mask.ndim
    return T.reshape(mask, (*mask.shape, *[1] * tail)) if tail else mask


def result_shape(x, p, dims, joint):
    """The shape of x indexed by a plan."""
    rest = [n for d, n in enumerate(x.shape) if d not in dims]
    return (*rest[: p.place], *joint, *rest[p.place :])


def same_dtype(x, values):
    if values.dtype is not x.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_type_name(x.dtype)} for the destination and {scalar_type_name(values.dtype)} for the source."
        )


def fitted_values(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The values in the shape of what they overwrite."""
    have = tuple(values.shape)
    kept = have
    while len(kept) > len(shape) and kept[0] == 1:
        kept = kept[1:]
    lead = len(shape) - len(kept)
    if lead < 0 or any(n != 1 and n != m for n, m in zip(kept, shape[lead:])):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape {list(shape)}"
        )
    if kept != have:
        values = T.reshape(values, kept)
    return T.expand(values, shape) if kept != shape else values


def put(x: Tensor, p: Plan, values: Tensor, accumulate: bool) -> Tensor:
    """x with the elements a plan's indices name replaced by `values`, or with these added."""
    dims, columns, joint = columns_of(x, p)
    shape = tuple(x.shape)
    values = fitted_values(values, result_shape(x, p, dims, joint))
    flat, dim, index = _flattened(x, dims, columns, p.place)
    if tuple(index.shape) != joint:
        index = T.expand(index, joint)
    flat = (add_rows if accumulate else copy_rows)(flat, dim, index, values)
    if len(dims) == 1:
        return flat
    if dims == list(range(p.place, p.place + len(dims))):
        return T.reshape(flat, shape)
    others = [d for d in range(len(shape)) if d not in dims]
    order = [*dims, *others]
    flat = T.reshape(flat, tuple([shape[d] for d in order]))
    return T.permute(flat, tuple([order.index(d) for d in range(len(shape))]))


# ------------------------------------------------------------------------------------ writing through the native array
def is_plain(x: Tensor, *others) -> bool:
    """Whether a write to x may go straight into its array: arrays alias, no mode watches, nothing has history."""
    if ACTIVE or type(x) not in FAST or not x.backend.aliasing:
        return False
    grad = STATE.grad
    for t in others:
        if type(t) in FAST:
            if t.backend is not x.backend or grad and t.node is not None:
                return False
        elif isinstance(t, Tensor):
            return False
    view = x._view
    return not grad or x.node is None and (view is None or view.base is None or view.base.node is None)


def write_native(x: Tensor, key, values, accumulate: bool, name: str) -> None:
    """array[key] := or += values; `check_writable` comes first."""
    x.backend.write_indexed(x.array, key, values, accumulate)
    noticed(x, name)


def noticed(x: Tensor, name: str) -> None:
    """Count a write to x."""
    storage = x.storage or storage_of(x)
    storage.version += 1
    if STATE.grad:
        note(storage, name)


# ------------------------------------------------------------------------------------------------------------- index_put
def _tensors_plan(x, indices, name):
    """The plan of a tuple of index tensors (None: the whole dimension)."""
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}")
    for i, t in enumerate(indices):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    if all(t is None for t in indices):
        raise RuntimeError(f"{name}(): needs at least one index tensor")
    return plan(tuple([FULL if t is None else T.reshape(t, (1,)) if t.ndim == 0 else t for t in indices]), x.shape)


def _values_tensor(values, name):
    if not isinstance(values, Tensor):
        not_a_tensor(name, "values", 1, values)


@op(composite=True)
def index_put(input: Num, indices, values: Num, accumulate=False):
    """`input` with the elements `input[indices]` replaced by `values`, which broadcast to them, or with these added.

    indices: tuple of index tensors and masks, None for a whole dimension. Where `accumulate` is False and an index appears
    twice, which value is kept is undefined. IndexError for an index out of range, RuntimeError for values of another dtype
    (a single value goes through a mask in any dtype) or a shape that does not broadcast.
    """
    _values_tensor(values, "index_put")
    p = _tensors_plan(input, indices, "index_put")
    if not accumulate and (mask := lone_mask(input, p)) is not None and values.numel() == 1:
        return T.masked_fill(input, mask, T.reshape(values, ()))
    same_dtype(input, values)
    return put(input, p, values, accumulate)


def index_put_(self, indices, values, accumulate=False):
    """In-place form of `index_put`: only the elements named are written."""
    _values_tensor(values, "index_put_")
    put_into(self, _tensors_plan(self, indices, "index_put_"), values, accumulate)
    return self


attach(__getitem__=getitem, __setitem__=setitem, index_put_=index_put_)
