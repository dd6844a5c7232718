"""Products of vectors and matrices of given ranks, made of `matmul` and `mul`."""

from __future__ import annotations

import warnings

from framework.core.promotion import c_type_name, scalar_type_name
from framework.core.shape import wrap_dim
from framework.dispatch.errors import not_implemented_for
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dim, Num


def rank_is(x, rank, text):
    """RuntimeError with that text, which may show the number of dimensions as {}, unless x has `rank` of them."""
    if x.ndim != rank:
        raise RuntimeError(text.format(x.ndim))


# ---------------------------------------------------------------- matrices
@op(composite=True)
def mm(input: Num, mat2: Num):
    """The product of two matrices, (n, m) and (m, p). RuntimeError for other ranks, sizes that do not fit and two
    dtypes."""
    rank_is(input, 2, "self must be a matrix")
    rank_is(mat2, 2, "mat2 must be a matrix")
    return T.matmul(input, mat2)  # which says what else does not fit


def check_bmm(batch1, batch2):
    """RuntimeError unless these are stacks of equally many matrices that fit."""
    rank_is(batch1, 3, "batch1 must be a 3D tensor")
    rank_is(batch2, 3, "batch2 must be a 3D tensor")
    (b, _, m), (c, n, _) = batch1.shape, batch2.shape
    if b != c or m != n:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {m}] but got: [{c}, {n}]."
        )


@op(composite=True)
def bmm(input: Num, mat2: Num):
    """The products of two stacks of matrices, (b, n, m) and (b, m, p). RuntimeError for other ranks and sizes and for
    two dtypes."""
    check_bmm(input, mat2)
    if input.dtype is not mat2.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_name(input.dtype)} but found {scalar_type_name(mat2.dtype)} (bmm)"
        )
    return T.matmul(input, mat2)


@op(composite=True)
def mv(input: Num, vec: Num):
    """The product of a matrix (n, m) and a vector (m). RuntimeError for other ranks and sizes and for two dtypes."""
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    return T.matmul(input, vec)


@op(composite=True)
def trace(input: Num):
    """The sum of the diagonal of a matrix; of integers in int64. RuntimeError for other ranks."""
    rank_is(input, 2, "trace: expected a matrix, but got tensor with dim {}")
    if not input.dtype.category:
        not_implemented_for("trace", input.dtype)
    return T.sum(T.diagonal(input, 0, 0, 1))


# ---------------------------------------------------------------- vectors
def _vectors(name, a, b):
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors ({name})")
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {scalar_type_name(a.dtype)} and "
            f"{scalar_type_name(b.dtype)} ({name})"
        )


@op(composite=True)
def dot(input: Num, tensor: Num):
    """The sum of the products of two vectors' elements; nothing is conjugated. RuntimeError for other ranks and sizes,
    two dtypes."""
    _vectors("dot", input, tensor)
    return T.matmul(input, tensor)


@op(composite=True)
def vdot(input: Num, other: Num):
    """The inner product of two vectors, the first conjugated. RuntimeError for other ranks and sizes and for two
    dtypes."""
    _vectors("vdot", input, other)
    return T.matmul(T.conj(input) if input.is_complex() else input, other)


@op(composite=True, spaces=("linalg",))
def vecdot(x: Num, y: Num, *, dim=-1):
    """The inner product along `dim`, x conjugated; the operands broadcast. RuntimeError for integers and for two
    dtypes."""
    for t in (x, y):
        if t.dtype.category < 2:
            raise RuntimeError(
                f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {scalar_type_name(t.dtype)}"
            )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {scalar_type_name(x.dtype)} "
            "and y of "
            f"type {scalar_type_name(y.dtype)} instead"
        )
    terms = T.mul(T.conj(x) if x.is_complex() else x, y)
    return T.sum(terms, wrap_dim(dim, terms.ndim)) if terms.ndim else terms


@op(composite=True, alias=("ger",))
def outer(input: Num, vec2: Num):
    """The products of every element of one vector with every one of another, (n) and (m) to (n, m). RuntimeError for
    other ranks."""
    rank_is(input, 1, "outer: Expected 1-D argument self, but got {}-D")
    rank_is(vec2, 1, "outer: Expected 1-D argument vec2, but got {}-D")
    return T.mul(T.unsqueeze(input, (1,)), T.unsqueeze(vec2, (0,)))


@op(composite=True)
def inner(input: Num, other: Num):
    """The sum of products over the last dimensions: (..., k) and (*, k) to (..., *). A 0-d operand scales the other."""
    if not input.ndim or not other.ndim:
        return T.mul(input, other)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"both inputs should have same dtype, got {c_type_name(input.dtype)} and {c_type_name(other.dtype)} (inner)"
        )
    if other.ndim == 1:
        return T.matmul(input, other)
    columns = T.mT(T.reshape(other, (other.numel() // max(other.shape[-1], 1), other.shape[-1])))
    return T.reshape(T.matmul(input, columns), (*input.shape[:-1], *other.shape[:-1]))


@op(composite=True)
def kron(input: Num, other: Num):
    """Kronecker's product: every element of `input` times all of `other`, laid out as blocks."""
    rank = max(input.ndim, other.ndim)
    a, b = [(1,) * (rank - x.ndim) + tuple(x.shape) for x in (input, other)]
    left = T.reshape(input, tuple([n for size in a for n in (size, 1)]))
    right = T.reshape(other, tuple([n for size in b for n in (1, size)]))
    return T.reshape(T.mul(left, right), tuple([n * m for n, m in zip(a, b, strict=True)]))


# ---------------------------------------------------------------- vectors in space
def _cross(xp, a, b, dim):
    before = (slice(None),) * dim

    def turned(x, k):  # elements k, k + 1, k + 2 modulo 3
        return xp.cat([xp.slice(x, (*before, slice(k, 3))), xp.slice(x, (*before, slice(0, k)))], dim)

    return turned(a, 1) * turned(b, 2) - turned(a, 2) * turned(b, 1)


@op(
    spaces=(),
    linear="each",
    accept="iufc",
    vjp=(
        lambda xp, g, other, dim: _cross(xp, xp.conj(other), g, dim),
        lambda xp, g, input, dim: _cross(xp, g, xp.conj(input), dim),
    ),
)
def vector_product(xp, input: Num, other: Num, dim: Dim):
    """The vector product along `dim`, of size 3; the other dimensions broadcast."""
    return _cross(xp, input, other, dim)


@op(composite=True, spaces=("linalg",), method=False)
def cross(input: Num, other: Num, *, dim=-1):
    """The vector product along `dim`, of size 3; the others broadcast. RuntimeError for other sizes, different ranks,
    and two dtypes."""
    if input.dtype is not other.dtype:
        raise RuntimeError(
            f"expected scalar type {scalar_type_name(input.dtype)} but found {scalar_type_name(other.dtype)} (cross)"
        )
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"linalg.cross: inputs must have the same number of dimensions, got {input.ndim} and {other.ndim}."
        )
    sizes = [x.shape[wrap_dim(dim, x.ndim)] for x in (input, other)]
    if sizes != [3, 3]:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}")
    return vector_product(input, other, dim)


@op(composite=True)
def cross(input: Num, other: Num, dim=None):
    """`linalg.cross`, without `dim` along the first dimension of size 3. RuntimeError if there is none."""
    if dim is None:
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError(f"no dimension of size 3 in input of shape {list(input.shape)} (cross)")
        text = (
            "Using torch.cross without specifying the dim arg is deprecated. Pass the dim, or use linalg.cross, which "
            "takes the last one."
        )
        warnings.warn(text, UserWarning, stacklevel=3)
    return T.cross(input, other, dim=dim)
