"""Rows of `framework/ops/activation.py` and `special.py`."""

import numpy as np
import scipy.special

from . import OpInfo, Sample, unary

REAL = ("float64", "float32", "float16", "bfloat16")


def _apart(*parameters, gap=0.4, **keywords):
    """Values away from the kinks of piecewise functions, which lie at multiples of one half."""

    def samples(draw):
        for shape in ((2, 3), (11,), ()):
            yield Sample((draw.apart(*shape, gap=gap), *parameters), keywords)

    return samples


def _functional(name, reference, samples, **fields):
    return OpInfo(f"nn.functional.{name}", samples, reference, **{"dtypes": REAL, "out": False} | fields)


def _smooth(name, reference, *parameters, **keywords):
    def samples(draw):
        for shape in ((2, 3), (11,), (), (0, 2)):
            yield Sample((draw(*shape, low=-5, high=5), *parameters), keywords)

    return _functional(name, reference, samples)


def _elu(x, alpha=1.0, scale=1.0, input_scale=1.0):
    return scale * np.where(x > 0, x, alpha * (np.exp(np.minimum(x, 0) * input_scale) - 1))


def _softplus(x, beta=1, threshold=20):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, 50))) / beta)


def _sigmoid(x):
    return scipy.special.expit(x)


def _prelu(x, w):
    return np.where(x > 0, x, x * (w.reshape((1, -1) + (1,) * (x.ndim - 2)) if w.size > 1 else w))


def _prelu_samples(draw):
    yield Sample((draw.apart(2, 3, 4), draw(1)))
    yield Sample((draw.apart(2, 3, 4), draw(3)))
    yield Sample((draw.apart(2, 3), draw(3)))
    yield Sample((draw.apart(5), draw()))


def _glu(x, dim=-1):
    a, b = np.split(x, 2, dim)
    return a * _sigmoid(b)


def _glu_samples(draw):
    yield Sample((draw(2, 6),))
    yield Sample((draw(4, 3, 2), 0))
    yield Sample((draw(3, 4), -1))


def _along(draw):
    yield Sample((draw(2, 5), 1))
    yield Sample((draw(2, 3, 4), -2))
    yield Sample((draw(4), 0))
    yield Sample((draw(), 0))


def _of_numbers_too(function):
    """`function` of (x, dim), also for a number, whose dimension 0 is one in name only."""
    return lambda x, dim: function(x, dim) if x.ndim else function(x[None], 0)[0]


ROWS = [
    unary("erf", scipy.special.erf, -3, 3, dtypes=REAL),
    _functional("relu", lambda x, inplace=False: np.maximum(x, 0), _apart()),
    _functional("relu6", lambda x: np.clip(x, 0, 6), _apart(gap=1.3)),
    _functional("leaky_relu", lambda x, s=0.01: np.where(x > 0, x, x * s), _apart()),
    _functional("leaky_relu", lambda x, s: np.where(x > 0, x, x * s), _apart(-0.3)),
    _functional("elu", _elu, _apart(1.5)),
    _functional("celu", lambda x, a: _elu(x, a, 1, 1 / a), _apart(0.7)),
    _functional("selu", lambda x: _elu(x, 1.6732632423543772, 1.0507009873554805), _apart()),
    _functional("threshold", lambda x, t, v: np.where(x > t, x, v), _apart(0.1, -2.0)),
    _functional("hardtanh", lambda x, a=-1.0, b=1.0: np.clip(x, a, b), _apart(-0.5, 2.0)),
    _functional("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6, _apart(gap=1.3)),
    _functional("hardswish", lambda x: x * np.clip(x + 3, 0, 6) / 6, _apart(gap=1.3)),
    _functional("hardshrink", lambda x, a=0.5: np.where(np.abs(x) > a, x, 0), _apart(0.6)),
    _functional(
        "softshrink",
        lambda x, a=0.5: np.sign(x) * np.maximum(np.abs(x) - a, 0),
        _apart(0.6),
        errors=(((np.ones(2), -0.5), RuntimeError, "lambda must be greater or equal to 0"),),
    ),
    _smooth("silu", lambda x: x * _sigmoid(x)),
    _smooth("mish", lambda x: x * np.tanh(_softplus(x))),
    _smooth("gelu", lambda x: x * scipy.special.ndtr(x)),
    _smooth(
        "gelu",
        lambda x, approximate: x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        approximate="tanh",
    ),
    _smooth("softplus", _softplus),
    _smooth("softplus", _softplus, 2.0, 5.0),
    _smooth("logsigmoid", lambda x: -_softplus(-x)),
    _smooth("softsign", lambda x: x / (1 + np.abs(x))),
    _smooth("tanhshrink", lambda x: x - np.tanh(x)),
    _functional(
        "prelu",
        _prelu,
        _prelu_samples,
        errors=(((np.ones((2, 3)), np.ones(2)), RuntimeError, "Mismatch of parameter numbers and input channel size"),),
    ),
    _functional(
        "glu",
        _glu,
        _glu_samples,
        errors=(((np.ones((2, 3)),), RuntimeError, "Halving dimension must be even, but dimension 1 is size 3"),),
    ),
    _functional("softmax", _of_numbers_too(scipy.special.softmax), _along),
    _functional("softmin", _of_numbers_too(lambda x, dim: scipy.special.softmax(-x, dim)), _along),
    _functional("log_softmax", _of_numbers_too(scipy.special.log_softmax), _along),
]
