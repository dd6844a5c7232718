"""Interleaved timing: every side is measured in every round, in an order that alternates.

So a slow minute of the machine hits all of them alike.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SAMPLE_SECONDS = (
    2e-3  # a sample repeats the call until it lasts about so long: well above the clock, well below a hiccup
)
COLLECT_EVERY = 10


@dataclass(frozen=True)
class Timing:
    """Seconds for one call."""

    median: float
    minimum: float


def measure(sides: Mapping[str, Callable[[], object]], rounds: int, self_timed: bool = False) -> dict[str, Timing]:
    """Times each function in `rounds` rounds and returns its median and minimum.

    The garbage collector stays on during samples, because the objects that a library leaves behind are part of its
    price; what existed before is frozen away, and we collect between rounds.
    """
    calls = {name: _repetitions(f, self_timed) for name, f in sides.items()}
    samples: dict[str, list[float]] = {name: [] for name in sides}
    gc.collect()
    gc.freeze()
    try:
        for turn in range(rounds):
            if turn % COLLECT_EVERY == 0:
                gc.collect()
            for name in list(sides) if turn % 2 else reversed(sides):
                samples[name].append(_sample(sides[name], calls[name], self_timed))
    finally:
        gc.unfreeze()
    return {name: Timing(statistics.median(times), min(times)) for name, times in samples.items()}


def _repetitions(f: Callable[[], object], self_timed: bool) -> int:
    f()  # compiles, allocates, warms caches
    if self_timed:
        return 1
    once = min(_sample(f, 1, False) for _ in range(3))
    return max(1, round(SAMPLE_SECONDS / max(once, 1e-9)))


def _sample(f: Callable[[], object], calls: int, self_timed: bool) -> float:
    if self_timed:
        return float(f())  # type: ignore[arg-type]
    start = time.perf_counter()
    for _ in range(calls):
        f()
    return (time.perf_counter() - start) / calls
