"""No reference cycles: graphs go when the last tensor of theirs does, without the garbage collector."""

from __future__ import annotations

import gc
import weakref

import pytest

from framework.autograd import grad
from tests.opinfo import Draw, rows
from tests.ops.checks import as_function, loss_of, tensor

ROWS = [row for row in rows() if row.grad]


@pytest.fixture(autouse=True)
def no_collector():
    gc.disable()
    yield
    gc.enable()


def watched(*tensors):
    """Weak references to tensors and to all nodes of their graphs."""
    found, todo = {}, [t.node for t in tensors]
    while todo:
        n = todo.pop()
        if n is not None and id(n) not in found:
            found[id(n)] = weakref.ref(n)
            todo += n.edges
    return [*found.values(), *[weakref.ref(t) for t in tensors]]


def alive(references):
    return [x for r in references if (x := r()) is not None]


def variables(row, device):
    dtype = "float32" if device.startswith("mlx") else row.dtypes[0]
    sample = next(iter(row.samples(Draw(sum(map(ord, row.name)), dtype if dtype in row.dtypes else row.dtypes[0]))))
    f, leaves = as_function(row, sample, device)
    return f, [tensor(a, device, dtype, requires_grad=True) for a in leaves]


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.id)
def test_none_in_graphs(row, device):
    f, xs = variables(row, device)
    ran, left = loss_of(f(*xs)), loss_of(f(*xs))
    references = watched(ran, left)
    ran.backward()
    del ran, left, xs, f
    assert not alive(references)


@pytest.mark.parametrize("row", [r for r in ROWS if r.second], ids=lambda r: r.id)
def test_none_in_differentiable_gradients(row, device):
    f, xs = variables(row, device)
    gs = grad(loss_of(f(*xs)), xs, create_graph=True, allow_unused=True)
    references = watched(*[g for g in gs if g is not None])
    del gs, xs, f
    assert not alive(references)
