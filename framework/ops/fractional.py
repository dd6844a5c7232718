"""Fractional max pooling: windows at places drawn so that the output has any size (Graham 2014)."""

from __future__ import annotations

from math import prod

import numpy as np

from framework.core.host import to_host
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num
from framework.ops.index_range import from_host

LETTERS = {2: "HW", 3: "THW"}


def _each(value, dims, name):
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    if len(values) != dims:
        raise ValueError(
            f"fractional_max_pool{dims}d requires {name} to either be one number or a tuple of {dims}, got {value}"
        )
    return values


def _starts(samples, size, new, kernel):
    """(planes, new): where the windows of each plane begin along one dimension; the last one ends with it."""
    last = np.full((len(samples), 1), size - kernel)
    if new == 1:
        return last
    kind = samples.dtype.type
    step = kind(size - kernel) / kind(new - 1)
    places = np.arange(new - 1, dtype=samples.dtype)[None]
    found = ((places + samples[:, None]) * step).astype("int64") - (samples[:, None] * step).astype("int64")
    return np.concatenate([found, last], 1)


def _places(samples, sizes, new, kernel):
    """(planes, windows, elements of a window): where in a plane, in rows of one, each element of each window lies."""
    planes, dims = samples.shape
    index = np.zeros((planes, *[1] * (2 * dims)), "int64")
    for d in range(dims):
        draw = (
            samples[:, dims - 1 - d] if dims == 2 else samples[:, d]
        )  # images: the first number is that of the columns
        ways = _starts(draw, sizes[d], new[d], kernel[d])[:, :, None] + np.arange(kernel[d])
        shape = [planes, *[1] * (2 * dims)]
        shape[1 + d], shape[1 + dims + d] = new[d], kernel[d]
        index = index * sizes[d] + ways.reshape(shape)
    return index.reshape(planes, prod(new), prod(kernel))


def _pooled(dims, input, kernel_size, output_size, output_ratio, samples):
    name = f"fractional_max_pool{dims}d"
    kernel = _each(kernel_size, dims, "kernel_size")
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"{name}: Expected {dims + 1}D or {dims + 2}D tensor, but got: {list(input.shape)}")
    sizes, lead = tuple(input.shape[-dims:]), tuple(input.shape[:-dims])
    if 0 in input.shape[1 - input.ndim :]:
        raise RuntimeError(
            f"{name}: Expected input to have non-zero size for non-batch dimensions, but got {list(input.shape)}"
        )
    if output_size is None:
        ratios = _each(output_ratio, dims, "output_ratio")
        new = tuple(int(n * r) for n, r in zip(sizes, ratios, strict=True))
    else:
        new = tuple(int(n) for n in _each(output_size, dims, "output_size"))
    for letter, size, n, k in zip(LETTERS[dims], sizes, new, kernel, strict=True):
        if n < 1 or n + k - 1 > size:
            raise RuntimeError(
                f"{name}: pool size {kernel} too large relative to input size {sizes}: along {letter} {n} windows of "
                f"{k} do not fit in {size}"
            )
    batch, channels = (1, *lead)[-2:]
    if samples is None:
        samples = PUBLIC[""]["rand"](batch, channels, dims, dtype=input.dtype, device=input.device)
    if tuple(samples.shape) != (batch, channels, dims):
        raise RuntimeError(
            f"{name}: Expect _random_samples of shape {(batch, channels, dims)}, got {tuple(samples.shape)}"
        )
    planes, area = prod(lead), prod(kernel)
    places = _places(np.asarray(to_host(samples)).reshape(planes, dims), sizes, new, kernel)
    values = T.gather(T.reshape(input, (planes, prod(sizes))), 1, from_host(input, places.reshape(planes, -1)))
    values = T.reshape(values, (1, planes, values.shape[1]))
    largest, at = T.max_pool(values, (area,), (area,), (0,), (1,), False)
    flat = T.reshape(from_host(input, places), (planes, -1))
    index = T.gather(flat, 1, T.reshape(at, (planes, -1)))
    return T.reshape(largest, (*lead, *new)), T.reshape(index, (*lead, *new))


def _define(dims):
    size = "(N, C, H, W) or (C, H, W)" if dims == 2 else "(N, C, D, H, W) or (C, D, H, W)"

    def with_indices(
        input: Num, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
    ):
        return _pooled(dims, input, kernel_size, output_size, output_ratio, _random_samples)

    def plain(input: Num, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        found = _pooled(dims, input, kernel_size, output_size, output_ratio, _random_samples)
        return found if return_indices else found[0]

    doc = (
        f"The largest value of windows of `kernel_size` over {size}, at places drawn for each plane so that the "
        "output has\n    `output_size`, or `output_ratio` of the input; {}.\n\n    `_random_samples` (N, C, "
        f"{dims}) are the numbers in [0, 1) to use. ValueError, RuntimeError for sizes that do not fit."
    )
    for name, function, says in (
        (f"fractional_max_pool{dims}d_with_indices", with_indices, "with their places in the plane"),
        (f"fractional_max_pool{dims}d", plain, "with their places in the plane if `return_indices`"),
    ):
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc.format(says)
        op(composite=True, spaces=("nn.functional",), method=False)(function)


for _dims in LETTERS:
    _define(_dims)
