"""The autograd graph: what an op leaves behind. Nodes hold what a derivative rule needs, never closures."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .state import next_seq

if TYPE_CHECKING:
    from backends.dtypes import dtype

    from .tensor import Tensor


class Node:
    """One op on the tape. Every op has a node class of its own, so that `type(y.grad_fn)` says which it is.

    `entry` is the op; `edges` the nodes of its differentiable inputs (None: needs no gradient). Inputs are saved as Tensors with
    their version: array, storage and edge in one. `params` are its other arguments. `shape` and `dtype` are its output's: the
    engine fits every incoming gradient to them. `out` and `out_storage` are the output's array and storage if a rule names it.
    """

    __slots__ = ("__weakref__", "dtype", "edges", "hooks", "out", "out_storage", "params", "saved", "seq", "shape", "versions")
    edges: tuple[Node | None, ...]
    saved: tuple[Any, ...] | None
    versions: tuple[Any, ...]
    params: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: dtype
    seq: int
    out: Any
    out_storage: Any
    hooks: Any  # Hooks, or None; a plain node has no value here
    # Of the node's class:
    entry: Any = None
    plain = False  # whether the engine may run it on raw arrays without a further question: left by a fast path, no hooks
    hooked: Any = None  # the class a plain node changes to when it gets a hook
    # Only SlowNode spends slots on these: the dtype a rule computes in if not the inputs', the level it was recorded on.
    compute: dtype | None = None
    level: Any = None
    outputs = 1
    reverse: Any = None  # of nodes that do not go by an entry's rules: (walk, gradient) -> gradients of the inputs

    def name(self) -> str:
        """The node's name as error messages and `repr` show it, e.g. `MulBackward0`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output that was used."""
        return tuple((e.edges[0], e.index) if isinstance(e, Pick) else (e, 0) for e in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes about this node."""
        return _METADATA.setdefault(self, {})

    def backward_arrays(self, g: Any, backend: Any) -> Any:
        """The reverse on raw arrays, of plain nodes: generated with the op's function."""
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what was saved for the reverse."""
        self.saved = self.out = self.out_storage = None

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


_METADATA: weakref.WeakKeyDictionary[Node, dict[Any, Any]] = weakref.WeakKeyDictionary()


class SlowNode(Node):
    """A node of the slow path: other dtypes, several outputs, wrapped operands, sequences of operands."""

    __slots__ = ("compute", "level", "outputs", "saved_outputs")
    saved_outputs: dict[str, Any]

    def release(self) -> None:
        self.saved = self.out = self.out_storage = None
        self.saved_outputs = {}


class AccumulateGrad(Node):
    """Where a gradient ends: it is added to the tensor's `.grad`. Refers to the tensor weakly, so a leaf is no cycle."""

    __slots__ = ("grad", "level", "post_hooks", "tensor")

    def __init__(self, t: Tensor, level: Any = None) -> None:
        self.edges, self.saved, self.params = (), (), ()
        self.grad: Tensor | None = None
        self.level, self.hooks, self.post_hooks = level, None, None
        self.tensor, self.shape, self.dtype = weakref.ref(t), tuple(t.shape), t.dtype
        self.seq = -next_seq() - 1

    @property
    def variable(self) -> Tensor | None:
        """The tensor whose gradient accumulates here, if it still lives."""
        return self.tensor()


Leaf = AccumulateGrad


class Pick(Node):
    """Output number `index` of a node with several outputs: edges of ordinary nodes need no output number."""

    __slots__ = ("entry", "index", "level")

    def __init__(self, parent: Node, index: int, t: Tensor) -> None:
        self.entry, self.edges, self.saved, self.params, self.hooks = parent.entry, (parent,), (), (), None
        self.index, self.level = index, parent.level
        self.shape, self.dtype, self.seq = tuple(t.shape), t.dtype, next_seq()

    def name(self) -> str:
        parent = self.edges[0]
        assert parent is not None
        return parent.name()


def node_name(op: str) -> str:
    """What PyTorch calls the node of an op: `log_softmax` leaves a LogSoftmaxBackward0."""
    return "".join(part[:1].upper() + part[1:] for part in op.split("_")) + "Backward0"


def plain_class(entry: Any, name: str) -> type[Node]:
    """The class of the nodes that an op's fast path leaves."""
    fields = {"__slots__": (), "__module__": __name__, "entry": entry}
    plain: Any = type(name, (Node,), {**fields, "plain": True})
    plain.hooked = type(name, (plain,), {**fields, "plain": False})
    return plain  # type: ignore[no-any-return]


def slow_class(entry: Any, name: str) -> type[SlowNode]:
    """The class of the nodes that an op's slow path leaves."""
    return type(name, (SlowNode,), {"__slots__": (), "__module__": __name__, "entry": entry})


# ---------------------------------------------------------------- hooks


class Hooks:
    """What is to run around one node: on the gradient of its output (`tensor`), before it (`pre`), after it (`post`); `retain` are
    the tensors, weakly, whose `.grad` keeps that gradient."""

    __slots__ = ("post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Callable[..., Any]] = {}
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}
        self.retain: list[weakref.ref[Tensor]] = []


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node, made on first use. A plain node changes its class, so that others pay nothing."""
    if node.plain:
        unplain(node)
    if node.hooks is None:
        node.hooks = Hooks()
    found: Hooks = node.hooks
    return found


def unplain(node: Node) -> None:
    """Let the engine look closely at a node that an op's fast path left."""
    if node.plain:
        node.__class__ = node.hooked
        node.hooks = None


def retainers(node: Node | None) -> list[weakref.ref[Tensor]]:
    """The tensors whose `.grad` keeps the gradient at a node."""
    if node is None or node.plain or node.hooks is None:
        return []
    found: list[weakref.ref[Tensor]] = node.hooks.retain
    return found


def renode(t: Tensor, node: Node | None) -> None:
    """Give a tensor another node, as an in-place write does. Hooks stay with the value they were registered on; a gradient to be
    retained is from now on that of the new value."""
    for r in retainers(t.node):
        if r() is t and node is not None:
            retainers(t.node).remove(r)
            hooks_of(node).retain.append(r)
            break
    t.node = node
