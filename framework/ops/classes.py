"""Losses over classes: cross-entropy, negative log-likelihood, margins."""

from __future__ import annotations

from math import prod

from backends.dtypes import int64, uint8
from framework.core.promotion import scalar_type_name
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Index, Num
from framework.ops.index_range import check_natural, natural
from framework.ops.loss import FUNCTIONAL, reduced, reduction_of

# ---------------------------------------------------------------- formulas, for each example


def _column(xp, target):
    return xp.unsqueeze(target, (1,))


def _put_back(xp, g, target, shape):
    return xp.scatter(xp.full(tuple(shape), 0, xp.like(g)), 1, _column(xp, target), _column(xp, g))


@op(spaces=(), linear="each", exact=True, vjp=(lambda xp, g, target, shape: _put_back(xp, g, target, shape),))
def picked(xp, input: Num, target: Index):
    """The element of each example at its class: input (N, C, *), target (N, *)."""
    return xp.squeeze(xp.gather(input, 1, _column(xp, target)), (1,))


def _softmax(xp, x):
    e = xp.exp(x - xp.amax(x, (1,), True))
    return e / xp.sum(e, (1,), True)


@op(spaces=(), accept="f", kernel=True, kernel_vjp=True,
    vjp=(lambda xp, g, input, target, shape: _softmax(xp, input) * _column(xp, g) - _put_back(xp, g, target, shape),))  # fmt: skip
def softmax_entropy(xp, input: Num, target: Index):
    """-log of the softmax of each example at its class: input (N, C, *), target (N, *)."""
    x = input - xp.amax(input, (1,), True)
    return xp.log(xp.sum(xp.exp(x), (1,), False)) - xp.squeeze(xp.gather(x, 1, _column(xp, target)), (1,))


# ---------------------------------------------------------------- targets


def _checked(name, input, target, weight):
    """Input (N, C, *) and target (N, *) of one example or many, and whether it was one."""
    if not input.ndim:
        raise ValueError(f"Expected 1 or more dimensions (got 0) ({name})")
    if target.dtype is not int64:
        if target.dtype is not uint8:
            raise RuntimeError(f"expected scalar type Long but found {scalar_type_name(target.dtype)} ({name}: target)")
        target = T.to_dtype(target, int64)
    alone = input.ndim == 1
    if alone:
        if target.ndim > 1 or target.numel() != 1:
            raise RuntimeError(
                f"0D target tensor expected for an input of one dimension, got shape {list(target.shape)} ({name})"
            )
        flat = target.ndim == 0
        input, target = T.unsqueeze(input, (0,)), T.unsqueeze(target, (0,)) if flat else target
    elif input.shape[0] != (target.shape[0] if target.ndim else 1):
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size "
                         f"({target.shape[0] if target.ndim else 1}). ({name})")  # fmt: skip
    elif input.ndim == 2 and target.ndim > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported ({name})")
    elif target.ndim == 0:
        target = T.unsqueeze(target, (0,))
    wanted = (input.shape[0], *input.shape[2:])
    if tuple(target.shape) != wanted:
        raise RuntimeError(f"Expected target size {list(wanted)}, got {list(target.shape)} ({name})")
    if weight is not None and tuple(weight.shape) != (input.shape[1],):
        raise RuntimeError(
            f"weight tensor should be defined either for all {input.shape[1]} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)} ({name})"
        )
    return input, target, alone


def _kept(name, target, classes, ignore_index):
    """(target with classes alone, which of them count or None for all). IndexError for a class that does not exist."""
    if not 0 <= ignore_index < classes and natural(target, classes):
        return target, None
    kept = T.ne(target, ignore_index)
    target = T.where(kept, target, 0)
    check_natural(
        target, classes, lambda i: IndexError(f"Target {i} is out of bounds. ({name}: there are {classes} classes)")
    )
    return target, kept


def _scale(input, target, kept, weight):
    """The weight of each example; None if all count alike."""
    if kept is not None:
        kept = T.astype(kept, input.dtype)
    if weight is None:
        return kept
    scale = T.index_select(weight, 0, target)
    return scale if kept is None else scale * kept


def _averaged(loss, scale, reduction):
    if scale is None:
        return reduced(loss, reduction)
    loss = loss * scale
    return T.sum(loss) / T.sum(scale) if reduction == "mean" else reduced(loss, reduction)


def _of_one(loss, alone, reduction):
    return T.squeeze(loss, (0,)) if alone and reduction == "none" else loss


# ---------------------------------------------------------------- likelihoods


@op(**FUNCTIONAL)
def nll_loss(
    input: Num, target: Index, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    """-weight[t] input[t] at the class t of each example: input (N, C, *) of log-probabilities and target (N, *), or
    (C) and ().

    The mean is over the weights; targets equal to `ignore_index` count for nothing. IndexError for a class that does
    not exist.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    input, target, alone = _checked("nll_loss", input, target, weight)
    target, kept = _kept("nll_loss", target, input.shape[1], ignore_index)
    loss = _averaged(-picked(input, target), _scale(input, target, kept, weight), reduction)
    return _of_one(loss, alone, reduction)


@op(**FUNCTIONAL)
def cross_entropy(
    input: Num,
    target: Index,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    """`nll_loss` of the log-softmax of the input over its classes (dimension 1).

    The target is classes, or probabilities of the input's shape. `label_smoothing` mixes the target with the uniform
    distribution.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    if input.shape == target.shape and target.dtype.is_floating_point:
        return _soft_cross_entropy(input, target, weight, reduction, label_smoothing)
    if target.dtype.is_floating_point:
        raise RuntimeError(
            f"expected scalar type Long but found {scalar_type_name(target.dtype)} (cross_entropy: a target of "
            f"probabilities must have the input's shape {list(input.shape)}, got {list(target.shape)})"
        )
    input, target, alone = _checked("cross_entropy", input, target, weight)
    classes = input.shape[1]
    target, kept = _kept("cross_entropy", target, classes, ignore_index)
    scale = _scale(input, target, kept, weight)
    if not label_smoothing:
        return _of_one(_averaged(softmax_entropy(input, target), scale, reduction), alone, reduction)
    log_p = T.log_softmax(input, 1)
    hard = _averaged(-picked(log_p, target), scale, reduction)
    soft = -T.sum(log_p if weight is None else log_p * _by_class(weight, input), (1,))
    if kept is not None:
        soft = soft * T.astype(kept, soft.dtype)
    if reduction == "mean":
        soft = T.mean(soft) if scale is None else T.sum(soft) / T.sum(scale)
    else:
        soft = reduced(soft, reduction)
    return _of_one(hard * (1 - label_smoothing) + soft * (label_smoothing / classes), alone, reduction)


def _by_class(weight, input):
    return T.reshape(weight, (input.shape[1],) + (1,) * (input.ndim - 2))


def _soft_cross_entropy(input, target, weight, reduction, label_smoothing):
    alone = input.ndim == 1
    if alone:
        input, target = T.unsqueeze(input, (0,)), T.unsqueeze(target, (0,))
    if weight is not None and tuple(weight.shape) != (input.shape[1],):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {input.shape[1]} classes or no classes "
            f"but got weight tensor of shape: {list(weight.shape)}"
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[1]
    product = T.log_softmax(input, 1) * target
    loss = -T.sum(product if weight is None else product * _by_class(weight, input), (1,))
    if reduction == "mean":
        return T.sum(loss) / (prod(input.shape) // input.shape[1])
    return _of_one(reduced(loss, reduction), alone, reduction)


# ---------------------------------------------------------------- margins


@op(**FUNCTIONAL)
def multi_margin_loss(
    input: Num, target: Index, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"
):
    """The sum over classes i other than t of max(0, margin - x[t] + x[i])^p weight[t] / C: (N, C) and (N), or (C) and
    ().

    ValueError unless p is 1 or 2.
    """
    reduction = reduction_of(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError("weight must be one-dimensional")
    if input.ndim not in (1, 2) or not input.shape[-1]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    alone = input.ndim == 1
    if alone:
        input = T.unsqueeze(input, (0,))
    rows, classes = input.shape
    if target.numel() != rows or target.ndim > 1:
        raise RuntimeError(
            f"inconsistent target size, expected [{rows}] but got {list(target.shape)} (multi_margin_loss)"
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(
            f"inconsistent weight size, expected {classes} but got {list(weight.shape)} (multi_margin_loss)"
        )
    if target.dtype is not int64:
        raise RuntimeError(
            f"expected scalar type Long but found {scalar_type_name(target.dtype)} (multi_margin_loss: target)"
        )
    alone_target = alone and not target.ndim
    target = T.reshape(target, (rows,))
    check_natural(target, classes, lambda i: RuntimeError(f"target out of range: {i} (multi_margin_loss)"))
    own = T.unsqueeze(picked(input, target), (1,))
    over = T.relu(margin - own + input)
    if p == 2:
        over = over * over
    if weight is not None:
        over = over * T.unsqueeze(T.index_select(weight, 0, target), (1,))
    others = T.ne(T.unsqueeze(target, (1,)), _class_numbers(classes, target))
    loss = T.sum(over * T.astype(others, over.dtype), (1,)) / classes
    return T.squeeze(loss, (0,)) if alone_target and reduction == "none" else reduced(loss, reduction)


def _class_numbers(classes, like):
    from framework.ops.creation import arange

    return arange(classes, device=like.device)


@op(**FUNCTIONAL)
def multilabel_margin_loss(input: Num, target: Index, size_average=None, reduce=None, reduction="mean"):
    """The sum over targets t and classes i that are none of max(0, 1 - (x[t] - x[i])) / C: (N, C) and (N, C), or (C)
    and (C); the targets of an example end at its first -1."""
    reduction = reduction_of(reduction, size_average, reduce)
    if input.ndim not in (1, 2) or not input.shape[-1]:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if tuple(target.shape) != tuple(input.shape):
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)} "
            "(multilabel_margin_loss)"
        )
    alone = input.ndim == 1
    if alone:
        input, target = T.unsqueeze(input, (0,)), T.unsqueeze(target, (0,))
    classes = input.shape[1]
    check_natural(
        target + 1, classes + 1, lambda i: RuntimeError(f"multilabel_margin_loss: target {i - 1} out of range")
    )
    numbers = _class_numbers(classes, target)
    live = numbers < T.amin(T.where(T.eq(target, -1), numbers, classes), (1,), True)  # before the first -1
    safe = T.where(live, target, 0)
    marks = T.unsqueeze(T.astype(live, input.dtype), (2,))
    named = T.eq(T.unsqueeze(safe, (2,)), numbers)  # (N, targets, classes)
    is_target = T.sum(T.astype(named, input.dtype) * marks, (1,)) > 0
    own = T.gather(input, 1, safe)
    over = T.relu(1 - T.unsqueeze(own, (2,)) + T.unsqueeze(input, (1,)))
    others = T.unsqueeze(T.astype(T.logical_not(is_target), input.dtype), (1,))
    loss = T.sum(over * marks * others, (1, 2)) / classes
    return _of_one(reduced(loss, reduction), alone, reduction)


@op(**FUNCTIONAL)
def multilabel_soft_margin_loss(
    input: Num, target: Num, weight: Num = None, size_average=None, reduce=None, reduction="mean"
):
    """-(target log(sigmoid(input)) + (1 - target) log(sigmoid(-input))) weight, averaged over the last dimension."""
    reduction = reduction_of(reduction, size_average, reduce)
    loss = -(target * T.logsigmoid(input) + (1 - target) * T.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduced(T.mean(loss, (input.ndim - 1,)), reduction)
