"""`backward` and `grad`: PyTorch's entry points to the engine, with its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from framework.core.graph import Node
from framework.core.tensor import Tensor, make

from . import engine
from .batched_grad import batched_grad


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:  # fmt: skip
    """Add the gradients of `tensors` (weighted by `grad_tensors`) to the `.grad` of the leaves they depend on.

    inputs: only these tensors (leaves or not) get a `.grad`. retain_graph: keep what the nodes saved, so that a second pass is
    possible (default: create_graph). create_graph: make the gradients differentiable.
    """
    if grad_variables is not None:
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                               "`grad_tensors`.")  # fmt: skip
        grad_tensors = grad_variables
    roots = as_tuple(tensors)
    gradients = cotangents(roots, grad_tensors)
    if inputs is not None:
        inputs = as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    keep = create_graph if retain_graph is None else retain_graph
    targets = None if inputs is None else [_node(t) for t in inputs]
    found = engine.run([t.node for t in roots if t.node is not None], gradients, retain_graph=keep, create_graph=create_graph, inputs=targets)
    for t in inputs or ():
        if not t.is_leaf and t.node in found and not t.retains_grad:
            have = t.grad
            t.grad = found[t.node] if have is None else have + found[t.node]


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
         only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> Any:  # fmt: skip
    """The gradients of `outputs` (weighted by `grad_outputs`) with respect to `inputs`, a tuple; nothing is accumulated.

    allow_unused: None for inputs that the outputs do not depend on, instead of RuntimeError; materialize_grads: zeros for them.
    is_grads_batched: grad_outputs have one more leading dimension, over which the pass is vectorised. Inputs given as a dict give a
    dict.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    if isinstance(inputs, Mapping):
        values = grad(outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs, allow_unused,
                      is_grads_batched, materialize_grads)  # fmt: skip
        return dict(zip(inputs, values, strict=True))
    roots, targets = as_tuple(outputs), as_tuple(inputs)
    if not only_inputs:
        raise RuntimeError("grad: only_inputs argument is deprecated and ignored (defaults to True); call backward() to accumulate")
    if is_grads_batched:
        return batched_grad(grad, roots, targets, as_tuple(grad_outputs), retain_graph=retain_graph, create_graph=create_graph,
                            allow_unused=allow_unused, materialize_grads=materialize_grads)  # fmt: skip
    gradients = cotangents(roots, grad_outputs)
    nodes = [_node(t) for t in targets]
    keep = create_graph if retain_graph is None else retain_graph
    found = engine.run([t.node for t in roots if t.node is not None], gradients, retain_graph=keep, create_graph=create_graph,
                       inputs=nodes, accumulate=False)  # fmt: skip
    return tuple([_found(found.get(n), i, t, allow_unused, materialize_grads) for i, (n, t) in enumerate(zip(nodes, targets, strict=True))])


def _found(g: Any, i: int, t: Any, allow_unused: bool, materialize: bool) -> Any:
    if g is not None:
        return g
    if materialize:
        return make(t.backend, t.backend.full(tuple(t.shape), 0, t.dtype))
    if not allow_unused:
        raise RuntimeError(f"One of the differentiated Tensors (number {i}) appears to not have been used in the graph. Set allow_unused=True "
                           "if this is the desired behavior.")  # fmt: skip
    return None


def as_tuple(tensors: Any) -> tuple[Any, ...]:
    """One tensor or a sequence of them as a tuple."""
    return tuple(tensors) if isinstance(tensors, Sequence) and not isinstance(tensors, Tensor) else (tensors,)


def _node(t: Any) -> Node:
    node: Node | None = getattr(t, "node", None)
    if node is None:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return node


def cotangents(roots: tuple[Any, ...], given: Any) -> list[Tensor]:
    """One gradient for each root: the given one, checked, or 1 for a scalar."""
    gradients = [None] * len(roots) if given is None else list(as_tuple(given))
    if len(gradients) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(gradients)} gradients")
    done: list[Tensor] = []
    for i, (t, g) in enumerate(zip(roots, gradients, strict=True)):
        if not isinstance(t, Tensor):
            raise TypeError(f"element {i} of tensors must be a Tensor, not {type(t).__name__}")
        if t.node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if g is None:
            if t.numel() != 1:
                raise RuntimeError(f"grad can be implicitly created only for scalar outputs, got shape {list(t.shape)}; pass a gradient")
            if t.dtype.is_complex:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
            g = make(t.backend, t.backend.full(tuple(t.shape), 1, t.dtype))
        elif not isinstance(g, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        elif tuple(g.shape) != tuple(t.shape):
            raise RuntimeError(f"Mismatch in shape: grad_output[{i}] has a shape of {list(g.shape)} and output[{i}] has a shape of "
                               f"{list(t.shape)}.")  # fmt: skip
        elif g.dtype is not t.dtype:
            if g.dtype.is_complex != t.dtype.is_complex:
                raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                                   f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}.")  # fmt: skip
            from framework.dispatch.registry import T

            g = T.to_dtype(g, t.dtype)
        done.append(g)
    return done


def tensor_backward(self: Tensor, gradient: Tensor | None = None, retain_graph: bool | None = None, create_graph: bool = False,
                    inputs: Any = None) -> None:  # fmt: skip
    """Add the gradient of this tensor to the `.grad` of the leaves it depends on; see `autograd.backward`."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


Tensor.backward = tensor_backward  # type: ignore[attr-defined]
