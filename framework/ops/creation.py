"""Tensors out of nothing: constants, ranges, and the `*_like` and `new_*` forms."""

from __future__ import annotations

from math import ceil, isfinite
from typing import Any

import numpy as np

from backends.dtypes import dtype as Dtype
from backends.dtypes import float64, int64
from framework.core.defaults import get_default_dtype, number_dtype
from framework.core.device import backend_of
from framework.core.memory_format import contiguous_format, dense_order, order_of
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_ints
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import op
from framework.ops.layout import in_order


def finished(t: Tensor, requires_grad: bool) -> Tensor:
    """A new tensor, made a variable if asked."""
    return t.requires_grad_() if requires_grad else t


def sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The shape from `zeros(2, 3)`, `zeros((2, 3))` or `zeros([2, 3])`."""
    shape = as_ints(size[0]) if len(size) == 1 and not isinstance(size[0], int) else as_ints(size)
    if any(n < 0 for n in shape):
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def constant(shape: tuple[int, ...], value: Any, dtype: Dtype | None, device: Any, requires_grad: bool) -> Tensor:
    """A tensor filled with one number."""
    backend = backend_of(device)
    d = dtype or get_default_dtype()
    return finished(make(backend, backend.full(shape, value, d), d), requires_grad)


@op(composite=True, method=False)
def zeros(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None):
    """A tensor of zeros of the given size."""
    return into(out, constant(sizes(size), 0, dtype or (out.dtype if out is not None else None), device, requires_grad))


@op(composite=True, method=False)
def ones(*size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None):
    """A tensor of ones of the given size."""
    return into(out, constant(sizes(size), 1, dtype or (out.dtype if out is not None else None), device, requires_grad))


@op(composite=True, method=False)
def empty(
    *size, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None
):
    """A tensor of the given size whose elements nobody promises (zeros here: uninitialised memory helps nobody)."""
    return into(out, constant(sizes(size), 0, dtype or (out.dtype if out is not None else None), device, requires_grad))


@op(composite=True, method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor of the given size filled with a number; its dtype is that of the number unless given."""
    if isinstance(fill_value, Tensor):
        fill_value, dtype = fill_value.item(), dtype or fill_value.dtype
    d = dtype or (out.dtype if out is not None else number_dtype(type(fill_value)))
    return into(out, constant(sizes((size,)), fill_value, d, device, requires_grad))


def into(out, value):
    """A new tensor, written into `out` if that is given."""
    if out is None:
        return value
    from framework.dispatch.out import write_out

    return write_out(zeros_like.entry, out, value)


@op(composite=True, method=False)
def arange(
    start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Numbers from `start` (0 if only one is given) up to but without `end` by `step`."""
    if end is None:
        start, end = 0, start
    start, end, step = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (isfinite(start) and isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    integral = all(isinstance(v, int) for v in (start, end, step))
    d = dtype or (out.dtype if out is not None else int64 if integral else get_default_dtype())
    if not d.category or d.is_complex:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{scalar_type_name(d)}'")
    if d is int64:
        start, end, step = int(start), int(end), int(step)
        if not step:
            raise ValueError(f"step must be nonzero: it is cut to an integer for {d}")
    count = -((start - end) // step) if d is int64 or integral else ceil((end - start) / step)
    wide = np.arange(count) * (step if d.category > 1 else int(step)) + (start if d.category > 1 else int(start))
    backend = backend_of(device)
    value = make(
        backend,
        backend.astype(
            backend.asarray(wide, int64 if wide.dtype.kind == "i" else float64 if float64 in backend.native else None),
            d,
        ),
    )
    return into(out, finished(value, requires_grad))


def _like(input, value, dtype, device, requires_grad, memory_format=None):
    backend = input.backend if device is None else backend_of(device)
    d = dtype or input.dtype
    t = make(backend, backend.full(tuple(input.shape), value, d), d)
    if memory_format is not None and memory_format.order:
        t = in_order(t, order_of(memory_format, t.ndim))
    elif (
        memory_format is not contiguous_format
        and input.level is None
        and backend.aliasing
        and not input.is_contiguous()
    ):
        order = dense_order(input.shape, input.stride())
        t = t if order is None else in_order(t, order)
    return finished(t, requires_grad)


@op(composite=True, method=False)
def zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Zeros of the shape, dtype and device of `input`."""
    return _like(input, 0, dtype, device, requires_grad, memory_format)


@op(composite=True, method=False)
def ones_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """Ones of the shape, dtype and device of `input`."""
    return _like(input, 1, dtype, device, requires_grad, memory_format)


@op(composite=True, method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """A number in the shape, dtype and device of `input`."""
    return _like(input, fill_value, dtype, device, requires_grad, memory_format)


@op(composite=True, method=False)
def empty_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None):
    """A tensor of the shape, dtype and device of `input` whose elements nobody promises."""
    return _like(input, 0, dtype, device, requires_grad, memory_format)
