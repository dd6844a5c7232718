"""Finds a package named `backends` that stands before ours on `sys.path`. Imports nothing but the standard library."""

from __future__ import annotations

import importlib.util
import os
import sys

__all__ = ["check"]


def check() -> None:
    """Raises ImportError if `import backends` gives another package than the one that came with this one.

    The message names its path and says what to do.

    `backends` is a name that a user's own project may well have for a folder. Without this check the import would fail
    deep inside with an AttributeError or a ModuleNotFoundError that names neither.
    """
    ours = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "backends")
    found = _found()
    if found is None:
        raise ImportError(
            f"framework: its package `backends` is missing; it should stand at {ours}. Install the package again."
        )
    if _same(found, ours):
        return
    raise ImportError(
        f"framework: {found} hides the package `backends` that comes with framework (at {ours}), because it stands "
        "earlier on sys.path or was imported before. Rename it, or start Python where it is not found first."
    )


def _found() -> str | None:
    """The folder of the package, or the path of the module, that the name `backends` leads to."""
    module = sys.modules.get("backends")
    if module is not None:
        places = list(getattr(module, "__path__", None) or [getattr(module, "__file__", None) or repr(module)])
        return str(places[0])
    spec = importlib.util.find_spec("backends")
    if spec is None:
        return None
    return str(next(iter(spec.submodule_search_locations or [spec.origin])))


def _same(a: str, b: str) -> bool:
    return os.path.normcase(os.path.realpath(a)) == os.path.normcase(os.path.realpath(b))
