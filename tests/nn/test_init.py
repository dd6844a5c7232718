"""Initial values: their distributions, what they refuse, the same on every device."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import framework
from framework import nn
from framework.nn import init


def filled(fill, *shape, device="cpu"):
    framework.manual_seed(0)
    t = nn.Parameter(framework.empty(shape, device=device))
    assert fill(t) is t and t.is_leaf and t.requires_grad and t.grad_fn is None
    return t.detach().cpu().numpy()


DISTRIBUTIONS = [
    (lambda t: init.uniform_(t, -1, 3), scipy.stats.uniform(-1, 4)),
    (lambda t: init.normal_(t, 2, 0.5), scipy.stats.norm(2, 0.5)),
    (lambda t: init.trunc_normal_(t, 1, 2, 0, 4), scipy.stats.truncnorm(-0.5, 1.5, 1, 2)),
    (lambda t: init.trunc_normal_(t, 0, 1, 1.5, 2.5), scipy.stats.truncnorm(1.5, 2.5)),
    (lambda t: init.xavier_uniform_(t, 2), scipy.stats.uniform(-2 * math.sqrt(6 / 300), 4 * math.sqrt(6 / 300))),
    (lambda t: init.xavier_normal_(t, 2), scipy.stats.norm(0, 2 * math.sqrt(2 / 300))),
    (
        lambda t: init.kaiming_uniform_(t, mode="fan_out", nonlinearity="relu"),
        scipy.stats.uniform(-math.sqrt(6 / 100), 2 * math.sqrt(6 / 100)),
    ),
    (lambda t: init.kaiming_normal_(t, 1.0), scipy.stats.norm(0, math.sqrt(1 / 200))),
]


@pytest.mark.parametrize("fill, distribution", DISTRIBUTIONS, ids=[str(i) for i in range(len(DISTRIBUTIONS))])
def test_distributions(fill, distribution):
    assert scipy.stats.kstest(filled(fill, 100, 200).ravel(), distribution.cdf).pvalue > 1e-3


def test_orthogonal(device):
    for shape in ((4, 6), (6, 4), (3, 2, 2)):
        q = filled(lambda t: init.orthogonal_(t, 2), *shape).reshape(shape[0], -1) / 2
        product = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-5)


def test_constants():
    assert (filled(lambda t: init.constant_(t, 3), 2, 2) == 3).all()
    assert (filled(init.ones_, 2) == 1).all() and (filled(init.zeros_, 2) == 0).all()
    np.testing.assert_array_equal(filled(init.eye_, 2, 3), np.eye(2, 3))
    w = filled(lambda t: init.dirac_(t, 2), 4, 2, 3)
    assert w.sum() == 4 and w[0, 0, 1] == w[1, 1, 1] == w[2, 0, 1] == w[3, 1, 1] == 1


def test_sparse():
    w = filled(lambda t: init.sparse_(t, 0.3), 10, 4)
    assert ((w == 0).sum(0) == 3).all()


def test_old_names_warn():
    with pytest.warns(FutureWarning, match="`nn.init.normal` is now deprecated in favor of `nn.init.normal_`"):
        filled(init.normal, 3)


def test_nothing_to_fill():
    with pytest.warns(UserWarning, match="zero-element tensors is a no-op"):
        init.kaiming_uniform_(framework.empty(0, 3))


def test_a_far_mean_warns():
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(framework.empty(2), mean=5)


@pytest.mark.every_device
def test_a_seed_gives_the_same_weights_everywhere(device):
    def weights(where):
        framework.manual_seed(0)
        m = nn.Sequential(
            nn.Linear(3, 4, device=where), nn.Conv1d(2, 3, 3, device=where), nn.Embedding(3, 2, device=where)
        )
        return [p.detach().cpu().numpy() for p in m.parameters()]

    for a, b in zip(weights(device), weights("cpu"), strict=True):
        np.testing.assert_array_equal(a, b)


def test_own_generator():
    def draw():
        return init.normal_(framework.empty(3), generator=framework.Generator().manual_seed(3)).tolist()

    assert draw() == draw()


@pytest.mark.parametrize("name, value", [("linear", 1), ("conv_transpose2d", 1), ("sigmoid", 1), ("tanh", 5 / 3), ("relu", math.sqrt(2)),
                                         ("leaky_relu", math.sqrt(2 / (1 + 1e-4))), ("selu", 0.75)])  # fmt: skip
def test_gain(name, value):
    assert init.calculate_gain(name) == value


@pytest.mark.parametrize("act, text", [
    (lambda: init.calculate_gain("gelu"), "Unsupported nonlinearity gelu"),
    (lambda: init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
    (lambda: init.eye_(framework.empty(3)), "Only tensors with 2 dimensions are supported"),
    (lambda: init.dirac_(framework.empty(3)), "Only tensors with 3, 4, or 5 dimensions are supported"),
    (lambda: init.dirac_(framework.empty(3, 2, 3), 2), "dim 0 must be divisible by groups"),
    (lambda: init.xavier_normal_(framework.empty(3)), "fewer than 2 dimensions"),
    (lambda: init.kaiming_normal_(framework.empty(3, 3), mode="fan"), "Mode fan not supported"),
    (lambda: init.orthogonal_(framework.empty(3)), "Only tensors with 2 or more dimensions are supported"),
    (lambda: init.sparse_(framework.empty(3), 0.1), "Only tensors with 2 dimensions are supported"),
])  # fmt: skip
def test_errors(act, text):
    with pytest.raises(ValueError, match=text):
        act()
