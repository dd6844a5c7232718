"""Softmax over very many classes, most of which are rare."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import framework
from framework.core.tensor import Tensor
from framework.nn import functional as F
from framework.nn.module import Module
from framework.nn.modules.container import ModuleList, Sequential
from framework.nn.modules.linear import Linear

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of classes sorted by falling frequency (Grave et al. 2017).

    The first `cutoffs[0]` classes and one place for each cluster of the others are in the `head`, a Linear. Cluster i
    holds the classes from cutoffs[i] on, scored by a pair of Linears with in_features / div_value^(i + 1) units
    between; it is computed for the examples alone whose target it holds. ValueError unless cutoffs rise strictly
    between 1 and n_classes - 1.
    """

    tail: Any

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in pairwise(cutoffs)) and cutoffs[0] > 0 and cutoffs[-1] <= n_classes - 1
        if not rising or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = cutoffs[0]
        self.n_clusters = len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            hidden = int(in_features // (div_value ** (i + 1)))
            first, second = ((in_features, hidden), (hidden, high - low))
            self.tail.append(Sequential(Linear(*first, bias=False, **place), Linear(*second, bias=False, **place)))

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def _check(self, input: Tensor, target: Tensor) -> None:
        if target.ndim > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.ndim == 1 and input.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.ndim != target.ndim + 1:
            raise RuntimeError(
                f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found inputs with size "
                f"{input.size()}"
            )

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """(log-probabilities of the targets (N), their mean negated) for input (N, in_features) and target (N), or both
        without N.

        RuntimeError for shapes that do not fit and for targets that are no class.
        """
        self._check(input_, target_)
        batched = target_.ndim > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if bool(((target < 0) | (target >= self.n_classes)).any()):
            found = target.tolist()
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{min(found)}, "
                f"{max(found)}] were found. "
            )
        local, place = input.new_zeros(target.shape[0]), target
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            mine = (target >= low) & (target < high)
            rows = mine.nonzero().reshape(-1)
            if not rows.numel():
                continue
            log_p = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            column = (target.index_select(0, rows) - low).unsqueeze(1)
            local = local.index_copy(0, rows, log_p.gather(1, column).squeeze(1))
            place = place.masked_fill(mine, self.shortlist_size + i)
        output = local + F.log_softmax(self.head(input), dim=1).gather(1, place.unsqueeze(1)).squeeze(1)
        return _ASMoutput(output if batched else output.squeeze(0), (-output).mean())

    def _get_full_log_prob(self, input: Tensor, head_output: Tensor) -> Tensor:
        """The log-probabilities of all classes, given what the head says."""
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return framework.cat(parts, 1)  # type: ignore[no-any-return]

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities (N, n_classes) of all classes."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class (N) of each example, clusters being computed where one may hold it."""
        head_output = self.head(input)
        output = head_output.argmax(dim=1)
        rare = output >= self.shortlist_size
        rows = rare.nonzero().reshape(-1)
        if not rows.numel():
            return output  # type: ignore[no-any-return]
        log_p = self._get_full_log_prob(input.index_select(0, rows), head_output.index_select(0, rows))
        return output.index_copy(0, rows, log_p.argmax(dim=1))  # type: ignore[no-any-return]
