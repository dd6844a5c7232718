"""Dropout and the other functions that draw: what is zeroed, how the rest is scaled, gradients, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import framework
from framework.nn import functional as F

CHANNELS = {"dropout1d": (40, 50, 3), "dropout2d": (40, 50, 2, 3), "dropout3d": (40, 50, 2, 2, 2)}


def ones(*shape, device="cpu", **options):
    framework.manual_seed(0)
    return framework.ones(shape, device=device, **options)


class TestDropout:
    def test_a_share_is_zero_and_the_rest_is_scaled(self, device):
        out = F.dropout(ones(100, 100, device=device), 0.3).cpu().numpy()
        assert abs((out == 0).mean() - 0.3) < 0.02
        np.testing.assert_allclose(out[out != 0], 1 / 0.7, rtol=1e-6)

    def test_the_gradient_goes_where_the_values_went(self):
        x = ones(50).requires_grad_()
        out = F.dropout(x, 0.5)
        out.sum().backward()
        np.testing.assert_array_equal(x.grad.numpy(), out.detach().numpy())

    def test_nothing_happens_outside_training(self):
        x = ones(5)
        assert F.dropout(x, 0.5, False) is x and F.dropout(x, 0.0) is x and F.alpha_dropout(x, 0.5) is x

    def test_everything_at_one(self):
        assert F.dropout(ones(5), 1.0).tolist() == [0] * 5 == F.alpha_dropout(ones(5), 1.0, True).tolist()

    def test_in_place(self):
        for f in (F.dropout, F.alpha_dropout):
            x = ones(100)
            assert f(x, 0.5, True, True) is x and len(set(x.tolist())) == 2

    @pytest.mark.parametrize("name", CHANNELS)
    def test_channels_go_together(self, name):
        shape = CHANNELS[name]
        for size in (shape, shape[1:]) if name != "dropout2d" else (shape,):
            out = getattr(F, name)(ones(*size)).numpy().reshape(-1, int(np.prod(shape[2:])))
            assert (out == out[:, :1]).all() and 0.3 < (out == 0).mean() < 0.7

    def test_alpha_dropout_keeps_mean_and_variance(self):
        framework.manual_seed(0)
        x = framework.randn(200, 200)
        out = F.alpha_dropout(x, 0.3, True)
        assert abs(out.mean().item()) < 0.02 and abs((out * out).mean().item() - 1) < 0.03
        out = F.feature_alpha_dropout(framework.ones(200, 100, 2), 0.3, True).numpy()
        dropped = out < 0
        assert (dropped[..., 0] == dropped[..., 1]).all() and 0.25 < dropped.mean() < 0.35

    def test_names_outside_functional(self):
        framework.manual_seed(0)
        a = framework.dropout(framework.ones(9), 0.5, True)
        framework.manual_seed(0)
        b = framework.ones(9)
        framework.dropout_(b, 0.5, True)
        assert a.tolist() == b.tolist()
        assert (
            framework.feature_dropout(framework.ones(2, 3, 4), 0.5, False).tolist() == framework.ones(2, 3, 4).tolist()
        )

    def test_vmap_needs_to_be_told(self):
        vmap = framework.func.vmap
        with pytest.raises(RuntimeError, match="randomness"):
            vmap(F.dropout)(ones(2, 3))
        rows = vmap(F.dropout, randomness="same")(ones(4, 30)).numpy()
        assert (rows == rows[0]).all()
        rows = vmap(F.dropout, randomness="different")(ones(4, 30)).numpy()
        assert not (rows == rows[0]).all()

    @pytest.mark.parametrize(
        "act, kind, text",
        [
            (lambda: F.dropout(ones(2), 1.5), ValueError, "has to be between 0 and 1, but got 1.5"),
            (lambda: F.dropout2d(ones(2, 2, 2, 2), -0.1), ValueError, "has to be between 0 and 1, but got -0.1"),
            (lambda: F.dropout1d(ones(2)), RuntimeError, "Expected 2D or 3D input, but received a 1D input"),
            (lambda: F.feature_alpha_dropout(ones(2), 0.5, True), RuntimeError, "at least 2 dimensions"),
            (
                lambda: F.rrelu(ones(2), 2.0, 1.0),
                RuntimeError,
                "Lower bound should be less than or equal to the upper bound",
            ),
        ],
    )
    def test_errors(self, act, kind, text):
        with pytest.raises(kind, match=text):
            act()

    def test_dropout2d_of_three_dimensions_warns(self):
        with pytest.warns(UserWarning, match="interpreted as shape"):
            F.dropout2d(ones(2, 3, 4))


class TestOthers:
    def test_rrelu(self):
        x = -ones(1000)
        out = -F.rrelu(x, 0.2, 0.4, True).numpy()
        assert out.min() >= 0.2 and out.max() < 0.4 and abs(out.mean() - 0.3) < 0.01
        np.testing.assert_allclose(F.rrelu(x, 0.2, 0.4).numpy(), -0.3, rtol=1e-6)
        assert F.rrelu(ones(3), training=True).tolist() == [1, 1, 1]
        assert F.rrelu_(x, 0.2, 0.4, True) is x and x.numpy().max() <= -0.2

    def test_gumbel_softmax(self):
        framework.manual_seed(0)
        logits = framework.tensor([1.0, 2.0, 0.0]).expand(4000, 3).clone().requires_grad_()
        hard = F.gumbel_softmax(logits, hard=True)
        assert set(hard.detach().numpy().ravel()) <= {0.0, 1.0} or np.allclose(hard.detach().numpy().sum(1), 1)
        wanted = np.exp([1, 2, 0]) / np.exp([1, 2, 0]).sum()
        np.testing.assert_allclose(hard.detach().numpy().mean(0), wanted, atol=0.03)
        hard[:, 0].sum().backward()
        assert (logits.grad.numpy() != 0).any()
        soft = F.gumbel_softmax(logits.detach(), tau=0.5).numpy()
        np.testing.assert_allclose(soft.sum(1), 1, rtol=1e-5)
