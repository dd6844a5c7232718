"""Hooks on gradients: which there are, in what order they run, what they may change, under which transforms."""

from __future__ import annotations

import pytest

import framework
from framework import tensor
from framework.autograd import Function, grad
from framework.autograd.graph import register_multi_grad_hook
from framework.func import grad as func_grad
from framework.func import vmap
from tests.ops.checks import values


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


@pytest.fixture
def w(device):
    return tensor([0.5, -1.0, 2.0], requires_grad=True, device=device)


def listed(gradients):
    return [None if g is None else values(g).tolist() for g in gradients]


# ------------------------------------------------------------------------------------------------------------- order
def test_order_at_a_result(x):
    """Hooks on the tensor, whenever they were registered; then it is retained; then those before, and after, the
    node.
    """
    log, y = [], x * 2
    y.grad_fn.register_prehook(lambda gs: log.append(("before", *listed(gs))))
    y.grad_fn.register_hook(lambda ins, outs: log.append(("after", listed(ins), listed(outs))))
    y.register_hook(lambda g: log.append(("first", *listed([g]))))
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: log.append(("leaf", *listed([g]))))
    (y * 3).sum().backward()
    assert log == [
        ("first", [3, 3, 3]),
        ("before", [30, 30, 30]),
        ("after", [[60, 60, 60], None], [[30, 30, 30]]),
        ("leaf", [60, 60, 60]),
    ]
    assert listed([y.grad, x.grad]) == [[30, 30, 30], [60, 60, 60]]


def test_order_at_a_leaf(x):
    log = []
    node = (x * 1).grad_fn.next_functions[0][0]
    node.register_hook(lambda ins, outs: log.append(("after", ins, listed(outs))))
    node.register_prehook(lambda gs: log.append("before"))
    x.register_post_accumulate_grad_hook(lambda p: log.append(("accumulated", p is x, *listed([p.grad]))))
    x.register_hook(lambda g: log.append(("tensor", x.grad)))
    x.register_hook(lambda g: g * 2)
    (x * 1).sum().backward()
    assert log == [("tensor", None), "before", ("accumulated", True, [2, 2, 2]), ("after", (), [[2, 2, 2]])]


def test_hooks_run_newest_node_first(x):
    log = []
    y = x * 2
    z = y * 3
    for name, t in ("x", x), ("y", y), ("z", z):
        t.register_hook(lambda g, name=name: log.append(name))
    (z + y).sum().backward()
    assert log == ["z", "y", "x"]


def test_a_hook_runs_once_on_the_sum(x):
    log, y = [], x * 2
    y.register_hook(lambda g: log.append(*listed([g])))
    (y * 3 + y * 4).sum().backward()
    assert log == [[7, 7, 7]]


# ------------------------------------------------------------------------------------------------ what hooks may change
def test_replacing_the_gradient(x, w):
    x.register_hook(lambda g: g * 2)
    x.register_hook(lambda g: g + 1)
    (x * w).sum().backward()
    assert listed([x.grad, w.grad]) == [[2, -1, 5], [1, 2, 3]]


def test_replacing_what_a_node_gets_and_gives(x, w):
    y = x * w
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 10,))
    y.grad_fn.register_hook(lambda ins, outs: (ins[0] * 2, None))
    y.sum().backward()
    assert listed([x.grad, w.grad]) == [[10, -20, 40], None]


def test_a_node_may_lose_its_gradient(x):
    y = x * 2
    y.grad_fn.register_prehook(lambda gs: (None,))
    (y.sum() + x.sum()).backward()
    assert listed([x.grad]) == [[1, 1, 1]]


def test_removing_hooks(x):
    handle = x.register_hook(lambda g: g * 2)
    handle.remove()
    handle.remove()
    with x.register_hook(lambda g: g * 3):
        (x * 1).sum().backward()
    (x * 1).sum().backward()
    assert listed([x.grad]) == [[4, 4, 4]]


def test_a_hook_may_remove_itself(x):
    handle = x.register_hook(lambda g: handle.remove() or g * 2)
    (x * 1).sum().backward()
    (x * 1).sum().backward()
    assert listed([x.grad]) == [[3, 3, 3]]


def test_a_kept_gradient_stays_as_it_was(x):
    kept = []
    x.register_hook(kept.append)
    y = x * 1
    y.register_hook(kept.append)
    (y * 1).sum().backward(retain_graph=True)
    x.grad.mul_(100)
    (y * 5).sum().backward()
    assert listed(kept) == [[1, 1, 1], [1, 1, 1], [5, 5, 5], [5, 5, 5]]


ERRORS = {
    "no gradient": (
        lambda x: x.detach().register_hook(print),
        RuntimeError,
        "cannot register a hook on a tensor that doesn't require",
    ),
    "size": (lambda x: x.register_hook(lambda g: g[:2]), RuntimeError, "hook '<lambda>' has changed the size of value"),
    "dtype": (
        lambda x: x.register_hook(lambda g: g.half()),
        RuntimeError,
        "hook '<lambda>' has changed the type of value",
    ),
    "no tensor": (lambda x: x.register_hook(lambda g: 3), TypeError, "expected Variable, but hook returned 'int'"),
    "number before": (
        lambda x: NODE(x).register_prehook(lambda g: (g[0], g[0])),
        RuntimeError,
        "incorrect number of values",
    ),
    "number after": (
        lambda x: NODE(x).register_hook(lambda i, o: (i[0], i[0])),
        RuntimeError,
        "incorrect number of values",
    ),
    "after accumulation, of a result": (
        lambda x: (x * 1).register_post_accumulate_grad_hook(print),
        RuntimeError,
        "cannot be registered on non-leaf tensors",
    ),
    "after accumulation, without": (
        lambda x: x.detach().register_post_accumulate_grad_hook(print),
        RuntimeError,
        "doesn't require gradient",
    ),
    "after accumulation, a value": (
        lambda x: x.register_post_accumulate_grad_hook(lambda p: 3),
        TypeError,
        "should return None",
    ),
    "retain": (
        lambda x: x.detach().retain_grad(),
        RuntimeError,
        "can't retain_grad on Tensor that has requires_grad=False",
    ),
}


def NODE(x):
    x.again = x.exp()  # keeps the node
    return x.again.grad_fn


@pytest.mark.parametrize("name", ERRORS)
def test_errors(x, name):
    register, error, text = ERRORS[name]

    def run():
        register(x)
        getattr(x, "again", x).sum().backward()

    with pytest.raises(error, match=text):
        run()


# ------------------------------------------------------------------------------------------------- which passes run
# them
def test_grad_runs_tensor_hooks_alone(x):
    log, y = [], x * 2
    y.register_hook(lambda g: log.append("tensor"))
    y.grad_fn.register_prehook(lambda gs: log.append("before"))
    y.grad_fn.register_hook(lambda i, o: log.append("after"))
    x.register_post_accumulate_grad_hook(lambda p: log.append("accumulated"))
    assert listed(grad((y * 3).sum(), y, retain_graph=True)) == [[3, 3, 3]]
    assert log == ["tensor"]
    grad((y * 3).sum(), x)
    assert log == ["tensor", "tensor", "before", "after"]


def test_grad_gets_what_tensor_hooks_left(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.grad_fn.register_prehook(lambda gs: (gs[0] * 7,))
    assert listed(grad((y * 3).sum(), y, retain_graph=True)) == [[30, 30, 30]]
    assert listed(grad((y * 3).sum(), x)) == [[420, 420, 420]]


def test_inputs_limit_hooks_too(x, w):
    log = []
    for t in x, w:
        t.register_hook(lambda g: log.append(*listed([g])))
    (x * w).sum().backward(inputs=[w])
    assert log == [[1, 2, 3]]


def test_differentiating_through_hooks(x):
    seen = []
    y = x * 1
    y.register_hook(lambda g: seen.append(g.requires_grad) or g * y.detach())
    (g,) = grad((y**3).sum(), x, create_graph=True)
    assert seen == [True]
    assert listed([g.detach()]) == [[3, 24, 81]]  # 3 x^2 times x
    assert listed(grad(g.sum(), x)) == [[6, 48, 162]]  # 6 x times x, and times x by the hook again


def test_hooks_of_several_outputs(device):
    m = tensor([[1.0, 3.0], [4.0, 2.0]], requires_grad=True, device=device)
    log = []
    top, _ = (m * 1).sort(1)
    top.register_hook(lambda g: g * 2)
    top.retain_grad()
    top.grad_fn.register_prehook(lambda gs: log.append(listed(gs)))
    (top[:, 0] * 5).sum().backward()
    assert log == [[[[10, 0], [10, 0]]]]
    assert listed([top.grad, m.grad]) == [[[10, 0], [10, 0]], [[10, 0], [0, 10]]]


def test_hooks_of_a_custom_function(x):
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            return g * 2 + h * 3

    log = []
    a, b = Two.apply(x)
    a.register_hook(lambda g: log.append(("a", *listed([g]))))
    b.register_hook(lambda g: g * 10)
    b.grad_fn.register_prehook(lambda gs: log.append(("before", *listed(gs))))
    b.grad_fn.register_hook(lambda i, o: log.append(("after", *listed(i))))
    (a + b).sum().backward()
    assert log == [("a", [1, 1, 1]), ("before", [1, 1, 1], [10, 10, 10]), ("after", [32, 32, 32])]


# --------------------------------------------------------------------------------------------------------- transforms
def test_hooks_inside_func_grad(x):
    log = []

    def f(t):
        y = t * t
        y.register_hook(lambda g: log.append(tuple(g.shape)) or g * 2)
        return y.sum()

    assert listed([func_grad(f)(x.detach())]) == [[4, 8, 12]]
    assert log == [(3,)]


def test_hooks_inside_vmap_of_grad(x):
    log = []

    def f(t):
        y = t * t
        y.register_hook(lambda g: log.append(tuple(g.shape)) or g * t.detach())
        return y.sum()

    rows = framework.stack([x.detach(), x.detach() * 2])
    assert listed([vmap(func_grad(f))(rows)]) == [[[2, 8, 18], [8, 32, 72]]]
    assert log == [(3,)]  # the hook sees one example


def test_hooks_outside_a_transform_see_its_gradients(x):
    log = []
    x.register_hook(lambda g: log.append(*listed([g])))
    vmap(lambda t: t * t)(x).sum().backward()
    assert log == [[2, 4, 6]]


# ----------------------------------------------------------------------------------------------------------- in place
def test_hooks_stay_with_the_value_they_were_put_on(x):
    log, y = [], x * 2
    y.register_hook(lambda g: log.append(("old", *listed([g]))))
    y.mul_(3)
    y.register_hook(lambda g: log.append(("new", *listed([g]))))
    y.sum().backward()
    assert log == [("new", [1, 1, 1]), ("old", [3, 3, 3])]


@pytest.mark.parametrize("write", [lambda y: y.mul_(3), lambda y: y[1:].mul_(3), lambda y: y.view(3, 1).mul_(3)])
def test_retained_gradients_follow_the_tensor(x, write):
    y = x * 2
    y.retain_grad()
    before = y * 5
    write(y)
    assert y.retains_grad
    (y.sum() + before.sum()).backward()
    assert listed([y.grad]) == [[1, 1, 1]]


def test_retained_gradient_of_a_view_follows_writes_to_its_base(x):
    y = x * 2
    v = y[1:]
    v.retain_grad()
    y.mul_(3)
    (v * 2).sum().backward()
    assert v.retains_grad
    assert listed([v.grad, x.grad]) == [[2, 2], [0, 12, 12]]


# ------------------------------------------------------------------------------------------------- retained gradients
def test_retain_grad(x):
    x.retain_grad()
    assert not x.retains_grad
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    z = (y * y).sum()
    z.backward(retain_graph=True)
    z.backward()
    assert listed([y.grad]) == [[8, 16, 24]]


def test_retained_gradients_share_no_memory(x):
    y = x * 1
    y.retain_grad()
    z = y * 1
    z.retain_grad()
    z.sum().backward()
    z.grad.mul_(5)
    x.grad.mul_(7)
    assert listed([x.grad, y.grad, z.grad]) == [[7, 7, 7], [1, 1, 1], [5, 5, 5]]


def test_retained_gradient_with_a_graph(x):
    y = x * 1
    y.retain_grad()
    with pytest.warns(UserWarning, match="reference cycle"):
        (y * y * y).sum().backward(create_graph=True)
    assert y.grad.requires_grad
    x.grad = None


# ------------------------------------------------------------------------------------------------ hooks on many tensors
def test_multi_grad_hook_for_all(x, w):
    log = []
    handle = register_multi_grad_hook([x, w], lambda gs: log.append(listed(gs)))
    y = (x * w).sum()
    y.backward(retain_graph=True)
    (x * 2).sum().backward()
    assert log == [[[0.5, -1, 2], [1, 2, 3]], [[2, 2, 2], None]]
    handle.remove()
    y.backward()
    assert len(log) == 2


def test_multi_grad_hook_for_any(x, w):
    log = []
    register_multi_grad_hook([x, w], lambda g: log.append(listed([g])), mode="any")
    (x * w).sum().backward()
    assert len(log) == 1
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        register_multi_grad_hook([x], print, mode="some")


def test_optimizer_step_in_a_hook(x):
    """Each leaf steps as its gradient comes, and frees it."""

    def step(p):
        with framework.no_grad():
            p.sub_(p.grad)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert listed([x.detach()]) == [[-1, -2, -3]]
    assert x.grad is None
