"""Rows of `framework/ops/products.py`, `added_products.py` and `contraction.py`."""

import numpy as np

from . import OpInfo, Sample

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128", "int64")
INEXACT = FLOATS[:-1]


def _of(*shapes, **kwargs):
    """Samples with operands of the shapes."""
    return lambda draw: [Sample(tuple([draw(*s) for s in each]), dict(kwargs)) for each in shapes]


def _scaled(*shapes):
    """The same with factors: none, both, and an input that does not count."""

    def samples(draw):
        whole = draw.dtype == "int64"
        for each in shapes:
            for factors in ({}, {"beta": 2, "alpha": 3} if whole else {"beta": 0.5, "alpha": -1.5}, {"beta": 0}):
                yield Sample(tuple([draw(*s) for s in each]), factors)

    return samples


def _added(product):
    return lambda x, a, b, beta=1, alpha=1: (beta * x if beta else 0) + alpha * product(a, b)


def _row(name, shapes, reference, *errors, **fields):
    return OpInfo(
        name,
        _of(*shapes),
        reference,
        **{"dtypes": FLOATS, "errors": tuple([(args, RuntimeError, text) for args, text in errors])} | fields,
    )


def _added_row(name, shapes, product, *errors):
    """inplace: only samples whose input has the result's shape say anything."""
    return OpInfo(
        name,
        _scaled(*shapes),
        _added(product),
        dtypes=FLOATS,
        inplace=True,
        errors=tuple([(args, RuntimeError, text) for args, text in errors]),
    )


def _cross(a, b, dim=-1):
    a, b = np.broadcast_arrays(np.moveaxis(a, dim, -1), np.moveaxis(b, dim, -1))
    x, y = a.swapaxes(0, -1) if a.ndim > 1 else a, b.swapaxes(0, -1) if b.ndim > 1 else b
    c = np.stack([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]])
    return np.moveaxis(c.swapaxes(0, -1) if a.ndim > 1 else c, -1, dim)


def _crosses(draw):
    yield Sample((draw(2, 3), draw(2, 3)), {"dim": 1})
    yield Sample((draw(3, 2), draw(3, 1)), {"dim": 0})
    yield Sample((draw(2, 3, 4), draw(1, 3, 4)), {"dim": -2})
    yield Sample((draw(3), draw(3)), {"dim": -1})


def _chains(draw):
    yield Sample(([draw(2, 3), draw(3, 4)],))
    yield Sample(([draw(5, 2), draw(2, 6), draw(6, 1), draw(1, 3)],))
    yield Sample(([draw(3), draw(3, 2), draw(2)],))
    yield Sample(([draw(3), draw(3, 2)],))


def _matrices(draw):
    yield Sample((draw(2, 3), draw(3, 4)))
    yield Sample((draw(5, 2), draw(2, 6), draw(6, 1)))


def _powers(draw):
    for n in (1, 2, 5):
        yield Sample((draw(2, 2), n))
    yield Sample((draw(2, 3, 3), 3))


def _no_power(draw):
    yield Sample((draw(2, 2), 0))
    yield Sample((draw(2, 3, 3), 0))


def _contractions(draw):
    yield Sample((draw(2, 3), draw(3, 4)), {"dims": 1})
    yield Sample((draw(2, 3), draw(4, 2)), {"dims": 0})
    yield Sample((draw(2, 3, 4), draw(4, 3, 5)), {"dims": ([1, 2], [1, 0])})
    yield Sample((draw(2, 3, 4), draw(3, 4)))
    yield Sample((draw(0, 3), draw(3, 2)), {"dims": ([-1], [0])})


def _repeated(draw):
    yield Sample((draw(2, 1), draw(3, 2)), {"dims": ([1], [0])})
    yield Sample((draw(2, 3), draw(1, 2)), {"dims": ([1], [0])})


def _repeating(a, b, dims):
    n = max(a.shape[1], b.shape[0])
    return np.broadcast_to(a, (a.shape[0], n)) @ np.broadcast_to(b, (n, b.shape[1]))


def _last(a, b):
    return np.sum(np.conj(a) * b, -1)


def zeros(*shape):
    return np.zeros(shape)


Z, M = zeros, np.matmul

ROWS = [
    _row(
        "mm",
        [((2, 3), (3, 4)), ((0, 3), (3, 2)), ((2, 0), (0, 3))],
        M,
        ((Z(2, 3), Z(3)), "mat2 must be a matrix"),
        ((Z(3), Z(3, 2)), "self must be"),
        ((Z(2, 3), Z(2, 3)), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        ((Z(2, 3), Z(3, 2).astype("float32")), "same dtype"),
    ),
    _row(
        "bmm",
        [((2, 2, 3), (2, 3, 4)), ((1, 2, 3), (1, 3, 1)), ((0, 2, 3), (0, 3, 2))],
        M,
        ((Z(2, 2), Z(2, 2, 2)), "batch1 must be a 3D"),
        ((Z(2, 2, 3), Z(3, 3, 2)), r"batch2 tensor to be: \[2, 3\] but got: \[3, 3\]"),
        ((Z(1, 2, 2), Z(1, 2, 2).astype("float32")), "expected scalar type"),
    ),
    _row(
        "mv",
        [((2, 3), (3,)), ((0, 3), (3,))],
        M,
        ((Z(2, 3), Z(3, 1)), "vector expected, got 1, 2, 2"),
        ((Z(2, 3), Z(2)), r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
    ),
    _row(
        "dot",
        [((3,), (3,)), ((0,), (0,))],
        np.dot,
        ((Z(2, 3), Z(3)), "1D tensors expected, but got 2D and 1D"),
        ((Z(2), Z(3)), "inconsistent tensor size"),
        ((Z(2), Z(2).astype("float32")), "both vectors to have same dtype"),
    ),
    _row("vdot", [((3,), (3,))], np.vdot, ((Z(2), Z(3)), "inconsistent tensor size")),
    _row(
        "linalg.vecdot",
        [((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1, 3), (4, 3))],
        _last,
        ((Z(2), Z(2).astype("float32")), "to have the same dtype"),
        dtypes=INEXACT,
    ),
    _row(
        "inner",
        [((3,), (3,)), ((2, 3), (4, 3)), ((2, 3), (3,)), ((2, 2, 3), (4, 2, 3)), ((), (2, 3)), ((0, 3), (2, 3))],
        np.inner,
        ((Z(2, 3), Z(4)), r"shapes \[2, 3\] and \[4\]"),
    ),
    _row(
        "outer",
        [((3,), (2,)), ((0,), (2,))],
        np.outer,
        ((Z(2, 3), Z(3)), "argument self, but got 2-D"),
        ((Z(3), Z(2, 3)), "argument vec2, but got 2-D"),
    ),
    _row("ger", [((3,), (2,))], np.outer),
    _row("kron", [((2, 3), (3, 2)), ((2,), (3, 2)), ((), (2,)), ((2, 1, 2), (3,)), ((0, 2), (2, 2))], np.kron),
    _row(
        "trace", [((3, 3),), ((2, 3),), ((0, 3),)], np.trace, ((Z(3),), "expected a matrix, but got tensor with dim 1")
    ),
    OpInfo(
        "cross",
        _crosses,
        _cross,
        dtypes=FLOATS,
        errors=(
            ((Z(2, 4), Z(2, 4), 1), RuntimeError, "must have length 3. Got 4 and 4"),
            ((Z(2, 3), Z(3), 1), RuntimeError, "same number of dimensions"),
            ((Z(2, 4), Z(2, 4)), RuntimeError, "no dimension of size 3"),
        ),
    ),
    OpInfo("linalg.cross", lambda draw: [Sample((draw(2, 3), draw(1, 3)))], _cross, dtypes=FLOATS),
    _added_row(
        "addmm",
        [((2, 4), (2, 3), (3, 4)), ((4,), (2, 3), (3, 4)), ((), (2, 3), (3, 4)), ((2, 2), (2, 0), (0, 2))],
        M,
        ((Z(2, 2), Z(2, 3), Z(2, 3)), r"cannot be multiplied \(2x3 and 2x3\)"),
        ((Z(3, 2), Z(2, 3), Z(3, 2)), r"expanded size of the tensor \(2\)"),
        ((Z(2, 2), Z(3), Z(3, 2)), "mat1 must be a matrix, got 1-D"),
        ((Z(2, 2).astype("float32"), Z(2, 3), Z(3, 2)), "self and mat2 must have"),
    ),
    _added_row(
        "addmv",
        [((2,), (2, 3), (3,)), ((), (2, 3), (3,))],
        M,
        ((Z(2), Z(2, 3), Z(2)), "size mismatch"),
        ((Z(3), Z(2, 3), Z(3)), "size mismatch"),
        ((Z(2, 2), Z(2, 3), Z(3)), "vector expected, got 2, 2, 1"),
    ),
    _added_row(
        "addr",
        [((2, 3), (2,), (3,)), ((3,), (2,), (3,)), ((), (2,), (3,))],
        np.outer,
        ((Z(2, 3), Z(2, 1), Z(3)), "argument vec1, but got 2-D"),
        ((Z(2, 3), Z(2), Z(2)), "expanded size"),
    ),
    _added_row(
        "baddbmm",
        [((2, 2, 4), (2, 2, 3), (2, 3, 4)), ((4,), (2, 2, 3), (2, 3, 4))],
        M,
        ((Z(2, 2), Z(4, 2, 3), Z(3, 3, 2)), "first two dimensions"),
        ((Z(3, 2, 2), Z(4, 2, 3), Z(4, 3, 2)), "expanded size"),
        ((Z(2, 2).astype("float32"), Z(4, 2, 3), Z(4, 3, 2)), "dtypes must be the same"),
    ),
    _added_row(
        "addbmm",
        [((2, 4), (2, 2, 3), (2, 3, 4)), ((), (3, 2, 1), (3, 1, 2))],
        lambda a, b: (a @ b).sum(0),
        ((Z(2, 2), Z(4, 2, 3), Z(3, 3, 2)), "same number of batches, got 4 and 3"),
        ((Z(2, 2), Z(2, 3), Z(4, 3, 2)), "batch1 must be a 3D"),
    ),
    OpInfo(
        "tensordot",
        _contractions,
        lambda a, b, dims=2: np.tensordot(a, b, dims),
        dtypes=FLOATS,
        errors=(
            ((Z(2, 3), Z(3, 2), -1), RuntimeError, "expects dims >= 0"),
            ((Z(2, 3), Z(4, 2), 1), RuntimeError, "first has size 3 in dim -1"),
            ((Z(2, 3), Z(3, 2), ([0], [0, 1])), RuntimeError, "same length"),
            ((Z(2, 3), Z(3, 2), ([1, 1], [0, 0])), RuntimeError, "multiple times"),
        ),
    ),
    OpInfo("tensordot", _repeated, _repeating, dtypes=FLOATS),
    OpInfo(
        "linalg.multi_dot",
        _chains,
        np.linalg.multi_dot,
        dtypes=FLOATS,
        errors=(
            (([Z(2, 3)],), RuntimeError, "at least 2 tensors but got 1"),
            (([Z(2, 3), Z(2, 2)],), RuntimeError, "tensors 0 and 1 with shapes"),
            (([Z(2, 3), Z(3, 2, 2), Z(2)],), RuntimeError, "tensor 1 must be 2D but got 3D"),
            (([Z(2, 2, 2), Z(2)],), RuntimeError, "the first tensor must be"),
        ),
    ),
    OpInfo("chain_matmul", _matrices, lambda *m: np.linalg.multi_dot(m), dtypes=FLOATS),
    OpInfo(
        "matrix_power",
        _powers,
        np.linalg.matrix_power,
        dtypes=INEXACT,
        tolerance=10,
        errors=(
            ((Z(2, 3), 2), RuntimeError, "3 by 2"),
            ((Z(3), 2), RuntimeError, "at least 2 dimensions"),
            ((Z(2, 2), 1.5), TypeError, "must be int, not float"),
        ),
    ),
    OpInfo("matrix_power", _no_power, np.linalg.matrix_power, dtypes=FLOATS, grad=False),
]
