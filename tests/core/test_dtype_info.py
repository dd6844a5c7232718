"""finfo and iinfo against NumPy and the definitions of the formats."""

import numpy as np
import pytest

import framework


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo(name):
    ours, info = framework.finfo(getattr(framework, name)), np.finfo(name)
    assert (ours.bits, ours.eps, ours.max, ours.min, ours.tiny) == (info.bits, info.eps, info.max, info.min, info.tiny)
    assert ours.smallest_normal == ours.tiny and ours.dtype == name


def test_bfloat16_is_the_upper_half_of_float32():
    info = framework.finfo(framework.bfloat16)
    largest = np.array(0x7F7F0000, np.uint32).view(np.float32)
    assert (info.max, info.tiny, info.eps) == (float(largest), 2.0**-126, 2.0**-7)


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64", "uint64"])
def test_iinfo(name):
    ours, info = framework.iinfo(getattr(framework, name)), np.iinfo(name)
    assert (ours.bits, ours.max, ours.min) == (info.bits, info.max, info.min)


def test_complex_has_the_limits_of_its_parts_and_errors():
    assert framework.finfo(framework.complex64) == framework.finfo()
    with pytest.raises(TypeError, match="finfo"):
        framework.finfo(framework.int64)
    with pytest.raises(TypeError, match="iinfo"):
        framework.iinfo(framework.float32)
