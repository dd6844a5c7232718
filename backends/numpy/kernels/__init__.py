"""Compiled kernels of the `fast` extra: serial loops that release the interpreter's lock and run in slices on the
worker pool.

Modules in here import Numba, which takes a third of a second; `load` imports them when a large enough operand first
comes. Each kernel has a plain NumPy path beneath it, which serves small operands and where Numba is not installed, and
gives the same numbers. FRAMEWORK_FAST=0 in the environment turns the kernels off.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from types import ModuleType
from typing import Any

_modules: dict[str, ModuleType | None] = {}
_installed: list[bool] = []


def load(name: str) -> Any:
    """The module of kernels of that name, or None where there is no Numba or the kernels are turned off."""
    module = _modules.get(name)
    if module is None:
        if not installed() or os.environ.get("FRAMEWORK_FAST", "1") == "0":
            return None
        module = _modules[name] = importlib.import_module(f"{__name__}.{name}")
    elif os.environ.get("FRAMEWORK_FAST", "1") == "0":
        return None
    return module


def installed() -> bool:
    """Whether Numba is there."""
    if not _installed:
        _installed.append(importlib.util.find_spec("numba") is not None)
    return _installed[0]
