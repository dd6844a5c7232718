"""One random draw: the entry behind every random tensor.

It is marked `random`, so vmap asks it for one draw shared by all examples, for one each, or for none at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from backends.dtypes import dtype as Dtype
from framework.core.generator import generator_for
from framework.core.samplers import Sampler, cast
from framework.core.state import STATE
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import op
from framework.dispatch.schema import Index, Ints

from .layout import lay_out


@dataclass(frozen=True, slots=True)
class Source:
    """Where numbers come from: the public function that asks, its generator, a distribution and its parameters."""

    name: str
    generator: Any
    distribution: str
    parameters: tuple[Any, ...] = ()


def _permutations(stream: Sampler, shape: tuple[int, ...], d: Dtype, n: int) -> Any:
    values = np.empty((*shape, n), np.int64)
    for row in values.reshape(prod(shape), n):
        row[:] = stream.permutation(n)
    return cast(values, d)


DISTRIBUTIONS = {
    "uniform": Sampler.uniform,
    "normal": Sampler.normal,
    "integers": lambda stream, shape, d, low, high: stream.integers(low, high, shape, d),
    "random_full": Sampler.random_full,
    "bernoulli": lambda stream, shape, d, p: cast(stream.bernoulli_scalar(p, shape), d),
    "exponential": Sampler.exponential,
    "geometric": Sampler.geometric,
    "cauchy": Sampler.cauchy,
    "log_normal": Sampler.log_normal,
    "permutation": _permutations,
}


def sampled(xp: Any, shape: tuple[int, ...], d: Dtype, source: Source, order: tuple[int, ...] | None) -> Any:
    """A native array of numbers drawn in the memory order of the dimensions, `order` (None: row-major)."""
    stream = generator_for(xp, source.generator, source.name)
    draw, parameters = DISTRIBUTIONS[source.distribution], source.parameters
    if order is None:
        return xp.asarray(draw(stream, shape, d, *parameters), d)
    if source.distribution == "normal":
        parameters = (*parameters, False)  # PyTorch makes normals in blocks in row-major memory only
    order = with_batch_axes(order, len(shape))
    values = draw(stream, tuple([shape[i] for i in order]), d, *parameters)
    return xp.asarray(values.transpose(inverse(order)), d)


def with_batch_axes(order: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """A memory order with the axes that vmap put in front."""
    lead = ndim - len(order)
    return (*range(lead), *[i + lead for i in order])


def inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes one."""
    return tuple(sorted(range(len(order)), key=order.__getitem__))


@op(random=True, opaque=True, dtype=None, spaces=())
def random_draw(xp, like: Index, size: Ints, dtype, source, order=None):
    """Numbers from a source, on the device of `like`, which is there for nothing else."""
    return sampled(xp, size, dtype, source, order)


def drawn(
    backend: Any, shape: tuple[int, ...], d: Dtype, source: Source, order: tuple[int, ...] | None = None
) -> Tensor:
    """A new tensor of random numbers, in memory in the order they are drawn in."""
    if STATE.modes:
        return random_draw(make(backend, backend.full((), 0, d), d), shape, d, source, order)
    t = make(backend, sampled(backend, shape, d, source, order), d)
    if order is not None and not backend.aliasing:
        lay_out(t, order)
    return t


def memory_order(x: Tensor) -> tuple[int, ...] | None:
    """The dimensions from the slowest to the fastest in memory, as PyTorch visits them; None for row-major memory.

    Sorted by stride, by insertion; a dimension of stride 0 stays where it is among the others.
    """
    if x.level is not None or x.is_contiguous():
        return None
    shape, strides = tuple(x.shape), x.stride()
    order = list(range(len(shape)))[::-1]  # the fastest first
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            a, b = order[before], order[at]
            if not strides[a] or not strides[b]:
                continue
            if strides[a] < strides[b]:
                break
            if strides[a] > strides[b] or shape[a] > shape[b]:
                order[before], order[at], at = b, a, before
    return tuple(order[::-1])
