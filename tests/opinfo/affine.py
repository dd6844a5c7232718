"""Rows of `framework/ops/affine.py`."""

import numpy as np

from . import OpInfo, Sample


def _linear_samples(draw):
    yield Sample((draw(4, 3), draw(2, 3), draw(2)))
    yield Sample((draw(4, 3), draw(2, 3)))
    yield Sample((draw(3), draw(2, 3), draw(2)))
    yield Sample((draw(2, 4, 3), draw(5, 3), draw(5)))
    yield Sample((draw(2, 4, 3), draw(5, 3)))
    yield Sample((draw(0, 3), draw(2, 3), draw(2)))


def _linear(x, w, b=0.0):
    return np.einsum("...i,oi->...o", x, w) + b


def _bilinear_samples(draw):
    yield Sample((draw(4, 3), draw(4, 2), draw(5, 3, 2), draw(5)))
    yield Sample((draw(2, 4, 3), draw(2, 4, 2), draw(5, 3, 2)))


ROWS = [
    OpInfo(
        "nn.functional.linear",
        _linear_samples,
        _linear,
        dtypes=("float64", "float32", "bfloat16", "complex128"),
        out=False,
        errors=(
            (
                (np.ones((2, 3)), np.ones((4, 5))),
                RuntimeError,
                r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 5x4\)",
            ),
        ),
    ),
    OpInfo(
        "nn.functional.bilinear",
        _bilinear_samples,
        lambda x, y, w, b=0.0: np.einsum("...i,oij,...j->...o", x, w, y) + b,
        out=False,
        errors=(
            (
                (np.ones((2, 3)), np.ones((2, 3)), np.ones((4, 2, 3))),
                RuntimeError,
                "input1 size does not match weight size",
            ),
        ),
    ),
]
