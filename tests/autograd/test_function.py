"""Custom Functions: values, gradients, contexts, marks, errors, and their behaviour under transforms."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import framework
from framework import tensor
from framework.autograd import Function, grad
from framework.autograd.function import once_differentiable
from framework.func import grad as gradient_of
from framework.func import jvp, vmap


def function(forward, backward=None, **methods):
    """A Function of these static methods."""
    methods |= {"forward": forward} | ({} if backward is None else {"backward": backward})
    return type("F", (Function,), {k: staticmethod(f) if callable(f) else f for k, f in methods.items()})


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


class Cube(Function):
    """x ** 3 * y and 2 x, in the style that transforms need."""

    @staticmethod
    def forward(x, y):
        return x * x * x * y, 2 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g * 3 * x * x * y + h * 2, g * x * x * x

    @staticmethod
    def jvp(ctx, dx, dy):
        x, y = ctx.saved_tensors
        return dx * 3 * x * x * y + dy * x * x * x, dx * 2


class BatchedCube(Cube):
    """The same with a batching rule of its own."""

    @staticmethod
    def vmap(info, in_dims, x, y):
        wide = [t if d == 0 else t.expand(info.batch_size, *t.shape) for t, d in zip((x, y), in_dims, strict=True)]
        return BatchedCube.apply(*wide), (0, 0)


class Exp(Function):
    """exp, whose derivative is read off a saved output."""

    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


def plain_cube(x, y):
    return x * x * x * y, 2 * x


# ---------------------------------------------------------------- values and gradients
def test_both_styles(x):
    y = Exp.apply(x)
    assert y.tolist() == x.exp().tolist()
    y.sum().backward()
    assert x.grad.tolist() == x.exp().tolist()
    x.grad = None
    a, b = Cube.apply(x, 0 * x.detach() + 2)
    (a + b).sum().backward()
    assert x.grad.tolist() == [8, 26, 56]


def test_name_and_place_in_the_graph(x):
    y = Exp.apply(x)
    assert repr(y).endswith("grad_fn=<ExpBackward>)")
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "ExpBackward"
    assert y.grad_fn.next_functions == ((x.node, 0),)
    a, b = Cube.apply(x, x)
    assert a.grad_fn is b.grad_fn
    assert (a.output_nr, b.output_nr) == (0, 1)
    assert [n for n, _ in a.grad_fn.next_functions] == [x.node, x.node]


def test_attributes_of_the_context_are_those_of_the_node(x):
    def forward(ctx, t):
        ctx.shape, ctx.note = "any name will do", 5
        return 2 * t

    y = function(forward, lambda ctx, g: g * ctx.note).apply(x)
    assert y.grad_fn.note == 5
    y.sum().backward()
    assert x.grad.tolist() == [5, 5, 5]


def test_double_backward_through_saved_inputs_and_outputs(x):
    for f, second in ((lambda t: Cube.apply(t, t)[0], 12 * x.detach() ** 2), (Exp.apply, x.detach().exp())):
        (first,) = grad(f(x).sum(), x, create_graph=True)
        (found,) = grad(first.sum(), x)
        np.testing.assert_allclose(found.tolist(), second.tolist(), rtol=1e-6)


def test_an_argument_given_twice(x):
    function(lambda ctx, a, b: a * b, lambda ctx, g: (g * 2, g * 3)).apply(x, x).sum().backward()
    assert x.grad.tolist() == [5, 5, 5]


def test_forward_is_not_recorded_and_backward_only_with_create_graph(x):
    seen = []

    def forward(ctx, t):
        seen.append(framework.is_grad_enabled())
        return t * 2

    def backward(ctx, g):
        seen.append(framework.is_grad_enabled())
        return g * 2

    y = function(forward, backward).apply(x).sum()
    grad(y, x, retain_graph=True)
    grad(y, x, create_graph=True)
    assert seen == [False, False, True]


def test_gradients_are_summed_cast_and_never_shared(x):
    def backward(ctx, g):
        return g.expand(2, 3).to(framework.float16)

    y = function(lambda ctx, t: t * 2, backward).apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    assert x.grad.dtype is framework.float32
    saved = tensor([7.0, 8.0, 9.0], device=x.device)
    f = function(lambda ctx, t: t * 2, lambda ctx, g: saved)
    x.grad = None
    (f.apply(x) + f.apply(x)).sum().backward()
    assert x.grad.tolist() == [14, 16, 18]
    assert saved.tolist() == [7, 8, 9]
    f.apply(x).sum().backward()
    assert saved.tolist() == [7, 8, 9]


def test_needs_input_grad(x):
    seen = []

    def forward(ctx, a, b, k):
        seen.append(ctx.needs_input_grad)
        return a * b

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None

    function(forward, backward).apply(x, x.detach(), 3).sum().backward()
    with framework.no_grad():
        function(forward, backward).apply(x, x.detach(), 3)
    assert seen == [(True, False, False)] * 3


def test_keyword_arguments_and_defaults(x):
    inputs = []
    f = function(lambda a, b=2: a * b, lambda ctx, g: (g, None), setup_context=lambda ctx, i, o: inputs.append(i))
    assert f.apply(x).tolist() == [2, 4, 6]
    assert f.apply(x, b=3).tolist() == [3, 6, 9]
    assert [i[1] for i in inputs] == [2, 3]
    old = function(lambda ctx, a, b=2: a * b, lambda ctx, g: (g, None))
    assert old.apply(x).tolist() == [2, 4, 6]
    assert old.apply(x, b=3).tolist() == [3, 6, 9]


# ---------------------------------------------------------------- outputs
def test_outputs_that_carry_no_gradient(x):
    def forward(ctx, t):
        marked = t * 3
        ctx.mark_non_differentiable(marked)
        return t * 2, t > 1, marked, "text"

    grads = []

    def backward(ctx, *gs):
        grads.extend(gs)
        return gs[0]

    outputs = function(forward, backward).apply(x)
    assert [getattr(o, "requires_grad", None) for o in outputs] == [True, False, False, None]
    outputs[0].sum().backward()
    assert [None if g is None else g.tolist() for g in grads] == [[1] * 3, [False] * 3, [0] * 3, None]


def test_missing_gradients_are_zeros_or_none(x):
    for materialize, expected in ((True, [0, 0, 0]), (False, None)):
        grads = []

        def forward(ctx, t, materialize=materialize):
            ctx.set_materialize_grads(materialize)
            return t * 2, t * 3

        def backward(ctx, g, h, grads=grads):
            grads.append(h)
            return g

        function(forward, backward).apply(x)[0].sum().backward()
        assert (None if grads[0] is None else grads[0].tolist()) == expected


def test_an_input_returned_unchanged_is_another_tensor_on_its_memory(x):
    y = function(lambda ctx, t: t, lambda ctx, g: g * 5).apply(x)
    assert y is not x
    assert y.grad_fn.name() == "FBackward"
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [5, 5, 5]
    with framework.no_grad():
        x.add_(1)
        assert y.tolist() == x.tolist()
        assert function(lambda ctx, t: t).apply(x) is not x


def test_views_out_of_a_function_must_not_be_written(x):
    base = x * 1
    for forward in (lambda ctx, t: t, lambda ctx, t: t[:3]):
        y = function(forward, lambda ctx, g: g).apply(base)
        with pytest.raises(RuntimeError, match="Output 0 of F is a view and is being modified inplace"):
            y.add_(1)
        base.mul_(2)
        with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
            y.sum().backward()


def test_dirty_inputs_take_the_node(x):
    def forward(ctx, t):
        t.mul_(2)
        ctx.mark_dirty(t)
        return t

    f = function(forward, lambda ctx, g: g * 20)
    a = x * 1
    y = f.apply(a)
    assert y is a
    assert a.grad_fn.name() == "FBackward"
    assert a._version > 0
    y.sum().backward()
    assert x.grad.tolist() == [20, 20, 20]
    plain = tensor([1.0, 1.0, 1.0], device=x.device)
    both = function(lambda ctx, t, u: forward(ctx, t), lambda ctx, g: (g, g * 3))
    x.grad = None
    both.apply(plain, x).sum().backward()
    assert plain.requires_grad
    assert x.grad.tolist() == [3, 3, 3]


def test_a_dirty_view_moves_the_history_of_its_base(x):
    def forward(ctx, t):
        t.mul_(2)
        ctx.mark_dirty(t)
        return t

    base = x * 1
    function(forward, lambda ctx, g: g * 20).apply(base[:2])
    assert base.tolist() == [2, 4, 3]
    base.sum().backward()
    assert x.grad.tolist() == [20, 20, 1]


# ---------------------------------------------------------------- saved tensors
def test_saved_tensors_are_freed_with_the_graph(x):
    y = Exp.apply(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    y = Exp.apply(x).sum()
    y.backward(retain_graph=True)
    y.backward()
    y = function(lambda ctx, t: t * 2, lambda ctx, g: g * 2).apply(x)
    y.sum().backward()
    y.sum().backward()  # saves nothing, so nothing is missing


@pytest.mark.parametrize("which", ["input", "output"])
def test_writing_to_a_saved_tensor_is_noticed(x, which):
    def forward(ctx, t):
        y = t * 2
        ctx.save_for_backward(t if which == "input" else y)
        return y

    a = x * 1
    y = function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(a)
    (a if which == "input" else y).add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        y.sum().backward()


def test_saved_tensors_come_back_with_their_history(x):
    seen = []

    def forward(ctx, t):
        y = t * 2
        ctx.save_for_backward(t, None, y, t + 1)
        return y

    def backward(ctx, g):
        seen.extend(ctx.saved_tensors)
        return g

    y = function(forward, backward).apply(x)
    y.sum().backward()
    assert seen[0] is x
    assert seen[1] is None
    assert seen[2].grad_fn is y.grad_fn
    assert not seen[3].requires_grad
    assert [t.tolist() for t in seen if t is not None] == [[1, 2, 3], [2, 4, 6], [2, 3, 4]]


def test_no_reference_cycle(x):
    gc.collect()
    gc.disable()
    try:
        y = Exp.apply(x)
        node, array = weakref.ref(y.grad_fn), weakref.ref(y)
        y.sum().backward(retain_graph=True)
        del y
        assert array() is None
        assert node() is None
    finally:
        gc.enable()


# ---------------------------------------------------------------- once differentiable
def test_once_differentiable(x):
    f = function(
        lambda ctx, t: (ctx.save_for_backward(t), t * t)[1],
        once_differentiable(lambda ctx, g: tensor(2 * g.numpy() * ctx.saved_tensors[0].detach().numpy())),
    )
    x = tensor([1.0, 2.0, 3.0], requires_grad=True)
    (first,) = grad(f.apply(x).sum(), x, create_graph=True)
    assert first.tolist() == [2, 4, 6]
    assert not first.requires_grad


def test_once_differentiable_refuses_a_second_time(x):
    f = function(lambda ctx, t: t * 2, once_differentiable(lambda ctx, g: g * 2))
    weights = tensor([1.0, 1.0, 1.0], requires_grad=True, device=x.device)
    (first,) = grad(f.apply(x), x, weights, create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        first.sum().backward()


# ---------------------------------------------------------------- errors
def _dirty(ctx, t):
    ctx.mark_dirty(t)
    return t.mul_(2)


_BACKWARD_ERRORS = [
    (lambda ctx, g: (g, g), RuntimeError, r"incorrect number of gradients \(expected 1, got 2\)"),
    (lambda ctx, g: 2.0, RuntimeError, r"expected Variable or None \(got float\)"),
    (
        lambda ctx, g: g[:2],
        RuntimeError,
        r"invalid gradient at index 0 - got \[2\] but expected shape compatible with \[3\]",
    ),
    (lambda ctx, g: g.sum(), RuntimeError, r"invalid gradient at index 0 - got \[\] but expected"),
    (None, NotImplementedError, "You must implement either the backward or vjp method"),
]


@pytest.mark.parametrize(("backward", "error", "message"), _BACKWARD_ERRORS)
def test_wrong_backward(x, backward, error, message):
    with pytest.raises(error, match=message):
        function(lambda ctx, t: t * 2, backward).apply(x).sum().backward()


def test_backward_may_say_none_for_what_is_no_tensor(x):
    f = function(lambda ctx, t, k: t * k, lambda ctx, g: (g, None, None))
    f.apply(x, 2).sum().backward()
    with pytest.raises(RuntimeError, match="a gradient different than None at position 2"):
        function(lambda ctx, t, k: t * k, lambda ctx, g: (g, g)).apply(x, 2).sum().backward()
    with pytest.raises(RuntimeError, match=r"incorrect number of gradients \(expected 2, got 1\)"):
        function(lambda ctx, t, u: t * u, lambda ctx, g: g).apply(x, x).sum().backward()


def test_wrong_forward(x):
    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        type("F", (Function,), {}).apply(x)
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method is deprecated"):
        Exp()(x)
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 1 is of type int"):
        function(lambda ctx, t: ctx.save_for_backward(t, 3)).apply(x)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        function(lambda ctx, t: t * 2, lambda ctx, g: g, vjp=lambda ctx, g: g).apply(x).sum().backward()


def test_wrong_marks(x):
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        function(_dirty, lambda ctx, g: g).apply(x)
    with pytest.raises(RuntimeError, match="marked as dirty during the forward method were not returned as output"):
        function(lambda ctx, t: _dirty(ctx, t) * 2, lambda ctx, g: g).apply(x * 1)
    with pytest.raises(RuntimeError, match="cannot return more than one Tensor"):
        function(lambda ctx, t: (_dirty(ctx, t), t * 2), lambda ctx, g, h: g).apply((x * 1)[:2])


def test_vjp_is_another_name_for_backward(x):
    function(lambda ctx, t: t * 2, vjp=lambda ctx, g: g * 2).apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_hooks_on_the_node(x):
    y = Exp.apply(x)
    seen = []
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    assert seen == [(1, 1)]
    np.testing.assert_allclose(x.grad.tolist(), (2 * x.exp()).tolist(), rtol=1e-6)


# ---------------------------------------------------------------- transforms
@pytest.fixture
def batch(device):
    return tensor([[0.5, 1.0], [2.0, 3.0], [-1.0, 4.0]], device=device)


@pytest.fixture
def other(device):
    return tensor([[1.5, -2.0], [1.0, 2.0], [3.0, 4.0]], device=device)


def first(f):
    return lambda *args: f(*args)[0]


def total(f):
    return lambda *args: f(*args)[0].sum()


PROGRAMS = {
    "vmap": lambda f, a, b: vmap(f)(a, b),
    "vmap, one shared": lambda f, a, b: vmap(f, (0, None))(a, b[0]),
    "vmap, the other shared": lambda f, a, b: vmap(f, (None, 0))(b[0], a),
    "vmap of vmap": lambda f, a, b: vmap(vmap(f, (0, None)), (0, 0))(a, b[:, 0]),
    "grad": lambda f, a, b: gradient_of(total(f), (0, 1))(a, b),
    "grad of grad": lambda f, a, b: gradient_of(lambda a: gradient_of(total(f))(a, b).sum())(a),
    "vmap of grad": lambda f, a, b: vmap(gradient_of(total(f), (0, 1)), (0, None))(a, b[0]),
    "vmap of grad of grad": lambda f, a, b: vmap(gradient_of(lambda a, b: gradient_of(total(f))(a, b).sum()))(a, b),
    "grad of vmap": lambda f, a, b: gradient_of(lambda a, b: vmap(first(f), (0, None))(a, b).sum(), (0, 1))(a, b[0]),
    "grad of vmap of grad": lambda f, a, b: gradient_of(lambda a, b: vmap(gradient_of(total(f)))(a, b).sum(), (0, 1))(
        a, b
    ),
    "jvp": lambda f, a, b: jvp(f, (a, b), (b, a))[1],
    "jvp along one": lambda f, a, b: jvp(lambda a: f(a, b), (a,), (b,))[1],
    "jvp of jvp": lambda f, a, b: jvp(lambda a: jvp(first(f), (a, b), (b, a))[1], (a,), (b,))[1],
    "vmap of jvp": lambda f, a, b: vmap(lambda a, t: jvp(lambda a: f(a, b[0]), (a,), (t,))[1])(a, b),
    "jvp of vmap": lambda f, a, b: jvp(lambda a: vmap(f)(a, b), (a,), (b,))[1],
    "jvp of grad": lambda f, a, b: jvp(gradient_of(total(f)), (a, b), (b, a))[1],
    "grad of jvp": lambda f, a, b: gradient_of(lambda a: jvp(first(f), (a, b), (b, a))[1].sum())(a),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("cls", [Cube, BatchedCube])
def test_transforms_agree_with_the_plain_operation(name, cls, batch, other):
    found, expected = (PROGRAMS[name](f, batch, other) for f in (cls.apply, plain_cube))
    for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
        np.testing.assert_allclose(a.tolist(), b.tolist(), rtol=1e-5)


@pytest.mark.parametrize("cls", [Cube, BatchedCube])
def test_the_tape_outside_vmap_sees_the_function(cls, batch, other):
    results = []
    for f in (cls.apply, plain_cube):
        a, b = batch.clone().requires_grad_(), other[0].clone().requires_grad_()
        vmap(gradient_of(total(f)), (0, None))(a, b).sum().backward()
        results.append((a.grad.tolist(), b.grad.tolist()))
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-6)
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)


def test_vmap_rule_is_told_the_batch(batch):
    seen = []

    def rule(info, in_dims, x, y):
        seen.append((info.batch_size, info.randomness, in_dims))
        return (x * y, y * 1), (0, None)

    f = function(lambda x, y: (x * y, y * 1), lambda ctx, g, h: (g, g), setup_context=lambda ctx, i, o: None, vmap=rule)
    product, same = vmap(f.apply, (0, None), randomness="same")(batch, batch[0])
    assert seen == [(3, "same", (0, None))]
    assert product.tolist() == (batch * batch[0]).tolist()
    assert same.tolist() == [batch[0].tolist()] * 3


def test_out_dims_of_a_vmap_rule(batch):
    f = function(
        lambda x: x,
        lambda ctx, g: g,
        setup_context=lambda ctx, i, o: None,
        vmap=lambda info, in_dims, x: (x.permute(1, 0) * 2, 1),
    )
    assert vmap(f.apply)(batch).tolist() == (2 * batch).tolist()


def test_transforms_refused(batch, other):
    with pytest.raises(RuntimeError, match="it must override the setup_context staticmethod"):
        vmap(Exp.apply)(batch)
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        jvp(Exp.apply, (batch,), (batch,))
    both = type("Both", (BatchedCube,), {"generate_vmap_rule": True})
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        vmap(both.apply)(batch, other)
    wrong = type("Wrong", (Cube,), {"vmap": staticmethod(lambda info, in_dims, x, y: x)})
    with pytest.raises(RuntimeError, match="Expected the vmap staticmethod to have two returns"):
        vmap(wrong.apply)(batch, other)
    for result, message in (
        ((batch,), "incorrect number"),
        ((batch[0], batch), "invalid tangent"),
        ((1, 2), "expected Tensor"),
    ):
        wrong = type("Wrong", (Cube,), {"jvp": staticmethod(lambda ctx, a, b, result=result: result)})
        with pytest.raises(RuntimeError, match=message):
            jvp(wrong.apply, (batch, other), (batch, other))


def test_forward_mode_of_the_older_style(batch):
    f = function(
        lambda ctx, t: (ctx.save_for_forward(t), t.sin())[1], jvp=lambda ctx, t: t * ctx.saved_tensors[0].cos()
    )
    value, tangent = jvp(f.apply, (batch,), (batch,))
    np.testing.assert_allclose(value.tolist(), batch.sin().tolist(), rtol=1e-6)
    np.testing.assert_allclose(tangent.tolist(), (batch * batch.cos()).tolist(), rtol=1e-6)


def test_missing_tangents_are_zeros_or_none(batch):
    for materialize in (True, False):
        seen = []

        def setup(ctx, inputs, output, materialize=materialize):
            ctx.set_materialize_grads(materialize)

        def rule(ctx, a, b, k, seen=seen):
            seen.extend((b, k))
            return a

        f = function(lambda x, y, k: x * k, lambda ctx, g: g, setup_context=setup, jvp=rule)
        jvp(lambda t, f=f: f.apply(t, batch, 3), (batch,), (batch,))
        assert (None if seen[0] is None else seen[0].tolist()) == ((0 * batch).tolist() if materialize else None)
        assert seen[1] is None
