"""The whole promotion table, by rank, against PyTorch's."""

from __future__ import annotations

import itertools

import pytest

from backends.dtypes import ALL, bfloat16, bool_, complex128, float16, float32, float64, int64
from framework.core import promotion
from framework.core.defaults import set_default_dtype
from framework.core.promotion import DIMENSIONED, NUMBER, ZERO_DIM

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

_NUMBERS = {True: bool_, 3: int64, 1.5: float64, 1j: complex128}


def _theirs(function, *args):
    """PyTorch's answer as a name; complex32, which does not exist here, counts as complex64."""
    try:
        return str(function(*args)).removeprefix("torch.").replace("complex32", "complex64")
    except RuntimeError as error:
        return str(error)


def _ours(function, *args):
    try:
        return function(*args).name
    except RuntimeError as error:
        return str(error).split(";")[0]


def _torch(d):
    return getattr(torch, d.name)


@pytest.mark.parametrize("a", ALL, ids=lambda d: d.name)
def test_promote_types_and_can_cast(a):
    for b in ALL:
        assert _ours(promotion.promote_types, a, b) == _theirs(torch.promote_types, _torch(a), _torch(b))
        assert promotion.can_cast(a, b) == torch.can_cast(_torch(a), _torch(b))


@pytest.mark.parametrize("a", ALL, ids=lambda d: d.name)
@pytest.mark.parametrize("rank", [DIMENSIONED, ZERO_DIM])
def test_result_type_of_tensors(a, rank):
    x = torch.ones((2,) if rank == DIMENSIONED else (), dtype=_torch(a))
    for b, other in itertools.product(ALL, (DIMENSIONED, ZERO_DIM)):
        y = torch.ones((2,) if other == DIMENSIONED else (), dtype=_torch(b))
        assert _ours(promotion.result_type, [(a, rank), (b, other)]) == _theirs(torch.result_type, x, y)


@pytest.mark.parametrize("default", [float16, bfloat16, float32, float64], ids=lambda d: d.name)
@pytest.mark.parametrize("a", ALL, ids=lambda d: d.name)
def test_result_type_with_numbers(a, default):
    torch.set_default_dtype(_torch(default))
    set_default_dtype(default)
    try:
        for (number, d), rank in itertools.product(_NUMBERS.items(), (DIMENSIONED, ZERO_DIM)):
            if default is bfloat16 and d is complex128:
                continue  # PyTorch has no complex default then
            x = torch.ones((2,) if rank == DIMENSIONED else (), dtype=_torch(a))
            expected = _theirs(torch.result_type, x, number)
            assert _ours(promotion.result_type, [(a, rank), (d, NUMBER)]) == expected
            assert _ours(promotion.with_number, a, number) == expected
    finally:
        torch.set_default_dtype(torch.float32)
        set_default_dtype(float32)


@pytest.mark.parametrize("a", ALL, ids=lambda d: d.name)
def test_in_place_casts(a):
    for b in ALL:
        try:
            result = promotion.promote_types(a, b)
        except RuntimeError:
            continue
        if torch.promote_types(_torch(a), _torch(b)) is torch.complex32:
            continue
        x, y = torch.ones(2, dtype=_torch(a)), torch.ones(2, dtype=_torch(b))
        expected = None
        try:
            x.add_(y)
        except RuntimeError as error:
            expected = str(error)
        found = None
        try:
            promotion.check_cast(result, a)
        except RuntimeError as error:
            found = str(error)
        if not (expected or "").startswith('"add_stub" not implemented'):
            assert found == expected
