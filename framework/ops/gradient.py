"""Numerical gradients of samples."""

from __future__ import annotations

from framework.core.shape import wrap_dims
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num
from framework.ops.scan import part


def _spacing_of(spacing, dims, given):
    """One spacing a dimension: a number, or a tensor of coordinates."""
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, (tuple, list)):
        if len(spacing) != len(dims):
            where = (
                f"'self.dim() = {len(dims)}', since dim argument was not given"
                if not given
                else f"the dim argument, {len(dims)}"
            )
            raise RuntimeError(
                f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to {where}, "
                f"but got a list of length {len(spacing)}"
            )
        return list(spacing)
    return [spacing] * len(dims)


def _along(x, spacing, dim, edge_order):
    """Central differences of second order inside, one-sided ones of `edge_order` at the ends."""
    n = x.shape[dim]
    at = lambda i, j: part(T, x, dim, i, j)
    if isinstance(spacing, Tensor):
        if spacing.ndim != 1 or spacing.shape[0] != n:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have the same length as the corresponding "
                f"dimension, but got {list(spacing.shape)} for a dimension of size {n}"
            )
        shape = tuple([-1 if d == dim else 1 for d in range(x.ndim)])
        h = T.reshape(spacing[1:] - spacing[:-1], shape)
        before, after = part(T, h, dim, 0, n - 2), part(T, h, dim, 1, n - 1)
        first, second, last, second_last = [
            part(T, h, dim, i, i + 1) for i in (0, 1 if n > 2 else 0, n - 2, n - 3 if n > 2 else 0)
        ]
    else:
        before = after = first = second = last = second_last = spacing
    span = before + after
    inner = (
        at(2, n) * (before / (after * span))
        + at(1, n - 1) * ((after - before) / (after * before))
        - at(0, n - 2) * (after / (before * span))
    )
    if edge_order == 1:
        start = (at(1, 2) - at(0, 1)) / first
        end = (at(n - 1, n) - at(n - 2, n - 1)) / last
    else:
        a, b = first, second
        start = (
            at(0, 1) * (-(2 * a + b) / (a * (a + b))) + at(1, 2) * ((a + b) / (a * b)) - at(2, 3) * (a / (b * (a + b)))
        )
        a, b = second_last, last
        end = (
            at(n - 3, n - 2) * (b / (a * (a + b)))
            - at(n - 2, n - 1) * ((a + b) / (a * b))
            + at(n - 1, n) * ((2 * b + a) / (b * (a + b)))
        )
    return T.cat([start, inner, end], dim)


@op(composite=True, method=False)
def gradient(input: Num, *, spacing=None, dim=None, edge_order=1):
    """The numerical gradient of samples along each of `dim` (all by default), as a tuple: second order inside,
    `edge_order` at the ends.

    spacing: the distance of neighbours, one number for all dimensions or one each, or a vector of coordinates each.
    """
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = wrap_dims(dim, input.ndim)
    spacings = _spacing_of(spacing, dims, dim is not None)
    for d in dims:
        if input.shape[d] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = input if input.dtype.category > 1 else T.mul(input, 1.0)
    return tuple([_along(x, s, d, edge_order) for s, d in zip(spacings, dims, strict=True)])
