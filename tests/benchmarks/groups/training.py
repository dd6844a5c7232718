"""One step of training: forward, loss, backward and optimizer, of small models."""

from __future__ import annotations

import numpy as np

from tests.benchmarks.cases import case


def step_of(t, model, optimizer, loss):
    def step():
        optimizer.zero_grad()
        value = loss(model)
        value.backward()
        optimizer.step()
        return value.item()

    return step


def classes(shape, n=10):
    rng = np.random.default_rng(0)
    return rng.standard_normal(shape, dtype="float32"), rng.integers(0, n, shape[0])


def mlp(optimizer, **options):
    def build(t):
        n = t.nn
        t.manual_seed(0)
        net = n.Sequential(n.Linear(784, 512), n.ReLU(), n.Linear(512, 512), n.ReLU(), n.Linear(512, 10))
        x, y = map(t.tensor, classes((128, 784)))
        o = getattr(t.optim, optimizer)(net.parameters(), lr=1e-3, **options)
        return step_of(t, net, o, lambda net: n.functional.cross_entropy(net(x), y))

    return build


case("training", "MLP 784-512-512-10, batch 128, Adam")(mlp("Adam"))
case("training", "MLP 784-512-512-10, batch 128, SGD")(mlp("SGD", momentum=0.9))


@case("training", "CNN 3-32-64 with batch norm, 32 x 32, batch 32")
def _(t):
    n = t.nn
    t.manual_seed(0)
    net = n.Sequential(
        n.Conv2d(3, 32, 3, padding=1),
        n.BatchNorm2d(32),
        n.ReLU(),
        n.MaxPool2d(2),
        n.Conv2d(32, 64, 3, padding=1),
        n.BatchNorm2d(64),
        n.ReLU(),
        n.MaxPool2d(2),
        n.Flatten(),
        n.Linear(64 * 64, 10),
    )
    x, y = map(t.tensor, classes((32, 3, 32, 32)))
    return step_of(
        t, net, t.optim.SGD(net.parameters(), lr=0.01, momentum=0.9), lambda net: n.functional.cross_entropy(net(x), y)
    )


@case("training", "residual blocks with layer norm and gelu, 1024 x 256")
def _(t):
    n = t.nn
    t.manual_seed(0)
    norm, up, down = n.LayerNorm(256), n.Linear(256, 1024), n.Linear(1024, 256)
    net = n.ModuleList([norm, up, down])
    x = t.tensor(classes((1024, 256))[0])
    o = t.optim.AdamW(net.parameters(), lr=1e-3)

    def loss(net):
        h = x
        for _ in range(2):
            h = h + n.functional.dropout(down(n.functional.gelu(up(norm(h)))), 0.1)
        return (h * h).mean()

    return step_of(t, net, o, loss)
