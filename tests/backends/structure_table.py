"""Primitives that move, reduce, index or multiply: cases of operands and the result that plain NumPy, or a loop, gives.

An argument that is a NumPy array becomes a native one; everything else is passed as it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from backends import dtypes as dt
from backends.dtypes import dtype

from .compare import HALVES, INTS, NUMPY, numbers, rounded, wide

MOVED = (*dt.ALL,)  # moving elements works in every dtype
SUMMED = (dt.float32, dt.float64, dt.int64, dt.complex64, dt.complex128)


class Case(NamedTuple):
    name: str
    label: str
    dtype: dtype
    args: tuple[Any, ...]
    want: Any
    ulps: float = 0
    scale: float = 0.0


def block(d: dtype, shape: tuple[int, ...], seed: int = 0) -> Any:
    """Finite values of that dtype, some of them equal."""
    rng = np.random.default_rng(seed)
    if d.is_complex:
        return (rng.integers(-4, 5, shape) / 2 + 1j * rng.integers(-4, 5, shape)).astype(d.name)
    if d.is_floating_point:
        return (rng.integers(-8, 9, shape) / 4).astype(NUMPY[d])
    return rng.integers(0 if not d.is_signed or d is dt.bool_ else -5, 2 if d is dt.bool_ else 6, shape).astype(d.name)


def _shapes() -> list[Case]:
    cases = []
    for d in MOVED:
        x = block(d, (2, 3, 4))
        zero = np.array(1, NUMPY[d])
        cases += [
            Case("reshape", "merge", d, (x, (6, 4)), x.reshape(6, 4)),
            Case("reshape", "0-d", d, (zero, (1, 1)), zero.reshape(1, 1)),
            Case("permute", "3", d, (x, (2, 0, 1)), x.transpose(2, 0, 1)),
            Case("expand", "lead", d, (x[:, :1], (5, 2, 3, 4)), np.broadcast_to(x[:, :1], (5, 2, 3, 4))),
            Case("expand", "0-d", d, (zero, (2, 2)), np.ones((2, 2), NUMPY[d])),
            Case("unsqueeze", "several", d, (x, (0, 2, 4)), x[None, :, None, :, None]),
            Case("squeeze", "some", d, (x[:1, :, :1], (0, 2)), x[0, :, 0]),
            Case("squeeze", "none", d, (x, ()), x),
            Case("mT", "batch", d, (x,), np.stack([m.T for m in x])),
            Case("flip", "two", d, (x, (0, 2)), x[::-1, :, ::-1]),
            Case("flip", "none", d, (x, ()), x),
            Case("cat", "two", d, ([x, x[:, :1], x[:, :0]], 1), np.concatenate([x, x[:, :1]], 1)),
            Case("diagonal", "up", d, (x, 1, 1, 2), np.stack([[m[0, 1], m[1, 2], m[2, 3]] for m in x])),
            Case("diagonal", "down", d, (x, -1, 2, 0), np.array([[x[0, c, 1], x[1, c, 2]] for c in range(3)])),
            Case("diagonal", "outside", d, (x, 9, 1, 2), np.zeros((2, 0), NUMPY[d])),
            Case("clone", "", d, (x,), x),
            Case("clone", "0-d", d, (zero,), zero),
        ]
        keys = [
            ("int", (1,)), ("last", (-1, ..., -2)), ("slices", (slice(1, 2), slice(None, None, 2))),
            ("none", (None, 0, None)),
            ("dots", (..., slice(-3, -1), None)), ("empty", (slice(5, 9),)), ("all ints", (1, 2, 3)), ("nothing", ()),
        ]  # fmt: skip
        for label, key in keys:
            cases.append(Case("slice", label, d, (x, key), np.array(x[key])))
            put = np.zeros(x.shape, NUMPY[d])
            put[key] = x[key]
            cases.append(Case("slice_put", label, d, (np.array(x[key]), key, x.shape), put))
        cases.append(Case("slice", "0-d", d, (zero, ()), zero))
        cases.append(Case("where", "mask", d, (x.astype(bool), x, x[:1]), np.where(x.astype(bool), x, x[:1])))
    for d, part in ((dt.complex64, "float32"), (dt.complex128, "float64")):
        z = block(d, (2, 3))
        pair = np.stack([z.real, z.imag], -1)
        cases.append(Case("view_as_real", "", d, (z,), pair.astype(part)))
        cases.append(Case("view_as_complex", "", d, (pair.astype(part),), z))
        cases.append(Case("view_as_real", "0-d", d, (z[0, 0, ...],), pair[0, 0].astype(part)))
    return cases


def _views() -> list[Case]:
    cases = []
    for d in MOVED:
        x = block(d, (3, 5))
        flat = np.ascontiguousarray(x.reshape(-1))
        seen = np.stack([np.stack([flat[1 + 2 * i + 2 * j] for j in range(3)]) for i in range(2)])
        put = np.zeros(15, x.dtype)
        for i, j in np.ndindex(2, 3):
            put[1 + 2 * i + 2 * j] += seen[i, j]
        pieces = np.stack([x[:, i : i + 3] for i in (0, 2)], 1)
        back = np.zeros_like(x)
        for k, i in enumerate((0, 2)):
            back[:, i : i + 3] += pieces[:, k]
        down = np.zeros((2, 4, 3), x.dtype)
        line = block(d, (2, 3))
        for i in range(3):
            down[:, i + 1, i] = line[:, i]
        kept = [[j - i for j in range(5)] for i in range(3)]
        cases += [
            Case("strided", "flat", d, (flat, (2, 3), (2, 2), 1, None), seen),
            Case("strided_read", "flat", d, (flat, (2, 3), (2, 2), 1), seen),
            Case("strided_put", "overlapping", d, (seen, 15, (2, 2), 1), put),
            Case("windows", "overlapping", d, (x, 1, 3, 2), pieces),
            Case("windows", "none", d, (x[:, :0], 0, 2, 1), np.zeros((2, 0, 2), x.dtype)),
            Case("windows_put", "overlapping", d, (pieces, 1, 5, 2), back),
            Case("diagonal_put", "down", d, (line, (2, 4, 3), -1, 1, 2), down),
            Case(
                "diagonal_put", "swapped", d, (line, (3, 2, 4), 1, 0, 2), np.ascontiguousarray(down.transpose(2, 0, 1))
            ),
            Case("contiguous", "order", d, (x.T, (1, 0)), x.T),
            Case("tril", "above", d, (x, 1), np.where(np.array(kept) <= 1, x, np.zeros((), x.dtype))),
            Case("triu", "below", d, (x, -1), np.where(np.array(kept) >= -1, x, np.zeros((), x.dtype))),
        ]
    f4 = np.array([1.5, -0.0, np.inf, np.nan], np.float32)
    z = np.array([1 + 2j, -1 - 0.0j, complex(0, np.inf), -3 + 0j], np.complex64)
    cases += [
        Case("view_dtype", "same size", dt.float32, (f4, dt.int32), f4.view(np.int32)),
        Case(
            "view_dtype",
            "smaller",
            dt.int32,
            (np.arange(4, dtype=np.int32), dt.uint8),
            np.arange(4, dtype=np.int32).view(np.uint8),
        ),
        Case(
            "complex",
            "",
            dt.complex64,
            (f4, f4[::-1].copy()),
            np.array([complex(a, b) for a, b in zip(f4, f4[::-1])], np.complex64),
        ),
        Case("angle", "complex", dt.complex64, (z,), np.arctan2(z.imag, z.real), 2),
        Case("angle", "real", dt.float32, (f4,), np.array([0, 0, 0, np.nan], np.float32), 2),
        Case("angle", "negative", dt.float64, (np.array([-2.0, 2.0]),), np.array([np.pi, 0]), 1),
    ]
    return cases


def _reductions() -> list[Case]:
    cases: list[Case] = []
    dims: list[Any] = [None, (), (0,), (1, 2), (0, 1, 2)]
    for keepdim in (False, True):
        for axes in dims:
            for d in SUMMED:
                x = block(d, (2, 3, 4))
                label = f"{axes}-{keepdim}"
                for name, f in (("sum", np.sum), ("prod", np.prod)):
                    want = rounded(f(wide(x), axis=axes, keepdims=keepdim), d)
                    cases.append(Case(name, label, d, (x, axes, keepdim), want, 8, 8.0))
            for d in (dt.bool_, dt.float32, *HALVES, *INTS):
                x = block(d, (2, 3, 4))
                label = f"{axes}-{keepdim}"
                for name, f in (("amax", np.max), ("amin", np.min)):
                    cases.append(
                        Case(name, label, d, (x, axes, keepdim), f(x, axis=axes, keepdims=keepdim).astype(x.dtype))
                    )
                for name, f in (("any", np.any), ("all", np.all)):
                    cases.append(
                        Case(name, label, d, (x, axes, keepdim), np.asarray(f(x != 0, axis=axes, keepdims=keepdim)))
                    )
        for d in (dt.bool_, dt.float32, dt.float64, dt.int64, dt.uint8):
            x = block(d, (2, 3, 4))
            for axis in (None, 0, 2):
                for name, f in (("argmax", np.argmax), ("argmin", np.argmin)):
                    cases.append(
                        Case(name, f"{axis}-{keepdim}", d, (x, axis, keepdim), np.asarray(f(x, axis, keepdims=keepdim)))
                    )
    empty = np.zeros((0, 3), np.float32)
    nans = np.array([[1, np.nan, 3], [4, 5, np.nan]], np.float32)
    f4 = dt.float32
    cases += [
        Case("sum", "empty", f4, (empty, (0,), False), np.zeros(3, "f4")),
        Case("prod", "empty", f4, (empty, (0,), False), np.ones(3, "f4")),
        Case("any", "empty", f4, (empty, (0,), False), np.zeros(3, bool)),
        Case("all", "empty", f4, (empty, (0,), False), np.ones(3, bool)),
        Case("amax", "empty result", f4, (empty, (1,), False), np.zeros(0, "f4")),
        Case("argmax", "empty result", f4, (empty, 1, False), np.zeros(0, np.int64)),
        Case("argmin", "empty result kept", f4, (empty, 1, True), np.zeros((0, 1), np.int64)),
        Case("amax", "nan", f4, (nans, (1,), False), np.full(2, np.nan, "f4")),
        Case("amin", "nan", f4, (nans, None, False), np.array(np.nan, "f4")),
        Case("argmax", "nan", f4, (nans, 1, False), np.array([1, 2])),
        Case("argmin", "nan", f4, (nans, 0, False), np.array([0, 0, 1])),
        Case("sum", "0-d", f4, (np.array(2, "f4"), None, False), np.array(2, "f4")),
        Case("argmax", "0-d", f4, (np.array(2, "f4"), 0, False), np.array(0)),
        Case("sum", "inf", f4, (np.array([np.inf, 1], "f4"), None, False), np.array(np.inf, "f4")),
        Case(
            "sum",
            "long",
            f4,
            (np.full(100_000, 0.1, "f4"), None, False),
            np.array(100_000 * np.float64(np.float32(0.1)), "f4"),
            4,
        ),
    ]
    return cases


def _scans_and_order() -> list[Case]:
    cases = []
    for d in SUMMED:
        x = block(d, (3, 4))
        for axis in (0, 1):
            cases.append(Case("cumsum", str(axis), d, (x, axis), rounded(np.cumsum(wide(x), axis), d), 8, 4.0))
            cases.append(Case("cumprod", str(axis), d, (x, axis), rounded(np.cumprod(wide(x), axis), d), 8, 4.0))
        zero = np.array(2, NUMPY[d])
        cases += [Case("cumsum", "0-d", d, (zero, 0), zero), Case("cumprod", "0-d", d, (zero, 0), zero)]
        cases.append(Case("cumsum", "empty", d, (np.zeros((0, 2), NUMPY[d]), 0), np.zeros((0, 2), NUMPY[d])))
    for d in (dt.bool_, dt.float32, dt.float64, *HALVES, *INTS):
        x = block(d, (3, 9))
        for axis in (0, 1):
            for descending in (False, True):
                order = np.apply_along_axis(_order, axis, x.astype(np.float64), descending)
                want = np.take_along_axis(x, order, axis), order
                cases.append(Case("sort", f"{axis}-{descending}", d, (x, axis, descending, True), want))
    nans = np.array([np.nan, 1, -np.inf, np.nan, 3], np.float32)
    for descending in (False, True):
        order = np.array(_order(nans, descending))
        cases.append(Case("sort", f"nan-{descending}", dt.float32, (nans, 0, descending, True), (nans[order], order)))
    one = np.array(1, np.float32)
    cases.append(Case("sort", "0-d", dt.float32, (one, 0, False, True), (one, np.array(0))))
    none = np.zeros((2, 0), np.float32)
    cases.append(Case("sort", "empty", dt.float32, (none, 1, False, True), (none, none.astype(np.int64))))
    return cases


def _order(row: Any, descending: bool) -> list[int]:
    """A stable order by Python's own sort; nan is the largest."""
    key = [(int(np.isnan(v)), 0.0 if np.isnan(v) else float(v)) for v in row]
    if descending:
        return sorted(range(len(row)), key=lambda i: (-key[i][0], -key[i][1]))
    return sorted(range(len(row)), key=key.__getitem__)


def _indexing() -> list[Case]:
    cases = []
    for d in MOVED:
        x, index = block(d, (3, 4, 2)), np.array([[2, 0], [1, 2]])
        src = block(d, (3, 2, 2, 2), 1)
        cases.append(
            Case(
                "index_select",
                "2-d",
                d,
                (x, 1, index),
                np.moveaxis(np.stack([x[:, i] for i in index.ravel()]), 0, 1).reshape(3, 2, 2, 2),
            )
        )
        cases.append(Case("index_select", "empty", d, (x, 1, np.zeros(0, np.int64)), x[:, :0]))
        cases.append(Case("index_select", "0-d index", d, (x, 2, np.array(1)), x[:, :, 1]))
        added, copied = x.copy(), x.copy()
        for k, i in np.ndenumerate(index):
            added[:, i] = added[:, i] + src[(slice(None), *k)]
        distinct = np.array([[3, 0], [1, 2]])
        for k, i in np.ndenumerate(distinct):
            copied[:, i] = src[(slice(None), *k)]
        cases.append(Case("index_add", "2-d", d, (x, 1, index, src), added))
        cases.append(Case("index_copy", "2-d", d, (x, 1, distinct, src), copied))
        cases.append(Case("index_add", "empty", d, (x, 1, np.zeros(0, np.int64), x[:, :0]), x))
        cases.append(Case("index_copy", "empty", d, (x, 1, np.zeros(0, np.int64), x[:, :0]), x))
        at = np.random.default_rng(2).integers(0, 4, (2, 5, 2))
        some, source = np.zeros(at.shape, x.dtype), block(d, (3, 6, 2), 3)
        accumulated = x.copy()
        for (i, j, k), m in np.ndenumerate(at):
            some[i, j, k] = x[i, m, k]
            accumulated[i, m, k] = accumulated[i, m, k] + source[i, j, k]
        once = np.argsort(np.random.default_rng(3).random((2, 4, 2)), 1)
        scattered = x.copy()
        for (i, j, k), m in np.ndenumerate(once):
            scattered[i, m, k] = source[i, j, k]
        cases.append(Case("gather", "part", d, (x, 1, at), some))
        cases.append(Case("scatter_add", "part", d, (x, 1, at, source), accumulated))
        cases.append(Case("scatter", "part", d, (x, 1, once, source), scattered))
        for name in ("scatter", "scatter_add"):
            cases.append(Case(name, "empty", d, (x, 1, at[:, :0], source), x))
        zero, lone = np.array(1, NUMPY[d]), np.array(0)
        cases.append(Case("gather", "0-d", d, (zero, 0, lone), zero))
        cases.append(Case("scatter", "0-d", d, (zero, 0, lone, zero), zero))
        held = block(d, (2, 3), 5)
        held[0, 0] = 0
        found = np.array([i for i, v in np.ndenumerate(held) if v != 0], np.int64).reshape(-1, 2)
        cases.append(Case("nonzero", "2-d", d, (held,), found))
        cases.append(Case("nonzero", "0-d", d, (zero,), np.zeros((1, 0), np.int64)))
        cases.append(Case("positions", "2-d", d, (held,), found @ [3, 1]))
        cases.append(Case("positions", "0-d", d, (zero,), np.zeros(1, np.int64)))
        if not d.is_complex:
            for name, f in (("scatter_amax", np.maximum), ("scatter_amin", np.minimum), ("scatter_prod", np.multiply)):
                small, other = x.clip(0, 3) if d.kind != "b" else x, source[:2, :5]
                reduced = small.copy()
                for (i, j, k), m in np.ndenumerate(at):
                    reduced[i, m, k] = f(reduced[i, m, k], other[i, j, k])
                cases.append(Case(name, "part", d, (small, 1, at, other), reduced, 8))
                cases.append(Case(name, "empty", d, (small, 1, at[:, :0], other[:, :0]), small))
    cases.append(
        Case(
            "index_select",
            "negative",
            dt.float32,
            (np.arange(4, dtype="f4"), 0, np.array([-1, -4])),
            np.array([3, 0], "f4"),
        )
    )
    return cases


def _products() -> list[Case]:
    cases = []
    shapes = [((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3, 2)),
              ((2, 1, 2, 3), (4, 3, 2)),
              ((3,), (4, 3, 2)), ((4, 2, 3), (3,)), ((0, 3), (3, 2)), ((2, 0), (0, 3))]  # fmt: skip
    for d in (dt.float32, dt.float64, dt.complex64, dt.complex128, *INTS):
        for a, b in shapes:
            x, y = block(d, a), block(d, b, 1)
            want = np.matmul(
                x.astype(np.complex128 if d.is_complex else np.float64),
                y.astype(np.complex128 if d.is_complex else np.float64),
            )
            want = want.astype(d.name) if d.category > 1 else want.astype(np.int64).astype(d.name)
            cases.append(Case("matmul", f"{a}@{b}", d, (x, y), np.asarray(want), 8, 4.0))
    for d in (dt.float32, dt.float64):
        x = np.concatenate([block(d, (3, 4)), [[0, -np.inf, 80, -80]]]).astype(d.name)
        e = np.exp(wide(x) - np.max(x, 1, keepdims=True))
        cases.append(Case("softmax", "rows", d, (x, 1), rounded(e / e.sum(1, keepdims=True), d), 4, 1e-6))
        cases.append(Case("softmax", "empty", d, (x[:, :0], 1), x[:, :0]))
    return cases


CASES = [*_shapes(), *_views(), *_reductions(), *_scans_and_order(), *_indexing(), *_products()]
SPECIAL_VALUES = {d: numbers(d) for d in dt.ALL}
