"""Rows of `framework/ops/reduce.py`, `softmax.py`."""

import numpy as np
from scipy import special

from . import OpInfo, Sample

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128")
REAL = FLOATS[:-1]


def _dims(*more):
    def samples(draw):
        yield Sample((draw(2, 3),))
        yield Sample((draw(2, 3), 1))
        yield Sample((draw(2, 3, 2), (0, -1), True))
        yield Sample((draw(),))
        yield Sample((draw(2, 3), -2), {"keepdim": True})
        for s in more:
            yield s(draw)

    return samples


def _distinct(draw):
    yield Sample((draw.apart(2, 3),))
    yield Sample((draw.apart(2, 3, 2), (0, 2), True))
    yield Sample((draw.apart(4), 0))


def _axis(f):
    def reference(x, dim=None, keepdim=False):
        return f(x, axis=tuple(dim) if isinstance(dim, (tuple, list)) else dim, keepdims=keepdim)

    return reference


def _one_dim(draw):
    yield Sample((draw(2, 3), 1))
    yield Sample((draw(2, 3, 2), 0))
    yield Sample((draw(3), -1))
    yield Sample((draw(2, 4, low=-300, high=300), -1))


EMPTY = (lambda draw: Sample((draw(0, 3), 0)),)
BAD_DIM = ((np.zeros((2, 3)), 5), IndexError, "Dimension out of range")
TWICE = ((np.zeros((2, 3)), (0, 0)), RuntimeError, "multiple times")

ROWS = [
    OpInfo("sum", _dims(*EMPTY), _axis(np.sum), dtypes=(*FLOATS, "int64"), errors=(BAD_DIM, TWICE)),
    OpInfo(
        "mean",
        _dims(),
        _axis(np.mean),
        dtypes=FLOATS,
        errors=(BAD_DIM, ((np.arange(3),), RuntimeError, "could not infer output dtype")),
    ),
    OpInfo(
        "amax",
        _distinct,
        _axis(np.max),
        dtypes=(*REAL, "int64"),
        errors=(((np.zeros((0, 3)), 0), IndexError, "non-zero size"),),
    ),
    OpInfo("amin", _distinct, _axis(np.min), dtypes=(*REAL, "int64")),
    OpInfo("any", _dims(*EMPTY), _axis(np.any), dtypes=("float64", "int64", "bool"), grad=False),
    OpInfo("all", _dims(*EMPTY), _axis(np.all), dtypes=("float64", "int64", "bool"), grad=False),
    OpInfo("softmax", _one_dim, lambda x, dim: special.softmax(x.astype("float64"), dim), dtypes=REAL),
    OpInfo(
        "log_softmax", _one_dim, lambda x, dim: special.log_softmax(x.astype("float64"), dim), dtypes=REAL, tolerance=4
    ),
]
