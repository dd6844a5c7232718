"""Devices: which backend a tensor is made on.

First that says something wins: `device=` of the call, the `with device(...)` around it, `set_default_device`, the
environment variable FRAMEWORK_DEVICE, the project's file (`framework.toml` in the working directory), the user's file
(`~/.config/framework/config.toml`), `cpu`.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any

from backends import registry
from backends.dtypes import dtype

from .state import STATE


class device:
    """A place where tensors live: `device("cpu")`, `device("cuda", 1)`, `device("mlx:cpu")`. Also a context manager
    that makes it the default for what is created inside."""

    __slots__ = ("index", "name", "type")
    type: str
    index: int | None
    name: registry.DeviceName

    def __new__(cls, type: Any = None, index: int | None = None) -> device:
        if isinstance(type, device):
            return type
        if isinstance(type, int) and not isinstance(type, bool):
            type = f"{'cuda' if registry.available('cuda') else 'mps' if registry.available('mps') else 'cuda'}:{type}"
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_kind_of(type).__name__}")
        if index is not None:
            if ":" in type and type != "mlx:cpu":
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            type = f"{type}:{index}"
        name = registry.parse(type)
        found = _INTERNED.get(name)
        if found is None:
            found = _INTERNED[name] = object.__new__(cls)
            found.type, found.index, found.name = name.type, name.index, name
        return found

    def __repr__(self) -> str:
        label = f"type='{self.type}'" + (f", index={self.index}" if self.index is not None else "")
        return f"device({label})" if self.name.text.startswith(self.type) else f"device('{self.name.text}')"

    def __str__(self) -> str:
        return self.name.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return device, (self.name.text if self.index is None else f"{self.type}:{self.index}",)

    def __enter__(self) -> device:
        STATE.__dict__.setdefault("devices", []).append(self)
        return self

    def __exit__(self, kind: Any, value: BaseException | None, trace: TracebackType | None) -> None:
        STATE.__dict__["devices"].pop()


_kind_of = type
_INTERNED: dict[registry.DeviceName, device] = {}
_OF_BACKEND: dict[Any, device] = {}
_BACKENDS: dict[device, Any] = {}
_chosen: device | None = None  # by set_default_device
_files: dict[Path, tuple[float, dict[str, Any]]] = {}
_looked_at = -1.0  # when the files were last looked at; a look costs more than creating a small tensor
_from_file: tuple[device, str] | None = None


_CPU = device("cpu")


def set_default_device(to: Any) -> None:
    """Make `to` (a device, string, index or None) the device of tensors created from now on, in every thread."""
    global _chosen
    _chosen = None if to is None else device(to)


def default_device() -> tuple[device, str]:
    """The device that a call without `device=` uses, and what decided it."""
    stack = STATE.__dict__.get("devices")
    if stack:
        return stack[-1], "the surrounding `with device(...)`"
    if _chosen is not None:
        return _chosen, "set_default_device"
    if text := os.environ.get("FRAMEWORK_DEVICE"):
        return device(text), "the environment variable FRAMEWORK_DEVICE"
    global _looked_at, _from_file
    if monotonic() - _looked_at > 1.0:
        _looked_at, _from_file = monotonic(), None
        for path in (Path("framework.toml"), Path.home() / ".config" / "framework" / "config.toml"):
            if text := _setting(path, "device"):
                _from_file = device(text), f"the file {path}"
                break
    return _from_file or (_CPU, "the built-in default")


def get_default_device() -> device:
    """The device that tensors are created on when none is named."""
    return default_device()[0]


def _setting(path: Path, key: str) -> Any:
    """A top-level key of a TOML file, read again when the file changes; None if there is no such file or key."""
    try:
        changed = path.stat().st_mtime
    except OSError:
        return None
    path = path.absolute()
    if path not in _files or _files[path][0] != changed:
        import tomllib

        _files[path] = (changed, tomllib.loads(path.read_text(encoding="utf-8")))
    return _files[path][1].get(key)


def backend_of(where: Any) -> Any:
    """The backend of a device, device string, or (None) of the default device."""
    d = default_device()[0] if where is None else device(where)
    found = _BACKENDS.get(d)
    if found is not None:
        return found
    if d.type == "cuda" and d.index is None:
        d = device("cuda", 0)
    backend = registry.load(d.name)
    if backend not in _OF_BACKEND:
        _OF_BACKEND[backend] = d
    _BACKENDS[d] = backend
    return backend


def device_of(backend: Any) -> device:
    """The device of a backend."""
    return _OF_BACKEND.get(backend) or device(backend.name)


def default_float() -> dtype:
    """The dtype of Python floats: see `get_default_dtype`."""
    from .defaults import get_default_dtype

    return get_default_dtype()
