"""Rows of `framework/ops/special.py`: references are SciPy's and NumPy's functions in double precision."""

import mpmath
import numpy as np
from scipy import special

from . import OpInfo, Sample, binary_row, unary_row

FLOATS = ("float64", "float32", "float16", "bfloat16")
DOUBLE = ("float64", "float32")


def _logit(draw):
    yield Sample((draw(2, 3, low=0.1, high=0.9),))
    yield Sample((draw(5, low=0.01, high=0.99), 0.15))


def _clipped_logit(x, eps=None):
    return special.logit(x if eps is None else np.clip(x, eps, 1 - eps))


def _near_half(draw):
    yield Sample((0.5 + 1e-6 * draw(2, 3, low=0.5, high=2),))


def _whole_and_small(draw):
    yield Sample((np.asarray([1.0, -2.0, 37.0, 1e-7, 0.29, -0.32, 4.5, -1e3]).astype(draw.dtype),))


def _exact_sinc(x):
    return np.array([float(mpmath.sincpi(mpmath.mpf(float(v)))) for v in x])


def _ranges(draw):
    yield Sample((draw(2, 3, low=0.3, high=5), draw(2, 3, low=0.1, high=6)))
    yield Sample((draw(3, low=0.3, high=5), draw(2, 1, low=0.1, high=6)))


def _complex_pairs(draw):
    yield Sample((draw(2, 3), draw(3)))
    yield Sample((draw(2), draw(2) + 800))


def _log_of_sum(a, b):
    m = np.maximum(a.real, b.real)
    return m + np.log(np.exp(a - m) + np.exp(b - m))


def _orders(draw):
    for n in (0, 1, 2):
        yield Sample((n, draw(2, 3, low=0.5, high=4)))


def _with_zero(draw):
    x = draw(2, 3)
    x[0, 0] = 0
    yield Sample((x,))
    yield Sample((draw(),))


def _logs(draw):
    x = draw(2, 3)
    x[0, 0] = 0
    yield Sample((x, draw(2, 3, low=0.2, high=3)))
    yield Sample((draw(3), draw(2, 1, low=0.2, high=3)))
    yield Sample((draw(2, 3), 1.5))


ROWS = [
    unary_row("erfc", special.erfc, dtypes=FLOATS),
    unary_row("erfinv", special.erfinv, -0.9, 0.9, dtypes=FLOATS, tolerance=2),
    unary_row("lgamma", special.gammaln, 0.5, 5, dtypes=FLOATS, tolerance=4),
    unary_row("digamma", special.psi, 0.5, 5, dtypes=FLOATS, tolerance=4),
    OpInfo(
        "polygamma",
        _orders,
        special.polygamma,
        dtypes=DOUBLE,
        tolerance=8,
        errors=(((-1, np.ones(2)), RuntimeError, "negative n"),),
    ),
    OpInfo(
        "mvlgamma",
        lambda draw: [Sample((draw(2, 3, low=2, high=5), p)) for p in (1, 3)],
        special.multigammaln,
        dtypes=DOUBLE,
        tolerance=8,
        inplace=True,
        errors=(((np.ones(2), 0), RuntimeError, "greater than or equal to 1"),),
    ),
    unary_row("special.entr", special.entr, 0.2, 3, dtypes=FLOATS, inplace=False),
    unary_row("i0", special.i0, dtypes=FLOATS, tolerance=2),
    unary_row("special.i0e", special.i0e, 0.2, 3, dtypes=DOUBLE, tolerance=2, inplace=False),
    unary_row("special.i1", special.i1, 0.2, 3, dtypes=DOUBLE, tolerance=4, inplace=False),
    unary_row("special.i1e", special.i1e, 0.2, 3, dtypes=DOUBLE, tolerance=4, inplace=False),
    OpInfo("logit", _logit, _clipped_logit, dtypes=FLOATS, tolerance=2, inplace=True),
    OpInfo("sinc", _with_zero, np.sinc, dtypes=("float64", "float32", "complex128"), tolerance=4, inplace=True),
    OpInfo("logit", _near_half, special.logit, dtypes=DOUBLE, tolerance=2),
    OpInfo("sinc", _whole_and_small, _exact_sinc, dtypes=DOUBLE, tolerance=0.2),
    OpInfo("igamma", _ranges, special.gammainc, dtypes=FLOATS, tolerance=4, inplace=True, grad=False),
    OpInfo("igammac", _ranges, special.gammaincc, dtypes=FLOATS, tolerance=4, inplace=True, grad=False),
    OpInfo("special.gammainc", _ranges, special.gammainc, dtypes=DOUBLE, tolerance=4, grad=False),
    OpInfo("logaddexp", _complex_pairs, _log_of_sum, dtypes=("complex128", "complex64"), tolerance=4),
    OpInfo("xlogy", _logs, special.xlogy, dtypes=DOUBLE, inplace=True, tolerance=2),
    OpInfo("special.xlog1py", _logs, special.xlog1py, dtypes=DOUBLE, tolerance=2),
    binary_row("logaddexp", np.logaddexp, number=None, dtypes=FLOATS, inplace=False),
    binary_row("logaddexp2", np.logaddexp2, number=None, dtypes=FLOATS, inplace=False, tolerance=2),
]
