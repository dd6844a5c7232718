"""Two-dimensional convolutions of each channel by itself: planes are (images * channels, height, width), weights
(channels, *kernel)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled, summing


@compiled
def forward(low: Any, high: Any, x: Any, w: Any, b: Any, y: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """The planes from low to high of y; b is the bias of each channel."""
    height, width = x.shape[1], x.shape[2]
    room = np.zeros((height + 2 * padding[0], width + 2 * padding[1]), x.dtype)
    for q in range(low, high):
        c = q % w.shape[0]
        room[padding[0] : padding[0] + height, padding[1] : padding[1] + width] = x[q]
        for i in range(y.shape[1]):
            row = y[q, i]
            for j in range(row.size):
                row[j] = b[c]
            for k in range(w.shape[1]):
                source = room[i * stride[0] + k * dilation[0]]
                for m in range(w.shape[2]):
                    factor = w[c, k, m]
                    part = source[m * dilation[1] :]
                    if stride[1] == 1:
                        for j in range(row.size):
                            row[j] += factor * part[j]
                    else:
                        for j in range(row.size):
                            row[j] += factor * part[j * stride[1]]


@summing
def dot(a: Any, b: Any, step: Any) -> Any:
    """The sum of a[j * step] b[j]."""
    total = a.dtype.type(0)
    if step == 1:
        for j in range(b.size):
            total += a[j] * b[j]
    else:
        for j in range(b.size):
            total += a[j * step] * b[j]
    return total


@compiled
def weight(low: Any, high: Any, x: Any, g: Any, w: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """The transpose of `forward` in the weight, for the channels from low to high; sums of rows add up in float64."""
    height, width = x.shape[1], x.shape[2]
    room = np.zeros((height + 2 * padding[0], width + 2 * padding[1]), x.dtype)
    total = np.zeros((w.shape[1], w.shape[2]), np.float64)
    for c in range(low, high):
        total[:] = 0
        for q in range(c, x.shape[0], w.shape[0]):
            room[padding[0] : padding[0] + height, padding[1] : padding[1] + width] = x[q]
            for i in range(g.shape[1]):
                for k in range(w.shape[1]):
                    source = room[i * stride[0] + k * dilation[0]]
                    for m in range(w.shape[2]):
                        total[k, m] += dot(source[m * dilation[1] :], g[q, i], stride[1])
        w[c] = total.astype(w.dtype)
