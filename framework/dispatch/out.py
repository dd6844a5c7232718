"""`out=`: the result of a call is written into tensors that the caller gives."""

from __future__ import annotations

import warnings
from typing import Any

from framework.core.promotion import can_cast, scalar_type_name
from framework.core.state import STATE
from framework.core.tensor import Tensor, arr

from .inplace import assign
from .schema import Entry


def write_out(e: Entry, out: Any, value: Any) -> Any:
    """Write a result (or several) into `out` and return it: no graph, a safe cast by category, an empty or wrong size
    is resized.
    """
    if isinstance(value, tuple):
        if not isinstance(out, (tuple, list)) or len(out) != len(value):
            raise TypeError(f"{e.name}(): argument 'out' must be a tuple of {len(value)} Tensors")
        done = [write_out(e, o, v) for o, v in zip(out, value, strict=True)]
        return e.result(*done) if e.result else type(value)(*done) if hasattr(value, "_fields") else tuple(done)
    if isinstance(out, (tuple, list)) and len(out) == 1:
        out = out[0]
    if not isinstance(out, Tensor):
        raise TypeError(f"{e.name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if STATE.grad and (out.requires_grad or value.requires_grad):
        raise RuntimeError(
            f"{e.name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    if out.backend is not value.backend:
        raise RuntimeError(
            f"Expected out tensor to have device {value.device}, but got {out.device} instead ({e.name})"
        )
    if not can_cast(value.dtype, out.dtype):
        raise RuntimeError(f"result type {scalar_type_name(value.dtype)} can't be cast to the desired output type "
                           f"{scalar_type_name(out.dtype)} ({e.name})")  # fmt: skip
    if tuple(out.shape) != tuple(value.shape):
        if out.numel():
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does "
                f"not match the required output shape {list(value.shape)}. This behavior is deprecated, and in a "
                f"future release outputs will not be resized unless they have zero elements. ({e.name})",
                UserWarning,
                stacklevel=4,
            )
        resize(out, value)
        return out
    return assign(out, value, e.name)


def resize(out: Tensor, value: Tensor) -> None:
    """Make `out` hold a copy of `value`, whatever its size was."""
    source = (
        value.backend.astype(arr(value), out.dtype) if value.dtype is not out.dtype else value.backend.clone(arr(value))
    )
    version = out.storage.version if out.storage is not None else 0
    out.array, out.storage, out._view = source, None, None
    if version:
        from framework.core.storage import storage_of

        storage_of(out).version = version + 1
