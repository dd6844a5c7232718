"""Writing `x[key] = value`, and `index_put`.

A key that is a view is filled or copied into. With index tensors the write is `index_copy` or `index_add` along the
dimension (or the flattened dimensions) that reading would use, so history follows from theirs. Where nothing is tracked
and arrays alias, the elements are written in place and nothing else is touched.
"""

from __future__ import annotations

import warnings

from backends.dtypes import bool_, int64
from framework.core.indexing import Plan, basic, plan
from framework.core.number import as_number
from framework.core.promotion import scalar_type_name
from framework.core.state import ACTIVE, STATE
from framework.core.storage import storage_of
from framework.core.tensor import FAST, Tensor, arr
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.inplace import assign, check_writable, note, preserve
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Num
from framework.ops.getitem import FULL, columns_of, flattened, native_key, number_of, overriding, placed, viewed

copy_rows, add_rows, slice_ = T.index_copy, T.index_add, T.slice


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
    if type(key) in FAST and shape and key.backend is self.backend and key.array is not None:  # the commonest
        d, size = key.dtype, key.array.shape
        if (d is int64 and size or d is bool_ and size == shape) and _put_natively(
            self, (key.array,), d is bool_, value
        ):
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
    elif (
        kind is float
        and d.category == 2
        and -65504 <= value <= 65504
        or kind is bool
        or kind is int
        and d.category
        and (0 <= value < 128 or d.is_signed and -128 <= value < 0)
    ):
        array[key] = value
    else:
        return False
    noticed(x, "setitem")
    return True


def copy_into(target: Tensor, value) -> None:
    """target := value, with history."""
    check_writable(target, "setitem")
    value = as_values(target, value)
    if tuple(value.shape) != tuple(target.shape):
        value = without_leading_ones(value)
    if value.dtype.is_complex and not target.dtype.is_complex:
        warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
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
    if is_plain(x, value):
        mask = len(p.indices) == 1 and p.indices[0].mask
        if _put_natively(x, native_key(x, p), mask, value, accumulate):
            return
    values = without_leading_ones(as_values(x, value))
    if not accumulate and (mask := lone_mask(x, p)) is not None and values.numel() == 1:
        x.masked_fill_(mask, T.reshape(values, ()) if values.ndim else values)
        return
    same_dtype(x, values)
    check_writable(x, "index_put_")
    if is_plain(x, values) and not (accumulate and x.dtype.compute is not x.dtype):
        dims, columns, joint = columns_of(x, p)
        key = [FULL] * (dims[-1] + 1)
        for d, c in zip(dims, columns):
            key[d] = arr(c)
        write_native(
            x, tuple(key), arr(fitted_values(values, result_shape(x, p, dims, joint))), accumulate, "index_put_"
        )
    else:
        tracked = STATE.grad and (x.node is not None or values.node is not None)
        assign(x, put(preserve(x) if tracked else x, p, values, accumulate), "index_put_", overwrite=False)


def _put_natively(x, key, mask, value, accumulate=False):
    """Let the library do all of it, if it may and can; what is wrong with a key or value is left to the caller to say.

    `mask`: the key's last part is the only index tensor, and a mask.
    """
    if key is None or not x.backend.guards or accumulate and x.dtype.compute is not x.dtype or not is_plain(x, value):
        return False
    if isinstance(value, Tensor):
        if value.dtype is not x.dtype:
            return False
        values = arr(value)
    else:
        values = as_number(value, x.dtype)
    check_writable(x, "index_put_")
    try:
        if mask and not accumulate and not isinstance(value, Tensor):
            at = key[-1]
            x.backend.write_where(x.array, at.reshape(at.shape + (1,) * (x.ndim - len(key) + 1 - at.ndim)), values)
        else:
            x.backend.write_indexed(x.array, key, values, accumulate)
    except (IndexError, ValueError, TypeError):
        return False
    noticed(x, "index_put_")
    return True


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
    """RuntimeError unless the values have the dtype of what they are written into."""
    if values.dtype is not x.dtype:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_type_name(x.dtype)} for the destination and {scalar_type_name(values.dtype)} for the source."
        )


def without_leading_ones(values: Tensor) -> Tensor:
    """The values without dimensions of size 1 in front: too many of them are no error in an assignment."""
    shape = tuple(values.shape)
    if not shape or shape[0] != 1:
        return values
    return T.reshape(values, shape[next((d for d, n in enumerate(shape) if n != 1), len(shape)) :])


def fitted_values(values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The values in the shape of what they overwrite."""
    have = tuple(values.shape)
    if have == shape:
        return values
    lead = len(shape) - len(have)
    if lead < 0 or any(n != 1 and n != m for n, m in zip(have, shape[lead:])):
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(have)} cannot be broadcast to indexing result of shape "
            f"{list(shape)}"
        )
    return T.expand(values, shape)


def put(x: Tensor, p: Plan, values: Tensor, accumulate: bool) -> Tensor:
    """x with the elements a plan's indices name replaced by `values`, or with these added."""
    dims, columns, joint = columns_of(x, p)
    shape = tuple(x.shape)
    values = fitted_values(values, result_shape(x, p, dims, joint))
    flat, dim, index = flattened(x, dims, columns, p.place)
    if tuple(index.shape) != joint:
        index = T.expand(index, joint)
    flat = (add_rows if accumulate else copy_rows)(flat, dim, index, values)
    if len(dims) == 1:
        return flat
    if dims == list(range(p.place, p.place + len(dims))):
        return unlinked(T.reshape(flat, shape))
    others = [d for d in range(len(shape)) if d not in dims]
    order = [*dims, *others]
    flat = T.reshape(flat, tuple([shape[d] for d in order]))
    return unlinked(T.permute(flat, tuple([order.index(d) for d in range(len(shape))])))


def unlinked(x: Tensor) -> Tensor:
    """A view of a tensor that nobody else has, as a tensor of its own. No node may have saved the values it shows."""
    x._view = x.storage = None
    return x


# ------------------------------------------------------------------------------------- writing through the native array
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


# ------------------------------------------------------------------------------------------------------------ index_put
def _tensors_plan(x, indices, name):
    """The plan of a tuple of index tensors (None: the whole dimension)."""
    if isinstance(indices, Tensor) or not isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'indices' (position 1) must be tuple of Tensors, not {type(indices).__name__}"
        )
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

    indices: tuple of index tensors and masks, None for a whole dimension. Where `accumulate` is False and an index
    appears twice, which value is kept is undefined. IndexError for an index out of range, RuntimeError for values of
    another dtype (a single value goes through a mask in any dtype) or a shape that does not broadcast.
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


def delitem(self, key):
    """Refuse `del x[key]` with TypeError: the elements of a tensor cannot be deleted."""
    raise TypeError("Tensor does not support deleting items")


attach(__setitem__=setitem, __delitem__=delitem, index_put_=index_put_)
