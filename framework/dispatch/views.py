"""Views: how a view op's result shares its input's storage, and reading, writing and replaying a chain of views.

V, the map from a base to a view of it, is the replay of the view's chain; its transpose is the view rules backwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from framework.core.storage import SHADOW, View, share, storage_of
from framework.core.tensor import Tensor, arr, make

from .registry import T
from .schema import Entry


def overlap(a: Any, b: Any) -> bool:
    """Whether two arrays share memory. (An empty view shares none, but is a view all the same.)"""
    if not isinstance(a, np.ndarray):
        return (a if a.base is None else a.base) is (b if b.base is None else b.base)
    return bool(np.may_share_memory(a, b)) or (a.size == 0 and root_of(a) is root_of(b))


def root_of(a: Any) -> Any:
    """The array that owns an array's memory."""
    while isinstance(a.base, np.ndarray):
        a = a.base
    return a


COPY = "copy"  # the origin of what should be a view of memory read as another dtype, where arrays do not alias


def view_of(e: Entry, args: tuple[Any, ...], r: Any) -> Tensor:
    """The result of a view op: on x's storage, its chain longer by one link. A copy (reshape that cannot alias) is a
    new tensor, and so is memory read as another dtype where arrays do not alias."""
    x: Tensor = args[0]
    shadow = None
    if x.backend.aliasing:
        if not overlap(r, arr(x)):
            return make(x.backend, r)
    elif e.dtype is None:
        t = make(x.backend, r)
        t._view = View(None, None, None, COPY)  # a write to it could not reach x, so it is refused
        return t
    else:
        storage = storage_of(x)
        assert x._view is not None
        shadow = e.run(SHADOW, (x._view.shadow, *args[1:]))
        if not overlap(shadow, (storage.root or storage).shadow):
            return make(x.backend, r)
    t = share(x, r, linked(e, args, x, shadow))
    if x.backend.aliasing:
        t.dtype = x.backend.dtype_of(t.array)
    return t


def linked(e: Entry, args: tuple[Any, ...], x: Tensor, shadow: Any) -> View:
    """The view record of a view of x by one op."""
    v = x._view
    link = tuple(args[1:])
    if v is None or v.base is None:
        return View(x, (None, e, link, tuple(x.shape)), shadow, "" if v is None else v.origin)
    return View(v.base, (v.chain, e, link, tuple(x.shape)), shadow, v.origin)


def replay(base: Tensor, view: View) -> Tensor:
    """The same view of `base`, by calling the ops again."""
    for e, params, _ in view.links():
        base = e.call((base, *params))
    return base


def read(xp: Any, x: Any, view: View) -> Any:
    """V: the elements that a view names, as a value."""
    for e, params, _ in view.links():
        x = e.call((x, *params)) if xp is T else e.run(xp, (x, *params))
    return x


def put(xp: Any, g: Any, view: View) -> Any:
    """V transposed: a view's elements in their places, zeros elsewhere: the view rules backwards."""
    for e, params, shape in reversed(view.links()):
        rule = e.vjp[0]
        assert rule is not None
        g = rule(dict(zip(e.params[1:], params, strict=True)) | {"xp": xp, "g": g, "shape": shape})
    return g


def replaced(xp: Any, base: Any, value: Any, view: View) -> Any:
    """`base` (an array or a Tensor, by `xp`) with zeros where a view's elements lie, or with `value` there."""
    put_value = None if value is None else put(xp, value, view)
    zero = xp.full((), 0, xp.like(base))
    if all([e.dtype is not None for e, _, _ in view.links()]):
        mask = np.zeros(tuple(base.shape), bool)
        read(SHADOW, mask, view)[...] = True
        here = make(base.backend, base.backend.asarray(mask)) if xp is T else xp.asarray(mask)
        return xp.where(here, zero if value is None else put_value, base)
    # The view reads memory as another dtype: a part of a complex number may be in it. Ones, put back, say which.
    shown = read(xp, base, view)
    here = put(xp, xp.full(tuple(shown.shape), 1 + 1j if xp.dtype_of(shown).is_complex else 1, xp.like(shown)), view)
    if not xp.dtype_of(base).is_complex:
        return xp.where(here != 0, zero if value is None else put_value, base)
    none = xp.real(zero)
    parts = [
        xp.where(part(here) != 0, none if value is None else part(put_value), part(base)) for part in (xp.real, xp.imag)
    ]
    return xp.complex(*parts)


def self_overlapping(x: Tensor) -> bool:
    """Whether two elements of a view lie at the same place in memory (it was expanded)."""
    if x.level is not None:
        return self_overlapping(x.value)  # type: ignore[attr-defined]
    if x._view is None and x.backend.aliasing and arr(x).flags.forc:
        return False
    if x._view is None and not x.backend.aliasing:
        return False
    a = arr(x) if x.backend.aliasing else x._view.shadow if x._view is not None else None
    if a is None or a.size < 2:
        return False
    if a.flags.forc:
        return False
    if any(s == 0 and n > 1 for s, n in zip(a.strides, a.shape, strict=True)):
        return True
    # Strides in ascending order must each step over all that the smaller ones span; otherwise elements are counted.
    span = a.itemsize
    for stride, n in sorted(zip(map(abs, a.strides), a.shape, strict=True)):
        if n == 1:
            continue
        if stride < span:
            return _counted_overlap(a)
        span = stride * (n - 1) + span
    return False


def _counted_overlap(a: Any) -> bool:
    at = np.zeros(a.shape, np.int64)
    for d, (stride, n) in enumerate(zip(a.strides, a.shape, strict=True)):
        at += (np.arange(n) * stride).reshape([-1 if i == d else 1 for i in range(a.ndim)])
    return len(np.unique(at)) < int(a.size)


__all__ = ["View", "linked", "put", "read", "replaced", "replay", "self_overlapping", "view_of"]
