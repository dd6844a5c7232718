"""Switches of the libraries beneath: `backends.cuda`, `backends.cudnn`, `backends.mps`, as PyTorch names them."""

from . import cuda, cudnn, mps

__all__ = ["cuda", "cudnn", "mps"]
