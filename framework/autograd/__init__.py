"""Automatic differentiation: `backward`, `grad`, grad modes, hooks, custom `Function`s, `gradcheck`."""

from framework.dispatch.reverse import provide as _provide

from . import engine as _engine
from . import graph
from .anomaly import detect_anomaly, is_anomaly_check_nan_enabled, is_anomaly_enabled, set_detect_anomaly
from .api import backward, grad
from .function import Function
from .grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)  # fmt: skip

__all__ = [
    "Function",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

_provide(_engine.run)


def __getattr__(name: str) -> object:
    """`gradcheck` and `gradgradcheck` are made of the function transforms, which lie above this package."""
    if name in ("gradcheck", "gradgradcheck", "GradcheckError"):
        from importlib import import_module

        return getattr(import_module("framework.func.gradcheck"), name)
    raise AttributeError(f"module 'framework.autograd' has no attribute {name!r}")
