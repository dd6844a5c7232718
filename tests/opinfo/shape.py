"""Rows of `framework/ops/shape.py`, `split.py`, `layout.py`, `stacks.py`."""

import numpy as np

from . import OpInfo, Sample
from .view import _of

FLOATS = ("float64", "float32", "bfloat16", "complex128", "int64", "bool")


def view(name, samples, reference, **fields):
    """A row for an op that only moves elements."""
    return OpInfo(name, samples, reference, **{"dtypes": FLOATS, "out": False} | fields)


def zeros(*shape):
    return np.zeros(shape)


def _parts(f):
    return lambda *args, **kwargs: [np.asarray(a) for a in f(*args, **kwargs)]


def _split(x, sizes, dim=0):
    if isinstance(sizes, int):
        sizes = [min(sizes, x.shape[dim] - i) for i in range(0, x.shape[dim], sizes)]
    return np.split(x, np.cumsum(sizes)[:-1], dim)


def _chunk(x, chunks, dim=0):
    return _split(x, -(-x.shape[dim] // chunks), dim)


def _many(*shapes):
    def samples(draw):
        for several in shapes:
            yield Sample(tuple([draw(*s) for s in several]))

    return samples


def _like(shape, other):
    """A tensor, and another that only its shape matters of."""
    return lambda draw: [Sample((draw(*shape), np.zeros(other, np.int64)))]


def _listed(*shapes):
    def samples(draw):
        for several in shapes:
            yield Sample(([draw(*s) for s in several],))

    return samples


def _as_strided(x, size, stride, offset=0):
    flat = np.ascontiguousarray(x).reshape(-1)
    at = np.full(size, offset)
    for d, (n, s) in enumerate(zip(size, stride, strict=True)):
        at += (np.arange(n) * s).reshape([-1 if i == d else 1 for i in range(len(size))])
    return flat[at]


def _strided_put(g, count, stride, offset):
    out = np.zeros(count, g.dtype)
    for at in np.ndindex(g.shape):
        out[offset + int(np.dot(at, stride))] += g[at]
    return out


def _windows(x, dim, size, step):
    return np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, size, dim), dim, dim)[
        (slice(None),) * dim + (slice(None, None, step),)
    ]


def _windows_put(g, dim, length, step):
    out = np.zeros((*g.shape[:dim], length, *g.shape[dim + 1 : -1]), g.dtype)
    for i in range(g.shape[dim]):
        for k in range(g.shape[-1]):
            out[(slice(None),) * dim + (i * step + k,)] += g[(slice(None),) * dim + (i, ..., k)]
    return out


def _diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    for i in range(x.shape[-1]):
        out[..., i + max(-offset, 0), i + max(offset, 0)] = x[..., i]
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


def _diagonal_put(g, size, offset, dim1, dim2):
    out = np.zeros(size, g.dtype)
    moved = np.moveaxis(out, (dim1, dim2), (-2, -1))
    for i in range(g.shape[-1]):
        moved[..., i + max(-offset, 0), i + max(offset, 0)] = g[..., i]
    return out


def _block_diag(*blocks):
    blocks = [np.atleast_2d(b) for b in blocks]
    out = np.zeros(np.sum([b.shape for b in blocks], 0), blocks[0].dtype)
    i = j = 0
    for b in blocks:
        out[i : i + b.shape[0], j : j + b.shape[1]] = b
        i, j = i + b.shape[0], j + b.shape[1]
    return out


def _atleast_3d(x):
    return x.reshape([1, 1, 1] if x.ndim == 0 else [1, x.size, 1] if x.ndim == 1 else [*x.shape, 1][: max(x.ndim, 3)])


STRIDED = ((2, 3), (2, 2), (1, 2), 1, ((2, 3), (3, 1), 0, 6, False))
EXPANDED = ((2, 3), (2, 2), (3, 1))

ROWS = [
    # views
    view(
        "Tensor.view",
        _of(((2, 3), (3, 2)), ((2, 3), (-1,)), ((), (1, 1)), ((0, 3), (3, 0))),
        np.reshape,
        strided=False,
        errors=(((zeros(2, 3), (4,)), RuntimeError, "invalid for input of size 6"),),
    ),
    view(
        "_view",
        _of(
            ((2, 3), (3, 2)),
        ),
        np.reshape,
        strided=False,
    ),
    view("Tensor.view_as", _like((2, 3), (6,)), lambda a, b: a.reshape(b.shape), strided=False),
    view("Tensor.reshape_as", _like((2, 3), (3, 2)), lambda a, b: a.reshape(b.shape)),
    view("Tensor.expand_as", _like((1, 3), (2, 3)), lambda a, b: np.broadcast_to(a, b.shape)),
    view("broadcast_to", _of(((1, 3), (2, 3)), ((3,), (2, 2, 3))), np.broadcast_to),
    view(
        "flatten",
        _of(((2, 3, 4),), ((2, 3, 4), 1), ((2, 3, 4), 0, -2), ((),)),
        lambda x, start=0, end=-1: x.reshape([*x.shape[:start], -1, *x.shape[(end % x.ndim) + 1 if x.ndim else 1 :]]),
        errors=(
            ((zeros(2, 3), 1, 0), RuntimeError, "start_dim cannot come after"),
            ((zeros(2), 2), IndexError, "out of range"),
        ),
    ),
    view(
        "unflatten",
        _of(((2, 6), 1, (2, 3)), ((2, 6), -1, (-1, 2))),
        lambda x, dim, s: x.reshape(2, *s),
        errors=(((zeros(2, 3), 1, (2, 2)), RuntimeError, "don't multiply up to the size of dim 1"),),
    ),
    view("ravel", _of(((2, 3),), ((),)), np.ravel),
    *[
        view(
            n,
            _of(((2, 3), 0, 1), ((2, 3, 4), -1, 0), ((), 0, -1)),
            lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x,
            errors=(((zeros(2, 3), 0, 2), IndexError, "Dimension out of range"),),
        )
        for n in ("transpose", "swapaxes", "swapdims")
    ],
    view(
        "t",
        _of(((2, 3),), ((3,),), ((),)),
        np.transpose,
        errors=(((zeros(2, 2, 2),), RuntimeError, "2 dimensions, but self is 3D"),),
    ),
    view("adjoint", _of(((2, 3),), ((2, 3, 4),)), lambda x: np.conj(np.swapaxes(x, -1, -2)), dtypes=FLOATS[:-1]),
    *[
        view(
            n,
            _of(((2, 3, 4), 0, 2), ((2, 3, 4), (0, -1), (1, 0)), ((3,), 0, 0)),
            np.moveaxis,
            errors=(((zeros(2, 3), (0, 0), (0, 1)), RuntimeError, "repeated dim in `source`"),),
        )
        for n in ("movedim", "moveaxis")
    ],
    view(
        "squeeze",
        _of(((2, 1, 3, 1),), ((2, 1, 3), 1), ((2, 1, 3), 0), ((1, 2, 1), (0, -1)), ((),)),
        lambda x, dim=None: x.reshape(
            [
                n
                for d, n in enumerate(x.shape)
                if n > 1 or dim is not None and d not in [k % x.ndim for k in np.atleast_1d(dim)]
            ]
        ),
    ),
    view(
        "unsqueeze",
        _of(((2, 3), 1), ((2, 3), -1), ((), 0)),
        np.expand_dims,
        errors=(((zeros(2), 2 + 1), IndexError, "out of range"),),
    ),
    view(
        "Tensor.unfold",
        _of(((5, 3), 0, 2, 1), ((2, 7), -1, 3, 2), ((4,), 0, 4, 1)),
        lambda x, dim, size, step: _windows(x, dim % x.ndim, size, step),
        errors=(
            ((zeros(3), 0, 4, 1), RuntimeError, "maximum size"),
            ((zeros(3), 0, 1, 0), RuntimeError, "must be > 0"),
        ),
    ),
    view("_windows", _of(((5, 3), 0, 2, 1), ((7,), 0, 3, 2)), _windows),
    view("_windows_put", _of(((4, 3, 2), 0, 5, 1), ((3, 3), 0, 7, 2)), _windows_put, dtypes=FLOATS[:-1]),
    view(
        "as_strided",
        _of(((2, 3), (2, 2), (1, 2), 1), ((2, 3), (3, 2), (1, 1)), ((6,), (2,), (0,))),
        _as_strided,
        strided=False,
        errors=(
            ((zeros(2, 3), (3, 3), (3, 1)), RuntimeError, "out of bounds for storage"),
            ((zeros(3), (2,), (-1,)), RuntimeError, "Negative strides"),
        ),
    ),
    view(
        "_strided",
        _of(STRIDED),
        lambda x, size, stride, shift, geometry: _as_strided(x, size, stride, shift),
        strided=False,
    ),
    view("_strided_read", _of(((6,), (2, 2), (1, 2), 1), ((4,), (3, 2), (1, 0), 0)), _as_strided),
    view("_strided_put", _of(((2, 2), 6, (1, 2), 1), ((3, 2), 4, (1, 0), 0)), _strided_put, dtypes=FLOATS[:-1]),
    view(
        "_view_bytes",
        lambda draw: [Sample((np.arange(4.0), _dtype("int64")))],
        lambda x, d: x.view("int64"),
        dtypes=("float64",),
        grad=False,
    ),
    view("Tensor.contiguous", _of(((2, 3),), ((),)), np.array),
    view("_contiguous", _of(((2, 3), (1, 0)), ((2, 3, 4), (0, 2, 1))), lambda x, order: x),
    # cuts
    view(
        "split",
        _of(((5, 2), 2), ((2, 5), (1, 4), 1), ((2, 6), [2, 2, 2], -1)),
        _parts(_split),
        errors=(((zeros(3), (1, 1)), RuntimeError, "sum exactly to 3"), ((zeros(3), -1), RuntimeError, "non-negative")),
    ),
    view("split_with_sizes", _of(((5, 2), (2, 3)), ((2, 5), (0, 5), 1)), _parts(_split)),
    view(
        "chunk",
        _of(((5, 2), 4), ((2, 6), 3, 1)),
        _parts(_chunk),
        errors=(((zeros(3), 0), RuntimeError, "greater than 0"),),
    ),
    view(
        "tensor_split",
        _of(((5, 2), 3), ((2, 6), (1, 4), 1), ((3,), 5), ((4,), (-2, 9))),
        _parts(np.array_split),
        errors=(((zeros(3), 0), RuntimeError, "larger than 0"),),
    ),
    view(
        "hsplit",
        _of(((2, 6), 3), ((4,), (1,))),
        _parts(np.hsplit),
        errors=(((zeros(2, 3), 2), RuntimeError, "not divisible by"),),
    ),
    view(
        "vsplit",
        _of(((4, 2), 2), ((4, 1), (1, 2))),
        _parts(np.vsplit),
        errors=(((zeros(2), 2), RuntimeError, "at least 2 dimension"),),
    ),
    view("dsplit", _of(((1, 2, 4), 2), ((1, 2, 4), (3,))), _parts(np.dsplit)),
    view(
        "unbind",
        _of(((2, 3),), ((2, 3), -1)),
        lambda x, dim=0: list(np.moveaxis(x, dim, 0)),
        errors=(((zeros(),), IndexError, "no dimensions"),),
    ),
    # diagonals and triangles
    view(
        "diagonal",
        _of(((3, 4),), ((2, 3, 4), 1, 1, 2), ((3, 3), -1), ((3, 3, 2), 0, -1, 0)),
        np.diagonal,
        errors=(((zeros(2, 2), 0, 0, 0), RuntimeError, "cannot be identical"),),
    ),
    view(
        "_diagonal_put",
        _of(((3,), (3, 4), 0, 0, 1), ((2, 2), (2, 3, 4), 2, 1, 2), ((2, 2), (3, 2, 3), -1, 0, 2)),
        _diagonal_put,
    ),
    view(
        "diag", _of(((3,),), ((3,), -1), ((3, 4), 1)), np.diag, errors=(((zeros(2, 2, 2),), RuntimeError, "1D or 2D"),)
    ),
    view("diag_embed", _of(((2, 3),), ((2, 3), 1), ((2, 3), -1, 0, 2)), _diag_embed),
    view("diagflat", _of(((2, 2),), ((3,), 1)), np.diagflat),
    *[
        view(
            n,
            _of(((3, 4),), ((3, 4), 1), ((2, 3, 3), -1)),
            f,
            inplace=True,
            out=True,
            errors=(((zeros(3),), RuntimeError, "at least 2 dimensions"),),
        )
        for n, f in (("tril", np.tril), ("triu", np.triu))
    ],
    # several
    view("broadcast_tensors", _many(((2, 1), (3,))), _parts(np.broadcast_arrays)),
    view(
        "meshgrid",
        _many(((2,), (3,), ())),
        _parts(lambda *x: np.meshgrid(*x, indexing="ij")),
        errors=(((zeros(2, 2),), RuntimeError, "0D or 1D"),),
    ),
    view(
        "cartesian_prod",
        _many(((2,), (3,)), ((2,),)),
        lambda *x: np.stack(np.meshgrid(*x, indexing="ij"), -1).reshape(-1, len(x)) if len(x) > 1 else x[0],
    ),
    view("atleast_1d", _many(((),), ((2, 3),)), np.atleast_1d),
    view("atleast_2d", _many(((),), ((3,),), ((2, 3),)), np.atleast_2d),
    view("atleast_3d", _many(((),), ((3,),), ((2, 3),)), _atleast_3d),
    view("hstack", _listed(((2, 3), (2, 1)), ((2,), (3,))), np.hstack, errors=((([],), RuntimeError, "non-empty"),)),
    view("vstack", _listed(((2, 3), (1, 3)), ((3,), (3,))), np.vstack),
    view("dstack", _listed(((2, 3), (2, 3)), ((3,), (3,))), np.dstack),
    view("column_stack", _listed(((2, 3), (2,)), ((3,), (3,))), np.column_stack),
    view("block_diag", _many(((2, 3), (1, 2), (2,))), _block_diag),
]


def _dtype(name):
    import framework

    return getattr(framework, name)
