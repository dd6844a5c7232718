"""Rows of `framework/ops/unary.py`."""

import numpy as np

from . import OpInfo, Sample, unary

FLOATS = ("float64", "float32", "float16", "bfloat16", "complex128")
REAL = ("float64", "float32", "float16", "bfloat16")


def _apart(draw):
    yield Sample((draw.apart(2, 3),))
    yield Sample((draw.apart(5),))


ROWS = [
    unary("exp", np.exp, dtypes=FLOATS),
    unary("exp2", np.exp2, dtypes=REAL),
    unary("expm1", np.expm1, dtypes=FLOATS),
    unary("log", np.log, 0.2, 3, dtypes=FLOATS),
    unary("log2", np.log2, 0.2, 3, dtypes=FLOATS),
    unary("log10", np.log10, 0.2, 3, dtypes=FLOATS),
    unary("log1p", np.log1p, -0.8, 3, dtypes=FLOATS),
    unary("sqrt", np.sqrt, 0.2, 3, dtypes=FLOATS),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), 0.2, 3, dtypes=FLOATS),
    unary("square", np.square, dtypes=(*FLOATS, "int64")),
    unary("reciprocal", lambda x: 1 / x, 0.2, 3, dtypes=FLOATS),
    unary("sin", np.sin, dtypes=FLOATS),
    unary("cos", np.cos, dtypes=FLOATS),
    unary("tan", np.tan, -1, 1, dtypes=FLOATS),
    unary("asin", np.arcsin, -0.9, 0.9, dtypes=REAL),
    unary("acos", np.arccos, -0.9, 0.9, dtypes=REAL),
    unary("atan", np.arctan, dtypes=REAL),
    unary("sinh", np.sinh, dtypes=FLOATS),
    unary("cosh", np.cosh, dtypes=FLOATS),
    unary("tanh", np.tanh, dtypes=FLOATS),
    unary("asinh", np.arcsinh, dtypes=REAL),
    unary("acosh", np.arccosh, 1.2, 3, dtypes=REAL),
    unary("atanh", np.arctanh, -0.9, 0.9, dtypes=REAL),
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), dtypes=FLOATS),
    unary("deg2rad", np.deg2rad, dtypes=REAL),
    unary("rad2deg", np.rad2deg, dtypes=REAL),
    unary("neg", np.negative, dtypes=(*FLOATS, "int64")),
    OpInfo("abs", _apart, np.abs, dtypes=REAL, inplace=True),
    unary("positive", np.positive, dtypes=FLOATS, inplace=False),
    unary(
        "sgn",
        lambda z: z / np.abs(z) if z.dtype.kind == "c" else np.sign(z),
        0.3,
        2,
        dtypes=("complex128", "float64"),
        second=False,
    ),
    unary("sign", np.sign, dtypes=REAL, grad=False),
    unary("floor", np.floor, dtypes=REAL, grad=False),
    unary("ceil", np.ceil, dtypes=REAL, grad=False),
    unary("trunc", np.trunc, dtypes=REAL, grad=False),
    OpInfo("relu", _apart, lambda x: np.maximum(x, 0), dtypes=REAL, inplace=True),
    unary("isnan", np.isnan, dtypes=FLOATS, grad=False, inplace=False),
    unary("isinf", np.isinf, dtypes=FLOATS, grad=False, inplace=False),
    unary("isfinite", np.isfinite, dtypes=FLOATS, grad=False, inplace=False),
    unary("signbit", np.signbit, dtypes=REAL, grad=False, inplace=False),
    unary("logical_not", np.logical_not, dtypes=("float64", "int64", "bool"), grad=False, inplace=False),
    unary("bitwise_not", np.invert, dtypes=("int64", "bool", "uint8"), grad=False),
]
