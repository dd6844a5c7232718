"""Sequences of different lengths side by side: padded to one length, or packed so that no step is wasted on padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

import framework
from framework.core.tensor import Tensor

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences packed step by step: `data` holds the first elements of all sequences, then the second ones, and so on.

    `batch_sizes` (int64, on the CPU) says how many sequences reach each step. Sequences are packed in order of falling
    length; `sorted_indices` are their places in the batch that was packed, `unsorted_indices` the way back; None: they
    came in that order.
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:  # PackedSequence((data, batch_sizes))
            if not (isinstance(data, (tuple, list)) and len(data) == 2):
                raise AssertionError("PackedSequence takes (data, batch_sizes), as two arguments or as one pair")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if not batch_sizes.is_cpu:
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. "
                "They should be instantiated by functions like pack_sequence and pack_padded_sequences in "
                "nn.utils.rnn."
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With `data` moved or cast as by `Tensor.to`, and the indices moved along; itself if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (None if i is None else i.to(data.device) for i in (self.sorted_indices, self.unsorted_indices))
        return type(self)(data, self.batch_sizes, *indices)

    def cpu(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequence on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """The same sequence on a CUDA device."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to("cuda", **kwargs)

    def double(self) -> Self:
        """The same sequence in float64."""
        return self.to(framework.float64)

    def float(self) -> Self:
        """The same sequence in float32."""
        return self.to(framework.float32)

    def half(self) -> Self:
        """The same sequence in float16."""
        return self.to(framework.float16)

    def long(self) -> Self:
        """The same sequence in int64."""
        return self.to(framework.int64)

    def int(self) -> Self:
        """The same sequence in int32."""
        return self.to(framework.int32)

    def short(self) -> Self:
        """The same sequence in int16."""
        return self.to(framework.int16)

    def char(self) -> Self:
        """The same sequence in int8."""
        return self.to(framework.int8)

    def byte(self) -> Self:
        """The same sequence in uint8."""
        return self.to(framework.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data lives on an NVIDIA GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """False: there is no pinned memory here."""
        return False


def _host(x: Tensor) -> np.ndarray:
    return x.detach().cpu().numpy()  # type: ignore[no-any-return]


def _index(values: np.ndarray, device: Any) -> Tensor:
    return framework.as_tensor(values.astype("int64"), device=device)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    if permutation is None:
        return None
    return _index(np.argsort(_host(permutation), kind="stable"), permutation.device)


def _places(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(how many sequences reach each step, the step and the sequence of every element in packed order)."""
    steps = np.arange(lengths.max())
    reached = lengths[None, :] > steps[:, None]
    return reached.sum(1), *np.nonzero(reached)


def pack_padded_sequence(
    input: Tensor, lengths: Tensor | list[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a padded batch (T, N, *), or (N, T, *) with `batch_first`, of sequences of these lengths.

    Unless `enforce_sorted` is False lengths must not rise. RuntimeError for lengths that are not positive, not sorted
    or not N in number.
    """
    batch = input.shape[0 if batch_first else 1]
    sizes = _host(lengths) if isinstance(lengths, Tensor) else np.asarray(lengths, dtype="int64")
    sizes = sizes.astype("int64")
    if len(sizes) != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={batch})"
        )
    if not len(sizes) or sizes.min() <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0 "
            "(pack_padded_sequence)"
        )
    order = np.arange(batch) if enforce_sorted else np.argsort(-sizes, kind="stable")
    sizes = sizes[order]
    if (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    counts, steps, sequences = _places(sizes)
    steps, rows = _index(steps, input.device), _index(order[sequences], input.device)
    data = input[rows, steps] if batch_first else input[steps, rows]
    ordered = None if enforce_sorted else _index(order, input.device)
    return PackedSequence(data, framework.as_tensor(counts, device="cpu"), ordered)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """(padded batch (T, N, *), or (N, T, *) with `batch_first`, lengths): what was packed, in its order.

    ValueError for a `total_length` below the longest sequence's.
    """
    data, batch_sizes, _, unsorted = sequence
    counts = _host(batch_sizes)
    longest, batch = len(counts), int(counts[0])
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {longest}"
        )
    lengths = (counts[None, :] > np.arange(batch)[:, None]).sum(1)
    order = np.arange(batch) if unsorted is None else _host(unsorted)
    places = np.full(
        (longest if total_length is None else total_length, batch), len(data)
    )  # one past the data: the padding
    places[:longest][lengths[None, :] > np.arange(longest)[:, None]] = np.arange(len(data))
    places = places[:, order]
    padding = framework.full((1, *data.shape[1:]), padding_value, dtype=data.dtype, device=data.device)
    padded = framework.cat([data, padding])[_index(places.T if batch_first else places, data.device)]
    return padded, framework.as_tensor(lengths[order], device="cpu")


def pad_sequence(
    sequences: Iterable[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L_n, *) as one batch (T, N, *), or (N, T, *) with `batch_first`, padded on one side to the longest
    length.

    RuntimeError for no sequences, for something that cannot be iterated, and for a side that is neither "left" nor
    "right".
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    parts = list(sequences)
    if not parts:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f'pad_sequence: Expected padding_side to be one of "left" or "right", but got {padding_side}.'
        )
    longest = max(p.shape[0] for p in parts)
    padded = []
    for part in parts:
        padding = framework.full(
            (longest - part.shape[0], *part.shape[1:]), padding_value, dtype=part.dtype, device=part.device
        )
        padded.append(framework.cat([part, padding] if padding_side == "right" else [padding, part]))
    return framework.stack(padded, 0 if batch_first else 1)  # type: ignore[no-any-return]


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a batch padded at the end, each of its length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(padded_sequences, lengths.tolist(), strict=True)]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (L_n, *), of falling length unless `enforce_sorted` is False."""
    return pack_padded_sequence(pad_sequence(sequences), [s.shape[0] for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences that were packed."""
    return unpad_sequence(*pad_packed_sequence(packed_sequences, batch_first=True), batch_first=True)
