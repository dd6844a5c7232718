"""Elementwise functions, norms, softmax and losses on 1e5, 1e6 and 1e7 float32 numbers, alone and with backward.

PyTorch's figures for results above 16 MB include its page faults; run with --tuned-allocator for those without.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.benchmarks.cases import case

SIZES = {"1e5": 100_000, "1e6": 1_000_000, "1e7": 10_000_000}
UNARY = ("exp", "log", "tanh", "sigmoid", "sqrt", "relu")
ACTIVATIONS = ("gelu", "silu")


def numbers(n, seed=0):
    return np.abs(np.random.default_rng(seed).standard_normal(n, dtype="float32")) + 0.1


def plain(name, n):
    def build(t):
        x = t.tensor(numbers(n))
        f = getattr(t, name) if hasattr(t, name) else getattr(t.nn.functional, name)
        return lambda: f(x)

    return build


def binary(name, n):
    def build(t):
        x, y = t.tensor(numbers(n)), t.tensor(numbers(n, 1))
        return lambda: getattr(t, name)(x, y)

    return build


def over_rows(f, n, backward):
    """f(t, x, weight, bias, target) on a matrix with rows of 1000."""

    def build(t):
        x = t.tensor(numbers(n).reshape(-1, 1000)).requires_grad_(backward)
        w, b = (t.tensor(numbers(1000, s)).requires_grad_(backward) for s in (1, 2))
        target = t.tensor(np.arange(n // 1000) % 1000)
        y = f(t, x, w, b, target)
        g = t.ones(tuple(y.shape))

        def step():
            x.grad = w.grad = b.grad = None
            y = f(t, x, w, b, target)
            if backward:
                y.backward(g)

        return step

    return build


def with_backward(f, n):
    def build(t):
        x, g = t.tensor(numbers(n)).requires_grad_(), t.ones(n)

        def step():
            x.grad = None
            f(t, x).backward(g)

        return step

    return build


ROWS = {
    "softmax": lambda t, x, w, b, target: t.softmax(x, 1),
    "log_softmax": lambda t, x, w, b, target: t.log_softmax(x, 1),
    "layer_norm": lambda t, x, w, b, target: t.nn.functional.layer_norm(x, (1000,), w, b),
    "cross_entropy": lambda t, x, w, b, target: t.nn.functional.cross_entropy(x, target),
    "sum(1)": lambda t, x, w, b, target: x.sum(1),
}

for _size, _n in SIZES.items():
    group = partial(case, "elementwise")
    for _name in ("add", "mul"):
        group(f"{_name}, {_size}")(binary(_name, _n))
    for _name in (*UNARY, *ACTIVATIONS):
        group(f"{_name}, {_size}")(plain(_name, _n))
    group(f"dropout, {_size}")(
        lambda t, n=_n: (lambda x: lambda: t.nn.functional.dropout(x, 0.1))(t.tensor(numbers(n)))
    )
    for _name in ("relu", "tanh", "gelu"):
        _f = lambda t, x, name=_name: (getattr(t, name) if hasattr(t, name) else getattr(t.nn.functional, name))(x)
        group(f"{_name}, {_size}, + backward")(with_backward(_f, _n))
    for _name, _f in ROWS.items():
        group(f"{_name}, {_size}")(over_rows(_f, _n, False))
        group(f"{_name}, {_size}, + backward")(over_rows(_f, _n, True))
