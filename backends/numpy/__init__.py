"""The `cpu` device: NumPy. All it adds to the part shared with CuPy is its name."""

from __future__ import annotations

import numpy as np

from ..numpy_like import NumpyLike


class Numpy(NumpyLike):
    """Primitives on NumPy arrays."""

    name = "cpu"
    device_type = "cpu"
    device_index = None

    def __init__(self) -> None:
        super().__init__(np)


def available() -> bool:
    return True


def load(index: int | None) -> Numpy:
    return Numpy()
