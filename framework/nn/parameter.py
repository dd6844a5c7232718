"""Parameters and buffers: tensors that a module knows by name."""

from __future__ import annotations

from typing import Any

from framework.core.tensor import Buffer, Parameter

__all__ = ["Buffer", "Parameter", "is_lazy"]


def is_lazy(value: Any) -> bool:
    """Whether `value` is a parameter or buffer whose shape is not known yet."""
    return False
