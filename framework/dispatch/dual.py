"""The forward-AD level: wrappers that carry a tangent along with their value."""

from __future__ import annotations

from typing import Any

from framework.core.state import STATE, grad_enabled
from framework.core.tensor import Tensor

from .levels import Level, Wrapper, fresh, innermost
from .record import strip
from .registry import T
from .schema import DIFFERENTIABLE, Entry
from .slow import compute_dtype, operands


class Dual(Wrapper):
    """A value and its tangent (`extra`; None means zero)."""

    __slots__ = ()

    def detach(self) -> Tensor:
        """The same elements without history or tangent."""
        return Dual.of(self.level, self.value.detach(), None)


class Forward(Level):
    """One forward differentiation under way."""

    def lift(self, x: Tensor) -> Wrapper:
        return Dual.of(self, x, None)

    def compute(self, entry: Entry, args: tuple[Any, ...], mine: list[bool]) -> list[Wrapper]:
        values: list[Any] = []
        tangents: list[Any] = []
        for a, m in zip(args, mine, strict=True):
            if m and type(a) is tuple:
                own = [isinstance(x, Dual) and x.level is self for x in a]
                values.append(tuple([x.value if o else x for o, x in zip(own, a, strict=True)]))
                tangents.append(tuple([x.extra if o else None for o, x in zip(own, a, strict=True)]))
            else:
                values.append(a.value if m else a)
                tangents.append(a.extra if m else None)
        out = entry.call(values)
        outs = out if isinstance(out, tuple) else (out,)
        some = any([any([x is not None for x in t]) if type(t) is tuple else t is not None for t in tangents])
        tangent: Any = jvp_of(entry, values, tangents, outs) if some and differentiable(entry) else None
        by_name = dict(zip(entry.diff_outs, tangent if isinstance(tangent, tuple) else (tangent,), strict=False))
        return [Dual.of(self, o, by_name.get(name)) for name, o in zip(entry.outs, outs, strict=True)]


def differentiable(e: Entry) -> bool:
    """Whether an entry has any derivative."""
    return bool(e.vjp or e.jvp or e.linear)


def jvp_of(e: Entry, values: list[Any], tangents: list[Any], outs: tuple[Any, ...]) -> Any:
    """An entry's forward derivative, in the cheapest form it has. tangents: one an argument, None for zero."""
    out = outs[0]
    if e.jvp:
        return e.jvp(T, tangents, out if len(outs) == 1 else outs, *values)
    if e.linear == "jointly":
        return shaped(e.call([_or_zero(v, t, k) for v, t, k in zip(values, tangents, e.order, strict=True)]), out)
    slots = [i for i, k in enumerate(e.order) if k in DIFFERENTIABLE]
    live = [i for i in slots if _lives(tangents[i])]
    if e.linear == "each":
        terms = [
            e.call([t if j == i else v for j, (v, t) in enumerate(zip(values, tangents, strict=True))]) for i in live
        ]
    elif e.deriv:
        env = dict(zip(e.params, _promoted(e, values), strict=True)) | {"out": out, "xp": T}
        terms = [_times(r, env, tangents[i]) for i, r in zip(slots, e.vjp, strict=True) if tangents[i] is not None]
    else:
        return vjp_of_vjp(e, values, tangents, live, outs)
    total = terms[0]
    for t in terms[1:]:
        total = total + t
    return shaped(total, out)


def _promoted(e: Entry, values: list[Any]) -> list[Any]:
    """The operands in the dtype that the rules compute in, as reverse mode hands them over."""
    nums = operands(e, tuple(values))
    if len({v.dtype for v in nums if isinstance(v, Tensor)}) < 2:
        return values
    compute = compute_dtype(e, tuple(values), nums)
    return [
        T.astype(v, compute) if k == "Num" and isinstance(v, Tensor) else v
        for v, k in zip(values, e.order, strict=True)
    ]


def _lives(t: Any) -> bool:
    return any([x is not None for x in t]) if type(t) is tuple else t is not None


def _times(rule: Any, env: dict[str, Any], tangent: Any) -> Any:
    return tangent * rule.fn(*[env[q] for q in rule.names])


def _or_zero(v: Any, t: Any, kind: str | None) -> Any:
    if kind == "Nums":
        return tuple(
            [_or_zero(x, y, "Num") for x, y in zip(v, t if type(t) is tuple else (None,) * len(v), strict=True)]
        )
    if kind != "Num":
        return v
    if t is not None:
        return t
    return T.full(tuple(v.shape), 0, v) if isinstance(v, Tensor) else 0


def shaped(tangent: Any, out: Tensor) -> Any:
    """A tangent in the shape and dtype of its value (one operand's may be smaller: the others broadcast)."""
    if isinstance(tangent, tuple):
        return tangent
    if tuple(tangent.shape) != tuple(out.shape):
        tangent = T.expand(tangent, tuple(out.shape))
    return tangent if tangent.dtype is out.dtype else T.astype(tangent, out.dtype)


def vjp_of_vjp(e: Entry, values: list[Any], tangents: list[Any], live: list[int], outs: tuple[Any, ...]) -> Any:
    """u -> vjp(u) is linear; its transpose is the jvp (for the real inner product). The variables are aliases that keep
    the history of the values, so the result can be differentiated again."""
    from .reverse import vjp_on_tensors

    recorded = STATE.grad and _has_history(innermost(), *values, *tangents)
    with grad_enabled(True):
        variables: list[Any] = [
            tuple([fresh(x) for x in v]) if type(v) is tuple and i in live else fresh(v) if i in live else v
            for i, v in enumerate(values)
        ]
        y = e.call(variables)
        ys = [o for o, name in zip(y if isinstance(y, tuple) else (y,), e.outs, strict=True) if name in e.diff_outs]
        us = [fresh(T.full(tuple(o.shape), 0, o)) for o in ys]
        flat = [x for i in live for x in (variables[i] if type(variables[i]) is tuple else (variables[i],))]
        ts = [x for i in live for x in (tangents[i] if type(tangents[i]) is tuple else (tangents[i],))]
        gs = vjp_on_tensors(ys, us, flat)
        total: Any = None
        for g, t in zip(gs, ts, strict=True):
            if g is not None and t is not None:
                part = T.sum(_inner(g, t))
                total = part if total is None else total + part
        if total is None or total.node is None:
            return tuple([None] * len(us)) if len(us) > 1 else None
        found = vjp_on_tensors([total], [T.full((), 1, total)], us)
    if not recorded:  # its graph leads to the aliases alone
        found = [None if t is None else strip(t) for t in found]
    return tuple(found) if len(found) > 1 else found[0]


def _has_history(level: Any, *operands: Any) -> bool:
    """Whether an operand, or a member of one, is on this level's tape."""
    flat = [x for a in operands for x in (a if type(a) is tuple else (a,))]
    return any([isinstance(x, Tensor) and x.level is level and x.node is not None for x in flat])


def _inner(g: Any, t: Any) -> Any:
    """The real inner product's summands: Re(conj(g) t)."""
    return T.real(T.conj(g) * t) if g.dtype.is_complex or t.dtype.is_complex else g * t
