"""The node that a custom `Function` leaves on the tape, and how outputs get it.

The node owns the context and the saved tensors. Outputs are saved without their node, which would be a reference cycle.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from framework.core.graph import Leaf, Node, Pick, SlowNode
from framework.core.state import ANOMALY, STATE, next_seq
from framework.core.storage import View, share, storage_of
from framework.core.tensor import Tensor, arr, make, version_of
from framework.dispatch import errors
from framework.dispatch.inplace import CUSTOM, assign
from framework.dispatch.record import edge_of, strip
from framework.dispatch.registry import T
from framework.dispatch.saved import Packed, packed

from .engine import fitted

if TYPE_CHECKING:
    from .function import Function, FunctionCtx

new = object.__new__


class FunctionNode(SlowNode):
    """The node that a Function leaves. Attributes that a node does not have are those of `ctx`."""

    function: type[Function]
    ctx: FunctionCtx
    is_tensor: tuple[bool, ...]  # of the arguments; there is an edge for each tensor
    results: tuple[
        tuple[tuple[int, ...], Any, Any] | None, ...
    ]  # shape, dtype and backend of each output that is a tensor

    def name(self) -> str:
        """The Function's name and `Backward`."""
        return self.function.__name__ + "Backward"

    def __getattr__(self, name: str) -> Any:
        if name == "ctx":
            raise AttributeError(name)
        return getattr(self.ctx, name)

    def unpack(self) -> tuple[Tensor | None, ...]:
        """The saved tensors with the history they had."""
        assert self.saved is not None
        return tuple([None if s is None else self._restored(i, *s) for i, s in enumerate(self.saved)])

    def _restored(self, i: int, t: Tensor, version: int, edge: Node | None, output: int | None) -> Tensor:
        if type(t) is Packed:
            t = t.unpack()
        elif t.level is None and version_of(t) != version:
            errors.stale(self, f"saved tensor {i}", t, version)
        if output is not None:
            t = strip(t)
            t.node = self.edge_from(output, t)
        elif t.node is not edge:
            t = strip(t)
            t.node = edge
        return t

    def edge_from(self, output: int, t: Tensor) -> Node:
        """What an output of this node has as its own node."""
        return self if len(self.results) == 1 else Pick(self, output, t)

    def reverse(self, walk: Any, g: Any) -> Sequence[Any]:
        """Run the user's backward: gradients of the outputs in, one for each edge out."""
        given = g if type(g) is list else [g]
        grads: list[Any] = []
        for x, result in zip(given, self.results, strict=True):
            if x is None and result is not None and self.ctx.materialize_grads:
                shape, d, backend = result
                x = make(backend, backend.full(shape, 0, d), d)
            elif x is not None and result is not None and not walk.tensors:
                x = make(walk.backend, x, result[1])
            grads.append(x)
        found = self.checked(self.function.run_backward(self.ctx, grads))
        if walk.tensors:
            return fitted(self, T, found)
        # A view of the array tells the engine that the buffer is not its own: it may be that of a saved tensor.
        raw = [None if t is None else arr(t) for t in found]
        if walk.backend.writes_out:
            raw = [None if a is None else a[...] for a in raw]
        return fitted(self, walk.backend, raw)

    def checked(self, found: Any) -> list[Any]:
        """The gradients that backward returned, one for each tensor argument, or an error that says what is wrong."""
        grads = found if type(found) is tuple else (found,)
        count = len(self.is_tensor)
        if len(grads) > count and all([g is None for g in grads[count:]]):
            grads = grads[:count]
        if len(grads) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(grads)})"
            )
        for i, (g, tensor) in enumerate(zip(grads, self.is_tensor, strict=True)):
            if g is not None and not tensor:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"{self.name()}: expected Variable or None (got {type(g).__name__})")
        kept = [g for g, tensor in zip(grads, self.is_tensor, strict=True) if tensor]
        for i, (g, edge) in enumerate(zip(kept, self.edges, strict=True)):
            if g is None or edge is None:
                continue
            if g.shape != edge.shape and not _reduces_to(tuple(g.shape), tuple(edge.shape)):
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got {list(g.shape)} but "
                    f"expected shape compatible with {list(edge.shape)}"
                )
            if g.dtype.is_complex and not edge.dtype.is_complex:
                raise RuntimeError(
                    f"Function {self.name()} returned an invalid gradient at index {i} - got {g.dtype} for a real input"
                )
        return kept


def _reduces_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a gradient of this shape may be summed to `target`."""
    tail = shape[len(shape) - len(target) :]
    return len(shape) >= len(target) and all(t in (1, n) for n, t in zip(tail, target, strict=True))


class _Entry:
    """What the engine asks of a node's entry, for a Function."""

    saves = False  # whether the engine checks for freed values: here `saved_tensors` does
    outs: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()

    def __init__(self, name: str) -> None:
        self.name = name


def _node_class(cls: type[Function]) -> Any:
    """The class of a Function's nodes, named after it as in `repr(y.grad_fn)`."""
    found = cls.__dict__.get("_node_class")
    if found is None:
        found = type(cls.__name__ + "Backward", (FunctionNode,), {"function": cls, "entry": _Entry(cls.__name__)})
        cls._node_class = found  # type: ignore[attr-defined]
    return found


def recorded(cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], output: Any, level: Any) -> Any:
    """Leave a node on the outputs if an argument has history on this level's tape; return them as users get them."""
    outs = list(output) if type(output) is tuple else [output]
    tensors = [a for a in args if isinstance(a, Tensor)]
    for t in ctx.dirty_tensors:
        if not _among(t, outs):
            raise RuntimeError(
                "Some elements marked as dirty during the forward method were not returned as output. The inputs that "
                "are modified inplace must all be outputs of the Function."
            )
    edges = tuple([edge_of(a, level) for a in tensors])
    n: FunctionNode | None = None
    if STATE.grad and any([m is not None for m in edges]):
        n = _new_node(cls, ctx, args, outs, edges, level)
    final = [_finished(n, ctx, o, i, tensors) if isinstance(o, Tensor) else o for i, o in enumerate(outs)]
    if n is not None:
        n.saved = tuple([None if t is None else _packed(t, outs, final) for t in ctx.to_save])
        if ANOMALY.enabled:
            errors.remember_line(n)
        ctx.to_save_count, ctx._node = len(ctx.to_save), weakref.ref(n)
        ctx.to_save = ()
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return tuple(final) if type(output) is tuple else final[0]


def _new_node(cls: Any, ctx: Any, args: tuple[Any, ...], outs: list[Any], edges: Any, level: Any) -> FunctionNode:
    n: FunctionNode = new(_node_class(cls))
    n.ctx, n.edges, n.level, n.hooks, n.seq = ctx, edges, level, None, next_seq()
    n.is_tensor = tuple([isinstance(a, Tensor) for a in args])
    n.results = tuple([(tuple(o.shape), o.dtype, o.backend) if isinstance(o, Tensor) else None for o in outs])
    first = next((r for r in n.results if r is not None), ((), None, None))
    n.shape, n.dtype = first[0], first[1]
    n.outputs, n.compute, n.params, n.versions = len(outs), None, (), ()
    n.saved, n.out, n.out_storage, n.saved_outputs = (), None, None, {}
    return n


def _among(t: Any, items: Sequence[Any]) -> bool:
    return any([t is x for x in items])


def _finished(n: FunctionNode | None, ctx: FunctionCtx, o: Tensor, i: int, inputs: list[Tensor]) -> Tensor:
    """An output as users get it: with its node, and as another tensor if it is an input that was not written."""
    given = _among(o, inputs)
    dirty = given and _among(o, ctx.dirty_tensors)
    if n is None or o.dtype.category < 2 or _among(o, ctx.non_differentiable):
        return strip(o) if (given and not dirty) or (o.node is not None and not dirty) else o
    if dirty:
        return _rewired(n, o, i)
    if o.level is not None:
        o = strip(o) if given else o
    elif given:
        o = share(o, arr(o), _whole_view(o, n.function.__name__))
    elif o._view is not None and o._view.base is not None:
        o._view.origin = CUSTOM + n.function.__name__
    o.node = n.edge_from(i, o)
    return o


def _whole_view(o: Tensor, name: str) -> View:
    """The view record of an input that a Function returned as it is."""
    storage_of(o)
    v = o._view
    if v is None or v.base is None:
        return View(o, None, None if v is None else v.shadow, CUSTOM + name)
    return View(v.base, v.chain, v.shadow, CUSTOM + name)


def _rewired(n: FunctionNode, o: Tensor, i: int) -> Tensor:
    """An input that forward wrote in place: from now on its history is this node; that of its base follows."""
    is_view = o._view is not None and o._view.base is not None
    if type(o.node) is Leaf and not is_view:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if is_view and len(n.results) > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
            "more than one Tensor. Clone the input, or split the Function into several."
        )
    node = n.edge_from(i, o)
    if o.level is not None:
        return assign(o, o.like(node), n.function.__name__, overwrite=False)  # type: ignore[attr-defined]
    return assign(o, make(o.backend, o.backend.clone(arr(o)), o.dtype, node), n.function.__name__, overwrite=False)


def _packed(t: Tensor, outs: list[Any], final: list[Any]) -> tuple[Tensor, int, Node | None, int | None]:
    """(tensor, version, its node, number of the output it is): outputs without their node, which would be a cycle."""
    if t.is_inference():
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal "
            "tensor and use it in autograd."
        )
    edge, number = t.node, None
    for i, o in enumerate(final):
        if o is t and isinstance(o.node, (FunctionNode, Pick)) and _among(t, outs):
            t, edge, number = strip(t), None, i
            break
    version = version_of(t)
    return packed(t) if STATE.saved_hooks else t, version, edge, number
