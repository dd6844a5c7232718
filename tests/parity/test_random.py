"""The same calls from the same seed draw PyTorch's numbers on the CPU, and leave the generator in the same state."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import framework
from framework.func import vmap

SIZES = ((), (0,), (1,), (15,), (16,), (17,), (20,), (31,), (32,), (1000,), (3, 7), (4, 4), (5, 7), (2, 0, 3))
FLOATS = ("float32", "float64", "float16", "bfloat16")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
SEEDS = (0, 7, 67280421310721, -3, 2**63 + 5)


def _own_stream() -> bool:
    """Whether PyTorch draws `bernoulli_` and `exponential_` from its generator; on some Intel processors MKL does."""
    torch.manual_seed(0)
    torch.empty(100).bernoulli_(0.5)
    after = torch.get_rng_state()
    torch.manual_seed(0)
    torch.empty(200, dtype=torch.int32).random_()
    return torch.equal(after, torch.get_rng_state())


OWN_STREAM = _own_stream()
from_own_stream = pytest.mark.skipif(
    not OWN_STREAM, reason="this PyTorch draws these numbers from MKL, whose streams differ"
)


def array(t):
    """The values as a NumPy array, half types widened."""
    if isinstance(t, torch.Tensor):
        return (t.float() if t.dtype in (torch.float16, torch.bfloat16) else t).detach().numpy()
    return (t.float() if t.dtype in (framework.float16, framework.bfloat16) else t).detach().numpy()


def both(call, seed: int = 7, tolerance: float = 0.0, strides: bool = True) -> None:
    """Run `call(module)` from one seed in both libraries: results and states agree."""
    torch.manual_seed(seed)
    framework.manual_seed(seed)
    want, got = call(torch), call(framework)
    wants, gots = (want, got) if isinstance(want, (tuple, list)) else ([want], [got])
    assert len(wants) == len(gots)
    for w, g in zip(wants, gots, strict=True):
        assert str(g.dtype).split(".")[-1] == str(w.dtype).split(".")[-1]
        assert tuple(g.shape) == tuple(w.shape)
        assert not strides or g.stride() == w.stride() or not w.numel()
        if tolerance:
            np.testing.assert_allclose(array(g), array(w), rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(array(g), array(w))
    assert framework.get_rng_state().tolist() == torch.get_rng_state().tolist()


def dtype(module, name: str):
    return getattr(module, name)


def normal_tolerance(name: str, count: int) -> float:
    """In blocks of 16, PyTorch's float32 logarithm and cosine are its own; half types are then rounded."""
    if count < 16 or name in ("float64", "complex128"):
        return 0.0
    return {"float16": 2.0**-10, "bfloat16": 2.0**-7}.get(name, 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_words(seed):
    both(lambda m: m.randint(-(2**63), 2**63 - 1, (2000,)), seed)


@pytest.mark.parametrize("name", FLOATS + COMPLEX)
def test_rand(name):
    for size in SIZES:
        both(lambda m, s=size: m.rand(s, dtype=dtype(m, name)))
        for bounds in ((0.0, 0.3), (-0.3, 0.3), (0.1, 0.7), (1000.0, 1003.7), (-1e4, 1e-3), (2.0, 2.0)):
            both(lambda m, s=size, b=bounds: m.zeros(s, dtype=dtype(m, name)).uniform_(*b))


@pytest.mark.parametrize("name", FLOATS + COMPLEX)
def test_many_uniforms(name):
    for bounds in ((0.0, 1.0), (-0.3, 0.3), (0.1, 0.7), (1000.0, 1003.7)):
        both(lambda m, b=bounds: m.zeros(70001, dtype=dtype(m, name)).uniform_(*b))


def test_uniforms_that_round_to_the_upper_bound():
    both(lambda m: m.zeros(500).uniform_(2.0**24, 2.0**24 + 2))
    both(lambda m: m.zeros(500, dtype=m.float64).uniform_(2.0**53, 2.0**53 + 2))


@pytest.mark.parametrize("name", FLOATS + COMPLEX)
def test_randn(name):
    for size in SIZES:
        count = math.prod(size) * (2 if name in COMPLEX else 1)
        tolerance = normal_tolerance(name, count)
        both(lambda m, s=size: m.randn(s, dtype=dtype(m, name)), tolerance=tolerance)
        both(lambda m, s=size: m.zeros(s, dtype=dtype(m, name)).normal_(0.3, 1.7), tolerance=tolerance)
        if name not in COMPLEX:
            both(lambda m, s=size: m.normal(0.3, 1.7, s, dtype=dtype(m, name)), tolerance=tolerance)


def test_most_float32_normals_are_the_same_bits():
    torch.manual_seed(1)
    framework.manual_seed(1)
    want, got = torch.randn(160000).numpy(), framework.randn(160000).numpy()
    assert (want == got).mean() > 0.75
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-7)


def test_many_float64_normals():
    both(lambda m: m.randn(100003, dtype=m.float64))
    both(lambda m: m.zeros(70001, 2, dtype=m.float64)[:, 0].normal_(0.3, 1.7))


@pytest.mark.parametrize("name", FLOATS)
def test_the_normal_left_over_is_used_next(name):
    def program(m):
        d = dtype(m, name)
        return [
            m.randn(3, dtype=d),
            m.rand(2),
            m.randn(4, dtype=m.float64),
            m.zeros(5, dtype=d).log_normal_(0.3, 0.7),
            m.randn(1),
            m.randn(20, dtype=m.float64),
            m.randn(2),
        ]

    both(program)


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_integers(name):
    for size in SIZES:
        both(lambda m, s=size: m.zeros(s, dtype=dtype(m, name)).random_())
        both(lambda m, s=size: m.zeros(s, dtype=dtype(m, name)).random_(0, 2))
        both(lambda m, s=size: m.zeros(s, dtype=dtype(m, name)).random_(1, None))
        if name != "bool":
            both(lambda m, s=size: m.randint(3, 100, s, dtype=dtype(m, name)))


def test_integers_of_wide_ranges():
    for span in (2**28 - 1, 2**28, 2**28 + 1, 2**31, 2**32, 2**40, 2**63 - 1):
        both(lambda m, s=span: [m.randint(s, (50,)), m.zeros(50, dtype=m.int64).random_(s), m.rand(2)])
        if span < 2**40:
            both(lambda m, s=span: m.randint(s // 2, (50,), dtype=m.int32))
    both(lambda m: m.randint(-(2**63), 2**63 - 1, (50,)))
    both(lambda m: m.zeros(50, dtype=m.int64).random_(-(2**63), None))


@pytest.mark.filterwarnings("ignore:.*out of bounds.*Due to precision limitations")
@pytest.mark.parametrize("name", FLOATS)
def test_integers_beyond_the_mantissa(name):
    for bounds in ((0, 2**25), (-(2**25) - 1, 3), (0, 2**54 + 1), (-(2**60), 2**60), (300, 3001), (-257, 513)):
        if name == "float16" and max(map(abs, bounds)) > 65504:
            continue
        both(lambda m, b=bounds: m.zeros(50, dtype=dtype(m, name)).random_(*b))
    both(lambda m: m.zeros(50, dtype=dtype(m, name)).random_(-(2**11) - 2, None))


def test_randperm():
    for n in (0, 1, 2, 3, 10, 1000, 100000):
        both(lambda m, n=n: m.randperm(n))
    for name in ("int32", "uint8", "int16", "float32", "float64", "float16", "bfloat16"):
        both(lambda m, name=name: m.randperm(100, dtype=dtype(m, name)))


@from_own_stream
@pytest.mark.parametrize("name", FLOATS)
def test_exponential(name):
    for size in SIZES:
        both(
            lambda m, s=size: [
                m.zeros(s, dtype=dtype(m, name)).exponential_(),
                m.zeros(s, dtype=dtype(m, name)).exponential_(3.0),
            ]
        )


@from_own_stream
@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_bernoulli_of_a_number(name):
    for size in SIZES:
        for p in (0.0, 0.3, 1.0):
            both(lambda m, s=size, p=p: m.zeros(s, dtype=dtype(m, name)).bernoulli_(p))
            both(lambda m, s=size, p=p: m.bernoulli(m.zeros(s, dtype=dtype(m, name)), p))


@from_own_stream
def test_many_of_both():
    both(
        lambda m: [
            m.zeros(100001).bernoulli_(0.3),
            m.zeros(100001).exponential_(2.0),
            m.zeros(20001, dtype=m.float64).exponential_(3.0),
        ]
    )


def test_moments_of_exponential_and_bernoulli():
    """Whatever stream PyTorch draws them from: the same distributions."""
    n = 200000
    for call, mean, std in (
        (lambda m: m.zeros(n).exponential_(2.0), 0.5, 0.5),
        (lambda m: m.zeros(n).bernoulli_(0.3), 0.3, math.sqrt(0.21)),
    ):
        torch.manual_seed(3)
        framework.manual_seed(3)
        for m in (torch, framework):
            x = array(call(m)).astype(np.float64)
            assert abs(x.mean() - mean) < 5 * std / math.sqrt(n)
            assert abs(x.std() - std) < 0.01


@pytest.mark.parametrize("name", FLOATS)
def test_bernoulli_of_a_tensor(name):
    def chances(m, *shape):
        return (
            m.linspace(0.05, 0.95, math.prod(shape)).reshape(shape).to(dtype(m, name))
            if m is torch
            else m.tensor(torch.linspace(0.05, 0.95, math.prod(shape)).reshape(shape).numpy(), dtype=dtype(m, name))
        )

    for size in ((20,), (4, 5)):
        both(
            lambda m, s=size: [
                m.bernoulli(chances(m, *s)),
                m.zeros(s).bernoulli_(chances(m, *s)),
                m.zeros(s, dtype=m.int64).bernoulli_(chances(m, *s)),
            ]
        )
    both(
        lambda m: [
            m.bernoulli(chances(m, 4, 5).t()),
            m.bernoulli(m.zeros(4, 5).t(), 0.5),
            m.zeros(4, 5).t().bernoulli_(chances(m, 4)),
            m.zeros(5, 4).bernoulli_(chances(m, 4, 5).t()),
        ]
    )


@pytest.mark.parametrize("name", FLOATS)
def test_cauchy_log_normal_geometric(name):
    for size in SIZES:
        both(
            lambda m, s=size: [
                m.zeros(s, dtype=dtype(m, name)).cauchy_(),
                m.zeros(s, dtype=dtype(m, name)).cauchy_(0.3, 1.7),
            ]
        )
        both(
            lambda m, s=size: [
                m.zeros(s, dtype=dtype(m, name)).log_normal_(),
                m.zeros(s, dtype=dtype(m, name)).log_normal_(0.3, 1.7),
            ]
        )
        both(
            lambda m, s=size: [
                m.zeros(s, dtype=dtype(m, name)).geometric_(0.3),
                m.zeros(s, dtype=m.int64).geometric_(0.01),
            ]
        )


@from_own_stream
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("replacement", [False, True])
def test_multinomial(name, replacement):
    weights = np.random.default_rng(1).uniform(0.1, 2, (3, 50))
    for count in (1, 2, 20) if name in ("float32", "float64") or replacement else (1,):  # half types tie, in any order
        both(lambda m, c=count: m.multinomial(m.tensor(weights, dtype=dtype(m, name)), c, replacement))
        both(lambda m, c=count: m.tensor(weights[0], dtype=dtype(m, name)).multinomial(c, replacement))


@from_own_stream
def test_multinomial_in_memory_order():
    weights = np.random.default_rng(1).uniform(0.1, 2, (50, 6))
    for count, replacement in ((1, False), (7, False), (7, True)):
        both(
            lambda m, c=count, r=replacement: [
                m.multinomial(p(m.tensor(weights)), c, r) for p in (lambda t: t.t(), lambda t: t.t()[:, ::2])
            ]
        )


def test_multinomial_of_many_categories():
    weights = np.random.default_rng(1).uniform(0.1, 2, 20000)
    for name in FLOATS:
        both(lambda m, name=name: m.multinomial(m.tensor(weights, dtype=dtype(m, name)), 4000, True))


def test_normal_around_tensors():
    mean, std = np.linspace(-1, 1, 20), np.linspace(0.1, 2, 20)

    def program(m):
        a, b = m.tensor(mean), m.tensor(std)
        c, d = m.tensor(mean[:4, None]), m.tensor(std[:5])
        return [
            m.normal(a, b),
            m.normal(a, 2.0),
            m.normal(0.5, b),
            m.normal(a),
            m.normal(c, d),
            m.normal(a.reshape(4, 5).t(), b.reshape(4, 5).t()),
            m.normal(a, b.float()),
            m.normal(a[:15].float(), b[:15]),
        ]

    both(program)


LAYOUTS = {
    "transposed": lambda m, d: m.zeros(4, 5, dtype=d).t(),
    "sliced": lambda m, d: m.zeros(6, 8, dtype=d)[:, ::2],
    "column": lambda m, d: m.zeros(20, 3, dtype=d)[:, 1],
    "row": lambda m, d: m.zeros(3, 20, dtype=d)[1],
    "permuted": lambda m, d: m.zeros(2, 3, 4, dtype=d).permute(2, 0, 1),
    "permuted and sliced": lambda m, d: m.zeros(4, 3, 6, dtype=d).permute(1, 2, 0)[:, 1:5],
    "strided": lambda m, d: m.zeros(100, dtype=d).as_strided((3, 4), (2, 20)),
    "ones": lambda m, d: m.zeros(5, 1, 4, dtype=d).permute(2, 1, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["float64", "float32", "float16"])
def test_memory_order(layout, name):
    make = LAYOUTS[layout]
    for fill in (
        lambda x: x.uniform_(),
        lambda x: x.random_(1000),
        lambda x: x.cauchy_(),
        lambda x: x.geometric_(0.3),
        lambda x: x.random_(),
    ):
        both(lambda m, f=fill: [f(make(m, dtype(m, name))), m.rand(2)])
    both(lambda m: make(m, dtype(m, name)).normal_(), tolerance=normal_tolerance(name, 20) if layout == "row" else 0.0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_like(layout):
    make = LAYOUTS[layout]
    both(
        lambda m: [
            f(make(m, m.float64))
            for f in (m.rand_like, m.randn_like, lambda x: m.randint_like(x, 9), lambda x: m.randint_like(x, 3, 9))
        ]
    )


def test_like_expanded():
    both(
        lambda m: [
            m.rand_like(m.zeros(1, 5).expand(4, 5)),
            m.randn_like(m.zeros(4, 1, dtype=m.float64).expand(4, 5)),
            m.rand_like(m.zeros(3, 1, 5).expand(3, 4, 5).permute(2, 0, 1)),
        ]
    )


CALLS = {
    "rand": lambda m, n: m.rand(n),
    "randn": lambda m, n: m.randn(n, dtype=m.float64),
    "few": lambda m, n: m.randn(n % 16),
    "randint": lambda m, n: m.randint(n + 1, (n,)),
    "wide": lambda m, n: m.randint(2**40, (n,)),
    "randperm": lambda m, n: m.randperm(n),
    "cauchy": lambda m, n: m.zeros(n).cauchy_(),
    "geometric": lambda m, n: m.zeros(n).geometric_(0.2),
    "log_normal": lambda m, n: m.zeros(n).log_normal_(),
    "bernoulli": lambda m, n: m.bernoulli(m.full((n,), 0.3)),
    "complex": lambda m, n: m.randn(n, dtype=m.complex128),
    "half": lambda m, n: m.rand(n, dtype=m.float16),
    "row": lambda m, n: m.zeros(n, 2, dtype=m.float64)[:, 0].normal_(),
    "state": lambda m, n: m.set_rng_state(m.get_rng_state()) or m.rand(1),
}


@pytest.mark.parametrize("seed", range(40))
def test_interleaved(seed):
    rng = np.random.default_rng(seed)
    program = [(str(rng.choice(list(CALLS))), int(rng.integers(0, 40))) for _ in range(12)]
    both(lambda m: [CALLS[name](m, n) for name, n in program], seed)


def test_states_move_between_the_libraries():
    """A state saved by one library continues in the other."""
    for count in (0, 1, 3, 700, 1248):
        torch.manual_seed(9)
        torch.rand(count)
        torch.randn(1)
        framework.set_rng_state(framework.tensor(torch.get_rng_state().numpy()))
        np.testing.assert_array_equal(framework.randn(5).numpy(), torch.randn(5).numpy())
        framework.rand(count)
        torch.set_rng_state(torch.tensor(framework.get_rng_state().tolist(), dtype=torch.uint8))
        np.testing.assert_array_equal(framework.randn(7).numpy(), torch.randn(7).numpy())


def test_generators():
    a, b = torch.Generator(), framework.Generator()
    assert a.initial_seed() == b.initial_seed()
    for seed in SEEDS:
        a.manual_seed(seed)
        b.manual_seed(seed)
        assert a.initial_seed() == b.initial_seed()
        np.testing.assert_array_equal(framework.randn(9, generator=b).numpy(), torch.randn(9, generator=a).numpy())
        c, d = a.clone_state(), b.clone_state()
        np.testing.assert_array_equal(framework.rand(9, generator=d).numpy(), torch.rand(9, generator=c).numpy())
        assert d.get_state().tolist() == c.get_state().tolist()


@pytest.mark.parametrize("randomness", ["same", "different"])
def test_vmap(randomness):
    map_of = {torch: torch.func.vmap, framework: vmap}
    for f in (
        lambda m, r: r + m.rand(2),
        lambda m, r: r + m.randn(2).double(),
        lambda m, r: m.randperm(9),
        lambda m, r: m.randint(50, (3,)),
        lambda m, r: m.rand_like(r),
        lambda m, r: (r * 1).uniform_(),
        lambda m, r: m.bernoulli(m.full((5,), 0.5)),
        lambda m, r: m.multinomial(m.ones(5), 2, True),
    ):
        both(lambda m, f=f: map_of[m](lambda r: f(m, r), randomness=randomness)(m.zeros(4, 2)), strides=False)


def test_vmap_over_the_parameters():
    p = np.random.default_rng(2).uniform(0.1, 0.9, (4, 6))
    both(lambda m: (torch.func.vmap if m is torch else vmap)(m.bernoulli, randomness="different")(m.tensor(p)))
    both(
        lambda m: (torch.func.vmap if m is torch else vmap)(lambda q: m.normal(q, 1.0), randomness="different")(
            m.tensor(p)
        )
    )


ERRORS = [
    lambda m: m.rand(2, dtype=m.int64),
    lambda m: m.randn(2, dtype=m.int64),
    lambda m: m.rand(),
    lambda m: m.rand(-1),
    lambda m: m.randint(5, 2, (2,)),
    lambda m: m.randint(0, 300, (2,), dtype=m.uint8),
    lambda m: m.randint(5),
    lambda m: m.randperm(-1),
    lambda m: m.randint(0, 5, (2,), dtype=m.complex64),
    lambda m: m.randperm(5, dtype=m.bool),
    lambda m: m.randperm(300, dtype=m.uint8),
    lambda m: m.randperm(3000, dtype=m.float16),
    lambda m: m.randperm(2.0),
    lambda m: m.normal(0.0, 1.0),
    lambda m: m.normal(m.zeros(2), -1.0),
    lambda m: m.normal(m.zeros(2), m.tensor([-1.0, 1.0])),
    lambda m: m.normal(m.zeros(2), m.ones(3)),
    lambda m: m.normal(m.zeros(2), m.ones(2, dtype=m.complex64)),
    lambda m: m.normal(m.zeros(2), m.ones(2), (2,)),
    lambda m: m.bernoulli(m.tensor([0.0, 1.5])),
    lambda m: m.bernoulli(m.tensor([1, 0])),
    lambda m: m.zeros(3).bernoulli_(2.0),
    lambda m: m.zeros(3).bernoulli_(m.ones(3, 3)),
    lambda m: m.zeros(3, dtype=m.complex64).bernoulli_(),
    lambda m: m.zeros(3).uniform_(1, 0),
    lambda m: m.zeros(3, dtype=m.int64).uniform_(),
    lambda m: m.zeros(3).uniform_(math.nan, 1),
    lambda m: m.zeros(3).normal_(0, -1),
    lambda m: m.zeros(3).exponential_(0.0),
    lambda m: m.zeros(3, dtype=m.int64).exponential_(),
    lambda m: m.zeros(3).geometric_(1.0),
    lambda m: m.zeros(3, dtype=m.bool).geometric_(0.5),
    lambda m: m.zeros(3).cauchy_(0, 0),
    lambda m: m.zeros(3).log_normal_(0, 0),
    lambda m: m.zeros(3).random_(5, 2),
    lambda m: m.zeros(3, dtype=m.uint8).random_(-1, 5),
    lambda m: m.zeros(3, dtype=m.bool).random_(0, 3),
    lambda m: m.zeros(3, dtype=m.complex64).random_(),
    lambda m: m.zeros(3).random_(2.5),
    lambda m: m.zeros(1).expand(3).uniform_(),
    lambda m: m.zeros(3, requires_grad=True).uniform_(),
    lambda m: m.multinomial(m.zeros(2), 1),
    lambda m: m.multinomial(m.tensor([-1.0, 2.0]), 1),
    lambda m: m.multinomial(m.tensor([1.0, 2.0]), 3),
    lambda m: m.multinomial(m.ones(2, 2, 2), 1),
    lambda m: m.multinomial(m.ones(2), 0),
    lambda m: m.multinomial(m.tensor([1, 2]), 1),
    lambda m: m.multinomial(m.zeros(2), 3, True),
    lambda m: m.manual_seed(2**64),
    lambda m: m.rand(2, generator=3),
    lambda m: m.set_rng_state(m.zeros(10, dtype=m.uint8)),
    lambda m: m.set_rng_state(m.zeros(5056)),
    lambda m: m.set_rng_state(m.zeros(5056, dtype=m.uint8)),
    lambda m: m.rand_like(m.zeros(2, dtype=m.int64)),
    lambda m: m.rand(2, out=m.zeros(2), dtype=m.float64),
    lambda m: m.randint(0, 2, (2,), requires_grad=True),
]


@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_errors(index):
    """The same class of error."""
    call = ERRORS[index]
    with pytest.raises(Exception) as theirs:
        call(torch)
    with pytest.raises(Exception) as ours:
        call(framework)
    assert ours.type is theirs.type


def test_gradients_of_draws():
    def program(m):
        p = m.full((3,), 0.5, requires_grad=True)
        y = p * 2
        y.uniform_()
        (y.sum() + m.bernoulli(p).sum() + m.normal(p, 1.0).sum()).backward()
        return p.grad

    both(program)
