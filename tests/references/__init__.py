"""Slow, plain statements of what ops compute, independent of how this package computes it."""
