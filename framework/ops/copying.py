"""Copying and pickling tensors. Tensors that share memory go on sharing it in a deep copy; a pickle holds each tensor's
own elements.
"""

from __future__ import annotations

import copy
from typing import Any

from framework.core.device import backend_of
from framework.core.tensor import Buffer, Parameter, Tensor, arr, make, retained
from framework.dispatch.registry import attach
from framework.dispatch.views import replay

_PLAIN = (Tensor, Parameter, Buffer)


def _attributes(t: Tensor) -> dict[str, Any]:
    """What users (and subclasses) put on a tensor."""
    return {name: value for name, value in t.__dict__.items() if name != "_grad"}


def _finished(t: Tensor, kind: type, requires_grad: bool, attributes: dict[str, Any]) -> Tensor:
    t.__class__ = kind
    if requires_grad:
        t.requires_grad_()
    grad = attributes.pop("grad", None)
    if grad is not None:
        t.grad = grad
    t.__dict__.update(attributes)
    return t


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
            "Use clone() to copy a result of ops, or detach() it first."
        )
    if id(self) in memo:
        return memo[id(self)]
    base = self._base
    if base is not None and self._view is not None:
        t = replay(_copied_base(base, memo), self._view).detach()
    else:
        t = _copied_base(self, memo).detach()
    memo[id(self)] = t
    attributes = _attributes(self)
    if retained(self) is not None and not isinstance(
        self, Parameter
    ):  # a copied model starts without gradients, as in PyTorch
        attributes["grad"] = retained(self)
    return _finished(t, type(self), self.requires_grad, copy.deepcopy(attributes, memo))


def _copied_base(t: Tensor, memo: dict[int, Any]) -> Tensor:
    """A copy of the elements, one for all tensors on the same storage and of the same shape."""
    storage = t.storage
    key = id(t) if storage is None else id(storage.root or storage)
    kept = memo.setdefault("framework storages", {})  # type: ignore[call-overload]
    for shape, found in kept.get(key, ()):
        if shape == (tuple(t.shape), t.dtype, tuple(t.stride())):
            return found
    found = make(t.backend, t.backend.clone(arr(t)), t.dtype)
    kept.setdefault(key, []).append(((tuple(t.shape), t.dtype, tuple(t.stride())), found))
    return found


def _rebuilt(
    array: Any, dtype: Any, device: str, kind: type, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    backend = backend_of(device)
    return _finished(make(backend, backend.asarray(array, dtype), dtype), kind, requires_grad, attributes)


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    if self.level is not None:
        raise RuntimeError("a tensor inside a function transform cannot be pickled")
    array = self.backend.to_numpy(arr(self))
    return _rebuilt, (array, self.dtype, str(self.device), type(self), self.requires_grad, _attributes(self))


attach(__deepcopy__=_deepcopy, __reduce_ex__=_reduce)
