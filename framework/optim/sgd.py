"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_scaled,
    at_least_zero,
    check_fused,
    check_lr,
    decayed,
    number,
)

__all__ = ["SGD"]


class SGD(ParameterwiseOptimizer):
    """param -= lr g, with momentum param -= lr b, b = momentum b + (1 - dampening) g, and by Nesterov's rule
    param -= lr (g + momentum b) (Sutskever et al. 2013). The first b is g. `weight_decay` adds its multiple of param to
    g.

    State: momentum_buffer. ValueError for negative numbers, and for `nesterov` without momentum or with dampening.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        at_least_zero("momentum value", momentum)
        at_least_zero("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False)):
                group.setdefault(name, value)
            group.setdefault("fused", False)

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return group["momentum"] != 0

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        return {}

    kernel = "sgd_step"

    def _plan(self, group: dict[str, Any], state: dict[str, Any]) -> Any:
        momentum, dampening = group["momentum"], group["dampening"]
        numbers = (group["lr"], momentum, dampening, group["weight_decay"])
        buffer = state.get("momentum_buffer")
        if not all([type(n) in (int, float) for n in numbers]) or momentum and buffer is None:
            return None
        nesterov = group["nesterov"]
        return [buffer] if momentum else [], (
            -1.0 if group["maximize"] else 1.0, float(group["weight_decay"]), -float(group["lr"]), float(momentum),
            1.0 - dampening, float(momentum) if nesterov else 1.0, 1.0 if nesterov else 0.0,
        )  # fmt: skip

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        grad = decayed(grad, param, group["weight_decay"])
        momentum = group["momentum"]
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                add_scaled(buffer.mul_(momentum), grad, 1 - group["dampening"])
            grad = grad + buffer * momentum if group["nesterov"] else buffer
        add_scaled(param, grad, -number(group["lr"]))
