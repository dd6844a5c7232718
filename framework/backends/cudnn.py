"""Switches that scripts set for cuDNN, which is not used here: they are kept and change nothing."""

from __future__ import annotations

enabled = True
benchmark = False
deterministic = True
allow_tf32 = True


def is_available() -> bool:
    """False: convolutions do not go through cuDNN."""
    return False


def version() -> None:
    """None: there is no cuDNN."""
