"""An expression gives the dtype, shape and values that it gives in PyTorch, or raises the same class of error."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import framework

from .expressions import EXPRESSIONS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
NUMBERS = [True, 3, -2, 1.5, 2j]
SCOPE = {"nan": float("nan"), "inf": float("inf"), "np": np}


def evaluate(text, module):
    """The value of an expression in which `torch` is the module and T its `tensor`, or the error it raises."""
    scope = SCOPE | {"torch": module, "T": module.tensor, "r": module.ones}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(text, scope)
    except Exception as error:  # whichever it is, is compared
        return error


def described(value):
    """A result as (dtype, shape, values); plain values as they are."""
    if isinstance(value, (tuple, list)):
        return [described(v) for v in value]
    if not hasattr(value, "dtype"):
        return value
    name = str(value.dtype).split(".")[1]
    if name == "complex32":  # there is none here
        name, value = "complex64", value.to(torch.complex64)
    wide = (
        value.to((torch if isinstance(value, torch.Tensor) else framework).float32)
        if name in ("bfloat16", "float16")
        else value
    )
    return name, tuple(value.shape), np.asarray(wide.detach().numpy())


def compare(ours, theirs, text):
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"{text}: PyTorch raises {theirs!r}"
        classes = [c for c in type(theirs).__mro__ if c.__module__ == "builtins"][:1]
        assert isinstance(ours, tuple(classes)), f"{text}: {ours!r}, PyTorch raises {theirs!r}"
        return
    assert not isinstance(ours, Exception), f"{text}: {ours!r}, PyTorch gives {theirs!r}"
    same(described(ours), described(theirs), text)


def compare_known(text):
    """The comparison, but for half types that PyTorch lacks on the CPU."""
    ours, theirs = evaluate(text, framework), evaluate(text, torch)
    if not (isinstance(theirs, NotImplementedError) and "Half" in str(theirs) and not isinstance(ours, Exception)):
        compare(ours, theirs, text)


def same(ours, theirs, text):
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), text
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, text)
    elif isinstance(theirs, tuple):
        assert ours[:2] == theirs[:2], f"{text}: {ours}, PyTorch gives {theirs}"
        tolerance = 1e-2 if "float16" in text else 1e-5
        np.testing.assert_allclose(ours[2], theirs[2], rtol=tolerance, atol=1e-6, equal_nan=True, err_msg=text)
    else:
        assert ours == theirs, text


OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "&", "|", "^", "<<", ">>"]
FUNCTIONS = [
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "fmod",
    "copysign",
    "nextafter",
    "gcd",
    "lcm",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "float_power",
    "xlogy",
    "special.xlog1py",
    "true_divide",
    "ldexp",
    "rsub",
    "outer",
    "kron",
    "inner",
    "mul",
    "add",
    "clamp_min",
    "clamp_max",
]
# Bools raised to the power of a bool: a result in PyTorch for a number alone; scaled by a bool: a result here alone
UNEQUAL = {"**": ("bool) ** True",), "ldexp": ("bool))",)}


def _value(name, zero_dim, lead):
    one = "True" if name == "bool" else "2" if lead else "3"
    return f"T({one if zero_dim else f'[{one}]'}, dtype=torch.{name})"


@pytest.mark.parametrize("function", [*OPERATORS, *FUNCTIONS])
def test_dtypes_of_two_operands(function):
    """Every pair of dtypes, of tensors with and without dimensions, and Python numbers."""
    pairs = [
        (_value(a, x, True), _value(b, y, False))
        for a, b in itertools.product(NAMES, NAMES)
        for x, y in ((0, 0), (0, 1), (1, 0))
    ]
    pairs += [(_value(a, x, True), repr(n)) for a in NAMES for n in NUMBERS for x in (0, 1)]
    pairs += [(repr(n), _value(a, x, False)) for a in NAMES for n in NUMBERS for x in (0, 1)]
    for a, b in pairs:
        text = f"{a} {function} {b}" if function in OPERATORS else f"torch.{function}({a}, {b})"
        if not text.endswith(UNEQUAL.get(function, ("|",))):
            compare_known(text)


UNARY = [
    "abs",
    "neg",
    "positive",
    "sign",
    "sgn",
    "square",
    "reciprocal",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "rsqrt",
    "sin",
    "tan",
    "asin",
    "atanh",
    "sigmoid",
    "floor",
    "ceil",
    "trunc",
    "round",
    "frac",
    "isnan",
    "isinf",
    "isfinite",
    "signbit",
    "logical_not",
    "bitwise_not",
    "angle",
    "isposinf",
    "isneginf",
    "isreal",
    "nan_to_num",
    "erf",
    "erfc",
    "erfinv",
    "lgamma",
    "digamma",
    "i0",
    "logit",
    "deg2rad",
    "conj_physical",
    "frexp",
    "sinc",
    "relu",
]


@pytest.mark.parametrize("function", UNARY)
def test_dtypes_of_one_operand(function):
    for name in NAMES:
        for value in ("True", "[True, False]") if name == "bool" else ("1", "[1, 0, 2]"):
            text = f"torch.{function}(T({value}, dtype=torch.{name}))"
            compare_known(text)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    compare(evaluate(text, framework), evaluate(text, torch), text)
