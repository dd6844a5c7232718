"""Jacobians: numerical by central differences, analytical by reverse and by forward mode, and their comparison.

A Jacobian has a row for each element of the input and a column for each element of the output. Numerical ones come from
(f(x + eps u) - f(x - eps u)) / (2 eps) for unit vectors u; reverse mode gives columns, forward mode gives rows.

Reverse mode is compared for real outputs only; the gradient of a real s at z = x + iy is ds/dx + i ds/dy. Forward
mode is compared for real inputs only. Slow mode compares whole Jacobians; fast mode compares one number (forward
mode: one vector) for each pair of input and output, v' J u with random vectors u and v of length 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from framework.autograd.api import as_tuple, grad
from framework.core.host import to_host
from framework.core.tensor import Tensor
from framework.ops.conversion import tensor

from .transforms import jvp

Array = np.ndarray[Any, Any]


class GradcheckError(RuntimeError):
    """A derivative failed `gradcheck` or `gradgradcheck`."""


@dataclass(frozen=True)
class Settings:
    """The tolerances and options that every comparison uses."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_grad_dtypes: bool
    fast: bool
    masked: bool


def is_floating(x: Any) -> bool:
    """Whether x is a tensor of real or complex numbers."""
    return isinstance(x, Tensor) and x.dtype.category > 1


def is_variable(x: Any) -> bool:
    """Whether x is a tensor that gradients reach."""
    return isinstance(x, Tensor) and x.requires_grad


def differentiable(outputs: Any) -> tuple[Tensor, ...]:
    """The outputs of a function that have a history."""
    return tuple([o for o in as_tuple(outputs) if is_variable(o)])


# ---------------------------------------------------------------- values to the host and back
def to_array(t: Tensor) -> Array:
    """A copy of a tensor's values on the host."""
    return np.array(to_host(t.detach()))


def to_tensor(values: Any, like: Tensor) -> Tensor:
    """Values in the dtype and on the device of `like`."""
    return tensor(np.asarray(values), dtype=like.dtype, device=like.device)


def random(like: Tensor, rng: np.random.Generator, *, strided: bool = False) -> Tensor:
    """A variable of uniform numbers in [-1, 1) in the shape and dtype of `like`; a slice of another if `strided`."""
    shape = (*like.shape, 2)
    values = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if like.is_complex() else 0)
    if strided:
        return to_tensor(values, like)[..., 0].requires_grad_()
    return to_tensor(values[..., 0], like).requires_grad_()


def _unit(count: int, rng: np.random.Generator) -> Array:
    """A random vector of length 1 without negative entries, so that the entries of a Jacobian's error cannot cancel."""
    vector = rng.random(count)
    return vector / np.linalg.norm(vector) if count else vector


def close(a: Array, b: Array, rtol: float, atol: float) -> bool:
    """Whether a is within atol + rtol * |b| of b everywhere; nan is close to nothing."""
    return bool(np.allclose(a, b, rtol, atol))


# ---------------------------------------------------------------- finite differences
@contextmanager
def _replaced(x: Tensor, values: Array) -> Iterator[None]:
    """Run a block with other values in x, unseen by autograd; the function may read x from anywhere."""
    before = to_array(x)
    x.data.copy_(to_tensor(values, x))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        x.data.copy_(to_tensor(before, x))  # type: ignore[attr-defined]


def _difference(func: Any, inputs: Sequence[Any], x: Tensor, direction: Array, eps: float) -> list[Array]:
    """The derivative of each floating output of func along `direction` in x, flat."""
    at = to_array(x)
    ends = []
    for sign in (-1, 1):
        with _replaced(x, at + sign * eps * direction):
            ends.append([(o.dtype, to_array(o)) for o in as_tuple(func(*inputs)) if is_floating(o)])
    for (d, a), (e, b) in zip(*ends, strict=True):
        if a.shape != b.shape or d is not e:
            what, one, other = ("shape", a.shape, b.shape) if a.shape != b.shape else ("dtype", d, e)
            raise AssertionError(
                f"Expected `func` to return outputs with the same {what} when inputs are perturbed by {eps}, but got: "
                f"{what}s {one} and {other}."
            )
    with np.errstate(invalid="ignore"):
        return [((b - a) / (2 * eps)).reshape(-1) for (_, a), (_, b) in zip(*ends, strict=True)]


def _directional(func: Any, inputs: Sequence[Any], x: Tensor, u: Array, eps: float) -> list[Array]:
    """Like `_difference`, for a complex x along the real and the imaginary part of u: ds/dx u_r + i ds/dy u_i."""
    if not x.is_complex():
        return _difference(func, inputs, x, u, eps)
    along = _difference(func, inputs, x, u.real, eps)
    across = _difference(func, inputs, x, 1j * u.imag, eps)
    return [a + 1j * b for a, b in zip(along, across, strict=True)]


def _numerical(func: Any, inputs: Sequence[Any], x: Tensor, eps: float) -> list[Array]:
    """The Jacobian of each floating output with respect to x."""
    rows = []
    for k in range(x.numel()):
        u = np.zeros(tuple(x.shape), complex if x.is_complex() else float)
        u.flat[k] = 1 + 1j if x.is_complex() else 1
        rows.append(_directional(func, inputs, x, u, eps))
    if rows:
        return [np.stack(row) for row in zip(*rows, strict=True)]
    return [np.zeros((0, o.numel())) for o in as_tuple(func(*inputs)) if is_floating(o)]


def _check_constant(derivatives: list[Array], tolerance: float) -> None:
    """A function without a differentiable output must not change."""
    if any(d.size and np.abs(d).max() > tolerance for d in derivatives):
        raise GradcheckError("Numerical gradient for function expected to be zero")


# ---------------------------------------------------------------- reverse mode
def check_reverse(func: Any, inputs: tuple[Any, ...], s: Settings, part: str) -> None:
    """Compare reverse mode with finite differences; outputs are real."""
    variables = [x for x in inputs if is_variable(x)]
    raw = [o for o in as_tuple(func(*inputs)) if is_floating(o)]
    outputs = [o for o in raw if o.requires_grad]
    rng = np.random.default_rng(0)
    us = [_unit(x.numel(), rng) + (1j * _unit(x.numel(), rng) if x.is_complex() else 0) for x in variables]
    vs = [_unit(o.numel(), rng) for o in outputs]
    if s.fast:
        numerical = [
            _directional(func, inputs, x, u.reshape(tuple(x.shape)), s.eps) for x, u in zip(variables, us, strict=True)
        ]
    else:
        numerical = [_numerical(func, inputs, x, s.eps) for x in variables]
    if not outputs:
        for jacobians in numerical:
            _check_constant(jacobians, s.nondet_tol if s.fast else 0.0)
        return
    kept = [[n for n, o in zip(ns, raw, strict=True) if o.requires_grad] for ns in numerical]
    for i, o in enumerate(outputs):
        columns = _reverse_columns(o, variables, s, vs[i] if s.fast else None)
        for j, a in enumerate(columns):
            n, atol = kept[j][i], s.atol
            if s.fast:
                u, v = us[j], vs[i]
                n, a = v @ n, a[:, 0]
                a = a.real @ u.real + 1j * (a.imag @ u.imag) if np.iscomplexobj(u) else a @ u
                atol *= (u.real.sum() + u.imag.sum()) * v.sum()
            if close(a, n, s.rtol, atol):
                continue
            message = _mismatch(a, n, i, j, part and f"the {part} part of complex outputs")
            if s.fast:
                whole = _reverse_columns(outputs[i], variables, s, None)[j]
                message += _slow_comparison(
                    func, inputs, variables[j], next(k for k, r in enumerate(raw) if r is o), whole, s
                )
            raise GradcheckError(message)


def _reverse_columns(o: Tensor, variables: list[Tensor], s: Settings, v: Array | None) -> list[Array]:
    """For each variable the gradients of o's elements as columns (given v, of the sum weighted by v); run twice."""
    first, second = _gradients(o, variables, v), _gradients(o, variables, v)
    if s.check_grad_dtypes and any(
        g is not None and g.dtype is not x.dtype for gs in first for g, x in zip(gs, variables, strict=True)
    ):
        raise GradcheckError("Gradient has dtype mismatch")
    for g, x in ((g, x) for gs in first for g, x in zip(gs, variables, strict=True)):
        if g is not None and tuple(g.shape) != tuple(x.shape):
            raise GradcheckError(f"Analytical gradient has incorrect size {list(g.shape)}, expected {list(x.shape)}")
    columns, again = _columns(first, variables), _columns(second, variables)
    for a, b in zip(columns, again, strict=True):
        if a.size and np.abs(a - b).max() > s.nondet_tol:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient. The tolerance for "
                f"nondeterminism was {s.nondet_tol}."
            )
    return columns


def _gradients(o: Tensor, variables: list[Tensor], v: Array | None) -> list[Sequence[Tensor | None]]:
    found = []
    for k in range(o.numel() if v is None else 1):
        weights = v
        if weights is None:
            weights = np.zeros(o.numel())
            weights[k] = 1
        cotangent = to_tensor(weights.reshape(tuple(o.shape)), o)
        found.append(grad(o, variables, cotangent, retain_graph=True, allow_unused=True))
    return found


def _columns(gradients: list[Sequence[Tensor | None]], variables: list[Tensor]) -> list[Array]:
    result = []
    for j, x in enumerate(variables):
        jacobian = np.zeros((x.numel(), len(gradients)), complex if x.is_complex() else float)
        for k, gs in enumerate(gradients):
            g = gs[j]
            if g is not None:
                jacobian[:, k] = to_array(g).reshape(-1)
        result.append(jacobian)
    return result


# ---------------------------------------------------------------- forward mode
def tangents_of(func: Any, inputs: tuple[Any, ...], tangents: dict[int, Tensor]) -> list[Tensor]:
    """The tangents of the floating outputs if the inputs of these numbers have these tangents."""

    def restricted(*primals: Tensor) -> tuple[Tensor, ...]:
        given = [x.detach() if isinstance(x, Tensor) else x for x in inputs]
        for i, p in zip(tangents, primals, strict=True):
            given[i] = p
        return tuple([o for o in as_tuple(func(*given)) if is_floating(o)])

    primals = tuple([inputs[i].detach() for i in tangents])
    found = jvp(restricted, primals, tuple(tangents.values()))[1]
    return list(as_tuple(found))


def check_forward(func: Any, inputs: tuple[Any, ...], s: Settings, part: str) -> None:
    """Compare forward mode with finite differences; inputs are real."""
    at = [i for i, x in enumerate(inputs) if is_variable(x)]
    raw = [o for o in as_tuple(func(*inputs)) if is_floating(o)]
    rng = np.random.default_rng(0)
    zeros = {i: to_tensor(np.zeros(tuple(inputs[i].shape)), inputs[i]) for i in at}
    for j, i in enumerate(at):
        x = inputs[i]
        u = _unit(x.numel(), rng)
        if s.fast:
            numerical = [n[None] for n in _difference(func, inputs, x, u.reshape(tuple(x.shape)), s.eps)]
        else:
            numerical = _numerical(func, inputs, x, s.eps)
        if not any(o.requires_grad for o in raw):
            _check_constant(numerical, 0.0)
            continue
        analytical = _forward_rows(func, inputs, zeros, i, raw, s, u if s.fast else None)
        checked = [k for k, o in enumerate(raw) if o.requires_grad]
        for number, k in enumerate(checked):
            atol = s.atol * u.sum() if s.fast else s.atol
            if close(analytical[k], numerical[k], s.rtol, atol):
                continue
            which = part and f"the {part} part of complex inputs"
            message = _mismatch(analytical[k], numerical[k], number, j, which, "computed with forward mode ")
            if s.fast:
                whole = _forward_rows(func, inputs, zeros, i, raw, s, None)[k]
                message += _slow_comparison(func, inputs, x, k, whole, s)
            raise GradcheckError(message)


def _forward_rows(
    func: Any,
    inputs: tuple[Any, ...],
    zeros: dict[int, Tensor],
    i: int,
    raw: list[Tensor],
    s: Settings,
    u: Array | None,
) -> list[Array]:
    """The Jacobian of each floating output with respect to input i (given u, its product with u) by forward mode."""
    x = inputs[i]
    directions = np.eye(x.numel()) if u is None else u[None]
    jacobians = [np.zeros((len(directions), o.numel()), complex if o.is_complex() else float) for o in raw]
    for row, direction in enumerate(directions):
        tangent = to_tensor(direction.reshape(tuple(x.shape)), x)
        for jacobian, o, t in zip(jacobians, raw, tangents_of(func, inputs, zeros | {i: tangent}), strict=True):
            if s.check_grad_dtypes and t.is_complex() != o.is_complex():
                raise GradcheckError("Forward AD gradient has dtype mismatch.")
            jacobian[row] = to_array(t).reshape(-1)
    return jacobians


# ---------------------------------------------------------------- what goes wrong, in words
def _mismatch(a: Any, n: Any, i: int, j: int, part: str, mode: str = "") -> str:
    prefix = f"While considering {part} only, " if part else ""
    return f"{prefix}Jacobian {mode}mismatch for output {i} with respect to input {j},\nnumerical:{n}\nanalytical:{a}\n"


def _slow_comparison(func: Any, inputs: Sequence[Any], x: Tensor, k: int, analytical: Array, s: Settings) -> str:
    """Both Jacobians of one pair in full, for the message of a failure in fast mode."""
    numerical = _numerical(func, inputs, x, s.eps)[k]
    text = (
        "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode. Below, we "
        f"recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n {numerical}\n"
        f"Analytical:\n{analytical}\n\nThe max per-element difference (slow mode) is: "
        f"{np.abs(numerical - analytical).max()}.\n"
    )
    if close(analytical, numerical, s.rtol, s.atol):
        text += (
            "\nFast gradcheck failed but element-wise differences are small. This means that the test might've passed "
            "in slow_mode! Call gradcheck or gradgradcheck with fast_mode=False."
        )
    return text
