"""Normalisation with weight and bias, and its derivative: over rows of a matrix, or over the batch for each channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled, summing
from .scalar import row_sum


@summing
def row_spread(x: Any, r: Any, mean: Any) -> Any:
    """The sum of (x - mean)**2 along row r."""
    total = x.dtype.type(0)
    for j in range(x.shape[1]):
        d = x[r, j] - mean
        total += d * d
    return total


@compiled
def rows(x: Any, out: Any, mean: Any, var: Any, w: Any, b: Any, eps: Any) -> None:
    """out = (x - mean) / sqrt(var + eps) w + b, mean and biased variance of each row."""
    one, n = x.dtype.type(1), x.dtype.type(x.shape[1])
    for r in range(x.shape[0]):
        m = row_sum(x, r) / n
        v = row_spread(x, r, m) / n
        mean[r], var[r] = m, v
        q = one / np.sqrt(v + eps)
        for j in range(x.shape[1]):
            out[r, j] = (x[r, j] - m) * q * w[j] + b[j]


@summing
def row_moments(g: Any, x: Any, w: Any, r: Any, mean: Any, scale: Any) -> Any:
    """Along row r the sums of g w and of g w (x - mean) scale."""
    first, second = x.dtype.type(0), x.dtype.type(0)
    for j in range(x.shape[1]):
        t = g[r, j] * w[j]
        first += t
        second += t * ((x[r, j] - mean) * scale)
    return first, second


@compiled
def rows_vjp(g: Any, x: Any, grad: Any, mean: Any, var: Any, w: Any, eps: Any, grad_w: Any, grad_b: Any) -> None:
    """The derivatives of `rows`; those of w and b are added to what is there."""
    one, n = x.dtype.type(1), x.dtype.type(x.shape[1])
    for r in range(x.shape[0]):
        m, q = mean[r], one / np.sqrt(var[r] + eps)
        first, second = row_moments(g, x, w, r, m, q)
        first, second = first / n, second / n
        for j in range(x.shape[1]):
            h = (x[r, j] - m) * q
            grad[r, j] = q * (g[r, j] * w[j] - first - h * second)
            grad_w[j] += g[r, j] * h
            grad_b[j] += g[r, j]


# From here on x is (images * channels, places); sums of rows add up in float64.
@compiled
def channels(low: Any, high: Any, x: Any, out: Any, mean: Any, var: Any, w: Any, b: Any, eps: Any) -> None:
    """out = (x - mean) / sqrt(var + eps) w + b, mean and biased variance of each channel from low to high."""
    kind, count = x.dtype.type, mean.size
    images = x.shape[0] // count
    n = np.float64(images * x.shape[1])
    for c in range(low, high):
        total = 0.0
        for i in range(images):
            total += row_sum(x, i * count + c)
        m = kind(total / n)
        total = 0.0
        for i in range(images):
            total += row_spread(x, i * count + c, m)
        v = kind(total / n)
        mean[c], var[c] = m, v
        scale = kind(1) / np.sqrt(v + eps) * w[c]
        for i in range(images):
            for j in range(x.shape[1]):
                out[i * count + c, j] = (x[i * count + c, j] - m) * scale + b[c]


@compiled
def channels_vjp(
    low: Any, high: Any, g: Any, x: Any, grad: Any, mean: Any, var: Any, w: Any, eps: Any, grad_w: Any, grad_b: Any
) -> None:
    """The derivatives of `channels`."""
    kind, count = x.dtype.type, mean.size
    images = x.shape[0] // count
    n = np.float64(images * x.shape[1])
    for c in range(low, high):
        m, q = mean[c], kind(1) / np.sqrt(var[c] + eps)
        first, second = 0.0, 0.0
        for i in range(images):
            first += row_sum(g, i * count + c)
            second += row_shifted_dot(g, x, i * count + c, m)
        second *= q
        grad_w[c], grad_b[c] = kind(second), kind(first)
        scale, a, d = q * w[c], kind(first / n), kind(second / n) * q
        for i in range(images):
            for j in range(x.shape[1]):
                k = i * count + c
                grad[k, j] = scale * (g[k, j] - a - (x[k, j] - m) * d)


@summing
def row_shifted_dot(g: Any, x: Any, r: Any, mean: Any) -> Any:
    """The sum of g (x - mean) along row r."""
    total = x.dtype.type(0)
    for j in range(x.shape[1]):
        total += g[r, j] * (x[r, j] - mean)
    return total
