"""The slow path: everything unusual about a call, in one place and in order.

Other types, `out=`, checks, modes, composites, mixed devices, promotion and casts, several outputs. The fast path of an
entry comes here for whatever it does not take, and for every error, so that errors are said once.
"""

from __future__ import annotations

from typing import Any

from backends.dtypes import dtype, int64
from backends.numpy.quiet import quiet
from framework.core.defaults import get_default_dtype, number_dtype
from framework.core.device import backend_of
from framework.core.modes import DECOMPOSE, below
from framework.core.promotion import NUMBER, result_type
from framework.core.shape import as_ints, broadcast_shapes, wrap_dim, wrap_dims
from framework.core.state import STATE
from framework.core.tensor import FAST, Tensor, arr, make

from . import errors
from .record import record
from .registry import T
from .schema import DIFFERENTIABLE, SEQUENCES, Entry
from .views import view_of

NUMBERS = (bool, int, float, complex)


def slow(e: Entry, args: tuple[Any, ...], out: Any = None) -> Any:
    """Call an op, whatever its arguments are."""
    overridden = override(e, args, out)
    if overridden is not NotImplemented:
        return overridden
    if out is not None:
        from .out import write_out

        return write_out(e, out, e.call(args))
    if e.rewrite:
        rewritten = e.rewrite(*args)
        if rewritten is not NotImplemented:
            return rewritten
    args = canonical(e, args)
    modes = STATE.modes
    for depth in range(len(modes) - 1, -1, -1):  # innermost first; each may decline
        with below(depth) as mode:
            r = mode.handle(e, args)
        if r is DECOMPOSE:  # the formula on wrappers: its primitives ask the whole stack again
            return e.run(T, args)
        if r is not NotImplemented:
            return r
    if e.composite:
        return e.run(None, args)
    checked(e, args)
    with quiet():
        return base(e, args)


def override(e: Entry, args: tuple[Any, ...], out: Any) -> Any:
    """What a subclass's `__torch_function__` answers, if an argument's type has one of its own; else NotImplemented."""
    if STATE.__dict__.get("plain_subclasses"):
        return NotImplemented
    overriding: list[type] = []
    for a in flat(args, out):
        kind = type(a)
        if kind in FAST or kind in _PLAIN or kind in overriding:
            continue
        hook = getattr(kind, "__torch_function__", None)
        if hook is None or getattr(a, "level", None) is not None:
            _PLAIN.add(kind) if hook is None else None
            continue
        overriding.append(kind)
    if not overriding:
        return NotImplemented
    keywords = e.keywords(args) | ({} if out is None else {"out": out})
    overriding.sort(key=lambda k: -len(k.__mro__))  # subclasses before what they derive from
    for kind in overriding:
        r = kind.__torch_function__(e.fn, tuple(overriding), args[: e.positional], keywords)
        if r is not NotImplemented:
            return r
    raise TypeError(f"no implementation found for '{e.name}' on types that implement __torch_function__: {overriding}")


_PLAIN: set[type] = {bool, int, float, complex, str, tuple, list, type(None), slice, dtype}


def flat(args: tuple[Any, ...], out: Any = None) -> list[Any]:
    """Arguments with sequences of them opened."""
    found: list[Any] = [out] if out is not None else []
    for a in args:
        if type(a) in (tuple, list):
            found += [x for x in a if isinstance(x, Tensor) or type(x) not in _PLAIN]
        else:
            found.append(a)
    return found


def canonical(e: Entry, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments checked by kind, dimensions wrapped, the entry's own canonical form taken."""
    values = list(args)
    first = next((a for a, k in zip(args, e.order, strict=True) if k in DIFFERENTIABLE or k == "Index"), None)
    lead = first if isinstance(first, Tensor) or not isinstance(first, (tuple, list)) else next(iter(first), None)
    for i, (a, kind) in enumerate(zip(args, e.order, strict=True)):
        if kind == "Num":
            if not isinstance(a, Tensor):
                values[i] = _number(e, i, a)
        elif kind == "Index":
            if not isinstance(a, Tensor) and a is not None:
                errors.not_a_tensor(e.name, e.params[i], i, a)
        elif kind == "Nums":
            if isinstance(a, Tensor) or not isinstance(a, (tuple, list)):
                raise TypeError(
                    f"{e.name}(): argument '{e.params[i]}' (position {i + 1}) must be tuple of Tensors, not "
                    f"{type(a).__name__}"
                )
            for j, x in enumerate(a):
                if not isinstance(x, Tensor):
                    raise TypeError(f"expected Tensor as element {j} in argument {i}, but got {type(x).__name__}")
            values[i] = tuple(a)
        elif kind == "Dim" and a is not None:
            values[i] = wrap_dim(a, lead.ndim if isinstance(lead, Tensor) else 0)
        elif kind == "Dims":
            values[i] = None if a is None else wrap_dims(a, lead.ndim if isinstance(lead, Tensor) else 0)
        elif kind == "Ints" and a is not None:
            values[i] = as_ints(a, e.params[i])
    if e.elementwise and len(e.nums) > 1 and not e.numbers_alone and not any([isinstance(a, Tensor) for a in values]):
        kinds = ", ".join([type(a).__name__ for a in args])
        raise TypeError(
            f"{e.name}() received an invalid combination of arguments - got ({kinds}): one of its operands must be a "
            "Tensor"
        )
    if e.canon:
        at = [i for i, p in enumerate(e.params) if p in e.static]
        for i, value in zip(at, e.canon(lead, *[values[i] for i in at]), strict=True):
            values[i] = value
    return tuple(values)


def checked(e: Entry, args: tuple[Any, ...]) -> None:
    """Raise what PyTorch raises for these arguments: after the modes that may change them, before any backend is
    called.
    """
    if e.elementwise and len(e.tensors) > 1:
        broadcast_shapes([tuple(a.shape) for a in args if isinstance(a, Tensor)])
    if e.check:
        e.check(*args)


def _number(e: Entry, i: int, a: Any) -> Any:
    """A Python number where a Num parameter may be one; NumPy scalars count as Python's."""
    if type(a) in NUMBERS or isinstance(a, NUMBERS):
        if e.elementwise and len(e.nums) > 1 or a is None:
            return a
    elif hasattr(a, "item") and getattr(a, "ndim", 1) == 0 and e.elementwise and len(e.nums) > 1:
        return a.item()
    elif a is None and e.params[i] in e.defaults:
        return a
    errors.not_a_tensor(e.name, e.params[i], i, a)


def operands(e: Entry, args: tuple[Any, ...]) -> list[Any]:
    """The differentiable operands, sequences opened: one for each edge of the node."""
    found: list[Any] = []
    for a, kind in zip(args, e.order, strict=True):
        if kind == "Num":
            found.append(a)
        elif kind == "Nums":
            found += a
    return found


def promoted(nums: list[Any]) -> dtype:
    """PyTorch's result dtype of tensors and numbers."""
    return result_type(
        [
            (a.dtype, 0 if a.ndim else 1) if isinstance(a, Tensor) else (number_dtype(type(a)), NUMBER)
            for a in nums
            if a is not None
        ]
    )


def dtypes_of(e: Entry, args: tuple[Any, ...], nums: list[Any]) -> tuple[dtype | None, dtype | None, dtype | None]:
    """(what operands are promoted to, what the forward computes in, what the result is); None: left alone."""
    if not nums or e.dtype is None:
        return None, None, None
    d = promoted(nums)
    if e.cast:
        d = args[e.params.index(e.cast)] or d
    if d.kind not in e.accept:
        errors.not_implemented_for(e.name, d)
    rule = e.dtype
    if rule == "float" and d.category < 2:
        d = get_default_dtype()
    if rule == "sum" and d.category < 2 and not (e.cast and args[e.params.index(e.cast)]):
        d = int64
    result = (
        d
        if rule in ("same", "float", "sum")
        else d.to_real()
        if rule == "real"
        else rule
        if isinstance(rule, dtype)
        else rule(d)
    )
    return d, d if e.exact else d.compute, result


def compute_dtype(e: Entry, args: tuple[Any, ...], nums: list[Any]) -> dtype | None:
    """The dtype that an op's forward and rules compute in."""
    return dtypes_of(e, args, nums)[1]


def base(e: Entry, args: tuple[Any, ...]) -> Any:
    """Run an op on arrays and leave a node."""
    nums = operands(e, args)
    tensors = [a for a in flat(args) if isinstance(a, Tensor)]
    if any(t.level is not None for t in tensors):
        raise RuntimeError(f"{e.name}: a tensor of a function transform that has ended was used outside it")
    backend = one_backend(e, tensors)
    d, compute, result = dtypes_of(e, args, nums)
    if compute is not None and compute not in backend.native:
        raise TypeError(
            f"{e.name}: device {backend.name} has no {compute.name}; convert the operands, or move them to 'cpu'"
        )
    raw = [_raw(e, a, kind, backend, d, compute) for a, kind in zip(args, e.order, strict=True)]
    r = NotImplemented
    if e.kernel and e.name in backend.kernels:
        r = getattr(backend, e.name)(*[a for a, p in zip(raw, e.params, strict=True) if p != e.cast])
    if r is NotImplemented:
        r = e.run(backend, [None if p == e.cast else a for a, p in zip(raw, e.params, strict=True)])
    if e.view:
        return record(e, args, (view_of(e, args, r),), None)
    where = args[1] if e.name == "to_device" else backend
    outs = tuple([_wrap(where, x, result if name in e.diff_outs else None)
                  for name, x in zip(e.outs, r if type(r) is tuple else (r,), strict=True)])  # fmt: skip
    return record(e, args, outs, compute)


def _raw(e: Entry, a: Any, kind: str | None, backend: Any, d: dtype | None, compute: dtype | None) -> Any:
    if isinstance(a, Tensor):
        x = arr(a) if a.backend is backend else backend.asarray(a.backend.to_numpy(arr(a)))
        if kind in DIFFERENTIABLE and not e.view and compute is not None and a.dtype is not compute:
            x = backend.astype(x, compute)
        return x
    if kind == "Num" and a is not None and compute is not None:
        return scalar(backend, a, compute)
    if kind in SEQUENCES:
        return [_raw(e, x, "Num" if kind == "Nums" else "Index", backend, d, compute) for x in a]
    return a


def scalar(backend: Any, value: Any, d: dtype) -> Any:
    """A Python number as a 0-d array of a dtype; integers wrap around, as in PyTorch."""
    if d.category == 1:
        value, bits = int(value), 8 * d.itemsize
        value &= (1 << bits) - 1
        if d.is_signed and value >= 1 << (bits - 1):
            value -= 1 << bits
    return backend.full((), value, d)


def _wrap(backend: Any, x: Any, result: dtype | None) -> Tensor:
    t = make(backend, x)
    if result is not None and t.dtype is not result:
        t = make(backend, backend.astype(t.array, result), result)
    return t


def one_backend(e: Entry, tensors: list[Tensor]) -> Any:
    """The backend of the operands: they must share a device, but 0-d CPU tensors go anywhere."""
    if not tensors:
        return backend_of(None)
    found = tensors[0].backend
    for t in tensors[1:]:
        if t.backend is found:
            continue
        if (
            found.device_type == "cpu"
            and found.name == "cpu"
            and all(not x.ndim for x in tensors if x.backend is found)
        ):
            found = t.backend
        elif not (t.backend.name == "cpu" and not t.ndim):
            raise RuntimeError(
                f"Expected all tensors to be on the same device, but found at least two devices, {found.name} and "
                f"{t.backend.name}! (when calling {e.name}; move one with .to())"
            )
    return found


__all__ = ["base", "canonical", "flat", "operands", "promoted", "scalar", "slow"]
