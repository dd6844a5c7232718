"""Storage: what all views of a tensor share, and geometry: where in it a view's elements lie.

On backends that alias (NumPy, CuPy) the native view is the truth, and strides are read off it. On the others (MLX)
geometry is the truth and native arrays are a cache: a write replaces the flat array and clears every living alias,
which rebuilds itself when read. Geometry is a *shadow*: the view op's own forward applied to a NumPy array that nobody
reads, so no op states a rule for it.
"""

from __future__ import annotations

import weakref
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from backends import registry
from backends.base import Geometry

if TYPE_CHECKING:
    from .graph import Node
    from .tensor import Tensor

new = object.__new__
SHADOW: Any = registry.load(registry.parse("cpu"))  # the namespace in which a view's forward runs on a shadow


class Storage:
    """Made when a tensor is first viewed, written or saved as an op's output.

    `version` counts in-place writes; `views` lists the living tensors on it, weakly. `flat` (one-dimensional native
    array) and `shadow` are used on backends without aliasing. `root` is the storage whose memory this one names with a
    version of its own (`tensor.data`). `written_at` is the code position of the last write, for error messages.
    """

    __slots__ = ("__dict__", "__weakref__", "limit", "version", "views")
    version: int
    views: list[weakref.ref[Tensor]]
    limit: int
    flat: Any = None
    shadow: Any = None
    root: Storage | None = None
    inference = False
    written_at: tuple[Any, int, str] | None = None

    def __init__(self) -> None:
        self.version, self.views, self.limit = 0, [], 64

    def add(self, t: Tensor) -> None:
        """Remember a tensor on this storage; the dead are forgotten from time to time."""
        self.views.append(weakref.ref(t))
        if len(self.views) > self.limit:
            self.forget()

    def forget(self) -> None:
        """Drop the references to tensors that are gone."""
        self.views = [r for r in self.views if r() is not None]
        self.limit = 2 * len(self.views) + 64


class InferenceStorage(Storage):
    """Storage of a tensor made in inference mode: no version counter, so nothing that needs one may save it."""

    __slots__ = ()
    inference = True

    @property
    def version(self) -> int:
        """RuntimeError: there is none."""
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. To work around you can make a clone to get a normal "
            "tensor and use it in autograd."
        )

    @version.setter
    def version(self, value: int) -> None:
        pass


def living(storage: Storage) -> list[Tensor]:
    """The tensors on a storage that are still alive."""
    pairs = [(r, t) for r in storage.views if (t := r()) is not None]
    storage.views = [r for r, _ in pairs]
    return [t for _, t in pairs]


class View:
    """How a view came about: from `base` by `chain`, a linked list (chain before, entry, its parameters, shape before).

    `origin` says why writing to it may be forbidden: "" for an ordinary view, else how PyTorch names the reason;
    `output` is its number among the views that one function returned.
    """

    __slots__ = ("__dict__", "base", "chain")
    base: Tensor | None
    chain: Any
    shadow: Any = None
    origin: str = ""
    output: int = 0

    def __init__(self, base: Tensor | None, chain: Any, shadow: Any, origin: str = "") -> None:
        self.base, self.chain = base, chain
        if shadow is not None:
            self.shadow = shadow
        if origin:
            self.origin = origin

    def without_base(self) -> View:
        """What to read and write, apart from the tensor it is done to: for nodes, which its base refers to."""
        return View(None, self.chain, None)

    def links(self) -> list[tuple[Any, tuple[Any, ...], tuple[int, ...]]]:
        """The chain as a list, first view first: (entry, parameters, shape before)."""
        found, chain = [], self.chain
        while chain is not None:
            found.append(chain[1:])
            chain = chain[0]
        return found[::-1]


def storage_of(x: Tensor) -> Storage:
    """The storage of a tensor, made on first use."""
    s: Storage | None = x.storage
    if s is None:
        s = x.storage = Storage()
        s.add(x)
    if not x.backend.aliasing:
        memory = s.root or s
        if memory.flat is None:
            memory.shadow = np.empty(max(prod(x.array.shape), 1), np.int8)
            memory.flat = x.backend.reshape(x.array, (-1,))
        if x._view is None:
            x._view = View(None, None, memory.shadow[: prod(x.array.shape)].reshape(x.array.shape))
        elif x._view.shadow is None:
            x._view.shadow = memory.shadow[: prod(x.array.shape)].reshape(x.array.shape)
    return s


def address(array: Any) -> int:
    """Where a host array's first element lies in memory, in bytes."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def geometry_of(x: Tensor) -> Geometry:
    """Shape, strides and offset of a tensor in its storage, in elements."""
    if x.backend.aliasing:
        a = x.array
        size = a.itemsize
        owner = a
        while isinstance(owner.base, type(a)):
            owner = owner.base
        start = (address(a) - address(owner)) // size if owner is not a and hasattr(a, "__array_interface__") else 0
        return Geometry(
            a.shape,
            tuple([s // size for s in a.strides]),
            start if x._view is not None and x._view.base is not None else 0,
        )
    s = storage_of(x)
    assert x._view is not None
    shadow = x._view.shadow
    return Geometry(shadow.shape, shadow.strides, address(shadow) - address((s.root or s).shadow))


def refresh(x: Tensor) -> Any:
    """Rebuild an array that a write through another view has made stale (backends that do not alias)."""
    assert x.storage is not None
    memory: Any = x.storage.root or x.storage
    x.array = x.backend.read_at(memory.flat, geometry_of(x))
    return x.array


def write(x: Tensor, value: Any) -> None:
    """Overwrite the elements of `x` with a native array of its shape; every alias sees it, and the version goes up."""
    s = storage_of(x)
    if x.backend.aliasing:
        x.backend.write(x.array, value)
    else:
        memory = s.root or s
        geometry = geometry_of(x)
        flat, memory.flat = memory.flat, None  # let go of our own reference first: the library may then write in place
        for t in [*living(memory), *(living(s) if memory is not s else [])]:
            t.array = None
        try:
            memory.flat = x.backend.write_at(flat, geometry, value)
        except BaseException:
            memory.flat = flat
            raise
    if not s.inference:
        s.version += 1


def written(*tensors: Tensor) -> None:
    """Note that kernels have written into these tensors' arrays (aliasing backends)."""
    for x in tensors:
        s = storage_of(x)
        if not s.inference:
            s.version += 1


def share(x: Tensor, array: Any, view: View | None, node: Node | None = None) -> Tensor:
    """A tensor on the storage of `x`: a view of it, or (view None) an alias of the whole of it."""
    from .tensor import make

    s = storage_of(x)
    t = make(x.backend, array, x.dtype, node)
    t.storage = s
    if view is None and x._view is not None:
        view = View(None, None, x._view.shadow)
    t._view = view
    s.add(t)
    return t
