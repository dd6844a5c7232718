"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    advance,
    at_least_zero,
    blend,
    check_lr,
    decayed,
    new_step,
    number,
    step_dtype,
)

__all__ = ["ASGD"]


class ASGD(ParameterwiseOptimizer):
    """param = param (1 - lambd eta) - eta g, eta = lr / (1 + lambd lr t)^alpha; from step t0 on `ax` is the mean of all
    params since (Polyak and Juditsky 1992; Bottou 2012).

    State: step, eta, mu, ax. ValueError for a negative lr or weight_decay.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        at_least_zero("weight_decay value", weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        step = new_step(group, param)
        lr = number(group["lr"])
        eta = framework.full((), lr.item() if isinstance(lr, Tensor) else lr, dtype=step_dtype(), device=step.device)
        return {"step": step, "eta": eta, "mu": step + 1, "ax": framework.zeros_like(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr = advance(group, state), number(group["lr"])
        grad = decayed(grad, param, group["weight_decay"])
        capturable = group["capturable"]
        eta, mu, mean = state["eta"], state["mu"], state["ax"]
        rate = eta if capturable else eta.item()
        param.mul_(1 - group["lambd"] * rate)
        param.sub_(grad * rate)
        if capturable or mu.item() != 1:
            blend(mean, param, mu if capturable else mu.item())
        else:
            mean.copy_(param)
        eta.copy_(_as_tensor(lr / (1 + group["lambd"] * lr * step) ** group["alpha"], eta))
        weight = 1 / (step - group["t0"]).clamp(min=1) if capturable else 1 / max(1, step - group["t0"])
        mu.copy_(_as_tensor(weight, mu))


def _as_tensor(value: Any, like: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else framework.full_like(like, value)
