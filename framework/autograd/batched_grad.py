"""`grad(..., is_grads_batched=True)`: one backward pass over many cotangents, inside a vmap level."""

from __future__ import annotations

from typing import Any

from framework.core.tensor import Tensor
from framework.dispatch.batched import Batched, Vmap
from framework.dispatch.registry import T


def batched_grad(
    grad: Any, outputs: tuple[Any, ...], inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...], **options: Any
) -> tuple[Any, ...]:
    """The gradients for each entry of the leading dimension of `grad_outputs`, stacked; None where there is none.

    RuntimeError if the remaining dimensions are not those of the outputs, or if the leading ones differ in size.
    """
    sizes = []
    for i, (g, y) in enumerate(zip(grad_outputs, outputs, strict=False)):
        if g is None:
            continue
        if tuple(g.shape[1:]) != tuple(y.shape) or g.ndim == 0:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch "
                "dimension. The sizes of the remaining dimensions are expected to match the shape of corresponding "
                f"output, but a mismatch was detected: grad_output[{i}] has a shape of {list(g.shape)} and "
                f"output[{i}] has a shape of {list(y.shape)}."
            )
        sizes.append(g.shape[0])
    if len(set(sizes)) != 1:
        raise RuntimeError(
            "is_grads_batched: expected grad_outputs with one common size of the first dimension, got "
            f"{sizes or 'no grad_outputs'}"
        )
    with Vmap(sizes[0]) as level:
        given = [None if g is None else Batched.of(level, g, True) for g in grad_outputs]
        found = grad(outputs, inputs, given, **options)
    return tuple([None if g is None else _whole(g, level, sizes[0]) for g in found])


def _whole(g: Tensor, level: Any, size: int) -> Tensor:
    """A gradient with the batch axis; repeated without copying if it is the same for all."""
    batched = isinstance(g, Batched) and g.level is level and g.extra
    value = g.value if isinstance(g, Batched) and g.level is level else g
    return value if batched else T.expand(value, (size, *value.shape))  # type: ignore[no-any-return]
