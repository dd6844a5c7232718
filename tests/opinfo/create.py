"""Rows of `framework/ops/ranges.py`, `new.py`, `compare.py`: tensors made by formula, choices and equality."""

import numpy as np

from . import OpInfo, Sample
from .shape import zeros
from .view import _of


def made(name, samples, reference, **fields):
    """A row for a function that takes no differentiable tensor."""
    return OpInfo(
        name, samples, reference, **{"dtypes": ("float64",), "grad": False, "vmap": False, "out": False} | fields
    )


def _calls(*calls):
    return lambda draw: [Sample(args) for args in calls]


def _close(draw):
    a = draw(2, 3)
    yield Sample((a, a + a.dtype.type(1e-9)))
    yield Sample((a, draw(2, 3)))
    yield Sample(
        (
            np.asarray([1.0, np.inf, -np.inf, np.nan]).astype(a.dtype),
            np.asarray([1.0, np.inf, np.inf, np.nan]).astype(a.dtype),
        )
    )
    yield Sample((a, a * a.dtype.type(1.01), 0.1, 0.0))


def _truth(f):
    return lambda *args: np.asarray(f(*args))


def _choices(draw):
    yield Sample((draw(2, 3) > 0, draw(2, 3), draw(2, 3)))
    yield Sample((draw(3) > 0, draw(2, 3), draw(2, 1)))
    yield Sample((draw(3) > 0, draw(2, 3), 0.5))
    yield Sample((np.array(True), draw(2), draw()))


F32 = ("float32",)

ROWS = [
    made(
        "eye",
        _calls((3,), (2, 4), (0,)),
        lambda n, m=None: np.eye(n, m, dtype="f4"),
        dtypes=F32,
        errors=(((-1,), RuntimeError, "greater or equal to 0"),),
    ),
    made(
        "linspace",
        _calls((0, 1, 5), (3.0, -2.0, 4), (1, 2, 1), (0, 1, 0), (0, 1j, 3)),
        np.linspace,
        dtypes=F32,
        errors=(((0, 1, -1), RuntimeError, "non-negative"),),
    ),
    made(
        "logspace",
        _calls((0, 1, 5), (-1, 2, 4, 2.0), (1, 2, 1)),
        lambda a, b, n, base=10.0: np.logspace(a, b, n, base=base),
        dtypes=F32,
    ),
    made("range", _calls((0, 3), (1, 2, 0.25)), lambda a, b, step=1: np.arange(a, b + step / 2, step), dtypes=F32),
    made("tril_indices", _calls((3, 4), (3, 3, -1), (2, 4, 1)), lambda n, m, k=0: np.stack(np.tril_indices(n, k, m))),
    made("triu_indices", _calls((3, 4), (3, 3, -1), (2, 4, 1)), lambda n, m, k=0: np.stack(np.triu_indices(n, k, m))),
    made(
        "empty_strided",
        _calls(((2, 3), (1, 2)), ((2, 0), (1, 1))),
        lambda size, stride: np.zeros(size),
        dtypes=F32,
        errors=((((2,), (-1,)), RuntimeError, "Negative strides"),),
    ),
    made(
        "empty_permuted",
        _calls(
            ((2, 3, 4), (0, 2, 1)),
        ),
        lambda size, order: np.zeros(size),
        dtypes=F32,
    ),
    *[
        made(
            f"Tensor.new_{n}",
            _of(((2,), (3, 2)), ((), ())),
            lambda x, size, v=v: np.full(size, v, x.dtype),
            dtypes=("float64", "int64"),
        )
        for n, v in (("zeros", 0), ("ones", 1), ("empty", 0))
    ],
    made(
        "Tensor.new_full",
        _of(
            ((2,), (3, 2), 5),
        ),
        lambda x, size, v: np.full(size, v, x.dtype),
        dtypes=("float64", "int64"),
    ),
    made(
        "Tensor.new_tensor",
        lambda draw: [Sample((draw(2), (1, 2)))],
        lambda x, data: np.array(data, x.dtype),
        dtypes=("float64", "int64"),
    ),
    made(
        "Tensor.new_empty_strided",
        _of(
            ((2,), (2, 3), (1, 2)),
        ),
        lambda x, size, stride: np.zeros(size, x.dtype),
    ),
    OpInfo(
        "where",
        _choices,
        np.where,
        dtypes=("float64", "float32", "bfloat16"),
        out=False,
        errors=(((zeros(2), zeros(2), zeros(2)), RuntimeError, "boolean tensor"),),
    ),
    OpInfo(
        "isclose",
        _close,
        np.isclose,
        dtypes=("float64", "float32"),
        grad=False,
        out=False,
        errors=(
            ((zeros(2), np.zeros(2, "f4")), RuntimeError, "did not match"),
            ((zeros(2), zeros(2), -1.0), RuntimeError, "rtol must be"),
        ),
    ),
    made("allclose", _close, np.allclose),
    made("equal", lambda draw: [*list(_close(draw))[:3], Sample((draw(2), draw(3)))], np.array_equal),
    made("is_nonzero", _of(((),), ((1, 1),)), lambda x: bool(x), errors=(((zeros(2),), RuntimeError, "ambiguous"),)),
    made(
        "is_same_size",
        lambda draw: [Sample((draw(2), draw(2))), Sample((draw(2), draw(1, 2)))],
        lambda a, b: a.shape == b.shape,
    ),
    made("numel", _of(((2, 3),), ((),)), np.size),
]
