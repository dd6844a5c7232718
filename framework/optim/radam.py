"""RAdam."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_product,
    advance,
    at_least_zero,
    blend,
    check_betas,
    check_lr,
    decayed,
    new_step,
    number,
)

__all__ = ["RAdam"]


class RAdam(ParameterwiseOptimizer):
    """Adam with its step scaled by r_t, which rectifies the variance of the early steps; while that is unknown (rho_t
    <= 5) param -= lr m' (Liu et al. 2019).

    rho_t = rho - 2 t beta2^t / (1 - beta2^t), rho = 2 / (1 - beta2) - 1,
    r_t^2 = (rho_t - 4) (rho_t - 2) rho / ((rho - 4) (rho - 2) rho_t).
    State: step, exp_avg, exp_avg_sq. ValueError for negative numbers and betas outside [0, 1).
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
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
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        zeros = framework.zeros_like
        return {"step": new_step(group, param), "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr = advance(group, state), number(group["lr"])
        if group["decoupled_weight_decay"]:
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = decayed(grad, param, group["weight_decay"])
        beta1, beta2 = group["betas"]
        mean = blend(state["exp_avg"], grad, 1 - beta1)
        square = add_product(state["exp_avg_sq"].mul_(beta2), grad, grad, 1 - beta2)
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * step * beta2**step / correction2

        def rectified() -> Any:
            ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            return ratio**0.5 * (correction2**0.5 / (square.sqrt() + group["eps"]))

        update = mean / correction1 * lr
        if isinstance(length, Tensor):
            update = framework.where(length > 5.0, update * rectified(), update)
        elif length > 5.0:
            update = update * rectified()
        param.sub_(update)
