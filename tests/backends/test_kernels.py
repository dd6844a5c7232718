"""Every fused kernel of the `cpu` device against the formula or the primitive beneath it, and against float64."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import special

import framework
from backends.numpy import fused, kernels, norm, windows
from backends.numpy.pool import pool
from backends.registry import load, parse
from framework.dispatch.registry import ENTRIES
from framework.dispatch.schema import vjp_kernel
from tests.sources import ROOT

pytestmark = pytest.mark.skipif(not kernels.installed(), reason="the kernels need Numba (the extra `fast`)")

CPU, FROZEN = load(parse("cpu")), load(parse("frozen"))
BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
TOLERANCE = {"float32": 3e-6, "float64": 1e-13}


@pytest.fixture(autouse=True)
def _any_size(monkeypatch):
    """Kernels from the first element on, in parts on three threads."""
    monkeypatch.setattr(fused, "SMALL", 1)
    monkeypatch.setattr(fused, "PART", 8)
    monkeypatch.setattr(norm, "SMALL", 1)
    monkeypatch.setattr(windows, "SMALL", 1)
    monkeypatch.setattr(norm, "PART", 8)
    before = pool.size
    pool.resize(3)
    yield
    pool.resize(before)


def normal(shape, dtype="float32", seed=0, scale=3.0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(dtype)


def formula(name, *args):
    """The entry's forward on NumPy without kernels."""
    return ENTRIES[name].forward(FROZEN, *args)


def rule(name, i=0, **given):
    """What the entry's i-th rule gives on NumPy without kernels."""
    e = ENTRIES[name]
    return e.vjp[i]({"xp": FROZEN} | given)


def close(got, expected, dtype, scale=1.0):
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


# ---------------------------------------------------------------- along rows
SHAPES = ((1, 1), (3, 1), (1, 7), (5, 32), (4, 33), (70, 100), (2, 3, 31), (17,), (2, 1000))


@BOTH
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows(name, shape, dtype):
    x, g = normal(shape, dtype), normal(shape, dtype, 1, 1.0)
    out = getattr(CPU, name)(x, x.ndim - 1)
    close(out, formula(name, x, x.ndim - 1), dtype)
    grad = getattr(CPU, f"{name}_vjp")(g, out, x.ndim - 1)
    close(grad, rule(name, g=g, out=out, dim=x.ndim - 1), dtype, np.abs(g).sum(-1).max())


SPECIAL = [
    [0, 1, 2],
    [np.inf, 0, 1],
    [-np.inf, 0, 1],
    [np.nan, 0, 1],
    [-np.inf] * 3,
    [np.inf] * 3,
    [0, -np.nan, np.inf],
    [3e38, -3e38, 0],
    [-200, 0, 200],
    [1e-45, -1e-45, 0],
]


@BOTH
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_rows_of_special_values(name, dtype):
    with np.errstate(all="ignore"):
        x = np.asarray(SPECIAL).astype(dtype)
        close(getattr(CPU, name)(x, 1), formula(name, x, 1), dtype)


@BOTH
@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (64, 10), (7, 1000)], ids=str)
def test_entropy(shape, dtype):
    x, target = normal(shape, dtype), np.random.default_rng(1).integers(0, shape[1], shape[0])
    close(CPU.softmax_entropy(x, target), formula("softmax_entropy", x, target), dtype, 10)
    for g in (normal(shape[0], dtype, 2), np.broadcast_to(np.asarray(0.5, dtype), shape[:1])):
        close(
            CPU.softmax_entropy_vjp(g, x, target, shape),
            rule("softmax_entropy", g=g, input=x, target=target, shape=shape),
            dtype,
            10,
        )


@pytest.mark.parametrize("target", [[0, 3], [-1, 0]], ids=str)
def test_entropy_leaves_foreign_classes_to_the_formula(target):
    assert CPU.softmax_entropy(normal((2, 3)), np.asarray(target)) is NotImplemented


def layouts(x):
    """The same values in ways that kernels do not take."""
    wide = np.repeat(x, 2, -1)[..., ::2]
    yield wide
    yield np.asfortranarray(x)
    yield x[:, ::-1][:, ::-1][::-1]
    swapped = x.astype(x.dtype.newbyteorder())
    yield swapped
    room = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    room[...] = x
    yield room


def test_other_layouts_take_the_plain_path():
    for x in layouts(normal((40, 50))):
        assert CPU.log_softmax(x, 1) is NotImplemented
        assert CPU.gelu_kernel(x) is NotImplemented
        np.testing.assert_allclose(CPU.softmax(x, 1), formula("softmax", x, 1), rtol=1e-6)
        np.testing.assert_array_equal(CPU.exp(x), np.exp(x))
    for dtype in ("float16", "complex64"):
        assert CPU.log_softmax(normal((40, 50)).astype(dtype), 1) is NotImplemented
    assert CPU.log_softmax(normal((40, 50)), 0) is NotImplemented


# ---------------------------------------------------------------- normalisation
NORMS = (
    ((5, 7), (1,), (7,)),
    ((1, 300), (1,), (300,)),
    ((40, 3, 11), (1, 2), (3, 11)),
    ((6, 4), (0,), (1, 4)),
    ((3, 5, 7), (0, 2), (1, 5, 1)),
    ((4, 9, 6, 5), (0, 2, 3), (1, 9, 1, 1)),
    ((2, 1, 50), (0, 2), (1, 1, 1)),
)


@BOTH
@pytest.mark.parametrize("shape, dims, size", NORMS, ids=str)
def test_normalisation(shape, dims, size, dtype):
    x, g = normal(shape, dtype) + 2, normal(shape, dtype, 1, 1.0)
    w, b = normal(size, dtype, 2, 1.0), normal(size, dtype, 3, 1.0)
    got, expected = CPU.normalized(x, w, b, dims, 1e-5), formula("normalized", x, w, b, dims, 1e-5)
    for a, e in zip(got, expected, strict=True):
        close(a, e, dtype, 10)
    _, mean, var = expected
    given = {"g": (g, None, None), "input": x, "weight": w, "mean": mean, "var": var, "dims": dims, "eps": 1e-5}
    grads = CPU.normalized_vjp((g, None, None), x, w, mean, var, dims, 1e-5)
    lead = tuple(range(x.ndim - len(size))) + tuple(i + x.ndim - len(size) for i, n in enumerate(size) if n == 1)
    for a, e in zip(grads, rule("normalized", **given), strict=True):
        close(a, e if e.shape == a.shape else e.sum(lead, keepdims=True).reshape(size), dtype, 50)


@BOTH
@pytest.mark.parametrize("shape, dims", [n[:2] for n in NORMS], ids=str)
def test_standardize(shape, dims, dtype):
    x, g = normal(shape, dtype) + 2, normal(shape, dtype, 1, 1.0)
    got, expected = CPU.standardize(x, dims, 1e-5), formula("standardize", x, dims, 1e-5)
    for a, e in zip(got, expected, strict=True):
        close(a, e, dtype, 10)
    out, _, var = expected
    grad = CPU.standardize_vjp((g, None, None), out, var, shape, dims, 1e-5)
    given = {"g": (g, None, None), "out": out, "var": var, "shape": shape, "dims": dims, "eps": 1e-5}
    close(grad, rule("standardize", **given), dtype, 30)


def test_normalisation_of_special_values():
    for value in (np.nan, np.inf, -np.inf):
        x = normal((4, 40))
        x[1, 3] = value
        with np.errstate(all="ignore"):
            got, expected = CPU.standardize(x, (1,), 1e-5), formula("standardize", x, (1,), 1e-5)
        for a, e in zip(got, expected, strict=True):
            close(a, e, "float32", 10)
    assert CPU.standardize(normal((4, 5, 6)), (1,), 1e-5) is NotImplemented
    assert (
        CPU.standardize_vjp((None, normal((4, 1)), None), normal((4, 6)), normal((4, 1)), (4, 6), (1,), 1e-5)
        is NotImplemented
    )


# ---------------------------------------------------------------- elementwise
def values():
    """Numbers of every size, all kinds of bit patterns among them."""
    rng = np.random.default_rng(0)
    parts = [rng.standard_normal(5000) * s for s in (1e-3, 1, 10, 40)]
    bits = rng.integers(0, 2**32, 20000, dtype="uint64").astype("uint32").view("float32")
    known = [0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, -3e38, 88.7, 88.73, -87.4, -104, 0.625, -0.625]
    return np.concatenate([*parts, np.linspace(-104, 90, 5000), bits, known]).astype("float32")


def assert_within(got, exact, units, least=1e-36):
    """got is within `units` in the last place of the exact value (where that is at least `least` in size), and special
    as it is."""
    with np.errstate(all="ignore"):
        rounded = exact.astype("float32")
    ordinary = np.isfinite(rounded) & (np.abs(exact) >= least)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded))
    np.testing.assert_array_equal(got[np.isinf(rounded)], rounded[np.isinf(rounded)])
    error = np.abs(got[ordinary].astype("float64") - exact[ordinary]) / np.spacing(np.abs(rounded[ordinary])).astype(
        "float64"
    )
    assert error.max() <= units
    rest = np.isfinite(rounded) & ~ordinary
    np.testing.assert_allclose(got[rest], exact[rest], rtol=0, atol=least * 1e-6)


PRIMITIVES = {
    "exp": (np.exp, 1.0),
    "log": (np.log, 1.0),
    "tanh": (np.tanh, 2.0),
    "sqrt": (np.sqrt, 0.51),
    "sin": (np.sin, 2.0),
    "cos": (np.cos, 2.0),
    "sigmoid": (special.expit, 2.5),
}


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_are_accurate(name):
    exact, units = PRIMITIVES[name]
    x = values()
    if name in ("sin", "cos"):
        x = x[np.abs(x) < 1e4]
    with np.errstate(all="ignore"):
        got, expected = getattr(CPU, name)(x), exact(x.astype("float64"))
    assert_within(got, expected, units)
    zeros = np.asarray([0.0, -0.0] * 20, "float32")
    np.testing.assert_array_equal(
        np.signbit(getattr(CPU, name)(zeros)), np.signbit(exact(zeros)) if name != "log" else True
    )


def test_primitives_write_into_an_array():
    x = normal((30, 40))
    for name in ("exp", "tanh", "sqrt"):
        expected = getattr(CPU, name)(np.abs(x))
        room, own = np.empty_like(x), np.abs(x)
        for into, given in ((room, np.abs(x)), (own, own), (np.empty((40, 30), "float32").T, np.abs(x))):
            assert getattr(CPU, name)(given, into) is into
            np.testing.assert_allclose(into, expected, rtol=3e-7)


def test_primitives_in_float64_are_numpys():
    x = np.abs(normal((50, 50), "float64"))
    for name in ("exp", "log", "tanh", "sqrt", "sin", "cos"):
        np.testing.assert_array_equal(getattr(CPU, name)(x), getattr(np, name)(x))


def test_gelu_is_accurate():
    x = values()
    exact = x.astype("float64") * special.ndtr(x.astype("float64"))
    with np.errstate(all="ignore"):
        got = CPU.gelu_kernel(x)
    positive = ~(x < 0)
    assert_within(got[positive], exact[positive], 2)
    tail = (x < 0) & (x > -6)  # where the formula itself loses all digits one after the other
    assert_within(got[tail], exact[tail], 8)
    np.testing.assert_allclose(got[x < 0], exact[x < 0], rtol=3e-6, atol=1e-30)


def test_silu_is_accurate():
    x = values()
    with np.errstate(all="ignore"):
        exact = x.astype("float64") * special.expit(x.astype("float64"))
        assert_within(CPU.silu_kernel(x), exact, 3, 1e-34)


@pytest.mark.parametrize("name", ["gelu_kernel", "gelu_tanh_kernel", "silu_kernel"])
@pytest.mark.parametrize("shape", [(1,), (1000,), (7, 11, 13)], ids=str)
def test_activations(name, shape):
    x, g = normal(shape), normal(shape, seed=1)
    exact = formula(name, x.astype("float64"))
    np.testing.assert_allclose(getattr(CPU, name)(x), exact, rtol=1e-6, atol=1e-6)
    exact = g * ENTRIES[name].vjp[0].fn(FROZEN, x.astype("float64"))
    np.testing.assert_allclose(getattr(CPU, f"{name}_vjp")(g, x), exact, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", ["tanh", "sigmoid", "relu"])
def test_derivatives_of_primitives(name):
    g, out = normal((31, 33)), np.tanh(normal((31, 33), seed=1))
    g.flat[:4], out.flat[:4] = [np.nan, np.inf, 0, -np.inf], [-1, -1, 1, 1]
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(getattr(CPU, f"{name}_vjp")(g, out), rule(name, g=g, out=out), rtol=1e-6, atol=1e-6)


# ---------------------------------------------------------------- convolution
@BOTH
@pytest.mark.parametrize(
    "stride, padding, dilation",
    [((1, 1), (1, 1), (1, 1)), ((2, 1), (0, 2), (1, 2)), ((1, 1), (2, 2), (2, 1)), ((1, 2), (3, 3), (1, 1))],
    ids=str,
)
def test_depthwise(stride, padding, dilation, dtype):
    x, w, b = normal((3, 5, 9, 8), dtype, 0, 1.0), normal((5, 1, 3, 2), dtype, 1, 1.0), normal(5, dtype, 2)
    places = (stride, padding, dilation, 5)
    y = CPU.conv_bias(x, w, b, *places)
    close(y, FROZEN.conv_bias(x, w, b, *places), dtype, 10)
    g = normal(y.shape, dtype, 3, 1.0)
    close(CPU.conv_input(g, w, *places, (9, 8)), FROZEN.conv_input(g, w, *places, (9, 8)), dtype, 10)
    close(CPU.conv_weight(x, g, *places, (3, 2)), FROZEN.conv_weight(x, g, *places, (3, 2)), dtype, 50)


# ---------------------------------------------------------------- the protocol
def test_kernels_are_methods_of_formulas():
    derivatives = {vjp_kernel(e, i)[0] for e in ENTRIES.values() if e.kernel_vjp for i, r in enumerate(e.vjp) if r}
    steps = {"adam_step", "sgd_step"}
    for name in CPU.kernels - steps:
        assert callable(getattr(CPU, name))
        assert name in derivatives or ENTRIES[name].kernel, name


def test_backward_uses_the_kernel(monkeypatch):
    called = []
    monkeypatch.setattr(type(CPU), "gelu_kernel_vjp", lambda self, g, x: called.append(1) or g * 0 + 7)
    x = framework.ones(3, requires_grad=True)
    framework.nn.functional.gelu(x).sum().backward()
    assert called and x.grad.tolist() == [7, 7, 7]


def test_transforms_run_the_formula():
    x = framework.tensor(normal((20, 30), "float64"))
    f = framework.nn.functional.gelu
    single = framework.func.vmap(framework.func.grad(lambda v: (f(v) * f(v)).sum()))(x)
    x.requires_grad_()
    (f(x) * f(x)).sum().backward()
    np.testing.assert_allclose(single.numpy(), x.grad.numpy(), rtol=1e-12)


def test_cross_entropy_backward():
    x = framework.tensor(normal((50, 40)), requires_grad=True)
    target = framework.tensor(np.arange(50) % 40)
    framework.nn.functional.cross_entropy(x, target).backward()
    p = special.softmax(x.detach().numpy().astype("float64"), 1)
    p[np.arange(50), np.arange(50) % 40] -= 1
    np.testing.assert_allclose(x.grad.numpy(), p / 50, atol=1e-8)


def run(code, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | environment,
    )


SOFTMAX = "import sys, framework; x = framework.softmax(framework.ones({}, {}), 1); print('numba' in sys.modules)"


def test_numba_waits_for_a_large_operand():
    assert run(SOFTMAX.format(10, 10)).stdout == "False\n"
    assert run(SOFTMAX.format(500, 500)).stdout == "True\n"


def test_the_setting_turns_kernels_off():
    assert run(SOFTMAX.format(500, 500), FRAMEWORK_FAST="0").stdout == "False\n"


def test_kernels_compile_where_no_cache_can_be_written(tmp_path):
    code = f"""
import sys, numba.core.caching as caching, numpy as np
def nowhere(*args, **kw): raise RuntimeError("cannot cache function: no locator available for file")
caching.CacheImpl.__init__ = nowhere
{SOFTMAX.format(500, 500)}
assert (x == 1 / 500).all()
"""
    done = run(code)
    assert done.returncode == 0, done.stderr
