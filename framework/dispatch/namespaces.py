"""The names that a public module shows: those its entries ask for."""

from __future__ import annotations

from typing import Any

from .registry import PUBLIC


def names(space: str) -> dict[str, Any]:
    """Public names of a module (`special`, `nn.functional` ...) and their functions; `from framework import ...`
    registers them.
    """
    return dict(PUBLIC.get(space, {}))
