"""NumPy dressed as CuPy, so that the CuPy adapter's own code runs where there is no GPU.

It keeps the differences that the adapter is written for (seen in CuPy 14's sources): results are arrays in zero
dimensions, only `add` and `multiply` reduce and accumulate, ufuncs refuse lists and NumPy arrays, logical functions
refuse complex numbers, flags do not know writing, an index out of range wraps in `take`, `ndarray` takes a pointer,
atomic addition has few dtypes. What it cannot show is what a GPU computes: tests marked `cuda` do that.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class Pointer:
    """`ndarray.data`: an address within an allocation; bytes can be added."""

    def __init__(self, array: Any, address: int) -> None:
        self.array, self.address = array, address

    def __add__(self, nbytes: int) -> Pointer:
        return Pointer(self.array, self.address + nbytes)


class Flags:
    def __init__(self, flags: Any) -> None:
        self.c_contiguous, self.f_contiguous = flags.c_contiguous, flags.f_contiguous
        self.owndata, self.fnc, self.forc = flags.owndata, flags.fnc, flags.forc


class ndarray(np.ndarray):
    def __new__(cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C") -> Any:
        if memptr is None:
            return np.empty(shape, dtype, order).view(cls)
        owner = bare(memptr.array)
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        memory = (
            np.ndarray((owner.nbytes,), np.uint8, owner) if owner.flags.c_contiguous else owner.reshape(-1, order="A")
        )
        start = memptr.address - owner.__array_interface__["data"][0]
        return np.ndarray.__new__(cls, shape, dtype, memory, start, strides)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(ndarray)

    def __getitem__(self, key: Any) -> Any:
        key = key if isinstance(key, tuple) else (key,)
        return np.ndarray.__getitem__(self, key if any(k is Ellipsis for k in key) else (*key, ...))

    @property
    def data(self) -> Any:
        return Pointer(self, self.__array_interface__["data"][0])

    @property
    def flags(self) -> Any:
        return Flags(self.view(np.ndarray).flags)


def _reduction(name: str) -> Any:
    def method(self: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return dressed(getattr(np, name)(bare(self), axis=axis, keepdims=keepdims))

    return method


def _diagonal(self: Any, offset: int, axis1: int, axis2: int) -> Any:
    view = bare(self).diagonal(offset, axis1, axis2)
    view.flags.writeable = True
    return dressed(view)


ndarray.diagonal = _diagonal  # type: ignore[method-assign]
for _name in ("max", "min", "any", "all"):
    setattr(ndarray, _name, _reduction(_name))


def dressed(result: Any) -> Any:
    """NumPy's arrays and scalars as stand-in arrays, also inside tuples."""
    if isinstance(result, tuple | list):
        return type(result)(map(dressed, result))
    if isinstance(result, np.ndarray | np.generic):
        return np.asarray(result).view(ndarray)
    return result


def bare(a: Any) -> Any:
    if isinstance(a, tuple | list):
        return type(a)(map(bare, a))
    return a.view(np.ndarray) if isinstance(a, ndarray) else a


class Ufunc:
    def __init__(self, ufunc: Any) -> None:
        self.ufunc, self.__name__ = ufunc, ufunc.__name__

    def __call__(self, *args: Any, out: Any = None) -> Any:
        for a in args:
            if isinstance(a, list) or type(a) is np.ndarray:
                raise TypeError(f"Unsupported type {type(a)}")
            if self.ufunc.__name__.startswith("logical") and getattr(a, "dtype", np.dtype(bool)).kind == "c":
                raise TypeError(f"Wrong type ({a.dtype}) of arguments for {self.ufunc.__name__}")
        result = self.ufunc(*map(bare, args), **({} if out is None else {"out": bare(out)}))
        return dressed(result) if out is None else out

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        self._only_sums("reduce")
        return dressed(self.ufunc.reduce(bare(array), axis, dtype, out, keepdims))

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        self._only_sums("accumulate")
        return dressed(self.ufunc.accumulate(bare(array), axis, dtype, out))

    def _only_sums(self, what: str) -> None:
        if self.ufunc not in (np.add, np.multiply):
            raise NotImplementedError(f"`{self.ufunc.__name__}.{what}` is not supported yet")


def scatter_add(a: Any, slices: Any, value: Any) -> None:
    if a.dtype.name not in ("int32", "float16", "float32", "float64", "uint32", "uint64"):
        raise TypeError("scatter_add only supports int32, float16, float32, float64, uint32, uint64, as data type")
    np.add.at(a.view(np.ndarray), bare(slices), bare(value))


def take(a: Any, indices: Any, axis: int | None = None) -> Any:
    return dressed(np.take(bare(a), bare(indices), axis, mode="wrap"))


class Device:
    """A context manager that can be entered again and again."""

    def __init__(self, number: int) -> None:
        self.number, self.entered = number, 0

    def __enter__(self) -> Device:
        self.entered += 1
        return self

    def __exit__(self, *error: object) -> None: ...


class CUDARuntimeError(RuntimeError):
    pass


def modules(devices: int = 1) -> dict[str, Any]:
    """The modules `cupy` and `cupyx`, with so many devices."""
    cupy: Any = types.ModuleType("cupy")
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: devices, getDevice=lambda: 0, CUDARuntimeError=CUDARuntimeError
    )

    def lookup(name: str) -> Any:
        f = getattr(np, name)
        if isinstance(f, np.ufunc):
            return Ufunc(f)
        if (
            isinstance(f, types.FunctionType | types.BuiltinFunctionType)
            or type(f).__name__ == "_ArrayFunctionDispatcher"
        ):
            return lambda *args, **kwargs: dressed(f(*map(bare, args), **{k: bare(v) for k, v in kwargs.items()}))
        return f

    def as_strided(x: Any, shape: Any, strides: Any) -> Any:
        return dressed(np.lib.stride_tricks.as_strided(bare(x), shape, strides))

    cupy.__getattr__ = lookup
    cupy.ndarray, cupy.take = ndarray, take
    cupy.asnumpy = lambda a: np.array(bare(a))
    cupy.asarray = lambda a, dtype=None: (
        a if isinstance(a, ndarray) and dtype is None else dressed(np.array(bare(a), dtype))
    )
    cupy.broadcast_to = lambda x, shape: as_strided(x, shape, np.broadcast_to(bare(x), shape).strides)  # can be written
    cupy.lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=as_strided))
    cupy.cuda = types.SimpleNamespace(Device=Device, runtime=runtime)
    cupyx: Any = types.ModuleType("cupyx")
    cupyx.scatter_add = scatter_add
    return {"cupy": cupy, "cupyx": cupyx}


@contextmanager
def installed(devices: int = 1) -> Iterator[Any]:
    """The module `backends.cupy`, imported afresh over the stand-in."""
    ours = [
        name for name in sys.modules if name.partition(".")[0] in ("cupy", "cupyx") or name.startswith("backends.cupy")
    ]
    hidden = {name: sys.modules.pop(name) for name in ours}
    sys.modules.update(modules(devices))
    try:
        import backends.cupy.backend

        yield backends.cupy
    finally:
        for name in [n for n in sys.modules if n in ("cupy", "cupyx") or n.startswith("backends.cupy")]:
            del sys.modules[name]
        sys.modules.update(hidden)
