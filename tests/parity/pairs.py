"""The same module here and in PyTorch, in double precision, and the comparison of what they do."""

from __future__ import annotations

import copy

import numpy as np
import torch

import framework
from framework import nn


def both(name, args, kwargs, seed=0):
    """The module made on both sides from one seed."""
    framework.manual_seed(seed)
    torch.manual_seed(seed)
    return getattr(nn, name)(*args, **kwargs), getattr(torch.nn, name)(*copy.deepcopy(args), **kwargs)


def doubles(name, args=(), kwargs=None, training=True):
    """The same with the same parameters, in double precision."""
    ours, theirs = (m.double().train(training) for m in both(name, args, kwargs or {}))
    ours.load_state_dict({k: framework.tensor(v.numpy().copy()) for k, v in theirs.state_dict().items()})
    return ours, theirs


def variables(*shapes, seed=0):
    """Standard normal variables of these shapes, here and there."""
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=shape) for shape in shapes]
    return [framework.tensor(a, requires_grad=True) for a in arrays], [
        torch.tensor(a, requires_grad=True) for a in arrays
    ]


def leaves(value):
    """The tensors in nested tuples."""
    return (
        [x for v in value for x in leaves(v)] if isinstance(value, (tuple, list)) else [] if value is None else [value]
    )


def assert_same(ours, theirs, tolerance=1e-9):
    """Tensors in nested tuples have the same shapes and values."""
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


def assert_same_gradients(ours, theirs, inputs, modules=(), tolerance=1e-8):
    """A weighted sum of all results has the same gradients with respect to inputs and parameters."""
    rng = np.random.default_rng(7)
    total, expected = 0, 0
    for a, b in zip(leaves(ours), leaves(theirs), strict=True):
        weights = rng.normal(size=tuple(b.shape))
        total = total + (a * framework.tensor(weights)).sum()
        expected = expected + (b * torch.tensor(weights)).sum()
    total.backward()
    expected.backward()
    pairs = list(zip(*inputs, strict=True))
    if modules:
        pairs += zip(*[m.parameters() for m in modules], strict=True)
    for p, q in pairs:
        if q.grad is not None:
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=tolerance, atol=tolerance)
