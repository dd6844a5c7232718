"""Optimizers against their formulas in NumPy; groups, closures, hooks, state dictionaries, copies."""

from __future__ import annotations

import copy
import pickle
import weakref

import numpy as np
import pytest

import framework
from framework import nn, optim
from framework.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

GRADS = np.random.default_rng(0).normal(size=(6, 4))
START = np.array([1.0, -2.0, 0.5, 3.0])


def run(make, device="cpu", dtype="float64"):
    """The parameter after six steps on fixed gradients."""
    p = framework.tensor(START, dtype=getattr(framework, dtype), device=device, requires_grad=True)
    optimizer = make([p])
    for g in GRADS:
        p.grad = framework.tensor(g, dtype=p.dtype, device=device)
        optimizer.step()
    return p.detach().cpu().numpy()


def sgd(x, lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True):
    b = None
    for g in GRADS:
        g = g + weight_decay * x
        b = g if b is None else momentum * b + g
        x = x - lr * (g + momentum * b if nesterov else b)
    return x


def adam(x, lr=0.1, b1=0.9, b2=0.99, eps=1e-8, decay=0.0, decoupled=0.0):
    m = v = 0
    for t, g in enumerate(GRADS, 1):
        x = x * (1 - lr * decoupled)
        g = g + decay * x
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        x = x - lr * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    return x


def rmsprop(x, lr=0.01, alpha=0.9, eps=1e-8, momentum=0.5):
    v = b = mean = 0
    for g in GRADS:
        v, mean = alpha * v + (1 - alpha) * g * g, alpha * mean + (1 - alpha) * g
        b = momentum * b + g / (np.sqrt(v - mean * mean) + eps)
        x = x - lr * b
    return x


def adagrad(x, lr=0.1, decay=0.2):
    s = 0
    for t, g in enumerate(GRADS):
        s = s + g * g
        x = x - lr / (1 + t * decay) * g / (np.sqrt(s) + 1e-10)
    return x


def adadelta(x, lr=0.5, rho=0.9, eps=1e-6):
    v = u = 0
    for g in GRADS:
        v = rho * v + (1 - rho) * g * g
        d = g * np.sqrt(u + eps) / np.sqrt(v + eps)
        u = rho * u + (1 - rho) * d * d
        x = x - lr * d
    return x


def adamax(x, lr=0.1, b1=0.9, b2=0.99, eps=1e-8):
    m = u = 0
    for t, g in enumerate(GRADS, 1):
        m, u = b1 * m + (1 - b1) * g, np.maximum(b2 * u, np.abs(g) + eps)
        x = x - lr / (1 - b1**t) * m / u
    return x


FORMULAS = [
    (lambda p: optim.SGD(p, 0.1, 0.9, weight_decay=0.01, nesterov=True), sgd),
    (lambda p: optim.Adam(p, 0.1, (0.9, 0.99), weight_decay=0.1), lambda x: adam(x, decay=0.1)),
    (lambda p: optim.AdamW(p, 0.1, (0.9, 0.99), weight_decay=0.1), lambda x: adam(x, decoupled=0.1)),
    (lambda p: optim.RMSprop(p, 0.01, 0.9, momentum=0.5, centered=True), rmsprop),
    (lambda p: optim.Adagrad(p, 0.1, 0.2), adagrad),
    (lambda p: optim.Adadelta(p, 0.5), adadelta),
    (lambda p: optim.Adamax(p, 0.1, (0.9, 0.99)), adamax),
]


@pytest.mark.parametrize(
    "make, formula", FORMULAS, ids=["sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "adamax"]
)
def test_formulas(make, formula, device):
    dtype = "float32" if device.startswith("mlx") else "float64"
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    np.testing.assert_allclose(run(make, device, dtype), formula(START), rtol=tolerance)


@pytest.mark.parametrize(
    "name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "LBFGS"]
)
def test_a_bowl_is_descended(name):
    p = framework.tensor([3.0, -2.0], requires_grad=True)
    optimizer = getattr(optim, name)([p], lr={"LBFGS": 1.0, "Adadelta": 30.0, "Adagrad": 1.0}.get(name, 0.1))

    def closure():
        optimizer.zero_grad()
        loss = (p * p * framework.tensor([1.0, 3.0])).sum()
        loss.backward()
        return loss

    first = closure().item()
    for _ in range(60):
        optimizer.step(closure)
    assert closure().item() < 0.2 * first


class TestBase:
    def make(self, **options):
        p = nn.Parameter(framework.tensor([1.0, 2.0]))
        return p, optim.SGD([p], **({"lr": 0.1} | options))

    def test_parameters_without_a_gradient_rest(self):
        p, o = self.make()
        o.step()
        assert p.tolist() == [1, 2] and o.state_dict()["state"] == {}

    def test_zero_grad(self):
        p, o = self.make()
        p.grad = framework.ones(2)
        held = p.grad
        o.zero_grad(set_to_none=False)
        assert p.grad is held and held.tolist() == [0, 0]
        o.zero_grad()
        assert p.grad is None

    def test_a_closure_runs_with_gradients_on(self):
        p, o = self.make()

        def closure():
            o.zero_grad()
            loss = (p * p).sum()
            loss.backward()
            return loss

        with framework.no_grad():
            assert o.step(closure).item() == 5
        np.testing.assert_allclose(p.tolist(), [0.8, 1.6], rtol=1e-6)

    def test_steps_leave_no_graph(self):
        p, o = self.make(momentum=0.9)
        p.grad = framework.ones(2)
        o.step()
        assert p.is_leaf and not o.state[p]["momentum_buffer"].requires_grad

    def test_groups(self):
        p, q = nn.Parameter(framework.ones(1)), nn.Parameter(framework.ones(1))
        o = optim.SGD([{"params": [p], "lr": 1.0}, {"params": q}], lr=0.5)
        p.grad = q.grad = framework.ones(1)
        o.step()
        assert (p.item(), q.item()) == (0, 0.5)
        o.add_param_group({"params": [nn.Parameter(framework.ones(1))], "momentum": 0.9})
        assert [g["momentum"] for g in o.param_groups] == [0, 0, 0.9]

    def test_names_are_kept(self):
        m = nn.Linear(2, 1)
        o = optim.SGD(m.named_parameters(), lr=0.1)
        assert o.param_groups[0]["param_names"] == ["weight", "bias"]
        assert o.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
        with pytest.raises(ValueError, match="should be with/without names"):
            o.add_param_group({"params": [nn.Parameter(framework.ones(1))]})

    def test_duplicates_warn(self):
        p = nn.Parameter(framework.ones(1))
        with pytest.warns(UserWarning, match="duplicate parameters"):
            optim.SGD([p, p], lr=0.1)

    def test_hooks_of_steps(self):
        p, o = self.make()
        seen = []
        p.grad = framework.ones(2)
        with (
            register_optimizer_step_pre_hook(lambda *a: seen.append("all before")),
            register_optimizer_step_post_hook(lambda *a: seen.append("all after")),
        ):
            o.register_step_pre_hook(lambda *a: seen.append("before"))
            o.register_step_post_hook(lambda *a: seen.append("after"))
            o.step()
        assert seen == ["all before", "before", "after", "all after"]
        o.register_step_pre_hook(lambda optimizer, args, kwargs: 3)
        with pytest.raises(RuntimeError, match="must return None or a tuple"):
            o.step()

    def test_hooks_of_state_dictionaries(self):
        _, o = self.make()
        seen = []
        o.register_state_dict_pre_hook(lambda opt: seen.append(1))
        o.register_state_dict_post_hook(lambda opt, state: state | {"mark": 1})
        o.register_state_dict_post_hook(lambda opt, state: seen.append(0), prepend=True)
        state = o.state_dict()
        assert state.pop("mark") == 1 and seen == [1, 0]
        o.register_load_state_dict_pre_hook(
            lambda opt, state: state | {"param_groups": [state["param_groups"][0] | {"lr": 7}]}
        )
        o.register_load_state_dict_post_hook(lambda opt: seen.append(2))
        o.load_state_dict(state)
        assert o.param_groups[0]["lr"] == 7 and seen == [1, 0, 2]

    def test_loaded_state_is_a_copy(self):
        p, o = self.make(momentum=0.9)
        p.grad = framework.ones(2)
        o.step()
        state = o.state_dict()
        q, other = self.make(momentum=0.9)
        other.load_state_dict(state)
        q.grad = framework.ones(2)
        other.step()
        assert o.state[p]["momentum_buffer"].tolist() == [1, 1]
        assert other.state[q]["momentum_buffer"].tolist() == pytest.approx([1.9, 1.9])

    def test_loaded_state_takes_the_parameters_dtype(self):
        p = nn.Parameter(framework.ones(2))
        a = optim.Adam([p])
        p.grad = framework.ones(2)
        a.step()
        q = nn.Parameter(framework.ones(2, dtype=framework.float64))
        b = optim.Adam([q])
        b.load_state_dict(a.state_dict())
        assert b.state[q]["exp_avg"].dtype is framework.float64 and b.state[q]["step"].dtype is framework.float32

    def test_copies(self):
        p, o = self.make(momentum=0.9)
        p.grad = framework.ones(2)
        o.step()
        for twin in (copy.deepcopy(o), pickle.loads(pickle.dumps(o))):
            (q,) = twin.param_groups[0]["params"]
            assert q is not p and twin.state[q]["momentum_buffer"].tolist() == [1, 1]
            q.grad = framework.ones(2)
            twin.step()
        assert p.tolist() == pytest.approx([0.9, 1.9])

    def test_own_optimizers_get_the_hooks(self):
        class Halving(optim.Optimizer):
            def __init__(self, params):
                super().__init__(params, {"rate": 0.5})

            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        p.data = p.data * group["rate"]

        p, seen = nn.Parameter(framework.ones(1)), []
        o = Halving([p])
        o.register_step_post_hook(lambda *a: seen.append(1))
        optim.lr_scheduler.LambdaLR  # schedulers ask how many steps were taken
        o.step()
        assert p.item() == 0.5 and seen == [1] and o._steps_taken == 1

    def test_nothing_keeps_an_optimizer_alive(self):
        _, o = self.make()
        optim.lr_scheduler.StepLR(o, 1)
        gone = weakref.ref(o)
        del o
        assert gone() is None

    def test_required_options(self):
        with pytest.raises(ValueError, match="didn't specify a value of required optimization parameter rate"):
            optim.Optimizer([nn.Parameter(framework.ones(1))], {"rate": optim.optimizer.required})


def test_lazy_devices_are_evaluated_at_every_step():
    pytest.importorskip("mlx", reason="MLX has no package for this platform")
    p = framework.ones(3, device="mlx:cpu").requires_grad_()
    backend, seen = p.backend, []
    o = optim.Adam([p])
    p.grad = framework.ones(3, device="mlx:cpu")
    evaluate = backend.evaluate
    backend.evaluate = lambda arrays: (seen.append(len(arrays)), evaluate(arrays))[1]
    try:
        o.step()
    finally:
        del backend.evaluate
    assert seen == [3]  # the parameter and its two means, at once
