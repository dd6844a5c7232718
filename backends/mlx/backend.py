"""The MLX backend: its parts put together, for one device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import mlx.core as mx

from .. import dtypes as dt
from ..array_api import ELEMENTWISE
from ..base import Array, Capabilities
from .arrays import fits
from .convolution import Convolution
from .kernels import ON_CPU, ON_METAL, Kernels
from .linear import Linear
from .pooling import Pooling
from .reductions import Reductions
from .views import Views

# Primitives whose result may be larger than their operands.
_GROWING = (*ELEMENTWISE, "cat", "complex", "copysign", "diagonal_put", "fmax", "fmin", "fmod", "gather", "heaviside",
            "hypot", "index_select", "logaddexp", "logaddexp2", "matmul", "reshape", "slice_put", "strided_put",
            "windows", "windows_put")  # fmt: skip


class Mlx(Kernels, Reductions, Linear, Views, Convolution, Pooling):
    """Primitives on `mlx.core.array`, on Metal ("mps") or on the CPU ("mlx:cpu").

    Operators between arrays run on MLX's default device, which the first of the two to be loaded sets; the
    primitives of the other name their own.
    """

    device_type = "mps"
    device_index = None

    def __init__(self, name: str, device: Any) -> None:
        super().__init__(mx, mx.array)
        self.name, self.device = name, device
        self.on_cpu = device == mx.Device(mx.cpu, 0)
        self.kernels = ON_CPU if self.on_cpu else ON_METAL
        if not self.on_cpu:
            del self.native[dt.float64]
        self.capabilities = Capabilities(False, True, True, False, frozenset(self.native))
        for ours, theirs in ELEMENTWISE.items():
            if not hasattr(type(self), ours):
                setattr(self, ours, getattr(mx, theirs))
        for primitive in _GROWING:
            setattr(self, primitive, _sized(getattr(self, primitive)))
        self._own_device()

    def _own_device(self) -> None:
        global _default
        if _default is None:
            _default = self.device
            mx.set_default_device(self.device)
        elif _default != self.device:
            for n in dir(self):
                f = getattr(self, n)
                if n[0] != "_" and callable(f) and not isinstance(f, type):
                    setattr(self, n, _on(self.device, f))


_default: Any = None


def _sized(f: Callable[..., Array]) -> Callable[..., Array]:
    @wraps(f, assigned=("__doc__",))
    def sized(*args: Any) -> Array:
        r = f(*args)
        return r if r.nbytes < 1 << 30 else fits(r)

    return sized


def _on(device: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(f, assigned=("__doc__",))
    def on_device(*args: Any) -> Any:
        with mx.stream(device):
            return f(*args)

    return on_device
