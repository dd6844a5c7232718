"""Rows of `framework/ops/arithmetic.py`, `pairs.py`, `rounding.py`."""

import numpy as np

from . import OpInfo, Sample, binary_row, unary_row
from .binary import REAL, _apart
from .shape import zeros

WIDE = ("float64", "float32", "bfloat16", "complex128", "int64")
SCALED = ("float64", "float32", "complex128", "int64")
FLOATS = ("float64", "float32", "float16", "bfloat16")
WHOLE = ("int64", "int32", "uint8")


def _scaled(draw):
    for alpha in (1, 2, -3):
        yield Sample((draw(2, 3), draw(3)), {"alpha": alpha})
    yield Sample((draw(2, 3), draw(2, 1)))
    yield Sample((draw(2, 3), 2), {"alpha": 3})


def _quotients(draw):
    for mode in (None, "trunc", "floor"):
        yield Sample((draw(2, 3, low=0.5, high=5), draw(3, low=1.1, high=3)), {"rounding_mode": mode})
    yield Sample((draw(2, 3, low=-5, high=-0.5), 2), {"rounding_mode": "trunc"})


def _divided(a, b, *, rounding_mode=None):
    if rounding_mode == "floor":
        return np.floor_divide(a, b)
    q = np.divide(a, b)
    return q if rounding_mode is None else np.trunc(q).astype(a.dtype)


def _bounded(draw):
    low, high = -1, 1
    yield Sample((draw.apart(2, 3, gap=0.7), low, high))
    yield Sample((draw.apart(2, 3, gap=0.7), None, high))
    yield Sample((draw.apart(2, 3, gap=0.7), low))
    both = draw.apart(3, 2, 3, gap=0.7)
    yield Sample((both[0], both[1], both[2]))
    yield Sample((both[0], both[1][:1]))


def _clamp(x, min=None, max=None):
    x = x if min is None else np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def _ends(draw):
    yield Sample((draw(2, 3), draw(2, 3), 0.3))
    yield Sample((draw(2, 3), draw(3), 0.8))
    yield Sample((draw(2, 3), draw(2, 3), draw(2, 3)))


def _three(draw):
    yield Sample((draw(2, 3), draw(2, 3), draw(2, 3, low=0.5, high=2)))
    yield Sample((draw(2, 3), draw(3), draw(2, 1, low=0.5, high=2)), {"value": 3})


def _powers(draw):
    yield Sample((draw(2, 3, low=0.3, high=2), draw(3)))
    yield Sample((draw(2, 3, low=0.3, high=2), 2))


def _numbers(draw):
    x = draw(3, 2)
    x[0, 0], x[1, 1], x[2, 0] = np.nan, np.inf, -np.inf
    yield Sample((x,))
    yield Sample((x, 1.5, 2.5, -3.5))


def _extremes(draw):
    yield from _apart(draw)
    a, b = draw.apart(2, 4)
    a[0] = b[1] = np.nan
    yield Sample((a, b))


def _steps(draw):
    x = draw(2, 3)
    x[0, 0] = 0
    yield Sample((x, draw(3)))


def _rounded(draw):
    yield Sample((draw.apart(2, 3, gap=0.7),))
    yield Sample((draw.apart(2, 3, gap=0.0371),), {"decimals": 2})
    yield Sample((draw.apart(2, 3, gap=37.1),), {"decimals": -1})


def _mantissas(draw):
    yield Sample((draw.apart(2, 3, gap=3.3),))
    yield Sample((draw(),))


def _one(draw):
    yield Sample((draw.apart(2, 3),))


def _shift(f):
    return lambda a, b: f(a, np.asarray(b).astype(a.dtype))


NOWHERE = lambda x: np.array([0.0, np.inf, -np.inf, np.nan])

ROWS = [
    OpInfo(
        "add",
        _scaled,
        lambda a, b, alpha=1: a + alpha * b,
        dtypes=WIDE,
        errors=(((np.arange(2), np.arange(2)), RuntimeError, ""),)[:0],
    ),
    OpInfo(
        "sub",
        _scaled,
        lambda a, b, alpha=1: a - alpha * b,
        dtypes=WIDE,
        errors=(((np.array([True]), np.array([True])), RuntimeError, "with two bool tensors"),),
    ),
    OpInfo("rsub", _scaled, lambda a, b, alpha=1: b - alpha * a, dtypes=WIDE),
    OpInfo("div", _quotients, _divided, dtypes=FLOATS, errors=()),
    OpInfo(
        "true_divide",
        lambda draw: [Sample((draw(2, 3), draw(3, low=0.5, high=2)))],
        np.divide,
        dtypes=FLOATS,
        inplace=True,
    ),
    OpInfo(
        "clamp",
        _bounded,
        _clamp,
        dtypes=(*FLOATS, "int64"),
        inplace=True,
        errors=(((zeros(2),), RuntimeError, "must not be None"),),
    ),
    OpInfo(
        "clamp_min",
        lambda draw: [Sample((draw.apart(2, 3), 0.2)), Sample(tuple(draw.apart(2, 2, 3)))],
        np.maximum,
        dtypes=FLOATS,
        inplace=True,
    ),
    OpInfo(
        "clamp_max",
        lambda draw: [Sample((draw.apart(2, 3), 0.2)), Sample(tuple(draw.apart(2, 2, 3)))],
        np.minimum,
        dtypes=FLOATS,
        inplace=True,
    ),
    OpInfo(
        "lerp",
        _ends,
        lambda a, b, w: a + w * (b - a),
        dtypes=(*FLOATS, "complex128"),
        inplace=True,
        tolerance=2,
        errors=(((zeros(2), np.zeros(2, "f4"), 0.5), RuntimeError, "for `end`"),),
    ),
    OpInfo("addcmul", _three, lambda a, b, c, value=1: a + value * b * c, dtypes=WIDE, inplace=True),
    OpInfo(
        "addcdiv",
        _three,
        lambda a, b, c, value=1: a + value * b / c,
        dtypes=(*FLOATS, "complex128"),
        inplace=True,
        errors=(((np.arange(2), np.arange(2), np.arange(2)), RuntimeError, "Integer division"),),
    ),
    OpInfo("float_power", _powers, lambda a, b: np.float_power(a, b), dtypes=("float64", "complex128"), inplace=True),
    # two operands
    OpInfo("fmax", _extremes, np.fmax, dtypes=REAL[:2]),
    OpInfo("fmin", _extremes, np.fmin, dtypes=REAL[:2]),
    OpInfo("maximum", _extremes, np.maximum, dtypes=REAL[:2], grad=False),
    OpInfo("minimum", _extremes, np.minimum, dtypes=REAL[:2], grad=False),
    binary_row("hypot", np.hypot, 0.2, 3, number=None, dtypes=FLOATS),
    binary_row("copysign", np.copysign, 0.2, 3, number=-1.5, dtypes=FLOATS, second=False),
    binary_row("nextafter", np.nextafter, number=None, dtypes=("float64", "float32"), grad=False),
    OpInfo(
        "heaviside",
        _steps,
        np.heaviside,
        dtypes=FLOATS,
        grad=False,
        inplace=True,
        errors=(((zeros(2), np.zeros(2, "f4")), RuntimeError, "different dtypes"),),
    ),
    binary_row("gcd", np.gcd, 0, 40, number=None, dtypes=WHOLE, grad=False),
    binary_row("lcm", np.lcm, 0, 9, number=None, dtypes=WHOLE, grad=False),
    binary_row("bitwise_left_shift", _shift(np.left_shift), 0, 5, number=2, dtypes=WHOLE, grad=False),
    binary_row("bitwise_right_shift", _shift(np.right_shift), 0, 5, number=1, dtypes=WHOLE, grad=False),
    binary_row("ldexp", lambda a, b: a * 2.0**b, number=None, dtypes=("float64", "float32")),
    OpInfo("frexp", _mantissas, lambda x: list(np.frexp(x)), dtypes=FLOATS, out=False),
    # rounding and tests
    OpInfo("frac", _one, lambda x: x - np.trunc(x), dtypes=FLOATS, inplace=True),
    OpInfo(
        "round",
        _rounded,
        lambda x, decimals=0: np.round(x, decimals),
        dtypes=("float64", "float32"),
        second=False,
        inplace=True,
    ),
    OpInfo(
        "nan_to_num",
        _numbers,
        lambda x, *a: np.nan_to_num(x, True, *a),
        dtypes=("float64", "float32"),
        inplace=True,
        vmap=False,
        grad=False,
    ),
    OpInfo("isposinf", lambda draw: [Sample((NOWHERE(draw),))], np.isposinf, dtypes=FLOATS, grad=False),
    OpInfo("isneginf", lambda draw: [Sample((NOWHERE(draw),))], np.isneginf, dtypes=FLOATS, grad=False),
    unary_row("square", np.square, dtypes=("float64", "int64"), inplace=True),
]
