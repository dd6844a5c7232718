"""Resizing: `interpolate` in all its modes, one dimension after the other.

A mode says for each place of the new dimension which old places it is made of, and their weights. Cubic convolution:
Keys 1981.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from math import floor

import numpy as np

from backends.dtypes import float32, float64, uint8
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num
from framework.ops.index_range import from_host

NEAREST = ("nearest", "nearest-exact")
RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
WIDTHS = {"bilinear": 2, "bicubic": 4, "lanczos": 6}  # support of the filter that goes with antialias


def _step(size, new, scale, align, kind):
    """How far apart in the old dimension the places of the new one lie."""
    if align:
        return kind(size - 1) / kind(new - 1) if new > 1 else kind(0)
    return kind(1 / scale) if scale else kind(size) / kind(new)


@lru_cache(maxsize=256)
def _nearest(size, new, scale, exact):
    places = np.arange(new, dtype="float32") + np.float32(0.5 if exact else 0)
    found = np.floor(places * np.float32(_step(size, new, scale, False, np.float32)))
    return np.minimum(found.astype("int64"), size - 1)


def _cubic(t, a):
    """Keys' kernel at the distances t."""
    t = np.abs(t)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t < 1, near, np.where(t < 2, far, 0))


@lru_cache(maxsize=256)
def _taps(size, new, scale, align, cubic, precision):
    """(indices, weights), both (taps, new): each new place is a weighted sum of old ones."""
    kind = np.dtype(precision).type
    step, places = _step(size, new, scale, align, kind), np.arange(new, dtype=kind)
    at = places * step if align else (places + kind(0.5)) * step - kind(0.5)
    if not cubic:
        at = np.maximum(at, 0)
    first = np.floor(at)
    rest = (at - first).astype(kind)
    first = first.astype("int64")
    if cubic:
        index = first + np.arange(-1, 3)[:, None]
        weights = _cubic(rest - np.arange(-1, 3, dtype=kind)[:, None], -0.75)
    else:
        index, weights = np.stack([first, first + 1]), np.stack([1 - rest, rest])
    return np.clip(index, 0, size - 1), weights.astype(kind)


def _filter(t, mode):
    if mode == "bilinear":
        return np.maximum(1 - np.abs(t), 0)
    if mode == "bicubic":
        return _cubic(t, -0.5)
    return np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0)


@lru_cache(maxsize=256)
def _smoothing(size, new, scale, align, mode):
    """The (new, size) matrix of a filter that is widened by the factor of shrinking, so that nothing aliases."""
    step = float(_step(size, new, scale, align, np.float64))
    wide = max(step, 1.0)
    matrix = np.zeros((new, size))
    for i in range(new):
        centre, support = step * (i + 0.5), WIDTHS[mode] / 2 * wide
        low, high = max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), size)
        weights = _filter((np.arange(low, high) - centre + 0.5) / wide, mode)
        matrix[i, low:high] = weights / weights.sum()
    return matrix


def _along(x, dim, weights):
    """A vector of weights shaped to stand along `dim`."""
    return T.reshape(weights, (-1, *[1] * (x.ndim - dim - 1)))


def _combined(x, dim, index, weights):
    out = None
    for i, w in zip(index, weights, strict=True):
        part = T.index_select(x, dim, from_host(x, i)) * _along(x, dim, T.astype(from_host(x, w), x.dtype))
        out = part if out is None else out + part
    return out


def _smoothed(x, dim, matrix):
    matrix = T.astype(from_host(x, matrix), x.dtype)
    if dim == x.ndim - 1:
        return T.matmul(x, T.mT(matrix))
    return T.matmul(matrix, x)


def _resized(x, mode, sizes, scales, align, antialias):
    dims = range(x.ndim - 1, 1, -1)
    if mode in NEAREST:
        for dim, new, scale in zip(dims, sizes[::-1], scales[::-1], strict=True):
            x = T.index_select(x, dim, from_host(x, _nearest(x.shape[dim], new, scale, mode != "nearest")))
        return x
    dtype = x.dtype
    if dtype not in (float32, float64):
        x = T.astype(x, float32)
    precision = "float64" if dtype is float64 else "float32"
    for dim, new, scale in zip(dims, sizes[::-1], scales[::-1], strict=True):
        size = x.shape[dim]
        if antialias:
            x = _smoothed(x, dim, _smoothing(size, new, scale, align, mode))
        elif not (size == new and (align or not scale or scale == 1)):
            x = _combined(x, dim, *_taps(size, new, scale, align, mode == "bicubic", precision))
    if dtype is uint8:
        x = T.maximum(T.minimum(T.floor(x + 0.5), 255), 0)
    return x if x.dtype is dtype else T.astype(x, dtype)


def _each(value, input, name):
    """One value for each spatial dimension."""
    dims = input.ndim - 2
    if not isinstance(value, (list, tuple)):
        return [value] * dims
    if len(value) != dims:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(input.shape[2:])} and {name} of {value}. Please provide input tensor in (N, C, d1, d2, ...,dK) "
            f"format and {name} in (o1, o2, ...,oK) format."
        )
    return list(value)


def _target(input, size, scale_factor, recompute):
    """(sizes, scales or Nones): what the caller said, for each dimension."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes = _each(size, input, "output size")
        if not all(hasattr(n, "__index__") for n in sizes):
            raise TypeError(
                f"expected size to be one of int or a tuple of them, but got size with types {[type(n) for n in sizes]}"
            )
        return [int(n) for n in sizes], [None] * len(sizes)
    scales = _each(scale_factor, input, "scale_factor")
    sizes = [floor(n * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    return sizes, [None] * len(sizes) if recompute else [float(s) for s in scales]


def _check(input, mode, antialias):
    if antialias and not (mode in WIDTHS and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    wanted = RANKS.get(mode)
    if input.ndim in (3, 4, 5) and wanted not in (None, input.ndim) and mode in ("linear", "bilinear", "trilinear"):
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {wanted}D input")
    if input.ndim not in (3, 4, 5) or (mode not in (*NEAREST, "area") and wanted != input.ndim):
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: nearest | "
            f"linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )
    if mode not in NEAREST and not (input.dtype.is_floating_point or (input.dtype is uint8 and input.ndim == 4)):
        raise RuntimeError(
            f"interpolate: mode {mode} is not implemented for {input.dtype}; convert the input to a floating point "
            "dtype"
        )


@op(composite=True, spaces=("nn.functional",), method=False)
def interpolate(
    input: Num,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """(N, C, *) with its spatial dimensions resized to `size`, or by `scale_factor`; each is one number or one for each
    dimension.

    Modes: nearest (the place below in index), nearest-exact, area (mean of the old places), linear, bilinear, trilinear
    (for one, two and three dimensions), bicubic, and lanczos with `antialias`, which smooths before shrinking.
    `align_corners` puts the centres of the corner pixels in the same place, not their corners. The scale used is
    `scale_factor`, unless `recompute_scale_factor`.

    ValueError, TypeError for a target that makes no sense; NotImplementedError for a mode that does not go with the
    rank.
    """
    if mode in (*NEAREST, "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, scales = _target(input, size, scale_factor, recompute_scale_factor or (mode == "area" and size is None))
    _check(input, mode, antialias)
    if min(sizes) <= 0 or min(input.shape[1:]) <= 0:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {tuple(input.shape)} and output sizes "
            f"{tuple(sizes)} (interpolate)"
        )
    if mode == "area":
        return PUBLIC["nn.functional"][f"adaptive_avg_pool{input.ndim - 2}d"](input, sizes)
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError(
            f"Lanczos mode {'does not support align_corners=True' if align_corners else 'requires antialias=True'}"
        )
    return _resized(input, mode, sizes, scales, bool(align_corners), antialias)


def _deprecated(name, instead):
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.{instead}` instead.", UserWarning, stacklevel=4
    )


@op(composite=True, spaces=("nn.functional",), method=False)
def upsample(input: Num, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The older name of `interpolate`."""
    _deprecated("upsample", "interpolate")
    return interpolate(input, size, scale_factor, mode, align_corners)


@op(composite=True, spaces=("nn.functional",), method=False)
def upsample_nearest(input: Num, size=None, scale_factor=None):
    """`interpolate` in mode nearest."""
    _deprecated("upsample_nearest", "interpolate")
    return interpolate(input, size, scale_factor, "nearest")


@op(composite=True, spaces=("nn.functional",), method=False)
def upsample_bilinear(input: Num, size=None, scale_factor=None):
    """`interpolate` in mode bilinear with the corners aligned."""
    _deprecated("upsample_bilinear", "interpolate")
    return interpolate(input, size, scale_factor, "bilinear", True)
