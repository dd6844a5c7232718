"""Tensors made by a formula of the position: identity matrices, evenly spaced numbers and powers."""

from __future__ import annotations

import numpy as np

from backends.dtypes import bool_, complex128, float64, int64
from framework.core.defaults import as_dtype, get_default_complex_dtype, get_default_dtype
from framework.core.device import backend_of
from framework.core.promotion import scalar_type_name
from framework.core.shape import as_int
from framework.core.tensor import Tensor, make
from framework.dispatch.registry import op
from framework.ops.creation import finished, into


def from_host(array, dtype, device):
    """A host array as a tensor of a dtype on a device."""
    backend = backend_of(device)
    return make(backend, backend.asarray(array, dtype), dtype)


@op(composite=True, method=False)
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """The n x m matrix (n x n unless m is given) with ones on its diagonal and zeros elsewhere."""
    n = as_int(n, "n")
    m = n if m is None else as_int(m, "m")
    for size, name in ((n, "n"), (m, "m")):
        if size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    d = as_dtype(dtype, "eye") or (out.dtype if out is not None else get_default_dtype())
    b = backend_of(device)
    value = make(b, b.diagonal_put(b.full((min(n, m),), 1, d), (n, m), 0, 0, 1), d)
    return into(out, finished(value, requires_grad))


def _spaced(name, start, end, steps, out, dtype, device):
    """(evenly spaced numbers in double precision, dtype of the result, device)."""
    given = [x for x in (start, end) if isinstance(x, Tensor)]
    if any(x.ndim for x in given):
        dims = [x.ndim if isinstance(x, Tensor) else 0 for x in (start, end)]
        raise RuntimeError(
            f"{name} only supports 0-dimensional start and end tensors, but got start with {dims[0]} dimension(s) and "
            f"end with {dims[1]} dimension(s)."
        )
    device = given[0].device if given and device is None else device
    start, end = [x.item() if isinstance(x, Tensor) else x for x in (start, end)]
    steps = as_int(steps, "steps")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    wide = isinstance(start, complex) or isinstance(end, complex)
    d = as_dtype(dtype, name) or (out.dtype if out is not None else None)
    if wide and d is not None and not d.is_complex:
        raise RuntimeError(
            f"{name}(): inferred dtype {get_default_complex_dtype()} can't be safely cast to passed dtype {d}"
        )
    d = d or (get_default_complex_dtype() if wide else get_default_dtype())
    if d is bool_:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for '{scalar_type_name(d)}'")
    kind = complex if d.is_complex else float
    if d.category == 1:
        start, end = int(start), int(end)
    first, last = kind(start), kind(end)
    i = np.arange(steps)
    step = (last - first) / (steps - 1) if steps > 1 else kind(0)
    half = i < max(steps // 2, 1)  # from both ends, so that the last number is exact
    return np.where(half, first + step * i, last - step * (steps - 1 - i)), d, device


def _rounded(numbers, d):
    """Numbers in double precision, in a dtype: integers are cut towards zero."""
    return np.trunc(numbers).astype(np.int64) if d.category == 1 else numbers


@op(composite=True, method=False)
def linspace(
    start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """`steps` evenly spaced numbers from `start` to `end`, both included; the two may be 0-d tensors."""
    numbers, d, device = _spaced("linspace", start, end, steps, out, dtype, device)
    return into(out, finished(_cast(_rounded(numbers, d), d, device), requires_grad))


@op(composite=True, method=False)
def logspace(
    start,
    end,
    steps,
    base=10.0,
    *,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """`base` to the power of `steps` evenly spaced exponents from `start` to `end`, both included."""
    exponents, d, device = _spaced("logspace", start, end, steps, out, dtype, device)
    with np.errstate(all="ignore"):
        numbers = np.power(np.asarray(base, complex if d.is_complex else float), exponents)
        return into(out, finished(_cast(_rounded(numbers, d), d, device), requires_grad))


def _cast(numbers, d, device):
    backend = backend_of(device)
    host = numbers.astype(np.complex128 if d.is_complex else numbers.dtype)
    source = int64 if d.category == 1 else complex128 if d.is_complex else float64
    if source not in backend.native:
        return from_host(host.astype(np.complex64 if d.is_complex else np.float32), d, device)
    return make(backend, backend.astype(backend.asarray(host, source), d), d)


@op(composite=True, method=False)
def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """Numbers from `start` to `end`, the end included, by `step`; of the default dtype unless given. Deprecated: use
    `arange`.
    """
    if end is None:
        start, end = 0, start
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    d = as_dtype(dtype, "range") or (out.dtype if out is not None else get_default_dtype())
    numbers = start + step * np.arange(int((end - start) / step) + 1, dtype=np.float64)
    return into(out, finished(_cast(_rounded(numbers, d), d, device), requires_grad))
