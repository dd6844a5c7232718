"""What the MLX backend must do beyond the conformance suite: stay lazy, stay alive, and never hand out stale memory."""

from __future__ import annotations

import dataclasses
import gc
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from backends import dtypes as dt
from backends import registry

from .compare import check, native, values
from .structure_table import CASES

mx = pytest.importorskip("mlx.core", reason="MLX has no package for this platform")


@pytest.fixture(scope="module")
def m() -> Any:
    return registry.load(registry.parse("mlx:cpu"))


FORMULAS = ["exp", "sigmoid", "sin", "sign", "signbit", "relu", "rsqrt", "abs", "round", "reciprocal", "exp2"]
INDEX = np.array([[0, 2], [1, 1]])
OF_TWO = ["add", "floor_divide", "remainder", "fmod", "copysign", "hypot", "logaddexp", "matmul"]
LAZY = [
    *[lambda m, x, name=n: getattr(m, name)(x) for n in FORMULAS],
    *[lambda m, x, name=n: getattr(m, name)(x, x) for n in OF_TWO],
    *[lambda m, x, name=n: getattr(m, name)(x, (0,), False) for n in ("sum", "prod", "amax")],
    *[lambda m, x, name=n: getattr(m, name)(x, 0, False) for n in ("argmax", "argmin")],
    lambda m, x: m.sort(x, 0, True, True)[0],
    lambda m, x: m.sort(x, 0, False, True)[1],
    lambda m, x: m.max_pool(x.reshape(1, 1, 3, 3), (2, 2), (1, 1), (1, 1), (1, 1), False)[1],
    lambda m, x: m.gather(x, 0, m.asarray(INDEX)),
    lambda m, x: m.index_select(x, 1, m.asarray(INDEX)),
    lambda m, x: m.scatter_add(x, 0, m.asarray(INDEX), x),
    lambda m, x: m.index_add(x, 0, m.asarray(INDEX[0]), x[:2]),
    lambda m, x: m.gather(x, 0, m.argmax(x, 0, True)),  # an index of a known range
    lambda m, x: m.gather(x, 0, m.sort(x, 0, False, True)[1]),
    lambda m, x: m.softmax(x, 0),
    lambda m, x: m.cumsum(x, 0),
    lambda m, x: m.slice(x, (slice(1, None), 0)),
    lambda m, x: m.slice_put(x, (slice(0, 3),), (5, 3)),
    lambda m, x: m.conv(x.reshape(1, 1, 3, 3), x.reshape(1, 1, 3, 3), (1, 1), (1, 1), (1, 1), 1),
]  # fmt: skip


@pytest.mark.parametrize("f", LAZY)
def test_a_primitive_does_not_evaluate(m: Any, f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the given index is looked at."""
    x = mx.arange(9.0).reshape(3, 3)
    evaluate = m.evaluate

    def only_indices(arrays: list[Any]) -> None:
        assert all(a.dtype == mx.int64 and a.shape in ((2, 2), (2,)) for a in arrays)
        evaluate(arrays)

    monkeypatch.setattr(m, "evaluate", only_indices)
    assert type(f(m, x)) is mx.array


def test_a_failed_array_stays_failed(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLX itself gives stale memory when asked a second time, or waits for ever."""
    y = m.full((3,), 1.0, dt.float32)

    def fail(arrays: Any) -> None:
        raise RuntimeError("LU factorization failed")

    with monkeypatch.context() as patched:
        patched.setattr(mx, "eval", fail)
        with pytest.raises(RuntimeError, match="LU factorization"):
            m.evaluate([y])
    for ask in (m.to_numpy, m.nonzero, lambda a: m.evaluate([a])):
        with pytest.raises(RuntimeError, match="never computed"):
            ask(y)
    del y
    gc.collect()
    for _ in range(50):  # a new array in the place of the dead one is not suspected
        m.to_numpy(m.full((3,), 1.0, dt.float32))


def test_arrays_cross_threads_once_evaluated(m: Any) -> None:
    pending, ready = m.full((3,), 1.0, dt.float32) + 1, m.full((3,), 1.0, dt.float32) + 1
    m.evaluate([ready])
    seen: list[Any] = []

    def other() -> None:
        seen.append(m.to_numpy(m.add(ready, ready)))
        try:
            m.to_numpy(pending)
        except RuntimeError as error:
            seen.append(str(error))
        seen.append(m.exp(ready))
        m.evaluate([seen[-1]])

    t = threading.Thread(target=other)
    t.start()
    t.join()
    np.testing.assert_array_equal(seen[0], [4, 4, 4])
    assert "another thread" in seen[1]
    np.testing.assert_allclose(m.to_numpy(seen[2]), np.exp([2, 2, 2]), 1e-6)
    np.testing.assert_array_equal(m.to_numpy(pending), [2, 2, 2])  # here it can still be computed


def test_a_forked_process_is_told() -> None:
    """Evaluating in a fork hangs inside MLX."""
    script = """
import os, sys, warnings
warnings.simplefilter("ignore")
from backends import dtypes as dt, registry
m = registry.load(registry.parse("mlx:cpu"))
x = m.full((3,), 1.0, dt.float32)
m.evaluate([x])
child = os.fork()
if not child:
    try:
        m.evaluate([m.exp(x)])
    except RuntimeError as error:
        os._exit(7 if "spawn" in str(error) else 1)
    os._exit(2)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 7


HUGE = 1 << 21


def test_what_cannot_be_allocated_raises(m: Any) -> None:
    """A failed allocation kills the process inside MLX."""
    column, row = m.full((HUGE, 1), 1.0, dt.float64), m.full((1, HUGE), 1.0, dt.float64)
    wide = m.expand(m.full((1, 1), 1.0, dt.float64), (HUGE, HUGE))  # a view: allowed
    assert m.sum(m.slice(wide, (slice(0, 2), slice(0, 2))), None, False).item() == 4
    for f in (
        lambda: m.full((HUGE, HUGE), 1.0, dt.float64),
        lambda: m.full((HUGE, HUGE, HUGE, HUGE), 1.0, dt.float64),
        lambda: m.arange(0, 1 << 42, 1, dt.int64),
        lambda: m.add(column, row),
        lambda: m.fmod(column, row),
        lambda: m.exp(wide),
        lambda: m.matmul(column, row),
        lambda: m.reshape(wide, (HUGE // 2, 2 * HUGE)),
        lambda: m.slice_put(row, (slice(0, 1),), (HUGE, HUGE)),
        lambda: m.cat([wide, wide], 0),
    ):
        with pytest.raises(MemoryError):
            f()


def test_sums_are_exact_to_the_last_place(m: Any) -> None:
    tenth = np.float32(0.1)
    many = m.expand(m.full((1,), 0.1, dt.float32), (3_000_000,))
    want = np.float32(3_000_000 * np.float64(tenth))
    assert m.sum(many, None, False).item() == want
    assert m.sum(m.astype(many, dt.complex64), (0,), False).item() == want
    ones = m.full((5000,), 1.0, dt.float16)
    assert m.sum(ones, None, False).item() == 5000
    np.testing.assert_array_equal(m.to_numpy(m.cumsum(ones, 0)), np.arange(1, 5001).astype(np.float16))
    running = np.float32(np.cumsum(np.full(3_000_000, tenth, np.float64)))
    np.testing.assert_array_equal(m.to_numpy(m.cumsum(many, 0)), running)


@pytest.mark.slow
def test_sums_of_more_terms_than_a_counter_holds(m: Any) -> None:
    ones = m.expand(m.full((1, 1), 1, dt.int64), (1 << 16, 1 << 15))
    assert m.sum(ones, None, False).item() == 1 << 31


@pytest.mark.parametrize(("d", "low", "high"), [(dt.float32, -103.0, 88.7), (dt.float64, -744.0, 709.7)])
def test_exponentials_everywhere(m: Any, d: Any, low: float, high: float) -> None:
    x = np.linspace(low, high, 50_001).astype(d.name)
    wide = np.exp(x.astype(np.longdouble))
    for got, want in ((m.exp(m.asarray(x)), wide), (m.sigmoid(m.asarray(x)), 1 / (1 + 1 / wide))):
        unit = np.spacing(want.astype(d.name)).astype(np.longdouble)
        assert (np.abs(m.to_numpy(got) - want) / unit).max() < 3


@pytest.mark.parametrize("dims", [(2,), (0,), (1, 2), (2, 0), (0, 1, 2)])
def test_kernels_that_metal_uses(m: Any, dims: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(3, 2, (4, 5, 6)).astype(np.float32)
    wide, eps = x.astype(np.float64), 1e-5
    mean, var = wide.mean(dims, keepdims=True), wide.var(dims, keepdims=True)
    wanted = [(wide - mean) / np.sqrt(var + eps), mean, var]
    for got, want in zip(m.standardize(m.asarray(x), dims, eps), wanted, strict=True):
        np.testing.assert_allclose(m.to_numpy(got), want, 2e-5, 2e-5)
    unit = wide / np.sqrt((wide**2).mean(dims, keepdims=True) + eps)
    np.testing.assert_allclose(m.to_numpy(m.scaled_to_unit(m.asarray(x), dims, eps)), unit, 2e-5, 2e-5)


def test_softmax_of_every_kind(m: Any) -> None:
    z = np.array([[1 + 1j, 2 - 1j], [0.5j, -1]], np.complex64)
    e = np.exp(z.astype(np.complex128))
    np.testing.assert_allclose(m.to_numpy(m.softmax(m.asarray(z), 1)), e / e.sum(1, keepdims=True), 1e-6)
    assert m.softmax(m.full((), 5.0, dt.float32), 0).item() == 1
    assert np.isnan(m.softmax(m.full((), float("inf"), dt.float32), 0).item())
    assert m.softmax(m.full((2, 0), 5.0, dt.float32), 1).shape == (2, 0)


@pytest.fixture(scope="module")
def as_on_metal() -> Any:
    """The backend as it is on Metal (no float64, native exponentials, sums in float32), for a device that is not MLX's
    default one; run by the CPU.
    """
    from backends.mlx import backend

    cpu = mx.Device(mx.cpu, 0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(backend, "_default", mx.Device(mx.gpu, 0))
        metal = backend.Mlx("mps", cpu)
    metal.on_cpu = False
    del metal.native[dt.float64]
    metal.capabilities = dataclasses.replace(metal.capabilities, dtypes=frozenset(metal.native))
    return metal


@pytest.mark.parametrize("name", sorted({c.name for c in CASES}))
def test_the_way_it_goes_on_metal(as_on_metal: Any, name: str) -> None:
    m = as_on_metal
    for case in [c for c in CASES if c.name == name and c.dtype in m.capabilities.dtypes and c.label != "long"]:
        got = values(m, getattr(m, name)(*native(m, [native(m, a) if type(a) is list else a for a in case.args])))
        for result, want in zip(got, case.want, strict=True) if type(got) is tuple else [(got, case.want)]:
            check(result, want, case.ulps and case.ulps + 8, scale=case.scale)


def test_no_float64_on_metal(as_on_metal: Any) -> None:
    with pytest.raises(TypeError, match="MLX on mps has no float64; use float32, or device 'cpu'"):
        as_on_metal.asarray(np.ones(2))
    with pytest.raises(TypeError, match="no float64"):
        as_on_metal.float_power(as_on_metal.full((2,), 2, dt.float32), as_on_metal.full((2,), 2, dt.float32))
    for f in (as_on_metal.exp, as_on_metal.sigmoid, as_on_metal.erf):
        assert f(as_on_metal.full((2,), 0.5, dt.float32)).dtype == mx.float32


def test_refused_geometry(m: Any) -> None:
    from backends.base import Geometry

    flat = m.asarray(np.arange(6.0))
    for g in (Geometry((3,), (3,), 0), Geometry((2,), (1,), 5), Geometry((2,), (-1,), 0), Geometry((1,), (1,), 6)):
        with pytest.raises(IndexError, match="outside a storage"):
            m.read_at(flat, g)
        with pytest.raises(IndexError, match="outside a storage"):
            m.write_at(flat, g, flat[:1])
    for groups, stride in ((0, 1), (1, 0)):
        x = m.full((1, 1, 3), 1.0, dt.float32)
        with pytest.raises(ValueError, match="positive"):
            m.conv(x, x, (stride,), (0,), (1,), groups)


def test_what_is_only_written_to_is_computed_now_and_then(m: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from backends.base import Geometry

    computed = []
    evaluate = m.evaluate
    monkeypatch.setattr(m, "evaluate", lambda arrays: (computed.append(len(arrays)), evaluate(arrays)))
    running = m.full((4,), 0.0, dt.float32)
    for _ in range(600):
        running = m.write_at(running, Geometry((2,), (1,), 1), running[1:3] + 1)
    assert len(computed) == 2
    assert max(computed) <= 257
    np.testing.assert_array_equal(m.to_numpy(running), [0, 600, 600, 0])


def test_ordinary_slices_are_written_as_slices() -> None:
    """The geometry of a slice of a reshaped array is recognised; one that overlaps itself or wraps around is not."""
    from backends.base import Geometry
    from backends.mlx.storage import region

    for shape, key in [
        ((10, 7), (slice(None, None, 2), slice(1, None, 2))),
        ((9, 7), (slice(1, None, 2), slice(0, 5, 2))),
        ((4, 5, 6), (slice(1, 3), 2, slice(None, None, 5))),
        ((4, 5, 6), (..., 3)),
        ((10,), (slice(1, None, 3),)),
        ((3, 4), (slice(None),)),
    ]:
        base = np.empty(shape, np.int8)
        view = base[key]
        start = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        for v in (view, view.T):
            assert region(base.size, Geometry(v.shape, v.strides, start)) is not None, (shape, key)
    for g in (Geometry((3, 3), (1, 1), 0), Geometry((2, 2), (3, 2), 1), Geometry((3,), (0,), 0)):
        assert region(6, g) is None


def test_devices() -> None:
    from backends import mlx
    from backends.mlx import cpu

    assert cpu.available()
    if not mlx.available():
        with pytest.raises(RuntimeError, match="no Metal device"):
            mlx.load(None)
    with pytest.raises(RuntimeError, match="mps:3"):
        mlx.load(3)
