"""The autograd graph: what an op leaves behind. Nodes hold what a derivative rule needs, never closures."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .state import next_seq

if TYPE_CHECKING:
    from .tensor import Tensor


class Node:
    """One op on the tape.

    The fast path of every op leaves plain nodes, of this very class, which the engine runs on raw arrays without a
    further question. A node that a user gets hold of is shown as one of a class named after the op, which may have
    hooks; see `shown`.

    `entry` is the op; `edges` the nodes of its differentiable inputs (None: needs no gradient). Inputs are saved as
    Tensors with their version: array, storage and edge in one. `params` are its other arguments. `shape` and `dtype`
    are its output's: the engine fits every incoming gradient to them. `out` and `out_storage` are the output's array
    and storage if a rule names it.
    """

    __slots__ = (
        "__weakref__",
        "dtype",
        "edges",
        "entry",
        "hooks",
        "out",
        "out_storage",
        "params",
        "saved",
        "seq",
        "shape",
        "versions",
    )
    entry: Any
    edges: tuple[Node | None, ...]
    saved: tuple[Any, ...] | None
    versions: tuple[Any, ...]
    params: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: Any  # a backends.dtypes.dtype
    seq: int
    out: Any
    out_storage: Any
    hooks: Any  # Hooks, or None; a plain node has no value here
    # Only SlowNode spends slots on these: the dtype a rule computes in if not the inputs', the level it was recorded
    # on.
    compute: Any = None
    level: Any = None
    outputs = 1
    reverse: Any = None  # of nodes that do not go by an entry's rules: (walk, gradient) -> gradients of the inputs

    def name(self) -> str:
        """The node's name as error messages and `repr` show it, e.g. `MulBackward0`."""
        return self.entry.node  # type: ignore[no-any-return]

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output that was used."""
        return tuple([(shown(e.edges[0]), e.index) if isinstance(e, Pick) else (shown(e), 0) for e in self.edges])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes about this node."""
        return _METADATA.setdefault(self, {})

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
    """Where a gradient ends: it is added to the tensor's `.grad`. Refers to the tensor weakly, so a leaf is no
    cycle.
    """

    __slots__ = ("grad", "level", "post_hooks", "tensor")

    def __init__(self, t: Tensor, level: Any = None) -> None:
        self.entry, self.edges, self.saved, self.params = None, (), (), ()
        self.grad: Tensor | None = None
        self.level, self.hooks, self.post_hooks = level, None, None
        self.tensor, self.shape, self.dtype = weakref.ref(t), tuple(t.shape), t.dtype
        self.seq = -next_seq() - 1

    @property
    def variable(self) -> Tensor | None:
        """The tensor whose gradient accumulates here, if it still lives."""
        return self.tensor()

    def name(self) -> str:
        return "AccumulateGrad"


Leaf = AccumulateGrad


class Pick(Node):
    """Output number `index` of a node with several outputs: edges of ordinary nodes need no output number."""

    __slots__ = ("index", "level")

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
    op = KNOWN_AS.get(op, op.removesuffix("_kernel"))
    return "".join(part[:1].upper() + part[1:] for part in op.split("_")) + "Backward0"


# Primitives whose nodes users know by another name.
KNOWN_AS = {
    "add_matmul": "addmm",
    "add_scaled": "add",
    "affine_map": "addmm",
    "as_pairs": "view_as_real",
    "clamp_between": "clamp",
    "clip": "clamp",
    "conv": "convolution",
    "exponential_linear": "elu",
    "from_pairs": "view_as_complex",
    "imag_part": "imag",
    "join": "cat",
    "leaky": "leaky_relu",
    "linear_map": "addmm",
    "mT": "transpose",
    "matrix_product": "mm",
    "nan_replaced": "nan_to_num",
    "rdiv": "div",
    "strided": "as_strided",
    "to_device": "to_copy",
    "to_dtype": "to_copy",
    "vector_product": "dot",
    "windows": "unfold",
}


class Shown:
    """What nodes have that a user got hold of: the values they saved, as attributes. (A class with a `__getattr__`
    reads slots at half the speed, so plain nodes have none.)"""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return saved_attributes[0](self, name)

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *saved_attributes[1](self)]


saved_attributes: list[
    Callable[..., Any]
] = []  # (node, name) -> value; node -> names: provided by `framework.autograd.graph`


def shown(node: Any) -> Any:
    """A node as users get it: of a class named after the op. The engine takes a closer look at it than at a plain
    one.
    """
    kind = type(node)
    if kind is Node or kind is SlowNode:
        e = node.entry
        classes = e.shown_classes
        if kind not in classes:
            classes[kind] = type(e.node, (kind, Shown), {"__slots__": (), "__module__": __name__})
        if kind is Node:
            node.hooks = None
        node.__class__ = classes[kind]
    return node


# ---------------------------------------------------------------- hooks


class Hooks:
    """What is to run around one node: on the gradient of its output (`tensor`), before it (`pre`), after it (`post`);
    `retain` are the tensors, weakly, whose `.grad` keeps that gradient."""

    __slots__ = ("post", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, Callable[..., Any]] = {}
        self.pre: dict[int, Callable[..., Any]] = {}
        self.post: dict[int, Callable[..., Any]] = {}
        self.retain: list[weakref.ref[Tensor]] = []


def hooks_of(node: Node) -> Hooks:
    """The hooks of a node, made on first use."""
    shown(node)
    if node.hooks is None:
        node.hooks = Hooks()
    found: Hooks = node.hooks
    return found


def retainers(node: Node | None) -> list[weakref.ref[Tensor]]:
    """The tensors whose `.grad` keeps the gradient at a node."""
    if node is None or type(node) is Node or node.hooks is None:
        return []
    found: list[weakref.ref[Tensor]] = node.hooks.retain
    return found


def renode(t: Tensor, node: Node | None) -> None:
    """Give a tensor another node, as an in-place write does. Hooks stay with the value they were registered on; a
    gradient to be retained is from now on that of the new value."""
    for r in retainers(t.node):
        if r() is t and node is not None:
            retainers(t.node).remove(r)
            hooks_of(node).retain.append(r)
            break
    t.node = node
