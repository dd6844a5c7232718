"""`gradcheck` and `gradgradcheck` give PyTorch's verdict, with each set of options, on right and wrong derivatives."""

from __future__ import annotations

import types

import pytest

import framework

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def _functions(F):
    """Functions of the module F with their inputs, by name."""
    Function = F.autograd.Function

    def variable(shape, step, dtype=F.float64):
        values = [0.3 + step * k * (-1) ** k for k in range(max(1, len(shape) and shape[0] * (shape[1:] or (1,))[0]))]
        return F.tensor(values, dtype=dtype).reshape(shape).requires_grad_()

    class Sin(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)
            return x.sin()

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0].cos()

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0].cos()

    def custom(**methods):
        return type("Custom", (Sin,), {k: staticmethod(f) for k, f in methods.items()}).apply

    calls = []

    def drifting(ctx, g):
        calls.append(1)
        return g * ctx.saved_tensors[0].cos() + 1e-7 * len(calls) * (g != 0)

    class Square(Function):
        """Without the conjugate that a complex derivative needs."""

        @staticmethod
        def forward(ctx, z):
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx, g):
            return g * 2 * ctx.saved_tensors[0]

    z = (variable((2,), 0.3).detach() + variable((2,), 0.7).detach() * 1j).requires_grad_()
    x, y, s, single = variable((2, 3), 0.37), variable((3,), 0.21), variable((), 0.1), variable((3,), 0.2, F.float32)
    wide = variable((1,), 0.1).detach().expand(3).requires_grad_()
    return types.SimpleNamespace(
        product=(lambda a, b: (a * b.exp()).sin(), (x, y)),
        several=(lambda a, b: (a.sum(0) * b, a.exp(), b.sum()), (x, y)),
        constant=(lambda a: a.detach() * 0 + 1, (x,)),
        hidden=(lambda a: a.detach() * 2, (x,)),
        number=(lambda a, n: a**n, (x, 3)),
        fixed=(lambda a, b: a * b, (x, y.detach())),
        scalar=(lambda a: a.exp(), (s,)),
        captured=(lambda a: a * y, (x,)),
        single=(lambda a: a.exp(), (single,)),
        overlapping=(lambda a: a * 2, (wide,)),
        without=(lambda a: a * 2, (x.detach(),)),
        right=(custom(), (x,)),
        wrong=(custom(backward=lambda ctx, g: g * 1.1), (x,)),
        second=(lambda a, b: (a * 2, custom(backward=lambda ctx, g: g * 1.1)(b)), (x, y)),
        added=(custom(backward=lambda ctx, g: g * ctx.saved_tensors[0].cos() + 1e-9), (x,)),
        drifting=(custom(backward=drifting), (x,)),
        detached=(custom(backward=lambda ctx, g: g * ctx.saved_tensors[0].detach().cos()), (x,)),
        complex_exp=(lambda z: z * z.exp(), (z,)),
        complex_abs=(lambda z: z.abs() ** 2, (z,)),
        complex_mixed=(lambda z, a: (z.conj() * a.sum() * 2j, z.real * a.sum()), (z, y)),
        complex_from_real=(lambda a: a * 1j + a, (y,)),
        conjugate=(Square.apply, (z,)),
        tangent=(custom(jvp=lambda ctx, t: t * 2), (x,)),
    )


def _verdict(check, function, inputs, options):
    try:
        return check(function, inputs, **options)
    except Exception as error:
        return error


def _same(name, kind, options):
    verdicts = []
    for F in (framework, torch):
        function, inputs = getattr(_functions(F), name)
        verdicts.append(_verdict(getattr(F.autograd, kind), function, inputs, options))
    found, expected = verdicts
    if isinstance(expected, bool):
        assert found is expected
    else:
        assert type(found).__name__ == type(expected).__name__, (found, expected)
        assert str(found)[:30] == str(expected)[:30]


FORWARD = ["product", "several", "number", "scalar", "captured", "complex_exp", "complex_mixed", "complex_from_real"]
NAMES = list(vars(_functions(framework)))
OPTIONS = [{}, {"fast_mode": True}, {"check_undefined_grad": False}, {"check_grad_dtypes": True}, {"nondet_tol": 1e-3},
           {"atol": 10.0}, {"raise_exception": False}]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_gradcheck(name, options):
    _same(name, "gradcheck", options)


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}], ids=str)
@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("drifting", "constant", "hidden")])
def test_gradgradcheck(name, options):
    _same(name, "gradgradcheck", options)


@pytest.mark.parametrize("options", [{}, {"fast_mode": True}, {"check_backward_ad": False}], ids=str)
@pytest.mark.parametrize("name", FORWARD + ["fixed", "right", "tangent"])
def test_forward_mode(name, options):
    _same(name, "gradcheck", options | {"check_forward_ad": True})


@pytest.mark.parametrize("name", FORWARD)
def test_forward_over_reverse(name):
    _same(name, "gradgradcheck", {"check_fwd_over_rev": True})
