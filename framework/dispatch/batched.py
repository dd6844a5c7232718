"""The vmap level: wrappers whose payload has a leading batch axis that the program does not see.

A batching rule is `(fn, size, flags, args) -> result`, where args are payloads and flags say which have the batch axis
(first). An entry that states none gets the default of its annotations: every tensor is given the axis, Dim and Dims
move by one.
"""

from __future__ import annotations

import warnings
from typing import Any

from framework.core.shape import Size
from framework.core.tensor import Tensor

from .levels import Level, Wrapper
from .registry import T
from .schema import Entry


class Batched(Wrapper):
    """A tensor of a vmapped function: shows the shape of one example. `extra`: whether the payload has the batch
    axis.
    """

    __slots__ = ()

    @property
    def shape(self) -> Size:
        whole = self.value.shape
        return Size(whole[1:]) if self.extra else whole

    def strides_shown(self) -> tuple[int, ...]:
        whole = self.value.stride()
        return whole[1:] if self.extra else whole  # type: ignore[no-any-return]


class Vmap(Level):
    """One vmap under way over `size` examples. randomness: "error", "same" (one draw shared) or "different"."""

    def __init__(self, size: int, randomness: str = "error") -> None:
        self.size, self.randomness = size, randomness

    def takes_random(self, entry: Entry) -> bool:
        """Whether a random op is drawn here; RuntimeError where vmap allows none."""
        if self.randomness == "error":
            raise RuntimeError(
                f"vmap: called random operation ({entry.name}) while in randomness error mode. Please either use the "
                "'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        return self.randomness == "different"

    def read(self, x: Tensor) -> Tensor:
        if x.extra:  # type: ignore[attr-defined]
            raise RuntimeError(
                "vmap: It looks like you're reading values on the host: calling .item(), .tolist() or .numpy() on a "
                "Tensor, or attempting to use a Tensor in some data-dependent control flow. One example has no "
                "values by itself; write it with torch.where."
            )
        return x.value  # type: ignore[attr-defined, no-any-return]

    def lift(self, x: Tensor) -> Wrapper:
        return Batched.of(self, x, False)

    def compute(self, entry: Entry, args: tuple[Any, ...], mine: list[bool]) -> list[Wrapper]:
        flags, values = self.payloads(args, mine)
        batched = any([any(f) if type(f) is tuple else f for f in flags])
        if entry.random:
            self.takes_random(entry)
            r, batched = self.draw(entry, flags, values)
        elif batched:
            r = rule_of(entry)(entry.fn, self.size, flags, values)
        else:
            r = entry.call(values)
        return [Batched.of(self, x, batched) for x in (r if isinstance(r, tuple) else (r,))]

    def payloads(self, args: tuple[Any, ...], mine: list[bool]) -> tuple[list[Any], list[Any]]:
        """(which arguments carry the batch axis, their payloads)."""
        flags: list[Any] = []
        values: list[Any] = []
        for a, m in zip(args, mine, strict=True):
            if m and type(a) is tuple:
                own = [isinstance(x, Batched) and x.level is self for x in a]
                flags.append(tuple([o and x.extra for o, x in zip(own, a, strict=True)]))
                values.append(tuple([x.value if o else x for o, x in zip(own, a, strict=True)]))
            else:
                flags.append(m and a.extra)
                values.append(a.value if m else a)
        return flags, values

    def draw(self, e: Entry, flags: list[Any], values: list[Any]) -> tuple[Any, bool]:
        """A random op: one draw for all examples, or one each."""
        if self.randomness == "same":
            if any([any(f) if type(f) is tuple else f for f in flags]):
                raise RuntimeError(
                    f"vmap: {e.name} does not support randomness='same' with an operand that differs between "
                    "examples: use 'different', or draw outside of vmap"
                )
            return e.call(values), False
        size = self.size
        wide = [
            v if f or not isinstance(v, Tensor) else T.expand(v, (size, *v.shape))
            for v, f in zip(values, flags, strict=True)
        ]
        return e.call([(size, *v) if k == "Ints" else v for v, k in zip(wide, e.order, strict=True)]), True


# ---------------------------------------------------------------- batching rules by category


def default_batch(e: Entry) -> Any:
    """The rule that an entry's annotations imply."""
    return elementwise_batch if e.elementwise else moved_dims(e)


def rule_of(e: Entry) -> Any:
    """The batching rule of an entry: its own, the one its annotations imply (also by `batch="dims"`), or a loop
    (`batch="loop"`).
    """
    if e.batch == "dims":
        return moved_dims(e)
    if e.batch == "loop":
        return loop_batch(e)
    return e.batch or default_batch(e)


def elementwise_batch(fn: Any, size: int, flags: Any, args: Any) -> Any:
    """Operands broadcast: unbatched dimensions are made equal in number by ones after the batch axis."""
    rank = max([a.ndim - bool(f) for a, f in zip(args, flags, strict=True) if isinstance(a, Tensor)])

    def pad(a: Tensor) -> Tensor:
        missing = rank - (a.ndim - 1)
        return T.reshape(a, (size, *[1] * missing, *a.shape[1:])) if missing > 0 else a

    return fn(*[pad(a) if f else a for a, f in zip(args, flags, strict=True)])


def moved_dims(e: Entry) -> Any:
    """Every tensor gets the batch axis in front; Dim and Dims move by one."""

    def batch(fn: Any, size: int, flags: Any, args: Any) -> Any:
        wide: list[Any] = []
        lead = next(a for a, k in zip(args, e.order, strict=True) if k in ("Num", "Index", "Nums"))
        flag = next(f for f, k in zip(flags, e.order, strict=True) if k in ("Num", "Index", "Nums"))
        first, batched = (lead[0], flag[0] if type(flag) is tuple else flag) if type(lead) is tuple else (lead, flag)
        rank = first.ndim - bool(batched)
        number = not rank and any([a is not None for a, k in zip(args, e.order, strict=True) if k == "Dim"])
        for a, f, k in zip(args, flags, e.order, strict=True):
            if k in ("Nums", "Indices"):
                fs = f if type(f) is tuple else (False,) * len(a)
                wide.append(tuple([with_axis(x, y, size) for x, y in zip(a, fs, strict=True)]))
            elif k in ("Num", "Index"):
                a = with_axis(a, f, size)
                wide.append(T.unsqueeze(a, (1,)) if number and a.ndim == 1 else a)
            elif k == "Dim":
                wide.append(a if a is None else a + 1)
            elif k == "Dims":
                wide.append(tuple(range(1, rank + 1)) if a is None else tuple([d + 1 for d in a]))
            else:
                wide.append(a)
        r = e.call(wide)
        return r if not number else tuple([_narrowed(x) for x in r]) if isinstance(r, tuple) else _narrowed(r)

    return batch


def _narrowed(a: Tensor) -> Tensor:
    """Without the dimension that numbers were given, since theirs exists in name only."""
    return T.squeeze(a, (1,)) if a.ndim == 2 else a


def with_axis(a: Any, flag: Any, size: int) -> Any:
    """A payload with the batch axis, repeated without copying if it had none."""
    return a if flag or not isinstance(a, Tensor) else T.expand(a, (size, *a.shape))


FALLBACKS: dict[str, int] = {}  # ops that were vmapped by a loop, and how often


def loop_batch(e: Entry) -> Any:
    """The last resort: one call for each example, put side by side; warned about once an op, and counted."""

    def batch(fn: Any, size: int, flags: Any, args: Any) -> Any:
        if e.name not in FALLBACKS:
            warnings.warn(
                f"There is a performance drop because we have not yet implemented the batching rule for {e.name}: "
                "vmap runs it once for each example.",
                UserWarning,
                stacklevel=2,
            )
        FALLBACKS[e.name] = FALLBACKS.get(e.name, 0) + 1
        return each_example(e, size, flags, args)

    return batch


def each_example(e: Entry, size: int, flags: Any, args: Any) -> Any:
    """One call for each example, results stacked."""
    rows = []
    for i in range(size):
        one = [tuple([T.slice(x, (i,)) if y else x for x, y in zip(a, f, strict=True)]) if type(f) is tuple else
               T.slice(a, (i,)) if f else a for a, f in zip(args, flags, strict=True)]  # fmt: skip
        rows.append(e.call(one))
    if isinstance(rows[0], tuple):
        return tuple([stacked([r[k] for r in rows]) for k in range(len(rows[0]))])
    return stacked(rows)


def stacked(rows: list[Tensor]) -> Tensor:
    """Tensors put side by side along a new first axis."""
    return T.cat(tuple([T.unsqueeze(r, (0,)) for r in rows]), 0)  # type: ignore[no-any-return]


__all__ = [
    "FALLBACKS",
    "Batched",
    "Vmap",
    "default_batch",
    "each_example",
    "elementwise_batch",
    "loop_batch",
    "with_axis",
]
