"""Gradients on and off, and inference mode."""

from __future__ import annotations

import threading

import pytest

import framework
from framework import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled, tensor
from tests.ops.checks import values


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


# ----------------------------------------------------------------------------------------------------------- contexts
def test_contexts(x):
    with no_grad():
        assert not (x * 2).requires_grad
        with enable_grad():
            assert (x * 2).requires_grad
        assert not is_grad_enabled()
    assert is_grad_enabled()
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert is_grad_enabled()


def test_set_grad_enabled_acts_at_once(x):
    set_grad_enabled(False)
    try:
        assert not (x * 2).requires_grad
    finally:
        set_grad_enabled(True)
    with set_grad_enabled(False):
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_decorators():
    @no_grad()
    def called():
        return is_grad_enabled()

    @no_grad
    def bare():
        return is_grad_enabled()

    @set_grad_enabled(False)
    def off():
        return is_grad_enabled()

    @enable_grad()
    def on():
        return is_grad_enabled()

    assert is_grad_enabled()
    assert [called(), bare(), off(), on()] == [False, False, False, True]
    with no_grad():
        assert on()
    assert called.__name__ == "called"


def test_a_context_object_may_be_used_again():
    context = no_grad()
    for _ in range(2):
        with context:
            assert not is_grad_enabled()
        assert is_grad_enabled()


def test_generators_enter_the_mode_at_each_resume():
    @no_grad()
    def modes():
        with enable_grad():
            yield is_grad_enabled()
        yield is_grad_enabled()

    seen = []
    for inside in modes():
        seen += [inside, is_grad_enabled()]
    assert seen == [True, True, False, True]


def test_generators_get_what_is_sent_thrown_and_closed():
    log = []

    @no_grad()
    def talk():
        try:
            log.append((yield 1))
            try:
                yield 2
            except KeyError:
                log.append(("caught", is_grad_enabled()))
            yield 3
        finally:
            log.append(("closed", is_grad_enabled()))

    g = talk()
    assert next(g) == 1
    assert g.send("sent") == 2
    assert g.throw(KeyError()) == 3
    g.close()
    assert log == ["sent", ("caught", False), ("closed", False)]
    assert is_grad_enabled()


def test_a_generator_returns_its_value():
    @no_grad()
    def three():
        yield 1
        return 3

    g = three()
    next(g)
    with pytest.raises(StopIteration) as stop:
        next(g)
    assert stop.value.value == 3


def test_each_thread_has_its_own(x):
    seen = {}

    def look(name):
        seen[name] = is_grad_enabled()

    with no_grad():
        thread = threading.Thread(target=look, args=("new",))
        thread.start()
        thread.join()
        look("here")
    assert seen == {"new": True, "here": False}


def test_variables_may_be_made_while_off(device):
    with no_grad():
        x = framework.ones(2, requires_grad=True, device=device)
        p = framework.nn.Parameter(framework.ones(2, device=device))
    assert x.requires_grad
    assert p.requires_grad
    assert (x * p).requires_grad


def test_leaves_may_be_written_while_off(x):
    with no_grad():
        x.mul_(2)
        x[0] = 5
        x[1:].add_(1)
    assert values(x.detach()).tolist() == [5, 5, 7]
    assert (x._version, x.is_leaf, x.requires_grad) == (3, True, True)


# ------------------------------------------------------------------------------------------------------ inference mode
@pytest.fixture
def made_inside(device):
    with inference_mode():
        return framework.ones(3, device=device)


def test_inference_mode_is_a_mode(x):
    with inference_mode():
        assert framework.is_inference_mode_enabled()
        assert not is_grad_enabled()
        with inference_mode(False):
            assert is_grad_enabled()
            assert not (x * 1).is_inference()
            assert (x * 1).requires_grad
        assert not (x * 1).requires_grad
    assert not framework.is_inference_mode_enabled()
    assert is_grad_enabled()


def test_inference_decorators(device):
    make = lambda: framework.ones(2, device=device)
    assert inference_mode()(make)().is_inference()
    assert inference_mode(make)().is_inference()
    assert not inference_mode(False)(make)().is_inference()


def test_what_is_an_inference_tensor(x, made_inside):
    assert made_inside.is_inference()
    assert framework.is_inference(made_inside)
    assert made_inside[1:].is_inference()
    assert not made_inside.clone().is_inference()
    assert not (made_inside * 1).is_inference()
    assert not (x + made_inside).is_inference()
    with inference_mode():
        assert (x * 2).is_inference()
        assert not x[1:].is_inference()  # a view of a normal tensor is normal
        assert not x.detach().is_inference()
        assert made_inside.detach().is_inference()
        assert x.clone().is_inference()
    assert not x.is_inference()


def test_inference_tensors_join_graphs_that_need_not_save_them(x, made_inside):
    (x + made_inside).sum().backward()
    assert values(x.grad).tolist() == [1, 1, 1]


REFUSED = {
    "version": (lambda x, t: t._version, "Inference tensors do not track version counter"),
    "saved": (lambda x, t: x * t, "Inference tensors cannot be saved for backward"),
    "saved by the slow path": (
        lambda x, t: framework.cat([x, x]) * framework.cat([t, t]).expand(6) * t[0],
        "cannot be saved for backward",
    ),
    "variable": (
        lambda x, t: t.requires_grad_(),
        "Setting requires_grad=True on inference tensor outside InferenceMode",
    ),
    "in place": (lambda x, t: t.add_(1), "Inplace update to inference tensor outside InferenceMode"),
    "in place, by a formula": (lambda x, t: t.clamp_(0, 1), "Inplace update to inference tensor outside InferenceMode"),
    "item": (lambda x, t: t.__setitem__(0, 2.0), "Inplace update to inference tensor outside InferenceMode"),
    "copy": (lambda x, t: t.copy_(x.detach()), "Inplace update to inference tensor outside InferenceMode"),
    "view": (lambda x, t: t[1:].mul_(2), "Inplace update to inference tensor outside InferenceMode"),
    "augmented": (lambda x, t: t.__iadd__(1), "Inplace update to inference tensor outside InferenceMode"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_outside(x, made_inside, name):
    call, text = REFUSED[name]
    with pytest.raises(RuntimeError, match=text):
        call(x, made_inside)
    assert values(made_inside).tolist() == [1, 1, 1]


def test_allowed_inside(x, made_inside):
    with inference_mode():
        made_inside.add_(1)
        made_inside[0] = 7
        made_inside[1:].mul_(2)
        made_inside.requires_grad_()
        assert not (made_inside * 2).requires_grad
    assert values(made_inside.detach()).tolist() == [7, 4, 4]


def test_normal_tensors_may_be_written_inside_and_count(x):
    t = x.detach().clone()
    y = x * 1
    z = (y * y).sum()
    with inference_mode():
        t.add_(1)
        y.add_(1)
    assert t._version == y._version == 1
    assert y.requires_grad
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


def test_views_made_inside_of_normal_tensors_work_outside(device):
    t = framework.ones(3, device=device)
    with inference_mode():
        v = t[1:]
    v.add_(1)
    assert values(t).tolist() == [1, 2, 2]
    assert t._version == 1


def test_a_clone_is_normal(made_inside):
    y = made_inside.clone().requires_grad_()
    (y * y).sum().backward()
    assert values(y.grad).tolist() == [2, 2, 2]


def test_backward_inside(x):
    y = (x * x).sum()
    with inference_mode():
        y.backward()
    assert values(x.grad).tolist() == [2, 4, 6]
