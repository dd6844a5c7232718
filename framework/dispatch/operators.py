"""Python's operators: an op's function that leaves operands it does not know to the other operand's class.

`x == None` is False, `x + "a"` says that the operand types are unsupported, and a class with an `__radd__` of its own
gets its turn.
"""

from __future__ import annotations

import builtins
from types import FunctionType
from typing import Any

from framework.core.tensor import Tensor

from .generate import compiled
from .schema import Entry
from .slow import NUMBERS, slow


def operator(function: Any, reflected: bool = False) -> Any:
    """The operator method of a binary op; `reflected`: of the op with its operands exchanged, as `__rpow__` is of
    `pow`.

    It shares the generated code of the op's own function; only its slow path asks first whether it knows the operands.
    """
    e: Entry = function.entry
    own = 1 if reflected else 0

    def known(e: Entry, args: tuple[Any, ...], out: Any = None) -> Any:
        if not isinstance(args[own], Tensor):
            raise TypeError(
                f"the operator '{e.name}' of a Tensor doesn't apply to a '{type(args[own]).__name__}' object"
            )
        return slow(e, args, out) if understood(args[1 - own], e.elementwise) else NotImplemented

    scope: dict[str, Any] = {"__name__": "framework.ops", "__builtins__": builtins, "shared": shared}
    f = FunctionType(_stub.__code__.replace(co_name=e.name, co_qualname=e.name), scope, e.name)
    f.__kwdefaults__, f.__doc__, f.__module__ = {"out": None}, e.doc, "framework"
    scope |= {"OPERATOR": f, "ENTRY": e, "KNOWN": known}
    return _exchanged(f) if reflected else f


_stub: Any = lambda input, other, *, out=None: shared(OPERATOR, ENTRY, KNOWN)(input, other)  # type: ignore[name-defined]


def shared(f: FunctionType, e: Entry, known: Any) -> FunctionType:
    """Give an operator the generated code of its op, at the first call."""
    if "slow" not in e.fn.__globals__:
        compiled(e)
    f.__globals__.update(e.fn.__globals__ | {"slow": known})
    f.__code__ = e.fn.__code__
    return f


def _exchanged(f: Any) -> Any:
    def method(self: Any, other: Any) -> Any:
        return f(other, self)

    method.__doc__ = f.__doc__
    return method


def understood(a: Any, numbers: bool) -> bool:
    """Whether the op takes this operand, or says better than Python why not: a tensor, an array, a class with overrides
    of its own, and, where the op takes numbers, one of Python or NumPy."""
    if isinstance(a, Tensor) or hasattr(type(a), "__torch_function__") or hasattr(a, "__array__"):
        return True
    return numbers and isinstance(a, NUMBERS)
