"""Convolution and pooling primitives against PyTorch's functions and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backends.numpy_like_convolution import Convolution
from backends.numpy_like_pooling import Pooling
from tests.backends.windows_cases import convolutions, normal, poolings, unhurried

torch = pytest.importorskip("torch")
functional = torch.nn.functional


class Backend(Convolution, Pooling):
    np = np


b, formats, seeds = Backend(), st.booleans(), st.integers(0, 999)


def theirs(a):
    return torch.from_numpy(np.ascontiguousarray(a)).requires_grad_(a.dtype.kind in "fc")


@unhurried
@given(convolutions(), formats, st.sampled_from(("float64", "complex128")), seeds)
def test_convolution(case, last, dtype, seed):
    assume(case.x[0] and case.w[0])
    x, w = normal(seed, case.x, dtype, last), normal(seed + 1, case.w, dtype)
    tx, tw = theirs(x), theirs(w)
    ty = getattr(functional, f"conv{len(case.stride)}d")(tx, tw, None, *case.parameters)
    y = b.conv(x, w, *case.parameters)
    np.testing.assert_allclose(y, ty.detach().numpy(), 1e-11, 1e-11)
    g = normal(seed + 2, y.shape, dtype)
    ty.backward(torch.from_numpy(g).conj().resolve_conj())  # theirs conjugates, the primitives do not
    back, weight = tx.grad.conj().resolve_conj().numpy(), tw.grad.conj().resolve_conj().numpy()
    np.testing.assert_allclose(b.conv_input(g, w, *case.parameters, case.x[2:]), back, 1e-11, 1e-11)
    np.testing.assert_allclose(b.conv_weight(x, g, *case.parameters, case.w[2:]), weight, 1e-11, 1e-11)


@unhurried
@given(poolings(), formats, seeds)
def test_max_pool(case, last, seed):
    assume(case.x[0])
    x = np.round(normal(seed, case.x, "float64", last))
    x[np.random.default_rng(seed).random(case.x) < 0.1] = np.nan
    pool = getattr(functional, f"max_pool{len(case.stride)}d")
    values, index = pool(theirs(x).detach(), *case[1:], return_indices=True)
    ours = b.max_pool(x, *case[1:])
    np.testing.assert_array_equal(ours[0], values.numpy())
    np.testing.assert_array_equal(ours[1], index.numpy())


@unhurried
@given(poolings(), formats, seeds)
def test_sums(case, last, seed):
    assume(case.x[0] and len(case.stride) > 1)  # only these take the divisor 1
    assume(all(n >= k for n, k in zip(case.x[2:], case.kernel, strict=True)))  # theirs wants whole windows in 3-d
    case = case._replace(dilation=(1,) * len(case.stride))
    parameters = case.kernel, case.stride, case.padding, case.ceil_mode
    x = normal(seed, case.x, "float64", last)
    tx = theirs(x)
    ty = getattr(functional, f"avg_pool{len(case.stride)}d")(tx, *parameters, divisor_override=1)
    y = b.avg_pool_sum(x, *parameters)
    np.testing.assert_allclose(y, ty.detach().numpy(), 1e-12, 1e-12)
    g = normal(seed + 1, y.shape)
    ty.backward(torch.from_numpy(g))
    np.testing.assert_allclose(b.avg_pool_spread(g, *parameters, case.x[2:]), tx.grad.numpy(), 1e-12, 1e-12)


@pytest.mark.parametrize("last", [False, True])
def test_memory_format_of_the_results(last):
    """The strides are PyTorch's in every combination of operands."""
    x, w = normal(1, (2, 16, 7, 8), "float32", last), normal(2, (32, 16, 3, 3), "float32")
    for weight_last in (False, True):
        tx, tw = torch.from_numpy(x), torch.from_numpy(w)
        if weight_last:
            tw = tw.contiguous(memory_format=torch.channels_last)
        ty = functional.conv2d(tx, tw, None, 2, 1)
        y = b.conv(x, tw.numpy(), (2, 2), (1, 1), (1, 1), 1)
        assert tuple(s // 4 for s in y.strides) == ty.stride()
    values, index = functional.max_pool2d(torch.from_numpy(x), 2, return_indices=True)
    ours = b.max_pool(x, (2, 2), (2, 2), (0, 0), (1, 1), False)
    assert [tuple(s // a.itemsize for s in a.strides) for a in ours] == [values.stride(), index.stride()]
