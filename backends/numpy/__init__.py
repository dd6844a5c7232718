"""The `cpu` device: NumPy. All it adds to the part shared with CuPy is its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numpy_like import NumpyLike


class Numpy(NumpyLike):
    """Primitives on NumPy arrays."""

    name = "cpu"
    device_type = "cpu"
    device_index = None

    def __init__(self) -> None:
        super().__init__(np)

    @property
    def special(self) -> Any:
        import scipy.special

        return scipy.special


def available() -> bool:
    return True


def load(index: int | None) -> Numpy:
    return Numpy()
