"""The accelerator of this machine, whichever it is: CUDA by CuPy, Apple's GPU by MLX."""

from __future__ import annotations

from backends import registry
from framework.core.device import device

_KINDS = ("cuda", "mps")


def current_accelerator(check_available: bool = False) -> device | None:
    """The device (without an index) that `gpu` names here; None if there is no accelerator."""
    found = next((kind for kind in _KINDS if registry.available(kind)), None)
    return None if found is None else device(found)


def is_available() -> bool:
    """Whether there is an accelerator."""
    return current_accelerator() is not None


def device_count() -> int:
    """How many accelerators of the kind in use there are."""
    found = current_accelerator()
    if found is None:
        return 0
    if found.type == "cuda":
        from framework import cuda

        return cuda.device_count()
    return 1


def synchronize(device: object = None) -> None:
    """Wait until the accelerator has done all it was given."""
    for backend in registry.loaded():
        wait = getattr(backend, "synchronize", None)
        if wait is not None:
            wait()
