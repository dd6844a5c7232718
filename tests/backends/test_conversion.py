"""Making arrays, to and from the host, and between dtypes, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from backends import dtypes as dt

from .compare import NUMPY, check, numbers, primitive, values


def named(d: Any) -> str:
    return d.name


@pytest.mark.parametrize("d", dt.ALL, ids=named)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3)])
def test_there_and_back(b: Any, d: Any, shape: tuple[int, ...]) -> None:
    primitive(b, "asarray", d)
    a = np.resize(numbers(d), shape).astype(NUMPY[d])
    x = b.asarray(a)
    assert type(x) is b.array
    assert b.dtype_of(x) is b.like(x) is d
    check(np.asarray(b.to_numpy(x)), a)


@pytest.mark.parametrize("d", [d for d in dt.ALL if d is not dt.bfloat16], ids=named)
def test_awkward_memory(b: Any, d: Any) -> None:
    """Negative and zero strides, steps, transposes, the other byte order, read-only memory."""
    primitive(b, "asarray", d)
    a = np.resize(numbers(d), (4, 6)).astype(d.name)
    frozen = a.copy()
    frozen.flags.writeable = False
    for awkward in (a[::-1], a[:, ::-2], a.T, a[:, 1::2], np.broadcast_to(a[0], (3, 6)), frozen, a[1:1], a[:, 0]):
        check(np.asarray(b.to_numpy(b.asarray(awkward))), awkward)
    if b.name != "array_api":  # the standard has no byte orders
        swapped = b.asarray(a.astype(a.dtype.newbyteorder(">")))
        assert b.dtype_of(swapped) is d
        np.testing.assert_array_equal(np.asarray(b.to_numpy(swapped)), a)


def test_later_writes_to_the_source_are_not_seen(b: Any) -> None:
    if b.aliasing or b.name == "array_api":
        pytest.skip("asarray shares memory here")
    a = np.arange(3.0)
    x = b.asarray(a)
    a[...] = 9
    np.testing.assert_array_equal(b.to_numpy(x), [0, 1, 2])


@pytest.mark.parametrize("to", dt.ALL, ids=named)
@pytest.mark.parametrize("d", dt.ALL, ids=named)
def test_astype(b: Any, d: Any, to: Any) -> None:
    """Values that both dtypes hold, fractions, and what every float-to-float cast does with nan and inf."""
    if d not in b.capabilities.dtypes or to not in b.capabilities.dtypes:
        pytest.skip(f"{b.name} lacks one of the dtypes")
    if b.name == "array_api" and d.is_complex and not to.is_complex:
        pytest.skip("the standard casts no complex number to a real one")
    a = numbers(d)
    if to.category < d.category and to.category == 1:
        a = a[np.isfinite(a)]
        a = a[(np.abs(a) < 100) & ((a.real >= 0) | to.is_signed)]
    elif to.category == 1 and d.category == 1:
        a = a[: len(a) // 2]  # wraps
    want = (a.real if d.is_complex and not to.is_complex and to is not dt.bool_ else a).astype(NUMPY[to])
    if to is dt.bool_:
        want = a != 0
    check(values(b, b.astype(b.asarray(a), to)), want)
    check(values(b, b.asarray(a, to)) if b.name != "array_api" else want, want)


@pytest.mark.parametrize("d", dt.ALL, ids=named)
def test_full(b: Any, d: Any) -> None:
    primitive(b, "full", d)
    some: list[Any] = [0, 1, True]
    if d.kind in "iu":
        some += [np.iinfo(d.name).max, np.iinfo(d.name).min]
    if d.category > 1:
        some += [0.1, -0.0, float("inf"), float("nan")]
    if d.is_complex:
        some += [1 - 2j]
    for value in some:
        for shape in ((), (2, 3), (0,)):
            check(values(b, b.full(shape, value, d)), np.full(shape, value, NUMPY[d]))


@pytest.mark.parametrize("d", [dt.int32, dt.int64, dt.uint8, dt.float32, dt.float64], ids=named)
def test_arange(b: Any, d: Any) -> None:
    for start, stop, step in ((0, 5, 1), (5, 0, -2), (0, 0, 1), (3, 1, 1), (2, 9, 3)):
        check(values(b, b.arange(start, stop, step, d)), np.array(range(start, stop, step), d.name))
    if d is dt.int64:
        check(values(b, b.arange(2**62, 2**62 + 3, 1, d)), np.array([2**62, 2**62 + 1, 2**62 + 2]))
    if d is dt.float64:
        check(values(b, b.arange(0.0, 1.0, 0.1, d)), np.array([0.1 * i for i in range(10)]), 2)


def test_refusals(b: Any) -> None:
    if b.name == "array_api":
        pytest.skip("what its library does")
    for unknown in (np.array(["a"]), np.array([None]), np.zeros(2, "M8[s]"), np.zeros(2, [("x", "f4")])):
        with pytest.raises(TypeError, match="supported types"):
            b.dtype_of(b.asarray(unknown))
    makers = (
        lambda d: b.asarray(np.ones(2, d.name)),
        lambda d: b.full((2,), 1, d),
        lambda d: b.arange(0, 2, 1, d),
        lambda d: b.astype(b.full((2,), 1, dt.float32), d),
    )
    for d in [d for d in dt.ALL if d not in b.capabilities.dtypes]:
        for make in makers:
            with pytest.raises(TypeError, match=f"no {d.name}; use"):
                make(d)
