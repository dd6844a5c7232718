"""Convolution primitives against a direct sum, against each other as transposes, and within their memory bound."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.im2col import tiles
from backends.numpy_like_convolution import Convolution
from backends.windows import conv_output_size
from tests.backends.windows_cases import Conv, channels_last, convolutions, normal, unhurried
from tests.references import windows as reference


class Small(Convolution):
    """Tiles so small that every way of cutting the output is taken."""

    np = np
    conv_workspace = 400


class Usual(Convolution):
    np = np


BACKENDS = Usual(), Small()
backends, formats, seeds = st.sampled_from(BACKENDS), st.booleans(), st.integers(0, 999)


@unhurried
@given(convolutions(), backends, formats, formats, seeds)
def test_convolution_is_the_direct_sum(case, backend, x_last, w_last, seed):
    x, w = normal(seed, case.x, last=x_last), normal(seed + 1, case.w, last=w_last)
    np.testing.assert_allclose(
        backend.conv(x, w, *case.parameters), reference.convolution(x, w, *case.parameters), 1e-12, 1e-12
    )


@unhurried
@given(convolutions(), backends, formats, formats, st.sampled_from(("float64", "complex128")), seeds)
def test_transposes(case, backend, x_last, g_last, dtype, seed):
    x, w = normal(seed, case.x, dtype, x_last), normal(seed + 1, case.w, dtype)
    y = backend.conv(x, w, *case.parameters)
    g = normal(seed + 2, y.shape, dtype, g_last)
    back = backend.conv_input(g, w, *case.parameters, case.x[2:])
    weight = backend.conv_weight(x, g, *case.parameters, case.w[2:])
    assert back.shape == x.shape
    assert weight.shape == w.shape
    assert weight.flags.c_contiguous
    scale = np.abs(y * g).sum() + 1
    assert abs((y * g).sum() - (x * back).sum()) <= 1e-12 * scale
    assert abs((y * g).sum() - (w * weight).sum()) <= 1e-12 * scale


@unhurried
@given(convolutions(), backends, formats, formats, seeds)
def test_transposes_are_the_direct_sums(case, backend, g_last, w_last, seed):
    x, w = normal(seed, case.x), normal(seed + 1, case.w, last=w_last)
    size, kernel = case.x[2:], case.w[2:]
    out = conv_output_size(size, kernel, case.stride, case.padding, case.dilation)
    g = normal(seed + 2, (case.x[0], case.w[0], *out), last=g_last)
    back = reference.convolution_input(g, w, *case.parameters, size)
    np.testing.assert_allclose(backend.conv_input(g, w, *case.parameters, size), back, 1e-12, 1e-12)
    weight = reference.convolution_weight(x, g, *case.parameters, kernel)
    np.testing.assert_allclose(backend.conv_weight(x, g, *case.parameters, kernel), weight, 1e-12, 1e-12)


@unhurried
@given(convolutions(), seeds)
def test_derivatives_are_closed(case, seed):
    """<t, conv_input(g, w)> and <t, conv_weight(x, g)> differentiate into the three functions again."""
    b, p = BACKENDS[0], case.parameters
    x, w = normal(seed, case.x), normal(seed + 1, case.w)
    g = normal(seed + 2, b.conv(x, w, *p).shape)
    size, kernel = case.x[2:], case.w[2:]
    t = normal(seed + 3, x.shape)  # cotangent of conv_input(g, w)
    form = (t * b.conv_input(g, w, *p, size)).sum()
    assert form == pytest.approx((g * b.conv(t, w, *p)).sum(), 1e-10, 1e-10)
    assert form == pytest.approx((w * b.conv_weight(t, g, *p, kernel)).sum(), 1e-10, 1e-10)
    t = normal(seed + 4, w.shape)  # cotangent of conv_weight(x, g)
    form = (t * b.conv_weight(x, g, *p, kernel)).sum()
    assert form == pytest.approx((x * b.conv_input(g, t, *p, size)).sum(), 1e-10, 1e-10)
    assert form == pytest.approx((g * b.conv(x, t, *p)).sum(), 1e-10, 1e-10)


TYPICAL = {
    "3x3": Conv((2, 16, 12, 12), (16, 16, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "stride 2": Conv((2, 16, 13, 12), (24, 16, 3, 3), (2, 2), (1, 1), (1, 1), 1),
    "few input channels": Conv((2, 3, 20, 20), (32, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    "pointwise": Conv((2, 16, 12, 12), (24, 16, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "pointwise, small images": Conv((3, 16, 3, 3), (24, 16, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    "pointwise, groups": Conv((2, 32, 12, 12), (48, 16, 1, 1), (1, 1), (0, 0), (1, 1), 2),
    "depthwise": Conv((2, 16, 12, 12), (16, 1, 3, 3), (1, 1), (1, 1), (1, 1), 16),
    "depthwise multiplier": Conv((2, 16, 12, 12), (32, 1, 3, 3), (2, 2), (1, 1), (1, 1), 16),
    "groups": Conv((2, 32, 12, 12), (32, 16, 3, 3), (1, 1), (1, 1), (1, 1), 2),
    "patches": Conv((2, 3, 32, 32), (48, 3, 8, 8), (8, 8), (0, 0), (1, 1), 1),
    "dilated": Conv((2, 16, 12, 12), (16, 16, 3, 3), (1, 1), (2, 2), (2, 2), 1),
    "stride beyond the kernel": Conv((2, 16, 14, 13), (16, 16, 2, 2), (3, 4), (1, 1), (1, 1), 1),
    "one dimension": Conv((3, 16, 50), (16, 16, 5), (2,), (2,), (1,), 1),
    "three dimensions": Conv((2, 8, 6, 7, 8), (16, 8, 3, 2, 3), (2, 1, 1), (1, 0, 1), (1, 1, 2), 1),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int64"])
@pytest.mark.parametrize("name", TYPICAL)
def test_dtypes(name, dtype):
    case = TYPICAL[name]
    x, w = normal(1, case.x, dtype), normal(2, case.w, dtype)
    if dtype == "int64":
        x, w = np.random.default_rng(1).integers(-9, 9, case.x), np.random.default_rng(2).integers(-9, 9, case.w)
    y = BACKENDS[0].conv(x, w, *case.parameters)
    g = np.ones_like(y) if dtype == "int64" else normal(3, y.shape, dtype)
    back = BACKENDS[0].conv_input(g, w, *case.parameters, case.x[2:])
    weight = BACKENDS[0].conv_weight(x, g, *case.parameters, case.w[2:])
    assert {y.dtype, back.dtype, weight.dtype} == {np.dtype(dtype)}
    wide = "complex128" if np.dtype(dtype).kind == "c" else "float64"
    expected = reference.convolution(x.astype(wide), w.astype(wide), *case.parameters)
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    sizes = reference.convolution(np.abs(x).astype("float64"), np.abs(w).astype("float64"), *case.parameters)
    assert (np.abs(y - expected) <= tolerance * (sizes + 1)).all()
    total = (expected * g).sum()
    assert abs((x * back.astype(wide)).sum() - total) <= tolerance * (sizes * np.abs(g)).sum()
    assert abs((w * weight.astype(wide)).sum() - total) <= tolerance * (sizes * np.abs(g)).sum()


@pytest.mark.parametrize("name", [n for n, c in TYPICAL.items() if len(c.x) > 3])
def test_memory_formats(name):
    """Channels-last in, channels-last out, whichever operand has it; the values do not change."""
    case, b = TYPICAL[name], BACKENDS[0]
    x, w = normal(1, case.x), normal(2, case.w)
    y = b.conv(x, w, *case.parameters)
    g = normal(3, y.shape)
    back = b.conv_input(g, w, *case.parameters, case.x[2:])
    weight = b.conv_weight(x, g, *case.parameters, case.w[2:])
    assert y.flags.c_contiguous
    assert back.flags.c_contiguous
    xl, gl = channels_last(x), channels_last(g)
    for operands in ((xl, w), (xl, channels_last(w))):
        z = b.conv(*operands, *case.parameters)
        np.testing.assert_allclose(z, y, 1e-12, 1e-12)
        assert np.moveaxis(z, 1, -1).flags.c_contiguous
    z = b.conv_input(gl, w, *case.parameters, case.x[2:])
    np.testing.assert_allclose(z, back, 1e-12, 1e-12)
    assert np.moveaxis(z, 1, -1).flags.c_contiguous
    for operands in ((xl, g), (x, gl), (xl, gl)):
        np.testing.assert_allclose(b.conv_weight(*operands, *case.parameters, case.w[2:]), weight, 1e-12, 1e-12)


@pytest.mark.parametrize("name", TYPICAL)
def test_any_strides_and_read_only_operands(name):
    case, b = TYPICAL[name], BACKENDS[0]
    x, w = normal(1, case.x), normal(2, case.w)
    y = b.conv(x, w, *case.parameters)
    apart = np.zeros((*case.x[:-1], 2 * case.x[-1]))[..., ::2]
    apart[...] = x
    backwards = np.ascontiguousarray(w[::-1])[::-1]
    for a in (apart, backwards):
        a.setflags(write=False)
    np.testing.assert_allclose(b.conv(apart, backwards, *case.parameters), y, 1e-12, 1e-12)
    everywhere = np.broadcast_to(1.5, y.shape)  # what the gradient of a sum looks like
    solid = np.array(everywhere)
    np.testing.assert_allclose(
        b.conv_input(everywhere, w, *case.parameters, case.x[2:]),
        b.conv_input(solid, w, *case.parameters, case.x[2:]), 1e-12, 1e-12,
    )  # fmt: skip
    np.testing.assert_allclose(
        b.conv_weight(apart, everywhere, *case.parameters, case.w[2:]),
        b.conv_weight(x, solid, *case.parameters, case.w[2:]), 1e-12, 1e-12,
    )  # fmt: skip


def test_nothing_in_gives_zeros_out():
    b, ones = BACKENDS[0], (1, 1)
    x, w = np.ones((0, 2, 4, 4)), np.ones((3, 2, 3, 3))
    assert b.conv(x, w, ones, ones, ones, 1).shape == (0, 3, 4, 4)
    weight = b.conv_weight(x, np.ones((0, 3, 4, 4)), ones, ones, ones, 1, (3, 3))
    np.testing.assert_array_equal(weight, np.zeros((3, 2, 3, 3)))
    back = b.conv_input(np.ones((2, 0, 4, 4)), np.ones((0, 2, 3, 3)), ones, ones, ones, 1, (4, 4))
    np.testing.assert_array_equal(back, np.zeros((2, 2, 4, 4)))
    np.testing.assert_array_equal(
        b.conv(np.ones((2, 0, 4, 4)), np.ones((3, 0, 3, 3)), ones, ones, ones, 1), np.zeros((2, 3, 4, 4))
    )


@unhurried
@given(st.integers(0, 3), st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 300))
def test_tiles_cover_everything_once(images, out, groups, workspace):
    seen, out = np.zeros((groups, images, *out), int), tuple(out)
    for tile in tiles(images, out, groups, 8, workspace):
        block = seen[(tile.groups, tile.images, *tile.box)]
        assert block.shape == tile.shape
        assert block.size * 8 <= max(workspace, 8)
        if tile.shape[1] == 1:  # consecutive places of the image
            flat = np.arange(np.prod(out)).reshape(out)[tile.box].ravel()
            np.testing.assert_array_equal(flat, np.arange(tile.start, tile.stop))
        else:
            assert block.shape[2:] == out
        block += 1
    assert (seen == 1).all()


LARGE = {
    "wide": Conv((1, 32, 200, 200), (32, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many images": Conv((64, 32, 25, 25), (32, 32, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    "long": Conv((1, 8, 200_000), (8, 8, 31), (1,), (15,), (1,), 1),
    "deep": Conv((1, 8, 24, 48, 48), (8, 8, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    "few channels out of many": Conv((2, 3, 160, 160), (64, 3, 7, 7), (2, 2), (3, 3), (1, 1), 1),
    "depthwise": Conv((4, 256, 56, 56), (256, 1, 3, 3), (1, 1), (1, 1), (1, 1), 256),
}


@pytest.mark.parametrize("name", LARGE)
def test_workspace_is_bounded(name):
    """Far below the im2col matrix of the whole: the result, and 32 MB at most besides."""
    case, b = LARGE[name], BACKENDS[0]
    x, w = np.ones(case.x, "float32"), np.ones(case.w, "float32")

    def peak(f):
        tracemalloc.start()
        result = f()
        used = tracemalloc.get_traced_memory()[1] - result.nbytes
        tracemalloc.stop()
        return result, used

    y, used = peak(lambda: b.conv(x, w, *case.parameters))
    whole = y[:, 0].size * x.shape[1] * np.prod(case.w[2:]) * 4
    bound = min(32 << 20, whole / 3)
    assert used < bound
    assert peak(lambda: b.conv_input(y, w, *case.parameters, case.x[2:]))[1] < bound
    assert peak(lambda: b.conv_weight(x, y, *case.parameters, case.w[2:]))[1] < bound
