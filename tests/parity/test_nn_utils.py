"""Clipping and vectors of parameters against PyTorch."""

from __future__ import annotations

import math

import pytest

from framework import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.parity.pairs import assert_same, doubles, variables


def with_gradients():
    ours, theirs = doubles("Linear", (3, 4))
    xs, ys = variables((5, 3))
    (ours(xs[0]) ** 2).sum().backward()
    (theirs(ys[0]) ** 2).sum().backward()
    return ours, theirs


@pytest.mark.parametrize("kind", [2.0, 1.0, 3.0, math.inf, 0.0])
@pytest.mark.parametrize("most", [0.5, 1e6])
def test_clip_by_norm(kind, most):
    ours, theirs = with_gradients()
    a = nn.utils.clip_grad_norm_(ours.parameters(), most, kind)
    b = torch.nn.utils.clip_grad_norm_(theirs.parameters(), most, kind)
    assert_same(a, b)
    assert_same([p.grad for p in ours.parameters()], [p.grad for p in theirs.parameters()])


def test_clip_by_value_and_nonfinite_norms():
    ours, theirs = with_gradients()
    nn.utils.clip_grad_value_(ours.parameters(), 0.3)
    torch.nn.utils.clip_grad_value_(theirs.parameters(), 0.3)
    assert_same([p.grad for p in ours.parameters()], [p.grad for p in theirs.parameters()])
    ours.bias.grad.fill_(math.nan)
    with pytest.raises(RuntimeError, match="is non-finite"):
        nn.utils.clip_grad_norm_(ours.parameters(), 1.0, error_if_nonfinite=True)
    assert nn.utils.get_total_norm([]).item() == 0


def test_vectors():
    ours, theirs = with_gradients()
    vector = nn.utils.parameters_to_vector(ours.parameters())
    assert_same(vector, torch.nn.utils.parameters_to_vector(theirs.parameters()))
    nn.utils.vector_to_parameters(vector.detach() * 2, ours.parameters())
    assert_same(nn.utils.parameters_to_vector(ours.parameters()), vector * 2)
    with pytest.raises(TypeError, match="expected torch.Tensor"):
        nn.utils.vector_to_parameters([1.0], ours.parameters())
