"""`gradcheck` and `gradgradcheck`: derivatives against finite differences.

Complex numbers: reverse mode is checked on the real and on the imaginary part of the outputs separately, forward mode
on the real and on the imaginary part of the inputs separately, so that in `jacobians` one side is always real.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from backends.dtypes import complex128, float64
from framework.autograd.api import as_tuple, grad
from framework.core.tensor import Tensor
from framework.dispatch.registry import PUBLIC

from .jacobians import (
    Array,
    GradcheckError,
    Settings,
    check_forward,
    check_reverse,
    close,
    differentiable,
    is_variable,
    random,
    tangents_of,
    to_array,
    to_tensor,
)
from .transforms import vmap

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the derivatives of `func` agree with finite differences at `inputs`.

    func: takes the inputs, returns a Tensor or a tuple of them. inputs: a tensor or a tuple; those that require grad
    are checked, and should be float64 or complex128 (a warning says so) without overlapping memory. They are changed
    in place by `eps` while the check runs.

    atol, rtol: |analytical - numerical| may be up to atol + rtol * |numerical|. nondet_tol: how much two backward
    passes may differ. check_undefined_grad: outputs whose gradient is missing count as zero. check_grad_dtypes:
    gradients have the dtype of their input. check_batched_grad: `grad(..., is_grads_batched=True)` agrees with a
    loop; check_batched_forward_grad: so does vmap over tangents. check_forward_ad, check_backward_ad: which modes are
    checked. fast_mode: one random projection of each Jacobian instead of all of it. masked: gradients that ought to
    be zero need only be close to zero.

    Returns True; raises GradcheckError at the first disagreement, or returns False if not `raise_exception`.
    ValueError if no input requires grad; RuntimeError for inputs of stride 0.
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    settings = Settings(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode, bool(masked))
    checks = {
        "backward": check_backward_ad,
        "forward": check_forward_ad,
        "missing cotangents": check_backward_ad and check_undefined_grad,
        "missing tangents": check_forward_ad and check_undefined_grad,
        "batched cotangents": check_batched_grad,
        "batched tangents": check_batched_forward_grad,
    }
    return _verdict(
        func, as_tuple(inputs), settings, {name for name, wanted in checks.items() if wanted}, raise_exception
    )


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the derivatives of the gradients of `func` agree with finite differences.

    This is `gradcheck` of the backward pass.

    grad_outputs: the gradients of the outputs, checked as inputs if they require grad; by default random ones in [-1,
    1), not contiguous if gen_non_contig_grad_outputs. check_rev_over_rev, check_fwd_over_rev: which mode
    differentiates the backward pass. The other arguments, and the errors, are those of `gradcheck`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    given = as_tuple(inputs)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        outputs = differentiable(func(*given))
        cotangents = tuple([random(o, rng, strided=gen_non_contig_grad_outputs) for o in outputs])
    else:
        cotangents = as_tuple(grad_outputs)
    variables = [i for i, x in enumerate(given) if is_variable(x)]
    weighted = [i for i, g in enumerate(cotangents) if is_variable(g)]

    def gradients(*args: Any) -> tuple[Tensor, ...]:
        xs, gs = list(args[: len(given)]), list(args[len(given) :])
        for values, which in ((xs, variables), (gs, weighted)):
            for i in which:  # forward mode hands them over without history
                values[i] = values[i] if values[i].requires_grad else values[i].requires_grad_()
        outputs = differentiable(func(*xs))
        found = grad(outputs, [xs[i] for i in variables], gs, create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    settings = Settings(eps, atol, rtol, nondet_tol, check_grad_dtypes, fast_mode, masked)
    checks = {
        "backward": check_rev_over_rev,
        "forward": check_fwd_over_rev,
        "missing cotangents": check_undefined_grad,
        "batched cotangents": check_batched_grad,
    }
    wanted = {name for name, wanted in checks.items() if wanted}
    return _verdict(gradients, given + cotangents, settings, wanted, raise_exception)


def _verdict(func: Any, inputs: tuple[Any, ...], settings: Settings, checks: set[str], raise_exception: bool) -> bool:
    """Run the checks of these names."""
    _check_inputs(inputs)
    try:
        if "backward" in checks:
            for part, f in _real_outputs(func, inputs):
                check_reverse(f, inputs, settings, part)
        if "forward" in checks:
            for part, f, real in _real_inputs(func, inputs):
                check_forward(f, real, settings, part)
                if "missing tangents" in checks:
                    _check_missing_tangents(f, real)
        if "batched tangents" in checks:
            _check_batched_tangents(func, inputs)
        if "backward" in checks:
            _check_cotangents(func, inputs, settings, checks)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


# ---------------------------------------------------------------- what is checked
def _check_inputs(inputs: tuple[Any, ...]) -> None:
    for i, x in enumerate(inputs):
        if not is_variable(x):
            continue
        if x.dtype is not float64 and x.dtype is not complex128:
            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex.",
                UserWarning,
                stacklevel=3,
            )
        if x.numel() and any(stride == 0 and size > 1 for stride, size in zip(x.stride(), x.shape, strict=True)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                "non-overlapping to be able to compute the numerical gradients correctly. You should call .contiguous "
                "on the input before passing it to gradcheck."
            )
    if not any(map(is_variable, inputs)):
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )


def _real_outputs(func: Any, inputs: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """func with real outputs: itself, or its real and its imaginary parts."""
    if not any(isinstance(o, Tensor) and o.is_complex() for o in as_tuple(func(*inputs))):
        yield "", func
        return
    for name, part in (("imaginary", PUBLIC[""]["imag"]), ("real", PUBLIC[""]["real"])):

        def f(*args: Any, part: Any = part) -> tuple[Any, ...]:
            outputs = as_tuple(func(*args))
            return tuple([part(o) if isinstance(o, Tensor) and o.is_complex() else o for o in outputs])

        yield name, f


def _real_inputs(func: Any, inputs: tuple[Any, ...]) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    """func with real inputs, and these: itself, or as a function of the real and of the imaginary parts alone."""
    complex_at = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.is_complex()]
    if not complex_at:
        yield "", func, inputs
        return
    rest = {i: (PUBLIC[""]["real"](inputs[i].detach()), PUBLIC[""]["imag"](inputs[i].detach())) for i in complex_at}
    for name in ("imaginary", "real"):
        real = list(inputs)
        for i, (x, y) in rest.items():
            real[i] = (y if name == "imaginary" else x).clone().requires_grad_(inputs[i].requires_grad)

        def f(*args: Any, name: str = name) -> Any:
            whole = list(args)
            for i, (x, y) in rest.items():
                whole[i] = x + args[i] * 1j if name == "imaginary" else args[i] + y * 1j
            return func(*whole)

        yield name, f, tuple(real)


# ---------------------------------------------------------------- tangents: missing, batched
def _check_missing_tangents(func: Any, inputs: tuple[Any, ...]) -> None:
    """An input without a tangent must count as one whose tangent is zero."""
    at = [i for i, x in enumerate(inputs) if is_variable(x)]
    rng = np.random.default_rng(0)
    tangents = {i: random(inputs[i], rng).detach() for i in at}
    for i in at if len(at) > 1 else ():
        zero = to_tensor(np.zeros(tuple(inputs[i].shape)), inputs[i])
        given = tangents_of(func, inputs, tangents | {i: zero})
        missing = tangents_of(func, inputs, {k: t for k, t in tangents.items() if k != i})
        for k, (a, b) in enumerate(zip(given, missing, strict=True)):
            if not close(to_array(a), to_array(b), 1e-5, 1e-8):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {k} when input: {i} has an undefined tangent "
                    f"value. Got: {to_array(b)} but expected: {to_array(a)}"
                )


def _check_batched_tangents(func: Any, inputs: tuple[Any, ...]) -> None:
    """Compare vmap over two random tangents of each input with two passes."""
    rng = np.random.default_rng(0)
    for j, i in enumerate([i for i, x in enumerate(inputs) if is_variable(x)]):
        pair = [random(inputs[i], rng).detach() for _ in range(2)]
        looped = [tangents_of(func, inputs, {i: t}) for t in pair]
        stacked = to_tensor(np.stack([to_array(t) for t in pair]), inputs[i])
        try:
            result = vmap(lambda t, i=i: tuple(tangents_of(func, inputs, {i: t})))(stacked)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}") from error
        for k, (r, *expected) in enumerate(zip(as_tuple(result), *looped, strict=True)):
            both = np.stack([to_array(t) for t in expected])
            if not close(to_array(r), both, 1e-5, 1e-8):
                raise GradcheckError(_batched_mismatch(k, j, r, both, " in forward mode"))


# ---------------------------------------------------------------- cotangents: batched, zero, missing
def _check_cotangents(func: Any, inputs: tuple[Any, ...], s: Settings, checks: set[str]) -> None:
    """Cotangents of zero give gradients of zero; batched and missing cotangents do as they should."""
    variables = [x for x in inputs if is_variable(x)]
    outputs = differentiable(func(*inputs))
    if not outputs:
        return
    if "batched cotangents" in checks:
        for i, o in enumerate(outputs):
            _check_batched_cotangents(o, variables, i)
    zeros = [to_tensor(np.zeros(tuple(o.shape)), o) for o in outputs]
    for g, x in zip(grad(outputs, variables, zeros, allow_unused=True), variables, strict=True):
        if g is None:
            continue
        if not (close(to_array(g), 0, 1e-5, 1e-8) if s.masked else not to_array(g).any()):
            raise GradcheckError("backward not multiplied by grad_output")
        if g.dtype is not x.dtype:
            raise GradcheckError(f"grad is incorrect type: {g.dtype} of an input of {x.dtype}")
        if g.device != x.device:
            raise GradcheckError(f"grad is incorrect device: {g.device} of an input on {x.device}")
        if tuple(g.shape) != tuple(x.shape):
            raise GradcheckError(f"grad is incorrect size: {list(g.shape)} of an input of {list(x.shape)}")
    if "missing cotangents" in checks and len(outputs) > 1:
        for i in range(len(outputs)):
            _check_missing_cotangent(differentiable(func(*inputs)), variables, i)


def _check_missing_cotangent(outputs: tuple[Tensor, ...], variables: list[Tensor], i: int) -> None:
    """Gradients that reach all outputs but the i-th, and are zero, must give nothing or zeros."""
    others = outputs[:i] + outputs[i + 1 :]
    zeros = [to_tensor(np.zeros(tuple(o.shape)), o) for o in others]
    try:
        found = grad(others, variables, zeros, allow_unused=True)
    except RuntimeError as error:
        raise GradcheckError(
            f"Expected backward function to handle undefined output grads: with none for output {i} it raises {error}"
        ) from error
    if any(g is not None and to_array(g).any() for g in found):
        raise GradcheckError(
            "Expected all input grads to be undefined or zero when all output grads are undefined or zero, but with "
            f"none for output {i} and zeros for the others they are not."
        )


def _check_batched_cotangents(o: Tensor, variables: list[Tensor], i: int) -> None:
    """Compare a vectorised pass over two random cotangents with two passes."""
    rng = np.random.default_rng(0)
    pair = [random(o, rng).detach() for _ in range(2)]
    looped = [grad(o, variables, g, retain_graph=True, allow_unused=True) for g in pair]
    try:
        stacked = to_tensor(np.stack([to_array(g) for g in pair]), o)
        result = grad(o, variables, stacked, retain_graph=True, allow_unused=True, is_grads_batched=True)
    except RuntimeError as error:
        raise GradcheckError(f"While computing batched gradients, got: {error}") from error
    for j, (r, x) in enumerate(zip(result, variables, strict=True)):
        expected = np.stack([np.zeros(tuple(x.shape)) if (g := gs[j]) is None else to_array(g) for gs in looped])
        if not close(np.zeros(expected.shape) if r is None else to_array(r), expected, 1e-5, 1e-8):
            raise GradcheckError(_batched_mismatch(i, j, r, expected, ""))


def _batched_mismatch(i: int, j: int, result: Any, expected: Array, mode: str) -> str:
    return (
        f"For output {i} and input {j}: gradcheck or gradgradcheck failed while testing batched gradient "
        f"computation{mode}. Got:\n{result}\n\nExpected:\n{expected}"
    )
