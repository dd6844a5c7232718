"""Tensors from data and arrays, and back; their text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import framework
from framework import as_tensor, asarray, from_numpy, tensor


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (3, framework.int64), (True, framework.bool), (2.5, framework.float32), (1 + 2j, framework.complex64),
        ([], framework.float32), ([[1, 2], [3, 4]], framework.int64), ([[0.5], [1]], framework.float32),
        (np.arange(6.0).reshape(2, 3), framework.float64), (np.float16(2), framework.float16),
    ],
    ids=str,
)  # fmt: skip
def test_data_comes_back(data, dtype, device):
    t = tensor(data, device=device)
    assert t.dtype is dtype
    assert t.tolist() == (data.tolist() if hasattr(data, "tolist") else data)
    assert tuple(t.shape) == np.shape(data)


def test_python_types_name_dtypes(device):
    assert tensor([1], dtype=int, device=device).dtype is framework.int64
    assert tensor([1], dtype=bool, device=device).dtype is framework.bool
    assert tensor([1], dtype=float, device="cpu").dtype is framework.float64
    assert tensor([1], dtype=complex, device="cpu").dtype is framework.complex128
    with pytest.raises(TypeError, match=r"tensor\(\): argument 'dtype' must be a dtype, not str"):
        tensor([1], dtype="float32")


def test_bfloat16_rounds_once(device):
    t = tensor([1.0, 1.00390625, 1.01171875, 0.1], dtype=framework.bfloat16, device=device)
    assert t.tolist() == [1.0, 1.0, 1.015625, 0.10009765625]
    assert repr(t).startswith("tensor([1.0000, 1.0000, 1.0156, 0.1001]")


def test_tensor_copies(device):
    source = np.zeros(3)
    t = tensor(source, device=device)
    t.add_(1)
    source[0] = 7
    assert t.tolist() == [1, 1, 1]
    with pytest.warns(UserWarning, match="To copy construct from a tensor"):
        copy = tensor(t)
    copy.add_(1)
    assert t.tolist() == [1, 1, 1]
    assert copy.tolist() == [2, 2, 2]


def test_requires_grad(device):
    assert tensor([1.0], requires_grad=True, device=device).is_leaf
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype can require gradients"):
        tensor([1], requires_grad=True, device=device)


def test_tensors_in_lists(device):
    parts = [tensor(1.5, device=device), 2, tensor([3], device=device)]
    assert tensor(parts, device=device).tolist() == [1.5, 2, 3]
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        tensor([tensor([1, 2], device=device)])
    with pytest.warns(UserWarning, match="loses its history"):
        assert not tensor([tensor(1.0, requires_grad=True, device=device)]).requires_grad


def test_from_numpy_shares_memory():
    source = np.arange(6.0).reshape(2, 3).T
    t = from_numpy(source)
    assert np.shares_memory(t.numpy(), source)
    assert t.stride() == (1, 3)
    source[0, 0] = 9
    t.mul_(2)
    assert source[0, 0] == t.tolist()[0][0] == 18
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        from_numpy([1])
    source.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        from_numpy(source)


def test_as_tensor_shares_what_it_can():
    t = tensor([1.0, 2.0], requires_grad=True)
    assert as_tensor(t) is t
    assert as_tensor(t, dtype=framework.float32, device="cpu") is t
    wider = as_tensor(t, dtype=framework.float64)
    wider.sum().backward()
    assert t.grad.tolist() == [1, 1]
    source = np.zeros(3)
    assert np.shares_memory(as_tensor(source).numpy(), source)
    assert not np.shares_memory(as_tensor(source, dtype=framework.float32).numpy(), source)
    assert as_tensor([1, 2.5]).tolist() == [1, 2.5]


def test_asarray():
    source = np.zeros(3)
    t = tensor([1.0], requires_grad=True)
    assert asarray(t) is t
    assert asarray(t, copy=True) is not t
    assert np.shares_memory(asarray(source, copy=False).numpy(), source)
    assert not np.shares_memory(asarray(source, copy=True).numpy(), source)
    assert asarray([1.0], requires_grad=True).requires_grad
    with pytest.raises(ValueError, match="can't alias arbitrary sequence"):
        asarray([1], copy=False)
    with pytest.raises(ValueError, match="can't alias tensor"):
        asarray(source, dtype=framework.float32, copy=False)


def test_numpy_shares_or_says_why_not():
    t = tensor([1.0, 2.0])
    t.numpy()[0] = 5
    assert t.tolist() == [5, 2]
    variable = tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        variable.numpy()
    with pytest.raises(RuntimeError, match="requires grad"):
        np.asarray(variable)
    assert variable.numpy(force=True).tolist() == [1]
    with pytest.raises(TypeError, match="Got unsupported ScalarType BFloat16"):
        tensor([1.0], dtype=framework.bfloat16).numpy()
    assert np.asarray(t, dtype=np.int8).tolist() == [5, 2]


def test_numbers(device):
    t = tensor([2.5], device=device)
    assert (t.item(), float(t), int(t), bool(t), complex(t)) == (2.5, 2.5, 2, True, 2.5)
    assert [7, 8, 9][tensor(1, device=device)] == 8
    assert float(tensor(1 + 0j, device=device)) == 1
    assert f"{tensor(1.5, device=device):.3f}" == "1.500"


def test_numbers_refused(device):
    two, none = tensor([1.0, 2.0], device=device), tensor([], device=device)
    for function, error, message in (
        (framework.Tensor.item, RuntimeError, "a Tensor with 2 elements cannot be converted to Scalar"),
        (float, ValueError, "only one element tensors"),
        (int, ValueError, "only one element tensors"),
        (bool, RuntimeError, "more than one value is ambiguous"),
        (range, TypeError, "only integer tensors of a single element can be converted to an index"),
        (lambda t: f"{t:.3f}", TypeError, "unsupported format string"),
    ):
        with pytest.raises(error, match=message):
            function(two)
    with pytest.raises(RuntimeError, match="no values is ambiguous"):
        bool(none)
    with pytest.raises(RuntimeError, match="without overflow"):
        float(tensor(1j, device=device))
    with pytest.raises(TypeError, match="len\\(\\) of a 0-d tensor"):
        len(tensor(1, device=device))
    assert (len(two), len(none)) == (2, 0)


def test_values_of_wrapped_tensors():
    x = tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="vmap"):
        framework.func.vmap(lambda t: t * t.item())(x)
    value, tangent = framework.func.jvp(lambda t: t * float(t.sum()), (x,), (x,))
    assert value.tolist() == tangent.tolist() == [3, 6]


def test_text_names_the_device():
    pytest.importorskip("mlx", reason="MLX has no package for this platform")
    assert repr(tensor([1.0], device="mlx:cpu")) == "tensor([1.], device='mlx:cpu')"


@pytest.mark.parametrize("device", ["cpu", "frozen"])
def test_text(device):
    x = tensor([[1.0, 2.0]], requires_grad=True, device=device)
    assert repr(x) == str(x) == f"{x}" == "tensor([[1., 2.]], requires_grad=True)"
    assert repr(x * 2) == "tensor([[2., 4.]], grad_fn=<MulBackward0>)"
    assert repr(tensor([], dtype=framework.int32, device=device)) == "tensor([], dtype=framework.int32)"
    assert repr(framework.core.tensor.Parameter(x)) == "Parameter containing:\ntensor([[1., 2.]], requires_grad=True)"
    assert repr(x.detach().as_subclass(type("Image", (framework.Tensor,), {}))) == "Image([[1., 2.]])"


def test_result_type():
    x = tensor([1, 2], dtype=framework.int8)
    assert framework.result_type(x, 2**40) is framework.int8
    assert framework.result_type(x, tensor(1.0, dtype=framework.float64)) is framework.float64
    assert framework.result_type(x, 1.5) is framework.float32
    assert framework.result_type(1, 1j) is framework.complex64
    assert framework.result_type(tensor([1.0]), np.float64(2)) is framework.float32
    with pytest.raises(TypeError, match="got str"):
        framework.result_type(x, "a")
    assert framework.promote_types(framework.uint8, framework.int8) is framework.int16
    assert framework.can_cast(framework.int64, framework.uint8)


def test_scalar_tensor():
    assert framework.scalar_tensor(3).dtype is framework.float32
    assert framework.scalar_tensor(3j).dtype is framework.complex64
    assert framework.scalar_tensor(3, dtype=framework.int8).item() == 3


def test_reading_data_warns_of_nothing(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in ([1e40], [float("nan")], np.ones(2), np.array(1e300)):
            tensor(data, device=device, dtype=framework.float32)
