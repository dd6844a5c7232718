"""Moving and casting a module: `_apply` and everything said by it (`to`, `half`, `cuda`, `to_empty`, `share_memory`
...).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import framework
from framework.core.tensor import Parameter, Tensor
from framework.nn.parameter import is_lazy

__all__ = ["ConvertMethods"]


class ConvertMethods:
    """The part of `Module` that changes every parameter and buffer: their dtype, their device, their memory."""

    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of every parameter, its gradient, and every buffer by `fn` of them. Parameters stay the
        objects they are, so that an optimizer made before still holds them."""
        if recurse:
            for module in self.children():  # type: ignore[attr-defined]
                module._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            if is_lazy(parameter):
                parameter.take_place(fn(parameter))  # type: ignore[attr-defined]
                continue
            grad = parameter.grad
            with framework.no_grad():
                parameter.data = fn(parameter)
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast in place: `to(device=None, dtype=None, non_blocking=False)`, `to(dtype)`, `to(tensor)`,
        `to(memory_format=...)`.

        The dtype is for floating point and complex tensors alone (TypeError for any other); `memory_format` for those
        of 4 and 5 dimensions. Returns the module.
        """
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development: some modules might not work as "
                    "expected when using complex tensors as parameters or buffers.",
                    stacklevel=2,
                )

        def convert(tensor: Tensor) -> Tensor:
            target = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            options = (
                {"memory_format": memory_format}
                if memory_format is not None and not is_lazy(tensor) and tensor.dim() in (4, 5)
                else {}
            )
            if tensor.device.type == "meta" and device is not None and framework.device(device).type != "meta":
                raise NotImplementedError(
                    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                    "torch.nn.Module.to() when moving module from meta to a different device."
                )
            return tensor.to(device, target, non_blocking, **options)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Give every parameter and buffer new, uninitialised memory on `device`."""
        return self._apply(lambda tensor: framework.empty_like(tensor, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move to the CPU, in place. Returns the module."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a CUDA device, the current one by default, in place. Returns the module."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def type(self, dst_type: Any) -> Self:
        """Cast every parameter and buffer, in place. Returns the module."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating point parameters and buffers to float32, in place. Returns the module."""
        return self._cast(framework.float32)

    def double(self) -> Self:
        """Cast floating point parameters and buffers to float64, in place. Returns the module."""
        return self._cast(framework.float64)

    def half(self) -> Self:
        """Cast floating point parameters and buffers to float16, in place. Returns the module."""
        return self._cast(framework.float16)

    def bfloat16(self) -> Self:
        """Cast floating point parameters and buffers to bfloat16, in place. Returns the module."""
        return self._cast(framework.bfloat16)

    def _cast(self, dtype: Any) -> Self:
        return self._apply(lambda tensor: tensor.to(dtype) if tensor.is_floating_point() else tensor)

    def share_memory(self) -> Self:
        """Move every parameter and buffer to memory that other processes can map. Returns the module."""
        return self._apply(lambda tensor: tensor.share_memory_())


def parse_to(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool, Any]:
    """(device, dtype, non_blocking, memory_format) of a call of `to`, whose first argument may be any of three
    things.
    """
    given = dict(kwargs)
    names = ["device", "dtype", "non_blocking", "copy"]
    if args and isinstance(args[0], Tensor) or "tensor" in given or "other" in given:
        tensor, args = (args[0], args[1:]) if args else (given.pop("tensor", None) or given.pop("other"), args)
        given.update(device=tensor.device, dtype=tensor.dtype)
        names = ["non_blocking", "copy"]
    elif args and isinstance(args[0], framework.dtype):
        names = ["dtype", "non_blocking", "copy"]
    if len(args) > len(names):
        raise TypeError(f"to() takes at most {len(names)} positional arguments here, but got {len(args)}")
    for name, value in zip(names, args, strict=False):
        if name in given:
            raise TypeError(f"to() got multiple values for argument '{name}'")
        given[name] = value
    device, dtype = given.pop("device", None), given.pop("dtype", None)
    non_blocking, memory_format = given.pop("non_blocking", False), given.pop("memory_format", None)
    given.pop("copy", None)
    if given:
        raise TypeError(f"to() got an unexpected keyword argument '{next(iter(given))}'")
    if dtype is not None and not isinstance(dtype, framework.dtype):
        raise TypeError(f"to() received an invalid combination of arguments: dtype must be a dtype, not {dtype!r}")
    if device is not None and not isinstance(device, (str, int, framework.device)):
        raise TypeError(f"to() received an invalid combination of arguments: {device!r} is no device, dtype or tensor")
    return device, dtype, non_blocking, memory_format
