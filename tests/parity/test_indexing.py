"""Reading and writing x[key] against PyTorch: shapes, elements, view or copy, classes of errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import framework
from tests.core.index_expressions import keys
from tests.core.index_reference import Held

torch = pytest.importorskip("torch", reason="compares with PyTorch")
ERRORS = (IndexError, ValueError, TypeError, RuntimeError)
SETTINGS = settings(
    max_examples=max(100, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def spelled_for(key, make):
    """The key with the tensors of a library in place of the held arrays."""
    if isinstance(key, Held):
        return make(key.array)
    if isinstance(key, slice):
        return slice(*[spelled_for(k, make) for k in (key.start, key.stop, key.step)])
    return tuple([spelled_for(k, make) for k in key]) if isinstance(key, tuple) and _holds(key) else key


def _holds(key):
    return any(isinstance(k, (Held, slice)) or isinstance(k, tuple) and _holds(k) for k in key)


def for_torch(key, items):
    """The same for PyTorch; masks that are lists or NumPy arrays become tensors, as it miscounts their dimensions."""
    parts = list(key) if isinstance(key, tuple) else [key]
    for i, (k, item) in enumerate(zip(parts, items)):
        if item[0] == "mask" or item[0] == "bool" and isinstance(k, np.ndarray):
            parts[i] = torch.as_tensor(k.array if isinstance(k, Held) else k)
    return spelled_for(tuple(parts) if isinstance(key, tuple) else parts[0], torch.from_numpy)


def outcome(f):
    """What a call gives, or the error."""
    try:
        return f(), None
    except ERRORS as e:
        return None, e


def agree(ours, theirs, what):
    """Both failed with one class of error, or neither did."""
    if theirs is not None:
        assert ours is not None, f"{what}: no {type(theirs).__name__}: {theirs}"
        assert type(ours) is type(theirs), f"{what}: {ours!r}, expected {theirs!r}"
        return False
    assert ours is None, f"{what}: {ours!r}"
    return True


@pytest.mark.every_device
@SETTINGS
@given(keys())
def test_get(device, case):
    shape, items, key = case
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    x, y = framework.tensor(array, device=device), torch.from_numpy(array.copy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theirs, their_error = outcome(lambda: y[for_torch(key, items)])
        ours, our_error = outcome(lambda: x[spelled_for(key, lambda a: framework.tensor(a, device=device))])
    if not agree(our_error, their_error, key):
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.tolist() == theirs.tolist()
    assert ours.dtype is framework.float32
    if theirs.numel():
        shared = theirs.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
        assert shared == ours._is_view()
        if shared:
            assert ours.stride() == theirs.stride() or theirs.numel() < 2 or 1 in theirs.shape
            assert ours.storage_offset() == theirs.storage_offset()
            ours.zero_()
            theirs.zero_()
            assert x.tolist() == y.tolist()


values = st.sampled_from(["number", "same", "last", "ones", "lead", "wrong", "other dtype", "one", "zero-dim"])


def value_for(kind, shape):
    """An array to assign to x[key] of this shape, or a number."""
    n = int(np.prod(shape))
    full = np.asarray(-1 - np.arange(n, dtype=np.float32)).reshape(shape)
    if kind == "number":
        return 7
    if kind == "last":
        return full[(0,) * (full.ndim - 1)] if n and full.ndim else full
    if kind == "ones":
        return full[tuple([slice(0, 1)] * full.ndim)]
    if kind == "lead":
        return full[None, None]
    if kind == "wrong":
        return np.ones((*shape, 2), np.float32)
    if kind == "other dtype":
        return full.astype(np.int64)
    if kind == "one":
        return np.full((1, 1), 5, np.int64)
    return full if kind == "same" else np.float32(5).reshape(())


@pytest.mark.every_device
@SETTINGS
@given(keys(), values)
def test_set(device, case, kind):
    shape, items, key = case
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    x, y = framework.tensor(array, device=device), torch.from_numpy(array.copy())
    view, other = x[:1] if x.ndim else x, y[:1] if y.ndim else y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        their_key = for_torch(key, items)
        try:
            value = value_for(kind, tuple(y[their_key].shape))
        except ERRORS:
            value = 7
        number = isinstance(value, int)

        def assign(target, key, value):
            target[key] = value

        _, their_error = outcome(lambda: assign(y, their_key, value if number else torch.from_numpy(np.array(value))))
        our_key = spelled_for(key, lambda a: framework.tensor(a, device=device))
        _, our_error = outcome(lambda: assign(x, our_key, value if number else framework.tensor(value, device=device)))
    if agree(our_error, their_error, (key, kind)):
        assert x.tolist() == y.tolist()
        assert view.tolist() == other.tolist()


def numbers(array):
    """Every element with a weight of its own, so that gradients tell where it went."""
    return np.asarray(np.arange(1, array.size + 1, dtype=np.float32)).reshape(array.shape)


@pytest.mark.every_device
@SETTINGS
@given(keys())
def test_gradient_of_get(device, case):
    shape, items, key = case
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    x, y = framework.tensor(array, device=device).requires_grad_(), torch.from_numpy(array.copy()).requires_grad_()
    try:
        expected = y[for_torch(key, items)]
    except ERRORS:
        return
    result = x[spelled_for(key, lambda a: framework.tensor(a, device=device))]
    weights = numbers(expected.detach().numpy())
    (result * framework.tensor(weights, device=device)).sum().backward()
    (expected * torch.from_numpy(weights)).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def _repeats(y, key):
    """Whether a key names some element twice: which write wins is undefined."""
    places = torch.arange(y.numel()).reshape(y.shape)[key].flatten()
    return len(places.unique()) < places.numel()


@pytest.mark.every_device
@SETTINGS
@given(keys(), st.sampled_from(["number", "same", "last", "ones", "lead", "zero-dim"]), st.booleans(), st.booleans())
def test_gradient_of_set(device, case, kind, x_tracked, value_tracked):
    shape, items, key = case
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    x, y = framework.tensor(array, device=device), torch.from_numpy(array.copy())
    their_key = for_torch(key, items)
    our_key = spelled_for(key, lambda a: framework.tensor(a, device=device))
    try:
        value = value_for(kind, tuple(y[their_key].shape))
    except ERRORS:
        return
    if _repeats(y, their_key):
        return
    x, y = x.requires_grad_(x_tracked), y.requires_grad_(x_tracked)
    number = isinstance(value, int)
    v = value if number else framework.tensor(value, device=device).requires_grad_(value_tracked)
    w = value if number else torch.from_numpy(np.array(value)).requires_grad_(value_tracked)
    written, expected = x * 2, y * 2
    view, other = (written[:1], expected[:1]) if shape else (written, expected)
    written[our_key] = v
    expected[their_key] = w
    weights = numbers(array)
    ours = (written * framework.tensor(weights, device=device)).sum() + view.sum()
    theirs = (expected * torch.from_numpy(weights)).sum() + other.sum()
    assert ours.requires_grad == theirs.requires_grad
    assert ours.tolist() == theirs.tolist()
    if not theirs.requires_grad:
        return
    ours.backward()
    theirs.backward()
    for a, b in ((x, y), *([] if number else [(v, w)])):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert a.grad.tolist() == b.grad.tolist()
