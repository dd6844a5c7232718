"""Automatic mixed precision."""

from .autocast import autocast

__all__ = ["autocast"]
