"""The switch for the shortcut of `nn.TransformerEncoder`, which spares the padding in evaluation."""

from __future__ import annotations

_fastpath = True


def get_fastpath_enabled() -> bool:
    """Whether the shortcut may be taken."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Allow the shortcut, or not."""
    global _fastpath
    _fastpath = bool(value)
