"""Rows of `framework/ops/padding.py` and `rearrange.py`."""

import numpy as np

from . import OpInfo, Sample

DTYPES = ("float64", "float32", "int64")


def _pad(x, pad, mode="constant", value=0):
    """NumPy's pad, after cropping by the negative ones."""
    sides = [(0, 0)] * (x.ndim - len(pad) // 2) + [
        tuple(pad[2 * i : 2 * i + 2]) for i in reversed(range(len(pad) // 2))
    ]
    if mode == "replicate":  # crops what it padded, not what it had
        x = np.pad(x, [(max(a, 0), max(b, 0)) for a, b in sides], "edge")
        return x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(sides, x.shape))]
    x = x[tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(sides, x.shape))]
    sides = [(max(a, 0), max(b, 0)) for a, b in sides]
    if mode == "constant":
        return np.pad(x, sides, constant_values=value)
    return np.pad(x, sides, {"reflect": "reflect", "circular": "wrap"}[mode])


def _constants(draw):
    yield Sample((draw(2, 3), (1, 2)))
    yield Sample((draw(2, 3), (1, 0, -1, 2)))
    yield Sample((draw(2, 3, 4), (-1, -1), "constant", 3))
    yield Sample((draw(2, 3, 4), (0, 1, 1, 0, 2, 0), "constant", -2))
    yield Sample((draw(0, 3), (1, 1)))


def _others(draw):
    for mode in ("reflect", "replicate", "circular"):
        yield Sample((draw(2, 4), (2, 1), mode))
        yield Sample((draw(1, 2, 4), (3, 0), mode))
        yield Sample((draw(1, 2, 3, 4), (1, 2, 2, 1), mode))
        yield Sample((draw(1, 3, 3, 3), (1, 0, 0, 1, 2, 2), mode))
    yield Sample((draw(1, 2, 4), (-1, 2), "replicate"))


def _shuffle(x, r):
    *lead, c, h, w = x.shape
    out = np.empty((*lead, c // r**2, h * r, w * r), x.dtype)
    for i in range(r):
        for j in range(r):
            out[..., i::r, j::r] = x[..., i * r + j :: r * r, :, :]
    return out


def _unshuffle(x, r):
    return np.stack([x[..., i::r, j::r] for i in range(r) for j in range(r)], -3).reshape(
        *x.shape[:-3], x.shape[-3] * r * r, x.shape[-2] // r, x.shape[-1] // r
    )


ROWS = [
    OpInfo(
        "nn.functional.pad",
        _constants,
        _pad,
        dtypes=DTYPES,
        out=False,
        errors=(
            ((np.ones((2, 3)), (1, 2, 3)), RuntimeError, "Padding length must be divisible by 2"),
            ((np.ones(3), (-2, -2)), RuntimeError, "resulted in a negative output size"),
            ((np.ones(3), (1, 2), "edge"), NotImplementedError, "Unrecognised padding mode edge"),
        ),
    ),
    OpInfo(
        "nn.functional.pad",
        _others,
        _pad,
        dtypes=DTYPES,
        out=False,
        errors=(
            (
                (np.ones((1, 3)), (3, 0), "reflect"),
                RuntimeError,
                "Padding size should be less than the corresponding input dimension",
            ),
            ((np.ones((1, 3)), (4, 0), "circular"), RuntimeError, "wrapping around more than once"),
        ),
    ),
    OpInfo(
        "constant_pad_nd",
        lambda draw: [Sample((draw(2, 3), (1, 2), 1.5))],
        lambda x, pad, value: _pad(x, pad, "constant", value),
        out=False,
    ),
    OpInfo(
        "nn.functional.pixel_shuffle",
        lambda draw: [Sample((draw(1, 8, 2, 3), 2)), Sample((draw(4, 1, 2), 2))],
        _shuffle,
        out=False,
        dtypes=DTYPES,
        errors=(((np.ones((1, 3, 2, 2)), 2), RuntimeError, "is not divisible by 4"),),
    ),
    OpInfo(
        "nn.functional.pixel_unshuffle",
        lambda draw: [Sample((draw(1, 2, 4, 6), 2)), Sample((draw(1, 3, 3), 3))],
        _unshuffle,
        out=False,
        dtypes=DTYPES,
        errors=(((np.ones((1, 3, 3)), 2), RuntimeError, "divisible by downscale_factor"),),
    ),
    OpInfo(
        "nn.functional.channel_shuffle",
        lambda draw: [Sample((draw(2, 6, 2), 3)), Sample((draw(1, 4, 2, 2), 2))],
        lambda x, g: x.reshape(x.shape[0], g, -1, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape),
        dtypes=DTYPES,
        out=False,
        errors=(((np.ones((1, 5, 2)), 2), RuntimeError, "Number of channels must be divisible by groups"),),
    ),
]
