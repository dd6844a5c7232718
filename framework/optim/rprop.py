"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import ParameterwiseOptimizer, advance, check_lr, new_step, number

__all__ = ["Rprop"]


class Rprop(ParameterwiseOptimizer):
    """param -= sign(g) s: each number's step s grows by etas[1] while its gradient keeps its sign and shrinks by
    etas[0] when it changes, in which case it also rests once; s stays within `step_sizes` (Riedmiller and Braun 1993).

    State: step, prev, step_size. ValueError unless 0 < etas[0] < 1 < etas[1].
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        lr = number(group["lr"])
        lr = lr.item() if isinstance(lr, Tensor) else lr
        size = framework.full_like(param, complex(lr, lr) if param.is_complex() else lr, requires_grad=False)
        return {"step": new_step(group, param), "prev": framework.zeros_like(param), "step_size": size}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        advance(group, state)
        shrink, grow = group["etas"]
        previous, size = state["prev"], state["step_size"]
        agreement = grad * (previous.clone() if framework.is_grad_enabled() else previous)
        factor = framework.where(agreement < 0, shrink, framework.ones_like(size))
        factor = framework.where(agreement > 0, grow, factor)
        size.copy_((size * factor).clamp(*group["step_sizes"]))
        grad = framework.where(agreement < 0, framework.zeros_like(grad), grad)
        param.sub_(grad.sign() * (size.clone() if framework.is_grad_enabled() else size))
        previous.copy_(grad)
