"""Arithmetic and products: the same expression here and in PyTorch gives the same dtype, shape and values, or the same
class of error.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import framework

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


EXPRESSIONS = """
torch.add(T([1]), T([1]), alpha=1.5)
torch.add(T([1.]), T([1]), alpha=1j)
torch.add(T([1.]), T([1]), alpha=True)
torch.add(T([True]), T([True]), alpha=True)
torch.add(T([1, 2], dtype=torch.uint8), T([1, 3], dtype=torch.uint8), alpha=-1)
torch.add(2, T([1.]), alpha=3)
torch.sub(T([1.]), T([True]), alpha=2)
torch.sub(T([1.]), T([3]), alpha=2)
torch.rsub(T([1.]), T([2.]), alpha=3)
torch.rsub(T([1.]), 2, alpha=3)
torch.div(T([7]), T([2]), rounding_mode='x')
torch.div(T([7, -7]), T([2]), rounding_mode='trunc')
torch.div(T([7, -7]), T([2]), rounding_mode='floor')
torch.div(T([-7]), T([0]), rounding_mode='floor')
torch.div(T([-7]), T([0]), rounding_mode='trunc')
torch.div(T([-7., 7.]), T([0.]), rounding_mode='trunc')
torch.div(T([True]), T([True]), rounding_mode='trunc')
torch.div(7, 2, rounding_mode='floor')
T([5, -5, 0]) / 0
T([5., -5., inf]) // 0
T([inf, -5., 5.]) // T([1., inf, -inf])
T([5, -5]) // 2, T([5, -5]) % 3, T([5, -5]) % -3, torch.fmod(T([5, -5]), 3), torch.fmod(T([5, -5]), -3)
T([5., -5., -0.]) % inf, T([5.]) % 0, torch.fmod(T([5., inf]), inf)
T([5]) // 0
T([5]) % 0
5 // T([0])
torch.fmod(T([5]), 0)
T([-2**63]) // -1
T([2, 1, -1, 0]) ** T([-1, -2, -3, -1])
T([2]) ** -1
2 ** T([1, 2]), 2. ** T([1, 2]), T([2]) ** 0.5, T([0.]) ** 0, T([nan]) ** 0
T([1, -1], dtype=torch.int8) << T([7, 100], dtype=torch.int8)
T([-1, 8, -8]) >> T([100, 2, 1]), T([1]) << -1
T([1], dtype=torch.uint8) - 2, T([100], dtype=torch.int8) + 100, T([1], dtype=torch.uint8) * 300
T([255], dtype=torch.uint8) > -1, T([1], dtype=torch.int8) == 300, T([1], dtype=torch.uint8) == -1
torch.clamp(T([1, 250], dtype=torch.uint8), min=-1)
torch.clamp(T([1, 250], dtype=torch.uint8), min=300)
torch.clamp(T([1, 2]), min=1.5), torch.clamp(T([True]), min=0), torch.clamp(T([1., nan]), 2, 1)
torch.clamp(T([1., nan]), min=nan), torch.clamp(T([1., nan]), min=T([nan, 1.]))
torch.clamp(T([1.]), min=T([1, 2]), max=T([2.], dtype=torch.float64))
torch.clamp(T([1.]), min=T([1.]), max=2)
torch.clamp(T([1.]))
torch.clamp(T([1j]), min=0)
torch.sign(T([nan, -0., 3.])), torch.sgn(T([nan, -2.])), torch.heaviside(T([nan, 0., 1.]), T([2.]))
torch.heaviside(T([0.]), T([2]))
torch.maximum(T([nan, 1.]), T([1., nan])), torch.fmax(T([nan, 1.]), T([1., nan])), torch.fmin(T([nan, nan]), T([1., nan]))
torch.round(T([0.5, 1.5, 2.5, -0.5])), torch.round(T([1250., 1.25]), decimals=-2), torch.round(T([1.245]), decimals=2)
torch.round(T([1]), decimals=1)
torch.ldexp(T([1.], dtype=torch.float64), T([200])), torch.ldexp(T([1]), T([20])), torch.ldexp(T([1.]), T([0.5]))
torch.frexp(T([1., inf, nan, 0., -3.]))
torch.nan_to_num(T([inf, -inf, nan], dtype=torch.bfloat16)), torch.nan_to_num(T([inf, nan]), 1, 2), torch.nan_to_num(T([True]))
torch.nan_to_num(T([complex(nan, inf)]))
torch.isposinf(T([1j]))
torch.lerp(T([1.]), T([2.]), 0.5), torch.lerp(T([1.]), T([2.]), T([0.25, 3.]))
torch.lerp(T([1]), T([2]), 0.5)
torch.lerp(T([1.]), T([2]), 0.5)
torch.addcmul(T([1]), T([2]), T([3]), value=0.5), torch.addcmul(T([1]), T([2.]), T([3]), value=0.5)
torch.addcmul(T([True]), T([True]), T([True]), value=2)
torch.addcdiv(T([1.]), T([2]), T([3]))
torch.addcdiv(T([1.]), T([2]), T([3.]))
torch.xlogy(T([0., 0., 0., nan]), T([nan, -1., 0., 1.])), torch.special.xlog1py(T([0., 0., 0.]), T([nan, -2., -1.])), torch.xlogy(2, T([3.]))
torch.float_power(2, T([1])), torch.float_power(T([1.]), 2j)
T([1.]).float_power_(2)
torch.polygamma(-1, T([1.]))
torch.polygamma(1., T([1.]))
torch.polygamma(2, T([1., 0.5, 7.])), T([1.]).polygamma(1), T([1.]).polygamma_(1)
torch.mvlgamma(T([1.]), 0)
torch.mvlgamma(T([3, 4]), 2), torch.mvlgamma(T([3.]), p=3)
torch.igamma(T([1.]), 1.)
torch.igamma(T([1., 0., 0., inf, 1., -1.]), T([1., 0., 1., 1., inf, 1.])), torch.igammac(T([1., 0., 0., inf, 1., -1.]), T([1., 0., 1., 1., inf, 1.]))
torch.digamma(T([0., -0., -1., inf, -inf])), torch.lgamma(T([0., -1., inf, -inf, 1., 2.]))
torch.logit(T([0., 1., -1., 2., 0.3])), torch.logit(T([0.05, 0.99]), 0.1), torch.logit(T([-1., 0.5]), -0.1), torch.special.logit(T([0.1]), eps=0.2)
torch.logaddexp(T([inf, -inf, inf]), T([inf, -inf, -inf])), torch.logaddexp2(T([inf, -inf]), T([-inf, -inf]))
T([True]) & 3, T([True]) | 2, ~T([True]), ~T([1], dtype=torch.uint8), True ^ T([True])
T([True]) - T([True])
T([True]) - 1, T([1]) - True
-T([True])
+T([True])
abs(T([-1, 2])), +T([1.]), -T([1], dtype=torch.uint8)
torch.ones(2) == None, torch.ones(2) != None, torch.ones(2) == 'a', torch.ones(2) in [None, 'a']
torch.ones(2) + None
torch.ones(2) < None
torch.ones(2) @ 2
2 @ torch.ones(2)
'a' ** torch.ones(2)
[1] % torch.ones(2)
torch.pow(2, 3)
torch.bitwise_and(3, 2)
torch.add(2, 3), torch.mul(2, 3.), torch.div(2, 3), torch.sub(2, 3), torch.floor_divide(2, 3)
torch.eq(2, T([3]))
torch.fmod(2, T([3]))
torch.clamp(2, 1, 3)
torch.mul(T([1.]), 'a')
T([1, 2]).add_(1.5)
T([1], dtype=torch.uint8).add_(T([300])), T([1.]).mul_(T([2])), T([1.]).add_(T([1.], dtype=torch.float64))
T([True]).add_(1)
T([1.]).add_(1j)
T([1]).div_(2)
T([1.]).add_(torch.ones(2, 2))
T([3., 4.]).add_(T([1., 1.]), alpha=2), T([3., 4.]).sub_(1, alpha=2), T([7]).div_(2, rounding_mode='trunc'), T([7., 8.]).clamp_(max=7.5)
T([1.]).atan2_(T([1.])), T([1., 2.]).lerp_(T([3., 4.]), 0.5), T([1.]).addcmul_(T([1.]), T([2.]), value=3), T([5]).gcd_(T([10]))
torch.mm(r(2, 3), r(3))
torch.mm(r(2, 3), r(2, 3))
torch.mm(r(2, 3), r(3, 2).double())
torch.mm(r(2, 3).bool(), r(3, 2).bool())
torch.matmul(r(2, 3), r(3, 2).double())
torch.matmul(r(2), r(3))
torch.matmul(r(2, 3), r(2))
torch.matmul(r(2, 2, 3), r(3, 3, 2))
torch.matmul(r(()), r(2))
torch.bmm(r(2, 2), r(2, 2))
torch.bmm(r(2, 2, 3), r(3, 3, 2))
torch.mv(r(2, 3), r(3, 1))
torch.dot(r(2), r(3))
torch.dot(r(3), r(3).double())
torch.dot(T([True]), T([True]))
torch.vdot(T([1j, 2.]), T([1., 1j])), torch.dot(T([1j, 2.]), T([1., 1j])), torch.dot(T([2, 3]), T([4, 5]))
torch.inner(r(2, 3), r(4))
torch.inner(r(()), r(3).double()), torch.inner(r(2, 3), r(3))
torch.outer(r(2, 3), r(3))
torch.addmm(r(3, 2), r(2, 3), r(3, 2))
torch.addmm(r(2, 2).double(), r(2, 3), r(3, 2))
torch.addmm(r(2, 2).long(), r(2, 3).long(), r(3, 2).long(), alpha=0.5), torch.addmm(r(2) * nan, r(2, 3), r(3, 2), beta=0)
torch.addmm(r(2, 2), r(2, 3), r(3, 2), beta=1j)
torch.addmm(r(1, 1, 2), r(2, 3), r(3, 2))
torch.addmm(r(2, 2).bool(), r(2, 2).bool(), r(2, 2).bool())
torch.addmv(r(3), r(2, 3), r(3))
torch.addmv(r(()), r(2, 3), r(3)), r(2).addmv_(r(2, 3), r(3), beta=2), r(2, 2).addmm_(r(2, 3), r(3, 2)), r(2, 3).addr_(r(2), r(3), alpha=2)
torch.addr(r(2, 3).long(), r(2), r(3)), torch.addr(r(2, 3).bool(), r(2).bool(), r(3).bool(), beta=2)
torch.addr(r(2, 3).long(), r(2).long(), r(3).long(), alpha=.5)
torch.addbmm(r(2, 2), r(4, 2, 3), r(4, 3, 2)), torch.baddbmm(r(2), r(4, 2, 3), r(4, 3, 2), alpha=2), r(4, 2, 2).baddbmm_(r(4, 2, 3), r(4, 3, 2))
torch.addbmm(r(2, 2), r(4, 2, 3), r(3, 3, 2))
torch.baddbmm(r(2, 2).double(), r(4, 2, 3), r(4, 3, 2))
torch.kron(r(2), r(2, 2).long()), torch.tensordot(r(2, 1), r(3, 2), dims=([1], [0])), torch.tensordot(r(2, 3), r(2, 3), dims=T([[0, 1], [0, 1]]))
torch.tensordot(r(2, 3), r(3, 2), dims=3)
torch.tensordot(r(2, 3), r(3, 2), dims=([0, 0], [1, 1]))
torch.tensordot(r(2, 3), r(3, 2), dims=1.5)
torch.chain_matmul(r(2, 3), r(3, 2), r(2, 4)), torch.chain_matmul(r(2, 3))
torch.chain_matmul()
torch.linalg.multi_dot([r(2, 3)])
torch.linalg.multi_dot([r(2, 2, 3), r(3, 2), r(2)])
torch.cross(r(2, 3), T([[1., 2., 3.]])), torch.cross(r(3, 3), r(3, 3), dim=0), torch.linalg.cross(T([1, 2, 3]), T([3, 2, 1]))
torch.cross(r(2, 4), r(2, 4))
torch.cross(r(2, 3), r(2, 3), dim=3)
torch.linalg.cross(r(2, 3), r(3))
torch.matrix_power(r(2, 3), 2)
torch.matrix_power(r(2, 2), 3), r(2, 2).long().matrix_power(2), torch.linalg.matrix_power(r(2, 2), 0)
torch.trace(r(3))
torch.trace(r(3, 2).bool())
torch.trace(r(3, 2).int())
torch.linalg.vecdot(r(3), r(3).double())
torch.linalg.vecdot(r(2, 3), r(1, 3), dim=0)
torch.linalg.vecdot(r(2, 3).long(), r(3).long())
torch.einsum('ij->i', r(2, 3).int()), torch.einsum('ij,ij', r(2, 3).long(), r(2, 3).long()), torch.einsum('i,j', r(2).bool(), r(3).bool())
torch.einsum('ij,ij', r(2, 3).bool(), r(2, 3).bool())
torch.einsum('ij->...', r(2, 3)), torch.einsum('ij,ij->ij', [r(2, 3), r(2, 3)]), torch.einsum(r(2, 3), [0, 1], r(3), [1], [..., 0])
torch.einsum('i->', r(()))
torch.einsum('ij,jk', r(2, 3), r(3, 2).double())
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    compare(evaluate(text, framework), evaluate(text, torch), text)
