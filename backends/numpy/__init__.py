"""The `cpu` device: NumPy. What it adds to the part shared with CuPy: its name, products and fused kernels on a pool of
threads, and faster sums at indices."""

from __future__ import annotations

import numpy as np

from ..base import Array
from ..numpy_like import NumpyLike
from . import fused, norm
from .optimizers import Optimizers
from .pool import pool as workers
from .products import SMALL, matmul
from .rows import add_rows
from .windows import Windows


class Numpy(fused.Fused, norm.Normalisation, Optimizers, Windows, NumpyLike):
    """Primitives on NumPy arrays."""

    name = "cpu"
    device_type = "cpu"
    device_index = None
    kernels = NumpyLike.kernels | fused.KERNELS | norm.KERNELS | {"adam_step", "sgd_step"}

    def __init__(self) -> None:
        super().__init__(np)
        workers.rest_blas()  # two pools of threads would spin against each other

    def softmax(self, x: Array, dim: int) -> Array:
        out = NotImplemented if x.size < fused.SMALL else self._along_rows("softmax", dim, x)
        return super().softmax(x, dim) if out is NotImplemented else out

    def sigmoid(self, x: Array) -> Array:
        out = NotImplemented if x.size < fused.SMALL else self._each("sigmoid", x)
        return super().sigmoid(x) if out is NotImplemented else out

    def matmul(self, a: Array, b: Array) -> Array:
        return np.matmul(a, b) if a.size < SMALL and b.size < SMALL else matmul(a, b)

    def _add_rows(self, r: Array, dim: int, index: Array, src: Array) -> None:
        add_rows(r, dim, index, src)


def available() -> bool:
    return True


def load(index: int | None) -> Numpy:
    return Numpy()
