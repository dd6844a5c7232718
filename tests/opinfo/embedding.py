"""Rows of `framework/ops/embedding.py`."""

import numpy as np

from . import OpInfo, Sample

REAL = ("float64", "float32", "bfloat16")


def _tables(draw):
    yield Sample((draw.index(5, 2, 3), draw(5, 4)))
    yield Sample((draw.index(5, 6), draw(5, 4), -5))
    yield Sample((np.array(3), draw(5, 2)))
    yield Sample((draw.index(5, 0), draw(5, 2)))


def _bag(
    index, weight, offsets=None, mode="mean", per_sample_weights=None, padding_idx=None, include_last_offset=False
):
    if index.ndim == 1:
        ends = list(offsets) if include_last_offset else [*offsets, len(index)]
        parts = [slice(a, b) for a, b in zip(ends, ends[1:])]
    else:
        parts = list(range(len(index)))
    out = []
    for part in parts:
        kept = np.ones(len(index[part]), bool) if padding_idx is None else index[part] != padding_idx
        rows = weight[index[part]][kept]
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[part][kept][:, None]
        zero = np.zeros(weight.shape[1])
        out.append(
            zero if not len(rows) else rows.sum(0) if mode == "sum" else rows.mean(0) if mode == "mean" else rows.max(0)
        )
    return np.stack(out)


def _bags(draw):
    for mode in ("sum", "mean", "max"):
        yield Sample((draw.index(5, 3, 4), draw.apart(5, 2)), {"mode": mode})
        yield Sample((draw.index(5, 7), draw.apart(5, 2), np.array([0, 3, 3, 5])), {"mode": mode})
        yield Sample(
            (draw.index(5, 7), draw.apart(5, 2), np.array([0, 3, 6])), {"mode": mode, "include_last_offset": True}
        )
        yield Sample((np.array([[0, 1], [2, 2], [1, 2]]), draw.apart(5, 2)), {"mode": mode, "padding_idx": 2})


ROWS = [
    OpInfo(
        "nn.functional.embedding",
        _tables,
        lambda i, w, padding_idx=None: w[i],
        dtypes=REAL,
        out=False,
        vmap=False,
        grad=False,
        errors=(
            ((np.array([5]), np.ones((5, 2))), IndexError, "index out of range in self"),
            ((np.array([-1]), np.ones((5, 2))), IndexError, "index out of range in self"),
            ((np.array([1.0]), np.ones((5, 2))), RuntimeError, "one of the following scalar types: Long, Int"),
        ),
    ),
    OpInfo(
        "nn.functional.embedding",
        lambda draw: [Sample((np.array([0, 2, 4, 2]), draw(5, 3)))],
        lambda i, w: w[i],
        dtypes=REAL,
        out=False,
    ),
    OpInfo(
        "nn.functional.embedding_bag",
        _bags,
        _bag,
        dtypes=REAL,
        out=False,
        vmap=False,
        second=False,
        tolerance=4,
        errors=(
            (
                (np.zeros((2, 2), "int64"), np.ones((3, 2)), np.array([0])),
                ValueError,
                "if input is 2D, then offsets has to be None",
            ),
            ((np.zeros(2, "int64"), np.ones((3, 2)), np.array([1])), RuntimeError, r"offsets\[0\] has to be 0"),
        ),
    ),
    OpInfo(
        "nn.functional.one_hot",
        lambda draw: [Sample((draw.index(4, 2, 3), 5)), Sample((draw.index(4, 3), 4))],
        lambda x, n: np.eye(n, dtype="int64")[x],
        dtypes=("float32",),
        grad=False,
        out=False,
        vmap=False,
        errors=(
            ((np.array([3]), 3), RuntimeError, "Class values must be smaller than num_classes"),
            ((np.array([-1]), 3), RuntimeError, "Class values must be non-negative"),
        ),
    ),
]
