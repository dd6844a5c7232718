"""Convolution and pooling of the `cpu` device: the images of a batch shared out on the worker pool."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..base import Array
from ..im2col import Ints
from ..numpy_like_convolution import Convolution
from ..numpy_like_pooling import Pooling
from ..windows import conv_output_size
from .fused import SMALL, plain
from .kernels import load
from .pool import cut, pool

_ENOUGH = 6_000_000  # multiplications, and elements times the window's size, from which on a batch is shared out
_ENOUGH_POOLED = 500_000


class Windows(Convolution, Pooling):
    """The same results as those of the classes it stands on; only `conv_weight` adds up in another order."""

    np = np

    def _parts(self, images: int, work: int, enough: int) -> list[slice]:
        """The images in as many parts as there are threads, or all in one."""
        return cut(images, pool.size) if work >= enough and pool.size > 1 else [slice(0, images)]

    def conv_bias(
        self, x: Array, w: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, groups: int
    ) -> Array:
        out = conv_output_size(x.shape[2:], w.shape[2:], stride, padding, dilation)
        if _depthwise(x, w, groups):
            return self._depthwise(x, w, bias, stride, padding, dilation, out)
        parts = self._parts(x.shape[0], x.shape[0] * prod(out) * w.size, _ENOUGH)
        whole = super().conv_bias
        return _joined(lambda s: whole(x[s], w, bias, stride, padding, dilation, groups), parts)

    def _depthwise(
        self, x: Array, w: Array, bias: Array | None, stride: Ints, padding: Ints, dilation: Ints, out: Ints
    ) -> Array:
        y = np.empty((*x.shape[:2], *out), x.dtype)
        b = np.zeros(w.shape[0], x.dtype) if bias is None else np.ascontiguousarray(bias)
        planes, results = x.reshape(-1, *x.shape[2:]), y.reshape(-1, *out)
        fixed = (planes, w.reshape(-1, *w.shape[2:]), b, results, stride, padding, dilation)
        pool.run(load("depthwise").forward, [(s.start, s.stop, *fixed) for s in cut(len(planes), pool.size)])
        return y

    def conv_input(
        self, g: Array, w: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Ints
    ) -> Array:
        if set(stride) == {1} and _depthwise(g, w, groups):
            back = tuple([d * (k - 1) - p for d, k, p in zip(dilation, w.shape[2:], padding)])
            if min(back) >= 0:
                turned = np.ascontiguousarray(w[:, :, ::-1, ::-1])
                return self._depthwise(g, turned, None, stride, back, dilation, size)
        parts = self._parts(g.shape[0], g.shape[0] * prod(g.shape[2:]) * w.size, _ENOUGH)
        whole = super().conv_input
        return _joined(lambda s: whole(g[s], w, stride, padding, dilation, groups, size), parts)

    def conv_weight(
        self, x: Array, g: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int, kernel: Ints
    ) -> Array:
        if (
            g.shape[1] == groups
            and _depthwise(x, np.empty((groups, 1, *kernel), x.dtype), groups)
            and plain(g, g)
            and g.dtype == x.dtype
        ):
            w = np.empty((groups, *kernel), x.dtype)
            a, b = x.reshape(-1, *x.shape[2:]), g.reshape(-1, *g.shape[2:])
            pieces = [(s.start, s.stop, a, b, w, stride, padding, dilation) for s in cut(groups, pool.size)]
            pool.run(load("depthwise").weight, pieces)
            return w.reshape(groups, 1, *kernel)
        work = g.size * x.shape[1] // groups * prod(kernel)
        parts = self._parts(x.shape[0], work, _ENOUGH)
        whole = super().conv_weight
        found = _each(lambda s: whole(x[s], g[s], stride, padding, dilation, groups, kernel), parts)
        total = found[0]
        for more in found[1:]:
            total += more
        return total

    def max_pool(
        self, x: Array, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
    ) -> tuple[Array, Array]:
        parts = self._parts(x.shape[0], x.size, _ENOUGH_POOLED)
        whole = super().max_pool
        found = _each(lambda s: whole(x[s], kernel, stride, padding, dilation, ceil_mode), parts)
        if len(found) == 1:
            return found[0]  # type: ignore[no-any-return]
        return np.concatenate([v for v, _ in found]), np.concatenate([i for _, i in found])

    def avg_pool_sum(self, x: Array, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool) -> Array:
        parts = self._parts(x.shape[0], x.size, _ENOUGH_POOLED)
        whole = super().avg_pool_sum
        return _joined(lambda s: whole(x[s], kernel, stride, padding, ceil_mode), parts)

    def avg_pool_spread(
        self, g: Array, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, size: Ints
    ) -> Array:
        parts = self._parts(g.shape[0], prod(g.shape[:2]) * prod(size), _ENOUGH_POOLED)
        whole = super().avg_pool_spread
        return _joined(lambda s: whole(g[s], kernel, stride, padding, ceil_mode, size), parts)


def _depthwise(x: Array, w: Array, groups: int) -> bool:
    """Whether these are large planes, each convolved by itself, in a form that the kernel takes."""
    if x.ndim != 4 or not w.shape[0] == groups == x.shape[1] > 1 or x.size < SMALL or not w.size:
        return False
    return plain(x) and plain(w) and w.dtype == x.dtype and load("depthwise") is not None


def _each(f: Any, parts: list[slice]) -> list[Any]:
    """f of each part, on the pool."""
    if len(parts) < 2:
        return [f(s) for s in parts] or [f(slice(0, 0))]
    found: list[Any] = [None] * len(parts)

    def work(i: int) -> None:
        found[i] = f(parts[i])

    pool.run(work, [(i,) for i in range(len(parts))])
    return found


def _joined(f: Any, parts: list[slice]) -> Array:
    """The results of the parts after one another, in the memory format that they have."""
    found = _each(f, parts)
    return found[0] if len(found) == 1 else np.concatenate(found)


__all__ = ["Windows"]
