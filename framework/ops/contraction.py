"""Contractions: sums of products over dimensions of several tensors, each made of one matrix product a pair."""

from __future__ import annotations

from math import prod

from framework.core.promotion import c_type_name, scalar_type_name
from framework.core.shape import as_ints, wrap_dim
from framework.core.tensor import Tensor
from framework.dispatch.errors import not_a_tensor
from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num, Nums


# ---------------------------------------------------------------- the mechanism
def arranged(x, labels, wanted):
    """x, whose dimensions bear `labels`, with its dimensions in the order of `wanted`."""
    order = tuple([labels.index(n) for n in wanted])
    return x if order == tuple(range(len(order))) else T.permute(x, order)


def contract(left, l, right, r, kept):
    """The product of two tensors whose dimensions bear labels l and r, summed over those of both that are not in
    `kept`.

    Returns the tensor and its labels. Dimensions of one label have one size.
    """
    summed = [n for n in l if n in r and n not in kept]
    batch = [n for n in l if n in r and n in kept]
    rows, columns = [n for n in l if n not in r], [n for n in r if n not in l]
    labels = batch + rows + columns
    sizes = dict(zip(l, left.shape, strict=True)) | dict(zip(r, right.shape, strict=True))
    if not summed:
        left = T.reshape(arranged(left, l, batch + rows), tuple([sizes[n] for n in batch + rows] + [1] * len(columns)))
        right = T.reshape(
            arranged(right, r, batch + columns),
            tuple([sizes[n] for n in batch] + [1] * len(rows) + [sizes[n] for n in columns]),
        )
        return T.mul(left, right), labels
    lead, k = tuple([sizes[n] for n in batch]), prod([sizes[n] for n in summed])
    left = T.reshape(arranged(left, l, batch + rows + summed), (*lead, prod([sizes[n] for n in rows]), k))
    right = T.reshape(arranged(right, r, batch + summed + columns), (*lead, k, prod([sizes[n] for n in columns])))
    return T.reshape(T.matmul(left, right), tuple([sizes[n] for n in labels])), labels


# ---------------------------------------------------------------- tensordot
def _pairs(a, b, dims):
    """The dimensions of a and of b that are summed over."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return tuple(range(-dims, 0)), tuple(range(dims))
    if not isinstance(dims, (tuple, list)) or len(dims) != 2:
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two "
            f"lists, but got dims={dims}"
        )
    return as_ints(dims[0], "dims"), as_ints(dims[1], "dims")


@op(composite=True, method=False)
def tensordot(a: Num, b: Num, dims=2):
    """The sum of products over `dims`: a number, of the last dimensions of a and the first of b, or two lists of
    dimensions.

    A dimension of size 1 stands for its element repeated. RuntimeError for sizes that differ and for two dtypes.
    """
    left, right = _pairs(a, b, dims)
    if len(left) != len(right):
        raise RuntimeError(
            f"both dimension lists should have same length, got {list(left)} and {list(right)} (tensordot)"
        )
    if a.dtype is not b.dtype:
        raise RuntimeError(
            f"both inputs should have same dtype, got {c_type_name(a.dtype)} and {c_type_name(b.dtype)} (tensordot)"
        )
    l, r = [("a", d) for d in range(a.ndim)], [("b", d) for d in range(b.ndim)]
    for d, e in zip(left, right, strict=True):
        i, j = wrap_dim(d, a.ndim), wrap_dim(e, b.ndim)
        if l[i][0] == "both" or r[j][0] == "both":
            raise RuntimeError(f"dim {i if l[i][0] == 'both' else j} appears multiple times in the list of dims")
        if a.shape[i] == 1 != b.shape[j]:
            b = T.sum(b, (j,), True)
        elif b.shape[j] == 1 != a.shape[i]:
            a = T.sum(a, (i,), True)
        elif a.shape[i] != b.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {a.shape[i]} in dim {d} and second has size "
                f"{b.shape[j]} in dim {e}"
            )
        l[i] = r[j] = ("both", i)
    return contract(a, l, b, r, ())[0]


# ---------------------------------------------------------------- chains of matrices
def _parts(sizes):
    """Where best to split each run of matrices, the i-th of size sizes[i] x sizes[i + 1] (Cormen et al., Introduction
    to Algorithms).
    """
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )
    return split


def _chain(matrices):
    """The product of matrices in the order with the fewest multiplications."""
    return _product(matrices, _parts([m.shape[0] for m in matrices] + [matrices[-1].shape[1]]), 0, len(matrices) - 1)


def _product(matrices, split, i, j):
    """The product of matrices i to j; `split` says where each such product is cut in two."""
    if i == j:
        return matrices[i]
    k = split[i, j]
    return T.matmul(_product(matrices, split, i, k), _product(matrices, split, k + 1, j))


@op(composite=True, spaces=("linalg",), method=False)
def multi_dot(tensors: Nums):
    """The product of two or more matrices in the order with the fewest multiplications; the first may be a row vector,
    the last a column.

    RuntimeError for fewer, other ranks, sizes that do not fit, and several dtypes.
    """
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    for place, t in (("first", tensors[0]), ("last", tensors[-1])):
        if t.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {place} tensor must be 1D or 2D but got {t.ndim}D")
    row, column = tensors[0].ndim == 1, tensors[-1].ndim == 1
    matrices = list(tensors)
    if row:
        matrices[0] = T.unsqueeze(matrices[0], (0,))
    if column:
        matrices[-1] = T.unsqueeze(matrices[-1], (1,))
    for i, m in enumerate(matrices):
        if m.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {m.ndim}D")
        if m.dtype is not matrices[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{c_type_name(matrices[0].dtype)} and tensor {i} {c_type_name(m.dtype)}"
            )
        if m.backend is not matrices[0].backend:
            raise RuntimeError(
                f"multi_dot(): all tensors must be on the same device but tensor 0 is on {matrices[0].device} and "
                f"tensor {i} on {m.device}"
            )
        if i and matrices[i - 1].shape[1] != m.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1].shape)} and "
                f"{list(tensors[i].shape)} cannot be multiplied"
            )
    split = _parts([m.shape[0] for m in matrices] + [matrices[-1].shape[1]])
    out = _product(matrices, split, 0, count - 1)
    return T.squeeze(out, tuple([d for d, vector in enumerate((row, column)) if vector])) if row or column else out


@op(composite=True, method=False)
def chain_matmul(*matrices, out=None):
    """`linalg.multi_dot` of matrices given one by one; of one matrix, itself. RuntimeError for none."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for i, m in enumerate(matrices):
        if not isinstance(m, Tensor):
            not_a_tensor("chain_matmul", "matrices", i, m)
    return matrices[0] if len(matrices) == 1 else multi_dot(matrices, out=out)


@op(composite=True, spaces=("", "linalg"))
def matrix_power(input: Num, n):
    """The n-th power of (stacks of) square matrices, by repeated squaring; of the inverse for negative n, the identity
    for 0.

    TypeError for an n that is no integer, RuntimeError for matrices that are not square.
    """
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}")
    if input.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    rows, columns = input.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {columns} by {rows} matrices"
        )
    if n < 0:
        if input.dtype.category < 2:
            raise RuntimeError(
                f"linalg.inv: Expected a floating point or complex tensor as input. Got {scalar_type_name(input.dtype)}"
            )
        if "inv" not in PUBLIC["linalg"]:
            raise NotImplementedError("linalg.matrix_power: negative powers need linalg.inv, which is missing")
        input, n = PUBLIC["linalg"]["inv"](input), -n
    if n == 0:
        return T.clone(T.expand(PUBLIC[""]["eye"](rows, dtype=input.dtype, device=input.device), tuple(input.shape)))
    power = None
    while True:
        if n & 1:
            power = input if power is None else T.matmul(power, input)
        n >>= 1
        if not n:
            return power
        input = T.matmul(input, input)
