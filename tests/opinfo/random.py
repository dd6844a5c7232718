"""Rows of `framework/ops/random_*.py`: draws whose outcome is certain. `tests/ops/test_random.py` has the others."""

import numpy as np

from backends.dtypes import float32
from framework.ops.random_draw import Source

from . import OpInfo, Sample


def _certain(draw):
    for shape in ((), (3,), (2, 3), (0, 2)):
        yield Sample((np.asarray(draw(*shape) > 0, draw(1).dtype),))


def _one_category(draw):
    yield Sample((np.eye(4)[2].astype(draw(1).dtype), 1))
    yield Sample((np.eye(4)[[3, 0, 1]].astype(draw(1).dtype), 5, True))
    yield Sample((np.zeros((0, 3)).astype(draw(1).dtype), 2))


def _category(weights, count, replacement=False):
    return np.broadcast_to(weights.argmax(-1)[..., None], (*weights.shape[:-1], count))


def _one_value(draw):
    source = Source("uniform_", None, "uniform", (2.5, 2.5))
    for shape in ((), (3,), (2, 3), (0, 2)):
        yield Sample((draw(), shape, float32, source))


def _without_spread(draw):
    yield Sample((draw(2, 3), 0.0))
    yield Sample((draw(2, 1), np.zeros((1, 3), draw(1).dtype)))


FLOATS = ("float64", "float32", "float16", "bfloat16")
NO_GRADIENT = {"grad": False, "vmap": False}

ROWS = [
    OpInfo(
        "bernoulli",
        _certain,
        lambda p: p,
        dtypes=FLOATS,
        **NO_GRADIENT,
        errors=(
            ((np.array([0.5, 1.5]),), RuntimeError, "p_in >= 0 && p_in <= 1"),
            ((np.array([0.5, np.nan]),), RuntimeError, "p_in >= 0 && p_in <= 1"),
            ((np.array([0, 1]),), NotImplementedError, "not implemented for 'Long'"),
            ((np.zeros(3), 1.5), RuntimeError, r"expects p to be in \[0, 1\], but got p=1.5"),
        ),
    ),
    OpInfo("_bernoulli_tensor", _certain, lambda p: p, dtypes=FLOATS, **NO_GRADIENT),
    OpInfo(
        "multinomial",
        _one_category,
        _category,
        dtypes=FLOATS,
        **NO_GRADIENT,
        errors=(
            ((np.ones((2, 2, 2)), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
            ((np.array([1, 2]), 1), RuntimeError, "only supports floating-point dtypes for input"),
            ((np.ones(2), 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
            (
                (np.ones(2), 3),
                RuntimeError,
                r"cannot sample n_sample > prob_dist.size\(-1\) samples without replacement",
            ),
            ((np.array([1.0, -1.0]), 1), RuntimeError, "either `inf`, `nan` or element < 0"),
            ((np.array([1.0, np.inf]), 3, True), RuntimeError, "either `inf`, `nan` or element < 0"),
            ((np.array([1.0, np.nan]), 2), RuntimeError, "either `inf`, `nan` or element < 0"),
            ((np.zeros((2, 2)), 1), RuntimeError, "sum of probabilities <= 0"),
            ((np.array([[1.0, 1.0], [0.0, 0.0]]), 2, True), RuntimeError, "sum of probabilities <= 0"),
        ),
    ),
    OpInfo("_multinomial_rows", _one_category, _category, dtypes=FLOATS[:2], **NO_GRADIENT),
    OpInfo(
        "_random_draw",
        _one_value,
        lambda like, shape, d, source: np.full(shape, 2.5, np.float32),
        dtypes=("float32",),
        **NO_GRADIENT,
    ),
    OpInfo(
        "normal",
        _without_spread,
        lambda mean, std: mean + np.zeros_like(std),
        dtypes=FLOATS,
        **NO_GRADIENT,
        errors=(
            ((np.zeros(2), -1.0), RuntimeError, "std >= 0.0, but found std -1"),
            ((np.zeros(2), np.array([1.0, -1.0])), RuntimeError, "all elements of std >= 0.0"),
            ((np.zeros(2), np.ones(3)), RuntimeError, r"size of tensor a \(2\) must match the size of tensor b \(3\)"),
            ((np.array([1, 2]), np.ones(2)), NotImplementedError, "not implemented for 'Long'"),
            ((0.0, 1.0), TypeError, "numbers need a `size`"),
        ),
    ),
]
