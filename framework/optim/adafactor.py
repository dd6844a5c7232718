"""Adafactor."""

from __future__ import annotations

from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import (
    ParameterwiseOptimizer,
    add_scaled,
    advance,
    blend,
    check_lr,
    new_step,
    number,
)

__all__ = ["Adafactor"]


# The distance from 1 to the next larger number.
EPSILONS = {
    framework.float64: 2.0**-52,
    framework.float32: 2.0**-23,
    framework.float16: 2.0**-10,
    framework.bfloat16: 2.0**-7,
}


class Adafactor(ParameterwiseOptimizer):
    """param -= a g / sqrt(v) / max(1, rms(g / sqrt(v)) / d), a = max(eps2, rms(param)) min(lr, 1 / sqrt(t)); of a
    matrix the means of g^2 are kept by row and by column alone, v being their outer product over its mean (Shazeer and
    Stern 2018).

    State: step, and row_var and col_var, or variance for vectors. ValueError for numbers out of their range.
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            check_lr(lr)
        for name, value in (
            ("Learning rate", lr),
            ("epsilon1", eps[0]),
            ("epsilon2", eps[1]),
            ("weight_decay", weight_decay),
        ):
            if value is not None and not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _check(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        super()._check(group, param, grad)
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        state = {"step": new_step(group, param)}
        shape = tuple(param.shape)
        if param.dim() > 1:
            options = {"dtype": param.dtype, "device": param.device}
            state["row_var"] = framework.zeros((*shape[:-1], 1), **options)
            state["col_var"] = framework.zeros((*shape[:-2], 1, shape[-1]), **options)
        else:
            state["variance"] = framework.zeros_like(param)
        return state

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        step, lr = advance(group, state), number(group["lr"])
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = EPSILONS[param.dtype]
        new = step ** group["beta2_decay"]
        rate = max(eps2, _rms(param)) * min(lr, 1 / step**0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        square = grad * grad
        if grad.dim() > 1:
            rows = blend(state["row_var"], square.mean(dim=-1, keepdim=True), new)
            columns = blend(state["col_var"], square.mean(dim=-2, keepdim=True), new)
            variance = rows @ columns / rows.mean(dim=-2, keepdim=True).clamp(min=eps1)
        else:
            variance = blend(state["variance"], square, new)
        update = variance.clamp(min=eps1 * eps1).rsqrt() * grad
        add_scaled(param, update, -rate / max(1.0, _rms(update) / group["d"]))


def _rms(values: Tensor) -> float:
    return (values * values).sum().sqrt().item() / values.numel() ** 0.5
