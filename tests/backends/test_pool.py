"""The worker pool: results, errors, several callers, forks, the end of the interpreter; products in parts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from backends.numpy.pool import Pool, cut
from backends.numpy.products import matmul
from tests.sources import ROOT


@pytest.fixture
def pool():
    p = Pool()
    p.resize(3)
    yield p
    p.resize(1)
    p.release_blas()


@pytest.fixture
def threads(monkeypatch):
    """The pool that the backend uses, with three threads, and products split from the smallest size on."""
    from backends.numpy import products

    before = products.pool.size
    products.pool.resize(3)
    monkeypatch.setattr(products, "_ENOUGH", 0)
    yield products.pool
    products.pool.resize(before)


def test_every_piece_runs_once(pool):
    done = np.zeros(1000, int)

    def work(i):
        done[i] += 1

    for _ in range(20):
        pool.run(work, [(i,) for i in range(1000)])
    assert (done == 20).all()


def test_pieces_run_on_several_threads(pool):
    names = set()
    barrier = threading.Barrier(3, timeout=30)

    def meet():
        names.add(threading.current_thread().name)
        barrier.wait()

    pool.run(meet, [()] * 3)
    assert len(names) == 3 or names == {"framework-worker", threading.current_thread().name}


def test_errors_propagate_and_the_pool_lives_on(pool):
    def work(i):
        if i == 5:
            raise ValueError("piece 5")

    for _ in range(10):
        with pytest.raises(ValueError, match="piece 5"):
            pool.run(work, [(i,) for i in range(40)])
    done = []
    pool.run(done.append, [(i,) for i in range(40)])
    assert sorted(done) == list(range(40))


def test_a_piece_may_start_a_job(pool):
    total = []
    pool.run(lambda i: pool.run(total.append, [(i,)] * 10), [(i,) for i in range(10)])
    assert sorted(total) == sorted(list(range(10)) * 10)


def test_several_callers_at_once(pool):
    results = {}

    def caller(k):
        for _ in range(50):
            out = np.zeros(64)
            pool.run(lambda s, out=out: out.__setitem__(s, k), [(s,) for s in cut(64, 8)])
            assert (out == k).all()
        results[k] = True

    callers = [threading.Thread(target=caller, args=(k,)) for k in range(4)]
    for c in callers:
        c.start()
    for c in callers:
        c.join(60)
    assert results == dict.fromkeys(range(4), True)


def test_resize(pool):
    for size in (1, 4, 2, 1, 3):
        pool.resize(size)
        assert pool.size == size
        done = []
        pool.run(done.append, [(i,) for i in range(9)])
        assert sorted(done) == list(range(9))


def test_workers_end_when_the_pool_shrinks():
    pool = Pool()
    pool.resize(4)
    pool.run(time.sleep, [(0.01,)] * 4)
    workers = list(pool._threads)
    assert len(workers) == 3
    pool.resize(1)
    for w in workers:
        w.join(30)
        assert not w.is_alive()


def test_the_matrix_library_rests_and_gets_its_threads_back():
    pool = Pool()
    if not pool.blas.found:
        pytest.skip("NumPy has another library than OpenBLAS")
    before = pool.blas.threads()
    try:
        pool.blas.set_threads(2)
        pool.resize(2)
        pool.run(time.sleep, [(0,)] * 2)
        assert pool.blas.threads() == 1
        pool.release_blas()
        assert pool.blas.threads() == 2
    finally:
        pool.resize(1)
        pool.blas.set_threads(before)


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)


PRODUCT = """
import numpy as np
from backends.numpy.pool import pool
from backends.numpy.products import matmul
pool.resize(3)
a = np.arange(300. * 400).reshape(300, 400) % 7
def check():
    assert (matmul(a, a.T) == np.einsum('ij,kj->ik', a, a)).all()  # small whole numbers: exact
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("before", ["", "check()"], ids=("before first use", "after first use"))
def test_fork(before):
    code = f"""{PRODUCT}{before}
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forks of processes with threads
pid = os.fork()
check()
if pid == 0:
    assert len(pool._threads) == 2
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_the_interpreter_ends_while_a_daemon_thread_uses_the_pool():
    code = f"""{PRODUCT}
import threading, time
def forever():
    while True: check()
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.3)
"""
    done = run(code)
    assert done.returncode == 0, done.stderr


def test_use_at_exit():
    done = run(f"import atexit\n{PRODUCT}\natexit.register(check)\ncheck()")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    "a, b",
    [
        ((300, 200), (200, 100)),
        ((100, 200), (200, 300)),
        ((5, 60, 70), (5, 70, 80)),
        ((4, 5, 30, 40), (5, 40, 30)),
        ((1, 30, 40), (6, 40, 30)),
        ((6, 30, 40), (1, 40, 30)),
        ((2, 300, 20), (2, 20, 30)),
        ((7, 30, 40), (40, 50)),
        ((30, 40), (7, 40, 50)),
        ((1, 500), (500, 700)),
        ((700, 500), (500, 1)),
        ((0, 4), (4, 3)),
        ((3, 0), (0, 4)),
        ((0, 3, 4), (0, 4, 5)),
        ((5, 3, 0), (0, 4)),
    ],
)
def test_products_in_parts(threads, dtype, a, b):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, s).astype(dtype) for s in (a, b))
    np.testing.assert_array_equal(matmul(x, y), np.matmul(x, y))
    xt = np.ascontiguousarray(np.swapaxes(x, -1, -2))
    np.testing.assert_array_equal(matmul(np.swapaxes(xt, -1, -2), y), np.matmul(x, y))
    wide = np.repeat(x, 2, -1)[..., ::2]
    np.testing.assert_array_equal(matmul(wide, y), np.matmul(x, y))


def test_cut_covers():
    for n in range(70):
        for parts in range(1, 9):
            for align in (1, 8):
                found = [i for s in cut(n, parts, align) for i in range(s.start, s.stop)]
                assert found == list(range(n)), (n, parts, align)


@pytest.mark.parametrize("last", [False, True], ids=("row-major", "channels-last"))
@pytest.mark.parametrize("images", [1, 2, 5])
def test_convolutions_and_poolings_in_parts(monkeypatch, images, last):
    from backends.numpy import windows
    from backends.registry import load, parse

    rng = np.random.default_rng(0)

    def whole(*shape):
        a = rng.integers(-3, 4, shape).astype("float32")
        return np.moveaxis(np.ascontiguousarray(np.moveaxis(a, 1, -1)), -1, 1) if last else a

    cpu = load(parse("cpu"))
    x, w, b = whole(images, 4, 9, 8), whole(6, 2, 3, 3), whole(6, 1).reshape(-1)
    g, p = whole(images, 6, 9, 8), whole(images, 4, 5, 4)
    calls = {
        "conv_bias": (x, w, b, (1, 1), (1, 1), (1, 1), 2),
        "conv": (x, w, (1, 1), (1, 1), (1, 1), 2),
        "conv_input": (g, w, (1, 1), (1, 1), (1, 1), 2, (9, 8)),
        "conv_weight": (x, g, (1, 1), (1, 1), (1, 1), 2, (3, 3)),
        "max_pool": (x, (3, 3), (2, 2), (1, 1), (1, 1), False),
        "avg_pool_sum": (x, (3, 3), (2, 2), (1, 1), False),
        "avg_pool_spread": (p, (3, 3), (2, 2), (1, 1), False, (9, 8)),
    }
    expected = {name: getattr(cpu, name)(*args) for name, args in calls.items()}
    monkeypatch.setattr(windows, "_ENOUGH", 0)
    monkeypatch.setattr(windows, "_ENOUGH_POOLED", 0)
    before = windows.pool.size
    windows.pool.resize(3)
    try:
        for name, args in calls.items():
            got = getattr(cpu, name)(*args)
            for a, e in zip(
                got if type(got) is tuple else (got,), expected[name] if type(got) is tuple else (expected[name],)
            ):
                np.testing.assert_array_equal(a, e, err_msg=name)
                assert a.flags.c_contiguous == e.flags.c_contiguous, name
    finally:
        windows.pool.resize(before)
