"""Apple's GPU, through MLX."""

from __future__ import annotations

from backends import registry


def is_available() -> bool:
    """Whether MLX and a Metal device are here."""
    return registry.available("mps")


def is_built() -> bool:
    """Whether MLX is installed."""
    from importlib.util import find_spec

    return find_spec("mlx") is not None
