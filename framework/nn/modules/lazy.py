"""Modules that learn the size of their input from the first one: `LazyLinear`, lazy convolutions, lazy norms."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.nn.module import Module
from framework.nn.modules.batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from framework.nn.modules.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from framework.nn.modules.instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from framework.nn.modules.linear import Linear
from framework.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
]


class LazyModuleMixin:
    """Before a module class: its uninitialized parameters get their shapes by `initialize_parameters(*args, **kwargs)`
    at the first call, or from a state dictionary; then the module becomes one of class `cls_to_become`.

    Make such a module, call it once on an example, and only then hand its parameters to an optimizer or copy them.
    """

    cls_to_become: type[Module] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._load_hook = module._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = module.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _lazy_load_hook(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Give parameters and buffers the shapes of those that are about to be loaded."""
        module: Any = self
        for name, own in [*module._parameters.items(), *module._buffers.items()]:
            value = state_dict.get(prefix + name)
            if is_lazy(own) and value is not None and not is_lazy(value):
                own.materialize(value.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give every parameter its shape, from the arguments of the first call. Every lazy module writes its own."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        module: Any = self
        return any(is_lazy(t) for t in [*module._parameters.values(), *module._buffers.values()])

    def _infer_parameters(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {type(self).__name__} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self) -> None:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. Run a dummy forward pass to "
            "correctly initialize the modules"
        )


class _Sized(LazyModuleMixin):
    """A lazy module whose parameters follow from one number, the attribute `_size_name`: no initial values while it is
    0.
    """

    _size_name: str

    def reset_parameters(self) -> None:
        """Draw new initial values, if the parameters have shapes."""
        if getattr(self, self._size_name) and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def _become_sized(self, size: int, shapes: dict[str, tuple[int, ...]]) -> None:
        setattr(self, self._size_name, size)
        for name, shape in shapes.items():
            if getattr(self, name) is not None:
                getattr(self, name).materialize(shape)
        self.reset_parameters()


class LazyLinear(_Sized, Linear):
    """A `Linear` whose in_features is the size of the first input's last dimension."""

    cls_to_become = Linear
    _size_name = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            size = input.shape[-1]
            self._become_sized(size, {"weight": (self.out_features, size), "bias": (self.out_features,)})
        elif self.in_features == 0:  # the weights came from a state dictionary
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = input.shape[-1]


class _LazyConvolution(_Sized):
    """A lazy convolution: in_channels is the first input's number of channels."""

    _size_name = "in_channels"

    def _make_uninitialized(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        module: Any = self
        if self.has_uninitialized_params():
            size = self._get_in_channels(input)
            if size % module.groups:
                raise ValueError("in_channels must be divisible by groups")
            outer, inner = (size, self.out_channels) if module.transposed else (self.out_channels, size)
            weight = (outer, inner // module.groups, *module.kernel_size)
            self._become_sized(size, {"weight": weight, "bias": (self.out_channels,)})

    def _get_in_channels(self, input: Tensor) -> int:
        dims = self._get_num_spatial_dims()
        if input.ndim not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {input.shape}"
            )
        return input.shape[-dims - 1]  # type: ignore[no-any-return]

    def _get_num_spatial_dims(self) -> int:
        return self._dims  # type: ignore[attr-defined, no-any-return]


class _LazyConv(_LazyConvolution):
    def __init__(
        self,
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
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._make_uninitialized(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConv, Conv1d):
    """A `Conv1d` whose in_channels is the first input's number of channels."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """A `Conv2d` whose in_channels is the first input's number of channels."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """A `Conv3d` whose in_channels is the first input's number of channels."""

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvolution):
    def __init__(
        self,
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
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._make_uninitialized(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """A `ConvTranspose1d` whose in_channels is the first input's number of channels."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """A `ConvTranspose2d` whose in_channels is the first input's number of channels."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """A `ConvTranspose3d` whose in_channels is the first input's number of channels."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(_Sized):
    """A lazy norm: num_features is the first input's number of channels."""

    _size_name = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = framework.tensor(0, dtype=framework.int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:  # type: ignore[override]
        if self.has_uninitialized_params():
            size = input.shape[self._channels(input)]
            self._become_sized(size, dict.fromkeys(("weight", "bias", "running_mean", "running_var"), (size,)))

    def _channels(self, input: Tensor) -> int:
        """The dimension of the channels: 1, or the first of what instance norms take without a batch."""
        return -self._dims - 1 if hasattr(self, "_dims") else 1


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` whose num_features is the first input's number of channels."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` whose num_features is the first input's number of channels."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` whose num_features is the first input's number of channels."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An `InstanceNorm1d` whose num_features is the first input's number of channels."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An `InstanceNorm2d` whose num_features is the first input's number of channels."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An `InstanceNorm3d` whose num_features is the first input's number of channels."""

    cls_to_become = InstanceNorm3d
