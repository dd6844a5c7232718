"""Python's operators on tensors: what they leave to the other operand, reflected forms, writing in place, integers that
wrap.
"""

from __future__ import annotations

import operator

import numpy as np
import pytest

import framework as f
from tests.case_ids import case_id

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift"]
ORDER = ["lt", "le", "gt", "ge"]


class Other:
    """Takes part in every operation with anything."""

    def __getattr__(self, name):
        raise AttributeError(name)


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "matmul",
):
    setattr(Other, f"__r{_name}__", lambda self, other, name=_name: ("reflected", name))
    setattr(Other, f"__{_name}__", lambda self, other, name=_name: ("own", name))


@pytest.mark.parametrize("name", [*OPERATORS, "matmul"])
def test_another_class_gets_its_turn(name):
    x, plain = f.ones(2), name.rstrip("_")
    assert getattr(operator, name)(x, Other()) == ("reflected", plain)
    assert getattr(operator, name)(Other(), x) == ("own", plain)


@pytest.mark.parametrize("strange", [None, "a", [1], (1, 2), {}, object()], ids=case_id)
@pytest.mark.parametrize("name", [*OPERATORS, *ORDER, "matmul"])
def test_strange_operands_raise_type_error(name, strange):
    for a, b in ((f.ones(2), strange), (strange, f.ones(2))):
        if (name, type(strange)) == ("mod", str) and a is strange:
            continue  # a format string
        with pytest.raises(TypeError):
            getattr(operator, name)(a, b)


@pytest.mark.parametrize("strange", [None, "a", [1.0, 1.0], object()], ids=case_id)
def test_nothing_strange_is_equal(strange):
    x = f.ones(2)
    assert (x == strange) is False
    assert (x != strange) is True
    assert (strange == x) is False


def test_arrays_are_refused_by_name():
    with pytest.raises(TypeError, match="must be Tensor, not ndarray"):
        f.ones(2) + np.ones(2)


@pytest.mark.parametrize("name", OPERATORS)
def test_reflected_with_numbers(name, device):
    whole = [1, 2, 3]
    x = f.tensor(whole, device=device)
    op = getattr(operator, name)
    assert op(7, x).tolist() == pytest.approx([op(7, n) for n in whole])
    assert op(x, 2).tolist() == pytest.approx([op(n, 2) for n in whole])


@pytest.mark.parametrize(
    "name", ["iadd", "isub", "imul", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift"]
)
def test_in_place_operators_keep_the_tensor(name, device):
    x = f.tensor([5, 6, 7], device=device)
    view, before = x[1:], x.tolist()
    assert getattr(operator, name)(x, 2) is x
    assert x.tolist() == [getattr(operator, name)(n, 2) for n in before]
    assert view.tolist() == x.tolist()[1:]
    assert x._version == 1


def test_dividing_integers_in_place_is_refused():
    x = f.tensor([1])
    with pytest.raises(RuntimeError, match="result type Float can't be cast"):
        x /= 2


def test_integers_wrap_around(device):
    def bytes_(values):
        return f.tensor(values, dtype=f.uint8, device=device)

    assert (bytes_([1]) - 2).tolist() == [255]
    assert (bytes_([1]) * 300).tolist() == [44]
    assert (f.tensor([100], dtype=f.int8, device=device) + 100).tolist() == [-56]
    assert (bytes_([255]) > -1).tolist() == [False]  # -1 is 255 there
    assert (bytes_([44]) == 300).tolist() == [True]


def test_bools_with_numbers_promote(device):
    x = f.tensor([True, False], device=device)
    for value, want in ((x & 3, [1, 0]), (x | 2, [3, 2]), (x + 1, [2, 1]), (x ^ 1, [0, 1])):
        assert (value.dtype, value.tolist()) == (f.int64, want)
    assert (x & True).dtype is f.bool


def test_sums_of_numbers_alone():
    assert f.add(2, 3).item() == 5
    for name in ("pow", "remainder", "bitwise_and", "xlogy", "float_power"):
        with pytest.raises(TypeError, match="one of its operands must be a Tensor"):
            getattr(f, name)(2, 3)
