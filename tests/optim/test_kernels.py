"""Steps by kernels against the same optimizer step by step on tensors."""

from __future__ import annotations

import numpy as np
import pytest

import framework
from backends.numpy import kernels, optimizers
from framework import optim

CASES = [
    (optim.Adam, {}),
    (optim.Adam, {"weight_decay": 0.1, "maximize": True}),
    (optim.Adam, {"amsgrad": True, "betas": (0.5, 0.9)}),
    (optim.AdamW, {"weight_decay": 0.1}),
    (optim.AdamW, {"amsgrad": True}),
    (optim.SGD, {"weight_decay": 0.1}),
    (optim.SGD, {"momentum": 0.9, "dampening": 0.1, "maximize": True}),
    (optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
]


def train(kind, options, dtype, steps=6):
    rng = np.random.default_rng(0)
    shapes = ((40, 50), (3,), (), (2, 3, 4))
    params = [framework.nn.Parameter(framework.tensor(rng.standard_normal(s).astype(dtype))) for s in shapes]
    params.append(
        framework.nn.Parameter(framework.tensor(rng.standard_normal((6, 7)).astype(dtype)).t())
    )  # not contiguous
    o = kind(params, lr=0.05, **options)
    for step in range(steps):
        for p in params:
            p.grad = framework.tensor(rng.standard_normal(p.shape).astype(dtype)) if step != 2 or p.ndim else None
        o.step()
    return params, o


@pytest.mark.parametrize("route", ["compiled", "blocks"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind, options", CASES, ids=lambda c: getattr(c, "__name__", str(c)))
def test_kernels_step_like_the_optimizer(kind, options, dtype, route, monkeypatch):
    if route == "compiled" and not kernels.installed():
        pytest.skip("the kernels need Numba (the extra `fast`)")
    monkeypatch.setattr(kind, "kernel", "")
    expected, reference = train(kind, options, dtype)
    monkeypatch.undo()
    called = []
    monkeypatch.setattr(optimizers, "SMALL", 1 if route == "compiled" else 1 << 60)
    monkeypatch.setattr(optimizers, "PART", 64)
    monkeypatch.setattr(optimizers, "_BLOCK", 100)
    monkeypatch.setattr(
        optimizers, "_takes", lambda arrays, takes=optimizers._takes: called.append(takes(arrays)) or called[-1]
    )
    params, o = train(kind, options, dtype)
    assert set(called) == {True, False}
    for p, q in zip(params, expected, strict=True):
        np.testing.assert_allclose(
            p.detach().numpy(), q.detach().numpy(), rtol=2e-5 if dtype == "float32" else 1e-12, atol=1e-6
        )
        assert p._version >= 5
    for name, value in reference.state[expected[0]].items():
        np.testing.assert_allclose(o.state[params[0]][name].numpy(), value.numpy(), rtol=2e-5, atol=1e-6)


def test_a_step_is_seen_by_saved_tensors():
    w = framework.ones(5, requires_grad=True)
    loss = (w * w).sum()
    w.grad = framework.ones(5)
    optim.SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_views_step_through_tensors():
    base = framework.zeros(4)
    part = base[1:3].requires_grad_()
    part.grad = framework.ones(2)
    optim.SGD([part], lr=1.0).step()
    assert base.tolist() == [0, -1, -1, 0]
