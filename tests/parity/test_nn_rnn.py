"""Recurrent modules and packed sequences against PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import framework
from framework import nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from tests.parity.pairs import assert_same, assert_same_gradients, both, doubles, variables

NETWORKS = [
    ("RNN", (3, 4), {}),
    ("RNN", (3, 4, 2, "relu"), {"bias": False, "batch_first": True}),
    ("RNN", (3, 4), {"nonlinearity": "relu", "bidirectional": True}),
    ("LSTM", (3, 4), {}),
    ("LSTM", (3, 4, 2), {"bidirectional": True, "batch_first": True}),
    ("LSTM", (3, 4, 2), {"bias": False, "proj_size": 2}),
    ("LSTM", (3, 4, 2), {"bidirectional": True, "proj_size": 3, "batch_first": True}),
    ("GRU", (3, 4), {}),
    ("GRU", (3, 4, 2), {"bidirectional": True, "bias": False}),
    ("GRU", (3, 4, 3), {"batch_first": True, "dropout": 0.5}),
]  # fmt: skip
CELLS = [
    ("RNNCell", (3, 4), {}),
    ("RNNCell", (3, 4, False, "relu"), {}),
    ("LSTMCell", (3, 4), {}),
    ("LSTMCell", (3, 4), {"bias": False}),
    ("GRUCell", (3, 4), {}),
    ("GRUCell", (3, 4, False), {}),
]
IDS = [f"{name}-{i}" for i, (name, *_) in enumerate(NETWORKS)]
networks = pytest.mark.parametrize("name, args, kwargs", NETWORKS, ids=IDS)


@pytest.mark.parametrize("name, args, kwargs", NETWORKS + CELLS)
def test_print_and_start_alike(name, args, kwargs):
    ours, theirs = both(name, args, kwargs, seed=4)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for (key, a), b in zip(ours.state_dict().items(), theirs.state_dict().values(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=0, atol=5e-7, err_msg=key)
    if name in ("RNN", "LSTM", "GRU"):
        assert [len(w) for w in ours.all_weights] == [len(w) for w in theirs.all_weights]


def states(theirs, batch, seed=3):
    """A state for a batch of that size, or for one sequence (None)."""
    directions = theirs.num_layers * (2 if theirs.bidirectional else 1)
    sizes = [theirs.proj_size or theirs.hidden_size, theirs.hidden_size][: 2 if theirs.mode == "LSTM" else 1]
    return variables(*[(directions, *(() if batch is None else (batch,)), size) for size in sizes], seed=seed)


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@networks
def test_sequences(name, args, kwargs, batched, with_state):
    ours, theirs = doubles(name, args, kwargs, training=False)
    shape = (5, 3) if not batched else (2, 5, 3) if theirs.batch_first else (5, 2, 3)
    xs, ys = variables(shape)
    hs, ks = states(theirs, 2 if batched else None)
    pair = (lambda s: tuple(s)) if name == "LSTM" else (lambda s: s[0])
    a = ours(xs[0], *([pair(hs)] if with_state else []))
    b = theirs(ys[0], *([pair(ks)] if with_state else []))
    assert_same(a, b)
    assert_same_gradients(a, b, (xs + hs * with_state, ys + ks * with_state), (ours, theirs))


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("lengths", [[4, 3, 1], [2, 4, 4]])
@networks
def test_packed_sequences(name, args, kwargs, lengths, with_state):
    ours, theirs = doubles(name, args, kwargs, training=False)
    first = theirs.batch_first
    xs, ys = variables((3, 4, 3) if first else (4, 3, 3))
    hs, ks = states(theirs, 3)
    pair = (lambda s: tuple(s)) if name == "LSTM" else (lambda s: s[0])
    outs = []
    for f, net, x, h in ((framework, ours, xs, hs), (torch, theirs, ys, ks)):
        r = f.nn.utils.rnn
        packed = r.pack_padded_sequence(
            x[0], f.tensor(lengths), batch_first=first, enforce_sorted=lengths == sorted(lengths)[::-1]
        )
        out, state = net(packed, *([pair(h)] if with_state else []))
        outs.append((out, state, r.pad_packed_sequence(out, batch_first=first, padding_value=0.5, total_length=6)))
    assert_same(outs[0], outs[1])
    differentiable = [(o[0].data, o[1], o[2][0]) for o in outs]
    assert_same_gradients(*differentiable, (xs + hs * with_state, ys + ks * with_state), (ours, theirs))


def test_dropout_between_layers_draws_and_scales():
    framework.manual_seed(0)
    net = nn.RNN(3, 40, 2, dropout=0.5)
    x = framework.ones(1, 1, 3)
    assert not np.array_equal(net(x)[0].detach().numpy(), net(x)[0].detach().numpy())
    net.eval()
    np.testing.assert_array_equal(net(x)[0].detach().numpy(), net(x)[0].detach().numpy())


@pytest.mark.parametrize("with_state", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("name, args, kwargs", CELLS)
def test_cells(name, args, kwargs, batched, with_state):
    ours, theirs = doubles(name, args, kwargs)
    n = (2,) if batched else ()
    xs, ys = variables((*n, 3), (*n, 4), (*n, 4))
    pair = (lambda s: tuple(s)) if name == "LSTMCell" else (lambda s: s[0])
    a = ours(xs[0], *([pair(xs[1:])] if with_state else []))
    b = theirs(ys[0], *([pair(ys[1:])] if with_state else []))
    assert_same(a, b)
    assert_same_gradients(a, b, (xs, ys), (ours, theirs))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("lengths", [[4, 3, 1], [2, 4, 3], [1], [3, 3]])
def test_packing(lengths, first):
    xs, ys = variables(*[(n, 2) for n in lengths])
    ordered = lengths == sorted(lengths)[::-1]
    found = []
    for f, parts in ((framework, xs), (torch, ys)):
        r = f.nn.utils.rnn
        packed = r.pack_sequence(parts, enforce_sorted=ordered)
        padded, sizes = r.pad_packed_sequence(packed, batch_first=first)
        found.append(
            (
                packed,
                padded,
                sizes,
                r.pad_sequence(parts, first, -1.5),
                r.pad_sequence(parts, first, padding_side="left"),
                r.unpack_sequence(packed),
                r.unpad_sequence(padded.clone(), sizes, first),
                r.invert_permutation(f.tensor([2, 0, 1])),
            )
        )
    assert_same(*found)
    assert found[0][0].batch_sizes.dtype is framework.int64
    assert (found[0][0].sorted_indices is None) == (found[1][0].sorted_indices is None)
    assert_same_gradients(found[0][1], found[1][1], (xs, ys))


def test_a_packed_sequence_is_moved_and_cast():
    packed = nn.utils.rnn.pack_sequence([framework.ones(2, 1), framework.ones(3, 1)], enforce_sorted=False)
    assert packed.to(framework.float32) is packed
    double = packed.double()
    assert double.data.dtype is framework.float64 and double.batch_sizes is packed.batch_sizes
    assert packed.long().data.dtype is framework.int64 and packed.half().cpu().data.dtype is framework.float16
    assert not packed.is_cuda and not packed.is_pinned()


ERRORS = [
    lambda nn, f: nn.RNN(3, 4, nonlinearity="sin"),
    lambda nn, f: nn.RNN(3, 4, proj_size=2),
    lambda nn, f: nn.GRU(3, 4, proj_size=2),
    lambda nn, f: nn.LSTM(3, 4, proj_size=4),
    lambda nn, f: nn.LSTM(3, 4, proj_size=-1),
    lambda nn, f: nn.LSTM(3, 4, dropout=1.5),
    lambda nn, f: nn.LSTM(3, 4, bias=1),
    lambda nn, f: nn.LSTM(3, 4, batch_first=None),
    lambda nn, f: nn.LSTM(3.0, 4),
    lambda nn, f: nn.LSTM(0, 4),
    lambda nn, f: nn.LSTM(3, "4"),
    lambda nn, f: nn.LSTM(3, 0),
    lambda nn, f: nn.LSTM(3, 4, num_layers=0),
    lambda nn, f: nn.RNNBase("CNN", 3, 4),
    lambda nn, f: nn.LSTM(3, 4)(f.ones(2, 2, 2, 3)),
    lambda nn, f: nn.LSTM(3, 4)(f.ones(2, 2, 4)),
    lambda nn, f: nn.LSTM(3, 4)(f.ones(2, 2, 3).double()),
    lambda nn, f: nn.LSTM(3, 4)(f.ones(2, 2, 3), (f.ones(1, 2, 4), f.ones(1, 3, 4))),
    lambda nn, f: nn.LSTM(3, 4)(f.ones(2, 2, 3), (f.ones(2, 4), f.ones(1, 3, 4))),
    lambda nn, f: nn.LSTM(3, 4)(f.ones(2, 3), (f.ones(1, 4), f.ones(1, 2, 4))),
    lambda nn, f: nn.GRU(3, 4)(f.ones(2, 2, 3), f.ones(1, 2, 3)),
    lambda nn, f: nn.GRU(3, 4)(f.ones(2, 2, 3), f.ones(2, 4)),
    lambda nn, f: nn.GRU(3, 4)(f.ones(2, 3), f.ones(1, 1, 4)),
    lambda nn, f: nn.GRU(3, 4)(f.ones(3)),
    lambda nn, f: nn.GRU(3, 4)(f.ones(0, 2, 3)),
    lambda nn, f: nn.RNNCell(3, 4)(f.ones(1, 1, 3)),
    lambda nn, f: nn.RNNCell(3, 4)(f.ones(1, 3), f.ones(1, 1, 4)),
    lambda nn, f: nn.RNNCell(3, 4, nonlinearity="x")(f.ones(1, 3)),
    lambda nn, f: nn.LSTMCell(3, 4)(f.ones(1, 3), (f.ones(1, 4), f.ones(1, 1, 4))),
    lambda nn, f: nn.utils.rnn.pack_padded_sequence(f.ones(3, 2, 1), [2, 3]),
    lambda nn, f: nn.utils.rnn.pack_padded_sequence(f.ones(3, 2, 1), [2, 0]),
    lambda nn, f: nn.utils.rnn.pack_padded_sequence(f.ones(3, 2, 1), [2]),
    lambda nn, f: nn.utils.rnn.pad_sequence([]),
    lambda nn, f: nn.utils.rnn.pad_sequence(3),
    lambda nn, f: nn.utils.rnn.pad_sequence([f.ones(2)], padding_side="top"),
    lambda nn, f: nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([f.ones(3)]), total_length=2),
    lambda nn, f: nn.utils.rnn.PackedSequence(f.ones(3)),
]  # fmt: skip


@pytest.mark.parametrize("act", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_have_the_same_class(act):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as theirs:
            act(torch.nn, torch)
        with pytest.raises(theirs.type):
            act(nn, framework)


def test_dropout_in_one_layer_is_warned_about():
    for f in (nn, torch.nn):
        with pytest.warns(UserWarning, match="dropout option adds dropout after all but last recurrent layer"):
            f.GRU(3, 4, dropout=0.5)
