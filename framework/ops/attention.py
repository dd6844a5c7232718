"""Scaled dot-product attention (Vaswani et al. 2017)."""

from __future__ import annotations

from math import inf, sqrt

from backends.dtypes import bool_, float32
from framework.core.shape import broadcast_shapes
from framework.dispatch.batched import elementwise_batch
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Index, Num

_NAME = "scaled_dot_product_attention"


def _check(query, key, value, attn_mask, dropout_p, is_causal):
    ranks = query.ndim, key.ndim, value.ndim
    if min(ranks) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be at least 2 dimensional, but got query.dim: {ranks[0]} "
            f"key.dim: {ranks[1]} and "
            f"value.dim: {ranks[2]} instead. ({_NAME})"
        )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} "
            f"key.dtype: {key.dtype} and "
            f"value.dtype: {value.dtype} instead. ({_NAME})"
        )
    if not query.dtype.is_floating_point:
        raise RuntimeError(f"{_NAME}: expected a floating point dtype but found {query.dtype}")
    e, s = query.shape[-1], key.shape[-2]
    if key.shape[-1] != e or value.shape[-2] != s:
        raise RuntimeError(
            f"{_NAME}: query (..., L, E), key (..., S, E) and value (..., S, Ev) do not fit together: got "
            f"{tuple(query.shape)}, "
            f"{tuple(key.shape)} and {tuple(value.shape)}"
        )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p} ({_NAME})")
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(f"{_NAME}: Explicit attn_mask should not be set when is_causal=True")
        if attn_mask.dtype not in (bool_, float32, query.dtype):
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {attn_mask.dtype} and "
                f"query.dtype: {query.dtype} instead. ({_NAME})"
            )


def _for_heads(x, heads, name):
    """Repeat the heads (dimension -3) of keys or values, so that each serves a group of queries."""
    own = x.shape[-3] if x.ndim > 2 else 0
    if not own or heads % own:
        raise RuntimeError(
            f"{_NAME}: Number of heads in key and value must divide the number of heads in query: got {own} in "
            f"{name} and {heads} in query"
        )
    if own == heads:
        return x
    lead, tail = tuple(x.shape[:-2]), tuple(x.shape[-2:])
    x = T.expand(T.unsqueeze(x, (x.ndim - 2,)), (*lead, heads // own, *tail))
    return T.reshape(x, (*lead[:-1], heads, *tail))


def _last(x):
    return (len(x.shape) - 1,)


def _masked_softmax(xp, scores):
    """softmax over the last dimension, and 0 where all of it is -inf: its peak counts as 0 there, and its sum as 1."""
    if not scores.shape[-1]:
        return scores
    zero, one = (xp.full((), value, xp.like(scores)) for value in (0, 1))
    peak = xp.amax(scores, _last(scores), True)
    e = xp.exp(scores - xp.where(peak == -inf, zero, peak))
    total = xp.sum(e, _last(e), True)
    return e / xp.where(total == 0, one, total)


def _softmax_vjp(xp, g, out):
    return out * (g - xp.sum(g * out, _last(out), True))


@op(spaces=(), accept="f", kernel=True, batch=elementwise_batch, vjp=(_softmax_vjp,))
def masked_softmax(xp, input: Num):
    """softmax over the last dimension; 0, with gradient 0, where all of it is -inf."""
    return _masked_softmax(xp, input)


def _weights(xp, query, key, bias, scale, is_causal):
    scores = xp.matmul(query * scale, xp.mT(key))
    if bias is not None:
        scores = scores + bias
    if is_causal:
        scores = scores + xp.triu(xp.full(tuple(scores.shape[-2:]), -inf, xp.like(scores)), 1)
    return _masked_softmax(xp, scores)


def _attention_vjp(xp, g, query, key, value, bias, noise, scale, is_causal):
    """The weights, as many as queries times keys, are not kept but computed again, in the dtype of computing."""
    weights = _weights(xp, query, key, bias, scale, is_causal)
    g_value = xp.matmul(xp.mT(weights if noise is None else weights * noise), g)
    g_weights = xp.matmul(g, xp.mT(value))
    g_scores = _softmax_vjp(xp, g_weights if noise is None else g_weights * noise, weights)
    return (
        xp.matmul(g_scores, key) * scale,
        xp.matmul(xp.mT(g_scores), query) * scale,
        g_value,
        None if bias is None else g_scores,
    )


@op(spaces=(), accept="f", kernel=True, batch=elementwise_batch, vjp=_attention_vjp)
def attention(xp, query: Num, key: Num, value: Num, bias: Num = None, noise: Index = None, scale=1.0, is_causal=False):
    """softmax(q k^T scale + bias) times noise, times v. A query whose scores are all -inf gets 0."""
    weights = _weights(xp, query, key, bias, scale, is_causal)
    return xp.matmul(weights if noise is None else weights * noise, value)


def additive(mask, like):
    """The mask as numbers to add to scores: of a boolean one 0 where it is True, else -inf, in `like`'s dtype."""
    if mask is None or mask.dtype is not bool_:
        return mask
    return T.where(mask, T.full((), 0, T.like(like)), T.full((), -inf, T.like(like)))


def _noise(shape, like, p):
    """0 with probability p, else 1 / (1 - p), in the dtype that half types compute in."""
    one = T.astype(T.full((), 1, T.like(like)), like.dtype.compute)
    return PUBLIC["nn.functional"]["dropout"](T.full(shape, 1, one), p, True)


def _scores_shape(query, key, value, mask):
    """(..., L, S) with the leading dimensions of all operands; RuntimeError if they, or the mask, do not broadcast."""
    shape = (
        *broadcast_shapes([tuple(x.shape[:-2]) for x in (query, key, value)], _NAME),
        query.shape[-2],
        key.shape[-2],
    )
    if mask is not None and broadcast_shapes([shape, tuple(mask.shape)], _NAME) != shape:
        raise RuntimeError(f"{_NAME}: attn_mask of shape {tuple(mask.shape)} does not broadcast to the scores' {shape}")
    return shape


@op(composite=True, spaces=("nn.functional",), method=False)
def scaled_dot_product_attention(
    query: Num, key: Num, value: Num, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """softmax(q k^T scale + mask) v, for queries (..., L, E), keys (..., S, E) and values (..., S, Ev): (..., L, Ev).

    `scale` is 1 / sqrt(E) unless given. A mask that broadcasts to (..., L, S) is boolean, True where a query may see
    a key, or is added to the scores; with `is_causal` query i sees keys 0 to i. A query that sees no key gets 0.
    Weights are dropped with probability `dropout_p`, in training or not. With `enable_gqa` the heads of keys and
    values (dimension -3) are shared by groups of heads of the queries. Half precision is computed in float32.

    RuntimeError for shapes or dtypes that do not fit, and for a mask together with `is_causal`.
    """
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    if enable_gqa:
        heads = query.shape[-3] if query.ndim > 2 else 0
        key, value = _for_heads(key, heads, "key"), _for_heads(value, heads, "value")
    shape = _scores_shape(query, key, value, attn_mask)
    if scale is None:
        scale = 1 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    noise = _noise(shape, query, dropout_p) if dropout_p else None
    out = T.attention(query, key, value, additive(attn_mask, query), noise, float(scale), bool(is_causal))
    return (
        T.astype(out, query.dtype) if out.dtype.itemsize > query.dtype.itemsize else out
    )  # a wider mask does not widen it
