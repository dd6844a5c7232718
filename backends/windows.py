"""Sizes of sliding windows, as plain integers: what convolutions and poolings give for an input of some size."""

from __future__ import annotations

__all__ = ["conv_output_size", "pool_output_size", "valid_range"]


def conv_output_size(
    size: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[int, ...]:  # fmt: skip
    """The number of windows along each dimension: floor((size + 2*padding - dilation*(kernel - 1) - 1) / stride) + 1.

    It is zero or negative where the kernel is larger than the padded input; the caller decides what that means.
    """
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def pool_output_size(
    size: tuple[int, ...], kernel: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...],
    dilation: tuple[int, ...], ceil_mode: bool,
) -> tuple[int, ...]:  # fmt: skip
    """The output size of a pooling. With `ceil_mode` a last, partial window counts too, provided that it starts inside
    the input or its left padding: one that would start in the right padding sees nothing and is dropped.
    """
    if not ceil_mode:
        return conv_output_size(size, kernel, stride, padding, dilation)
    result = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True):
        out = -((d * (k - 1) + 1 - n - 2 * p) // s) + 1
        result.append(out - 1 if (out - 1) * s >= n + p else out)
    return tuple(result)


def valid_range(size: int, out: int, stride: int, offset: int) -> tuple[int, int]:
    """The window numbers `start <= o < stop` (within `out`) whose position o*stride + offset lies inside the input."""
    start = max(0, -(offset // stride))
    stop = min(out, (size - 1 - offset) // stride + 1)
    return start, max(start, stop)
