"""What the package's settings are now, and what decided them."""

from __future__ import annotations

from framework.core.defaults import get_default_dtype
from framework.core.device import default_device


def show() -> None:
    """Print each setting, its value and what decided it.

    The device of new tensors is decided by the first of: `device=` of the call, the `with device(...)` around it,
    `set_default_device`, the environment variable FRAMEWORK_DEVICE, `framework.toml` in the working directory,
    `~/.config/framework/config.toml`, the built-in default.
    """
    device, source = default_device()
    print(f"device         {device!s:<10} decided by {source}")
    print(f"default dtype  {get_default_dtype()!r}")
