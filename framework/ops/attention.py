"""Scaled dot-product attention (Vaswani et al. 2017)."""

from __future__ import annotations

from math import inf, sqrt

from backends.dtypes import bool_, float32, float64
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num
from framework.ops.creation import arange

_NAME = "scaled_dot_product_attention"


def _check(query, key, value, attn_mask, dropout_p, is_causal):
    ranks = query.ndim, key.ndim, value.ndim
    if min(ranks) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be at least 2 dimensional, but got query.dim: {ranks[0]} key.dim: {ranks[1]} and "
            f"value.dim: {ranks[2]} instead. ({_NAME})"
        )
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {query.dtype} key.dtype: {key.dtype} and "
            f"value.dtype: {value.dtype} instead. ({_NAME})"
        )
    if not query.dtype.is_floating_point:
        raise RuntimeError(f"{_NAME}: expected a floating point dtype but found {query.dtype}")
    e, s = query.shape[-1], key.shape[-2]
    if key.shape[-1] != e or value.shape[-2] != s:
        raise RuntimeError(
            f"{_NAME}: query (..., L, E), key (..., S, E) and value (..., S, Ev) do not fit together: got {tuple(query.shape)}, "
            f"{tuple(key.shape)} and {tuple(value.shape)}"
        )
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p} ({_NAME})")
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(f"{_NAME}: Explicit attn_mask should not be set when is_causal=True")
        if attn_mask.dtype not in (bool_, float32, query.dtype):
            raise RuntimeError(
                f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {attn_mask.dtype} and "
                f"query.dtype: {query.dtype} instead. ({_NAME})"
            )


def _for_heads(x, heads, name):
    """Repeat the heads (dimension -3) of keys or values, so that each serves a group of queries."""
    own = x.shape[-3] if x.ndim > 2 else 0
    if not own or heads % own:
        raise RuntimeError(
            f"{_NAME}: Number of heads in key and value must divide the number of heads in query: got {own} in {name} and {heads} in query"
        )
    if own == heads:
        return x
    lead, tail = tuple(x.shape[:-2]), tuple(x.shape[-2:])
    x = T.expand(T.unsqueeze(x, (x.ndim - 2,)), (*lead, heads // own, *tail))
    return T.reshape(x, (*lead[:-1], heads, *tail))


def causal(rows, columns, device):
    """(rows, columns) booleans: whether row i may see column j, that is j <= i."""
    return T.ge(T.unsqueeze(arange(rows, device=device), (1,)), arange(columns, device=device))


def _weights(scores, attn_mask, is_causal):
    """Softmax of the scores over the keys that a query may see; 0 for one that sees none."""
    if not scores.shape[-1]:
        return scores
    if is_causal:
        seen = causal(*scores.shape[-2:], scores.device)
        return T.softmax(T.where(seen, scores, T.full((), -inf, T.like(scores))), -1)
    if attn_mask is None:
        return T.softmax(scores, -1)
    if attn_mask.dtype is bool_:
        scores = T.where(attn_mask, scores, T.full((), -inf, T.like(scores)))
    else:
        scores = scores + attn_mask
    # A row of nothing but -inf has no softmax: it gets scores of 0, whose gradient is cut off, and weights of 0 afterwards.
    hidden = T.eq(T.amax(scores, (scores.ndim - 1,), True), -inf)
    zero = T.full((), 0, T.like(scores))
    return T.where(hidden, zero, T.softmax(T.where(hidden, zero, scores), -1))


@op(composite=True, spaces=("nn.functional",), method=False)
def scaled_dot_product_attention(
    query: Num, key: Num, value: Num, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """softmax(q k^T scale + mask) v, for queries (..., L, E), keys (..., S, E) and values (..., S, Ev): (..., L, Ev).

    `scale` is 1 / sqrt(E) unless given. A mask that broadcasts to (..., L, S) is boolean, True where a query may see a key, or is
    added to the scores; with `is_causal` query i sees keys 0 to i. A query that sees no key gets 0. Weights are dropped with
    probability `dropout_p`, in training or not. With `enable_gqa` the heads of keys and values (dimension -3) are shared by groups
    of heads of the queries. Half precision is computed in float32.

    RuntimeError for shapes or dtypes that do not fit, and for a mask together with `is_causal`.
    """
    _check(query, key, value, attn_mask, dropout_p, is_causal)
    dtype = query.dtype
    if enable_gqa:
        heads = query.shape[-3] if query.ndim > 2 else 0
        key, value = _for_heads(key, heads, "key"), _for_heads(value, heads, "value")
    if dtype not in (float32, float64):
        query, key, value = (T.astype(x, float32) for x in (query, key, value))
    if attn_mask is not None and attn_mask.dtype not in (bool_, query.dtype):
        attn_mask = T.astype(attn_mask, query.dtype)
    if scale is None:
        scale = 1 / sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    weights = _weights(T.matmul(query * scale, T.mT(key)), attn_mask, is_causal)
    if dropout_p:
        weights = PUBLIC["nn.functional"]["dropout"](weights, dropout_p, True)
    out = T.matmul(weights, value)
    return out if out.dtype is dtype else T.astype(out, dtype)
