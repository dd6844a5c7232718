"""Recurrent layers: `rnn_tanh`, `rnn_relu`, `lstm`, `gru` over whole sequences, and their cells for one step.

A layer projects its input for all steps at once; each step is then one product of matrices and one formula.
"""

from __future__ import annotations

from framework.core.host import to_host
from framework.core.tensor import Tensor
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num

# ---------------------------------------------------------------- formulas of one step, on the gates' values before
# activation


def _columns(xp, x, n, i):
    """The i-th of n equal blocks of columns."""
    size = x.shape[1] // n
    return xp.slice(x, (slice(None), slice(i * size, (i + 1) * size)))


def _lstm_parts(xp, gates, cell):
    i, f, o = (xp.sigmoid(_columns(xp, gates, 4, k)) for k in (0, 1, 3))
    new = xp.tanh(_columns(xp, gates, 4, 2))
    return i, f, new, o, f * cell + i * new


def _lstm_vjp(xp, g, gates, cell):
    g_hidden, g_cell = g
    i, f, new, o, after = _lstm_parts(xp, gates, cell)
    t = xp.tanh(after)
    if g_hidden is not None:
        through = g_hidden * o * (1 - t * t)
        g_cell = through if g_cell is None else g_cell + through
        g_o = g_hidden * t * o * (1 - o)
    else:
        g_o = xp.full(tuple(o.shape), 0, xp.like(o))
    parts = [g_cell * new * i * (1 - i), g_cell * cell * f * (1 - f), g_cell * i * (1 - new * new), g_o]
    return xp.cat(parts, 1), g_cell * f


@op(spaces=(), accept="f", kernel=True, outs=("hidden", "cell_"), diff_outs=("hidden", "cell_"), vjp=_lstm_vjp)
def lstm_step(xp, gates: Num, cell: Num):
    """(o tanh(c'), c'), c' = f c + i g; gates (N, 4 H) are i, f, g, o before their activations (Hochreiter and
    Schmidhuber 1997).
    """
    _, _, _, o, after = _lstm_parts(xp, gates, cell)
    return o * xp.tanh(after), after


def _gru_parts(xp, from_input, from_hidden):
    r, z = (xp.sigmoid(_columns(xp, from_input, 3, k) + _columns(xp, from_hidden, 3, k)) for k in (0, 1))
    own = _columns(xp, from_hidden, 3, 2)
    return r, z, own, xp.tanh(_columns(xp, from_input, 3, 2) + r * own)


def _gru_vjp(xp, g, from_input, from_hidden, hidden):
    r, z, own, new = _gru_parts(xp, from_input, from_hidden)
    g_new = g * (1 - z) * (1 - new * new)
    g_z = g * (hidden - new) * z * (1 - z)
    g_r = g_new * own * r * (1 - r)
    return xp.cat([g_r, g_z, g_new], 1), xp.cat([g_r, g_z, g_new * r], 1), g * z


@op(spaces=(), accept="f", kernel=True, vjp=_gru_vjp)
def gru_step(xp, from_input: Num, from_hidden: Num, hidden: Num):
    """(1 - z) n + z h, n = tanh(x_n + r h_n): the two (N, 3 H) are r, z, n before their activations (Cho et al.
    2014).
    """
    _, z, _, new = _gru_parts(xp, from_input, from_hidden)
    return new + z * (hidden - new)


# ---------------------------------------------------------------- one step of each kind: (projected input, state,
# weights) -> state


def _linear(x, weight, bias=None):
    return PUBLIC["nn.functional"]["linear"](x, weight, bias)


def _rnn(activation):
    def step(x, state, weights):
        return (activation(x + _linear(state[0], weights.hidden, weights.hidden_bias)),)

    return step


def _lstm(x, state, weights):
    hidden, cell = lstm_step(x + _linear(state[0], weights.hidden, weights.hidden_bias), state[1])
    return (hidden if weights.projection is None else _linear(hidden, weights.projection)), cell


def _gru(x, state, weights):
    return (gru_step(x, _linear(state[0], weights.hidden, weights.hidden_bias), state[0]),)


STEPS = {"rnn_tanh": _rnn(T.tanh), "rnn_relu": _rnn(T.relu), "lstm": _lstm, "gru": _gru}


class Weights:
    """The parameters of one layer in one direction, in PyTorch's order."""

    __slots__ = ("hidden", "hidden_bias", "input", "input_bias", "projection")

    def __init__(self, params, has_biases):
        self.input, self.hidden = params[:2]
        self.input_bias, self.hidden_bias = params[2:4] if has_biases else (None, None)
        rest = params[4 if has_biases else 2 :]
        self.projection = rest[0] if rest else None


# ---------------------------------------------------------------- sequences


def _one_direction(name, x, sizes, state, weights, reverse):
    """Run a layer over (steps in rows, features): (outputs in rows, final state). `sizes` is the batch of each step."""
    step = STEPS[name]
    projected = _linear(x, weights.input, weights.input_bias)
    starts, start = [], 0
    for size in sizes:
        starts.append(start)
        start += size
    outputs = [None] * len(sizes)
    for t in reversed(range(len(sizes))) if reverse else range(len(sizes)):
        size = sizes[t]
        rows = (slice(starts[t], starts[t] + size),)
        whole = size == state[0].shape[0]
        new = step(
            T.slice(projected, rows), state if whole else [T.slice(s, (slice(0, size),)) for s in state], weights
        )
        outputs[t] = new[0]
        # Sequences that have ended, or not begun, keep their state.
        state = new if whole else [T.cat((a, T.slice(b, (slice(size, b.shape[0]),))), 0) for a, b in zip(new, state)]
    return T.cat(tuple(outputs), 0), state


def _layers(name, x, sizes, initial, params, has_biases, num_layers, dropout, train, bidirectional):
    """All layers over rows of steps; `initial` holds each state as (layers * directions, N, H)."""
    directions = 2 if bidirectional else 1
    per_layer = len(params) // (num_layers * directions)
    finals = [[] for _ in initial]
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = layer * directions + direction
            weights = Weights(params[k * per_layer : (k + 1) * per_layer], has_biases)
            state = [T.slice(s, (k,)) for s in initial]
            out, state = _one_direction(name, x, sizes, state, weights, reverse=direction == 1)
            outputs.append(out)
            for found, s in zip(finals, state):
                found.append(T.unsqueeze(s, (0,)))
        x = outputs[0] if directions == 1 else T.cat(tuple(outputs), 1)
        if dropout and train and layer < num_layers - 1:
            x = PUBLIC["nn.functional"]["dropout"](x, dropout, True)
    return x, [T.cat(tuple(found), 0) for found in finals]


def _sequence(name, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    if batch_first:
        input = T.permute(input, (1, 0, 2))
    steps, batch = input.shape[:2]
    if not steps:
        raise RuntimeError(f"{name}: Expected sequence length to be larger than 0 in RNN")
    rows = T.reshape(input, (steps * batch, input.shape[2]))
    out, finals = _layers(
        name, rows, [batch] * steps, hx, params, has_biases, num_layers, dropout, train, bidirectional
    )
    out = T.reshape(out, (steps, batch, out.shape[1]))
    return T.permute(out, (1, 0, 2)) if batch_first else out, finals


def _whole(name, states):
    """`torch.name` for padded batches and, with batch sizes in second place, for packed ones."""

    def function(data, *args, **kwargs):
        if isinstance(args[0], Tensor) and isinstance(
            args[2], (tuple, list)
        ):  # packed: (data, batch_sizes, hx, params, ...)
            sizes = [int(n) for n in to_host(args[0])]
            hx, params, *rest = args[1:]
            out, finals = _layers(name, data, sizes, hx if states > 1 else [hx], params, *rest, **kwargs)
        else:
            hx, params, *rest = args
            out, finals = _sequence(name, data, hx if states > 1 else [hx], params, *rest, **kwargs)
        return (out, *finals)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"All layers of `nn.{name.upper()}` over (steps, N, features), or with (data, batch_sizes, ...) over a packed "
        "sequence.\n\n    (input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first) -> "
        "(output, *final states)."
    )
    PUBLIC.setdefault("", {})[name] = function


for _name, _states in (("rnn_tanh", 1), ("rnn_relu", 1), ("lstm", 2), ("gru", 1)):
    _whole(_name, _states)

# ---------------------------------------------------------------- cells


def _cell(name, hx, input, w_ih, w_hh, b_ih, b_hh):
    weights = Weights([w_ih, w_hh, b_ih, b_hh], True)
    return STEPS[name](_linear(input, weights.input, weights.input_bias), hx, weights)


@op(composite=True, method=False)
def rnn_tanh_cell(input: Num, hx: Num, w_ih: Num, w_hh: Num, b_ih: Num = None, b_hh: Num = None):
    """tanh(W_ih x + b_ih + W_hh h + b_hh)."""
    return _cell("rnn_tanh", (hx,), input, w_ih, w_hh, b_ih, b_hh)[0]


@op(composite=True, method=False)
def rnn_relu_cell(input: Num, hx: Num, w_ih: Num, w_hh: Num, b_ih: Num = None, b_hh: Num = None):
    """max(0, W_ih x + b_ih + W_hh h + b_hh)."""
    return _cell("rnn_relu", (hx,), input, w_ih, w_hh, b_ih, b_hh)[0]


@op(composite=True, method=False)
def lstm_cell(input: Num, hx, w_ih: Num, w_hh: Num, b_ih: Num = None, b_hh: Num = None):
    """One step of an LSTM: the new (h, c) from hx = (h, c)."""
    return _cell("lstm", hx, input, w_ih, w_hh, b_ih, b_hh)


@op(composite=True, method=False)
def gru_cell(input: Num, hx: Num, w_ih: Num, w_hh: Num, b_ih: Num = None, b_hh: Num = None):
    """One step of a GRU: the new h from hx."""
    return _cell("gru", (hx,), input, w_ih, w_hh, b_ih, b_hh)[0]
