"""`backward` and `grad`: PyTorch's entry points to the engine, with its checks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from framework.core.graph import Node
from framework.core.tensor import Tensor, make, retained
from framework.dispatch.registry import T

from . import engine
from .batched_grad import batched_grad
from .graph import GradientEdge, node_at


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves they depend on.

    inputs: only these tensors (leaves or not) get a `.grad`. retain_graph: keep what the nodes saved, so that a second
    pass is possible (default: create_graph). create_graph: make the gradients differentiable. Tensors may be given as
    `GradientEdge`s.
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only "
                "use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = as_tuple(tensors)
    nodes, gradients = starts(roots, grad_tensors)
    targets = None
    if inputs is not None:
        inputs = as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        targets = [_target(t, nodes) for t in inputs]
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its "
            "gradient which can cause a memory leak. We recommend using autograd.grad when creating the graph to "
            "avoid this. If you have to use this function, make sure to reset the .grad fields of your parameters to "
            "None after use to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=_outside(),
        )
    keep = create_graph if retain_graph is None else retain_graph
    found = engine.run(nodes, gradients, retain_graph=keep, create_graph=create_graph, inputs=targets)
    for t in inputs or ():
        if isinstance(t, Tensor) and not t.is_leaf and t.node in found and not t.retains_grad:
            have = retained(t)
            t.grad = found[t.node] if have is None else have + found[t.node]


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, a tuple; nothing is
    accumulated.

    allow_unused: None for inputs that the outputs do not depend on, instead of RuntimeError; materialize_grads: zeros
    for them. is_grads_batched: grad_outputs have one more leading dimension, over which the pass is vectorised. Inputs
    given as a dict give a dict. Tensors may be given as `GradientEdge`s.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if isinstance(inputs, Mapping):
        values = grad(
            outputs,
            tuple(inputs.values()),
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(inputs, values, strict=True))
    roots, wanted = as_tuple(outputs), as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if is_grads_batched:
        return batched_grad(
            grad,
            roots,
            wanted,
            as_tuple(grad_outputs),
            retain_graph=retain_graph,
            create_graph=create_graph,
            allow_unused=allow_unused,
            materialize_grads=materialize_grads,
        )
    nodes, gradients = starts(roots, grad_outputs)
    targets = [_target(t, nodes) for t in wanted]
    keep = create_graph if retain_graph is None else retain_graph
    found = engine.run(nodes, gradients, retain_graph=keep, create_graph=create_graph, inputs=targets, accumulate=False)
    return tuple(
        [
            _found(found.get(n), i, t, allow_unused, materialize_grads)
            for i, (n, t) in enumerate(zip(targets, wanted, strict=True))
        ]
    )


def _found(g: Any, i: int, t: Any, allow_unused: bool, materialize: bool) -> Any:
    if g is not None:
        return g
    if materialize and isinstance(t, Tensor):
        return T.full(tuple(t.shape), 0, t)
    if not allow_unused:
        raise RuntimeError(
            f"One of the differentiated Tensors (number {i}) appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior."
        )
    return None


def as_tuple(tensors: Any) -> tuple[Any, ...]:
    """One tensor, or edge, or a sequence of them as a tuple."""
    one = isinstance(tensors, (Tensor, GradientEdge)) or not isinstance(tensors, Iterable)
    return (tensors,) if one else tuple(tensors)


def _outside() -> int:
    """How many frames up a warning belongs: `Tensor.backward` is ours."""
    return 3 if sys._getframe(2).f_code is tensor_backward.__code__ else 2


def _target(t: Any, roots: list[Node]) -> Node:
    """The node whose gradient is asked for."""
    if isinstance(t, GradientEdge):
        return node_at(t, roots)
    if not isinstance(t, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    if t.node is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return t.node


def starts(roots: tuple[Any, ...], given: Any) -> tuple[list[Node], list[Tensor]]:
    """The nodes of the roots, and one gradient for each: the given one, checked, or 1 for a scalar."""
    gradients = [None] * len(roots) if given is None else list(as_tuple(given))
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    nodes: list[Node] = []
    done: list[Tensor] = []
    for i, (t, g) in enumerate(zip(roots, gradients, strict=True)):
        edge = isinstance(t, GradientEdge)
        if not edge and not isinstance(t, Tensor):
            raise TypeError(f"element {i} of tensors must be a Tensor, not {type(t).__name__}")
        node = node_at(t) if edge else t.node
        if node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is not None and not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        if g is None and edge:
            raise RuntimeError(
                f"element {i} of tensors is a GradientEdge: its gradient cannot be created implicitly; pass one"
            )
        nodes.append(node)
        done.append(
            _one(t)
            if g is None
            else _fitting(g, i, tuple(node.shape) if edge else tuple(t.shape), node.dtype if edge else t.dtype)
        )
    return nodes, done


def _one(t: Tensor) -> Tensor:
    """The gradient of a scalar with respect to itself."""
    if t.numel() != 1:
        raise RuntimeError(
            f"grad can be implicitly created only for scalar outputs, got shape {list(t.shape)}; pass a gradient"
        )
    if t.dtype.is_complex:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
    return make(t.backend, t.backend.full(tuple(t.shape), 1, t.dtype))


def _fitting(g: Tensor, i: int, shape: tuple[int, ...], d: Any) -> Tensor:
    """A given gradient, in the dtype of the output."""
    if tuple(g.shape) != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {list(g.shape)} and output[{i}] has a shape of "
            f"{list(shape)}."
        )
    if g.dtype is d:
        return g
    if g.dtype.is_complex != d.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
            f"dtype: grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {d}."
        )
    return T.to_dtype(g, d)  # type: ignore[no-any-return]


def tensor_backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradient of this tensor to the `.grad` of the leaves it depends on; see `autograd.backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = tensor_backward  # type: ignore[attr-defined]
