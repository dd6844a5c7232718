"""Rows of `framework/ops/loss.py`, `classes.py` and `distance.py`."""

from itertools import product
from math import inf

import numpy as np
import scipy.special

from . import OpInfo, Sample

REAL = ("float64", "float32", "bfloat16")
FUNCTION = "nn.functional."


def _reduced(loss, reduction="mean"):
    if reduction == "batchmean":
        return loss.sum() / loss.shape[0]
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def _pairs(*rest, low=-2.0, high=2.0, target=None, mean="mean", **keywords):
    """Input and target of one shape, each reduction once."""

    def samples(draw):
        for shape, reduction in (((2, 3), mean), ((2, 3), "none"), ((5,), "sum"), ((), "sum")):
            other = draw(*shape, low=low, high=high) if target is None else target(draw, shape)
            yield Sample((draw(*shape, low=low, high=high), other, *rest), {"reduction": reduction, **keywords})

    return samples


def _elementwise(name, loss, samples, **fields):
    def reference(*args, reduction="mean", **keywords):
        return _reduced(loss(*args, **keywords), reduction)

    return OpInfo(FUNCTION + name, samples, reference, **{"dtypes": REAL, "out": False, "tolerance": 4} | fields)


def _huber(d, delta):
    return np.where(np.abs(d) < delta, d * d / 2, delta * (np.abs(d) - delta / 2))


def _signs(draw, shape):
    return np.where(draw.rng.random(shape) < 0.5, -1.0, 1.0).astype(
        "float32" if draw.dtype == "bfloat16" else draw.dtype
    )


def _softplus(x):
    return np.logaddexp(0, x)


def _gaussian(x, t, v, full=False, eps=1e-6):
    v = np.maximum(v, eps)
    return 0.5 * (np.log(v) + (x - t) ** 2 / v) + (0.5 * np.log(2 * np.pi) if full else 0)


def _gaussian_samples(draw):
    yield Sample((draw(2, 3), draw(2, 3), draw(2, 3, low=0.5)), {"reduction": "none"})
    yield Sample((draw(2, 3), draw(2, 3), draw(2, 1, low=0.5)), {"full": True})


def _poisson(x, t, log_input=True, full=False, eps=1e-8):
    loss = np.exp(x) - t * x if log_input else x - t * np.log(x + eps)
    big = np.maximum(t, 1)
    return loss + (np.where(t > 1, t * np.log(big) - t + 0.5 * np.log(2 * np.pi * big), 0) if full else 0)


def _cosine(a, b, t, margin=0):
    c = (a * b).sum(-1) / np.sqrt(((a * a).sum(-1) + 1e-12) * ((b * b).sum(-1) + 1e-12))
    return np.where(t == 1, 1 - c, np.maximum(0, c - margin))


def _triplet(a, p, n, margin=1.0, power=2, eps=1e-6, swap=False):
    d = lambda x, y: (np.abs(x - y + eps) ** power).sum(-1) ** (1 / power)
    far = np.minimum(d(a, n), d(p, n)) if swap else d(a, n)
    return np.maximum(0, margin + d(a, p) - far)


# ---------------------------------------------------------------- classes


def _class_samples(weighted=True, **keywords):
    def samples(draw):
        yield Sample((draw(4, 3), draw.index(3, 4)), dict(keywords))
        yield Sample((draw(2, 3, 5), draw.index(3, 2, 5)), {"reduction": "sum"} | keywords)
        yield Sample((draw(3), draw.index(3)), dict(keywords))
        if weighted:
            target = draw.index(3, 6)
            target[2] = -100
            yield Sample((draw(6, 3), target, draw(3, low=0.5)), {"reduction": "none"} | keywords)
            yield Sample((draw(6, 3), target, draw(3, low=0.5)), dict(keywords))

    return samples


def _nll(log_p, t, w=None, reduction="mean"):
    """One example after the other."""
    alone = log_p.ndim == 1
    if alone:
        log_p, t = log_p[None], np.reshape(t, (1,))
    w = np.ones(log_p.shape[1]) if w is None else w
    kept = t != -100
    safe = np.where(kept, t, 0)
    scale = w[safe] * kept
    loss = -np.take_along_axis(log_p, safe[:, None], 1)[:, 0] * scale
    if reduction == "mean":
        return loss.sum() / scale.sum()
    return loss.sum() if reduction == "sum" else loss[0] if alone else loss


def _cross_entropy(x, t, w=None, reduction="mean", label_smoothing=0.0):
    axis = 1 if x.ndim > 1 else 0
    log_p = scipy.special.log_softmax(x, axis)
    hard = _nll(log_p, t, w, reduction)
    if not label_smoothing:
        return hard
    each = np.stack([_nll(log_p, np.where(np.asarray(t) == -100, -100, c), None, "none") for c in range(x.shape[axis])])
    kept = np.asarray(t) != -100
    by_class = (np.ones(x.shape[axis]) if w is None else w).reshape(-1, *[1] * (each.ndim - 1))
    soft = (each * by_class).sum(0) * kept
    if reduction == "mean":
        soft = soft.sum() / ((np.ones(x.shape[axis]) if w is None else w)[np.where(kept, t, 0)] * kept).sum()
    elif reduction == "sum":
        soft = soft.sum()
    return hard * (1 - label_smoothing) + soft * label_smoothing / x.shape[axis]


def _soft_targets(draw):
    p = scipy.special.softmax(draw(4, 3).astype("float64"), 1).astype(
        "float32" if draw.dtype == "bfloat16" else draw.dtype
    )
    yield Sample((draw(4, 3), p))
    yield Sample((draw(4, 3), p), {"reduction": "sum", "label_smoothing": 0.2})


def _soft_cross_entropy(x, p, reduction="mean", label_smoothing=0.0):
    p = p * (1 - label_smoothing) + label_smoothing / x.shape[1]
    return _reduced(-(p * scipy.special.log_softmax(x, 1)).sum(1), reduction)


def _multi_margin(x, t, p=1, margin=1.0, weight=None, reduction="mean"):
    x, t = np.atleast_2d(x), np.atleast_1d(t)
    rows = [
        sum(max(0, margin - row[k] + row[i]) ** p for i in range(len(row)) if i != k)
        / len(row)
        * (1 if weight is None else weight[k])
        for row, k in zip(x, t)
    ]
    return _reduced(np.array(rows), reduction)


def _multilabel_margin(x, t, reduction="mean"):
    rows = []
    for row, labels in zip(np.atleast_2d(x), np.atleast_2d(t)):
        live = list(labels[: list(labels).index(-1)]) if -1 in labels else list(labels)
        rows.append(
            sum(max(0, 1 - (row[k] - row[i])) for k in live for i in range(len(row)) if i not in live) / len(row)
        )
    return _reduced(np.array(rows), reduction)


def _label_samples(draw):
    yield Sample((draw.apart(2, 4), np.array([[3, 0, -1, 1], [1, 2, -1, -1]])), {"reduction": "none"})
    yield Sample((draw.apart(2, 4), np.array([[3, 0, 2, 1], [-1, 2, 0, 1]])))


def _pairwise(a, b, p=2.0, eps=1e-6, keepdim=False):
    return np.linalg.norm(a - b + eps, p, -1, keepdims=keepdim)


def _distances(draw):
    for p in (2.0, 1.0, 3.0, float("inf")):
        yield Sample((draw.apart(4, 3), draw(4, 3) * 0.01, p))
    yield Sample((draw.apart(3), draw(3) * 0.01), {"keepdim": True})


def _all_pairs(x, p=2.0):
    rows = [np.linalg.norm(x[i] - x[j], p) for i in range(len(x)) for j in range(i + 1, len(x))]
    return np.array(rows, x.dtype)


def _cosine_similarity(a, b, dim=1, eps=1e-8):
    size = lambda x: np.maximum(np.sqrt((x * x).sum(dim)), eps)
    a, b = np.broadcast_arrays(a, b)
    return (a * b).sum(dim) / (size(a) * size(b))


ROWS = [
    _elementwise("mse_loss", lambda x, t: (x - t) ** 2, _pairs()),
    _elementwise("l1_loss", lambda x, t: np.abs(x - t), _pairs(target=lambda draw, s: draw(*s, low=3, high=4))),
    _elementwise("smooth_l1_loss", lambda x, t, beta: _huber(x - t, beta) / beta, _pairs(beta=0.7)),
    _elementwise(
        "huber_loss",
        lambda x, t, delta: _huber(x - t, delta),
        _pairs(delta=0.7),
        errors=(
            ((np.ones(2), np.ones(2), "mean", 0.0), RuntimeError, "does not support non-positive values for delta"),
        ),
    ),
    _elementwise("kl_div", lambda x, t, log_target: np.exp(t) * (t - x), _pairs(mean="batchmean", log_target=True)),
    _elementwise(
        "kl_div", lambda x, t, log_target: t * (np.log(t) - x), _pairs(mean="batchmean", log_target=False, low=0.2)
    ),
    _elementwise(
        "binary_cross_entropy",
        lambda x, t: -(t * np.log(x) + (1 - t) * np.log(1 - x)),
        _pairs(low=0.1, high=0.9),
        errors=(
            ((np.ones((2, 3)), np.ones(3)), ValueError, "Using a target size"),
            ((np.full(2, 1.5), np.ones(2)), RuntimeError, "all elements of input should be between 0 and 1"),
        ),
    ),
    _elementwise(
        "binary_cross_entropy_with_logits", lambda x, t: (1 - t) * x + _softplus(-x), _pairs(low=0.1, high=0.9)
    ),
    _elementwise("poisson_nll_loss", _poisson, _pairs(low=0.5, high=4.0)),
    _elementwise("poisson_nll_loss", _poisson, _pairs(low=0.5, high=4.0, full=True, log_input=False)),
    _elementwise(
        "gaussian_nll_loss",
        _gaussian,
        _gaussian_samples,
        errors=(((np.ones(2), np.ones(2), -np.ones(2)), ValueError, "var has negative entry"),),
    ),
    _elementwise(
        "hinge_embedding_loss",
        lambda x, t, m=1.0: np.where(t == 1, x, np.maximum(0, m - x)),
        _pairs(target=lambda draw, s: _signs(draw, s).astype("int64")),
    ),
    _elementwise("soft_margin_loss", lambda x, t: _softplus(-t * x), _pairs(target=_signs)),
    _elementwise(
        "margin_ranking_loss",
        lambda a, b, t, m=0: np.maximum(0, -t * (a - b) + m),
        lambda draw: [Sample((draw.apart(4), draw(4) * 0.01, _signs(draw, (4,))), {"reduction": "none"})],
    ),
    _elementwise(
        "cosine_embedding_loss",
        _cosine,
        lambda draw: [
            Sample((draw(3, 4), draw(3, 4), np.array([1, -1, 1])), {"reduction": "none", "margin": -0.9}),
            Sample((draw(4), draw(4), np.array(1))),
        ],
    ),
    _elementwise(
        "triplet_margin_loss",
        _triplet,
        lambda draw: [
            Sample((draw(3, 4), draw(3, 4), draw(3, 4)), {"reduction": "none", "margin": 3.0}),
            Sample((draw(3, 4), draw(3, 4), draw(3, 4)), {"swap": True, "margin": 5.0}),
        ],
        errors=(((np.ones(2), np.ones(2), np.ones(2), -1.0), ValueError, "margin must be greater than 0"),),
    ),
    OpInfo(
        FUNCTION + "nll_loss",
        _class_samples(),
        _nll,
        dtypes=REAL,
        out=False,
        errors=(
            ((np.ones((2, 3)), np.array([0, 3])), IndexError, "Target 3 is out of bounds"),
            ((np.ones((2, 3)), np.array([0, -1])), IndexError, "Target -1 is out of bounds"),
            (
                (np.ones((2, 3)), np.array([0])),
                ValueError,
                r"Expected input batch_size \(2\) to match target batch_size \(1\)",
            ),
            (
                (np.ones((2, 3, 4)), np.zeros((2, 3), "int64")),
                RuntimeError,
                r"Expected target size \[2, 4\], got \[2, 3\]",
            ),
        ),
    ),
    OpInfo(
        FUNCTION + "cross_entropy",
        _class_samples(),
        _cross_entropy,
        dtypes=REAL,
        out=False,
        errors=(((np.ones((2, 3)), np.array([0, 3])), IndexError, "Target 3 is out of bounds"),),
    ),
    OpInfo(FUNCTION + "cross_entropy", _class_samples(label_smoothing=0.3), _cross_entropy, dtypes=REAL, out=False),
    OpInfo(FUNCTION + "cross_entropy", _soft_targets, _soft_cross_entropy, dtypes=REAL, out=False),
    OpInfo(
        FUNCTION + "multi_margin_loss",
        lambda draw: [
            Sample((draw(4, 3), draw.index(3, 4)), {"reduction": "none"}),
            Sample((draw(4, 3), draw.index(3, 4), 2, 0.5, draw(3, low=0.5))),
            Sample((draw(3), draw.index(3))),
        ],
        _multi_margin,
        dtypes=REAL,
        out=False,
        tolerance=4,
    ),
    OpInfo(
        FUNCTION + "multilabel_margin_loss", _label_samples, _multilabel_margin, dtypes=REAL, out=False, tolerance=4
    ),
    _elementwise(
        "multilabel_soft_margin_loss",
        lambda x, t: (t * _softplus(-x) + (1 - t) * _softplus(x)).mean(-1),
        lambda draw: [Sample((draw(3, 4), draw(3, 4, low=0, high=1)), {"reduction": "none"})],
    ),
    OpInfo(FUNCTION + "pairwise_distance", _distances, _pairwise, dtypes=REAL, out=False, tolerance=4),
    OpInfo(
        FUNCTION + "pdist",
        lambda draw: [Sample((draw.apart(4, 3), p)) for p in (2.0, 1, 3, 0.5, inf)] + [Sample((draw(1, 2),))],
        _all_pairs,
        dtypes=REAL,
        out=False,
        tolerance=4,
        errors=(
            ((np.ones(3),), RuntimeError, "only supports 2D tensors"),
            ((np.ones((2, 2)), -1), RuntimeError, "non-negative p"),
            ((np.ones((2, 2), "int64"),), RuntimeError, "floating-point dtypes"),
        ),
    ),
    OpInfo(
        FUNCTION + "cosine_similarity",
        lambda draw: [
            Sample((draw(2, 3), draw(2, 3))),
            Sample((draw(2, 3, 4), draw(3, 4), 0)),
            Sample((draw(3), draw(3), -1)),
        ],
        _cosine_similarity,
        dtypes=REAL,
        out=False,
        tolerance=50,
    ),
    OpInfo(
        FUNCTION + "normalize",
        lambda draw: [Sample((draw(2, 3),)), Sample((draw.apart(2, 3), 1.0, 0))],
        lambda x, p=2.0, dim=1: x / np.linalg.norm(x, p, dim, keepdims=True),
        dtypes=REAL,
        out=False,
    ),
]


# ---------------------------------------------------------------- connectionist temporal classification
def _ctc(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean"):
    """Minus the logarithm of the summed probability of every path that spells the target, path by path."""
    losses = []
    for n, (steps, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        want = tuple(targets[n, :length])
        total = 0.0
        for path in product(range(log_probs.shape[2]), repeat=steps):
            spelled = tuple([c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)])
            if spelled == want:
                total += np.exp(sum([log_probs[t, n, c] for t, c in enumerate(path)]))
        losses.append(-np.log(total))
    losses = np.asarray(losses, log_probs.dtype)
    return losses if reduction == "none" else (losses / np.maximum(target_lengths, 1)).mean()


def _spelled(draw):
    x = draw(4, 2, 3)
    x = x - np.log(np.exp(x).sum(-1, keepdims=True))
    yield Sample((x, np.array([[1, 2], [2, 2]]), (4, 4), (2, 1)))
    yield Sample((x, np.array([[1, 1], [2, 1]]), (4, 3), (2, 2)), {"reduction": "none"})


ROWS.append(OpInfo(FUNCTION + "ctc_loss", _spelled, _ctc, grad=False, out=False, vmap=False, tolerance=20))
