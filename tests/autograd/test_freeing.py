"""Memory of graphs: saved values go as the pass goes, and long graphs neither recurse nor stay."""

from __future__ import annotations

import threading
import weakref

import numpy as np
import pytest

from framework import tensor
from framework.autograd import grad
from tests.ops.checks import values

LONG = 100_000


@pytest.fixture
def x(device):
    return tensor([0.5, 1.5], requires_grad=True, device=device)


def test_saved_values_are_freed_one_by_one(x):
    """When a node runs, what the nodes after it saved is gone, and what those before it saved is there."""
    layers, alive = [x], []
    for _ in range(6):
        layers.append(layers[-1].sin())
    saved = [weakref.ref(t) for t in layers[1:-1]]  # sin saves its input
    for i in range(1, 7):
        layers[i].register_hook(lambda g: alive.append([r() is not None for r in saved]))
    loss = layers[-1].sum()
    del layers
    loss.backward()
    assert alive == [[i < 6 - k for i in range(1, 6)] for k in range(6)]


def test_retained_values_stay_until_the_graph_goes(x):
    y = x * 1
    saved = weakref.ref(y)
    loss = (y * y).sum()
    del y
    loss.backward(retain_graph=True)
    assert saved() is not None
    del loss
    assert saved() is None


def test_own_outputs_are_freed(x):
    y = x.exp()
    node = y.grad_fn
    y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        node._saved_result
    assert node.saved is node.out is None


def test_gradients_on_the_way_are_freed(x):
    """At most the gradient that comes in and the one that goes out exist at any time of a chain."""
    seen, most = [], []
    y = x
    for _ in range(8):
        y = y * 1.5

        def hook(g):
            seen.append(weakref.ref(g))
            most.append(sum(r() is not None for r in seen))

        y.register_hook(hook)
    y.sum().backward()
    assert max(most) <= 2


def test_the_graph_of_gradients_goes_with_them(x):
    (g,) = grad((x * x * x).sum(), x, create_graph=True)
    node = weakref.ref(g.grad_fn)
    del g
    assert node() is None


def chain(x, n):
    y = x
    for _ in range(n):
        y = y * 1.0
    return y


def test_a_long_chain_runs(x):
    chain(x, LONG).sum().backward()
    assert values(x.grad).tolist() == [1, 1]


@pytest.mark.parametrize("ran", [False, True])
def test_a_long_graph_is_deleted_without_recursion(x, ran):
    y = chain(x, LONG)
    node = weakref.ref(y.grad_fn)
    if ran:
        y.sum().backward(retain_graph=True)
    del y
    assert node() is None


def test_a_long_graph_in_a_thread_of_little_stack(x):
    """The C stack of a thread is smaller than the first one's."""
    size = threading.stack_size(256 * 1024)
    try:
        done = []

        def work():
            y = chain(x, LONG // 2)
            y.sum().backward()
            values(x.grad)
            del y
            done.append(True)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
    assert done == [True]


def test_a_long_history_of_writes(x):
    y = x * 1
    for _ in range(3000):
        y.add_(1.0)
    y.sum().backward()
    assert values(x.grad).tolist() == [1, 1]
    assert values(y.detach()).tolist() == [3000.5, 3001.5]
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_a_long_chain_of_views(x):
    v = x * 1
    for _ in range(3000):
        v = v[:]
    v.mul_(2.0)
    v.sum().backward()
    assert values(x.grad).tolist() == [2, 2]
    node = weakref.ref(v.grad_fn)
    del v
    assert node() is None


def test_wide_graphs(x):
    total = sum([x * float(i) for i in range(2000)])
    total.sum().backward()
    np.testing.assert_allclose(values(x.grad), [sum(range(2000))] * 2)


def test_long_differentiable_gradients(x):
    y = chain(x, 3000)
    (g,) = grad((y * y).sum(), x, create_graph=True)
    (h,) = grad(g.sum(), x)
    assert values(h).tolist() == [2, 2]
