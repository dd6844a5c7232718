"""`compiled`, the decorator of kernels.

Fused multiply-add is all that these options let the compiler change: other liberties with floating point break the
rounding tricks of `scalar.py` and lose nan and inf. Only functions that add up (`summing`) leave the order of additions
to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

_OPTIONS: dict[str, Any] = {"fastmath": {"contract"}, "error_model": "numpy", "boundscheck": False, "nogil": True}


def compiled(f: Callable[..., Any]) -> Any:
    """`f` compiled at its first call for each kind of arguments, and kept on disk where that is possible."""
    try:
        return njit(cache=True, **_OPTIONS)(f)
    except RuntimeError:  # there is no folder that a cache could be written to
        return njit(**_OPTIONS)(f)


def inlined(f: Callable[..., Any]) -> Any:
    """`f` for use within kernels."""
    return njit(**_OPTIONS)(f)


def summing(f: Callable[..., Any]) -> Any:
    """`f` for use within kernels, its own additions in any order; what it calls is compiled by its own options."""
    return njit(**_OPTIONS | {"fastmath": {"contract", "reassoc"}})(f)
