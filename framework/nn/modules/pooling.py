"""Pooling: the largest, the mean or a norm of the values in a window, in windows that fit an output size, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from framework.core.tensor import Tensor
from framework.nn import functional as F
from framework.nn.module import Module
from framework.nn.modules.sizes import spread

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _options(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        places = (self.kernel_size, self.stride, self.padding, self.dilation)
        return places, {"ceil_mode": self.ceil_mode, "return_indices": self.return_indices}


class MaxPool1d(_MaxPoolNd):
    """The largest value of each window over (N, C, L) or (C, L); with `return_indices` also where it was.

    Output length: floor((L + 2 padding - dilation (kernel_size - 1) - 1) / stride + 1), with `ceil_mode` rounded up.
    The padding counts as minus infinity and is at most half the window. The stride is the window unless it is given.
    """

    def forward(self, input: Tensor) -> Any:
        places, options = self._options()
        return F.max_pool1d(input, *places, **options)


class MaxPool2d(_MaxPoolNd):
    """The largest value of each window over (N, C, H, W) or (C, H, W). Arguments and sizes as in `MaxPool1d`, each one
    number or two."""

    def forward(self, input: Tensor) -> Any:
        places, options = self._options()
        return F.max_pool2d(input, *places, **options)


class MaxPool3d(_MaxPoolNd):
    """The largest value of each window over (N, C, D, H, W) or (C, D, H, W). Arguments and sizes as in `MaxPool1d`,
    each one number or three."""

    def forward(self, input: Tensor) -> Any:
        places, options = self._options()
        return F.max_pool3d(input, *places, **options)


class _MaxUnpoolNd(Module):
    _dims: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, self._dims)
        self.stride = spread(stride if stride is not None else kernel_size, self._dims)
        self.padding = spread(padding, self._dims)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the values that `MaxPool1d` kept back at their indices, zeros elsewhere.

    Output length: (L - 1) stride - 2 padding + kernel_size, or `output_size`.
    """

    _dims = 1

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the values that `MaxPool2d` kept back at their indices, zeros elsewhere. Sizes as in `MaxUnpool1d`."""

    _dims = 2

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the values that `MaxPool3d` kept back at their indices, zeros elsewhere. Sizes as in `MaxUnpool1d`."""

    _dims = 3

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window over (N, C, L) or (C, L); sizes as in `MaxPool1d` without dilation.

    The padding counts as zeros; without `count_include_pad` the mean is over the values inside alone.
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = spread(kernel_size, 1)
        self.stride = spread(stride if stride is not None else kernel_size, 1)
        self.padding = spread(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _DividedAvgPool(_AvgPoolNd):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _options(self) -> tuple[Any, ...]:
        places = (self.kernel_size, self.stride, self.padding)
        return (*places, self.ceil_mode, self.count_include_pad, self.divisor_override)


class AvgPool2d(_DividedAvgPool):
    """The mean of each window over (N, C, H, W) or (C, H, W), as `AvgPool1d`; `divisor_override` divides the sum
    instead.
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self._options())


class AvgPool3d(_DividedAvgPool):
    """The mean of each window over (N, C, D, H, W) or (C, D, H, W), as `AvgPool2d`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(input, *self._options())


class _FractionalMaxPoolNd(Module):
    _dims: int

    def __init__(
        self,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name, dims = type(self).__name__, self._dims
        if any(size <= 0 for size in spread(kernel_size, dims)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self.kernel_size = spread(kernel_size, dims)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = spread(output_size, dims) if output_size is not None else None
        self.output_ratio = spread(output_ratio, dims) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _options(self) -> tuple[Any, ...]:
        return self.kernel_size, self.output_size, self.output_ratio, self.return_indices


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest value of windows whose places are drawn so that the output is `output_size`, or `output_ratio` of the
    input (Graham 2014). ValueError unless exactly one of the two is given, the ratio between 0 and 1."""

    _dims = 2

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool2d(input, *self._options(), _random_samples=self._random_samples)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """As `FractionalMaxPool2d`, over (N, C, D, H, W) or (C, D, H, W)."""

    _dims = 3

    def forward(self, input: Tensor) -> Any:
        return F.fractional_max_pool3d(input, *self._options(), _random_samples=self._random_samples)


class _LPPoolNd(Module):
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _options(self) -> tuple[Any, ...]:
        return float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode


class LPPool1d(_LPPoolNd):
    """(sum of x^p)^(1/p) of each window over (N, C, L) or (C, L), p = `norm_type`; sizes as in `AvgPool1d`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, *self._options())


class LPPool2d(_LPPoolNd):
    """As `LPPool1d`, over (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, *self._options())


class LPPool3d(_LPPoolNd):
    """As `LPPool1d`, over (N, C, D, H, W) or (C, D, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, *self._options())


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest value of `output_size` windows that share (N, C, L) or (C, L) out: window i is floor(i L / n) to
    ceil((i + 1) L / n)."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """As `AdaptiveMaxPool1d`, over (N, C, H, W) or (C, H, W); None keeps a size."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """As `AdaptiveMaxPool1d`, over (N, C, D, H, W) or (C, D, H, W); None keeps a size."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The mean of `output_size` windows that share (N, C, L) or (C, L) out, as `AdaptiveMaxPool1d`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """As `AdaptiveAvgPool1d`, over (N, C, H, W) or (C, H, W); None keeps a size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """As `AdaptiveAvgPool1d`, over (N, C, D, H, W) or (C, D, H, W); None keeps a size."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
