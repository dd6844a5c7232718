"""Pooling primitives against a loop over windows, and sums against their transposes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends.numpy_like_pooling import Pooling
from backends.windows import conv_output_size, pool_output_size, valid_range
from tests.backends.windows_cases import Pool, channels_last, normal, poolings, unhurried
from tests.references import windows as reference


class Small(Pooling):
    np = np
    pool_workspace = 1


class Usual(Pooling):
    np = np


BACKENDS = Usual(), Small()
backends, formats, seeds = st.sampled_from(BACKENDS), st.booleans(), st.integers(0, 999)


@unhurried
@given(poolings(), backends, formats, seeds, st.sampled_from(("float64", "float32", "int32", "uint8")))
def test_max_pool_is_the_loop(case, backend, last, seed, dtype):
    assume(all(found for _, found in reference.windows(case.x[2:], *case[1:])))
    x = np.random.default_rng(seed).integers(0, 4, case.x).astype(dtype)  # many ties
    if x.dtype.kind == "f":
        x -= 2
        special = np.random.default_rng(seed).random(case.x)
        x[special < 0.2] = np.nan
        x[special > 0.6] = -np.inf
    expected = reference.largest(x, *case[1:])
    values, index = backend.max_pool(channels_last(x) if last else x, *case[1:])
    assert values.dtype == x.dtype
    assert index.dtype == np.int64
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(index, expected[1])


@unhurried
@given(poolings(), backends, formats, seeds, st.sampled_from(("float64", "complex128", "int64")))
def test_sums(case, backend, last, seed, dtype):
    case = case._replace(dilation=(1,) * len(case.kernel))
    parameters = case.kernel, case.stride, case.padding, case.ceil_mode
    x = normal(seed, case.x, dtype, last) * (10 if dtype == "int64" else 1)
    y = backend.avg_pool_sum(x, *parameters)
    np.testing.assert_allclose(y, reference.sums(x, *parameters), 1e-12, 1e-12)
    assert y.dtype == x.dtype
    g = normal(seed + 1, y.shape, dtype)
    back = backend.avg_pool_spread(g, *parameters, case.x[2:])
    np.testing.assert_allclose(back, reference.spread(g, *parameters, case.x[2:]), 1e-12, 1e-12)
    assert abs((y * g).sum() - (x * back).sum()) <= 1e-12 * ((abs(y) * abs(g)).sum() + 1)


@unhurried
@given(poolings())
def test_output_size_counts_the_windows_that_see_something(case):
    """Without ceil_mode: windows inside the padded input. With it: partial ones before the right padding too."""
    for n, k, s, p, d in zip(case.x[2:], *case[1:5], strict=True):
        starts = range(-p, n + p, s)
        inside = [a for a in starts if a + d * (k - 1) + 1 <= n + p]
        # one more window than fits whole, if something is left over for it to cover
        partial = [a for a in starts if a < n and a - s + d * (k - 1) + 1 < n + p]
        assert pool_output_size((n,), (k,), (s,), (p,), (d,), False) == (len(inside),)
        assert conv_output_size((n,), (k,), (s,), (p,), (d,)) == (len(inside),)
        assert pool_output_size((n,), (k,), (s,), (p,), (d,), True) == (max(len(partial), len(inside)),)


@unhurried
@given(st.integers(0, 8), st.integers(0, 6), st.integers(1, 4), st.integers(-9, 9))
def test_valid_range(size, out, stride, offset):
    start, stop = valid_range(size, out, stride, offset)
    inside = [o for o in range(out) if 0 <= o * stride + offset < size]
    assert list(range(start, stop)) == inside


@pytest.mark.parametrize("size", [(7,), (7, 6), (4, 5, 3)])
def test_one_window_over_everything(size):
    case = Pool((2, 3, *size), size, (1,) * len(size), (0,) * len(size), (1,) * len(size), False)
    x = normal(1, case.x)
    axes = tuple(range(2, x.ndim))
    y = BACKENDS[0].avg_pool_sum(x, *case[1:4], False)
    np.testing.assert_allclose(y, x.sum(axes, keepdims=True), 1e-12)
    np.testing.assert_array_equal(BACKENDS[0].max_pool(x, *case[1:])[0], x.max(axes, keepdims=True))
    g = normal(2, y.shape)
    np.testing.assert_array_equal(BACKENDS[0].avg_pool_spread(g, *case[1:4], False, size), np.broadcast_to(g, x.shape))


def test_more_elements_than_a_byte_counts():
    x = normal(1, (1, 2, 40, 40))
    parameters = (20, 20), (7, 7), (3, 3), (1, 1), False
    values, index = BACKENDS[0].max_pool(x, *parameters)
    expected = reference.largest(x, *parameters)
    np.testing.assert_array_equal(values, expected[0])
    np.testing.assert_array_equal(index, expected[1])


@pytest.mark.parametrize("shape", [(2, 5, 8, 9), (2, 5, 4, 6, 5)])
def test_memory_format_is_kept(shape):
    dims = len(shape) - 2
    x, two, zero = channels_last(normal(1, shape)), (2,) * dims, (0,) * dims
    results = [*BACKENDS[0].max_pool(x, two, two, zero, (1,) * dims, False)]
    results.append(BACKENDS[0].avg_pool_sum(x, two, two, zero, False))
    results.append(BACKENDS[0].avg_pool_spread(results[-1], two, two, zero, False, shape[2:]))
    for y in results:
        assert np.moveaxis(y, 1, -1).flags.c_contiguous
