"""The gate: one op of every category through the modes and transforms that the op table does not reach.

The table (`tests/ops`) proves forward, reverse, double backward, JVP, vmap and strides for each op; here programs of
one category each also run under autocast, recording and replay, half precision, in place, and nested transforms, on
every device.
"""

from __future__ import annotations

import numpy as np
import pytest

import framework
from framework.amp import autocast
from framework.autograd import grad
from framework.dispatch.recording import Recording
from framework.dispatch.registry import T
from framework.func import grad as func_grad
from framework.func import jvp, vmap
from tests.ops.checks import close, loss_of, tensor, values

pytestmark = pytest.mark.every_device
RNG = np.random.default_rng(0)


def R(*shape):
    return RNG.normal(size=shape).astype("float32")


ROWS = RNG.integers(0, 3, (6,))
CELLS = RNG.integers(0, 4, (3, 4))
LABELS = RNG.integers(0, 5, (3,))


def in_place(x, y):
    z = x * 1.5
    row, col = z[1], z[:, 1:3]
    row.mul_(y)
    col.add_(z[0, 1:3].clone())
    z.mul_(y)
    return col.exp() * row[1:3] + z.sum()


def assigned(x, y):
    z = x * y
    z[1:, 0] = z[0, 0] * 2.0
    z[0] = y
    return z * z


def on(x, a):
    return framework.tensor(a, device=str(x.device) if x.level is None else str(x.backend.name))


# category: (program, operands)
PROGRAMS = {
    "elementwise": (lambda x, y: (x * y + 1.5).tanh() / (y * y + 1), (R(3, 4), R(4))),
    "reduction": (lambda x: (x * x).sum(-1, True) * x.mean(), (R(3, 4),)),
    "view": (lambda x: x.reshape(2, 6).permute(1, 0)[1:, 0] * x[0, 1], (R(3, 4),)),
    "in-place": (in_place, (R(3, 4), R(4))),
    "setitem": (assigned, (R(3, 4), R(4))),
    "index": (lambda x: x[on(x, ROWS)] * x[on(x, ROWS), :1], (R(3, 4),)),
    "scatter": (lambda x, y: x.index_add(0, on(x, ROWS), y) * y.sum(), (R(3, 4), R(6, 4))),
    "gather": (lambda x: x.gather(1, on(x, CELLS)) * x, (R(3, 4),)),
    "matmul": (lambda x, w: (x @ w) @ w.mT, (R(3, 4), R(4, 5))),
    "fused": (lambda x: framework.softmax(x, 1) * framework.log_softmax(x, 0), (R(3, 4),)),
    "conv": (lambda x, w: framework.nn.functional.conv2d(x, w, stride=2, padding=1), (R(2, 3, 6, 5), R(4, 3, 3, 3))),
    "composite": (
        lambda x, w: framework.nn.functional.cross_entropy(framework.nn.functional.relu(x @ w), on(x, LABELS)),
        (R(3, 4), R(4, 5)),
    ),
}
program = pytest.mark.parametrize("name", PROGRAMS)


def given(name, device, requires_grad=False, dtype="float32"):
    f, arrays = PROGRAMS[name]
    return f, [tensor(a, device, dtype, requires_grad) for a in arrays]


@program
def test_recording_replays_to_the_eager_run(name, device):
    f, xs = given(name, device)
    with Recording() as record:
        want = f(*xs)
    assert record.calls and all(c.entry is None or not c.entry.composite for c in record.calls)
    others = [x * 1.25 for x in xs]
    close(values(record.replay(xs, xs)), values(want), "float32")
    close(values(record.replay(xs, others)), values(f(*others)), "float32", 4)


@program
def test_recording_sees_a_backward_pass_on_tensors(name, device):
    f, xs = given(name, device, requires_grad=True)
    loss = loss_of(f(*xs))
    with Recording() as record:
        grad(loss, xs, create_graph=True, allow_unused=True)
    assert record.calls


@program
def test_autocast_lowers_products_alone(name, device):
    f, xs = given(name, device, requires_grad=True)
    with autocast(device_type="mps" if device.startswith("mlx") else "cpu", dtype=framework.bfloat16):
        out = f(*xs)
    lowered = name in ("matmul", "conv", "composite")
    if name in ("matmul", "conv"):
        assert out.dtype is framework.bfloat16
    close(values(out), values(f(*xs)), "bfloat16" if lowered else "float32", 2)
    gradients = grad(loss_of(out), xs, allow_unused=True)
    assert all(
        g is None or g.dtype is x.dtype for g, x in zip(gradients, xs, strict=True)
    )  # a float32 leaf keeps a float32 gradient


@program
def test_half_precision(name, device):
    f, xs = given(name, device, requires_grad=True)
    _, low = given(name, device, requires_grad=True, dtype="bfloat16")
    want, got = f(*xs), f(*low)
    assert got.dtype is framework.bfloat16
    size = float(np.abs(values(want)).max())
    assert np.abs(values(got) - values(want)).max() <= 0.05 * max(size, 1.0)
    for g, x in zip(grad(loss_of(got), low, allow_unused=True), low, strict=True):
        assert g is None or g.dtype is x.dtype


@program
def test_nested_transforms(name, device):
    """Forward over reverse, reverse over forward, and both under vmap, against each other and a loop."""
    f, xs = given(name, device)
    ts = tuple([tensor(R(*x.shape), device) for x in xs])
    every = tuple(range(len(xs)))
    loss = lambda *a: loss_of(f(*a))
    forward_reverse = jvp(func_grad(loss, every), tuple(xs), ts)[1]
    reverse_forward = func_grad(lambda *a: jvp(loss, a, ts)[1], every)(*xs)
    for a, b in zip(forward_reverse, reverse_forward, strict=True):
        close(values(a), values(b), "float32", 200)
    stack = framework.stack([xs[0], xs[0] * 0.9])
    dims = (0,) + (None,) * (len(xs) - 1)
    batched = vmap(lambda *a: jvp(func_grad(loss, every), a, ts)[1], dims)(stack, *xs[1:])
    for i, x in enumerate((xs[0], xs[0] * 0.9)):
        one = jvp(func_grad(loss, every), (x, *xs[1:]), ts)[1]
        for a, b in zip(batched, one, strict=True):
            close(values(a)[i], values(b), "float32", 200)


@program
def test_gradient_of_vmap_sums_over_examples(name, device):
    f, xs = given(name, device)
    every = tuple(range(len(xs)))
    stack = framework.stack([xs[0], xs[0] * 0.9])
    dims = (0,) + (None,) * (len(xs) - 1)
    got = func_grad(lambda *a: vmap(lambda *b: loss_of(f(*b)), dims)(*a).sum(), every)(stack, *xs[1:])
    ones = [func_grad(lambda *b: loss_of(f(*b)), every)(x, *xs[1:]) for x in (xs[0], xs[0] * 0.9)]
    for i, g in enumerate(got):
        want = np.stack([values(o[0]) for o in ones]) if i == 0 else values(ones[0][i]) + values(ones[1][i])
        close(values(g), want, "float32", 100)


@program
def test_leaves_no_reference_cycle(name, device):
    import gc
    import weakref

    f, xs = given(name, device, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        out = f(*xs)
        loss = loss_of(out)
        loss.backward()
        watch = [weakref.ref(t) for t in (out, loss)]
        del out, loss
        assert all(r() is None for r in watch)
    finally:
        gc.enable()


def test_randomness_of_vmap(device):
    x = tensor(R(4, 50), device)
    draw = lambda row: T.mul(row, 0) + framework.rand_like(row)
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(draw)(x)
    same, different = values(vmap(draw, randomness="same")(x)), values(vmap(draw, randomness="different")(x))
    assert (same == same[0]).all() and not (different == different[0]).all()


def test_perturbations_are_not_confused(device):
    x = tensor(np.float64(3.0) * np.ones(()), device)
    inner = lambda x: jvp(lambda y: x * y, (framework.ones_like(x),), (framework.ones_like(x),))[1]
    assert values(func_grad(inner)(x)) == 1.0
    assert values(jvp(lambda x: x * inner(x), (x,), (framework.ones_like(x),))[1]) == 6.0


def test_third_derivative(device):
    cube = lambda x: x * x * x
    assert (
        values(func_grad(func_grad(func_grad(cube)))(tensor(np.float32(2.0) * np.ones((), "float32"), device))) == 6.0
    )


def test_a_directional_derivative_has_no_history_of_its_own(device):
    x = tensor(R(3, 4), device)
    assert not jvp(lambda x: framework.softmax(x, 1), (x,), (x,))[1].requires_grad
    y = tensor(R(3, 4), device, requires_grad=True)
    assert jvp(lambda x: framework.softmax(x, 1), (y,), (x,))[1].requires_grad
