"""`gradcheck` and `gradgradcheck` accept right derivatives and find each kind of wrong one."""

from __future__ import annotations

import pytest

import framework
from framework import float64, tensor
from framework.autograd import Function, gradcheck, gradgradcheck
from framework.autograd.function import once_differentiable
from framework.func.gradcheck import GradcheckError

MODES = [
    {},
    {"fast_mode": True},
    {"check_forward_ad": True},
    {"check_forward_ad": True, "fast_mode": True},
    {"check_forward_ad": True, "check_backward_ad": False},
    {"check_forward_ad": True, "check_batched_forward_grad": True},
    {"check_grad_dtypes": True},
    {"check_batched_grad": True},
]
SECOND_MODES = [
    {},
    {"fast_mode": True},
    {"check_fwd_over_rev": True},
    {"gen_non_contig_grad_outputs": True},
]


def variable(*shape, start=0.3, dtype=float64):
    """Numbers of both signs, away from kinks and poles."""
    count = framework.zeros(shape).numel()
    values = [start + 0.37 * k * (-1) ** k for k in range(count)]
    return tensor(values, dtype=dtype).reshape(shape).requires_grad_()


class Custom(Function):
    """sin, with a derivative to be replaced."""

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

    @staticmethod
    def jvp(ctx, t):
        return t * ctx.saved_tensors[0].cos()


def custom(**methods):
    return type("Custom", (Custom,), {k: staticmethod(f) for k, f in methods.items()}).apply


def cos_of(ctx):
    return ctx.saved_tensors[0].cos()


RIGHT = {
    "two inputs": (lambda x, y: (x * y.exp()).sin(), lambda: (variable(2, 3), variable(3))),
    "several outputs": (lambda x, y: (x.sum(0) * y, x.exp(), y.sum()), lambda: (variable(2, 3), variable(3))),
    "an output without gradient": (lambda x: (x.exp(), x > 0, x.detach()), lambda: (variable(2, 3),)),
    "no output with gradient": (lambda x: x.detach() * 0 + 1, lambda: (variable(3),)),
    "an input that is no tensor": (lambda x, n: x**n, lambda: (variable(3), 3)),
    "an input without gradient": (lambda x, y: x * y, lambda: (variable(3), variable(3).detach())),
    "0-d": (lambda x: x.exp() * 2, lambda: (variable(),)),
    "empty": (lambda x: x * 2, lambda: (variable(0, 3),)),
    "a view": (lambda x: x.permute(1, 0), lambda: (variable(2, 3),)),
    "not contiguous": (lambda x: x * x, lambda: (variable(3, 2).detach().permute(1, 0).requires_grad_(),)),
    "custom": (Custom.apply, lambda: (variable(2, 2),)),
}


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", RIGHT)
def test_right_derivatives(name, mode):
    function, inputs = RIGHT[name]
    assert gradcheck(function, inputs(), **mode)


@pytest.mark.parametrize("mode", SECOND_MODES, ids=str)
@pytest.mark.parametrize("name", [name for name in RIGHT if not name.startswith("no output")])
def test_right_second_derivatives(name, mode):
    function, inputs = RIGHT[name]
    assert gradgradcheck(function, inputs(), **mode)


COMPLEX = {
    "holomorphic": (lambda z: z * z.exp(), lambda: (complex_variable(2),)),
    "a real output": (lambda z: z.abs() ** 2, lambda: (complex_variable(2),)),
    "conjugation": (lambda z: z.conj() * z * 2j, lambda: (complex_variable(2),)),
    "mixed": (lambda z, x: (z * x, z.real * x.sum()), lambda: (complex_variable(2), variable(2))),
    "a real input": (lambda x: x * 1j + x, lambda: (variable(2),)),
}


def complex_variable(*shape):
    real, imag = variable(*shape).detach(), variable(*shape, start=-0.6).detach()
    return (real + imag * 1j).requires_grad_()


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_derivatives(name, mode):
    function, inputs = COMPLEX[name]
    assert gradcheck(function, inputs(), **mode)


@pytest.mark.parametrize("mode", SECOND_MODES, ids=str)
@pytest.mark.parametrize("name", COMPLEX)
def test_complex_second_derivatives(name, mode):
    function, inputs = COMPLEX[name]
    assert gradgradcheck(function, inputs(), **mode)


@pytest.mark.parametrize("mode", [{}, {"fast_mode": True}], ids=str)
def test_a_missing_conjugate_is_found(mode):
    class Square(Function):
        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    with pytest.raises(GradcheckError, match="While considering the imaginary part of complex outputs only, Jacobian"):
        gradcheck(Square.apply, (complex_variable(2),), **mode)


def test_inputs_are_left_as_they_were():
    x = variable(2, 3)
    before = x.tolist()
    gradcheck(lambda x: x.sin(), (x,))
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: x / 0 if x.tolist() == before else 1 / 0, (x,))
    assert x.tolist() == before
    assert x.grad is None


WRONG = {
    "reverse": (
        {"backward": lambda ctx, g: g * cos_of(ctx) * 1.1},
        {},
        "Jacobian mismatch for output 0 with respect to input 0",
    ),
    "reverse, fast": (
        {"backward": lambda ctx, g: g * cos_of(ctx) * 1.1},
        {"fast_mode": True},
        "(?s)Jacobian mismatch for output 0 with respect to input 0.*in slow mode",
    ),
    "forward": (
        {"jvp": lambda ctx, t: t * 2},
        {"check_forward_ad": True},
        "Jacobian computed with forward mode mismatch for output 0 with respect to input 0",
    ),
    "forward, fast": (
        {"jvp": lambda ctx, t: t * 2},
        {"check_forward_ad": True, "fast_mode": True},
        "(?s)computed with forward mode mismatch.*in slow mode",
    ),
    "a constant added": (
        {"backward": lambda ctx, g: g * cos_of(ctx) + 1e-9},
        {},
        "backward not multiplied by grad_output",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_derivatives(name):
    methods, options, message = WRONG[name]
    with pytest.raises(GradcheckError, match=message):
        gradcheck(custom(**methods), (variable(2, 2),), **options)
    assert not gradcheck(custom(**methods), (variable(2, 2),), raise_exception=False, **options)


def test_wrong_forward_derivatives_are_not_looked_for_unless_asked():
    assert gradcheck(custom(jvp=lambda ctx, t: t * 2), (variable(2, 2),))


def test_nondeterminism():
    calls = []

    def backward(ctx, g):
        calls.append(1)
        return g * ctx.saved_tensors[0].cos() + 1e-7 * len(calls) * (g != 0)

    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(custom(backward=backward), (variable(2),))
    assert gradcheck(custom(backward=backward), (variable(2),), nondet_tol=1e-3)


def test_a_function_that_claims_to_be_constant():
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (variable(2),))


def test_a_wrong_second_derivative():
    function = custom(backward=lambda ctx, g: g * ctx.saved_tensors[0].detach().cos())
    assert gradcheck(function, (variable(2),))
    for mode in ({}, {"fast_mode": True}):
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradgradcheck(function, (variable(2),), **mode)
    once = custom(backward=once_differentiable(lambda ctx, g: g * ctx.saved_tensors[0].cos()))
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradgradcheck(once, (variable(2),))


def test_which_output_and_input_are_wrong():
    wrong = custom(backward=lambda ctx, g: g * 2)
    with pytest.raises(GradcheckError, match="for output 1 with respect to input 1"):
        gradcheck(lambda x, y: (x * 2, x.exp() + wrong(y)), (variable(2), variable(2, start=1.0)))


def three_outputs(when_one_is_missing):
    """x times 2, 3 and 4, whose backward does something else if exactly one gradient is missing."""

    class Three(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3, x * 4

        @staticmethod
        def backward(ctx, *grads):
            if sum(g is None for g in grads) == 1:
                return when_one_is_missing(next(g for g in grads if g is not None))
            return sum(g * k for k, g in zip((2, 3, 4), grads, strict=True) if g is not None)

    return Three.apply


def _raises(g):
    raise RuntimeError("needs all")


def test_missing_cotangents():
    for wrong, message in (
        (_raises, "Expected backward function to handle undefined output grads"),
        (lambda g: g + 1, "Expected all input grads to be undefined or zero"),
    ):
        with pytest.raises(GradcheckError, match=message):
            gradcheck(three_outputs(wrong), (variable(2),))
        assert gradcheck(three_outputs(wrong), (variable(2),), check_undefined_grad=False)


def test_batched_cotangents():
    """A backward that looks at values cannot be vectorised."""
    by_value = custom(backward=lambda ctx, g: g * ctx.saved_tensors[0].cos() if g.sum() > -9 else g)
    assert gradcheck(by_value, (variable(2),))
    with pytest.raises(GradcheckError, match="While computing batched gradients, got"):
        gradcheck(by_value, (variable(2),), check_batched_grad=True)


def test_missing_tangents():
    class Product(Function):
        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

        @staticmethod
        def jvp(ctx, dx, dy):
            x, y = ctx.saved_tensors
            if dx is None or dy is None:
                return x * 0 + 1
            return dx * y + dy * x

    inputs = variable(2), variable(2, start=1.0)
    assert gradcheck(Product.apply, inputs, check_forward_ad=True, check_undefined_grad=False)
    with pytest.raises(GradcheckError, match="has an undefined tangent value"):
        gradcheck(Product.apply, inputs, check_forward_ad=True)


def test_arguments_refused():
    x = variable(3)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda x: x * 2, (x.detach(),))
    with pytest.raises(RuntimeError, match="only supports inputs that are non-overlapping"):
        gradcheck(lambda x: x * 2, (variable(1).detach().expand(3).requires_grad_(),))
    with pytest.raises(AssertionError, match="check_forward_ad or check_backward_ad"):
        gradcheck(lambda x: x * 2, (x,), check_backward_ad=False)
    with pytest.raises(AssertionError, match="requires check_backward_ad"):
        gradcheck(lambda x: x * 2, (x,), check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    with pytest.raises(AssertionError, match="requires check_forward_ad"):
        gradcheck(lambda x: x * 2, (x,), check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="check_fwd_over_rev or check_rev_over_rev"):
        gradgradcheck(lambda x: x * 2, (x,), check_rev_over_rev=False)
    with pytest.raises(AssertionError, match="same shape"):
        gradcheck(lambda y: y if y.sum() > x.sum() else y[:1] * 2, (variable(3),))


def test_single_precision_warns():
    with pytest.warns(UserWarning, match="is not a double precision floating point or complex"):
        gradcheck(lambda x: x * 2, (variable(2, dtype=framework.float32),), eps=1e-2, atol=1e-2)


def test_given_grad_outputs():
    x, g = variable(3), variable(3, start=1.0)
    assert gradgradcheck(lambda x: x.sin(), (x,), (g,))
    assert gradgradcheck(lambda x: x.sin(), x, g.detach())
