"""Parameters and buffers: tensors that a module knows by name. Those of lazy modules have no shape until the first
call.
"""

from __future__ import annotations

from typing import Any, Self

import framework
from framework.core.tensor import Buffer, Parameter, Tensor

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


def _no_elements(kind: type) -> ValueError:
    return ValueError(
        "Attempted to use an uninitialized parameter. This error happens when you are using a `LazyModule` or "
        f"explicitly manipulating `nn.parameter.{kind.__name__}` objects. When using LazyModules Call `forward` with "
        "a dummy batch to initialize the parameters before calling functions of them"
    )


class UninitializedTensorMixin:
    """A tensor without shape and elements. `materialize` gives it both and makes it an ordinary one; until then it can
    be moved and cast, and anything else raises."""

    __slots__ = ()
    cls_to_become: type[Tensor] = Tensor

    @classmethod
    def _made(cls, requires_grad: bool, device: Any, dtype: Any) -> Self:
        empty = framework.empty(0, device=device, dtype=dtype)
        t: Any = Parameter(empty, requires_grad) if issubclass(cls, Parameter) else empty.requires_grad_(requires_grad)
        t.__class__ = cls
        return t  # type: ignore[no-any-return]

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Become an ordinary tensor of `shape` with uninitialized elements."""
        t: Any = self
        values = framework.empty(
            shape, device=t.device if device is None else device, dtype=t.dtype if dtype is None else dtype
        )
        t.__class__ = self.cls_to_become
        t.data = values

    @property
    def array(self) -> Any:
        """RuntimeError: there are no elements yet."""
        raise _no_elements(type(self))

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise _no_elements(cls)

    @property
    def shape(self) -> Any:
        """RuntimeError: it is not known yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Self:
        """RuntimeError: there is nothing to share yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """One like this on another device or of another dtype; itself if neither changes."""
        t: Any = self
        found = framework.empty(0, device=t.device, dtype=t.dtype).to(*args, **kwargs)
        if found.device == t.device and found.dtype is t.dtype:
            return self
        return self._made(t.requires_grad, found.device, found.dtype)

    def cpu(self) -> Self:
        """One like this on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Self:
        """One like this on a CUDA device."""
        return self.to("cuda" if device is None else device)

    def take_place(self, other: Tensor) -> None:
        """Take over the device and the dtype of `other`."""
        t: Any = self
        kind = type(self)
        t.__class__ = self.cls_to_become
        t.data = framework.empty(0, device=other.device, dtype=other.dtype)
        t.__class__ = kind

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        t: Any = self
        return type(self), (t.requires_grad,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        t: Any = self
        if id(self) not in memo:
            memo[id(self)] = type(self)(t.requires_grad, t.device, t.dtype)  # type: ignore[call-arg]
        return memo[id(self)]  # type: ignore[no-any-return]


for _name, _dtype in (
    ("half", "float16"),
    ("float", "float32"),
    ("double", "float64"),
    ("char", "int8"),
    ("short", "int16"),
    ("int", "int32"),
    ("long", "int64"),
    ("bfloat16", "bfloat16"),
):
    _cast = lambda self, _dtype=_dtype: self.to(getattr(framework, _dtype))
    _cast.__doc__ = f"One like this in {_dtype}."
    setattr(UninitializedTensorMixin, _name, _cast)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Self:
        return cls._made(requires_grad, device, dtype)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape is not known yet."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Self:
        t = cls._made(requires_grad, device, dtype)
        t.__dict__["persistent"] = persistent
        return t

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None:
        pass


def is_lazy(value: Any) -> bool:
    """Whether `value` is a parameter or buffer whose shape is not known yet."""
    return isinstance(value, UninitializedTensorMixin)
