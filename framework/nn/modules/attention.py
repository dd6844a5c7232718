"""Multi-head attention."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Parameter, Tensor
from framework.nn import functional as F
from framework.nn import init
from framework.nn.module import Module
from framework.nn.modules.linear import NonDynamicallyQuantizableLinear
from framework.ops.multihead import additive_mask

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention by `num_heads` heads, each on its own projection of queries, keys and values (Vaswani et al. 2017).

    Parameters: `in_proj_weight` (3 embed_dim, embed_dim), or `q_proj_weight`, `k_proj_weight` (embed_dim, kdim) and
    `v_proj_weight` (embed_dim, vdim) if keys or values have sizes of their own; `in_proj_bias` (3 embed_dim);
    `out_proj`, a Linear; with `add_bias_kv` one more key and value, `bias_k` and `bias_v`. `add_zero_attn` adds a
    key and a value of zeros.

    ValueError for sizes that are not positive, AssertionError unless `num_heads` divides `embed_dim`.
    """

    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape: int) -> Parameter:
            return Parameter(framework.empty(shape, device=device, dtype=dtype))

        if self._qkv_same_embed_dim:
            self.in_proj_weight = parameter(3 * embed_dim, embed_dim)
            for letter in "qkv":
                self.register_parameter(f"{letter}_proj_weight", None)
        else:
            for letter, size in zip("qkv", (embed_dim, self.kdim, self.vdim), strict=True):
                self.register_parameter(f"{letter}_proj_weight", parameter(embed_dim, size))
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        self.bias_k = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.bias_v = parameter(1, 1, embed_dim) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """(output (L, N, E), weights (N, L, S) or None without `need_weights`) for query (L, N, E), key (S, N,
        kdim), value (S, N, vdim).

        With `batch_first` N is in front; tensors of two dimensions have no N. Masks (N, S) and (L, S) or (N
        num_heads, L, S) are True where a key may not be seen, or are added to the scores; `is_causal` is a hint that
        `attn_mask` is the causal one. Without `average_attn_weights` there are weights for each head, (N, num_heads,
        L, S).
        """
        padding = additive_mask(key_padding_mask, "key_padding_mask", attn_mask, "attn_mask", query)
        mask = additive_mask(attn_mask, "attn_mask", None, "", query)
        swapped = self.batch_first and query.ndim == 3
        if swapped:
            one, two = query is key, key is value  # what is one tensor stays one: its projections are one product
            query = query.transpose(1, 0)
            key = query if one else key.transpose(1, 0)
            value = key if two else value.transpose(1, 0)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=padding,
            need_weights=need_weights,
            attn_mask=mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if swapped else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """(both masks as one, its type): 1 is the padding mask alone, (N, L); 2 others, (N, num_heads, L, L)."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length = query.shape[:2]
        if attn_mask.ndim == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length)
        return merged, 2
