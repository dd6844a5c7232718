"""Special functions beyond the table: a gradient for one operand alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import framework as f


@pytest.mark.parametrize(("name", "sign"), [("igamma", 1), ("igammac", -1)])
def test_incomplete_gamma_has_the_gamma_density_as_derivative(name, sign, device):
    a, x = np.array([0.5, 1.0, 3.5]), np.array([0.2, 1.5, 4.0])
    variable = f.tensor(x, device=device, requires_grad=True)
    getattr(f, name)(f.tensor(a, device=device), variable).sum().backward()
    np.testing.assert_allclose(variable.grad.numpy(), sign * stats.gamma.pdf(x, a), rtol=1e-12)


def test_incomplete_gamma_lacks_the_other_derivative():
    a = f.tensor([0.5], requires_grad=True)
    y = f.igamma(a, f.tensor([1.0]))
    with pytest.raises(NotImplementedError, match="derivative for 'igamma: input' is not implemented"):
        y.sum().backward()
