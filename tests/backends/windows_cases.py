"""Random geometries for convolutions and poolings, and arrays in either memory format."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

unhurried = settings(deadline=None)  # the time of a single example says nothing on a busy machine


class Conv(NamedTuple):
    """Shapes and parameters of a convolution."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @property
    def parameters(self):
        return self.stride, self.padding, self.dilation, self.groups


@st.composite
def convolutions(draw):
    """Any dimensions, strides with a remainder, wide padding, groups, empty batches, no output channels."""
    dims = draw(st.integers(1, 3))
    several = lambda low, high: st.tuples(*[st.integers(low, high)] * dims)
    groups, channels, outputs = draw(st.sampled_from((1, 1, 2, 3))), draw(st.integers(1, 4)), draw(st.integers(0, 4))
    kernel, stride = draw(several(1, 4)), draw(several(1, 3))
    dilation, padding = draw(several(1, 3)), draw(several(0, 5))
    if draw(st.integers(0, 9)) == 0:  # pointwise
        kernel, stride, padding = (1,) * dims, (1,) * dims, (0,) * dims
    spare = draw(several(0, 5))
    size = tuple(
        max(1, d * (k - 1) + 1 - 2 * p) + more for d, k, p, more in zip(dilation, kernel, padding, spare, strict=True)
    )
    images = draw(st.integers(0, 3))
    return Conv(
        (images, groups * channels, *size), (groups * outputs, channels, *kernel), stride, padding, dilation, groups
    )


class Pool(NamedTuple):
    """Shape and parameters of a pooling."""

    x: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    ceil_mode: bool


@st.composite
def poolings(draw):
    """Any dimensions, padding up to half the kernel, dilation, strides beyond the kernel."""
    dims = draw(st.integers(1, 3))
    several = lambda low, high: st.tuples(*[st.integers(low, high)] * dims)
    kernel, stride, dilation = draw(several(1, 4)), draw(several(1, 5)), draw(several(1, 2))
    padding = tuple(draw(st.integers(0, k // 2)) for k in kernel)
    spare = draw(several(0, 5))
    size = tuple(
        max(1, d * (k - 1) + 1 - 2 * p) + more for d, k, p, more in zip(dilation, kernel, padding, spare, strict=True)
    )
    lead = draw(st.integers(0, 3)), draw(st.integers(1, 4))
    return Pool((*lead, *size), kernel, stride, padding, dilation, draw(st.booleans()))


def channels_last(a):
    """The same values with the strides of an (N, *S, C) array."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1)


def normal(seed, shape, dtype="float64", last=False):
    """Standard normal values; real and imaginary parts alike."""
    random = np.random.default_rng(seed)
    a = random.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        a = a + 1j * random.standard_normal(shape)
    a = a.astype(dtype)
    return channels_last(a) if last else a
