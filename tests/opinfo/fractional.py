"""Rows of `framework/ops/fractional.py`."""

import numpy as np

from . import OpInfo, Sample

REAL = ("float64", "float32")


def _pool(x, kernel_size, output_size, output_ratio=None, return_indices=False, _random_samples=None):
    """Plane by plane: window i of n along a dimension starts at floor(a (i + u)) - floor(a u), a = (size - kernel) / (n
    - 1).
    """
    samples = _random_samples
    dims = samples.shape[-1]
    planes = x.reshape(*samples.shape[:2], *x.shape[-dims:])
    kernel, new = (v if isinstance(v, tuple) else (v,) * dims for v in (kernel_size, output_size))
    values, places = np.empty((*planes.shape[:2], *new)), np.empty((*planes.shape[:2], *new), "int64")
    for b, c, *at in np.ndindex(values.shape):
        u = samples[b, c][::-1] if dims == 2 else samples[b, c]
        corner = []
        for d, i in enumerate(at):
            size, kind = planes.shape[2 + d], samples.dtype.type
            if i == new[d] - 1:
                corner.append(size - kernel[d])
            else:
                a = kind(size - kernel[d]) / kind(new[d] - 1)
                corner.append(int((i + u[d]) * a) - int(u[d] * a))
        window = planes[(b, c, *[slice(s, s + k) for s, k in zip(corner, kernel)])]
        top = np.unravel_index(np.argmax(window), window.shape)
        values[(b, c, *at)] = window[top]
        places[(b, c, *at)] = np.ravel_multi_index([s + t for s, t in zip(corner, top)], planes.shape[2:])
    shape = (*x.shape[:-dims], *new)
    return (values.reshape(shape), places.reshape(shape)) if return_indices else values.reshape(shape)


def _draws(draw, *shape):
    return draw(*shape, low=0, high=1)


ROWS = [
    OpInfo(
        "nn.functional.fractional_max_pool2d",
        lambda draw: [
            Sample((draw.apart(2, 3, 5, 6), 2, (3, 2), None, False, _draws(draw, 2, 3, 2))),
            Sample((draw.apart(2, 6, 5), (1, 3), 3, None, True, _draws(draw, 1, 2, 2))),
        ],
        _pool,
        dtypes=REAL,
        out=False,
        grad=False,
        vmap=False,
        errors=(
            ((np.ones((1, 3, 3)), 2), ValueError, "requires specifying either an output_size or an output_ratio"),
            ((np.ones((3, 3)), 2, 2), RuntimeError, "Expected 3D or 4D tensor"),
            ((np.ones((1, 3, 3)), 3, 2), RuntimeError, "too large relative to input size"),
        ),
    ),
    OpInfo(
        "nn.functional.fractional_max_pool3d",
        lambda draw: [Sample((draw.apart(1, 2, 4, 5, 6), 2, (3, 2, 1), None, False, _draws(draw, 1, 2, 3)))],
        _pool,
        dtypes=REAL,
        out=False,
        grad=False,
        vmap=False,
    ),
]
