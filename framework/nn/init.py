"""Initial values of parameters. Every function fills its tensor in place, without leaving a trace in autograd, and
returns it.

Draws come from the CPU's generator whatever the device, so that one seed gives the same weights everywhere; a generator
of the tensor's own device, if one is given, is used as it is.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import framework
from framework.core.host import to_host
from framework.core.tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]


def _drawn(fill: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`fill(tensor, ..., generator=None)` with no gradients recorded, and with the draws made on the CPU."""

    @functools.wraps(fill)
    def init(tensor: Tensor, *args: Any, generator: Any = None, **kwargs: Any) -> Tensor:
        with framework.no_grad():
            elsewhere = tensor.device.type not in ("cpu", "meta")
            if elsewhere and (generator is None or framework.device(generator.device).type == "cpu"):
                host = framework.empty(tuple(tensor.shape), dtype=tensor.dtype, device="cpu")
                return tensor.copy_(fill(host, *args, generator=generator, **kwargs))
            return fill(tensor, *args, generator=generator, **kwargs)

    return init


@_drawn
def _uniform(tensor: Tensor, low: float, high: float, *, generator: Any = None) -> Tensor:
    return tensor.uniform_(low, high, generator=generator)


@_drawn
def _normal(tensor: Tensor, mean: float, std: float, *, generator: Any = None) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which the standard deviation of weights should grow before this nonlinearity.

    linear and conv names, sigmoid: 1; tanh: 5/3; relu: sqrt(2); leaky_relu: sqrt(2 / (1 + slope^2)), slope `param` or
    0.01; selu: 3/4. ValueError for any other name and for a slope that is no number.
    """
    fixed = {"sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "linear": 1}
    if nonlinearity in fixed:
        return fixed[nonlinearity]
    if nonlinearity in (f"{kind}{n}d" for kind in ("conv", "conv_transpose") for n in (1, 2, 3)):
        return 1
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from the uniform distribution on [a, b)."""
    return _uniform(tensor, a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with draws from the normal distribution of this mean and standard deviation."""
    return _normal(tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with draws from the normal distribution of this mean and standard deviation, kept within [a, b].

    By rejection: of normal draws, where more than 0.3 of the distribution lies in [a, b]; else of uniform draws on [a,
    b], each kept with probability exp(-(x - mean)^2 / (2 std^2)) relative to the peak (Devroye 1986, II.3).
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    return tensor if tensor.device.type == "meta" else _trunc_normal(tensor, mean, std, a, b, generator=generator)


@_drawn
def _trunc_normal(tensor: Tensor, mean: float, std: float, a: float, b: float, *, generator: Any = None) -> Tensor:
    below = lambda x: (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0
    if below(b) - below(a) > 0.3:
        low, high = (
            framework.tensor(bound, dtype=tensor.dtype).item() for bound in (a, b)
        )  # as the tensor's dtype rounds them
        result = tensor.normal_(mean, std, generator=generator)
        while True:
            outside = (result < low) | (result > high)
            if not outside.any():
                break
            result = framework.where(
                outside, framework.empty_like(result).normal_(mean, std, generator=generator), result
            )
        return tensor if result is tensor else tensor.copy_(result)

    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    chances = framework.empty_like(tensor)

    def rejected(draws: Tensor) -> Tensor:
        log_density = draws.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return chances.uniform_(generator=generator).log_().gt(log_density)

    pending = rejected(tensor.uniform_(a, b, generator=generator))
    result, draws = tensor, framework.empty_like(tensor)
    while pending.any():
        draws.uniform_(a, b, generator=generator)
        result = framework.where(pending, draws, result)
        pending = framework.where(pending, rejected(draws), pending)
    return tensor if result is tensor else tensor.copy_(result)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value."""
    with framework.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros."""
    with framework.no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: as many inputs as possible pass through a linear layer. ValueError unless
    2-D.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with framework.no_grad():
        return tensor.copy_(framework.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill a convolution's weight (3-D, 4-D or 5-D) so that as many channels as possible pass through, in each group.

    ValueError for another number of dimensions, or output channels that the groups do not divide.
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.device.type == "meta":
        return tensor
    channels = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with framework.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(channels, tensor.shape[1])):
                tensor[(group * channels + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs reach one output of a layer with this weight (out, in, *kernel), and how many outputs one
    input.
    """
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode.lower()} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with uniform draws on [-a, a), a = gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    bound = math.sqrt(3.0) * std
    return _uniform(tensor, -bound, bound, generator=generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal draws of standard deviation gain sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    std = gain * math.sqrt(2.0 / float(sum(_calculate_fan_in_and_fan_out(tensor))))
    return _normal(tensor, 0.0, std, generator=generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with uniform draws on [-b, b), b = gain sqrt(3 / fan) (He et al. 2015). `a` is the slope of a leaky_relu
    behind the layer, `mode` says which fan keeps its variance."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    bound = math.sqrt(3.0) * std
    return _uniform(tensor, -bound, bound, generator=generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with normal draws of standard deviation gain / sqrt(fan) (He et al. 2015). `a` is the slope of a leaky_relu
    behind the layer, `mode` says which fan keeps its variance."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=2)
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    std = calculate_gain(nonlinearity, a) / math.sqrt(fan)
    return _normal(tensor, 0, std, generator=generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a (semi-)orthogonal matrix, all dimensions but the first taken as one (Saxe et al. 2013).

    ValueError for fewer than 2 dimensions.
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    return (
        tensor
        if tensor.numel() == 0 or tensor.device.type == "meta"
        else _orthogonal(tensor, gain, generator=generator)
    )


@_drawn
def _orthogonal(tensor: Tensor, gain: float, *, generator: Any = None) -> Tensor:
    rows = tensor.shape[0]
    matrix = framework.empty(rows, tensor.numel() // rows, dtype=tensor.dtype, device=tensor.device)
    matrix.normal_(0, 1, generator=generator)
    wide = rows < matrix.shape[1]
    # Factored on the host by LAPACK, as initial values are the same on every device.
    q, r = np.linalg.qr(to_host(matrix.t() if wide else matrix))
    q = q * np.sign(np.diagonal(r))  # so that the result is uniform over the orthogonal matrices (Mezzadri 2007)
    q = framework.tensor(q, dtype=tensor.dtype, device=tensor.device)
    return tensor.copy_((q.t() if wide else q).reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal draws and set a fraction `sparsity` of every column, rounded up, to zero (Martens
    2010).

    ValueError unless 2-D.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor if tensor.device.type == "meta" else _sparse(tensor, sparsity, std, generator=generator)


@_drawn
def _sparse(tensor: Tensor, sparsity: float, std: float, *, generator: Any = None) -> Tensor:
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[framework.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _old_name(fill: Callable[..., Tensor]) -> Callable[..., Tensor]:
    name = fill.__name__[:-1]

    def init(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return fill(*args, **kwargs)

    init.__name__ = init.__qualname__ = name
    init.__doc__ = f"The old name of `{name}_`."
    return init


uniform, normal, constant, eye, dirac = map(_old_name, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = map(_old_name, (xavier_uniform_, xavier_normal_))
kaiming_uniform, kaiming_normal = map(_old_name, (kaiming_uniform_, kaiming_normal_))
orthogonal, sparse = map(_old_name, (orthogonal_, sparse_))
