"""Adam and AdamW."""

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
    check_fused,
    check_lr,
    decayed,
    new_step,
    number,
)

__all__ = ["Adam", "AdamW"]


class Adam(ParameterwiseOptimizer):
    """param -= lr m' / (sqrt(v') + eps), m' = m / (1 - beta1^t), v' = v / (1 - beta2^t), m and v the running means of g
    and g^2 (Kingma and Ba 2014). `amsgrad` uses the largest v so far (Reddi et al. 2018); `weight_decay` adds its
    multiple of param to g, or with `decoupled_weight_decay` shrinks param by lr times it.

    State: step, exp_avg, exp_avg_sq, and with amsgrad max_exp_avg_sq. ValueError for negative numbers and betas outside
    [0, 1).
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_lr(lr, foreach, capturable, needs_capturable=True)
        at_least_zero("epsilon value", eps)
        check_betas(betas)
        at_least_zero("weight_decay value", weight_decay)
        self._check_tensor_betas(betas, foreach and not capturable)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }
        super().__init__(params, defaults)
        check_fused(fused, foreach, differentiable)

    @staticmethod
    def _check_tensor_betas(betas: Any, foreach_alone: Any) -> None:
        if len({isinstance(beta, Tensor) for beta in betas}) != 1 or not isinstance(betas[0], (float, Tensor)):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor):
                if foreach_alone:
                    text = f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True"
                    raise ValueError(text)
                if beta.numel() != 1:
                    raise ValueError(f"Tensor betas[{i}] must be 1-element")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"):
                group.setdefault(name, False)
            for name in ("foreach", "fused"):
                group.setdefault(name, None)
            for param in group["params"]:
                own = self.state.get(param, {})
                if own and not isinstance(own["step"], Tensor):  # counts were once plain numbers
                    own["step"] = new_step(group, param) + float(own["step"])

    def _sparse_advice(self) -> str:
        return ", please consider SparseAdam instead"

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        state = {
            "step": new_step(group, param),
            "exp_avg": framework.zeros_like(param),
            "exp_avg_sq": framework.zeros_like(param),
        }
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = framework.zeros_like(param)
        return state

    kernel = "adam_step"

    def _plan(self, group: dict[str, Any], state: dict[str, Any]) -> Any:
        beta1, beta2 = group["betas"]
        numbers = (group["lr"], beta1, beta2, group["weight_decay"], group["eps"])
        if group["capturable"] or not all([type(n) in (int, float) for n in numbers]):
            return None
        lr, decoupled, decay = group["lr"], group["decoupled_weight_decay"], group["weight_decay"]
        step = state["step"].item() + 1
        names = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")
        return [state[name] for name in names], (
            -1.0 if group["maximize"] else 1.0,
            1 - lr * decay if decoupled else 1.0,
            0.0 if decoupled else float(decay),
            beta1,
            beta2,
            (1 - beta2**step) ** 0.5,
            group["eps"],
            -(lr / (1 - beta1**step)),
        )

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr = advance(group, state), number(group["lr"])
        beta1, beta2 = map(number, group["betas"])
        if group["decoupled_weight_decay"]:
            if group["weight_decay"] != 0:
                param.mul_(1 - lr * group["weight_decay"])
        else:
            grad = decayed(grad, param, group["weight_decay"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        blend(mean, grad, 1 - beta1)
        if isinstance(beta2, Tensor):
            blend(square, grad * grad, 1 - beta2)
        else:
            add_product(square.mul_(beta2), grad, grad, 1 - beta2)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            largest.copy_(framework.maximum(largest.clone(), square))
            square = largest
        correction1, correction2 = 1 - beta1**step, 1 - beta2**step
        divisor = (square.sqrt() / correction2**0.5).add_(group["eps"])
        add_ratio(param, mean, divisor, -(lr / correction1))


class AdamW(Adam):
    """`Adam` with a weight decay that is no part of the gradient: it shrinks param by lr weight_decay (Loshchilov and
    Hutter 2017)."""

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
            differentiable=differentiable, fused=fused, decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
