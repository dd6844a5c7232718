"""Rows of `framework/ops/pool.py` and `framework/ops/adaptive_pool.py`."""

from itertools import product

import numpy as np

from tests.references import windows as reference

from . import OpInfo, Sample

REAL = ("float64", "float32", "float16", "bfloat16")
SIZE = (7, 6, 4)


def _spread(value, dims):
    return (value,) * dims if isinstance(value, int) else tuple(value)


def _images(f, dims):
    """A reference for batches as one for single images too."""

    def one_or_many(x, *args, **kwargs):
        if x.ndim == dims + 2:
            return f(x, *args, **kwargs)
        y = f(x[None], *args, **kwargs)
        return [o[0] for o in y] if isinstance(y, (list, tuple)) else y[0]

    return one_or_many


def _max(dims, both=False):
    def f(x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=both):
        places = [_spread(v, dims) for v in (kernel, kernel if stride is None else stride, padding, dilation)]
        values, index = reference.largest(x, *places, ceil_mode)
        return (values, index) if return_indices else values

    return _images(f, dims)


def _mean(dims):
    def f(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        kernel, stride, padding = (_spread(v, dims) for v in (kernel, kernel if stride is None else stride, padding))
        y = reference.sums(x, kernel, stride, padding, ceil_mode)
        if divisor_override is not None:
            return y / divisor_override
        # zeros do not add to a sum, so a pool over ones, padded by ones if they count, counts
        ones = np.ones((1, 1, *x.shape[2:]))
        if count_include_pad:
            ones = np.pad(ones, ((0, 0), (0, 0), *[(p, p) for p in padding]), constant_values=1)
            padding = (0,) * dims
            count = np.zeros((1, 1, *y.shape[2:]))
            for place in product(*map(range, y.shape[2:])):
                box = tuple(slice(o * s, o * s + k) for o, s, k in zip(place, stride, kernel, strict=True))
                count[(0, 0, *place)] = ones[(0, 0, *box)].sum()
            return y / count
        return y / reference.sums(ones, kernel, stride, padding, ceil_mode)

    return _images(f, dims)


def _norm(dims):
    def f(x, p, kernel, stride=None, ceil_mode=False):
        kernel, stride = (_spread(v, dims) for v in (kernel, kernel if stride is None else stride))
        return reference.sums(x.astype("float64") ** p, kernel, stride, (0,) * dims, ceil_mode) ** (1 / p)

    return _images(f, dims)


def _adaptive(dims, reduce):
    def f(x, output_size, **unused):
        wanted = (output_size,) * dims if isinstance(output_size, int) else output_size
        out = tuple(n if o is None else o for n, o in zip(x.shape[2:], wanted, strict=True))
        y = np.empty((*x.shape[:2], *out), "float64")
        for place, key in reference.adaptive_windows(x.shape[2:], out):
            y[(slice(None), slice(None), *place)] = reduce(x[(slice(None), slice(None), *key)], tuple(range(2, x.ndim)))
        return y

    return _images(f, dims)


def _adaptive_places(dims):
    values = _adaptive(dims, np.max)

    def f(x, output_size):
        batch = x if x.ndim == dims + 2 else x[None]
        best = values(batch, output_size)
        index = np.empty(best.shape, np.int64)
        numbers = np.arange(np.prod(batch.shape[2:])).reshape(batch.shape[2:])
        for place, key in reference.adaptive_windows(batch.shape[2:], best.shape[2:]):
            for n, c in np.ndindex(batch.shape[:2]):
                index[(n, c, *place)] = numbers[key].ravel()[batch[(n, c, *key)].argmax()]
        return [v if x.ndim == dims + 2 else v[0] for v in (best, index)]

    return f


def _unpooled(dims):
    def f(x, index, kernel, stride=None, padding=0, output_size=None):
        kernel, stride, padding = (_spread(v, dims) for v in (kernel, kernel if stride is None else stride, padding))
        rule = zip(x.shape[2:], stride, padding, kernel, strict=True)
        size = output_size or tuple((n - 1) * s - 2 * p + k for n, s, p, k in rule)
        y = np.zeros((*x.shape[:2], np.prod(size)), x.dtype)
        for n, c in np.ndindex(x.shape[:2]):
            y[n, c, index[n, c].ravel()] = x[n, c].ravel()
        return y.reshape(*x.shape[:2], *size)

    return f


# ------------------------------------------------------------------------------------ samples
def _maxima(dims, *more):
    size = SIZE[-dims:]

    def samples(draw):
        yield Sample((draw.apart(2, 2, *size), 2))
        yield Sample((draw.apart(2, *size), 3, 2, 1, 1, True))
        yield Sample((draw.apart(1, 1, *size), (2,) * dims, 1, 1, 2))

    return samples


def _means(dims):
    size = SIZE[-dims:]

    def samples(draw):
        yield Sample((draw(2, 2, *size), 2))
        yield Sample((draw(2, *size), 3, 2, 1))
        yield Sample((draw(1, 1, *size), 3, 2, 1, True, False))
        yield Sample((draw(1, 1, *size), (3,) * dims), {"stride": 2, "ceil_mode": True})
        if dims > 1:
            yield Sample((draw(1, 1, *size), 2), {"divisor_override": 3})

    return samples


def _norms(dims):
    def samples(draw):
        yield Sample((draw(1, 2, *SIZE[-dims:], low=0.2), 3, 2))
        yield Sample((draw(2, *SIZE[-dims:], low=0.2), 1.5, 2, 1))

    return samples


def _fitted(dims, drawn):
    size = SIZE[-dims:]

    def samples(draw):
        make = getattr(draw, drawn)
        yield Sample((make(2, 2, *size), 2))
        yield Sample((make(2, *size), 3))
        yield Sample((make(1, 1, *size), (5,) * dims))
        if dims > 1:
            yield Sample((make(1, 1, *size), (None,) + (2,) * (dims - 1)))

    return samples


def _places(dims):
    def samples(draw):
        size, pooled = (4, 4, 4)[:dims], (2,) * dims
        values, index = reference.largest(draw.apart(2, 2, *size), pooled, pooled, (0,) * dims, (1,) * dims, False)
        yield Sample((values, index, 2))
        yield Sample((values, index, 2, 2, 0, (5,) * dims if dims == 1 else (4,) * dims))

    return samples


def _planes(draw):
    for rule in (((2,), (2,), (0,), (1,), False), ((3,), (2,), (1,), (1,), True), ((2,), (1,), (1,), (2,), False)):
        yield Sample((draw.apart(2, 2, 6), *rule))
    yield Sample((draw.apart(1, 2, 5, 4), (2, 3), (2, 1), (0, 1), (1, 1), True))


def _sums(draw):
    yield Sample((draw(2, 2, 6), (2,), (2,), (0,), False))
    yield Sample((draw(1, 2, 5, 4), (2, 3), (2, 1), (0, 1), True))


def _spreads(draw):
    yield Sample((draw(2, 2, 3), (2,), (2,), (0,), False, (6,)))
    yield Sample((draw(1, 2, 3, 4), (2, 3), (2, 1), (0, 1), True, (5, 4)))


# ------------------------------------------------------------------------------------ errors
X = np.zeros((2, 4, 8, 8))


def _errors(name):
    return (
        ((np.zeros(8), 2), RuntimeError, r"Expected 3D or 4D \(batch mode\) tensor"),
        ((np.zeros((2, 0, 8, 8)), 2), RuntimeError, "non-zero size for non-batch dimensions"),
        ((X, 0), RuntimeError, "greater than zero"),
        ((X, 2, -1), RuntimeError, "stride should be greater than zero"),
        ((X, 2, 1, 2), RuntimeError, "padding should be at most half of kernel size"),
        ((X, 2, 1, -1), RuntimeError, "must be non-negative"),
        ((X, 9), RuntimeError, "Output size is too small"),
        ((X, (2, 2, 2)), RuntimeError, "kernel_size must be a single int, or a tuple of two ints"),
        ((X, 2.5), TypeError, "must be int"),
        (([1.0], 2), TypeError, "must be Tensor, not list"),
        ((X.astype("complex64"), 2), NotImplementedError, f"\"{name}.*\" not implemented for 'ComplexFloat'"),
    )


MAX_ERRORS = (*_errors("max_pool"), ((X, 2, 1, 0, 0), RuntimeError, "dilation should be greater than zero"))
AVG_ERRORS = (*_errors("avg_pool2d"), ((X, 2, 2, 0, False, True, 0), RuntimeError, "divisor must be not zero"))
ADAPTIVE_ERRORS = (
    ((np.zeros(8), 3), RuntimeError, "Expected 3D or 4D tensor"),
    ((X, (3, 3, 3)), RuntimeError, "output_size must"),
    ((X, -1), RuntimeError, "greater than or equal to 0"),
    ((np.zeros((2, 4, 0, 0)), 3), RuntimeError, "non-zero size for non-batch dimensions"),
    ((X.astype("int64"), 3), NotImplementedError, "not implemented for 'Long'"),
)
P = np.zeros((1, 1, 2, 2))
UNPOOL_ERRORS = (
    ((P, np.full((1, 1, 2, 2), 99), 2), RuntimeError, "Found an invalid max index: 99"),
    ((P, np.zeros((1, 1, 2), "int64"), 2), RuntimeError, "same as that of the input tensor"),
    ((P, np.zeros((1, 1, 2, 2), "int32"), 2), RuntimeError, "int64"),
    ((P, np.zeros((1, 1, 2, 2), "int64"), 2, 2, 0, (9, 9)), ValueError, "invalid output_size"),
    ((P, np.zeros((1, 1, 2, 2), "int64"), 2, 2, 0, (4,)), ValueError, "containing 2 or 4 elements"),
)

NN = "nn.functional."
ROWS = [
    OpInfo("_max_pool", _planes, reference.largest, dtypes=(*REAL, "int64"), out=False),
    OpInfo("_avg_pool_sum", _sums, reference.sums, dtypes=("float64", "float32", "complex128", "int64"), out=False),
    OpInfo("_avg_pool_spread", _spreads, reference.spread, dtypes=("float64", "float32", "complex128"), out=False),
]
for _n in (1, 2, 3):
    ROWS += [
        OpInfo(f"{NN}max_pool{_n}d", _maxima(_n), _max(_n), dtypes=REAL, errors=MAX_ERRORS if _n == 2 else ()),
        OpInfo(f"{NN}max_pool{_n}d_with_indices", _maxima(_n), _max(_n, True), dtypes=REAL),
        OpInfo(f"{NN}avg_pool{_n}d", _means(_n), _mean(_n), dtypes=REAL, errors=AVG_ERRORS if _n == 2 else ()),
        OpInfo(f"{NN}lp_pool{_n}d", _norms(_n), _norm(_n), dtypes=("float64", "float32"), tolerance=4),
        OpInfo(f"{NN}adaptive_avg_pool{_n}d", _fitted(_n, "__call__"), _adaptive(_n, np.mean),
               errors=ADAPTIVE_ERRORS if _n == 2 else ()),
        OpInfo(f"{NN}adaptive_max_pool{_n}d", _fitted(_n, "apart"), _adaptive(_n, np.max), dtypes=REAL,
               errors=ADAPTIVE_ERRORS if _n == 2 else ()),
        OpInfo(f"{NN}adaptive_max_pool{_n}d_with_indices", _fitted(_n, "apart"), _adaptive_places(_n), dtypes=REAL),
        OpInfo(f"{NN}max_unpool{_n}d", _places(_n), _unpooled(_n), dtypes=REAL,
               errors=UNPOOL_ERRORS if _n == 2 else ()),
    ]  # fmt: skip
