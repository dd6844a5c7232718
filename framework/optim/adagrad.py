"""Adagrad."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_ratio,
    advance,
    at_least_zero,
    check_fused,
    check_lr,
    decayed,
    new_step,
    number,
)

__all__ = ["Adagrad"]


class Adagrad(ParameterwiseOptimizer):
    """param -= lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps), s the sum of all g^2 so far (Duchi et al. 2011).

    State, there from the start: step, sum. ValueError for negative numbers.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        at_least_zero("lr_decay value", lr_decay)
        at_least_zero("weight_decay value", weight_decay)
        at_least_zero("initial_accumulator_value value", initial_accumulator_value)
        at_least_zero("epsilon value", eps)
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._new_state(group, param)

    def share_memory(self) -> None:
        """Move the sums to memory that other processes can map."""
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param]["sum"].share_memory_()

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        value = complex(start, start) if param.is_complex() else start
        return {"step": new_step(group, param), "sum": framework.full_like(param, value, requires_grad=False)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step = advance(group, state)
        grad = decayed(grad, param, group["weight_decay"])
        lr = number(group["lr"]) / (1 + (step - 1) * group["lr_decay"])
        total = state["sum"].add_(grad * grad)
        add_ratio(param, grad, total.sqrt() + group["eps"], -lr)
