"""The text of tensors, equal to PyTorch's character by character."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backends.dtypes import BY_NAME
from framework.core import printing

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

_SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)
_OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "precision": st.integers(0, 8),
        "threshold": st.sampled_from([0, 1, 5, 20, 100]),
        "edgeitems": st.integers(0, 4),
        "linewidth": st.integers(1, 120),
        "profile": st.sampled_from(["default", "short", "full"]),
        "sci_mode": st.sampled_from([None, True, False]),
    },
)


@st.composite
def _arrays(draw):
    """A dtype and an array of numbers of about one magnitude, so that every style of printing occurs."""
    name = draw(st.sampled_from([n for n in BY_NAME if not n.startswith("uint") or n == "uint8"]))
    shape = draw(_SHAPES)
    dtype = BY_NAME[name]
    if dtype.category < 2:
        limit = draw(st.sampled_from([1, 30, 127, 10**6, 2**62]))
        values = draw(hnp.arrays(np.int64, shape, elements=st.integers(-limit, limit), fill=st.just(1)))
        return name, values
    scale = 10.0 ** draw(st.integers(-12, 12))
    number = st.one_of(
        st.integers(-50, 50).map(float), st.floats(-1, 1), st.floats(0.5, 2).map(lambda x: x * scale),
        st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, 1e-300, 9.99995, 99999.5, 1e8, 1e-4, 1000.0]),
    )  # fmt: skip
    few = draw(st.lists(number, min_size=1, max_size=6))
    parts = [
        draw(hnp.arrays(np.float64, shape, elements=st.sampled_from(few), fill=st.sampled_from(few))) for _ in "ri"
    ]
    values = np.empty(shape, np.complex128)
    values.real, values.imag = parts
    return name, values if dtype.is_complex else values.real


@pytest.fixture(autouse=True, scope="module")
def _torch_names():
    """The prefix of a dtype counts when lines are filled, so it has to be PyTorch's."""
    printing.set_module_name("torch")
    yield
    printing.set_module_name("framework")


@given(_arrays(), _OPTIONS, st.booleans())
def test_texts_are_equal(case, options, requires_grad):
    name, values = case
    tensor = torch.from_numpy(np.array(values)).to(getattr(torch, name))
    requires_grad = requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    array = tensor.float().numpy() if name == "bfloat16" else tensor.numpy()
    suffixes = ["requires_grad=True"] if requires_grad else []
    before = torch._tensor_str.get_printoptions()
    torch.set_printoptions(**options)
    try:
        expected = repr(tensor.requires_grad_(requires_grad))
    finally:
        torch.set_printoptions(**before)
    with printing.printoptions(**options):
        text = printing.tensor_text(array, BY_NAME[name], suffixes=suffixes)
    assert text == expected


@pytest.mark.parametrize("name", ["uint16", "uint32", "uint64"])
def test_wide_unsigned(name):
    array = np.array([0, 7, np.iinfo(name).max], name)
    expected = repr(torch.from_numpy(array))
    assert printing.tensor_text(array, BY_NAME[name]) == expected


@pytest.mark.parametrize("default", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128", "int32", "bool"]
)
@pytest.mark.parametrize("shape", [(2,), (0,), (0, 2), ()])
def test_which_dtypes_are_named(default, name, shape):
    from framework.core.defaults import set_default_dtype

    torch.set_default_dtype(getattr(torch, default))
    set_default_dtype(BY_NAME[default])
    try:
        expected = repr(torch.ones(shape, dtype=getattr(torch, name)))
        native = np.float32 if name == "bfloat16" else np.dtype(name)
        assert printing.tensor_text(np.ones(shape, native), BY_NAME[name]) == expected
    finally:
        torch.set_default_dtype(torch.float32)
        set_default_dtype(BY_NAME["float32"])
