"""Generators: random streams with a seed, a device and a state that can be saved; the default ones; and which of them
serves a draw.

A CPU generator gives PyTorch's numbers for the same seed and the same calls. Draws for other devices are made on the
host by the same rules and moved there, so that a seed means the same numbers on every device.
"""

from __future__ import annotations

import os
import threading
import weakref
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from backends.dtypes import uint8

from .device import backend_of, device
from .mersenne import DEFAULT_SEED
from .samplers import Sampler

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["DEFAULT_SEED", "Generator", "checked_seed", "default_generator", "generator_for", "random_mode", "seed_all"]

_LIVING: weakref.WeakSet[Generator] = weakref.WeakSet()


class Generator(Sampler):
    """A random stream: a seed, a state, and (see `Sampler`) the distributions drawn from it. Threads may share one.

    `Generator(device="cpu")` starts with PyTorch's default seed, 67280421310721. RuntimeError for a device that this
    machine lacks.
    """

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__(DEFAULT_SEED)
        self._device = _checked_device(device)
        _LIVING.add(self)

    @property
    def device(self) -> device:
        """The device whose tensors this generator fills."""
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of a seed; returns the generator.

        seed: an int in [-2**63, 2**64); a negative one counts as seed + 2**64. Seeds equal modulo 2**32 give the same
        stream. TypeError for no integer, ValueError out of range.
        """
        self.restart(checked_seed(seed))
        return self

    def seed(self) -> int:
        """Start the stream of a seed that the operating system draws, and return the seed."""
        seed = int.from_bytes(os.urandom(8), "little")
        self.restart(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that the stream started with."""
        return self.first_seed

    def get_state(self) -> Tensor:
        """The state as a uint8 tensor on the CPU: the 5056 bytes of PyTorch's CPU generator state, which either
        library can load.
        """
        from .tensor import make

        cpu = backend_of("cpu")
        return make(cpu, cpu.asarray(np.frombuffer(bytearray(self.dump()), np.uint8)), uint8)

    def set_state(self, new_state: Tensor) -> None:
        """Continue from a state that `get_state` gave.

        TypeError for anything but a uint8 tensor, RuntimeError for one that holds no state.
        """
        from .host import to_host
        from .tensor import Tensor

        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a ByteTensor, but got {type(new_state).__name__}")
        if new_state.dtype is not uint8:
            raise TypeError(f"RNG state must be a ByteTensor, but got a tensor of {new_state.dtype}")
        self.load(to_host(new_state).tobytes())

    def clone_state(self) -> Generator:
        """A generator of its own that continues from here."""
        twin = type(self)(self._device)
        twin.load(self.dump())
        return twin

    __copy__ = clone_state

    def __deepcopy__(self, memo: object) -> Generator:
        return self.clone_state()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._device, self.dump())

    def __repr__(self) -> str:
        return f"<Generator device='{self._device}' initial_seed={self.first_seed}>"


def _restored(kind: type[Generator], where: device, state: bytes) -> Generator:
    generator = kind(where)
    generator.load(state)
    return generator


def _checked_device(where: Any) -> device:
    d = device(where)
    backend_of(d)
    return d


def checked_seed(seed: Any) -> int:
    """A seed as a number in [0, 2**64). TypeError for no integer, ValueError outside [-2**63, 2**64)."""
    value = index(seed)
    if not -(2**63) <= value < 2**64:
        raise ValueError(
            f"manual_seed(): Overflow when unpacking long long: a seed lies in [-2**63, 2**64), got {value}"
        )
    return value % 2**64


# ---------------------------------------------------------------- the default generators

default_generator: Generator = Generator("cpu")
_of_devices: dict[str, Generator] = {}  # the default generators of other devices, made when first asked for
_seed_of_devices = DEFAULT_SEED
_mode = "portable"


def random_mode(mode: str | None = None) -> str:
    """Set, if `mode` is given, where draws for devices other than the CPU come from when a call names no generator;
    returns the mode that holds.

    "portable" (the default): from the CPU's default generator, so that a program draws the same numbers whatever
    device it runs on. "native": every device has a default generator of its own, as in PyTorch, so that draws on one
    device do not move the stream of another. ValueError for anything else.
    """
    global _mode
    if mode is not None:
        if mode not in ("portable", "native"):
            raise ValueError(f"random_mode(): expected 'portable' or 'native', got {mode!r}")
        _mode = mode
    return _mode


def device_generator(where: Any) -> Generator:
    """The default generator of a device: what a draw on it uses in "native" mode, and always on the CPU."""
    d = device(where)
    if d.type == "cpu":
        return default_generator
    found = _of_devices.get(d.name.text)
    if found is None:
        found = _of_devices[d.name.text] = Generator(d).manual_seed(_seed_of_devices)
    return found


def device_generators() -> list[Generator]:
    """The default generators of the devices other than the CPU that have drawn."""
    return list(_of_devices.values())


def generator_for(backend: Any, generator: Any, name: str) -> Sampler:
    """The stream that a call of the function `name` draws from for a backend: the generator given, or the default one.

    TypeError for no generator, RuntimeError for one of another kind of device. Every stream is made on the host
    today; a backend with samplers of its own would be asked here.
    """
    if generator is None:
        return default_generator if _mode == "portable" else device_generator(backend.name)
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be Generator, not {type(generator).__name__}")
    want, have = backend.device_type, generator.device.type
    if have != want:
        raise RuntimeError(f"{name}(): Expected a '{want}' device type for generator but found '{have}'")
    return generator


def seed_all(seed: int) -> None:
    """Start the default generators of every device with a seed."""
    global _seed_of_devices
    _seed_of_devices = checked_seed(seed)
    default_generator.restart(_seed_of_devices)
    for generator in _of_devices.values():
        generator.restart(_seed_of_devices)


# A forked process continues every stream from where its parent was. No other thread may hold a lock at that moment:
# in the child nobody would ever release it.
_held: list[Generator] = []


def _before_fork() -> None:
    for generator in list(_LIVING):
        generator.lock.acquire()
        _held.append(generator)


def _after_fork_in_parent() -> None:
    while _held:
        _held.pop().lock.release()


def _after_fork_in_child() -> None:
    while _held:
        _held.pop().lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
