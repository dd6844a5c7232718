"""Adam for sparse gradients."""

from __future__ import annotations

import math
from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import ParameterwiseOptimizer, check_betas, check_lr, number

__all__ = ["SparseAdam"]


class SparseAdam(ParameterwiseOptimizer):
    """`Adam` on the rows that a sparse gradient names; the other rows of the parameter and its means rest.

    State: step, exp_avg, exp_avg_sq. ValueError for numbers out of their range, for sparse or complex parameters;
    RuntimeError for dense gradients.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            check_lr(lr)
        if not 0.0 < lr:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not 0.0 < eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        places = [
            ([i, j], param) for i, group in enumerate(self.param_groups) for j, param in enumerate(group["params"])
        ]
        sparse = [place for place, param in places if getattr(param, "is_sparse", False)]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complex_ = [place for place, param in places if param.is_complex()]
        if complex_:
            text = f"Complex params at indices {complex_}: SparseAdam does not support complex parameters"
            raise ValueError(text)

    def _check(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        if not getattr(grad, "is_sparse", False):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        return {"step": 0, "exp_avg": framework.zeros_like(param), "exp_avg_sq": framework.zeros_like(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        state["step"] += 1
        grad = grad.coalesce()
        values, place = grad._values(), tuple(grad._indices())
        if values.numel() == 0:
            return
        (beta1, beta2), step = group["betas"], state["step"]
        mean = state["exp_avg"][place].lerp(values, 1 - beta1)
        square = state["exp_avg_sq"][place].lerp(values * values, 1 - beta2)
        state["exp_avg"][place] = mean
        state["exp_avg_sq"][place] = square
        size = number(group["lr"]) * math.sqrt(1 - beta2**step) / (1 - beta1**step)
        param[place] = param[place] - size * mean / square.sqrt().add(group["eps"])
