"""Properties of dtype promotion, and its known cases."""

from __future__ import annotations

import itertools

import pytest

from backends.dtypes import (
    ALL,
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
    uint32,
    uint64,
)  # fmt: skip
from framework.core.defaults import set_default_dtype
from framework.core.promotion import (
    DIMENSIONED,
    NUMBER,
    PROMOTED,
    WITH_NUMBER,
    ZERO_DIM,
    can_cast,
    check_cast,
    promote_types,
    result_type,
    scalar_type_name,
    with_number,
)  # fmt: skip

PAIRS = list(itertools.product(ALL, ALL))
WIDE_UNSIGNED = {uint16, uint32, uint64}


def _defined(a, b):
    return (a, b) in PROMOTED


def test_promotion_commutes_and_is_idempotent():
    for a, b in PAIRS:
        assert PROMOTED.get((a, b)) is PROMOTED.get((b, a))
        assert PROMOTED[a, a] is a
        if _defined(a, b):
            assert PROMOTED[PROMOTED[a, b], a] is PROMOTED[a, b]


def test_promotion_associates():
    plain = [d for d in ALL if d not in WIDE_UNSIGNED]
    for a, b, c in itertools.product(plain, repeat=3):
        assert promote_types(promote_types(a, b), c) is promote_types(a, promote_types(b, c))


def test_a_result_can_take_both():
    for a, b in PAIRS:
        if _defined(a, b):
            result = PROMOTED[a, b]
            assert can_cast(a, result)
            assert can_cast(b, result)
            assert result.category == max(a.category, b.category)
            assert result.itemsize >= max(d.itemsize for d in (a, b) if d.category == result.category)


def test_wide_unsigned_dtypes_meet_floats_only():
    for a, b in PAIRS:
        if WIDE_UNSIGNED & {a, b} and a is not b and not (a.is_floating_point or b.is_floating_point):
            with pytest.raises(RuntimeError, match=f"attempted to promote {scalar_type_name(a)} and"):
                promote_types(a, b)
        else:
            assert _defined(a, b)


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (uint8, int8, int16), (uint8, int16, int16), (int8, int64, int64), (bool_, uint8, uint8),
        (int64, float16, float16), (int64, bfloat16, bfloat16), (float16, bfloat16, float32),
        (float16, complex64, complex64), (bfloat16, complex64, complex64), (float32, complex64, complex64),
        (float64, complex64, complex128), (uint64, float16, float16), (int64, complex64, complex64),
    ],
)  # fmt: skip
def test_known_pairs(a, b, result):
    assert promote_types(a, b) is result


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ([(int8, DIMENSIONED), (int64, ZERO_DIM)], int8),
        ([(uint8, DIMENSIONED), (int64, NUMBER)], uint8),
        ([(int64, DIMENSIONED), (float64, NUMBER)], float32),
        ([(int64, DIMENSIONED), (float64, ZERO_DIM)], float64),
        ([(float16, DIMENSIONED), (float64, ZERO_DIM)], float16),
        ([(bool_, DIMENSIONED), (int64, NUMBER)], int64),
        ([(bool_, DIMENSIONED), (bool_, NUMBER)], bool_),
        ([(float32, DIMENSIONED), (complex128, NUMBER)], complex64),
        ([(float64, DIMENSIONED), (complex64, NUMBER)], complex128),
        ([(float16, DIMENSIONED), (complex64, NUMBER)], complex64),
        ([(int32, ZERO_DIM), (float64, NUMBER)], float32),
        ([(int64, NUMBER), (float64, NUMBER)], float32),
        ([(int8, DIMENSIONED), (uint8, DIMENSIONED), (int64, ZERO_DIM), (float64, NUMBER)], float32),
        ([(int8, DIMENSIONED), (uint8, DIMENSIONED), (int64, ZERO_DIM)], int16),
    ],
)
def test_ranks(operands, result):
    assert result_type(operands) is result
    assert result_type(reversed(operands)) is result


def test_tables_agree_with_result_type():
    for a, b in PROMOTED:
        assert result_type([(a, DIMENSIONED), (b, DIMENSIONED)]) is PROMOTED[a, b]
    for default in (float16, float32, float64):
        set_default_dtype(default)
        try:
            for d, number in itertools.product(ALL, (True, 2, 2.5, 2j)):
                as_operand = {bool: bool_, int: int64, float: float64, complex: complex128}[type(number)]
                expected = result_type([(d, DIMENSIONED), (as_operand, NUMBER)])
                assert WITH_NUMBER[d, type(number)] is with_number(d, number) is expected
        finally:
            set_default_dtype(float32)


def test_result_type_of_nothing():
    with pytest.raises(ValueError, match="at least one operand"):
        result_type([])


def test_casts_go_up_in_category():
    for a, b in PAIRS:
        if can_cast(a, b):
            check_cast(a, b)
        else:
            with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
                check_cast(a, b)
    assert can_cast(int64, uint8)
    assert not can_cast(float32, int64)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        check_cast(float32, int64)


@pytest.mark.parametrize("function", [promote_types, can_cast])
def test_only_dtypes(function):
    with pytest.raises(TypeError, match="expected two dtypes, got str"):
        function(float32, "float32")


def test_every_dtype_has_a_scalar_type_name():
    assert len({scalar_type_name(d) for d in ALL}) == len(ALL)
    assert scalar_type_name(int16) == "Short"
