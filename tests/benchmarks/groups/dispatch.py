"""What the framework itself costs around an operation: chains of 100 on 16 floats, views, reductions, a module."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.benchmarks.cases import case

N = 100
A = np.linspace(-1, 1, 16, dtype="float32")
B = np.linspace(0.5, 0.95, 16, dtype="float32")
SQUARE = np.linspace(-1, 1, 16, dtype="float32").reshape(4, 4)
BATCH = np.linspace(-1, 1, 128, dtype="float32").reshape(8, 16)

dispatch = partial(case, "dispatch")


def chain(x, b):
    for _ in range(N // 2):
        x = (x * b) + b
    return x


def scale(x):
    for _ in range(N):
        x = x * 1.01
    return x


def repeat(f):
    def repeated():
        for _ in range(N):
            f()

    return repeated


def numpy_chain():
    return lambda: chain(A, B)


@dispatch("forward, no grad", ops=N, target=0.8, numpy=numpy_chain)
def _(t):
    x, b = t.tensor(A), t.tensor(B)
    return lambda: chain(x, b)


@dispatch("forward, no grad, Parameter", ops=N, target=0.8)
def _(t):
    x, b = t.tensor(A), t.nn.Parameter(t.tensor(B))

    def run():
        with t.no_grad():
            chain(x, b)

    return run


@dispatch("forward, graph", ops=N, target=0.8)
def _(t):
    x, b = t.tensor(A, requires_grad=True), t.tensor(B)
    return lambda: chain(x, b)


@dispatch("forward, graph, Parameter", ops=N, target=0.8)
def _(t):
    x, b = t.tensor(A, requires_grad=True), t.nn.Parameter(t.tensor(B))
    return lambda: chain(x, b)


@dispatch("forward + backward", ops=N, target=0.65)
def _(t):
    return backward(t, t.tensor(A, requires_grad=True), t.tensor(B, requires_grad=True))


@dispatch("forward + backward, Parameter", ops=N, target=0.65)
def _(t):
    return backward(t, t.tensor(A, requires_grad=True), t.nn.Parameter(t.tensor(B)))


def backward(t, x, b):
    one = t.ones(16)

    def run():
        x.grad = b.grad = None
        chain(x, b).backward(one)

    return run


@dispatch("forward + create_graph backward", ops=N)
def _(t):
    x, b, one = t.tensor(A, requires_grad=True), t.tensor(B, requires_grad=True), t.ones(16)
    return lambda: t.autograd.grad(chain(x, b), (x, b), one, create_graph=True)


@dispatch("x * 1.01", ops=N, target=0.8, numpy=lambda: lambda: scale(A))
def _(t):
    x = t.tensor(A)
    return lambda: scale(x)


@dispatch("x > 0, where(c, x, 0.0)", ops=2 * N, target=1.2, numpy=lambda: repeat(lambda: np.where(A > 0, A, 0.0)))
def _(t):
    x = t.tensor(A)
    return repeat(lambda: t.where(x > 0, x, 0.0))


@dispatch("view x[1:]", ops=N, target=1.2, numpy=lambda: repeat(lambda: A[1:]))
def _(t):
    x = t.tensor(A)
    return repeat(lambda: x[1:])


@dispatch("view x[1:], graph", ops=N, target=1.2)
def _(t):
    x = t.tensor(A, requires_grad=True)
    return repeat(lambda: x[1:])


@dispatch("view x.t()", ops=N, target=1.2, numpy=lambda: repeat(lambda: SQUARE.T))
def _(t):
    x = t.tensor(SQUARE)
    return repeat(lambda: x.t())


@dispatch("view x.reshape(2, 8)", ops=N, target=1.2, numpy=lambda: repeat(lambda: A.reshape(2, 8)))
def _(t):
    x = t.tensor(A)
    return repeat(lambda: x.reshape(2, 8))


@dispatch("in place x.mul_(b)", ops=N, numpy=lambda: partial(in_place_numpy, A.copy()))
def _(t):
    x, one = t.tensor(A), t.ones(16)
    return repeat(lambda: x.mul_(one))


def in_place_numpy(x):
    one = np.ones_like(x)
    for _ in range(N):
        x *= one


@dispatch("sum(dim)", ops=N, target=1.2, numpy=lambda: repeat(lambda: SQUARE.sum(axis=1)))
def _(t):
    x = t.tensor(SQUARE)
    return repeat(lambda: x.sum(1))


@dispatch("mean(dim)", ops=N, target=1.2, numpy=lambda: repeat(lambda: SQUARE.mean(axis=1)))
def _(t):
    x = t.tensor(SQUARE)
    return repeat(lambda: x.mean(1))


@dispatch("mean()", ops=N, target=1.2, numpy=lambda: repeat(lambda: SQUARE.mean()))
def _(t):
    x = t.tensor(SQUARE)
    return repeat(lambda: x.mean())


@dispatch("matmul 4x4", ops=N, target=1.2, numpy=lambda: repeat(lambda: SQUARE @ SQUARE))
def _(t):
    x = t.tensor(SQUARE)
    return repeat(lambda: x @ x)


@dispatch("softmax 4x4", ops=N)
def _(t):
    x = t.tensor(SQUARE)
    return repeat(lambda: t.softmax(x, 1))


@dispatch("composite: relu", ops=N)
def _(t):
    x = t.tensor(A)
    return repeat(lambda: t.relu(x))


@dispatch("composite: flatten(start_dim=1)", ops=N)
def _(t):
    x = t.tensor(BATCH.reshape(8, 4, 4))
    return repeat(lambda: t.flatten(x, 1))


@dispatch("Linear(16, 16) + ReLU, no grad", ops=1, target=1.2)
def _(t):
    model, x = module(t)

    def run():
        with t.no_grad():
            model(x)

    return run


@dispatch("Linear(16, 16) + ReLU, graph", ops=1, target=1.2)
def _(t):
    model, x = module(t)
    return lambda: model(x)


@dispatch("Linear(16, 16) + ReLU, + backward", ops=1, target=1.2)
def _(t):
    model, x = module(t)

    def run():
        model.zero_grad()
        model(x).sum().backward()

    return run


def module(t):
    return t.nn.Sequential(t.nn.Linear(16, 16), t.nn.ReLU()), t.tensor(BATCH)


@dispatch("vmap of the chain", ops=N)
def _(t):
    x, b = t.tensor(BATCH), t.tensor(B)
    return lambda: t.func.vmap(chain, (0, None))(x, b)


@dispatch("jvp of the chain", ops=N)
def _(t):
    x, b, v = t.tensor(A), t.tensor(B), t.ones(16)
    return lambda: t.func.jvp(lambda x: chain(x, b), (x,), (v,))


@dispatch("func.grad of the chain", ops=N)
def _(t):
    x, b = t.tensor(A), t.tensor(B)
    return lambda: t.func.grad(lambda x: chain(x, b).sum())(x)


@dispatch("vmap(grad) of the chain", ops=N)
def _(t):
    x, b = t.tensor(BATCH), t.tensor(B)
    return lambda: t.func.vmap(t.func.grad(lambda x, b: chain(x, b).sum(), (0, 1)), (0, None))(x, b)
