"""The matrix product, from which the other products are made."""

from __future__ import annotations

from math import prod

from framework.core.promotion import c_type_name
from framework.core.shape import broadcast_shapes
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num


# ---------------------------------------------------------------- errors
def same_dtype(name, input, other):
    """Matrix products do not promote: RuntimeError for two dtypes."""
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {c_type_name(input.dtype)} != "
                           f"{c_type_name(other.dtype)} ({name}; cast one of them, or use autocast)")  # fmt: skip


def check_dot(a, b):
    """RuntimeError if vectors of sizes a and b have no inner product."""
    if a != b:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, but "
            f"got {a} and {b} elements respectively"
        )


def check_mv(rows, columns, size, input=None):
    """RuntimeError if a matrix cannot be applied to a vector of that size."""
    if columns != size:
        raise RuntimeError(
            f"size mismatch, got input ({rows if input is None else input}), mat ({rows}x{columns}), vec ({size})"
        )


def check_mm(m, n, name="matmul"):
    """RuntimeError if matrices of sizes m and n cannot be multiplied."""
    if m[1] != n[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m[0]}x{m[1]} and {n[0]}x{n[1]}) ({name})")


def _fits(input, other):
    a, b = tuple(input.shape), tuple(other.shape)
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    same_dtype("matmul", input, other)
    if len(a) == len(b) == 1:
        check_dot(*a, *b)
    elif len(b) == 1:
        check_mv(prod(a[:-1]), a[-1], *b)
    else:
        check_mm(
            (1, *a)[-2:] if len(a) == 1 else (prod(a[:-1]) if len(b) == 2 else a[-2], a[-1]),
            b[-2:],
            f"matmul of {list(a)} and {list(b)}",
        )
        broadcast_shapes([a[:-2], b[:-2]], "batches of matmul")


# ---------------------------------------------------------------- derivatives
def _whole(xp, g, left_is_row, right_is_column):
    """The gradient of a product with the dimensions of size 1 that a vector operand left out."""
    if right_is_column:
        g = xp.unsqueeze(g, (g.ndim,))
    return xp.unsqueeze(g, (g.ndim - 1,)) if left_is_row else g


def left_vjp(xp, g, other, shape):
    """Of the left operand, of shape `shape`: g other^H. A vector is a row on the left, a column on the right."""
    row = len(shape) == 1
    g = _whole(xp, g, row, other.ndim == 1)
    if other.ndim == 1:
        other = xp.unsqueeze(other, (1,))
    grad = xp.matmul(g, xp.conj(xp.mT(other)))
    return xp.squeeze(grad, (grad.ndim - 2,)) if row else grad


def right_vjp(xp, g, input, shape):
    """Of the right operand, of shape `shape`: input^H g. A stack of matrices times one matrix is one large product."""
    column = len(shape) == 1
    g = _whole(xp, g, input.ndim == 1, column)
    if input.ndim == 1:
        input = xp.unsqueeze(input, (0,))
    elif input.ndim > 2 and len(shape) <= 2:
        rows = prod(input.shape[:-1])
        input, g = xp.reshape(input, (rows, input.shape[-1])), xp.reshape(g, (rows, g.shape[-1]))
    grad = xp.matmul(xp.conj(xp.mT(input)), g)
    return xp.squeeze(grad, (grad.ndim - 1,)) if column else grad


# ---------------------------------------------------------------- batches
def _batch(fn, size, flags, args):
    """Vectors become matrices, and stacks of lower rank get ones after the batch axis."""
    ranks = [a.ndim - bool(f) for a, f in zip(args, flags, strict=True)]
    row, column = [rank == 1 for rank in ranks]
    left, right = args
    if row:
        left = T.unsqueeze(left, (left.ndim - 1,))
    if column:
        right = T.unsqueeze(right, (right.ndim,))
    rank = max(*ranks, 2)
    wide = [
        T.reshape(a, (size, *[1] * (rank - a.ndim + 1), *a.shape[1:])) if f else a
        for a, f in zip((left, right), flags, strict=True)
    ]
    out = fn(*wide)
    if column:
        out = T.squeeze(out, (out.ndim - 1,))
    return T.squeeze(out, (out.ndim - (1 if column else 2),)) if row else out


@op(
    opaque=True,
    linear="each",
    batch=_batch,
    spaces=("", "linalg"),
    accept="iufc",
    check=_fits,
    vjp=(left_vjp, right_vjp),
)
def matmul(xp, input: Num, other: Num):
    """The matrix product by NumPy's rules: vectors, matrices, stacks of matrices that broadcast.

    Operands have one dtype. RuntimeError for sizes that do not fit, two dtypes, and 0-d tensors.
    """
    return xp.matmul(input, other)
