"""Training from one seed gives PyTorch's loss curve: initial weights, order of batches, dropout, gradients, optimizers
together.
"""

from __future__ import annotations

import numpy as np
import pytest

import framework
from tests.parity.training import RUNS

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


@pytest.mark.parametrize("run, options", RUNS, ids=[f"{run.__name__}-{i}" for i, (run, _) in enumerate(RUNS)])
def test_loss_curves(run, options):
    np.testing.assert_allclose(run(framework, **options), run(torch, **options), atol=1e-3, rtol=0)
