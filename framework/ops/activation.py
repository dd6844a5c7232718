"""Activations: formulas of primitives, which a backend may replace by fused kernels, and their functions with
`inplace`.
"""

from __future__ import annotations

import warnings
from math import pi, sqrt

from framework.core.shape import wrap_dim
from framework.dispatch.inplace import inplace_of
from framework.dispatch.registry import PUBLIC, T, op, unary
from framework.dispatch.schema import Cast, Num

_FUNCTIONAL = {"composite": True, "spaces": ("nn.functional",), "method": False}
_FORMULA = {"elementwise": True, "spaces": (), "accept": "f"}


def _constant(xp, value, x):
    """A number as a 0-d array beside x, so that choosing between two numbers keeps x's dtype."""
    return xp.full((), value, xp.like(x))


def _choose(xp, condition, a, b, x):
    return xp.where(condition, _constant(xp, a, x), _constant(xp, b, x))


def _where(xp, condition, x):
    """The condition as 1 and 0 in x's dtype."""
    return xp.astype(condition, xp.dtype_of(x))


def in_place(function, name):
    """The function that writes its result into its first argument; public in `nn.functional` as `name`."""
    write = inplace_of(function.entry, name)
    PUBLIC["nn.functional"][name] = write
    return write


# ---------------------------------------------------------------- rectifiers


@op(**_FUNCTIONAL)
def relu(input: Num, inplace=False):
    """max(0, input), elementwise."""
    return relu_(input) if inplace else T.relu(input)


relu_ = in_place(T.relu, "relu_")


@op(**_FORMULA, deriv=(lambda xp, input, negative_slope: _choose(xp, input > 0, 1, negative_slope, input),))
def leaky(xp, input: Num, negative_slope):
    """input where positive, else negative_slope input."""
    return xp.where(input > 0, input, input * negative_slope)


@op(**_FUNCTIONAL)
def leaky_relu(input: Num, negative_slope=0.01, inplace=False):
    """input where it is positive, else negative_slope input, elementwise."""
    return leaky_relu_(input, negative_slope) if inplace else leaky(input, negative_slope)


leaky_relu_ = in_place(leaky, "leaky_relu_")


def _prelu_fits(input, weight):
    if weight.dtype is not input.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    if weight.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}")
    channels = input.shape[1] if input.ndim > 1 else 1
    if weight.numel() != 1 and not input.ndim:
        raise RuntimeError("prelu: Not allow zero-dim input tensor.")
    if weight.numel() not in (1, channels):
        raise RuntimeError("Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                           f"{weight.numel()}, and channel size = {channels}. (prelu)")  # fmt: skip


@op(**_FORMULA, vjp=(lambda xp, g, input, weight: xp.where(input > 0, g, g * weight),
                     lambda xp, g, input: g * xp.minimum(input, 0)))  # fmt: skip
def prelu_kernel(xp, input: Num, weight: Num):
    """input where positive, else weight input; the operands broadcast."""
    return xp.where(input > 0, input, input * weight)


@op(composite=True, spaces=("", "nn.functional"))
def prelu(input: Num, weight: Num):
    """input where it is positive, else weight input; one weight, or one for each channel (dimension 1)."""
    _prelu_fits(input, weight)
    if weight.numel() != 1 or weight.ndim > input.ndim:
        shape = (1, -1) + (1,) * (input.ndim - 2) if weight.numel() != 1 else ()
        weight = weight.reshape(shape)
    return prelu_kernel(input, weight)


@op(**_FORMULA, deriv=(lambda xp, input, alpha, scale, input_scale: xp.where(
    input > 0, _constant(xp, scale, input), xp.exp(xp.minimum(input, 0) * input_scale) * (alpha * scale * input_scale)),))  # fmt: skip
def exponential_linear(xp, input: Num, alpha, scale, input_scale):
    """scale input where positive, else scale alpha (exp(input_scale input) - 1)."""
    return xp.where(input > 0, input * scale, xp.expm1(xp.minimum(input, 0) * input_scale) * (alpha * scale))


_exponential_linear_ = inplace_of(exponential_linear.entry, "exponential_linear_")


@op(**_FUNCTIONAL)
def elu(input: Num, alpha=1.0, inplace=False):
    """input where it is positive, else alpha (exp(input) - 1), elementwise (Clevert et al. 2015)."""
    return (_exponential_linear_ if inplace else exponential_linear)(input, alpha, 1.0, 1.0)


@op(composite=True, spaces=("", "nn.functional"), method=False)
def selu(input: Num, inplace=False):
    """`elu` with the scale and alpha that keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return (_exponential_linear_ if inplace else exponential_linear)(input, SELU_ALPHA, SELU_SCALE, 1.0)


SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@op(composite=True, spaces=("", "nn.functional"), method=False)
def celu(input: Num, alpha=1.0, inplace=False):
    """max(0, input) + min(0, alpha (exp(input / alpha) - 1)), elementwise (Barron 2017). RuntimeError for alpha 0."""
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return (_exponential_linear_ if inplace else exponential_linear)(input, alpha, 1.0, 1.0 / alpha)


def elu_(input, alpha=1.0):
    """In-place form of `elu`."""
    return _exponential_linear_(input, alpha, 1.0, 1.0)


def selu_(input):
    """In-place form of `selu`."""
    return selu(input, True)


def celu_(input, alpha=1.0):
    """In-place form of `celu`."""
    return celu(input, alpha, True)


PUBLIC["nn.functional"].update(elu_=elu_, selu_=selu_, celu_=celu_)
PUBLIC.setdefault("", {}).update(selu_=selu_, celu_=celu_, relu_=relu_)


@op(**_FORMULA, deriv=(lambda xp, input, threshold: _where(xp, input > threshold, input),))
def threshold_kernel(xp, input: Num, threshold, value):
    """input where above the threshold, else value."""
    return xp.where(input <= threshold, _constant(xp, value, input), input)


@op(composite=True, spaces=("", "nn.functional"), method=False)
def threshold(input: Num, threshold, value, inplace=False):
    """input where it is above the threshold, else value, elementwise."""
    return threshold_(input, threshold, value) if inplace else threshold_kernel(input, threshold, value)


threshold_ = in_place(threshold_kernel, "threshold_")

# ---------------------------------------------------------------- smooth ones


def _silu_deriv(xp, input):
    s = xp.sigmoid(input)
    return s * (1 + input * (1 - s))


silu_kernel = unary(
    "silu_kernel",
    lambda xp, input: input * xp.sigmoid(input),
    deriv=(_silu_deriv,),
    accept="fc",
    kernel=True,
    kernel_vjp=True,
    spaces=(),
)
_silu_ = inplace_of(silu_kernel.entry, "silu_")


@op(**_FUNCTIONAL)
def silu(input: Num, inplace=False):
    """input sigmoid(input), elementwise."""
    return _silu_(input) if inplace else silu_kernel(input)


def _softplus(xp, x):
    return xp.maximum(x, 0) + xp.log1p(xp.exp(-xp.abs(x)))


def _mish_deriv(xp, input):
    t = xp.tanh(_softplus(xp, input))
    return t + input * xp.sigmoid(input) * (1 - t * t)


mish_kernel = unary(
    "mish_kernel", lambda xp, input: input * xp.tanh(_softplus(xp, input)), deriv=(_mish_deriv,), accept="f", spaces=()
)
_mish_ = inplace_of(mish_kernel.entry, "mish_")


@op(**_FUNCTIONAL)
def mish(input: Num, inplace=False):
    """input tanh(softplus(input)), elementwise (Misra 2019)."""
    return _mish_(input) if inplace else mish_kernel(input)


def _gelu_deriv(xp, input):
    density = xp.exp(input * input * -0.5) * (1 / sqrt(2 * pi))
    return 0.5 * (1 + xp.erf(input * sqrt(0.5))) + input * density


def _tanh_gelu_deriv(xp, input):
    t = xp.tanh(_gelu_inner(input))
    return 0.5 * (1 + t) + 0.5 * input * (1 - t * t) * (GELU_SCALE * (1 + 3 * GELU_CUBE * input * input))


def _gelu_inner(x):
    return GELU_SCALE * (x + GELU_CUBE * x * x * x)


GELU_SCALE, GELU_CUBE = sqrt(2 / pi), 0.044715
gelu_kernel = unary(
    "gelu_kernel",
    lambda xp, input: 0.5 * input * (1 + xp.erf(input * sqrt(0.5))),
    deriv=(_gelu_deriv,),
    accept="f",
    kernel=True,
    kernel_vjp=True,
    spaces=(),
)
gelu_tanh_kernel = unary("gelu_tanh_kernel", lambda xp, input: 0.5 * input * (1 + xp.tanh(_gelu_inner(input))),
                         deriv=(_tanh_gelu_deriv,), accept="f", kernel=True, kernel_vjp=True, spaces=())  # fmt: skip


@op(composite=True, spaces=("nn.functional",), method=False)
def gelu(input: Num, *, approximate="none"):
    """input Phi(input), elementwise, Phi the normal distribution function; approximate "tanh" takes
    Phi = (1 + tanh(sqrt(2/pi) (input + 0.044715 input^3))) / 2 (Hendrycks and Gimpel 2016)."""
    if approximate == "none":
        return gelu_kernel(input)
    if approximate == "tanh":
        return gelu_tanh_kernel(input)
    raise RuntimeError(f"approximate argument must be either none or tanh, got {approximate!r} (gelu)")


@op(**_FORMULA, deriv=(lambda xp, input, beta, threshold: xp.where(
    input * beta > threshold, _constant(xp, 1, input), xp.sigmoid(input * beta)),))  # fmt: skip
def softplus_kernel(xp, input: Num, beta, threshold):
    """log(1 + exp(beta input)) / beta, and input itself beyond the threshold."""
    x = input * beta
    return xp.where(x > threshold, input, _softplus(xp, x) / beta)


@op(**_FUNCTIONAL)
def softplus(input: Num, beta=1, threshold=20):
    """log(1 + exp(beta input)) / beta, elementwise; input itself where beta input > threshold."""
    return softplus_kernel(input, beta, threshold)


logsigmoid = unary(
    "logsigmoid",
    lambda xp, input: xp.minimum(input, 0) - xp.log1p(xp.exp(-xp.abs(input))),
    inplace=False,
    deriv=(lambda xp, input: xp.sigmoid(-input),),
    accept="f",
    spaces=("nn.functional",),
    method=False,
    doc="log(1 / (1 + exp(-input))), elementwise.",
)


@op(**_FUNCTIONAL)
def softsign(input: Num):
    """input / (1 + |input|), elementwise."""
    return input / (abs(input) + 1)


@op(**_FUNCTIONAL)
def tanhshrink(input: Num):
    """input - tanh(input), elementwise."""
    return input - T.tanh(input)


@op(**_FUNCTIONAL)
def glu(input: Num, dim=-1):
    """a sigmoid(b), a and b the two halves of input along `dim` (Dauphin et al. 2016)."""
    if not input.ndim:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    dim = wrap_dim(dim, input.ndim)
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {size} (glu)")
    before = (slice(None),) * dim
    return T.slice(input, (*before, slice(0, size // 2))) * T.sigmoid(T.slice(input, (*before, slice(size // 2, size))))


# ---------------------------------------------------------------- piecewise linear ones


@op(**_FORMULA, deriv=(lambda xp, input, low, high: _where(xp, (input > low) & (input < high), input),))
def hardtanh_kernel(xp, input: Num, low, high):
    """input kept within [low, high]."""
    return xp.minimum(xp.maximum(input, low), high)


@op(**_FUNCTIONAL)
def hardtanh(input: Num, min_val=-1.0, max_val=1.0, inplace=False):
    """input kept within [min_val, max_val], elementwise. ValueError if min_val > max_val."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return hardtanh_(input, min_val, max_val) if inplace else hardtanh_kernel(input, min_val, max_val)


_hardtanh_ = inplace_of(hardtanh_kernel.entry, "hardtanh_")


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    """In-place form of `hardtanh`."""
    return _hardtanh_(input, min_val, max_val)


PUBLIC["nn.functional"]["hardtanh_"] = hardtanh_


@op(**_FUNCTIONAL)
def relu6(input: Num, inplace=False):
    """min(max(0, input), 6), elementwise."""
    return hardtanh(input, 0.0, 6.0, inplace)


hardsigmoid_kernel = unary(
    "hardsigmoid_kernel",
    lambda xp, input: xp.minimum(xp.maximum(input + 3, 0), 6) / 6,
    accept="f",
    spaces=(),
    deriv=(lambda xp, input: _where(xp, (input > -3) & (input < 3), input) / 6,),
)
_hardsigmoid_ = inplace_of(hardsigmoid_kernel.entry, "hardsigmoid_")


@op(**_FUNCTIONAL)
def hardsigmoid(input: Num, inplace=False):
    """min(max(0, input + 3), 6) / 6, elementwise."""
    return _hardsigmoid_(input) if inplace else hardsigmoid_kernel(input)


def _hardswish_deriv(xp, input):
    return xp.where(input <= -3, _constant(xp, 0, input), xp.where(input < 3, input / 3 + 0.5, _constant(xp, 1, input)))


hardswish_kernel = unary(
    "hardswish_kernel",
    lambda xp, input: input * xp.minimum(xp.maximum(input + 3, 0), 6) / 6,
    accept="f",
    spaces=(),
    deriv=(_hardswish_deriv,),
)
_hardswish_ = inplace_of(hardswish_kernel.entry, "hardswish_")


@op(**_FUNCTIONAL)
def hardswish(input: Num, inplace=False):
    """input min(max(0, input + 3), 6) / 6, elementwise (Howard et al. 2019)."""
    return _hardswish_(input) if inplace else hardswish_kernel(input)


@op(elementwise=True, accept="f", spaces=("", "nn.functional"),
    deriv=(lambda xp, input, lambd: 1 - _where(xp, (input >= -lambd) & (input <= lambd), input),))  # fmt: skip
def hardshrink(xp, input: Num, lambd=0.5):
    """input where |input| > lambd, else 0, elementwise."""
    return xp.where((input >= -lambd) & (input <= lambd), _constant(xp, 0, input), input)


@op(**_FORMULA, deriv=(lambda xp, input, lambd: 1 - _where(xp, (input >= -lambd) & (input <= lambd), input),))
def softshrink_kernel(xp, input: Num, lambd):
    """input moved towards 0 by lambd, and 0 where |input| <= lambd."""
    return input - xp.minimum(xp.maximum(input, -lambd), lambd)


@op(**_FUNCTIONAL)
def softshrink(input: Num, lambd=0.5):
    """input moved towards 0 by lambd, and 0 where |input| <= lambd, elementwise. RuntimeError for a negative lambd."""
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}. (softshrink)")
    return softshrink_kernel(input, lambd)


# ---------------------------------------------------------------- softmax and its kin, with a dimension that may be
# left out


def _dim(name, input, dim):
    if dim is not None:
        return dim
    text = f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    warnings.warn(text, UserWarning, stacklevel=4)
    return 0 if input.ndim in (0, 1, 3) else 1


@op(**_FUNCTIONAL)
def softmax(input: Num, dim=None, _stacklevel=3, dtype: Cast = None):
    """exp(input) over its sum along `dim`; input is cast to `dtype` first."""
    return T.softmax(input, _dim("softmax", input, dim), dtype=dtype)


@op(**_FUNCTIONAL)
def softmin(input: Num, dim=None, _stacklevel=3, dtype: Cast = None):
    """softmax of -input."""
    return T.softmax(-input, _dim("softmin", input, dim), dtype=dtype)


@op(**_FUNCTIONAL)
def log_softmax(input: Num, dim=None, _stacklevel=3, dtype: Cast = None):
    """The logarithm of softmax, computed without overflow."""
    return T.log_softmax(input, _dim("log_softmax", input, dim), dtype=dtype)


PUBLIC["nn.functional"].update(tanh=T.tanh, sigmoid=T.sigmoid)
