"""Tensors in other dtypes and on other devices; overwriting a tensor's elements."""

from __future__ import annotations

import warnings
from typing import Any

from backends import dtypes as dt
from framework.core.device import backend_of, device
from framework.core.graph import Leaf
from framework.core.tensor import Tensor, make
from framework.dispatch import inplace
from framework.dispatch.registry import T, attach, op
from framework.ops.layout import converted


# ---------------------------------------------------------------- reading rows (values are read by `core.host`)
def _iter(self: Tensor) -> Any:
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(T.unbind(self))


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool((self == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


attach(__iter__=_iter, __contains__=_contains)


# ---------------------------------------------------------------- other dtypes and devices
@op(composite=True, spaces=("method",))
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor in another dtype, on another device, or like another tensor; itself if nothing changes and no copy is
    asked for.
    """
    return moved_to(self, args, dtype, device, copy, memory_format)


def moved_to(
    self: Tensor, args: tuple[Any, ...], dtype: Any, where: Any, copy: bool, memory_format: Any = None
) -> Tensor:
    """What `Tensor.to` does, by kind of argument."""
    for a in args:
        if isinstance(a, dt.dtype):
            dtype = a
        elif isinstance(a, Tensor):
            dtype, where = a.dtype, a.device
        elif isinstance(a, (device, str)) or type(a) is int:
            where = a
        elif isinstance(a, bool):  # non_blocking, copy
            copy = copy or (a and a is args[-1] and len([x for x in args if isinstance(x, bool)]) == 2)
        elif a is not None:
            raise TypeError(
                f"to() received an invalid combination of arguments: got {type(a).__name__}; give a dtype, a device "
                "or a Tensor"
            )
    result = self
    if where is not None:
        backend = backend_of(where)
        if backend is not self.backend:
            if dtype is not None and dtype is not self.dtype and self.dtype not in backend.native:
                result, dtype = T.to_dtype(result, dtype), None
            result = T.to_device(result, backend, result.backend)
    if dtype is not None and dtype is not self.dtype:
        if self.dtype.is_complex and not dtype.is_complex and dtype is not dt.bool_:
            warnings.warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
        result = T.to_dtype(result, dtype)
    result = converted(result, memory_format)
    return T.clone(result) if copy and result is self else result  # type: ignore[no-any-return]


def _caster(d: dt.dtype) -> Any:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return moved_to(self, (), d, None, False, memory_format)

    cast.__doc__ = f"The tensor in {d.name}; itself if it has that dtype."
    return cast


attach(
    float=_caster(dt.float32),
    double=_caster(dt.float64),
    half=_caster(dt.float16),
    bfloat16=_caster(dt.bfloat16),
    long=_caster(dt.int64),
    int=_caster(dt.int32),
    short=_caster(dt.int16),
    char=_caster(dt.int8),
    byte=_caster(dt.uint8),
    bool=_caster(dt.bool_),
    cfloat=_caster(dt.complex64),
    cdouble=_caster(dt.complex128),
)


def cpu(self: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor on the CPU; itself if it is there."""
    return moved_to(self, (), None, "cpu", False, memory_format)


def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a CUDA device."""
    where = "cuda" if device is None else f"cuda:{device}" if type(device) is int else device
    return moved_to(self, (), None, where, False, memory_format)


def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of another."""
    return moved_to(self, (other,), None, None, False)


attach(cpu=cpu, cuda=cuda, type_as=type_as)


# ---------------------------------------------------------------- writing
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the elements with those of `src`, cast and broadcast."""
    inplace.check_writable(self, "copy_")
    if not isinstance(src, Tensor):
        src = make(self.backend, self.backend.full((), src, self.dtype), self.dtype)
    return inplace.assign(self, src, "copy_")


def _filled(self: Tensor, value: Any, name: str) -> Tensor:
    inplace.check_writable(self, name, overlap=True)
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(
                f"{name} only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return inplace.assign(self, value, name)
    from framework.dispatch.slow import scalar

    return inplace.assign(self, make(self.backend, scalar(self.backend, value, self.dtype), self.dtype), name)


def fill_(self: Tensor, value: Any) -> Tensor:
    """Overwrite every element with a number or 0-d tensor."""
    return _filled(self, value, "fill_")


def zero_(self: Tensor) -> Tensor:
    """Overwrite every element with zero."""
    return _filled(self, 0, "zero_")


def detach_(self: Tensor) -> Tensor:
    """Cut this tensor off its history, in place. RuntimeError for a view."""
    if self._is_view():
        raise RuntimeError("Can't detach views in-place. Use detach() instead.")
    if type(self.node) is Leaf:
        return self.requires_grad_(False)
    self.node = None
    return self


attach(copy_=copy_, fill_=fill_, zero_=zero_, detach_=detach_)
