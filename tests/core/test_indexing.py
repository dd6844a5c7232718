"""The planner of index expressions: tables of PyTorch's rules, and random expressions against a slow reference."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from framework.core.indexing import basic, check_bounds, joint_shape, plan
from tests.case_ids import case_id
from tests.core.index_expressions import keys
from tests.core.index_reference import Rejected, execute, held, reference

X = np.arange(24).reshape(2, 3, 4)
MASK = np.array([[True, False, True], [True, True, True]])


class Number:
    def __index__(self):
        return 1


class Pair:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i >= 2:
            raise IndexError
        return i


BASIC = [
    (0, (0,)),
    (-1, (1,)),
    (slice(None), (slice(0, 2, 1),)),
    (slice(1, None), (slice(1, 2, 1),)),
    (slice(-5, 1), (slice(0, 1, 1),)),
    (slice(5, 1), (slice(2, 2, 1),)),
    (slice(0, 10**30, 10**30), (slice(0, 2, 2),)),
    (slice(np.int64(0), held(1)), (slice(0, 1, 1),)),
    (slice(Number(), None), (slice(1, 2, 1),)),
    (slice(True, None), (slice(1, 2, 1),)),
    (None, (None,)),
    (..., ()),
    ((), ()),
    ((0, -1), (0, 2)),
    ((..., 0), (slice(0, 2, 1), slice(0, 3, 1), 0)),
    ((0, ..., None), (0, slice(0, 3, 1), slice(0, 4, 1), None)),
    ((..., None, ...), (slice(0, 2, 1), slice(0, 3, 1), slice(0, 4, 1), None)),
    ((None, slice(None, None, 2), 1), (None, slice(0, 2, 2), 1)),
    ((0, 0, 0, None, ...), (0, 0, 0, None)),
    ([0, 1], None),
    (True, None),
    ((0, True), None),
    (np.int64(0), None),
    (held([0]), None),
    ((..., [0]), None),
]


@pytest.mark.parametrize(("key", "expected"), BASIC, ids=case_id)
def test_basic_keys_are_normalised(key, expected):
    assert basic(key, (2, 3, 4)) == expected
    if expected is not None:
        assert execute(plan(key, X.shape), X).shape == X[(*expected, ...)].shape


VIEWS = [
    (np.int64(1), (3, 4)),
    (np.uint8(1), (3, 4)),
    (Number(), (3, 4)),
    ((Number(), 0), (4,)),
    (np.array(1), (3, 4)),
    (held(1), (3, 4)),
    (held(1, np.int8), (3, 4)),
    (held(1, np.uint16), (3, 4)),
    ((held(1), slice(None), held(1)), (3,)),
    ((slice(None), np.int64(-1)), (2, 4)),
]


@pytest.mark.parametrize(("key", "shape"), VIEWS, ids=case_id)
def test_integers_of_any_kind_make_views(key, shape):
    p = plan(key, X.shape)
    assert (p.shape, p.indices, p.selects) == (shape, (), ())
    assert np.shares_memory(execute(p, X), X)


COPIES = [
    (True, (1, 2, 3, 4)),
    (False, (0, 2, 3, 4)),
    (held(True), (1, 2, 3, 4)),
    (held(0, np.uint8), (0, 2, 3, 4)),
    (np.array(True), (1, 2, 3, 4)),
    ((True, 0), (1, 3, 4)),
    ((0, True), (1, 3, 4)),
    ((True, False), (0, 2, 3, 4)),
    ((held([0, 1]), slice(None), True), (2, 3, 4)),
    (([True, False], False), (0, 3, 4)),
    ([], (0, 3, 4)),
    (([], []), (0, 4)),
    ([0, 1], (2, 3, 4)),
    ([True, 0], (2, 3, 4)),
    ([True, False], (1, 3, 4)),
    (Pair(), (2, 3, 4)),
    ((0, Pair()), (2, 4)),
    (range(2), (2, 3, 4)),
    ((0, range(1, 3)), (2, 4)),
    (range(0), (0, 3, 4)),
    (bytearray(b"\0\1\1"), (3, 3, 4)),
    (np.array([0, 1], np.int8), (2, 3, 4)),
    (np.array([1, 0])[::-1], (2, 3, 4)),
    (np.array([]), (0, 3, 4)),
    (held([0, 1], np.int32), (2, 3, 4)),
    (held([[0, -1]]), (1, 2, 3, 4)),
    (([0, 1], [1, 0]), (2, 4)),
    (((0, 1), (1, 0)), (2, 4)),
    (([[0, 1], [1, 0]],), (2, 2, 3, 4)),
    (([[0, 1], [1, 0]], 0), (2, 2, 4)),
    (([held(0), 1], 0), (2, 4)),
    ([[0]] * 32, (32, 1, 3, 4)),
    ([np.int64(0), np.int64(1)], (2, 3, 4)),
    (MASK, (5, 4)),
    (held(MASK), (5, 4)),
    ((held(MASK), 0), (5,)),
    ((held(MASK), slice(1, None)), (5, 3)),
    ((held(MASK), ..., None), (5, 4, 1)),
    ((held(MASK), None), (5, 1, 4)),
    ((None, held(MASK), None), (1, 5, 1, 4)),
    ((..., np.ones((3, 4), bool)), (2, 12)),
    ((..., [[True] * 4] * 3), (2, 12)),
    ((held(MASK), [0]), (5,)),
    ((None, held(MASK), [0]), (1, 5)),
    ((None, held([0]), held(np.eye(3, 4, dtype=bool)), None), (1, 3, 1)),
    (([True, True], held([[0], [1], [2]])), (3, 2, 4)),
    (held(np.ones((2, 3, 4), bool)), (24,)),
    # placement: adjacent indices stay, separated ones come first, ints are not counted
    ((0, slice(None), [0, 1]), (3, 2)),
    ((held(0), slice(None), held([0, 1])), (3, 2)),
    (([0, 1], slice(None), [0, 1]), (2, 3)),
    (([0, 1], 0, [0, 1]), (2,)),
    (([0, 1], None, [0, 1]), (2, 1, 4)),
    (([0, 1], ..., [0, 1]), (2, 3)),
    (([0, 1], ..., [0, 1], [0, 1]), (2,)),
    ((slice(None), [0, 1], [0, 1]), (2, 2)),
    ((slice(None), None, [0, 1], [0, 1]), (2, 1, 2)),
    ((slice(None), 0, [0, 1]), (2, 2)),
    (([0, 1], True, slice(None), [0, 1]), (2, 3)),
    ((slice(None), held([[0, 1]] * 5)), (2, 5, 2, 4)),
]


@pytest.mark.parametrize(("key", "shape"), COPIES, ids=case_id)
def test_index_tensors_and_masks_make_copies(key, shape):
    p = plan(key, X.shape)
    assert basic(key, X.shape) is None or type(key) is not bool
    assert p.indices
    result = execute(p, X)
    assert result.shape == shape
    assert not np.shares_memory(result, X)


LISTS = [
    ([[0, 1], [1, 0]], ([0, 1], [1, 0])),
    ([[0, 1]], ([0, 1],)),
    ([[]], ([],)),
    ([0, slice(None)], (0, slice(None))),
    ([None, 0], (None, 0)),
    ([...], (...,)),
    ([held(0), 1], (0, 1)),
    ([held([0]), held([1])], ([0], [1])),
    ([np.array([0, 1]), np.array([1, 0])], ([0, 1], [1, 0])),
]


@pytest.mark.parametrize(("key", "meant"), LISTS, ids=case_id)
def test_a_list_of_indices_stands_for_a_tuple(key, meant):
    with pytest.warns(UserWarning, match="non-tuple sequence for multidimensional indexing"):
        p = plan(key, X.shape)
    assert np.array_equal(execute(p, X), execute(plan(meant, X.shape), X))


ERRORS = [
    (X, 2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (X, -3, IndexError, "index -3 is out of bounds for dimension 0 with size 2"),
    (X, (0, ..., 4), IndexError, "index 4 is out of bounds for dimension 2 with size 4"),
    (X, 10**30, IndexError, "out of bounds"),
    (X, held(2), IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (X, (slice(None), [0, 7]), IndexError, "index 7 is out of bounds for dimension 1 with size 3"),
    (X, (slice(None), held([0, -4])), IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
    (X, ([0], 5), IndexError, "index 5 is out of bounds for dimension 1 with size 3"),
    (X, np.array([2**63], np.uint64), IndexError, "out of bounds"),
    (X, (0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
    (X, (0, 0, 0, 0, ...), IndexError, "too many indices for tensor of dimension 3"),
    (X, (slice(None),) * 3 + ([0],), IndexError, "too many indices for tensor of dimension 3"),
    (X, (held(MASK), 0, 0), IndexError, "too many indices for tensor of dimension 3"),
    (X, held(np.ones((2, 3, 4, 1), bool)), IndexError, "too many indices for tensor of dimension 3"),
    (X, slice(None, None, -1), ValueError, "step must be greater than zero"),
    (X, (0, slice(None, None, -2)), ValueError, "step must be greater than zero"),
    (X, ([0], slice(None, None, -2)), ValueError, "step must be greater than zero"),
    (X, slice(None, None, 0), ValueError, "step cannot be zero"),
    (X, slice(0.0, None), TypeError, "slice indices must be integers"),
    (X, slice("a", None), TypeError, "slice indices must be integers"),
    (X, slice(held([0, 1]), None), TypeError, "only integer tensors of a single element"),
    (
        X,
        held([True] * 3),
        IndexError,
        r"The shape of the mask \[3\] at index 0 does not match the shape of the indexed tensor",
    ),
    (X, [True] * 3, IndexError, r"The shape of the mask \[3\]"),
    (X, held(MASK[:, :2]), IndexError, r"The shape of the mask \[2, 2\] at index 1 .* \[2, 3, 4\] at index 1"),
    (X, np.array([], bool), IndexError, r"The shape of the mask \[0\]"),
    (X, (held([0, 1]), held([0, 1, 2])), IndexError, r"could not be broadcast together with shapes \[2\], \[3\]"),
    (X, (held(MASK), False), IndexError, "could not be broadcast together"),
    (X, held([0.0]), IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (X, held(1.0), IndexError, "tensors used as indices must be"),
    (X, held([0], np.int16), IndexError, "tensors used as indices must be"),
    (X, held([0], np.int8), IndexError, "tensors used as indices must be"),
    (X, held([0], np.uint16), IndexError, "tensors used as indices must be"),
    (X, [0.5], IndexError, "tensors used as indices must be"),
    (X, (0, [1.0]), IndexError, "tensors used as indices must be"),
    (X, np.array([0.0, 1.0]), IndexError, "tensors used as indices must be"),
    (X, [1j], TypeError, "only integers, slices"),
    (X, 1.0, IndexError, r"only integers, slices \(`:`\), ellipsis .* \(got float\)"),
    (X, (0, 1.0), IndexError, "only integers, slices"),
    (X, 1j, IndexError, "only integers, slices"),
    (X, np.float32(1), IndexError, "only integers, slices"),
    (X, np.bool_(True), IndexError, "only integers, slices"),
    (X, {0}, IndexError, "only integers, slices"),
    (X, {0: 1}, IndexError, "only integers, slices"),
    (X, object(), IndexError, "only integers, slices"),
    (X, iter([0]), IndexError, "only integers, slices"),
    (X, "a", TypeError, "only integers, slices"),
    (X, b"a", TypeError, "only integers, slices"),
    (X, ("a", 0), TypeError, "only integers, slices"),
    (X, (["a"], 0), TypeError, "only integers, slices"),
    (X, np.array([None]), TypeError, "only integers, slices"),
    (X, ([0, 1], [[0], [1, 2]]), ValueError, "expected sequences of equal lengths"),
    (np.array(3), 0, IndexError, "invalid index of a 0-dim tensor"),
    (np.array(3), slice(None), IndexError, r"slice\(\) cannot be applied to a 0-dim tensor"),
    (np.array(3), (0, 0), IndexError, "too many indices for tensor of dimension 0"),
    (np.array(3), [0], IndexError, "too many indices for tensor of dimension 0"),
    (np.array(3), held(0), IndexError, "too many indices for tensor of dimension 0"),
    (np.array(3), (None, 0), IndexError, "too many indices for tensor of dimension 0"),
    (np.ones((0, 3)), 0, IndexError, "index 0 is out of bounds for dimension 0 with size 0"),
    (np.ones((0, 3)), [0], IndexError, "index is out of bounds for dimension 0 with size 0"),
    (np.ones((2, 0, 3)), (slice(None), [0]), IndexError, "index is out of bounds for dimension 1 with size 0"),
]


@pytest.mark.parametrize(("x", "key", "error", "text"), ERRORS, ids=case_id)
def test_errors(x, key, error, text):
    with pytest.raises(error, match=text):
        execute(plan(key, x.shape), x)
    if type(key) in (int, slice, tuple):
        with contextlib.suppress(error):
            assert basic(key, x.shape) is None


@pytest.mark.parametrize(
    ("key", "shape"),
    [(..., ()), ((), ()), (None, (1,)), (True, (1,)), (False, (0,)), ((..., None), (1,)), ((True, True), (1,))],
    ids=case_id,
)
def test_a_tensor_without_dimensions(key, shape):
    assert execute(plan(key, ()), np.array(3)).shape == shape


@pytest.mark.parametrize("key", [np.array([0, 1], np.uint8), held([0, 1], np.uint8)], ids=case_id)
def test_uint8_is_a_mask_and_warns(key):
    with pytest.warns(UserWarning, match="uint8 is now deprecated"):
        p = plan(key, X.shape)
    assert np.array_equal(execute(p, X), X[1:])


def test_an_index_out_of_range_is_no_error_where_nothing_is_read():
    empty = np.ones((2, 0, 3))
    assert execute(plan([5], empty.shape), empty).shape == (1, 0, 3)
    assert execute(plan(([5], []), X.shape), X).shape == (0, 4)


@pytest.mark.parametrize(
    ("key", "selects", "shape"),
    [
        (held(1), (0,), (3, 4)),
        ((slice(None), held(-1)), (1,), (2, 4)),
        ((held(0), slice(None), [0, 1]), (0,), (3, 2)),
        (([0, 1], held(0), [0, 1]), (1,), (2,)),
        ((None, held(0), None, held(1), [3, 3, 3]), (1, 3), (1, 1, 3)),
    ],
    ids=case_id,
)
def test_integers_that_must_not_be_read_are_left_to_the_plan(key, selects, shape):
    p = plan(key, X.shape, as_int=lambda t: None)
    assert tuple(dim for dim, _ in p.selects) == selects
    assert execute(p, X).shape == shape
    assert np.array_equal(execute(p, X), execute(plan(key, X.shape), X))


def test_joint_shape_and_bounds():
    assert joint_shape([(2, 1), (3,), ()]) == (2, 3)
    assert joint_shape([(0,), (1,)]) == (0,)
    assert joint_shape([]) == ()
    check_bounds(-3, 2, 3, 0)


@settings(max_examples=max(1500, settings().max_examples), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(keys())
def test_random_expressions_agree_with_the_rules(case):
    shape, items, key = case
    x = np.arange(int(np.prod(shape))).reshape(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            out_shape, where = reference(items, shape)
        except Rejected as rejected:
            with pytest.raises(rejected.kind):
                execute(plan(key, shape), x)
            return
        p = plan(key, shape)
        result = execute(p, x)
        assert result.shape == out_shape
        assert result.ravel().tolist() == [x[c].item() for c in where]
        is_view = all(k[0] in ("int", "slice", "none", "ellipsis") for k in items)
        assert is_view == (not p.indices)
        if is_view and result.size:
            assert np.shares_memory(result, x)
        simple = basic(key, shape)
        if simple is not None:
            assert x[(*simple, ...)].shape == out_shape
            assert x[(*simple, ...)].tolist() == result.tolist()
