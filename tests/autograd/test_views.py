"""Views and in-place writes: a write to a view changes its base, and the history of both, whatever the view."""

from __future__ import annotations

import numpy as np
import pytest

import framework
from framework import tensor
from framework.autograd import grad
from framework.func import grad as func_grad
from framework.func import vmap
from tests.ops.checks import values

RNG = np.random.default_rng(3)
VIEWS = {
    "slice": lambda t: t[1:],
    "step": lambda t: t[:, ::2],
    "index": lambda t: t[1],
    "element": lambda t: t[1, 2],
    "ellipsis": lambda t: t[..., 1],
    "new axis": lambda t: t[:, None, 1:],
    "whole": lambda t: t[:],
    "empty": lambda t: t[3:],
    "select": lambda t: t.select(1, -1),
    "narrow": lambda t: t.narrow(0, 1, 2),
    "transpose": lambda t: t.transpose(0, 1),
    "t": lambda t: t.t(),
    "permute": lambda t: t.permute(1, 0),
    "mT": lambda t: t.mT,
    "movedim": lambda t: t.movedim(0, 1),
    "view": lambda t: t.view(2, 6),
    "view_as": lambda t: t.view_as(t),
    "reshape": lambda t: t.reshape(-1),
    "flatten": lambda t: t.flatten(),
    "unflatten": lambda t: t.unflatten(1, (2, 2)),
    "squeeze": lambda t: t[None].squeeze(0),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "diagonal": lambda t: t.diagonal(1),
    "unfold": lambda t: t.unfold(1, 2, 2),
    "detour": lambda t: t.t()[1:].view(3, 1, 3)[:, 0, ::2],
    "expand, one": lambda t: t[1:2].expand(1, 4),
    "as_strided": lambda t: t.as_strided((2, 2), (5, 1), 1),
    "hsplit": lambda t: t.hsplit(2)[1],
    "tensor_split": lambda t: t.tensor_split(2)[0],
}
view = pytest.mark.parametrize("name", VIEWS)


@pytest.fixture
def x(device):
    return tensor(RNG.normal(size=(3, 4)).astype("float32"), requires_grad=True, device=device)


def constant(shape, device):
    return tensor(np.random.default_rng(sum(shape)).uniform(0.5, 1.5, tuple(shape)).astype("float32"), device=device)


def places(name):
    """Where in the base the elements of a view lie, as flat numbers."""
    return values(VIEWS[name](tensor(np.arange(12).reshape(3, 4))))


@view
def test_a_view_is_part_of_its_base(x, name):
    t = x.detach().clone()
    v = VIEWS[name](t)
    assert v._base is t
    assert v._is_view()
    assert np.array_equal(values(v), values(t).ravel()[places(name)])
    want = values(t).ravel()
    want[places(name)] *= 2
    v.mul_(2)
    assert np.array_equal(values(t).ravel(), want)
    t.add_(1)
    assert np.array_equal(values(v), values(t).ravel()[places(name)])
    assert v._version == t._version == 2


@view
@pytest.mark.parametrize("other", [None, "slice", "t", "diagonal"])
def test_history_of_a_write_to_a_view(x, name, other):
    """d/dx of c . base + d . view (+ e . other view) after view *= w."""
    y = x * 1
    u = None if other is None else VIEWS[other](y)
    v = VIEWS[name](y)
    at = places(name)
    w, c, d = constant(v.shape, x.device), constant((3, 4), x.device), constant((*v.shape, 1), x.device)[..., 0]
    v.mul_(w)
    loss = (y * c).sum() + (v * d).sum()
    scale, weight = np.ones(12), values(c).ravel().copy()
    scale[at] = values(w)
    weight[at] += values(d)
    if u is not None:
        loss = loss + (u * u).sum()
        twice = np.zeros(12)
        twice[places(other)] = 2
        weight = weight + twice * values(x.detach()).ravel() * scale
    np.testing.assert_allclose(values(y.detach()).ravel(), values(x.detach()).ravel() * scale, rtol=1e-6)
    if v.numel():
        assert y.grad_fn.name() == "CopySlices"
    loss.backward()
    np.testing.assert_allclose(values(x.grad).ravel(), scale * weight, rtol=1e-5)


@view
def test_history_of_a_write_to_the_base(x, name):
    y = x * 1
    v = VIEWS[name](y)
    w = constant((3, 4), x.device)
    y.mul_(w)
    assert v.requires_grad
    (v * v).sum().backward()
    weight = np.zeros(12)
    weight[places(name)] = 2
    np.testing.assert_allclose(
        values(x.grad).ravel(), weight * values(x.detach()).ravel() * values(w).ravel() ** 2, rtol=1e-5
    )


@view
def test_history_reaches_a_plain_base(x, name):
    """A tensor without history becomes differentiable when a value with history is written into a view of it."""
    y = framework.zeros(3, 4, device=x.device)
    other = y[:2]
    v = VIEWS[name](y)
    v.copy_(VIEWS[name](x))
    assert y.requires_grad
    assert other.requires_grad
    assert not y.is_leaf
    (y * 3).sum().backward()
    want = np.zeros(12)
    want[places(name)] = 3
    assert np.array_equal(values(x.grad).ravel(), want)


@view
def test_second_derivatives_through_a_write(x, name):
    y = x * x
    VIEWS[name](y).mul_(VIEWS[name](x))
    (g,) = grad((y * x).sum(), x, create_graph=True)
    inside = np.zeros(12, bool)
    inside[places(name)] = True
    a = values(x.detach()).ravel()
    np.testing.assert_allclose(values(g.detach()).ravel(), np.where(inside, 4 * a**3, 3 * a**2), rtol=1e-5)
    (h,) = grad(g.sum(), x)
    np.testing.assert_allclose(values(h).ravel(), np.where(inside, 12 * a**2, 6 * a), rtol=1e-5)


@view
def test_writes_inside_transforms(x, name):
    def f(t):
        y = t * 1
        VIEWS[name](y).mul_(VIEWS[name](t))
        return (y * y).sum()

    inside = np.zeros(12, bool)
    inside[places(name)] = True
    a = values(x.detach()).ravel()
    want = np.where(inside, 4 * a**3, 2 * a)
    np.testing.assert_allclose(values(func_grad(f)(x.detach())).ravel(), want, rtol=1e-5)
    stacked = framework.stack([x.detach(), -x.detach()])
    got = values(vmap(func_grad(f))(stacked)).reshape(2, 12)
    np.testing.assert_allclose(got, [want, np.where(inside, -4 * a**3, -2 * a)], rtol=1e-5)


def test_overlapping_writes_in_order(x):
    y = x * 1
    row, column, corner = y[1], y[:, 2], y[1:, 2:]
    row.mul_(2)
    column.add_(1)
    corner.mul_(3)
    y[0] = corner[0, 0]
    row[2].exp_()
    a = values(x.detach())
    row_2 = np.exp(3 * (2 * a[1, 2] + 1))
    np.testing.assert_allclose(values(row.detach())[2], row_2, rtol=1e-4)
    (row.sum() + y[0].sum()).backward()
    want = np.zeros((3, 4))
    want[1, :2], want[1, 3] = 2, 6
    want[1, 2] = 6 * row_2 + 6 * 4
    np.testing.assert_allclose(values(x.grad), want, rtol=1e-4)


def test_views_of_views_name_the_first_base(x):
    y = x * 1
    v = y[1:].t()[0]
    assert v._base is y
    assert y._base is None
    assert not y._is_view()
    assert x.detach()._base is None


def test_views_of_integers_and_bools(device):
    t = framework.arange(6, device=device).view(2, 3)
    t[1].add_(10)
    t.t()[0] = 7
    assert values(t).tolist() == [[7, 1, 2], [7, 14, 15]]
    b = framework.zeros(2, 2, dtype=framework.bool, device=device)
    b.diagonal().fill_(True)
    assert values(b).tolist() == [[True, False], [False, True]]


def test_complex_parts_are_views():
    """On the CPU alone: where arrays do not alias, memory cannot be read as another dtype."""
    a = np.array([1 + 2j, 3 + 4j, 5 - 1j], "complex64")
    z = tensor(a, requires_grad=True)
    y = z * 1
    y.real.mul_(2)
    y.imag[1:].zero_()
    framework.view_as_real(y[2:])[0, 1].add_(z[0].abs())
    want = np.array([2 + 2j, 6, 10 + 1j * abs(1 + 2j)])
    np.testing.assert_allclose(values(y.detach()), want, rtol=1e-6)
    (y.abs() ** 2).sum().backward()  # with d |y|^2 = 2 y
    dz = np.array([4 * 2 + 2j * 2, 4 * 6, 4 * 10], "complex128")
    dz[0] += 2 * want[2].imag * (1 + 2j) / abs(1 + 2j)
    np.testing.assert_allclose(values(z.grad), dz, rtol=1e-5)


def test_shapes_changed_in_place(x):
    y = x * 1
    y.t_()
    y[0].mul_(2)
    y.unsqueeze_(0).transpose_(0, 1)
    assert tuple(y.shape) == (4, 1, 3)
    y.sum().backward()
    assert values(x.grad).tolist() == [[2, 1, 1, 1]] * 3


READ_AS = {
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "view_as_real": framework.view_as_real,
    "view(dtype)": lambda z: z.view(framework.int64),
    "a slice of the real part": lambda z: z.real[1:],
}


@pytest.mark.parametrize("name", READ_AS)
def test_memory_read_as_another_dtype_is_written_through_or_refused(name, device):
    z = framework.tensor([1 + 2j, 3 + 4j, 5 + 6j], device=device)
    part = READ_AS[name](z)
    if device == "cpu":
        part.zero_()
        assert 0 in framework.view_as_real(z).tolist()[1]
        return
    with pytest.raises(RuntimeError, match="would not reach"):
        part.zero_()
    with pytest.raises(RuntimeError, match="would not reach"):
        part[...] = 0
    assert z.tolist() == [1 + 2j, 3 + 4j, 5 + 6j]
    assert not part.clone().zero_().any()
