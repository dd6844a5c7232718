"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import framework
from framework.core.tensor import Tensor
from framework.optim.optimizer import Optimizer
from framework.optim.parameterwise import add_scaled, check_lr, number

__all__ = ["LBFGS"]


class LBFGS(Optimizer):
    """The limited-memory quasi-Newton method (Nocedal and Wright 2006, chapter 7) on all parameters as one vector.

    `step(closure)` makes up to `max_iter` iterations, each calling the closure, at most `max_eval` times in all (5/4 of
    `max_iter` by default). `line_search_fn` is None (steps of length lr) or "strong_wolfe". One parameter group alone
    (ValueError).
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # ------------------------------------------------------------ all parameters as one vector

    def _flat_grad(self) -> Tensor:
        pieces = []
        for param in self._params:
            piece = framework.zeros_like(param) if param.grad is None else param.grad
            piece = piece.to_dense() if getattr(piece, "is_sparse", False) else piece
            pieces.append((framework.view_as_real(piece) if piece.is_complex() else piece).reshape(-1))
        return framework.cat(pieces, 0)

    def _move(self, length: float, direction: Tensor) -> None:
        """params += length direction."""
        offset = 0
        for param in self._params:
            values = framework.view_as_real(param) if param.is_complex() else param
            piece = direction[offset : offset + values.numel()]
            add_scaled(values, piece.reshape(values.shape), length)
            offset += values.numel()

    # ------------------------------------------------------------ the step

    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Iterate with the loss and gradients of `closure` until a tolerance or a limit is reached; returns the first
        loss.
        """
        evaluate = framework.enable_grad()(closure)
        with framework.no_grad():
            return self._step(evaluate)

    def _step(self, closure: Callable[[], Any]) -> Any:
        (group,) = self.param_groups
        search = group["line_search_fn"]
        if search not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        lr, tolerance_grad, tolerance_change = number(group["lr"]), group["tolerance_grad"], group["tolerance_change"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, grad = float(first_loss), self._flat_grad()
        evaluations = 1
        state["func_evals"] += 1
        if grad.abs().amax() <= tolerance_grad:
            return first_loss
        direction, length = state.get("d"), state.get("t")
        previous_grad, previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            start = state["n_iter"] == 1
            if start:
                direction = grad.neg()
                state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                direction = self._direction(
                    state, grad, grad - previous_grad, direction * length, group["history_size"]
                )
            previous_grad, previous_loss = grad.clone(), loss
            length = min(1.0, 1.0 / grad.abs().sum().item()) * lr if start else lr
            slope = (grad @ direction).item()
            if slope > -tolerance_change:
                break
            used = 0
            if search == "strong_wolfe":
                limit = group["max_eval"] - evaluations
                loss, grad, length, used = self._search(closure, length, direction, loss, grad, slope, limit)
                self._move(length, direction)
            else:
                self._move(length, direction)
                if iteration != group["max_iter"]:  # after the last iteration nobody asks for the loss
                    loss, grad, used = float(closure()), self._flat_grad(), 1
            evaluations += used
            state["func_evals"] += used
            if (
                evaluations >= group["max_eval"]
                or grad.abs().amax() <= tolerance_grad
                or (direction * length).abs().amax() <= tolerance_change
                or abs(loss - previous_loss) < tolerance_change
            ):
                break
        state.update(d=direction, t=length, prev_flat_grad=previous_grad, prev_loss=previous_loss)
        return first_loss

    @staticmethod
    def _direction(state: dict[str, Any], grad: Tensor, change: Tensor, moved: Tensor, history: int) -> Tensor:
        """- H grad, H the inverse Hessian that the last moves and changes of the gradient suggest (two-loop
        recursion).
        """
        changes, moves, weights = state["old_dirs"], state["old_stps"], state["ro"]
        curvature = (change @ moved).item()
        if curvature > 1e-10:
            if len(changes) == history:
                for kept in (changes, moves, weights):
                    kept.pop(0)
            changes.append(change)
            moves.append(moved)
            weights.append(1.0 / curvature)
            state["H_diag"] = curvature / (change @ change).item()
        factors = state.setdefault("al", [None] * history)
        direction = grad.neg()
        for i in range(len(changes) - 1, -1, -1):
            factors[i] = (moves[i] @ direction).item() * weights[i]
            add_scaled(direction, changes[i], -factors[i])
        direction = direction * state["H_diag"]
        for i in range(len(changes)):
            back = (changes[i] @ direction).item() * weights[i]
            add_scaled(direction, moves[i], factors[i] - back)
        return direction

    def _search(
        self,
        closure: Callable[[], Any],
        length: float,
        direction: Tensor,
        loss: float,
        grad: Tensor,
        slope: float,
        limit: int,
    ) -> tuple[float, Tensor, float, int]:
        start = [param.clone() for param in self._params]

        def at(length: float) -> tuple[float, Tensor, float]:
            self._move(length, direction)
            loss, grad = float(closure()), self._flat_grad()
            for param, value in zip(self._params, start, strict=True):
                param.copy_(value)
            return loss, grad, (grad @ direction).item()

        reach = direction.abs().amax().item()
        return strong_wolfe(at, length, (loss, grad.clone(), slope), reach, max_evaluations=limit)


Point = tuple[float, Any, float]  # loss, gradient, slope along the direction


def strong_wolfe(
    at: Callable[[float], Point],
    length: float,
    start: Point,
    reach: float,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_evaluations: int = 25,
) -> tuple[float, Any, float, int]:
    """(loss, gradient, length, evaluations) at a length that satisfies the strong Wolfe conditions: the loss falls by
    c1 of what the slope promises, and the slope shrinks to c2 of its size (Nocedal and Wright 2006, algorithms 3.5 and
    3.6).

    `at(length)` evaluates; `start` is the point of length 0; `reach` is the largest entry of the direction.
    """
    loss, _, slope = start
    here = at(length)
    evaluations, tried = 1, 0
    previous_length, previous = 0.0, start
    done = False
    bracket: list[tuple[float, Point]] = []
    while tried < max_evaluations:  # walk outwards until a minimum lies behind
        too_high = here[0] > loss + c1 * length * slope or (tried > 1 and here[0] >= previous[0])
        if not too_high and abs(here[2]) <= -c2 * slope:
            bracket, done = [(length, here)], True
            break
        if too_high or here[2] >= 0:
            bracket = [(previous_length, previous), (length, here)]
            break
        bounds = (length + 0.01 * (length - previous_length), length * 10)
        next_length = cubic_minimum(previous_length, previous, length, here, bounds)
        previous_length, previous, length = length, here, next_length
        here = at(length)
        evaluations += 1
        tried += 1
    else:
        bracket = [(0.0, start), (length, here)]

    stalled = False
    low, high = (0, 1) if bracket[0][1][0] <= bracket[-1][1][0] else (1, 0)
    while not done and tried < max_evaluations:  # narrow the bracket down
        ends = [end[0] for end in bracket]
        left, right = min(ends), max(ends)
        if (right - left) * reach < tolerance_change:
            break
        length = cubic_minimum(ends[0], bracket[0][1], ends[1], bracket[1][1])
        margin = 0.1 * (right - left)
        if min(right - length, length - left) < margin:
            if stalled or length >= right or length <= left:
                length = right - margin if abs(length - right) < abs(length - left) else left + margin
                stalled = False
            else:
                stalled = True
        else:
            stalled = False
        here = at(length)
        evaluations += 1
        tried += 1
        if here[0] > loss + c1 * length * slope or here[0] >= bracket[low][1][0]:
            bracket[high] = (length, here)
            low, high = (0, 1) if bracket[0][1][0] <= bracket[1][1][0] else (1, 0)
        else:
            if abs(here[2]) <= -c2 * slope:
                done = True
            elif here[2] * (bracket[high][0] - bracket[low][0]) >= 0:
                bracket[high] = bracket[low]
            bracket[low] = (length, here)
    length, (loss, grad, _) = bracket[low if len(bracket) > 1 else 0]
    return loss, grad, length, evaluations


def cubic_minimum(x1: float, p1: Point, x2: float, p2: Point, bounds: tuple[float, float] | None = None) -> float:
    """Where the cubic through two points with their slopes is least, kept within `bounds` (the two points themselves).

    Nocedal and Wright 2006, equation 3.59; halfway where the cubic has no minimum.
    """
    low, high = bounds if bounds is not None else (min(x1, x2), max(x1, x2))
    if x1 > x2:
        x1, p1, x2, p2 = x2, p2, x1, p1
    f1, g1, f2, g2 = p1[0], p1[2], p2[0], p2[2]
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1 * d1 - g1 * g2
    if square < 0:
        return (low + high) / 2.0
    d2 = square**0.5
    position = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    return min(max(position, low), high)
