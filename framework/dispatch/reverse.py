"""The seam through which a level asks for reverse mode, which lies above it: the engine puts its function here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from framework.core.tensor import Tensor

_engine: list[Callable[..., Any]] = []


def provide(run: Callable[..., Any]) -> None:
    """Called once by `framework.autograd`."""
    _engine[:] = [run]


def vjp_on_tensors(
    outputs: Sequence[Tensor], cotangents: Sequence[Tensor], inputs: Sequence[Tensor]
) -> list[Tensor | None]:
    """The differentiable gradients of `outputs` with respect to `inputs`; None where there is no dependence."""
    pairs = [(y.node, u) for y, u in zip(outputs, cotangents, strict=True) if y.node is not None]
    if not pairs:
        return [None] * len(inputs)
    nodes = [x.node for x in inputs]
    found = _engine[0]([n for n, _ in pairs], [u for _, u in pairs], retain_graph=True, create_graph=True,
                       inputs=[n for n in nodes if n is not None], accumulate=False)  # fmt: skip
    return [found.get(n) for n in nodes]
