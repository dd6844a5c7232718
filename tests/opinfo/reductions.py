"""Rows of `framework/ops/extremes.py`, `scan.py`, `moments.py`, `norms.py`."""

import numpy as np
from scipy import special
from scipy.spatial import distance

from . import OpInfo, Sample
from .reduce import BAD_DIM, EMPTY, FLOATS, REAL, _axis, _dims
from .shape import zeros
from .view import _of

DOUBLE = ("float64", "float32")
WIDE = ("float64", "float32", "complex128")


def _along(*more):
    """One dimension to reduce, elements all different."""

    def samples(draw):
        yield Sample((draw.apart(2, 3), 1))
        yield Sample((draw.apart(3, 2, 2), -2, True))
        yield Sample((draw.apart(4), 0))
        yield Sample((draw.apart(), 0))
        for s in more:
            yield s(draw)

    return samples


def _pair(value, where):
    def reference(x, dim, keepdim=False):
        if not x.ndim:
            return [x, np.array(0)]
        return [value(x, dim, keepdims=keepdim), where(x, dim, keepdims=keepdim)]

    return reference


def _whole_or(value, where, elementwise):
    def reference(x, dim=None, keepdim=False):
        if isinstance(dim, np.ndarray):
            return elementwise(x, dim)
        return value(x) if dim is None else _pair(value, where)(x, dim, keepdim)

    return reference


def _overloads(draw):
    yield from _along()(draw)
    yield Sample((draw.apart(2, 3),))
    both = draw.apart(2, 2, 3)
    yield Sample((both[0], both[1]))


def _where(f):
    def reference(x, dim=None, keepdim=False):
        if not x.ndim:
            return np.array(0)
        return np.asarray(f(x, dim, keepdims=keepdim))

    return reference


def _positions(draw):
    yield from _along()(draw)
    yield Sample((draw.apart(2, 3),))
    yield Sample((draw.apart(2, 3), None, True))


def _aminmax(x, *, dim=None, keepdim=False):
    return [np.min(x, dim, keepdims=keepdim), np.max(x, dim, keepdims=keepdim)]


def _keyword_dims(draw):
    yield Sample((draw.apart(2, 3),))
    yield Sample((draw.apart(2, 3),), {"dim": 1})
    yield Sample((draw.apart(2, 3),), {"dim": -2, "keepdim": True})


def _running(better):
    def reference(x, dim):
        if not x.ndim:
            return [x, np.array(0)]
        rows = np.moveaxis(x, dim, 0)
        values, indices = np.empty_like(rows), np.empty(rows.shape, np.int64)
        for at in np.ndindex(rows.shape[1:]):
            best = 0
            for i in range(rows.shape[0]):
                if better(rows[(i, *at)], rows[(best, *at)]):
                    best = i
                values[(i, *at)], indices[(i, *at)] = rows[(best, *at)], best
        return [np.moveaxis(values, 0, dim), np.moveaxis(indices, 0, dim)]

    return reference


def _scans(draw):
    for shape, dim in (((2, 3), 0), ((3, 4), -1), ((4,), 0), ((), 0), ((2, 0), 1)):
        yield Sample((draw(*shape), dim))


def _scan(f):
    return lambda x, dim: f(x, dim) if x.ndim else x


def _products(draw):
    yield from _dims(*EMPTY)(draw)
    x = draw(3, 3)
    x[0, 1] = x[2, 2] = x[2, 0] = 0  # one zero in a row, two in another
    yield Sample((x, 1))
    yield Sample((x,))


def _zeros_too(draw):
    yield from _scans(draw)
    x = draw(3, 4)
    x[0, 1] = x[2, 2] = 0
    yield Sample((x, 1))


def _logcumsumexp(x, dim):
    return (
        np.log(np.cumsum(np.exp(x.astype("complex128") if x.dtype.kind == "c" else x.astype("float64")), dim))
        if x.ndim
        else x
    )


def _diffs(draw):
    yield Sample((draw(3, 4),))
    yield Sample((draw(4), 2))
    yield Sample((draw(3, 4), 1, 0))
    yield Sample((draw(2, 3), 1, -1, draw(2, 1), draw(2, 2)))


def _diff(x, n=1, dim=-1, prepend=None, append=None):
    return np.diff(x, n, dim, **{k: v for k, v in (("prepend", prepend), ("append", append)) if v is not None})


def _integrals(draw):
    yield Sample((draw(3, 4),))
    yield Sample((draw(4),), {"dx": 0.5})
    yield Sample((draw(3, 4), draw(4)))
    yield Sample((draw(3, 4), draw(3, 4)), {"dim": 0})


def _trapezoid(y, x=None, *, dx=1.0, dim=-1):
    return np.trapezoid(y, x, dx, dim)


def _cumulative(y, x=None, *, dx=1.0, dim=-1):
    from scipy import integrate

    return integrate.cumulative_trapezoid(y, x, dx, dim)


def _moments(draw):
    yield Sample((draw(2, 3),))
    yield Sample((draw(2, 3), 1))
    yield Sample((draw(2, 3, 2), (0, 2), False, True))
    yield Sample((draw(3, 2),), {"dim": 0, "correction": 2})
    yield Sample((draw(4), False))


def _moment(f):
    def reference(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        return f(x, dim, ddof=int(unbiased) if correction is None else correction, keepdims=keepdim)

    return reference


def _with_mean(f):
    def reference(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
        value = _moment(f)(x, dim, unbiased, keepdim, correction=correction)
        return [value, np.mean(x, None if isinstance(dim, bool) else dim, keepdims=keepdim)]

    return reference


def _fixed(*calls):
    """Calls of a private entry that takes all its arguments."""
    return lambda draw: [Sample((draw(*shape), *rest)) for shape, *rest in calls]


def _observations(draw):
    yield Sample((draw(3, 5),))
    yield Sample((draw(5),), {"correction": 0})
    yield Sample((draw(2, 4),), {"fweights": np.array([1, 2, 1, 3])})
    yield Sample((draw(2, 4),), {"fweights": np.array([1, 2, 1, 3]), "aweights": np.array([0.5, 1, 2, 1.5])})


def _cov(x, *, correction=1, fweights=None, aweights=None):
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights)


def _with_nan(draw):
    x = draw(3, 4)
    x[0, 1] = x[2, 2] = np.nan
    yield Sample((x,))
    yield Sample((x, 1))
    yield Sample((x, (0, 1), True))


def _lengths(draw):
    for p in (2, 1, 3, 0.5, 0, np.inf, -np.inf, -1):
        yield Sample((draw.apart(2, 3), p, 1))
    yield Sample((draw.apart(2, 3), 2))
    yield Sample((draw.apart(2, 3), 2, (0, 1), True))


def _length(x, p=2, dim=None, keepdim=False):
    if dim is None or isinstance(dim, tuple):
        value = np.linalg.norm(x.reshape(-1), p)
        return value.reshape([1] * x.ndim) if keepdim else value
    return np.linalg.norm(x, p, dim, keepdims=keepdim)


def _norms(draw):
    yield Sample((draw.apart(2, 3),))
    yield Sample((draw.apart(2, 3), "fro", (0, 1)))
    yield Sample((draw.apart(2, 3), 1, 0, True))


def _point_sets(draw):
    for p in (2.0, 1.0, 3.0, np.inf):
        points = draw(7, 3)
        yield Sample((points[:3], points[3:], p))
    yield Sample((draw(2, 3, 2), draw(4, 2)))


def _distances(a, b, p=2.0):
    if a.ndim > 2:
        return np.stack([_distances(m, b, p) for m in a])
    return distance.cdist(a, b, "chebyshev") if p == np.inf else distance.cdist(a, b, "minkowski", p=p)


def _two(draw):
    yield Sample((draw(2, 3), draw(2, 3)))
    yield Sample((draw(2, 3), draw(3), 1))


def _renorm(x, p, dim, maxnorm):
    out = np.moveaxis(x.copy(), dim, 0)
    for row in out:
        n = np.linalg.norm(row.reshape(-1), p)
        if n > maxnorm:
            row *= maxnorm / (n + 1e-7)
    return np.moveaxis(out, 0, dim)


def _logsumexp(x, dim, keepdim=False):
    return special.logsumexp(x.astype("complex128" if x.dtype.kind == "c" else "float64"), axis=dim, keepdims=keepdim)


NO_ELEMENTS = ((zeros(0, 3),), RuntimeError, "Expected reduction dim to be specified")
EMPTY_DIM = ((zeros(0, 3), 0), IndexError, "non-zero size")

ROWS = [
    OpInfo(
        "max",
        _overloads,
        _whole_or(np.max, np.argmax, np.maximum),
        dtypes=(*REAL, "int64"),
        out=False,
        errors=(NO_ELEMENTS, EMPTY_DIM),
    ),
    OpInfo(
        "min",
        _overloads,
        _whole_or(np.min, np.argmin, np.minimum),
        dtypes=(*REAL, "int64"),
        out=False,
        errors=(NO_ELEMENTS, EMPTY_DIM),
    ),
    OpInfo(
        "argmax",
        _positions,
        _where(np.argmax),
        dtypes=(*REAL, "int64"),
        grad=False,
        errors=(((zeros(0, 3),), IndexError, "numel"), EMPTY_DIM, ((np.zeros(2, bool),), RuntimeError, "bool")),
    ),
    OpInfo("argmin", _positions, _where(np.argmin), dtypes=(*REAL, "int64"), grad=False),
    OpInfo("aminmax", _keyword_dims, _aminmax, dtypes=(*REAL, "int64"), out=False),
    OpInfo("cummax", _scans, _running(lambda a, b: a >= b), dtypes=(*REAL, "int64"), out=False),
    OpInfo("cummin", _scans, _running(lambda a, b: a <= b), dtypes=(*REAL, "int64"), out=False),
    # scans
    OpInfo("prod", _products, _axis(np.prod), dtypes=(*FLOATS, "int64"), errors=(BAD_DIM,)),
    OpInfo("cumsum", _scans, _scan(np.cumsum), dtypes=(*FLOATS, "int64"), inplace=True, errors=(BAD_DIM,)),
    OpInfo("cumprod", _zeros_too, _scan(np.cumprod), dtypes=(*FLOATS, "int64"), inplace=True, tolerance=2),
    OpInfo("logcumsumexp", _scans, _logcumsumexp, dtypes=FLOATS, tolerance=2),
    OpInfo(
        "diff",
        _diffs,
        _diff,
        dtypes=(*FLOATS, "int64"),
        errors=(((zeros(),), RuntimeError, "at least one-dimensional"),),
    ),
    OpInfo("trapezoid", _integrals, _trapezoid, dtypes=DOUBLE, out=False),
    OpInfo("cumulative_trapezoid", _integrals, _cumulative, dtypes=DOUBLE, out=False),
    OpInfo(
        "gradient",
        lambda draw: [Sample((draw(4, 3),)), Sample((draw(5),), {"edge_order": 2, "spacing": 0.5})],
        lambda x, spacing=1.0, edge_order=1: (
            np.gradient(x, spacing, edge_order=edge_order)
            if x.ndim > 1
            else [np.gradient(x, spacing, edge_order=edge_order)]
        ),
        dtypes=DOUBLE,
        out=False,
        errors=(((zeros(1),), RuntimeError, "at least edge_order"),),
    ),
    # moments
    OpInfo(
        "var",
        _moments,
        _moment(np.var),
        dtypes=FLOATS,
        tolerance=2,
        errors=(((np.arange(3),), RuntimeError, "floating point"),),
    ),
    OpInfo("std", _moments, _moment(np.std), dtypes=FLOATS, tolerance=2),
    OpInfo("var_mean", _moments, _with_mean(np.var), dtypes=FLOATS, tolerance=2, out=False),
    OpInfo("std_mean", _moments, _with_mean(np.std), dtypes=FLOATS, tolerance=2, out=False),
    OpInfo(
        "_var",
        _fixed(((2, 3), (1,), 1, False), ((2, 3), (0, 1), 0, True)),
        lambda x, d, c, k: np.var(x, d, ddof=c, keepdims=k),
        dtypes=WIDE,
        out=False,
    ),
    OpInfo(
        "_std",
        _fixed(((2, 3), (1,), 1, False), ((2, 3), (0, 1), 0, True)),
        lambda x, d, c, k: np.std(x, d, ddof=c, keepdims=k),
        dtypes=WIDE,
        out=False,
    ),
    OpInfo(
        "cov",
        _observations,
        _cov,
        dtypes=WIDE,
        out=False,
        tolerance=4,
        errors=(((zeros(2, 2, 2),), RuntimeError, "two or fewer dimensions"),),
    ),
    OpInfo("corrcoef", lambda draw: [Sample((draw(3, 5),))], np.corrcoef, dtypes=WIDE, out=False, tolerance=8),
    OpInfo(
        "logsumexp",
        lambda draw: [
            Sample((draw(2, 3), 1)),
            Sample((draw(2, 3, 2), (0, 2), True)),
            Sample((draw(4, low=-300, high=300), 0)),
        ],
        _logsumexp,
        dtypes=REAL,
        tolerance=2,
    ),
    OpInfo("nansum", _with_nan, _axis(np.nansum), dtypes=DOUBLE, vmap=False),
    OpInfo("nanmean", _with_nan, _axis(np.nanmean), dtypes=DOUBLE, vmap=False),
    OpInfo(
        "count_nonzero",
        lambda draw: [Sample((draw(2, 3) * (draw(2, 3) > 0),)), Sample((draw(2, 3), 1))],
        np.count_nonzero,
        dtypes=(*FLOATS, "int64", "bool"),
        grad=False,
        out=False,
    ),
    OpInfo(
        "trace",
        _of(((3, 4),), ((0, 2),)),
        np.trace,
        dtypes=(*FLOATS, "int64"),
        errors=(((zeros(2),), RuntimeError, "expected a matrix"),),
    ),
    OpInfo(
        "Tensor.sum_to_size",
        _of(((2, 3), (1, 3)), ((2, 3), (3,)), ((2, 3), ())),
        lambda x, s: x.sum(0, keepdims=len(s) == 2) if s else x.sum(),
        dtypes=DOUBLE,
        out=False,
        errors=(((zeros(2, 3), (2,)), RuntimeError, "not expandable"),),
    ),
    # norms
    OpInfo(
        "linalg.vector_norm",
        _lengths,
        _length,
        dtypes=DOUBLE,
        out=False,
        tolerance=4,
        errors=(((np.arange(3),), RuntimeError, "floating point or complex"),),
    ),
    OpInfo(
        "norm",
        _norms,
        lambda x, p=2, dim=None, keepdim=False: _length(x, 2 if p == "fro" else p, dim, keepdim),
        dtypes=WIDE[:2],
        tolerance=2,
        errors=(((zeros(2), "zz"), RuntimeError, "not supported"),),
    ),
    OpInfo("dist", _two, lambda a, b, p=2: np.linalg.norm((a - b).reshape(-1), p), dtypes=DOUBLE, tolerance=2),
    OpInfo(
        "renorm",
        lambda draw: [Sample((draw.apart(3, 4, gap=0.3), 2, 0, 1.0)), Sample((draw.apart(2, 3), 1, 1, 0.5))],
        _renorm,
        dtypes=DOUBLE,
        tolerance=4,
        inplace=True,
        errors=(((zeros(2, 2), 2, 0, -1.0), RuntimeError, "maxnorm to be >= 0"),),
    ),
    OpInfo(
        "cdist",
        _point_sets,
        _distances,
        dtypes=DOUBLE,
        tolerance=4,
        out=False,
        errors=(((zeros(2, 3), zeros(2, 2)), RuntimeError, "same number of columns"),),
    ),
    OpInfo(
        "_pair_distances",
        lambda draw: [Sample((draw(3, 2), draw(4, 2), 2.0))],
        _distances,
        dtypes=DOUBLE,
        tolerance=4,
        out=False,
    ),
]
