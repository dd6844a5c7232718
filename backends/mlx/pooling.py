"""Pooling: each element of the window, for all windows at once, is a strided slice of the padded input."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import mlx.core as mx
import numpy as np

from ..base import Array, Shape
from ..windows import pool_output_size
from .arrays import Arrays

Ints = tuple[int, ...]


class Pooling(Arrays):
    """Running maxima and sums over windows of x (N, C, *S)."""

    def max_pool(
        self, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[Array, Array]:
        """The largest element of each window and its place (int64) in the row-major spatial plane of the input.

        Padding counts as the lowest value there is. Among equals the first wins; nan wins over all, and the last one
        of them.
        """
        size = x.shape[2:]
        out = pool_output_size(size, kernel, stride, padding, dilation, ceil_mode)
        shape = (*x.shape[:2], *out)
        if not prod(shape):
            return mx.zeros(shape, x.dtype), mx.zeros(shape, mx.int64)
        places, inside = _places(size, kernel, stride, padding, dilation, out)
        lowest = _lowest(x)
        padded = _padded(x, kernel, stride, padding, dilation, out, lowest)
        best = mx.full(shape, lowest, x.dtype)
        choice = mx.broadcast_to(mx.array(inside.argmax(0).astype(np.int32)), shape)
        for number, tap in enumerate(product(*map(range, kernel))):
            element = padded[_key([k * d for k, d in zip(tap, dilation, strict=True)], stride, out)]
            better = mx.logical_or(element > best, mx.isnan(element))
            best, choice = mx.where(better, element, best), mx.where(better, number, choice)
        plane = prod(out)
        at = mx.reshape(choice, (-1, plane)) * plane + mx.arange(plane)
        return best, mx.reshape(mx.take(mx.array(places.reshape(-1)), at), shape)

    def avg_pool_sum(self, x: Array, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool) -> Array:
        """The sum of each window; padding counts as zero. Its transpose is `avg_pool_spread`."""
        ones = (1,) * len(kernel)
        out = pool_output_size(x.shape[2:], kernel, stride, padding, ones, ceil_mode)
        if not x.size or not prod(out):
            return mx.zeros((*x.shape[:2], *out), x.dtype)
        y = _padded(x, kernel, stride, padding, ones, out, mx.array(0, x.dtype))
        for axis in range(len(kernel)):
            lead = (slice(None),) * (axis + 2)
            spans = [slice(k, k + (out[axis] - 1) * stride[axis] + 1, stride[axis]) for k in range(kernel[axis])]
            y = _total([y[(*lead, span)] for span in spans])
        return y

    def avg_pool_spread(
        self, g: Array, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, size: Shape
    ) -> Array:
        """The transpose of `avg_pool_sum`: every element of an input of spatial size `size` gets the sum of the
        elements of `g` whose windows it lies in.
        """
        if not g.size or not prod(size):
            return mx.zeros((*g.shape[:2], *size), g.dtype)
        for axis, n in enumerate(size):
            k, s, p, out = kernel[axis], stride[axis], padding[axis], g.shape[axis + 2]
            length = max((out - 1) * s + k, n + p)
            lead = (slice(None),) * (axis + 2)
            shape = (*g.shape[: axis + 2], length, *g.shape[axis + 3 :])
            y = mx.zeros(shape, g.dtype)
            for start in range(k):
                span = (*lead, slice(start, start + (out - 1) * s + 1, s))
                y[span] = y[span] + g
            g = y[(*lead, slice(p, p + n))]
        return g


def _total(terms: list[Array]) -> Array:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _lowest(x: Array) -> Array:
    if x.dtype == mx.bool_:
        return mx.array(False)
    return mx.array(mx.iinfo(x.dtype).min if mx.issubdtype(x.dtype, mx.integer) else -float("inf"), x.dtype)


def _padded(x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints, value: Array) -> Array:
    """`x` with what the windows see around it."""
    ends = [
        max(0, (m - 1) * s + (k - 1) * d + 1 - n - p)
        for n, m, k, s, p, d in zip(x.shape[2:], out, kernel, stride, padding, dilation, strict=True)
    ]
    return mx.pad(x, [(0, 0), (0, 0), *zip(padding, ends, strict=True)], constant_values=value)


def _key(start: list[int], stride: Ints, out: Ints) -> tuple[Any, ...]:
    """The element at `start` of every window."""
    return (..., *[slice(a, a + (m - 1) * s + 1, s) for a, s, m in zip(start, stride, out, strict=True)])


def _places(size: Shape, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> tuple[Any, Any]:
    """For each element of each window its place in the plane, and whether it lies in the input; both (elements,
    *out).
    """
    axes = len(size)
    total: Any = np.int64(0)
    inside: Any = np.True_
    for i in range(axes):
        along = np.arange(kernel[i])[:, None] * dilation[i] + np.arange(out[i]) * stride[i] - padding[i]
        shape = [1] * (2 * axes)
        shape[i], shape[axes + i] = along.shape
        along = along.reshape(shape)
        total = total * size[i] + along
        inside = inside & (along >= 0) & (along < size[i])
    return total.reshape(-1, *out), inside.reshape(-1, *out)
