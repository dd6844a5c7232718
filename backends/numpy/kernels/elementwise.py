"""Elementwise kernels for float32. Arrays are flat and of one size; `out` may be an operand."""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiled import compiled
from .scalar import HALF, ONE, TWO, ZERO, bell32, exp32, log32, normal32, sigmoid32, tanh32

F = np.float32
DENSITY = F(0.3989422804014327)  # 1 / sqrt(2 pi)
SCALE, CUBE, SLOPE = F(0.7978845608028654), F(0.044715), F(0.134145)  # sqrt(2 / pi), and three times CUBE


@compiled
def exp(x: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = exp32(x[i])


@compiled
def log(x: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = log32(x[i])


@compiled
def tanh(x: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = tanh32(x[i])


@compiled
def tanh_vjp(g: Any, y: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = g[i] * (ONE - y[i] * y[i])


@compiled
def sigmoid(x: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = sigmoid32(x[i])


@compiled
def sigmoid_vjp(g: Any, y: Any, out: Any) -> None:
    for i in range(out.size):
        out[i] = g[i] * (y[i] * (ONE - y[i]))


@compiled
def relu_vjp(g: Any, y: Any, out: Any) -> None:
    """g where the result is positive; nan and inf times 0 stay nan, as in a product."""
    for i in range(out.size):
        out[i] = g[i] * (ONE if y[i] > ZERO else ZERO)


@compiled
def silu_kernel(x: Any, out: Any) -> None:
    for i in range(out.size):
        v = x[i]
        z = exp32(-abs(v))
        out[i] = v * (z if v < ZERO else ONE) / (ONE + z)


@compiled
def silu_kernel_vjp(g: Any, x: Any, out: Any) -> None:
    for i in range(out.size):
        s = sigmoid32(x[i])
        out[i] = g[i] * (s * (ONE + x[i] * (ONE - s)))


@compiled
def gelu_kernel(x: Any, out: Any) -> None:
    for i in range(out.size):
        v = x[i]
        out[i] = v * normal32(v, bell32(v))


@compiled
def gelu_kernel_vjp(g: Any, x: Any, out: Any) -> None:
    for i in range(out.size):
        v = x[i]
        bell = bell32(v)
        out[i] = g[i] * (normal32(v, bell) + v * (DENSITY * bell))


@compiled
def gelu_tanh_kernel(x: Any, out: Any) -> None:
    for i in range(out.size):
        v = x[i]
        out[i] = v * sigmoid32(TWO * SCALE * (v + CUBE * v * v * v))


@compiled
def gelu_tanh_kernel_vjp(g: Any, x: Any, out: Any) -> None:
    for i in range(out.size):
        v = x[i]
        t = tanh32(SCALE * (v + CUBE * v * v * v))
        out[i] = g[i] * (HALF * (ONE + t) + HALF * v * (ONE - t * t) * (SCALE * (ONE + SLOPE * v * v)))
