"""Reading and writing a view's elements in the flat array of its storage, by geometry, against NumPy's own views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends import dtypes as dt
from backends.base import Geometry

from .compare import NUMPY, check, values


@st.composite
def geometries(draw: Any) -> tuple[int, Geometry]:
    """The size of a storage, and a view of it made by a few basic steps: slices, transposes, new and dropped
    dimensions.
    """
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    view = flat = np.empty(shape, np.int8)
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["slice", "transpose", "int", "new", "split"]))
        if kind == "slice" and view.ndim:
            key = []
            for n in view.shape:
                start = draw(st.integers(0, max(0, n - 1)))
                key.append(slice(start, draw(st.integers(start, n)), draw(st.integers(1, 3))))
            view = view[tuple(key)]
        elif kind == "transpose" and view.ndim > 1:
            view = view.transpose(draw(st.permutations(range(view.ndim))))
        elif kind == "int" and view.ndim and view.shape[0]:
            view = view[draw(st.integers(0, view.shape[0] - 1)), ...]
        elif kind == "new":
            view = view[:, None] if view.ndim else view[None]
        elif kind == "split" and view.ndim and view.shape[-1] % 2 == 0:
            view = view.reshape(*view.shape[:-1], 2, view.shape[-1] // 2)
            if view.base is not flat and not np.shares_memory(view, flat):
                view = flat
    start = view.__array_interface__["data"][0] - flat.__array_interface__["data"][0] if view.size else 0
    return flat.size, Geometry(view.shape, view.strides, start)


def seen(flat: Any, g: Geometry) -> Any:
    size = flat.itemsize
    return np.ndarray(g.shape, flat.dtype, flat, g.offset * size, tuple(s * size for s in g.strides))


@settings(deadline=None, max_examples=150)
@given(geometries(), st.sampled_from([dt.float32, dt.bfloat16, dt.int64, dt.bool_, dt.complex64]))
def test_any_view(b: Any, case: tuple[int, Geometry], d: Any) -> None:
    if d not in b.capabilities.dtypes:
        d = dt.float32
    size, g = case
    flat = (np.arange(size) % 2 if d is dt.bool_ else np.arange(size)).astype(NUMPY[d])
    check(values(b, b.read_at(b.asarray(flat), g)), seen(flat, g))
    other = 1 - np.arange(size) % 2 if d is dt.bool_ else -1 - np.arange(size)
    value = seen(other.astype(NUMPY[d]), g)
    want = flat.copy()
    seen(want, g)[...] = value
    before = b.asarray(flat)
    check(values(b, b.write_at(before, g, b.asarray(value))), want)
    check(values(b, before), flat)  # the old value is still the old value


def test_views_that_overlap_can_be_read(b: Any) -> None:
    flat = np.arange(5, dtype=np.float32)
    for g in (Geometry((3, 3), (1, 1), 0), Geometry((2, 4), (0, 1), 1), Geometry((4,), (0,), 2)):
        check(values(b, b.read_at(b.asarray(flat), g)), seen(flat, g))


def test_writing_through(b: Any) -> None:
    """Aliasing backends write through the native view; the others refuse."""
    if b.name == "array_api":
        pytest.skip("the standard has no writes through views")
    x = b.asarray(np.zeros((2, 2), np.float32))
    view = b.slice(x, (0,))
    if b.aliasing:
        b.write(view, b.asarray(np.ones(2, np.float32)))
        np.testing.assert_array_equal(x, [[1, 1], [0, 0]])
    else:
        with pytest.raises((TypeError, ValueError), match=r"immutable|read-only"):
            b.write(view, b.asarray(np.ones(2, np.float32)))


SRC = -1 - np.arange(8, dtype=np.float32).reshape(2, 4)
WRITES = {
    "write_indexed": [
        (
            ((slice(None), np.array([3, 0])), SRC[:, :2], False),
            lambda v: v.__setitem__((slice(None), [3, 0]), SRC[:, :2]),
        ),
        (
            ((slice(None), np.array([3, 3])), SRC[:, :2], True),
            lambda v: np.add.at(v, (slice(None), [3, 3]), SRC[:, :2]),
        ),
        (
            ((np.array([1, 0]), np.array([2, 2])), SRC[0, :2], True),
            lambda v: np.add.at(v, ([1, 0], [2, 2]), SRC[0, :2]),
        ),
    ],
    "write_scattered": [
        (
            (1, np.array([[3, 0], [1, 1]]), SRC, False),
            lambda v: v.__setitem__(([[0], [1]], [[3, 0], [1, 1]]), SRC[:, :2]),
        ),
        ((0, np.array([[1, 1, 0]]), SRC, True), lambda v: np.add.at(v, ([1, 1, 0], [0, 1, 2]), SRC[0, :3])),
    ],
    "write_where": [
        ((np.array([True, False, True, True]), np.float32(7)), lambda v: v.__setitem__((slice(None), [0, 2, 3]), 7)),
        ((np.arange(8).reshape(2, 4) > 5, np.float32(7)), lambda v: v.__setitem__((1, slice(2, None)), 7)),
    ],
}


@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize(("name", "case"), [(name, i) for name, cases in WRITES.items() for i in range(len(cases))])
def test_writing_elements_through(b: Any, name: str, case: int, step: int) -> None:
    """As `test_writing_through`, for elements named by indices and masks, of contiguous and strided views."""
    if b.name == "array_api":
        pytest.skip("the standard has no writes through views")
    args, expected = WRITES[name][case]
    host = np.arange(3 * 4 * step, dtype=np.float32).reshape(3, 4 * step)
    x = b.asarray(host.copy())
    view = b.slice(x, (slice(1, 3), slice(0, None, step)))
    given = [tuple([b.asarray(k) if isinstance(k, np.ndarray) else k for k in a]) if type(a) is tuple else
             b.asarray(a) if isinstance(a, np.ndarray | np.generic) else a for a in args]  # fmt: skip
    if b.name == "frozen":
        pytest.skip("NumPy's add.at ignores that an array is read-only, and nobody calls this here")
    if not b.aliasing:
        with pytest.raises(TypeError, match="immutable"):
            getattr(b, name)(view, *given)
        return
    getattr(b, name)(view, *given)
    want = host.copy()
    expected(want[1:, ::step])
    np.testing.assert_array_equal(np.asarray(b.to_numpy(x)), want)


def test_writing_where_many_are_true(b: Any) -> None:
    if not b.aliasing:
        pytest.skip("arrays are values here")
    host = np.random.default_rng(0).random((50, 40)).astype(np.float32)
    x = b.asarray(host.copy())
    b.write_where(x, b.asarray(host > 0.5), b.asarray(np.float32(2)))
    np.testing.assert_array_equal(np.asarray(b.to_numpy(x)), np.where(host > 0.5, 2, host))


def test_evaluating_changes_nothing(b: Any) -> None:
    x = b.asarray(np.ones(3, np.float32))
    y = b.add(x, x)
    b.evaluate([x, y])
    np.testing.assert_array_equal(b.to_numpy(y), [2, 2, 2])
