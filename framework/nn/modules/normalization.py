"""Normalisation within one example: `LayerNorm`, `GroupNorm`, `RMSNorm`, and responses of neighbouring channels."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import framework
from framework.core.tensor import Parameter, Tensor
from framework.nn import functional as F
from framework.nn import init
from framework.nn.module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class Affine(Module):
    """A module whose last step is a learned scale and shift, `weight` and `bias`, each of which may be missing."""

    weight: Any
    bias: Any

    def _make_affine(self, shape: Any, weight: bool, bias: bool, device: Any, dtype: Any) -> None:
        for name, wanted in (("weight", weight), ("bias", weight and bias)):
            parameter = Parameter(framework.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, parameter)

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if getattr(self, "bias", None) is not None:
            init.zeros_(self.bias)


class LayerNorm(Affine):
    """(x - mean) / sqrt(var + eps) over the last dimensions, which are `normalized_shape`, times `weight` plus `bias`
    (Ba et al. 2016). The variance is the biased one. Both parameters have that shape; without `elementwise_affine`
    there are none.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._make_affine(self.normalized_shape, elementwise_affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(Affine):
    """Normalises (N, C, *) over each of `num_groups` groups of neighbouring channels, then scales and shifts each
    channel (Wu and He 2018). ValueError for channels that the groups do not divide."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._make_affine(num_channels, affine, bias, device, dtype)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(Affine):
    """x / sqrt(mean(x^2) + eps) over the last dimensions, which are `normalized_shape`, times `weight` (Zhang and
    Sennrich 2019).

    Without an `eps` it is the machine epsilon of the input's dtype.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        parameter = Parameter(framework.empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", parameter if elementwise_affine else None)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """x_c / (k + alpha/size sum x_c'^2)^beta, the sum over the `size` channels around c (Krizhevsky et al. 2012).

    The input is (N, C, *).
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(LocalResponseNorm):
    """`LocalResponseNorm` of a (N, C, H, W) input under its older name."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__(size, alpha, beta, k)


def _as_shape(size: int | Sequence[int]) -> tuple[int, ...]:
    return (size,) if isinstance(size, numbers.Integral) else tuple(size)  # type: ignore[return-value]
