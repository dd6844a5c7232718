"""Custom Functions: the same programs here and in PyTorch give the same values, gradients and errors."""

from __future__ import annotations

import types

import numpy as np
import pytest

import framework
import framework.autograd.function

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

# PyTorch warns of parts of itself that its forward mode and its Functions still use.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def _functions(F):
    """Custom Functions of the module F."""
    Function = F.autograd.Function

    class Cube(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x**3 * y, x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * 3 * x**2 * y + h * 2, g * x**3

        @staticmethod
        def jvp(ctx, dx, dy):
            x, y = ctx.saved_tensors
            return dx * 3 * x**2 * y + dy * x**3, dx * 2

    class CubeRule(Cube):
        generate_vmap_rule = False

        @staticmethod
        def vmap(info, in_dims, x, y):
            wide = [t if d == 0 else t.expand(info.batch_size, *t.shape) for t, d in zip((x, y), in_dims, strict=True)]
            return CubeRule.apply(*wide), (0, 0)

    class Exp(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x.exp()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            ctx.save_for_forward(output)

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

        @staticmethod
        def jvp(ctx, t):
            return t * ctx.saved_tensors[0]

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    def make(forward, backward=None, **methods):
        methods |= {"forward": forward} | ({} if backward is None else {"backward": backward})
        return type("F", (Function,), {k: staticmethod(f) for k, f in methods.items()})

    def dirty(ctx, t, *rest):
        ctx.mark_dirty(t)
        return t.mul_(2)

    def nondifferentiable(ctx, t):
        other = t * 3
        ctx.mark_non_differentiable(other)
        return t * 2, t > 1, other

    return types.SimpleNamespace(
        Cube=Cube,
        CubeRule=CubeRule,
        Exp=Exp,
        Square=Square,
        make=make,
        dirty=dirty,
        nondifferentiable=nondifferentiable,
    )


class _Names(dict):
    """What programs may name: F, a, b (float64 matrices that require grad), u, v (plain), and the Functions."""

    def __init__(self, F):
        super().__init__(vars(_functions(F)))
        a, b = np.array([[0.5, 1.0], [2.0, 3.0], [-1.0, 4.0]]), np.array([[1.5, -2.0], [1.0, 2.0], [3.0, 4.0]])
        self["F"], self["once"] = F, F.autograd.function.once_differentiable
        self["u"], self["v"], self["w"] = F.tensor(a), F.tensor(b), F.tensor(b[0])
        self["a"], self["b"] = F.tensor(a, requires_grad=True), F.tensor(b, requires_grad=True)
        self["grad"], self["vmap"], self["jvp"], self["G"] = F.func.grad, F.func.vmap, F.func.jvp, F.autograd.grad


_VALUES = [
    "Square.apply(a)",
    "Cube.apply(a, b)",
    "G(Square.apply(a).sum(), a)",
    "G(Cube.apply(a, b)[0].sum(), (a, b))",
    "G(Cube.apply(a, b)[1].sum(), (a, b))",
    "G(G(Cube.apply(a, b)[0].sum(), a, create_graph=True)[0].sum(), (a, b))",
    "G(G(Exp.apply(a).sum(), a, create_graph=True)[0].sum(), a)",
    "G((Square.apply(a) * Exp.apply(a)).sum(), a)",
    "G((Square.apply(a).sum(0) * w).sum(), a)",
    "G(make(lambda c, t: t, lambda c, g: g * 5).apply(a).sum(), a)",
    "G(make(lambda c, t: t[:2], lambda c, g: F.cat((g, g[:1]))).apply(a * 1).sum(), a)",
    "G(make(lambda c, t, k: t * k, lambda c, g: (g, None, None)).apply(a, 2).sum(), a)",
    "G(make(lambda c, t: t * 2, lambda c, g: g.expand(2, 3, 2)).apply(a).sum(), a)",
    "G(make(lambda c, t: t * 2, lambda c, g: g.to(F.float32)).apply(a).sum(), a)",
    "G(make(dirty, lambda c, g: g * 20).apply(a * 1).sum(), a)",
    "(lambda x: (make(dirty, lambda c, g: g * 20).apply(x[:2]), G(x.sum(), a))[1])(a * 1)",
    "(lambda x: (make(dirty, lambda c, g, *r: (g, g * 3)).apply(x, a), G(x.sum(), a))[1])(u.clone())",
    "[t.requires_grad for t in make(nondifferentiable, lambda c, *g: g[0]).apply(a)]",
    "G(make(nondifferentiable, lambda c, *g: g[0] + g[1] + g[2] + 1).apply(a)[0].sum(), a)",
    "make(lambda c, t: t * 2, lambda c, g: g).apply(u).requires_grad",
    "make(lambda c, t: t, lambda c, g: g).apply(u) is u",
    "make(lambda c, t: (t * 2, 5), lambda c, *g: g[0]).apply(a)[1]",
    "make(lambda c, t: 7, lambda c, *g: g[0]).apply(a)",
    "Square.apply(a).grad_fn.name(), type(Square.apply(a).grad_fn).__name__",
    "[n is None for n, _ in Cube.apply(a, v)[0].grad_fn.next_functions]",
    "Cube.apply(a, b)[1].output_nr",
    "G(make(lambda c, t: t * 2, once(lambda c, g: g * 2)).apply(a).sum(), a, create_graph=True)[0].requires_grad",
    "grad(lambda x: Cube.apply(x, v)[0].sum())(u)",
    "grad(lambda x: grad(lambda x: Cube.apply(x, v)[0].sum())(x).sum())(u)",
    "jvp(Cube.apply, (u, v), (v, u))",
    "jvp(Exp.apply, (u,), (v,))",
    "jvp(grad(lambda x: Cube.apply(x, v)[0].sum()), (u,), (v,))",
    "grad(lambda x: jvp(Exp.apply, (x,), (v,))[1].sum())(u)",
    *[
        program.replace("C.", f"{name}.")
        for name in ("Cube", "CubeRule")
        for program in (
            "vmap(C.apply)(u, v)",
            "vmap(C.apply, (0, None))(u, w)",
            "vmap(C.apply, (None, 0))(w, u)",
            "vmap(grad(lambda x, y: C.apply(x, y)[0].sum(), (0, 1)), (0, None))(u, w)",
            "vmap(grad(lambda x, y: grad(lambda x: C.apply(x, y)[0].sum())(x).sum()))(u, v)",
            "grad(lambda x, y: vmap(C.apply, (0, None))(x, y)[0].sum(), (0, 1))(u, w)",
            "vmap(lambda x, t: jvp(lambda x: C.apply(x, w), (x,), (t,))[1])(u, v)",
            "jvp(lambda x: vmap(lambda x: C.apply(x, w))(x), (u,), (v,))",
            "G(vmap(C.apply, (0, None))(a, w)[0].sum(), a)",
        )
    ],
    "vmap(grad(lambda x: Exp.apply(x).sum()))(u)",
    "vmap(grad(lambda x: grad(lambda x: Exp.apply(x).sum())(x).sum()))(u)",
]
_ERRORS = [
    (
        "G(make(lambda c, t: t * 2, lambda c, g: (g, g)).apply(a).sum(), a)",
        "incorrect number of gradients (expected 1, got 2)",
    ),
    (
        "G(make(lambda c, t, s: t * s, lambda c, g: g).apply(a, b).sum(), a)",
        "incorrect number of gradients (expected 2, got 1)",
    ),
    (
        "G(make(lambda c, t: t * 2, lambda c, g: g[:2]).apply(a).sum(), a)",
        "invalid gradient at index 0 - got [2, 2] but expected",
    ),
    ("G(make(lambda c, t: t * 2, lambda c, g: 2.0).apply(a).sum(), a)", "expected Variable or None (got float)"),
    (
        "G(make(lambda c, t, k: t * k, lambda c, g: (g, g)).apply(a, 2).sum(), a)",
        "a gradient different than None at position 2",
    ),
    ("G(make(lambda c, t: t * 2, lambda c, g: g * 1j).apply(a).sum(), a)", ""),
    ("G(make(lambda c, t: t * 2).apply(a).sum(), a)", "You must implement either the backward or vjp method"),
    (
        "G(make(lambda c, t: t, lambda c, g: g, vjp=lambda c, g: g).apply(a).sum(), a)",
        "Implementing both 'backward' and 'vjp'",
    ),
    ("type('F', (F.autograd.Function,), {}).apply(a)", "You must implement the forward function"),
    ("Square()(a)", "Legacy autograd function with non-static forward method is deprecated"),
    ("make(lambda c, t: c.save_for_backward(3)).apply(a)", "save_for_backward can only save variables, but argument 0"),
    (
        "make(dirty, lambda c, g: g).apply(a)",
        "a leaf Variable that requires grad has been used in an in-place operation",
    ),
    (
        "make(lambda c, t: dirty(c, t) * 2, lambda c, g: g).apply(a * 1)",
        "marked as dirty during the forward method were not",
    ),
    (
        "make(lambda c, t: (dirty(c, t), t * 2), lambda c, g, h: g).apply((a * 1)[:2])",
        "cannot return more than one Tensor",
    ),
    ("make(lambda c, t: t, lambda c, g: g).apply(a).add_(1)", "Output 0 of F is a view and is being modified inplace"),
    (
        "make(lambda c, t: t[:2], lambda c, g: g).apply(a * 1).add_(1)",
        "Output 0 of F is a view and is being modified inplace",
    ),
    ("(lambda y: (G(y, a), G(y, a)))(Square.apply(a).sum())", "backward through the graph a second time"),
    (
        "(lambda x: (lambda y: (x.add_(1), G(y.sum(), a)))(Square.apply(x)))(a * 1)",
        "has been modified by an inplace operation",
    ),
    ("(lambda y: (y.add_(1), G(y.sum(), a)))(Exp.apply(a))", "has been modified by an inplace operation"),
    (
        "G(make(lambda c, t: t * 2, once(lambda c, g: g * 2)).apply(a), a, b, create_graph=True)[0].sum().backward()",
        "differentiate twice a function that was marked with @once_differentiable",
    ),
    ("vmap(Square.apply)(u)", "it must override the setup_context staticmethod"),
    (
        "vmap(type('B', (CubeRule,), {'generate_vmap_rule': True}).apply)(u, v)",
        "generate_vmap_rule=True and an overridden vmap",
    ),
    (
        "vmap(type('B', (CubeRule,), {'vmap': staticmethod(lambda i, d, x, y: x)}).apply)(u, v)",
        "Expected the vmap staticmethod to have two returns",
    ),
    (
        "jvp(type('B', (Cube,), {'jvp': F.autograd.Function.jvp}).apply, (u, v), (v, u))",
        "You must implement the jvp function for custom autograd.Function to use it with forward mode AD",
    ),
]


def _plain(x):
    """Tensors as lists, so that results compare across modules."""
    if isinstance(x, (tuple, list)):
        return [_plain(y) for y in x]
    return x.tolist() if hasattr(x, "tolist") else x


def _flat(x):
    return [z for y in x for z in _flat(y)] if isinstance(x, list) else [x]


@pytest.mark.parametrize("program", _VALUES)
def test_values(program):
    found, expected = (_flat(_plain(eval(program, _Names(F)))) for F in (framework, torch))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a == (b if isinstance(b, (bool, str)) else pytest.approx(b, rel=1e-12))


@pytest.mark.parametrize(("program", "message"), _ERRORS, ids=[program for program, _ in _ERRORS])
def test_errors(program, message):
    errors = []
    for F in (framework, torch):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            eval(program, _Names(F))
        errors.append(caught.value)
        assert message in str(caught.value)
    assert type(errors[0]) is type(errors[1])
