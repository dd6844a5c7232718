"""Reading `x[key]`: the view of the key's plan, then index tensors.

One index tensor is `index_select` along its dimension. Of several, the indexed dimensions are flattened to one and the
indices combined to one number, so that `index_select` serves again, and its derivative, batching rule and range check
with it.
"""

from __future__ import annotations

import operator
from math import prod

import numpy as np

from backends.dtypes import int64
from framework.core.indexing import Plan, basic, joint_shape, plan
from framework.core.state import ACTIVE, STATE
from framework.core.tensor import FAST, Tensor, arr, make
from framework.dispatch.registry import T, attach
from framework.ops.index_range import from_host, from_start, on_device_of

FULL = slice(None)
select_rows, slice_ = T.index_select, T.slice


# -------------------------------------------------------------------------------------------------------------- reading
def getitem(self, key):
    """x[key] by PyTorch's rules: a view for ints, slices, None and Ellipsis, else a new tensor."""
    if type(self) not in FAST and (hook := overriding(self)) is not None:
        return hook(Tensor.__getitem__, (type(self),), (self, key), {})
    array = self.array
    shape = self.shape if array is None else array.shape
    kind = type(key)
    if kind is int and shape and 0 <= key < shape[0]:
        return slice_(self, (key,))
    if (
        kind is slice and key.step is None and shape and self.backend.aliasing
    ):  # the library's own rules for these are PyTorch's
        start, stop = key.start, key.stop
        if (start is None or type(start) is int) and (stop is None or type(stop) is int):
            return slice_(self, (key,))
    simple = basic(key, shape)
    if simple is not None:
        return slice_(self, simple)
    if (
        type(key) in FAST
        and key.dtype is int64
        and key.backend is self.backend
        and key.ndim
        and shape
        and 0 not in shape
    ):
        return select_rows(self, 0, key)  # the commonest index tensor needs no plan
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
        if mask and is_at_hand(x) and (key := native_key(x, p)) is not None:
            shape, size = x.array.shape, value.shape
            rows = x.array if len(size) == 1 else x.array.reshape((*shape[:dim], prod(size), *shape[dim + len(size) :]))
            return make(x.backend, rows.take(x.backend.positions(key[-1]), dim), x.dtype)
        if mask:
            return _masked(x, dim, value)
        index = placed(x, value)
        if 0 in index.shape or 0 not in x.shape:
            return select_rows(x, dim, index)
    elif is_at_hand(x) and (key := native_key(x, p)) is not None:
        try:
            return make(x.backend, x.array[key], x.dtype)
        except (IndexError, ValueError):
            pass  # what is wrong is said below, in our words
    dims, columns, joint = columns_of(x, p)
    x, dim, index = flattened(x, dims, columns, p.place)
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
        return from_host(x, np.flatnonzero(mask))
    return T.positions(on_device_of(x, mask))


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


def flattened(x, dims, columns, place):
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


# ----------------------------------------------------------------------------------------------------- the native array
def is_at_hand(x: Tensor) -> bool:
    """Whether x may be read through its native array: no history, no mode, a library that checks indices."""
    return (
        type(x) in FAST
        and not ACTIVE
        and x.backend.aliasing
        and x.backend.guards
        and (x.node is None or not STATE.grad)
    )


def native_key(x: Tensor, p: Plan):
    """The indices of a plan as one key of its view's native array; None if one of them is elsewhere."""
    key, end = [], 0
    for dim, value, mask in p.indices:
        key += [FULL] * (dim - end)
        if type(value) is np.ndarray:
            value = x.backend.asarray(value)
        elif type(value) in FAST and value.backend is x.backend:
            value = arr(value)
        else:
            return None
        key.append(value != 0 if mask and value.dtype.kind == "u" else value)
        end = dim + (value.ndim if mask else 1)
    return tuple(key)


attach(__getitem__=getitem)
