"""Every row of the op table through the engine's less travelled ways, which must not change a gradient."""

from __future__ import annotations

import pytest

from framework.autograd import grad, set_detect_anomaly
from framework.autograd.graph import saved_tensors_hooks
from framework.core.tensor import Tensor
from tests.opinfo import Draw, rows
from tests.ops.checks import as_function, close, loss_of, tensor, values

ROWS = [row for row in rows() if row.grad]
every = pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)


def given(row, device):
    """The op as a function of variables, variables for it, and the dtype."""
    dtype = "float32" if device.startswith("mlx") else row.dtypes[0]
    sample = next(iter(row.samples(Draw(sum(map(ord, row.name)), dtype if dtype in row.dtypes else row.dtypes[0]))))
    f, leaves = as_function(row, sample, device)
    return f, [tensor(a, device, dtype, requires_grad=True) for a in leaves], dtype


def gradients(loss, xs, **options):
    return [None if g is None else values(g.detach()) for g in grad(loss, xs, allow_unused=True, **options)]


def same(found, expected, dtype, row):
    for a, b in zip(found, expected, strict=True):
        assert (a is None) == (b is None)
        if b is not None:
            close(a, b, dtype, row.tolerance)


@every
def test_with_nodes_looked_at(row, device):
    """Nodes that a user got hold of go by the general route, those of the fast path by generated code."""
    f, xs, dtype = given(row, device)
    loss = loss_of(f(*xs))
    want = gradients(loss, xs, retain_graph=True)
    todo = [loss.grad_fn]
    while todo:
        todo += [n for n, _ in todo.pop().next_functions if n is not None]
    same(gradients(loss, xs), want, dtype, row)


@every
def test_with_saved_values_packed(row, device):
    f, xs, dtype = given(row, device)
    want = gradients(loss_of(f(*xs)), xs)
    with saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        loss = loss_of(f(*xs))
    same(gradients(loss, xs, retain_graph=True), want, dtype, row)
    same(gradients(loss, xs, create_graph=True), want, dtype, row)


@every
def test_in_anomaly_mode(row, device):
    f, xs, dtype = given(row, device)
    want = gradients(loss_of(f(*xs)), xs)
    with set_detect_anomaly(True, check_nan=False):
        same(gradients(loss_of(f(*xs)), xs), want, dtype, row)


@every
def test_each_output_alone(row, device):
    """An output that nobody uses has no gradient; the rules get None for it, not zeros."""
    f, xs, dtype = given(row, device)
    out = f(*xs)
    outs = [o for o in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(o, Tensor) and o.requires_grad]
    for i, o in enumerate(outs):
        others = [loss_of(p) * 0 for j, p in enumerate(outs) if j != i]
        want = gradients(sum(others, loss_of(o)), xs, retain_graph=True)
        found = gradients(loss_of(o), xs, retain_graph=True)
        same([0 * w if g is None and w is not None else g for g, w in zip(found, want, strict=True)], want, dtype, row)
