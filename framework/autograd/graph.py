"""The graph as users see it: nodes and their edges, what nodes save, hooks on saved tensors and on several
gradients.
"""

from __future__ import annotations

import threading
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from framework.core.device import backend_of
from framework.core.graph import Node, Pick, SlowNode, saved_attributes, shown
from framework.core.modes import Mode
from framework.core.state import ACTIVE, STATE
from framework.core.storage import storage_of
from framework.core.tensor import Tensor
from framework.dispatch import saved
from framework.dispatch.record import output_of, saved_outputs
from framework.dispatch.registry import T
from framework.dispatch.saved import Packed

from .handle import RemovableHandle

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


# ---------------------------------------------------------------- edges
class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"], defaults=[None])):
    """A place in the graph to differentiate from, or with respect to: output number `output_nr` of a node. It keeps the
    graph alive.
    """

    __slots__ = ()


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The place in the graph where a tensor's gradient comes by. RuntimeError if it does not require grad."""
    node = tensor.node
    if node is None:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients.")
    if type(node) is Pick:
        return GradientEdge(shown(node.edges[0]), node.index, node)
    return GradientEdge(shown(node), 0)


def node_at(edge: GradientEdge, roots: Sequence[Node] = ()) -> Node:
    """The engine's node for an edge: one output of several has a node of its own, which is looked for in the graph of
    `roots`.
    """
    if isinstance(edge.ownership_token, Node):
        return edge.ownership_token
    node: Node = edge.node
    seen, todo = set(roots), list(roots) if isinstance(node, SlowNode) else []
    while todo:
        n = todo.pop()
        if type(n) is Pick and n.edges[0] is node and n.index == edge.output_nr:
            return n
        for m in n.edges:
            if m is not None and m not in seen:
                seen.add(m)
                todo.append(m)
    if node.outputs == 1:
        return node
    raise RuntimeError(
        f"output {edge.output_nr} of {node.name()} is not part of the graph; take the edge with "
        "get_gradient_edge(tensor)"
    )


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write that the framework did not see (through NumPy, say): a backward pass that needs the old values then
    raises.
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        if t.is_inference():
            raise RuntimeError("Inference tensors do not track version counter.")
        storage_of(t).version += 1


# ---------------------------------------------------------------- what nodes save
class SavedTensor:
    """A tensor that a node saves, behind `node._raw_saved_<name>`."""

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._name = node, name

    @property
    def data(self) -> Any:
        """The tensor, unpacked."""
        return saved.value(self._node, self._name)

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Save what `pack_hook(tensor)` returns instead, now; `unpack_hook` makes the tensor of it when it is
        needed.
        """
        n: Any = self._node
        kind, at = saved.names(n)[self._name]
        if n.saved is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad()."
            )
        held = saved_outputs(n)[at][0] if kind == "output" else n.saved[at]
        if type(held) is Packed:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of "
                "hooks is allowed at a time."
            )
        if held is None or kind != "output" and not isinstance(held, Tensor):
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if kind == "output":
            packed = Packed(output_of(n, at).detach(), pack_hook, unpack_hook)
            if hasattr(n, "saved_outputs"):
                n.saved_outputs[at] = (packed, None, 0)
            else:
                n.out, n.out_storage = packed, None
        else:
            n.saved = (*n.saved[:at], Packed(held, pack_hook, unpack_hook), *n.saved[at + 1 :])


def _attribute(node: Node, name: str) -> Any:
    """`node._saved_<name>` (a value the node saved) and `node._raw_saved_<name>` (its `SavedTensor`)."""
    for prefix in ("_saved_", "_raw_saved_"):
        key = name.removeprefix(prefix)
        if key is not name and key in (known := saved.names(node)):
            if prefix == "_saved_":
                return saved.value(node, key)
            if known[key][0] != "static":
                return SavedTensor(node, key)
    raise AttributeError(f"{node.name()!r} object has no attribute {name!r}")


def _listed(node: Node) -> list[str]:
    known = saved.names(node)
    return [f"_saved_{p}" for p in known] + [f"_raw_saved_{p}" for p, (kind, _) in known.items() if kind != "static"]


saved_attributes[:] = [_attribute, _listed]


# ---------------------------------------------------------------- hooks on all that is saved
class saved_tensors_hooks:
    """A context in which what ops save for their gradients goes through `pack_hook`, and comes back through
    `unpack_hook`.

    pack_hook(tensor) returns anything, and must not write to the tensor; unpack_hook(that) returns the tensor, whenever
    it is needed. The innermost pair counts.
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if STATE.saved_hooks_refused is not None:
            raise RuntimeError(STATE.saved_hooks_refused)
        STATE.saved_hooks.append((self.pack_hook, self.unpack_hook))
        ACTIVE.append(self)  # ops take the slow path, which packs

    def __exit__(self, *exc: object) -> None:
        STATE.saved_hooks.pop()
        ACTIVE.pop()


class save_on_cpu(saved_tensors_hooks):
    """A context in which what ops save for their gradients waits in the memory of the host, and goes back when it is
    needed.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(t: Tensor) -> Any:
            return t.device, T.to_device(t, backend_of("cpu"), t.backend) if str(t.device) != "cpu" else t

        def unpack(kept: Any) -> Tensor:
            device, t = kept
            backend = backend_of(device)
            return t if t.backend is backend else T.to_device(t, backend, t.backend)  # type: ignore[no-any-return]

        super().__init__(pack, unpack)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A context in which entering `saved_tensors_hooks` raises RuntimeError with this message."""
    if STATE.saved_hooks:
        raise RuntimeError(error_message)
    before, STATE.saved_hooks_refused = STATE.saved_hooks_refused, error_message
    try:
        yield
    finally:
        STATE.saved_hooks_refused = before


# ---------------------------------------------------------------- writes to what is saved
class allow_mutation_on_saved_tensors:
    """A context in which tensors that were saved for a gradient may be written in place: the old values are copied
    first.

    Gives a context object; `clear()` forgets the copies. Forward and backward both belong inside.
    """

    def __enter__(self) -> _Copies:
        self.copies = _Copies()
        self.hooks = saved_tensors_hooks(self.copies.pack, self.copies.unpack)
        self.hooks.__enter__()
        self.copies.__enter__()
        return self.copies

    def __exit__(self, *exc: object) -> None:
        self.copies.__exit__(*exc)
        self.hooks.__exit__(*exc)
        self.copies.clear()


class _Saved:
    """A saved tensor until it is written, its copy from then on."""

    __slots__ = ("__weakref__", "copy", "tensor")

    def __init__(self, t: Tensor) -> None:
        self.tensor: Tensor | None = t
        self.copy: Tensor | None = None


class _Copies(Mode):
    def __init__(self) -> None:
        self.watched: weakref.WeakKeyDictionary[Any, list[weakref.ref[_Saved]]] = weakref.WeakKeyDictionary()

    def pack(self, t: Tensor) -> _Saved:
        kept = _Saved(t)
        self.watched.setdefault(_memory(t), []).append(weakref.ref(kept))
        return kept

    def unpack(self, kept: _Saved) -> Tensor:
        if kept.tensor is None and kept.copy is None:
            raise RuntimeError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return kept.tensor if kept.copy is None else kept.copy  # type: ignore[return-value]

    def wrote(self, x: Tensor, value: Tensor) -> None:
        if x.level is None:
            for r in self.watched.pop(_memory(x), ()):
                kept = r()
                if kept is not None and kept.tensor is not None:
                    kept.copy, kept.tensor = kept.tensor.detach().clone(), None

    def clear(self) -> None:
        """Forget all copies."""
        for references in self.watched.values():
            for r in references:
                if (kept := r()) is not None:
                    kept.tensor = None
        self.watched.clear()


def _memory(t: Tensor) -> Any:
    storage = storage_of(t)
    return storage.root or storage


# ---------------------------------------------------------------- hooks on several gradients
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` with the gradients of several tensors, as far as one backward pass computes them.

    mode: "all": fn(list of gradients, None where there is none), once all that this pass computes are there; "any":
    fn(gradient), at the first of them.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    watcher = _Watcher(tensors, fn, mode)
    handles = [t.register_hook(watcher.hook(i)) for i, t in enumerate(tensors)]
    return _Handles(handles)


class _Watcher:
    """The gradients that the running backward pass has brought; passes of several threads are told apart."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[..., None], mode: str) -> None:
        self.nodes = [t.node for t in tensors]
        self.fn, self.mode = fn, mode
        self.lock = threading.Lock()
        self.seen: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()

    def hook(self, i: int) -> Callable[[Tensor], None]:
        def see(g: Tensor) -> None:
            walk = STATE.__dict__["walk"]
            with self.lock:
                first = walk not in self.seen
                grads = self.seen.setdefault(walk, [None] * len(self.nodes))
                grads[i] = g
            if self.mode == "any":
                if first:
                    self.fn(g)
            elif all(h is not None or not walk.reaches(n) for h, n in zip(grads, self.nodes, strict=True)):
                self.fn(grads)

        return see


class _Handles(RemovableHandle):
    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __getstate__(self) -> Any:
        return self.handles

    def __setstate__(self, state: Any) -> None:
        self.handles = state
