"""From a device string to a backend. Libraries are imported when a device is first used.

Names: `cpu`, `cuda[:n]`, `mps` (also `mlx`, `metal`), `mlx:cpu` (MLX on a CPU), `frozen` (NumPy with read-only
arrays, for tests), `gpu` (the first accelerator there is), `auto` (that, else `cpu`). Other packages add theirs
through the entry-point group `framework.backends`: name = device name, object = a module with `load(index)` and
`available()`.
"""

from __future__ import annotations

import difflib
import importlib
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from .base import Backend


class DeviceName(NamedTuple):
    """A device string taken apart: `type` as `device.type` shows it, `index`, and `text`, which names the backend."""

    type: str
    index: int | None  # type: ignore[assignment]  # tuple.index is of no use here
    text: str


_MODULES = {"cpu": "backends.numpy", "frozen": "backends.numpy.frozen", "cuda": "backends.cupy", "mps": "backends.mlx",
            "mlx:cpu": "backends.mlx.cpu"}  # fmt: skip
_TYPES = {"frozen": "cpu", "mlx:cpu": "mps"}
_ALIASES = {"mlx": "mps", "metal": "mps", "mlx:gpu": "mps"}
_ACCELERATORS = ("cuda", "mps")
_loaded: dict[str, Backend] = {}
_LOADING = threading.RLock()


def _third_party() -> dict[str, str]:
    return _entry_points(tuple(sys.path))


@cache
def _entry_points(path: tuple[str, ...]) -> dict[str, str]:
    """Device name -> module, from the metadata of what is installed on that path (a scan takes milliseconds)."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in entry_points(group="framework.backends")}


def names() -> tuple[str, ...]:
    """Device names that can be asked for, available here or not."""
    return (*_MODULES, *_third_party())


def parse(text: str) -> DeviceName:
    """Take a device string apart. Unknown names raise RuntimeError with the nearest known ones."""
    lowered = text.strip().lower()
    lowered = _ALIASES.get(lowered, lowered)
    if lowered in ("auto", "gpu"):
        found = next((d for d in _ACCELERATORS if available(d)), None)
        if found is None and lowered == "gpu":
            raise RuntimeError(
                "device 'gpu': no accelerator is available here; use 'cpu', or 'auto' to take what there is"
            )
        lowered = found or "cpu"
    if lowered in _TYPES:
        return DeviceName(_TYPES[lowered], None, lowered)
    head, colon, tail = lowered.partition(":")
    head = _ALIASES.get(head, head)
    known = head in _MODULES or head == "meta" or head in _third_party()
    if not known:
        near = difflib.get_close_matches(head, [*names(), *_ALIASES, "auto", "gpu"], 3, 0.5)
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise RuntimeError(
            "Expected one of cpu, cuda, mps, mlx:cpu, meta, gpu, auto device type at start of device string: "
            f"{text}{hint}"
        )
    if colon and not (tail.isdecimal() and (tail == "0" or tail[0] != "0")):
        raise RuntimeError(f"Invalid device string: '{text}'; the index after ':' must be a non-negative integer")
    index = int(tail) if colon else None
    return DeviceName(head, index, head if head in ("cpu", "mps") else lowered)


def _module(text: str) -> str | None:
    head = text.partition(":")[0]
    return _MODULES.get(text) or _MODULES.get(head) or _third_party().get(head)


def available(text: str) -> bool:
    """Whether this machine has the library and the device."""
    module = _module(text)
    if module is None:
        return False
    try:
        probe: Callable[[], bool] = importlib.import_module(module).available
    except ImportError:
        return False
    return probe()


def load(name: DeviceName) -> Backend:
    """The backend of a device, made once. Raises RuntimeError if this machine lacks it, naming what to install."""
    backend = _loaded.get(name.text)
    if backend is None:
        module = _module(name.text)
        if module is None:
            raise RuntimeError(f"device '{name.text}' has no backend of its own: it holds no data")
        try:
            make: Callable[[int | None], Backend] = importlib.import_module(module).load
        except ImportError as error:
            raise RuntimeError(f"device '{name.text}': its backend cannot be imported: {error}") from error
        with _LOADING:  # threads that come at once get one backend: it is compared by identity
            backend = _loaded.get(name.text)
            if backend is None:
                backend = _loaded[name.text] = make(name.index)
    elif name.type == "mps" and name.index:
        raise RuntimeError(f"device 'mps:{name.index}': there is one Metal device, 'mps' or 'mps:0'")
    return backend


def loaded() -> tuple[Backend, ...]:
    """The backends in use so far."""
    return tuple(_loaded.values())
