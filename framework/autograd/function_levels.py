"""`Function` under vmap and forward mode.

A level strips its wrappers off the arguments and applies the Function one level down, where outer tapes record by
themselves; it wraps the outputs, and records on the wrappers if they have history inside the level. `setup_context`
runs once for each tape, with the tensors as that tape sees them: this is why transforms need it apart from `forward`.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from framework.core.modes import below
from framework.core.state import STATE, grad_enabled
from framework.core.tensor import Tensor
from framework.dispatch.batched import Batched, Vmap
from framework.dispatch.dual import Dual, Forward
from framework.dispatch.levels import Level
from framework.dispatch.registry import T

from .function import Function, FunctionCtx, run_plain, style_of
from .function_node import recorded

VmapInfo = namedtuple("VmapInfo", ["batch_size", "randomness"])


def depth_of(args: tuple[Any, ...]) -> int | None:
    """Where on the stack of modes the innermost level lies that wraps an argument; None if there is none."""
    for depth in range(len(STATE.modes) - 1, -1, -1):
        mode = STATE.modes[depth]
        if isinstance(mode, Level) and any(isinstance(a, Tensor) and a.level is mode for a in args):
            return depth
    return None


def run_at(cls: type[Function], depth: int, args: tuple[Any, ...]) -> Any:
    """Run a Function on arguments of which some are wrappers of the level at this depth."""
    level = STATE.modes[depth]
    if isinstance(level, Forward):
        output, ctx = _run_dual(cls, depth, level, args)
    else:
        _needs_setup(cls)
        output, ctx = _run_batched(cls, depth, level, args), None
    if not STATE.grad or not any(isinstance(a, Tensor) and a.level is level and a.node is not None for a in args):
        return output
    _needs_setup(cls)
    ctx = _context(cls, args, output, level)
    return recorded(cls, ctx, args, output, level)


def _needs_setup(cls: type[Function]) -> None:
    if not style_of(cls):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
            f"override the setup_context staticmethod: {cls.__name__} has a forward that takes ctx. Move what it "
            "saves to setup_context."
        )


def _context(cls: type[Function], inputs: tuple[Any, ...], output: Any, level: Any) -> FunctionCtx:
    """A context set up for the tape that sees these inputs and outputs."""
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a.level is level and a.node is not None for a in inputs])
    with grad_enabled(False):
        cls.setup_context(ctx, inputs, output)
    return ctx


@contextmanager
def _saved_as(ctx: FunctionCtx, tensors: tuple[Tensor | None, ...]) -> Iterator[None]:
    """Let `ctx.saved_tensors` be these for a while."""
    before, ctx._unpacked = ctx._unpacked, tensors
    try:
        yield
    finally:
        ctx._unpacked = before


def _payload(a: Any, level: Any) -> Any:
    return a.value if isinstance(a, Tensor) and a.level is level else a  # type: ignore[attr-defined]


def _mapped(output: Any, f: Any) -> Any:
    """f of each tensor of an output, with its number."""
    if type(output) is tuple:
        return tuple([f(i, o) if isinstance(o, Tensor) else o for i, o in enumerate(output)])
    return f(0, output) if isinstance(output, Tensor) else output


# ---------------------------------------------------------------- forward mode
def _run_dual(cls: type[Function], depth: int, level: Forward, args: tuple[Any, ...]) -> tuple[Any, FunctionCtx]:
    primals = tuple([_payload(a, level) for a in args])
    tangents = [a.extra if isinstance(a, Dual) and a.level is level else None for a in args]
    with below(depth):
        if style_of(cls):
            output = cls.apply(*primals)
            ctx = _context(cls, primals, output, None)
            dirty = ctx.dirty_tensors
        else:
            if depth_of(primals) is not None:
                _needs_setup(cls)
            output, ctx = run_plain(cls, primals)
            dirty = ()
        found: list[Any] = [None] * (len(output) if type(output) is tuple else 1)
        if any(t is not None for t in tangents):
            found = _tangents(cls, ctx, primals, tangents, output)

    def wrapped(i: int, o: Tensor) -> Tensor:
        tangent = found[i] if o.dtype.category > 1 else None
        for a, p in zip(args, primals, strict=True):
            if p is o and isinstance(a, Dual) and (any(p is d for d in dirty) or a.value is o):
                a.extra = tangent  # an input that was written in place keeps its identity
                return a
        return Dual.of(level, o, tangent)

    return _mapped(output, wrapped), ctx


def _tangents(
    cls: type[Function], ctx: FunctionCtx, primals: tuple[Any, ...], tangents: list[Any], output: Any
) -> list[Any]:
    """The tangents of the outputs by the Function's `jvp`, checked."""
    if ctx.materialize_grads:
        tangents = [T.full(tuple(p.shape), 0, p) if t is None and isinstance(p, Tensor) and p.dtype.category > 1 else t
                    for p, t in zip(primals, tangents, strict=True)]  # fmt: skip
    saved = ctx.saved_for_forward if ctx.saved_for_forward is not None else ctx.to_save or ctx.saved_tensors
    with _saved_as(ctx, saved):
        result = cls.jvp(ctx, *tangents)
    found = list(result) if type(result) is tuple else [result]
    outs = output if type(output) is tuple else (output,)
    if len(found) != len(outs):
        raise RuntimeError(
            f"{cls.__name__}.jvp returned an incorrect number of forward gradients (expected {len(outs)}, got "
            f"{len(found)})"
        )
    for i, (t, o) in enumerate(zip(found, outs, strict=True)):
        if t is not None and not isinstance(t, Tensor):
            raise RuntimeError(f"{cls.__name__}.jvp: expected Tensor or None for output {i} (got {type(t).__name__})")
        if t is not None and isinstance(o, Tensor) and tuple(t.shape) != tuple(o.shape):
            raise RuntimeError(
                f"{cls.__name__}.jvp returned an invalid tangent at index {i} - got {list(t.shape)} but expected "
                f"shape {list(o.shape)}"
            )
    return found


# ---------------------------------------------------------------- vmap
def _run_batched(cls: type[Function], depth: int, level: Vmap, args: tuple[Any, ...]) -> Any:
    flags = tuple([isinstance(a, Batched) and a.level is level and bool(a.extra) for a in args])
    payloads = tuple([_payload(a, level) for a in args])
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod."
        )
    with below(depth):
        if not any(flags):
            return _mapped(cls.apply(*payloads), lambda i, o: Batched.of(level, o, False))
        if own:
            return _by_users_rule(cls, level, flags, payloads)
        batch = _Batch(level, flags)
        output = _lifted(cls).apply(batch, *payloads)
    return _mapped(output, lambda i, o: Batched.of(level, o, batch.out_flags[i]))


def _by_users_rule(cls: type[Function], level: Vmap, flags: tuple[bool, ...], payloads: tuple[Any, ...]) -> Any:
    """Call the Function's own vmap and wrap what it returns."""
    in_dims = tuple([0 if f else None for f in flags])
    result = cls.vmap(VmapInfo(level.size, level.randomness), in_dims, *payloads)
    if type(result) is not tuple or len(result) != 2:
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with the same structure as "
            f"the output: {cls.__name__}.vmap returned {type(result).__name__}"
        )
    output, out_dims = result

    def wrapped(i: int, o: Tensor) -> Tensor:
        d = out_dims[i] if isinstance(out_dims, (tuple, list)) else out_dims
        if d is None:
            return Batched.of(level, o, False)
        d %= o.ndim
        order = (d, *[k for k in range(o.ndim) if k != d])
        return Batched.of(level, o if d == 0 else T.permute(o, order), True)

    return _mapped(output, wrapped)


class _Batch:
    """One call under vmap: how many examples, and which arguments and outputs have the batch axis."""

    def __init__(self, level: Vmap, flags: tuple[bool, ...]) -> None:
        self.size, self.randomness, self.flags = level.size, level.randomness, flags
        self.out_flags: list[bool] = []

    def level(self) -> Vmap:
        """A level to run a method on examples in."""
        return Vmap(self.size, self.randomness)


def _lifted(cls: type[Function]) -> Any:
    """The Function on batches that a Function on examples gives."""
    found = cls.__dict__.get("_on_batches")
    if found is None:
        found = type(cls.__name__, (_Lifted,), {"example": cls})
        cls._on_batches = found  # type: ignore[attr-defined]
    return found


def _wrap(level: Vmap, values: Any, flags: Any) -> tuple[Any, ...]:
    """Payloads as the level's tensors."""
    return tuple([Batched.of(level, v, f) if isinstance(v, Tensor) else v for v, f in zip(values, flags, strict=True)])


def _unwrap(level: Vmap, x: Any) -> tuple[Any, bool]:
    """(payload, whether it has the batch axis) of what a method returned or saved."""
    return (x.value, bool(x.extra)) if isinstance(x, Batched) and x.level is level else (x, False)


def _fitted(pair: tuple[Any, bool], wanted: bool, size: int) -> Any:
    """A payload with the batch axis that is wanted: expanded, or (the gradient of what all examples share) summed."""
    x, batched = pair
    if not isinstance(x, Tensor) or batched == wanted:
        return x
    return T.expand(x, (size, *x.shape)) if wanted else T.sum(x, (0,), False)


class _Lifted(Function):
    """The methods of `example` on batches: each runs it inside a level of its own. The first argument says how."""

    example: type[Function]

    @classmethod
    def forward(cls, batch: _Batch, *payloads: Any) -> Any:  # type: ignore[override]
        with (level := batch.level()):
            output = cls.example.forward(*_wrap(level, payloads, batch.flags))
        pairs = [_unwrap(level, o) for o in (output if type(output) is tuple else (output,))]
        batch.out_flags = [f for _, f in pairs]
        values = tuple([v for v, _ in pairs])
        return values if type(output) is tuple else values[0]

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # type: ignore[override]
        batch, *payloads = inputs
        ctx.batch, inner = batch, FunctionCtx()
        inner.needs_input_grad = ctx.needs_input_grad[1:]
        with (level := batch.level()):
            given = _wrap(level, payloads, batch.flags)
            outs = _wrap(level, output if type(output) is tuple else (output,), batch.out_flags)
            cls.example.setup_context(inner, given, outs if type(output) is tuple else outs[0])
        if inner.dirty_tensors:
            raise RuntimeError(
                f"vmap: {cls.__name__} writes its inputs in place (mark_dirty); give it a vmap staticmethod"
            )
        saved = [_unwrap(level, t) for t in inner.to_save]
        ctx.save_for_backward(*[v for v, _ in saved])
        ctx.saved_flags = ctx.forward_flags = [f for _, f in saved]
        if inner.saved_for_forward is not None:
            forward = [_unwrap(level, t) for t in inner.saved_for_forward]
            ctx.save_for_forward(*[v for v, _ in forward])
            ctx.forward_flags = [f for _, f in forward]
        ctx.mark_non_differentiable(*[_unwrap(level, t)[0] for t in inner.non_differentiable])
        ctx.set_materialize_grads(inner.materialize_grads)
        inner.to_save, inner.non_differentiable, inner.saved_for_forward = (), (), None
        ctx.inner = inner

    @classmethod
    def backward(cls, ctx: Any, *grads: Any) -> Any:  # type: ignore[override]
        batch = ctx.batch
        with (level := batch.level()), _saved_as(ctx.inner, _wrap(level, ctx.saved_tensors, ctx.saved_flags)):
            found = cls.example.run_backward(ctx.inner, _wrap(level, grads, batch.out_flags))
        found = found if type(found) is tuple else (found,)
        flags = (*batch.flags, *[False] * (len(found) - len(batch.flags)))
        return (None, *[_fitted(_unwrap(level, g), f, batch.size) for g, f in zip(found, flags, strict=False)])

    @classmethod
    def jvp(cls, ctx: Any, _: Any, *tangents: Any) -> Any:  # type: ignore[override]
        batch = ctx.batch
        with (level := batch.level()), _saved_as(ctx.inner, _wrap(level, ctx.saved_tensors, ctx.forward_flags)):
            found = cls.example.jvp(ctx.inner, *_wrap(level, tangents, batch.flags))
        several = found if type(found) is tuple else (found,)
        done = [_fitted(_unwrap(level, t), f, batch.size) for t, f in zip(several, batch.out_flags, strict=True)]
        return tuple(done) if type(found) is tuple else done[0]
