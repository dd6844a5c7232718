"""Convolution and pooling of every backend against loops over windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends import dtypes as dt
from tests.references.windows import convolution, largest, windows

from .compare import native, primitive, values
from .windows_cases import Conv, Pool, convolutions, normal, poolings, unhurried

seeds = st.integers(0, 999)
DTYPES = (dt.float32, dt.float64, dt.complex64, dt.complex128, dt.int64)


def some(seed: int, shape: tuple[int, ...], d: Any) -> Any:
    return (
        (3 * normal(seed, shape, "complex128" if d.is_complex else "float64"))
        .round(2 * d.is_floating_point)
        .astype(d.name)
    )


def close(got: Any, want: Any, d: Any) -> None:
    assert got.dtype == want.dtype
    tolerance = {4: 2e-5, 8: 2e-5 if d.is_complex else 1e-12, 16: 1e-12}[d.itemsize]
    np.testing.assert_allclose(got, want, tolerance, tolerance * 30)


@pytest.mark.parametrize("d", DTYPES, ids=lambda d: d.name)
@unhurried
@given(convolutions(), seeds)
def test_convolution(b: Any, d: Any, case: Conv, seed: int) -> None:
    f = primitive(b, "conv", d)
    x, w = some(seed, case.x, d), some(seed + 1, case.w, d)
    y = values(b, f(*native(b, (x, w)), *case.parameters))
    close(y, convolution(x, w, *case.parameters), d)


@pytest.mark.parametrize("d", DTYPES, ids=lambda d: d.name)
@unhurried
@given(convolutions(), seeds)
def test_transposes(b: Any, d: Any, case: Conv, seed: int) -> None:
    """<g, conv(x, w)> = <conv_input(g, w), x> = <conv_weight(x, g), w>, for every basis vector: by the direct sum's
    matrix.
    """
    f = primitive(b, "conv_input", d)
    x, w = some(seed, case.x, d), some(seed + 1, case.w, d)
    g = some(seed + 2, convolution(x, w, *case.parameters).shape, d)
    exact = np.clongdouble if d.is_complex else np.longdouble
    total = (g.astype(exact) * convolution(x.astype(exact), w.astype(exact), *case.parameters)).sum()
    of_x = values(b, f(*native(b, (g, w)), *case.parameters, case.x[2:]))
    of_w = values(b, b.conv_weight(*native(b, (x, g)), *case.parameters, case.w[2:]))
    assert of_x.shape == x.shape
    assert of_w.shape == w.shape
    assert of_x.dtype == of_w.dtype == x.dtype
    size = float(np.abs(of_x).astype(float).ravel() @ np.abs(x).astype(float).ravel()) + 1
    tolerance = {4: 1e-5, 8: 1e-5 if d.is_complex else 1e-13, 16: 1e-13}[d.itemsize] * size
    assert abs((of_x * x.astype(exact)).sum() - total) <= tolerance
    assert abs((of_w * w.astype(exact)).sum() - total) <= tolerance


@pytest.mark.parametrize("d", [dt.float32, dt.float64, dt.float16, dt.int32, dt.uint8, dt.bool_], ids=lambda d: d.name)
@unhurried
@given(poolings(), seeds)
def test_max_pool(b: Any, d: Any, case: Pool, seed: int) -> None:
    f = primitive(b, "max_pool", d)
    assume(all(found for _, found in windows(case.x[2:], *case[1:])))  # a dilated window may see nothing but padding
    x = np.abs(some(seed, case.x, dt.float64)).round().astype(d.name)  # with equal ones
    if d.is_floating_point and seed % 2:
        x.flat[:: 3 + seed % 5] = [np.nan, -np.inf][seed % 4 == 1]
    got = values(b, f(*native(b, (x,)), *case[1:]))
    for result, want in zip(got, largest(x, *case[1:]), strict=True):
        np.testing.assert_array_equal(result, want)
        assert result.dtype == want.dtype


@pytest.mark.parametrize("d", [dt.float32, dt.float64, dt.complex64], ids=lambda d: d.name)
@unhurried
@given(poolings(), seeds)
def test_sums(b: Any, d: Any, case: Pool, seed: int) -> None:
    f = primitive(b, "avg_pool_sum", d)
    case = case._replace(dilation=(1,) * len(case.kernel))
    rule = case.kernel, case.stride, case.padding, case.ceil_mode
    x = some(seed, case.x, d)
    got = values(b, f(*native(b, (x,)), *rule))
    want, spread = np.zeros(got.shape, d.name), np.zeros(x.shape, d.name)
    g = some(seed + 1, got.shape, d)
    for place, found in windows(case.x[2:], *case[1:]):
        for _, at in found:
            want[(..., *place)] += x[(..., *at)]
            spread[(..., *at)] += g[(..., *place)]
    close(got, want, d)
    close(values(b, b.avg_pool_spread(*native(b, (g,)), *rule, case.x[2:])), spread, d)


@pytest.mark.parametrize("shapes", [((2, 0, 5), (3, 0, 3)), ((0, 2, 5), (3, 2, 3)), ((2, 2, 5), (0, 2, 3))])
def test_no_elements(b: Any, shapes: Any) -> None:
    """Sizes of zero, which kill a process inside MLX."""
    f = primitive(b, "conv")
    x, w = (b.asarray(np.ones(s, np.float32)) for s in shapes)
    rule = (1,), (0,), (1,), 1
    y = values(b, f(x, w, *rule))
    np.testing.assert_array_equal(y, np.zeros((shapes[0][0], shapes[1][0], 3), np.float32))
    g = b.asarray(y)
    np.testing.assert_array_equal(values(b, b.conv_input(g, w, *rule, (5,))), np.zeros(shapes[0], np.float32))
    np.testing.assert_array_equal(values(b, b.conv_weight(x, g, *rule, (3,))), np.zeros(shapes[1], np.float32))
