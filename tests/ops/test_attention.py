"""Attention beyond its rows: queries that see nothing, dropout, causal masks, transforms, half types, what is
refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

import framework
from framework import func
from framework.nn import functional as F


def operands(*shape, device="cpu", keys=5, grad=True, dtype="float64"):
    rng = np.random.default_rng(0)
    dtype = "float32" if device.startswith("mlx") else dtype
    sizes = (shape, (*shape[:-2], keys, shape[-1]), (*shape[:-2], keys, shape[-1]))
    return [framework.tensor(rng.normal(size=s).astype(dtype), device=device, requires_grad=grad) for s in sizes]


HIDDEN = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)  # True where a key may be seen


def as_mask(kind, seen, like):
    mask = framework.tensor(seen, device=like.device)
    return mask if kind == "bool" else framework.where(mask, 0.0, -math.inf).to(like.dtype)


def all_zero(t, at):
    return not np.any(t.cpu().detach().numpy()[..., at, :])


@pytest.mark.parametrize("kind", ["bool", "float"])
class TestAQueryThatSeesNothing:
    def test_gives_zeros_and_no_gradient(self, kind, device):
        q, k, v = operands(2, 3, 4, device=device)
        mask = as_mask(kind, HIDDEN, q)
        out = F.scaled_dot_product_attention(q, k, v, mask)
        assert all_zero(out, 1) and not all_zero(out, 0)
        out.sum().backward()
        assert all_zero(q.grad, 1) and not all_zero(q.grad, 0)
        for x in (q, k, v):
            assert np.isfinite(x.grad.cpu().numpy()).all()

    def test_leaves_the_others_as_they_are(self, kind):
        q, k, v = operands(2, 3, 4)
        whole = F.scaled_dot_product_attention(q, k, v, as_mask(kind, HIDDEN, q))
        others = F.scaled_dot_product_attention(q[:, ::2], k, v, as_mask(kind, HIDDEN[::2], q))
        np.testing.assert_allclose(whole[:, ::2].detach().numpy(), others.detach().numpy(), rtol=1e-13)

    def test_has_no_second_derivative(self, kind):
        q, k, v = operands(2, 3, 4)
        out = F.scaled_dot_product_attention(q, k, v, as_mask(kind, HIDDEN, q))
        (first,) = framework.autograd.grad(out.square().sum(), q, create_graph=True)
        for g in framework.autograd.grad(first.square().sum(), (q, k, v)):
            assert np.isfinite(g.numpy()).all()

    @pytest.mark.parametrize("weights", [True, False])
    def test_gives_the_bias_of_the_projection_from_all_heads(self, kind, weights):
        rng = np.random.default_rng(1)
        x = framework.tensor(rng.normal(size=(3, 2, 4)), requires_grad=True)
        in_weight, out_weight = (framework.tensor(rng.normal(size=s), requires_grad=True) for s in ((12, 4), (4, 4)))
        bias = framework.arange(4.0).double()
        padding = as_mask("bool", np.array([[0, 1, 0], [1, 1, 1]], bool), x)
        padding = padding if kind == "bool" else framework.where(padding, -math.inf, 0.0).double()
        out, shown = F.multi_head_attention_forward(
            x,
            x,
            x,
            4,
            2,
            in_weight,
            None,
            None,
            None,
            False,
            0.0,
            out_weight,
            bias,
            key_padding_mask=padding,
            need_weights=weights,
        )
        assert out[:, 1].tolist() == [[0, 1, 2, 3]] * 3
        assert (
            shown is None or not shown[1].detach().numpy().any() and np.allclose(shown[0].detach().numpy().sum(-1), 1)
        )
        out.sum().backward()
        assert (
            not x.grad.numpy()[:, 1].any()
            and np.isfinite(x.grad.numpy()).all()
            and np.isfinite(in_weight.grad.numpy()).all()
        )


class TestMasks:
    @pytest.mark.parametrize("keys", [2, 3, 5])
    def test_causal_is_the_lower_triangle_from_the_top_left(self, keys, device):
        q, k, v = operands(2, 3, 4, keys=keys, device=device)
        triangle = framework.tensor(np.tri(3, keys, dtype=bool), device=device)
        a, b = (
            F.scaled_dot_product_attention(q, k, v, is_causal=True),
            F.scaled_dot_product_attention(q, k, v, triangle),
        )
        np.testing.assert_allclose(a.detach().cpu().numpy(), b.detach().cpu().numpy(), rtol=1e-6)

    def test_an_additive_mask_has_a_gradient_of_its_shape(self):
        q, k, v = operands(2, 3, 4)
        bias = framework.zeros(1, 5, dtype=framework.float64, requires_grad=True)
        assert framework.autograd.gradcheck(lambda b: F.scaled_dot_product_attention(q, k, v, b), (bias,))

    def test_a_mask_larger_than_the_scores_is_refused(self):
        q, k, v = operands(3, 4)
        with pytest.raises(RuntimeError, match="does not broadcast to the scores"):
            F.scaled_dot_product_attention(q, k, v, framework.ones(2, 3, 5).bool())
        with pytest.raises(RuntimeError, match="must match the size"):
            F.scaled_dot_product_attention(q, k, v, framework.ones(3, 4).bool())

    def test_masks_of_two_kinds_warn(self):
        x, weight = framework.ones(3, 2, 4), framework.ones(12, 4)
        with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask is deprecated"):
            F.multi_head_attention_forward(
                x,
                x,
                x,
                4,
                2,
                weight,
                None,
                None,
                None,
                False,
                0.0,
                framework.ones(4, 4),
                None,
                key_padding_mask=framework.zeros(2, 3).bool(),
                attn_mask=framework.zeros(3, 3),
            )


class TestDropout:
    def test_drops_a_share_of_the_weights_and_scales_the_rest(self, device):
        framework.manual_seed(0)
        size = 64
        q, k = (framework.zeros(4, size, 2, device=device) for _ in range(2))
        v = framework.eye(size, device=device)
        weights = F.scaled_dot_product_attention(q, k, v, dropout_p=0.25).cpu().numpy() * size
        assert abs((weights == 0).mean() - 0.25) < 0.02
        np.testing.assert_allclose(weights[weights != 0], 1 / 0.75, rtol=1e-5)

    def test_the_gradient_is_that_of_the_draw(self):
        def f(*xs):
            framework.manual_seed(3)
            return F.scaled_dot_product_attention(*xs, dropout_p=0.4)

        xs = operands(2, 3, 4)
        assert framework.autograd.gradcheck(f, xs) and framework.autograd.gradgradcheck(f, xs)

    def test_everything_at_one(self):
        assert all_zero(F.scaled_dot_product_attention(*operands(3, 4), dropout_p=1.0), slice(None))

    def test_examples_of_a_vmap_draw_for_themselves(self):
        framework.manual_seed(0)
        x = framework.ones(3, 8, 8, 2)
        f = func.vmap(
            lambda q: F.scaled_dot_product_attention(q, q, framework.eye(8), dropout_p=0.5), randomness="different"
        )
        a, b, _ = f(x).numpy()
        assert (a != b).any()
        with pytest.raises(RuntimeError, match="random"):
            func.vmap(lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5))(x)


class TestTransforms:
    def test_a_batch_of_masks_over_one_query(self):
        q, k, v = operands(3, 4, grad=False)
        biases = framework.tensor(np.random.default_rng(2).normal(size=(6, 3, 5)))
        together = func.vmap(lambda b: F.scaled_dot_product_attention(q, k, v, b))(biases)
        for one, bias in zip(together, biases, strict=True):
            np.testing.assert_allclose(one.numpy(), F.scaled_dot_product_attention(q, k, v, bias).numpy(), rtol=1e-12)

    def test_only_values_batched(self):
        q, k, v = operands(2, 3, 4, grad=False)
        vs = framework.stack([v, 2 * v])
        out = func.vmap(lambda x: F.scaled_dot_product_attention(q, k, x, is_causal=True))(vs).numpy()
        np.testing.assert_allclose(out[1], 2 * out[0], rtol=1e-12)

    def test_gradients_of_each_example(self):
        q, k, v = operands(3, 2, 4, grad=False)

        def loss(q, k, v):
            return F.scaled_dot_product_attention(q, k, v).square().sum()

        together = func.vmap(func.grad(loss))(q, k, v)
        for i in range(3):
            np.testing.assert_allclose(
                together[i].numpy(), func.grad(loss)(q[i], k[i], v[i]).numpy(), rtol=1e-10, atol=1e-14
            )

    def test_autocast_computes_in_the_lower_type(self):
        q, k, v = operands(3, 4, dtype="float32")
        with framework.amp.autocast("cpu"):
            assert F.scaled_dot_product_attention(q, k, v).dtype is framework.bfloat16


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_types_round_once(dtype):
    """Values and gradients are those of double precision on the same operands, rounded; a float32 mask makes nothing
    wider."""
    halves = [x.detach().to(getattr(framework, dtype)) for x in operands(2, 3, 4)]
    bias = framework.tensor(np.random.default_rng(4).normal(size=(3, 5)).astype("float32"))
    results = []
    for wide in (False, True):
        xs = [(x.double() if wide else x.clone()).requires_grad_() for x in halves]
        out = F.scaled_dot_product_attention(*xs, bias.double() if wide else bias, scale=3.0)
        assert out.dtype is xs[0].dtype
        out.sum().backward()
        results.append([t.detach().double().numpy() for t in (out, *[x.grad for x in xs])])
    step = {"bfloat16": 2.0**-8, "float16": 2.0**-11}[dtype]
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(a, b, rtol=step * 1.01, atol=2e-6)


def test_heads_in_groups_share_keys():
    q, k, v = operands(2, 6, 3, 4, grad=False)
    shared = F.scaled_dot_product_attention(q, k[:, :2], v[:, :3], enable_gqa=True)
    repeated = F.scaled_dot_product_attention(q, k[:, [0, 0, 0, 1, 1, 1]], v[:, [0, 0, 1, 1, 2, 2]])
    np.testing.assert_allclose(shared.numpy(), repeated.numpy(), rtol=1e-13)
    with pytest.raises(RuntimeError, match="must divide"):
        F.scaled_dot_product_attention(q, k[:, :4], v[:, :4], enable_gqa=True)
    with pytest.raises(RuntimeError, match="must match the size"):
        F.scaled_dot_product_attention(q, k[:, :2], v[:, :2])


def test_static_keys_and_values_take_the_place_of_projected_ones():
    rng = np.random.default_rng(0)
    x, keys, values = (framework.tensor(rng.normal(size=s)) for s in ((3, 2, 4), (4, 5, 2), (4, 5, 2)))
    weight, eye = framework.tensor(rng.normal(size=(12, 4))), framework.eye(4, dtype=framework.float64)
    arguments = (x, x, x, 4, 2, weight, None, None, None, False, 0.0, eye, None)
    out, _ = F.multi_head_attention_forward(*arguments, static_k=keys, static_v=values)
    q = (x @ weight[:4].T).reshape(3, 2, 2, 2).permute(1, 2, 0, 3)
    want = F.scaled_dot_product_attention(q, keys.reshape(2, 2, 5, 2), values.reshape(2, 2, 5, 2))
    np.testing.assert_allclose(out.numpy(), want.permute(2, 0, 1, 3).reshape(3, 2, 4).numpy(), rtol=1e-12)
    with pytest.raises(AssertionError, match=r"expecting static_k.size\(0\) of 4, but got 3"):
        F.multi_head_attention_forward(*arguments, static_k=keys[:3], static_v=values)
    with pytest.raises(AssertionError, match=r"expecting static_v.size\(2\) of 2, but got 1"):
        F.multi_head_attention_forward(*arguments, static_k=keys, static_v=values[..., :1])
