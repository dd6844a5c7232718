"""Tensors out of numbers, lists, arrays and other tensors; and the questions about dtypes that take tensors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from backends.dtypes import dtype as Dtype
from framework.core import promotion
from framework.core.construct import check_ndarray, data_to_numpy
from framework.core.defaults import as_dtype, number_dtype
from framework.core.device import backend_of
from framework.core.host import to_host
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import T

NUMBERS = (bool, int, float, complex)


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A new tensor with the values of `data`: a number, nested sequences of numbers, a NumPy array. The data is copied.

    dtype: by default read off the data: bool, int64, the default dtype and its complex counterpart for Python
    numbers, their own for NumPy's. device: the default device unless given. requires_grad: make it a variable.
    ValueError for ragged sequences and integers beyond 64 bits, RuntimeError for numbers out of an integer dtype's
    range or data of no dtype, TypeError for strings.
    """
    if isinstance(data, Tensor):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _finished(_read(data, as_dtype(dtype, "tensor"), device), requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor with the values of `data` that shares its memory and history where that is possible.

    A tensor of the dtype and device asked for is returned as it is, another one converted with its history. A NumPy
    array of that dtype shares its memory with a tensor on the CPU. Everything else is copied, as by `tensor`.
    """
    d = as_dtype(dtype, "as_tensor")
    if isinstance(data, Tensor):
        return _converted(data, d, device)
    if isinstance(data, np.ndarray):
        return _converted(_shared(data), d, backend_of(device))
    return _read(data, d, device)


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Tensor:
    """A tensor with the values of `obj`, sharing its memory if `copy` is not True and that is possible.

    copy: False demands sharing (ValueError where it is impossible). Unlike `as_tensor` the result has no history
    unless it is `obj` itself; requires_grad: make it a variable.
    """
    d = as_dtype(dtype, "asarray")
    if not isinstance(obj, (Tensor, np.ndarray)):
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _finished(_read(obj, d, device), requires_grad)
    source = obj if isinstance(obj, Tensor) else _shared(obj)
    found = _converted(source, d, backend_of(device) if isinstance(obj, np.ndarray) else device)
    if found is source and copy:
        found = T.clone(source)
    elif found is not source and copy is False:
        raise ValueError(f"can't alias tensor of {source.dtype} on {source.device} as {found.dtype} on {found.device}.")
    if found.requires_grad and not requires_grad and found is not obj:
        found = found.detach()
    return _finished(found, requires_grad) if requires_grad and not found.requires_grad else found


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor on the CPU that shares memory with a NumPy array: writing to one changes the other.

    TypeError for anything but an array, and for arrays of objects, strings or dates; ValueError for foreign byte
    order and negative strides; UserWarning for read-only arrays.
    """
    return _shared(ndarray)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of a number; of the default dtype unless another is given."""
    d = as_dtype(dtype, "scalar_tensor") or number_dtype(complex if isinstance(s, complex) else float)
    return _finished(_read(s.item() if isinstance(s, Tensor) else s, d, device), requires_grad)


def result_type(tensor1: Any, tensor2: Any) -> Dtype:
    """The dtype that an arithmetic operation on two tensors or numbers gives."""
    operands = []
    for x in (tensor1, tensor2):
        if isinstance(x, Tensor):
            operands.append((x.dtype, promotion.DIMENSIONED if x.ndim else promotion.ZERO_DIM))
        elif isinstance(x, NUMBERS):
            operands.append((number_dtype(type(x)), promotion.NUMBER))
        elif isinstance(x, np.generic):
            operands.append((number_dtype(type(x.item())), promotion.NUMBER))
        else:
            raise TypeError(f"result_type(): expected tensors or numbers, got {type(x).__name__}")
    return promotion.result_type(operands)


# ---------------------------------------------------------------- how
def _values(x: Any) -> tuple[Any, Dtype] | None:
    """The values of a tensor among data."""
    if not isinstance(x, Tensor):
        return None
    if x.requires_grad:
        warnings.warn(
            "Converting a tensor with requires_grad=True to a number loses its history; stack() keeps it.",
            UserWarning,
            stacklevel=2,
        )
    return to_host(x), x.dtype


def _read(data: Any, d: Dtype | None, device: Any) -> Tensor:
    if isinstance(data, Tensor):
        return T.clone(_converted(data.detach(), d, device)).detach()
    array, found = data_to_numpy(data, d, _values)
    backend = backend_of(device)
    return make(backend, backend.asarray(array, found), found)


def _shared(array: Any) -> Tensor:
    d = check_ndarray(array, shared=True)
    return make(backend_of("cpu"), np.asarray(array), d)


def _converted(t: Tensor, d: Dtype | None, device: Any) -> Tensor:
    """A tensor in another dtype and on another device (or backend), with its history; itself if nothing changes."""
    backend = t.backend if device is None else device if hasattr(device, "asarray") else backend_of(device)
    if backend is not t.backend:
        t = T.to_device(t, backend, t.backend)
    return t if d is None or t.dtype is d else T.to_dtype(t, d)


def _finished(t: Tensor, requires_grad: bool) -> Tensor:
    if requires_grad and t.dtype.category < 2:
        raise RuntimeError(f"Only Tensors of floating point and complex dtype can require gradients, got {t.dtype}")
    return t.requires_grad_() if requires_grad else t
