"""Arithmetic with more to say than two operands: scaled sums, division that rounds, bounds, interpolation."""

from __future__ import annotations

from backends.dtypes import complex128, float64
from framework.core.host import item
from framework.core.number import as_number
from framework.core.promotion import scalar_type_name
from framework.core.tensor import Tensor
from framework.dispatch.batched import elementwise_batch
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.generate import FLOATS
from framework.dispatch.inplace import assigned
from framework.dispatch.registry import T, attach, binary, op
from framework.dispatch.schema import Num
from framework.dispatch.slow import promoted


def _dtype(*operands):
    """What tensors and numbers promote to."""
    return promoted([x for x in operands if x is not None])


def _number(value):
    """A factor given as a number or a 0-d tensor."""
    return item(value) if isinstance(value, Tensor) else value


# ---------------------------------------------------------------- sums with a factor
def _factor(alpha, d):
    """A factor as a number; RuntimeError where the result's dtype cannot take it."""
    alpha = _number(alpha)
    if d.category < 3 and isinstance(alpha, complex):
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if d.category < 2 and isinstance(alpha, float):
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, bool) and d.category:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    return alpha


def _wrapped(alpha, d):
    """An integer factor as dtype d holds it: modulo 2 ** bits."""
    return alpha % (1 << 8 * d.itemsize) if d.kind == "u" else alpha


@op(elementwise=True, batch=elementwise_batch, linear="jointly", spaces=(), numbers_alone=True,
    vjp=(lambda g: g, lambda g, alpha: g * alpha.conjugate()))  # fmt: skip
def add_scaled(xp, input: Num, other: Num, alpha):
    """input + alpha * other, rounded once."""
    return input + other * alpha


def _plain(input, other, alpha):
    """Whether nothing needs a look: two tensors of one floating dtype and a real factor."""
    if type(alpha) not in (float, int) or not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return False
    return input.dtype in FLOATS and other.dtype is input.dtype


plain_add, plain_sub, plain_rsub, plain_div = T.add, T.sub, T.rsub, T.div
no_bool_minus = plain_sub.entry.check


@op(composite=True, elementwise=True, numbers_alone=True)
def add(input: Num, other: Num, *, alpha=1):
    """input + alpha * other; operands promote and broadcast."""
    if type(alpha) is int and alpha == 1:
        return plain_add(input, other)
    if _plain(input, other, alpha):
        return T.add_scaled(input, other, alpha)
    d = _dtype(input, other)
    alpha = _factor(alpha, d)
    return plain_add(input, other) if alpha == 1 else T.add_scaled(input, other, _wrapped(alpha, d))


@op(composite=True, elementwise=True, numbers_alone=True, alias=("subtract",))
def sub(input: Num, other: Num, *, alpha=1):
    """input - alpha * other; operands promote and broadcast. RuntimeError for bools."""
    if type(alpha) is int and alpha == 1:
        return plain_sub(input, other)
    if _plain(input, other, alpha):
        return T.add_scaled(input, other, -alpha)
    no_bool_minus(input, other)
    d = _dtype(input, other)
    alpha = _factor(alpha, d)
    return plain_sub(input, other) if alpha == 1 else T.add_scaled(input, other, _wrapped(-alpha, d))


@op(composite=True, method=False)
def rsub(input: Num, other, *, alpha=1):
    """other - alpha * input; operands promote and broadcast. RuntimeError for bools."""
    if type(alpha) is int and alpha == 1:
        return plain_rsub(input, other)
    no_bool_minus(input, other)
    d = _dtype(input, other)
    return T.add_scaled(other, input, _wrapped(-_factor(alpha, d), d))


def in_place(general, plain, name, option, default):
    """The in-place method of a function with one option: at its default, the primitive's own method."""

    def method(self, other, **options):
        if not options or options == {option: default} and type(options[option]) is type(default):
            return plain(self, other)
        return assigned(general.entry, name, self, (other,), options)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"In-place form of `{name[:-1]}`: writes the result into this tensor and returns it."
    return method


add_, sub_ = in_place(add, Tensor.add_, "add_", "alpha", 1), in_place(sub, Tensor.sub_, "sub_", "alpha", 1)
attach(add_=add_, sub_=sub_, subtract_=sub_)


# ---------------------------------------------------------------- division
def _truncated(xp, input, other):
    """The quotient cut towards zero; of integers, from the floored one."""
    if xp.dtype_of(input).is_floating_point:
        return xp.trunc(input / other)
    quotient = xp.floor_divide(input, other)
    inexact = xp.logical_and(quotient < 0, xp.ne(quotient * other, input))
    return quotient + xp.astype(inexact, xp.dtype_of(quotient))


_ROUNDED = dict(accept="iuf", numbers_alone=True, batch=elementwise_batch, check=T.floor_divide.entry.check, spaces=())
binary("div_trunc", _truncated, vjp=(lambda g: g * 0, lambda g: g * 0), **_ROUNDED)
binary(
    "div_floor",
    lambda xp, input, other: xp.floor_divide(input, other),
    vjp=(lambda g: g * 0, lambda g: g * 0),
    **_ROUNDED,
)


@op(composite=True, elementwise=True, numbers_alone=True, alias=("divide",))
def div(input: Num, other: Num, *, rounding_mode=None):
    """input / other; operands promote, integers to the default dtype, and broadcast.

    rounding_mode: "trunc" cuts the quotient towards zero and "floor" rounds it down; they keep integers, and raise
    RuntimeError for an integer divisor of zero.
    """
    if rounding_mode is None:
        return plain_div(input, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return (T.div_trunc if rounding_mode == "trunc" else T.div_floor)(input, other)


div_ = in_place(div, Tensor.div_, "div_", "rounding_mode", None)
attach(div_=div_, divide_=div_)


@op(composite=True, elementwise=True, numbers_alone=True, inplace=True)
def true_divide(input: Num, other: Num):
    """input / other: `div` without rounding."""
    return plain_div(input, other)


# ---------------------------------------------------------------- bounds
@op(
    elementwise=True,
    batch=elementwise_batch,
    exact=True,
    spaces=(),
    accept="iuf",
    vjp=(lambda xp, g, input, low, high: _inside(xp, g, input, low, high),),
)
def clip(xp, input: Num, low, high):
    """input within [low, high], numbers of its dtype or None; nan stays."""
    if low is not None:
        input = xp.maximum(input, low)
    return input if high is None else xp.minimum(input, high)


def _inside(xp, g, input, low, high):
    """The gradient where input lies within the bounds, both included."""
    outside = None
    if low is not None:
        outside = input < low
    if high is not None:
        above = input > high
        outside = above if outside is None else xp.logical_or(outside, above)
    return xp.where(outside, xp.full((), 0, xp.like(g)), g)


def _clamp_input(xp, g, input, min, max):
    """Bounds included; where they are crossed the upper one wins."""
    keep = None if min is None else input >= min
    if max is not None:
        below = input <= max
        keep = below if keep is None else xp.logical_and(keep, below)
    return xp.where(keep, g, xp.full((), 0, xp.like(g)))


def _clamp_min(xp, g, input, min, max):
    won = input < min
    if max is not None:
        won = xp.logical_and(won, min < max)
    return xp.where(won, g, xp.full((), 0, xp.like(g)))


def _clamp_max(xp, g, input, min, max):
    won = input > max
    if min is not None:
        won = xp.logical_or(won, max < min)
    return xp.where(won, g, xp.full((), 0, xp.like(g)))


@op(
    elementwise=True,
    batch=elementwise_batch,
    exact=True,
    spaces=(),
    accept="biuf",
    vjp=(_clamp_input, _clamp_min, _clamp_max),
)
def clamp_between(xp, input: Num, min: Num = None, max: Num = None):
    """input within [min, max]: tensors that broadcast, or None."""
    if min is not None:
        input = xp.maximum(input, min)
    return input if max is None else xp.minimum(input, max)


_PLAIN = (int, float, type(None))


def _clamped(name, input, min, max):
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if not isinstance(input, Tensor):
        not_a_tensor(name, "input", 0, input)
    if any(isinstance(b, complex) for b in (min, max)) or input.dtype.is_complex:
        raise NotImplementedError("clamp is not supported for complex types")
    tensors = [b for b in (min, max) if isinstance(b, Tensor)]
    if input.dtype in FLOATS and type(min) in _PLAIN and type(max) in _PLAIN and min == min and max == max:
        return T.clip(input, min, max)
    if not tensors:
        d = _dtype(input, min, max)
        x = input if d is input.dtype else T.astype(input, d)
        for bound in (min, max):
            if bound is not None and bound != bound:  # nan bounds everything
                return T.add(x, bound) if d.is_floating_point else x
        return T.clip(x, *[None if bound is None else as_number(bound, d) for bound in (min, max)])
    if len(tensors) < sum(b is not None for b in (min, max)):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: min and max must both be numbers, or both tensors"
        )
    return T.clamp_between(input, min, max)


@op(composite=True, elementwise=True, inplace=True, alias=("clip",))
def clamp(input: Num, min: Num = None, max: Num = None):
    """Each element within [min, max]: numbers, or tensors that broadcast; max where min exceeds it. nan stays.

    The gradient passes within the bounds, both included.
    """
    return _clamped("clamp", input, min, max)


@op(composite=True, elementwise=True, inplace=True)
def clamp_min(input: Num, min: Num):
    """Each element at least `min`, a number or a tensor that broadcasts."""
    return _clamped("clamp_min", input, min, None)


@op(composite=True, elementwise=True, inplace=True)
def clamp_max(input: Num, max: Num):
    """Each element at most `max`, a number or a tensor that broadcasts."""
    return _clamped("clamp_max", input, None, max)


# ---------------------------------------------------------------- interpolation, products added
def _lerp(xp, start, end, weight):
    """From the nearer end, so that weights 0 and 1 give the ends themselves."""
    near = xp.abs(weight) < 0.5
    return xp.where(near, start + weight * (end - start), end - (end - start) * (1 - weight))


@op(elementwise=True, batch=elementwise_batch, accept="fc", spaces=(), vjp=(lambda xp, g, weight: g * xp.conj(1 - weight), lambda xp, g, weight: g * xp.conj(weight),
                                      lambda xp, g, input, end: g * xp.conj(end - input)))  # fmt: skip
def lerp(xp, input: Num, end: Num, weight: Num):
    """input + weight * (end - input)."""
    return _lerp(xp, input, end, weight)


lerp_tensors = T.lerp


@op(elementwise=True, batch=elementwise_batch, accept="fc", spaces=(), linear="jointly", vjp=(lambda g, weight: g * (1 - weight).conjugate(),
                                                                   lambda g, weight: g * weight.conjugate()))  # fmt: skip
def lerp_number(xp, input: Num, end: Num, weight):
    """input + weight * (end - input) for one number as weight."""
    return input + weight * (end - input) if abs(weight) < 0.5 else end - (end - input) * (1 - weight)


@op(composite=True, elementwise=True, inplace=True)
def lerp(input: Num, end: Num, weight: Num):
    """input + weight * (end - input): weight a number or a tensor; all of one dtype."""
    for x, name in ((end, "end"), (weight, "weight")):
        if (
            isinstance(x, Tensor)
            and x.dtype is not input.dtype
            and not (name == "weight" and not x.ndim and x.dtype.category < 2)
        ):
            raise RuntimeError(f"expected dtype {input.dtype.name} for `{name}` but got dtype {x.dtype.name} (lerp)")
    return lerp_tensors(input, end, weight) if isinstance(weight, Tensor) else T.lerp_number(input, end, weight)


def _value_fits(name, value, *operands):
    d = _dtype(*operands)
    if not d.category:
        raise NotImplementedError(f"\"{name}_cpu_out\" not implemented for '{scalar_type_name(d)}'")
    value = _number(value)
    return int(value) if d.category == 1 else value


@op(elementwise=True, batch=elementwise_batch, spaces=(), vjp=(lambda g: g, lambda xp, g, tensor2, value: g * xp.conj(tensor2) * value,
                                      lambda xp, g, tensor1, value: g * xp.conj(tensor1) * value))  # fmt: skip
def addcmul(xp, input: Num, tensor1: Num, tensor2: Num, value):
    """input + value * tensor1 * tensor2, rounded once."""
    return input + tensor1 * tensor2 * value


@op(elementwise=True, batch=elementwise_batch, accept="fc", spaces=(), vjp=(
    lambda g: g, lambda xp, g, tensor2, value: g * xp.conj(value / tensor2),
    lambda xp, g, tensor1, tensor2, value: -g * xp.conj(value * tensor1 / (tensor2 * tensor2))))  # fmt: skip
def addcdiv(xp, input: Num, tensor1: Num, tensor2: Num, value):
    """input + value * tensor1 / tensor2, rounded once."""
    return input + tensor1 / tensor2 * value


product_added, quotient_added = T.addcmul, T.addcdiv


@op(composite=True, inplace=True)
def addcmul(input: Num, tensor1: Num, tensor2: Num, *, value=1):
    """input + value * tensor1 * tensor2; operands promote and broadcast."""
    return product_added(input, tensor1, tensor2, _value_fits("addcmul", value, input, tensor1, tensor2))


@op(composite=True, inplace=True)
def addcdiv(input: Num, tensor1: Num, tensor2: Num, *, value=1):
    """input + value * tensor1 / tensor2; operands promote and broadcast. RuntimeError for two integer tensors to
    divide.
    """
    if tensor1.dtype.category < 2 and tensor2.dtype.category < 2:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a "
            "true division of tensor1 and tensor2. Use input + value * trunc(tensor1 / tensor2), or convert to a "
            "floating dtype."
        )
    return quotient_added(input, tensor1, tensor2, _value_fits("addcdiv", value, input, tensor1, tensor2))


def _double(*operands):
    """float64, or complex128 if an operand is complex."""
    return (
        complex128
        if any(isinstance(x, complex) or isinstance(x, Tensor) and x.dtype.is_complex for x in operands)
        else float64
    )


@op(composite=True, elementwise=True)
def float_power(input: Num, exponent: Num):
    """input ** exponent in double precision: float64, or complex128 if either is complex."""
    wide = _double(input, exponent)
    if isinstance(input, Tensor):
        input = T.astype(input, wide)
    if isinstance(exponent, Tensor):
        exponent = T.astype(exponent, wide)
    return T.pow(input, exponent)


def float_power_(self, exponent):
    """In-place form of `float_power`; RuntimeError unless this tensor has the result's dtype."""
    wide = _double(self, exponent)
    if self.dtype is not wide:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {scalar_type_name(self.dtype)} but the operation's result "
            f"requires dtype {scalar_type_name(wide)}"
        )
    return assigned(float_power.entry, "float_power_", self, (exponent,), {})


attach(float_power_=float_power_)
