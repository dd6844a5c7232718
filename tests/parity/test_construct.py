"""What `tensor(data)` infers and refuses, against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dtypes import ALL, BY_NAME
from framework.core.construct import data_to_numpy, host_cast

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

_EDGES = [0, 1, -1, 127, 128, -128, -129, 255, 256, -255, -256, 2**15, 2**16, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63,
          -(2**63), 2**64, 16777217]  # fmt: skip
_PYTHON = st.one_of(
    st.booleans(), st.sampled_from(_EDGES), st.integers(-300, 300), st.floats(-300, 300), st.floats(),
    st.complex_numbers(max_magnitude=1e3), st.sampled_from([0.5, -0.5, 255.5, 65519.9, 1 + 2.0**-11 + 2.0**-40, 1e40]),
)  # fmt: skip
_NUMPY = st.sampled_from(["int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
                          "complex128"])  # fmt: skip
_DTYPES = st.sampled_from([None, *BY_NAME])


def _run(function, *args):
    try:
        with np.errstate(all="ignore"):
            return function(*args)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        return error


def _theirs(data, name):
    return torch.tensor(data, dtype=None if name is None else getattr(torch, name))


def _ours(data, name):
    values, dtype = data_to_numpy(data, None if name is None else BY_NAME[name])
    return torch.from_numpy(values.copy()).to(getattr(torch, dtype.name))


def _compare(data, name):
    expected, found = _run(_theirs, data, name), _run(_ours, data, name)
    if isinstance(expected, Exception):
        if name == "uint64" and isinstance(found, torch.Tensor):
            return  # PyTorch reads no floats as uint64; here they truncate as for any other integer dtype
        assert isinstance(found, Exception), f"PyTorch raises {expected!r}"
        one_mistake = not isinstance(data, list) or len(data) < 2
        if name != "uint64" and one_mistake:  # which of several is met first may differ
            assert type(found) is type(expected), f"{found!r} {expected!r}"
            for stable in ("Overflow when unpacking long", "without overflow", "expected sequence", "Could not infer"):
                assert (stable in str(found)) == (stable in str(expected))
        return
    assert not isinstance(found, Exception), repr(found)
    assert found.dtype is expected.dtype
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


@given(st.one_of(_PYTHON, st.lists(_PYTHON, max_size=4)), _DTYPES)
def test_python_numbers(data, name):
    if isinstance(data, list) and 2.0**63 in data and name == "int64":
        return  # converts to the most negative number there
    _compare(data, name)


@given(st.recursive(st.integers(-5, 5), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=8))
def test_nesting(data):
    expected, found = _run(_theirs, data, None), _run(_ours, data, None)
    if isinstance(expected, Exception):
        assert isinstance(found, (TypeError, ValueError))
    else:
        assert torch.equal(found, expected)


_ITEM = st.one_of(st.tuples(_NUMPY, st.integers(0, 1)), st.sampled_from([True, 2, 1.5, 1j]))


@given(st.lists(_ITEM, min_size=1, max_size=4))
def test_numpy_scalars(items):
    data = [getattr(np, item[0])(item[1]) if isinstance(item, tuple) else item for item in items]
    _compare(data, None)


@pytest.mark.parametrize("source", [d.name for d in ALL if d.name != "bfloat16"])
@pytest.mark.parametrize("target", [d.name for d in ALL])
@pytest.mark.filterwarnings("ignore:Casting complex values:UserWarning")
def test_casts_of_arrays(source, target):
    rng = np.random.default_rng(0)
    values = np.concatenate([[0, 1, 2, 100, 127], rng.integers(0, 120, 20), rng.uniform(0, 120, 20)])
    if np.dtype(source).kind in "ifc":
        values[1::3] *= -1
    if np.dtype(source).kind in "fc":
        values = np.concatenate([values, 1 + 2.0**-11 + 2.0 ** -np.arange(20.0, 45)])
    array = values.astype(source)
    if np.dtype(source).kind == "c":
        array.imag = 3
    expected = torch.tensor(array).to(getattr(torch, target))
    found = torch.from_numpy(host_cast(array, BY_NAME[target]).copy()).to(getattr(torch, target))
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    "array",
    [
        np.array(["a"]), np.array([None]), np.array([1], ">i4"), np.arange(3)[::-1], np.array([1], "M8[s]"),
        np.zeros(2, np.longdouble), np.zeros(2, [("a", "f4"), ("b", "i1")])["a"], np.zeros(2, ">f8"),
    ],
    ids=lambda a: str(a.dtype),
)  # fmt: skip
def test_refused_arrays(array):
    expected, found = _run(_theirs, array, None), _run(_ours, array, None)
    assert type(found) is type(expected)
    assert str(found)[:40] == str(expected)[:40]
