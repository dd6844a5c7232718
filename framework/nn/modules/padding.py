"""Padding by a constant, by reflection, by the edge's values, or by the other side's."""

from __future__ import annotations

from typing import Any

from framework.core.tensor import Tensor
from framework.nn import functional as F
from framework.nn.module import Module
from framework.nn.modules.sizes import spread

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _PadNd(Module):
    """`padding` is one number for all sides, or (left, right, top, bottom, ...) from the last dimension on; negative
    ones crop.
    """

    _dims: int
    _mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = spread(padding, 2 * self._dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPad(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        low = self._dims + 1
        if input.dim() not in (low, low + 1):
            raise ValueError(f"expected {low}D or {low + 1}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPad):
    """Goes on at the other end: (N, C, L) or (C, L). ValueError for other numbers of dimensions."""

    _dims = 1


class CircularPad2d(_CircularPad):
    """Goes on at the other end: (N, C, H, W) or (C, H, W). ValueError for other numbers of dimensions."""

    _dims = 2


class CircularPad3d(_CircularPad):
    """Goes on at the other end: (N, C, D, H, W) or (C, D, H, W). ValueError for other numbers of dimensions."""

    _dims = 3


class _ConstantPad(_PadNd):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """Puts `value` around the last dimension."""

    _dims = 1


class ConstantPad2d(_ConstantPad):
    """Puts `value` around the last two dimensions."""

    _dims = 2


class ConstantPad3d(_ConstantPad):
    """Puts `value` around the last three dimensions."""

    _dims = 3


class ZeroPad1d(ConstantPad1d):
    """Puts zeros around the last dimension."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad2d(ConstantPad2d):
    """Puts zeros around the last two dimensions."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad3d(ConstantPad3d):
    """Puts zeros around the last three dimensions."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ReflectionPad1d(_PadNd):
    """Mirrors the values at the edge, which itself comes once: (N, C, L) or (C, L)."""

    _dims, _mode = 1, "reflect"


class ReflectionPad2d(_PadNd):
    """Mirrors the values at the edge, which itself comes once: (N, C, H, W) or (C, H, W)."""

    _dims, _mode = 2, "reflect"


class ReflectionPad3d(_PadNd):
    """Mirrors the values at the edge, which itself comes once: (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _mode = 3, "reflect"


class ReplicationPad1d(_PadNd):
    """Repeats the value at the edge: (N, C, L) or (C, L)."""

    _dims, _mode = 1, "replicate"


class ReplicationPad2d(_PadNd):
    """Repeats the value at the edge: (N, C, H, W) or (C, H, W)."""

    _dims, _mode = 2, "replicate"


class ReplicationPad3d(_PadNd):
    """Repeats the value at the edge: (N, C, D, H, W) or (C, D, H, W)."""

    _dims, _mode = 3, "replicate"
