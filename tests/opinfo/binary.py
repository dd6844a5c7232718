"""Rows of `framework/ops/binary.py`."""

from fractions import Fraction

import numpy as np

from . import OpInfo, Sample, binary

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128", "int64")
REAL = ("float64", "float32", "float16", "bfloat16", "int64")


def _apart(draw):
    both = draw.apart(2, 2, 3)
    yield Sample((both[0], both[1]))
    yield Sample((both[0], both[1, :1]))


def _condition(draw):
    yield Sample((draw(2, 3) > 0, draw(2, 3), draw(2, 3)))
    yield Sample((draw(3) > 0, draw(2, 3), draw(2, 1)))
    yield Sample((draw(3) > 0, draw(2, 3), 0.5))


def _whole_powers(draw):
    yield Sample((draw(2, 3, low=-4, high=5), draw(3, low=0, high=5)))
    yield Sample(
        (np.asarray([2, 1, -1, -1, 0, 7]).astype(draw.dtype), np.asarray([-1, -2, -3, -4, -1, -9]).astype(draw.dtype))
    )


def _whole_power(a, b):
    """Exact fractions, cut to their whole part; 0 to a negative power counts as 0."""
    a, b = np.broadcast_arrays(a, b)
    return np.array(
        [int(Fraction(int(x)) ** int(y)) if x or y >= 0 else 0 for x, y in zip(a.flat, b.flat, strict=True)], a.dtype
    ).reshape(a.shape)


def _compare(name, reference, number=1.5):
    return OpInfo(
        name,
        lambda draw: binary(name, reference, number=number).samples(draw),
        reference,
        dtypes=REAL,
        grad=False,
        inplace=False,
    )


ROWS = [
    binary("add", np.add, dtypes=FLOATS),
    binary("sub", np.subtract, dtypes=FLOATS),
    binary("rsub", lambda a, b: b - a, dtypes=FLOATS, inplace=False),
    binary("mul", np.multiply, dtypes=FLOATS),
    binary("div", np.divide, 0.3, 3, dtypes=FLOATS[:-1]),
    binary("_rdiv", lambda a, b: b / a, 0.3, 3, dtypes=FLOATS[:-1], inplace=False, out=False),
    binary("pow", np.power, 0.3, 2, dtypes=FLOATS[:-1]),
    OpInfo("maximum", _apart, np.maximum, dtypes=REAL[:-1]),
    OpInfo("minimum", _apart, np.minimum, dtypes=REAL[:-1]),
    binary("atan2", np.arctan2, 0.3, 2, number=None, dtypes=REAL[:-1]),
    binary("floor_divide", np.floor_divide, 1.0, 5, number=2, grad=False, dtypes=("float64", "float32", "int64")),
    binary(
        "remainder", np.remainder, 1.1, 5, number=2, second=False, grad=False, dtypes=("float64", "float32", "int64")
    ),
    binary("fmod", np.fmod, 1.1, 5, number=2, second=False, grad=False, dtypes=("float64", "float32", "int64")),
    *[
        _compare(n, f)
        for n, f in (
            ("eq", np.equal),
            ("ne", np.not_equal),
            ("lt", np.less),
            ("le", np.less_equal),
            ("gt", np.greater),
            ("ge", np.greater_equal),
        )
    ],
    *[
        _compare(n, f, None)
        for n, f in (("logical_and", np.logical_and), ("logical_or", np.logical_or), ("logical_xor", np.logical_xor))
    ],
    OpInfo("pow", _whole_powers, _whole_power, dtypes=("int64", "int32"), grad=False),
    OpInfo("_where", _condition, np.where, dtypes=REAL[:-1], out=False),
    *[
        binary(n, f, 0, 9, number=5, dtypes=("int64", "uint8"), grad=False)
        for n, f in (("bitwise_and", np.bitwise_and), ("bitwise_or", np.bitwise_or), ("bitwise_xor", np.bitwise_xor))
    ],
]
