"""Pooling for the libraries that speak NumPy: one pass over the input for each element of the window."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

from .im2col import Ints, empty_as, is_channels_last
from .windows import pool_output_size, valid_range

__all__ = ["Pooling"]


class Pooling:
    """Running maxima and sums over windows of x (N, C, *S), S of 1, 2 or 3 dimensions, over `self.np` (NumPy or CuPy).

    Windows are never laid out in memory: element k of all windows is a strided view of the input, and the views are
    folded one after the other. Results have the input's memory format.
    """

    np: Any
    pool_workspace = 1 << 18
    """Bytes of input that are worked on at a time: they and the running result stay in a second-level cache."""

    def max_pool(
        self, x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[Any, Any]:
        """The largest element of each window and its place (int64) in the row-major spatial plane of the input.

        Padding counts as the lowest value there is. Among equals the first wins; nan wins over all, the last nan first.
        """
        np, size = self.np, x.shape[2:]
        out = pool_output_size(size, kernel, stride, padding, dilation, ceil_mode)
        shape, taps = (*x.shape[:2], *out), list(product(*map(range, kernel)))
        values, index = empty_as(np, x, shape, x.dtype), empty_as(np, x, shape, np.int64)
        plane = [prod(size[i + 1 :]) for i in range(len(size))]
        count = np.dtype("uint8" if len(taps) < 256 else "int32")
        first = _first_taps(np, kernel, stride, padding, dilation, out).astype(count)
        table = np.asarray([sum(k * d * n for k, d, n in zip(t, dilation, plane, strict=True)) for t in taps])
        corner = _corners(np, stride, padding, out, plane)
        moves = [_tap(t, size, out, stride, padding, dilation) for t in taps]
        for block in self._blocks(x):
            seen, best = x[block], values[block]
            best[...] = _lowest(np, x.dtype)
            choice, better = empty_as(np, x, best.shape, count), empty_as(np, x, best.shape, np.bool_)
            choice[...] = first
            for number, (source, target) in enumerate(moves):
                element, so_far = seen[source], best[target]
                if element.strides[-1] != seen.strides[-1] == x.itemsize:
                    element = np.ascontiguousarray(element)  # read twice below, and vector instructions want neighbours
                np.greater(element, so_far, out=better[target])
                _choose(np, choice[target], better[target], number)
                np.maximum(so_far, element, out=so_far)
            if x.dtype.kind not in "biu" and np.isnan(best).any():  # nan is not larger than anything
                for number, (source, target) in enumerate(moves):
                    np.isnan(seen[source], out=better[target])
                    _choose(np, choice[target], better[target], number)
            np.add(np.take(table, choice), corner, out=index[block])
        return values, index

    def avg_pool_sum(self, x: Any, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool) -> Any:
        """The sum of each window; padding counts as zero. Its transpose is `avg_pool_spread`."""
        np, size = self.np, x.shape[2:]
        out = pool_output_size(size, kernel, stride, padding, (1,) * len(size), ceil_mode)
        if set(out) == {1} and not any(padding) and all(map(int.__ge__, kernel, size)):
            return np.add.reduce(x, tuple(range(2, x.ndim)), x.dtype, None, True)
        result = empty_as(np, x, (*x.shape[:2], *out), x.dtype)
        for block in self._blocks(x):
            part = x[block]
            for axis in reversed(range(len(size))):  # a window is a product of intervals: one dimension at a time
                part = self._sum(part, axis + 2, kernel[axis], stride[axis], padding[axis], out[axis])
            result[block] = part
        return result

    def avg_pool_spread(self, g: Any, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, size: Ints) -> Any:
        """The transpose of `avg_pool_sum`: every element of an input of spatial size `size` gets the sum of the
        elements of `g` whose windows it lies in.
        """
        result = empty_as(self.np, g, (*g.shape[:2], *size), g.dtype)
        for block in self._blocks(result):
            part = g[block]
            for axis in range(len(size)):
                part = self._spread(part, axis + 2, kernel[axis], stride[axis], padding[axis], size[axis])
            result[block] = part
        return result

    def _sum(self, x: Any, axis: int, kernel: int, stride: int, padding: int, out: int) -> Any:
        np, size = self.np, x.shape[axis]
        result = empty_as(np, x, (*x.shape[:axis], out, *x.shape[axis + 1 :]), x.dtype)
        result[...] = 0
        for k in range(kernel):
            source, target = _interval(k - padding, size, out, stride)
            lead = (slice(None),) * axis
            result[(*lead, target)] += x[(*lead, source)]
        return result

    def _spread(self, g: Any, axis: int, kernel: int, stride: int, padding: int, size: int) -> Any:
        np, out = self.np, g.shape[axis]
        shape = (*g.shape[:axis], size, *g.shape[axis + 1 :])
        if out == 1 and padding == 0 and kernel >= size:
            return np.broadcast_to(g, shape)
        result = empty_as(np, g, shape, g.dtype)
        result[...] = 0
        for k in range(kernel):
            source, target = _interval(k - padding, size, out, stride)
            lead = (slice(None),) * axis
            result[(*lead, source)] += g[(*lead, target)]
        return result

    def _blocks(self, x: Any) -> list[tuple[slice, slice]]:
        """Keys that cut (N, C) into pieces of about `pool_workspace` bytes of x; channels-last images stay whole."""
        images, channels = x.shape[:2]
        if not x.size:
            return [(slice(None), slice(None))]
        planes = max(1, self.pool_workspace // (prod(x.shape[2:]) * x.dtype.itemsize))
        some = channels if is_channels_last(self.np, x) else min(planes, channels)
        many = max(1, planes // channels)
        return [
            (slice(n, n + many), slice(c, c + some)) for n in range(0, images, many) for c in range(0, channels, some)
        ]


def _choose(np: Any, choice: Any, better: Any, number: int) -> None:
    """Let `choice` be `number` where `better`. Numbers ascend, so a maximum does it, far faster than a masked write."""
    if number:
        better = better.view(np.uint8) if choice.itemsize == 1 else better.astype(choice.dtype)
        np.multiply(better, better.dtype.type(number), out=better)  # the mask is not needed any more
        np.maximum(choice, better, out=choice)


def _lowest(np: Any, dtype: Any) -> Any:
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else -float("inf")


def _interval(offset: int, size: int, out: int, stride: int) -> tuple[slice, slice]:
    """Positions o*stride + offset inside the input, and the window numbers o, along one dimension."""
    start, stop = valid_range(size, out, stride, offset)
    if start == stop:
        return slice(0, 0), slice(0, 0)
    return slice(start * stride + offset, (stop - 1) * stride + offset + 1, stride), slice(start, stop)


def _tap(
    tap: Ints, size: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Element `tap` of all windows that have it inside the input: a key of the input and a key of the output."""
    pairs = [
        _interval(k * d - p, n, o, s)
        for k, n, o, s, p, d in zip(tap, size, out, stride, padding, dilation, strict=True)
    ]
    whole = (slice(None), slice(None))
    return (*whole, *[a for a, _ in pairs]), (*whole, *[b for _, b in pairs])


def _along(np: Any, values: list[int], axis: int, axes: int) -> Any:
    return np.asarray(values, np.int64).reshape([-1 if i == axis else 1 for i in range(axes)])


def _first_taps(np: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, out: Ints) -> Any:
    """The number of each window's first element that is not left padding: what a window of lowest values chooses."""
    total = np.zeros(out, np.int64)
    for axis, (k, s, p, d, o) in enumerate(zip(kernel, stride, padding, dilation, out, strict=True)):
        first = [min(k - 1, max(0, -((n * s - p) // d))) for n in range(o)]
        total = total + _along(np, first, axis, len(out)) * prod(kernel[axis + 1 :])
    return total


def _corners(np: Any, stride: Ints, padding: Ints, out: Ints, plane: list[int]) -> Any:
    """The place in the plane of the first element of each window, padding or not."""
    total = np.zeros(out, np.int64)
    for axis, (s, p, o, n) in enumerate(zip(stride, padding, out, plane, strict=True)):
        total = total + _along(np, [(i * s - p) * n for i in range(o)], axis, len(out))
    return total
