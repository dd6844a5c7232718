"""The cross entropy of an affine map of the input."""

from __future__ import annotations

from math import prod

from framework.dispatch.registry import PUBLIC, T, op
from framework.dispatch.schema import Num


def _check(input, linear_weight, linear_bias):
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim} (linear_cross_entropy)")
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim} (linear_cross_entropy)"
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {input.shape[-1]} and "
            f"{linear_weight.shape[-1]}, respectively (linear_cross_entropy)"
        )
    wanted = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != wanted:
        raise RuntimeError(
            f"expected linear_bias shape {wanted}, got {tuple(linear_bias.shape)} (linear_cross_entropy)"
        )
    if linear_weight.ndim > 2 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)} (linear_cross_entropy)"
        )


@op(composite=True, spaces=("nn.functional",), method=False)
def linear_cross_entropy(
    input: Num,
    linear_weight: Num,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """`cross_entropy` of the logits W x + b: input (N, in_features) or (in_features), linear_weight (C, *,
    in_features), bias (C, *).

    RuntimeError for shapes that do not fit, and for `ignore_index` with a target of probabilities; NotImplementedError
    for `options`: the logits are always computed at once.
    """
    if options is not None:
        raise NotImplementedError(
            "linear_cross_entropy: options are for computing the logits in pieces, which is not implemented"
        )
    _check(input, linear_weight, linear_bias)
    classes = tuple(linear_weight.shape[:-1])
    shape = (*input.shape[:-1], *classes)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities (linear_cross_entropy)")
    if len(classes) > 1:
        linear_weight = T.reshape(linear_weight, (prod(classes), linear_weight.shape[-1]))
        linear_bias = None if linear_bias is None else T.reshape(linear_bias, (prod(classes),))
    functional = PUBLIC["nn.functional"]
    logits = T.reshape(functional["linear"](input, linear_weight, linear_bias), shape)
    return functional["cross_entropy"](
        logits, target, weight=weight, ignore_index=-100 if ignore_index is None else ignore_index, reduction=reduction,
        label_smoothing=label_smoothing,
    )  # fmt: skip
