"""Moving elements between channels and space."""

from __future__ import annotations

from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num

_PUBLIC = {"composite": True, "spaces": ("", "nn.functional"), "method": False}


def _image(name, input, factor, what):
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {what}, but got {factor}")
    *lead, channels, height, width = input.shape
    return tuple(lead), channels, height, width


@op(**_PUBLIC)
def pixel_shuffle(input: Num, upscale_factor):
    """(*, C r^2, H, W) to (*, C, H r, W r), r = upscale_factor (Shi et al. 2016). RuntimeError for other channels."""
    r = upscale_factor
    lead, channels, height, width = _image("pixel_shuffle", input, r, "upscale_factor")
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(lead)
    parts = T.reshape(input, (*lead, channels // (r * r), r, r, height, width))
    parts = T.permute(parts, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return T.reshape(parts, (*lead, channels // (r * r), height * r, width * r))


@op(**_PUBLIC)
def pixel_unshuffle(input: Num, downscale_factor):
    """(*, C, H r, W r) to (*, C r^2, H, W), r = downscale_factor: the inverse of `pixel_shuffle`. RuntimeError for
    other sizes.
    """
    r = downscale_factor
    lead, channels, height, width = _image("pixel_unshuffle", input, r, "downscale_factor")
    for name, size in (("height", height), ("width", width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size of it={size} is "
                f"not divisible by {r}"
            )
    n = len(lead)
    parts = T.reshape(input, (*lead, channels, height // r, r, width // r, r))
    parts = T.permute(parts, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return T.reshape(parts, (*lead, channels * r * r, height // r, width // r))


@op(composite=True, spaces=("", "nn.functional"), method=False, alias=("native_channel_shuffle",))
def channel_shuffle(input: Num, groups):
    """(N, C, *) with its channels in the order of (groups, C / groups) transposed (Zhang et al. 2017)."""
    if input.ndim < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *space = input.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    parts = T.reshape(input, (batch, groups, channels // groups, *space))
    return T.reshape(T.permute(parts, (0, 2, 1, *range(3, parts.ndim))), (batch, channels, *space))
