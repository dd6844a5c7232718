"""Reading a tensor's values on the host: NumPy arrays, Python numbers and lists."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends.dtypes import bfloat16

from .tensor import Tensor, arr

Array = np.ndarray[Any, Any]


def to_host(t: Tensor) -> Array:
    """A tensor's values as a NumPy array, float32 for bfloat16. It may share memory with the tensor: only read it.

    RuntimeError if a function transform has batched the tensor: one example's values do not exist by themselves.
    """
    while t.level is not None:
        t = t.level.read(t)
    array: Array = t.backend.to_numpy(arr(t))
    return array.astype(np.float32) if t.dtype is bfloat16 and array.dtype != np.float32 else array


def item(self: Tensor) -> Any:
    """The value of a tensor of one element as a Python number. RuntimeError if it has another number of elements."""
    array = to_host(self)
    if array.size != 1:
        raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
    return array.item()


def tolist(self: Tensor) -> Any:
    """The values as nested lists of Python numbers; of a 0-d tensor, the number."""
    return to_host(self).tolist()


def numpy(self: Tensor, *, force: bool = False) -> Array:
    """The values as a NumPy array, which shares memory with a tensor on the CPU where the backend's arrays can.

    force: also for tensors that need gradients or live on another device, by `detach().cpu()`.
    RuntimeError for a tensor that requires grad; TypeError for other devices and for bfloat16, which NumPy lacks.
    """
    if self.requires_grad and not force:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    if self.backend.device_type != "cpu" and self.backend.name != "mlx:cpu" and not force:
        raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the "
                        "tensor to host memory first.")  # fmt: skip
    if self.dtype is bfloat16:
        raise TypeError(
            "Got unsupported ScalarType BFloat16: NumPy has no such dtype. Convert first, with tensor.float()"
        )
    return to_host(self).view()


def _one(self: Tensor) -> Any:
    array = to_host(self)
    if array.size != 1:
        raise ValueError(f"only one element tensors can be converted to Python scalars, got shape {list(array.shape)}")
    return array.item()


def _real(self: Tensor, to: str) -> Any:
    value = _one(self)
    if isinstance(value, complex):
        if value.imag != 0:
            raise RuntimeError(f"value cannot be converted to type {to} without overflow")
        return value.real
    return value


def _index(self: Tensor) -> int:
    if self.numel() != 1 or self.dtype.category > 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(to_host(self).item())


def _bool(self: Tensor) -> bool:
    count = self.numel()
    if count != 1:
        what = "more than one value" if count else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {what} is ambiguous")
    return bool(to_host(self).item())


def _array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> Array:
    array = numpy(self)
    return np.array(array, dtype, copy=copy) if copy is not None else np.asarray(array, dtype)


def _length(self: Tensor) -> int:
    shape = self.shape
    if not shape:
        raise TypeError("len() of a 0-d tensor")
    return int(shape[0])


METHODS = {
    "item": item,
    "tolist": tolist,
    "numpy": numpy,
    "__array__": _array,
    "__float__": lambda self: float(_real(self, "double")),
    "__int__": lambda self: int(_real(self, "int64")),
    "__complex__": lambda self: complex(_one(self)),
    "__index__": _index,
    "__bool__": _bool,
    "__len__": _length,
}
for _name, _method in METHODS.items():
    setattr(Tensor, _name, _method)
