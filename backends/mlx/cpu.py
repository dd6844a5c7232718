"""The `mlx:cpu` device: MLX on the CPU. It shows everywhere what the Apple path does; it is not meant for speed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backend import Mlx


def available() -> bool:
    """Whether MLX is installed with its CPU part."""
    try:
        import mlx.core as mx

        return bool(mx.is_available(mx.Device(mx.cpu, 0)))
    except ImportError:
        return False


def load(index: int | None) -> Mlx:
    """The backend on the CPU. Raises RuntimeError where MLX is not installed."""
    try:
        import mlx.core as mx
    except ImportError:
        raise RuntimeError("device 'mlx:cpu' needs MLX: pip install mlx (on Linux: mlx mlx-cpu)") from None
    from .backend import Mlx

    return Mlx("mlx:cpu", mx.Device(mx.cpu, 0))
