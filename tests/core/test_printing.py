"""How tensors print: the known texts, and what must hold for every array."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backends.dtypes import bfloat16, bool_, complex64, complex128, float16, float32, float64, int32, int64, uint8
from framework.core import defaults, printing
from framework.core.printing import printoptions, set_printoptions, tensor_text, values_text

GOLDEN = [
    ([1e-5, 1], float32, "tensor([1.0000e-05, 1.0000e+00])"),
    ([1e8, 1], float32, "tensor([1.0000e+08, 1.0000e+00])"),
    ([0.1, 1000], float32, "tensor([1.0000e-01, 1.0000e+03])"),
    ([1, 10000.5], float32, "tensor([1.0000e+00, 1.0000e+04])"),
    ([1e10], float32, "tensor([1.0000e+10])"),
    ([1e8], float32, "tensor([100000000.])"),
    ([1.5, math.nan], float32, "tensor([1.5000,    nan])"),
    ([math.inf, 1], float32, "tensor([inf, 1.])"),
    ([1 + 2j, 3.5 - 1j], complex64, "tensor([1.0000+2.j, 3.5000-1.j])"),
    (1, int64, "tensor(1)"),
    (2.5, float32, "tensor(2.5000)"),
    ([], float32, "tensor([])"),
    ([True, False], bool_, "tensor([ True, False])"),
    ([[1, 20], [-300, 4]], int64, "tensor([[   1,   20],\n        [-300,    4]])"),
    ([[[1], [2]], [[3], [4]]], int64, "tensor([[[1],\n         [2]],\n\n        [[3],\n         [4]]])"),
    (range(1001), int64, "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
]
NUMPY = {bool_: bool, uint8: np.uint8, int32: np.int32, int64: np.int64, float16: np.float16, float32: np.float32,
         float64: np.float64, complex64: np.complex64, complex128: np.complex128}  # fmt: skip


@pytest.mark.parametrize(("data", "dtype", "text"), GOLDEN, ids=[text for _, _, text in GOLDEN])
def test_known_texts(data, dtype, text):
    assert tensor_text(np.array(data, NUMPY[dtype]), dtype) == text


def test_suffixes_name_what_the_numbers_do_not_say():
    one = np.ones(1)
    assert tensor_text(one, float32) == "tensor([1.])"
    assert tensor_text(one, float64) == "tensor([1.], dtype=framework.float64)"
    assert tensor_text(one, bfloat16) == "tensor([1.], dtype=framework.bfloat16)"
    assert tensor_text(one, float32, suffixes=["requires_grad=True"]) == "tensor([1.], requires_grad=True)"
    assert tensor_text(one, float64, device="cuda:0", suffixes=["grad_fn=<AddBackward0>"]) == (
        "tensor([1.], device='cuda:0', dtype=framework.float64, grad_fn=<AddBackward0>)"
    )
    assert tensor_text(np.zeros((0, 3)), float32) == "tensor([], size=(0, 3))"
    assert tensor_text(np.zeros(0, int), int64) == "tensor([], dtype=framework.int64)"
    assert tensor_text(None, float32, shape=(2,), device="meta") == "tensor(..., device='meta', size=(2,))"
    assert tensor_text(one, float32, prefix="Picture(") == "Picture([1.])"


def test_a_suffix_that_does_not_fit_goes_to_the_next_line():
    text = tensor_text(np.arange(17), int64, suffixes=["requires_grad=True"])
    assert text.endswith("16],\n       requires_grad=True)")
    assert all(len(line) <= 80 for line in text.splitlines())


def test_the_default_dtype_goes_without_saying():
    defaults.set_default_dtype(float64)
    try:
        assert tensor_text(np.ones(1), float64) == "tensor([1.])"
        assert tensor_text(np.ones(1), float32) == "tensor([1.], dtype=framework.float32)"
        assert tensor_text(np.ones(1, complex), complex128) == "tensor([1.+0.j])"
    finally:
        defaults.set_default_dtype(float32)


def test_dtypes_print_under_the_name_of_the_package():
    assert printing.module_name() == "framework"
    printing.set_module_name("torch")
    try:
        assert tensor_text(np.ones(1), float64) == "tensor([1.], dtype=torch.float64)"
    finally:
        printing.set_module_name("framework")


def test_options_and_profiles():
    third = np.full(1, 1 / 3)
    with printoptions(precision=2):
        assert values_text(third, float64) == "[0.33]"
        assert printing.get_printoptions()["precision"] == 2
    assert values_text(third, float64) == "[0.3333]"
    with printoptions(sci_mode=True):
        assert values_text(third, float64) == "[3.3333e-01]"
        set_printoptions(linewidth=60)  # each call sets sci_mode, too
        assert values_text(third, float64) == "[0.3333]"
    with printoptions(profile="short", threshold=5):
        assert values_text(np.arange(10), int64) == "[0, 1,  ..., 8, 9]"
    with printoptions(profile="full"):
        assert "..." not in values_text(np.arange(5000), int64)
    with printoptions(edgeitems=0, threshold=1):
        assert tensor_text(np.arange(10), int64) == "tensor([...], size=(10,))"
    assert printing.get_printoptions() == {
        "precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None,
    }  # fmt: skip
    with pytest.raises(ValueError, match="known are default, short, full"):
        set_printoptions(profile="long")


def test_options_return_after_an_error():
    with pytest.raises(KeyError), printoptions(precision=1):
        raise KeyError
    assert printing.get_printoptions()["precision"] == 4


@given(hnp.arrays(np.float64, hnp.array_shapes(max_dims=3), elements=st.floats(-1e4, 1e4)), st.integers(40, 100))
def test_text_reads_back(array, linewidth):
    """The numbers in the text are the array's, rounded to the digits shown, and lines keep to the width."""
    options = printing.PrintOptions(precision=6, threshold=math.inf, linewidth=linewidth)
    text = values_text(array, float64, options=options)
    numbers = [float(word) for word in re.findall(r"[-+.\de]+", text)]
    np.testing.assert_allclose(numbers, array.ravel(), rtol=5e-7, atol=5e-7)
    assert all(len(line.rstrip("],")) <= linewidth for line in text.splitlines())


@given(hnp.arrays(np.int64, hnp.array_shapes(max_dims=4, min_side=0, max_side=4)))
def test_brackets_tell_the_shape(array):
    if array.size == 0:
        assert values_text(array, int64) == "[]"
    else:
        assert np.array_equal(eval(values_text(array, int64)), array)
