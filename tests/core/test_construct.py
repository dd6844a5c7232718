"""What `data_to_numpy` makes of numbers, sequences, arrays and tensors, and what it refuses."""

from __future__ import annotations

import array
import warnings
from collections import deque
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from backends.dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint64,
)  # fmt: skip
from framework.core.construct import check_ndarray, data_to_numpy, host_cast
from framework.core.defaults import set_default_dtype
from tests.case_ids import case_id


class Boxed:
    """Stands in for a tensor: `read` opens it."""

    def __init__(self, values, dtype):
        self.values, self.dtype = np.asarray(values), dtype

    def __len__(self):
        raise TypeError("a tensor in a list is a number")

    __getitem__ = __len__


def read(x):
    return (x.values, x.dtype) if isinstance(x, Boxed) else None


class WithArray:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3, dtype=np.int16)


@pytest.mark.parametrize(
    ("data", "dtype", "shape"),
    [
        (1, int64, ()), (True, bool_, ()), (1.5, float32, ()), (1j, complex64, ()), ([], float32, (0,)),
        ([[], []], float32, (2, 0)), ([True, False], bool_, (2,)), ([True, 2], int64, (2,)),
        ([True, 2.0], float32, (2,)),
        ([1, 2.5], float32, (2,)), ([1, 2j], complex64, (2,)), ((1, 2), int64, (2,)), ([(1, 2), [3, 4]], int64, (2, 2)),
        (range(4), int64, (4,)), ([range(2), [5, 6]], int64, (2, 2)), (deque([1, 2]), int64, (2,)),
        (array.array("d", [1, 2]), float32, (2,)), (bytearray(b"ab"), int64, (2,)),
        (np.float64(1), float64, ()), (np.float32(1), float32, ()), ([np.float64(1), 1.5], float64, (2,)),
        ([np.float16(1), 1], float16, (2,)), ([np.int8(1), True], int8, (2,)), ([np.int8(1), np.uint8(1)], int16, (2,)),
        ([np.bool_(True)], bool_, (1,)), ([np.complex64(1), np.float64(1)], complex128, (2,)),
        (np.zeros((2, 3), np.int16), int16, (2, 3)), ([np.zeros(2, np.int16)], int16, (1, 2)),
        ([np.zeros(2, np.int16), [1, 2]], int64, (2, 2)), ([np.zeros((2, 3)), np.zeros((2, 3))], float64, (2, 2, 3)),
        ([np.array(1.5), 1], float64, (2,)), (np.uint64(2**63 + 5), uint64, ()), (WithArray(), int16, (3,)),
        ([Boxed(1.0, float32), 2], float32, (2,)), ([[Boxed([1], int8)], [Boxed([[2]], uint8)]], int16, (2, 1)),
        ([Boxed(1.0, bfloat16)], bfloat16, (1,)), (Boxed([1, 2], int64), int64, (2,)),
    ],
    ids=case_id,
)  # fmt: skip
def test_inferred(data, dtype, shape):
    values, found = data_to_numpy(data, read_tensor=read)
    assert found is dtype
    assert values.shape == shape
    assert values.dtype.name == ("float32" if dtype is bfloat16 else dtype.name)


_FAILURES = [
    ([[1, 2], [3]], None, ValueError, "expected sequence of length 2 at dim 1 \\(got 1\\)"),
    ([[[1, 2]], [[3]]], None, ValueError, "expected sequence of length 2 at dim 2 \\(got 1\\)"),
    ([[], [1]], None, ValueError, "expected sequence of length 0 at dim 1 \\(got 1\\)"),
    ([[1], 2], None, TypeError, "not a sequence: int"),
    ([1, [2]], None, TypeError, "'list' object cannot be interpreted as a number"),
    ([2**63], None, ValueError, "Overflow when unpacking long"),
    ([-(2**63) - 1], None, ValueError, "Overflow when unpacking long"),
    ([300], uint8, RuntimeError, "value cannot be converted to type uint8 without overflow"),
    ([-256], uint8, RuntimeError, "cannot be converted to type uint8 without overflow"),
    ([-0.5], uint8, RuntimeError, "cannot be converted to type uint8 without overflow"),
    ([128], int8, RuntimeError, "cannot be converted to type int8 without overflow"),
    ([float("nan")], int64, RuntimeError, "cannot be converted to type int64 without overflow"),
    ([1e30], int64, RuntimeError, "cannot be converted to type int64 without overflow"),
    ([1, 1e9], int16, RuntimeError, "cannot be converted to type int16 without overflow"),
    ([-1], uint64, OverflowError, "out of bounds for uint64"),
    ([2**2000], float64, OverflowError, "int too large to convert to float"),
    ([1j], float32, TypeError, "must be real number, not complex"),
    ([1j], int64, TypeError, "must be real number, not complex"),
    ("abc", None, TypeError, "invalid data type 'str'"),
    ([1.0, "a"], None, TypeError, "invalid data type 'str'"),
    ([[1, 2], "ab"], None, TypeError, "invalid data type 'str'"),
    (["abc"], None, ValueError, "too many dimensions 'str'"),
    (b"ab", None, TypeError, "invalid data type 'bytes'"),
    (None, None, RuntimeError, "Could not infer dtype of NoneType"),
    ([1.0, None], None, RuntimeError, "Could not infer dtype of NoneType"),
    ([None], float32, TypeError, "not 'NoneType'"),
    ({1, 2}, None, RuntimeError, "Could not infer dtype of set"),
    ({0: 1}, None, RuntimeError, "Could not infer dtype of dict"),
    ([Boxed([1, 2], int64)], None, ValueError, "only one element tensors can be converted to Python scalars"),
    ([np.uint16(1), 1], None, RuntimeError, "attempted to promote UInt16 and Long"),
    (np.array(["a"]), None, TypeError, "can't convert np.ndarray of type numpy.str_"),
    (np.array([None]), None, TypeError, "can't convert np.ndarray of type numpy.object_"),
    ([np.datetime64(1, "s")], None, TypeError, "can't convert np.ndarray of type numpy.datetime64"),
]


@pytest.mark.parametrize(
    ("data", "dtype", "error", "message"), _FAILURES, ids=[case_id(case[:2]) for case in _FAILURES]
)
def test_refused(data, dtype, error, message):
    with pytest.raises(error, match=message):
        data_to_numpy(data, dtype, read)


def test_too_deep():
    endless: list = []
    endless.append(endless)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        data_to_numpy(endless)


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        ([1.5, -1.5], int64, [1, -1]), ([2**53 + 1, 1.5], int64, [2**53 + 1, 1]), ([-1, -255], uint8, [255, 1]),
        ([2**64 - 1], uint64, [2**64 - 1]), ([2, 0, float("nan"), 1j], bool_, [True, False, True, True]),
        ([2**64], bool_, [True]), ([True], int8, [1]), ([True, 2], complex64, [1, 2]), ([1e40], float32, [np.inf]),
        ([1e40j], complex64, [complex(0, np.inf)]), ([100000], float16, [np.inf]),
        ([2**70, 0.5], float64, [2.0**70, 0.5]),
        ([Decimal("0.5"), 1], float32, [0.5, 1]), (np.array([300, -1]), uint8, [44, 255]),
        (np.array([300.5, -1.5]), uint8, [44, 255]), (np.array([1 + 2j, 0]), bool_, [True, False]),
        ([Boxed(1.5, float32)], int32, [1]), ([np.float32(2.5)], uint8, [2]),
    ],
    ids=case_id,
)  # fmt: skip
def test_explicit_dtype(data, dtype, values):
    found, d = data_to_numpy(data, dtype, read)
    assert d is dtype
    assert np.array_equal(found, np.array(values, found.dtype))


def test_half_types_round_through_float32():
    """As in PyTorch: 1 + 2**-11 + 2**-40 is above the middle of two float16 numbers, its float32 neighbour is not."""
    above = 1 + 2.0**-11 + 2.0**-40
    assert np.float16(above) != np.float16(np.float32(above))
    for data in ([above], np.array([above])):
        values, _ = data_to_numpy(data, float16)
        assert values[0] == np.float16(np.float32(above))


def test_the_array_is_a_copy_and_keeps_its_layout():
    source = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    values, _ = data_to_numpy(source)
    assert not np.shares_memory(values, source)
    assert values.strides == source.strides
    assert data_to_numpy(np.arange(3, dtype=np.int64), int64)[0].flags.writeable


def test_complex_to_real_warns():
    with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
        values, _ = data_to_numpy(np.array([1 + 2j]), float32)
    assert values.tolist() == [1]


def test_the_default_dtype_is_used():
    set_default_dtype(float64)
    try:
        assert data_to_numpy([0.1])[1] is float64
        assert data_to_numpy([0.1])[0][0] == 0.1
        assert data_to_numpy([])[1] is float64
        assert data_to_numpy(1j)[1] is complex128
    finally:
        set_default_dtype(float32)


_NUMBERS = st.one_of(st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(width=32))


@given(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3), st.data())
def test_nested_lists_read_as_numpy_reads_them(shape, data):
    size = int(np.prod(shape))
    flat = data.draw(st.lists(_NUMBERS, min_size=size, max_size=size))
    nested = flat
    for length in reversed(shape[1:]):
        nested = [nested[i : i + length] for i in range(0, len(nested), length)] if length else [[]] * shape[0]
    if not shape:
        nested = flat[0]
    if 0 in shape:
        nested = np.zeros(shape).tolist()
    values, d = data_to_numpy(nested)
    expected = np.array(nested)
    assert values.shape == expected.shape
    kinds = set(map(type, flat)) if 0 not in shape else {float}
    assert d is (float32 if float in kinds else int64 if int in kinds else bool_)
    with np.errstate(over="ignore"):
        assert np.array_equal(values, expected.astype(values.dtype), equal_nan=True)


def test_check_ndarray():
    assert check_ndarray(np.zeros(2, np.uint16)) is uint16
    assert check_ndarray(np.zeros((4, 6))[::2, ::3]) is float64
    with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
        check_ndarray([1])
    with pytest.raises(ValueError, match="byte order different"):
        check_ndarray(np.zeros(2, ">i4" if np.little_endian else "<i4"))
    with pytest.raises(ValueError, match="stride in the given numpy array is negative"):
        check_ndarray(np.arange(3)[::-1])
    with pytest.raises(ValueError, match="not a multiple of the element byte size"):
        check_ndarray(np.zeros(2, [("a", "f4"), ("b", "i1")])["a"])
    with pytest.raises(TypeError, match="can't convert"):
        check_ndarray(np.zeros(2, np.longdouble))


def test_read_only_arrays_warn_only_if_shared():
    fixed = np.zeros(2)
    fixed.flags.writeable = False
    with pytest.warns(UserWarning, match="not writable"):
        check_ndarray(fixed, shared=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_ndarray(fixed) is float64
        assert data_to_numpy(fixed)[0].flags.writeable


def test_bfloat16_arrays_pass_unrounded():
    native = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed").bfloat16
    values = np.array([1, 2], native)
    assert check_ndarray(values) is bfloat16
    assert host_cast(values, bfloat16) is values
    assert host_cast(values, float32).tolist() == [1, 2]
