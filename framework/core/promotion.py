"""The dtype of a result of several operands: PyTorch's promotion.

Dtypes fall into categories, bool < integral < floating < complex. Operands have a rank: tensors with dimensions, then
0-d tensors, then Python numbers. Within a rank dtypes promote pairwise (`PROMOTED`); across ranks the higher one
decides, unless the lower one has the higher category (`OUTRANKED`). A Python float counts as the default dtype, so an
int64 tensor plus 1.5 is float32, while a float16 tensor plus 1.5, or plus a 0-d float64 tensor, stays float16.

The two questions asked most are one dictionary lookup each: `PROMOTED[a, b]` for two tensors with dimensions,
`WITH_NUMBER[a, type(number)]` for a tensor and a Python number. A pair that is missing does not promote: ask the
function of the same table (`promote_types`, `with_number`), which raises.

There is no complex counterpart of the half types here: float16 with a complex number gives complex64.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NoReturn

from backends.dtypes import (
    ALL,
    bfloat16,
    bool_,
    complex64,
    complex128,
    dtype,
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

from . import defaults

__all__ = [
    "DIMENSIONED",
    "NUMBER",
    "OUTRANKED",
    "PROMOTED",
    "WITH_NUMBER",
    "ZERO_DIM",
    "c_type_name",
    "can_cast",
    "check_cast",
    "promote_types",
    "result_type",
    "scalar_type_name",
    "with_number",
]

DIMENSIONED: Final = 0  # a tensor with dimensions
ZERO_DIM: Final = 1  # a 0-d tensor
NUMBER: Final = 2  # a Python number

_BAREBONES = frozenset({uint16, uint32, uint64})  # promote with themselves and with floats only

_SCALAR_TYPE_NAMES = {
    bool_: "Bool", uint8: "Byte", int8: "Char", int16: "Short", uint16: "UInt16", int32: "Int", uint32: "UInt32",
    int64: "Long", uint64: "UInt64", float16: "Half", bfloat16: "BFloat16", float32: "Float", float64: "Double",
    complex64: "ComplexFloat", complex128: "ComplexDouble",
}  # fmt: skip


_C_TYPE_NAMES = {
    bool_: "bool",
    uint8: "unsigned char",
    int8: "signed char",
    int16: "short",
    int32: "int",
    int64: "long int",
    float16: "c10::Half",
    bfloat16: "c10::BFloat16",
    float32: "float",
    float64: "double",
    complex64: "c10::complex<float>",
    complex128: "c10::complex<double>",
}


def c_type_name(d: dtype) -> str:
    """The name that some error texts use for a dtype: that of its C++ type."""
    return _C_TYPE_NAMES.get(d, d.name)


def scalar_type_name(d: dtype) -> str:
    """The name that error texts use for a dtype: `Float` for float32, `Long` for int64."""
    return _SCALAR_TYPE_NAMES[d]


def _promote(a: dtype, b: dtype) -> dtype | None:
    """One cell of the table; None where the pair has no promotion."""
    if a is b:
        return a
    low, high = sorted((a, b), key=lambda d: (d.category, d.itemsize))
    if low in _BAREBONES or high in _BAREBONES:
        return high if high.is_floating_point else None
    if high.category != low.category:
        return complex128 if high.is_complex and low is float64 else high
    if {a, b} == {uint8, int8}:
        return int16
    if {a, b} == {float16, bfloat16}:
        return float32
    return high


def _outrank(high: dtype, low: dtype) -> dtype | None:
    """The dtype if `high` comes from operands of a higher rank than `low`; None where they do not combine."""
    if high.is_complex:
        return high
    if high.is_floating_point:
        return high.to_complex() if low.is_complex else high
    if low.category > 1:
        return low
    return _promote(high, low) if high is bool_ else high


def _table(of: dict[tuple[dtype, dtype], dtype | None]) -> dict[tuple[dtype, dtype], dtype]:
    return {pair: result for pair, result in of.items() if result is not None}


PROMOTED: Final = _table({(a, b): _promote(a, b) for a in ALL for b in ALL})
OUTRANKED: Final = _table({(a, b): _outrank(a, b) for a in ALL for b in ALL})
WITH_NUMBER: Final[dict[tuple[dtype, type], dtype]] = {}


def _fill_with_number() -> None:
    for number_type in (bool, int, float, complex):
        low = defaults.number_dtype(number_type)
        WITH_NUMBER.update({(high, number_type): OUTRANKED[high, low] for high in ALL if (high, low) in OUTRANKED})


_fill_with_number()
defaults.on_change(_fill_with_number)


def _no_promotion(a: dtype, b: dtype) -> NoReturn:
    raise RuntimeError(
        "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
        f"{scalar_type_name(a)} and {scalar_type_name(b)}; convert one of them first"
    )


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype of the highest category among the two that holds the values of both.

    RuntimeError for uint16, uint32 and uint64 with another integer, bool or complex dtype; TypeError for no dtypes.
    """
    found = PROMOTED.get((type1, type2))
    if found is not None:
        return found
    for d in (type1, type2):
        if not isinstance(d, dtype):
            raise TypeError(f"promote_types: expected two dtypes, got {type(d).__name__}")
    _no_promotion(type1, type2)


def _outranked(high: dtype | None, low: dtype | None) -> dtype | None:
    if high is None or low is None:
        return low if high is None else high
    found = OUTRANKED.get((high, low))
    if found is None:
        _no_promotion(high, low)
    return found


def result_type(operands: Iterable[tuple[dtype, int]]) -> dtype:
    """The dtype that operands promote to, each given as its dtype and its rank: DIMENSIONED, ZERO_DIM or NUMBER.

    The dtype of a number says only its category: floats and complex numbers count as the default dtype, or its complex
    counterpart. RuntimeError as in `promote_types`; ValueError without operands.
    """
    best: list[dtype | None] = [None, None, None]
    for d, rank in operands:
        if rank == NUMBER and d.category > 1:
            d = defaults.get_default_complex_dtype() if d.is_complex else defaults.get_default_dtype()
        seen = best[rank]
        best[rank] = d if seen is None else promote_types(seen, d)
    result = _outranked(best[0], _outranked(best[1], best[2]))
    if result is None:
        raise ValueError("result_type: needs at least one operand")
    return result


def with_number(d: dtype, number: complex) -> dtype:
    """The dtype of a tensor of dtype `d` with the Python number `number`; the tensor may be 0-d or not."""
    found = WITH_NUMBER.get((d, type(number)))
    if found is not None:
        return found
    low = defaults.number_dtype(type(number))
    result = _outranked(d, low)
    assert result is not None
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether promotion allows to store results of dtype `from_` in a tensor of dtype `to`: not to a lower category.

    TypeError if not given dtypes.
    """
    for d in (from_, to):
        if not isinstance(d, dtype):
            raise TypeError(f"can_cast: expected two dtypes, got {type(d).__name__}")
    return from_.category <= to.category


def check_cast(result: dtype, to: dtype) -> None:
    """RuntimeError unless an in-place op or `out=` of dtype `to` may take a result of dtype `result`."""
    if result.category > to.category:
        raise RuntimeError(
            f"result type {scalar_type_name(result)} can't be cast to the desired output type {scalar_type_name(to)}"
        )
