"""Random index expressions for hypothesis: the shape of a tensor, what the key means, and one spelling of the key."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.core.index_reference import Held, held, nested_shape


def nested(shape, elements):
    strategy = elements
    for n in reversed(shape):
        strategy = st.lists(strategy, min_size=n, max_size=n)
    return strategy


sizes = st.lists(st.sampled_from([0, 1, 2, 2, 3, 3, 3, 4]), max_size=4).map(tuple)
index_shapes = st.sampled_from([(0,), (1,), (2,), (3,), (2, 1), (1, 3), (2, 3), (1, 1, 2)])


@st.composite
def expressions(draw):
    """(shape, items as `reference` reads them): mostly valid, sometimes not."""
    shape = draw(sizes)
    items, dim = [], 0
    joint = draw(index_shapes)
    ellipsis_at = draw(st.integers(0, 6))
    for position in range(draw(st.integers(0, 6))):
        if position == ellipsis_at:
            items.append(("ellipsis",))
            dim = max(dim, len(shape) - draw(st.integers(0, 2)))
            continue
        what = draw(st.sampled_from(["int", "slice", "slice", "none", "bool", "index", "index", "mask"]))
        if dim >= len(shape) and what not in ("none", "bool") and draw(st.integers(0, 9)):
            what = draw(st.sampled_from(["none", "bool"]))
        n = shape[dim] if dim < len(shape) else 2
        slack = draw(st.integers(0, 30)) == 0
        inside = st.integers(-n - slack, n - 1 + slack) if n or slack else st.just(0)
        if what == "int":
            items.append(("int", draw(inside)))
            dim += 1
        elif what == "slice":
            bound = st.none() | st.integers(-n - 2, n + 2)
            items.append(
                ("slice", draw(bound), draw(bound), draw(st.sampled_from([None, 1, 1, 2, 3, 3, -1][: 6 + slack])))
            )
            dim += 1
        elif what == "none":
            items.append(("none",))
        elif what == "bool":
            items.append(("bool", draw(st.booleans() | st.just(True))))
        elif what == "index":
            size = joint if draw(st.integers(0, 9)) else draw(index_shapes)
            size = tuple(1 if draw(st.integers(0, 4)) == 0 else m for m in size[draw(st.integers(0, len(size) - 1)) :])
            data = draw(nested(size, inside))
            items.append(("index", data, nested_shape(data) if 0 not in size else size))
            dim += 1
        else:
            width = draw(st.integers(1, max(1, min(2, len(shape) - dim))))
            size = shape[dim : dim + width] if not slack else (n + 1,)
            if size:
                items.append(("mask", draw(nested(size, st.booleans())), size))
                dim += len(size)
    return shape, tuple(items)


@st.composite
def spelled(draw, item):
    """One of the ways to write an item of an expression."""
    what = item[0]
    if what == "int":
        kinds = [int, np.int64, np.int32, np.array, held]
        return draw(st.sampled_from(kinds[:1] * 5 + kinds))(item[1])
    if what == "slice":
        return slice(
            *(draw(st.sampled_from([int, int, np.int64, held]))(v) if v is not None else None for v in item[1:])
        )
    if what == "none":
        return None
    if what == "ellipsis":
        return ...
    if what == "bool":
        return draw(st.sampled_from([bool, bool, np.array, held]))(item[1])
    _, data, shape = item
    dtype = bool if what == "mask" else draw(st.sampled_from([np.int64, np.int64, np.int32]))
    array = np.array(data, dtype).reshape(shape)
    spellings = [array, Held(array)]
    if array.size:
        spellings += [data, tuple(data)]
    return draw(st.sampled_from(spellings))


@st.composite
def keys(draw):
    shape, items = draw(expressions())
    key = tuple(draw(spelled(k)) for k in items)
    if len(key) == 1 and not isinstance(key[0], (list, tuple)) and draw(st.booleans()):
        key = key[0]
    return shape, items, key
