"""Seeds and states of the random streams.

Every draw that names no `generator=` comes from the default generator: PyTorch's CPU stream, whatever the device (see
`random_mode`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .core import generator as _generators
from .core.device import device as _device
from .core.generator import Generator, default_generator, random_mode
from .core.tensor import Tensor

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "random_mode",
    "seed",
    "set_rng_state",
]


def manual_seed(seed: Any) -> Generator:
    """Start the default streams of all devices with a seed; returns the default generator.

    seed: anything that `int` takes, in [-2**63, 2**64); a negative one counts as seed + 2**64. ValueError out of
    range.
    """
    _generators.seed_all(int(seed))
    return default_generator


def seed() -> int:
    """Start the default streams of all devices with a seed that the operating system draws, and return it."""
    drawn = default_generator.seed()
    _generators.seed_all(drawn)
    return drawn


def initial_seed() -> int:
    """The seed that the default stream started with."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default stream: a uint8 tensor of 5056 bytes, the same as PyTorch's."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default stream from a state that `get_rng_state` gave. TypeError or RuntimeError for anything
    else.
    """
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str | None = None,
) -> Iterator[None]:
    """Run a block, or a decorated function, and put the default streams back to where they were.

    devices: whose streams besides the CPU's (indices of `device_type`, or devices); by default those of every device
    that has drawn. enabled: False leaves everything as it is.
    """
    if not enabled:
        yield
        return
    if devices is None:
        chosen = [default_generator, *_generators.device_generators()]
    else:
        kind = device_type or "cuda"
        named = [_device(f"{kind}:{d}" if isinstance(d, int) else d) for d in devices]
        chosen = [default_generator, *[_generators.device_generator(d) for d in named]]
    states = [g.dump() for g in chosen]
    try:
        yield
    finally:
        for g, state in zip(chosen, states, strict=True):
            g.load(state)
