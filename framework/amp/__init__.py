"""Automatic mixed precision."""

from .autocast import autocast, is_autocast_enabled

__all__ = ["autocast", "is_autocast_enabled"]
