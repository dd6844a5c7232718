"""What the table tests share: arrays to tensors and back, tolerances, central differences."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import framework
from framework.core.tensor import Tensor, arr
from framework.dispatch.registry import T
from tests.opinfo import OpInfo, Sample

EPS = {
    "float64": 2.2e-16,
    "complex128": 2.2e-16,
    "float32": 1.2e-7,
    "complex64": 1.2e-7,
    "float16": 9.8e-4,
    "bfloat16": 7.8e-3,
}


def resolve(name: str) -> Callable[..., Any]:
    """The function of a row: a public path, or a primitive's name after an underscore."""
    if name.startswith("_"):
        return getattr(T, name[1:])
    return functools.reduce(getattr, name.split("."), framework)


def tensor(a: Any, device: str, dtype: str | None = None, requires_grad: bool = False) -> Tensor:
    """A NumPy array as a tensor; float values in `dtype` if given, complex ones in its complex counterpart."""
    d = None if dtype is None or a.dtype.kind not in "fc" else getattr(framework, dtype)
    if d is not None and a.dtype.kind == "c":
        d = d.to_complex()
    t = framework.tensor(a, device=device, dtype=d)
    return t.requires_grad_() if requires_grad and t.dtype.category > 1 else t


def convert(value: Any, f: Callable[[Any], Any]) -> Any:
    """`f` applied to the arrays in nested arguments."""
    if isinstance(value, np.ndarray):
        return f(value)
    if isinstance(value, (tuple, list)):
        return type(value)([convert(v, f) for v in value])
    if isinstance(value, dict):
        return {k: convert(v, f) for k, v in value.items()}
    return value


def values(out: Any) -> Any:
    """A result as NumPy arrays: half types widened."""
    if isinstance(out, Tensor):
        a = out.backend.to_numpy(arr(out))
        return a.astype(np.float32) if out.dtype.name in ("bfloat16", "float16") else np.array(a)
    if isinstance(out, (tuple, list)):
        return [values(o) for o in out]
    return out


def tensors_of(args: Any) -> list[Tensor]:
    """The differentiable tensors in nested arguments."""
    if isinstance(args, Tensor):
        return [args] if args.dtype.category > 1 else []
    if isinstance(args, (tuple, list)):
        return [t for a in args for t in tensors_of(a)]
    return []


def close(got: Any, want: Any, dtype: str, factor: float = 1.0) -> None:
    """Equal to the tolerance of a dtype, nan where nan is expected, and of the expected shape."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            close(g, w, dtype, factor)
        return
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "biu" and got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, want)
        return
    tolerance = 40 * factor * EPS.get(dtype, 2.2e-16)
    np.testing.assert_allclose(
        got.astype("complex128"), want.astype("complex128"), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def loss_of(out: Any, weights: list[Any] | None = None, seed: int = 5) -> Any:
    """A scalar of an op's differentiable results: their inner product with fixed random numbers (real part)."""
    rng = np.random.default_rng(seed)
    total: Any = None
    for o in out if isinstance(out, (tuple, list)) else [out]:
        if not isinstance(o, Tensor) or o.dtype.category < 2:
            continue
        w = rng.uniform(0.5, 1.5, tuple(o.shape))
        part = (o * tensor(np.asarray(w), device=str(o.device), dtype=o.dtype.to_real().name)).sum()
        part = T.real(part) if part.dtype.is_complex else part
        total = part if total is None else total + part
    return total


def numeric_gradients(f: Callable[..., Any], leaves: list[Any], step: float = 1e-6) -> list[Any]:
    """Central differences of a scalar function of float64 or complex128 arrays, in PyTorch's complex convention."""
    grads = []
    for i, a in enumerate(leaves):
        g = np.zeros_like(a)
        for at in np.ndindex(a.shape):
            for unit in (1.0, 1j) if a.dtype.kind == "c" else (1.0,):
                moved = [x.copy() for x in leaves]
                moved[i][at] += unit * step
                up = f(*moved)
                moved[i][at] -= 2 * unit * step
                g[at] += unit * (up - f(*moved)) / (2 * step)
        grads.append(g)
    return grads


def as_function(row: OpInfo, sample: Sample, device: str) -> tuple[Callable[..., Any], list[Any]]:
    """(f, leaves): the row's op as a function of its differentiable arrays alone, and those arrays."""
    leaves: list[Any] = []

    def collect(a: Any) -> Any:
        if a.dtype.kind in "fc":
            leaves.append(a)
        return a

    convert(sample.args, collect)
    op = resolve(row.name)

    def f(*given: Tensor) -> Any:
        rest = iter(given)
        args = convert(sample.args, lambda a: next(rest) if a.dtype.kind in "fc" else tensor(a, device))
        return op(*args, **convert(sample.kwargs, lambda a: tensor(a, device)))

    return f, leaves
