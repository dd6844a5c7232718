"""Padding: `pad` in all its modes."""

from __future__ import annotations

import numpy as np

from framework.core.tensor import make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num
from framework.ops.index_range import from_host

MODES = ("constant", "reflect", "replicate", "circular")


def _sides(input, pad):
    """(dimension, before, after) of each dimension that `pad` names, from the last one on."""
    sizes = [int(n) for n in pad]
    if len(sizes) % 2:
        raise RuntimeError(f"Padding length must be divisible by 2, got {sizes} (pad)")
    if len(sizes) > 2 * input.ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(sizes)} and input of dimension {input.ndim} (pad)"
        )
    return [(input.ndim - 1 - i, sizes[2 * i], sizes[2 * i + 1]) for i in range(len(sizes) // 2)]


def _constant(input, sides, value):
    shape, taken, written = list(input.shape), [slice(None)] * input.ndim, [slice(None)] * input.ndim
    for dim, before, after in sides:
        n = input.shape[dim]
        shape[dim] = n + before + after
        if shape[dim] < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative output size, "
                f"which is invalid. Check dimension {dim} of your input. (pad)"
            )
        taken[dim] = slice(max(-before, 0), max(n + min(after, 0), 0))
        written[dim] = slice(max(before, 0), shape[dim] - max(after, 0))
    size, taken, written = tuple(shape), tuple(taken), tuple(written)
    inner = T.slice(input, taken)
    out = T.slice_put(inner, written, size)
    if not value:
        return out
    mask = np.zeros(size, bool)
    mask[written] = True
    mask = make(input.backend, input.backend.asarray(mask))
    return T.where(mask, out, T.full((), value, T.like(input)))


def _positions(mode, n, before, after):
    """Which element stands at each place of a padded dimension of n elements."""
    p = np.arange(-before, n + after)
    if mode == "circular":
        return p % n
    if mode == "replicate":
        return np.clip(p, 0, n - 1)
    return np.where(p < 0, -p, np.where(p >= n, 2 * (n - 1) - p, p))


def _check(input, sides, mode):
    spatial = len(sides)
    if not (1 <= spatial <= 3 and input.ndim in (spatial + 1, spatial + 2)):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now, one or two dimensions more "
            f"than are padded: got an input of {input.ndim} dimensions and padding of {spatial} (pad, mode {mode!r})"
        )
    if any(not n for n in input.shape[1 if input.ndim == spatial + 2 else 0 :]):
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(input.shape)} (pad, mode {mode!r})"
        )
    for dim, before, after in sides:
        n = input.shape[dim]
        if mode == "reflect" and max(before, after) >= n:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: padding "
                f"({before}, {after}) at dimension {dim} of input {list(input.shape)} (pad, mode 'reflect')"
            )
        if mode == "circular" and max(before, after) > n:
            raise RuntimeError(
                f"Padding value causes wrapping around more than once: padding ({before}, {after}) at dimension {dim} "
                f"of input {list(input.shape)} (pad, mode 'circular')"
            )
        if n + before + after < (0 if mode == "circular" else 1):
            raise RuntimeError(
                f"pad: the output of dimension {dim} is too small: size {n} with padding ({before}, {after})"
            )


@op(composite=True, spaces=("nn.functional",), method=False)
def pad(input: Num, pad, mode="constant", value=None):
    """`input` with `pad` = (before the last dimension, after it, before the one before it, ...) elements around it;
    negative ones crop.

    "constant" puts `value`, 0 by default; "reflect" mirrors the values at the edge, which itself comes once;
    "replicate" repeats the edge; "circular" goes on at the other end. These three take 1 to 3 of the last dimensions of
    an input with one or two more.
    """
    sides = _sides(input, pad)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}: it must be one of {', '.join(MODES)}")
    if mode == "constant":
        return _constant(input, sides, 0 if value is None else value)
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    _check(input, sides, mode)
    for dim, before, after in sides:
        if before or after:
            index = _positions(mode, input.shape[dim], before, after)
            input = T.index_select(input, dim, from_host(input, index))
    return input


@op(composite=True, method=False)
def constant_pad_nd(input: Num, pad, value=0):
    """`nn.functional.pad` with a constant."""
    return _constant(input, _sides(input, pad), value)
