"""Recording: a list of the op calls that a program makes, and its replay on other inputs. The core of tracing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from framework.core.modes import Mode
from framework.core.tensor import Tensor

from .inplace import assign
from .schema import Entry


@dataclass(slots=True)
class Call:
    """One op call: the entry (None for an in-place write of args[1] into args[0]), its arguments in order, its
    result.
    """

    entry: Entry | None
    args: tuple[Any, ...]
    result: Any

    @property
    def name(self) -> str:
        """The op's name; `copy_` for an in-place write."""
        return "copy_" if self.entry is None else self.entry.name

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(_text(a) for a in self.args)}) -> {_text(self.result)}"


def _text(a: Any) -> str:
    if isinstance(a, Tensor):
        return f"{a.dtype.name}{list(a.shape)}"
    if isinstance(a, (tuple, list)):
        return f"({', '.join(map(_text, a))})"
    return repr(a)


class Recording(Mode):
    """`with Recording() as r:` collects in `r.calls` the primitive calls made inside, composites by their parts.

    whole: names of composites to keep whole.
    """

    def __init__(self, whole: Collection[str] = ()) -> None:
        self.calls: list[Call] = []
        self.whole = frozenset(whole)

    def handle(self, entry: Entry, args: tuple[Any, ...]) -> Any:
        if entry.composite and entry.name not in self.whole:
            return NotImplemented
        result = entry.call(args)
        self.calls.append(Call(entry, args, result))
        return result

    def wrote(self, x: Tensor, value: Tensor) -> None:
        self.calls.append(Call(None, (x, value), x))

    def replay(self, old: Sequence[Tensor], new: Sequence[Tensor]) -> Any:
        """Run the recorded calls with `new` tensors in place of the `old` ones they were recorded on; the last call's
        result.
        """
        stand_in: dict[int, Any] = {id(o): n for o, n in zip(old, new, strict=True)}

        def now(a: Any) -> Any:
            if isinstance(a, (tuple, list)) and not hasattr(a, "_fields"):
                return type(a)([now(x) for x in a])
            return stand_in.get(id(a), a)

        result: Any = None
        for call in self.calls:
            args = tuple([now(a) for a in call.args])
            result = assign(args[0], args[1]) if call.entry is None else call.entry.call(args)
            before = call.result if isinstance(call.result, tuple) else (call.result,)
            for o, n in zip(before, result if isinstance(result, tuple) else (result,), strict=True):
                stand_in[id(o)] = n
        return result
