"""The host's random streams against a slow reference, word for word; their states, seeds, threads and processes."""

from __future__ import annotations

import copy
import math
import os
import pickle
import struct
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends import dtypes
from framework.core import generator as generators
from framework.core.exact import libm, multiply_add, multiply_add_f32
from framework.core.generator import Generator
from framework.core.mersenne import CHUNK
from tests.sources import ROOT

from . import random_reference as reference
from .random_reference import Twister, nearest

REAL = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("bool", "uint8", "int8", "int16", "int32", "int64")
SIZES = (0, 1, 2, 15, 16, 17, 20, 31, 32, 333)
seeds = st.integers(-(2**63), 2**64 - 1)
sizes = st.integers(0, 70)
real = st.sampled_from(REAL)


def d(name: str) -> dtypes.dtype:
    return dtypes.BY_NAME[name]


def both(seed: int = 7) -> tuple[Generator, Twister]:
    return Generator().manual_seed(seed), Twister(seed)


def agree(got: np.ndarray, want: list, g: Generator, r: Twister) -> None:
    """Equal values, and the streams stand at the same place: the next words and the kept normal are the same."""
    assert got.astype(np.float64).ravel().tolist() == want if got.dtype.kind == "V" else got.ravel().tolist() == want
    same_place(g, r)


def same_place(g: Generator, r: Twister) -> None:
    assert g.kept == r.kept
    assert g.clone_state().words(3).tolist() == [copy.deepcopy(r).word()] + words_after(r)


def words_after(r: Twister) -> list[int]:
    r = copy.deepcopy(r)
    r.word()
    return [r.word(), r.word()]


# ---------------------------------------------------------------- the engine


@given(seeds)
def test_words_are_the_engines(seed):
    g, r = both(seed)
    assert g.words(5).tolist() == [r.word() for _ in range(5)]
    assert g.long_words(3).tolist() == [r.long() for _ in range(3)]
    assert g.floats(4).tolist() == [r.float() for _ in range(4)]
    assert g.doubles(4).tolist() == [r.double() for _ in range(4)]


def test_words_across_refills():
    g, r = both(5489)
    for count in (600, 23, 1, 2, 1300):
        assert g.words(count).tolist() == [r.word() for _ in range(count)]
    # the 10000th word of the authors' default seed, as the C++ standard states it ([rand.predef])
    assert Generator().manual_seed(5489).words(10000)[-1] == 4123659995


def test_draws_larger_than_a_chunk():
    n = CHUNK + 21
    whole = Generator().manual_seed(3)
    parts = Generator().manual_seed(3)
    for draw in ("floats", "doubles"):
        assert np.array_equal(
            getattr(whole, draw)(n), np.concatenate([getattr(parts, draw)(n - 10), getattr(parts, draw)(10)])
        )
    for sample in (
        lambda g, n: g.uniform((n,), d("float32"), -0.3, 0.7),
        lambda g, n: g.uniform((n,), d("bfloat16")),
        lambda g, n: g.integers(-5, 2**40, (n,)),
        lambda g, n: g.random_full((n,), d("int16")),
        lambda g, n: g.exponential((n,), d("float32")),
        lambda g, n: g.bernoulli_scalar(0.3, (n,)),
        lambda g, n: g.normal((n,), d("float64"), 1.0, 2.0, blocks=False),
        lambda g, n: g.normal((n - n % 16,), d("float32")),
    ):
        first = n - 32 - n % 16 + n % 16  # an even split, in whole blocks
        first -= first % 32
        got = sample(whole, n)
        want = np.concatenate([sample(parts, first), sample(parts, n - first)])
        assert np.array_equal(got, want)
        assert whole.dump() == parts.dump()


# ---------------------------------------------------------------- the rules


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(
    "bounds", [(0.0, 1.0), (0.0, 0.3), (-0.3, 0.3), (0.1, 0.7), (1000.0, 1003.7), (-1e30, 1e-3), (5.0, 5.0)]
)
def test_uniform(dtype, bounds):
    if dtype == "float16" and abs(bounds[0]) > 60000:
        bounds = (-1e4, 1e-3)
    for n in SIZES:
        g, r = both(n)
        agree(g.uniform((n,), d(dtype), *bounds), reference.uniform(r, n, dtype, *bounds), g, r)


def test_uniform_never_gives_the_upper_bound():
    assert set(Generator().uniform((200,), d("float32"), 2.0**24, 2.0**24 + 2).tolist()) == {2.0**24}
    assert set(Generator().uniform((200,), d("float64"), 2.0**53, 2.0**53 + 2).tolist()) == {2.0**53}
    for half in ("float16", "bfloat16"):
        assert float(Generator().uniform((100000,), d(half)).astype(np.float32).max()) < 1


@given(seeds, sizes, real, st.floats(-100, 100, width=16), st.floats(0, 100, width=16))
def test_uniform_between_any_bounds(seed, n, dtype, low, width):
    g, r = both(seed)
    agree(g.uniform((n,), d(dtype), low, low + width), reference.uniform(r, n, dtype, low, low + width), g, r)


@pytest.mark.parametrize(("dtype", "part"), [("complex64", "float32"), ("complex128", "float64")])
def test_complex_numbers_are_two_real_ones(dtype, part):
    for n in (0, 3, 7, 8, 10, 16):
        g, h = both(n)[0], both(n)[0]
        got = [g.uniform((n,), d(dtype), -1.0, 2.0), g.normal((n,), d(dtype), 0.5, 2.0)]
        want = [h.uniform((n, 2), d(part), -1.0, 2.0), h.normal((n, 2), d(part), 0.5, 2.0 / math.sqrt(2.0))]
        for x, y in zip(got, want, strict=True):
            assert x.dtype == dtype
            assert np.array_equal(x.real, y[:, 0])
            assert np.array_equal(x.imag, y[:, 1])
        assert g.dump() == h.dump()


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8", "float32", "float64", "float16"])
@pytest.mark.parametrize("bounds", [(0, 10), (-5, 100), (0, 1), (0, 128)])
def test_integers(dtype, bounds):
    if dtype == "uint8":
        bounds = (0, bounds[1])
    for n in SIZES:
        g, r = both(n)
        agree(g.integers(*bounds, (n,), d(dtype)), reference.integers(r, n, *bounds), g, r)


@pytest.mark.parametrize(
    "bounds", [(0, 2**28 - 1), (0, 2**28), (-(2**27), 2**27), (0, 2**32), (-3, 2**40), (-(2**63), 2**63 - 1)]
)
def test_integers_of_wide_ranges_take_two_words(bounds):
    g, r = both()
    agree(g.integers(*bounds, (20,)), reference.integers(r, 20, *bounds), g, r)


def test_integers_of_all_of_int64_are_the_draws_themselves():
    g, r = both()
    agree(
        g.integers(-(2**63), 2**63, (20,)),
        [x - 2**64 if x >= 2**63 else x for x in (r.long() for _ in range(20))],
        g,
        r,
    )


@given(seeds, sizes, st.integers(-(2**62), 2**62), st.integers(1, 2**62))
def test_integers_in_any_range(seed, n, low, span):
    g, r = both(seed)
    agree(g.integers(low, low + span, (n,)), reference.integers(r, n, low, low + span), g, r)


@pytest.mark.parametrize("dtype", INTEGERS + REAL)
def test_random_full(dtype):
    for n in SIZES:
        g, r = both(n)
        agree(g.random_full((n,), d(dtype)), reference.random_full(r, n, dtype), g, r)


@given(seeds, st.integers(0, 300))
def test_permutation(seed, n):
    g, r = both(seed)
    agree(g.permutation(n), reference.permutation(r, n), g, r)


def test_a_long_permutation():
    g, r = both()
    agree(g.permutation(30000), reference.permutation(r, 30000), g, r)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 1.7)])
def test_normal_of_few_numbers(dtype, mean, std):
    for n in (*range(6), 14, 15):
        g, r = both(n)
        agree(g.normal((n,), d(dtype), mean, std), reference.normal(r, n, dtype, mean, std), g, r)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (0.3, 1.7)])
def test_normal_in_blocks(dtype, mean, std):
    for n in (16, 17, 20, 31, 32, 33, 95, 1000):
        g, r = both(n)
        got, want = (
            g.normal((n,), d(dtype), mean, std).astype(np.float64),
            np.array(reference.normal(r, n, dtype, mean, std)),
        )
        same_place(g, r)
        if dtype == "float64":
            assert np.array_equal(got, want)
        else:
            relative = 2.0 ** -reference.MANTISSA[dtype]
            np.testing.assert_allclose(got, want, rtol=relative * 1.01, atol=2e-6)


@pytest.mark.parametrize("dtype", REAL)
def test_normal_of_many_numbers_in_pairs(dtype):
    for n in (16, 17, 40, 101):
        g, r = both(n)
        agree(g.normal((n,), d(dtype), 0.3, 1.7, blocks=False), reference.paired(r, n, dtype, 0.3, 1.7), g, r)


@given(seeds, st.lists(st.integers(0, 40), max_size=6))
def test_the_normal_left_over_is_used_by_the_next_call(seed, counts):
    g, r = both(seed)
    for n in counts:
        agree(g.normal((n,), d("float64"), blocks=False), reference.paired(r, n, "float64"), g, r)
        agree(g.log_normal((n,), d("float64"), 0.1, 0.5), reference.log_normal(r, n, "float64", 0.1, 0.5), g, r)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_log_normal_exponential_cauchy(dtype, n):
    g, r = both(n)
    agree(g.log_normal((n,), d(dtype), 0.3, 1.2), reference.log_normal(r, n, dtype, 0.3, 1.2), g, r)
    agree(g.exponential((n,), d(dtype), 3.0), reference.exponential(r, n, dtype, 3.0), g, r)
    agree(g.cauchy((n,), d(dtype), 0.3, 1.7), reference.cauchy(r, n, dtype, 0.3, 1.7), g, r)


def test_log_normal_overflows_to_infinity():
    assert np.isinf(Generator().log_normal((100,), d("float64"), 800.0, 0.1)).all()


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "float64"])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.97])
def test_geometric(dtype, p):
    g, r = both()
    agree(g.geometric((200,), d(dtype), p), reference.geometric(r, 200, p), g, r)


@given(seeds, sizes, st.floats(0, 1))
def test_bernoulli_of_a_number(seed, n, p):
    g, r = both(seed)
    agree(g.bernoulli_scalar(p, (n,)), reference.bernoulli_scalar(r, n, p), g, r)


def test_bernoulli_at_a_tie_of_the_high_word():
    """p within the 32 low bits of a draw: the high words are equal, the low ones decide."""
    draws = [Twister(7).double()]
    for p in (draws[0], math.nextafter(draws[0], 1), math.nextafter(draws[0], 0)):
        assert Generator().manual_seed(7).bernoulli_scalar(p, (1,)).tolist() == [draws[0] < p]


@given(seeds, sizes, real)
def test_bernoulli_of_a_tensor(seed, n, dtype):
    g, r = both(seed)
    p = [nearest(x, dtype) for x in np.linspace(0.05, 0.95, n).tolist()]
    from framework.core.samplers import native

    agree(g.bernoulli_tensor(np.array(p).astype(native(d(dtype)))), reference.bernoulli_tensor(r, p, dtype), g, r)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("n", [1, 2, 11])
def test_multinomial(dtype, replacement, n):
    from framework.core.samplers import native

    weights = np.random.default_rng(1).uniform(0.1, 2, (3, 12)).astype(native(d(dtype)))
    weights[1, 3] = 0
    g, r = both(n)
    got = g.multinomial(weights, n, replacement, d(dtype))
    times = copy.deepcopy(r)
    want = [reference.multinomial(r, row.astype(float).tolist(), n, replacement, dtype) for row in weights]
    assert got.dtype == np.int64
    assert got.tolist() == want
    same_place(g, r)
    assert g.multinomial(weights[0], n, replacement, d(dtype)).shape == (n,)
    assert times.drawn == 0


def test_multinomial_of_no_rows():
    assert Generator().multinomial(np.ones((0, 3), np.float32), 2, False, d("float32")).shape == (0, 2)


def test_multinomial_of_many_categories_takes_the_few_largest():
    p = np.ones(1000)
    g, h = both()[0], both()[0]
    race = p / h.exponential((1000,), d("float64"))
    assert g.multinomial(p, 5, False, d("float64")).tolist() == np.argsort(-race)[:5].tolist()


@given(st.lists(st.tuples(st.sampled_from("unebipgm"), st.integers(0, 24), real), max_size=8), seeds)
def test_calls_interleave(calls, seed):
    g, r = both(seed)
    for kind, n, dtype in calls:
        if kind == "n" and dtype != "float64":
            n = min(n, 15)
        pairs = {
            "u": lambda n, t: (g.uniform((n,), d(t)), reference.uniform(r, n, t)),
            "n": lambda n, t: (g.normal((n,), d(t)), reference.normal(r, n, t)),
            "e": lambda n, t: (g.exponential((n,), d(t)), reference.exponential(r, n, t, 1.0)),
            "b": lambda n, t: (g.bernoulli_scalar(0.4, (n,)), reference.bernoulli_scalar(r, n, 0.4)),
            "i": lambda n, t: (g.integers(0, 17, (n,)), reference.integers(r, n, 0, 17)),
            "p": lambda n, t: (g.permutation(n), reference.permutation(r, n)),
            "g": lambda n, t: (g.geometric((n,), d("int64"), 0.3), reference.geometric(r, n, 0.3)),
            "m": lambda n, t: (g.normal((n,), d(t), blocks=False), reference.paired(r, n, t)),
        }
        agree(*pairs[kind](n, dtype), g, r)


def test_shapes_are_filled_in_row_major_order():
    draws = (
        lambda g, s: g.uniform(s, d("float32")),
        lambda g, s: g.normal(s, d("float64")),
        lambda g, s: g.integers(0, 9, s),
        lambda g, s: g.bernoulli_scalar(0.5, s),
        lambda g, s: g.exponential(s, d("float16")),
    )
    for draw in draws:
        flat, shaped = draw(both()[0], (60,)), draw(both()[0], (3, 4, 5))
        assert shaped.shape == (3, 4, 5)
        assert np.array_equal(flat, shaped.ravel())
        assert draw(both()[0], ()).shape == ()


# ---------------------------------------------------------------- arithmetic to the last bit


@pytest.mark.parametrize("name", ["log", "log1p", "cos", "sin", "tan", "exp"])
@pytest.mark.parametrize("count", [5, 3000])
def test_libm_is_the_c_librarys(name, count):
    low, high = {"log": (1e-9, 1.0), "log1p": (-1 + 1e-9, 0.0), "tan": (-1.57, 1.57), "exp": (-30.0, 30.0)}.get(
        name, (0.0, 6.28)
    )
    x = np.random.default_rng(3).uniform(low, high, count)
    assert libm(name, x).tolist() == [getattr(math, name)(v) for v in x.tolist()]
    assert libm(name, x.reshape(-1, 5)).shape == (count // 5, 5)


wide = st.floats(-1e30, 1e30)


@given(st.lists(wide, min_size=1, max_size=20), wide, wide)
def test_multiply_add_rounds_once(xs, a, b):
    xs = [x for x in xs if abs(x * a) > 1e-250 or x * a == 0]
    assert multiply_add(np.array(xs), a, b).tolist() == [reference.fused(x, a, b) for x in xs]


def test_multiply_add_near_the_largest_number():
    x = np.array([0.25, 0.5, 1 / 3])
    assert multiply_add(x, 1.6e308, -0.8e308).tolist() == [reference.fused(v, 1.6e308, -0.8e308) for v in x.tolist()]


@given(
    st.lists(st.integers(0, 2**24 - 1), min_size=1, max_size=30),
    st.floats(2**-60, 2**60, width=32),
    st.floats(-(2**60), 2**60, width=32),
)
def test_multiply_add_in_float32_rounds_once(ks, a, b):
    xs = [k * 2.0**-24 for k in ks]
    if b and abs(b) < 2**-60:
        b = 0.0
    assert multiply_add_f32(np.array(xs, np.float32), a, b).tolist() == [
        reference.fused(x, a, b, "float32") for x in xs
    ]


def test_multiply_add_in_float32_where_two_roundings_differ_from_one():
    """Sums so near the middle of two float32 numbers that float64 says they lie on it: the tie goes to the even one,
    the sum need not.
    """
    b = 1 + 2.0**-23  # odd: a tie with what lies above goes up
    above = next((u, -(-(2**46) // u)) for u in range(2**23 - 1, 2**22, -1) if 0 < -(2**46) % u < 2**16)
    for (u, v), want in (((2**23 - 2**8, 2**23 + 2**8), b), (above, b + 2.0**-23)):
        x, a = u * 2.0**-23, v * 2.0**-47
        assert 0 < abs(u * v - 2**46) <= 2**16
        assert float(np.float64(x * a + b)) == b + 2.0**-24
        assert multiply_add_f32(np.array([x], np.float32), a, b).tolist() == [want]
        assert multiply_add_f32(np.array([x], np.float32), -a, -b).tolist() == [-want]


# ---------------------------------------------------------------- seeds and states


def test_default_seed():
    assert Generator().initial_seed() == 67280421310721
    assert Generator().words(2).tolist() == Generator().manual_seed(67280421310721).words(2).tolist()


def test_manual_seed_returns_itself_and_forgets_the_kept_normal():
    g = Generator()
    g.normal((1,), d("float32"))
    assert g.kept is not None
    assert g.manual_seed(3) is g
    assert g.kept is None
    assert g.initial_seed() == 3


@pytest.mark.parametrize(
    ("seed", "read"), [(-1, 2**64 - 1), (-(2**63), 2**63), (2**64 - 1, 2**64 - 1), (0, 0), (np.int64(5), 5), (True, 1)]
)
def test_seeds(seed, read):
    g = Generator().manual_seed(seed)
    assert g.initial_seed() == read
    assert g.words(1)[0] == Twister(read).word()


@pytest.mark.parametrize(
    ("seed", "error"),
    [(2**64, ValueError), (-(2**63) - 1, ValueError), (1.5, TypeError), ("1", TypeError), (None, TypeError)],
)
def test_no_seeds(seed, error):
    with pytest.raises(error):
        Generator().manual_seed(seed)


def test_seed_is_drawn_by_the_system():
    g = Generator()
    first, second = g.seed(), g.seed()
    assert first != second
    assert g.initial_seed() == second
    assert g.words(1)[0] == Twister(second).word()


@given(seeds, st.integers(0, 2000), st.booleans())
def test_state_round_trip(seed, count, odd):
    g = Generator().manual_seed(seed)
    g.words(count)
    if odd:
        g.normal((1,), d("float32"))
    state = g.get_state()
    want = g.normal((3,), d("float64")), g.words(700)
    h = Generator()
    h.set_state(state)
    assert np.array_equal(h.normal((3,), d("float64")), want[0])
    assert np.array_equal(h.words(700), want[1])
    assert h.initial_seed() == g.initial_seed()


def test_state_bytes():
    """The layout: seed, words left to the refill, a flag, position, 624 words of 64 bits, the kept normal and its
    flag.
    """
    g, r = both(7)
    state = bytes(g.get_state().tolist())
    assert len(state) == 5056
    assert struct.unpack("<QiiQ", state[:24]) == (7, 1, 1, 0)
    assert struct.unpack("<624Q", state[24:5016]) == tuple(r.key)
    g.normal((1,), d("float32"))
    kept = r.pair()[1]
    state = bytes(g.get_state().tolist())
    assert struct.unpack("<QiiQ", state[:24]) == (7, 621, 1, 4)
    assert struct.unpack("<624Q", state[24:5016]) == tuple(r.key)
    assert struct.unpack("<dddi", state[5016:5044]) == (0.0, kept, 0.0, 1)
    g.words(620)
    assert struct.unpack("<QiiQ", bytes(g.get_state().tolist())[:24]) == (7, 1, 1, 624)


def test_a_state_is_a_copy():
    g = Generator()
    state = g.get_state()
    before = state.tolist()
    g.words(1000)
    assert state.tolist() == before
    g.set_state(state)
    g.words(1000)
    assert state.tolist() == before


def test_no_states():
    import framework

    with pytest.raises(TypeError, match="expected a ByteTensor, but got list"):
        Generator().set_state([1])
    with pytest.raises(TypeError, match="must be a ByteTensor"):
        Generator().set_state(framework.zeros(5056))
    with pytest.raises(RuntimeError, match="of size 5056"):
        Generator().set_state(framework.zeros(10, dtype=framework.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        Generator().set_state(framework.zeros(5056, dtype=framework.uint8))


@pytest.mark.parametrize(
    "duplicate", [Generator.clone_state, copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_continue_alone(duplicate):
    g = Generator().manual_seed(3)
    g.normal((1,), d("float32"))
    twin = duplicate(g)
    assert twin.dump() == g.dump()
    want = twin.normal((5,), d("float64"))
    assert np.array_equal(g.normal((5,), d("float64")), want)
    twin.words(1)
    assert twin.dump() != g.dump()
    assert twin.device == g.device


# ---------------------------------------------------------------- threads and processes


def test_threads_share_a_stream():
    """Whatever the order, together they draw each number once."""
    g = Generator().manual_seed(3)
    found: list[np.ndarray] = []

    def work() -> None:
        for _ in range(50):
            found.append(g.uniform((64,), d("float64")))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    rows = Generator().manual_seed(3).uniform((200, 64), d("float64"))
    assert sorted(map(tuple, rows.tolist())) == sorted(tuple(row.tolist()) for row in found)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_continues_the_stream():
    out = run("""
import os, threading
from framework.core.generator import default_generator
default_generator.manual_seed(4); default_generator.words(3)
lock = default_generator.lock
pid = os.fork()
if pid == 0:
    print("child", default_generator.words(2).tolist(), default_generator.lock is lock, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print("parent", default_generator.words(2).tolist(), default_generator.lock is lock)
""")
    r = Twister(4)
    words = [r.word() for _ in range(5)][3:]
    assert out.splitlines() == [f"child {words} False", f"parent {words} True"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_waits_for_a_draw_in_another_thread():
    """The child must not inherit a lock that nobody will release."""
    out = run("""
import os, threading, warnings
warnings.simplefilter("ignore")
from backends.dtypes import float64
from framework.core.generator import Generator
g = Generator()
stop = False
def work():
    while not stop: g.uniform((10000,), float64)
t = threading.Thread(target=work); t.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        g.uniform((5,), float64)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
stop = True; t.join()
print("done")
""")
    assert out == "done\n"


def test_a_fresh_process_starts_with_the_default_seed():
    code = "from framework.core.generator import default_generator as g; print(g.initial_seed(), g.words(1)[0])"
    assert run(code).split() == ["67280421310721", str(Twister(67280421310721).word())]


# ---------------------------------------------------------------- devices


class Elsewhere:
    """As much of a backend as choosing a stream reads."""

    name, device_type = "mlx:cpu", "mps"


@pytest.fixture
def fresh_defaults(monkeypatch):
    monkeypatch.setattr(generators, "_of_devices", {})
    monkeypatch.setattr(generators, "_mode", "portable")
    monkeypatch.setattr(generators, "_seed_of_devices", generators._seed_of_devices)
    state = generators.default_generator.get_state()
    yield
    generators.default_generator.set_state(state)


def test_one_stream_for_all_devices_in_portable_mode(fresh_defaults):
    assert generators.random_mode() == "portable"
    assert generators.generator_for(Elsewhere, None, "rand") is generators.default_generator


def test_a_stream_for_each_device_in_native_mode(fresh_defaults):
    pytest.importorskip("mlx")
    assert generators.random_mode("native") == "native"
    own = generators.generator_for(Elsewhere, None, "rand")
    assert own is not generators.default_generator
    assert own is generators.generator_for(Elsewhere, None, "rand")
    assert own.device.type == "mps"
    generators.seed_all(11)
    assert own.initial_seed() == generators.default_generator.initial_seed() == 11
    own.words(5)
    assert generators.default_generator.words(1)[0] == Twister(11).word()
    with pytest.raises(ValueError, match="expected 'portable' or 'native', got 'fast'"):
        generators.random_mode("fast")


def test_a_device_first_used_later_has_the_seed_too(fresh_defaults):
    pytest.importorskip("mlx")
    generators.random_mode("native")
    generators.seed_all(13)
    assert generators.generator_for(Elsewhere, None, "rand").initial_seed() == 13


def test_generators_of_other_devices_are_refused(fresh_defaults):
    with pytest.raises(RuntimeError, match=r"rand\(\): Expected a 'mps' device type for generator but found 'cpu'"):
        generators.generator_for(Elsewhere, Generator(), "rand")
    with pytest.raises(TypeError, match=r"rand\(\): argument 'generator' must be Generator, not int"):
        generators.generator_for(Elsewhere, 3, "rand")


def test_a_generator_of_a_missing_device_is_refused():
    from backends import registry

    if registry.available("cuda"):
        pytest.skip("this machine has a CUDA device")
    with pytest.raises((RuntimeError, ImportError)):
        Generator("cuda")


def test_repr():
    assert repr(Generator().manual_seed(3)) == "<Generator device='cpu' initial_seed=3>"
