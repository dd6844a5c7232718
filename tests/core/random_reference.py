"""The random streams in plain Python integers and fractions, one number at a time: the slow reference of the fast
ones.

Engine: M. Matsumoto and T. Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform pseudo-random
number generator" (1998), seeded by their later `init_genrand`. Rules: those of PyTorch's CPU generator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}  # bits, with the hidden one
SMALLEST = {"float16": -24, "bfloat16": -133, "float32": -149, "float64": -1074}  # exponent of the smallest number
LARGEST_INT = {"bool": 1, "uint8": 255, "int8": 127, "int16": 2**15 - 1, "int32": 2**31 - 1, "int64": 2**63 - 1}
WIDE = 2**28


def nearest(x: Fraction | float, dtype: str) -> float:
    """The number of a floating dtype nearest to x, ties to even. x stays within the dtype's range."""
    x = Fraction(x)
    if not x:
        return 0.0
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()  # of the leading bit, or one above it
    exponent -= abs(x) < Fraction(2) ** exponent
    step = Fraction(2) ** max(exponent - MANTISSA[dtype] + 1, SMALLEST[dtype])
    return float(round(x / step) * step)


def as_half(x: float, dtype: str) -> float:
    """A float64 number in a dtype, the half types by way of float32."""
    return nearest(nearest(x, "float32"), dtype) if dtype in ("float16", "bfloat16") else nearest(x, dtype)


def fused(x: float, a: float, b: float, dtype: str = "float64") -> float:
    """x * a + b with one rounding."""
    return nearest(Fraction(x) * Fraction(a) + Fraction(b), dtype)


class Twister:
    """The engine and the draws made of its words; `drawn` counts the words."""

    def __init__(self, seed: int) -> None:
        self.key = [seed & 0xFFFFFFFF]
        for i in range(1, 624):
            before = self.key[-1]
            self.key.append((1812433253 * (before ^ before >> 30) + i) & 0xFFFFFFFF)
        self.at, self.drawn = 624, 0
        self.kept: float | None = None

    def word(self) -> int:
        key = self.key
        if self.at == 624:
            for k in range(624):
                y = key[k] & 0x80000000 | key[(k + 1) % 624] & 0x7FFFFFFF
                key[k] = key[(k + 397) % 624] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
            self.at = 0
        y = key[self.at]
        self.at += 1
        self.drawn += 1
        y ^= y >> 11
        y ^= y << 7 & 0x9D2C5680
        y ^= y << 15 & 0xEFC60000
        return y ^ y >> 18

    def long(self) -> int:
        high = self.word()
        return high << 32 | self.word()

    def float(self) -> float:
        return (self.word() & (1 << 24) - 1) / 2.0**24

    def double(self) -> float:
        return (self.long() & (1 << 53) - 1) / 2.0**53

    def unit(self, dtype: str) -> float:
        return self.double() if dtype == "float64" else self.float()

    def pair(self) -> tuple[float, float]:
        u, v = self.double(), self.double()
        radius, angle = math.sqrt(-2 * math.log1p(-v)), 2 * math.pi * u
        return radius * math.cos(angle), radius * math.sin(angle)

    def normal(self) -> float:
        if self.kept is None:
            value, self.kept = self.pair()
        else:
            value, self.kept = self.kept, None
        return value


# ---------------------------------------------------------------- the rules


def uniform(g: Twister, n: int, dtype: str, low: float = 0.0, high: float = 1.0) -> list[float]:
    wide = "float64" if dtype == "float64" else "float32"
    low, high = nearest(low, wide), nearest(high, wide)
    width = nearest(Fraction(high) - Fraction(low), wide)
    drawn = [nearest(fused(g.unit(dtype), width, low, wide), dtype) for _ in range(n)]
    return [nearest(low, dtype) if x == nearest(high, dtype) else x for x in drawn]


def integers(g: Twister, n: int, low: int, high: int) -> list[int]:
    span = high - low
    return [(g.long() if span >= WIDE else g.word()) % span + low for _ in range(n)]


def random_full(g: Twister, n: int, dtype: str) -> list[int]:
    if dtype in MANTISSA:
        span = 2 ** MANTISSA[dtype] + 1
        return [int(nearest((g.long() if dtype == "float64" else g.word()) % span, dtype)) for _ in range(n)]
    return [(g.long() if dtype == "int64" else g.word()) % (LARGEST_INT[dtype] + 1) for _ in range(n)]


def permutation(g: Twister, n: int) -> list[int]:
    values = list(range(n))
    for i in range(n - 1):
        j = i + g.word() % (n - i)
        values[i], values[j] = values[j], values[i]
    return values


def paired(g: Twister, n: int, dtype: str, mean: float = 0.0, std: float = 1.0) -> list[float]:
    return [as_half(fused(g.normal(), std, mean), dtype) for _ in range(n)]


def blocks(g: Twister, n: int, dtype: str, mean: float = 0.0, std: float = 1.0) -> list[float]:
    """float64 arithmetic throughout; exact for float64 only."""
    halves = dtype in ("float16", "bfloat16")
    whole = n - n % 16
    drawn = [g.unit(dtype) for _ in range(whole if halves else n)]
    result = [0.0] * n

    def write(block: list[float], start: int) -> None:
        for i in range(8):
            radius, angle = math.sqrt(-2 * math.log(1 - block[i])), 2 * math.pi * block[i + 8]
            result[start + i] = fused(radius * math.cos(angle), std, mean)
            result[start + 8 + i] = fused(radius * math.sin(angle), std, mean)

    for start in range(0, whole, 16):
        write(drawn[start : start + 16], start)
    if n % 16:
        write([g.unit(dtype) for _ in range(16)], n - 16)
    return result


def normal(g: Twister, n: int, dtype: str, mean: float = 0.0, std: float = 1.0) -> list[float]:
    return (blocks if n >= 16 else paired)(g, n, dtype, mean, std)


def log_normal(g: Twister, n: int, dtype: str, mean: float, std: float) -> list[float]:
    return [as_half(math.exp(fused(g.normal(), std, mean)), dtype) for _ in range(n)]


def exponential(g: Twister, n: int, dtype: str, rate: float) -> list[float]:
    return [as_half(-1.0 / rate * math.log1p(-g.double()), dtype) for _ in range(n)]


def geometric(g: Twister, n: int, p: float) -> list[int]:
    return [math.ceil(math.log(g.double()) / math.log1p(-p)) for _ in range(n)]


def cauchy(g: Twister, n: int, dtype: str, median: float, sigma: float) -> list[float]:
    return [as_half(fused(math.tan(math.pi * (g.double() - 0.5)), sigma, median), dtype) for _ in range(n)]


def bernoulli_scalar(g: Twister, n: int, p: float) -> list[bool]:
    return [g.double() < p for _ in range(n)]


def bernoulli_tensor(g: Twister, p: list[float], dtype: str) -> list[bool]:
    return [g.unit(dtype) < q for q in p]


def multinomial(g: Twister, p: list[float], n: int, replacement: bool, dtype: str) -> list[int]:
    wide = "float64" if dtype == "float64" else "float32"
    round_up: Callable[[float], float] = lambda x: nearest(x, wide)
    if replacement and n > 1:
        total, sums = 0.0, []
        for q in p:
            total = round_up(Fraction(total) + Fraction(q))
            sums.append(total)
        bounds = [round_up(Fraction(s) / Fraction(total)) for s in sums[:-1]] + [1.0]
        draws = [g.double() for _ in range(n)]
        return [next(i for i, bound in enumerate(bounds) if bound >= u) for u in draws]
    times = exponential(g, len(p), dtype, 1.0)
    race = [nearest(round_up(Fraction(q) / Fraction(t)), dtype) for q, t in zip(p, times, strict=True)]
    return sorted(range(len(p)), key=lambda i: -race[i])[:n]
