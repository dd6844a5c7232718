"""MultiheadAttention and the Transformer family: parameters, layouts, masks, what parts are made of, copies, what is
refused."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import framework
from framework import nn
from tests.case_ids import case_id

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")


def draw(*shape):
    return framework.tensor(np.random.default_rng(sum(shape)).normal(size=shape).astype("float32"))


def same(a, b, tolerance=2e-6):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


KEYS = ["in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"]


class TestMultiheadAttention:
    @pytest.mark.parametrize(
        "options, keys",
        [
            ({}, KEYS),
            ({"bias": False}, [KEYS[0], KEYS[2]]),
            ({"add_bias_kv": True}, [*KEYS[:2], "bias_k", "bias_v", *KEYS[2:]]),
            ({"kdim": 3}, ["q_proj_weight", "k_proj_weight", "v_proj_weight", *KEYS[1:]]),
            ({"kdim": 8, "vdim": 8}, KEYS),
        ],
        ids=case_id,
    )
    def test_parameters(self, options, keys):
        m = nn.MultiheadAttention(8, 2, **options)
        assert list(m.state_dict()) == keys
        shapes = {n: tuple(p.shape) for n, p in m.named_parameters()}
        want = {
            "in_proj_weight": (24, 8),
            "in_proj_bias": (24,),
            "bias_k": (1, 1, 8),
            "q_proj_weight": (8, 8),
            "k_proj_weight": (8, 3),
        }
        assert {n: s for n, s in shapes.items() if n in want} == {n: s for n, s in want.items() if n in keys}
        for name in ("in_proj_bias", "out_proj.bias"):
            assert name not in keys or not m.state_dict()[name].numpy().any()

    def test_layouts(self):
        m, first = nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 2, batch_first=True)
        first.load_state_dict(m.state_dict())
        q, k = draw(3, 2, 8), draw(5, 2, 8)
        out, weights = m(q, k, k)
        assert tuple(out.shape) == (3, 2, 8) and tuple(weights.shape) == (2, 3, 5)
        same(weights.sum(-1), framework.ones(2, 3))
        other, other_weights = first(q.transpose(0, 1), k.transpose(0, 1), k.transpose(0, 1))
        same(other.transpose(0, 1), out)
        same(other_weights, weights)
        for i in range(2):
            for module in (m, first):
                one, one_weights = module(q[:, i], k[:, i], k[:, i])
                same(one, out[:, i])
                same(one_weights, weights[i])

    def test_weights_are_shown_as_asked(self):
        m, x = nn.MultiheadAttention(8, 2), draw(3, 2, 8)
        out, weights = m(x, x, x)
        each = m(x, x, x, average_attn_weights=False)[1]
        assert tuple(each.shape) == (2, 2, 3, 3)
        same(each.mean(1), weights)
        plain, nothing = m(x, x, x, need_weights=False)
        assert nothing is None
        same(plain, out)

    @pytest.mark.parametrize("weights", [True, False])
    def test_padding_does_not_matter(self, weights):
        m, q, k = nn.MultiheadAttention(8, 2), draw(3, 2, 8), draw(5, 2, 8)
        padding = framework.tensor([[False, False, False, True, True]] * 2)
        a, b = (
            m(q, k, k, key_padding_mask=padding, need_weights=weights)[0],
            m(q, k[:3], k[:3], need_weights=weights)[0],
        )
        same(a, b)

    @pytest.mark.parametrize("weights", [True, False])
    def test_a_sequence_of_padding_gives_a_bias_and_finite_gradients(self, weights):
        m, x = nn.MultiheadAttention(8, 2), draw(3, 2, 8).requires_grad_()
        with framework.no_grad():
            m.out_proj.bias.fill_(0.5)
        out, _ = m(x, x, x, key_padding_mask=framework.tensor([[True] * 3, [False] * 3]), need_weights=weights)
        same(out[:, 0], framework.full((3, 8), 0.5))
        out.sum().backward()
        assert not x.grad.numpy()[:, 0].any()
        assert all(np.isfinite(p.grad.numpy()).all() for p in m.parameters())

    def test_the_hint_stands_for_the_mask(self):
        m, x = nn.MultiheadAttention(8, 2), draw(4, 2, 8)
        causal = nn.Transformer.generate_square_subsequent_mask(4)
        outs = [
            m(x, x, x, attn_mask=causal, is_causal=hint, need_weights=weights)[0]
            for hint in (False, True)
            for weights in (False, True)
        ]
        for out in outs[1:]:
            same(out, outs[0])
        with pytest.raises(RuntimeError, match="Need attn_mask if specifying the is_causal hint"):
            m(x, x, x, is_causal=True)

    def test_keys_and_values_that_everybody_sees(self):
        m, x = nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True), draw(3, 2, 8)
        out, weights = m(x, x, x, key_padding_mask=framework.ones(2, 3).bool())
        assert tuple(weights.shape) == (2, 3, 5) and not weights[..., :3].detach().numpy().any()
        assert (weights[..., 3:].detach().numpy() > 0).all() and np.isfinite(out.detach().numpy()).all()

    @pytest.mark.parametrize(
        "act, kind, message",
        [
            (lambda: nn.MultiheadAttention(0, 1), ValueError, "must be greater than 0"),
            (lambda: nn.MultiheadAttention(8, 3), AssertionError, "divisible"),
            (
                lambda: nn.MultiheadAttention(8, 2)(*[draw(3, 2, 6)] * 3),
                AssertionError,
                "expecting embedding dimension of 8, but got 6",
            ),
            (
                lambda: nn.MultiheadAttention(8, 2)(*[draw(3, 2, 8)] * 3, attn_mask=framework.ones(3, 3).long()),
                AssertionError,
                "only bool and floating types",
            ),
            (
                lambda: nn.MultiheadAttention(8, 2)(*[draw(3, 2, 8)] * 3, attn_mask=framework.ones(2, 3)),
                RuntimeError,
                "The shape of the 2D attn_mask is",
            ),
            (
                lambda: nn.MultiheadAttention(8, 2)(*[draw(3, 2, 8)] * 3, attn_mask=framework.ones(2, 3, 3)),
                RuntimeError,
                "The shape of the 3D attn_mask is",
            ),
            (lambda: nn.MultiheadAttention(8, 2)(*[draw(8)] * 3), AssertionError, "unbatched 2D or batched 3D"),
            (
                lambda: nn.MultiheadAttention(8, 2)(*[draw(3, 8)] * 3, attn_mask=framework.ones(1, 3, 3)),
                AssertionError,
                "Expected `attn_mask` shape to be",
            ),
        ],
        ids=case_id,
    )
    def test_refusals(self, act, kind, message):
        with pytest.raises(kind, match=message):
            act()


def encoder_layer(**options):
    return nn.TransformerEncoderLayer(8, 2, 12, 0.0, **options)


MODULES = {
    "attention": lambda: nn.MultiheadAttention(8, 2, add_bias_kv=True),
    "encoder layer": encoder_layer,
    "gelu": lambda: encoder_layer(activation="gelu", norm_first=True),
    "decoder layer": lambda: nn.TransformerDecoderLayer(8, 2, 12, 0.0),
    "encoder": lambda: nn.TransformerEncoder(encoder_layer(), 2, nn.LayerNorm(8)),
    "transformer": lambda: nn.Transformer(8, 2, 1, 1, 12, 0.0),
}


@pytest.mark.parametrize("copied", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", MODULES)
def test_copies_compute_the_same(name, copied):
    m = MODULES[name]()
    x = draw(4, 2, 8)
    inputs = {"attention": (x, x, x), "decoder layer": (x, x), "transformer": (x, x)}.get(name, (x,))
    out, other = m(*inputs), copied(m)(*inputs)
    out, other = (o[0] if isinstance(o, tuple) else o for o in (out, other))
    assert out.tolist() == other.tolist()


class TestLayers:
    def test_what_an_encoder_layer_computes(self):
        x = draw(4, 2, 8)
        for first in (False, True):
            m = encoder_layer(norm_first=first)

            def attend(x, m=m):
                return m.self_attn(x, x, x)[0]

            def feed(x, m=m):
                return m.linear2(framework.relu(m.linear1(x)))

            if first:
                y = x + attend(m.norm1(x))
                want = y + feed(m.norm2(y))
            else:
                y = m.norm1(x + attend(x))
                want = m.norm2(y + feed(y))
            same(m(x), want)

    def test_what_a_decoder_layer_computes(self):
        m, x, memory = nn.TransformerDecoderLayer(8, 2, 12, 0.0, norm_first=True), draw(4, 2, 8), draw(5, 2, 8)
        y = m.norm1(x)
        y = x + m.self_attn(y, y, y)[0]
        y = y + m.multihead_attn(m.norm2(y), memory, memory)[0]
        same(m(x, memory), y + m.linear2(framework.relu(m.linear1(m.norm3(y)))))

    def test_dropout_is_for_training(self):
        m, x = nn.TransformerEncoderLayer(8, 2, 12, 0.5), draw(4, 2, 8)
        assert (m(x) != m(x)).any().item()
        m.eval()
        assert (m(x) == m(x)).all().item()

    @pytest.mark.parametrize(
        "activation, kind",
        [("relu", 1), ("gelu", 2), (nn.ReLU(), 1), (nn.GELU(), 2), (nn.GELU("tanh"), 0), (nn.Tanh(), 0)],
        ids=case_id,
    )
    def test_activations(self, activation, kind):
        assert encoder_layer(activation=activation).activation_relu_or_gelu == kind

    def test_an_unknown_activation(self):
        with pytest.raises(RuntimeError, match="activation should be relu/gelu, not swish"):
            encoder_layer(activation="swish")

    def test_biases_may_be_left_out(self):
        names = [n for n, _ in nn.TransformerDecoderLayer(8, 2, 12, bias=False).named_parameters()]
        assert not any("bias" in n for n in names) and "norm3.weight" in names

    def test_dtype(self):
        m = encoder_layer(dtype=framework.float64)
        assert {p.dtype for p in m.parameters()} == {framework.float64} and m(
            draw(4, 2, 8).double()
        ).dtype is framework.float64


class TestStacks:
    def test_layers_start_alike_and_are_trained_apart(self):
        m = nn.TransformerEncoder(encoder_layer(), 3)
        first, second = (list(m.layers[i].parameters()) for i in (0, 1))
        assert all(a is not b and a.tolist() == b.tolist() for a, b in zip(first, second, strict=True))

    def test_an_encoder_is_its_layers_in_sequence(self):
        m, x = nn.TransformerEncoder(encoder_layer(), 2, nn.LayerNorm(8)), draw(4, 2, 8)
        same(m(x), m.norm(m.layers[1](m.layers[0](x))))

    @pytest.mark.parametrize("first", [False, True])
    def test_the_causal_mask_lets_nobody_see_the_future(self, first):
        m = nn.TransformerEncoder(encoder_layer(batch_first=first), 2)
        x = draw(4, 2, 8)
        changed = x.clone()
        changed[3] += 1
        mask = nn.Transformer.generate_square_subsequent_mask(4)
        a, b = (m(y.transpose(0, 1), mask).transpose(0, 1) if first else m(y, mask) for y in (x, changed))
        same(a[:3], b[:3])
        assert (a[3] != b[3]).any().item()

    def test_padding_in_evaluation_comes_out_as_zeros(self):
        m = nn.TransformerEncoder(encoder_layer(batch_first=True), 2).eval()
        x, padding = draw(2, 4, 8), framework.tensor([[False] * 4, [False, False, True, True]])
        with framework.no_grad():
            out = m(x, src_key_padding_mask=padding)
        assert tuple(out.shape) == (2, 4, 8) and not out[1, 2:].numpy().any()
        same(out[1, :2], m(x[1:, :2])[0])

    def test_square_subsequent_mask(self):
        inf = math.inf
        assert nn.Transformer.generate_square_subsequent_mask(3).tolist() == [[0, -inf, -inf], [0, 0, -inf], [0, 0, 0]]
        assert nn.Transformer.generate_square_subsequent_mask(2, dtype=framework.float64).dtype is framework.float64

    def test_a_transformer_is_encoder_and_decoder(self):
        m, src, tgt = nn.Transformer(8, 2, 2, 1, 12, 0.0), draw(5, 2, 8), draw(4, 2, 8)
        same(m(src, tgt), m.decoder(tgt, m.encoder(src)))
        same(m(src[:, 0], tgt[:, 0]), m(src, tgt)[:, 0])

    def test_custom_parts(self):
        class Plain(nn.Module):
            def forward(self, x, *args, **kwargs):
                return x

        m, x = nn.Transformer(8, 2, custom_encoder=Plain(), custom_decoder=Plain()), draw(4, 2, 8)
        assert m(x, 2 * x).tolist() == (2 * x).tolist()

    @pytest.mark.parametrize(
        "src, tgt, message",
        [
            ((4, 2, 8), (4, 3, 8), "the batch number of src and tgt must be equal"),
            ((4, 2, 6), (4, 2, 8), "the feature number of src and tgt must be equal to d_model"),
        ],
    )
    def test_refusals(self, src, tgt, message):
        with pytest.raises(RuntimeError, match=message):
            nn.Transformer(8, 2, 1, 1, 12)(draw(*src), draw(*tgt))


def test_why_padding_is_computed_with():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nn.TransformerEncoder(encoder_layer(batch_first=True), 1)
        assert not caught
        nn.TransformerEncoder(encoder_layer(batch_first=True), 1, enable_nested_tensor=False)
        assert not caught
        nn.TransformerEncoder(encoder_layer(), 1)
    assert [str(w.message) for w in caught] == [
        "enable_nested_tensor is True, but self.use_nested_tensor is False because "
        "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    ]
