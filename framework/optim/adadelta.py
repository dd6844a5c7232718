"""Adadelta."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_product,
    add_scaled,
    advance,
    at_least_zero,
    check_lr,
    decayed,
    new_step,
    number,
)

__all__ = ["Adadelta"]


class Adadelta(ParameterwiseOptimizer):
    """param -= lr d, d = g sqrt(u + eps) / sqrt(v + eps), v and u the running means of g^2 and d^2, kept by `rho`
    (Zeiler 2012).

    State: step, square_avg, acc_delta. ValueError for negative numbers and a rho outside [0, 1].
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        at_least_zero("epsilon value", eps)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        zeros = framework.zeros_like
        return {"step": new_step(group, param), "square_avg": zeros(param), "acc_delta": zeros(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        advance(group, state)
        grad = decayed(grad, param, group["weight_decay"])
        rho, eps = group["rho"], group["eps"]
        square = add_product(state["square_avg"].mul_(rho), grad, grad, 1 - rho)
        delta = (state["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * grad
        add_product(state["acc_delta"].mul_(rho), delta, delta, 1 - rho)
        add_scaled(param, delta, -number(group["lr"]))
