"""Random programs of views, in-place writes and backward give PyTorch's values, gradients and errors.

`pytest tests/parity/test_programs.py --devices all --hypothesis-profile=fuzz` runs 5,000 programs a device.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

import framework
from tests.ops.checks import values
from tests.programs import programs, run

torch = pytest.importorskip("torch", reason="PyTorch is the reference here")
pytestmark = pytest.mark.every_device


def numbers(shape, seed):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


@given(program=programs)
def test_programs(device, program):
    ours = run(program, lambda s, i: framework.tensor(numbers(s, i), device=device), framework.no_grad)
    theirs = run(program, lambda s, i: torch.tensor(numbers(s, i)), torch.no_grad)
    assert ours[2] == theirs[2], f"ended with {ours[2] or 'no error'}, PyTorch with {theirs[2] or 'no error'}"
    for a, b in zip(ours[0], theirs[0], strict=True):
        np.testing.assert_allclose(values(a), b.detach().numpy(), rtol=1e-4, atol=1e-5)
        assert a.requires_grad == b.requires_grad
    for a, b in zip(ours[1], theirs[1], strict=True):
        assert (a.grad is None) == (b.grad is None)
        if b.grad is not None and not theirs[2]:
            np.testing.assert_allclose(values(a.grad), b.grad.numpy(), rtol=1e-3, atol=1e-4)
