"""`multi_head_attention_forward`: projections, heads, masks, attention, and the projection back."""

from __future__ import annotations

import warnings
from math import inf, sqrt

from backends.dtypes import bool_
from framework.core.shape import Size
from framework.core.tensor import Tensor
from framework.dispatch.registry import PUBLIC, T, op
from framework.ops.attention import masked_softmax, scaled_dot_product_attention

# Why AssertionErrors: that is what callers of these functions have always caught.


def _linear(x, weight, bias):
    return PUBLIC["nn.functional"]["linear"](x, weight, bias)


def _require(condition, message):
    if not condition:
        raise AssertionError(message)


def _batched(query, key, value, key_padding_mask, attn_mask, heads):
    """Whether the operands have a batch dimension."""
    rank = query.ndim
    _require(rank in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    name = "For batched (3-D) `query`" if rank == 3 else "For unbatched (2-D) `query`"
    _require(
        key.ndim == value.ndim == rank,
        f"{name}, expected `key` and `value` to be {rank}-D but found {key.ndim}-D and {value.ndim}-D tensors "
        f"respectively",
    )
    if key_padding_mask is not None:
        _require(
            key_padding_mask.ndim == rank - 1,
            f"{name}, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead",
        )
    if attn_mask is not None:
        _require(
            attn_mask.ndim in (2, 3),
            f"{name}, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor instead",
        )
        shape = (heads, query.shape[0], key.shape[0])
        if rank == 2 and attn_mask.ndim == 3:
            _require(
                tuple(attn_mask.shape) == shape, f"Expected `attn_mask` shape to be {shape} but got {attn_mask.shape}"
            )
    return rank == 3


def additive_mask(mask, name, other, other_name, like):
    """The mask as numbers to add to scores: -inf where a boolean mask is True, of the dtype of `like`.

    `other` is the mask whose dtype should be the same: a UserWarning says so if it is not.
    """
    if mask is None:
        return None
    _require(
        mask.dtype is bool_ or mask.dtype.is_floating_point, f"only bool and floating types of {name} are supported"
    )
    if other is not None and other.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
            UserWarning,
            stacklevel=3,
        )
    if mask.dtype is not bool_:
        return mask
    return T.where(mask, T.full((), -inf, T.like(like)), T.full((), 0, T.like(like)))


def _projected(query, key, value, weights, bias):
    """The operands after their projections, which are one product where operands are the same tensor."""
    if isinstance(weights, Tensor):
        size = query.shape[-1]
        if query is key is value:
            return T.chunk(_linear(query, weights, bias), 3, -1)
        if key is value:
            first, rest = T.split(weights, [size, 2 * size])
            first_bias, rest_bias = (None, None) if bias is None else T.split(bias, [size, 2 * size])
            return (_linear(query, first, first_bias), *T.chunk(_linear(key, rest, rest_bias), 2, -1))
        weights = T.chunk(weights, 3)
    biases = (None, None, None) if bias is None else T.chunk(bias, 3)
    return tuple(_linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))


def _check_mask(mask, size, heads):
    if mask.ndim == 2 and tuple(mask.shape) != size[1:]:
        raise RuntimeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {size[1:]}.")
    shape = (size[0] * heads, *size[1:])
    if mask.ndim == 3 and tuple(mask.shape) != shape:
        raise RuntimeError(f"The shape of the 3D attn_mask is {mask.shape}, but should be {shape}.")


def _one_more(x, row, rank):
    """Keys or values (..., S, Eh) with one more, or a mask (..., S) with one more visible place (`row` None)."""
    if x is None:
        return None
    if row is None:
        row = T.full((*x.shape[:-1], 1), 0, T.like(x))
        return T.cat((x, row), x.ndim - 1)
    return T.cat((x, T.expand(row, (*x.shape[: rank - 2], 1, x.shape[-1]))), x.ndim - 2)


def _heads(x, batch, heads):
    """(L, N, E) as (N, H, L, E / H)."""
    return T.permute(T.reshape(x, (x.shape[0], batch, heads, x.shape[2] // heads)), (1, 2, 0, 3))


def _static(x, name, batch, heads, head_dim):
    _require(x.shape[0] == batch * heads, f"expecting {name}.size(0) of {batch * heads}, but got {x.shape[0]}")
    _require(x.shape[2] == head_dim, f"expecting {name}.size(2) of {head_dim}, but got {x.shape[2]}")
    return T.reshape(x, (batch, heads, *x.shape[1:]))


def _check_weights(key, value, in_proj_weight, separate):
    if separate is None:
        _require(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        _require(in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None")
        return in_proj_weight
    _require(
        key.shape[:2] == value.shape[:2],
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    for letter, weight in zip("qkv", separate, strict=True):
        _require(weight is not None, f"use_separate_proj_weight is True but {letter}_proj_weight is None")
    return separate


def _attend(q, k, v, mask, dropout_p):
    """(attention, its weights). A query whose keys are all masked gets 0 for both."""
    scores = T.matmul(q * sqrt(1.0 / q.shape[-1]), T.mT(k))
    weights = T.softmax(scores, -1) if mask is None else masked_softmax(scores + mask)
    if dropout_p > 0:
        weights = PUBLIC["nn.functional"]["dropout"](weights, dropout_p, True)
    return T.matmul(weights, v), weights


@op(composite=True, spaces=("nn.functional",), method=False)
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """What `nn.MultiheadAttention` computes, from its parameters: (output (L, N, E), weights (N, L, S) or None).

    query (L, N, E), key (S, N, E), value (S, N, E), or all without N. `key_padding_mask` (N, S) and `attn_mask` (L,
    S) or (N heads, L, S) are True where a key may NOT be seen, or are added to the scores. Without
    `average_attn_weights` weights are (N, heads, L, S).

    AssertionError and RuntimeError for shapes and dtypes that do not fit.
    """
    batched = _batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key is value, key is value
        query = T.unsqueeze(query, (1,))
        key = query if same[0] else T.unsqueeze(key, (1,))
        value = key if same[1] else T.unsqueeze(value, (1,))
        key_padding_mask = None if key_padding_mask is None else T.unsqueeze(key_padding_mask, (0,))
    length, batch, size = query.shape
    keys = key.shape[0]
    padding = additive_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    hinted = is_causal and padding is None and not need_weights
    mask = None if hinted else additive_mask(attn_mask, "attn_mask", None, "", query)
    _require(size == embed_dim_to_check, f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    head_dim = size // num_heads
    _require(head_dim * num_heads == size, f"embed_dim {size} not divisible by num_heads {num_heads}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    weights = _check_weights(key, value, in_proj_weight, separate)
    q, k, v = _projected(query, key, value, weights, in_proj_bias)
    if mask is not None:
        _check_mask(mask, (batch, length, keys), num_heads)
        mask = T.reshape(mask, (-1, 1, length, keys) if mask.ndim == 2 else (batch, num_heads, length, keys))
    q = _heads(q, batch, num_heads)
    k = _heads(k, batch, num_heads) if static_k is None else _static(static_k, "static_k", batch, num_heads, head_dim)
    v = _heads(v, batch, num_heads) if static_v is None else _static(static_v, "static_v", batch, num_heads, head_dim)
    if bias_k is not None or bias_v is not None:
        _require(bias_v is not None, "bias_k is set but bias_v is None")
        _require(bias_k is not None, "bias_v is set but bias_k is None")
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        k, v = (
            _one_more(x, _heads(T.reshape(b, (1, 1, size)), 1, num_heads), 4) for x, b in ((k, bias_k), (v, bias_v))
        )
        mask, padding = _one_more(mask, None, 4), _one_more(padding, None, 2)
    if add_zero_attn:
        zero = T.full((1, 1, 1, head_dim), 0, T.like(k))
        k, v = _one_more(k, zero, 4), _one_more(v, zero, 4)
        mask, padding = _one_more(mask, None, 4), _one_more(padding, None, 2)
    if padding is not None:
        _require(
            tuple(padding.shape) == (batch, k.shape[2]),
            f"expecting key_padding_mask shape of {Size((batch, k.shape[2]))}, but got {padding.shape}",
        )
        padding = T.reshape(padding, (batch, 1, 1, k.shape[2]))
        mask = padding if mask is None else mask + padding
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        out, weights = _attend(q, k, v, mask, dropout_p)
        weights = T.mean(weights, (1,), False) if average_attn_weights else weights
        weights = weights if batched else T.squeeze(weights, (0,))
    else:
        out, weights = scaled_dot_product_attention(q, k, v, mask, dropout_p, hinted), None
    out = T.reshape(T.permute(out, (2, 0, 1, 3)), (length * batch, size))
    out = _linear(out, out_proj_weight, out_proj_bias)
    out = T.reshape(out, (length, batch, out.shape[1]) if batched else (length, out.shape[1]))
    return out, weights
