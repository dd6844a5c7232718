"""Switches of CUDA computations."""

from __future__ import annotations


class _MatMul:
    """Precision of float32 matrix products: full unless `allow_tf32` is set."""

    allow_tf32 = False


matmul = _MatMul()


def is_built() -> bool:
    """Whether CuPy is installed."""
    from importlib.util import find_spec

    return find_spec("cupy") is not None
