"""Gradients made smaller: by their common norm, or value by value."""

from __future__ import annotations

from collections.abc import Iterable

import framework
from framework.core.tensor import Tensor

__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


@framework.no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The `norm_type`-norm of all elements of all tensors together, 0 for none. RuntimeError if it must be finite and
    is not.
    """
    tensors, norm_type = _listed(tensors), float(norm_type)
    if not tensors:
        return framework.tensor(0.0)
    sizes = [t.abs().reshape(-1) for t in tensors]
    if norm_type in (float("inf"), float("-inf")):
        most = framework.amax if norm_type > 0 else framework.amin
        total = most(framework.stack([most(s) for s in sizes]))
    elif norm_type == 0:
        total = (
            framework.stack([(s != 0).any() for s in sizes]).sum().to(tensors[0].dtype)
        )  # as PyTorch: of the norms of each
    else:
        total = framework.stack([(s**norm_type).sum() for s in sizes]).sum() ** (1 / norm_type)
    if error_if_nonfinite and not bool(framework.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@framework.no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients in place by max_norm / (total_norm + 1e-6), if that is less than 1."""
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for grad in _grads(parameters):
        grad.mul_(factor.to(grad.device, grad.dtype))


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients in place so that their common norm is at most `max_norm`. Returns the norm that it was."""
    parameters = _listed(parameters)
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total  # type: ignore[no-any-return]


@framework.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Cut the gradients' elements off at +-clip_value, in place."""
    for grad in _grads(parameters):
        grad.clamp_(-float(clip_value), float(clip_value))
