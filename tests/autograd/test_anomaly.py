"""Anomaly detection: nan in a backward pass is found where it arises, and the line of the forward call is shown."""

from __future__ import annotations

import warnings

import pytest

import framework
from framework import tensor
from framework.autograd import Function, detect_anomaly, grad, set_detect_anomaly
from framework.autograd import graph as graph_of
from framework.core.state import ACTIVE
from framework.func import grad as func_grad
from tests.ops.checks import values


@pytest.fixture
def x(device):
    return tensor([1.0, 2.0, 3.0], requires_grad=True, device=device)


@pytest.fixture(autouse=True)
def off_afterwards():
    yield
    assert not framework.is_anomaly_enabled()
    assert not ACTIVE


def caught(call):
    """(the error that `call` raises, the text of its warnings)."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError) as error:
            call()
    return str(error.value), "\n".join(str(w.message) for w in found)


def bad_root(x):
    return (x - 2).sqrt()  # nan at 1


def test_nan_names_the_op_and_its_line(x):
    with set_detect_anomaly(True):
        y = bad_root(x) * 2
        error, warning = caught(y.sum().backward)
    assert error == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert warning.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:")
    line = bad_root.__code__.co_firstlineno + 1
    assert f'{__file__}", line {line}, in bad_root' in warning
    assert "(x - 2).sqrt()" in warning
    assert x.grad is None


def test_which_output(x):
    with set_detect_anomaly(True):
        error, _ = caught(lambda: ((x * 0) / (x - 1)).sum().backward())
    assert error == "Function 'DivBackward0' returned nan values in its 1th output."


def test_forward_outside(x):
    y = bad_root(x)
    with set_detect_anomaly(True):
        error, warning = caught(y.sum().backward)
    assert "SqrtBackward0" in error
    assert "No forward pass information available. Enable detect anomaly during forward pass" in warning


def test_backward_outside_is_not_checked(x):
    with set_detect_anomaly(True):
        y = bad_root(x)
    y.sum().backward()
    assert "traceback_" in y.grad_fn.metadata


def test_check_nan_off_still_shows_errors(x):
    class Fails(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("my own")

    with set_detect_anomaly(True, check_nan=False):
        assert not framework.is_anomaly_check_nan_enabled()
        bad_root(x).sum().backward()
        error, warning = caught(Fails.apply(x).sum().backward)
    assert error == "my own"
    assert "Error detected in FailsBackward. Traceback of forward call" in warning
    assert "Fails.apply(x)" in warning


def test_nan_outside_the_path_does_not_matter(x):
    y = x.detach() * float("nan")
    with set_detect_anomaly(True):
        (x + y.sum()).sum().backward()  # a value of nan, a gradient of 1
    assert values(x.grad).tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_other_dtypes(device, dtype):
    t = tensor([0.0, 1.0], dtype=getattr(framework, dtype), requires_grad=True, device=device)
    with set_detect_anomaly(True):
        (t * t + t).sum().abs().backward()
        error, _ = caught(lambda: (t * 0 / t.detach()).abs().sum().backward())
    assert "returned nan values" in error


def test_with_a_graph_of_gradients(x):
    """Nodes that a backward pass makes name what induced them."""
    with set_detect_anomaly(True):
        y = (x - 1).abs().sqrt() ** 2 * x.detach()
        (g,) = grad(((x - 2) ** 3).sum() + (x * x).sum(), x, create_graph=True)
        bad = (g - 6).sqrt().sum()
        error, warning = caught(bad.backward)
        assert y.grad_fn is not None
    assert "returned nan values" in error
    assert "Error detected in SqrtBackward0" in warning
    with set_detect_anomaly(True):
        z = (x**3).sum()
        (g,) = grad(z, x, create_graph=True)
        node = g.grad_fn
    assert "parent_" in node.metadata
    assert node.metadata["parent_"].name() == "PowBackward0"


def test_under_transforms(x):
    with set_detect_anomaly(True):
        error, _ = caught(lambda: func_grad(lambda t: bad_root(t).sum())(x.detach()))
    assert "SqrtBackward0" in error


def test_error_of_a_written_value_shows_the_op(x):
    with set_detect_anomaly(True):
        y = x.exp()
        y.add_(1)
        error, _ = caught(y.sum().backward)
    assert "The op was called here:" in error
    assert "y = x.exp()" in error


def test_switching(x):
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        context = detect_anomaly()
    assert not framework.is_anomaly_enabled()
    with context:
        assert framework.is_anomaly_enabled()
        with set_detect_anomaly(False):
            assert not framework.is_anomaly_enabled()
            bad_root(x).sum().backward()
        assert framework.is_anomaly_enabled()
    set_detect_anomaly(True)
    assert framework.is_anomaly_enabled()
    set_detect_anomaly(False)


def test_it_works_with_saved_tensor_hooks(x):
    with set_detect_anomaly(True), graph_of.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        error, _ = caught(bad_root(x).sum().backward)
    assert "SqrtBackward0" in error
