"""`Function`: operations with a derivative of their own.

`apply` runs `forward` without recording and leaves one node (`function_node`), whose reverse is the user's `backward`.
How a Function behaves under vmap and forward mode is in `function_levels`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from framework.core.state import STATE, grad_enabled
from framework.core.tensor import Tensor
from framework.dispatch.record import strip

from .function_node import FunctionNode, recorded

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What `forward` (or `setup_context`) hands to `backward` and `jvp`: saved tensors, marks, attributes of any name.

    It refers to the node weakly, which owns it: so no reference cycle keeps the graph alive.
    """

    needs_input_grad: tuple[bool, ...] = ()
    to_save: tuple[Tensor | None, ...] = ()
    saved_for_forward: tuple[Tensor | None, ...] | None = None
    dirty_tensors: tuple[Tensor, ...] = ()
    non_differentiable: tuple[Tensor, ...] = ()
    materialize_grads = True
    _node: Callable[[], FunctionNode | None] | None = None  # a weak reference, once there is a node
    _unpacked: tuple[Tensor | None, ...] | None = None  # stands in for the saved tensors, as seen inside a level

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, as `ctx.saved_tensors`. A second call replaces the first.

        `backward` raises RuntimeError if one of them was written in place since. TypeError for anything but tensors and
        None.
        """
        self.to_save = _tensors_only("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, as `ctx.saved_tensors`."""
        self.saved_for_forward = _tensors_only("save_for_forward", tensors)

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` writes in place. They must be among its outputs."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs carry no gradient. Integer outputs need not be named."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` (and `jvp`) get zeros for gradients that are missing (the default), or None."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors saved for `backward`, with their history; in `jvp`, those saved for it.

        RuntimeError if they were freed by an earlier backward pass, or written in place since they were saved.
        """
        if self._unpacked is not None:
            return self._unpacked
        if self._node is None or not self.to_save_count:
            return ()
        node = self._node()
        if node is None or node.saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved tensors after they "
                "have already been freed). Saved intermediate values of the graph are freed when you call "
                ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph "
                "a second time or if you need to access saved tensors after calling backward."
            )
        return node.unpack()

    to_save_count = 0


def _tensors_only(name: str, tensors: tuple[Any, ...]) -> tuple[Tensor | None, ...]:
    for i, t in enumerate(tensors):
        if t is not None and not isinstance(t, Tensor):
            raise TypeError(f"{name} can only save variables, but argument {i} is of type {type(t).__name__}")
    return tensors


class Function:
    """Base class of operations with a derivative of their own. Use it by `apply`; instances do nothing.

    A subclass defines static methods: forward(ctx, *args), or forward(*args) with setup_context(ctx, inputs, output):
    the operation, run without recording; it returns a Tensor or a tuple of them. backward(ctx, *grad_outputs) (or
    vjp): the gradients of the arguments, None for those that have none. jvp(ctx, *tangents): the tangents of the
    outputs. vmap(info, in_dims, *args): (outputs, out_dims) for arguments with a batch dimension, info saying
    batch_size and randomness. Without it vmap runs the other methods on one example's view of the batch, as
    `generate_vmap_rule = True` asks for explicitly.

    >>> import framework
    >>> class Exp(framework.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = framework.tensor(0.0, requires_grad=True)
    >>> Exp.apply(x)
    tensor(1., grad_fn=<ExpBackward>)
    """

    generate_vmap_rule = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            f"function with static forward method: {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation: forward(ctx, *args), or forward(*args) if there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save on `ctx` what `backward` and `jvp` need."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, given those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    @staticmethod
    def vjp(ctx: Any, *grad_outputs: Any) -> Any:
        """Another name for `backward`."""
        return Function.backward(ctx, *grad_outputs)

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, given those of the arguments."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> Any:
        """The operation on arguments with a batch dimension each (in_dims; None: not batched): (outputs, out_dims)."""
        raise NotImplementedError("vmap is not overridden: the other methods serve under vmap, too.")

    @classmethod
    def run_backward(cls, ctx: Any, grads: Sequence[Any]) -> Any:
        """Call `backward` or `vjp`, whichever the subclass defines; RuntimeError if it defines both."""
        own = cls.vjp is not Function.vjp
        if own and cls.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        return cls.vjp(ctx, *grads) if own else cls.backward(ctx, *grads)

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation on these arguments and record it."""
        if kwargs or (style_of(cls) and cls.forward.__defaults__):
            args = bound(cls, args, kwargs)
        if STATE.modes:
            from . import function_levels

            depth = function_levels.depth_of(args)
            if depth is not None:
                return function_levels.run_at(cls, depth, args)
        return run_plain(cls, args)[0]


def style_of(cls: type[Function]) -> bool:
    """Whether a Function separates `setup_context` from `forward`."""
    return cls.setup_context is not Function.setup_context


def bound(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Keyword arguments and defaults of `forward` in their positions."""
    separate = style_of(cls)
    found = inspect.signature(cls.forward).bind(*(args if separate else (None, *args)), **kwargs)
    found.apply_defaults()
    return found.args if separate else found.args[1:]


def run_plain(cls: type[Function], args: tuple[Any, ...]) -> tuple[Any, FunctionCtx]:
    """Run a Function on tensors that no level wraps; (its output, the context)."""
    ctx = FunctionCtx()
    ctx.needs_input_grad = tuple([isinstance(a, Tensor) and a.node is not None for a in args])
    before, STATE.grad = STATE.grad, False
    try:
        if style_of(cls):
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
        else:
            output = cls.forward(ctx, *args)
    finally:
        STATE.grad = before
    return recorded(cls, ctx, args, output, None), ctx


# ---------------------------------------------------------------- differentiable once
def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that cannot be differentiated itself (it uses NumPy, for example).

    It runs without recording; differentiating its result with respect to the incoming gradients raises RuntimeError.
    """

    @wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with grad_enabled(False):
            outputs = fn(ctx, *args)
        if not STATE.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if type(outputs) is tuple else (outputs,)
        anchors = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        marked = tuple([o if o is None else _Once.apply(strip(o), *anchors) for o in several])
        return marked if type(outputs) is tuple else marked[0]

    return wrapper


class _Once(Function):
    """The identity, whose derivative is an error."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *anchors: Tensor) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")
