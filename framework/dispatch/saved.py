"""Values that nodes save, in the hands of the user's hooks: packed when saved, unpacked when a rule wants them."""

from __future__ import annotations

from typing import Any

from framework.core.state import STATE, grad_enabled
from framework.core.tensor import Tensor, version_of

from . import errors

new = object.__new__


class Packed:
    """What a pack hook made of a saved tensor. Hooks own the value: later writes to the tensor are theirs to notice."""

    __slots__ = ("handle", "unpack_hook")

    def __init__(self, t: Tensor, pack: Any, unpack: Any) -> None:
        version = version_of(t)
        with grad_enabled(False):
            self.handle = pack(t)
        if version_of(t) != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook "
                "can not be modified by in-place operations as this can lead to unexpected side-effects. Clone the "
                "tensor first."
            )
        self.unpack_hook = unpack

    def unpack(self) -> Tensor:
        """The tensor that the unpack hook makes of it."""
        t = self.unpack_hook(self.handle)
        if not isinstance(t, Tensor):
            raise TypeError(
                f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(t).__name__}"
            )
        return t


def packed(saved: Any) -> Any:
    """A saved tensor, or a sequence of them, after the innermost pair of hooks; other values as they are."""
    if isinstance(saved, Tensor):
        pack, unpack = STATE.saved_hooks[-1]
        return Packed(saved, pack, unpack) if saved.level is None else saved
    return tuple([packed(t) for t in saved]) if type(saved) is tuple else saved


def names(n: Any) -> dict[str, tuple[str, int]]:
    """What a node saved: public name -> (kind: "tensor", "output" or "static"; position or name). PyTorch's names,
    where they differ, are there too: `self` for the operand `input`, `result` for the output."""
    e = n.entry
    found: dict[str, Any] = {}
    if not hasattr(e, "static"):
        return found
    for i, p in enumerate(e.tensors):
        if p in e.uses:
            found[p] = ("tensor", i)
    for q in e.outs:
        if q in e.uses:
            found["result" if q == "out" else q] = ("output", q)
    for i, p in enumerate(e.static):
        found.setdefault(p, ("static", i))
    if "input" in found:
        found["self"] = found["input"]
    return found


def value(n: Any, name: str) -> Any:
    """A value that a node saved, by its public name, with the history it had; RuntimeError if it was freed or written
    since.
    """
    kind, at = names(n)[name]
    if kind == "static":
        return n.params[at]
    if n.saved is None:
        errors.freed(n)
    if kind == "output":
        from .record import output_of

        return output_of(n, str(at))
    return _unpacked(n, name, n.saved[at], n.versions[at])


def _unpacked(n: Any, name: str, t: Any, version: Any) -> Any:
    if type(t) is tuple:
        return tuple([_unpacked(n, name, x, v) for x, v in zip(t, version, strict=True)])
    if type(t) is Packed:
        return t.unpack()
    if isinstance(t, Tensor) and version is not None and version_of(t) != version:
        errors.stale(n, name, t, version)
    return t


__all__ = ["Packed", "names", "packed", "value"]
