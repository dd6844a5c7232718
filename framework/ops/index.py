"""Indexing along one dimension by an index tensor, and `take` and `put` along all of them: the public functions.

Index tensors are int64 or int32 and are checked here, on every backend, before a primitive sees them.
"""

from __future__ import annotations

from backends.dtypes import int64
from framework.core.number import as_number
from framework.core.promotion import scalar_type_name
from framework.core.shape import wrap_dim
from framework.core.tensor import Tensor, arr
from framework.dispatch.inplace import assigned, check_writable
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Index, Num
from framework.ops.getitem import FULL
from framework.ops.index_range import as_int64, check_natural, extent, natural, only_int64, out_of_bounds, sizes
from framework.ops.setitem import is_plain, noticed, unlinked

select_rows, copy_rows, add_rows = T.index_select, T.index_copy, T.index_add


def in_place(public, adds, write):
    """The in-place method of a public function.

    Where nothing has history and arrays alias, `write(self, **arguments)` checks the arguments and writes the elements
    they name through the native array. `adds`: it adds, which half types leave to the general way, in float32.
    """
    e = public.entry
    name = e.name + "_"

    def method(self, *args, **kwargs):
        if is_plain(self, *args, *kwargs.values()) and not (adds and self.dtype.compute is not self.dtype):
            given = dict(zip(e.params[1:], args)) | kwargs
            if all([isinstance(given.get(p), Tensor) for p in e.tensors[1:]]) and given.keys() <= set(e.params):
                check_writable(self, name)
                try:
                    write(self, **given)
                except IndexError:
                    return assigned(e, name, self, args, kwargs)  # what is out of range is said there
                noticed(self, name)
                return self
        return assigned(e, name, self, args, kwargs)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"In-place form of `{e.name}`: only the elements named are written."
    return method


def write_rows(self, dim, index, source, accumulate):
    """The slices along `dim` that the index names := or += those of `source`, through the native array."""
    array, source = self.array, arr(source)
    if not array.ndim:
        array, source = array.reshape(1), source.reshape(-1)
    self.backend.write_indexed(array, (*[FULL] * dim, arr(index)), source, accumulate)


# --------------------------------------------------------------------------------------------------------- index_select
@op(composite=True)
def index_select(input: Num, dim, index: Index):
    """The slices of `input` along `dim` that a vector of indices names, as a new tensor.

    IndexError for a negative index or one that is too large, or an index of more than one dimension.
    """
    dim = wrap_dim(dim, input.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_select(): Index is supposed to be a vector, got shape {list(index.shape)}")
    index = as_int64(index, "", "index_select(): Expected dtype int32 or int64 for index")
    size = input.shape[dim] if input.ndim else 1
    check_natural(
        index, size, lambda i: IndexError(f"index out of range in self: {i} for dimension {dim} of size {size}")
    )
    if not input.ndim:
        if index.numel() != 1:
            raise RuntimeError(f"index_select(): Index to scalar can have only 1 value, got {index.numel()} value(s)")
        return T.clone(input)
    return select_rows(input, dim, index if index.ndim else T.reshape(index, (1,)))


# ------------------------------------------------------------------------------------------------ index_add, index_copy
def _added(self, dim, index, source, alpha=1):
    """Checked (dim, index, source) of index_add, source times alpha."""
    shape, have = sizes(self), sizes(source)
    dim = wrap_dim(dim, len(shape))
    if index.ndim > 1:
        raise IndexError(f"index_add_(): Index is supposed to be a vector, but got dim: {index.ndim}")
    index = as_int64(index, "index_add_")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            f"index_add_(): self ({scalar_type_name(self.dtype)}) and source ({scalar_type_name(source.dtype)}) must "
            "have the same scalar type"
        )
    count = have[dim] if dim < len(have) else 1
    if index.numel() != count:
        raise RuntimeError(
            f"index_add_(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({count}), "
            f"for dim: {dim}"
        )
    if have[:dim] != shape[:dim] or have[dim + 1 :] != shape[dim + 1 :] or len(have) != len(shape):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(shape)} source.shape = {list(have)}"
        )
    size = shape[dim] if shape else 1
    check_natural(index, size, out_of_bounds(dim, size, RuntimeError))
    if alpha != 1:
        source = T.mul(source, as_number(alpha, self.dtype))
    return dim, index if index.ndim else T.reshape(index, (1,)), source


@op(composite=True)
def index_add(input: Num, dim, index: Index, source: Num, *, alpha=1):
    """`input` with `alpha` times the slices of `source` added at the places along `dim` that a vector of indices names.

    An index that appears twice adds twice. RuntimeError for an index out of range (negative ones are), another dtype,
    or shapes that differ outside `dim`.
    """
    dim, index, source = _added(input, dim, index, source, alpha)
    if not input.ndim:
        return unlinked(T.reshape(add_rows(T.reshape(input, (1,)), 0, index, T.reshape(source, (1,))), ()))
    return add_rows(input, dim, index, source)


def _copied(self, dim, index, source):
    """Checked (dim, index, source) of index_copy."""
    dim = wrap_dim(dim, self.ndim)
    if index.ndim > 1:
        raise IndexError(f"index_copy_(): Index should have dimension 1 or 0 (got {index.ndim})")
    if self.ndim and source.ndim and source.ndim != self.ndim:
        raise IndexError(
            "index_copy_(): When source and destination are not scalars, their dimensionality must match. Source "
            f"dimensionality ({source.ndim}), destination dimensionality ({self.ndim})"
        )
    only_int64(index, "index_copy_")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{scalar_type_name(self.dtype)} and (source) {scalar_type_name(source.dtype)}"
        )
    whole = source.ndim == self.ndim and self.ndim
    rest = lambda t: [n for d, n in enumerate(t.shape) if d != dim]
    if rest(source) != rest(self):
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape: "
            f"{rest(self)} at dimension {dim} and source slice shape: {rest(source)} at dimension 0."
        )
    count = source.shape[dim] if whole else source.numel()
    if index.numel() != count:
        raise IndexError(
            f"index_copy_(): Number of indices ({index.numel()}) should be equal to source.size(dim) ({count})"
        )
    size = self.shape[dim] if self.ndim else 1
    check_natural(index, size, out_of_bounds(dim, size, op="index_copy_(): "))
    index = index if index.ndim else T.reshape(index, (1,))
    return dim, index, source if whole or not self.ndim else T.reshape(source, (1,))


@op(composite=True)
def index_copy(input: Num, dim, index: Index, source: Num):
    """`input` with its slices at the places along `dim` that a vector of indices names replaced by those of `source`.

    Which slice stays where an index appears twice is undefined. IndexError for an index out of range (negative ones
    are).
    """
    dim, index, source = _copied(input, dim, index, source)
    if not input.ndim:
        return unlinked(T.reshape(copy_rows(T.reshape(input, (1,)), 0, index, T.reshape(source, (1,))), ()))
    return copy_rows(input, dim, index, source)


# ----------------------------------------------------------------------------------------------------------- index_fill
def _filled(self, dim, index, value):
    """Checked (dim, index, value as a tensor without dimensions) of index_fill."""
    dim = wrap_dim(dim, self.ndim)
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                "index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{value.ndim} dimension(s)."
            )
        value = T.astype(value, self.dtype)
    else:
        if isinstance(value, complex) and not self.dtype.is_complex:
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        value = T.full((), as_number(value, self.dtype), self)
    if index.ndim > 1:
        raise RuntimeError(f"Index has to be a vector/scalar, got shape {list(index.shape)} (index_fill_)")
    if index.dtype is not int64:
        raise IndexError(f"index_fill_(): Expected dtype int64 for index, got {scalar_type_name(index.dtype)}.")
    size = self.shape[dim] if self.ndim else 1
    found = None if natural(index, size) else extent(index)
    if found is not None and (found[0] < -size or found[1] >= size):
        raise out_of_bounds(dim, size)(found[0] if found[0] < -size else found[1])
    return dim, index if index.ndim else T.reshape(index, (1,)), value


@op(composite=True)
def index_fill(input: Num, dim, index: Index, value):
    """`input` with the slices along `dim` that a vector of indices names filled with a number or a 0-d tensor.

    Negative indices count from the end. IndexError for an index out of range.
    """
    dim, index, value = _filled(input, dim, index, value)
    whole = T.reshape(input, (1,)) if not input.ndim else input
    shape = (*whole.shape[:dim], index.shape[0], *whole.shape[dim + 1 :])
    filled = copy_rows(whole, dim, index, T.expand(value, shape))
    return filled if input.ndim else unlinked(T.reshape(filled, ()))


# ------------------------------------------------------------------------------------------------------------ take, put
def _flat_index(input, index, op_name):
    only_int64(index, op_name)
    size = input.numel()
    if not size and index.numel() and op_name == "take":
        raise IndexError("take(): tried to take from an empty tensor")
    found = None if natural(index, size) else extent(index)
    if found is not None and (found[0] < -size or found[1] >= size):
        bad = found[0] if found[0] < -size else found[1]
        raise IndexError(f"out of range: tried to access index {bad} on a tensor of {size} elements.")


@op(composite=True)
def take(input: Num, index: Index):
    """The elements at the row-major positions that the index names, in its shape. Negative ones count from the end."""
    only_int64(index, "take")
    if not input.backend.guards or not input.numel():
        _flat_index(input, index, "take")
    return select_rows(T.reshape(input, (-1,)), 0, index)


def _put(self, index, source):
    _flat_index(self, index, "put_")
    if source.dtype is not self.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{scalar_type_name(self.dtype)} and source.dtype = {scalar_type_name(source.dtype)}"
        )
    if index.numel() != source.numel():
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )


@op(composite=True)
def put(input: Num, index: Index, source: Num, accumulate=False):
    """`input` with the elements at row-major positions replaced by those of `source`, or with these added."""
    _put(input, index, source)
    write = add_rows if accumulate else copy_rows
    flat = write(T.reshape(input, (-1,)), 0, T.reshape(index, (-1,)), T.reshape(source, (-1,)))
    return unlinked(T.reshape(flat, tuple(input.shape)))


def put_(self, index, source, accumulate=False):
    """In-place form of `put`: only the elements named are written."""
    if isinstance(index, Tensor) and isinstance(source, Tensor) and self.is_contiguous():
        check_writable(self, "put_")
        _put(self, index, source)
        T.reshape(self, (-1,)).index_put_((index,), T.reshape(source, tuple(index.shape)), accumulate)
        return self
    return assigned(put.entry, "put_", self, (index, source, accumulate), {})


attach(
    index_add_=in_place(index_add, True, lambda self, **given: write_rows(self, *_added(self, **given), True)),
    index_copy_=in_place(index_copy, False, lambda self, **given: write_rows(self, *_copied(self, **given), False)),
    index_fill_=in_place(index_fill, False, lambda self, **given: write_rows(self, *_filled(self, **given), False)),
    put_=put_,
)
