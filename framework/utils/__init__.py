"""Helpers around tensors and modules: `utils.data` makes batches, `utils.checkpoint` trades computing for memory,
`utils.hooks` holds the handle of a hook.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["checkpoint", "data", "hooks"]


def __getattr__(name: str) -> Any:  # loaded when first asked for: modules of every layer use `utils.hooks`
    if name in __all__:
        return importlib.import_module(f"framework.utils.{name}")
    raise AttributeError(f"module 'framework.utils' has no attribute {name!r}")
