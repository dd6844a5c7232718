"""Convolution: `mx.conv_general`, which is channels-last, has no complex numbers, no groups in three dimensions,
computes float64 in float32, and kills the process where a size or the number of groups is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import mlx.core as mx

from ..base import Array, Shape
from ..windows import conv_output_size
from .arrays import Arrays, from_parts

_NATIVE = (mx.float32, mx.float16, mx.bfloat16)
Ints = tuple[int, ...]


class Convolution(Arrays):
    """x (N, C, *S), w (O, C/groups, *K), g (N, O, *out); tuples have one number for each spatial dimension.

    Each function is linear in its first two operands and the transpose of the others, so derivatives need no fourth.
    float64 and integers run on the host.
    """

    def conv(self, x: Array, w: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Array:
        _check(stride, dilation, groups)
        if x.dtype == mx.complex64:
            return _complex(self.conv, x, w, stride, padding, dilation, groups)
        if x.dtype not in _NATIVE:
            return self._on_host("conv", x, w, stride, padding, dilation, groups)
        out = conv_output_size(x.shape[2:], w.shape[2:], stride, padding, dilation)
        if not (prod(x.shape) and prod(w.shape) and prod(out)):
            return mx.zeros((x.shape[0], w.shape[0], *out), x.dtype)
        return _correlate(x, w, stride, padding, padding, dilation, groups)

    def conv_input(
        self, g: Array, w: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int, size: Shape
    ) -> Array:
        """The transpose of `conv` in x, which has the spatial size `size`: g with zeros between its elements,
        convolved with the kernel turned round.
        """
        _check(stride, dilation, groups)
        if g.dtype == mx.complex64:
            return _complex(self.conv_input, g, w, stride, padding, dilation, groups, size)
        if g.dtype not in _NATIVE:
            return self._on_host("conv_input", g, w, stride, padding, dilation, groups, size)
        outputs, channels, *kernel = w.shape
        if not (prod(g.shape) and prod(w.shape) and prod(size)):
            return mx.zeros((g.shape[0], channels * groups, *size), g.dtype)
        low = [d * (k - 1) - p for k, p, d in zip(kernel, padding, dilation, strict=True)]
        high = [n + p - (m - 1) * s - 1 for n, m, s, p in zip(size, g.shape[2:], stride, padding, strict=True)]
        w = mx.swapaxes(mx.reshape(w, (groups, outputs // groups, channels, *kernel)), 1, 2)
        w = mx.reshape(w, (groups * channels, outputs // groups, *kernel))
        ones = (1,) * len(kernel)
        widest = [max(0, a) for a in low], [max(0, a) for a in high]
        y = _correlate(g, w, ones, *widest, dilation, groups, stride, True)
        return y[(..., *[slice(max(0, -a), max(0, -a) + n) for a, n in zip(low, size, strict=True)])]

    def conv_weight(
        self, x: Array, g: Array, stride: Ints, padding: Ints, dilation: Ints, groups: int, kernel: Shape
    ) -> Array:
        """The transpose of `conv` in w, of spatial size `kernel`: x convolved with g, images in place of channels."""
        _check(stride, dilation, groups)
        if x.dtype == mx.complex64:
            return _complex(self.conv_weight, x, g, stride, padding, dilation, groups, kernel)
        if x.dtype not in _NATIVE:
            return self._on_host("conv_weight", x, g, stride, padding, dilation, groups, kernel)
        images, channels, *size = x.shape
        if not (prod(x.shape) and prod(g.shape) and prod(kernel)):
            return mx.zeros((g.shape[1], channels // groups, *kernel), x.dtype)
        high = [
            d * (k - 1) + s * (m - 1) + 1 - n - p
            for n, m, k, s, p, d in zip(size, g.shape[2:], kernel, stride, padding, dilation, strict=True)
        ]
        x = x[(..., *[slice(n + min(0, a)) for n, a in zip(size, high, strict=True)])]  # what the stride left over
        x = mx.reshape(x, (images, groups, channels // groups, *x.shape[2:]))
        x = mx.reshape(
            mx.transpose(x, (2, 1, 0, *range(3, x.ndim))), (channels // groups, groups * images, *x.shape[3:])
        )
        widest = [max(0, a) for a in high]
        return mx.swapaxes(_correlate(x, mx.swapaxes(g, 0, 1), dilation, padding, widest, stride, groups), 0, 1)


def _check(stride: Ints, dilation: Ints, groups: int) -> None:
    if groups < 1 or min(stride) < 1 or min(dilation) < 1:
        raise ValueError(f"convolution: groups, stride and dilation must be positive: {groups}, {stride}, {dilation}")


def _complex(f: Callable[..., Array], a: Array, b: Array, *rest: Any) -> Array:
    """A bilinear function of complex operands from four real ones."""
    (ar, ai), (br, bi) = [(mx.real(z), mx.imag(z)) for z in (a, b)]
    return from_parts(f(ar, br, *rest) - f(ai, bi, *rest), f(ar, bi, *rest) + f(ai, br, *rest))


def _correlate(
    x: Array, w: Array, stride: Any, low: Any, high: Any, dilation: Any, groups: int, spread: Any = 1,
    flip: bool = False,
) -> Array:  # fmt: skip
    """`mx.conv_general`, channels second; `spread` puts zeros between x's elements, `flip` turns the kernel round."""
    if groups > 1 and x.ndim == 5:
        parts = zip(mx.split(x, groups, 1), mx.split(w, groups, 0), strict=True)
        return mx.concatenate([_correlate(a, b, stride, low, high, dilation, 1, spread, flip) for a, b in parts], 1)
    x, w = mx.moveaxis(x, 1, -1), mx.moveaxis(w, 1, -1)
    y = mx.conv_general(x, w, stride, (list(low), list(high)), dilation, spread, groups, flip)
    return mx.moveaxis(y, -1, 1)
