"""What a benchmark case is, and the registry of all of them by group."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

Run = Callable[[], object]
Build = Callable[[ModuleType], Run]


@dataclass(frozen=True)
class Case:
    """One program, timed on several libraries.

    `build(t)` makes the inputs with library `t` (this one or PyTorch: the API is the same) and returns the function to
    time. `numpy()` does so for raw NumPy, where that says something. `ops` is the number of operations in one call, to
    print a time per operation; `target` the ratio asked for, if one is. `self_timed`: the function returns seconds that
    it measured itself.
    """

    group: str
    name: str
    build: Build
    numpy: Callable[[], Run] | None = None
    ops: int = 1
    target: float | None = None
    self_timed: bool = False


CASES: dict[str, list[Case]] = {}


def case(group: str, name: str, **facts) -> Callable[[Build], Build]:
    """Registers the decorated `build` function as a case; `facts` are the remaining fields of `Case`."""

    def register(build: Build) -> Build:
        CASES.setdefault(group, []).append(Case(group, name, build, **facts))
        return build

    return register


def load(names: list[str]) -> list[Case]:
    """The cases of the named groups (all if none is named). Raises ValueError for an unknown group."""
    package = importlib.import_module("tests.benchmarks.groups")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
    if unknown := [name for name in names if name not in CASES]:
        raise ValueError(f"no group {unknown[0]!r}; there are {', '.join(sorted(CASES))}")
    return [case for group in (names or CASES) for case in CASES[group]]
