"""What all tests share: the devices they run on, the hypothesis profiles, the reasons to skip."""

from __future__ import annotations

import importlib.util
import os

if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores already: more threads would only fight for them
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(_name, "1")

import hypothesis
import pytest

from tests.devices import DEVICES, selection

hypothesis.settings.register_profile("ci", derandomize=True, max_examples=25, deadline=None, database=None)
hypothesis.settings.register_profile("fuzz", max_examples=5000, deadline=None)
hypothesis.settings.load_profile("ci")  # --hypothesis-profile=fuzz on the command line wins


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--devices",
        default="sample",
        help="where tests with a `device` run: all, sample (cpu whole, a fixed tenth elsewhere; the default), "
        f"or a list out of {','.join(DEVICES)}",
    )


def pytest_configure(config: pytest.Config) -> None:
    try:
        selection(config.getoption("--devices"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    keeps = selection(config.getoption("--devices"))
    kept, dropped = [], []
    for item in items:
        device = getattr(item, "callspec", None) and item.callspec.params.get("device")
        wanted = device is None or keeps(item.nodeid, device, item.get_closest_marker("every_device") is not None)
        (kept if wanted else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept
    without_cuda = _why_no_cuda() if any(item.get_closest_marker("cuda") for item in items) else None
    if without_cuda is not None:
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(pytest.mark.skip(reason=without_cuda))


@pytest.fixture(params=DEVICES, scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """The device string to make tensors on; see `tests.devices` and the option --devices."""
    if request.param.startswith("mlx") and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX has no package for this platform")
    return request.param


def _why_no_cuda() -> str | None:
    """None where CuPy finds a device, else what is missing."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed"
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CuPy finds no CUDA device: {error}"
    return None if count else "CuPy finds no CUDA device"
