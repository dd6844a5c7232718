"""The backends that the conformance suite runs on."""

from __future__ import annotations

import importlib.util
from typing import Any

import array_api_compat.numpy
import numpy as np
import pytest

from backends import registry
from backends.array_api import ArrayAPI

from .cupy_stand_in import installed


@pytest.fixture(scope="session", params=["cpu", "frozen", "array_api", "mlx:cpu", "cupy_stand_in"])
def b(request: pytest.FixtureRequest) -> Any:
    """A backend: NumPy, its frozen twin, the array-API default over array_api_compat's NumPy, MLX on the CPU, and
    the CuPy adapter over a stand-in.
    """
    if request.param == "cupy_stand_in":
        with installed() as module:
            stand_in = module.load(0)
            stand_in.special_module = "scipy.special"
            return stand_in
    if request.param == "array_api":
        return ArrayAPI(array_api_compat.numpy, np.ndarray)
    if request.param.startswith("mlx") and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX has no package for this platform")
    return registry.load(registry.parse(request.param))


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """The framework sets NumPy's error state around its calls; here the test does."""
    with np.errstate(all="ignore"):
        yield
