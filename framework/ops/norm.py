"""Normalisation. All but RMS norm stand on one formula, `standardize`; half types compute in float32 and round once, at
the end.
"""

from __future__ import annotations

from math import prod

from backends.dtypes import float32
from framework.core.state import grad_enabled
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Dims, Num

_FUNCTIONAL = {"composite": True, "spaces": ("nn.functional",), "method": False}


def _count(x, dims):
    return prod([x.shape[d] for d in dims])


def _standardize_vjp(xp, g, out, var, shape, dims, eps):
    """Of out = (x - mean) / sqrt(var + eps): (g - mean(g) - out mean(g out)) / sqrt(var + eps); mean and var add
    theirs.
    """
    g_out, g_mean, g_var = g
    n = _count(out, dims)
    grad = None
    scale = xp.rsqrt(var + eps)
    if g_out is not None:
        grad = scale * (g_out - xp.sum(g_out, dims, True) / n - out * (xp.sum(g_out * out, dims, True) / n))
    if g_var is not None:
        part = (g_var * (2 / n)) * (out / scale)
        grad = part if grad is None else grad + part
    if g_mean is not None:
        part = g_mean / n
        grad = xp.expand(part, shape) if grad is None else grad + part
    return grad


@op(batch="dims", accept="f", spaces=(), outs=("out", "mean", "var"), diff_outs=("out", "mean", "var"), kernel=True,
    kernel_vjp=True, vjp=(_standardize_vjp,))  # fmt: skip
def standardize(xp, input: Num, dims: Dims, eps):
    """((input - mean) / sqrt(var + eps), mean, var), the mean and the biased variance over `dims`, which stay as size
    1.
    """
    n = _count(input, dims)
    mean = xp.sum(input, dims, True) / n
    centred = input - mean
    var = xp.sum(centred * centred, dims, True) / n
    return centred * xp.rsqrt(var + eps), mean, var


def _normalized_vjp(xp, g, input, weight, mean, var, dims, eps):
    g_out, g_mean, g_var = g
    out = (input - mean) * xp.rsqrt(var + eps)
    inner = None if g_out is None else g_out * weight
    grad = _standardize_vjp(xp, (inner, g_mean, g_var), out, var, tuple(input.shape), dims, eps)
    return (grad, None, None) if g_out is None else (grad, g_out * out, g_out)  # the engine sums the last two


@op(accept="f", spaces=(), outs=("out", "mean", "var"), diff_outs=("out", "mean", "var"), kernel=True, kernel_vjp=True,
    vjp=_normalized_vjp)  # fmt: skip
def normalized(xp, input: Num, weight: Num, bias: Num, dims: Dims, eps):
    """`standardize`, its first result times weight plus bias, which broadcast to the input's shape."""
    n = _count(input, dims)
    mean = xp.sum(input, dims, True) / n
    centred = input - mean
    var = xp.sum(centred * centred, dims, True) / n
    return centred * xp.rsqrt(var + eps) * weight + bias, mean, var


def _normalized(input, weight, bias, shape, dims, eps):
    """The input standardized over `dims`, times weight plus bias, both in `shape`; with the mean and the variance."""
    x = _wide(input)
    if weight is not None and bias is not None and x.dtype is weight.dtype is bias.dtype:
        out, mean, var = normalized(x, T.reshape(weight, shape), T.reshape(bias, shape), dims, eps)
        return T.astype(out, input.dtype), mean, var
    out, mean, var = standardize(x, dims, eps)
    return _scaled(out, weight, bias, shape, input.dtype), mean, var


def _rms_vjp(xp, g, input, out, dims, eps):
    n = _count(input, dims)
    return xp.rsqrt(xp.sum(input * input, dims, True) / n + eps) * (g - out * (xp.sum(g * out, dims, True) / n))


@op(batch="dims", accept="f", spaces=(), kernel=True, vjp=(_rms_vjp,))
def scaled_to_unit(xp, input: Num, dims: Dims, eps):
    """input / sqrt(mean of input^2 over `dims` + eps)."""
    return input * xp.rsqrt(xp.sum(input * input, dims, True) / _count(input, dims) + eps)


# ---------------------------------------------------------------- what the functions share


def _wide(x):
    """x in the dtype that half types compute in."""
    return T.astype(x, float32) if x.dtype.compute is not x.dtype else x


def _scaled(x, weight, bias, shape, dtype):
    """x times weight plus bias, both in `shape`, in `dtype`."""
    if weight is not None:
        x = x * T.reshape(weight, shape)
    if bias is not None:
        x = x + T.reshape(bias, shape)
    return T.astype(x, dtype)


def _per_channel(x):
    return (1, x.shape[1]) + (1,) * (x.ndim - 2)


def _check_channels(name, channels, **tensors):
    for what, t in tensors.items():
        if t is not None and t.numel() != channels:
            raise RuntimeError(f"{what} should contain {channels} elements not {t.numel()} ({name})")


def _check_batch(name, shape):
    if prod(shape) == shape[1]:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape} ({name})")


def _follow(running: Tensor, value: Tensor, momentum: float) -> None:
    """running = (1 - momentum) running + momentum value."""
    running.mul_(1 - momentum).add_(T.astype(T.reshape(value, (-1,)) * momentum, running.dtype))


# ---------------------------------------------------------------- over the batch


@op(**_FUNCTIONAL)
def batch_norm(
    input: Num, running_mean, running_var, weight: Num = None, bias: Num = None, training=False, momentum=0.1, eps=1e-5
):
    """(input - mean) / sqrt(var + eps) weight + bias for each channel (dimension 1) (Ioffe and Szegedy 2015).

    In training mean and biased variance are those of the batch, and the running ones, where given, follow them by
    `momentum` (the variance unbiased); otherwise the running ones are used. ValueError for one value per channel in
    training, RuntimeError for sizes that do not fit.
    """
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm: input needs a dimension of channels, got shape {list(input.shape)}")
    _check_channels(
        "batch_norm", input.shape[1], running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    shape, x = _per_channel(input), _wide(input)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("batch_norm: running_mean and running_var must be given in evaluation mode")
        scale = T.rsqrt(running_var + eps)
        scale = scale if weight is None else scale * weight
        shift = -running_mean * scale
        return _scaled(x, scale, shift if bias is None else shift + bias, shape, input.dtype)
    _check_batch("batch_norm", input.shape)
    dims = (0, *range(2, input.ndim))
    out, mean, var = _normalized(input, weight, bias, shape, dims, eps)
    if running_mean is not None or running_var is not None:
        n = input.numel() // input.shape[1]
        with grad_enabled(False):
            if running_mean is not None:
                _follow(running_mean, mean.detach(), momentum)
            if running_var is not None:
                _follow(running_var, var.detach() * (n / (n - 1)), momentum)
    return out


@op(**_FUNCTIONAL)
def instance_norm(
    input: Num,
    running_mean=None,
    running_var=None,
    weight: Num = None,
    bias: Num = None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """`batch_norm` of each channel of each example by itself; the running values follow the mean over the examples
    (Ulyanov et al. 2016). ValueError for one value per channel."""
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    spatial = prod(input.shape[2:])
    if spatial == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.shape} (instance_norm)"
        )
    _check_channels(
        "instance_norm", input.shape[1], running_mean=running_mean, running_var=running_var, weight=weight, bias=bias
    )
    out, mean, var = standardize(_wide(input), tuple(range(2, input.ndim)), eps)
    with grad_enabled(False):
        if running_mean is not None:
            _follow(running_mean, T.mean(mean.detach(), (0,)), momentum)
        if running_var is not None:
            _follow(running_var, T.mean(var.detach(), (0,)) * (spatial / (spatial - 1)), momentum)
    return _scaled(out, weight, bias, _per_channel(input), input.dtype)


# ---------------------------------------------------------------- within an example


@op(composite=True, spaces=("", "nn.functional"), method=False)
def group_norm(input: Num, num_groups, weight: Num = None, bias: Num = None, eps=1e-5):
    """Each of `num_groups` groups of channels of each example standardized, then weight and bias for each channel (Wu
    and He 2018).

    RuntimeError for sizes that do not fit, ValueError for one value in a group.
    """
    shape = tuple(input.shape)
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)} (group_norm)")
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError("Expected number of channels in input to be divisible by num_groups, but got input of "
                           f"shape {list(shape)} and num_groups={num_groups}")  # fmt: skip
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and tuple(t.shape) != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(t.shape)} and input of shape {list(shape)}"
            )
    in_group = shape[1] // num_groups * prod(shape[2:])
    if shape[0] * in_group == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)} (group_norm)"
        )
    out = standardize(T.reshape(_wide(input), (shape[0], num_groups, in_group)), (2,), eps)[0]
    return _scaled(T.reshape(out, shape), weight, bias, _per_channel(input), input.dtype)


def _last_dims(name, input, normalized_shape, **tensors):
    """The dimensions that `normalized_shape` names, checked against the input and the parameters."""
    size = tuple(normalized_shape)
    if not size:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got "
            f"normalized_shape = {list(size)} ({name})"
        )
    for what, t in tensors.items():
        if t is not None and tuple(t.shape) != size:
            raise RuntimeError(
                f"Expected {what} to be of same shape as normalized_shape, but got {what} of shape {list(t.shape)} "
                f"and normalized_shape = {list(size)} ({name})"
            )
    if input.ndim < len(size) or tuple(input.shape[input.ndim - len(size) :]) != size:
        raise RuntimeError(
            f"Given normalized_shape={list(size)}, expected input with shape [*, {', '.join(map(str, size))}], but "
            f"got input of size{list(input.shape)} ({name})"
        )
    return tuple(range(input.ndim - len(size), input.ndim))


@op(composite=True, spaces=("", "nn.functional"), method=False)
def layer_norm(input: Num, normalized_shape, weight: Num = None, bias: Num = None, eps=1e-5):
    """The last dimensions, which must be `normalized_shape`, standardized, then weight and bias of that shape (Ba et
    al. 2016).
    """
    dims = _last_dims("layer_norm", input, normalized_shape, weight=weight, bias=bias)
    return _normalized(input, weight, bias, tuple(normalized_shape), dims, eps)[0]


@op(composite=True, spaces=("", "nn.functional"), method=False)
def rms_norm(input: Num, normalized_shape, weight: Num = None, eps=None):
    """input / sqrt(mean(input^2) + eps) over the last dimensions, which must be `normalized_shape`, times weight of
    that shape; eps is the machine epsilon of the dtype unless given (Zhang and Sennrich 2019)."""
    dims = _last_dims("rms_norm", input, normalized_shape, weight=weight)
    x = _wide(input)
    if eps is None:
        eps = EPSILON[x.dtype.name]
    return _scaled(scaled_to_unit(x, dims, eps), weight, None, tuple(normalized_shape), input.dtype)


EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52}


@op(**_FUNCTIONAL)
def local_response_norm(input: Num, size, alpha=1e-4, beta=0.75, k=1.0):
    """input / (k + alpha mean of input^2 over `size` channels around each)^beta; channels outside count as zero
    (Krizhevsky et al. 2012). ValueError for fewer than 3 dimensions."""
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if not input.numel():
        return input
    square, channels = input * input, input.shape[1]

    def zeros(n):
        return T.full((input.shape[0], n, *input.shape[2:]), 0, T.like(input))

    padded = T.cat((zeros(size // 2), square, zeros((size - 1) // 2)), 1)
    total = sum(
        [T.slice(padded, (slice(None), slice(i, i + channels))) for i in range(1, size)],
        T.slice(padded, (slice(None), slice(0, channels))),
    )
    return input / T.pow(total * (alpha / size) + k, beta)
