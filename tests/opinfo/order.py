"""Rows of `framework/ops/order.py`, `search.py`, `sets.py`, and of `isin`."""

import numpy as np
from scipy import stats

from . import OpInfo, Sample
from .create import made
from .reduce import REAL
from .shape import zeros

ORDERED = (*REAL, "int64")
DOUBLE = ("float64", "float32")


def _distinct(*calls):
    """Tensors of elements all different, and the other arguments."""

    def samples(draw):
        for shape, *rest in calls:
            yield Sample((draw.apart(*shape), *rest))

    return samples


def _sorted(x, dim=-1, descending=False, stable=False):
    if not x.ndim:
        return [x, np.array(0)]
    order = np.argsort(-x.astype("float64") if descending else x, dim, kind="stable")
    return [np.take_along_axis(x, order, dim), order]


def _topk(x, k, dim=-1, largest=True):
    return [np.take(a, range(k), dim) for a in _sorted(x, dim, largest)]


def _kth(x, k, dim=-1, keepdim=False):
    parts = [np.take(a, [k - 1], dim) for a in _sorted(x, dim)]
    return parts if keepdim else [p.squeeze(dim) for p in parts]


def _median(x, dim=None, keepdim=False):
    if dim is None:
        return np.sort(x, None)[(x.size - 1) // 2]
    return _kth(x, (x.shape[dim] + 1) // 2, dim, keepdim)


def _nan_samples(draw):
    x = draw.apart(3, 5)
    x[0, 1] = x[2, 2] = x[2, 0] = np.nan
    yield Sample((x, 1))
    yield Sample((x, 0, True))


def _nanmedian(x, dim, keepdim=False):
    values, indices = _sorted(x, dim)
    place = np.maximum(np.sum(~np.isnan(x), dim, keepdims=True) - 1, 0) // 2
    parts = [np.take_along_axis(a, place, dim) for a in (values, indices)]
    return parts if keepdim else [p.squeeze(dim) for p in parts]


def _repeated(draw):
    x = draw.index(3, 4, 6).astype("float32" if draw.dtype in ("bfloat16", "float16") else draw.dtype)
    yield Sample((x,))
    yield Sample((x, 0, True))


def _mode(x, dim=-1, keepdim=False):
    values = stats.mode(x, dim, keepdims=True).mode
    at = np.arange(x.shape[dim]).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)])
    last = np.max(np.where(x == values, at, -1), dim, keepdims=True)
    return [a if keepdim else a.squeeze(dim) for a in (values, last)]


def _quantiles(draw):
    for how in ("linear", "lower", "higher", "midpoint", "nearest"):
        yield Sample((draw.apart(3, 4), 0.3, 1), {"interpolation": how})
    yield Sample((draw.apart(2, 3), np.asarray([0.07, 0.35, 0.9]).astype(draw.dtype)))
    yield Sample((draw.apart(2, 3), 0.5, 0, True))
    yield Sample((draw.apart(2, 3), np.asarray([0.45, 0.1]).astype(draw.dtype), -1, True))


def _quantile(f):
    def reference(x, q, dim=None, keepdim=False, *, interpolation="linear"):
        return f(x, q, dim, keepdims=keepdim, method=interpolation).astype(x.dtype)

    return reference


def _search(draw):
    edges = np.sort(draw.apart(6))
    yield Sample((edges, draw(2, 3)))
    yield Sample((edges, edges), {"right": True})
    yield Sample((edges, edges[:3]), {"side": "right"})
    yield Sample((np.sort(draw.apart(2, 5), 1), draw(2, 3)))
    yield Sample((edges[::-1].copy(), draw(3)), {"sorter": np.arange(5, -1, -1)})
    yield Sample((edges, 0.1))


def _searchsorted(x, v, *, right=False, side=None, sorter=None):
    side = "right" if right or side == "right" else "left"
    if x.ndim == 1:
        return np.asarray(np.searchsorted(x if sorter is None else x[sorter], v, side))
    return np.stack([np.searchsorted(a, b, side) for a, b in zip(x, v, strict=True)])


def _integers(draw):
    x = draw.index(5, 9)
    yield Sample((x,))
    yield Sample((x, draw(9)))
    yield Sample((x, None, 8))
    yield Sample((np.zeros(0, np.int64), None, 2))


def _histograms(draw):
    x = draw(4, 5)
    yield Sample((x,), {"bins": 5})
    yield Sample((x, 4), {"min": -1, "max": 1})


def _edges(draw):
    x = draw(20)
    yield Sample((x, 5))
    yield Sample((x, 4), {"range": (-1.0, 1.0)})
    yield Sample((x, np.sort(draw(4))))
    yield Sample((x, 3), {"weight": draw(20, low=0.1), "density": True})


def _points(draw):
    yield Sample((draw(20, 2), [3, 4]))
    yield Sample((draw(20, 2), 3), {"range": [-1.0, 1.0, -2.0, 2.0]})


def _histogramdd(x, bins, *, range=None):
    hist, edges = np.histogramdd(x, bins, range and [range[:2], range[2:]])
    return [hist.astype(x.dtype), [e.astype(x.dtype) for e in edges]]


def _histogram(x, bins, *, range=None, weight=None, density=False):
    if weight is None:
        return [a.astype(x.dtype) for a in np.histogram(x, bins, range)]
    hist, edges = np.histogram(x, bins, range, weights=weight)  # density: what lies inside adds up to 1, then per width
    return [(hist / hist.sum() / np.diff(edges)).astype(x.dtype), edges.astype(x.dtype)]


def _few(draw):
    yield Sample((draw.index(4, 3, 4),), {"return_inverse": True, "return_counts": True})
    yield Sample((draw.index(2, 6, 2),), {"dim": 0, "return_inverse": True, "return_counts": True})
    yield Sample((draw.index(2, 2, 5),), {"dim": 1, "return_counts": True})
    yield Sample((draw.index(4, 3, 4),))
    yield Sample((draw.index(2, 0),), {"return_counts": True})


def _unique(x, *, return_inverse=False, return_counts=False, dim=None):
    found = np.unique(x, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if isinstance(found, tuple):
        found = list(found)
        if return_inverse:
            found[1] = found[1].reshape(x.shape if dim is None else (x.shape[dim],))
    return found


def _consecutive(x, *, return_inverse=False, return_counts=False, dim=None):
    rows = x.reshape(-1, 1) if dim is None else np.moveaxis(x, dim, 0).reshape(x.shape[dim], -1)
    new = np.array([i == 0 or (rows[i] != rows[i - 1]).any() for i in range(len(rows))], bool)
    starts = np.flatnonzero(new)
    found = [x.reshape(-1)[starts] if dim is None else np.take(x, starts, dim)]
    if return_inverse:
        inverse = np.cumsum(new) - 1
        found.append(inverse.reshape(x.shape if dim is None else (x.shape[dim],)))
    if return_counts:
        found.append(np.diff([*starts, len(rows)]))
    return found if len(found) > 1 else found[0]


def _members(draw):
    yield Sample((draw.index(9, 3, 4), draw.index(9, 4)))
    yield Sample((draw.index(40, 3, 4), draw.index(40, 30)), {"invert": True})
    yield Sample((draw.index(3, 4), 1))


ROWS = [
    OpInfo(
        "sort",
        _distinct(((3, 4),), ((3, 4), 0, True), ((4,), -1), ((), 0), ((0, 2), 0)),
        _sorted,
        dtypes=ORDERED,
        out=False,
        errors=(((zeros(2), 3), IndexError, "out of range"),),
    ),
    OpInfo("argsort", _distinct(((3, 4),), ((3, 4), 0, True)), lambda *a: _sorted(*a)[1], dtypes=ORDERED, grad=False),
    OpInfo("msort", _distinct(((3, 4),), ((4,),)), lambda x: np.sort(x, 0), dtypes=ORDERED),
    OpInfo(
        "topk",
        _distinct(((3, 4), 2), ((3, 4), 3, 0), ((5,), 5, 0, False), ((4,), 0)),
        _topk,
        dtypes=ORDERED,
        out=False,
        errors=(((zeros(3), 4), RuntimeError, "selected index k out of range"),),
    ),
    OpInfo(
        "kthvalue",
        _distinct(((3, 4), 2), ((3, 4), 1, 0, True)),
        _kth,
        dtypes=ORDERED,
        out=False,
        errors=(((zeros(3), 0), RuntimeError, "out of range"),),
    ),
    OpInfo(
        "median",
        _distinct(((3, 4),), ((3, 5), 1), ((4, 2), 0, True)),
        _median,
        dtypes=ORDERED,
        out=False,
        errors=(((zeros(0, 2), 0), IndexError, "non-zero size"),),
    ),
    OpInfo("nanmedian", _nan_samples, _nanmedian, dtypes=DOUBLE, out=False, vmap=False),
    OpInfo("mode", _repeated, _mode, dtypes=(*DOUBLE, "bfloat16", "int64"), grad=False, out=False, vmap=False),
    OpInfo(
        "quantile",
        _quantiles,
        _quantile(np.quantile),
        dtypes=DOUBLE,
        tolerance=2,
        vmap=False,
        errors=(((zeros(2), 2.0), RuntimeError, "in the range"), ((zeros(0), 0.5), RuntimeError, "non-empty")),
    ),
    OpInfo("nanquantile", _quantiles, _quantile(np.nanquantile), dtypes=DOUBLE, tolerance=2, vmap=False),
    OpInfo(
        "searchsorted",
        _search,
        _searchsorted,
        dtypes=DOUBLE,
        grad=False,
        vmap=False,
        errors=(
            ((zeros(2, 2), zeros(3, 1)), RuntimeError, "first N-1 dimensions"),
            ((zeros(2), np.zeros(2, "f4")), RuntimeError, "same dtype"),
        ),
    ),
    OpInfo(
        "bucketize",
        lambda draw: [Sample((draw(2, 3), np.sort(draw.apart(5))))],
        lambda v, x: np.searchsorted(x, v),
        dtypes=DOUBLE,
        grad=False,
    ),
    OpInfo(
        "bincount",
        _integers,
        lambda x, w=None, n=0: np.bincount(x, w, n).astype(x.dtype if w is None else w.dtype),
        dtypes=DOUBLE,
        grad=False,
        vmap=False,
        out=False,
        errors=(
            ((np.array([-1]),), RuntimeError, "non-negative"),
            ((np.zeros((2, 2), np.int64),), RuntimeError, "1-d"),
        ),
    ),
    OpInfo(
        "histc",
        _histograms,
        lambda x, bins, min=None, max=None: np.histogram(x, bins, None if min is None else (min, max))[0].astype(
            x.dtype
        ),
        dtypes=DOUBLE,
        grad=False,
        vmap=False,
        errors=(((zeros(2), 0), RuntimeError, "bins must be > 0"),),
    ),
    OpInfo(
        "histogram",
        _edges,
        _histogram,
        dtypes=DOUBLE,
        grad=False,
        vmap=False,
        out=False,
        errors=(((zeros(2), 0), RuntimeError, "bins must be > 0"),),
    ),
    OpInfo("histogramdd", _points, _histogramdd, dtypes=DOUBLE, grad=False, vmap=False, out=False),
    made("unique", _few, _unique),
    made("unique_consecutive", _few, _consecutive),
    made("isin", _members, np.isin),
]
