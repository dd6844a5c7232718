"""Rows of `framework/ops/norm.py`."""

import numpy as np

from . import OpInfo, Sample

REAL = ("float64", "float32", "bfloat16")


def _standard(x, dims, eps=1e-5):
    return (x - x.mean(dims, keepdims=True)) / np.sqrt(x.var(dims, keepdims=True) + eps)


def _affine(x, w, b):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    return x * (1 if w is None else w.reshape(shape)) + (0 if b is None else b.reshape(shape))


def _batch_norm(x, mean, var, w=None, b=None, training=False, momentum=0.1, eps=1e-5):
    dims = (0, *range(2, x.ndim))
    shape = (1, -1) + (1,) * (x.ndim - 2)
    if training:
        return _affine(_standard(x, dims, eps), w, b)
    return _affine((x - mean.reshape(shape)) / np.sqrt(var.reshape(shape) + eps), w, b)


def _batch_samples(draw):
    yield Sample((draw(4, 3), None, None, draw(3), draw(3), True))
    yield Sample((draw(2, 3, 4), None, None, None, None, True))
    yield Sample((draw(2, 3, 2, 2), None, None, draw(3), None, True), {"eps": 0.1})
    yield Sample((draw(4, 3), draw(3), draw(3, low=0.5), draw(3), draw(3), False))


def _group_norm(x, groups, w=None, b=None, eps=1e-5):
    return _affine(_standard(x.reshape(x.shape[0], groups, -1), (2,), eps).reshape(x.shape), w, b)


def _group_samples(draw):
    yield Sample((draw(2, 6, 3), 3, draw(6), draw(6)))
    yield Sample((draw(2, 4), 2))
    yield Sample((draw(2, 4, 2, 2), 1, draw(4)))


def _layer_norm(x, shape, w=None, b=None, eps=1e-5):
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    return _standard(x, dims, eps) * (1 if w is None else w) + (0 if b is None else b)


def _layer_samples(draw):
    yield Sample((draw(4, 3), (3,), draw(3), draw(3)))
    yield Sample((draw(2, 3, 4), (3, 4)))
    yield Sample((draw(2, 3, 4), (4,), draw(4)))


def _rms_norm(x, shape, w=None, eps=2.0**-52):
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    return x / np.sqrt((x * x).mean(dims, keepdims=True) + eps) * (1 if w is None else w)


def _rms_samples(draw):
    yield Sample((draw(4, 3), (3,), draw(3)))
    yield Sample((draw(2, 3, 4), (3, 4)), {"eps": 0.1})


def _local(x, size, alpha=1e-4, beta=0.75, k=1.0):
    pad = [(0, 0), (size // 2, (size - 1) // 2)] + [(0, 0)] * (x.ndim - 2)
    square = np.pad(x * x, pad)
    return x / (k + alpha / size * sum(square[:, i : i + x.shape[1]] for i in range(size))) ** beta


def _local_samples(draw):
    yield Sample((draw(2, 5, 3), 3), {"alpha": 0.5, "k": 2.0})
    yield Sample((draw(2, 4, 2, 2), 2))


ROWS = [
    OpInfo(
        "nn.functional.batch_norm",
        _batch_samples,
        _batch_norm,
        dtypes=REAL,
        out=False,
        tolerance=4,
        errors=(
            (
                (np.ones((1, 3)), None, None, None, None, True),
                ValueError,
                "Expected more than 1 value per channel when training",
            ),
            ((np.ones((2, 3)), np.ones(2), np.ones(3)), RuntimeError, "running_mean should contain 3 elements not 2"),
        ),
    ),
    OpInfo(
        "nn.functional.instance_norm",
        lambda draw: [Sample((draw(2, 3, 4), None, None, draw(3), draw(3))), Sample((draw(2, 3, 2, 2),))],
        lambda x, m=None, v=None, w=None, b=None: _affine(_standard(x, tuple(range(2, x.ndim))), w, b),
        dtypes=REAL,
        out=False,
        tolerance=4,
    ),
    OpInfo(
        "nn.functional.group_norm",
        _group_samples,
        _group_norm,
        dtypes=REAL,
        out=False,
        tolerance=4,
        errors=(((np.ones((2, 5)), 2), RuntimeError, "channels in input to be divisible by num_groups"),),
    ),
    OpInfo(
        "nn.functional.layer_norm",
        _layer_samples,
        _layer_norm,
        dtypes=REAL,
        out=False,
        tolerance=4,
        errors=(
            (
                (np.ones((2, 5)), (4,)),
                RuntimeError,
                r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\]",
            ),
        ),
    ),
    OpInfo("nn.functional.rms_norm", _rms_samples, _rms_norm, dtypes=REAL, out=False, tolerance=4),
    OpInfo("nn.functional.local_response_norm", _local_samples, _local, dtypes=REAL, out=False),
]
