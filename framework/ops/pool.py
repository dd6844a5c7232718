"""Pooling: maxima and means over windows, over windows that fit an output size, and the way back.

Shapes: input (N, C, *S) or (C, *S). Along a dimension it gives (S + 2 padding - dilation (kernel - 1) - 1) / stride
+ 1 places, rounded down, or up with `ceil_mode`: then a last window must start inside the input or its left padding.
"""

from __future__ import annotations

from math import prod

import numpy as np

from backends.dtypes import int64
from backends.windows import pool_output_size
from framework.core.shape import as_int
from framework.core.tensor import make
from framework.dispatch import errors
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num

from .spatial import examples_as_images, numbers


# ---------------------------------------------------------------------------- elements of spatial planes by number
def _flat(xp, indices, size):
    """Places in planes of `size` elements as places in all the planes of (N, C), one after the other."""
    shape = tuple(indices.shape)
    backend = indices.backend if xp is T else xp
    start = backend.arange(0, shape[0] * shape[1] * size, size, int64) if size else backend.full((0,), 0, int64)
    start = backend.reshape(start, (-1, 1))
    rows = xp.reshape(indices, (shape[0] * shape[1], prod(shape[2:])))
    return xp.reshape(rows + (make(backend, start) if xp is T else start), (prod(shape),))


def _taken(xp, x, indices):
    """The elements of x (N, C, *S) at `indices` (N, C, *P) into its planes."""
    shape = tuple(x.shape)
    places = _flat(xp, indices, prod(shape[2:]))
    return xp.reshape(xp.index_select(xp.reshape(x, (prod(shape),)), 0, places), tuple(indices.shape))


def _summed(xp, g, indices, shape):
    """The transpose of `_taken`: zeros (N, C, *S) with g added at the indices."""
    shape = tuple(shape)
    zeros = xp.full((prod(shape),), 0, xp.like(g))
    places = _flat(xp, indices, prod(shape[2:]))
    return xp.reshape(xp.index_add(zeros, 0, places, xp.reshape(g, (prod(indices.shape),))), shape)


# ------------------------------------------------------------------------------------ the primitives: lengths as tuples
@op(opaque=True, outs=("values", "indices"), diff_outs=("values",), spaces=(), accept="iuf", batch=examples_as_images,
    vjp=(lambda xp, g, indices, shape: _summed(xp, g, indices, shape),),
    jvp=lambda xp, tangents, outs, *args: _taken(xp, tangents[0], outs[1]))  # fmt: skip
def max_pool(xp, input: Num, kernel, stride, padding, dilation, ceil_mode):
    """The largest element of each window, and its place in the row-major spatial plane of the input (int64)."""
    return xp.max_pool(input, kernel, stride, padding, dilation, ceil_mode)


@op(opaque=True, linear="each", spaces=(), accept="iufc", batch=examples_as_images,
    vjp=(lambda xp, g, shape, kernel, stride, padding, ceil_mode:
         xp.avg_pool_spread(g, kernel, stride, padding, ceil_mode, tuple(shape[2:])),))  # fmt: skip
def avg_pool_sum(xp, input: Num, kernel, stride, padding, ceil_mode):
    """The sum of each window."""
    return xp.avg_pool_sum(input, kernel, stride, padding, ceil_mode)


@op(opaque=True, linear="each", spaces=(), accept="iufc", batch=examples_as_images,
    vjp=(lambda xp, g, kernel, stride, padding, ceil_mode:
         xp.avg_pool_sum(g, kernel, stride, padding, ceil_mode),))  # fmt: skip
def avg_pool_spread(xp, cotangent: Num, kernel, stride, padding, ceil_mode, size):
    """The transpose of `avg_pool_sum`, whose input has the spatial size `size`."""
    return xp.avg_pool_spread(cotangent, kernel, stride, padding, ceil_mode, size)


# ------------------------------------------------------------------------------------ checks
def _check_input(name, dims, input):
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim "
                           f"batch size for input, but got: {list(input.shape)}")  # fmt: skip
    if 0 in input.shape[input.ndim - dims - 1 :]:
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with optional 0 dim "
                           "batch size for input, with non-zero size for non-batch dimensions, but got: "
                           f"{list(input.shape)}"
                           )  # fmt: skip


def _lengths(name, dims, what, value):
    places = numbers(value, dims, what)
    if places is None:
        allowed = ("one int", "two ints", "three ints")[dims - 1]
        raise RuntimeError(f"{name}: {what} must be a single int, or a tuple of {allowed}, got {what}={list(value)}")
    return places


def _window(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode):
    """The checked parameters of a window, one int a dimension: (kernel, stride, padding, dilation)."""
    _check_input(name, dims, input)
    kernel = _lengths(name, dims, "kernel_size", kernel_size)
    stride = kernel if stride is None or stride == [] or stride == () else _lengths(name, dims, "stride", stride)
    padding, dilation = _lengths(name, dims, "padding", padding), _lengths(name, dims, "dilation", dilation)
    for what, places in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(places) <= 0:
            raise RuntimeError(f"{name}: {what} should be greater than zero, but got {what}={list(places)}")
    if min(padding) < 0:
        raise RuntimeError(f"{name}: padding must be non-negative, but got padding={list(padding)}")
    if any(p > k // 2 for p, k in zip(padding, kernel)):
        raise RuntimeError(f"{name}: padding should be at most half of kernel size, but got padding={list(padding)} "
                           f"and kernel_size={list(kernel)}")  # fmt: skip
    size = tuple(input.shape[input.ndim - dims :])
    out = pool_output_size(size, kernel, stride, padding, dilation, ceil_mode)
    if min(out) < 1:
        raise RuntimeError(f"{name}: Given input size: {list(size)}. Calculated output size: {list(out)}. Output size "
                           f"is too small for kernel_size={list(kernel)}")  # fmt: skip
    return kernel, stride, padding, dilation


def _images(f, dims, input):
    """f on a batch; the batch dimension of a single image is added and taken away."""
    if input.ndim == dims + 2:
        return f(input)
    out = f(T.unsqueeze(input, (0,)))
    return tuple([T.squeeze(o, (0,)) for o in out]) if isinstance(out, tuple) else T.squeeze(out, (0,))


# ------------------------------------------------------------------------------------ maxima
def _largest(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices):
    window = _window(name, dims, input, kernel_size, stride, padding, dilation, ceil_mode)
    values, indices = _images(lambda x: tuple(max_pool(x, *window, bool(ceil_mode))), dims, input)
    return (values, indices) if return_indices else values


@op(composite=True, method=False, spaces=("", "nn.functional"))
def max_pool1d(input: Num, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of input (N, C, L) or (C, L); with `return_indices` also its place, int64.

    stride: kernel_size by default. padding: at most half of kernel_size; it counts as minus infinity. Of equal elements
    the first is chosen, nan before all others. The gradient goes to the chosen element.
    """
    return _largest("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def max_pool2d(input: Num, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of input (N, C, H, W) or (C, H, W). See `max_pool1d`."""
    return _largest("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def max_pool3d(input: Num, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element of each window of input (N, C, D, H, W) or (C, D, H, W). See `max_pool1d`."""
    return _largest("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def max_pool1d_with_indices(
    input: Num, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
):
    """`max_pool1d` and the places of the maxima."""
    return _largest("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@op(composite=True, method=False, spaces=("nn.functional",))
def max_pool2d_with_indices(
    input: Num, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
):
    """`max_pool2d` and the places of the maxima."""
    return _largest("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, True)


@op(composite=True, method=False, spaces=("nn.functional",))
def max_pool3d_with_indices(
    input: Num, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=True
):
    """`max_pool3d` and the places of the maxima."""
    return _largest("max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, True)


# ------------------------------------------------------------------------------------ means
def _counts(size, out, kernel, stride, padding, count_include_pad):
    """For each dimension how many places each window averages over: of the padded input, or of the input alone."""
    found = []
    for n, o, k, s, p in zip(size, out, kernel, stride, padding):
        low, high = (-p, n + p) if count_include_pad else (0, n)
        found.append([min(i * s - p + k, high) - max(i * s - p, low) for i in range(o)])
    return found


def _divisor(like, counts):
    """The number of places in each window: one number if all have as many, else a constant tensor."""
    if all([len(set(c)) == 1 for c in counts]):
        return prod([c[0] for c in counts])
    total = np.ones((), np.float64)
    for c in counts:
        total = total[..., None] * np.asarray(c, np.float64)
    return make(like.backend, like.backend.asarray(total, like.dtype), like.dtype)


def _mean(name, dims, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override=None):
    kernel, stride, padding, ones = _window(name, dims, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override is not None and not as_int(divisor_override, "divisor_override"):
        raise RuntimeError(f"{name}: divisor must be not zero")
    if input.dtype.category != 2 and input.dtype is not int64:
        errors.not_implemented_for(name, input.dtype)
    total = _images(lambda x: avg_pool_sum(x, kernel, stride, padding, bool(ceil_mode)), dims, input)
    divisor = divisor_override
    if divisor is None:
        size = tuple(input.shape[input.ndim - dims :])
        out = pool_output_size(size, kernel, stride, padding, ones, ceil_mode)
        divisor = _divisor(input, _counts(size, out, kernel, stride, padding, count_include_pad))
    if input.dtype is int64:
        return T.floor_divide(total - T.fmod(total, divisor), divisor)  # towards zero
    return total / divisor


@op(composite=True, method=False, spaces=("", "nn.functional"))
def avg_pool1d(input: Num, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of input (N, C, L) or (C, L).

    stride: kernel_size by default. padding: zeros, at most half of kernel_size, counted as elements by
    `count_include_pad`. What a last window has beyond the padding (`ceil_mode`) never counts.
    """
    return _mean("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@op(composite=True, method=False, spaces=("nn.functional",))
def avg_pool2d(
    input: Num, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of input (N, C, H, W) or (C, H, W), or its sum over `divisor_override`."""
    return _mean("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op(composite=True, method=False, spaces=("nn.functional",))
def avg_pool3d(
    input: Num, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of input (N, C, D, H, W) or (C, D, H, W). See `avg_pool1d`, `avg_pool2d`."""
    return _mean("avg_pool3d", 3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


@op(composite=True, method=False, spaces=("nn.functional",))
def lp_pool1d(input: Num, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window, p = norm_type: the root of the sum of powers. The gradient of a norm 0 is nan."""
    return _norm(avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


@op(composite=True, method=False, spaces=("nn.functional",))
def lp_pool2d(input: Num, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of input (N, C, H, W) or (C, H, W). See `lp_pool1d`."""
    return _norm(avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


@op(composite=True, method=False, spaces=("nn.functional",))
def lp_pool3d(input: Num, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of input (N, C, D, H, W) or (C, D, H, W). See `lp_pool1d`."""
    return _norm(avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)


def _norm(pool, dims, input, norm_type, kernel_size, stride, ceil_mode):
    mean = pool(input**norm_type, kernel_size, stride, 0, ceil_mode)
    count = prod(numbers(kernel_size, dims, "kernel_size"))
    return (T.sign(mean) * T.relu(T.abs(mean)) * count) ** (1.0 / norm_type)
