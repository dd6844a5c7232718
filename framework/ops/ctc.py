"""Connectionist temporal classification (Graves et al. 2006): the probability of a label sequence summed over all its
alignments.

States are the labels with a blank before, between and after them. Sums run forward and backward over time in
logarithms; LOW stands for log 0, so that no difference of infinities arises.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from backends.dtypes import int32, int64
from framework.core.host import to_host
from framework.core.tensor import Tensor
from framework.dispatch.registry import T, op
from framework.dispatch.schema import Index, Num
from framework.ops.index_range import from_host

LOW = -1e30


def _moved(xp, x, by):
    """x (N, states) with its columns moved by `by` places; LOW where nothing comes in."""
    fill = xp.full((x.shape[0], abs(by)), LOW, xp.like(x))
    if by > 0:
        return xp.cat([fill, xp.slice(x, (slice(None), slice(0, x.shape[1] - by)))], 1)
    return xp.cat([xp.slice(x, (slice(None), slice(-by, None))), fill], 1)


def _logsum(xp, parts):
    top = parts[0]
    for part in parts[1:]:
        top = xp.maximum(top, part)
    total = xp.exp(parts[0] - top)
    for part in parts[1:]:
        total = total + xp.exp(part - top)
    return top + xp.log(total)


def _logsum_of(xp, x):
    top = xp.amax(x, (1,), True)
    return xp.squeeze(top + xp.log(xp.sum(xp.exp(x - top), (1,), True)), (1,))


def _penalty(xp, allowed, like):
    return xp.where(allowed, xp.full((), 0, xp.like(like)), xp.full((), LOW, xp.like(like)))


def _setting(xp, log_probs, labels, skips, last, running):
    """(log-probabilities of states (T, N, states), penalties of skips, of ending; masks (T, N, 1))."""
    steps, batch = log_probs.shape[:2]
    states = labels.shape[1]
    index = xp.expand(xp.unsqueeze(labels, (0,)), (steps, batch, states))
    emitted = xp.maximum(xp.gather(log_probs, 2, index), xp.full((), LOW, xp.like(log_probs)))
    return emitted, _penalty(xp, skips, log_probs), _penalty(xp, last, log_probs), xp.unsqueeze(running, (2,))


def _forward(xp, emitted, skip, running):
    """The log-probabilities of each state at each step, over all ways to it; the last one standing once a sequence has
    ended.
    """
    batch, states = emitted.shape[1:]
    start = xp.full((batch, 1), 0, xp.like(emitted))
    a = xp.cat([start, xp.full((batch, states - 1), LOW, xp.like(emitted))], 1) if states > 1 else start
    found = []
    for t in range(emitted.shape[0]):
        parts = [a]
        if states > 1:
            parts.append(_moved(xp, a, 1))
        if states > 2:
            parts.append(_moved(xp, a, 2) + skip)
        a = xp.where(xp.slice(running, (t,)), _logsum(xp, parts) + xp.slice(emitted, (t,)), a)
        found.append(a)
    return found, a


def _backward(xp, emitted, skip, last, running):
    """The log-probabilities of the rest of a sequence, from each state at each step."""
    b, found, states = last, [], emitted.shape[2]
    for t in reversed(range(emitted.shape[0])):
        found.append(b)
        rest = xp.slice(emitted, (t,)) + b
        parts = [rest]
        if states > 1:
            parts.append(_moved(xp, rest, -1))
        if states > 2:
            parts.append(_moved(xp, rest + skip, -2))
        b = xp.where(xp.slice(running, (t,)), _logsum(xp, parts), b)
    return found[::-1]


def _vjp(xp, g, log_probs, labels, skips, last, running, zero_infinity):
    emitted, skip, end, going = _setting(xp, log_probs, labels, skips, last, running)
    alphas, final = _forward(xp, emitted, skip, going)
    betas = _backward(xp, emitted, skip, end, going)
    total = xp.unsqueeze(_logsum_of(xp, final + end), (1,))
    steps, batch, states = emitted.shape
    joint = xp.cat([xp.unsqueeze(xp.exp(a + b - total), (0,)) for a, b in zip(alphas, betas, strict=True)], 0)
    index = xp.expand(xp.unsqueeze(labels, (0,)), (steps, batch, states))
    share = xp.scatter_add(xp.full(tuple(log_probs.shape), 0, xp.like(log_probs)), 2, index, joint)
    impossible = xp.unsqueeze(xp.le(total, LOW / 2), (0,))
    found = xp.where(
        impossible, xp.full((), 0 if zero_infinity else nan, xp.like(log_probs)), xp.exp(log_probs) - share
    )
    found = xp.where(going, found, xp.full((), 0, xp.like(log_probs)))
    return xp.unsqueeze(xp.unsqueeze(g, (0,)), (2,)) * found


@op(spaces=(), accept="f", batch="loop", vjp=(_vjp,))
def ctc_losses(xp, log_probs: Num, labels: Index, skips: Index, last: Index, running: Index, zero_infinity=False):
    """The loss (N) of each sequence. labels (N, states): the states' classes; skips, last (N, states): whether a state
    may follow the one two before, and may be the last; running (T, N): whether a sequence goes on at a step.

    The gradient is that through a log-softmax, of which `log_probs` must be the value: its sum over classes is 0 at
    each step.
    """
    emitted, skip, end, going = _setting(xp, log_probs, labels, skips, last, running)
    total = _logsum_of(xp, _forward(xp, emitted, skip, going)[1] + end)
    impossible = xp.le(total, LOW / 2)
    return xp.where(impossible, xp.full((), 0 if zero_infinity else inf, xp.like(total)), -total)


def _lengths(value, name, batch, most):
    if isinstance(value, Tensor):
        if value.dtype not in (int32, int64):
            raise TypeError(f"ctc_loss(): {name} must be integers, but got a tensor of {value.dtype}")
        value = to_host(value)
    found = np.asarray(value).reshape(-1)
    if found.size and found.dtype.kind not in "iu":
        raise TypeError(f"ctc_loss(): {name} must be integers, but got {value!r}")
    if len(found) != batch:
        raise RuntimeError(f"{name} must be of size batch_size {batch}, but got {len(found)} (ctc_loss)")
    if found.size and found.min() < 0:
        raise RuntimeError(f"Expected {name} to have value at least 0, but got value {found.min()} (ctc_loss)")
    if most is not None and found.size and found.max() > most:
        raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {found.max()} (ctc_loss)")
    return found.astype("int64")


def _padded(targets, lengths):
    """The targets (N, S), from that or from all of them in a row."""
    values = np.asarray(to_host(targets)).astype("int64")
    most = int(lengths.max(initial=0))
    if values.ndim == 2:
        if values.shape[0] != len(lengths) or values.shape[1] < most:
            raise RuntimeError(
                f"Expected targets to have size {len(lengths)} at dimension 0 and at least {most} at dimension 1, but "
                f"got {values.shape} (ctc_loss)"
            )
        return values[:, :most]
    if values.ndim != 1 or len(values) != lengths.sum():
        raise RuntimeError(
            f"Expected targets to have size (N, S) or the sum of target_lengths, {lengths.sum()}, but got "
            f"{values.shape} (ctc_loss)"
        )
    out, start = np.zeros((len(lengths), most), "int64"), 0
    for row, length in zip(out, lengths, strict=True):
        row[:length] = values[start : start + length]
        start += length
    return out


def _states(targets, lengths, blank):
    """(labels, skips, last), each (N, 2 S + 1)."""
    labels = np.full((len(targets), 2 * targets.shape[1] + 1), blank)
    labels[:, 1::2] = targets
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != labels[:, :-2]) & (labels[:, 2:] != blank)
    place = np.arange(labels.shape[1])
    last = (place == 2 * lengths[:, None]) | (place == 2 * lengths[:, None] - 1)
    labels[place > 2 * lengths[:, None]] = blank
    return labels, skips, last


@op(composite=True, spaces=("nn.functional", ""), method=False)
def ctc_loss(log_probs: Num, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """-log of the probability of each target under log_probs (T, N, C), or (T, C), summed over all its alignments.

    targets: (N, S), or all labels in a row; lengths: tensors or tuples of N integers. "mean" is the mean over the batch
    of losses over their target lengths. A target that cannot be aligned has an infinite loss, or with `zero_infinity`
    loss and gradient 0. The gradient is that through a log-softmax, of which `log_probs` must be the value.

    RuntimeError for shapes, lengths and labels that do not fit.
    """
    if log_probs.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 3-dimensional tensor (T, N, C), or (T, C), but got log_probs of {list(log_probs.shape)} "
            "(ctc_loss)"
        )
    if reduction not in ("none", "mean", "sum", 0, 1, 2):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    reduction = ("none", "mean", "sum")[reduction] if isinstance(reduction, int) else reduction
    batched = log_probs.ndim == 3
    log_probs = log_probs if batched else T.unsqueeze(log_probs, (1,))
    steps, batch, classes = log_probs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"blank must be in label range [0, {classes - 1}], but got {blank} (ctc_loss)")
    ends = _lengths(input_lengths, "input_lengths", batch, steps)
    lengths = _lengths(target_lengths, "target_lengths", batch, None)
    labels, skips, last = _states(_padded(targets, lengths), lengths, blank)
    if labels.size and (labels.min() < 0 or labels.max() >= classes):
        raise RuntimeError(
            f"Expected targets to be classes in [0, {classes - 1}], but got {labels.min()} to {labels.max()} (ctc_loss)"
        )
    running = np.arange(steps)[:, None] < ends
    loss = ctc_losses(
        log_probs, *[from_host(log_probs, x) for x in (labels, skips, last, running)], bool(zero_infinity)
    )
    if reduction == "mean":
        return T.mean(loss / from_host(log_probs, np.maximum(lengths, 1)), (0,), False)
    if reduction == "sum":
        return T.sum(loss, (0,), False)
    return loss if batched else T.squeeze(loss, (0,))
