"""The `frozen` device: NumPy that behaves like MLX, for tests.

Results are read-only and slices are values, so every path for backends without aliasing runs on any machine; it has
no fused kernels, so every formula runs too.
"""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np

from ..numpy_like import NumpyLike

_NOT_RESULTS = frozenset({"dtype_of", "like", "to_numpy", "evaluate", "write"})


def _freeze(result: Any) -> Any:
    for a in result if type(result) is tuple else (result,):
        if type(a) is np.ndarray:
            a.setflags(write=False)
    return result


class Frozen(NumpyLike):
    """NumPy with read-only results and no aliasing."""

    name = "frozen"
    device_type = "cpu"
    device_index = None

    def __init__(self) -> None:
        super().__init__(np)
        self.capabilities = replace(self.capabilities, aliasing=False, writes_out=False)
        self.aliasing = self.writes_out = False
        self.kernels = frozenset()
        for name in dir(self):
            f = getattr(self, name)
            if name[0] != "_" and callable(f) and not isinstance(f, type) and name not in _NOT_RESULTS:
                setattr(self, name, self._frozen(f))

    @staticmethod
    def _frozen(f: Any) -> Any:
        @wraps(f, assigned=("__doc__",))
        def frozen(*args: Any) -> Any:
            return _freeze(f(*args))

        return frozen

    def asarray(self, a: Any, dtype: Any = None) -> Any:
        """A read-only copy: freezing the caller's own array would be rude, sharing it would alias."""
        return np.array(super().asarray(a, dtype))

    def to_numpy(self, a: Any) -> Any:
        return a.copy()


def available() -> bool:
    return True


def load(index: int | None) -> Frozen:
    return Frozen()
