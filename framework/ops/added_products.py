"""A tensor plus a product, both scaled, rounded once: `addmm` and its kin."""

from __future__ import annotations

from framework.core.number import as_number
from framework.core.promotion import c_type_name, scalar_type_name
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num
from framework.dispatch.slow import promoted
from framework.ops.linear import check_mm, check_mv, left_vjp, right_vjp
from framework.ops.products import check_bmm, rank_is

_PUBLIC = {"composite": True, "inplace": True}


# ---------------------------------------------------------------- two formulas
def _scaled(x, factor):
    return x if factor == 1 else x * factor


def _sum(input, product, beta, alpha):
    """beta input + alpha product; with beta 0 not even a nan of input counts."""
    product = _scaled(product, alpha)
    return product if beta == 0 else _scaled(input, beta) + product


def _input_vjp(g, beta):
    return _scaled(g, beta.conjugate())


@op(
    spaces=(),
    accept="iufc",
    vjp=(
        _input_vjp,
        lambda xp, g, mat2, shape, alpha: left_vjp(xp, _scaled(g, alpha.conjugate()), mat2, shape),
        lambda xp, g, mat1, shape, alpha: right_vjp(xp, _scaled(g, alpha.conjugate()), mat1, shape),
    ),
)
def add_matmul(xp, input: Num, mat1: Num, mat2: Num, beta, alpha):
    """beta input + alpha mat1 @ mat2."""
    return _sum(input, xp.matmul(mat1, mat2), beta, alpha)


@op(
    spaces=(),
    elementwise=True,
    vjp=(
        _input_vjp,
        lambda xp, g, vec2, alpha: _scaled(g, alpha.conjugate()) * xp.conj(vec2),
        lambda xp, g, vec1, alpha: _scaled(g, alpha.conjugate()) * xp.conj(vec1),
    ),
)
def add_mul(xp, input: Num, vec1: Num, vec2: Num, beta, alpha):
    """beta input + alpha vec1 vec2, elementwise; of bools with `or` for + and `and` for times."""
    return _sum(input, vec1 * vec2, beta, alpha)


def _added(formula, input, left, right, shape, beta, alpha, dtype):
    """The formula on an input that broadcasts to the product's shape, with factors in the dtype of the result."""
    if tuple(input.shape) != shape:
        T.expand.entry.canon(input, shape)  # says what does not fit
    return formula(input, left, right, as_number(beta, dtype), as_number(alpha, dtype))


# ---------------------------------------------------------------- matrices
@op(**_PUBLIC)
def addmm(input: Num, mat1: Num, mat2: Num, *, beta=1, alpha=1):
    """beta input + alpha mat1 @ mat2, matrices (n, m) and (m, p); input broadcasts to (n, p), and is not read if beta
    is 0.

    RuntimeError for other ranks and sizes and for several dtypes. Factors of integers are truncated to integers.
    """
    for x, name in ((mat1, "mat1"), (mat2, "mat2")):
        rank_is(x, 2, name + " must be a matrix, got {}-D tensor")
    m, n = mat1.shape, mat2.shape
    check_mm(m, n, "addmm")
    for x, name in ((input, "self"), (mat1, "mat1")):
        if x.dtype is not mat2.dtype:
            raise RuntimeError(
                f"{name} and mat2 must have the same dtype, but got {scalar_type_name(x.dtype)} and "
                f"{scalar_type_name(mat2.dtype)} (addmm)"
            )
    return _added(T.add_matmul, input, mat1, mat2, (m[0], n[1]), beta, alpha, input.dtype)


@op(**_PUBLIC)
def addmv(input: Num, mat: Num, vec: Num, *, beta=1, alpha=1):
    """beta input + alpha mat @ vec, a matrix (n, m) and a vector (m); input broadcasts to (n), and is not read if beta
    is 0."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    if not input.dtype is mat.dtype is vec.dtype:
        raise RuntimeError(
            "addmv input tensors must have the same dtype, but got "
            f"{', '.join([scalar_type_name(x.dtype) for x in (input, mat)])}, and {scalar_type_name(vec.dtype)}"
        )
    check_mv(*mat.shape, *vec.shape, input.numel())
    if input.numel() not in (1, mat.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input.numel()}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    return _added(T.add_matmul, input, mat, vec, (mat.shape[0],), beta, alpha, input.dtype)


@op(**_PUBLIC)
def addr(input: Num, vec1: Num, vec2: Num, *, beta=1, alpha=1):
    """beta input + alpha vec1 vec2^T, vectors (n) and (m); input broadcasts to (n, m), and is not read if beta is 0.
    Dtypes promote."""
    for x, name in ((vec1, "vec1"), (vec2, "vec2")):
        rank_is(x, 1, "addr: Expected 1-D argument " + name + ", but got {}-D")
    dtype = promoted([input, vec1, vec2])
    if dtype.category == 1:
        for factor, name in ((beta, "beta"), (alpha, "alpha")):
            if isinstance(factor, float):
                raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    shape = (*vec1.shape, *vec2.shape)
    return _added(T.add_mul, input, T.unsqueeze(vec1, (1,)), T.unsqueeze(vec2, (0,)), shape, beta, alpha, dtype)


# ---------------------------------------------------------------- stacks of matrices
def _same_dtypes(input, batch1, batch2):
    if not input.dtype is batch1.dtype is batch2.dtype:
        names = [c_type_name(x.dtype) for x in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )


@op(**_PUBLIC)
def baddbmm(input: Num, batch1: Num, batch2: Num, *, beta=1, alpha=1):
    """beta input + alpha batch1 @ batch2, stacks (b, n, m) and (b, m, p); input broadcasts to (b, n, p), and is not
    read if beta is 0."""
    check_bmm(batch1, batch2)
    shape = (*batch1.shape[:2], batch2.shape[2])
    _same_dtypes(input, batch1, batch2)
    return _added(T.add_matmul, input, batch1, batch2, shape, beta, alpha, input.dtype)


@op(**_PUBLIC)
def addbmm(input: Num, batch1: Num, batch2: Num, *, beta=1, alpha=1):
    """beta input + alpha times the sum of the products of two stacks, (b, n, m) and (b, m, p); input broadcasts to
    (n, p), and is not read if beta is 0. The sum is one product, of the matrices side by side."""
    rank_is(batch1, 3, "batch1 must be a 3D tensor")
    rank_is(batch2, 3, "batch2 must be a 3D tensor")
    b, n, m = batch1.shape
    if batch2.shape[0] != b:
        raise RuntimeError(f"batch1 and batch2 must have same number of batches, got {b} and {batch2.shape[0]}")
    if batch2.shape[1] != m:
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({n}x{m} and {batch2.shape[1]}x{batch2.shape[2]})")
    p = batch2.shape[2]
    _same_dtypes(input, batch1, batch2)
    left = T.reshape(T.permute(batch1, (1, 0, 2)), (n, b * m))
    right = T.reshape(batch2, (b * m, p))
    return _added(T.add_matmul, input, left, right, (n, p), beta, alpha, input.dtype)
