"""Rows of `framework/ops/grid.py`."""

from itertools import product

import numpy as np

from . import OpInfo, Sample
from .resize import _kernel

REAL = ("float64", "float32")


def _thrown_back(x, low, high):
    if low == high:
        return low
    while not low <= x <= high:
        x = 2 * low - x if x < low else 2 * high - x
    return x


def _place(x, n, padding, align):
    if padding == "reflection":
        x = _thrown_back(x, *((0, n - 1) if align else (-0.5, n - 0.5)))
    return x if padding == "zeros" else min(max(x, 0), n - 1)


def _taps(x, n, mode, padding, align):
    """[(pixel, weight)] along one dimension."""
    x = (x + 1) * (n - 1) / 2 if align else ((x + 1) * n - 1) / 2
    if mode == "bicubic":
        first = int(np.floor(x))
        return [(int(_place(j, n, padding, align)), _kernel(mode, x - j)) for j in range(first - 1, first + 3)]
    x = _place(x, n, padding, align)
    if mode == "nearest":
        return [(round(x), 1)]
    first = int(np.floor(x))
    return [(j, _kernel(mode, x - j)) for j in (first, first + 1)]


def _sample(x, grid, mode="bilinear", padding="zeros", align=False):
    out = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    sizes = x.shape[2:]
    for b, *at in np.ndindex(grid.shape[:-1]):
        ways = [_taps(v, n, mode, padding, align) for v, n in zip(grid[(b, *at)][::-1], sizes)]
        for corner in product(*ways):
            if all(0 <= j < n for (j, _), n in zip(corner, sizes)):
                out[(b, slice(None), *at)] += (
                    np.prod([w for _, w in corner]) * x[(b, slice(None), *[j for j, _ in corner])]
                )
    return out


def _samples(draw):
    for padding, align in (("zeros", False), ("border", True), ("reflection", False), ("reflection", True)):
        yield Sample((draw(2, 1, 3, 4), draw(2, 2, 1, 2, low=-1.4, high=1.4), "bilinear", padding, align))
    yield Sample((draw(1, 1, 3, 3), draw(1, 1, 2, 2, low=-1.2, high=1.2), "bicubic", "border", False))
    yield Sample((draw(1, 1, 3, 2, 3), draw(1, 1, 1, 2, 3, low=-1.2, high=1.2), "bilinear", "zeros", False))


def _nearest(draw):
    for padding in ("zeros", "border", "reflection"):
        yield Sample((draw(2, 1, 3, 4), draw(2, 2, 3, 2, low=-1.4, high=1.4), "nearest", padding, False))


def _affine(theta, size, align):
    lines = [np.linspace(-1, 1, n) * (1 if align else (n - 1) / n) for n in size[2:]]
    out = np.empty((len(theta), *size[2:], len(size) - 2))
    for at in np.ndindex(*size[2:]):
        out[(slice(None), *at)] = theta @ np.array([*[lines[d][i] for d, i in enumerate(at)][::-1], 1])
    return out


ONE = np.ones((1, 1, 2, 2))

ROWS = [
    OpInfo(
        "nn.functional.grid_sample",
        _samples,
        _sample,
        dtypes=REAL,
        out=False,
        tolerance=8,
        errors=(
            ((ONE, ONE, "cubic"), ValueError, "expected mode to be"),
            ((ONE, ONE, "nearest", "wrap"), ValueError, "expected padding_mode"),
            ((ONE, ONE.astype("float32"), "nearest", "zeros", False), RuntimeError, "to have same dtype"),
            ((ONE, np.ones((1, 2)), "nearest", "zeros", False), RuntimeError, "4D or 5D"),
            ((ONE, np.ones((2, 1, 1, 2)), "nearest", "zeros", False), RuntimeError, "same batch size"),
            ((ONE, np.ones((1, 1, 1, 3)), "nearest", "zeros", False), RuntimeError, "size 2 in last dimension"),
            ((ONE[:, :, :0], ONE, "nearest", "zeros", False), RuntimeError, "non-empty spatial dimensions"),
            (
                (np.ones((1, 1, 1, 1, 1)), np.ones((1, 1, 1, 1, 3)), "bicubic", "zeros", False),
                RuntimeError,
                "only supports 4D",
            ),
        ),
    ),
    OpInfo("nn.functional.grid_sample", _nearest, _sample, dtypes=REAL, out=False, grad=False),
    OpInfo(
        "nn.functional.affine_grid",
        lambda draw: [
            Sample((draw(2, 2, 3), (2, 1, 3, 4), False)),
            Sample((draw(2, 2, 3), (2, 1, 3, 2), True)),
            Sample((draw(1, 3, 4), (1, 1, 2, 3, 2), False)),
        ],
        _affine,
        dtypes=REAL,
        out=False,
        errors=(
            ((ONE[0].astype("int64"), (1, 1, 2, 2), False), ValueError, "to have floating point type"),
            ((ONE[0], (1, 1, 2), False), NotImplementedError, "only supports 4D and 5D"),
            ((ONE[0], (1, 1, 2, 2), False), ValueError, "shape Nx2x3"),
            ((np.ones((1, 2, 3)), (1, 1, 0, 2), False), ValueError, "positive output size"),
        ),
    ),
]
