"""Rows of the index family: `framework/ops/indexing.py`, `getitem.py`, `setitem.py`, `index.py`, `scatter.py`,
`masked.py`, `select.py`.
"""

import numpy as np

from . import OpInfo, Sample

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128", "int64")
REAL = ("float64", "float32", "float16", "bfloat16", "int64")
FULL = slice(None)


def _index(*numbers):
    return np.array(numbers, np.int64)


def _calls(*calls):
    """Samples of calls: a shape stands for a tensor of that shape (wrapped in a list), everything else for itself."""

    def samples(draw):
        for call in calls:
            yield Sample(
                tuple(
                    [
                        draw(*a[0]) if isinstance(a, list) and len(a) == 1 and isinstance(a[0], tuple) else a
                        for a in call
                    ]
                )
            )

    return samples


def _row(name, samples, reference, **fields):
    return OpInfo(name, samples, reference, **{"dtypes": FLOATS} | fields)


def _primitive(name, samples, reference, **fields):
    return _row(name, samples, reference, **{"out": False} | fields)


# -------------------------------------------------------------------------------------------------------------
# references
def _rows(dim, index):
    return (*[FULL] * dim, index)


def _index_write(add):
    def reference(x, dim, index, src, alpha=1):
        out = np.array(x)
        dim %= max(x.ndim, 1)
        for k, i in enumerate(np.atleast_1d(index).ravel()):
            part = (
                np.atleast_1d(src).reshape((*x.shape[:dim], -1, *x.shape[dim + 1 :]))[_rows(dim, k)] if x.ndim else src
            )
            at = _rows(dim, i) if x.ndim else ()
            out[at] = out[at] + alpha * part if add else part
        return out

    return reference


def _along(x, dim, index, src, f):
    """f(out, place, k) for each element k of the index, with its place in x."""
    out = np.array(x)
    dim %= max(x.ndim, 1)
    for k in np.ndindex(index.shape):
        f(out, (*k[:dim], index[k], *k[dim + 1 :]), src if np.ndim(src) == 0 else src[k])
    return out


def _gather(x, dim, index, **kwargs):
    dim %= x.ndim
    return np.array([x[(*k[:dim], index[k], *k[dim + 1 :])] for k in np.ndindex(index.shape)], x.dtype).reshape(
        index.shape
    )


def _scatter(x, dim, index, src, **kwargs):
    def put(out, at, v):
        out[at] = v

    return _along(x, dim, index, src, put)


def _scatter_add(x, dim, index, src):
    def put(out, at, v):
        out[at] += v

    return _along(x, dim, index, src, put)


def _scatter_reduce(x, dim, index, src, reduce, include_self=True):
    taken = {}
    dim %= x.ndim
    for k in np.ndindex(index.shape):
        taken.setdefault((*k[:dim], index[k], *k[dim + 1 :]), []).append(src[k])
    out = np.array(x)
    f = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
    for at, values in taken.items():
        value = f(np.array(([x[at]] if include_self else []) + values))
        out[at] = np.floor(value) if x.dtype.kind == "i" else value
    return out


def _extreme(reduce):
    return lambda x, dim, index, src: _scatter_reduce(x, dim, index, src, reduce)


def _masked_scatter(x, mask, src):
    out = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    mask = np.broadcast_to(mask, out.shape)
    out[mask] = src.ravel()[: mask.sum()]
    return out


def _put(x, index, src, accumulate=False):
    out = np.array(x)
    for i, v in zip(index.ravel(), src.ravel()):
        out.ravel()[i] = out.ravel()[i] + v if accumulate else v
    return out


def _index_put(x, indices, values, accumulate=False):
    out = np.array(x)
    key = tuple([FULL if i is None else i for i in indices])
    np.add.at(out, key, values) if accumulate else out.__setitem__(key, values)
    return out


def _written(view):
    def reference(x, src, *args, **kwargs):
        out = np.array(x)
        view(out, *args, **kwargs)[...] = src
        return out

    return reference


def _coordinates(x):
    return np.stack(np.nonzero(x), 1) if x.ndim else np.zeros((int(x != 0), 0), np.int64)


def _filled(x, dim, index, value):
    out = np.array(x).reshape(x.shape or (1,))
    out[_rows(dim, index)] = value
    return out.reshape(x.shape)


def _select(x, dim, index):
    return x[(*_rows(dim % x.ndim, index), ...)]


def _slice(x, dim=0, start=None, end=None, step=1):
    return x[_rows(dim % x.ndim, slice(start, end, step))]


def _diagonal(x, offset=0, dim1=0, dim2=1):
    view = x.diagonal(offset, dim1, dim2)
    view.flags.writeable = True
    return view


# ----------------------------------------------------------------------------------------------------------------
# samples
def _getitem(draw):
    keys = [
        1,
        -1,
        slice(1, None),
        (slice(None, None, 2), 0),
        (..., None, 1),
        None,
        (),
        True,
        ([0, 1, 1],),
        (FULL, _index(2, 0, -1)),
        (_index(0, 1), _index(1, 2)),
        (_index(0, 1), FULL, _index([1, 2], [0, 3])),
        (0, FULL, _index(0, 1)),
        (_index([0, 1]), True),
        (FULL, np.array([True, False, True])),
        (np.array([[True, False, True], [False, True, True]]), slice(1, None)),
        (None, _index(1), None),
        (np.array(1), FULL, _index(0, 0)),
    ]
    for key in keys:
        yield Sample((draw(2, 3, 4), key))
    yield Sample((draw(3), _index([0, 2], [2, 0])))


def _getitem_reference(x, key):
    key = key if isinstance(key, tuple) else (key,)
    ints = [k for k in key if type(k) is int or isinstance(k, np.ndarray) and not k.ndim]
    if ints and any(isinstance(k, np.ndarray) and k.ndim for k in key):  # ints are selected first
        return x[int(key[0])][key[1:]]
    return x[(*key, ...) if ... not in [k for k in key if k is ...] else key]


def _index_samples(draw):
    x = draw(2, 3, 4)
    yield Sample((x, 0, _index(1, 0, 1), draw(3, 3, 4)))
    yield Sample((x, 1, _index(2), draw(2, 1, 4)))
    yield Sample((x, -1, _index(), draw(2, 3, 0)))


def _distinct_samples(draw):
    x = draw(2, 3, 4)
    yield Sample((x, 0, _index(1, 0), draw(2, 3, 4)))
    yield Sample((x, -1, _index(3, 1), draw(2, 3, 2)))


def _primitive_index_samples(draw):
    x = draw(2, 3, 4)
    yield Sample((x, 0, _index(1, 0, 1), draw(3, 3, 4)))
    yield Sample((x, 2, _index([1, 0], [3, 2]), draw(2, 3, 2, 2)))
    yield Sample((x, 1, np.array(2), draw(2, 4)))
    yield Sample((x, 1, _index(-1), draw(2, 1, 4)))


def _distinct_primitive_samples(draw):
    x = draw(2, 3, 4)
    yield Sample((x, 0, _index(1, 0), draw(2, 3, 4)))
    yield Sample((x, 2, _index([1, 0], [3, 2]), draw(2, 3, 2, 2)))
    yield Sample((x, 1, np.array(2), draw(2, 4)))


def _primitive_index_reference(add):
    def reference(x, dim, index, src):
        return _index_write(add)(x, dim, index, src.reshape((*x.shape[:dim], index.size, *x.shape[dim + 1 :])))

    return reference


def _element_samples(draw):
    """(x, dim, index with repetitions, src of its shape)."""
    yield Sample(
        (draw.apart(2, 3) if draw.dtype != "int64" else draw(2, 3), 0, draw.index(2, 4, 3), _other(draw, 4, 3))
    )
    yield Sample(
        (draw.apart(3, 4) if draw.dtype != "int64" else draw(3, 4), 1, draw.index(4, 2, 3), _other(draw, 2, 3))
    )


def _other(draw, *shape):
    if draw.dtype == "int64":
        return draw(*shape)
    return (draw.apart(*shape) + 0.043).astype(draw.apart(1).dtype)


def _distinct_elements(draw):
    yield Sample((draw(3, 2), 0, _index([2, 0], [1, 1]), draw(2, 2)))
    yield Sample((draw(2, 4), -1, _index([3, 0, 1]), draw(1, 3)))


def _reads(draw):
    yield Sample((draw(2, 3), 0, draw.index(2, 4, 3)))
    yield Sample((draw(2, 3, 4), -1, draw.index(4, 2, 2, 5)))
    yield Sample((draw(3), 0, _index(2, 2)))


def _larger_source(draw):
    yield from _distinct_elements(draw)
    yield Sample((draw(3, 2), 0, _index([2, 0]), draw(3, 4)))
    yield Sample((draw(3, 2), 1, _index([1]), 0.5 if draw.dtype != "int64" else 3))


def _adds(draw):
    yield from _element_samples(draw)
    yield Sample((draw(3, 2), 0, _index([2, 0]), draw(3, 4)))


def _reductions(draw):
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for keep in (True, False):
            for sample in _element_samples(draw):
                yield Sample((*sample.args, reduce), {"include_self": keep})


def _slice_reductions(draw):
    for reduce in ("prod", "mean", "amax", "amin"):
        for keep in (True, False):
            x, dim, _, _ = next(iter(_element_samples(draw))).args
            yield Sample((x, dim, _index(1, 1, 0), _other(draw, 3, 3), reduce), {"include_self": keep})


def _index_reduce(x, dim, index, src, reduce, include_self=True):
    index = np.broadcast_to(index.reshape([-1 if d == dim else 1 for d in range(x.ndim)]), src.shape)
    return _scatter_reduce(x, dim, index, src, reduce, include_self)


def _products(draw):
    yield from _element_samples(draw)
    if draw.dtype != "int64":
        x, dim, index, src = next(iter(_element_samples(draw))).args
        x, src = x.copy(), src.copy()
        x[0, 0] = src[1, 1] = src[2, 2] = src[3, 2] = 0
        yield Sample((x, dim, index, src))


def _masks(draw):
    yield Sample((draw(2, 3), draw.rng.random((2, 3)) < 0.5, 1.5 if draw.dtype != "int64" else 2))
    yield Sample((draw(2, 3), draw.rng.random(3) < 0.5, draw()))
    yield Sample((draw(3), draw.rng.random((2, 1)) < 0.5, draw()))


def _selections(draw):
    for x, mask in (((2, 3), (2, 3)), ((2, 3), (3,)), ((3,), (2, 1)), ((), ())):
        yield Sample((draw(*x), np.asarray(draw.rng.random(mask) < 0.6)))


def _sources(draw):
    for sample in _selections(draw):
        yield Sample((*sample.args, draw(3, 4)))


def _sparse(draw):
    for shape in ((), (4,), (2, 3), (2, 0)):
        x = draw(*shape)
        yield Sample((np.where(draw.rng.random(shape) < 0.5, x, np.zeros_like(x)),))


def _flat(draw):
    yield Sample((draw(2, 3), _index([0, -1], [4, 4])))
    yield Sample((draw(4), np.array(2)))


def _puts(draw):
    yield Sample((draw(2, 3), _index([0, -1], [4, 2]), draw(4)))
    yield Sample((draw(2, 3), _index(4, 0, 4), draw(3), True))


def _takes(draw):
    x = draw(2, 3)
    yield Sample((x, np.argsort(x.real if draw.dtype == "complex128" else x, 1), 1))
    yield Sample((x, _index([-1, 0, 1]), 0))
    yield Sample((x, _index([2], [0]), -1))
    yield Sample((x, _index(5, 0)))


def _tuples(draw):
    yield Sample((draw(3, 4), (_index(0, 2),), draw(2, 4)))
    yield Sample((draw(2, 3, 4), (_index(0, 1), _index(2, -1)), draw(4)))
    yield Sample((draw(2, 3, 4), (_index(0, 1), None, _index([3], [1])), draw(2, 2, 3)))
    yield Sample((draw(2, 3, 4), (None, _index(2, 0)), draw(2, 2, 1)))
    yield Sample((draw(3, 4), (_index(0, 0), _index(1, 1)), draw(2), True))
    yield Sample((draw(3, 4), (_index(0, 0, 2),), draw(3, 1), True))
    yield Sample((draw(3, 4), (np.array([True, False, True]),), draw(2, 4)))


def _tuple_reference(x, indices, values, accumulate=False):
    return _index_put(x, indices, values, accumulate)


X = np.arange(6.0).reshape(2, 3)
OUT_OF_RANGE = r"index (2|-1) is out of bounds for dimension 0 with size 2"

ROWS = [
    # primitives
    _primitive(
        "_index_select",
        _calls(
            ([(2, 3, 4)], 0, _index(1, 0, 1)), ([(2, 3, 4)], 2, _index([1, 0], [3, -1])), ([(2, 3)], 1, np.array(2))
        ),
        lambda x, dim, index: np.take(x, index, dim),
        errors=(((X, 0, _index(2)), IndexError, "out of bounds"),),
    ),
    _primitive("_index_add", _primitive_index_samples, _primitive_index_reference(True)),
    _primitive("_index_copy", _distinct_primitive_samples, _primitive_index_reference(False)),
    _primitive("_gather", _reads, _gather, errors=(((X, 0, _index([2])), RuntimeError, OUT_OF_RANGE),)),
    _primitive("_scatter", _distinct_elements, _scatter),
    _primitive("_scatter_add", _element_samples, _scatter_add, dtypes=REAL),
    _primitive("_scatter_amax", _element_samples, _extreme("amax"), dtypes=REAL),
    _primitive("_scatter_amin", _element_samples, _extreme("amin"), dtypes=REAL),
    _primitive("_scatter_prod", _products, _extreme("prod"), dtypes=REAL, tolerance=8, second=False),
    _primitive("_nonzero", _sparse, _coordinates, grad=False, vmap=False),
    _primitive("_positions", _sparse, np.flatnonzero, grad=False, vmap=False),
    # x[key]
    _row("Tensor.__getitem__", _getitem, _getitem_reference, out=False),
    _row(
        "index_put",
        _tuples,
        _tuple_reference,
        inplace=True,
        errors=(
            ((X, (_index(2),), np.zeros(3)), IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
            ((X, (_index(0),) * 3, np.zeros(3)), IndexError, "too many indices for tensor of dimension 2"),
            ((X, (_index(0, 1),), np.zeros(2)), RuntimeError, "shape mismatch: value tensor of shape"),
            (
                (X, (_index(0),), np.zeros(3, np.int64)),
                RuntimeError,
                "Index put requires the source and destination dtypes match",
            ),
            ((X, _index(0), np.zeros(3)), TypeError, "must be tuple of Tensors"),
            ((X, (0,), np.zeros(3)), TypeError, "expected Tensor as element 0"),
        ),
    ),
    # along one dimension
    _row(
        "index_select",
        _calls(
            ([(2, 3, 4)], 0, _index(1, 0, 1)),
            ([(2, 3)], -1, _index()),
            ([(2, 3)], 1, np.array(2)),
            ([()], 0, _index(0)),
        ),
        lambda x, dim, index: np.take(x, np.atleast_1d(index), dim) if x.ndim else x,
        errors=(
            ((X, 0, _index(2)), IndexError, "index out of range in self"),
            ((X, 0, _index(-1)), IndexError, "index out of range in self"),
            ((X, 0, _index([0])), IndexError, "Index is supposed to be a vector"),
            ((X, 2, _index(0)), IndexError, "Dimension out of range"),
            ((X, 0, X[0]), RuntimeError, "Expected dtype int32 or int64 for index"),
            ((X, 0, [0]), TypeError, "must be Tensor, not list"),
        ),
    ),
    _row(
        "index_add",
        _index_samples,
        _index_write(True),
        inplace=True,
        errors=(
            ((X, 0, _index(2), X[:1]), RuntimeError, OUT_OF_RANGE),
            ((X, 0, _index(-1), X[:1]), RuntimeError, OUT_OF_RANGE),
            (
                (X, 0, _index(0, 1), X[:1]),
                RuntimeError,
                r"Number of indices \(2\) should be equal to source.size\(dim\): \(1\)",
            ),
            ((X, 0, _index(0), X[:1, :2]), RuntimeError, "source tensor shape must match self tensor shape"),
            (
                (X, 0, _index(0), X[:1].astype("int64")),
                RuntimeError,
                r"self \(Double\) and source \(Long\) must have the same scalar type",
            ),
        ),
    ),
    _row(
        "index_copy",
        _distinct_samples,
        _index_write(False),
        inplace=True,
        errors=(
            ((X, 0, _index(2), X[:1]), IndexError, OUT_OF_RANGE),
            ((X, 0, _index(0), X[0]), IndexError, "their dimensionality must match"),
            ((X, 0, _index(0, 1), X[:1]), IndexError, "Number of indices"),
            ((X, 0, _index(0), X[:1, :2]), RuntimeError, "must have same slice shapes"),
            ((X, 0, _index(0).astype("int32"), X[:1]), RuntimeError, "Expected a long tensor for index"),
        ),
    ),
    _row(
        "index_fill",
        _calls(([(2, 3)], 0, _index(1), 2), ([(2, 3)], 1, _index(-1, 0), [()]), ([()], 0, _index(0), 3)),
        _filled,
        inplace=True,
        errors=(
            ((X, 0, _index(2), 1), IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
            ((X, 0, _index(0), X[0]), RuntimeError, "only supports a 0-dimensional value tensor"),
            ((X, 0, _index(0), 1j), RuntimeError, "Converting complex Scalar to non-complex type"),
        ),
    ),
    _row(
        "take",
        _flat,
        lambda x, index: x.ravel()[index],
        errors=(
            ((X, _index(6)), IndexError, "index 6"),
            ((X, _index(-7)), IndexError, "index -7"),
            ((X[:0], _index(0)), IndexError, "tried to take from an empty tensor"),
        ),
    ),
    _row(
        "put",
        _puts,
        _put,
        inplace=True,
        errors=(
            ((X, _index(6), X[0, :1]), IndexError, "tried to access index 6 on a tensor of 6 elements"),
            ((X, _index(0, 1), X[0]), IndexError, "same number of elements"),
        ),
    ),
    # single elements
    _row(
        "gather",
        _reads,
        _gather,
        errors=(
            ((X, 0, _index([2])), RuntimeError, OUT_OF_RANGE),
            ((X, 0, _index([-1])), RuntimeError, OUT_OF_RANGE),
            ((X, 0, _index(0)), RuntimeError, "Index tensor must have the same number of dimensions as input tensor"),
            ((X, 0, _index([0, 0, 0, 0])), RuntimeError, "Size does not match at dimension 1"),
            ((X, 0, X), RuntimeError, "Expected dtype int32/int64 for index"),
        ),
    ),
    _row(
        "scatter",
        _larger_source,
        _scatter,
        inplace=True,
        errors=(
            ((X, 0, _index([2]), X), RuntimeError, OUT_OF_RANGE),
            ((X, 0, _index([-1]), 1.0), RuntimeError, OUT_OF_RANGE),
            ((X, 0, _index([0, 0, 0, 0]), np.zeros((1, 4))), RuntimeError, "to be no larger than self"),
            ((X, 0, _index([0, 0]), np.zeros((1, 1))), RuntimeError, "to be no larger size than src"),
            (
                (X, 0, _index([0]), np.zeros((1, 1), np.int64)),
                RuntimeError,
                "Expected self.dtype to be equal to src.dtype",
            ),
        ),
    ),
    _row(
        "scatter_add",
        _adds,
        _scatter_add,
        dtypes=REAL,
        inplace=True,
        errors=(
            ((X, 0, _index([2]), X), RuntimeError, OUT_OF_RANGE),
            ((X, 0, _index([0]), 1.0), TypeError, "must be Tensor, not float"),
        ),
    ),
    _row(
        "scatter_reduce",
        _reductions,
        _scatter_reduce,
        dtypes=REAL,
        tolerance=8,
        second=False,
        errors=(
            (
                (X, 0, _index([0]), X, "add"),
                RuntimeError,
                "reduce argument must be either sum, prod, mean, amax or amin, got add",
            ),
        ),
    ),
    _row(
        "index_reduce",
        _slice_reductions,
        _index_reduce,
        dtypes=REAL,
        tolerance=8,
        second=False,
        errors=(
            (
                (X, 0, _index(0), X[:1], "sum"),
                RuntimeError,
                "Expected reduce to be one of prod, mean, amax or amin but got sum",
            ),
            ((X, 0, _index(2), X[:1], "prod"), IndexError, "index 2 is out of bounds"),
        ),
    ),
    _row(
        "take_along_dim",
        _takes,
        lambda x, index, dim=None: np.take_along_axis(
            *(
                (x.ravel(), index.ravel(), 0)
                if dim is None
                else (
                    np.broadcast_to(
                        x, [n if d == dim % 2 else max(n, m) for d, (n, m) in enumerate(zip(x.shape, index.shape))]
                    ),
                    np.broadcast_to(
                        index, [m if d == dim % 2 else max(n, m) for d, (n, m) in enumerate(zip(x.shape, index.shape))]
                    ),
                    dim,
                )
            )
        ),
        errors=(
            ((X, _index([2]), 0), RuntimeError, "index 2 is out of bounds"),
            ((X, _index(0), 0), RuntimeError, "same number of dimensions"),
        ),
    ),
    # masks
    _row(
        "masked_fill",
        _masks,
        lambda x, mask, v: np.where(mask, np.asarray(v).astype(x.dtype), x),
        inplace=True,
        errors=(
            ((X, X, 1.0), RuntimeError, "only supports boolean masks"),
            ((X, X > 1, X[0]), RuntimeError, "only supports a 0-dimensional value tensor"),
            ((X, X > 1, 1j), RuntimeError, "cannot be converted to type float64 without overflow"),
            ((X, X > 1, "a"), TypeError, "can't assign a str"),
        ),
    ),
    _row(
        "masked_select",
        _selections,
        lambda x, mask: np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape))[
            np.broadcast_to(mask, np.broadcast_shapes(x.shape, mask.shape))
        ],
        errors=(((X, X), RuntimeError, "expected BoolTensor for mask"),),
    ),
    _row(
        "masked_scatter",
        _sources,
        _masked_scatter,
        inplace=True,
        errors=(
            ((X, X > 0, X[0, :1]), RuntimeError, "Number of elements of source < number of ones in mask"),
            ((X, X > 0, X.astype("int64")), RuntimeError, "expected self and source to have same dtypes"),
        ),
    ),
    _row("nonzero", _sparse, _coordinates, grad=False, vmap=False),
    _row("argwhere", _sparse, _coordinates, grad=False, vmap=False),
    # views, and writes through them
    _row(
        "select",
        _calls(([(2, 3)], 0, 1), ([(2, 3)], -1, -1)),
        _select,
        out=False,
        errors=(
            ((X, 0, 2), IndexError, r"select\(\): index 2 out of range for tensor of size \[2, 3\] at dimension 0"),
            ((np.array(1.0), 0, 0), IndexError, "cannot be applied to a 0-dim tensor"),
        ),
    ),
    _row(
        "narrow",
        _calls(([(4, 3)], 0, 1, 2), ([(2, 3)], -1, -2, 1), ([(2, 3)], 0, 2, 0)),
        lambda x, dim, start, n: x[
            _rows(dim % 2, slice(start % (x.shape[dim] + 1) if start >= 0 else start + x.shape[dim], None))
        ][_rows(dim % 2, slice(0, n))],
        out=False,
        errors=(
            ((X, 0, 0, 3), RuntimeError, r"start \(0\) \+ length \(3\) exceeds dimension size \(2\)"),
            ((X, 0, 3, 0), IndexError, "start out of range"),
            ((X, 0, 0, -1), RuntimeError, "length must be non-negative"),
        ),
    ),
    _row(
        "narrow_copy",
        _calls(
            ([(4, 3)], 0, 1, 2),
        ),
        lambda x, dim, start, n: x[start : start + n],
    ),
    _row(
        "select_scatter",
        _calls(([(2, 3)], [(3,)], 0, 1), ([(2, 3)], [(2,)], -1, -1)),
        _written(_select),
        errors=(((X, X, 0, 1), RuntimeError, "expected src to have a size equal to the slice of self"),),
    ),
    _row(
        "slice_scatter",
        _calls(([(4, 3)], [(2, 3)], 0, 1, 3), ([(2, 3)], [(2, 2)], 1, None, None, 2), ([(2, 3)], [(2, 3)])),
        _written(_slice),
        errors=(((X, X, 0, 0, 2, 0), RuntimeError, "slice step must be positive"),),
    ),
    _row(
        "diagonal_scatter",
        _calls(([(3, 4)], [(3,)]), ([(2, 3, 4)], [(3, 2)], 1, 0, 2)),
        _written(_diagonal),
        errors=(((X, X), RuntimeError, "expected src to have a size equal to the slice of self"),),
    ),
]
