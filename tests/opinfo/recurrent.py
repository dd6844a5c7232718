"""Rows of `framework/ops/recurrent.py`."""

import numpy as np

from . import OpInfo, Sample

REAL = ("float64", "float32")
N, I, H = 3, 2, 4


def _weights(draw, gates):
    return draw(gates * H, I), draw(gates * H, H), draw(gates * H), draw(gates * H)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _rnn(f):
    return lambda x, h, wi, wh, bi, bh: f(x @ wi.T + bi + h @ wh.T + bh)


def _lstm(x, hx, wi, wh, bi, bh):
    i, f, g, o = np.split(x @ wi.T + bi + hx[0] @ wh.T + bh, 4, 1)
    c = _sigmoid(f) * hx[1] + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _gru(x, h, wi, wh, bi, bh):
    (ir, iz, inew), (hr, hz, hnew) = np.split(x @ wi.T + bi, 3, 1), np.split(h @ wh.T + bh, 3, 1)
    r, z = _sigmoid(ir + hr), _sigmoid(iz + hz)
    return (1 - z) * np.tanh(inew + r * hnew) + z * h


ROWS = [
    OpInfo(
        "rnn_tanh_cell",
        lambda draw: [Sample((draw(N, I), draw(N, H), *_weights(draw, 1)))],
        _rnn(np.tanh),
        dtypes=REAL,
        out=False,
    ),
    OpInfo(
        "rnn_relu_cell",
        lambda draw: [Sample((draw(N, I), draw(N, H), *_weights(draw, 1)))],
        _rnn(lambda x: np.maximum(x, 0)),
        dtypes=REAL,
        out=False,
    ),
    OpInfo(
        "lstm_cell",
        lambda draw: [Sample((draw(N, I), (draw(N, H), draw(N, H)), *_weights(draw, 4)))],
        _lstm,
        dtypes=REAL,
        out=False,
    ),
    OpInfo(
        "gru_cell", lambda draw: [Sample((draw(N, I), draw(N, H), *_weights(draw, 3)))], _gru, dtypes=REAL, out=False
    ),
]
