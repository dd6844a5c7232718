"""The Transformer of Vaswani et al. 2017: layers of encoder and decoder, stacks of them, and the whole."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import framework
from framework import backends
from framework.core.tensor import Tensor
from framework.nn import functional as F
from framework.nn import init
from framework.nn.module import Module
from framework.nn.modules.activation import GELU, ReLU
from framework.nn.modules.attention import MultiheadAttention
from framework.nn.modules.container import ModuleList
from framework.nn.modules.dropout import Dropout
from framework.nn.modules.linear import Linear
from framework.nn.modules.normalization import LayerNorm
from framework.ops.multihead import additive_mask

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _activation(activation: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu  # type: ignore[no-any-return]


def _kind(activation: Any) -> int:
    """1 for relu, 2 for exact gelu, 0 for another activation."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    return 2 if activation is F.gelu or (isinstance(activation, GELU) and activation.approximate == "none") else 0


def _causal_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """(size, size): -inf above the diagonal, where a key comes after the query, 0 elsewhere."""
    return framework.triu(framework.full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def _is_causal(mask: Tensor | None, hint: bool | None, x: Tensor, batch_first: bool) -> bool:
    """The hint; without one whether the mask is the causal mask of x's length."""
    if hint is not None or mask is None:
        return bool(hint)
    size = x.shape[1 if batch_first and x.ndim == 3 else 0]
    if tuple(mask.shape) != (size, size):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


class _Layer(Module):
    """What layers of encoder and decoder share: attention, the feed-forward part, norms before or after each part."""

    _parts: tuple[str, ...]  # names of the parts in order: that of an attention, or "ff"

    def __init__(self, d_model: int, nhead: int, hidden: int, dropout: float, activation: Activation, eps: float,
                 batch_first: bool, norm_first: bool, bias: bool, device: Any, dtype: Any) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        for name in self._parts[:-1]:
            attention = MultiheadAttention(d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place)
            self.add_module(name, attention)
        self.linear1 = Linear(d_model, hidden, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(hidden, d_model, bias=bias, **place)
        self.norm_first = norm_first
        for i in range(len(self._parts)):
            self.add_module(f"norm{i + 1}", LayerNorm(d_model, eps=eps, bias=bias, **place))
        for i in range(len(self._parts)):
            self.add_module(f"dropout{i + 1}", Dropout(dropout))
        self.activation = _activation(activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _around(self, i: int, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """Add the i-th part's value to x, with its norm before or after."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        if self.norm_first:
            return x + dropout(part(norm(x)))  # type: ignore[no-any-return]
        return norm(x + dropout(part(x)))  # type: ignore[no-any-return]

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))  # type: ignore[no-any-return]


class TransformerEncoderLayer(_Layer):
    """Self-attention, then a feed-forward network, each added to its input.

    Norms come after each, or before with `norm_first`. `activation` is "relu", "gelu" or a function. RuntimeError
    for another string.
    """

    _parts = ("self_attn", "ff")

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )
        self.activation_relu_or_gelu = _kind(self.activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The layer's value for src (S, N, E), (N, S, E) with batch_first, or (S, E); masks of `MultiheadAttention`."""
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", src_mask, "src_mask", src)
        mask = additive_mask(src_mask, "src_mask", None, "", src)

        def attend(x: Tensor) -> Tensor:
            options = {"attn_mask": mask, "key_padding_mask": padding, "need_weights": False, "is_causal": is_causal}
            return self.self_attn(x, x, x, **options)[0]  # type: ignore[no-any-return]

        return self._around(2, self._around(1, src, attend), self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, a feed-forward network, each added and normalized.

    `activation` is "relu", "gelu" or a function. RuntimeError for another string.
    """

    _parts = ("self_attn", "multihead_attn", "ff")

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The layer's value for tgt, with the encoder's output `memory`. Masks as for `MultiheadAttention`."""

        def attend(name: str, memory: Tensor | None, mask: Tensor | None, padding: Tensor | None, causal: bool) -> Any:
            options = {"attn_mask": mask, "key_padding_mask": padding, "need_weights": False, "is_causal": causal}

            def part(x: Tensor) -> Tensor:
                other = x if memory is None else memory
                return getattr(self, name)(x, other, other, **options)[0]  # type: ignore[no-any-return]

            return part

        x = self._around(1, tgt, attend("self_attn", None, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
        x = self._around(2, x, attend("multihead_attn", memory, memory_mask, memory_key_padding_mask, memory_is_causal))
        return self._around(3, x, self._feed_forward)


def _copies(layer: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(n)])


def _why_not_spared(layer: Any) -> str:
    """Why a stack of this layer cannot spare padding, or ""."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    if layer.norm_first:
        return f"{name}.norm_first was True"
    attention: Any = layer.self_attn
    reasons = (
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, f"norm1.eps was not equal to {name}.norm2.eps"),
        (attention.num_heads % 2 == 1, "self_attn.num_heads is odd"),
    )
    return next((f"{name}.{reason}" for applies, reason in reasons if applies), "")


class TransformerEncoder(Module):
    """`num_layers` deep copies of `encoder_layer` in sequence, then `norm`.

    In evaluation without gradients, `src_key_padding_mask` alone given and its padding at the end of each sequence
    (which is not checked without `mask_check`), padding comes out of the last layer as zeros, unless
    `enable_nested_tensor` is False.
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why = _why_not_spared(encoder_layer)
        if enable_nested_tensor and why:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why}",
                UserWarning,
                stacklevel=2,
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The last layer's value for src. Without `is_causal` it is found out whether `mask` is the causal one."""
        padding = additive_mask(src_key_padding_mask, "src_key_padding_mask", mask, "mask", src)
        mask = additive_mask(mask, "mask", None, "", src)
        zeroed = mask is None and padding is not None and self._spares_padding(src, padding)
        is_causal = _is_causal(mask, is_causal, src, self.layers[0].self_attn.batch_first)  # type: ignore[attr-defined]
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=is_causal, src_key_padding_mask=padding)
        if zeroed:
            src = src.masked_fill((padding != 0).unsqueeze(-1), 0)
        return src if self.norm is None else self.norm(src)

    def _spares_padding(self, src: Tensor, padding: Tensor) -> bool:
        first: Any = self.layers[0]
        if not backends.mha.get_fastpath_enabled() or not self.use_nested_tensor or first.training or src.ndim != 3:
            return False
        if framework.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())):
            return False
        if framework.amp.is_autocast_enabled(src.device.type):
            return False
        hidden = padding != 0
        return not self.mask_check or not bool((hidden[:, :-1] & ~hidden[:, 1:]).any())


class TransformerDecoder(Module):
    """`num_layers` deep copies of `decoder_layer` in sequence, then `norm`."""

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The last layer's value for tgt. Without `tgt_is_causal` the mask is compared with the causal one."""
        first: Any = self.layers[0]
        causal = _is_causal(tgt_mask, tgt_is_causal, tgt, first.self_attn.batch_first)
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder, each with a LayerNorm at its end; matrices start by Glorot's uniform distribution."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            custom_encoder = TransformerEncoder(TransformerEncoderLayer(*layer), num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(TransformerDecoderLayer(*layer), num_decoder_layers, norm())
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's output (T, N, E) for tgt (T, N, E), with src (S, N, E) encoded.

        N is in front with batch_first, or absent. Masks as for `MultiheadAttention`. RuntimeError for batches or
        features that do not fit.
        """
        batch = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask (sz, sz): -inf where a key comes after the query, 0 elsewhere."""
        return _causal_mask(sz, device, dtype)
