"""The handle of a hook, at the place where PyTorch keeps it."""

from framework.autograd.handle import RemovableHandle

__all__ = ["RemovableHandle"]
