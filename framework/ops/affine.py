"""Affine maps of the last dimension: `linear` and `bilinear`."""

from __future__ import annotations

from math import prod

from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num


def _rows(xp, x):
    """x as a matrix: all dimensions but the last taken as one."""
    return x if x.ndim == 2 else xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


def _fits(input, weight, bias=None):
    a, w = tuple(input.shape), tuple(weight.shape)
    if len(w) != 2 or not a:
        raise RuntimeError(f"linear: weight must be a matrix and input at least 1D, got shapes {list(w)} and {list(a)}")
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not input.dtype:
            raise RuntimeError(
                f"mat1 and mat2 must have the same dtype, but got {input.dtype} and {other.dtype} ({name} of linear)"
            )
    if a[-1] != w[1]:
        rows = prod(a[:-1])
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a[-1]} and {w[1]}x{w[0]}): linear got an input of "
            f"shape {list(a)} and a weight of shape {list(w)}"
        )
    if bias is not None and bias.ndim == 1 and bias.shape[0] not in (1, w[0]):
        raise RuntimeError(
            f"The expanded size of the tensor ({w[0]}) must match the existing size ({bias.shape[0]}): bias of linear"
        )


def _input_vjp(xp, g, weight, shape):
    grad = xp.matmul(_rows(xp, g), xp.conj(weight)) if g.ndim > 1 else xp.matmul(g, xp.conj(weight))
    return xp.reshape(grad, shape) if len(shape) != 2 else grad


def _weight_vjp(xp, g, input):
    if g.ndim == 1:
        g, input = xp.unsqueeze(g, (0,)), xp.unsqueeze(input, (0,))
    return xp.matmul(xp.mT(_rows(xp, g)), xp.conj(_rows(xp, input)))


def _product(xp, input, weight):
    if input.ndim <= 2:
        return xp.matmul(input, xp.mT(weight))
    return xp.reshape(xp.matmul(_rows(xp, input), xp.mT(weight)), (*input.shape[:-1], weight.shape[0]))


@op(spaces=(), accept="iufc", linear="each", check=_fits, vjp=(_input_vjp, _weight_vjp))
def linear_map(xp, input: Num, weight: Num):
    """input times weight transposed, on the last dimension."""
    return _product(xp, input, weight)


@op(
    spaces=(), accept="iufc", check=_fits, vjp=(_input_vjp, _weight_vjp, lambda g: g)
)  # the engine sums g over the rows
def affine_map(xp, input: Num, weight: Num, bias: Num):
    """input times weight transposed, on the last dimension, plus bias."""
    return _product(xp, input, weight) + bias


@op(composite=True, spaces=("nn.functional",), method=False)
def linear(input: Num, weight: Num, bias: Num = None):
    """input W^T + b on the last dimension: (*, in) to (*, out), weight (out, in), bias (out) or None; a weight (in)
    gives (*).

    RuntimeError for other shapes and mixed dtypes.
    """
    if weight.ndim == 1:
        out = T.matmul(input, weight)
        return out if bias is None else out + bias
    return linear_map(input, weight) if bias is None else affine_map(input, weight, bias)


@op(composite=True, spaces=("", "nn.functional"), method=False)
def bilinear(input1: Num, input2: Num, weight: Num, bias: Num = None):
    """x1^T A_k x2 + b_k: (*, in1) and (*, in2) to (*, out), weight (out, in1, in2), bias (out) or None."""
    outs, in1, in2 = weight.shape
    lead = tuple(input1.shape[:-1])
    if tuple(input2.shape[:-1]) != lead:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    for name, x, size in (("input1", input1, in1), ("input2", input2, in2)):
        if x.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {x.shape[-1]} but expected {size}"
            )
    if bias is not None and tuple(bias.shape) != (outs,):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected [{outs}]"
        )
    rows = T.matmul(input1.reshape((-1, in1)), weight.permute((1, 0, 2)).reshape((in1, outs * in2))).reshape(
        (-1, outs, in2)
    )
    out = (rows * T.unsqueeze(input2.reshape((-1, in2)), (1,))).sum(-1).reshape((*lead, outs))
    return out if bias is None else out + bias
