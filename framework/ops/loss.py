"""Losses between an input and a target of its shape. Those over classes are in `classes`."""

from __future__ import annotations

import warnings
from math import log, pi

from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Num

FUNCTIONAL = {"composite": True, "spaces": ("nn.functional",), "method": False}

# ---------------------------------------------------------------- reductions


def reduction_of(reduction, size_average=None, reduce=None):
    """The name of the reduction, also from the two older arguments; ValueError for one that does not exist."""
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            stacklevel=4,
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(loss, reduction):
    """The loss of every element, their mean or their sum."""
    return loss if reduction == "none" else T.mean(loss) if reduction == "mean" else T.sum(loss)


def _weighted(loss, weight, input, reduction, mean_of_weights):
    if weight is None:
        return reduced(loss, reduction)
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    return T.sum(loss) / T.sum(weight) if reduction == "mean" and mean_of_weights else reduced(loss, reduction)


def _same_size(name, input, target):
    if tuple(target.shape) != tuple(input.shape):
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            f"likely lead to incorrect results due to broadcasting. Please ensure they have the same size. ({name})",
            stacklevel=4,
        )


# ---------------------------------------------------------------- distances


@op(**FUNCTIONAL)
def mse_loss(input: Num, target: Num, size_average=None, reduce=None, reduction="mean", weight=None):
    """(input - target)^2; with `weight` the mean is over the weights."""
    _same_size("mse_loss", input, target)
    return _weighted(T.square(input - target), weight, input, reduction_of(reduction, size_average, reduce), True)


@op(**FUNCTIONAL)
def l1_loss(input: Num, target: Num, size_average=None, reduce=None, reduction="mean", weight=None):
    """|input - target|; with `weight` the mean is over the weights."""
    _same_size("l1_loss", input, target)
    return _weighted(T.abs(input - target), weight, input, reduction_of(reduction, size_average, reduce), True)


def _signed(xp, x, limit):
    """x kept within [-limit, limit]: the derivative of Huber's loss."""
    return xp.minimum(xp.maximum(x, -limit), limit)


@op(elementwise=True, spaces=(), accept="f", deriv=(lambda xp, input, delta: _signed(xp, input, delta),))
def huber(xp, input: Num, delta):
    """input^2 / 2 within delta of 0, and in a line beyond: delta (|input| - delta / 2)."""
    size = xp.abs(input)
    near = xp.minimum(size, delta)
    return near * near * 0.5 + (size - near) * delta


@op(**FUNCTIONAL)
def smooth_l1_loss(input: Num, target: Num, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """d^2 / (2 beta) where |d| < beta, else |d| - beta / 2; d = input - target. RuntimeError for a negative beta."""
    _same_size("smooth_l1_loss", input, target)
    reduction = reduction_of(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    loss = T.abs(input - target) if beta == 0 else huber(input - target, beta) / beta
    return reduced(loss, reduction)


@op(**FUNCTIONAL)
def huber_loss(input: Num, target: Num, reduction="mean", delta=1.0, weight=None):
    """d^2 / 2 where |d| < delta, else delta (|d| - delta / 2); d = input - target (Huber 1964). RuntimeError unless
    delta > 0.
    """
    _same_size("huber_loss", input, target)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    return _weighted(huber(input - target, delta), weight, input, reduction_of(reduction), False)


# ---------------------------------------------------------------- likelihoods


@op(**FUNCTIONAL)
def kl_div(input: Num, target: Num, size_average=None, reduce=None, reduction="mean", log_target=False):
    """target (log(target) - input), input a log-probability; with `log_target` the target, too. Zeros of the target
    count as 0.

    The reduction "batchmean" divides the sum by the first size.
    """
    if size_average is None and reduce is None and reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' "
            "divides only by the batch size, and aligns with the KL div math definition.",
            stacklevel=3,
        )
    per_batch = reduction == "batchmean"
    reduction = reduction_of("sum" if per_batch else reduction, size_average, reduce)
    if log_target:
        loss = T.exp(target) * (target - input)
    else:
        empty = T.eq(target, 0)  # 0 log 0 is 0; the logarithm must not see the zero, or its gradient is nan
        loss = target * T.log(T.where(empty, T.full((), 1, target), target)) - target * input
    loss = reduced(loss, reduction)
    return loss / input.shape[0] if per_batch and input.ndim else loss


@op(elementwise=True, spaces=(), accept="f", vjp=(
    lambda xp, g, input, target: g * ((input - target) / xp.maximum((1 - input) * input, 1e-12)),
    lambda xp, g, input: g * (xp.maximum(xp.log1p(-input), -100.0) - xp.maximum(xp.log(input), -100.0))))  # fmt: skip
def binary_entropy(xp, input: Num, target: Num):
    """-(target log(input) + (1 - target) log(1 - input)), each logarithm at least -100."""
    return (target - 1) * xp.maximum(xp.log1p(-input), -100.0) - target * xp.maximum(xp.log(input), -100.0)


@op(**FUNCTIONAL)
def binary_cross_entropy(input: Num, target: Num, weight: Num = None, size_average=None, reduce=None, reduction="mean"):
    """-weight (target log(input) + (1 - target) log(1 - input)), each logarithm at least -100.

    RuntimeError for an input outside [0, 1], ValueError for a target of another size.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    inside = input.detach()
    if input.level is None and bool(T.any((inside < 0) | (inside > 1))):
        raise RuntimeError("all elements of input should be between 0 and 1 (binary_cross_entropy)")
    loss = binary_entropy(input, target)
    return reduced(loss if weight is None else loss * weight, reduction)


@op(composite=True, spaces=("nn.functional", ""), method=False)
def binary_cross_entropy_with_logits(
    input: Num,
    target: Num,
    weight: Num = None,
    size_average=None,
    reduce=None,
    reduction="mean",
    pos_weight: Num = None,
):
    """`binary_cross_entropy` of sigmoid(input) without its overflow; `pos_weight` weighs the term of the target.

    ValueError for a target of another size.
    """
    reduction = _reduction(reduction, size_average, reduce)
    if tuple(target.shape) != tuple(input.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    if pos_weight is None:
        loss = (1 - target) * input - T.logsigmoid(input)
    else:
        loss = (1 - target) * input - ((pos_weight - 1) * target + 1) * T.logsigmoid(input)
    return reduced(loss if weight is None else loss * weight, reduction)


def _reduction(reduction, size_average, reduce):
    """The reduction's name; the function that `torch` itself shows takes PyTorch's numbers for them, too."""
    if type(reduction) is int:
        reduction = ("none", "mean", "sum")[reduction]
    return reduction_of(reduction, size_average, reduce)


@op(composite=True, spaces=("nn.functional", ""), method=False)
def poisson_nll_loss(
    input: Num, target: Num, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """exp(input) - target input, or without `log_input` input - target log(input + eps); `full` adds Stirling's
    approximation target log(target) - target + log(2 pi target) / 2 where target > 1."""
    reduction = _reduction(reduction, size_average, reduce)
    loss = T.exp(input) - target * input if log_input else input - target * T.log(input + eps)
    if full:
        large = target > 1
        safe = T.where(large, target, T.full((), 1, target))
        stirling = safe * T.log(safe) - safe + 0.5 * T.log(2 * pi * safe)
        loss = loss + T.where(large, stirling, T.full((), 0, stirling))
    return reduced(loss, reduction)


@op(**FUNCTIONAL)
def gaussian_nll_loss(input: Num, target: Num, var, full=False, eps=1e-6, reduction="mean"):
    """(log(v) + (input - target)^2 / v) / 2, v = max(var, eps); `full` adds log(2 pi) / 2. The gradient of var passes
    the maximum.

    `var` has the input's shape, that shape without its last dimension or with one dimension of size 1, or is a number.
    ValueError for other shapes and negative entries.
    """
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid")
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = T.full(tuple(input.shape), var, T.like(input))
    elif var.level is None and bool(T.any(var.detach() < 0)):
        raise ValueError("var has negative entry/entries")
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = T.unsqueeze(var, (var.ndim,))
        elif input.ndim != var.ndim or [n for m, n in zip(input.shape, var.shape) if m != n] != [1]:
            raise ValueError("var is of incorrect size")
    low = var.detach()
    var = var + (T.clip(low, eps, None) - low)  # the value of the maximum, with the gradient of var
    loss = 0.5 * (T.log(var) + T.square(input - target) / var)
    return reduced(loss + 0.5 * log(2 * pi) if full else loss, reduction)


# ---------------------------------------------------------------- margins


def _positive(x):
    return T.relu(x)


@op(composite=True, spaces=("nn.functional", ""), method=False)
def hinge_embedding_loss(input: Num, target: Num, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """input where target = 1, max(0, margin - input) where target = -1; both where it is neither."""
    reduction = _reduction(reduction, size_average, reduce)
    none = T.full((), 0, input)
    away = T.where(T.ne(target, 1), _positive(margin - input), none)
    return reduced(away + T.where(T.ne(target, -1), input, none), reduction)


@op(**FUNCTIONAL)
def soft_margin_loss(input: Num, target: Num, size_average=None, reduce=None, reduction="mean"):
    """log(1 + exp(-target input))."""
    return reduced(-T.logsigmoid(target * input), reduction_of(reduction, size_average, reduce))


@op(composite=True, spaces=("nn.functional", ""), method=False)
def margin_ranking_loss(
    input1: Num, input2: Num, target: Num, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """max(0, -target (input1 - input2) + margin). RuntimeError for different numbers of dimensions."""
    reduction = _reduction(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: "
                           f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} ")  # fmt: skip
    return reduced(_positive(-target * (input1 - input2) + margin), reduction)


@op(composite=True, spaces=("nn.functional", ""), method=False)
def cosine_embedding_loss(
    input1: Num, input2: Num, target: Num, margin=0, size_average=None, reduce=None, reduction="mean"
):
    """1 - cos where target = 1, max(0, cos - margin) where target = -1, 0 elsewhere; cos the cosine of the angle
    between the vectors along the last dimension. RuntimeError for shapes that do not fit."""
    reduction = _reduction(reduction, size_average, reduce)
    if target.ndim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported (cosine_embedding_loss)")
    if input1.ndim != target.ndim + 1 or input2.ndim != target.ndim + 1:
        kind = (
            "1D target tensor expects 2D input tensors" if target.ndim else "0D target tensor expects 1D input tensors"
        )
        raise RuntimeError(f"{kind}, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}.")
    last = (target.ndim,)
    tiny = 1e-12
    size1, size2 = T.sum(input1 * input1, last) + tiny, T.sum(input2 * input2, last) + tiny
    cosine = T.sum(input1 * input2, last) / T.sqrt(size1 * size2)
    none = T.full((), 0, cosine)
    loss = T.where(T.eq(target, 1), 1 - cosine, none) + T.where(T.eq(target, -1), _positive(cosine - margin), none)
    return reduced(loss, reduction)


@op(**FUNCTIONAL)
def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin) for any distance; with `swap` the smaller of the
    distances to the negative. ValueError for other reductions and unless margin > 0, RuntimeError for different numbers
    of dimensions."""
    reduction = reduction_of(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )
    distance = distance_function or T.pairwise_distance
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = T.minimum(far, distance(positive, negative))
    return reduced(_positive(margin + near - far), reduction)


@op(composite=True, spaces=("nn.functional", ""), method=False)
def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """`triplet_margin_with_distance_loss` with the `p`-norm of the difference plus eps."""
    reduction = _reduction(reduction, size_average, reduce)
    return triplet_margin_with_distance_loss(
        anchor,
        positive,
        negative,
        margin=margin,
        swap=swap,
        reduction=reduction,
        distance_function=lambda a, b: T.pairwise_distance(a, b, p, eps),
    )
