"""How primitives are called and their results compared with references, and the operands that tests feed them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from backends import dtypes as dt
from backends.dtypes import dtype

HALVES = (dt.float16, dt.bfloat16)
FLOATS = (dt.float32, dt.float64)
INTS = (dt.uint8, dt.int8, dt.int16, dt.uint16, dt.int32, dt.uint32, dt.int64, dt.uint64)
NUMPY: dict[dtype, Any] = {d: np.dtype(ml_dtypes.bfloat16 if d is dt.bfloat16 else d.name) for d in dt.ALL}

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    3.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-3,
    -1e-3,
    87.5,
    -87.5,
    100.0,
    -100.0,
]


def numbers(d: dtype, size: int = 60, seed: int = 0) -> Any:
    """A vector of that dtype: special values, then random ones over several magnitudes."""
    rng = np.random.default_rng(seed)
    if d is dt.bool_:
        return rng.integers(0, 2, size).astype(bool)
    if d.kind in "iu":
        info = np.iinfo(d.name)
        edges = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, -1 if d.is_signed else 9]
        some = rng.integers(-20 if d.is_signed else 0, 20, size)
        return np.concatenate([np.array(edges, d.name), some.astype(d.name)])
    if d.is_complex:
        parts = rng.standard_normal((2, size)) * 10.0 ** rng.integers(-2, 2, size)
        return (parts[0] + 1j * parts[1]).astype(d.name)
    values = np.concatenate([SPECIAL, rng.standard_normal(size) * 10.0 ** rng.integers(-4, 3, size)])
    return values.astype(NUMPY[d])


def pairs(d: dtype, seed: int = 0) -> tuple[Any, Any]:
    """Every number of that dtype with every other."""
    a = numbers(d, 12, seed)
    x, y = np.meshgrid(a, a)
    return x.ravel(), y.ravel()


def wide(a: Any) -> Any:
    """An array in a precision in which the reference is computed; integers and bools as they are."""
    if a.dtype.kind in "iub":
        return a
    if a.dtype.kind == "c":
        return a.astype(np.clongdouble)
    return a.astype(np.longdouble if a.dtype == np.float64 else np.float64)


def rounded(want: Any, d: dtype) -> Any:
    """A reference in the dtype of the result."""
    want = np.asarray(want)
    if d is dt.bfloat16:  # longdouble has no direct way
        want = want.astype(np.float64)
    return want.astype(NUMPY[d])


def check(got: Any, want: Any, ulps: float = 0, signed_zero: bool = True, scale: float = 0.0) -> None:
    """Same shape and dtype, and every element equal or apart by `ulps` units in the last place of the reference, or
    of `scale` if that is larger. The parts of a complex number have the units of its modulus, or of 1.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"dtype {got.dtype}, not {want.dtype}"
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
        return
    if want.dtype.kind == "c" and not ulps:
        check(got.real, want.real, 0, signed_zero)
        check(got.imag, want.imag, 0, signed_zero)
        return
    if want.dtype.kind == "c":
        unit = np.spacing(np.maximum(np.abs(want), 1))  # parts of different size: no accuracy for the small one
        assert (np.abs(got - want) <= ulps * unit).all(), np.abs(got - want) / unit
        return
    eps, tiny = (ml_dtypes.finfo(want.dtype).eps, ml_dtypes.finfo(want.dtype).tiny)
    g, w = got.astype(np.longdouble), want.astype(np.longdouble)
    same = (g == w) | (np.isnan(g) & np.isnan(w))
    if ulps:
        with np.errstate(all="ignore"):
            same |= np.abs(g - w) <= ulps * float(eps) * np.maximum(np.abs(w), max(scale, float(tiny)))
    if signed_zero:
        same &= (w != 0) | (g != 0) | (np.signbit(g) == np.signbit(w))
    bad = np.flatnonzero(~same)
    assert not bad.size, [(got.flat[i], want.flat[i]) for i in bad[:5]]


def primitive(b: Any, name: str, d: Any = None) -> Any:
    """The backend's primitive, or skip: the array-API default has those of the standard only, MLX no complex128."""
    if d is not None and d not in b.capabilities.dtypes:
        pytest.skip(f"{b.name} has no {d.name}")
    if b.name == "array_api" and not hasattr(b, name):
        pytest.skip(f"the array-API standard does not have {name}")
    return getattr(b, name)


def native(b: Any, args: Any) -> list[Any]:
    """The arguments with NumPy arrays made native."""
    return [b.asarray(a) if isinstance(a, np.ndarray) else a for a in args]


def values(b: Any, result: Any) -> Any:
    """A result as NumPy arrays, after a look at its type: exactly the backend's array (NumPy's 0-d results are
    scalars).
    """
    if type(result) is tuple:
        return tuple(values(b, r) for r in result)
    assert type(result) is b.array or (b.array is np.ndarray and isinstance(result, np.generic)), type(result)
    if b.name in ("frozen", "mlx:cpu"):  # immutable from outside
        result = result if type(result) is b.array else b.asarray(result)
        before, copy = np.array(b.to_numpy(result)), b.to_numpy(result)
        copy[...] = 1
        np.testing.assert_array_equal(b.to_numpy(result), before)
    return np.asarray(b.to_numpy(result))


def primitives(b: Any) -> set[str]:
    """The public names of a backend that are functions of arrays."""
    return {n for n in dir(b) if n[0] != "_" and callable(getattr(b, n)) and not isinstance(getattr(b, n), type)} - {
        "np",
        "xp",
    }
