"""Tensors of various ranks put together: at least so many dimensions, stacks along a given one, blocks on a
diagonal.
"""

from __future__ import annotations

from framework.core.promotion import result_type
from framework.core.tensor import Tensor
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.registry import T, op
from framework.ops.shape import flat_tensors


# ---------------------------------------------------------------- at least so many dimensions
def one_dimension(t):
    """A 0-d tensor as a vector."""
    return t if t.ndim else T.reshape(t, (1,))


def two_dimensions(t):
    """Vectors as rows."""
    return t if t.ndim > 1 else T.unsqueeze(one_dimension(t), (0,))


def three_dimensions(t):
    """Matrices with a last dimension of size 1."""
    return t if t.ndim > 2 else T.unsqueeze(two_dimensions(t), (2,))


def _each(name, f, tensors):
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return f(tensors[0])
    return tuple([f(t) for t in flat_tensors(name, tensors)])


@op(composite=True, method=False)
def atleast_1d(*tensors):
    """Each tensor with one dimension at least; one for one, a tuple for several."""
    return _each("atleast_1d", one_dimension, tensors)


@op(composite=True, method=False)
def atleast_2d(*tensors):
    """Each tensor with two dimensions at least, vectors as rows; one for one, a tuple for several."""
    return _each("atleast_2d", two_dimensions, tensors)


@op(composite=True, method=False)
def atleast_3d(*tensors):
    """Each tensor with three dimensions at least, matrices with a last one of size 1; one for one, a tuple for
    several.
    """
    return _each("atleast_3d", three_dimensions, tensors)


# ---------------------------------------------------------------- stacks
def _list(name, tensors):
    if isinstance(tensors, Tensor) or not isinstance(tensors, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    if not tensors:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            not_a_tensor(name, "tensors", i, t)
    return tensors


@op(composite=True, method=False)
def hstack(tensors):
    """Tensors one after the other along dimension 1; vectors and numbers along dimension 0."""
    parts = [one_dimension(t) for t in _list("hstack", tensors)]
    return T.cat(parts, 0 if parts[0].ndim == 1 else 1)


@op(composite=True, method=False, alias=("row_stack",))
def vstack(tensors):
    """Tensors one after the other along dimension 0, vectors as rows."""
    return T.cat([two_dimensions(t) for t in _list("vstack", tensors)], 0)


@op(composite=True, method=False)
def dstack(tensors):
    """Tensors one after the other along dimension 2, matrices with a last dimension of size 1."""
    return T.cat([three_dimensions(t) for t in _list("dstack", tensors)], 2)


@op(composite=True, method=False)
def column_stack(tensors):
    """Tensors one after the other along dimension 1, vectors as columns."""
    return T.cat([t if t.ndim > 1 else T.reshape(t, (t.numel(), 1)) for t in _list("column_stack", tensors)], 1)


@op(composite=True, method=False)
def block_diag(*tensors):
    """The matrix with these matrices (vectors as rows) as blocks on its diagonal and zeros elsewhere."""
    tensors = flat_tensors("block_diag", tensors)
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim} dimensions"
            )
    if not tensors:
        raise RuntimeError("torch.block_diag: expected at least one tensor")
    dtype = result_type([(t.dtype, 0) for t in tensors])
    blocks = [T.astype(two_dimensions(t), dtype) for t in tensors]
    width = sum([b.shape[1] for b in blocks])
    rows, start = [], 0
    for b in blocks:
        n, m = b.shape
        rows.append(T.slice_put(b, (slice(None), slice(start, start + m)), (n, width)))
        start += m
    return T.cat(rows, 0)
