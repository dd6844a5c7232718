"""Random tensors: the host's streams on every device, layouts, gradients, vmap's randomness, errors, seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

import framework
from framework import Generator
from framework.autograd import grad
from framework.core.memory_format import channels_last, contiguous_format
from framework.func import jvp, vmap
from framework.ops.random_draw import memory_order

from .checks import values

FLOATS = ("float16", "bfloat16", "float32", "float64")
SHAPES = ((), (0,), (1,), (3,), (15,), (16,), (5, 4), (2, 0, 3))


def dtype(name: str):
    return getattr(framework, name)


def seeded(seed: int = 5) -> Generator:
    """The default stream, started with a seed; and one like it to compare with."""
    framework.manual_seed(seed)
    return Generator().manual_seed(seed)


def equal(got, want, g: Generator | None = None) -> None:
    """The numbers of a tensor, and where the stream stands that they came from."""
    want = np.asarray(want)
    assert tuple(got.shape) == want.shape
    np.testing.assert_array_equal(
        values(got), want.astype(np.float32) if want.dtype.kind == "V" or want.dtype == np.float16 else want
    )
    if g is not None:
        assert g.dump() == framework.default_generator.dump()


FILLS = {
    "uniform_": ((-1.0, 2.0), lambda g, s, d: g.uniform(s, d, -1.0, 2.0), FLOATS),
    "normal_": ((1.0, 2.0), lambda g, s, d: g.normal(s, d, 1.0, 2.0), FLOATS),
    "exponential_": ((2.0,), lambda g, s, d: g.exponential(s, d, 2.0), FLOATS),
    "cauchy_": ((0.5, 2.0), lambda g, s, d: g.cauchy(s, d, 0.5, 2.0), FLOATS),
    "log_normal_": ((0.1, 0.5), lambda g, s, d: g.log_normal(s, d, 0.1, 0.5), FLOATS),
    "geometric_": ((0.3,), lambda g, s, d: g.geometric(s, d, 0.3), (*FLOATS, "int64", "int32", "uint8")),
    "random_": ((2, 9), lambda g, s, d: g.integers(2, 9, s, d), (*FLOATS, "int64", "int8", "uint8")),
    "bernoulli_": ((0.4,), lambda g, s, d: g.bernoulli_scalar(0.4, s), (*FLOATS, "int64", "uint8", "bool")),
}


@pytest.mark.every_device
@pytest.mark.parametrize("name", FILLS)
def test_fills_draw_from_the_host_stream(name: str, device: str) -> None:
    args, draw, dtypes = FILLS[name]
    for d in dtypes:
        for shape in SHAPES:
            g = seeded()
            x = framework.zeros(shape, dtype=dtype(d), device=device)
            assert getattr(x, name)(*args) is x
            assert x.dtype is dtype(d)
            want = draw(g, shape, dtype(d))
            equal(x, want.astype(d) if name == "bernoulli_" and d != "bfloat16" else want, g)


FACTORIES = {
    "rand": (lambda s, **k: framework.rand(s, **k), lambda g, s, d: g.uniform(s, d), FLOATS),
    "randn": (lambda s, **k: framework.randn(s, **k), lambda g, s, d: g.normal(s, d), FLOATS),
    "randint": (
        lambda s, **k: framework.randint(3, 9, s, **k),
        lambda g, s, d: g.integers(3, 9, s, d),
        (*FLOATS, "int64", "uint8"),
    ),
    "normal": (lambda s, **k: framework.normal(1.0, 2.0, s, **k), lambda g, s, d: g.normal(s, d, 1.0, 2.0), FLOATS),
}


@pytest.mark.every_device
@pytest.mark.parametrize("name", FACTORIES)
def test_factories_draw_from_the_host_stream(name: str, device: str) -> None:
    make, draw, dtypes = FACTORIES[name]
    for d in dtypes:
        for shape in SHAPES:
            g = seeded()
            x = make(shape, dtype=dtype(d), device=device)
            assert x.dtype is dtype(d)
            assert x.backend is framework.zeros((), device=device).backend
            equal(x, draw(g, shape, dtype(d)), g)


@pytest.mark.parametrize(("name", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_complex_numbers(name: str, part: str) -> None:
    for call, draw in (
        (lambda d: framework.rand(5, dtype=d), lambda g, d: g.uniform((5, 2), d)),
        (lambda d: framework.randn(9, dtype=d), lambda g, d: g.normal((9, 2), d, 0.0, 1 / math.sqrt(2.0))),
        (lambda d: framework.zeros(5, dtype=d).uniform_(-1, 1), lambda g, d: g.uniform((5, 2), d, -1.0, 1.0)),
    ):
        g = seeded()
        got, want = call(dtype(name)), draw(g, dtype(part))
        assert got.dtype is dtype(name)
        equal(got, want[:, 0] + 1j * want[:, 1], g)


@pytest.mark.every_device
def test_randperm(device: str) -> None:
    for n in (0, 1, 2, 100):
        for d in ("int64", "int32", "float32", "float16"):
            g = seeded()
            equal(framework.randperm(n, dtype=dtype(d), device=device), g.permutation(n), g)


@pytest.mark.every_device
def test_by_the_values_of_tensors(device: str) -> None:
    p = np.random.default_rng(1).uniform(0.1, 0.9, (4, 30))
    for d in ("float32", "float64"):
        t = framework.tensor(p, dtype=dtype(d), device=device)
        host = p.astype(d)
        g = seeded()
        equal(framework.bernoulli(t), g.bernoulli_tensor(host).astype(d), g)
        equal(t.bernoulli(), g.bernoulli_tensor(host).astype(d), g)
        equal(t.bernoulli(0.3), g.bernoulli_scalar(0.3, p.shape).astype(d), g)
        equal(
            framework.zeros((4, 30), dtype=framework.int64, device=device).bernoulli_(t),
            g.bernoulli_tensor(host).astype(int),
            g,
        )
        equal(
            framework.zeros((4, 30), device=device).bernoulli_(t[0]),
            g.bernoulli_tensor(np.tile(host[0], (4, 1))).astype("f4"),
            g,
        )
        for count, replacement in ((1, False), (7, False), (7, True)):
            equal(t.multinomial(count, replacement), g.multinomial(host, count, replacement, dtype(d)), g)
            equal(
                framework.multinomial(t[0], count, replacement), g.multinomial(host[0], count, replacement, dtype(d)), g
            )


def test_normal_around_tensors() -> None:
    mean, std = np.arange(4.0).reshape(4, 1), np.arange(1.0, 6.0)
    a, b = framework.tensor(mean), framework.tensor(std)
    g = seeded()
    equal(framework.normal(a, b), g.normal((4, 5), framework.float64) * std + mean, g)
    equal(framework.normal(a, 2.0), g.normal((4, 1), framework.float64, 0.0, 2.0) + mean, g)
    equal(framework.normal(1.0, b), g.normal((5,), framework.float64) * std + 1.0, g)
    equal(framework.normal(a), g.normal((4, 1), framework.float64) + mean, g)
    assert framework.normal(a.float(), b).dtype is framework.float32
    assert framework.normal(a, b.float()).dtype is framework.float64
    with pytest.raises(RuntimeError, match="standard deviation to be non-complex"):
        framework.normal(a, framework.ones(1, dtype=framework.complex64))
    with pytest.raises(TypeError, match="`size` goes with numbers only"):
        framework.normal(a, b, (4, 5))


def test_sizes() -> None:
    want = Generator().manual_seed(5).uniform((2, 3), framework.float32)
    for call in (
        lambda: framework.rand(2, 3),
        lambda: framework.rand((2, 3)),
        lambda: framework.rand([2, 3]),
        lambda: framework.rand(size=(2, 3)),
        lambda: framework.rand(framework.Size((2, 3))),
        lambda: framework.rand(framework.tensor(2), 3),
    ):
        seeded()
        equal(call(), want)
    assert framework.rand([]).shape == ()
    want = Generator().manual_seed(5).integers(0, 7, (2,))
    for call in (
        lambda: framework.randint(7, (2,)),
        lambda: framework.randint(0, 7, (2,)),
        lambda: framework.randint(high=7, size=(2,)),
        lambda: framework.randint(0, framework.tensor(7), size=[2]),
        lambda: framework.randint(low=0, high=7, size=(2,)),
    ):
        seeded()
        equal(call(), want)


def test_dtypes_by_default() -> None:
    assert framework.rand(1).dtype is framework.float32
    assert framework.randint(3, (1,)).dtype is framework.int64
    assert framework.randperm(3).dtype is framework.int64
    assert framework.rand(1, dtype=float).dtype is framework.float64
    framework.set_default_dtype(framework.float64)
    try:
        assert framework.randn(1).dtype is framework.float64
    finally:
        framework.set_default_dtype(framework.float32)


def test_requires_grad_and_out() -> None:
    assert framework.rand(2, requires_grad=True).requires_grad
    assert not framework.rand_like(framework.zeros(2, requires_grad=True)).requires_grad
    for call, want in (
        (lambda out: framework.rand(2, 3, out=out), lambda g, d: g.uniform((2, 3), d)),
        (lambda out: framework.randn(2, 3, out=out), lambda g, d: g.normal((2, 3), d)),
        (lambda out: framework.normal(0.0, 1.0, (2, 3), out=out), lambda g, d: g.normal((2, 3), d)),
    ):
        for out in (framework.zeros(2, 3), framework.zeros(2, 3, dtype=framework.float64), framework.zeros(0)):
            g = seeded()
            assert call(out) is out
            equal(out, want(g, out.dtype), g)
    out = framework.zeros(3, dtype=framework.int32)
    g = seeded()
    assert framework.randperm(3, out=out) is out
    equal(out, g.permutation(3), g)
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        framework.rand(2, out=framework.zeros(2), dtype=framework.float64)
    p = framework.full((3,), 0.5)
    out = framework.zeros(3)
    assert framework.bernoulli(p, out=out) is out
    picked = framework.zeros(2, dtype=framework.int64)
    assert framework.multinomial(p, 2, out=picked) is picked


def test_generator_argument() -> None:
    """Every function draws from the generator it is given, and leaves the default one alone."""
    x, p = framework.zeros(20), framework.full((20,), 0.5)
    calls = [
        lambda g: framework.rand(20, generator=g),
        lambda g: framework.randn(20, generator=g),
        lambda g: framework.randint(9, (20,), generator=g),
        lambda g: framework.randperm(20, generator=g),
        lambda g: framework.normal(0.0, 1.0, (20,), generator=g),
        lambda g: framework.normal(x, 1.0, generator=g),
        lambda g: framework.bernoulli(p, generator=g),
        lambda g: p.bernoulli(0.5, generator=g),
        lambda g: framework.multinomial(p, 9, generator=g),
        lambda g: framework.rand_like(x, generator=g),
        lambda g: framework.randn_like(x, generator=g),
        lambda g: framework.randint_like(x, 9, generator=g),
        lambda g: x.clone().uniform_(generator=g),
        lambda g: x.clone().normal_(generator=g),
        lambda g: x.clone().random_(generator=g),
        lambda g: x.clone().bernoulli_(generator=g),
        lambda g: x.clone().bernoulli_(p, generator=g),
        lambda g: x.clone().cauchy_(generator=g),
        lambda g: x.clone().exponential_(generator=g),
        lambda g: x.clone().geometric_(0.3, generator=g),
        lambda g: x.clone().log_normal_(generator=g),
    ]
    before = framework.default_generator.dump()
    for call in calls:
        g = Generator().manual_seed(11)
        first, second = values(call(g)), values(call(g))
        assert not np.array_equal(first, second)
        np.testing.assert_array_equal(values(call(g.manual_seed(11))), first)
        with pytest.raises(TypeError, match="argument 'generator' must be Generator, not int"):
            call(3)
    assert framework.default_generator.dump() == before


# ---------------------------------------------------------------- memory


LAYOUTS = {
    "transposed": lambda x: x.t(),
    "permuted": lambda x: x.reshape(2, 5, 2).permute(2, 0, 1),
    "every second column": lambda x: x[:, ::2],
    "a column": lambda x: x[:, 1],
    "a row": lambda x: x[2],
}


@pytest.mark.every_device
@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_are_drawn_in_memory_order(layout: str, device: str) -> None:
    """Fill a view: its elements, sorted by their place in memory, are the stream's numbers in order."""
    view = LAYOUTS[layout]
    place = values(view(framework.arange(20, device=device).reshape(4, 5)))
    for fill, draw in (
        (lambda x: x.uniform_(), lambda g, n: g.uniform((n,), framework.float32)),
        (lambda x: x.normal_(), lambda g, n: g.normal((n,), framework.float32, 0.0, 1.0, layout == "a row")),
        (lambda x: x.bernoulli_(0.5), lambda g, n: g.bernoulli_scalar(0.5, (n,)).astype("f4")),
        (
            lambda x: x.bernoulli_(framework.full((), 0.5, device=device)),
            lambda g, n: g.bernoulli_tensor(np.full(n, 0.5, "f4")).astype("f4"),
        ),
    ):
        x = framework.full((4, 5), 7.0, device=device)
        g = seeded()
        target = view(x)
        fill(target)
        want = draw(g, place.size)
        equal(target.reshape(-1)[framework.tensor(np.argsort(place.ravel()), device=device)], want, g)
        untouched = np.setdiff1d(np.arange(20), place)
        assert (values(x).ravel()[untouched] == 7).all()


@pytest.mark.every_device
def test_like_keeps_the_memory_order(device: str) -> None:
    x = framework.zeros(4, 5, device=device).t()
    g = seeded()
    u, n = framework.rand_like(x), framework.randn_like(x)
    assert u.stride() == n.stride() == x.stride() == (1, 5)
    equal(u, g.uniform((4, 5), framework.float32).T)
    equal(n, g.normal((4, 5), framework.float32, 0.0, 1.0, False).T, g)
    row_major = framework.randn_like(x, memory_format=contiguous_format)
    assert row_major.stride() == (4, 1)
    equal(row_major, g.normal((5, 4), framework.float32), g)
    image = framework.zeros(2, 3, 4, 5, device=device)
    last = framework.rand_like(image, memory_format=channels_last)
    assert last.stride() == (60, 1, 15, 3)
    equal(last, g.uniform((2, 4, 5, 3), framework.float32).transpose(0, 3, 1, 2), g)
    wide = framework.rand_like(framework.zeros(1, 5, device=device).expand(4, 5))
    assert wide.stride() == (5, 1)
    equal(wide, g.uniform((4, 5), framework.float32), g)


@pytest.mark.parametrize(
    ("shape", "strides", "order"),
    [
        ((4, 5), (5, 1), None),
        ((5, 4), (1, 5), (1, 0)),
        ((2, 3, 4), (12, 1, 3), (0, 2, 1)),
        ((4, 1, 5), (1, 9, 4), (1, 2, 0)),
        ((3, 4), (0, 1), (0, 1)),
    ],
)
def test_memory_order(shape, strides, order) -> None:
    x = framework.zeros(200).as_strided(shape, strides)
    assert memory_order(x) == order


def test_like_takes_dtype_and_device() -> None:
    x = framework.zeros(3, dtype=framework.int64)
    assert framework.rand_like(x, dtype=framework.float64).dtype is framework.float64
    assert framework.randint_like(x, 5).dtype is framework.int64
    assert framework.randint_like(x, 2, 5, dtype=framework.float32).dtype is framework.float32
    assert framework.rand_like(x, dtype=framework.float32, device="frozen").device == framework.device("frozen")
    assert framework.rand_like(framework.zeros(2), requires_grad=True).requires_grad


# ---------------------------------------------------------------- the tape


def test_overwriting_leaves_a_gradient_of_zero(device: str) -> None:
    for fill in (
        lambda x: x.uniform_(),
        lambda x: x.normal_(),
        lambda x: x.random_(),
        lambda x: x.bernoulli_(0.5),
        lambda x: x.exponential_(),
        lambda x: x.bernoulli_(framework.full((3,), 0.5, device=device)),
    ):
        x = framework.ones(3, device=device, requires_grad=True)
        y = x * 2
        before = y._version
        fill(y)
        assert y.requires_grad
        assert y._version == before + 1
        y.sum().backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            fill(x)
        with framework.no_grad():
            fill(x)
        assert x._version == 1


def test_overwriting_part_leaves_the_rest_its_gradient(device: str) -> None:
    x = framework.ones(4, device=device, requires_grad=True)
    y = x * 3
    y[1:3].uniform_()
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 0.0, 0.0, 3.0]


def test_a_saved_tensor_must_not_be_overwritten() -> None:
    x = framework.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y.normal_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_memory_that_overlaps_itself_is_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        framework.zeros(1).expand(3).uniform_()


def test_samples_have_a_gradient_of_zero() -> None:
    p = framework.full((3,), 0.5, requires_grad=True)
    std = framework.ones(3, 1, dtype=framework.float64, requires_grad=True)
    for out in (framework.bernoulli(p), framework.normal(p, 1.0), framework.normal(p, std), framework.normal(0.0, std)):
        assert out.requires_grad
        found = grad(out.sum(), [p, std], allow_unused=True)
        assert all(
            g is None or not g.any() and tuple(g.shape) == tuple(x.shape) for g, x in zip(found, (p, std), strict=True)
        )
        assert any(g is not None for g in found)
    assert not framework.multinomial(p, 2).requires_grad


def test_forward_derivatives_are_zero_and_nothing_is_drawn_twice() -> None:
    g = seeded()
    p = framework.full((30,), 0.5)
    value, tangent = jvp(framework.bernoulli, (p,), (framework.ones(30),))
    equal(value, g.bernoulli_tensor(np.full(30, 0.5, "f4")).astype("f4"), g)
    assert tangent.tolist() == [0.0] * 30
    value, tangent = jvp(lambda x: x * framework.rand(3), (framework.ones(3),), (framework.ones(3),))
    equal(value, g.uniform((3,), framework.float32), g)
    assert tangent.tolist() == value.tolist()


# ---------------------------------------------------------------- vmap


VMAPPED = {
    "rand": (lambda r: framework.rand(2) + r, lambda g, n: g.uniform((*n, 2), framework.float32)),
    "randn": (
        lambda r: framework.randn(10, 2)[:, 0] + 0 * r[0],
        lambda g, n: g.normal((*n, 10, 2), framework.float32)[..., 0],
    ),
    "rand_like": (lambda r: framework.rand_like(r), lambda g, n: g.uniform((*n, 2), framework.float32)),
    "randint": (lambda r: framework.randint(50, (3,)), lambda g, n: g.integers(0, 50, (*n, 3))),
    "randperm": (
        lambda r: framework.randperm(7),
        lambda g, n: np.stack([g.permutation(7) for _ in range(n[0])]) if n else g.permutation(7),
    ),
    "uniform_": (lambda r: r.clone().uniform_(), lambda g, n: g.uniform((*n, 2), framework.float32)),
    "bernoulli": (
        lambda r: framework.bernoulli(framework.full((9,), 0.5)),
        lambda g, n: g.bernoulli_tensor(np.full((*n, 9), 0.5, "f4")),
    ),
    "bernoulli_": (lambda r: r.clone().bernoulli_(0.5), lambda g, n: g.bernoulli_scalar(0.5, (*n, 2))),
    "multinomial": (
        lambda r: framework.multinomial(framework.ones(9), 3),
        lambda g, n: g.multinomial(np.ones((*n, 9), "f4"), 3, False, framework.float32),
    ),
    "normal": (
        lambda r: framework.normal(framework.zeros(3), 2.0),
        lambda g, n: g.normal((*n, 3), framework.float32, 0.0, 2.0),
    ),
}


@pytest.mark.parametrize("name", VMAPPED)
def test_vmap_draws_for_each_example_or_once_or_not_at_all(name: str) -> None:
    f, draw = VMAPPED[name]
    x = framework.zeros(4, 2)
    g = seeded()
    equal(vmap(f, randomness="different")(x).double(), draw(g, (4,)).astype(float), g)
    g = seeded()
    same = vmap(f, randomness="same")(x)
    once = draw(g, ()).astype(float)
    equal(same.double(), np.broadcast_to(once, (4, *once.shape)), g)
    with pytest.raises(RuntimeError, match="while in randomness error mode"):
        vmap(f)(x)


def test_vmap_over_the_parameters() -> None:
    p = np.random.default_rng(2).uniform(0.1, 0.9, (4, 6)).astype("f4")
    t = framework.tensor(p)
    g = seeded()
    different = {"randomness": "different"}
    equal(vmap(framework.bernoulli, **different)(t), g.bernoulli_tensor(p).astype("f4"), g)
    equal(vmap(lambda q: framework.multinomial(q, 2), **different)(t), g.multinomial(p, 2, False, framework.float32), g)
    equal(vmap(lambda q: framework.normal(q, 1.0), **different)(t), g.normal((4, 6), framework.float32) + p, g)
    equal(vmap(lambda q: (q * 0).bernoulli_(q), **different)(t), g.bernoulli_tensor(p).astype("f4"), g)
    for f in (framework.bernoulli, lambda q: framework.multinomial(q, 2)):
        with pytest.raises(RuntimeError, match="does not support randomness='same'"):
            vmap(f, randomness="same")(t)


def test_vmap_cannot_write_different_numbers_into_one_tensor() -> None:
    shared = framework.zeros(2)
    with pytest.raises(RuntimeError, match="uniform_"):
        vmap(lambda r: shared.uniform_() + r, randomness="different")(framework.zeros(3, 2))


# ---------------------------------------------------------------- errors


def x(d: str = "float32"):
    return framework.zeros(3, dtype=dtype(d))


ERRORS = [
    (lambda: framework.rand(), TypeError, r"rand\(\) received an invalid combination"),
    (lambda: framework.rand(-1), RuntimeError, "negative dimension -1"),
    (
        lambda: framework.rand(2, dtype=framework.int64),
        NotImplementedError,
        "\"check_uniform_bounds\" not implemented for 'Long'",
    ),
    (lambda: framework.rand_like(x("int64")), NotImplementedError, "not implemented for 'Long'"),
    (lambda: framework.rand_like([1.0]), TypeError, "must be Tensor, not list"),
    (
        lambda: framework.randn(2, dtype=framework.bool),
        NotImplementedError,
        "\"normal_kernel_cpu\" not implemented for 'Bool'",
    ),
    (lambda: framework.randint(5), TypeError, "missing `size`"),
    (lambda: framework.randint(1, 2, 3, (4,)), TypeError, "the bounds are `high`, or `low` and `high`"),
    (lambda: framework.randint(0.5, (2,)), TypeError, "must be int, not float"),
    (lambda: framework.randint(5, 2, (2,)), RuntimeError, "from=5 >= to=2"),
    (
        lambda: framework.randint(0, 300, (2,), dtype=framework.uint8),
        RuntimeError,
        "to - 1 is out of bounds for unsigned char",
    ),
    (
        lambda: framework.randint(0, 3, (2,), dtype=framework.complex64),
        RuntimeError,
        "check_random_bounds handles only",
    ),
    (lambda: framework.randint_like([1], 5), TypeError, "must be Tensor, not list"),
    (lambda: framework.randperm(-1), RuntimeError, "negative dimension -1"),
    (lambda: framework.randperm(2.0), TypeError, "must be int, not float"),
    (
        lambda: framework.randperm(5, dtype=framework.bool),
        NotImplementedError,
        "\"randperm\" not implemented for 'Bool'",
    ),
    (lambda: framework.randperm(300, dtype=framework.uint8), RuntimeError, "n cannot be greater than 255"),
    (lambda: framework.randperm(3000, dtype=framework.float16), RuntimeError, "n cannot be greater than 2049"),
    (lambda: x().uniform_(1, 0), RuntimeError, "found from=1 > to=0"),
    (lambda: x().uniform_(math.nan, 1), RuntimeError, "from is out of bounds for float"),
    (lambda: x().uniform_(0, 1e39), RuntimeError, "to is out of bounds for float"),
    (lambda: x("float16").uniform_(0, 1e6), RuntimeError, "to is out of bounds for c10::Half"),
    (lambda: x().uniform_(-3e38, 3e38), RuntimeError, "result in to-from to exceed the limit"),
    (lambda: x("bool").uniform_(), NotImplementedError, "not implemented for 'Bool'"),
    (lambda: x().uniform_(0, 1, 2), TypeError, "takes 2 positional arguments but 3 were given"),
    (lambda: x().uniform_(0, high=1), TypeError, "unexpected keyword argument 'high'"),
    (lambda: x().normal_(0, -1), RuntimeError, "std >= 0.0, but found std -1"),
    (lambda: x("int64").normal_(), NotImplementedError, "not implemented for 'Long'"),
    (lambda: x().random_(5, 2), RuntimeError, "from=5 >= to=2"),
    (lambda: x().random_(0), RuntimeError, "from=0 >= to=0"),
    (lambda: x().random_(2.5), TypeError, "must be int, not float"),
    (lambda: x("uint8").random_(-1, 5), RuntimeError, "from is out of bounds for unsigned char"),
    (lambda: x("bool").random_(0, 3), RuntimeError, "to - 1 is out of bounds for bool"),
    (lambda: x("float16").random_(0, 70000), RuntimeError, "to - 1 is out of bounds for c10::Half"),
    (lambda: x("complex64").random_(), NotImplementedError, "\"random_kernel_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: x("complex64").random_(0, 5), RuntimeError, "check_random_bounds handles only"),
    (lambda: x().bernoulli_(2.0), RuntimeError, "but got p=2"),
    (lambda: x("complex64").bernoulli_(), NotImplementedError, "not implemented for 'ComplexFloat'"),
    (lambda: x().bernoulli_(framework.ones(3, 3)), RuntimeError, "number of sizes provided"),
    (
        lambda: x().bernoulli_(framework.ones(3, dtype=framework.int64)),
        NotImplementedError,
        "not implemented for 'Long'",
    ),
    (lambda: x().exponential_(0.0), RuntimeError, "found lambda=0"),
    (lambda: x("int64").exponential_(), RuntimeError, "you specified Long"),
    (lambda: x().geometric_(1.0), RuntimeError, r"p to be in \(0, 1\), but got p=1"),
    (lambda: x("bool").geometric_(0.5), NotImplementedError, "\"geometric_cpu\" not implemented for 'Bool'"),
    (lambda: x().cauchy_(0, 0), RuntimeError, "found sigma=0"),
    (lambda: x("complex64").cauchy_(), RuntimeError, "Cauchy distribution is a continuous probability distribution"),
    (lambda: x().log_normal_(0, -1), RuntimeError, "found std=-1"),
    (lambda: x("int64").log_normal_(), NotImplementedError, "\"log_normal_cpu\" not implemented for 'Long'"),
]


@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_errors(index: int) -> None:
    call, kind, text = ERRORS[index]
    before = framework.default_generator.dump()
    with pytest.raises(kind, match=text):
        call()
    assert framework.default_generator.dump() == before


def test_integers_beyond_the_mantissa_warn() -> None:
    with pytest.warns(UserWarning, match=r"to - 1 is out of bounds \[-\(2\^24\), 2\^24\]"):
        found = framework.zeros(200).random_(0, 2**25)
    assert found.amax() < 2**25


def test_random_from_a_number_up() -> None:
    for d, top in (("uint8", 255), ("int8", 127), ("bool", 1), ("float16", 2**11), ("int64", 2**63 - 1)):
        found = framework.zeros(50, dtype=dtype(d)).random_(1, None).double()
        assert found.amin() >= 1
        assert found.amax() <= top
    g = seeded()
    equal(x("int64").random_(-(2**63), None), g.integers(-(2**63), 2**63, (3,)), g)


def test_named_bounds() -> None:
    g = seeded()
    equal(x().uniform_(to=2.0, **{"from": 1.0}), g.uniform((3,), framework.float32, 1.0, 2.0), g)
    equal(x().random_(to=5, **{"from": 1}), g.integers(1, 5, (3,)), g)
    equal(x().random_(5), g.integers(0, 5, (3,)), g)
    equal(x().uniform_(framework.tensor(1.0), 2.0), g.uniform((3,), framework.float32, 1.0, 2.0), g)


# ---------------------------------------------------------------- seeds and states


def test_manual_seed_starts_the_stream() -> None:
    assert framework.manual_seed(4) is framework.default_generator
    first = framework.rand(3).tolist()
    assert framework.initial_seed() == 4
    framework.random.manual_seed(4.0)
    assert framework.rand(3).tolist() == first
    framework.manual_seed(-1)
    assert framework.initial_seed() == 2**64 - 1
    with pytest.raises(ValueError):
        framework.manual_seed(2**64)
    drawn = framework.seed()
    assert framework.initial_seed() == drawn


def test_states() -> None:
    framework.manual_seed(4)
    framework.randn(3)
    state = framework.get_rng_state()
    assert state.dtype is framework.uint8
    assert tuple(state.shape) == (5056,)
    first = framework.randn(5).tolist()
    framework.set_rng_state(state)
    assert framework.randn(5).tolist() == first


def test_fork_rng() -> None:
    framework.manual_seed(4)
    with framework.random.fork_rng():
        inside = framework.rand(3).tolist()
    assert framework.rand(3).tolist() == inside
    before = framework.default_generator.dump()
    with pytest.raises(RuntimeError, match="negative dimension"), framework.random.fork_rng(devices=[]):
        framework.rand(framework.randint(3, (1,)).item() - 9)
    assert framework.default_generator.dump() == before
    with framework.random.fork_rng(enabled=False):
        framework.rand(3)
    assert framework.default_generator.dump() != before

    @framework.random.fork_rng()
    def draws():
        return framework.rand(3).tolist()

    before = framework.default_generator.dump()
    draws()
    assert framework.default_generator.dump() == before


def test_fork_rng_of_a_device() -> None:
    pytest.importorskip("mlx")
    framework.random_mode("native")
    try:
        framework.manual_seed(4)
        first = framework.rand(3, device="mlx:cpu").tolist()
        assert framework.rand(3).tolist() == first  # a stream of its own, of the same seed
        for devices in (None, ["mlx:cpu"]):
            with framework.random.fork_rng(devices):
                second = framework.rand(3, device="mlx:cpu").tolist()
            assert framework.rand(3, device="mlx:cpu").tolist() == second != first
            framework.manual_seed(4)
            framework.rand(3, device="mlx:cpu")
    finally:
        framework.random_mode("portable")


def test_a_generator_of_a_device() -> None:
    pytest.importorskip("mlx")
    g = Generator("mlx:cpu").manual_seed(5)
    assert g.device == framework.device("mlx:cpu")
    equal(framework.rand(3, device="mlx:cpu", generator=g), Generator().manual_seed(5).uniform((3,), framework.float32))
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'mps'"):
        framework.rand(3, generator=g)


def test_inference_mode() -> None:
    with framework.inference_mode():
        t = framework.rand(3)
        assert t.is_inference()
        t.uniform_()
