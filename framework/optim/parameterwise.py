"""Optimizers that treat each parameter by itself: they say what a parameter's state is and how one gradient changes
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import framework
from framework.core.state import ACTIVE
from framework.core.storage import written
from framework.core.tensor import FAST, Tensor, arr
from framework.optim.optimizer import Optimizer

__all__ = [
    "ParameterwiseOptimizer",
    "add_product",
    "add_ratio",
    "add_scaled",
    "advance",
    "at_least_zero",
    "blend",
    "check_betas",
    "check_fused",
    "check_lr",
    "decayed",
    "evaluate",
    "new_step",
    "number",
    "step_dtype",
]

CAPTURABLE_DEVICES = ("cuda",)


class ParameterwiseOptimizer(Optimizer):
    """An optimizer whose step is `_new_state` for a parameter met first, then `_update` with its gradient.

    Complex parameters are updated as pairs of real numbers. With the option "differentiable" autograd records the
    update. A backend's kernel named `kernel` may do the same for all parameters at once, with the numbers of `_plan`.
    """

    kernel = ""

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient. A `closure` computes the loss and the gradients first; its loss
        is returned."""
        loss = None
        if closure is not None:
            with framework.enable_grad():
                loss = closure()
        changed: list[Tensor] = []
        with framework.set_grad_enabled(bool(self.defaults.get("differentiable", False))):
            for group in self.param_groups:
                params = [param for param in group["params"] if param.grad is not None]
                self._step_group(group, params)
                changed += params
        evaluate(changed, self.state)
        return loss

    def _step_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        alone = (
            self._one_by_one(group, params)
            if self.kernel and not group.get("differentiable") and not ACTIVE
            else params
        )
        for param in alone:
            grad = param.grad
            state = self._state_of(group, param, grad)
            if group.get("maximize"):
                grad = -grad
            if not param.is_complex():
                self._update(group, param, grad, state)
                continue
            as_real = {name: _real(value) for name, value in state.items()}
            before = dict(as_real)
            self._update(group, _real(param), _real(grad), as_real)
            for name, value in as_real.items():
                if value is not before.get(name):  # made in this step
                    state[name] = framework.view_as_complex(value) if _is_pairs(value, param) else value

    def _state_of(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> dict[str, Any]:
        self._check(group, param, grad)
        state = self.state[param] if self._keeps_state(group) else {}
        if not state:
            state.update(self._new_state(group, param))
        return state

    def _one_by_one(self, group: dict[str, Any], params: list[Tensor]) -> list[Tensor]:
        """Have the backends' kernels do what they can, all parameters together; returns the parameters that are
        left.
        """
        items: dict[Any, list[Any]] = {}
        left: list[Tensor] = []
        for param in params:
            backend = param.backend
            plan = None
            if (
                self.kernel in backend.kernels
                and type(param) in FAST
                and (param._view is None or param._view.base is None)
            ):
                state = self._state_of(group, param, param.grad)
                plan = self._plan(group, state)
            if plan is None or not all(
                [type(t) in FAST and t.backend is backend and t.dtype is param.dtype for t in (param.grad, *plan[0])]
            ):
                left.append(param)
            else:
                items.setdefault(backend, []).append((param, state, *plan))
        for backend, chosen in items.items():
            given = [
                ([arr(t) for t in (param, param.grad, *tensors)], numbers) for param, _, tensors, numbers in chosen
            ]
            done = getattr(backend, self.kernel)(given)
            for (param, state, tensors, _), finished in zip(chosen, done, strict=True):
                if not finished:
                    left.append(param)
                    continue
                written(param, *tensors)
                if "step" in state:
                    state["step"].add_(1)
        return left

    def _plan(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[list[Tensor], tuple[float, ...]] | None:
        """The state that the kernel of this optimizer changes, and its numbers for the next step; None for what it
        cannot do.
        """
        raise NotImplementedError

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return True

    def _new_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        """The state of a parameter before its first update, in the order in which it is saved."""
        raise NotImplementedError

    def _update(self, group: dict[str, Any], param: Tensor, grad: Tensor, state: dict[str, Any]) -> None:
        """Change `param` and `state` in place."""
        raise NotImplementedError

    def _check(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        if getattr(grad, "is_sparse", False):
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients{self._sparse_advice()}")
        if group.get("capturable") and param.device.type not in CAPTURABLE_DEVICES:
            raise AssertionError(
                f"If capturable=True, params and state_steps must be on supported devices: {list(CAPTURABLE_DEVICES)}."
            )

    def _sparse_advice(self) -> str:
        return ""


def _real(value: Any) -> Any:
    return framework.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value


def _is_pairs(value: Any, param: Tensor) -> bool:
    return isinstance(value, Tensor) and tuple(value.shape) == (*param.shape, 2)


def new_step(group: dict[str, Any], param: Tensor) -> Tensor:
    """The count of steps: a tensor of zero, on the CPU unless the step must run on the device alone."""
    if group.get("capturable") or group.get("fused"):
        dtype = framework.float32 if group.get("fused") else step_dtype()
        return framework.zeros((), dtype=dtype, device=param.device)
    return framework.tensor(0.0, dtype=step_dtype(), device="cpu")


def step_dtype() -> Any:
    """The dtype of counts of steps: float64 if that is the default dtype, else float32."""
    return framework.float64 if framework.get_default_dtype() == framework.float64 else framework.float32


def advance(group: dict[str, Any], state: dict[str, Any]) -> Any:
    """Count one step; the count as a number, or as a tensor where no number may leave the device."""
    step = state["step"]
    step.add_(1)
    return step if group.get("capturable") else step.item()


def number(value: Any) -> Any:
    """A learning rate or the like as a Python number; a tensor that needs a gradient stays one."""
    if not isinstance(value, Tensor):
        return value
    return value.squeeze() if value.requires_grad else value.item()


def add_scaled(param: Tensor, values: Tensor, factor: Any) -> None:
    """param += factor values."""
    param.add_(values * factor)


def add_ratio(param: Tensor, values: Tensor, divisor: Tensor, factor: Any) -> None:
    """param += factor values / divisor."""
    if framework.is_grad_enabled():  # the graph saves `values`, which a later step changes
        values = values.clone()
    param.add_(values / divisor * factor)


def add_product(total: Tensor, a: Tensor, b: Tensor, factor: Any = 1) -> Tensor:
    """total += factor a b; returns total."""
    return total.add_(a * b * factor)


def blend(mean: Tensor, values: Tensor, share: Any) -> Tensor:
    """mean += share (values - mean); returns mean."""
    return mean.add_((values - mean) * share)


def decayed(grad: Tensor, param: Tensor, weight_decay: Any) -> Tensor:
    """The gradient of the loss plus weight_decay |param|^2 / 2."""
    weight_decay = number(weight_decay)
    if isinstance(weight_decay, Tensor):
        return grad + param.clone() * weight_decay
    return grad + param * weight_decay if weight_decay != 0 else grad


def evaluate(params: Iterable[Tensor], state: dict[Any, Any]) -> None:
    """Have lazy backends compute the parameters and their state now, all at once, so that no graph of steps builds
    up.
    """
    pending: dict[Any, list[Any]] = {}
    for param in params:
        backend = param.backend
        if not backend.capabilities.lazy:
            continue
        tensors = [param, *(value for value in state.get(param, {}).values() if isinstance(value, Tensor))]
        for tensor in tensors:
            if tensor.backend is backend:
                pending.setdefault(backend, []).append(tensor)
    for backend, tensors in pending.items():
        backend.evaluate([arr(tensor) for tensor in tensors])


# ---------------------------------------------------------------- what the constructors refuse


def at_least_zero(name: str, value: Any) -> None:
    """ValueError "Invalid `name`: `value`" unless value >= 0."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}")


def check_lr(lr: Any, foreach: bool | None = None, capturable: bool = False, needs_capturable: bool = False) -> None:
    """ValueError unless `lr` is a number, or a tensor of one, that is at least 0."""
    if isinstance(lr, Tensor):
        if needs_capturable and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        if lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
    at_least_zero("learning rate", lr)


def check_betas(betas: Any) -> None:
    """ValueError unless both are in [0, 1)."""
    for i, beta in enumerate(betas[:2]):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    """RuntimeError for flags that exclude each other."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
