"""Helpers around modules: packed sequences (`rnn`)."""

from . import rnn

__all__ = ["rnn"]
