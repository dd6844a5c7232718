"""Hooks on gradients: of a tensor, of a node, after accumulation; and `retain_grad`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from framework.core.graph import Leaf, Node, hooks_of, retainers
from framework.core.tensor import Tensor, arr, retained

from .handle import RemovableHandle


def add(table: dict[int, Any], hook: Callable[..., Any]) -> RemovableHandle:
    """Register a hook in a table."""
    handle = RemovableHandle(table)
    table[handle.id] = hook
    return handle


# ---------------------------------------------------------------- run by the engine


def run_tensor_hooks(walk: Any, n: Node, g: Any) -> Any:
    """Let the hooks on a gradient see and replace it; then keep it for the tensors that retain theirs."""
    hooks = n.hooks
    if type(g) is list:  # a node with several outputs: their hooks ran at its Picks
        return g
    if hooks.tensor:
        walk.owned.discard(n)  # a hook may keep what it sees
        for hook in list(hooks.tensor.values()):
            given = walk.tensor(g, n)
            g = _unwrap(walk, _checked(hook, hook(given), given), g, given)
    for r in hooks.retain:
        t = r()
        if t is not None:
            new, old = walk.kept(g, False), retained(t)
            t.__dict__["_grad"] = new if old is None else old + new
    return g


def run_pre_hooks(walk: Any, n: Node, g: Any) -> Any:
    """Let the hooks before a node see and replace the gradients of its outputs."""
    walk.owned.discard(n)
    gs = g if type(g) is list else [g]
    for hook in list(n.hooks.pre.values()):
        gs = _replaced(walk, hook, gs, [n] * len(gs))
    if all(x is None for x in gs):
        return None
    return gs if type(g) is list else gs[0]


def run_post_hooks(walk: Any, n: Node, out: Any, g: Any) -> Any:
    """Let the hooks after a node see and replace the gradients of its inputs."""
    outgoing = tuple([None if x is None else walk.tensor(x, n) for x in (g if type(g) is list else [g])])
    for hook in list(n.hooks.post.values()):
        out = _replaced(walk, hook, out, n.edges, outgoing)
    return out


def run_after_accumulation(leaf: Leaf) -> None:
    """Show a leaf, whose `.grad` was just added to, to its hooks."""
    t = leaf.tensor()
    if t is not None:
        for hook in list(leaf.post_hooks.values()):
            result = hook(t)
            if result is not None:
                raise TypeError(
                    f"post accumulate grad hooks should return None, but hook '{_named(hook)}' returned "
                    f"'{type(result).__name__}'"
                )


def _replaced(walk: Any, hook: Any, values: list[Any], nodes: Any, *others: Any) -> list[Any]:
    """Gradients after a hook saw them; it may answer with others, one for each."""
    given = tuple([None if x is None else walk.tensor(x, m) for x, m in zip(values, nodes, strict=True)])
    changed = hook(given, *others)
    if changed is None:
        return values
    if not isinstance(changed, tuple):
        changed = (changed,)
    if len(changed) != len(values):
        raise RuntimeError(
            f"hook '{_named(hook)}' has returned an incorrect number of values (got {len(changed)}, but expected "
            f"{len(values)})"
        )
    for c in changed:
        if c is not None and not isinstance(c, Tensor):
            raise TypeError(f"expected Variable, but hook '{_named(hook)}' returned '{type(c).__name__}'")
    return [None if c is None else _unwrap(walk, c, x, b) for c, x, b in zip(changed, values, given, strict=True)]


def _named(hook: Any) -> str:
    return getattr(hook, "__name__", repr(hook))


def _checked(hook: Any, result: Any, given: Tensor) -> Any:
    if result is None:
        return None
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if result.dtype is not given.dtype:
        raise RuntimeError(
            f"hook '{_named(hook)}' has changed the type of value (was {given.dtype} got {result.dtype})"
        )
    if tuple(result.shape) != tuple(given.shape):
        raise RuntimeError(
            f"hook '{_named(hook)}' has changed the size of value (was {list(given.shape)} got {list(result.shape)})"
        )
    if result.backend is not given.backend:
        raise RuntimeError(
            f"hook '{_named(hook)}' has changed the device of value (was {given.device} got {result.device})"
        )
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
    if type(self.node) is not Leaf and not _retains_grad(self):
        hooks_of(self.node).retain.append(weakref.ref(self))


def _retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` was called on this result of an op."""
    return any(r() is self for r in retainers(self.node))


def node_register_hook(self: Node, fn: Callable[..., Any]) -> RemovableHandle:
    """Call `fn(grad_inputs, grad_outputs)` after this node ran; a tuple it returns replaces the gradients of the
    inputs.
    """
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
