"""Switches of the libraries beneath: `backends.cuda`, `backends.cudnn`, `backends.mha`, `backends.mps`, as PyTorch
names them.
"""

from . import cuda, cudnn, mha, mps

__all__ = ["cuda", "cudnn", "mha", "mps"]
