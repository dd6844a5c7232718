"""`repr`, `str` and `format` of a Tensor."""

from __future__ import annotations

from .host import to_host
from .printing import tensor_text
from .tensor import Buffer, Parameter, Tensor

_PLAIN = frozenset({Tensor, Parameter, Buffer})


def tensor_repr(t: Tensor) -> str:
    """The text of a tensor: its values, and what they do not say (device, dtype, whether gradients reach it)."""
    device = t.device
    suffixes = []
    if t.grad_fn is not None:
        suffixes.append(f"grad_fn=<{t.grad_fn.name()}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    text = tensor_text(
        to_host(t),
        t.dtype,
        device=None if device.type == "cpu" else str(device),
        suffixes=suffixes,
        prefix="tensor(" if type(t) in _PLAIN else f"{type(t).__name__}(",
    )
    return f"Parameter containing:\n{text}" if type(t) is Parameter else text


def _format(self: Tensor, spec: str) -> str:
    """A 0-d tensor formats as its number; others take no format specification (TypeError)."""
    if type(self) is Tensor and self.ndim == 0:
        return format(to_host(self).item(), spec)
    return object.__format__(self, spec)


def _repr(self: Tensor) -> str:
    return tensor_repr(self)


Tensor.__repr__ = _repr  # type: ignore[assignment]
Tensor.__format__ = _format  # type: ignore[assignment]
