"""Slow indexing, element by element, from the rules alone: what `framework.core.indexing` is compared with.

A source is a shape; its elements are known by their coordinates. `reference(items, shape)` gives the result shape and,
in row-major order, the coordinate of the source behind each element. Nothing here is shared with the planner.

`execute(plan, array)` is the smallest reader of a `Plan`: plain NumPy.
"""

from __future__ import annotations

import itertools

import numpy as np

from backends import dtypes
from framework.core.indexing import check_bounds, joint_shape


class Held:
    """Stands for a tensor: a NumPy array under one of the project's dtypes."""

    def __init__(self, array):
        self.array = np.asarray(array)
        self.dtype = dtypes.BY_NAME[self.array.dtype.name]
        self.shape, self.ndim = self.array.shape, self.array.ndim

    def __repr__(self):
        return f"Held({self.array.tolist()}, {self.dtype.name})"

    def __index__(self):
        if self.array.size == 1 and self.array.dtype.kind in "iu":
            return int(self.array.item())
        raise TypeError("only integer tensors of a single element can be converted to an index")

    def __bool__(self):
        return bool(self.array.item())

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype, copy=True)

    def __getitem__(self, key):
        return Held(self.array[key])

    def __len__(self):
        return len(self.array)


def held(data, dtype=None):
    return Held(np.array(data, dtype))


def execute(plan, array):
    """x[key] from its plan; a view of `array` exactly if the plan says so."""
    view = array[(*plan.key, ...)]
    assert view.shape == plan.shape
    for dim, index in sorted(plan.selects, key=lambda pair: pair[0], reverse=True):
        check_bounds(int(index), int(index), view.shape[dim], dim)
        view = view.take(int(index), dim)
    if not plan.indices:
        return view
    columns = []
    for dim, value, mask in plan.indices:
        data = value.array if isinstance(value, Held) else value
        parts = data.nonzero() if mask else (data,)
        columns += [(dim + i, part.astype(np.int64)) for i, part in enumerate(parts)]
    joint = joint_shape([part.shape for _, part in columns])
    indexed = [dim for dim, _ in columns]
    rest = [n for dim, n in enumerate(view.shape) if dim not in indexed]
    empty = 0 in joint or 0 in rest
    for dim, part in columns:
        if part.size and 0 not in joint and (not empty or view.shape[dim] == 0):
            check_bounds(int(part.min()), int(part.max()), view.shape[dim], dim)
    if empty:
        return np.zeros((*rest[: plan.place], *joint, *rest[plan.place :]), array.dtype)
    front = np.moveaxis(view, indexed, range(len(indexed)))[tuple(part for _, part in columns)]
    order = range(len(joint))
    return np.moveaxis(front, order, [plan.place + i for i in order])


# ------------------------------------------------------------------------------------------------------ the reference
class Rejected(Exception):
    """The key is an error; `kind` is the class PyTorch raises."""

    def __init__(self, kind):
        super().__init__(kind.__name__)
        self.kind = kind


def nested_shape(data):
    shape = ()
    while isinstance(data, list):
        shape += (len(data),)
        if not data:
            break
        data = data[0]
    return shape


def at(data, coordinate):
    for i in coordinate:
        data = data[i]
    return data


def coordinates(shape):
    return itertools.product(*map(range, shape))


def reference(items, shape):
    """`items`: a tuple of ("int", i), ("slice", start, stop, step), ("none",), ("ellipsis",), ("bool", b),
    ("index", nested list of ints, its shape) and ("mask", nested list of bools, its shape). At most one Ellipsis.
    """
    takes = {"int": lambda k: 1, "slice": lambda k: 1, "index": lambda k: 1, "mask": lambda k: len(k[2])}
    used = sum(takes[k[0]](k) for k in items if k[0] in takes)
    if used > len(shape):
        raise Rejected(IndexError)
    if not any(k[0] == "ellipsis" for k in items):
        items = (*items, ("ellipsis",))

    # Each source dimension ends up fixed, or running along an axis of the result, or read off an index.
    fixed = {}
    axes = []  # of the basic part, in order: the list of source positions, and the source dimension (None: a new axis)
    groups = []  # per index: where among `axes`, its shape, a function from coordinate to position, source dimension
    dim = 0
    for k in items:
        what = k[0]
        if what == "int":
            n = shape[dim]
            if not -n <= k[1] < n:
                raise Rejected(IndexError)
            fixed[dim] = k[1] % n
            dim += 1
        elif what == "slice":
            if k[3] is not None and k[3] <= 0:
                raise Rejected(ValueError)
            axes.append((list(range(shape[dim]))[k[1] : k[2] : k[3]], dim))
            dim += 1
        elif what == "none":
            axes.append(([0], None))
        elif what == "ellipsis":
            for _ in range(len(shape) - used):
                axes.append((list(range(shape[dim])), dim))
                dim += 1
        elif what == "bool":
            groups.append((len(axes), (1,) if k[1] else (0,), None, None))
            axes.append(None)
        elif what == "index":
            groups.append((len(axes), k[2], lambda c, data=k[1]: at(data, c), dim))
            axes.append(None)
            dim += 1
        else:
            data, size = k[1], k[2]
            if size != tuple(shape[dim : dim + len(size)]):
                raise Rejected(IndexError)
            hits = [c for c in coordinates(size) if at(data, c)]
            for j in range(len(size)):
                groups.append((len(axes), (len(hits),), lambda c, hits=hits, j=j: hits[c[0]][j], dim))
                axes.append(None)
                dim += 1

    joint = ()
    for _, size, _, _ in groups:
        rank = max(len(joint), len(size))
        left, right = (1,) * (rank - len(joint)) + joint, (1,) * (rank - len(size)) + size
        if any(a != b and a != 1 and b != 1 for a, b in zip(left, right)):
            raise Rejected(IndexError)
        joint = tuple(b if a == 1 else a for a, b in zip(left, right))

    places = [g[0] for g in groups]
    adjacent = places == list(range(places[0], places[0] + len(places))) if places else True
    plain = [(i, a) for i, a in enumerate(axes) if a is not None]
    lead = len([i for i, _ in plain if i < places[0]]) if groups and adjacent else 0
    before, after = [a for _, a in plain[:lead]], [a for _, a in plain[lead:]]
    out_shape = (*(len(a[0]) for a in before), *joint, *(len(a[0]) for a in after))

    # An index into a dimension of no elements is an error if it asks for anything at all.
    for _, _, read, source in groups:
        if read is not None and 0 not in joint and shape[source] == 0:
            raise Rejected(IndexError)

    out = []
    for c in coordinates(out_shape):
        where = dict(fixed)
        head, middle, tail = c[:lead], c[lead : lead + len(joint)], c[lead + len(joint) :]
        for (positions, source), i in zip([*before, *after], (*head, *tail)):
            if source is not None:
                where[source] = positions[i]
        for _, size, read, source in groups:
            if read is None:
                continue
            own = middle[len(middle) - len(size) :]
            i = read(tuple(0 if n == 1 else i for i, n in zip(own, size)))
            if not -shape[source] <= i < shape[source]:
                raise Rejected(IndexError)
            where[source] = i % shape[source]
        out.append(tuple(where[d] for d in range(len(shape))))
    return out_shape, out
