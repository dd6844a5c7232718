"""Muon."""

from __future__ import annotations

import math
from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.parameterwise import ParameterwiseOptimizer, add_scaled, blend, check_lr, number

__all__ = ["Muon"]


class Muon(ParameterwiseOptimizer):
    """param = param (1 - lr weight_decay) - lr' orthogonalised(momentum), for matrices alone (Jordan et al. 2024).

    The orthogonal factor comes from `ns_steps` of X = a X + (b X X^T + c (X X^T)^2) X in bfloat16, X the update over
    its norm. lr' = lr sqrt(max(1, rows / columns)), or 0.2 lr sqrt(max(rows, columns)) for
    `adjust_lr_fn="match_rms_adamw"`. State: momentum_buffer. ValueError for negative numbers, parameters that are no
    matrices, other names.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor):
            check_lr(lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not 0.0 <= value:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def _check(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        super()._check(group, param, grad)
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        return {"momentum_buffer": framework.zeros_like(param)}

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        momentum, lr = group["momentum"], number(group["lr"])
        buffer = blend(state["momentum_buffer"], grad, 1 - momentum)
        update = grad + (buffer - grad) * momentum if group["nesterov"] else buffer
        update = _orthogonalized(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = param.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            scale = 0.2 * math.sqrt(max(rows, columns))
        else:
            scale = math.sqrt(max(1, rows / columns))
        param.mul_(1 - lr * group["weight_decay"])
        add_scaled(param, update.to(param.dtype), -lr * scale)


def _orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Near U V^T of the singular value decomposition U S V^T, by a fifth-order Newton-Schulz iteration."""
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = matrix.bfloat16()
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.mT
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = x * a + (gram * b + gram @ gram * c) @ x
    return x.mT if tall else x
