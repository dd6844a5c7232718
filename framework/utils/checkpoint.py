"""Checkpointing: part of a model keeps no intermediate values for its gradient; the backward pass computes them again.

The non-reentrant kind packs what ops save (`saved_tensors_hooks`) into holders without a value. The first one that is
unpacked runs the function again, up to the last value needed. The reentrant kind is a custom Function whose backward
runs the function, and a backward pass of its own.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from framework.amp.autocast import autocast
from framework.autograd import Function, backward, enable_grad
from framework.autograd.graph import saved_tensors_hooks
from framework.core import generator as generators
from framework.core.state import STATE, grad_enabled
from framework.core.tensor import Tensor, version_of
from framework.dispatch.recording import Recording
from framework.dispatch.saved import Packed, packed

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


class CheckpointError(RuntimeError):
    """Running a checkpointed function again gave other values to save than its first run."""


class _StopRecomputation(Exception):
    """All that is needed has been computed."""


class _Settings:
    early_stop: bool | None = None
    debug: bool | None = None


_SETTINGS = _Settings()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """A context that decides whether non-reentrant checkpoints stop computing once they have what is needed."""
    before, _SETTINGS.early_stop = _SETTINGS.early_stop, enable
    try:
        yield
    finally:
        _SETTINGS.early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A context that decides whether non-reentrant checkpoints list their ops in errors, whatever their `debug` says."""
    before, _SETTINGS.debug = _SETTINGS.debug, enabled
    try:
        yield
    finally:
        _SETTINGS.debug = before


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing: the default `context_fn`."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, whose intermediate values are not kept but computed again in the backward pass.

    use_reentrant: which of the two ways; to be given explicitly (else UserWarning, and True). preserve_rng_state: draw
    the same random numbers again (True). For the non-reentrant way: context_fn() gives a context for each of the two
    runs; determinism_check "default" compares shapes, dtypes and devices of what the runs save, "none" does not; debug
    lists the ops of both runs in errors; early_stop ends the second run as soon as nothing more is needed.

    The reentrant way takes no keywords, needs an argument that requires grad, and does not work with `autograd.grad`.
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly. use_reentrant=False is recommended, "
            "but if you need to preserve the current default behavior, you can pass use_reentrant=True.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if STATE.grad and not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=2
            )
        return _Reentrant.apply(function, preserve, *args)
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, got {determinism_check}")
    debug = debug if _SETTINGS.debug is None else _SETTINGS.debug
    stop = early_stop if _SETTINGS.early_stop is None else _SETTINGS.early_stop
    first, again = context_fn()
    if not STATE.grad:
        with first:
            return function(*args, **kwargs)
    call = _Call(function, args, kwargs, again, _CHECKS[determinism_check], stop, debug, preserve)
    with first, saved_tensors_hooks(call.pack, call.unpack), call.listing() as ops:
        result = function(*args, **kwargs)
    call.ops = ops
    return result


# ------------------------------------------------------------------------------------------------- the state of a run
class _Surroundings:
    """What a run depends on besides its arguments: the random streams and autocast."""

    def __init__(self, preserve: bool) -> None:
        self.autocasts = [
            (m.device_type, m.dtype, m.enabled, m.cache_enabled) for m in STATE.modes if isinstance(m, autocast)
        ]
        self.generators: list[Any] = []
        if preserve:
            self.generators = [generators.default_generator, *generators.device_generators()]
        self.states = [g.dump() for g in self.generators]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Run a block as it was then; the random streams go on as they are now."""
        now = [g.dump() for g in self.generators]
        for g, state in zip(self.generators, self.states, strict=True):
            g.load(state)
        try:
            with ExitStack() as stack:
                for settings in self.autocasts:
                    stack.enter_context(autocast(*settings))
                yield
        finally:
            for g, state in zip(self.generators, now, strict=True):
                g.load(state)


# --------------------------------------------------------------------------------------------------------- non-reentrant
def _described(t: Tensor) -> dict[str, Any]:
    return {"shape": tuple(t.shape), "dtype": t.dtype, "device": t.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _described, "none": lambda t: None}


class _Call:
    """One checkpointed call: its arguments, what its first run saved (but not the values), and the way to them."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        again: Any,
        describe: Callable[[Tensor], Any],
        early_stop: bool,
        debug: bool,
        preserve: bool,
    ) -> None:
        self.function, self.kwargs, self.again, self.describe = function, kwargs, again, describe
        self.early_stop, self.debug = early_stop, debug
        self.args = tuple([_kept(a) for a in args])
        self.surroundings = _Surroundings(preserve)
        self.saved: list[Any] = []  # descriptions
        self.values: weakref.WeakKeyDictionary[Any, dict[int, Tensor]] = weakref.WeakKeyDictionary()  # by backward pass
        self.ops: list[str] = []

    def pack(self, t: Tensor) -> int:
        """Note a value that the first run saves, and its number."""
        self.saved.append(self.describe(t))
        return len(self.saved) - 1

    def unpack(self, number: int) -> Tensor:
        """A value that the first run saved, from a second run: one for all that a backward pass wants."""
        walk = STATE.__dict__.get("walk")
        values = {} if walk is None else self.values.setdefault(walk, {})
        if number not in values:
            values.update(self.computed())
        return values.pop(number)

    @contextmanager
    def listing(self) -> Iterator[list[str]]:
        """List the ops of a run, if asked to."""
        ops: list[str] = []
        if not self.debug:
            yield ops
            return
        with Recording() as record:
            try:
                yield ops
            finally:
                ops += [repr(c) for c in record.calls]

    def computed(self) -> dict[int, Tensor]:
        """Run the function again for the values it saves, by number."""
        found: dict[int, Tensor] = {}

        def pack(t: Tensor) -> Tensor:
            number = len(found)
            if number >= len(self.saved):
                if self.early_stop:
                    raise _StopRecomputation
                raise CheckpointError(
                    "checkpoint: trying to save more tensors during recomputation than during the original forward "
                    "pass." + self.listed(ops)
                )
            found[number] = t.detach()
            if self.early_stop and len(found) == len(self.saved):
                raise _StopRecomputation
            return found[number]

        args = [a.value() for a in self.args]
        with (
            self.surroundings.restored(),
            grad_enabled(True),
            self.again,
            saved_tensors_hooks(pack, lambda t: t),
            self.listing() as ops,
            suppress(_StopRecomputation),
        ):
            self.function(*args, **self.kwargs)
        self.compare(found, ops)
        return found

    def compare(self, found: dict[int, Tensor], ops: list[str]) -> None:
        """Raise CheckpointError if the second run was another one."""
        if len(found) != len(self.saved):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.saved)}\n"
                f"Number of tensors saved during recomputation: {len(found)}." + self.listed(ops)
            )
        wrong = [(i, was, now) for i, was in enumerate(self.saved) if was != (now := self.describe(found[i]))]
        if wrong:
            lines = [
                f"tensor at position {i}:\nsaved metadata: {was}\nrecomputed metadata: {now}" for i, was, now in wrong
            ]
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                "forward pass.\n" + "\n".join(lines) + self.listed(ops)
            )

    def listed(self, ops: list[str]) -> str:
        if not self.debug:
            return ""
        return "\n".join(["", "Operations of the forward pass:", *self.ops, "Operations of the recomputation:", *ops])


class _Kept:
    """An argument until the second run. A tensor counts as saved: hooks outside, as those of a checkpoint around this
    one, may pack it; without hooks it must not be written.
    """

    __slots__ = ("held", "requires_grad", "version")

    def __init__(self, held: Any, version: int | None = None, requires_grad: bool = False) -> None:
        self.held, self.version, self.requires_grad = held, version, requires_grad

    def value(self) -> Any:
        if type(self.held) is Packed:
            t = self.held.unpack()
            return t.detach().requires_grad_() if self.requires_grad and not t.requires_grad else t
        if self.version is not None and version_of(self.held) != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: an "
                f"argument of a checkpointed function, [{_described(self.held)}], is at version "
                f"{version_of(self.held)}; expected version {self.version} instead."
            )
        return self.held


def _kept(a: Any) -> _Kept:
    if not isinstance(a, Tensor) or a.level is not None:
        return _Kept(a)
    return _Kept(packed(a), None, a.requires_grad) if STATE.saved_hooks else _Kept(a, version_of(a))


# ------------------------------------------------------------------------------------------------------------- reentrant
class _Reentrant(Function):
    """A call whose backward runs the function again, and a backward pass through it."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve: bool, *args: Any) -> Any:
        ctx.function = function
        ctx.surroundings = _Surroundings(preserve)
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Tensor)])
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        walk = STATE.__dict__["walk"]
        if walk.wanted is not None or not walk.accumulate:
            raise RuntimeError(
                "When use_reentrant=True, checkpoint is incompatible with .grad() or passing an `inputs` parameter to "
                ".backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() "
                "without passing the `inputs` argument."
            )
        args = list(ctx.args)
        for i, t in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[i] = t.detach().requires_grad_(t.requires_grad)
        with ctx.surroundings.restored(), enable_grad():
            outputs = ctx.function(*args)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (o, g)
            for o, g in zip(outputs, grads, strict=True)
            if isinstance(o, Tensor) and o.requires_grad and g is not None
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([o for o, _ in pairs], [g for _, g in pairs])
        return None, None, *[a.grad if isinstance(a, Tensor) else None for a in args]


# ------------------------------------------------------------------------------------------------------------ sequences
def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Call functions (a `Sequential` or a list) one after the other, in so many segments; all but the last are
    checkpointed.

    ValueError for keywords other than those of `checkpoint`.
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint_sequential: the use_reentrant parameter should be passed explicitly. use_reentrant=False is "
            "recommended.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))

    def through(part: list[Any]) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for f in part:
                value = f(value)
            return value

        return run

    size = len(functions) // segments
    for start in range(0, size * (segments - 1), size):
        part = through(functions[start : start + size])
        input = checkpoint(part, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return through(functions[size * (segments - 1) :])(input)
