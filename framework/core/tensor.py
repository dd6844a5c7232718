"""The Tensor: a native array, its backend and dtype, its node on the tape, its storage and view. Ops attach their
methods later.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from backends.dtypes import dtype

from . import device as devices
from .graph import Leaf, Node, Pick, retainers, shown
from .shape import Size
from .state import STATE
from .storage import InferenceStorage, Storage, View, geometry_of, refresh, share, storage_of

if TYPE_CHECKING:
    from .device import device

new = object.__new__


class Tensor:
    """A multi-dimensional array of one dtype on one device, with reverse-mode differentiation.

    Slots: `array` (the native array; None: stale, see `refresh`), `backend`, `dtype`, `node` (its place on the tape: a
    Leaf if it is a variable, None if it needs no gradient), `storage` (shared by its views; made on first use), `_view`
    (how it came about).
    """

    __slots__ = ("__dict__", "__weakref__", "_view", "array", "backend", "dtype", "node", "storage")
    array: Any
    backend: Any
    dtype: dtype
    node: Node | None
    storage: Storage | None
    _view: View | None
    level: Any = None  # wrappers of function transforms have a level; plain tensors do not
    __array_priority__ = 1000

    # ---------------------------------------------------------------- shape and place
    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return Size(arr(self).shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        a = self.array
        return len(self.shape) if a is None else len(a.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return self.ndim

    ndimension = dim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the size of dimension `dim`."""
        from .shape import wrap_dim

        shape = self.shape
        return shape if dim is None else shape[wrap_dim(dim, len(shape))]

    def numel(self) -> int:
        """The number of elements."""
        a = self.array
        return self.shape.numel() if a is None else int(a.size)

    nelement = numel

    @property
    def device(self) -> device:
        """Where the elements live."""
        return devices.device_of(self.backend)

    @property
    def is_cuda(self) -> bool:
        """Whether the elements live on an NVIDIA GPU."""
        return bool(self.backend.device_type == "cuda")

    @property
    def is_mps(self) -> bool:
        """Whether the elements live in MLX's memory."""
        return bool(self.backend.device_type == "mps")

    @property
    def is_cpu(self) -> bool:
        """Whether the elements live in the host's memory."""
        return bool(self.backend.device_type == "cpu")

    def get_device(self) -> int:
        """The index of the accelerator, -1 on the CPU."""
        return -1 if self.is_cpu else self.backend.device_index or 0

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.dtype.itemsize * self.numel()

    def stride(self, dim: int | None = None) -> Any:
        """The step in memory to the next element along each dimension, in elements; or along `dim`."""
        from .shape import wrap_dim

        strides = _strides(self)
        return strides if dim is None else strides[wrap_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """The position of the first element in the storage, in elements."""
        return geometry_of(self).offset

    def is_floating_point(self) -> bool:
        """Whether the dtype is a real floating one."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the dtype is complex."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether the dtype has negative values."""
        return self.dtype.is_signed

    # ---------------------------------------------------------------- autograd
    @property
    def requires_grad(self) -> bool:
        """Whether gradients reach this tensor."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Make this tensor a variable (or not) and return it. RuntimeError for integer tensors and for results of
        ops.
        """
        node = self.node
        if requires_grad and node is None:
            if not (self.dtype.is_floating_point or self.dtype.is_complex):
                raise RuntimeError(f"only Tensors of floating point dtype can require gradients, got {self.dtype}")
            if self.is_inference() and not STATE.inference:
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
            leaf = Leaf(self, self.level)
            leaf.grad = self.__dict__.pop("_grad", None)
            self.node = leaf
        elif not requires_grad and node is not None:
            if type(node) is not Leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed "
                    "variable in a subgraph that doesn't require differentiation use x.detach()."
                )
            if node.grad is not None:
                self.__dict__["_grad"] = node.grad
            self.node = None
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether this tensor is no result of a recorded op."""
        return self.node is None or type(self.node) is Leaf

    @property
    def grad_fn(self) -> Node | None:
        """The op that made this tensor, as a node of the graph; None for leaves."""
        node = self.node
        if node is None or type(node) is Leaf:
            return None
        return shown(node.edges[0] if type(node) is Pick else node)  # type: ignore[no-any-return]

    @property
    def output_nr(self) -> int:
        """Which output of its op this tensor is."""
        return self.node.index if type(self.node) is Pick else 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` accumulated."""
        node = self.node
        if type(node) is Leaf:
            return node.grad
        found: Tensor | None = self.__dict__.get("_grad")
        if found is None and node is not None and not retainers(node):
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise TypeError(
                    f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
                )
            if value.level is None and self.level is None:
                if tuple(value.shape) != tuple(self.shape):
                    raise RuntimeError(
                        f"assigned grad has data of a different size: got {list(value.shape)}, expected "
                        f"{list(self.shape)}"
                    )
                if value.dtype is not self.dtype:
                    raise RuntimeError(
                        f"assigned grad has data of a different type: got {value.dtype}, expected {self.dtype}"
                    )
                if value.backend is not self.backend:
                    raise RuntimeError(f"assigned grad is on {value.device}, expected {self.device}")
        if type(self.node) is Leaf:
            self.node.grad = value
        elif value is None:
            self.__dict__.pop("_grad", None)
        else:
            self.__dict__["_grad"] = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def detach(self) -> Tensor:
        """The same elements without history: shares storage and version counter."""
        return share(self, arr(self), None)

    @property
    def data(self) -> Tensor:
        """The same elements without history and with a version counter of their own: writes through it go unnoticed."""
        t = share(self, arr(self), None)
        own = t.storage
        assert own is not None
        t.storage = Storage()
        t.storage.root = own.root or own
        t.storage.add(t)
        return t

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        version = self.storage.version if self.storage is not None else 0
        if self.node is not None and type(self.node) is Leaf:
            self.node.shape, self.node.dtype = tuple(value.shape), value.dtype
        source = share(value, arr(value), None)
        self.array, self.backend, self.dtype, self._view = source.array, source.backend, source.dtype, source._view
        shared = source.storage
        assert shared is not None
        self.storage = Storage()
        self.storage.version = version + 1  # whoever saved the old data must notice
        self.storage.root = shared.root or shared
        self.storage.add(self)
        self.storage.root.add(self)

    @property
    def _version(self) -> int:
        """How often this tensor's storage was written in place."""
        if self.storage is None:
            return 0
        if self.storage.inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        return self.storage.version

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode."""
        return self.storage is not None and self.storage.inference

    @property
    def _base(self) -> Tensor | None:
        """The tensor this one is a view of."""
        return self._view.base if self._view is not None else None

    def _is_view(self) -> bool:
        return self._base is not None

    # ---------------------------------------------------------------- overriding functions on subclasses
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called for functions of a subclass's instances; the default runs the function and gives results that
        class.
        """
        with DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        return result if cls is Tensor else _as_subclass(result, cls)

    def as_subclass(self, cls: Any) -> Any:
        """The same tensor as an instance of a subclass: shares storage and history."""
        if not issubclass(cls, Tensor):
            raise TypeError(f"as_subclass: {cls.__name__} is no subclass of Tensor")
        t = share(self, arr(self), self._view, self.node)
        t.__class__ = cls
        return t


class DisableTorchFunctionSubclass:
    """A context in which `__torch_function__` of subclasses is not consulted."""

    def __enter__(self) -> None:
        STATE.__dict__["plain_subclasses"] = STATE.__dict__.get("plain_subclasses", 0) + 1

    def __exit__(self, *exc: object) -> None:
        STATE.__dict__["plain_subclasses"] -= 1


def _as_subclass(result: Any, cls: Any) -> Any:
    if type(result) is Tensor:
        result.__class__ = cls
        return result
    if isinstance(result, (tuple, list)):
        items = [_as_subclass(r, cls) for r in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


class Parameter(Tensor):
    """A tensor that a module counts among its parameters when assigned as an attribute. Requires grad unless told
    otherwise.
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = make(devices.backend_of(None), devices.backend_of(None).full((0,), 0.0, devices.default_float()))
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter: data must be a Tensor, not {type(data).__name__}")
        t = data.detach()
        if type(t) is Tensor:
            t.__class__ = cls
        return t.requires_grad_() if requires_grad else t  # type: ignore[return-value]

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass


class Buffer(Tensor):
    """A tensor that a module counts among its buffers when assigned as an attribute."""

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Buffer:
        if data is None:
            data = make(devices.backend_of(None), devices.backend_of(None).full((0,), 0.0, devices.default_float()))
        t = data.detach()
        if type(t) is Tensor:
            t.__class__ = cls
        t.__dict__["persistent"] = persistent
        return t  # type: ignore[return-value]

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        pass


FAST: frozenset[type] = frozenset((Tensor, Parameter, Buffer))  # exact types that an op's fast path takes


def arr(t: Tensor) -> Any:
    """A tensor's native array, rebuilt if it was stale."""
    return t.array if t.array is not None else refresh(t)


def make(backend: Any, array: Any, dtype: dtype | None = None, node: Node | None = None) -> Tensor:
    """A tensor around a native array (a 0-d scalar of the library is made an array)."""
    t: Tensor = new(Tensor)
    t.array = array if type(array) is backend.array else backend.asarray(array)
    t.backend, t.dtype, t.node = backend, dtype or backend.dtype_of(t.array), node
    t.storage = t._view = None
    if STATE.inference:
        t.storage = InferenceStorage()
        t.storage.add(t)
    return t


def _strides(t: Tensor) -> tuple[int, ...]:
    if not t.backend.aliasing and t._view is None:
        from .shape import contiguous_strides

        return contiguous_strides(arr(t).shape)
    return geometry_of(t).strides


def retained(t: Tensor) -> Tensor | None:
    """`t.grad` without the advice to those who read that of a result."""
    return t.node.grad if type(t.node) is Leaf else t.__dict__.get("_grad")


def version_of(t: Tensor) -> int:
    """The version counter of a tensor: 0 while nobody wrote to it."""
    return 0 if t.storage is None else t.storage.version


__all__ = [
    "FAST",
    "Buffer",
    "DisableTorchFunctionSubclass",
    "Parameter",
    "Tensor",
    "arr",
    "make",
    "storage_of",
    "version_of",
]
