"""RMSprop."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_product,
    add_ratio,
    add_scaled,
    advance,
    at_least_zero,
    blend,
    check_lr,
    decayed,
    new_step,
    number,
)

__all__ = ["RMSprop"]


class RMSprop(ParameterwiseOptimizer):
    """param -= lr g / (sqrt(v) + eps), v = alpha v + (1 - alpha) g^2 (Hinton 2012); `centered` takes the square of the
    running mean of g off v (Graves 2013); with momentum param -= lr b, b = momentum b + g / (sqrt(v) + eps).

    State: step, square_avg, with momentum momentum_buffer, centered grad_avg. ValueError for negative numbers.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        at_least_zero("epsilon value", eps)
        at_least_zero("momentum value", momentum)
        at_least_zero("weight_decay value", weight_decay)
        at_least_zero("alpha value", alpha)
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        state = {"step": new_step(group, param), "square_avg": framework.zeros_like(param)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = framework.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = framework.zeros_like(param)
        return state

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        advance(group, state)
        grad = decayed(grad, param, group["weight_decay"])
        alpha, lr = group["alpha"], number(group["lr"])
        square = add_product(state["square_avg"].mul_(alpha), grad, grad, 1 - alpha)
        if group["centered"]:
            mean = blend(state["grad_avg"], grad, 1 - alpha)
            square = square - mean * mean
        divisor = square.sqrt() + group["eps"]
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).add_(grad / divisor)
            add_scaled(param, buffer, -lr)
        else:
            add_ratio(param, grad, divisor, -lr)
