"""Out of and into tensors: NumPy arrays, Python numbers and lists, other dtypes and devices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from backends import dtypes as dt
from framework.core.device import backend_of, device
from framework.core.graph import Leaf
from framework.core.state import STATE
from framework.core.tensor import Tensor, arr, make
from framework.dispatch import inplace
from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Num


# ---------------------------------------------------------------- to the host
def plain(t: Tensor, what: str) -> Tensor:
    """The values of a tensor, without the wrappers of forward AD; RuntimeError for one that vmap hides examples of."""
    while t.level is not None:
        if hasattr(t.level, "size"):
            raise RuntimeError(f"vmap: It looks like you're calling {what} on a Tensor. We don't support vmap over calling {what} on a Tensor, "
                               "please try to rewrite what you're doing with other operations.")  # fmt: skip
        t = t.value  # type: ignore[attr-defined]
    return t


def numpy(self: Tensor, *, force: bool = False) -> Any:
    """The elements as a NumPy array that shares memory with the tensor where the device's arrays are NumPy's.

    force: detach and copy to the host first. RuntimeError for a tensor that requires grad, TypeError on an accelerator or for bfloat16.
    """
    self = plain(self, ".numpy()")
    if not force:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self.device.type != "cpu" and self.device.name.text != "mlx:cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.")
    if self.dtype is dt.bfloat16:
        if not force:
            raise TypeError("Got unsupported ScalarType BFloat16; convert with .float(), or take .view(torch.uint16).numpy()")
        return self.backend.to_numpy(arr(self)).astype(np.float32)
    return self.backend.to_numpy(arr(self))


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Any:
    """`numpy.asarray(tensor)`."""
    a = numpy(self)
    return np.array(a, dtype, copy=copy) if copy is not None else np.asarray(a, dtype)


def item(self: Tensor) -> Any:
    """The only element as a Python number. RuntimeError unless there is exactly one."""
    self = plain(self, ".item()")
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    host = self.backend.to_numpy(arr(self)).reshape(())
    return float(host) if self.dtype is dt.bfloat16 else host.item()


def tolist(self: Tensor) -> Any:
    """The elements as nested lists of Python numbers; a number for a 0-d tensor."""
    self = plain(self, ".tolist()")
    host = self.backend.to_numpy(arr(self))
    return (host.astype(np.float32) if self.dtype is dt.bfloat16 else host).tolist()


def _bool(self: Tensor) -> bool:
    if self.level is not None and hasattr(self.level, "size"):
        raise RuntimeError("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
                           "yet, please shout over at torch.where for a way out.")  # fmt: skip
    if self.numel() > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    if self.numel() == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    return bool(item(self))


def _number(kind: Any) -> Any:
    def convert(self: Tensor) -> Any:
        if self.numel() != 1:
            raise ValueError(f"only one element tensors can be converted to Python scalars, got shape {list(self.shape)}")
        if self.requires_grad:
            warnings.warn("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior. Consider using "
                          "tensor.detach() first.", UserWarning, stacklevel=2)  # fmt: skip
        value = item(self)
        if isinstance(value, complex) and kind is not complex:
            if value.imag:
                raise RuntimeError(f"value cannot be converted to type {kind.__name__} without overflow")
            value = value.real
        return kind(value)

    return convert


def _index(self: Tensor) -> int:
    if self.dtype.category > 1 or self.numel() != 1:
        raise TypeError(f"only integer tensors of a single element can be converted to an index, got {self.dtype} of shape {list(self.shape)}")
    return int(item(self))


def _len(self: Tensor) -> int:
    if not self.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]  # type: ignore[no-any-return]


def _iter(self: Tensor) -> Any:
    if not self.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter([self[i] for i in range(self.shape[0])])


def _contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, bool, int, float, complex)):
        return bool((self == element).any())
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


attach(numpy=numpy, __array__=_array, item=item, tolist=tolist, __bool__=_bool, __float__=_number(float), __int__=_number(int),
       __complex__=_number(complex), __index__=_index, __len__=_len, __iter__=_iter, __contains__=_contains)  # fmt: skip


# ---------------------------------------------------------------- other dtypes and devices
@op(composite=True, spaces=("method",))
def to(self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    """The tensor in another dtype, on another device, or like another tensor; itself if nothing changes and no copy is asked for."""
    return moved_to(self, args, dtype, device, copy, memory_format)


def moved_to(self: Tensor, args: tuple[Any, ...], dtype: Any, where: Any, copy: bool, memory_format: Any = None) -> Tensor:
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
            raise TypeError(f"to() received an invalid combination of arguments: got {type(a).__name__}; give a dtype, a device or a Tensor")
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
    if memory_format is not None:
        result = result.contiguous(memory_format=memory_format)  # type: ignore[attr-defined]
    return T.clone(result) if copy and result is self else result  # type: ignore[no-any-return]


def _caster(d: dt.dtype) -> Any:
    def cast(self: Tensor, memory_format: Any = None) -> Tensor:
        return moved_to(self, (), d, None, False, memory_format)

    cast.__doc__ = f"The tensor in {d.name}; itself if it has that dtype."
    return cast


attach(float=_caster(dt.float32), double=_caster(dt.float64), half=_caster(dt.float16), bfloat16=_caster(dt.bfloat16),
       long=_caster(dt.int64), int=_caster(dt.int32), short=_caster(dt.int16), char=_caster(dt.int8), byte=_caster(dt.uint8),
       bool=_caster(dt.bool_), cfloat=_caster(dt.complex64), cdouble=_caster(dt.complex128))  # fmt: skip


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


@op(composite=True)
def clone(input: Num, *, memory_format=None):
    """A copy with history: its gradient goes to `input`."""
    return T.clone(input)


# ---------------------------------------------------------------- writing
def copy_(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    """Overwrite the elements with those of `src`, cast and broadcast."""
    inplace.check_writable(self, "copy_")
    if not isinstance(src, Tensor):
        src = make(self.backend, self.backend.full((), src, self.dtype), self.dtype)
    if src.requires_grad and STATE.grad:
        src = T.clone(src)
    return inplace.assign(self, src, "copy_")


def _filled(self: Tensor, value: Any, name: str) -> Tensor:
    inplace.check_writable(self, name)
    if isinstance(value, Tensor):
        if value.ndim:
            raise RuntimeError(f"{name} only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
        return inplace.assign(self, T.clone(value) if value.requires_grad else value, name)
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
    if type(self.node) is not Leaf or self.node is not None:
        self.node = None
    return self


attach(copy_=copy_, fill_=fill_, zero_=zero_, detach_=detach_)
