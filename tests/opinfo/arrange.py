"""Rows of `framework/ops/arrange.py` and `complex.py`."""

import itertools

import numpy as np

from . import OpInfo, Sample
from .shape import view, zeros
from .view import _of


def _combinations(x, r=2, with_replacement=False):
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    return np.array(list(choose(x, r)), x.dtype).reshape(-1, r)


def _tile(x, *dims):
    return np.tile(x, dims[0] if isinstance(dims[0], tuple) else dims)


def _interleaved(draw):
    yield Sample((draw(2, 3), 2))
    yield Sample((draw(2, 3), 2, 1))
    yield Sample((draw(2, 3), np.array([0, 2, 1]), -1))
    yield Sample((draw(2, 2), np.array([3]), 0))


def _pairs(draw):
    yield Sample((draw(2, 3), draw(2, 3)))
    yield Sample((draw(3), draw(2, 1)))
    yield Sample((draw(), draw()))


COMPLEX = ("complex128", "complex64")
REALS = ("float64", "float32")


def parts(name, reference, dtypes=COMPLEX, **fields):
    return OpInfo(name, _of(((2, 3),), ((),), ((0, 2),)), reference, **{"dtypes": dtypes, "out": False} | fields)


def _as_pairs(z):
    return np.stack([z.real, z.imag], -1)


def _from_pairs(x):
    return x[..., 0] + 1j * x[..., 1]


ROWS = [
    view(
        "flip",
        _of(((2, 3), (0,)), ((2, 3), (-1, 0)), ((2, 3), ())),
        np.flip,
        out=True,
        errors=(((zeros(2, 2), (0, 0)), RuntimeError, "multiple times"),),
    ),
    view(
        "fliplr",
        _of(
            ((2, 3),),
        ),
        np.fliplr,
    ),
    view("flipud", _of(((2, 3),), ((3,),)), np.flipud),
    view(
        "roll",
        _of(((2, 3), 1), ((2, 3), (1, -1), (0, 1)), ((5,), 7, 0), ((0, 2), 1, 0)),
        np.roll,
        errors=(((zeros(2, 2), (1, 2), (0,)), RuntimeError, "must align"),),
    ),
    view(
        "rot90",
        _of(((2, 3),), ((2, 3, 2), 2, (0, 2)), ((2, 3), -1, (1, 0)), ((2, 3), 4)),
        np.rot90,
        errors=(((zeros(2, 2), 1, (0, 0)), RuntimeError, "to be different"),),
    ),
    view(
        "Tensor.repeat",
        _of(((2, 3), (2, 2)), ((3,), (2, 1, 2)), ((2,), (0,))),
        np.tile,
        errors=(((zeros(2, 2), (2,)), RuntimeError, "can not be smaller"),),
    ),
    view("tile", _of(((2, 3), (2,)), ((3,), (2, 2))), np.tile),
    view(
        "repeat_interleave",
        _interleaved,
        np.repeat,
        errors=(((zeros(3), np.array([1, 2]), 0), RuntimeError, "must have the same size"),),
    ),
    view("combinations", _of(((4,),), ((3,), 2, True), ((4,), 3), ((2,), 3)), _combinations),
    # complex numbers
    parts("view_as_real", _as_pairs),
    parts("_as_pairs", _as_pairs),
    OpInfo("_from_pairs", _of(((3, 2),), ((2,),), ((2, 3, 2),)), _from_pairs, dtypes=REALS, out=False),
    OpInfo(
        "view_as_complex",
        lambda draw: [Sample((draw(3, 2),))],
        _from_pairs,
        dtypes=REALS,
        out=False,
        vmap=False,
        strided=False,
        errors=(((zeros(3),), RuntimeError, "size 2"),),
    ),
    parts("imag", np.imag, errors=(((zeros(2),), RuntimeError, "not implemented for tensors with non-complex"),)),
    parts("_imag_part", np.imag),
    parts("angle", np.angle, ("complex128", "float64", "float32"), out=True),
    OpInfo(
        "complex",
        _pairs,
        lambda a, b: a + 1j * b,
        dtypes=REALS,
        errors=(((zeros(2), np.zeros(2, "float32")), RuntimeError, "Expected object of scalar"),),
    ),
    OpInfo("polar", _pairs, lambda r, a: r * np.exp(1j * a), dtypes=REALS, tolerance=4),
    parts("conj", np.conj, (*COMPLEX, "float64")),
    parts("conj_physical", np.conj, (*COMPLEX, "float64"), inplace=True),
    parts("resolve_conj", np.array, (*COMPLEX, "float64")),
    parts("resolve_neg", np.array, (*COMPLEX, "float64")),
    parts("isreal", np.isreal, (*COMPLEX, "float64", "int64"), grad=False),
]
