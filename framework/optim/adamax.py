"""Adamax."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_ratio,
    advance,
    at_least_zero,
    blend,
    check_betas,
    check_lr,
    decayed,
    new_step,
    number,
)

__all__ = ["Adamax"]


class Adamax(ParameterwiseOptimizer):
    """param -= lr / (1 - beta1^t) m / u, m the running mean of g, u = max(beta2 u, |g| + eps) (Kingma and Ba 2014,
    section 7.1).

    State: step, exp_avg, exp_inf. ValueError for negative numbers and betas outside [0, 1).
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        at_least_zero("epsilon value", eps)
        check_betas(betas)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        zeros = framework.zeros_like
        return {"step": new_step(group, param), "exp_avg": zeros(param), "exp_inf": zeros(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step = advance(group, state)
        grad = decayed(grad, param, group["weight_decay"])
        beta1, beta2 = group["betas"]
        mean = blend(state["exp_avg"], grad, 1 - beta1)
        norm = state["exp_inf"]
        norm.copy_(framework.maximum(norm * beta2, grad.abs() + group["eps"]))
        divisor = norm.clone() if framework.is_grad_enabled() else norm
        add_ratio(param, mean, divisor, -(number(group["lr"]) / (1 - beta1**step)))
