"""From a list of examples to a batch: tensors are stacked, containers taken apart and put together again."""

from __future__ import annotations

import collections.abc
import copy
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import framework
from framework.core.tensor import Tensor

__all__ = ["collate", "default_collate", "default_convert"]

NO_NUMBERS = re.compile(r"[SaUO]")  # NumPy's letters for strings and objects
CANNOT = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """`data` with every NumPy array and scalar in it made a tensor; mappings, sequences and named tuples keep their
    kind.
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        return data if isinstance(data, np.ndarray) and NO_NUMBERS.search(data.dtype.str) else framework.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        items = [default_convert(item) for item in data]
        return type(data)(*items) if hasattr(data, "_fields") else items
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(item) for item in data])
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: dict[Any, Callable[..., Any]] | None = None) -> Any:
    """Examples put together by the functions of `collate_fn_map`, each for a type or several; mappings, sequences and
    named tuples item by item. TypeError for anything else, RuntimeError for sequences of different lengths."""
    first = batch[0]
    kind = type(first)
    table = collate_fn_map or {}
    if kind in table:
        return table[kind](batch, collate_fn_map=collate_fn_map)
    for types, function in table.items():
        if isinstance(first, types):
            return function(batch, collate_fn_map=collate_fn_map)
    together = lambda examples: collate(examples, collate_fn_map=collate_fn_map)
    if isinstance(first, collections.abc.Mapping):
        return _mapping_like(first, {key: together([example[key] for example in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(together(column) for column in zip(*batch, strict=False)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(example) != len(first) for example in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        items = [together(column) for column in zip(*batch, strict=False)]
        return items if isinstance(first, tuple) else _sequence_like(first, items)
    raise TypeError(CANNOT.format(kind))


def _mapping_like(model: Any, items: dict[Any, Any]) -> Any:
    """`items` as a mapping of the model's kind, or a dictionary where it cannot be made from one."""
    try:
        if not isinstance(model, collections.abc.MutableMapping):
            return type(model)(items)
        clone = copy.copy(model)  # keeps what else the object holds
        clone.update(items)
        return clone
    except TypeError:
        return items


def _sequence_like(model: Any, items: list[Any]) -> Any:
    """`items` as a sequence of the model's kind, or a list where it cannot be made from one."""
    try:
        if not isinstance(model, collections.abc.MutableSequence):
            return type(model)(items)
        clone = copy.copy(model)
        for i, item in enumerate(items):
            clone[i] = item
        return clone
    except TypeError:
        return items


def _tensors(batch: Sequence[Tensor], *, collate_fn_map: Any = None) -> Tensor:
    return framework.stack(list(batch), 0)


def _arrays(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    if NO_NUMBERS.search(batch[0].dtype.str):
        raise TypeError(CANNOT.format(batch[0].dtype))
    return collate([framework.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def _scalars(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Tensor:
    return framework.as_tensor(np.asarray(batch))


def _floats(batch: Sequence[float], *, collate_fn_map: Any = None) -> Tensor:
    return framework.tensor(batch, dtype=framework.float64)


def _ints(batch: Sequence[int], *, collate_fn_map: Any = None) -> Tensor:
    return framework.tensor(batch)


def _as_is(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    return batch


default_collate_fn_map: dict[Any, Callable[..., Any]] = {
    Tensor: _tensors,
    np.ndarray: _arrays,
    (np.bool_, np.number, np.object_): _scalars,
    float: _floats,
    int: _ints,
    str: _as_is,
    bytes: _as_is,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """Examples put together: tensors and arrays stacked, floats as float64, integers as int64, strings as they are."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
