"""The `cpu` device: NumPy. What it adds to the part shared with CuPy: its name, and faster sums at indices."""

from __future__ import annotations

import numpy as np

from ..base import Array
from ..numpy_like import NumpyLike
from .rows import add_rows


class Numpy(NumpyLike):
    """Primitives on NumPy arrays."""

    name = "cpu"
    device_type = "cpu"
    device_index = None

    def __init__(self) -> None:
        super().__init__(np)

    def _add_rows(self, r: Array, dim: int, index: Array, src: Array) -> None:
        add_rows(r, dim, index, src)


def available() -> bool:
    return True


def load(index: int | None) -> Numpy:
    return Numpy()
