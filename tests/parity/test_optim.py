"""Optimizers and schedulers against PyTorch: arguments, state, printing, 20 steps, state dictionaries both ways,
errors.
"""

from __future__ import annotations

import copy
import inspect
import warnings

import numpy as np
import pytest

import framework

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01}),
    ("SGD", {"momentum": 0.8, "nesterov": True}),
    ("SGD", {"maximize": True, "momentum": 0.5}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.8, 0.95), "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"maximize": True}),
    ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.05}),
    ("AdamW", {"amsgrad": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.2}),
    ("Adadelta", {}),
    ("Adadelta", {"rho": 0.7, "weight_decay": 0.1}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 5, "weight_decay": 0.1, "lambd": 0.01}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1)}),
    ("Adafactor", {}),
    ("Adafactor", {"weight_decay": 0.1, "d": 2.0}),
    ("LBFGS", {"max_iter": 4}),
    ("LBFGS", {"line_search_fn": "strong_wolfe", "max_iter": 4}),
    ("LBFGS", {"history_size": 2, "lr": 0.5}),
]
IDS = [f"{name}-{i}" for i, (name, _) in enumerate(CASES)]
every = pytest.mark.parametrize("name, kwargs", CASES, ids=IDS)


class Problem:
    """A small regression in one namespace; float64."""

    def __init__(self, namespace, dtype="float64"):
        self.f = namespace
        rng = np.random.default_rng(0)
        make = lambda *shape: namespace.tensor(rng.normal(size=shape), dtype=getattr(namespace, dtype))
        self.x, self.y, self.w, self.b = make(12, 5), make(12, 3), make(5, 3), make(3)
        self.params = [p.requires_grad_() for p in (self.w, self.b)]

    def loss(self):
        error = self.x @ self.w + self.b - self.y
        return (error * error).mean() + (self.w.sin() * 0.3).sum()

    def closure(self, optimizer):
        def run():
            optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        return run

    def steps(self, optimizer, count):
        for _ in range(count):
            optimizer.step(self.closure(optimizer))
        return [p.detach().numpy().copy() for p in self.params]


def pair(name, kwargs, dtype="float64"):
    ours, theirs = Problem(framework, dtype), Problem(torch, dtype)
    return (
        ours,
        getattr(framework.optim, name)(ours.params, **kwargs),
        theirs,
        getattr(torch.optim, name)(theirs.params, **kwargs),
    )


def same(a, b, tolerance=1e-7):
    for p, q in zip(a, b, strict=True):
        np.testing.assert_allclose(p, q, rtol=tolerance, atol=tolerance)


def state_of(optimizer):
    return {k: {n: np.asarray(v.detach().cpu().numpy()) if hasattr(v, "detach") else v for n, v in s.items()}
            for k, s in optimizer.state_dict()["state"].items()}  # fmt: skip


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES} | {"SparseAdam", "Muon"}))
def test_constructors_take_the_same_arguments(name):
    def arguments(cls):
        return [(p.name, p.kind, p.default) for p in inspect.signature(cls.__init__).parameters.values()]

    assert arguments(getattr(framework.optim, name)) == arguments(getattr(torch.optim, name))


def test_every_optimizer_and_scheduler_exists():
    def classes(namespace, base):
        return {n for n in dir(namespace) if isinstance(c := getattr(namespace, n), type) and issubclass(c, base)}

    assert classes(torch.optim, torch.optim.Optimizer) <= classes(framework.optim, framework.optim.Optimizer)
    theirs = classes(torch.optim.lr_scheduler, torch.optim.lr_scheduler.LRScheduler)
    assert theirs <= classes(framework.optim.lr_scheduler, framework.optim.lr_scheduler.LRScheduler)


@every
def test_twenty_steps(name, kwargs):
    ours, a, theirs, b = pair(name, kwargs)
    for _ in range(20):
        same(ours.steps(a, 1), theirs.steps(b, 1))
    assert repr(a) == repr(b)
    if name == "LBFGS":
        return
    mine, its = state_of(a), state_of(b)
    assert mine.keys() == its.keys()
    for k in its:
        assert list(mine[k]) == list(its[k])
        for n, v in its[k].items():
            assert mine[k][n].dtype == v.dtype and mine[k][n].shape == v.shape
            np.testing.assert_allclose(mine[k][n], v, rtol=1e-6, atol=1e-9, err_msg=n)


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES} - {"LBFGS"}))
def test_groups(name):
    def steps(namespace):
        problem = Problem(namespace)
        optimizer = getattr(namespace.optim, name)(
            [{"params": problem.w, "lr": 0.03}, {"params": [problem.b]}], lr=0.01
        )
        return problem.steps(optimizer, 5), optimizer

    (mine, a), (its, b) = steps(framework), steps(torch)
    same(mine, its)
    assert repr(a) == repr(b)
    ours, theirs = a.state_dict()["param_groups"], b.state_dict()["param_groups"]
    assert [list(g) for g in ours] == [list(g) for g in theirs]
    assert [g["params"] for g in ours] == [g["params"] for g in theirs]


@every
def test_state_goes_both_ways(name, kwargs):
    """Each framework goes on from the other's state, and then gives what it would have given alone."""
    ours, a, theirs, b = pair(name, kwargs)
    ours.steps(a, 4)
    theirs.steps(b, 4)
    want = theirs.steps(torch_copy := b, 0)
    ours2, a2, theirs2, b2 = pair(name, kwargs)
    for p, q in zip(ours2.params, theirs2.params, strict=True):
        p.data = framework.tensor(want[0 if p is ours2.w else 1].copy())
        q.data = torch.tensor(want[0 if p is ours2.w else 1].copy())
    a2.load_state_dict(convert(torch_copy.state_dict(), torch, framework))
    b2.load_state_dict(convert(a.state_dict(), framework, torch))
    tolerance = 1e-5 if name == "LBFGS" else 1e-7
    same(ours2.steps(a2, 3), theirs.steps(b, 3), tolerance)
    same(theirs2.steps(b2, 3), ours.steps(a, 3), tolerance)


def convert(value, source, target):
    if isinstance(value, source.Tensor):
        return target.tensor(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {k: convert(v, source, target) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(convert(v, source, target) for v in value)
    return value


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "NAdam", "RAdam"])
def test_a_differentiable_step(name):
    """The gradient, through two steps, with respect to the gradients that were fed in."""

    def run(namespace):
        start = namespace.tensor([0.5, -1.0, 2.0], dtype=namespace.float64, requires_grad=True)
        grad = namespace.tensor([0.3, -0.2, 0.7], dtype=namespace.float64, requires_grad=True)
        p = start.clone()
        options = {"momentum": 0.9} if name in ("SGD", "RMSprop") else {}
        optimizer = getattr(namespace.optim, name)([p], lr=0.1, differentiable=True, **options)
        for _ in range(2):
            p.grad = grad * p.detach().clone()
            optimizer.step()
        (p * p).sum().backward()
        return start.grad.numpy(), grad.grad.numpy()

    same(run(framework), run(torch), 2e-5)  # PyTorch counts steps in float32 here


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adagrad", "Adamax"])
def test_complex_parameters(name):
    def run(namespace):
        rng = np.random.default_rng(0)
        a = rng.normal(size=3) + 1j * rng.normal(size=3)
        p = namespace.tensor(a, requires_grad=True)
        optimizer = getattr(namespace.optim, name)([p], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
        for _ in range(4):
            optimizer.zero_grad()
            (p * p.conj()).real.sum().backward()
            optimizer.step()
        return p.detach().numpy()

    same([run(framework)], [run(torch)])


ERRORS = [
    lambda o, t: o.SGD([t], lr=-1),
    lambda o, t: o.SGD([t], momentum=-1),
    lambda o, t: o.SGD([t], nesterov=True),
    lambda o, t: o.SGD([]),
    lambda o, t: o.SGD(t),
    lambda o, t: o.SGD([3]),
    lambda o, t: o.SGD([{"params": {t}}]),
    lambda o, t: o.SGD([t * 2]),
    lambda o, t: o.SGD([{"params": [t]}, {"params": [t]}]),
    lambda o, t: o.SGD([("a", t), t]),
    lambda o, t: o.Adam([t], betas=(1.0, 0.9)),
    lambda o, t: o.Adam([t], betas=(0.9, -1.0)),
    lambda o, t: o.Adam([t], eps=-1),
    lambda o, t: o.Adam([t], weight_decay=-1),
    lambda o, t: o.Adam([t], fused=True, foreach=True),
    lambda o, t: o.Adadelta([t], rho=2),
    lambda o, t: o.Rprop([t], etas=(1.5, 1.2)),
    lambda o, t: o.Adafactor([t], d=0.5),
    lambda o, t: o.Adafactor([t], beta2_decay=1.0),
    lambda o, t: o.Muon([t]),
    lambda o, t: o.LBFGS([{"params": [t]}, {"params": []}]),
    lambda o, t: o.SGD([t]).load_state_dict({"state": {}, "param_groups": []}),
    lambda o, t: o.SGD([t]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    lambda o, t: o.SGD([t]).add_param_group([t]),
    lambda o, t: o.Optimizer([t], {}).step(),
    lambda o, t: o.lr_scheduler.StepLR(3, 1),
    lambda o, t: o.lr_scheduler.LinearLR(o.SGD([t]), start_factor=2),
    lambda o, t: o.lr_scheduler.ConstantLR(o.SGD([t]), factor=2),
    lambda o, t: o.lr_scheduler.LambdaLR(o.SGD([t]), [abs, abs]),
    lambda o, t: o.lr_scheduler.MultiplicativeLR(o.SGD([t]), 3),
    lambda o, t: o.lr_scheduler.OneCycleLR(o.SGD([t]), 0.1),
    lambda o, t: o.lr_scheduler.OneCycleLR(o.Adagrad([t]), 0.1, total_steps=5),
    lambda o, t: o.lr_scheduler.ReduceLROnPlateau(o.SGD([t]), "up"),
    lambda o, t: o.lr_scheduler.StepLR(o.SGD([t]), 1, last_epoch=3),
    lambda o, t: o.lr_scheduler.SequentialLR(o.SGD([t]), [], []),
    lambda o, t: o.lr_scheduler.CosineAnnealingWarmRestarts(o.SGD([t]), 0),
    lambda o, t: o.lr_scheduler.CyclicLR(o.SGD([t]), [0.1, 0.2], 0.3),
]


@pytest.mark.parametrize("act", ERRORS, ids=[str(i) for i in range(len(ERRORS))])
def test_errors_have_the_same_class(act):
    with pytest.raises(Exception) as theirs:
        act(torch.optim, torch.ones(2, requires_grad=True))
    with pytest.raises(theirs.type):
        act(framework.optim, framework.ones(2, requires_grad=True))


SCHEDULES = [
    lambda s, o: s.StepLR(o, 3, 0.5),
    lambda s, o: s.MultiStepLR(o, [2, 5, 5], 0.3),
    lambda s, o: s.ConstantLR(o, 0.5, 4),
    lambda s, o: s.LinearLR(o, 0.3, 0.9, 5),
    lambda s, o: s.ExponentialLR(o, 0.9),
    lambda s, o: s.PolynomialLR(o, 7, 0.9),
    lambda s, o: s.CosineAnnealingLR(o, 5, 1e-3),
    lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 1e-3),
    lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3),
    lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 3, 4, "triangular2", cycle_momentum=False),
    lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9),
    lambda s, o: s.CyclicLR(o, 0.01, 0.1, 3, scale_fn=lambda x: 1 / x),
    lambda s, o: s.OneCycleLR(o, 0.2, total_steps=20),
    lambda s, o: s.OneCycleLR(o, [0.2, 0.3], epochs=5, steps_per_epoch=4, three_phase=True, anneal_strategy="linear"),
    lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]),
    lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    lambda s, o: s.SequentialLR(o, [s.ConstantLR(o, 0.2, 3), s.ExponentialLR(o, 0.8), s.StepLR(o, 2)], [4, 9]),
    lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.2, total_iters=3), s.ExponentialLR(o, 0.8)]),
]


def schedule(namespace, make):
    p = [namespace.ones(2, requires_grad=True) for _ in range(2)]
    optimizer = namespace.optim.SGD([{"params": [p[0]]}, {"params": [p[1]], "lr": 0.02}], lr=0.05, momentum=0.9)
    return optimizer, make(namespace.optim.lr_scheduler, optimizer)


@pytest.mark.parametrize("make", SCHEDULES, ids=[str(i) for i in range(len(SCHEDULES))])
def test_schedules(make):
    def rates(namespace):
        optimizer, scheduler = schedule(namespace, make)
        found = []
        for _ in range(18):
            found.append([(g["lr"], g["momentum"]) for g in optimizer.param_groups])
            found.append([(float(v), 0.0) for v in scheduler.get_last_lr()])
            optimizer.step()
            scheduler.step()
            saved = copy.deepcopy(scheduler.state_dict())
            scheduler.load_state_dict(saved)
        return np.array(found)

    np.testing.assert_allclose(rates(framework), rates(torch), rtol=1e-12)


@pytest.mark.parametrize("options", [{"factor": 0.5, "patience": 1}, {"mode": "max", "patience": 0, "threshold_mode": "abs", "cooldown": 1},
                                     {"min_lr": [0.01, 0.015], "patience": 0}])  # fmt: skip
def test_plateau(options):
    def rates(namespace):
        optimizer, scheduler = schedule(namespace, lambda s, o: s.ReduceLROnPlateau(o, **options))
        found = []
        for metric in (1.0, 0.9, 0.95, 0.97, 0.5, 0.6, 0.6, 0.6, 0.4, 0.4, 0.4, 0.41, 0.39, 0.1):
            scheduler.step(metric)
            found.append(scheduler.get_last_lr())
        return np.array(found)

    np.testing.assert_allclose(rates(framework), rates(torch), rtol=1e-12)


@pytest.mark.parametrize("make, text", [
    (lambda s: s.step(3), "The epoch parameter"),
    (lambda s: s.step(), "before `optimizer.step"),
    (lambda s: s.get_lr(), "get_last_lr"),
])  # fmt: skip
def test_warnings(make, text):
    for namespace in (framework, torch):
        _, scheduler = schedule(namespace, lambda s, o: s.StepLR(o, 3))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            make(scheduler)
        assert any(text in str(w.message) for w in caught)
