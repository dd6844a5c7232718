"""Convolutions: three bilinear primitives that are each other's transposes, and PyTorch's functions of them.

Shapes: input (N, C, *S), weight (O, C/groups, *K), result (N, O, *out) with 1, 2 or 3 spatial dimensions and
out = (S + 2 padding - dilation (K - 1) - 1) // stride + 1. As everywhere in this field, "convolution" is the
cross-correlation: the kernel is not turned round.
"""

from __future__ import annotations

from backends.windows import conv_output_size
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num

from .spatial import join_axis, numbers, short_name, split_axis, type_name


def _conj(xp, x):
    """The conjugate; real operands as they are, without the copy."""
    return xp.conj(x) if xp.dtype_of(x).is_complex else x


# ------------------------------------------------------------------- vmap: examples as images, channels or groups
def _conv_batch(fn, size, flags, args):
    x, w, *places, groups = args
    if not flags[1]:
        return split_axis(fn(join_axis(x, 0), w, *places, groups), 0, size)
    if not flags[0]:
        return split_axis(fn(x, join_axis(w, 0, groups), *places, groups), 1, size, groups)
    return split_axis(fn(join_axis(x, 1), join_axis(w, 0), *places, groups * size), 1, size)


def _input_batch(fn, size, flags, args):
    g, w, *places, groups, shape = args
    if not flags[1]:
        return split_axis(fn(join_axis(g, 0), w, *places, groups, shape), 0, size)
    if not flags[0]:
        return split_axis(fn(g, join_axis(w, 1), *places, groups, shape), 1, size, groups)
    return split_axis(fn(join_axis(g, 1), join_axis(w, 0), *places, groups * size, shape), 1, size)


def _weight_batch(fn, size, flags, args):
    x, g, *places, groups, kernel = args
    if not flags[1]:
        return split_axis(fn(join_axis(x, 1, groups), g, *places, groups, kernel), 1, size)
    if not flags[0]:
        return split_axis(fn(x, join_axis(g, 1, groups), *places, groups, kernel), 0, size, groups)
    return split_axis(fn(join_axis(x, 1), join_axis(g, 1), *places, groups * size, kernel), 0, size)


# ------------------------------------------------------------------------------------ the primitives: lengths as tuples
@op(opaque=True, linear="each", spaces=(), accept="iufc", batch=_conv_batch, vjp=(
    lambda xp, g, weight, shape, stride, padding, dilation, groups:
        xp.conv_input(g, _conj(xp, weight), stride, padding, dilation, groups, tuple(shape[2:])),
    lambda xp, g, input, shape, stride, padding, dilation, groups:
        xp.conv_weight(_conj(xp, input), g, stride, padding, dilation, groups, tuple(shape[2:]))))  # fmt: skip
def conv(xp, input: Num, weight: Num, stride, padding, dilation, groups):
    """The convolution, in any number of spatial dimensions."""
    return xp.conv(input, weight, stride, padding, dilation, groups)


@op(opaque=True, linear="each", spaces=(), accept="iufc", batch=_input_batch, vjp=(
    lambda xp, g, weight, stride, padding, dilation, groups:
        xp.conv(g, _conj(xp, weight), stride, padding, dilation, groups),
    lambda xp, g, cotangent, shape, stride, padding, dilation, groups:
        xp.conv_weight(g, _conj(xp, cotangent), stride, padding, dilation, groups, tuple(shape[2:]))))  # fmt: skip
def conv_input(xp, cotangent: Num, weight: Num, stride, padding, dilation, groups, size):
    """The transpose of `conv` in its input, which has the spatial size `size`: the transposed convolution."""
    return xp.conv_input(cotangent, weight, stride, padding, dilation, groups, size)


@op(opaque=True, linear="each", spaces=(), accept="iufc", batch=_weight_batch, vjp=(
    lambda xp, g, cotangent, shape, stride, padding, dilation, groups:
        xp.conv_input(_conj(xp, cotangent), g, stride, padding, dilation, groups, tuple(shape[2:])),
    lambda xp, g, input, stride, padding, dilation, groups:
        xp.conv(_conj(xp, input), g, stride, padding, dilation, groups)))  # fmt: skip
def conv_weight(xp, input: Num, cotangent: Num, stride, padding, dilation, groups, kernel):
    """The transpose of `conv` in its weight, which has the kernel size `kernel`."""
    return xp.conv_weight(input, cotangent, stride, padding, dilation, groups, kernel)


@op(kernel=True, spaces=(), accept="iufc", vjp=(
    lambda xp, g, weight, shape, stride, padding, dilation, groups:
        xp.conv_input(g, _conj(xp, weight), stride, padding, dilation, groups, tuple(shape[2:])),
    lambda xp, g, input, shape, stride, padding, dilation, groups:
        xp.conv_weight(_conj(xp, input), g, stride, padding, dilation, groups, tuple(shape[2:])),
    lambda xp, g, stride: xp.sum(g, (0, *range(2, len(stride) + 2)), False)))  # fmt: skip
def conv_bias(xp, input: Num, weight: Num, bias: Num, stride, padding, dilation, groups):
    """The convolution plus a number for each output channel."""
    return xp.conv(input, weight, stride, padding, dilation, groups) + xp.reshape(bias, (-1, *[1] * len(stride)))


# ------------------------------------------------------------------------------------ checks
def _lengths(name, dims, **given):
    """Each parameter as one int a dimension; RuntimeError for other numbers of them, and for values out of range."""
    found = []
    for what, value in given.items():
        places = numbers(value, dims, what)
        if places is None:
            raise RuntimeError(f"{name}: expected {what} to be a single integer value or a list of {dims} values to "
                               f"match the convolution dimensions, but got {what}={list(value)}")  # fmt: skip
        if "padding" in what and min(places) < 0:
            raise RuntimeError(f"{name}: negative {what} is not supported, got {what}={list(places)}")
        if "padding" not in what and min(places) <= 0:
            raise RuntimeError(f"{name}: non-positive {what} is not supported, got {what}={list(places)}")
        found.append(places)
    return found


def _check_ranks(name, dims, input, weight):
    if input.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to {name}, but got input "
                           f"of size: {list(input.shape)}")  # fmt: skip
    if weight.ndim != dims + 2:
        raise RuntimeError(f"{name}: Expected {dims + 2}-dimensional weight for {dims + 2}-dimensional input "
                           f"{list(input.shape)}, but got weight of size {list(weight.shape)} instead")  # fmt: skip


def _check_operands(name, input, weight, bias, groups, transposed):
    """Channels, groups and dtypes of a batched input."""
    size, given = list(weight.shape), f"{name}: Given transposed=1" if transposed else f"{name}: Given groups={groups}"
    if groups <= 0:
        raise RuntimeError(f"{name}: non-positive groups is not supported, got groups={groups}")
    if size[0] < groups:
        raise RuntimeError(f"{name}: Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
                           f"but got weight of size {size} instead")  # fmt: skip
    if size[0] % groups:
        raise RuntimeError(f"{name}: Given groups={groups}, expected weight to be divisible by {groups} at dimension "
                           f"0, but got weight of size {size} instead")  # fmt: skip
    channels, outputs = (size[0], size[1] * groups) if transposed else (size[1] * groups, size[0])
    if input.shape[1] != channels:
        raise RuntimeError(f"{given}, weight of size {size}, expected input{list(input.shape)} to have {channels} "
                           f"channels, but got {input.shape[1]} channels instead")  # fmt: skip
    if 0 in size[2:]:
        raise RuntimeError(f"{name}: weight of size {size} has an empty kernel")
    if bias is not None and tuple(bias.shape) != (outputs,):
        raise RuntimeError(f"{given}, weight of size {size}, expected bias to be 1-dimensional with {outputs} "
                           f"elements, but got bias of size {list(bias.shape)} instead")  # fmt: skip
    if input.dtype is not weight.dtype:
        raise RuntimeError(f"{name}: Input type ({type_name(input)}) and weight type ({type_name(weight)}) should be "
                           "the same; convert one of them with .to()")  # fmt: skip
    if bias is not None and bias.dtype is not input.dtype:
        raise RuntimeError(f"{name}: Input type ({short_name(input)}) and bias type ({short_name(bias)}) should be "
                           "the same; convert one of them with .to()")  # fmt: skip


def _times(places):
    return "(" + " x ".join(map(str, places)) + ")"


# ------------------------------------------------------------------------------------ convolutions
def _convolution(name, dims, input, weight, bias, stride, padding, dilation, groups):
    _check_ranks(name, dims, input, weight)
    stride, dilation = _lengths(name, dims, stride=stride, dilation=dilation)
    spans, more = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])], [0] * dims
    if padding == "same":
        if max(stride) > 1:
            raise RuntimeError(f"{name}: padding='same' is not supported for strided convolutions; got stride="
                               f"{list(stride)}")  # fmt: skip
        # An odd total has one more on the right: pad as much on the left, and drop the first window, which that added.
        padding, more = [(n + 1) // 2 for n in spans], [n % 2 for n in spans]
    elif padding == "valid":
        padding = 0
    elif isinstance(padding, str):
        raise RuntimeError(f"{name}: Invalid padding string: {padding!r}; it is 'same' or 'valid'")
    (padding,) = _lengths(name, dims, padding=padding)
    alone = input.ndim == dims + 1
    if alone:
        input = T.unsqueeze(input, (0,))
    _check_operands(name, input, weight, bias, groups, False)
    padded = [n + 2 * p for n, p in zip(input.shape[2:], padding)]
    if any(n <= m for n, m in zip(padded, spans)):
        raise RuntimeError(f"{name}: Calculated padded input size per channel: {_times(padded)}. Kernel size: "
                           f"{_times([n + 1 for n in spans])}. Kernel size can't be greater than actual input size"
                           )  # fmt: skip
    if bias is None:
        y = conv(input, weight, stride, padding, dilation, groups)
    else:
        y = conv_bias(input, weight, bias, stride, padding, dilation, groups)
    if any(more):
        y = T.slice(y, (slice(None), slice(None), *[slice(n, None) for n in more]))
    return T.squeeze(y, (0,)) if alone else y


@op(composite=True, method=False, spaces=("", "nn.functional"))
def conv1d(input: Num, weight: Num, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The convolution of input (N, C, L) or (C, L) with weight (O, C/groups, K), plus bias (O,).

    stride, padding, dilation: an int or one for each spatial dimension; padding may be "valid" (none) or "same" (the
    result has the input's size; stride 1 only). groups: the channels are cut into so many groups, each convolved with
    its own weights. Operands share one dtype; RuntimeError if shapes or dtypes do not fit.
    """
    return _convolution("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def conv2d(input: Num, weight: Num, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The convolution of input (N, C, H, W) or (C, H, W) with weight (O, C/groups, K, K'); see `conv1d`."""
    return _convolution("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def conv3d(input: Num, weight: Num, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The convolution of input (N, C, D, H, W) or (C, D, H, W) with weight (O, C/groups, K, K', K''); see `conv1d`."""
    return _convolution("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


# ------------------------------------------------------------------------------------ transposed convolutions
def _transposed(name, dims, input, weight, bias, stride, padding, output_padding, groups, dilation):
    _check_ranks(name, dims, input, weight)
    stride, padding, dilation, more = _lengths(
        name, dims, stride=stride, padding=padding, dilation=dilation, output_padding=output_padding
    )
    if any(n >= max(s, d) for n, s, d in zip(more, stride, dilation)):
        raise RuntimeError(f"{name}: output padding must be smaller than either stride or dilation, got "
                           f"output_padding={list(more)}, stride={list(stride)}, dilation={list(dilation)}")  # fmt: skip
    alone = input.ndim == dims + 1
    if alone:
        input = T.unsqueeze(input, (0,))
    _check_operands(name, input, weight, bias, groups, True)
    kernel, have = tuple(weight.shape[2:]), tuple(input.shape[2:])
    rule = zip(have, kernel, stride, padding, dilation, more)
    size = tuple([(n - 1) * s - 2 * p + d * (k - 1) + m + 1 for n, k, s, p, d, m in rule])
    if min(size) < 0 or 0 in have:
        raise RuntimeError(f"{name}: Given input size per channel: {_times(have)}. Calculated output size per "
                           f"channel: {_times(size)}. Output size is too small")  # fmt: skip
    # If the output is so long that its convolution would have more windows than the input has places, those hold zeros.
    windows = conv_output_size(size, kernel, stride, padding, dilation)
    if windows != have:
        key = (slice(None), slice(None), *[slice(0, n) for n in have])
        input = T.slice_put(input, key, (*input.shape[:2], *windows))
    y = conv_input(input, weight, stride, padding, dilation, groups, size)
    if bias is not None:
        y = y + T.reshape(bias, (-1, *[1] * dims))
    return T.squeeze(y, (0,)) if alone else y


@op(composite=True, method=False, spaces=("", "nn.functional"))
def conv_transpose1d(input: Num, weight: Num, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of `conv1d` as a linear map, applied to input (N, C, L) or (C, L) with weight (C, O/groups, K).

    The result has the size (L - 1) stride - 2 padding + dilation (K - 1) + output_padding + 1 along each spatial
    dimension: output_padding, smaller than the stride or the dilation, chooses among the input sizes that `conv1d` maps
    to the same size. bias (O,) is added.
    """
    return _transposed("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def conv_transpose2d(input: Num, weight: Num, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of `conv2d`, applied to input (N, C, H, W) or (C, H, W); see `conv_transpose1d`."""
    return _transposed("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation)


@op(composite=True, method=False, spaces=("", "nn.functional"))
def conv_transpose3d(input: Num, weight: Num, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transpose of `conv3d`, applied to input (N, C, D, H, W) or (C, D, H, W); see `conv_transpose1d`."""
    return _transposed("conv_transpose3d", 3, input, weight, bias, stride, padding, output_padding, groups, dilation)
