"""The `mps` device: MLX on Metal. `backends.mlx.cpu` is the same backend on the CPU, for machines without Metal.

What MLX does otherwise than the framework needs, and where it is set right:

* nothing aliases and everything is lazy: the framework keeps the geometry, `storage.py` reads and writes by it;
* an index out of range, a step of zero, an allocation that fails or a fork kill the process: each is refused before
  the call (`indexing.py`, `arrays.py`);
* some functions are wrong or missing: a better formula where there is one (`elementwise.py`, `reductions.py`), else
  the NumPy backend's own primitive on the host (`Arrays._on_host`), which waits for the arrays it reads;
* there is no complex128, and no float64 on Metal: TypeError.

Threads: pending values belong to the thread that built them. `evaluate` arrays before another thread uses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backend import Mlx


def available() -> bool:
    """Whether MLX is installed and there is a Metal device."""
    try:
        import mlx.core as mx
    except ImportError:
        return False
    return bool(mx.metal.is_available())


def load(index: int | None) -> Mlx:
    """The backend on Metal. Raises RuntimeError where there is none."""
    if index:
        raise RuntimeError(f"device 'mps:{index}': there is one Metal device, 'mps' or 'mps:0'")
    try:
        import mlx.core as mx
    except ImportError:
        raise RuntimeError("device 'mps' needs MLX: pip install mlx") from None
    if not mx.metal.is_available():
        raise RuntimeError("device 'mps': there is no Metal device here; MLX on the CPU is 'mlx:cpu'")
    from .backend import Mlx

    return Mlx("mps", mx.Device(mx.gpu, 0))
