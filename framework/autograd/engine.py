"""Reverse mode: walk the graph from its roots, newest node first, and hand each node's gradient to its inputs.

A plain backward pass runs on raw arrays, with no Tensor and no tape. It runs on Tensors if somebody wants to differentiate or
transform the gradient itself: `create_graph`, operands wrapped by a function transform, a graph across devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from backends.numpy.quiet import quiet
from framework.core.graph import HookedNode, Leaf, Node, Pick
from framework.core.state import STATE, grad_enabled
from framework.core.storage import write
from framework.core.tensor import Tensor, arr, make
from framework.dispatch.errors import freed
from framework.dispatch.record import backward_generic
from framework.dispatch.registry import T

from .hooks import run_post_hooks, run_pre_hooks

by_sequence = attrgetter("seq")


def run(roots: Sequence[Node], gradients: Sequence[Tensor], *, retain_graph: bool, create_graph: bool,
        inputs: Sequence[Node] | None = None, accumulate: bool = True) -> dict[Node, Any]:  # fmt: skip
    """Propagate gradients from `roots`. Leaves accumulate into `.grad` (of `inputs` alone if given and `accumulate`).

    Returns the gradient of each node in `inputs` that was reached, as a Tensor.
    """
    order, useful, wanted = plan(roots, inputs)
    levels = any([n.level is not None for n in order if type(n) is not Node]) or any(g.level is not None for g in gradients)
    backend = gradients[0].backend
    tensors = create_graph or levels or crosses(order) or any(g.backend is not backend for g in gradients)
    with quiet(), grad_enabled(tensors and (create_graph or levels and STATE.grad)):
        walk = _Walk(backend, tensors, retain_graph or create_graph, create_graph, accumulate)
        for root, g in zip(roots, gradients, strict=True):
            walk.give(root, g if tensors else arr(g), owned=False)
        return walk.run(order, useful, wanted)


def plan(roots: Sequence[Node], inputs: Sequence[Node] | None) -> tuple[list[Node], set[Node], frozenset[Node] | None]:
    """Nodes in the order they run; those worth running (on a path to an input, if inputs are named); the inputs."""
    seen, todo = set(roots), list(roots)
    while todo:
        for m in todo.pop().edges:
            if m is not None and m not in seen:
                seen.add(m)
                todo.append(m)
    order = sorted(seen, key=by_sequence, reverse=True)
    if inputs is None:
        return order, seen, None
    useful = set(inputs)
    for n in reversed(order):
        if any([m in useful for m in n.edges]):
            useful.add(n)
    return order, useful, frozenset(inputs)


def crosses(order: list[Node]) -> bool:
    """Whether the graph moves values from one device to another."""
    return any([n.entry is not None and n.entry.name == "to_device" for n in order if type(n) is not Node])


class _Walk:
    """One backward pass: the gradients under way, and which of their buffers are the engine's own to add into."""

    def __init__(self, backend: Any, tensors: bool, keep: bool, create: bool, accumulate: bool) -> None:
        self.backend, self.tensors, self.keep, self.create, self.accumulate = backend, tensors, keep, create, accumulate
        self.xp = T if tensors else backend
        self.grads: dict[Node, Any] = {}
        self.owned: set[Node] = set()
        self.add = backend.add if backend.writes_out and not tensors else None

    def run(self, order: list[Node], useful: set[Node], wanted: frozenset[Node] | None) -> dict[Node, Any]:
        found: dict[Node, Any] = {}
        grads, owned, backend, tensors, keep, xp = self.grads, self.owned, self.backend, self.tensors, self.keep, self.xp
        pop, add, array, every = grads.pop, self.add, backend.array, wanted is None
        for n in order:
            g = pop(n, None)
            if g is None:
                continue
            kind = type(n)
            if kind is Node and not tensors:  # a plain node: its generated reverse, raw arrays
                if wanted is not None and n in wanted:
                    found[n] = g
                    if n not in useful or not self._feeds(n, useful):
                        continue
                if n.saved is None and n.entry.saves:
                    freed(n)
                out = n.entry.backward(n, g, backend)
            elif kind is Leaf:
                g = run_pre_hooks(self, n, g)
                if wanted is not None and n in wanted:
                    found[n] = g
                if self.accumulate and (wanted is None or n in wanted):
                    self.accumulate_into(n, g)  # type: ignore[arg-type]
                continue
            elif kind is Pick:  # one output of several: collect for the parent
                g = run_pre_hooks(self, n, g)
                if wanted is not None and n in wanted:
                    found[n] = g
                parent = n.edges[0]
                slots = grads.setdefault(parent, [None] * parent.outputs)  # type: ignore[arg-type, union-attr]
                have = slots[n.index]  # type: ignore[attr-defined]
                slots[n.index] = g if have is None else have + g  # type: ignore[attr-defined]  # rules rebuild saved outputs as Picks
                continue
            else:
                hooked = kind is not Node and n.hooks is not None
                if hooked:
                    g = run_pre_hooks(self, n, g)
                if wanted is not None and n in wanted:
                    found[n] = g
                if not self._feeds(n, useful):
                    continue
                if n.saved is None and n.entry.saves:
                    freed(n)
                out = n.reverse(self, g) if hasattr(n, "reverse") else fitted(n, xp, backward_generic(n, g, xp, self.create))
                if hooked:
                    out = run_post_hooks(self, n, out, g)
            for m, x in zip(n.edges, out):
                if x is None or m is None or not every and m not in useful:
                    continue
                if x.shape != m.shape:
                    x = fit(xp, x, m.shape)  # undo broadcasting: here, never in a rule
                have = grads.get(m)
                if have is None:
                    grads[m] = x
                    if add is not None and x is not g and type(x) is array and x.base is None:
                        owned.add(m)  # fresh from the rule, so ours to add into
                elif m in owned:
                    add(have, x, have)  # type: ignore[misc]
                else:
                    grads[m] = have + x
                    if add is not None and type(grads[m]) is array:
                        owned.add(m)
            if not keep:
                n.saved = n.out = n.out_storage = None
                if kind is not Node and kind is not HookedNode:
                    n.saved_outputs = {}  # type: ignore[attr-defined]
        return {n: g if tensors else make(backend, g if n in owned or not backend.aliasing else backend.clone(backend.asarray(g)))
                for n, g in found.items()}  # fmt: skip

    @staticmethod
    def _feeds(n: Node, useful: set[Node]) -> bool:
        return any([m in useful for m in n.edges])

    def give(self, node: Node, g: Any, owned: bool) -> None:
        """Start or add to the gradient of a node."""
        have = self.grads.get(node)
        self.grads[node] = g if have is None else have + g

    def tensor(self, g: Any, like: Node) -> Tensor:
        """A gradient as a Tensor, for hooks."""
        return g if isinstance(g, Tensor) else make(self.backend, g, like.dtype)

    def accumulate_into(self, leaf: Leaf, g: Any) -> None:
        """Add a gradient to a leaf's `.grad`. Two leaves must never share memory: what is not ours is copied."""
        have = leaf.grad
        if have is None:
            if self.tensors:
                leaf.grad = g if self.create or g.level is not None else T.clone(g).detach()
            else:
                ours = leaf in self.owned or not self.backend.aliasing
                leaf.grad = make(self.backend, g if ours and type(g) is self.backend.array else self.backend.clone(self.backend.asarray(g)))
        elif self.create or have.node is not None or have.level is not None or self.tensors and g.level is not None:
            leaf.grad = have + self.tensor(g, leaf)
        elif self.tensors:
            write(have, arr(have + g))
        else:
            write(have, self.backend.asarray(arr(have) + g))
        if leaf.post_hooks:
            t = leaf.tensor()
            for hook in list(leaf.post_hooks.values()) if t is not None else ():
                hook(t)


def fitted(n: Any, xp: Any, out: Sequence[Any]) -> Sequence[Any]:
    """Undo promotion: hand each gradient back in the dtype of its input (real inputs of a complex op get the real part)."""
    if xp is T:
        return [x if m is None or x is None or x.dtype is m.dtype else _back(xp, x, m, x.dtype) for m, x in zip(n.edges, out)]
    return [x if m is None or x is None or (d := xp.dtype_of(x)) is m.dtype else _back(xp, x, m, d) for m, x in zip(n.edges, out)]


def _back(xp: Any, x: Any, m: Node, have: Any) -> Any:
    """One gradient in its input's shape and dtype. Half types are rounded before they are summed, as PyTorch does: sums of the two
    then agree where terms cancel."""
    if m.dtype.compute is not m.dtype:
        return fit(xp, _cast(xp, x, m.dtype, have), m.shape)
    return _cast(xp, fit(xp, x, m.shape), m.dtype, have)


def _cast(xp: Any, x: Any, d: Any, have: Any) -> Any:
    if have.is_complex and not d.is_complex:
        x = xp.real(x)
        if d is have.to_real():
            return x
    return xp.astype(x, d)


def fit(xp: Any, g: Any, shape: tuple[int, ...]) -> Any:
    """Sum a gradient down to the shape that was broadcast."""
    have = tuple(g.shape)
    if have == tuple(shape):
        return g
    lead = len(have) - len(shape)
    if lead < 0:
        return xp.expand(g, tuple(shape))
    dims = tuple(range(lead)) + tuple([i + lead for i, n in enumerate(shape) if n == 1 and have[i + lead] != 1])
    if dims:
        g = xp.sum(g, dims, True)
    g = xp.reshape(g, tuple(shape)) if lead else g
    return g if tuple(g.shape) == tuple(shape) else xp.expand(g, tuple(shape))
