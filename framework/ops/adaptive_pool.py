"""Pooling to a given output size, and the inverse of max pooling.

Along a dimension of size n, window i of `out` begins at floor(i n / out) and ends before ceil((i + 1) n / out).
"""

from __future__ import annotations

import numpy as np

from framework.core.shape import as_int, as_ints
from framework.core.tensor import make
from framework.dispatch import errors
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Index, Num

from .pool import _flat, _images, avg_pool_sum, max_pool
from .spatial import numbers


def _bounds(n, out):
    return [(i * n // out, -(-(i + 1) * n // out)) for i in range(out)]


def _output_size(name, dims, input, output_size, channels):
    """The output size with its Nones filled in; the input's rank and sizes are checked."""
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}(): Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.shape)}")
    lead = input.ndim - dims
    for d in range(lead - 1 if channels else lead, input.ndim):
        if not input.shape[d]:
            raise RuntimeError(f"{name}(): Expected input to have non-zero size for non-batch dimensions, but input "
                               f"has sizes {list(input.shape)} with dimension {d} being empty")  # fmt: skip
    if isinstance(output_size, (tuple, list)) and dims > 1:
        wanted = [input.shape[lead + i] if n is None and i < dims else n for i, n in enumerate(output_size)]
    else:
        wanted = as_ints(output_size, "output_size") * (dims if dims > 1 else 1)
    if len(wanted) != dims:
        raise RuntimeError(f"{name}(): output_size must have {dims} elements, but got {list(output_size)}")
    wanted = tuple([as_int(n, "output_size") for n in wanted])
    if min(wanted) < 0:
        raise RuntimeError(f"{name}(): elements of output_size must be greater than or equal to 0 but received "
                           f"{list(wanted)}")  # fmt: skip
    return wanted


def _even(size, out):
    """The common window of all outputs, if each size is a multiple of its output size."""
    return tuple([n // o for n, o in zip(size, out)]) if all([o and n % o == 0 for n, o in zip(size, out)]) else None


# ------------------------------------------------------------------------------------ means
def _mean(name, dims, input, output_size):
    out = _output_size(name, dims, input, output_size, False)
    if input.dtype.category != 2:
        errors.not_implemented_for(name, input.dtype)
    size = tuple(input.shape[input.ndim - dims :])
    window, zeros = _even(size, out), (0,) * dims
    if window is not None:
        total = _images(lambda x: avg_pool_sum(x, window, window, zeros, False), dims, input)
        return total / int(np.prod(window))
    # the means along one dimension are a matrix; those over a box are a product of such matrices
    for i in reversed(range(dims)):
        before, after = tuple(input.shape[: input.ndim - dims + i]), tuple(input.shape[input.ndim - dims + i + 1 :])
        means = np.zeros((out[i], size[i]))
        for row, (low, high) in zip(means, _bounds(size[i], out[i])):
            row[low:high] = 1 / (high - low)
        m = make(input.backend, input.backend.asarray(means, input.dtype), input.dtype)
        if after:
            rows = T.reshape(input, (*before, size[i], int(np.prod(after))))
            input = T.reshape(T.matmul(m, rows), (*before, out[i], *after))
        else:
            input = T.matmul(input, T.mT(m))
    return input


@op(composite=True, method=False, spaces=("", "nn.functional"))
def adaptive_avg_pool1d(input: Num, output_size):
    """The means of `output_size` windows that cover input (N, C, L) or (C, L) evenly."""
    return _mean("adaptive_avg_pool1d", 1, input, output_size)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_avg_pool2d(input: Num, output_size):
    """The means of windows that cover input (N, C, H, W) or (C, H, W) evenly; None in output_size keeps a size."""
    return _mean("adaptive_avg_pool2d", 2, input, output_size)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_avg_pool3d(input: Num, output_size):
    """The means of windows that cover input (N, C, D, H, W) or (C, D, H, W) evenly. See `adaptive_avg_pool2d`."""
    return _mean("adaptive_avg_pool3d", 3, input, output_size)


# ------------------------------------------------------------------------------------ maxima
def _host(like, a):
    return make(like.backend, like.backend.asarray(np.asarray(a, np.int64)))


def _largest(name, dims, input, output_size, return_indices):
    out = _output_size(name, dims, input, output_size, True)
    if input.dtype.category != 2:
        errors.not_implemented_for(name, input.dtype)
    found = _images(lambda x: _maxima(x, out), dims, input)
    return found if return_indices else found[0]


def _maxima(x, out):
    size, lead = tuple(x.shape[2:]), tuple(x.shape[:2])
    zeros, ones = (0,) * len(out), (1,) * len(out)
    if 0 in out:
        return T.full((*lead, *out), 0, x), T.full((*lead, *out), 0, _host(x, 0))
    window = _even(size, out)
    if window is not None:
        return tuple(max_pool(x, window, window, zeros, ones, False))
    # make all windows as long as the longest, by repeating their last place: it never wins against itself
    window, tables = [], []
    for d, (n, o) in enumerate(zip(size, out)):
        bounds = _bounds(n, o)
        window.append(max([high - low for low, high in bounds]))
        tables.append(np.asarray([min(low + k, high - 1) for low, high in bounds for k in range(window[-1])]))
        x = T.index_select(x, d + 2, _host(x, tables[-1]))
    values, indices = max_pool(x, tuple(window), tuple(window), zeros, ones, False)
    places = np.zeros((), np.int64)
    for table, n in zip(tables, size):
        places = places[..., None] * n + table
    return values, T.index_select(_host(x, places.reshape(-1)), 0, indices)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_max_pool1d(input: Num, output_size, return_indices=False):
    """The maxima of `output_size` windows that cover input (N, C, L) or (C, L) evenly, and their places if asked."""
    return _largest("adaptive_max_pool1d", 1, input, output_size, return_indices)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_max_pool2d(input: Num, output_size, return_indices=False):
    """The maxima of windows that cover input (N, C, H, W) or (C, H, W) evenly; None in output_size keeps a size."""
    return _largest("adaptive_max_pool2d", 2, input, output_size, return_indices)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_max_pool3d(input: Num, output_size, return_indices=False):
    """The maxima of windows that cover input (N, C, D, H, W) or (C, D, H, W) evenly. See `adaptive_max_pool2d`."""
    return _largest("adaptive_max_pool3d", 3, input, output_size, return_indices)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_max_pool1d_with_indices(input: Num, output_size, return_indices=True):
    """`adaptive_max_pool1d` and the places of the maxima."""
    return _largest("adaptive_max_pool1d", 1, input, output_size, True)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_max_pool2d_with_indices(input: Num, output_size, return_indices=True):
    """`adaptive_max_pool2d` and the places of the maxima."""
    return _largest("adaptive_max_pool2d", 2, input, output_size, True)


@op(composite=True, method=False, spaces=("nn.functional",))
def adaptive_max_pool3d_with_indices(input: Num, output_size, return_indices=True):
    """`adaptive_max_pool3d` and the places of the maxima."""
    return _largest("adaptive_max_pool3d", 3, input, output_size, True)


PUBLIC[""]["adaptive_max_pool1d"] = adaptive_max_pool1d_with_indices  # outside nn.functional it always gives both


# ------------------------------------------------------------------------------------ the inverse of max pooling
def _unpool(name, dims, input, indices, kernel_size, stride, padding, output_size):
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Input to {name} should be {dims + 1}d or {dims + 2}d, but got {list(input.shape)}")
    if tuple(indices.shape) != tuple(input.shape):
        raise RuntimeError(f"{name}: Expected shape of indices to be the same as that of the input tensor "
                           f"({list(input.shape)}), but got indices of shape {list(indices.shape)}")  # fmt: skip
    if indices.dtype.name != "int64":
        raise RuntimeError(f"{name}: elements in indices should be type int64 but got: {indices.dtype}")
    size = _unpooled_size(name, dims, input, kernel_size, stride, padding, output_size)
    if input.ndim == dims + 1:
        return T.squeeze(_placed(name, T.unsqueeze(input, (0,)), T.unsqueeze(indices, (0,)), size), (0,))
    return _placed(name, input, indices, size)


def _unpooled_size(name, dims, input, kernel_size, stride, padding, output_size):
    kernel, padding = numbers(kernel_size, dims, "kernel_size"), numbers(padding, dims, "padding")
    stride = kernel if stride is None else numbers(stride, dims, "stride")
    usual = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[input.ndim - dims :], stride, padding, kernel)]
    if output_size is None:
        return tuple(usual)
    size = tuple(output_size)[2:] if len(output_size) == dims + 2 else tuple(output_size)
    if len(size) != dims:
        raise ValueError(f"{name}: output_size should be a sequence containing {dims} or {dims + 2} elements, but it "
                         f"has a length of '{len(output_size)}'")  # fmt: skip
    for d, (n, have, s) in enumerate(zip(size, usual, stride)):
        if not have - s < n < have + s:
            raise ValueError(f'{name}: invalid output_size "{list(output_size)}" (dim {d} must be between {have - s} '
                             f"and {have + s})")  # fmt: skip
    return size


def _placed(name, x, indices, size):
    volume, shape = int(np.prod(size)), (*x.shape[:2], *size)
    if indices.level is None and indices.numel():
        low, high = T.amin(indices).item(), T.amax(indices).item()
        if low < 0 or high >= volume:
            raise RuntimeError(f"{name}: Found an invalid max index: {low if low < 0 else high} (output volumes are "
                               f"of size {'x'.join(map(str, size))})")  # fmt: skip
    places, zeros = _flat(T, indices, volume), T.full((int(np.prod(shape)),), 0, x)
    return T.reshape(T.index_copy(zeros, 0, places, T.reshape(x, (x.shape.numel(),))), shape)


@op(composite=True, method=False, spaces=("nn.functional",))
def max_unpool1d(input: Num, indices: Index, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the elements of `input` at the places that `max_pool1d` gave as `indices`.

    The result has the size (L - 1) stride - 2 padding + kernel_size, or `output_size`, less than a stride away from it.
    """
    return _unpool("max_unpool1d", 1, input, indices, kernel_size, stride, padding, output_size)


@op(composite=True, method=False, spaces=("nn.functional",))
def max_unpool2d(input: Num, indices: Index, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the elements of `input` at the places that `max_pool2d` gave as `indices`. See `max_unpool1d`."""
    return _unpool("max_unpool2d", 2, input, indices, kernel_size, stride, padding, output_size)


@op(composite=True, method=False, spaces=("nn.functional",))
def max_unpool3d(input: Num, indices: Index, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the elements of `input` at the places that `max_pool3d` gave as `indices`. See `max_unpool1d`."""
    return _unpool("max_unpool3d", 3, input, indices, kernel_size, stride, padding, output_size)
