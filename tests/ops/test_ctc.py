"""The CTC loss against the sum over all alignments, written out."""

from __future__ import annotations

from itertools import groupby, product
from math import inf, log

import numpy as np
import pytest

import framework
from framework.nn import functional as F

STEPS, CLASSES = 4, 3


def alignments(target, steps, blank, classes):
    """Every way to say the target: without repetitions and then without blanks it is the target."""
    for path in product(range(classes), repeat=steps):
        if [label for label, _ in groupby(path) if label != blank] == list(target):
            yield path


def expected(p, target, blank=0):
    """-log of the sum of the probabilities of all alignments."""
    total = sum(
        np.prod([p[t, label] for t, label in enumerate(path)]) for path in alignments(target, len(p), blank, p.shape[1])
    )
    return -log(total) if total else inf


def inputs(batch, seed=0):
    x = np.random.default_rng(seed).normal(size=(STEPS, batch, CLASSES))
    return x, np.exp(x) / np.exp(x).sum(2, keepdims=True)


CASES = [
    ([], 4),
    ([1], 4),
    ([1, 2], 4),
    ([1, 1], 4),
    ([1, 1], 2),
    ([1, 2], 2),
    ([2, 1, 2], 3),
    ([1, 2, 1], 2),
    ([2], 1),
    ([], 0),
    ([1], 0),
]


@pytest.mark.every_device
def test_losses(device):
    x, p = inputs(len(CASES))
    targets = np.zeros((len(CASES), 3), "int64")
    for row, (target, _) in zip(targets, CASES, strict=True):
        row[: len(target)] = target
    lengths = [len(target) for target, _ in CASES]
    wanted = [expected(p[:n, i], target) for i, (target, n) in enumerate(CASES)]
    log_p = framework.log_softmax(framework.tensor(x, dtype=framework.float32, device=device), 2)
    ends = [n for _, n in CASES]
    loss = F.ctc_loss(log_p, framework.tensor(targets, device=device), ends, lengths, reduction="none")
    np.testing.assert_allclose(loss.cpu().numpy(), wanted, rtol=3e-5, atol=1e-6)
    in_a_row = framework.tensor([label for target, _ in CASES for label in target], device=device)
    again = F.ctc_loss(
        log_p, in_a_row, framework.tensor(ends), framework.tensor(lengths), reduction="none", zero_infinity=True
    )
    np.testing.assert_allclose(again.cpu().numpy(), np.where(np.isinf(wanted), 0, wanted), rtol=3e-5, atol=1e-6)


def test_reductions_and_another_blank():
    x, p = inputs(2)
    wanted = [expected(p[:, 0], [0, 1], 2), expected(p[:3, 1], [1], 2)]
    log_p = framework.log_softmax(framework.tensor(x), 2)
    args = (log_p, framework.tensor([[0, 1], [1, 0]]), (4, 3), (2, 1), 2)
    np.testing.assert_allclose(F.ctc_loss(*args).item(), (wanted[0] / 2 + wanted[1]) / 2)
    np.testing.assert_allclose(F.ctc_loss(*args, reduction="sum").item(), sum(wanted))
    one = framework.ctc_loss(log_p[:, 0], framework.tensor([0, 1]), framework.tensor(4), framework.tensor(2), 2, "none")
    assert one.ndim == 0
    np.testing.assert_allclose(one.item(), wanted[0])


@pytest.mark.every_device
def test_gradient_through_log_softmax(device):
    x, _ = inputs(3)
    targets, ends, lengths = framework.tensor([[1, 2], [1, 1], [2, 0]]), (4, 4, 3), (2, 2, 1)

    def loss(values):
        p = np.exp(values) / np.exp(values).sum(2, keepdims=True)
        return sum(
            expected(p[:n, i], targets[i, :k].tolist()) for i, (n, k) in enumerate(zip(ends, lengths, strict=True))
        )

    variable = framework.tensor(x, dtype=framework.float32, device=device, requires_grad=True)
    F.ctc_loss(framework.log_softmax(variable, 2), targets.to(device), ends, lengths, reduction="sum").backward()
    wanted = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[at] = 1e-5
        wanted[at] = (loss(x + step) - loss(x - step)) / 2e-5
    np.testing.assert_allclose(variable.grad.cpu().numpy(), wanted, atol=2e-5)


def test_gradient_of_what_cannot_be_aligned():
    x, _ = inputs(1)
    for zero, value in ((True, 0.0), (False, np.nan)):
        variable = framework.tensor(x, requires_grad=True)
        log_p = framework.log_softmax(variable, 2).detach().requires_grad_()
        F.ctc_loss(log_p, framework.tensor([[1, 1]]), (2,), (2,), zero_infinity=zero).backward()
        np.testing.assert_array_equal(log_p.grad[:2].numpy(), np.full((2, 1, 3), value))
        np.testing.assert_array_equal(log_p.grad[2:].numpy(), np.zeros((2, 1, 3)))


LOG_P = framework.zeros(4, 2, 3)
TARGETS = framework.tensor([[1, 2], [1, 1]])
ERRORS = [
    (lambda: F.ctc_loss(framework.zeros(3), TARGETS, (4, 4), (2, 2)), RuntimeError, "Expected 3-dimensional tensor"),
    (
        lambda: F.ctc_loss(LOG_P, TARGETS, (4, 5), (2, 2)),
        RuntimeError,
        "input_lengths to have value at most 4, but got value 5",
    ),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4, -1), (2, 2)), RuntimeError, "input_lengths to have value at least 0"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4,), (2, 2)), RuntimeError, "input_lengths must be of size batch_size"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4, 4), (2,)), RuntimeError, "target_lengths must be of size batch_size"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4, 4), (2, 3)), RuntimeError, "at least 3 at dimension 1"),
    (lambda: F.ctc_loss(LOG_P, TARGETS[0], (4, 4), (2, 2)), RuntimeError, "the sum of target_lengths, 4"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4, 4), (2, 2), 3), RuntimeError, "blank must be in label range"),
    (lambda: F.ctc_loss(LOG_P, TARGETS + 1, (4, 4), (2, 2)), RuntimeError, "Expected targets to be classes"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, framework.ones(2), (2, 2)), TypeError, "input_lengths must be integers"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4, 4), (2.0, 2.0)), TypeError, "target_lengths must be integers"),
    (lambda: F.ctc_loss(LOG_P, TARGETS, (4, 4), (2, 2), 0, "max"), ValueError, "not a valid value for reduction"),
]


@pytest.mark.parametrize("act, kind, text", ERRORS, ids=[text for *_, text in ERRORS])
def test_errors(act, kind, text):
    with pytest.raises(kind, match=text):
        act()
