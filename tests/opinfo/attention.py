"""Rows of `framework/ops/attention.py` and `multihead.py`."""

import numpy as np
from scipy.special import softmax

from . import OpInfo, Sample


def _attention(q, k, v, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    """Row by row, over the keys that each query sees only; the numbers themselves in double precision."""
    q, k, v = (x.astype("float64") for x in (q, k, v))
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    batch = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    length, keys = q.shape[-2], k.shape[-2]
    mask = np.tri(length, keys, dtype=bool) if is_causal else np.zeros((), "float64") if mask is None else mask
    mask = np.broadcast_to(mask, (*batch, length, keys))
    q, k, v = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (q, k, v))
    out = np.zeros((*batch, length, v.shape[-1]))
    for at in np.ndindex(*batch, length):
        seen = mask[at] if mask.dtype == bool else np.isfinite(mask[at])
        if seen.any():
            scores = k[at[:-1]][seen] @ q[at] * (q.shape[-1] ** -0.5 if scale is None else scale)
            out[at] = softmax(scores if mask.dtype == bool else scores + mask[at][seen]) @ v[at[:-1]][seen]
    return out


def _samples(draw):
    q, k, v = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 3)
    yield Sample((q, k, v))
    yield Sample((draw(3, 4), draw(5, 4), draw(5, 2)))
    yield Sample((q, k, v), {"is_causal": True, "scale": 0.7})
    yield Sample((q, k, v, np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)))
    yield Sample((q, k, v, draw(3, 5)), {"scale": 0.3})
    yield Sample((draw(2, 4, 3, 2), draw(2, 2, 5, 2), draw(2, 2, 5, 2)), {"enable_gqa": True})
    yield Sample((draw(1, 3, 4), draw(2, 1, 4), draw(2, 1, 4)))
    yield Sample((draw(2, 3, 4), draw(2, 0, 4), draw(2, 0, 4)))


def _masked_softmax(x):
    out = np.zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        seen = np.isfinite(x[at])
        out[at][seen] = softmax(x[at][seen].astype("float64")) if seen.any() else 0
    return out


def _some_hidden(draw):
    """Scores, some of them -inf: none, one and all of a row."""
    scores = draw(3, 4)
    scores[1, 2] = scores[2] = -np.inf
    yield Sample((scores,))
    yield Sample((draw(2, 0),))


def _attention_with_noise(q, k, v, bias=None, noise=None, scale=1.0, is_causal=False):
    q, k, v = (x.astype("float64") for x in (q, k, v))
    scores = np.einsum("...le,...se->...ls", q, k) * scale + (0 if bias is None else bias.astype("float64"))
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    weights = softmax(scores, -1) * (1 if noise is None else noise)
    return np.einsum("...ls,...se->...le", weights, v)


def _noise_samples(draw):
    q, k, v = draw(2, 3, 4), draw(2, 5, 4), draw(5, 3)
    yield Sample((q, k, v))
    yield Sample((q, k, v, draw(3, 5), np.array([[0, 2, 2, 2, 0]]), 0.5))
    yield Sample((q, k, v, draw(2, 1, 5), None, 0.5, True))


def _heads(
    q,
    k,
    v,
    size,
    heads,
    weight,
    bias,
    bias_k,
    bias_v,
    zeros,
    p,
    out_weight,
    out_bias,
    training=True,
    padding=None,
    need=True,
    mask=None,
):
    """Head by head and example by example, each over what its queries may see."""
    q, k, v = (x[:, None] if x.ndim == 2 else x for x in (q, k, v))
    each = size // heads
    bias = np.zeros(3 * size) if bias is None else bias
    out, shown = np.zeros(q.shape), []
    for n in range(q.shape[1]):
        parts = [
            x[:, n].astype("float64") @ weight[i * size : (i + 1) * size].T + bias[i * size : (i + 1) * size]
            for i, x in enumerate((q, k, v))
        ]
        hidden = np.zeros((len(q), len(k)), bool) if padding is None else np.broadcast_to(padding[n], (len(q), len(k)))
        hidden = hidden if mask is None else hidden | mask
        if bias_k is not None:
            parts[1:] = [
                np.concatenate([x, b.reshape(1, -1)]) for x, b in zip(parts[1:], (bias_k, bias_v), strict=True)
            ]
        if zeros:
            parts[1:] = [np.concatenate([x, np.zeros((1, size))]) for x in parts[1:]]
        more = len(parts[1]) - len(k)
        seen = np.pad(~hidden, ((0, 0), (0, more)), constant_values=True)
        all_weights = []
        for h in range(heads):
            a, b, c = (x[:, h * each : (h + 1) * each] for x in parts)
            out[:, n, h * each : (h + 1) * each] = _attention(a, b, c, seen)
            all_weights.append(_masked_softmax(np.where(seen, a @ b.T / np.sqrt(each), -np.inf)))
        shown.append(np.mean(all_weights, 0))
    return out @ out_weight.T + out_bias, np.stack(shown)


def _heads_samples(draw):
    def operands(keys=5, bias=True, more=False):
        return (
            draw(3, 2, 4),
            draw(keys, 2, 4),
            draw(keys, 2, 4),
            4,
            2,
            draw(12, 4),
            draw(12) if bias else None,
            *((draw(1, 1, 4), draw(1, 1, 4)) if more else (None, None)),
        )

    def after(zeros=False):
        return zeros, 0.0, draw(4, 4), draw(4)

    padding = np.array([[0, 0, 1, 1, 1], [0, 1, 0, 0, 1]], bool)
    mask = np.array([[0, 1, 1, 0, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 1]], bool)
    yield Sample((*operands(), *after()))
    yield Sample((*operands(bias=False, more=True), *after(True), True, padding))
    yield Sample((*operands(), *after(), False, padding, True, mask))


ONE = np.ones((2, 3))

ROWS = [
    OpInfo(
        "nn.functional.scaled_dot_product_attention",
        _samples,
        _attention,
        dtypes=("float64", "float32", "bfloat16", "float16"),
        out=False,
        tolerance=4,
        errors=(
            ((np.ones(3), ONE, ONE), RuntimeError, "at least 2 dimensional"),
            ((ONE, np.ones((2, 4)), ONE), RuntimeError, "do not fit"),
            ((ONE, ONE, ONE, np.ones((2, 2), bool), 0.0, True), RuntimeError, "should not be set when is_causal=True"),
            ((ONE, ONE, ONE, np.ones((2, 2), "int64")), RuntimeError, "Expected attn_mask dtype to be bool or float"),
            ((ONE, ONE, ONE, None, 2.0), RuntimeError, "dropout probability has to be between 0 and 1"),
        ),
    ),
    OpInfo(
        "_attention",
        _noise_samples,
        _attention_with_noise,
        dtypes=("float64", "float32", "bfloat16"),
        out=False,
        tolerance=4,
    ),
    OpInfo("_masked_softmax", _some_hidden, _masked_softmax, dtypes=("float64", "float32", "bfloat16"), tolerance=4),
    OpInfo("nn.functional.multi_head_attention_forward", _heads_samples, _heads, out=False, tolerance=10),
]
