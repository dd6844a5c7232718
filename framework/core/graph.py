"""The autograd graph: what an op leaves behind. Nodes hold what a derivative rule needs, never closures."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from .state import next_seq

if TYPE_CHECKING:
    from backends.dtypes import dtype as Dtype

    from .tensor import Tensor


class Node:
    """One op on the tape.

    `entry` is the op; `edges` the nodes of its differentiable inputs (None: needs no gradient). Inputs are saved as Tensors with
    their version: array, storage and edge in one. `params` are its other arguments. `shape` and `dtype` are its output's: the
    engine fits every incoming gradient to them. `out` and `out_storage` are the output's array and storage if a rule names it.
    """

    __slots__ = ("__weakref__", "dtype", "edges", "entry", "hooks", "out", "out_storage", "params", "saved", "seq", "shape",
                 "versions")  # fmt: skip
    entry: Any
    edges: tuple[Node | None, ...]
    saved: tuple[Any, ...] | None
    versions: tuple[int | None, ...]
    params: tuple[Any, ...]
    shape: tuple[int, ...]
    dtype: Dtype
    hooks: Any
    seq: int
    out: Any
    out_storage: Any
    # Only SlowNode spends slots on these: the dtype a rule computes in if not the inputs', the level it was recorded on.
    compute: Any = None
    level: Any = None
    outputs = 1

    def name(self) -> str:
        """The node's name as error messages and `repr` show it, e.g. `MulBackward0`."""
        return "".join(part[:1].upper() + part[1:] for part in self.entry.name.split("_")) + "Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the inputs, each with the number of its output that was used."""
        return tuple((e.edges[0], e.index) if isinstance(e, Pick) else (e, 0) for e in self.edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own notes about this node."""
        return _METADATA.setdefault(self, {})

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


_METADATA: weakref.WeakKeyDictionary[Node, dict[Any, Any]] = weakref.WeakKeyDictionary()


class HookedNode(Node):
    """A plain node that has hooks. Registering one swaps the class, so that hooks cost nothing where there are none."""

    __slots__ = ()


class SlowNode(Node):
    """A node of the slow path: other dtypes, several outputs, wrapped operands, sequences of operands."""

    __slots__ = ("compute", "level", "outputs", "saved_outputs")
    saved_outputs: dict[str, Any]


class Leaf(Node):
    """Where a gradient ends: it is added to the tensor's `.grad`. Refers to the tensor weakly, so a leaf is no cycle."""

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
