"""The engine of the host's random streams: MT19937, word for word the one that PyTorch's CPU generator runs.

NumPy has the same engine, seeded by the same rule (Matsumoto and Nishimura's `init_genrand` of the low 32 bits). A
state is written as the 5056 bytes of PyTorch's CPU generator state, so either library continues where the other
stopped.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]

DEFAULT_SEED = 67280421310721
STATE_BYTES = 5056
WORDS = 624  # of the engine's state
CHUNK = 1 << 15  # words handled at a time: what a rule does to them then happens in the processor's cache

# seed; draws left before the next refill (counted from 625), seeded; position; the words, 64 bits each; three doubles
# of which the second is the normal kept for the next call; whether there is one; a float32 normal that nobody uses,
# and its flag.
_LAYOUT = struct.Struct(f"<QiiQ{WORDS * 8}sdddi4xf?3x")
assert _LAYOUT.size == STATE_BYTES


F = TypeVar("F", bound=Callable[..., Any])


def atomic(method: F) -> F:
    """A method of a stream, run by one thread at a time, and without NumPy's warnings: infinities may be meant."""

    @wraps(method)
    def run(self: MersenneTwister, *args: Any, **kwargs: Any) -> Any:
        with self.lock, np.errstate(all="ignore"):
            return method(self, *args, **kwargs)

    return run  # type: ignore[return-value]


class MersenneTwister:
    """A stream of 32-bit words, with the one normal that drawing normals in pairs leaves over.

    `first_seed` is the seed last given; `kept` the left-over normal or None. Methods that draw are `atomic`: threads
    may share a stream.
    """

    def __init__(self, seed: int) -> None:
        self.lock = threading.RLock()
        self._engine: Any = None
        self.first_seed = 0
        self.kept: float | None = None
        self.restart(seed)

    @atomic
    def restart(self, seed: int) -> None:
        """Begin the stream of a seed in [0, 2**64); streams of seeds that are equal modulo 2**32 are the same."""
        self.first_seed, self.kept, self._engine = seed, None, None

    def engine(self) -> Any:
        """NumPy's engine, made when it is first needed: `import framework` need not load numpy.random."""
        if self._engine is None:
            self._engine = np.random.MT19937(0)
            self._engine._legacy_seeding(self.first_seed & 0xFFFFFFFF)
        return self._engine

    def words(self, count: int) -> Array:
        """The next words, as a fresh uint64 array."""
        return (self._engine or self.engine()).random_raw(count)  # type: ignore[no-any-return]

    def long_words(self, count: int) -> Array:
        """The next 64-bit draws, two words each with the first in the high half, as a fresh uint64 array."""
        pairs = self.words(2 * count)
        long = pairs[::2] << np.uint64(32)
        long |= pairs[1::2]
        return long

    def doubles(self, count: int) -> Array:
        """The next draws from [0, 1) with 53 bits, two words each."""
        if count <= CHUNK:
            return _unit(self.long_words(count))
        out = np.empty(count)
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            part[:] = _unit(self.long_words(part.size))
        return out

    def floats(self, count: int) -> Array:
        """The next draws from [0, 1) with 24 bits, one word each, as float32."""
        out = np.empty(count, np.float32)
        for start in range(0, count, CHUNK):
            part = out[start : start + CHUNK]
            words = self.words(part.size)
            np.bitwise_and(words, np.uint64(0xFFFFFF), out=words)
            np.copyto(part, words.view(np.int64), casting="unsafe")
            np.multiply(part, np.float32(2.0**-24), out=part)
        return out

    @atomic
    def dump(self) -> bytes:
        """The state as the bytes of PyTorch's CPU generator."""
        state: Any = self.engine().state["state"]
        at = int(state["pos"])
        fresh = at == WORDS and state["key"][0] == self.first_seed & 0xFFFFFFFF  # no draw since the seed was given
        words = state["key"].astype("<u8").tobytes()
        return _LAYOUT.pack(self.first_seed, WORDS + 1 - at, 1, 0 if fresh else at, words,
                            0.0, self.kept or 0.0, 0.0, self.kept is not None, 0.0, False)  # fmt: skip

    @atomic
    def load(self, state: bytes) -> None:
        """Continue from a dumped state. RuntimeError if the bytes are none."""
        if len(state) != STATE_BYTES:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_BYTES} but found the input RNG state size to be "
                f"{len(state)}"
            )
        seed, left, seeded, at, words, _, kept, _, keeps, _, _ = _LAYOUT.unpack(state)
        if not (seeded == 1 and 0 < left <= WORDS and at <= WORDS):
            raise RuntimeError("Invalid mt19937 state: take states from get_state() or get_rng_state() only")
        key = np.frombuffer(words, "<u8").astype(np.uint32)
        self.engine().state = {"bit_generator": "MT19937", "state": {"key": key, "pos": WORDS if left == 1 else at}}
        self.first_seed, self.kept = seed, kept if keeps else None


def _unit(long: Array) -> Array:
    """Doubles in [0, 1) of the low 53 bits; overwrites its argument."""
    np.bitwise_and(long, np.uint64(2**53 - 1), out=long)
    return long.view(np.int64) * 2.0**-53
