"""Threads and processes: graphs are made and run in any of them, at once."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import framework
from framework import tensor
from framework.autograd import grad
from framework.autograd.graph import register_multi_grad_hook, saved_tensors_hooks
from framework.core.state import ACTIVE
from framework.dispatch.registry import ENTRIES, T, register
from framework.func import grad as func_grad
from framework.func import jvp, vmap
from tests.ops.checks import values
from tests.sources import ROOT


def together(count, work):
    """Run work(0), work(1), ... in threads that switch as often as they can; raise what one of them raised."""
    failed, start = [], threading.Barrier(count)

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:
            failed.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    if failed:
        raise failed[0]
    assert not ACTIVE


def alone(program):
    """What a program prints in a process of its own, which must not warn."""
    path = {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | path)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def elsewhere(work):
    """work() in another thread."""
    found = []
    together(1, lambda i: found.append(work()))
    return found[0]


def test_forward_and_backward_at_once(device):
    def work(i):
        rng = np.random.default_rng(i)
        for _ in range(15):
            a, w = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
            x = tensor(a, dtype=framework.float32, device=device).requires_grad_()
            y = tensor(w, dtype=framework.float32, device=device).requires_grad_()
            z = x @ y
            z.mul_(2)
            z.tanh().exp().sum().backward()
            t = np.tanh(2 * a @ w)
            slope = 2 * np.exp(t) * (1 - t * t)
            np.testing.assert_allclose(values(x.grad), slope @ w.T, rtol=2e-3, atol=1e-4)
            np.testing.assert_allclose(values(y.grad), a.T @ slope, rtol=2e-3, atol=1e-4)

    together(3, work)


def test_modes_and_transforms_of_one_thread_are_not_those_of_another(device):
    def work(i):
        x = framework.ones(3, requires_grad=True, device=device)
        for _ in range(20):
            if i == 0:
                with framework.no_grad():
                    assert not (x * 2).requires_grad
            elif i == 1:
                assert (x * 2).requires_grad
                assert values(vmap(func_grad(lambda t: t * t * t))(x.detach() * 2)).tolist() == [12, 12, 12]
            elif i == 2:
                with framework.inference_mode():
                    assert (x * 2).is_inference()
                assert values(jvp(lambda t: t * t, (x.detach(),), (x.detach(),))[1]).tolist() == [2, 2, 2]
            else:
                log = []
                with saved_tensors_hooks(lambda t, log=log: log.append(1) or t, lambda t: t):
                    y = x * x
                assert log == [1, 1]
                assert not (y * 1).is_inference()

    together(4, work)


FIRST_USE = """
import sys, threading, warnings
sys.setswitchinterval(1e-6)
import framework
start, found = threading.Barrier(4), []

def work():
    start.wait()
    x = framework.tensor([[0.5, 1.0]], requires_grad=True, device={device!r})
    y = framework.cat([(x @ x.mT).tanh(), x.exp()[:, 1:]], 1).log_softmax(1)
    y.sum().backward()
    found.append(x.grad.tolist())

threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert len(found) == 4 and all(f == found[0] for f in found), found
"""


def test_first_use_of_everything_at_once(device):
    """In a new process threads load backends and compile ops at the same time."""
    for _ in range(2):
        alone(FIRST_USE.format(device=device))


@pytest.fixture
def new_op():
    """A formula that nobody has called yet."""

    def forward(xp, input):
        return xp.mul(input, input) + xp.exp(input)

    forward.__annotations__ = {"input": "Num"}
    yield register("first_use", forward, spaces=(), vjp=(lambda xp, g, input: g * (input * 2 + xp.exp(input)),))
    del ENTRIES["first_use"], T.first_use


@pytest.mark.parametrize("attempt", range(5))
def test_first_use_of_one_op_at_once(device, new_op, attempt):
    """Ops are compiled when first called: by several threads, here."""

    def work(i):
        x = tensor([0.0, 1.0], requires_grad=True, device=device)
        new_op(x).sum().backward()
        np.testing.assert_allclose(values(x.grad), [1, 2 + np.e], rtol=1e-6)

    together(4, work)


@pytest.fixture
def handed_over(device):
    """What makes a value ready for another thread: MLX computes pending values only in the thread that began them."""
    return (
        (lambda *tensors: [values(t.detach()) for t in tensors])
        if device.startswith("mlx")
        else (lambda *tensors: None)
    )


def test_a_graph_made_here_runs_there(device, handed_over):
    x = tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)
    y = ((x * x).exp() * x[0]).sum()
    handed_over(y, x)

    def run():
        assert framework.is_grad_enabled()
        y.backward()
        handed_over(x.grad)

    elsewhere(run)
    a = np.array([1.0, 2, 3])
    e = np.exp(a * a)
    np.testing.assert_allclose(values(x.grad), 2 * a * e + [e.sum(), 0, 0], rtol=1e-5)


def test_a_graph_made_there_runs_here(device, handed_over):
    def make():
        x = tensor([1.0, 2.0], requires_grad=True, device=device)
        y = (x.exp() * x).sum()
        handed_over(x, y)
        return x, y

    x, y = elsewhere(make)
    (g,) = grad(y, x, create_graph=True)
    np.testing.assert_allclose(values(g.detach()), np.exp([1, 2]) * [2, 3], rtol=1e-5)
    np.testing.assert_allclose(values(grad(g.sum(), x)[0]), np.exp([1, 2]) * [3, 4], rtol=1e-5)


def test_one_graph_retained_runs_at_once(device, handed_over):
    x = tensor([1.0, 2.0], requires_grad=True, device=device)
    y = (x.exp() * x).sum()
    handed_over(x, y)

    def work(i):
        for _ in range(20):
            (g,) = grad(y, x, retain_graph=True)
            np.testing.assert_allclose(values(g), np.exp([1, 2]) * [2, 3], rtol=1e-5)

    together(3, work)


@pytest.mark.parametrize(
    "where", ["cpu", "frozen"]
)  # MLX's sums would be pending in one thread when the next adds to them
def test_nothing_is_lost_when_threads_add_to_one_gradient(where):
    x = framework.ones(3, requires_grad=True, device=where)

    def work(i):
        for _ in range(100):
            (x * 1.0).sum().backward()

    together(4, work)
    assert values(x.grad).tolist() == [400, 400, 400]


def test_hooks_run_where_the_pass_runs(device, handed_over):
    x = tensor([1.0, 2.0], requires_grad=True, device=device)
    y = (x * x).sum()
    log = []
    x.register_hook(lambda g: log.append(threading.get_ident()))
    register_multi_grad_hook([x], lambda gs: log.append(len(gs)))
    handed_over(x, y)
    ident = elsewhere(lambda: (y.backward(), handed_over(x.grad), threading.get_ident())[2])
    assert log == [ident, 1]


def test_no_warning_of_numpy_escapes_from_threads(device):
    def work(i):
        x = tensor([0.0, 1e30, -1.0], requires_grad=True, device=device)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = (1 / x + x * 1e30 + x.log() + x.exp() + x.sqrt()).sum()
            y.backward()
            values(x.grad)
            (x.detach() / 0).add_(1)

    work(0)
    for _ in range(3):
        elsewhere(lambda: work(0))


FORKED = """
import os, sys
import numpy as np
import framework
x = framework.tensor([1.0, 2.0], requires_grad=True)
y = (x.exp() * x).sum()
(x * 2).sum().backward()
reader, writer = os.pipe()
if os.fork() == 0:
    y.backward()
    z = (x @ x).tanh()  # also ops not used before
    z.backward()
    with framework.no_grad():
        x.sub_(x.grad)
    os.write(writer, repr(x.grad.tolist()).encode())
    os._exit(0)
os.wait()
y.backward()
print(os.read(reader, 1000).decode(), x.grad.tolist(), x.tolist())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_process():
    """The child goes on with the graph that its parent made, on a copy."""
    child, parent, value = eval(alone(FORKED).replace("] [", "], ["))
    np.testing.assert_allclose(parent, 2 + np.exp([1, 2]) * [2, 3], rtol=1e-5)
    slope = 1 - np.tanh(5.0) ** 2
    np.testing.assert_allclose(child, np.array(parent) + 2 * np.array([1, 2]) * slope, rtol=1e-4)
    assert value == [1, 2]
