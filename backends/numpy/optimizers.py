"""Optimizer steps over all parameters at once, in place: by compiled kernels, or by NumPy in blocks that stay in the
cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import Array
from .fused import FLOAT32, FLOAT64, PART, SMALL
from .kernels import load
from .pool import cut, pool

_BLOCK = 1 << 13  # elements of each array that NumPy works on at a time


class AdamStep(NamedTuple):
    """Numbers of one step of Adam on one parameter, with g = sign gradient + decay param:

    mean += (g - mean) (1 - beta1); square = beta2 square + (1 - beta2) g**2;
    param = keep param + lr mean / (sqrt(square) / scale + eps)
    """

    sign: float
    keep: float
    decay: float
    beta1: float
    beta2: float
    scale: float
    eps: float
    lr: float


class SgdStep(NamedTuple):
    """Numbers of one step of gradient descent on one parameter, with g = sign gradient + decay param:

    buffer = momentum buffer + share g; param += lr (own g + ahead buffer); without a buffer param += lr g
    """

    sign: float
    decay: float
    lr: float
    momentum: float
    share: float
    ahead: float
    own: float


Item = tuple[Sequence[Array], Any]


class Optimizers:
    """Steps of optimizers. An item is the arrays of one parameter (itself, its gradient, its state) and its numbers;
    they return for each whether it was done. Not done are arrays that are not contiguous and of one floating-point
    dtype and shape."""

    def adam_step(self, items: Sequence[tuple[Sequence[Array], tuple[float, ...]]]) -> list[bool]:
        """Arrays: param, gradient, mean, square, and the largest square if that is wanted; numbers: `AdamStep`."""
        return _step(items, _adam_kernel, _adam_blocks)

    def sgd_step(self, items: Sequence[tuple[Sequence[Array], tuple[float, ...]]]) -> list[bool]:
        """Arrays: param, gradient, and the buffer if there is momentum; numbers: `SgdStep`."""
        return _step(items, _sgd_kernel, _sgd_blocks)


def _step(items: Sequence[Any], kernel: Callable[..., Any], blocks: Callable[..., Any]) -> list[bool]:
    done = [_takes(arrays) for arrays, _ in items]
    chosen = [item for item, fits in zip(items, done) if fits]
    size = sum([arrays[0].size for arrays, _ in chosen])
    module = load("optimizers") if size >= SMALL else None
    pieces: list[tuple[Any, ...]] = []
    for arrays, numbers in chosen:
        flat = [a.reshape(-1) for a in arrays]
        f = (
            blocks(len(arrays), numbers)
            if module is None
            else kernel(module, len(arrays), numbers, arrays[0].dtype.type)
        )
        parts = max(1, flat[0].size // (2 * PART)) if pool.size > 1 else 1
        pieces += [(f, *[a[s] for a in flat]) for s in cut(flat[0].size, parts, 16)]
    if size < 2 * PART:
        for f, *some in pieces:
            f(*some)
    else:
        pool.run(_call, pieces)
    return done


def _call(f: Callable[..., Any], *arrays: Array) -> None:
    f(*arrays)


def _takes(arrays: Sequence[Array]) -> bool:
    first = arrays[0]
    kind, shape = first.dtype, first.shape
    if kind != FLOAT32 and kind != FLOAT64:
        return False
    state = (first, *arrays[2:])
    return all(
        [a.dtype == kind and a.shape == shape and a.flags.c_contiguous and a.flags.aligned for a in arrays]
    ) and all([a.flags.writeable for a in state])


# ---------------------------------------------------------------- Adam
def _adam_kernel(module: Any, count: int, numbers: tuple[float, ...], kind: Any) -> Callable[..., Any]:
    n = AdamStep(*numbers)
    given = [kind(x) for x in (n.sign, n.keep, n.decay, 1 - n.beta1, n.beta2, 1 - n.beta2, n.scale, n.eps, n.lr)]
    f = module.adam if count == 4 else module.adam_largest
    return lambda *arrays: f(*arrays, *given)


def _adam_blocks(count: int, numbers: tuple[float, ...]) -> Callable[..., Any]:
    n = AdamStep(*numbers)

    def step(p: Array, g: Array, m: Array, v: Array, largest: Array | None = None) -> None:
        d, t = np.empty_like(p), np.empty_like(p)
        np.multiply(g, n.sign, out=d)
        if n.decay:
            d += np.multiply(p, n.decay, out=t)
        if n.keep != 1:
            p *= n.keep
        np.subtract(d, m, out=t)
        t *= 1 - n.beta1
        m += t
        v *= n.beta2
        np.multiply(d, d, out=t)
        t *= 1 - n.beta2
        v += t
        square = v if largest is None else np.maximum(largest, v, out=largest)
        np.sqrt(square, out=t)
        t /= n.scale
        t += n.eps
        np.divide(m, t, out=t)
        t *= n.lr
        p += t

    return lambda *arrays: _in_blocks(step, arrays)


# ---------------------------------------------------------------- gradient descent
def _sgd_kernel(module: Any, count: int, numbers: tuple[float, ...], kind: Any) -> Callable[..., Any]:
    n = [kind(x) for x in numbers]
    if count == 2:
        return lambda *arrays: module.sgd(*arrays, *n[:3])
    return lambda *arrays: module.sgd_momentum(*arrays, *n)


def _sgd_blocks(count: int, numbers: tuple[float, ...]) -> Callable[..., Any]:
    n = SgdStep(*numbers)

    def step(p: Array, g: Array, b: Array | None = None) -> None:
        d = g * n.sign
        if n.decay:
            d += p * n.decay
        if b is not None:
            b *= n.momentum
            b += d * n.share
            if n.own:
                d *= n.own
                d += b * n.ahead
            else:
                np.multiply(b, n.ahead, out=d)
        d *= n.lr
        p += d

    return lambda *arrays: _in_blocks(step, arrays)


def _in_blocks(step: Callable[..., Any], arrays: Sequence[Array]) -> None:
    size = arrays[0].size
    for i in range(0, size, _BLOCK):
        step(*[a[i : i + _BLOCK] for a in arrays])
