"""Index expressions against PyTorch: shapes, elements, view or copy, classes of errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from framework.core.indexing import plan
from tests.core.index_expressions import keys
from tests.core.index_reference import Held, execute

torch = pytest.importorskip("torch", reason="compares with PyTorch")


def as_torch(key, item=()):
    """The key for PyTorch; masks that are lists or NumPy arrays become tensors, as it miscounts their dimensions."""
    if isinstance(key, Held):
        return torch.from_numpy(key.array.copy()) if key.ndim else torch.tensor(key.array.item(), dtype=_dtype(key))
    if isinstance(key, slice):
        return slice(*map(as_torch, (key.start, key.stop, key.step)))
    return torch.as_tensor(key) if item[:1] in (("mask",), ("bool",)) and not isinstance(key, bool) else key


def _dtype(held):
    return getattr(torch, {"bool_": "bool"}.get(held.dtype.name, held.dtype.name))


@settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(keys())
def test_random_expressions(case):
    shape, items, key = case
    ours = np.arange(int(np.prod(shape))).reshape(shape)
    theirs = torch.arange(ours.size).reshape(shape)
    if isinstance(key, tuple):
        torch_key = tuple(as_torch(k, item) for k, item in zip(key, items))
    else:
        torch_key = as_torch(key, items[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            expected = theirs[torch_key]
        except (IndexError, ValueError, TypeError, RuntimeError) as e:
            with pytest.raises(type(e)):
                execute(plan(key, shape), ours)
            return
        p = plan(key, shape)
        result = execute(p, ours)
        assert result.shape == tuple(expected.shape)
        assert result.tolist() == expected.tolist()
        shared = expected.untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr() != 0
        if result.size:
            assert shared == (not p.indices)
