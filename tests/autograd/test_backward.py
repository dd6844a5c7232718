"""`backward` and `grad`: what they return, where they accumulate, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import framework
from framework import tensor
from framework.autograd import backward, grad
from framework.autograd.graph import GradientEdge, get_gradient_edge
from tests.ops.checks import values


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


@pytest.fixture
def w(device):
    return tensor([0.5, -1.0, 2.0], requires_grad=True, device=device)


# ------------------------------------------------------------------------------------------------------------ leaves
def test_leaf(x):
    y = x * 2
    assert (x.is_leaf, x.requires_grad, x.grad_fn, x.grad, x.output_nr) == (True, True, None, None, 0)
    assert (y.is_leaf, y.requires_grad, y.grad_fn.name(), type(y.grad_fn).__name__) == (
        False,
        True,
        *["MulBackward0"] * 2,
    )
    assert not x.detach().requires_grad
    assert x.detach().is_leaf
    assert y.requires_grad_() is y


def test_only_differentiable_dtypes_require_grad(device):
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        tensor([1], requires_grad=True, device=device)
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        tensor([1], device=device).requires_grad_()
    t = tensor([1], device=device)
    t.requires_grad = False
    assert not t.requires_grad


def test_flag_of_a_result_is_fixed(x):
    y = x * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad_(False)


@pytest.mark.parametrize("convert", ["long", "int", "bool"])
def test_integers_carry_no_gradient(x, convert):
    assert not getattr(x, convert)().requires_grad
    assert not (x > 1).requires_grad


def test_flag_off_and_on_keeps_the_gradient(x):
    (x * 2).sum().backward()
    x.requires_grad_(False)
    assert values(x.grad).tolist() == [2, 2, 2]
    x.requires_grad_()
    (x * 2).sum().backward()
    assert values(x.grad).tolist() == [4, 4, 4]


# ------------------------------------------------------------------------------------------------------ accumulation
def test_accumulates_in_the_same_object(x):
    (x * x).sum().backward()
    g = x.grad
    assert values(g).tolist() == [2, 4, 6]
    assert not g.requires_grad
    (x * x).sum().backward()
    assert x.grad is g
    assert values(g).tolist() == [4, 8, 12]
    assert g._version == 1


def test_a_given_gradient_is_never_shared(x, w, device):
    one = framework.ones(3, device=device)
    (x + w).backward(one)
    assert x.grad is not one
    x.grad.add_(1)
    assert values(one).tolist() == values(w.grad).tolist() == [1, 1, 1]
    x.grad = None
    x.backward(one)
    x.grad.add_(1)
    assert values(one).tolist() == [1, 1, 1]


def test_create_graph_accumulates_in_a_new_object(x):
    with pytest.warns(UserWarning, match="reference cycle"):
        (x * x).sum().backward(create_graph=True)
    g = x.grad
    assert g.requires_grad
    with pytest.warns(UserWarning, match="reference cycle"):
        (x * x).sum().backward(create_graph=True)
    assert x.grad is not g
    assert values(x.grad).tolist() == [4, 8, 12]
    assert x.grad.requires_grad
    x.grad = None


def test_gradient_has_shape_and_dtype_of_its_input(device):
    column = framework.ones(2, 1, requires_grad=True, device=device)
    row = framework.ones(3, requires_grad=True, device=device)
    half = framework.ones(3, dtype=framework.bfloat16, requires_grad=True, device=device)
    (column * row + column + half).sum().backward()
    assert values(column.grad).tolist() == [[6], [6]]
    assert values(row.grad).tolist() == [2, 2, 2]
    assert half.grad.dtype is framework.bfloat16
    assert row.grad.dtype is framework.float32


def test_assigned_gradient_is_checked(x, device):
    for value, error, text in [
        (3, TypeError, "assigned grad expected to be a Tensor or None"),
        (framework.ones(2, device=device), RuntimeError, "different size"),
        (framework.ones(3, dtype=framework.float16, device=device), RuntimeError, "different type"),
    ]:
        with pytest.raises(error, match=text):
            x.grad = value
    mine = framework.ones(3, device=device)
    x.grad = mine
    (x * 2).sum().backward()
    assert x.grad is mine
    assert values(mine).tolist() == [3, 3, 3]
    del x.grad
    assert x.grad is None


def test_reading_the_gradient_of_a_result_warns(x):
    y = x * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor"):
        assert y.grad is None
    y.retain_grad()
    assert y.grad is None


# ---------------------------------------------------------------------------------------------------------- backward
def test_several_roots(x, w, device):
    backward([x.sum(), (x * w).sum()])
    assert values(x.grad).tolist() == [1.5, 0, 3]
    assert values(w.grad).tolist() == [1, 2, 3]
    one = framework.ones(3, device=device)
    x.grad = w.grad = None
    backward([x, w], [one, one * 2])
    assert values(x.grad).tolist() == [1, 1, 1]
    assert values(w.grad).tolist() == [2, 2, 2]
    y = x * w
    assert (
        values(grad([y, (y * y).sum()], [w], [one, None])[0]).tolist() == values((x + 2 * x * x * w).detach()).tolist()
    )


def test_inputs_alone_get_gradients(x, w):
    y = x * 2
    z = (y * w).sum()
    z.backward(inputs=[y, x], retain_graph=True)
    assert w.grad is None
    assert values(y.grad).tolist() == [0.5, -1, 2]
    assert values(x.grad).tolist() == [1, -2, 4]
    z.backward(inputs=y)
    assert values(y.grad).tolist() == [1, -2, 4]
    assert values(x.grad).tolist() == [1, -2, 4]


def test_freed_after_one_pass(x, w):
    y = (x * w).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    z = (x + w).sum()  # saves nothing
    z.backward()
    z.backward()


def test_retained(x):
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad).tolist() == [4, 8, 12]


def test_create_graph_frees_if_told_to(x):
    y = (x * x * x).sum()
    (g,) = grad(y, x, create_graph=True, retain_graph=False)
    assert values(g.detach()).tolist() == [3, 12, 27]
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


# -------------------------------------------------------------------------------------------------------------- grad
def test_grad_returns_and_does_not_accumulate(x, w):
    gx, gw = grad((x * w).sum(), [x, w])
    assert values(gx).tolist() == [0.5, -1, 2]
    assert values(gw).tolist() == [1, 2, 3]
    assert x.grad is None
    assert w.grad is None


def test_inputs_by_name(x, w):
    found = grad((x * w).sum(), {"x": x, "w": w})
    assert values(found["w"]).tolist() == [1, 2, 3]


def test_inputs_on_the_way(x):
    y = x * 2
    gy, gx, again = grad((y * y).sum(), [y, x, y])
    assert values(gy).tolist() == values(again).tolist() == [4, 8, 12]
    assert values(gx).tolist() == [8, 16, 24]


def test_unused_inputs(x, w):
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad(x.sum(), w)
    assert grad(x.sum(), (x, w), allow_unused=True)[1] is None
    assert values(grad(x.sum(), (x, w), materialize_grads=True)[1]).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="allow_unused"):
        grad(x.sum(), w, allow_unused=False, materialize_grads=True)


def test_higher_derivatives(device):
    x = tensor([0.5, 1.5], requires_grad=True, device=device)
    d = (x**4).sum()
    for want in (lambda v: 4 * v**3, lambda v: 12 * v**2, lambda v: 24 * v, lambda v: 24 + 0 * v):
        (d,) = grad(d.sum(), x, create_graph=True)
        np.testing.assert_allclose(values(d.detach()), want(np.array([0.5, 1.5])), rtol=1e-5)


def test_complex_gradients(device):
    z = tensor([1 + 2j, 3 - 1j], requires_grad=True, device=device)
    (z * z.conj()).sum().real.backward()
    np.testing.assert_allclose(values(z.grad), [2 + 4j, 6 - 2j])
    with pytest.raises(RuntimeError, match="only for real scalar outputs"):
        (z * z).sum().backward()
    unit = tensor(1j, dtype=z.dtype, device=device)
    np.testing.assert_allclose(values(grad((z * z).sum(), z, unit)[0]), np.conj(2 * np.array([1 + 2j, 3 - 1j])) * 1j)
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        grad((z * z).sum(), z, tensor(1.0, device=device))


def test_edges_stand_for_tensors(x, device):
    y = x * 2
    z = (y * y).sum()
    assert values(grad(z, get_gradient_edge(y), retain_graph=True)[0]).tolist() == [4, 8, 12]
    one = framework.ones((), device=device)
    assert values(grad(get_gradient_edge(z), x, one)[0]).tolist() == [8, 16, 24]
    with pytest.raises(
        RuntimeError, match="It is not possible to get the gradient edge for a Tensor that does not require"
    ):
        get_gradient_edge(one)
    rows = framework.ones(2, 3, requires_grad=True, device=device) * 1
    top, at = framework.sort(rows, 1)
    edge = GradientEdge(*(top * 1).grad_fn.next_functions[0])
    assert (edge.node.name(), edge.output_nr) == ("SortBackward0", 0)
    assert values(grad((top * 3).sum(), edge)[0]).tolist() == [[3, 3, 3], [3, 3, 3]]
    assert at.grad_fn is None


ERRORS = {
    "not a scalar": (
        lambda x, w: (x * 2).backward(),
        RuntimeError,
        "grad can be implicitly created only for scalar outputs",
    ),
    "no graph": (
        lambda x, w: x.detach().sum().backward(),
        RuntimeError,
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    "no graph, second root": (lambda x, w: backward([x.sum(), x.detach().sum()]), RuntimeError, "element 1 of tensors"),
    "shape of the gradient": (lambda x, w: (x * 2).backward(x[:2].detach()), RuntimeError, "Mismatch in shape"),
    "not a tensor": (lambda x, w: x.sum().backward(2.0), TypeError, "gradients can be either Tensors or None"),
    "input without history": (
        lambda x, w: grad(x.sum(), w.detach()),
        RuntimeError,
        "One of the differentiated Tensors does not require grad",
    ),
    "input of another type": (
        lambda x, w: grad(x.sum(), "x"),
        RuntimeError,
        "all inputs have to be Tensors or GradientEdges",
    ),
    "no inputs": (lambda x, w: x.sum().backward(inputs=[]), RuntimeError, "cannot be empty"),
    "no inputs to grad": (lambda x, w: grad(x.sum(), []), RuntimeError, "cannot be empty"),
    "too few gradients": (
        lambda x, w: backward([x.sum(), w.sum()], [None]),
        RuntimeError,
        "got 2 tensors and 1 gradients",
    ),
    "gradients by two names": (
        lambda x, w: backward(x.sum(), grad_tensors=[None], grad_variables=[None]),
        RuntimeError,
        "Please only use `grad_tensors`",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(x, w, name):
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call(x, w)
    assert x.grad is None


def test_modes_around_a_pass_do_not_matter(x):
    y = (x * x).sum()
    with framework.no_grad():
        y.backward(retain_graph=True)
    with framework.enable_grad():
        y.backward()
    assert values(x.grad).tolist() == [4, 8, 12]
    assert framework.is_grad_enabled()


def test_a_pass_within_a_pass(x, w):
    """A hook differentiates something else."""
    y = x * 1

    def hook(g):
        with framework.enable_grad():
            inner = (w * w).sum()
        inner.backward()

    y.register_hook(hook)
    y.sum().backward()
    assert values(w.grad).tolist() == [1, -2, 4]
    assert values(x.grad).tolist() == [1, 1, 1]


def test_a_failed_pass_leaves_no_trace(x):
    def hook(g):
        raise ValueError("no")

    y = (x * x).sum()
    handle = x.register_hook(hook)
    with pytest.raises(ValueError, match="no"):
        y.backward(retain_graph=True)
    handle.remove()
    assert framework.is_grad_enabled()
    assert x.grad is None
    y.backward()
    assert values(x.grad).tolist() == [2, 4, 6]
