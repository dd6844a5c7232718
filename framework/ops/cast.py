"""Copies and casts, within a device and between devices, and the constants that rules write."""

from __future__ import annotations

from framework.core.tensor import Tensor, make
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num


def _whole(fn, size, flags, args):
    return fn(*args)


@op(opaque=True, linear="each", exact=True, batch=_whole, vjp=(lambda g: g,), spaces=())
def clone(xp, input: Num):
    """A copy with history."""
    return xp.clone(input)


@op(linear="each", exact=True, batch=_whole, vjp=(lambda g: g,), spaces=(), opaque=True)
def alias(xp, input: Num):
    """The same elements as another tensor with a node of its own; no view, so that writing to it does not reach the
    input.
    """
    return input


@op(opaque=True, linear="each", dtype=None, batch=_whole, vjp=(lambda g: g,), spaces=())
def to_dtype(xp, input: Num, dtype):
    """The elements cast to `dtype`; the engine casts the gradient back, as for any promotion."""
    return xp.astype(input, dtype)


def _across(fn, size, flags, args):
    return fn(*args)


@op(
    opaque=True,
    linear="each",
    dtype=None,
    batch=_across,
    spaces=(),
    vjp=(lambda xp, g, source, backend: xp.to_device(g, source, backend),),
)
def to_device(xp, input: Num, backend, source=None):
    """The elements on another device, given by its backend; `source` is the one they come from."""
    return backend.asarray(xp.to_numpy(input))


def astype(x: Tensor, dtype) -> Tensor:
    """x cast to `dtype`; x itself if it has it."""
    return x if x.dtype is dtype else to_dtype(x, dtype)


def full(shape, value, like: Tensor) -> Tensor:
    """A constant on the device and in the dtype of `like`: always a plain Tensor, without batch, tangent or history."""
    return make(like.backend, like.backend.full(tuple(shape), value, like.dtype), like.dtype)


T.astype, T.full, T.like, T.dtype_of = astype, full, lambda t: t, lambda t: t.dtype
