"""Convolutions and transposed convolutions over one, two and three spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import framework
from framework.core.tensor import Parameter, Tensor
from framework.nn import functional as F
from framework.nn import init
from framework.nn.module import Module
from framework.nn.modules.sizes import reverse_repeated, spread

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

PADDINGS = ("valid", "same")
PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What all convolutions share: the arguments, the parameters and their initial values, the printing."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: str | tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in PADDINGS:
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {PADDINGS}")
            if padding == "same" and any(step != 1 for step in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._explicit_padding()
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (outer, inner // groups, *kernel_size)
        self.weight = Parameter(framework.empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(framework.empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _explicit_padding(self) -> list[int]:
        """The padding as `functional.pad` reads it, for the modes that pad before they convolve."""
        if not isinstance(self.padding, str):
            return reverse_repeated(self.padding)
        if self.padding == "valid":
            return [0, 0] * len(self.kernel_size)
        totals = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
        return [part for total in reversed(totals) for part in (total // 2, total - total // 2)]

    def reset_parameters(self) -> None:
        """Draw new initial values: weight and bias uniform on +-1/sqrt(fan_in)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        zeros, ones = (0,) * len(self.kernel_size), (1,) * len(self.kernel_size)
        words = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        if self.padding != zeros:
            words.append(f"padding={self.padding}")
        if self.dilation != ones:
            words.append(f"dilation={self.dilation}")
        if self.output_padding != zeros:
            words.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            words.append(f"groups={self.groups}")
        if self.bias is None:
            words.append("bias=False")
        if self.padding_mode != "zeros":
            words.append(f"padding_mode={self.padding_mode}")
        return ", ".join(words)


class _Conv(_ConvNd):
    """A convolution over `_dims` spatial dimensions."""

    _dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        dims = self._dims
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size, dims),
            spread(stride, dims),
            padding if isinstance(padding, str) else spread(padding, dims),
            spread(dilation, dims),
            False,
            (0,) * dims,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dims
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def _function(self, *args: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """Convolution (cross-correlation) over (N, C, L) or (C, L).

    `weight` is (out_channels, in_channels / groups, *kernel_size), `bias` (out_channels) or None. `padding` is a
    number, one for each dimension, "valid" or "same" (stride 1 only); `padding_mode` zeros, reflect, replicate or
    circular. Output length: floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1). ValueError for
    channels that the groups do not divide and for other names of paddings.
    """

    _dims = 1

    def _function(self, *args: Any) -> Tensor:
        return F.conv1d(*args)


class Conv2d(_Conv):
    """Convolution (cross-correlation) over (N, C, H, W) or (C, H, W). Arguments and sizes as in `Conv1d`, each one
    number or two."""

    _dims = 2

    def _function(self, *args: Any) -> Tensor:
        return F.conv2d(*args)


class Conv3d(_Conv):
    """Convolution (cross-correlation) over (N, C, D, H, W) or (C, D, H, W). Arguments and sizes as in `Conv1d`, each
    one number or three."""

    _dims = 3

    def _function(self, *args: Any) -> Tensor:
        return F.conv3d(*args)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution over `_dims` spatial dimensions."""

    _dims: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = [spread(value, self._dims) for value in (kernel_size, stride, padding, dilation, output_padding)]
        kernel_size, stride, padding, dilation, output_padding = sizes
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            True,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """How much longer than the shortest the output must be to get `output_size`, of the spatial sizes or the whole
        shape.
        """
        if output_size is None:
            return self.output_padding
        dims = self._dims
        wanted, batched = list(output_size), input.dim() == dims + 2
        if len(wanted) == dims + 1 + batched:
            wanted = wanted[1 + batched :]
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.dim()}D input, output_size must have {dims} or "
                f"{1 + batched + dims} elements (got {len(output_size)})"
            )
        sizes = input.shape[-dims:]
        low = [
            (n - 1) * s - 2 * p + d * (k - 1) + 1
            for n, s, p, d, k in zip(sizes, self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        ]
        high = [n + s - 1 for n, s in zip(low, self.stride, strict=True)]
        if not all(a <= size <= b for a, size, b in zip(low, wanted, high, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {low} to {high} (for an input of "
                f"{sizes})"
            )
        return tuple(size - a for size, a in zip(wanted, low, strict=True))

    def _function(self, *args: Any) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self._output_padding(input, output_size)
        return self._function(
            input, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation
        )


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of `Conv1d` as a linear map: its gradient with respect to the input. Over (N, C, L) or (C, L).

    `weight` is (in_channels, out_channels / groups, *kernel_size), `bias` (out_channels) or None. Output length:
    (L - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1; `forward(input, output_size)` chooses
    the output padding. ValueError for an output size that cannot be had.
    """

    _dims = 1

    def _function(self, *args: Any) -> Tensor:
        return F.conv_transpose1d(*args)


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of `Conv2d`. Arguments and sizes as in `ConvTranspose1d`, each one number or two."""

    _dims = 2

    def _function(self, *args: Any) -> Tensor:
        return F.conv_transpose2d(*args)


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of `Conv3d`. Arguments and sizes as in `ConvTranspose1d`, each one number or three."""

    _dims = 3

    def _function(self, *args: Any) -> Tensor:
        return F.conv_transpose3d(*args)
