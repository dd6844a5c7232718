"""NAdam."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_product,
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

__all__ = ["NAdam"]


class NAdam(ParameterwiseOptimizer):
    """Adam with Nesterov momentum (Dozat 2016): param -= lr (mu_t+1 m / (1 - prod_i<=t+1 mu_i) + (1 - mu_t) g / (1 -
    prod_i<=t mu_i)) / (sqrt(v') + eps), mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), m, v and v' as in Adam.

    State: step, mu_product, exp_avg, exp_avg_sq. ValueError for negative numbers and betas outside [0, 1).
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        at_least_zero("momentum_decay value", momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        zeros = framework.zeros_like
        step = new_step(group, param)
        return {"step": step, "mu_product": step + 1, "exp_avg": zeros(param), "exp_avg_sq": zeros(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr = advance(group, state), number(group["lr"])
        if group["decoupled_weight_decay"]:
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = decayed(grad, param, group["weight_decay"])
        beta1, beta2 = group["betas"]
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (step, step + 1))
        state["mu_product"] *= mu
        product = state["mu_product"] if group["capturable"] else state["mu_product"].item()
        mean = blend(state["exp_avg"], grad, 1 - beta1)
        square = add_product(state["exp_avg_sq"].mul_(beta2), grad, grad, 1 - beta2)
        divisor = (square / (1 - beta2**step)).sqrt() + group["eps"]
        add_ratio(param, grad, divisor, -lr * (1.0 - mu) / (1.0 - product))
        add_ratio(param, mean, divisor, -lr * mu_next / (1.0 - product * mu_next))
