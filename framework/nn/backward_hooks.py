"""How a module's backward hooks see gradients: identity functions around its inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import framework
from framework.autograd import Function
from framework.core.tensor import Tensor

__all__ = ["BackwardHooks", "register_on_grad_fn"]


class BackwardHookFunction(Function):
    """The identity on several tensors, as views; its backward shows the gradients to `listener` and passes on its
    answer.
    """

    @staticmethod
    def forward(ctx: Any, listener: Callable[..., Any], *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.listener = listener
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        return (None, *ctx.listener(grads))


class BackwardHooks:
    """The full backward hooks of one call of one module.

    Going backwards, the outputs' gradients come by first: the pre-hooks may replace them, and they are kept. When the
    inputs' gradients come by, the hooks get both. Where no input needs a gradient the hooks run at the outputs.
    """

    def __init__(
        self, module: Any, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_places: list[int] | None = None  # where the arguments are tensors; None if nothing is watched
        self.inputs = 0

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The positional arguments with their tensors passed through the watching identity."""
        self.inputs = len(args)
        args, self.input_places = _watched(args, self.inputs_done)
        return args

    def watch_outputs(self, result: Any) -> Any:
        """The outputs, a tensor or a tuple, passed through the watching identity."""
        outputs = result if isinstance(result, tuple) else (result,)
        count, places = len(outputs), []

        def listener(grads: tuple[Any, ...]) -> tuple[Any, ...]:
            given = self.outputs_done(_spread(grads, places, count))
            return tuple(given[place] for place in places)

        outputs, found = _watched(outputs, listener)
        places.extend(found or ())
        return outputs if isinstance(result, tuple) else outputs[0]

    def outputs_done(self, grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """Called with the gradients of the module's outputs: they pass through the pre-hooks."""
        for hook in self.pre_hooks:
            replacement = hook(self.module, grad_outputs)
            if replacement is None:
                continue
            if not isinstance(replacement, tuple):
                replacement = (replacement,)
            if len(replacement) != len(grad_outputs):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replacement)}, but expected {len(grad_outputs)}"
                )
            grad_outputs = replacement
        if self.input_places is not None:
            self.grad_outputs = grad_outputs
            return grad_outputs
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See the documentation of register_full_backward_hook.",
            stacklevel=2,
        )
        for hook in self.hooks:
            answer = hook(self.module, (None,) * self.inputs, grad_outputs)
            if answer is not None and not (isinstance(answer, tuple) and all(item is None for item in answer)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None or None "
                    "for all gradients."
                )
        return grad_outputs

    def inputs_done(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Called with the gradients of the module's inputs: they pass through the hooks."""
        if self.grad_outputs is None:  # a gradient that came past the outputs, as in a double backward
            return grads
        places = self.input_places or []
        grad_inputs = _spread(grads, places, self.inputs)
        for hook in self.hooks:
            replacement = hook(self.module, grad_inputs, self.grad_outputs)
            if replacement is None:
                continue
            if not isinstance(replacement, tuple):
                replacement = (replacement,)
            if len(replacement) != len(grad_inputs):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replacement)}, but expected {len(grad_inputs)}"
                )
            grad_inputs = replacement
        self.grad_outputs = None
        return tuple(grad_inputs[place] for place in places)


def _watched(values: tuple[Any, ...], listener: Callable[..., Any]) -> tuple[tuple[Any, ...], list[int] | None]:
    """`values` with its tensors passed through the identity, and their places; unchanged and None if none needs a
    gradient.
    """
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not (framework.is_grad_enabled() and any(values[i].requires_grad for i in places)):
        return values, None
    new = list(values)
    for place, tensor in zip(places, BackwardHookFunction.apply(listener, *[values[i] for i in places]), strict=True):
        new[place] = tensor
    # A named tuple is made from its fields.
    return (tuple(new) if type(values) is tuple else type(values)(*new)), places


def _spread(items: Sequence[Any], places: Sequence[int], size: int) -> tuple[Any, ...]:
    out: list[Any] = [None] * size
    for place, item in zip(places, items, strict=True):
        out[place] = item
    return tuple(out)


# ---------------------------------------------------------------- the older kind


def register_on_grad_fn(inputs: Any, result: Any, hooks: Sequence[Callable[..., Any]]) -> None:
    """Register the older backward hooks on the node of the first tensor in `result`, with a warning where they
    mislead.
    """
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(hook)
    complaint = _misleads(inputs, result, node)
    if complaint:
        text = f"Using a non-full backward hook {complaint} is deprecated and will be removed in future versions. This hook "
        warnings.warn(
            text + "will be missing some gradients: use register_full_backward_hook.", FutureWarning, stacklevel=5
        )


def _misleads(inputs: Any, result: Any, node: Any) -> str | None:
    """Why a hook on `node` does not see the gradients of the whole module, or None."""
    outputs = (result,) if isinstance(result, Tensor) else result
    if not (isinstance(outputs, tuple) and all(isinstance(item, Tensor) for item in outputs)):
        return "on a Module that does not return a single Tensor or a tuple of Tensors"
    if not all(isinstance(item, Tensor) for item in inputs):
        return "on a Module that does not take as input a single Tensor or a tuple of Tensors"
    nodes = {item.grad_fn for item in outputs if item.grad_fn is not None}
    if node not in nodes:
        return "when outputs are nested in python data structure"
    if len(nodes) > 1:
        return "when outputs are generated by different autograd Nodes"
    if {item.grad_fn for item in inputs if item.grad_fn is not None} != {edge[0] for edge in node.next_functions} - {
        None
    }:
        return "when the forward contains multiple autograd Nodes"
    return None
