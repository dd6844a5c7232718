"""Search in sorted sequences, and histograms."""

from __future__ import annotations

from math import prod

from backends.dtypes import float32, float64, int32, int64
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_ints
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Index, Num
from framework.ops.results import named, positions


# ---------------------------------------------------------------- search
def _search_batch(fn, size, flags, args):
    x, values, right = args
    x = x if flags[0] else T.expand(x, (size, *x.shape))
    values = values if flags[1] else T.expand(values, (size, *values.shape))
    if x.ndim == 2 and values.ndim != 2:
        return T.reshape(fn(x, T.reshape(values, (size, -1)), right), tuple(values.shape))
    return fn(x, values, right)


@op(opaque=True, exact=True, accept="biuf", dtype=int64, batch=_search_batch, spaces=())
def searchsorted(xp, input: Num, other: Num, right):
    """Where each value would stand in the sorted last dimension: a vector for all, or one row for each row of
    values.
    """
    return xp.searchsorted(input, other, right)


found_in = T.searchsorted


def _search(name, boundaries, values, right, out_int32, sorter=None):
    scalar = not isinstance(values, Tensor)
    if scalar:
        b = boundaries.backend
        d = boundaries.dtype if boundaries.dtype.category > 1 or isinstance(values, int) else float32
        values = make(b, b.full((), values, d), d)
    if boundaries.ndim != 1 and (
        values.ndim != boundaries.ndim or tuple(values.shape[:-1]) != tuple(boundaries.shape[:-1])
    ):
        raise RuntimeError(
            f"{name}(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and "
            f"input value tensor must match, but we got boundaries tensor {list(boundaries.shape)} and input value "
            f"tensor {list(values.shape)}"
        )
    if not scalar and boundaries.dtype is not values.dtype:
        raise RuntimeError(
            f"{name}(): boundary tensor and input value tensor should have same dtype, but got boundary tensor's "
            f"dtype {scalar_type_name(boundaries.dtype)} and input value tensor's dtype "
            f"{scalar_type_name(values.dtype)}"
        )
    if boundaries.dtype.is_complex:
        raise RuntimeError(f"{name}(): boundary tensor of complex dtype is not supported")
    if sorter is not None:
        if sorter.dtype is not int64:
            raise RuntimeError(
                f"{name}(): sorter must be a tensor of long dtype but got dtype {scalar_type_name(sorter.dtype)}"
            )
        if tuple(sorter.shape) != tuple(boundaries.shape):
            raise RuntimeError(
                f"{name}(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(boundaries.shape)} and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.numel() and (int(sorter.min()) < 0 or int(sorter.max()) >= sorter.shape[-1]):
            raise RuntimeError(f"{name}(): sorter index out of range")
        boundaries = T.gather(boundaries, boundaries.ndim - 1, sorter)
    out = found_in(boundaries, values, right)
    return T.to_dtype(out, int32) if out_int32 else out


@op(composite=True, method=False)
def searchsorted(sorted_sequence: Num, input, *, out_int32=False, right=False, side=None, sorter: Index = None):
    """Where each value would have to be inserted into the sorted last dimension to keep its order: before equal
    elements, or after them if `right` (or side="right"). One vector for all values, or one row for each row of values.

    sorter: int64 indices that sort the sequence, if it is not sorted.
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
    if side == "left" and right:
        raise RuntimeError(
            "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
        )
    if not isinstance(input, Tensor) and sorted_sequence.ndim != 1:
        raise RuntimeError(
            "torch.searchsorted(): input value can be a scalar only when boundaries tensor dimension is 1, but we "
            f"got boundaries tensor dim({sorted_sequence.ndim}) and input value's dim(0) numel(1)"
        )
    return _search("torch.searchsorted", sorted_sequence, input, right or side == "right", out_int32, sorter)


@op(composite=True, method=False)
def bucketize(input, boundaries: Num, *, out_int32=False, right=False):
    """The number of the bucket of each value between sorted boundaries: how many boundaries are below it (not above it,
    if `right`).
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return _search("torch.searchsorted", boundaries, input, right, out_int32)


# ---------------------------------------------------------------- counts
@op(composite=True)
def bincount(input: Num, weights=None, minlength=0):
    """How often each number 0, 1, ... occurs in a vector of integers, up to the largest or `minlength`; or the sums of
    its weights.
    """
    if input.ndim != 1 or input.dtype.category != 1:
        raise RuntimeError(f"bincount only supports 1-d non-negative integral inputs, got {list(input.shape)} of "
                           f"{scalar_type_name(input.dtype)}")  # fmt: skip
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    n = input.numel()
    if n and int(input.min()) < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and tuple(weights.shape) != tuple(input.shape):
        raise RuntimeError("weights should be 1-d and have the same length as input")
    size = max(int(input.max()) + 1 if n else 0, minlength)
    index = T.to_dtype(input, int64) if input.dtype is not int64 else input
    if weights is None:
        weights = T.full((n,), 1, positions(input, 0))
    elif weights.dtype not in (float32, float64):
        weights = T.to_dtype(weights, float64)
    return T.index_add(T.full((size,), 0, weights), 0, index, weights).detach()


def _span(name, input, low, high):
    """The range of a histogram: as given, else that of the elements; widened where it is a point."""
    if low == high and input.numel():
        low, high = input.min().item(), input.max().item()
    if low == high:
        low, high = low - 1, high + 1
    if not (abs(low) < float("inf") and abs(high) < float("inf")):
        raise RuntimeError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"{name}: max must be larger than min")
    return low, high


@op(composite=True)
def histc(input: Num, bins=100, min=0, max=0):
    """How many elements lie in each of `bins` equal parts of [min, max] (of the elements' own range if both are 0)."""
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    if input.dtype.category in (0, 3):
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{scalar_type_name(input.dtype)}'")
    low, high = _span("torch.histc", input, _plain(min), _plain(max))
    x = T.reshape(input, (-1,)).detach()
    inside = T.logical_and(T.ge(x, low), T.le(x, high))
    place = T.floor(T.mul(T.sub(T.to_dtype(x, float64), low), bins / (high - low)))
    place = T.clamp(T.to_dtype(T.where(inside, place, T.full((), 0, place)), int64), 0, bins - 1)
    ones = T.astype(inside, input.dtype)
    return T.index_add(T.full((bins,), 0, ones), 0, place, ones)


def _plain(x):
    return x.item() if isinstance(x, Tensor) else x


HISTOGRAM, HISTOGRAMDD = named("histogram", "hist", "bin_edges"), named("histogramdd", "hist", "bin_edges")


def _edges(name, x, bins, low, high, like):
    """Sorted bin edges along one dimension: a tensor given, or so many equal bins over the range."""
    if isinstance(bins, Tensor):
        if bins.ndim != 1 or not bins.numel():
            raise RuntimeError(
                f"{name}(): bins tensor should have one dimension and at least one element, but got {list(bins.shape)}"
            )
        if bins.dtype is not like.dtype:
            raise RuntimeError(
                f"{name}(): bins tensor and input tensor should have the same dtype, but got bins with dtype "
                f"{scalar_type_name(bins.dtype)} and input with dtype {scalar_type_name(like.dtype)}"
            )
        return bins.detach()
    if bins <= 0:
        raise RuntimeError(f"{name}(): bins must be > 0, but got {bins}")
    from framework.ops.ranges import linspace

    return linspace(low, high, bins + 1, dtype=like.dtype, device=like.device)


def _limits(name, x, given):
    if given is not None:
        low, high = given
        if not (abs(low) < float("inf") and abs(high) < float("inf")):
            raise RuntimeError(f"{name}(): range [{low}, {high}] is not finite")
        if low > high:
            raise RuntimeError(f"{name}(): min should not exceed max, but got min {low} max {high}")
    else:
        low, high = (x.min().item(), x.max().item()) if x.numel() else (0.0, 1.0)
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _counted(name, points, edges, weight, density):
    """Points (count, dims) by the cells between edges, as a tensor of one dimension a coordinate."""
    shape = tuple([e.shape[0] - 1 for e in edges])
    inside, cell = None, None
    for d, e in enumerate(edges):
        x = T.slice(points, (slice(None), d))
        within = T.logical_and(T.ge(x, e[0]), T.le(x, e[-1]))
        place = T.sub(found_in(e, x, True), 1)
        place = T.clamp(T.where(T.eq(x, e[-1]), T.full((), shape[d] - 1, place), place), 0, max(shape[d] - 1, 0))
        inside = within if inside is None else T.logical_and(inside, within)
        cell = place if cell is None else T.add(T.mul(cell, shape[d]), place)
    if weight is None:
        weight = T.full((points.shape[0],), 1, points)
    weight = T.where(inside, weight, T.full((), 0, weight))
    total = prod(shape)
    hist = T.index_add(T.full((total,), 0, weight), 0, cell, weight) if total else T.full((0,), 0, weight)
    hist = T.reshape(hist, shape)
    if density:
        hist = T.div(hist, T.sum(hist))
        for d, e in enumerate(edges):
            widths = T.sub(e[1:], e[:-1])
            hist = T.div(hist, T.reshape(widths, tuple([-1 if i == d else 1 for i in range(len(edges))])))
    return hist


def _weights(name, weight, like, shape):
    if weight is None:
        return None
    if tuple(weight.shape) != shape:
        raise RuntimeError(
            f"{name}(): if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(shape)} and weight with shape {list(weight.shape)}"
        )
    if weight.dtype is not like.dtype:
        raise RuntimeError(
            f"{name}(): if weight tensor is provided, input tensor and weight tensor should have the same dtype"
        )
    return T.reshape(weight.detach(), (-1,))


@op(composite=True)
def histogram(input: Num, bins=100, *, range=None, weight=None, density=False):
    """(hist, bin_edges): how many elements (or what weight of them) lie between neighbouring edges; the last bin
    includes both of its.

    bins: a number of equal bins over `range` (of the elements' own), or the sorted edges. density: divide by total and
    width.
    """
    _no_histogram(input)
    x = T.reshape(input, (-1,)).detach()
    low, high = (0, 0) if isinstance(bins, Tensor) else _limits("torch.histogram", x, range)
    edges = _edges("torch.histogram", x, bins, low, high, input)
    weight = _weights("torch.histogram", weight, input, tuple(input.shape))
    return HISTOGRAM(_counted("torch.histogram", T.unsqueeze(x, (1,)), [edges], weight, density), edges)


def _no_histogram(input):
    if input.dtype not in (float32, float64):
        raise NotImplementedError(f"\"histogram_cpu\" not implemented for '{scalar_type_name(input.dtype)}'")


@op(composite=True, method=False)
def histogramdd(input: Num, bins, *, range=None, weight=None, density=False):
    """(hist, bin_edges): as `histogram` for points whose coordinates lie along the last dimension; one sequence of
    edges for each.

    bins: numbers of equal bins, one number for all, or a sequence of edges for each coordinate. range: low and high of
    each in turn.
    """
    _no_histogram(input)
    if input.ndim < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.ndim}")
    dims = input.shape[-1]
    points = T.reshape(input, (-1, dims)).detach()
    if isinstance(bins, int):
        bins = [bins] * dims
    bins = list(bins) if isinstance(bins[0], Tensor) else list(as_ints(bins, "bins"))
    if len(bins) != dims:
        raise RuntimeError(
            f"torch.histogramdd(): expected {dims} sequences of bin edges for a {dims}-dimensional histogram but got "
            f"{len(bins)}"
        )
    if range is not None and len(range) != 2 * dims:
        raise RuntimeError(
            f"torch.histogramdd(): for a {dims}-dimensional histogram range should have {2 * dims} elements, but got "
            f"{len(range)}"
        )
    edges = []
    for d, b in enumerate(bins):
        x = T.slice(points, (slice(None), d))
        low, high = (
            (0, 0)
            if isinstance(b, Tensor)
            else _limits("torch.histogramdd", x, None if range is None else range[2 * d : 2 * d + 2])
        )
        edges.append(_edges("torch.histogramdd", x, b, low, high, input))
    weight = _weights("torch.histogramdd", weight, input, tuple(input.shape[:-1]))
    return HISTOGRAMDD(_counted("torch.histogramdd", points, edges, weight, density), tuple(edges))
