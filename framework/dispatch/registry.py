"""Registering ops: `@op(...)` on a forward, `unary` and `binary` for one-line entries, and `T`, the namespace `xp` on
Tensors.

`T.<name>` *is* the entry's function, so a rule's text runs on arrays (xp = a backend) and on Tensors (xp = T) alike.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from backends.dtypes import BY_NAME
from framework.core.graph import node_name
from framework.core.tensor import Tensor

from . import schema
from .errors import not_a_tensor
from .schema import DIFFERENTIABLE, SEQUENCES, TENSORS, Entry, Rule, parameter_names

T: Any = SimpleNamespace()  # primitives on Tensors, filled as entries register
PUBLIC: dict[str, dict[str, Any]] = {}  # public module ("" is framework) -> name -> function
ENTRIES: dict[str, Entry] = {}


def op(**fields: Any) -> Callable[[Callable[..., Any]], Any]:
    """`@op(...)` makes an entry of a function whose signature is the public one, after `xp` unless it is a
    composite.
    """
    return lambda f: register(f.__name__.rstrip("_") if fields.get("trim") else f.__name__, f, **fields)


def unary(name: str, forward: Callable[..., Any] | None = None, **fields: Any) -> Any:
    """An elementwise op of one operand; its forward is the backend's primitive of that name unless given."""
    return _elementwise(name, ("input",), forward, fields)


def binary(name: str, forward: Callable[..., Any] | None = None, **fields: Any) -> Any:
    """An elementwise op of two operands.

    numbers: which of them the public function takes as Python numbers: "any" (the default), "one" (not both), "other"
    (the second alone), "none". Rules may write numbers anywhere.
    """
    numbers = fields.pop("numbers", "any")
    if numbers == "any":
        return _elementwise(name, ("input", "other"), forward, fields)
    public = {k: fields.pop(k) for k in ("spaces", "alias", "method", "inplace") if k in fields}
    public.setdefault("inplace", fields.get("dtype", "same") in ("same", "float"))
    own = _elementwise(name, ("input", "other"), forward, fields | {"spaces": (), "inplace": False})

    def strict(input: Any, other: Any) -> Any:
        first, second = isinstance(input, Tensor), isinstance(other, Tensor)
        if not first and (numbers != "one" or not second) and not hasattr(type(input), "__torch_function__"):
            not_a_tensor(name, "input", 0, input)
        if not second and numbers == "none" and not hasattr(type(other), "__torch_function__"):
            not_a_tensor(name, "other", 1, other)
        return own(input, other)

    strict.__annotations__ = {}  # both go on as they are: `own` promotes them
    strict.__doc__ = own.__doc__
    return register(name, strict, composite=True, **public)


def _elementwise(name: str, params: tuple[str, ...], forward: Any, fields: dict[str, Any]) -> Any:
    opaque = forward is None
    if forward is None:
        plain = _PLAIN[len(params)]
        entry = sys._getframe(2)  # where the entry is written: that is where the function says it is from
        code = plain.__code__.replace(
            co_name=name, co_names=(name,), co_filename=entry.f_code.co_filename, co_firstlineno=entry.f_lineno
        )
        forward = FunctionType(code, {}, name)
    forward.__annotations__ = dict.fromkeys(params, "Num")
    fields.setdefault("inplace", fields.get("dtype", "same") in ("same", "float"))
    return register(name, forward, **{"opaque": opaque, "elementwise": True} | fields)


_PLAIN: dict[int, Any] = {1: lambda xp, input: xp.op(input), 2: lambda xp, input, other: xp.op(input, other)}


def register(name: str, forward: Callable[..., Any], **fields: Any) -> Any:
    """Make an entry and its function; put both where they are found."""
    from .generate import function_of

    vjp, deriv = fields.pop("vjp", ()), fields.pop("deriv", ())
    fields["dtype"] = BY_NAME.get(fields.get("dtype", "same"), fields.get("dtype", "same"))
    fields.pop("trim", None)
    e = Entry(name, forward, **fields)
    names = parameter_names(forward)
    e.params = names if e.composite else names[1:]
    e.positional = forward.__code__.co_argcount - (not e.composite)
    e.kinds = {k: v if isinstance(v, str) else getattr(v, "__name__", "") for k, v in forward.__annotations__.items()}
    late = forward.__defaults__ or ()
    e.defaults = dict(zip(e.params[e.positional - len(late) : e.positional], late, strict=True)) | (
        forward.__kwdefaults__ or {}
    )
    e.order = tuple([e.kinds.get(p) if e.kinds.get(p) in _KINDS else None for p in e.params])
    pairs = tuple(zip(e.params, e.order, strict=True))
    e.tensors = tuple([p for p, k in pairs if k in TENSORS])
    e.nums = tuple([p for p, k in pairs if k in DIFFERENTIABLE])
    e.static = tuple([p for p, k in pairs if k not in TENSORS])
    e.sequences = any(k in SEQUENCES for k in e.order)
    e.cast = next((p for p, k in pairs if k == "Cast"), None)
    if deriv:
        e.deriv, e.vjp = True, tuple([Rule(d, times=True) if d else None for d in deriv])
    elif callable(vjp):
        e.vjp = (Rule(vjp, one=False),)
    else:
        e.vjp = tuple([Rule(r) if r else None for r in vjp])
    e.uses = frozenset(q for r in e.vjp if r for q in r.names)
    e.saves = bool(e.uses.intersection((*e.tensors, *e.outs)))
    if len(e.outs) > 1:
        e.result = namedtuple(name, e.outs)  # type: ignore[misc]
        e.result.__module__ = "framework.return_types"
    e.doc = forward.__doc__ or e.doc
    e.node = e.node or node_name(e.name)
    e.fn = function_of(e)
    publish(e)
    return e.fn


_KINDS = frozenset(n for n in ("Num", "Nums", "Index", "Indices", "Dim", "Dims", "Ints", "Cast") if hasattr(schema, n))


def publish(e: Entry) -> None:
    """Show an entry under its public names: in modules, as a Tensor method, in place."""
    from .inplace import inplace_of

    if not (e.composite and hasattr(T, e.name)):  # a composite may give a primitive's name a wider public signature
        setattr(T, e.name, e.fn)
        ENTRIES[e.name] = e
    else:
        ENTRIES[e.name + ".public"] = e
    for space in e.spaces:
        table = PUBLIC.setdefault(space, {})
        for name in (e.name, *e.alias):
            table[name] = e.fn
    if not e.spaces or "" not in e.spaces and "method" not in e.spaces:
        return
    for name in (e.name, *e.alias):
        if e.method and e.params:
            setattr(Tensor, name, e.fn)
        if e.inplace:
            setattr(Tensor, name + "_", inplace_of(e, name + "_"))


def entry_named(name: str) -> Entry:
    """The entry of a name; KeyError if there is none."""
    return ENTRIES[name]


def attach(**functions: Any) -> None:
    """Give Tensor methods or operators by name."""
    for name, f in functions.items():
        setattr(Tensor, name, f)
