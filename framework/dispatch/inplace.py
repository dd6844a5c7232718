"""In-place writes: compute out of place, write, then move history. One rule for every op, backend and wrapper.

A base takes the written value's node. Writing to a view gives its base a `write_view` node (gradient: g with the region
zeroed, and V of g), after which every living view of the base takes the node that replaying its chain gives.
"""

from __future__ import annotations

import builtins
import sys
from types import FunctionType
from typing import Any

from backends.numpy.quiet import QUIET, quiet, state
from framework.core import state as thread
from framework.core.graph import Leaf, SlowNode, renode
from framework.core.promotion import check_cast
from framework.core.shape import broadcast_shapes
from framework.core.state import STATE, next_seq
from framework.core.storage import View, living, storage_of, write
from framework.core.tensor import FAST, Tensor, arr, make

from . import errors
from .generate import FLOATS
from .record import record, strip
from .registry import T, register
from .schema import Entry
from .views import COPY, read, replaced, replay, self_overlapping

# ---------------------------------------------------------------- the generated method


def inplace_of(e: Entry, name: str) -> Any:
    """The method `name` (as `mul_`) that writes the result of `e` into its first operand; its code is generated at the
    first call.
    """
    scope: dict[str, Any] = {
        "__name__": "framework.ops",
        "__builtins__": builtins,
        "E": e,
        "NAME": name,
        "compiled": _compiled,
    }
    f = FunctionType(_stub.__code__.replace(co_name=name, co_qualname=f"Tensor.{name}"), scope, name)
    f.__doc__ = f"In-place form of `{e.name}`: writes the result into this tensor and returns it."
    f.__qualname__ = f"Tensor.{name}"
    scope["METHOD"] = f
    return f


_stub: Any = lambda self, *args, **kwargs: compiled(METHOD)(self, *args, **kwargs)  # type: ignore[name-defined]


def _compiled(method: FunctionType) -> FunctionType:
    """Give an in-place method its generated code."""
    scope = method.__globals__
    e, name = scope["E"], scope["NAME"]
    scope |= {
        "assigned": assigned,
        "FAST": FAST,
        "FLOATS": FLOATS,
        "ACTIVE": thread.ACTIVE,
        "STATE": STATE,
        "QUIET": QUIET,
        "state": state,
        "frame": sys._getframe,
        "storage_of": storage_of,
    }
    lines = [f"def {name}(self, *args, **kwargs):"]
    if e.opaque and e.elementwise and e.dtype in ("same", "float") and len(e.params) <= 2:
        lines += _fast_lines(e, name)
    lines += ["    return assigned(E, NAME, self, args, kwargs)"]
    made: dict[str, Any] = {}
    exec(compile("\n".join(lines), f"<op {name}>", "exec"), made)
    method.__code__ = made[name].__code__
    return method


def _fast_lines(e: Entry, name: str) -> list[str]:
    """A library whose elementwise functions take a result array writes straight into it, if nothing is tracked."""
    operand = len(e.params) == 2
    test = "len(args) == 1 and not kwargs" if operand else "not args and not kwargs"
    lines = [
        f"    if {test} and type(self) in FAST and not ACTIVE and state() is QUIET and self.backend.writes_out and "
        "self.dtype in FLOATS:",
        "        b = self.backend; a = self.array; v = self._view; s = self.storage or storage_of(self)",
    ]
    if operand:
        lines += [
            "        other, = args",
            "        if type(other) in FAST: o = other.array; same = other.backend is b and other.dtype is "
            "self.dtype; tracked = other.node is not None",
            "        else: o = other; same = type(other) is float or type(other) is int; tracked = False",
        ]
    else:
        lines += ["        same = True; tracked = False"]
    lines += [
        "        grad = STATE.grad",
        "        if same and (not grad or not tracked and self.node is None and (v is None or v.base is None or "
        "v.base.node is None)) and a.flags.forc and not s.inference:",
        f"            try: b.{e.name}(a, {'o, ' if operand else ''}a)",
        "            except Exception: return assigned(E, NAME, self, args, kwargs)",
        "            s.version += 1",
        f"            if grad: f = frame(1); s.written_at = (f.f_code, f.f_lasti, {name!r})",
        "            return self",
    ]
    return lines


def note(storage: Any, name: str) -> None:
    """Remember where in the user's code a storage was last written: the code and the position in it (its line is found
    if asked for).
    """
    frame = errors.users_frame()
    if frame is not None:
        storage.written_at = (frame.f_code, frame.f_lasti, name)


# ---------------------------------------------------------------- the general way


def assigned(e: Entry, name: str, self: Tensor, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Write the result of calling `e` into `self`."""
    if not isinstance(self, Tensor):
        errors.not_a_tensor(name, "self", 0, self)
    hook = getattr(type(self), "__torch_function__", None)
    if (
        type(self) not in FAST
        and self.level is None
        and hook is not None
        and not STATE.__dict__.get("plain_subclasses")
    ):
        return hook(getattr(type(self), name), (type(self),), (self, *args), kwargs)  # type: ignore[no-any-return]
    check_writable(self, name)
    tracked = STATE.grad and any(isinstance(a, Tensor) and a.node is not None for a in (self, *args, *kwargs.values()))
    before = preserve(self) if tracked else self
    value = e.fn(before, *args, **kwargs)
    if isinstance(value, Tensor):
        check_cast(value.dtype, self.dtype)
        if tuple(value.shape) != tuple(self.shape):
            raise RuntimeError(
                f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(value.shape)} ({name})"
            )
    return assign(self, value, name, overwrite=False)


def check_writable(x: Tensor, name: str = "", overlap: bool = False) -> None:
    """Raise RuntimeError where PyTorch forbids writing to a tensor in place. overlap: every element gets the same
    number, so several may lie at one place in memory."""
    if x.is_inference() and not STATE.inference:
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed. Clone it to get a normal tensor."
        )
    v = x._view
    base = v.base if v is not None else None
    if v is not None and v.origin == COPY:
        raise RuntimeError(
            f"{name}: memory read as another dtype (real, imag, view_as_real, view_as_complex, view(dtype)) is a copy on device "
            f"{x.backend.name}, so a write would not reach the tensor it was taken from. Clone it to write to the copy, or write to the "
            "tensor itself."
        )
    if STATE.grad:
        if v is not None and v.origin and (x.node is not None or base is not None and base.node is not None):
            _forbidden_view(v)
        if type(x.node) is Leaf and base is None:
            raise RuntimeError(
                f"a leaf Variable that requires grad is being used in an in-place operation ({name}). Write to it "
                "under no_grad(), or to a clone."
            )
        if base is not None and type(base.node) is Leaf:
            raise RuntimeError(
                f"a view of a leaf Variable that requires grad is being used in an in-place operation ({name}). Write "
                "to it under no_grad(), or to a clone."
            )
    if not overlap and self_overlapping(x):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory "
            f"location. Please clone() the tensor before performing the operation ({name})."
        )


CUSTOM = "custom Function "  # the origin of views that a custom Function returned, followed by its name


def _forbidden_view(v: View) -> None:
    if v.origin.startswith(CUSTOM):
        raise RuntimeError(f"Output 0 of {v.origin.removeprefix(CUSTOM)} is a view and is being modified inplace. "
                           + _CUSTOM_VIEW)  # fmt: skip
    if v.origin == "no_grad":
        raise RuntimeError(
            "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Clone it, or "
            "make the view and the write both inside or both outside the no_grad block."
        )
    raise RuntimeError(
        f"Output {v.output} of {v.origin} is a view and is being modified inplace. This view is the output of a "
        "function that returns multiple views. Such functions do not allow the output views to be modified inplace. "
        "You should replace the inplace operation by an out-of-place one."
    )


def preserve(x: Tensor) -> Tensor:
    """x as it was, for an op to save: a copy where memory is shared, nothing but the old array where it is not."""
    if x.level is not None:
        return x.like(x.node)  # type: ignore[attr-defined, no-any-return]
    if STATE.modes:
        return T.clone(x)  # type: ignore[no-any-return]  # seen by whoever watches
    return make(x.backend, x.backend.clone(arr(x)) if x.backend.aliasing else arr(x), x.dtype, x.node)


def assign(x: Tensor, u: Tensor, name: str = "copy_", overwrite: bool = True) -> Tensor:
    """x := u for the elements that x names, with their history; u is cast and broadcast.

    overwrite: u does not depend on what x held, so x keeps its history with a gradient of zero (False: u's history
    holds it).
    """
    if u.backend is not x.backend:
        u = T.to_device(u, x.backend)
    if u.dtype is not x.dtype:
        u = T.to_dtype(u, x.dtype)
    if tuple(u.shape) != tuple(x.shape):
        if broadcast_shapes([tuple(u.shape), tuple(x.shape)]) != tuple(x.shape):
            raise RuntimeError(
                f"output with shape {list(x.shape)} doesn't match the broadcast shape of the value {list(u.shape)} "
                f"({name})"
            )
        u = T.expand(u, tuple(x.shape))
    if u.level is not None and x.level is not u.level:
        if x.level is None or _inner(u.level, x.level):
            raise RuntimeError(
                f"vmap: inplace arithmetic ({name}) would write a value that a function transform wraps into a tensor "
                "from outside it. Clone the tensor inside the transform, or use the out-of-place form."
            )
    for mode in STATE.modes:
        mode.wrote(x, u)
    base = x._view.base if x._view is not None and x._view.base is not None else x
    if x.level is not None:
        return _assign_wrapper(x, u, base)
    tracked = STATE.grad and x.dtype.category > 1 and (u.node is not None or base.node is not None)
    node = u.node
    if tracked and x._view is not None and x._view.origin:
        _forbidden_view(x._view)
    if tracked and base is not x:  # the node first: its rule needs nothing from the values
        assert x._view is not None
        written = strip(base)
        record(T.write_view.entry, (base, u, x._view.without_base()), (written,), base.dtype)
        node = written.node
    elif tracked and overwrite:
        written = strip(base)
        record(T.overwrite.entry, (base, u), (written,), None)
        node = written.node
    with quiet():
        write(x, arr(u))
    if STATE.grad:
        note(storage_of(x), name)
    if tracked:
        if not overwrite and u.node is not None:
            output_is(u.node, x)
        renode(base, node)
        for v in living(storage_of(base)):
            if v is not base and v._view is not None and v._view.base is base:
                if v._view.origin.startswith(CUSTOM):
                    renode(v, None if v.node is None else Overwritten(v))
                else:
                    renode(v, replay(base, v._view).node)
    return x


class Since:
    """A storage whose version counts from now: what a node holds that saved the result of an in-place op."""

    __slots__ = ("start", "storage")

    def __init__(self, storage: Any) -> None:
        self.storage, self.start = storage, storage.version

    @property
    def version(self) -> int:
        """Writes since."""
        return self.storage.version - self.start  # type: ignore[no-any-return]

    @property
    def written_at(self) -> Any:
        """Where in the user's code the last write was."""
        return self.storage.written_at

    def add(self, t: Tensor) -> None:
        """Remember a tensor on the storage."""
        self.storage.add(t)


def output_is(n: Any, x: Tensor) -> None:
    """Tell the node of an in-place op that its output is `x` itself: a later write to x must not go unnoticed."""
    if "out" not in n.entry.uses or n.level is not None:
        return
    since = Since(storage_of(x))
    array = arr(x) if x.backend.aliasing else None
    if hasattr(n, "saved_outputs"):
        n.saved_outputs = {q: (o if array is None else array, since, 0) for q, (o, _, _) in n.saved_outputs.items()}
    else:
        n.out, n.out_storage = n.out if array is None else array, since


_CUSTOM_VIEW = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic "
    "to handle view+inplace would override the custom backward associated with the custom Function, leading to "
    "incorrect gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)


class Overwritten(SlowNode):
    """The history of a custom Function's view after its base was written: none that could be right, so reverse
    raises.
    """

    __slots__ = ("_name",)

    def __init__(self, v: Tensor) -> None:
        assert v._view is not None and v.node is not None
        self._name, self.entry = v._view.origin.removeprefix(CUSTOM), T.write_view.entry
        self.edges, self.saved, self.versions, self.params, self.saved_outputs = (v.node,), (), (), (), {}
        self.shape, self.dtype, self.level, self.hooks, self.outputs, self.compute = (
            tuple(v.shape),
            v.dtype,
            None,
            None,
            1,
            None,
        )
        self.out = self.out_storage = None
        self.seq = next_seq()

    def name(self) -> str:
        """The name of the Function's node, which this one replaces."""
        return self._name + "Backward"

    def reverse(self, walk: Any, g: Any) -> Any:
        """RuntimeError, saying what was written."""
        raise RuntimeError(
            f"Output 0 of {self._name} is a view and its base or another view of its base has been modified inplace. "
            + _CUSTOM_VIEW
        )


def _inner(a: Any, b: Any) -> bool:
    """Whether level `a` lies inside level `b`."""
    return a in STATE.modes and b in STATE.modes and STATE.modes.index(a) > STATE.modes.index(b)


def _assign_wrapper(x: Tensor, u: Tensor, base: Tensor) -> Tensor:
    """Wrappers are values: the base gets a new payload, and views of it replay."""
    if u.level is not x.level:
        u = x.level.lift(u)
    base.adopt(u if base is x else T.write_view(base, u, x._view.without_base()))  # type: ignore[attr-defined, union-attr]
    for v in living(base.storage) if base.storage is not None else ():
        if v is not base and v._view is not None:
            v.adopt(replay(base, v._view))  # type: ignore[attr-defined]
    return x


def _write_view(xp: Any, base: Any, value: Any, view: Any) -> Any:
    """`base` with the elements that `view` names replaced by `value`."""
    return replaced(xp, base, value, view)


_write_view.__annotations__ = {"base": "Num", "value": "Num"}


def _overwrite(xp: Any, base: Any, value: Any) -> Any:
    """The value: what a tensor holds after it was overwritten as a whole."""
    return value


_overwrite.__annotations__ = {"base": "Num", "value": "Num"}


def define() -> None:
    """Register the ops that in-place writes leave on the tape."""
    register(
        "overwrite",
        _overwrite,
        spaces=(),
        exact=True,
        vjp=(lambda xp, g: xp.full(tuple(g.shape), 0, xp.like(g)), lambda g: g),
    )
    register("write_view", _write_view, spaces=(), exact=True, node="CopySlices",
             vjp=(lambda xp, g, view: replaced(xp, g, None, view), lambda xp, g, view: read(xp, g, view)))  # fmt: skip
