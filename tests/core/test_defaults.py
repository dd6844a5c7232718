"""The default dtype."""

from __future__ import annotations

import threading
from enum import IntEnum

import pytest

from backends.dtypes import bfloat16, bool_, complex64, complex128, float16, float32, float64, int64
from framework.core import defaults
from framework.core.promotion import WITH_NUMBER


@pytest.fixture
def restored():
    yield
    defaults.set_default_dtype(float32)


@pytest.mark.parametrize("d", [float16, bfloat16, float32, float64])
def test_set_and_get(d, restored):
    defaults.set_default_dtype(d)
    assert defaults.get_default_dtype() is d
    assert defaults.get_default_complex_dtype() is (complex128 if d is float64 else complex64)
    assert defaults.number_dtype(float) is d
    assert WITH_NUMBER[int64, float] is d


@pytest.mark.parametrize("wrong", [int64, bool_, complex64])
def test_only_floats(wrong):
    with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
        defaults.set_default_dtype(wrong)


@pytest.mark.parametrize("wrong", ["float32", float, None])
def test_only_dtypes(wrong):
    with pytest.raises(TypeError, match="invalid dtype object"):
        defaults.set_default_dtype(wrong)


def test_one_default_for_all_threads(restored):
    seen = []
    defaults.set_default_dtype(float64)
    thread = threading.Thread(target=lambda: seen.append(defaults.get_default_dtype()))
    thread.start()
    thread.join()
    assert seen == [float64]


def test_dtypes_of_numbers():
    assert [defaults.number_dtype(t) for t in (bool, int, float, complex)] == [bool_, int64, float32, complex64]
    assert defaults.number_dtype(IntEnum("Color", "RED")) is int64
    with pytest.raises(TypeError, match="got str"):
        defaults.number_dtype(str)
