"""Convolution and pooling functions against PyTorch's: values, first and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import framework
from tests.backends.windows_cases import convolutions, poolings, unhurried

torch = pytest.importorskip("torch")
theirs, ours = torch.nn.functional, framework.nn.functional
seeds = st.integers(0, 999)


def pairs(seed, shapes, dtype="float64"):
    """The same normal numbers as variables of both libraries, for each shape; None stays None."""
    torch.manual_seed(seed)
    made = [None if s is None else torch.randn(s, dtype=getattr(torch, dtype), requires_grad=True) for s in shapes]
    return [None if t is None else framework.tensor(t.detach().numpy()).requires_grad_() for t in made], made


def same(a, b):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-10, 1e-10)


def agree(f, seed, shapes, dtype="float64"):
    """f(functional, *tensors) gives the same on both; so do gradients, and gradients of a function of the gradients."""
    mine, his = pairs(seed, shapes, dtype)
    y, z = f(ours, *mine), f(theirs, *his)
    same(y, z)
    (w,), (v,) = pairs(seed + 1, [tuple(z.shape)], dtype)
    mine, his = [t for t in mine if t is not None], [t for t in his if t is not None]
    gs = framework.autograd.grad(y, mine, w, create_graph=True)
    hs = torch.autograd.grad(z, his, v, create_graph=True)
    for g, h in zip(gs, hs, strict=True):
        same(g, h)
    total, other = sum([(g * g).real.sum() for g in gs]), sum([(h * h).real.sum() for h in hs])
    for g, h in zip(
        framework.autograd.grad(total, [*mine, w], allow_unused=True),
        torch.autograd.grad(other, [*his, v], allow_unused=True), strict=True,
    ):  # fmt: skip
        assert (g is None) == (h is None) or not (g if h is None else h).detach().abs().sum().item()
        if g is not None and h is not None:
            same(g, h)


@unhurried
@given(convolutions(), st.booleans(), st.booleans(), st.sampled_from(("float64", "complex128")), seeds)
def test_convolution(case, biased, batched, dtype, seed):
    assume(case.x[0] and case.w[0])
    name = f"conv{len(case.stride)}d"
    x = case.x if batched else case.x[1:]
    shapes = [x, case.w, (case.w[0],) if biased else None]
    agree(lambda F, *t: getattr(F, name)(*t, *case.parameters), seed, shapes, dtype)


@unhurried
@given(convolutions(), st.sampled_from(("same", "valid")), seeds)
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
def test_padding_by_name(case, padding, seed):
    assume(case.x[0] and case.w[0])
    spans = [d * (k - 1) for d, k in zip(case.dilation, case.w[2:], strict=True)]
    assume(padding == "same" or all(n > m for n, m in zip(case.x[2:], spans, strict=True)))
    name = f"conv{len(case.stride)}d"
    agree(lambda F, *t: getattr(F, name)(*t, None, 1, padding, case.dilation, case.groups), seed, [case.x, case.w])


@unhurried
@given(convolutions(), st.data(), seeds)
def test_transposed_convolution(case, data, seed):
    assume(case.x[0] and case.w[0] and case.w[1])
    more = tuple(data.draw(st.integers(0, max(s, d) - 1)) for s, d in zip(case.stride, case.dilation, strict=True))
    rule = zip(case.x[2:], case.w[2:], case.stride, case.padding, case.dilation, more, strict=True)
    assume(all((n - 1) * s - 2 * p + d * (k - 1) + m + 1 > 0 for n, k, s, p, d, m in rule))
    name = f"conv_transpose{len(case.stride)}d"
    x = (case.x[0], case.w[0], *case.x[2:])
    shapes = [x, case.w, (case.w[1] * case.groups,)]
    places = case.stride, case.padding, more, case.groups, case.dilation
    agree(lambda F, *t: getattr(F, name)(*t, *places), seed, shapes)


@unhurried
@given(poolings(), st.booleans(), seeds)
def test_max_pool(case, batched, seed):
    assume(case.x[0])
    name, x = f"max_pool{len(case.stride)}d", case.x if batched else case.x[1:]
    agree(lambda F, t: getattr(F, name)(t, *case[1:]), seed, [x])
    (mine,), (his,) = pairs(seed, [x])
    same(getattr(ours, name)(mine, *case[1:], return_indices=True)[1],
         getattr(theirs, name)(his, *case[1:], return_indices=True)[1])  # fmt: skip


@unhurried
@given(poolings(), st.booleans(), st.sampled_from((None, 3)), seeds)
def test_avg_pool(case, count_include_pad, divisor, seed):
    dims = len(case.stride)
    assume(case.x[0] and (dims < 3 or all(n >= k for n, k in zip(case.x[2:], case.kernel, strict=True))))
    sizes = zip(case.x[2:], case.kernel, case.padding, strict=True)
    assume(all(n + 2 * p >= k for n, k, p in sizes))  # the case was made for dilated windows
    more = {"divisor_override": divisor} if dims > 1 else {}
    places = case.kernel, case.stride, case.padding, case.ceil_mode, count_include_pad
    agree(lambda F, t: getattr(F, f"avg_pool{dims}d")(t, *places, **more), seed, [case.x])


@unhurried
@given(poolings(), st.data(), seeds)
def test_adaptive_pools(case, data, seed):
    assume(case.x[0])
    dims = len(case.stride)
    out = tuple(data.draw(st.integers(1, 6)) for _ in range(dims))
    agree(lambda F, t: getattr(F, f"adaptive_avg_pool{dims}d")(t, out), seed, [case.x])
    agree(lambda F, t: getattr(F, f"adaptive_max_pool{dims}d")(t, out), seed, [case.x])
    (mine,), (his,) = pairs(seed, [case.x])
    name = f"adaptive_max_pool{dims}d_with_indices"
    same(getattr(ours, name)(mine, out)[1], getattr(theirs, name)(his, out)[1])


@unhurried
@given(poolings(), seeds)
def test_unpooling(case, seed):
    assume(case.x[0])
    dims = len(case.stride)
    (mine,), (his,) = pairs(seed, [case.x])
    kernel = (2,) * dims
    assume(min(case.x[2:]) >= 2)
    y, i = getattr(ours, f"max_pool{dims}d")(mine, kernel, return_indices=True)
    z, j = getattr(theirs, f"max_pool{dims}d")(his, kernel, return_indices=True)
    y = getattr(ours, f"max_unpool{dims}d")(y, i, kernel, output_size=case.x)
    z = getattr(theirs, f"max_unpool{dims}d")(z, j, kernel, output_size=case.x)
    same(y, z)
    (y * y).sum().backward()
    (z * z).sum().backward()
    same(mine.grad, his.grad)


@pytest.mark.parametrize("p", [1.0, 2.0, 3.5])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_lp_pool(dims, p):
    x = torch.rand((2, 3, 7, 6, 5)[: dims + 2], dtype=torch.float64) + 0.1
    for kernel, stride, ceil_mode in ((2, None, False), (3, 2, True)):
        mine, his = framework.tensor(x.numpy()).requires_grad_(), x.clone().requires_grad_()
        y = getattr(ours, f"lp_pool{dims}d")(mine, p, kernel, stride, ceil_mode)
        z = getattr(theirs, f"lp_pool{dims}d")(his, p, kernel, stride, ceil_mode)
        same(y, z)
        y.sum().backward()
        z.sum().backward()
        same(mine.grad, his.grad)


def test_integer_means_are_cut_off():
    x = torch.tensor([[[-7, 2, 3, 4]]])
    expected = theirs.avg_pool1d(x, 2)
    np.testing.assert_array_equal(ours.avg_pool1d(framework.tensor(x.numpy()), 2).numpy(), expected.numpy())
