"""The `cuda` devices: CuPy. What it shares with NumPy is in `backends.numpy_like`; `backend.py` says what differs."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backend import Cupy


def available() -> bool:
    """Whether CuPy is installed and finds a driver with a device. Never raises."""
    return count() > 0


def count() -> int:
    """The number of CUDA devices; 0 without CuPy or without a driver."""
    try:
        import cupy

        return int(cupy.cuda.runtime.getDeviceCount())
    except Exception:  # a wheel for another CUDA fails in its own ways
        return 0


def load(index: int | None) -> Cupy:
    """The backend of a CUDA device, the current one if `index` is None. RuntimeError where there is none."""
    try:
        import cupy
    except ImportError as error:
        raise RuntimeError(f"device 'cuda' needs CuPy: pip install cupy-cuda12x (or cupy-cuda13x): {error}") from None
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise RuntimeError(f"device 'cuda': CuPy finds no NVIDIA driver: {error}") from None
    number = int(cupy.cuda.runtime.getDevice()) if index is None else index
    if number >= found:
        raise RuntimeError(f"device 'cuda:{number}': invalid device ordinal; there are {found} CUDA devices")
    return _made(number)


@cache
def _made(number: int) -> Cupy:
    """'cuda' and 'cuda:0' are one backend, or their tensors would not meet."""
    from .backend import Cupy

    return Cupy(number)
