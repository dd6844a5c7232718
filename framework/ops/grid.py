"""Sampling an image at given places: `grid_sample`, and the places of an affine map, `affine_grid`.

(Jaderberg et al. 2015.) Places are (x, y) or (x, y, z) between -1 and 1, the edges of the image.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np

from backends.dtypes import int64
from framework.core.shape import Size
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num
from framework.ops.index_range import from_host

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")


def _warn_align(align_corners):
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            UserWarning,
            stacklevel=4,
        )
    return bool(align_corners)


def _number(value, like):
    return T.full((), value, T.like(like))


def _clipped(x, size):
    """x within the image; where it is not, a constant."""
    low, high = T.le(x, 0), T.ge(x, size - 1)
    return T.where(low, _number(0, x), T.where(high, _number(size - 1, x), x))


def _reflected(x, size, align):
    """x thrown back from the centres of the edge pixels, or from their outer edges, as often as it takes."""
    low, span = (0.0, size - 1) if align else (-0.5, size)
    if not span:
        return T.where(T.eq(x, x), _number(0, x), _number(0, x))
    away = T.abs(x - low)
    turns = T.floor(away / span)
    rest = away - turns * span
    back = T.ne(turns - 2 * T.floor(turns / 2), 0)
    return T.where(back, span - rest, rest) + low


def _bounded(x, size, padding, align):
    if padding == "reflection":
        x = _reflected(x, size, align)
    return x if padding == "zeros" else _clipped(x, size)


def _rounded(x):
    """The nearest integer, the even one of two."""
    up = T.floor(x + 0.5)
    tie, odd = T.eq(up - x, 0.5), T.ne(up - 2 * T.floor(up / 2), 0)
    return T.where(T.logical_and(tie, odd), up - 1, up)


def _cubic(t):
    """Weights of the four pixels around a place t past the second (Keys 1981, a = -3/4)."""
    a = -0.75
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (t, 1 - t)]
    far = [((a * d - 5 * a) * d + 8 * a) * d - 4 * a for d in (t + 1, 2 - t)]
    return [far[0], near[0], near[1], far[1]]


def _ways(x, size, mode, padding, align):
    """[(pixel as a float, weight or None)] along one dimension for places x in pixels."""
    if mode == "bicubic":
        first = T.floor(x)
        weights = _cubic(x - first)
        return [(_bounded(first + k, size, padding, align), w) for k, w in zip((-1, 0, 1, 2), weights, strict=True)]
    x = _bounded(x, size, padding, align)
    if mode == "nearest":
        return [(_rounded(x), None)]
    first = T.floor(x)
    return [(first, first + 1 - x), (first + 1, x - first)]


def _inside(pixel, size):
    return T.logical_and(T.ge(pixel, 0), T.le(pixel, size - 1))


def _sampled(input, grid, mode, padding, align):
    batch, channels, *sizes = input.shape
    places = tuple(grid.shape[1:-1])
    rank = len(sizes)
    ways = []
    for d, size in enumerate(sizes):
        x = T.slice(grid, (..., rank - 1 - d))
        x = (x + 1) * ((size - 1) / 2) if align else ((x + 1) * size - 1) / 2
        ways.append(_ways(x, size, mode, padding, align))
    rows = T.permute(input, (0, *range(2, rank + 2), 1))
    rows = T.reshape(rows, (batch * int(np.prod(sizes)), channels))
    start = from_host(input, (np.arange(batch) * int(np.prod(sizes))).reshape(-1, *[1] * rank))
    out = None
    for corner in product(*ways):
        index, weight, seen = start, None, None
        for d, (pixel, w) in enumerate(corner):
            size = sizes[d]
            inside = _inside(pixel, size)  # False for NaN
            pixel = T.astype(T.where(inside, pixel, _number(0, pixel)), int64)
            index = index + pixel * int(np.prod(sizes[d + 1 :]))
            seen = inside if seen is None else T.logical_and(seen, inside)
            if w is not None:
                weight = w if weight is None else weight * w
        part = T.index_select(rows, 0, index)
        if weight is not None:
            part = part * T.unsqueeze(weight, (weight.ndim,))
        part = T.where(T.unsqueeze(seen, (seen.ndim,)), part, _number(0, part))
        out = part if out is None else out + part
    return T.permute(T.reshape(out, (batch, *places, channels)), (0, rank + 1, *range(1, rank + 1)))


def _check(input, grid, mode):
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} and grid has "
            f"{grid.dtype}"
        )
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if min(input.shape[2:]) <= 0:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)}"
        )
    if mode == "bicubic" and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


@op(composite=True, spaces=("nn.functional",), method=False)
def grid_sample(input: Num, grid: Num, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The values of input (N, C, H, W) at the places grid (N, H', W', 2), or with a depth before: (N, C, H', W').

    Between pixels by `mode` bilinear, nearest or bicubic (images only); outside by `padding_mode` zeros, border or
    reflection.
    -1 and 1 are the outer edges of the edge pixels, or their centres with `align_corners`. A place that is NaN gets
    zeros. The grid has no gradient where a place is cut off, nor in mode nearest.

    ValueError for another mode, RuntimeError for shapes and dtypes that do not fit.
    """
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    align = _warn_align(align_corners)
    _check(input, grid, mode)
    return _sampled(input, grid, mode, padding_mode, align)


def _centres(size, align):
    """The places of a dimension's pixels."""
    if size == 1:
        return np.zeros(1)
    return np.linspace(-1, 1, size) * (1 if align else (size - 1) / size)


@op(composite=True, spaces=("nn.functional",), method=False)
def affine_grid(theta: Num, size, align_corners=None):
    """The grid for `grid_sample` that maps each pixel of an output of `size` (N, C, H, W) by theta (N, 2, 3): (N, H, W,
    2).

    Or with a depth, by theta (N, 3, 4). ValueError for shapes that do not fit, NotImplementedError for other numbers of
    dimensions.
    """
    align = _warn_align(align_corners)
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    size = Size([int(n) for n in size])
    rank = len(size) - 2
    if rank not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (rank, rank + 1):
        raise ValueError(
            f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x{rank + 1} for size {size}. Got "
            f"{theta.shape}."
        )
    if align and min(size[2:]) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed for unit-size grids when align_corners=True. This "
            "is not an intended use case of affine_grid. See the documentation of affine_grid for details.",
            UserWarning,
            stacklevel=3,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    lines = np.meshgrid(*[_centres(n, align) for n in size[2:]], indexing="ij")
    base = np.stack([*[line.ravel() for line in reversed(lines)], np.ones(lines[0].size)], 1)
    grid = T.matmul(T.astype(from_host(theta, base), theta.dtype), T.mT(theta))
    return T.reshape(grid, (theta.shape[0], *size[2:], rank))
