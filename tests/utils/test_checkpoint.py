"""Checkpointing: the same gradients, bit for bit, with fewer values kept."""

from __future__ import annotations

import warnings
import weakref

import numpy as np
import pytest

import framework
from framework import nn, tensor
from framework.amp import autocast
from framework.autograd import grad
from framework.autograd.graph import saved_tensors_hooks
from framework.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
)
from tests.ops.checks import values

both = pytest.mark.parametrize("reentrant", [False, True], ids=["saved", "reentrant"])


@pytest.fixture
def x(device):
    return tensor(np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4), requires_grad=True, device=device)


class Counted:
    """A function that counts its calls, and ops of its body that ran to the end."""

    def __init__(self, body):
        self.body, self.calls, self.finished = body, 0, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        result = self.body(*args, **kwargs)
        self.finished += 1
        return result


def body(t):
    return ((t * t).sin().exp() * t).tanh()


@both
def test_same_gradient_with_one_more_run(x, reentrant):
    body(x).sum().backward()
    want, x.grad = values(x.grad), None
    f = Counted(body)
    y = checkpoint(f, x, use_reentrant=reentrant)
    assert f.calls == 1
    y.sum().backward()
    assert f.calls == 2
    assert np.array_equal(values(x.grad), want)
    assert np.array_equal(values(y.detach()), values(body(x.detach())))


@both
def test_nothing_is_kept(x, reentrant):
    kept = []

    def f(t):
        u = t * 2
        kept.append(weakref.ref(u))
        return u * u * t

    y = checkpoint(f, x, use_reentrant=reentrant)
    assert kept[0]() is None
    y.sum().backward()
    assert all(r() is None for r in kept)
    np.testing.assert_allclose(values(x.grad), 12 * values(x.detach()) ** 2, rtol=1e-5)


def test_memory_grows_with_the_root_of_the_depth(x):
    """Of n layers in groups of r, r values inside a group and n / r between groups are alive at a time."""
    alive, most = weakref.WeakSet(), []

    def layer(t):
        u = t.sin()
        alive.add(u)
        most.append(len(alive))
        return u

    def group(t):
        for _ in range(8):
            t = layer(t)
        return t

    y = x
    for _ in range(8):
        y = checkpoint(group, y, use_reentrant=False)
    y.sum().backward()
    assert max(most) <= 2 * 8 + 2
    z = x
    for _ in range(64):
        z = z.sin()
    (want,) = grad(z.sum(), x)
    assert np.array_equal(values(x.grad), values(want))


@both
@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers_are_drawn_again(x, reentrant, preserve):
    seen = []

    def f(t):
        mask = framework.rand_like(t)
        seen.append(values(mask))
        return t * t * mask

    framework.manual_seed(3)
    y = checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=preserve)
    after = framework.get_rng_state()
    y.sum().backward()
    assert np.array_equal(*seen) == preserve
    if preserve:
        assert np.array_equal(values(framework.get_rng_state()), values(after))
        np.testing.assert_allclose(values(x.grad), 2 * values(x.detach()) * seen[0], rtol=1e-6)


@both
def test_dropout_masks_are_the_same(x, reentrant):
    layers = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.ReLU(), nn.Linear(8, 2)).to(x.device)
    framework.manual_seed(1)
    layers(x).sum().backward()
    want = [values(p.grad) for p in (x, *layers.parameters())]
    for p in (x, *layers.parameters()):
        p.grad = None
    framework.manual_seed(1)
    checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
    for p, w in zip((x, *layers.parameters()), want, strict=True):
        assert np.array_equal(values(p.grad), w)


@both
def test_autocast_is_the_same(x, reentrant):
    seen = []

    def f(t):
        y = t @ t.mT
        seen.append(y.dtype)
        return y

    kind = "mps" if str(x.device).startswith("mlx") else "cpu"
    with autocast(device_type=kind, dtype=framework.bfloat16), set_checkpoint_early_stop(False):
        y = checkpoint(f, x, use_reentrant=reentrant)
    y.sum().backward()
    assert seen == [framework.bfloat16] * 2
    assert x.grad.dtype is framework.float32


@both
def test_several_arguments_and_results(x, reentrant):
    w = tensor(2.0, requires_grad=True, device=x.device)

    def f(t, k, s, none):
        assert none is None
        return t * s * k, (t.detach() > 0), t * t

    a, b, c = checkpoint(f, x, 3, w, None, use_reentrant=reentrant)
    assert not b.requires_grad
    (a.sum() + c.sum()).backward()
    np.testing.assert_allclose(values(x.grad), 6 + 2 * values(x.detach()), rtol=1e-6)
    np.testing.assert_allclose(values(w.grad), 3 * values(x.detach()).sum(), atol=1e-5)


@both
def test_without_gradients_it_is_a_call(x, reentrant):
    f = Counted(body)
    with framework.no_grad():
        y = checkpoint(f, x, use_reentrant=reentrant)
    assert not y.requires_grad
    assert f.calls == 1


# ----------------------------------------------------------------------------------------------------- saved values only
def test_keywords_closures_and_structures(x):
    w = tensor(2.0, requires_grad=True, device=x.device)

    def f(pair, *, scale):
        return {"y": pair["a"] * scale * w * w}

    y = checkpoint(f, {"a": x}, use_reentrant=False, scale=x.detach())["y"]
    y.sum().backward()
    np.testing.assert_allclose(values(x.grad), 4 * values(x.detach()), rtol=1e-6)
    np.testing.assert_allclose(values(w.grad), 4 * (values(x.detach()) ** 2).sum(), rtol=1e-5)


def test_grad_inputs_and_higher_derivatives(x):
    f = Counted(lambda t: (t * t * t).sin())
    y = checkpoint(f, x, use_reentrant=False).sum()
    (g,) = grad(y, x, create_graph=True)
    (want,) = grad((x * x * x).sin().sum(), x, create_graph=True)
    np.testing.assert_allclose(values(g.detach()), values(want.detach()), rtol=1e-6)
    np.testing.assert_allclose(values(grad(g.sum(), x)[0]), values(grad(want.sum(), x)[0]), rtol=1e-5, atol=1e-6)
    checkpoint(f, x, use_reentrant=False).sum().backward(inputs=[x])
    np.testing.assert_allclose(values(x.grad), values(want.detach()), rtol=1e-6)


def test_each_pass_runs_it_once(x):
    f = Counted(body)
    y = checkpoint(f, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    assert f.calls == 3
    y.backward()
    assert f.calls == 4
    np.testing.assert_allclose(values(x.grad), 3 * values(grad(body(x).sum(), x)[0]), rtol=1e-5)


def test_early_stop(x):
    """The last op of the function saves nothing: the second run need not come to it."""
    f = Counted(lambda t: (t * t) + 1)
    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert (f.calls, f.finished) == (2, 1)
    for options, ends in [({"early_stop": False}, 2), ({}, 1)]:
        f = Counted(f.body)
        checkpoint(f, x, use_reentrant=False, **options).sum().backward()
        assert (f.calls, f.finished) == (2, ends)
    f = Counted(f.body)
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert f.finished == 2


def test_nested(x):
    log = []

    def inner(t):
        log.append("inner")
        return (t * t).sin() * t

    def outer(t):
        log.append("outer")
        u = checkpoint(inner, t * 2, use_reentrant=False)
        return checkpoint(inner, u * u, use_reentrant=False)

    y = checkpoint(outer, x, use_reentrant=False)
    assert log == ["outer", "inner", "inner"]
    y.sum().backward()
    u = (2 * x * (2 * x)).sin() * 2 * x
    v = u * u
    (want,) = grad(((v * v).sin() * v).sum(), x)
    np.testing.assert_allclose(values(x.grad), values(want), rtol=1e-5, atol=1e-6)


def test_inside_another_pair_of_hooks(x):
    log = []
    with saved_tensors_hooks(lambda t: log.append(1) or t, lambda t: t):
        y = checkpoint(body, x * 1, use_reentrant=False)
    assert log == [1]  # the argument alone
    y.sum().backward()
    assert np.array_equal(values(x.grad), values(grad(body(x).sum(), x)[0]))


def test_contexts_of_the_two_runs(x):
    log = []

    class Logged:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            log.append(self.name)

        def __exit__(self, *exc):
            log.append(self.name + " left")

    y = checkpoint(body, x, use_reentrant=False, context_fn=lambda: (Logged("first"), Logged("again")))
    y.sum().backward()
    assert log == ["first", "first left", "again", "again left"]


def test_written_argument(x):
    y = x * 1
    z = checkpoint(body, y, use_reentrant=False)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def changing(*bodies):
    """A function that is another one at each call."""
    todo = list(bodies)
    return lambda t: todo.pop(0)(t)


@pytest.mark.parametrize(
    ("second", "options", "text"),
    [
        (lambda t: (t[:1] * t[:1]).sin(), {}, "different metadata than during the forward pass"),
        (lambda t: (t.half() * t.half()).sin(), {}, "different metadata than during the forward pass"),
        (lambda t: t * t, {}, "A different number of tensors was saved"),
        (lambda t: (t * t).sin().exp(), {"early_stop": False}, "trying to save more tensors during recomputation"),
    ],
    ids=["shape", "dtype", "fewer", "more"],
)
def test_another_second_run_is_an_error(x, second, options, text):
    y = checkpoint(changing(lambda t: (t * t).sin(), second), x, use_reentrant=False, **options)
    with pytest.raises(CheckpointError, match=text):
        y.sum().backward()


def test_determinism_check_off_and_debug(x):
    f = changing(lambda t: (t * t).sin(), lambda t: (t.half() * t.half()).sin())
    y = checkpoint(f, x, use_reentrant=False, determinism_check="none")
    y.sum().backward()
    assert x.grad is not None
    with set_checkpoint_debug_enabled(True):
        y = checkpoint(changing(lambda t: (t * t).sin(), lambda t: t.exp()), x, use_reentrant=False)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert text.index("Operations of the forward pass:") < text.index("sin(") < text.index("exp(")
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(body, x, use_reentrant=False, determinism_check="all")


# ------------------------------------------------------------------------------------------------------------ reentrant
def test_reentrant_limits(x):
    y = checkpoint(body, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"is incompatible with .grad\(\)"):
        grad(y, x)
    y = checkpoint(body, x, use_reentrant=True).sum()
    with pytest.raises(RuntimeError, match=r"is incompatible with .grad\(\)"):
        y.backward(inputs=[x])
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        assert not checkpoint(body, x.detach(), use_reentrant=True).requires_grad
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(body, x, use_reentrant=True, scale=2)
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(body, x, use_reentrant=True, debug=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        checkpoint(lambda t: t.detach() * 1, x, use_reentrant=True).sum().backward()


def test_the_way_should_be_said(x):
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        y = checkpoint(body, x)
    assert y.grad_fn.name() == "_ReentrantBackward"


# ------------------------------------------------------------------------------------------------------------ sequences
@both
@pytest.mark.parametrize("segments", [1, 2, 3])
def test_sequences(x, reentrant, segments):
    layers = [
        Counted(f) for f in (lambda t: t.sin(), lambda t: t * t, lambda t: t.exp(), lambda t: t.tanh(), lambda t: t * 2)
    ]
    y = checkpoint_sequential(layers, segments, x, use_reentrant=reentrant)
    y.sum().backward()
    size = 5 // segments
    again = size * (segments - 1)
    assert [f.calls for f in layers] == [2] * again + [1] * (5 - again)
    (want,) = grad((x.sin() ** 2).exp().tanh().sum() * 2, x)
    np.testing.assert_allclose(values(x.grad), values(want), rtol=1e-5)


def test_sequence_of_modules(x):
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1)).to(x.device)
    want = grad(model(x).sum(), list(model.parameters()))
    found = grad(checkpoint_sequential(model, 2, x, use_reentrant=False).sum(), list(model.parameters()))
    for a, b in zip(found, want, strict=True):
        assert np.array_equal(values(a), values(b))
    with pytest.raises(ValueError, match="Unexpected keyword arguments"):
        checkpoint_sequential(model, 2, x, use_reentrant=False, scale=1)


def test_nothing_warns(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checkpoint(body, x, use_reentrant=False).sum().backward()
        checkpoint(body, x, use_reentrant=True).sum().backward()


def test_no_cycle(x):
    y = checkpoint(lambda t: body(t) * t, x, use_reentrant=False)
    node = weakref.ref(y.grad_fn)
    del y
    assert node() is None
