"""The rules by which words become numbers: PyTorch's, each with the words it consumes, on whole arrays.

A `Sampler` is a stream of words with a method for each distribution. Results are NumPy arrays (bfloat16 as
ml_dtypes.bfloat16). Arguments are taken as valid: the ops that call these methods check them.

Words: one for each float16, bfloat16 or float32 uniform, two for each float64; a complex number is two real ones,
real part first. Half types are float32 numbers rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import numpy as np

from backends.base import Shape
from backends.dtypes import bfloat16, bool_, complex64, complex128, dtype, float16, float32, float64, int64

from .exact import Array, libm, multiply_add, multiply_add_f32
from .mersenne import CHUNK, MersenneTwister, atomic

BLOCK = 16  # normals made at a time from as many uniforms
_FEW = 8  # so many pairs are made faster one at a time
_WIDE = 1 << 28  # an integer range from which on two words are drawn
_LARGE_PERMUTATION = (2**32 - 1) // 20
_REAL = {complex64: float32, complex128: float64}
_MANTISSA = {float16: 11, bfloat16: 8, float32: 24, float64: 53}  # bits with the hidden one


def native(d: dtype) -> np.dtype[Any]:
    """The NumPy dtype that holds elements of a dtype on the host."""
    if d is bfloat16:
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)  # type: ignore[no-any-return]
    return np.dtype(d.name)


def cast(values: Array, d: dtype) -> Array:
    """Values in a real dtype as C++ casts them: half types by way of float32, floats to integers by way of int64."""
    if d.category == 1 and values.dtype.kind == "f":
        values = values.astype(np.int64)
    elif d.itemsize == 2 and d.is_floating_point:
        values = values.astype(np.float32, copy=False)
    return values.astype(native(d), copy=False)


class Sampler(MersenneTwister):
    """A stream of words and the distributions drawn from it."""

    def filled(self, shape: Shape, to: Any, make: Callable[[int], Array]) -> Array:
        """An array of a NumPy dtype; make(count) gives its next `count` elements."""
        return fill(np.empty(prod(shape), to), make).reshape(shape)

    # ---------------------------------------------------------------- uniform
    @atomic
    def uniform(self, shape: Shape, d: dtype, low: float = 0.0, high: float = 1.0) -> Array:
        """Numbers of a floating or complex dtype in [low, high); one that rounds to `high` becomes `low`."""
        if d in _REAL:
            return self.uniform((*shape, 2), _REAL[d], low, high).view(native(d)).reshape(shape)
        draw, scale = (self.doubles, multiply_add) if d is float64 else (self.floats, multiply_add_f32)
        unit = low == 0 and high == 1
        if unit and d.itemsize > 2:
            return draw(prod(shape)).reshape(shape)
        if d is not float64:
            low, high = float(np.float32(low)), float(np.float32(high))
        width = high - low if d is float64 else float(np.float32(high - low))
        to = native(d)
        first, last = to.type(low), to.type(high)

        def make(count: int) -> Array:
            x = draw(count)
            x = (x if unit else scale(x, width, low)).astype(to, copy=False)
            np.copyto(x, first, where=x == last)
            return x

        return self.filled(shape, to, make)

    # ---------------------------------------------------------------- integers
    @atomic
    def integers(self, low: int, high: int, shape: Shape, d: dtype = int64) -> Array:
        """Integers from `low` up to but without `high`, in any real dtype: the draw modulo the range.

        A range of 2**28 or more takes two words each, a smaller one a single word. From -2**63 to 2**63 the draw is
        taken as it is.
        """
        span, offset = high - low, np.uint64(low % 2**64)
        draw = self.long_words if span >= _WIDE else self.words

        def make(count: int) -> Array:
            draws = draw(count)
            if span < 2**64:
                draws -= draws // np.uint64(span) * np.uint64(span)  # NumPy's own remainder is three times slower
                draws += offset
            return cast_integers(draws, d)

        return self.filled(shape, native(d), make)

    @atomic
    def random_full(self, shape: Shape, d: dtype) -> Array:
        """Integers from 0 to the largest of an integer dtype, or to the last that a floating one holds without gaps."""
        draw = self.long_words if d.itemsize == 8 else self.words
        if d.is_floating_point:
            span = np.uint64(2 ** _MANTISSA[d] + 1)
            return self.filled(shape, native(d), lambda count: cast_integers(draw(count) % span, d))
        mask = np.uint64(2 ** (1 if d is bool_ else 8 * d.itemsize - (d.kind == "i")) - 1)
        return self.filled(shape, native(d), lambda count: cast_integers(draw(count) & mask, d))

    @atomic
    def permutation(self, count: int) -> Array:
        """The integers below `count`, shuffled as Fisher and Yates do: each in turn is swapped with one from there on.

        The swaps are not run one by one. Position i is settled by swap i, with what then stands at target[i]. That
        was brought there by the last earlier swap with the same target, from where that swap stood, or nothing has
        moved there yet; and what stood at i when its turn came was brought by the last earlier swap that had i as
        target, and so on: a chain that halves by following it twice at a time.
        """
        if count < 2:
            return np.arange(count)
        here = np.arange(count)
        left = np.arange(count, 1, -1, dtype=np.uint64)
        draws = self.words(count - 1) if count < _LARGE_PERMUTATION else self.long_words(count - 1)
        target = here.copy()
        target[:-1] += (draws % left).view(np.int64)
        origin = here.copy()  # the value that stands at i when its turn comes is the one that began at origin[i]
        moving = np.flatnonzero(target != here)
        origin[target[moving]] = moving  # of several writes to a place the last one stays
        while True:
            further = origin[origin]
            if np.array_equal(further, origin):
                break
            origin = further
        by_target = np.sort(target << 32 | here) & 0xFFFFFFFF if count < 2**31 else np.argsort(target, kind="stable")
        turn, at = by_target, target[by_target]
        again = np.flatnonzero(at[1:] == at[:-1]) + 1  # those whose target an earlier swap had
        found = np.where(at == turn, origin[turn], at)
        found[again] = origin[turn[again - 1]]
        result = np.empty(count, np.int64)
        result[turn] = found
        return result

    # ---------------------------------------------------------------- normal
    @atomic
    def normal(self, shape: Shape, d: dtype, mean: float = 0.0, std: float = 1.0, blocks: bool = True) -> Array:
        """Normal numbers, by Box and Muller's method in one of two ways.

        16 or more, if `blocks` (PyTorch: memory without gaps): in blocks of 16 uniforms; if the last block is not
        whole, the last 16 numbers are drawn anew. Otherwise from float64 uniforms, in pairs, of which a second one
        left over is kept for the next call. Complex: both parts have this mean and variance std**2 / 2.
        """
        if d in _REAL:
            return self.normal((*shape, 2), _REAL[d], mean, std / math.sqrt(2.0), blocks).view(native(d)).reshape(shape)
        count = prod(shape)
        if count < BLOCK or not blocks:
            return cast(multiply_add(self.paired_normals(count, d), std, mean), d).reshape(shape)
        draw, box_muller = (self.doubles, _box_muller_f64) if d is float64 else (self.floats, _box_muller_f32)
        whole = count - count % BLOCK
        if d.itemsize > 2:  # all uniforms first
            out = draw(count)
            for start in range(0, whole, CHUNK):
                box_muller(out[start : min(start + CHUNK, whole)], mean, std)
        else:  # block by block
            out = fill(np.empty(count, native(d)), lambda count: box_muller(draw(count), mean, std), whole)
        if whole < count:
            out[-BLOCK:] = box_muller(draw(BLOCK), mean, std).astype(out.dtype, copy=False)
        return out.reshape(shape)

    def paired_normals(self, count: int, d: dtype = float64) -> Array:
        """Standard normals in float64, two from every four words; begins with the one kept, and keeps one left over.

        d: what they will be rounded to; for less than float64 the last place does not matter.
        """
        z, have = np.empty(count), 0
        if count and self.kept is not None:
            z[0], self.kept, have = self.kept, None, 1
        pairs = z[have : count - (count - have) % 2].reshape(-1, 2)
        if len(pairs) <= _FEW:
            for i in range(len(pairs)):
                pairs[i] = _pair(*self.doubles(2).tolist())
        else:
            for start in range(0, len(pairs), CHUNK // 2):
                part = pairs[start : start + CHUNK // 2]
                u = self.doubles(part.size)
                angle, radius = u[::2] * (2 * math.pi), np.negative(u[1::2])
                radius = np.sqrt(-2 * (libm("log1p", radius) if d is float64 else np.log1p(radius)))
                np.multiply(radius, libm("cos", angle), out=part[:, 0])
                np.multiply(radius, libm("sin", angle), out=part[:, 1])
        if (count - have) % 2:
            z[-1], self.kept = _pair(*self.doubles(2).tolist())
        return z

    @atomic
    def log_normal(self, shape: Shape, d: dtype, mean: float = 1.0, std: float = 2.0) -> Array:
        """exp of normal numbers, which are drawn in pairs whatever their number."""
        z = multiply_add(self.paired_normals(prod(shape), d), std, mean)
        return cast(libm("exp", z) if d is float64 else np.exp(z), d).reshape(shape)

    # ---------------------------------------------------------------- other distributions, from float64 uniforms
    @atomic
    def exponential(self, shape: Shape, d: dtype, rate: float = 1.0) -> Array:
        """-log(1 - u) / rate."""
        log1p = partial(libm, "log1p") if d is float64 else np.log1p
        return self.filled(
            shape, native(d), lambda count: cast(-1.0 / rate * log1p(np.negative(self.doubles(count))), d)
        )

    @atomic
    def geometric(self, shape: Shape, d: dtype, p: float) -> Array:
        """The number of trials up to the first success, in any real dtype: ceil(log(u) / log(1 - p))."""
        scale = math.log1p(-p)
        return self.filled(shape, native(d), lambda count: cast(np.ceil(np.log(self.doubles(count)) / scale), d))

    @atomic
    def cauchy(self, shape: Shape, d: dtype, median: float = 0.0, sigma: float = 1.0) -> Array:
        """median + sigma * tan(pi * (u - 1/2))."""
        tan = partial(libm, "tan") if d is float64 else np.tan

        def make(count: int) -> Array:
            return cast(multiply_add(tan(math.pi * (self.doubles(count) - 0.5)), sigma, median), d)

        return self.filled(shape, native(d), make)

    @atomic
    def bernoulli_scalar(self, p: float, shape: Shape) -> Array:
        """Booleans, true with probability p: u < p."""
        bound = math.ceil(p * 2.0**53)  # u is a multiple of 2**-53: compare the integers, the high word first
        high, low = np.uint64(bound >> 32), np.uint64(bound & 0xFFFFFFFF)

        def make(count: int) -> Array:
            pairs = self.words(2 * count)
            top = pairs[::2] & np.uint64(0x1FFFFF)
            hit = top < high
            tie = np.flatnonzero(top == high)
            hit[tie] = pairs[1::2][tie] < low
            return hit

        return self.filled(shape, np.bool_, make)

    @atomic
    def bernoulli_tensor(self, p: Array) -> Array:
        """Booleans, true with the probability at their place: u < p, u in float64 for float64 p, else in float32."""
        if p.dtype == np.float64:
            return self.doubles(p.size).reshape(p.shape) < p
        return self.floats(p.size).reshape(p.shape) < p.astype(np.float32, copy=False)

    @atomic
    def multinomial(
        self, p: Array, count: int, replacement: bool, d: dtype, order: tuple[int, ...] | None = None
    ) -> Array:
        """int64 indices of `count` categories drawn by the weights along the last dimension of an array of dtype `d`.

        With replacement (and more than one): where u falls in the cumulated weights. Otherwise the largest of weight /
        exponential number, in falling order: an exponential race, whose numbers are drawn in memory order, `order`.
        """
        wide = native(d.compute)
        found = np.empty((prod(p.shape[:-1]), count), np.int64)
        weights = p.astype(wide, copy=False)
        if replacement and count > 1:
            total = np.cumsum(weights.reshape(-1, p.shape[-1]), axis=1)
            total /= total[:, -1:]
            total[:, -1:] = 1
            for i, row in enumerate(total.astype(np.float64, copy=False)):
                found[i] = np.searchsorted(row, self.doubles(count))
        else:
            time = np.empty(p.shape, native(d))
            drawn = time if order is None else time.transpose(order)
            drawn[...] = self.exponential(drawn.shape, d)
            race = cast(weights / time.astype(wide, copy=False), d).astype(wide, copy=False)
            for i, row in enumerate(race.reshape(-1, p.shape[-1])):
                found[i] = largest(row, count)
        return found.reshape(*p.shape[:-1], count)


def fill(out: Array, make: Callable[[int], Array], count: int | None = None) -> Array:
    """Fill the first `count` of a flat array in pieces that stay in the processor's cache; make(n) gives the next n."""
    count = out.size if count is None else count
    for start in range(0, count, CHUNK):
        part = out[start : min(start + CHUNK, count)]
        part[:] = make(part.size)
    return out


def cast_integers(draws: Array, d: dtype) -> Array:
    """uint64 draws, read as int64, in a real dtype."""
    return cast(draws.view(np.int64), d)


def largest(row: Array, count: int) -> Array:
    """Positions of the largest elements of a row, in falling order."""
    if count * 8 < row.size:
        near = np.sort(np.argpartition(row, -count)[-count:])
        return near[np.argsort(-row[near], kind="stable")]
    return np.argsort(-row, kind="stable")[:count]


def _pair(u: float, v: float) -> tuple[float, float]:
    """Two standard normals from two uniforms."""
    radius, angle = math.sqrt(-2 * math.log1p(-v)), 2 * math.pi * u
    return radius * math.cos(angle), radius * math.sin(angle)


def _box_muller_f64(u: Array, mean: float, std: float) -> Array:
    """Normals from whole blocks of 16 uniforms, written over them."""
    blocks = u.reshape(-1, 2, BLOCK // 2)
    radius = np.sqrt(-2 * libm("log", 1 - blocks[:, 0]))
    angle = 2 * math.pi * blocks[:, 1]
    blocks[:, 0] = multiply_add(radius * libm("cos", angle), std, mean)
    blocks[:, 1] = multiply_add(radius * libm("sin", angle), std, mean)
    return u


def _box_muller_f32(u: Array, mean: float, std: float) -> Array:
    """Normals from whole blocks of 16 float32 uniforms, computed in float32 and written over them."""
    eight = np.dtype((np.void, 4 * BLOCK // 2))  # eight numbers moved as one: ufuncs are slow on rows of eight
    halves = u.view(eight).reshape(-1, 2)
    radius = np.subtract(np.float32(1), halves[:, 0].copy().view(np.float32))
    np.log(radius, out=radius)
    radius *= np.float32(-2)
    np.sqrt(radius, out=radius)
    angle = halves[:, 1].copy().view(np.float32)
    angle *= np.float32(2 * math.pi)
    for column, turn in enumerate((np.cos, np.sin)):
        z = turn(angle)
        z *= radius
        if std != 1:
            z *= np.float32(std)
        if mean != 0:
            z += np.float32(mean)
        halves[:, column] = z.view(eight)
    return u
