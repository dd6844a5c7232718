"""Leaving a node on the tape from the slow path, and running a node's rules with any namespace.

Saved inputs are Tensors with their version; a node's own outputs are saved as array and storage (no reference cycle).
"""

from __future__ import annotations

from typing import Any

from backends import registry
from backends.dtypes import dtype
from framework.core.graph import Node, Pick, SlowNode
from framework.core.state import ANOMALY, STATE, next_seq
from framework.core.storage import storage_of
from framework.core.tensor import Tensor, arr, make, version_of

from . import errors
from .registry import T
from .saved import Packed, packed
from .schema import DIFFERENTIABLE, Entry, vjp_kernel

new = object.__new__


def edge_of(a: Any, level: Any) -> Node | None:
    """The node of an operand on this level's tape. Operands of lower levels carry history of their own in their
    payloads.
    """
    return a.node if isinstance(a, Tensor) and a.level is level else None


def record(e: Entry, args: tuple[Any, ...], outs: tuple[Tensor, ...], compute: dtype | None, level: Any = None) -> Any:
    """Leave a node on `outs` if gradients are on and a differentiable operand has history; return them as the op
    returns them.
    """
    result = outs[0] if len(outs) == 1 else e.result(*outs)
    if not STATE.grad or not e.vjp:
        if (
            e.view
            and outs[0]._view is not None
            and outs[0]._view.base is not None
            and not outs[0]._view.origin
            and _tracked(e, args, level)
        ):
            outs[0]._view.origin = "no_grad"
        return result
    edges = edges_of(e, args, level)
    if not any([m is not None for m in edges]):
        return result
    out = outs[e.outs.index(e.diff_outs[0])]
    if out.dtype.category < 2:  # integers have no gradient
        return result
    needed = {q for i, r in enumerate(e.vjp) if r and (not r.one or _asked(e, args, i, edges)) for q in r.names}
    n: SlowNode = new(SlowNode)
    n.entry, n.edges, n.level, n.hooks = e, edges, level, None
    n.seq = next_seq()
    n.shape, n.dtype, n.outputs = tuple(out.shape), out.dtype, len(e.diff_outs)
    n.compute = compute if compute is not None and _casts(e, args, n.dtype, compute) else None
    saved = tuple([a if p in needed else None for a, p in zip(args, e.params, strict=True) if p in e.tensors])
    for t in saved:
        if isinstance(t, Tensor) and t.is_inference():
            raise RuntimeError(
                f"Inference tensors cannot be saved for backward (by {e.name}). Please do not use Tensors created in "
                "inference mode in computation tracked by autograd; clone it to get a normal tensor."
            )
    n.saved = saved
    n.versions = tuple([version_of(t) if isinstance(t, Tensor) else _versions(t) for t in saved])
    n.params = tuple([a for a, p in zip(args, e.params, strict=True) if p not in e.tensors])
    n.out = n.out_storage = None
    n.saved_outputs = {q: (strip(o), None, 0) if level is not None else (arr(o), storage_of(o), version_of(o))
                       for q, o in zip(e.outs, outs, strict=True) if q in needed}  # fmt: skip
    if STATE.saved_hooks:
        _pack(n)
    if ANOMALY.enabled:
        errors.remember_line(n)
    if len(e.outs) == 1:
        outs[0].node = n
    else:
        for i, q in enumerate(e.diff_outs):
            o = outs[e.outs.index(q)]
            o.node = Pick(n, i, o)
    return result


def _pack(n: SlowNode) -> None:
    """Hand what a node saves to the user's hooks."""
    assert n.saved is not None
    n.saved = tuple([packed(t) for t in n.saved])
    if n.level is None:
        n.saved_outputs = {q: (packed(_output(n, q, saved, _backend_holding(*saved[:2]), True, False)), None, 0)
                           for q, saved in n.saved_outputs.items()}  # fmt: skip


def _casts(e: Entry, args: tuple[Any, ...], result: dtype, compute: dtype) -> bool:
    """Whether the forward ran in a dtype that is not everybody's."""
    if result is not compute:
        return True
    return any(
        [
            isinstance(x, Tensor) and x.dtype is not compute
            for a, k in zip(args, e.order, strict=True)
            if k in DIFFERENTIABLE
            for x in (a if type(a) is tuple else (a,))
        ]
    )


def _versions(t: Any) -> Any:
    return tuple([version_of(x) if isinstance(x, Tensor) else None for x in t]) if type(t) is tuple else None


def _tracked(e: Entry, args: tuple[Any, ...], level: Any) -> bool:
    return any(m is not None for m in edges_of(e, args, level))


def edges_of(e: Entry, args: tuple[Any, ...], level: Any) -> tuple[Node | None, ...]:
    """One edge an operand that can have a gradient; a sequence gives one each."""
    edges: list[Node | None] = []
    for a, kind in zip(args, e.order, strict=True):
        if kind == "Num":
            edges.append(edge_of(a, level))
        elif kind == "Nums":
            edges += [edge_of(x, level) for x in a]
    return tuple(edges)


def _asked(e: Entry, args: tuple[Any, ...], i: int, edges: tuple[Node | None, ...]) -> bool:
    """Whether the rule of the i-th differentiable parameter will run."""
    if "Nums" in e.order:
        return True
    return edges[i] is not None


def strip(t: Tensor) -> Tensor:
    """The same values without t's own node: an alias on its storage; a wrapper keeps its payload and that one's
    history.
    """
    return t.like(None) if t.level is not None else t.detach()  # type: ignore[attr-defined]


# ---------------------------------------------------------------- reverse by the generic route
def backward_generic(n: Any, g: Any, xp: Any, create: bool) -> list[Any]:
    """Run a node's rules with any `xp`; `g` is the gradient of its output, or a list of them for several outputs.

    On Tensors, saved inputs come back with the edge they had if `create` (the gradient will be differentiated), else
    stripped; the node's own outputs come back as Tensors whose node is n.
    """
    e: Entry = n.entry
    tensors = xp is T
    compute = n.compute
    many = len(e.diff_outs) > 1
    cast = _caster(xp, compute)
    env: dict[str, Any] = dict(zip(e.static, n.params, strict=True))
    env["xp"], env["g"] = xp, [cast(v) for v in g] if many else cast(g[0] if type(g) is list else g)
    edge = iter(n.edges)
    for p, t, v in zip(e.tensors, n.saved, n.versions, strict=True):
        kind = e.kinds[p]
        if kind == "Nums":
            members = t if t is not None else [None] * (len(n.edges) - len(e.nums) + 1)
            versions = v if v is not None else [None] * len(members)
            env[p] = tuple(
                [
                    _restore(n, p, x, y, next(edge), tensors, create, cast)
                    for x, y in zip(members, versions, strict=True)
                ]
            )
        elif kind == "Indices":
            env[p] = tuple(
                [_restore(n, p, x, y, None, tensors, create, None) for x, y in zip(t or (), v or (), strict=True)]
            )
        else:
            env[p] = _restore(
                n, p, t, v, next(edge) if kind == "Num" else None, tensors, create, cast if kind == "Num" else None
            )
    backend = _backend_of(env["g"]) if tensors else None
    for q, saved in saved_outputs(n).items():
        o = _output(n, q, saved, backend, tensors, create)
        env[q] = cast(o) if q in e.diff_outs else o
    kernels = xp.kernels if e.kernel_vjp and not tensors else ()
    if len(e.vjp) == 1 and e.vjp[0] and not e.vjp[0].one:
        return list(_applied(e, 0, env, kernels))
    return _each(n, e, env, kernels)


def _applied(e: Entry, i: int, env: dict[str, Any], kernels: Any) -> Any:
    """What the i-th rule gives, or the backend's kernel for it."""
    if kernels:
        name, given = vjp_kernel(e, i)
        if name in kernels and (r := getattr(env["xp"], name)(*[env[q] for q in given])) is not NotImplemented:
            return r
    return e.vjp[i](env)  # type: ignore[misc]  # asked only for rules that there are


def _caster(xp: Any, compute: dtype | None) -> Any:
    """Casts a value to the dtype that rules compute in; complex values of an op on real numbers stay complex."""

    def cast(v: Any) -> Any:
        if v is None or compute is None:
            return v
        return v if xp.dtype_of(v).is_complex and not compute.is_complex else xp.astype(v, compute)

    return cast


def _each(n: Any, e: Entry, env: dict[str, Any], kernels: Any = ()) -> list[Any]:
    grads: list[Any] = []
    for i, (p, r) in enumerate(zip(e.nums, e.vjp, strict=True)):
        if e.kinds[p] == "Nums":
            count = len(n.edges) - len(e.nums) + 1
            edges = n.edges[len(grads) : len(grads) + count]
            env["shape"] = tuple([None if m is None else m.shape for m in edges])
            grads += r(env) if r else [None] * count
            continue
        edge = n.edges[len(grads)]
        if edge is None or r is None:
            grads.append(None)
            continue
        env["shape"] = edge.shape
        grads.append(_applied(e, i, env, kernels))
    return grads


def _restore(n: Any, name: str, t: Any, version: Any, edge: Any, tensors: bool, create: bool, cast: Any) -> Any:
    """A saved input as the rule wants it."""
    if type(t) is Packed:
        t, version = t.unpack(), None
    if not isinstance(t, Tensor):
        return t
    if version is not None and version != version_of(t):
        errors.stale(n, name, t, version)
    if not tensors:
        a = arr(t)
        return a if cast is None else cast(a)
    if cast is not None:
        if t.level is n.level:  # what comes from outside the level keeps its history, which is on a tape of its own
            t = strip(t) if not create else t if t.node is edge else linked_to(t, edge)
        t = cast(t)
    return t


def _output(n: Any, q: str, saved: tuple[Any, Any, Any], backend: Any, tensors: bool, create: bool) -> Any:
    """One of a node's own outputs as the rule wants it."""
    o, storage, version = saved
    if storage is not None and storage.version != version:
        errors.stale(n, q, storage, version)
    if type(o) is Packed:
        o = o.unpack()
        if not tensors:
            return arr(o)
        o = strip(o)
    elif not tensors:
        return o
    elif n.level is not None:
        o = strip(o)
    else:
        o = make(backend, o)
        o.storage = getattr(storage, "storage", storage)
        storage.add(o)
    e = n.entry
    if create and q in e.diff_outs:
        o.node = n if len(e.outs) == 1 else Pick(n, e.diff_outs.index(q), o)
    return o


def output_of(n: Any, q: str, backend: Any = None) -> Tensor:
    """One of a node's own outputs that it saved, with its history."""
    saved = saved_outputs(n)[q]
    if backend is None and type(saved[0]) is not Packed:
        backend = _backend_holding(*saved[:2])
    found: Tensor = _output(n, q, saved, backend, True, True)
    return found


def linked_to(t: Tensor, edge: Node | None) -> Tensor:
    """A saved tensor with the node it had, if it has another by now."""
    t = strip(t)
    t.node = edge
    return t


def _backend_holding(array: Any, storage: Any) -> Any:
    """The backend of a saved array."""
    for r in () if storage is None else storage.views:
        if (t := r()) is not None:
            return t.backend
    found = [b for b in registry.loaded() if type(array) is b.array]
    return found[0] if len(found) == 1 else next((b for b in found if b.aliasing is array.flags.writeable), found[0])


def saved_outputs(n: Any) -> dict[str, Any]:
    """A node's own outputs that its rules name: name -> (array or wrapper, storage, version)."""
    if isinstance(n, SlowNode):
        return n.saved_outputs
    return {"out": (n.out, n.out_storage, 0)} if "out" in n.entry.uses else {}


def _backend_of(g: Any) -> Any:
    return next(x for x in g if x is not None).backend if type(g) is list else g.backend
