"""`grad(..., is_grads_batched=True)` against a loop."""

from __future__ import annotations

import numpy as np
import pytest

from framework import tensor
from framework.autograd import grad


@pytest.fixture
def x(device):
    return tensor([[0.3, 1.0, -2.0], [0.5, 0.25, 4.0]], requires_grad=True, device=device)


@pytest.fixture
def cotangents(device):
    values = np.random.default_rng(0).standard_normal((4, 2, 3))
    return tensor(values.astype("float32"), device=device)


def test_agrees_with_a_loop(x, cotangents):
    y = (x.exp() * x).sin()
    (found,) = grad(y, x, cotangents, is_grads_batched=True, retain_graph=True)
    expected = [grad(y, x, cotangents[i], retain_graph=True)[0].tolist() for i in range(4)]
    np.testing.assert_allclose(found.tolist(), expected, rtol=1e-5)


def test_several_outputs_and_inputs(x, cotangents):
    z = tensor([1.0, 2.0, 3.0], requires_grad=True, device=x.device)
    outputs = x * z, x.sum(1)
    weights = cotangents, cotangents[:, :, 0]
    found = grad(outputs, (x, z), weights, is_grads_batched=True, retain_graph=True)
    for i in range(4):
        expected = grad(outputs, (x, z), [w[i] for w in weights], retain_graph=True)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a[i].tolist(), b.tolist(), rtol=1e-5)


def test_differentiable(x, cotangents):
    (found,) = grad(x**3, x, cotangents, is_grads_batched=True, create_graph=True)
    (second,) = grad(found.sum(), x)
    np.testing.assert_allclose(second.tolist(), (6 * x * cotangents.sum(0)).tolist(), rtol=1e-5)


def test_unused_inputs(x, cotangents):
    z = tensor([1.0], requires_grad=True, device=x.device)
    y = x * 2
    with pytest.raises(RuntimeError, match="allow_unused"):
        grad(y, (x, z), cotangents, is_grads_batched=True, retain_graph=True)
    assert grad(y, (x, z), cotangents, is_grads_batched=True, retain_graph=True, allow_unused=True)[1] is None
    zeros = grad(y, (x, z), cotangents, is_grads_batched=True, materialize_grads=True)[1]
    assert zeros.tolist() == [[0], [0], [0], [0]]


def test_shapes_refused(x, cotangents):
    y = x * 2
    with pytest.raises(
        RuntimeError, match="we interpret the first dimension of each grad_output as the batch dimension"
    ):
        grad(y, x, cotangents[:, :1], is_grads_batched=True)
    with pytest.raises(RuntimeError, match="one common size of the first dimension"):
        grad((y, y), x, (cotangents, cotangents[:2]), is_grads_batched=True)
    with pytest.raises(RuntimeError, match="no grad_outputs"):
        grad(y.sum(), x, is_grads_batched=True)
