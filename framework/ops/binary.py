"""Elementwise ops of two operands, either of which may be a Python number. Rules never unbroadcast: the engine does."""

from __future__ import annotations

from backends.dtypes import bool_
from framework.core.tensor import Tensor
from framework.dispatch.batched import elementwise_batch
from framework.dispatch.registry import T, binary, op
from framework.dispatch.schema import Index, Num


# ---------------------------------------------------------------- arithmetic
def _no_bool_minus(input, other):
    for x in (input, other):
        if getattr(x, "dtype", None) is bool_ or x is True or x is False:
            if (
                getattr(input, "dtype", None) is bool_
                and getattr(other, "dtype", bool_) is bool_
                and not isinstance(other, (int, float))
            ):
                raise RuntimeError(
                    "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
                    "`logical_xor()` operator instead."
                )
            raise RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a "
                "mask, use the `~` or `logical_not()` operator instead."
            )


add = binary("add", doc="input + other.", linear="jointly", vjp=(lambda g: g, lambda g: g), numbers_alone=True)
sub = binary(
    "sub",
    doc="input - other. Not for bools.",
    linear="jointly",
    vjp=(lambda g: g, lambda g: -g),
    check=_no_bool_minus,
    inplace=True,
    numbers_alone=True,
)
mul = binary(
    "mul",
    doc="input * other.",
    deriv=(lambda other: other, lambda input: input),
    alias=("multiply",),
    numbers_alone=True,
)
# The quotient is not saved: writing to it in place must leave the gradient alone, as in PyTorch.
div = binary(
    "div",
    doc="input / other, in floating point; also for integers.",
    dtype="float",
    deriv=(lambda other: 1 / other, lambda input, other: -(input / other) / other),
    numbers_alone=True,
)
rsub = binary(
    "rsub",
    doc="other - input.",
    forward=lambda xp, input, other: xp.sub(other, input),
    linear="jointly",
    vjp=(lambda g: -g, lambda g: g),
    check=_no_bool_minus,
    inplace=False,
)
rdiv = binary(
    "rdiv",
    doc="other / input.",
    forward=lambda xp, input, other: xp.div(other, input),
    dtype="float",
    spaces=(),
    deriv=(lambda input, other: -(other / input) / input, lambda input: 1 / input),
    inplace=False,
)
maximum = binary(
    "maximum",
    numbers="none",
    doc="The greater of two elements; nan wins.",
    vjp=(
        lambda xp, g, input, other: _shared(xp, g, input > other, input, other),
        lambda xp, g, input, other: _shared(xp, g, other > input, input, other),
    ),
    accept="biuf",
    exact=True,
)
minimum = binary(
    "minimum",
    numbers="none",
    doc="The lesser of two elements; nan wins.",
    vjp=(
        lambda xp, g, input, other: _shared(xp, g, input < other, input, other),
        lambda xp, g, input, other: _shared(xp, g, other < input, input, other),
    ),
    accept="biuf",
    exact=True,
)
atan2 = binary(
    "atan2",
    numbers="none",
    doc="The angle in radians of the point (other, input), in (-pi, pi].",
    dtype="float",
    accept="biuf",
    deriv=(
        lambda xp, input, other: _over_square(xp, other, input, other),
        lambda xp, input, other: -_over_square(xp, input, input, other),
    ),
    alias=("arctan2",),
)
pow = binary(
    "pow",
    doc="input to the power of other.",
    vjp=(
        lambda xp, g, input, other: g * xp.conj(_pow_base(xp, input, other)),
        lambda xp, g, input, other, out: g * xp.conj(_pow_exponent(xp, input, other, out)),
    ),
    check=lambda input, other: _no_negative_power(input, other),
    accept="iufc",
    rewrite=lambda input, other: T.integer_pow(input, other) if _whole(input) and _whole(other) else NotImplemented,
)


def _whole(x):
    return isinstance(x, Tensor) and x.dtype.category < 2


def _integer_pow(xp, input, other):
    """Powers of integers; a negative exponent gives what is left of the fraction: 0, but 1 and -1 have powers that are
    whole.
    """
    constant = lambda value: xp.full((), value, xp.like(input))
    negative = other < 0
    power = xp.pow(input, xp.where(negative, xp.bitwise_and(other, constant(1)), other))
    return xp.where(xp.logical_and(negative, xp.ne(xp.abs(input), constant(1))), constant(0), power)


binary(
    "integer_pow",
    _integer_pow,
    doc="input to the power of other, integers.",
    accept="iu",
    spaces=(),
    batch=elementwise_batch,
)


def _over_square(xp, value, input, other):
    """value / (input ** 2 + other ** 2), and 0 where both are."""
    square = input * input + other * other
    origin = xp.eq(square, 0)
    return xp.where(
        origin, xp.full((), 0, xp.like(square)), value / xp.where(origin, xp.full((), 1, xp.like(square)), square)
    )


def _shared(xp, g, wins, input, other):
    """The gradient of a maximum: whole to the one that wins, half to each at a tie."""
    tie = xp.eq(input, other)
    return xp.where(wins, g, xp.where(tie, g * 0.5, xp.full((), 0, xp.like(g))))


def _pow_base(xp, base, exponent):
    """other * input ** (other - 1), and 0 where the exponent is 0 (there 0 ** -1 would give nan)."""
    value = exponent * xp.pow(base, exponent - 1)
    if isinstance(exponent, (int, float, complex)):
        return value if exponent != 0 else xp.full(tuple(base.shape), 0, xp.like(base))
    return xp.where(xp.eq(exponent, 0), xp.full((), 0, xp.like(value)), value)


def _pow_exponent(xp, base, exponent, out):
    """out * log(input), and 0 where the base is 0 and the exponent not negative (the limit)."""
    if isinstance(base, (int, float, complex)):
        base = xp.full((), base, xp.like(out))
    flat = xp.logical_and(xp.eq(base, 0), xp.ge(xp.real(exponent), 0))
    zero = xp.full((), 0, xp.like(out))
    return xp.where(flat, zero, out * xp.log(xp.where(flat, xp.full((), 1, xp.like(out)), base)))


def _no_negative_power(input, other):
    integral = (
        getattr(input, "dtype", None) is None
        and isinstance(input, int)
        or getattr(getattr(input, "dtype", None), "category", 9) < 2
    )
    if integral and isinstance(other, int) and other < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")


# ---------------------------------------------------------------- division with rounding
def _no_zero_divisor(input, other):
    integral = all(
        getattr(getattr(x, "dtype", None), "category", 1 if isinstance(x, int) else 2) < 2 for x in (input, other)
    )
    if integral and (other == 0 if isinstance(other, int) else bool((other == 0).any())):
        raise RuntimeError("ZeroDivisionError")


floor_divide = binary(
    "floor_divide",
    doc="input / other rounded down. ZeroDivisionError as RuntimeError for integers.",
    accept="iuf",
    check=_no_zero_divisor,
    numbers_alone=True,
)
remainder = binary(
    "remainder",
    doc="What is left of input / other rounded down: has the sign of the divisor.",
    linear=None,
    accept="iuf",
    check=_no_zero_divisor,
    vjp=(lambda g: g, lambda xp, g, input, other: -g * xp.floor_divide(input, other)),
)
fmod = binary(
    "fmod",
    numbers="other",
    doc="What is left of input / other rounded towards 0: has the sign of the dividend.",
    accept="iuf",
    check=_no_zero_divisor,
    vjp=(lambda g: g, lambda xp, g, input, other: -g * xp.trunc(input / other)),
)

# ---------------------------------------------------------------- comparison and logic
eq = binary("eq", numbers="other", doc="Whether input == other.", dtype=bool_, exact=True, inplace=True)
ne = binary(
    "ne", numbers="other", doc="Whether input != other.", dtype=bool_, exact=True, inplace=True, alias=("not_equal",)
)
lt = binary(
    "lt",
    numbers="other",
    doc="Whether input < other.",
    dtype=bool_,
    exact=True,
    inplace=True,
    accept="biuf",
    alias=("less",),
)
le = binary(
    "le",
    numbers="other",
    doc="Whether input <= other.",
    dtype=bool_,
    exact=True,
    inplace=True,
    accept="biuf",
    alias=("less_equal",),
)
gt = binary(
    "gt",
    numbers="other",
    doc="Whether input > other.",
    dtype=bool_,
    exact=True,
    inplace=True,
    accept="biuf",
    alias=("greater",),
)
ge = binary(
    "ge",
    numbers="other",
    doc="Whether input >= other.",
    dtype=bool_,
    exact=True,
    inplace=True,
    accept="biuf",
    alias=("greater_equal",),
)
logical_and = binary(
    "logical_and", numbers="none", doc="Whether both elements are not 0.", dtype=bool_, exact=True, inplace=True
)
logical_or = binary(
    "logical_or", numbers="none", doc="Whether an element is not 0.", dtype=bool_, exact=True, inplace=True
)
logical_xor = binary(
    "logical_xor",
    numbers="none",
    doc="Whether one element is 0 and the other is not.",
    dtype=bool_,
    exact=True,
    inplace=True,
)
bitwise_and = binary("bitwise_and", doc="The bits set in both; `and` for bools.", accept="biu", exact=True)
bitwise_or = binary("bitwise_or", doc="The bits set in either; `or` for bools.", accept="biu", exact=True)
bitwise_xor = binary("bitwise_xor", doc="The bits set in one alone; `xor` for bools.", accept="biu", exact=True)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    doc="input * 2 ** other, bits beyond the width dropped; 0 for distances below 0 or of the width and more.",
    accept="iu",
    exact=True,
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    doc="input / 2 ** other rounded down; the sign alone for distances below 0 or of the width and more.",
    accept="iu",
    exact=True,
)


@op(linear="jointly", opaque=True, elementwise=True, exact=True, spaces=(),
    vjp=(lambda xp, g, condition: xp.where(condition, g, xp.full((), 0, xp.like(g))),
         lambda xp, g, condition: xp.where(condition, xp.full((), 0, xp.like(g)), g)))  # fmt: skip
def where(xp, condition: Index, input: Num, other: Num):
    """`input` where the condition holds, else `other`."""
    return xp.where(condition, input, other)
