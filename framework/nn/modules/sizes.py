"""Arguments that are one number for all spatial dimensions, or one number each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["reverse_repeated", "spread"]


def spread(value: Any, dims: int) -> tuple[Any, ...]:
    """`value` once for each of `dims` dimensions; what is a sequence already, as a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,) * dims


def reverse_repeated(padding: tuple[int, ...]) -> list[int]:
    """Padding per dimension as `functional.pad` reads it: last dimension first, each number before and after."""
    return [amount for amount in reversed(padding) for _ in range(2)]
