"""`tensor`, conversions back and the text of tensors with history, by the same expressions here and in PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

import framework
from framework.core import printing

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

_SHOWN = [
    "F.tensor([[1., -2.5], [1e6, 0]], requires_grad=True)",
    "F.tensor([1., 2.], requires_grad=True) * 2",
    "(F.tensor([1., 2.], requires_grad=True) * 2).sum()",
    "F.tensor([[1., 2.]], requires_grad=True).exp().detach()",
    "F.tensor(3.5, dtype=F.float64)",
    "F.tensor([1 + 2j, -0.5j], requires_grad=True)",
    "F.tensor([[True, False]])",
    "F.tensor([], dtype=F.float16)",
    "F.tensor([[], []])",
    "F.tensor(range(2000))",
    "F.tensor([float('inf'), 1, float('nan')], dtype=F.bfloat16)",
    "F.tensor([[0.1] * 30] * 3, requires_grad=True)",
    "F.tensor([0.1] * 6, dtype=F.float64, requires_grad=True).exp()",
    "F.as_tensor([1, 2.5])",
    "F.from_numpy(np.arange(6, dtype=np.int16).reshape(2, 3).T)",
    "F.asarray(np.float64(3))",
    "F.scalar_tensor(2)",
    "F.tensor([1, 2]).tolist()",
    "F.tensor(2.5).item()",
    "complex(F.tensor(2))",
    "int(F.tensor([[2.7]]))",
    "[5, 6][F.tensor(True)]",
    "f'{F.tensor(2.5):>8.2f}|{F.tensor([1])}'",
    "F.result_type(F.tensor([1], dtype=F.int8), 2.5)",
    "F.result_type(F.tensor(1, dtype=F.int8), F.tensor([1], dtype=F.uint8))",
    "F.result_type(2, True)",
    "F.promote_types(F.float16, F.bfloat16)",
]
_RAISES = [
    "F.tensor([[1], [2, 3]])",
    "F.tensor('a')",
    "F.tensor(None)",
    "F.tensor([2**63])",
    "F.tensor([300], dtype=F.uint8)",
    "F.tensor([1], dtype='float32')",
    "F.tensor([1], requires_grad=True)",
    "F.tensor([1., 2.]).item()",
    "float(F.tensor([1., 2.]))",
    "bool(F.tensor([1., 2.]))",
    "bool(F.tensor([]))",
    "range(F.tensor(1.5))",
    "len(F.tensor(1))",
    "float(F.tensor(1j))",
    "F.tensor([1.], requires_grad=True).numpy()",
    "F.tensor([1.], dtype=F.bfloat16).numpy()",
    "np.asarray(F.tensor([1.], requires_grad=True))",
    "F.from_numpy([1])",
    "F.asarray([1], copy=False)",
    "F.result_type('a', 1)",
    "f'{F.tensor([1.]):.3f}'",
]


@pytest.fixture(autouse=True, scope="module")
def _torch_names():
    printing.set_module_name("torch")
    yield
    printing.set_module_name("framework")


@pytest.mark.parametrize("program", _SHOWN)
def test_same_text(program):
    assert repr(eval(program, {"F": framework, "np": np})) == repr(eval(program, {"F": torch, "np": np}))


@pytest.mark.parametrize("program", _RAISES)
def test_same_error(program):
    errors = []
    for module in (framework, torch):
        with pytest.raises(Exception) as caught:
            eval(program, {"F": module, "np": np})
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1]), errors
