"""Reverse mode: walk the graph from its roots, newest node first, and hand each node's gradient to its inputs.

A plain backward pass runs on raw arrays, with no Tensor and no tape. It runs on Tensors if somebody wants to
differentiate or transform the gradient itself: `create_graph`, operands wrapped by a function transform, a graph across
devices.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from backends.numpy.quiet import QUIET, quiet, state
from framework.core.graph import Leaf, Node, Pick
from framework.core.state import ANOMALY, STATE
from framework.core.storage import write
from framework.core.tensor import Tensor, arr, make
from framework.dispatch.errors import freed
from framework.dispatch.generate import on_tensors
from framework.dispatch.record import backward_generic
from framework.dispatch.registry import T

from . import anomaly
from .hooks import run_after_accumulation, run_post_hooks, run_pre_hooks, run_tensor_hooks

by_sequence = attrgetter("seq")
ACCUMULATING = threading.RLock()  # two threads may add to one `.grad`


def run(
    roots: Sequence[Node],
    gradients: Sequence[Tensor],
    *,
    retain_graph: bool,
    create_graph: bool,
    inputs: Sequence[Node] | None = None,
    accumulate: bool = True,
) -> dict[Node, Any]:
    """Propagate gradients from `roots`. Leaves accumulate into `.grad` (of `inputs` alone if given and `accumulate`).

    Returns the gradient of each node in `inputs` that was reached, as a Tensor.
    """
    order, useful = plan(roots, inputs)
    levels = any([n.level is not None for n in order if type(n) is not Node]) or any(
        g.level is not None for g in gradients
    )
    backend = gradients[0].backend
    tensors = create_graph or levels or crosses(order) or any(g.backend is not backend for g in gradients)
    walk = _Walk(backend, tensors, retain_graph, create_graph, accumulate, inputs, useful)
    local = STATE.__dict__
    before = local["grad"], local.get("walk")
    local["grad"] = tensors and (create_graph or levels and STATE.grad)
    local["walk"] = walk  # hooks may ask which pass calls them
    try:
        for root, g in zip(roots, gradients, strict=True):
            walk.give(root, g if tensors else arr(g))
        if state() is QUIET:
            return walk.run(order)
        with quiet():
            return walk.run(order)
    finally:
        local["grad"], local["walk"] = before


def plan(roots: Sequence[Node], inputs: Sequence[Node] | None) -> tuple[list[Node], set[Node]]:
    """Nodes in the order they run; those worth running (on a path to an input, if inputs are named)."""
    seen, todo = set(roots), list(roots)
    while todo:
        for m in todo.pop().edges:
            if m is not None and m not in seen:
                seen.add(m)
                todo.append(m)
    order = sorted(seen, key=by_sequence, reverse=True)
    if inputs is None:
        return order, seen
    useful = set(inputs)
    for n in reversed(order):
        if any([m in useful for m in n.edges]):
            useful.add(n)
    return order, useful


def crosses(order: list[Node]) -> bool:
    """Whether the graph moves values from one device to another."""
    return any([n.entry is not None and n.entry.name == "to_device" for n in order if type(n) is not Node])


class _Walk:
    """One backward pass: the gradients under way, and which of their buffers are the engine's own to add into."""

    def __init__(
        self,
        backend: Any,
        tensors: bool,
        keep: bool,
        create: bool,
        accumulate: bool,
        inputs: Sequence[Node] | None,
        useful: set[Node],
    ) -> None:
        self.backend, self.tensors, self.keep, self.create, self.accumulate = backend, tensors, keep, create, accumulate
        self.xp = T if tensors else backend
        self.wanted = None if inputs is None else frozenset(inputs)
        self.useful = useful
        self.grads: dict[Node, Any] = {}
        self.found: dict[Node, Any] = {}
        self.owned: set[Node] = set()
        self.add = backend.add if backend.writes_out and not tensors else None

    def run(self, order: list[Node]) -> dict[Node, Any]:
        grads, owned, backend, keep, xp = self.grads, self.owned, self.backend, self.keep, self.xp
        wanted, useful, add, array, pop = self.wanted, self.useful, self.add, backend.array, grads.pop
        every, arrays = wanted is None, not self.tensors
        generated = (arrays or self.create) and not ANOMALY.enabled
        for n in order:
            g = pop(n, None)
            if g is None:
                continue
            if type(n) is Node and generated:  # a plain node: its generated reverse
                if wanted is not None and n in wanted:
                    self.found[n] = g
                    if not self.feeds(n):
                        continue
                if n.saved is None and n.entry.saves:
                    freed(n)
                out = n.entry.backward(n, g, backend) if arrays else on_tensors(n.entry)(n, g, T)
                if not keep:
                    n.saved = n.out = n.out_storage = None
            else:
                out = self.visit(n, g)
                if out is None:
                    continue
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
            out = x = have = None  # the next node runs without the memory of these
        return {n: self.kept(g, n in owned) for n, g in self.found.items()}

    def visit(self, n: Node, g: Any) -> Sequence[Any] | None:
        """Run a node that is a leaf, one output of several, hooked, or not plain; the gradients for its edges, if it
        has any.

        The hooks on the gradient itself come first; what they leave is the gradient that is retained, and that the
        caller asked for. Then come the hooks before the node, the node, the hooks after it: these only if the node runs
        at all.
        """
        hooks = None if type(n) is Node else n.hooks
        if hooks is not None:
            g = run_tensor_hooks(self, n, g)
        if self.wanted is not None and n in self.wanted:
            self.found[n] = g
        if type(n) is Leaf:
            if self.accumulate and (self.wanted is None or n in self.wanted):
                self.reach(n, g)
            return None
        if self.wanted is not None and not self.feeds(n):
            return None
        if type(n) is Pick:  # collect for the node
            parent: Any = n.edges[0]
            slots = self.grads.setdefault(parent, [None] * parent.outputs)
            have = slots[n.index]
            slots[n.index] = g if have is None else have + g  # rules rebuild saved outputs as Picks
            return None
        if hooks is not None and hooks.pre:
            g = run_pre_hooks(self, n, g)
            if g is None:  # there is no gradient any more
                return None
        if n.saved is None and n.entry.saves:
            freed(n)
        if ANOMALY.enabled:
            out = anomaly.guarded(self, n, g)
        else:
            out = self.reverse(n, g)
        if not self.keep:
            n.release()
        if hooks is not None and hooks.post:
            out = [None if x is None or m is None else fit(self.xp, x, m.shape) for x, m in zip(out, n.edges)]
            out = run_post_hooks(self, n, out, g)
        return out

    def reverse(self, n: Node, g: Any) -> Sequence[Any]:
        """A node's rules, or its own way to go backwards."""
        if n.reverse is not None:
            return n.reverse(self, g)  # type: ignore[no-any-return]
        return fitted(n, self.xp, backward_generic(n, g, self.xp, self.create))

    def feeds(self, n: Node) -> bool:
        """Whether an input that is asked for lies beyond a node."""
        useful = self.useful
        return any([m in useful for m in n.edges])

    def reaches(self, n: Node | None) -> bool:
        """Whether this pass is to bring a gradient to a node."""
        return n in self.useful

    def give(self, node: Node, g: Any) -> None:
        """Start or add to the gradient of a root."""
        have = self.grads.get(node)
        self.grads[node] = g if have is None else have + g

    def tensor(self, g: Any, like: Node) -> Tensor:
        """A gradient as a Tensor, for hooks."""
        return g if isinstance(g, Tensor) else make(self.backend, g, like.dtype)

    def kept(self, g: Any, owned: bool) -> Tensor:
        """A gradient as a Tensor that shares memory with no other."""
        if self.tensors:
            return g  # type: ignore[no-any-return]
        return make(
            self.backend, g if owned or not self.backend.aliasing else self.backend.clone(self.backend.asarray(g))
        )

    def reach(self, leaf: Leaf, g: Any) -> None:
        """A gradient has come to a leaf: add it to `.grad`, with the hooks around that."""
        hooks = leaf.hooks
        if hooks is not None and hooks.pre:
            g = run_pre_hooks(self, leaf, g)
            if g is None:
                return
        with ACCUMULATING:
            self.accumulate_into(leaf, g)
        if leaf.post_hooks:
            run_after_accumulation(leaf)
        if hooks is not None and hooks.post:
            run_post_hooks(self, leaf, (), g)

    def accumulate_into(self, leaf: Leaf, g: Any) -> None:
        """Add a gradient to a leaf's `.grad`. Two leaves must never share memory: what is not ours is copied."""
        have = leaf.grad
        if have is None:
            if self.tensors:
                leaf.grad = g if self.create or g.level is not None else T.clone(g).detach()
            else:
                leaf.grad = self.kept(g, leaf in self.owned and type(g) is self.backend.array)
        elif self.create or have.level is not None or self.tensors and g.level is not None:
            leaf.grad = have + self.tensor(g, leaf)
        else:
            write(have, arr(have + g) if self.tensors else self.backend.asarray(arr(have) + g))


def fitted(n: Any, xp: Any, out: Sequence[Any]) -> Sequence[Any]:
    """Undo promotion: hand each gradient back in the dtype of its input (real inputs of a complex op get the real
    part).
    """
    if xp is T:
        return [
            x if m is None or x is None or x.dtype is m.dtype else _back(xp, x, m, x.dtype)
            for m, x in zip(n.edges, out)
        ]
    return [
        x if m is None or x is None or (d := xp.dtype_of(x)) is m.dtype else _back(xp, x, m, d)
        for m, x in zip(n.edges, out)
    ]


def _back(xp: Any, x: Any, m: Node, have: Any) -> Any:
    """One gradient in its input's shape and dtype. Half types are rounded before they are summed, as PyTorch does: sums
    of the two then agree where terms cancel."""
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
