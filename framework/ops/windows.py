"""`unfold` and `fold`: windows as columns, and columns summed back into windows."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num
from framework.ops.index_range import from_host


def _pair(value, name):
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(pair) == 1:
        pair *= 2
    if len(pair) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(pair)}")
    return tuple(int(n) for n in pair)


def _geometry(name, kernel_size, dilation, padding, stride):
    sizes = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    sizes = {key: _pair(value, key) for key, value in sizes.items()}
    for key, pair in sizes.items():
        if min(pair) < (0 if key == "padding" else 1):
            raise RuntimeError(
                f"{name}: {key} should be {'non-negative' if key == 'padding' else 'greater than zero'}, but got {pair}"
            )
    return tuple(sizes.values())


def _blocks(size, kernel, dilation, padding, stride):
    """How many windows fit along each dimension."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    )


@lru_cache(maxsize=256)
def _places(size, kernel, dilation, padding, stride):
    """(elements of a window, windows): where in the padded plane, in rows of one, each element of each window lies."""
    ways = []
    for n, k, d, _, s in zip(
        _blocks(size, kernel, dilation, padding, stride), kernel, dilation, padding, stride, strict=True
    ):
        ways.append(np.arange(k)[:, None] * d + np.arange(n)[None, :] * s)
    width = size[1] + 2 * padding[1]
    places = ways[0][:, None, :, None] * width + ways[1][None, :, None, :]
    return places.reshape(kernel[0] * kernel[1], -1)


def _sides(padding):
    return tuple(slice(p, -p if p else None) for p in padding)


@op(composite=True, spaces=("nn.functional",), method=False)
def unfold(input: Num, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of (N, C, H, W) as columns: (N, C prod(kernel_size), L), L windows in rows; or of (C, H, W).

    RuntimeError for another number of dimensions, and if no window fits.
    """
    kernel, dilation, padding, stride = _geometry("unfold", kernel_size, dilation, padding, stride)
    if input.ndim not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)} (unfold)"
        )
    lead, size = tuple(input.shape[:-2]), tuple(input.shape[-2:])
    blocks = _blocks(size, kernel, dilation, padding, stride)
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, calculated shape of the array of sliding blocks as {blocks}, but its components must "
            "be at least one. (unfold)"
        )
    rows, columns = (n + 2 * p for n, p in zip(size, padding, strict=True))
    if any(padding):
        input = T.slice_put(input, (..., *_sides(padding)), (*lead, rows, columns))
    flat = T.reshape(input, (*lead, rows * columns))
    index = from_host(input, _places(size, kernel, dilation, padding, stride))
    found = T.index_select(flat, len(lead), index)
    return T.reshape(found, (*lead[:-1], lead[-1] * kernel[0] * kernel[1], blocks[0] * blocks[1]))


@op(composite=True, spaces=("nn.functional",), method=False)
def fold(input: Num, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The columns of (N, C prod(kernel_size), L), or without N, added up in the places of their windows: (N, C,
    *output_size).

    RuntimeError for shapes that are not those of windows of `output_size`.
    """
    kernel, dilation, padding, stride = _geometry("fold", kernel_size, dilation, padding, stride)
    size = _pair(output_size, "output_size")
    if input.ndim not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(input.shape)} (fold)"
        )
    area, blocks = kernel[0] * kernel[1], _blocks(size, kernel, dilation, padding, stride)
    if input.shape[-2] % area:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={input.shape[-2]} and kernel_size={kernel}. (fold)"
        )
    if min(blocks) < 1 or input.shape[-1] != blocks[0] * blocks[1]:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
            f"stride={stride}, expected size of input's dimension 2 to match the calculated number of sliding blocks "
            f"{blocks[0]} * {blocks[1]} = {blocks[0] * blocks[1]}, but got input.size(2)={input.shape[-1]}. (fold)"
        )
    lead = (*input.shape[:-2], input.shape[-2] // area)
    rows, columns = (n + 2 * p for n, p in zip(size, padding, strict=True))
    index = from_host(input, _places(size, kernel, dilation, padding, stride))
    zeros = T.full((*lead, rows * columns), 0, T.like(input))
    out = T.index_add(zeros, len(lead), index, T.reshape(input, (*lead, area, input.shape[-1])))
    out = T.reshape(out, (*lead, rows, columns))
    return T.slice(out, (..., *_sides(padding))) if any(padding) else out
