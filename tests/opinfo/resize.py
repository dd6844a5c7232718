"""Rows of `framework/ops/resize.py` and `windows.py`."""

import math

import numpy as np

from . import OpInfo, Sample

REAL = ("float64", "float32")


def _kernel(mode, t):
    t = abs(t)
    if mode.endswith("linear"):
        return max(1 - t, 0)
    if mode == "lanczos":
        return float(np.sinc(t) * np.sinc(t / 3)) if t < 3 else 0.0
    a = -0.5 if mode == "smooth" else -0.75
    if t < 1:
        return (a + 2) * t**3 - (a + 3) * t**2 + 1
    return a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a if t < 2 else 0.0


def _line(v, new, scale, mode, align, antialias):
    """One line of numbers resized, place by place."""
    n, out = len(v), []
    for i in range(new):
        step = (n - 1) / max(new - 1, 1) if align else 1 / scale if scale else n / new
        if mode.startswith("nearest"):
            out.append(v[min(int((i + 0.5 * (mode != "nearest")) * step), n - 1)])
        elif mode == "area":
            part = v[math.floor(i * n / new) : math.ceil((i + 1) * n / new)]
            out.append(sum(part) / len(part))
        elif antialias:
            centre, wide = (i + 0.5) * step, max(step, 1)
            weights = [_kernel({"bicubic": "smooth"}.get(mode, mode), (j + 0.5 - centre) / wide) for j in range(n)]
            out.append(np.dot(weights, v) / sum(weights))
        else:
            at = i * step if align else (i + 0.5) * step - 0.5
            at = at if mode == "bicubic" else min(max(at, 0), n - 1)
            places = range(math.floor(at) - 1, math.floor(at) + 3)
            out.append(sum(_kernel(mode, at - j) * v[min(max(j, 0), n - 1)] for j in places))
    return np.array(out)


def _interpolate(
    x, size=None, scale_factor=None, mode="nearest", align_corners=False, recompute_scale_factor=False, antialias=False
):
    x = x.astype("float64")
    dims = x.ndim - 2
    scales = [scale_factor] * dims if not isinstance(scale_factor, tuple) else scale_factor
    sizes = [size] * dims if not isinstance(size, tuple) else size
    for d in range(dims):
        new = sizes[d] or math.floor(x.shape[d + 2] * scales[d])
        scale = None if recompute_scale_factor or mode == "area" else scales[d]
        x = np.apply_along_axis(_line, d + 2, x, new, scale, mode, align_corners, antialias)
    return x


def _resizes(draw):
    line, image, volume = draw(2, 2, 5), draw(2, 1, 5, 4), draw(1, 2, 3, 4, 3)
    for mode in ("nearest", "nearest-exact", "area"):
        yield Sample((line,), {"size": 7, "mode": mode})
        yield Sample((image,), {"scale_factor": (0.7, 1.6), "mode": mode})
        yield Sample((volume,), {"size": (2, 3, 5), "mode": mode})
    for align in (False, True):
        yield Sample((line,), {"scale_factor": 1.7, "mode": "linear", "align_corners": align})
        yield Sample((volume,), {"size": 4, "mode": "trilinear", "align_corners": align})
        for mode in ("bilinear", "bicubic"):
            yield Sample((image,), {"size": (8, 3), "mode": mode, "align_corners": align})
            yield Sample(
                (image,), {"scale_factor": 1.3, "mode": mode, "align_corners": align, "recompute_scale_factor": True}
            )
    for mode in ("bilinear", "bicubic", "lanczos"):
        yield Sample((draw(1, 1, 9, 4),), {"size": (4, 6), "mode": mode, "antialias": True})


def _spread(value):
    return value if isinstance(value, tuple) else (value, value)


def _windows(size, kernel, dilation, padding, stride):
    """For every window the rows and columns of its elements in the padded plane."""
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(size, kernel, dilation, padding, stride)]
    for i, j in np.ndindex(*counts):
        yield np.ix_(
            [i * stride[0] + a * dilation[0] for a in range(kernel[0])],
            [j * stride[1] + b * dilation[1] for b in range(kernel[1])],
        )


def _unfold(x, kernel_size, dilation=1, padding=0, stride=1):
    k, d, p, s = (_spread(v) for v in (kernel_size, dilation, padding, stride))
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p[0], p[0]), (p[1], p[1])])
    columns = [padded[(..., *w)].reshape(*x.shape[:-3], -1) for w in _windows(x.shape[-2:], k, d, p, s)]
    return np.stack(columns, -1)


def _fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    size, k, d, p, s = (_spread(v) for v in (output_size, kernel_size, dilation, padding, stride))
    out = np.zeros((*x.shape[:-2], x.shape[-2] // (k[0] * k[1]), size[0] + 2 * p[0], size[1] + 2 * p[1]))
    for i, w in enumerate(_windows(size, k, d, p, s)):
        out[(..., *w)] += x[..., i].reshape(*x.shape[:-2], -1, *k)
    return out[..., p[0] : p[0] + size[0], p[1] : p[1] + size[1]]


ROWS = [
    OpInfo(
        "nn.functional.interpolate",
        _resizes,
        _interpolate,
        dtypes=(*REAL, "bfloat16"),
        out=False,
        tolerance=4,
        errors=(
            ((np.ones((1, 1, 3)), 3, 2.0), ValueError, "only one of size or scale_factor should be defined"),
            ((np.ones((1, 1, 3)),), ValueError, "either size or scale_factor should be defined"),
            ((np.ones((1, 1, 3)), (2, 2)), ValueError, "must have the same number of spatial dimensions"),
            ((np.ones((1, 1, 3)), 2.5), TypeError, "expected size to be one of int"),
            ((np.ones((1, 1, 3)), 0), RuntimeError, "sizes should be greater than 0"),
            ((np.ones((1, 1, 3)), 2, None, "nearest", True), ValueError, "align_corners option can only be set"),
            (
                (np.ones((1, 1, 3)), 2, None, "bilinear"),
                NotImplementedError,
                "Got 3D input, but bilinear mode needs 4D input",
            ),
            ((np.ones((1, 1, 3)), 2, None, "linear", None, None, True), ValueError, "Anti-alias option is restricted"),
        ),
    ),
    OpInfo(
        "nn.functional.unfold",
        lambda draw: [
            Sample((draw(2, 3, 4, 5), 2)),
            Sample((draw(3, 4, 5), (3, 1)), {"padding": (1, 0), "stride": 2}),
            Sample((draw(1, 2, 5, 5), 2), {"dilation": (2, 1), "stride": (1, 3)}),
        ],
        _unfold,
        dtypes=REAL,
        out=False,
        errors=(
            ((np.ones((2, 2)), 1), RuntimeError, "Expected 3D or 4D"),
            ((np.ones((1, 2, 2)), 3), RuntimeError, "must be at least one"),
            ((np.ones((1, 2, 2)), 1, 0), RuntimeError, "dilation should be greater than zero"),
        ),
    ),
    OpInfo(
        "nn.functional.fold",
        lambda draw: [
            Sample((draw(2, 12, 6), (3, 4), 2)),
            Sample((draw(6, 6), (3, 5), (3, 1)), {"padding": (1, 0), "stride": (2, 2)}),
            Sample((draw(1, 4, 9), 5, 2), {"dilation": 2}),
        ],
        _fold,
        dtypes=REAL,
        out=False,
        errors=(
            ((np.ones((2, 2, 2, 2)), 2, 1), RuntimeError, "Expected 2D or 3D"),
            ((np.ones((3, 4)), 2, 2), RuntimeError, "to be divisible by"),
            ((np.ones((4, 4)), 2, 2), RuntimeError, "sliding blocks"),
        ),
    ),
]
