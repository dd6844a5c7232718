"""One row an op: how to call it, what it must give, where it is differentiable. Generic tests in `tests/ops` read the
rows.

A row's `samples(draw)` yields `Sample`s made of NumPy arrays; `reference` is an independent NumPy/SciPy/mpmath function
of the same arguments. Rows live in one module a family, as `framework/ops` does.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Sample:
    """One call: positional arguments (NumPy arrays become tensors) and keywords. `tensors` inside sequences are
    converted too.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)


@dataclass
class OpInfo:
    """One op.

    name: public path, e.g. "exp" or "nn.functional.softmax"; a leading "_" names a primitive. dtypes: of the samples
    tried, the first being the one of all transform tests. grad: gradients exist. second: also second derivatives.
    strided: operands may have any strides. kinds of error: (args, class, text).
    """

    name: str
    samples: Callable[[Draw], Iterable[Sample]]
    reference: Callable[..., Any]
    dtypes: tuple[str, ...] = ("float64", "float32")
    grad: bool = True
    second: bool = True
    vmap: bool = True
    strided: bool = True
    inplace: bool = False
    out: bool = True
    complex: bool = False
    tolerance: float = 1.0  # times the default tolerance of the dtype
    errors: tuple[tuple[tuple[Any, ...], type[Exception], str], ...] = ()

    @property
    def id(self) -> str:
        return self.name


class Draw:
    """Random inputs of one dtype, the same for the same row."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.rng, self.dtype = np.random.default_rng(seed), dtype

    def __call__(self, *shape: int, low: float = -2.0, high: float = 2.0) -> Any:
        """Uniform values in [low, high), in this draw's dtype."""
        if self.dtype == "bool":
            return np.asarray(self.rng.random(shape) < 0.5)
        kind = np.dtype("float32" if self.dtype == "bfloat16" else self.dtype)
        if kind.kind in "iu":
            return (
                self.rng.integers(
                    max(int(low), 0) if kind.kind == "u" else int(low), max(int(high), int(low) + 2), shape, np.int64
                ).astype(kind)
                if shape
                else np.asarray(kind.type(1))
            )
        a = self.rng.uniform(low, high, shape)
        if kind.kind == "c":
            a = a + 1j * self.rng.uniform(low, high, shape)
        return np.asarray(a).astype(kind)

    def apart(self, *shape: int, gap: float = 0.1) -> Any:
        """Distinct values in random order, at least `gap` apart and never 0: for ops with ties or kinks."""
        n = int(np.prod(shape))
        a = (self.rng.permutation(n) - n / 2 + 0.37) * gap
        return a.reshape(shape).astype("float32" if self.dtype == "bfloat16" else self.dtype)

    def index(self, high: int, *shape: int) -> Any:
        """Integers in [0, high), int64."""
        return self.rng.integers(0, high, shape)


def rows() -> list[OpInfo]:
    """Every row of every family."""
    found: list[OpInfo] = []
    for module in pkgutil.iter_modules(__path__):
        found += importlib.import_module(f"{__name__}.{module.name}").ROWS
    return found


def unary(name: str, reference: Callable[..., Any], low: float = -2.0, high: float = 2.0, **fields: Any) -> OpInfo:
    """A row for an elementwise op of one operand, on values in [low, high)."""

    def samples(draw: Draw) -> Iterable[Sample]:
        for shape in ((), (3,), (2, 3), (0, 2)):
            yield Sample((draw(*shape, low=low, high=high),))

    return OpInfo(name, samples, reference, **{"inplace": True} | fields)


def binary(
    name: str,
    reference: Callable[..., Any],
    low: float = -2.0,
    high: float = 2.0,
    number: float | None = 1.5,
    **fields: Any,
) -> OpInfo:
    """A row for an elementwise op of two operands: equal shapes, broadcasting, a Python number."""

    def samples(draw: Draw) -> Iterable[Sample]:
        for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2,)), ((0, 3), (3,))):
            yield Sample((draw(*a, low=low, high=high), draw(*b, low=low, high=high)))
        if number is not None:
            yield Sample((draw(2, 3, low=low, high=high), int(number) if draw.dtype in ("int64", "int32") else number))

    return OpInfo(name, samples, reference, **{"inplace": True} | fields)


unary_row, binary_row = (
    unary,
    binary,
)  # names that no family's module has: importing `binary.py` hides the function of that name here
