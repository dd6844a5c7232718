"""Attention and the Transformer against PyTorch."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

import framework
from framework import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.parity.pairs import assert_same, assert_same_gradients, both, doubles, variables


def masks(rng, *shape):
    """A boolean mask in which every row sees something, and an additive one."""
    hidden = rng.random(shape) < 0.4
    hidden[..., 0] = False
    return hidden, np.where(hidden, -np.inf, rng.normal(size=shape))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4), (5, 4), (5, 6)],
        [(2, 3, 4), (2, 5, 4), (2, 5, 6)],
        [(2, 3, 5, 4)] * 3,
        [(2, 1, 6, 4), (1, 3, 5, 4), (2, 3, 5, 2)],
    ],
)
def test_scaled_dot_product_attention(shapes, causal):
    xs, ys = variables(*shapes)
    for options in (
        {},
        {"scale": 0.3},
        *[{"scale": 0}] * (not causal),
    ):  # PyTorch's tiled kernel gives NaN for 0 times -inf
        a = nn.functional.scaled_dot_product_attention(*xs, is_causal=causal, **options)
        b = torch.nn.functional.scaled_dot_product_attention(*ys, is_causal=causal, **options)
        assert_same(a, b)
        assert_same_gradients(a, b, (xs, ys))


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("shape", [(3, 5), (2, 1, 5), (2, 3, 5)])
def test_masks(shape, kind):
    rng = np.random.default_rng(3)
    mask = masks(rng, *shape)[kind]
    mask = ~mask if kind == 0 else mask
    xs, ys = variables((2, 3, 4), (2, 5, 4), (2, 5, 6))
    a = nn.functional.scaled_dot_product_attention(*xs, framework.tensor(mask))
    b = torch.nn.functional.scaled_dot_product_attention(*ys, torch.tensor(mask))
    assert_same(a, b)
    assert_same_gradients(a, b, (xs, ys))


def test_groups_of_heads():
    xs, ys = variables((2, 6, 3, 4), (2, 2, 5, 4), (2, 3, 5, 4))
    a = nn.functional.scaled_dot_product_attention(*xs, enable_gqa=True)
    b = torch.nn.functional.scaled_dot_product_attention(*ys, enable_gqa=True)
    assert_same(a, b)
    assert_same_gradients(a, b, (xs, ys))


ATTENTION = [
    {},
    {"bias": False},
    {"add_bias_kv": True},
    {"add_zero_attn": True},
    {"add_bias_kv": True, "add_zero_attn": True},
    {"batch_first": True},
    {"kdim": 5, "vdim": 3},
    {"kdim": 5, "vdim": 3, "bias": False, "add_bias_kv": True},
    {"vdim": 8, "batch_first": True},
]


@pytest.mark.parametrize("kwargs", ATTENTION, ids=str)
def test_attention_prints_and_starts_alike(kwargs):
    ours, theirs = both("MultiheadAttention", (8, 2), kwargs, seed=4)
    assert repr(ours) == repr(theirs)
    assert [n for n, _ in ours.named_parameters()] == [n for n, _ in theirs.named_parameters()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=0, atol=5e-7)


def pick(kind, boolean, additive):
    return None if kind is None else boolean if kind == "bool" else additive


CALLS = [
    (kwargs, operands)
    for kwargs in ATTENTION
    for operands in ("self", "memory", "three", "unbatched")
    if operands in ("three", "unbatched") or not {"kdim", "vdim"} & set(kwargs)
]


@pytest.mark.parametrize("weights", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("kind", [None, "bool", "float"])
@pytest.mark.parametrize("kwargs, operands", CALLS, ids=str)
def test_multihead_attention(kwargs, operands, kind, weights):
    ours, theirs = doubles("MultiheadAttention", (8, 2), kwargs)
    first = kwargs.get("batch_first", False)
    n, length, size = 3, 4, (4 if operands == "self" else 5)

    def shape(steps, features):
        return (steps, features) if operands == "unbatched" else (n, steps, features) if first else (steps, n, features)

    xs, ys = variables(shape(length, 8), shape(size, kwargs.get("kdim", 8)), shape(size, kwargs.get("vdim", 8)))
    used = {"self": [0, 0, 0], "memory": [0, 1, 1]}.get(operands, [0, 1, 2])
    rng = np.random.default_rng(5)
    padding = pick(kind, *masks(rng, *(() if operands == "unbatched" else (n,)), size))
    batch = 1 if operands == "unbatched" else n
    for mask in (None, *[pick(kind, *masks(rng, *s)) for s in ((length, size), (batch * 2, length, size)) if kind]):
        options = {"need_weights": weights[0], "average_attn_weights": weights[1]}
        a = ours(
            *[xs[i] for i in used],
            key_padding_mask=None if padding is None else framework.tensor(padding),
            attn_mask=None if mask is None else framework.tensor(mask),
            **options,
        )
        b = theirs(
            *[ys[i] for i in used],
            key_padding_mask=None if padding is None else torch.tensor(padding),
            attn_mask=None if mask is None else torch.tensor(mask),
            **options,
        )
        assert_same(a, b)
        assert_same_gradients(a, b, (xs, ys), (ours, theirs))


@pytest.mark.parametrize("weights", [True, False])
def test_a_sequence_of_padding_is_right_where_pytorch_gives_nan(weights):
    """Other sequences have PyTorch's values and gradients; with weights PyTorch's own are NaN for the hidden one."""
    ours, theirs = doubles("MultiheadAttention", (8, 2), {})
    (x,), (y,) = variables((4, 3, 8))
    hidden = np.array([[0, 0, 1, 1], [1, 1, 1, 1], [0, 1, 0, 0]], bool)
    a, _ = ours(x, x, x, key_padding_mask=framework.tensor(hidden), need_weights=weights)
    b, _ = theirs(y, y, y, key_padding_mask=torch.tensor(hidden), need_weights=weights)
    assert_same(a[:, [0, 2]], b[:, [0, 2]])
    assert_same(a[:, 1], torch.zeros(4, 8).double() + theirs.out_proj.bias)
    a.square().sum().backward()
    b[:, [0, 2]].square().sum().backward()
    np.testing.assert_allclose(x.grad.numpy()[:, [0, 2]], y.grad.numpy()[:, [0, 2]], rtol=1e-9, atol=1e-12)
    assert not x.grad.numpy()[:, 1].any()


def test_merged_masks():
    ours, theirs = both("MultiheadAttention", (8, 2), {})
    padding, mask = np.array([[0, 0, -1.0]] * 2), np.random.default_rng(0).normal(size=(3, 3))
    three = np.random.default_rng(0).normal(size=(4, 3, 3))
    for p, m in ((None, None), (padding, None), (None, mask), (padding, mask), (padding, three)):
        a, kind = ours.merge_masks(
            *[None if v is None else framework.tensor(v) for v in (m, p)], framework.ones(2, 3, 8)
        )
        b, expected = theirs.merge_masks(*[None if v is None else torch.tensor(v) for v in (m, p)], torch.ones(2, 3, 8))
        assert kind == expected
        assert_same(a, b)


LAYERS = [{}, {"norm_first": True}, {"batch_first": True, "activation": "gelu"}, {"bias": False, "layer_norm_eps": 0.1}]
MODULES = [
    ("TransformerEncoderLayer", (8, 2, 12, 0.0), [(4, 3, 8)]),
    ("TransformerDecoderLayer", (8, 2, 12, 0.0), [(4, 3, 8), (4, 3, 8)]),
    ("Transformer", (8, 2, 2, 1, 12, 0.0), [(4, 3, 8), (4, 3, 8)]),
]
modules = pytest.mark.parametrize("name, args, shapes", MODULES, ids=[m[0] for m in MODULES])


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("kwargs", LAYERS, ids=str)
@modules
def test_transformers(name, args, shapes, kwargs):
    ours, theirs = both(name, args, kwargs, seed=2)
    assert repr(ours) == repr(theirs)
    assert [n for n, _ in ours.named_modules()] == [n for n, _ in theirs.named_modules()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for (key, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=5e-7, err_msg=key)
    for training in (True, False):
        ours, theirs = doubles(name, args, kwargs, training)
        xs, ys = variables(*shapes)
        a, b = ours(*xs), theirs(*ys)
        assert_same(a, b)
        assert_same_gradients(a, b, (xs, ys), (ours, theirs))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("first", [False, True])
def test_transformer_with_masks(first):
    ours, theirs = doubles("Transformer", (8, 2, 1, 1, 12, 0.0), {"batch_first": first})
    xs, ys = variables((4, 4, 8), (4, 4, 8))
    causal = nn.Transformer.generate_square_subsequent_mask(4, dtype=framework.float64)
    expected = torch.nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    assert_same(causal, expected)
    hidden = masks(np.random.default_rng(1), 4, 4)[0]

    def options(f, causal):
        return {
            "src_mask": causal,
            "tgt_mask": causal,
            "src_key_padding_mask": f.where(f.tensor(hidden), -math.inf, 0.0).double(),
            "memory_key_padding_mask": f.tensor(hidden),
        }

    a, b = ours(*xs, **options(framework, causal)), theirs(*ys, **options(torch, expected))
    assert_same(a, b)
    assert_same_gradients(a, b, (xs, ys), (ours, theirs))


ENCODERS = [
    {},
    {"norm_first": True},
    {"batch_first": False},
    {"bias": False},
    {"activation": "gelu"},
    {"activation": nn.Tanh()},
    {"nhead": 1},
]


@pytest.mark.parametrize("kwargs", ENCODERS, ids=str)
def test_encoder_says_why_padding_is_not_spared(kwargs):
    messages = []
    for f in (framework, torch):
        options = {"nhead": 2, "batch_first": True, **kwargs}
        if "activation" in options and not isinstance(options["activation"], str):
            options["activation"] = f.nn.Tanh()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            encoder = f.nn.TransformerEncoder(f.nn.TransformerEncoderLayer(8, dim_feedforward=4, **options), 2)
        messages.append(
            ([str(w.message) for w in caught], encoder.use_nested_tensor, encoder.layers[0].activation_relu_or_gelu)
        )
    assert messages[0] == messages[1]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("lengths", [[4, 2, 3], [3, 1, 2], [0, 4, 4], None])
@pytest.mark.parametrize("norm", [False, True])
def test_padding_in_evaluation(lengths, norm):
    """Without gradients padding at the end comes out as zeros before the last norm; padding elsewhere is computed
    with."""
    outs = []
    for f in (framework, torch):
        framework.manual_seed(0)
        torch.manual_seed(0)
        layer = f.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True)
        encoder = f.nn.TransformerEncoder(layer, 2, f.nn.LayerNorm(8) if norm else None).eval()
        rng = np.random.default_rng(0)
        x = f.tensor(rng.normal(size=(3, 4, 8)).astype("float32"))
        hidden = np.arange(4) >= np.array(lengths)[:, None] if lengths else np.array([[0, 1, 0, 0]] * 3, bool)
        with f.no_grad():
            outs.append(encoder(x, src_key_padding_mask=f.tensor(hidden)))
            f.backends.mha.set_fastpath_enabled(False)
            slow = encoder(x, src_key_padding_mask=f.tensor(hidden))
            f.backends.mha.set_fastpath_enabled(True)
        np.testing.assert_allclose(outs[-1].numpy()[~hidden], slow.numpy()[~hidden], atol=3e-6)
    np.testing.assert_allclose(outs[0].numpy(), outs[1].numpy(), atol=3e-6)


ERRORS = [
    lambda nn, f: nn.MultiheadAttention(0, 1),
    lambda nn, f: nn.MultiheadAttention(5, 2),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 6)] * 3),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2)] * 3),
    lambda nn, f: nn.MultiheadAttention(4, 2)(f.ones(2, 3, 4), f.ones(2, 4), f.ones(2, 4)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(f.ones(2, 3, 4), f.ones(2, 3, 4), f.ones(3, 3, 4)),
    lambda nn, f: nn.MultiheadAttention(4, 2, kdim=3)(f.ones(2, 3, 4), f.ones(2, 3, 3), f.ones(3, 3, 4)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, attn_mask=f.ones(3, 3)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, attn_mask=f.ones(5, 2, 2)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, attn_mask=f.ones(2, 2, 2, 2)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, attn_mask=f.ones(2, 2, dtype=f.int64)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, key_padding_mask=f.ones(2)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, key_padding_mask=f.ones(2, 2)),
    lambda nn, f: nn.MultiheadAttention(4, 2)(*[f.ones(2, 3, 4)] * 3, is_causal=True),
    lambda nn, f: nn.TransformerEncoderLayer(4, 2, activation="tanh"),
    lambda nn, f: nn.Transformer(4, 2, 1, 1, 4)(f.ones(2, 3, 4), f.ones(2, 2, 4)),
    lambda nn, f: nn.Transformer(4, 2, 1, 1, 4)(f.ones(2, 3, 4), f.ones(2, 3, 5)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(f.ones(3), f.ones(2, 3), f.ones(2, 3)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(f.ones(2, 3), f.ones(2, 3).double(), f.ones(2, 3)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(f.ones(2, 3), f.ones(2, 4), f.ones(2, 3)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(f.ones(2, 3), f.ones(2, 3), f.ones(3, 3)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(*[f.ones(2, 3)] * 3, f.ones(2, 2, dtype=f.int64)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(*[f.ones(2, 3)] * 3, f.ones(2, 2).double()),
    lambda nn, f: nn.functional.scaled_dot_product_attention(*[f.ones(2, 3)] * 3, f.ones(2, 3)),
    lambda nn, f: nn.functional.scaled_dot_product_attention(
        *[f.ones(2, 2, 3)] * 3, f.ones(2, 2).bool(), is_causal=True
    ),
    lambda nn, f: nn.functional.scaled_dot_product_attention(*[f.ones(2, 3)] * 3, dropout_p=1.5),
    lambda nn, f: nn.functional.scaled_dot_product_attention(*[f.ones(2, 3).long()] * 3),
    lambda nn, f: nn.functional.scaled_dot_product_attention(
        f.ones(1, 3, 2, 2), *[f.ones(1, 2, 2, 2)] * 2, enable_gqa=True
    ),
]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("act", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_have_the_same_class(act):
    with pytest.raises(Exception) as theirs:
        act(torch.nn, torch)
    with pytest.raises(theirs.type):
        act(nn, framework)
