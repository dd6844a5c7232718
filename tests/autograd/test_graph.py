"""The graph as users see it: nodes, edges, saved values, hooks on what is saved."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import framework
from framework import tensor
from framework.autograd import Function, grad, graph
from framework.func import grad as func_grad
from framework.func import vmap
from tests.ops.checks import values


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


@pytest.fixture
def w(device):
    return tensor([0.5, -1.0, 2.0], requires_grad=True, device=device)


# -------------------------------------------------------------------------------------------------------------- nodes
@pytest.mark.parametrize(
    ("op", "name"),
    [
        (lambda x: x * 2, "MulBackward0"),
        (lambda x: x + x, "AddBackward0"),
        (lambda x: x.exp(), "ExpBackward0"),
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x[1:], "SliceBackward0"),
        (lambda x: x.clone(), "CloneBackward0"),
        (lambda x: x.log_softmax(0), "LogSoftmaxBackward0"),
        (lambda x: framework.cat([x, x]), "CatBackward0"),
        (lambda x: x.half() * 2, "MulBackward0"),
        (lambda x: x.sort()[0], "SortBackward0"),
    ],
)
def test_names(x, op, name):
    node = op(x).grad_fn
    assert node.name() == type(node).__name__ == name
    assert isinstance(node, graph.Node)
    assert repr(node).startswith(f"<{name} object at 0x")


def test_next_functions(x, w):
    y = x * w
    z = y + framework.ones_like(y)
    ((first, at), (none, _)) = z.grad_fn.next_functions
    assert first is y.grad_fn
    assert (at, none) == (0, None)
    leaves = [n for n, _ in first.next_functions]
    assert [n.name() for n in leaves] == [type(n).__name__ for n in leaves] == ["AccumulateGrad"] * 2
    assert leaves[0].variable is x
    assert leaves[1].next_functions == ()


def test_output_numbers(device):
    m = tensor([[3.0, 1.0]], requires_grad=True, device=device)

    class Parts(Function):
        @staticmethod
        def forward(ctx, m):
            return m * 1, m * 2

        @staticmethod
        def backward(ctx, a, b):
            return a + 2 * b

    a, b = Parts.apply(m)
    assert (a.output_nr, b.output_nr, a.grad_fn is b.grad_fn) == (0, 1, True)
    assert (b * 1).grad_fn.next_functions[0] == (b.grad_fn, 1)


def test_metadata_is_the_users(x):
    y = x * 2
    y.grad_fn.metadata["note"] = 3
    assert y.grad_fn.metadata == {"note": 3}
    assert (x * 2).grad_fn.metadata == {}


def test_looking_at_a_graph_changes_nothing(x):
    y = ((x * 2).exp() + x[1]).sum()
    todo = [y.grad_fn]
    while todo:
        todo += [n for n, _ in todo.pop().next_functions if n is not None]
    y.backward()
    e = np.exp(2 * np.array([1, 2, 3])) * 2
    np.testing.assert_allclose(values(x.grad), e + [0, 3, 0], rtol=1e-5)


# --------------------------------------------------------------------------------------------------------- saved values
def test_saved_values(x, w):
    y = (x * w).exp()
    product = y.grad_fn.next_functions[0][0]
    assert product._saved_self is product._saved_input is x
    assert product._saved_other is w
    result = y.grad_fn._saved_result
    assert values(result.detach()).tolist() == values(y.detach()).tolist()
    assert result.grad_fn is y.grad_fn
    s = y.softmax(0).sum(0, keepdim=True).grad_fn
    assert (s._saved_dim, s._saved_keepdim) == ((0,), True)
    assert {"_saved_self", "_saved_other", "_raw_saved_self"} <= set(dir(product))
    assert (x * framework.ones_like(x)).grad_fn._saved_self is None  # only what is needed
    with pytest.raises(AttributeError, match="'MulBackward0' object has no attribute '_saved_exponent'"):
        product._saved_exponent


@pytest.mark.parametrize("make", [lambda x: x.half().exp(), lambda x: x.sort()[0], lambda x: x.softmax(0)])
def test_saved_values_of_the_slow_path(x, make):
    node = make(x).grad_fn
    saved = [n for n in dir(node) if n.startswith("_saved_")]
    assert saved
    assert all(getattr(node, n) is not NotImplemented for n in saved)


def test_saved_values_are_freed_and_checked(x):
    y = x * x
    y.sum().backward(retain_graph=True)
    node = y.grad_fn
    assert node._saved_self is x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="have already been freed"):
        node._saved_self
    z = x.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.grad_fn.next_functions[0][0]._saved_result


def test_hooks_on_one_saved_value(x, w):
    y = x * w
    y.grad_fn._raw_saved_self.register_hooks(lambda t: values(t.detach()), lambda a: tensor(a * 10, device=x.device))
    with pytest.raises(RuntimeError, match="only one pair of hooks is allowed"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    z = y.exp()
    z.grad_fn._raw_saved_result.register_hooks(lambda t: t * 0 + 1, lambda t: t)
    z.sum().backward()
    assert values(x.grad).tolist() == [0.5, -1, 2]
    assert values(w.grad).tolist() == [10, 20, 30]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_other.register_hooks(lambda t: t, lambda t: t)


# ------------------------------------------------------------------------------------------------ hooks on all that is
# saved
def test_what_hooks_get(x, w):
    log = []
    with graph.saved_tensors_hooks(lambda t: log.append(t) or t, lambda t: t):
        y = x * w
        z = y.exp()
        c = y * 2
    assert log[0] is x  # leaves, and results of ops, as they are
    assert log[1] is w
    assert log[2] is not z  # a node's own output without its node
    assert not log[2].requires_grad
    assert len(log) == 3
    (z.sum() + c.sum()).backward()


def test_hooks_may_keep_anything(x, w):
    log = []

    def unpack(a):
        log.append("unpacked")
        return tensor(a, device=x.device)

    with graph.saved_tensors_hooks(lambda t: values(t.detach()), unpack):
        y = (x * w).exp()
    y.sum().backward(retain_graph=True)
    assert log == ["unpacked"] * 3
    y.sum().backward()
    assert len(log) == 6
    want = np.exp(np.array([0.5, -2, 6])) * [0.5, -1, 2] * 2
    np.testing.assert_allclose(values(x.grad), want, rtol=1e-5)


def test_hooks_own_the_values(x):
    """Packed values are copies if the hook makes copies: later writes do not matter."""
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * 1
        z = y * y
    y.zero_()
    z.sum().backward()
    assert values(x.grad).tolist() == [2, 4, 6]


def test_hooks_and_higher_derivatives(x):
    with graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        z = x * x * x + x.exp()
    (g,) = grad(z.sum(), x, create_graph=True)
    e = np.exp([1.0, 2, 3])
    np.testing.assert_allclose(values(g.detach()), [3 + e[0], 12 + e[1], 27 + e[2]], rtol=1e-5)
    np.testing.assert_allclose(values(grad(g.sum(), x)[0]), [6 + e[0], 12 + e[1], 18 + e[2]], rtol=1e-5)


def test_the_innermost_hooks_count(x):
    log = []
    tagged = lambda name: (lambda t: log.append(name) or t, lambda t: log.append(name + "'") or t)
    with graph.saved_tensors_hooks(*tagged("outer")):
        with graph.saved_tensors_hooks(*tagged("inner")):
            y = x.exp()
        z = y.exp()
    z.sum().backward()
    assert log == ["inner", "outer", "outer'", "inner'"]
    x.exp()
    assert len(log) == 4


def test_a_custom_function_is_hooked(x):
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, y := x * x)
            return y

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * 2 * x + 0 * y

    log = []
    with graph.saved_tensors_hooks(lambda t: log.append(1) or t.detach() * 10, lambda t: t):
        y = Square.apply(x)
    y.sum().backward()
    assert log == [1, 1]
    assert values(x.grad).tolist() == [20, 40, 60]


def test_indices_and_sequences_are_hooked(device):
    m = tensor([[3.0, 1.0], [2.0, 4.0]], requires_grad=True, device=device)
    index = tensor([[1], [0]], device=device)
    log = []
    with graph.saved_tensors_hooks(lambda t: log.append(t) or t, lambda t: t):
        y = m.gather(1, index)
        top, _ = m.sort(1)
        z = framework.cat([y, top], 1)
    assert any(t is index for t in log)
    (z * z).sum().backward()
    assert values(m.grad).tolist() == [[6, 4], [8, 8]]


def test_no_cycle_through_packed_outputs(x):
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x.exp()
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None


def test_hook_errors(x):
    with graph.saved_tensors_hooks(lambda t: 5, lambda t: t):
        y = x * x
    with pytest.raises(
        TypeError, match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type int"
    ):
        y.sum().backward()
    with (
        graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        pytest.raises(RuntimeError, match="modifying its input in place"),
    ):
        (x * 1).exp()
    with graph.disable_saved_tensors_hooks("none of these"):
        with pytest.raises(RuntimeError, match="none of these"), graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass
        x * x
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t), pytest.raises(RuntimeError, match="none of these"):
        graph.disable_saved_tensors_hooks("none of these").__enter__()


def test_hooks_under_transforms(x):
    """What a transform's wrappers save stays as it is; what is saved outside them goes through the hooks."""
    log = []
    with graph.saved_tensors_hooks(lambda t: log.append(t.ndim) or t, lambda t: t):
        y = vmap(lambda t: t * t)(x)
        g = vmap(func_grad(lambda t: t * t * t))(x.detach())
    assert log == [1, 1]
    y.sum().backward()
    assert values(x.grad).tolist() == [2, 4, 6]
    assert values(g).tolist() == [3, 12, 27]


def test_save_on_cpu(x, w):
    with graph.save_on_cpu(pin_memory=True):
        y = (x * w).exp()
        (kept,) = {str(t.handle[1].device) for t in y.grad_fn.next_functions[0][0].saved}
    assert kept == "cpu"
    y.sum().backward()
    np.testing.assert_allclose(values(w.grad), np.exp([0.5, -2, 6]) * [1, 2, 3], rtol=1e-5)


# ------------------------------------------------------------------------------------------------ writes to what is
# saved
@pytest.mark.parametrize(
    "write",
    [lambda y: y.zero_(), lambda y: y[1:].mul_(7), lambda y: y.detach().add_(1), lambda y: y.__setitem__(0, 9.0)],
)
@pytest.mark.parametrize("op", [lambda y: y * y, lambda y: y.exp()], ids=["input", "output"])
def test_mutation_allowed(x, write, op):
    (want,) = grad(op(x * 1).sum(), x)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1
        z = op(y)
        loss = z.sum()
        write(y)
        z.detach().mul_(2)
        loss.backward()
    np.testing.assert_allclose(values(x.grad), values(want), rtol=1e-6)


def test_mutation_allowed_inside_alone(x):
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x * 1
        z = (y * y).sum()
        context.clear()
    with pytest.raises(RuntimeError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        z.backward()
