"""Primitives that run along a dimension or search in it: cases, and the results of loops and of mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

from backends import dtypes as dt

from .compare import HALVES, INTS, rounded
from .structure_table import Case, block


def _running(x: Any, axis: int, better: Callable[[Any, Any], bool]) -> Any:
    rows = np.moveaxis(x, axis, 0)
    values, indices = np.empty_like(rows), np.empty(rows.shape, np.int64)
    for at in np.ndindex(*rows.shape[1:]):
        best = 0
        for i in range(len(rows)):
            new, old = rows[(i, *at)], rows[(best, *at)]
            if new != new or better(new, old):
                best = i
            values[(i, *at)], indices[(i, *at)] = rows[(best, *at)], best
    return np.moveaxis(values, 0, axis), np.moveaxis(indices, 0, axis)


def _along() -> list[Case]:
    cases = []
    for d in (dt.bool_, dt.float32, dt.float64, *HALVES, *INTS):
        x = block(d, (4, 5))
        for axis in (0, 1):
            cases.append(Case("cummax", str(axis), d, (x, axis), _running(x, axis, lambda a, b: bool(a >= b))))
            cases.append(Case("cummin", str(axis), d, (x, axis), _running(x, axis, lambda a, b: bool(a <= b))))
    nans = np.array([1, np.nan, 3, np.nan, 0], "f4")
    cases.append(
        Case("cummax", "nan", dt.float32, (nans, 0), (np.array([1, *[np.nan] * 4], "f4"), np.array([0, 1, 1, 3, 3])))
    )
    none = np.zeros((2, 0), "f4")
    cases.append(Case("cummin", "empty", dt.float32, (none, 1), (none, none.astype(np.int64))))
    for d in (dt.float32, dt.float64):
        x = np.array([[0, -np.inf, 300, -300], [-np.inf, -np.inf, 1, 2]], d.name)
        with np.errstate(divide="ignore"):
            total = np.log(np.cumsum(np.exp(x.astype(np.longdouble)), 1))
        cases.append(Case("logcumsumexp", "rows", d, (x, 1), rounded(total, d), 4, 1.0))
        edges, values = np.array([-1, 0, 0, 2, 5], d.name), np.array([[-2, -1, 0], [1, 5, 6]], d.name)
        for right in (False, True):
            found = np.array([[sum(e < v or right and e == v for e in edges) for v in row] for row in values])
            cases.append(Case("searchsorted", f"vector-{right}", d, (edges, values, right), found))
            rows = np.stack([edges, edges + 1])
            found = np.array(
                [[sum(e < v or right and e == v for e in a) for v in row] for a, row in zip(rows, values, strict=True)]
            )
            cases.append(Case("searchsorted", f"rows-{right}", d, (rows, values, right), found))
    z = block(dt.complex64, (5,)) / 8  # small angles: far from the branch cut
    z = z.astype("c8")
    cases.append(
        Case(
            "logcumsumexp",
            "complex",
            dt.complex64,
            (z, 0),
            np.log(np.cumsum(np.exp(z.astype("c16")))).astype("c8"),
            8,
            1.0,
        )
    )
    return cases


def _exactly(f: Callable[[Any], Any], x: Any) -> Any:
    """f of the very numbers of an array, by mpmath."""
    with mpmath.workdps(40):
        return np.array([float(f(mpmath.mpf(float(v)))) for v in x])


def _special() -> list[Case]:
    cases = []
    for d in (dt.float32, dt.float64):
        x = np.array([0.3, 1, 2.5, 20], d.name)
        for n in (1, 2):
            cases.append(
                Case("polygamma", str(n), d, (x, n), rounded(_exactly(lambda v, n=n: mpmath.polygamma(n, v), x), d), 8)
            )
        x = np.array([1, -3, 0, 0.75, 1e10, -1e-10], d.name)
        cases.append(
            Case(
                "frexp", "points", d, (x,), tuple(a.astype(k) for a, k in zip(np.frexp(x), (d.name, "i4"), strict=True))
            )
        )
    return cases


CASES = [*_along(), *_special()]
