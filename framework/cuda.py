"""CUDA devices, through CuPy. Without a driver `is_available()` is False and everything that needs one says so."""

from __future__ import annotations

from typing import Any

from backends import registry


def is_available() -> bool:
    """Whether CuPy and a CUDA device are here."""
    return registry.available("cuda")


def device_count() -> int:
    """The number of CUDA devices; 0 without CuPy or a driver."""
    if not is_available():
        return 0
    import cupy

    return int(cupy.cuda.runtime.getDeviceCount())


def current_device() -> int:
    """The index of the CUDA device in use."""
    return int(_cupy().cuda.Device().id)


def get_device_name(device: Any = None) -> str:
    """The name of a CUDA device."""
    index = current_device() if device is None else getattr(device, "index", device) or 0
    name = _cupy().cuda.runtime.getDeviceProperties(index)["name"]
    return name.decode() if isinstance(name, bytes) else str(name)


def synchronize(device: Any = None) -> None:
    """Wait until the device has done all it was given."""
    _cupy().cuda.Device().synchronize()


def empty_cache() -> None:
    """Give unused memory of the pool back to the device; nothing to do without one."""
    if is_available():
        _cupy().get_default_memory_pool().free_all_blocks()


def memory_allocated(device: Any = None) -> int:
    """Bytes that tensors hold on the device; 0 without one."""
    return int(_cupy().get_default_memory_pool().used_bytes()) if is_available() else 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the current CUDA device; ignored without one."""
    if is_available():
        from framework.core.generator import device_generator

        device_generator("cuda:0").manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all CUDA devices; ignored without one."""
    manual_seed(seed)


def _cupy() -> Any:
    if not is_available():
        raise AssertionError(
            "Torch not compiled with CUDA enabled: no CUDA device or no CuPy here (pip install 'framework[cuda12]')"
        )
    import cupy

    return cupy
