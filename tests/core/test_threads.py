"""The numbers of threads, and the framework used from two threads and from a forked child."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import framework
from tests.sources import ROOT


@pytest.fixture
def two_threads():
    before = framework.get_num_threads()
    framework.set_num_threads(2)
    yield
    framework.set_num_threads(before)


def test_set_num_threads(two_threads):
    assert framework.get_num_threads() == 2
    for bad, message in (
        (0, "positive integer"),
        (-1, "positive integer"),
        (1.5, "int, but got float"),
        (True, "bool"),
    ):
        with pytest.raises(RuntimeError, match=message):
            framework.set_num_threads(bad)
    assert framework.get_num_threads() == 2


def test_interop_threads_can_be_set_once(monkeypatch):
    from framework.core import threads

    monkeypatch.setattr(threads, "_interop", [])
    framework.set_num_interop_threads(3)
    assert framework.get_num_interop_threads() == 3
    with pytest.raises(RuntimeError, match="cannot set number of interop threads"):
        framework.set_num_interop_threads(2)


TRAIN = """
import numpy as np, framework
def train(seed):
    n, rng = framework.nn, np.random.default_rng(seed)
    x = framework.tensor(rng.standard_normal((256, 200), dtype="float32"))
    shapes = ((300, 200), (300,), (10, 300))
    w = [framework.tensor(rng.standard_normal(s, dtype="float32") * 0.05, requires_grad=True) for s in shapes]
    target = framework.tensor(np.arange(256) % 10)
    o = framework.optim.Adam(w, lr=0.01)
    for _ in range(5):
        h = n.functional.gelu(n.functional.linear(x, w[0], w[1]))
        h = n.functional.layer_norm(h, (300,), framework.ones(300), framework.zeros(300))
        loss = n.functional.cross_entropy(h @ w[2].t(), target)
        o.zero_grad()
        loss.backward()
        o.step()
    return loss.item()
"""


def test_two_threads_train_at_once(two_threads):
    scope: dict = {}
    exec(TRAIN, scope)
    alone = [scope["train"](seed) for seed in range(2)]
    found: dict[int, float] = {}
    workers = [threading.Thread(target=lambda s=s: found.update({s: scope["train"](s)})) for s in range(2)]
    for w in workers:
        w.start()
    for w in workers:
        w.join(120)
    np.testing.assert_allclose([found[0], found[1]], alone, rtol=1e-6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("before", ["", "train(0)"], ids=["before first use", "after first use"])
def test_a_forked_child_trains(before):
    code = f"""{TRAIN}
framework.set_num_threads(2)
{before}
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
pid = os.fork()
value = train(1)
if pid == 0:
    os._exit(0 if abs(value - {{}}) < 1e-5 else 1)
assert os.waitpid(pid, 0)[1] == 0
"""
    scope: dict = {}
    exec(TRAIN, scope)
    code = code.replace("{}", repr(scope["train"](1)))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 0, done.stderr
