"""Matrix products."""

from __future__ import annotations

from framework.dispatch.registry import T, attach, op
from framework.dispatch.schema import Num


def _matrices(input, other):
    a, b = tuple(input.shape), tuple(other.shape)
    if not a or not b:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {len(a)}D and {len(b)}D")
    if input.dtype is not other.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {input.dtype} != {other.dtype}")
    if a[-1] != b[-2 if len(b) > 1 else 0]:
        m, n = (1, a[0]) if len(a) == 1 else a[-2:], (b[0], 1) if len(b) == 1 else b[-2:]
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({m[0]}x{m[1]} and {n[0]}x{n[1]}); matmul got {list(a)} and {list(b)}")
    from framework.core.shape import broadcast_shapes

    broadcast_shapes([a[:-2], b[:-2]], "matmul batch")


def _batch(fn, size, flags, args):
    rank = max(a.ndim - f for a, f in zip(args, flags, strict=True))

    def pad(a):
        return T.reshape(a, (size, *[1] * (rank - a.ndim + 1), *a.shape[1:]))

    return fn(*[pad(a) if f else a for a, f in zip(args, flags, strict=True)])


def _vectors(input, other):
    """A product with a vector is one with a matrix of one row or column; other ranks are the op's own."""
    a, b = getattr(input, "ndim", 2), getattr(other, "ndim", 2)
    if a > 1 and b > 1 or not a or not b:
        return NotImplemented
    _matrices(input, other)
    if a == 1:
        input = T.unsqueeze(input, (0,))
    if b == 1:
        other = T.unsqueeze(other, (1,))
    out = matmul(input, other)
    if b == 1:
        out = T.squeeze(out, (out.ndim - 1,))
    return T.squeeze(out, (out.ndim - (1 if b == 1 else 2),)) if a == 1 else out


@op(opaque=True, linear="each", batch=_batch, spaces=("", "linalg"), accept="iufc", check=_matrices, rewrite=_vectors,
    when="len(a_input.shape) > 1 and len(a_other.shape) > 1",
    vjp=(lambda xp, g, other: xp.matmul(g, xp.conj(xp.mT(other))), lambda xp, g, input: xp.matmul(xp.conj(xp.mT(input)), g)))  # fmt: skip
def matmul(xp, input: Num, other: Num):
    """The matrix product by NumPy's rules: vectors, matrices, stacks of matrices that broadcast."""
    return xp.matmul(input, other)


attach(__matmul__=matmul, __rmatmul__=lambda self, other: matmul(other, self))
