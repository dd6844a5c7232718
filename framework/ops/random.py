"""Random tensors of a given size, or like another tensor: uniform, normal, integers, permutations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from backends.dtypes import bool_, int64
from backends.dtypes import dtype as Dtype
from framework.core.defaults import as_dtype, get_default_dtype
from framework.core.device import backend_of
from framework.core.memory_format import order_of, preserve_format
from framework.core.shape import as_int
from framework.core.tensor import Tensor
from framework.dispatch.errors import not_implemented_for
from framework.dispatch.out import write_out
from framework.dispatch.registry import ENTRIES, op
from framework.dispatch.schema import Num

from .bounds import DIGITS, check_integers, check_normal, check_uniform
from .creation import finished, sizes
from .random_draw import Source, drawn, memory_order

# ---------------------------------------------------------------- of a size


def _shape(name: str, size: tuple[Any, ...], named: Any) -> tuple[int, ...]:
    """The shape from separate ints, a sequence, or `size=`."""
    if named is not None:
        return sizes((named,))
    if not size:
        raise TypeError(f"{name}() received an invalid combination of arguments - got (), but expected a size")
    return sizes(size)


def factory(
    name: str,
    make_value: Callable[[Any, Any], Tensor],
    out: Tensor | None,
    dtype: Any,
    device: Any,
    requires_grad: bool = False,
) -> Tensor:
    """make_value(backend, dtype) for the device and dtype asked for, or for those of `out`, which is then written."""
    d = as_dtype(dtype, name)
    if out is None:
        return finished(make_value(backend_of(device), d), requires_grad)
    if d is not None and d is not out.dtype:
        raise RuntimeError(f"{name}(): dtype {d} does not match dtype of out parameter ({out.dtype})")
    return finished(write_out(ENTRIES[name], out, make_value(out.backend, out.dtype)), requires_grad)


def floating(source: Source, shape: tuple[int, ...], check: Callable[..., Any]) -> Callable[[Any, Any], Tensor]:
    """What `factory` calls for a distribution over the reals; without a dtype, the default one."""

    def make_value(backend: Any, d: Dtype | None) -> Tensor:
        d = d or get_default_dtype()
        check(d, *source.parameters)
        return drawn(backend, shape, d, source)

    return make_value


@op(composite=True, method=False)
def rand(*sizes, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False):  # fmt: skip
    """Numbers drawn uniformly from [0, 1), in a tensor of the given size.

    size: separate ints or one sequence. dtype: floating or complex, by default the default dtype; NotImplementedError
    for others. generator: the stream to draw from, by default the default generator.
    """
    source = Source("rand", generator, "uniform", (0.0, 1.0))
    return factory(
        "rand", floating(source, _shape("rand", sizes, size), check_uniform), out, dtype, device, requires_grad
    )


@op(composite=True, method=False)
def randn(*sizes, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False):  # fmt: skip
    """Standard normal numbers in a tensor of the given size; of a complex dtype, with variance 1 shared by both parts.

    size, dtype, generator: as in `rand`.
    """
    source, shape = Source("randn", generator, "normal", (0.0, 1.0)), _shape("randn", sizes, size)
    return factory("randn", floating(source, shape, check_normal), out, dtype, device, requires_grad)


def _bounds(name: str, given: list[Any], low: Any, high: Any) -> tuple[int, int]:
    """The bounds from `(high)` or `(low, high)`, by position or name."""
    if high is None and given:
        high = given.pop()
    if low is None and given:
        low = given.pop()
    if given or high is None:
        raise TypeError(
            f"{name}() received an invalid combination of arguments: the bounds are `high`, or `low` and `high`"
        )
    return as_int(0 if low is None else low, "low"), as_int(high, "high")


@op(composite=True, method=False)
def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False):  # fmt: skip
    """Integers from `low` (0) up to but without `high`: `randint(high, size)`, `randint(low, high, size)`.

    dtype: any real dtype that holds the bounds, by default int64. RuntimeError for an empty range, and for bounds out
    of the dtype's range.
    """
    given = list(args)
    if size is None and given and not isinstance(given[-1], (int, Tensor)):
        size = given.pop()
    if size is None:
        raise TypeError("randint() received an invalid combination of arguments: missing `size`, a tuple of ints")
    bounds, shape = _bounds("randint", given, low, high), sizes((size,))

    def make_value(backend, d):
        d = d or int64
        return drawn(backend, shape, d, Source("randint", generator, "integers", check_integers(d, *bounds)))

    return factory("randint", make_value, out, dtype, device, requires_grad)


@op(composite=True, method=False)
def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):  # fmt: skip
    """The integers from 0 to n - 1 in random order.

    dtype: int64 by default; any real one but bool that holds them. RuntimeError if it does not.
    """
    n = as_int(n, "n")
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")

    def make_value(backend, d):
        d = d or int64
        if d is bool_ or d.is_complex:
            not_implemented_for("randperm", d)
        limit = 2 ** DIGITS[d] + 1 if d.is_floating_point else int(np.iinfo(d.name).max)
        if n > limit:
            raise RuntimeError(f"randperm(): n cannot be greater than {limit} for {d}, got {n}")
        return drawn(backend, (), d, Source("randperm", generator, "permutation", (n,)))

    return factory("randperm", make_value, out, dtype, device, requires_grad)


# ---------------------------------------------------------------- like another tensor


def _like(input: Tensor, source: Source, check: Callable[..., Any], dtype: Any, device: Any, requires_grad: bool,
          memory_format: Any) -> Tensor:  # fmt: skip
    d = as_dtype(dtype, source.name) or input.dtype
    source = replace(source, parameters=check(d, *source.parameters) or source.parameters)
    if memory_format is None or memory_format is preserve_format:
        order = memory_order(input)
    else:
        order = order_of(memory_format, input.ndim)
    if order == tuple(range(input.ndim)):
        order = None
    backend = input.backend if device is None else backend_of(device)
    return finished(drawn(backend, tuple(input.shape), d, source, order), requires_grad)


@op(composite=True, method=False)
def rand_like(input: Num, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
              pin_memory=False, memory_format=None):  # fmt: skip
    """Numbers drawn uniformly from [0, 1), in the shape, dtype, device and memory order of `input`."""
    source = Source("rand_like", generator, "uniform", (0.0, 1.0))
    return _like(input, source, check_uniform, dtype, device, requires_grad, memory_format)


@op(composite=True, method=False)
def randn_like(input: Num, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False,
               pin_memory=False, memory_format=None):  # fmt: skip
    """Standard normal numbers in the shape, dtype, device and memory order of `input`."""
    source = Source("randn_like", generator, "normal", (0.0, 1.0))
    return _like(input, source, check_normal, dtype, device, requires_grad, memory_format)


@op(composite=True, method=False)
def randint_like(input, *args, low=None, high=None, generator=None, dtype=None, layout=None, device=None,
                 requires_grad=False, pin_memory=False, memory_format=None):  # fmt: skip
    """Integers from `low` (0) up to but without `high`, in the shape, dtype, device and memory order of `input`.

    `randint_like(input, high)`, `randint_like(input, low, high)`. RuntimeError as in `randint`.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"randint_like(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    source = Source("randint_like", generator, "integers", _bounds("randint_like", list(args), low, high))
    return _like(input, source, check_integers, dtype, device, requires_grad, memory_format)
