"""Hooks on gradients: of a tensor, of a node, after accumulation; and `retain_grad`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from framework.core.graph import HookedNode, Leaf, Node, Pick
from framework.core.tensor import Tensor, arr

from .handle import RemovableHandle


class Hooks:
    """What is to run around one node: on the gradient of its output (`tensor`), before it (`pre`), after it (`post`)."""

    __slots__ = ("post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Callable[..., Any]] = {}
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}
        self.retain: weakref.ref[Tensor] | None = None


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node, made on first use. A plain node changes its class, so that others pay nothing."""
    if type(node) is Node:
        node.__class__ = HookedNode
        node.hooks = None
    if node.hooks is None:
        node.hooks = Hooks()
    found: Hooks = node.hooks
    return found


def add(table: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook in a table."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


# ---------------------------------------------------------------- run by the engine


def run_pre_hooks(walk: Any, n: Node, g: Any) -> Any:
    """Let the hooks on a gradient see and replace it, then those before the node; retain it last."""
    hooks = n.hooks
    if hooks is None:
        return g
    if type(g) is list:  # a node with several outputs: tensor hooks ran at its Picks
        return _run_node_pre_hooks(walk, n, g, hooks)
    for hook in list(hooks.tensor.values()):
        before = walk.tensor(g, n)
        g = _unwrap(walk, _checked(hook, hook(before), before), g, before)
    g = _run_node_pre_hooks(walk, n, [g], hooks)[0]
    t = hooks.retain() if hooks.retain is not None else None
    if t is not None:
        new = walk.tensor(walk.backend.clone(walk.backend.asarray(g)) if not walk.tensors else g, n)
        old = t.__dict__.get("_grad")
        t.__dict__["_grad"] = new if old is None else old + new
    return g


def _run_node_pre_hooks(walk: Any, n: Node, gs: list[Any], hooks: Hooks) -> list[Any]:
    for hook in list(hooks.pre.values()):
        given = tuple([None if g is None else walk.tensor(g, n) for g in gs])
        changed = hook(given)
        if changed is not None:
            changed = changed if isinstance(changed, tuple) else (changed,)
            gs = [_unwrap(walk, c, g, b) for c, g, b in zip(changed, gs, given, strict=True)]
    return gs


def run_post_hooks(walk: Any, n: Node, out: Any, g: Any) -> Any:
    """Let the hooks after a node see and replace the gradients of its inputs."""
    hooks = n.hooks
    out = list(out)
    incoming = tuple([None if x is None else walk.tensor(x, n) for x in (g if type(g) is list else [g])])
    for hook in list(hooks.post.values()):
        given = tuple([None if x is None or m is None else walk.tensor(x, m) for x, m in zip(out, n.edges, strict=True)])
        changed = hook(given, incoming)
        if changed is not None:
            changed = changed if isinstance(changed, tuple) else (changed,)
            if len(changed) != len(out):
                raise RuntimeError(f"hook of {n.name()} returned {len(changed)} gradients, expected {len(out)}")
            out = [_unwrap(walk, c, x, b) for c, x, b in zip(changed, out, given, strict=True)]
    return out


def _checked(hook: Any, result: Any, given: Tensor) -> Any:
    if result is None:
        return None
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    name = getattr(hook, "__name__", repr(hook))
    if result.dtype is not given.dtype:
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {given.dtype} got {result.dtype})")
    if tuple(result.shape) != tuple(given.shape):
        raise RuntimeError(f"hook '{name}' has changed the size of value (was {list(given.shape)} got {list(result.shape)})")
    return result


def _unwrap(walk: Any, changed: Any, g: Any, given: Any) -> Any:
    if changed is None or changed is given:
        return g
    return changed if walk.tensors else arr(changed)


# ---------------------------------------------------------------- the Tensor methods


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` each time this tensor's gradient is computed; a Tensor it returns replaces the gradient."""
    if self.node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    return add(hooks_of(self.node).tensor, hook)


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` each time after a gradient was added to this leaf's `.grad`."""
    if self.node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if type(self.node) is not Leaf:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    if self.node.post_hooks is None:
        self.node.post_hooks = {}
    return add(self.node.post_hooks, hook)


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this result of an op in its `.grad`; nothing to do for a leaf."""
    if self.node is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if type(self.node) is not Leaf:
        hooks_of(self.node).retain = weakref.ref(self)


def _retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` was called on this result of an op."""
    hooks = getattr(self.node, "hooks", None) if type(self.node) in (HookedNode, Pick) or hasattr(self.node, "saved_outputs") else None
    return hooks is not None and hooks.retain is not None and hooks.retain() is self


def node_register_hook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` after this node ran; a tuple it returns replaces the gradients of the inputs."""
    return add(hooks_of(self).post, fn)


def node_register_prehook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_outputs)` before this node runs; a tuple it returns replaces them."""
    return add(hooks_of(self).pre, fn)


Tensor.register_hook = register_hook  # type: ignore[attr-defined]
Tensor.register_post_accumulate_grad_hook = register_post_accumulate_grad_hook  # type: ignore[attr-defined]
Tensor.retain_grad = retain_grad  # type: ignore[attr-defined]
Tensor.retains_grad = property(_retains_grad)  # type: ignore[attr-defined]
Node.register_hook = node_register_hook  # type: ignore[attr-defined]
Node.register_prehook = node_register_prehook  # type: ignore[attr-defined]
