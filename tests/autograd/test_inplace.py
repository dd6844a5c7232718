"""Writes in place: version counters, what may be written, and that a write to saved values never goes unnoticed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import framework
from framework import no_grad, tensor
from framework.autograd.graph import increment_version
from tests.ops.checks import values


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


# --------------------------------------------------------------------------------------------------- version counters
def test_every_write_counts(device):
    t = framework.ones(3, device=device)
    counts = [t._version]
    writes = [
        lambda: t.add_(1),
        lambda: t.__setitem__(0, 2.0),
        lambda: t.zero_(),
        lambda: t.copy_(t + 1),
        lambda: t.exp_(),
        lambda: t[1:].mul_(2),
        lambda: t.detach().mul_(2),
        lambda: t.clamp_(0, 1),
        lambda: t.__iadd__(1),
        lambda: framework.add(t, 1, out=t),
        lambda: t.masked_fill_(t > 100, 0.0),
        lambda: t.fill_(2.0),
        lambda: t.index_add_(0, tensor([0], device=device), framework.ones(1, device=device)),
        lambda: increment_version(t),
    ]
    for write in writes:
        write()
        counts.append(t._version)
    assert counts == list(range(len(writes) + 1))


def test_who_shares_a_counter(x):
    t = x.detach().clone()
    v = t[1:]
    same, own = t.detach(), t.data
    v.add_(1)
    assert [s._version for s in (t, v, same, t.view(3, 1), t[0])] == [1] * 5
    assert own._version == 0
    own.add_(1)
    assert [t._version, own._version, t.clone()._version] == [1, 1, 0]
    assert values(t).tolist() == [2, 4, 5]


def test_increment_version_takes_several(device):
    t, s = framework.ones(2, device=device), framework.ones(2, device=device)
    increment_version([t, s, s])
    assert (t._version, s._version) == (1, 2)


def test_augmented_assignment_writes(device):
    t = alias = framework.ones(3, device=device) * 7
    t += 1
    t -= 2
    t *= 3
    t /= 2
    t **= 2
    t //= 2
    t %= 7
    assert t is alias
    assert t._version == 7
    assert values(t).tolist() == [40 % 7] * 3
    n = alias = framework.ones(2, dtype=framework.int64, device=device)
    n |= 6
    n &= 5
    n ^= 4
    assert n is alias
    assert values(n).tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        n /= 2


# ------------------------------------------------------------------------------------------- the matrix of saved values
# How a node came to save s (a tensor with history), and what then writes to it.
SAVED = {
    "input": lambda x: (s := x * 1, s * s),
    "input that is a view": lambda x: (s := (x * 1)[1:], s * s),
    "input that is a base": lambda x: (s := x * 1, s[1:] * s[:2]),
    "output": lambda x: (s := x.exp(), s),
    "output of sigmoid": lambda x: (s := x.sigmoid(), s),
    "output of tanh": lambda x: (s := x.tanh(), s),
    "output of sqrt": lambda x: (s := x.sqrt(), s),
    "output of softmax": lambda x: (s := x.softmax(0), s),
    "output, in place": lambda x: (s := (x * 1).exp_(), s),
    "output, viewed": lambda x: (s := x.exp(), s[1:] * 1),
    "output of several": lambda x: (s := framework.sort(x.exp())[0].exp(), s),
    "half output": lambda x: (s := x.half().exp(), s),
}
WRITES = {
    "itself": lambda s: s.add_(1),
    "item": lambda s: s.__setitem__(0, 5.0),
    "view": lambda s: s[:1].mul_(2),
    "base": lambda s: (s if s._base is None else s._base).mul_(2),
    "disjoint view": lambda s: s.view(-1)[s.numel() - 1 :].add_(1),
    "detached": lambda s: s.detach().add_(1),
    "view of detached": lambda s: s.detach()[:1].zero_(),
    "copy": lambda s: s.copy_(s.detach() * 2),
    "zero": lambda s: s.zero_(),
    "formula": lambda s: s.clamp_(0, 1),
    "out": lambda s: framework.mul(s.detach(), 2, out=s.detach()),
}


@pytest.mark.parametrize("gradients", [True, False], ids=["grad", "no_grad"])
@pytest.mark.parametrize(("saved", "write"), list(itertools.product(SAVED, WRITES)))
def test_writes_to_saved_values_are_noticed(x, saved, write, gradients):
    s, y = SAVED[saved](x)
    loss = y.sum()
    with framework.set_grad_enabled(gradients):
        WRITES[write](s)
    with pytest.raises(
        RuntimeError, match=r"has been modified by an inplace operation.*is at version .; expected version"
    ):
        loss.backward()


@pytest.mark.parametrize("saved", SAVED)
def test_writes_through_data_are_not_noticed(x, saved):
    s, y = SAVED[saved](x)
    loss = y.sum()
    s.data.mul_(3)
    loss.backward()
    if saved == "input":
        assert values(x.grad).tolist() == [6, 12, 18]


@pytest.mark.parametrize("saved", SAVED)
def test_writes_before_and_elsewhere_do_not_matter(x, saved):
    def other(t):
        return SAVED[saved](t)[1].sum()

    y = x * 1
    y.mul_(1)
    loss = other(y)
    (x * 1).add_(1)
    y.clone().zero_()
    loss.backward()
    want, x.grad = x.grad, None
    other(x).backward()
    np.testing.assert_allclose(values(x.grad), values(want), rtol=1e-3)


def test_ops_that_save_nothing_do_not_mind(x):
    y = x + 1
    z = y - 2
    y.zero_()
    z.sum().backward()
    assert values(x.grad).tolist() == [1, 1, 1]


def test_saved_leaves(x):
    y = (x * x).sum()
    with no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        y.backward()


def test_an_op_may_read_what_it_overwrites(x):
    y = x * 1
    y.mul_(y.detach().clone())
    y.exp_()
    y.add_(1)  # exp saved its output
    with pytest.raises(RuntimeError, match="which is output 0 of Exp, is at version 3; expected version 2"):
        y.sum().backward()


def test_the_error_says_who_and_where(x):
    y = x.exp()
    y.add_(1)
    line = "test_inplace.py:" + str(test_the_error_says_who_and_where.__code__.co_firstlineno + 2)
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "[torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected version 0" in text
    assert "ExpBackward0 saved it (its own output)" in text
    assert f"It was written by add_ at {__file__}" in text
    assert line in text
    a = x * 2
    b = a * a
    a[0] = 1
    with pytest.raises(
        RuntimeError, match=r"MulBackward0 saved it \(its operand 'input'\). It was written by setitem at "
    ):
        b.sum().backward()


def test_create_graph_checks_versions_too(x):
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        framework.autograd.grad(z, x, create_graph=True)
    y = x.exp()
    (g,) = framework.autograd.grad(y.sum(), x, create_graph=True)  # made of y
    y.detach().add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        framework.autograd.grad((g * g).sum(), x)


# ------------------------------------------------------------------------------------------------ what may be written
def test_gradient_of_writes(x, device):
    w = tensor([0.5, -1.0, 2.0], requires_grad=True, device=device)
    y = x * 1
    y.mul_(w)
    y.add_(1).mul_(2)
    y += x
    y.sum().backward()
    assert values(x.grad).tolist() == [2, -1, 5]
    assert values(w.grad).tolist() == [2, 4, 6]


def view_made_in_no_grad(x):
    y = x * 1
    with no_grad():
        v = y[1:]
    return v


def untracked_view(x):
    """A view of a plain tensor, from a function of several, into which history is written."""
    return x.detach().clone().unbind()[0]


LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
LEAF_VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"
MULTIPLE = (
    "Output {} of {} is a view and is being modified inplace. "
    "This view is the output of a function that returns multiple"
)
NO_GRAD = "A view was created in no_grad mode and is being modified inplace with grad mode enabled"
OVERLAP = "more than one element of the written-to tensor refers to a single memory location"
FORBIDDEN = {
    "leaf": (lambda x: x.add_(1), LEAF),
    "leaf, item": (lambda x: x.__setitem__(0, 1.0), LEAF),
    "leaf, out of place and back": (lambda x: x.detach().requires_grad_().mul_(2), LEAF),
    "view of a leaf": (lambda x: x[1:].add_(1), LEAF_VIEW),
    "reshaped leaf": (lambda x: x.view(3, 1).zero_(), LEAF_VIEW),
    "view made before it became a leaf": (
        lambda x: ((t := x.detach()), (v := t[1:]), t.requires_grad_(), v.add_(1)),
        LEAF_VIEW,
    ),
    "unbind": (lambda x: (x * 1).unbind()[0].add_(1), MULTIPLE.format(0, "Unbind")),
    "unbind of a leaf": (lambda x: x.unbind()[0].add_(1), MULTIPLE.format(0, "Unbind")),
    "iteration": (lambda x: [r.add_(1) for r in x * 1], MULTIPLE.format(0, "Unbind")),
    "split": (lambda x: (x * 1).split(1)[1].add_(1), MULTIPLE.format(1, "Split")),
    "chunk": (lambda x: (x * 1).chunk(3)[2].add_(1), MULTIPLE.format(2, "Split")),
    "view of one of several": (lambda x: (x * 1).split(2)[0][1:].add_(1), MULTIPLE.format(0, "Split")),
    "history into one of several": (lambda x: untracked_view(x).add_(x[0]), MULTIPLE.format(0, "Unbind")),
    "view made in no_grad": (lambda x: view_made_in_no_grad(x).add_(1), NO_GRAD),
    "expanded": (lambda x: (x * 1).expand(2, 3).add_(1), OVERLAP),
    "expanded, plain": (lambda x: x.detach().expand(2, 3).mul_(2), OVERLAP),
    "overlapping windows": (lambda x: x.detach().clone().unfold(0, 2, 1).mul_(2), OVERLAP),
    "detaching a view": (lambda x: (x * 1)[1:].detach_(), "Can't detach views in-place"),
    "broadcast": (
        lambda x: x.detach().add_(framework.ones(2, 3, device=x.device)),
        r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]",
    ),
    "cast": (lambda x: x.detach().long().add_(1.5), "result type Float can't be cast to the desired output type Long"),
    "cast to bool": (lambda x: (x > 1).add_(1), "can't be cast to the desired output type Bool"),
    "complex": (lambda x: x.detach().add_(1j), "can't be cast to the desired output type Float"),
    "out of a variable": (
        lambda x: framework.add(x, 1, out=x.detach().clone()),
        "don't support automatic differentiation",
    ),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden(x, name):
    write, text = FORBIDDEN[name]
    with pytest.raises(RuntimeError, match=text):
        write(x)
    assert values(x.detach()).tolist() == [1, 2, 3]


ALLOWED = {
    "leaf": lambda x: x.mul_(2),
    "view of a leaf": lambda x: x[:].mul_(2),
    "several views": lambda x: [r.mul_(2) for r in x.unbind()],
    "view made inside": lambda x: (x * 1)[1:].mul_(2),
    "detached": lambda x: x.detach().mul_(2),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_allowed_in_no_grad(x, name):
    with no_grad():
        ALLOWED[name](x)
    assert values(x.detach()).tolist() == ([1, 2, 3] if name == "view made inside" else [2, 4, 6])
    assert x.is_leaf
    assert x.requires_grad


def test_views_of_plain_tensors_may_be_written(device):
    t = framework.zeros(3, 2, device=device)
    for i, row in enumerate(t):
        row.add_(i)
    t.split(2)[0].mul_(10)
    assert values(t).tolist() == [[0, 0], [10, 10], [2, 2]]


def test_integers_take_values_but_no_history(x):
    t = framework.zeros(3, dtype=framework.int64, device=x.device)
    t.copy_(x)
    t[0] = x[2]
    assert not t.requires_grad
    assert values(t).tolist() == [3, 2, 3]


def test_detach_in_place(x):
    y = x * 2
    v = y[1:]
    assert y.detach_() is y
    assert y.is_leaf
    assert not y.requires_grad
    assert v.requires_grad
    (x * 3).sum().backward()
    x.detach_()
    assert not x.requires_grad
    assert values(x.grad).tolist() == [3, 3, 3]


def test_new_data(x):
    """`t.data = ...` swaps the values; what was saved of the old ones is missed, not silently replaced."""
    y = (x * x).sum()
    x.data = x.data * 10
    assert values(x.detach()).tolist() == [10, 20, 30]
    assert x.is_leaf
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    (x * x).sum().backward()
    assert values(x.grad).tolist() == [20, 40, 60]
