"""Rows of `framework/ops/view.py`, `join.py`, `cast.py`, `linear.py`."""

import numpy as np

from . import OpInfo, Sample

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128", "int64")


def _of(*calls):
    """Samples of one shape each with the arguments after the tensor."""

    def samples(draw):
        for shape, *rest in calls:
            yield Sample((draw(*shape), *rest))

    return samples


def _slice_put(g, key, size):
    out = np.zeros(size, g.dtype)
    out[key] = g
    return out


def _view(name, samples, reference, **fields):
    return OpInfo(name, samples, reference, **{"dtypes": FLOATS, "out": False} | fields)


def _lists(draw):
    yield Sample(([draw(2, 3), draw(1, 3)], 0))
    yield Sample(([draw(2, 3), draw(2, 2), draw(2, 0)], -1))


def _stacks(draw):
    yield Sample(([draw(2, 3), draw(2, 3)], 0))
    yield Sample(([draw(2), draw(2)], -1))
    yield Sample(([draw(), draw()],))


def _matmul(draw):
    for a, b in (
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 1, 2, 3), (3, 3, 2)),
        ((2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)),
    ):
        yield Sample((draw(*a), draw(*b)))


ROWS = [
    _view(
        "reshape",
        _of(((2, 3), (3, 2)), ((2, 3), (-1,)), ((4,), (2, 1, 2)), ((), (1, 1)), ((0, 3), (3, 0))),
        np.reshape,
        errors=(
            ((np.zeros((2, 3)), (4,)), RuntimeError, "invalid for input of size 6"),
            ((np.zeros(4), (-1, -1)), RuntimeError, "only one dimension"),
        ),
    ),
    _view(
        "Tensor.expand",
        _of(((1, 3), (2, 3)), ((3,), (2, 2, 3)), ((2, 1), (-1, 4))),
        lambda x, s: np.broadcast_to(x, (2, 4) if s == (-1, 4) else s),
        errors=(((np.zeros((2, 3)), (2, 4)), RuntimeError, "must match the existing size"),),
    ),
    _view(
        "permute",
        _of(((2, 3, 4), (2, 0, 1)), ((2, 3), (-1, 0)), ((), ())),
        np.transpose,
        errors=(
            ((np.zeros((2, 3)), (0, 0)), RuntimeError, "duplicate dims"),
            ((np.zeros((2, 3)), (0,)), RuntimeError, "does not match"),
        ),
    ),
    _view("_mT", _of(((2, 3),), ((2, 3, 4),)), lambda x: np.swapaxes(x, -1, -2)),
    _view("_unsqueeze", _of(((2, 3), (1,)), ((2,), (0, 2)), ((), (0,))), np.expand_dims),
    _view("_squeeze", _of(((2, 1), (1,)), ((1, 2, 1), (0, 2))), np.squeeze),
    _view(
        "_slice",
        _of(
            ((3, 4), (slice(1, None),)),
            ((3, 4), (1, slice(None, None, 2))),
            ((3,), (None, slice(0, 2))),
            ((2, 3), (..., 1)),
        ),
        lambda x, key: x[key],
    ),
    _view(
        "_slice_put", _of(((2, 4), (slice(1, None),), (3, 4)), ((2,), (1, slice(None, None, 2)), (3, 4))), _slice_put
    ),
    OpInfo(
        "cat",
        _lists,
        np.concatenate,
        dtypes=FLOATS,
        errors=((([np.zeros((2, 3)), np.zeros((2, 2))], 0), RuntimeError, "Sizes of tensors must match"),),
    ),
    OpInfo(
        "_join",
        lambda draw: [Sample(([draw(2, 3), draw(1, 3)], 0, (2, 1)))],
        lambda x, dim, sizes: np.concatenate(x, dim),
        dtypes=FLOATS,
        out=False,
    ),
    OpInfo(
        "stack", _stacks, np.stack, dtypes=FLOATS, errors=((([np.zeros(2), np.zeros(3)],), RuntimeError, "equal size"),)
    ),
    OpInfo("clone", _of(((2, 3),), ((),)), np.array, dtypes=FLOATS),
    OpInfo("_conj", _of(((2, 3),), ((),)), np.conj, dtypes=FLOATS, out=False),
    OpInfo("_real", _of(((2, 3),), ((),)), np.real, dtypes=("complex128", "float64"), out=False),
    OpInfo("real", _of(((2, 3),), ((),)), np.real, dtypes=("complex128", "float64"), out=False),
    OpInfo(
        "matmul",
        _matmul,
        np.matmul,
        dtypes=FLOATS,
        errors=(
            ((np.zeros((2, 3)), np.zeros((2, 3))), RuntimeError, "cannot be multiplied"),
            ((np.zeros((2, 3)), np.zeros(())), RuntimeError, "at least 1D"),
        ),
    ),
]
