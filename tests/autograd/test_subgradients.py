"""Which derivative is chosen where there is none, or more than one: at kinks, ties, bounds and singular points."""

from __future__ import annotations

import math

import numpy as np
import pytest

import framework
from framework import tensor
from tests.ops.checks import values

F = framework.nn.functional
inf, nan = math.inf, math.nan
TABLE = {
    # name: (function, input, gradient of its sum)
    "abs": (lambda x: x.abs(), [0.0, -1, 2], [0, -1, 1]),
    "sign": (lambda x: x.sign(), [0.0, -1, 2], [0, 0, 0]),
    "round": (lambda x: x.round(), [0.5, 1.2], [0, 0]),
    "floor": (lambda x: x.floor(), [1.0, 1.2], [0, 0]),
    "relu": (F.relu, [0.0, -1, 1], [0, 0, 1]),
    "relu6": (F.relu6, [0.0, 3, 6, 7], [0, 1, 0, 0]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), [0.0, -1, 1], [0.25, 0.25, 1]),
    "elu": (F.elu, [0.0, 1], [1, 1]),
    "gelu": (F.gelu, [0.0], [0.5]),
    "silu": (F.silu, [0.0], [0.5]),
    "softplus": (F.softplus, [0.0, 100], [0.5, 1]),
    "hardtanh": (F.hardtanh, [-1.0, 0, 1], [0, 1, 0]),
    "hardsigmoid": (F.hardsigmoid, [-3.0, 0, 3], [0, 1 / 6, 0]),
    "hardswish": (F.hardswish, [-3.0, 0, 3], [0, 0.5, 1]),
    "hardshrink": (F.hardshrink, [-0.5, 0, 0.5, 1], [0, 0, 0, 1]),
    "softshrink": (F.softshrink, [-0.5, 0, 0.5, 1], [0, 0, 0, 1]),
    "threshold": (lambda x: F.threshold(x, 0, 1), [-1.0, 0, 1], [0, 0, 1]),
    "clamp at its bounds": (lambda x: x.clamp(-1, 1), [-1.0, 0, 1, 2], [1, 1, 1, 0]),
    "clamp between tensors": (lambda x: x.clamp(x.detach() * 0, x.detach() * 0 + 1), [-1.0, 0, 1, 2], [0, 1, 1, 0]),
    "sqrt": (lambda x: x.sqrt(), [0.0, 4], [inf, 0.25]),
    "power of a half": (lambda x: x**0.5, [0.0, 4], [inf, 0.25]),
    "power of zero": (lambda x: x**0, [0.0, 4], [0, 0]),
    "power of two": (lambda x: x**2, [0.0, 4], [0, 8]),
    "power of a tensor": (lambda x: x ** tensor([0.0, 1, 2], device=x.device), [0.0, 0, 0], [0, 1, 0]),
    "log": (lambda x: x.log(), [0.0, 2], [inf, 0.5]),
    "norm": (lambda x: x.norm(), [0.0, 0], [0, 0]),
    "norm, other orders": (lambda x: x.norm(1) + x.norm(3), [0.0, 0], [0, 0]),
    "norm, largest": (lambda x: x.norm(inf), [2.0, -2, 1], [0.5, -0.5, 0]),
    "maximum": (lambda x: framework.maximum(x, tensor([0.0, 0], device=x.device)), [0.0, 1], [0.5, 1]),
    "minimum": (lambda x: framework.minimum(x, tensor([0.0, 0], device=x.device)), [0.0, 1], [0.5, 0]),
    "max of all": (lambda x: x.max(), [1.0, 1, 0], [0.5, 0.5, 0]),
    "min of all": (lambda x: x.min(), [1.0, 0, 0, 0], [0, *[1 / 3] * 3]),
    "amax": (lambda x: x.amax(1), [[1.0, 1, 0], [2, 2, 2]], [[0.5, 0.5, 0], [1 / 3] * 3]),
    "amin": (lambda x: x.amin(1), [[1.0, 1, 0], [2, 2, 2]], [[0, 0, 1], [1 / 3] * 3]),
    "max along": (lambda x: x.max(1)[0], [[1.0, 1, 0], [2, 2, 2]], [[1, 0, 0], [1, 0, 0]]),
    "min along": (lambda x: x.min(1)[0], [[1.0, 1, 0], [2, 2, 2]], [[0, 0, 1], [1, 0, 0]]),
    "median": (lambda x: x.median(), [3.0, 1, 2, 4], [0, 0, 1, 0]),
    "prod": (lambda x: x.prod(), [3.0, 2], [2, 3]),
    "prod with a zero": (lambda x: x.prod(), [3.0, 0, 2, 4], [0, 24, 0, 0]),
    "prod with two zeros": (lambda x: x.prod(), [3.0, 0, 2, 0], [0, 0, 0, 0]),
    "prod along": (lambda x: x.prod(1), [[3.0, 0, 2], [1, 2, 3]], [[0, 6, 0], [6, 3, 2]]),
    "cumprod with zeros": (lambda x: x.cumprod(0), [3.0, 0, 2, 0, 5], [1, 9, 0, 0, 0]),
    "std of a constant": (lambda x: x.std(), [3.0, 3, 3], [0, 0, 0]),
    "var of a constant": (lambda x: x.var(), [3.0, 3, 3], [0, 0, 0]),
    "where keeps nan": (lambda x: framework.where(x > 0, x.sqrt(), x), [0.0, 4], [nan, 0.25]),
    "double where": (lambda x: framework.where(x > 0, framework.where(x > 0, x, 1).sqrt(), x), [0.0, 4], [1, 0.25]),
    "atan2 at the origin": (lambda x: framework.atan2(x, x.detach() * 0), [0.0, 1], [0, 0]),
    "atan2 at the origin, second": (lambda x: framework.atan2(x.detach() * 0, x), [0.0, 1], [0, 0]),
    "fmod": (lambda x: framework.fmod(x, 3), [3.0, -5], [1, 1]),
    "remainder": (lambda x: framework.remainder(x, 3), [3.0, -5], [1, 1]),
    "sinc": (lambda x: x.sinc(), [0.0], [0]),
    "l1_loss": (lambda x: F.l1_loss(x, x.detach() * 1, reduction="sum"), [0.0, 1], [0, 0]),
    "smooth_l1_loss": (lambda x: F.smooth_l1_loss(x, x.detach() - 1, reduction="sum"), [0.0, 1], [1, 1]),
    "huber_loss": (lambda x: F.huber_loss(x, x.detach() - 1, reduction="sum"), [0.0, 1], [1, 1]),
}


@pytest.mark.parametrize("name", TABLE)
def test_gradient(name, device):
    f, at, want = TABLE[name]
    x = tensor(at, requires_grad=True, device=device)
    f(x).sum().backward()
    np.testing.assert_allclose(values(x.grad), np.array(want, "float32"), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", TABLE)
def test_differentiable_gradient_is_the_same(name, device):
    f, at, want = TABLE[name]
    x = tensor(at, requires_grad=True, device=device)
    (g,) = framework.autograd.grad(f(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(values(g.detach()), np.array(want, "float32"), rtol=1e-5, atol=1e-6)
