"""Recurrent networks: `RNN`, `LSTM`, `GRU` over sequences, and their cells for one step."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

import framework
from framework.core.tensor import Parameter, Tensor
from framework.nn import init
from framework.nn.module import Module
from framework.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_ALL_NAMES = ("weight_ih_l{}{}", "weight_hh_l{}{}", "bias_ih_l{}{}", "bias_hh_l{}{}", "weight_hr_l{}{}")


def _check_options(
    mode: str, sizes: dict[str, int], num_layers: int, dropout: float, flags: dict[str, bool], proj_size: int
) -> None:
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
            f"greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            UserWarning,
            stacklevel=4,
        )
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name, size in sizes.items():
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= sizes["hidden_size"]:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + mode)


class RNNBase(Module):
    """What recurrent networks share: parameters, checks, padded and packed sequences.

    Layer k has `weight_ih_lk`, `weight_hh_lk`, with `bias` `bias_ih_lk` and `bias_hh_lk`, with `proj_size`
    `weight_hr_lk`; those of the direction from the end have the suffix `_reverse`. All start uniform on
    +-1/sqrt(hidden_size).
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        sizes, flags = (
            {"input_size": input_size, "hidden_size": hidden_size},
            {"bias": bias, "batch_first": batch_first},
        )
        _check_options(mode, sizes, num_layers, dropout, flags, proj_size)
        directions, gates = self._directions, _GATES[mode] * hidden_size
        kept = self._kept_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[:directions]:
                width = input_size if layer == 0 else kept * directions
                shapes = [(gates, width), (gates, kept), (gates,), (gates,), (proj_size, hidden_size)]
                names = []
                for name, shape in zip(_ALL_NAMES, shapes, strict=True):
                    if (bias or "bias" not in name) and (proj_size or "hr" not in name):
                        names.append(name.format(layer, suffix))
                        setattr(self, names[-1], Parameter(framework.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _kept_size(self) -> int:
        """The size of what a step passes on to the next step and layer."""
        return self.proj_size or self.hidden_size

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for names in self._all_weights for name in names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: parameters need no common memory here."""

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        return text + "".join(
            f", {n}={getattr(self, n)}" for n, default in defaults.items() if getattr(self, n) != default
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"proj_size": 0, **state})

    # ------------------------------------------------------------ checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """ValueError for another dtype than the weights', RuntimeError for another number of dimensions or of
        features.
        """
        dtype = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != dtype and not framework.amp.is_autocast_enabled(input.device.type):
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.ndim != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.ndim}")
        if self.input_size != input.shape[-1]:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.shape[0 if self.batch_first else 1]
        return self.num_layers * self._directions, batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers times directions, N, features of the state)."""
        return self._state_size(input, batch_sizes, self._kept_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError for a state of another size."""
        if tuple(hx.shape) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.shape)))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError for sizes of input or state that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ------------------------------------------------------------ the call

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        size = self.get_expected_hidden_size(input, batch_sizes)
        return framework.zeros(size, dtype=input.dtype, device=input.device)

    def _unbatched_state(self, hx: Any, batched: bool) -> Any:
        """The state given with one sequence, or a batch of them, as a batch."""
        if hx.ndim != (3 if batched else 2):
            kind, rank = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            raise RuntimeError(f"For {kind} input, hx should also be {rank}-D but got {hx.ndim}-D tensor")
        return hx if batched else hx.unsqueeze(1)

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """(outputs of the last layer, final states of all layers) for (T, N, features), (N, T, features) with
        `batch_first`, (T, features) or a PackedSequence, from the state `hx` (zeros unless given)."""
        packed = isinstance(input, PackedSequence)
        if packed:
            data, batch_sizes, order, back = input
            batched = True
        else:
            if input.ndim not in (2, 3):
                name = type(self).__name__
                raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}D tensor instead")
            data, batch_sizes, order, back = input, None, None, None
            batched = input.ndim == 3
            data = data if batched else data.unsqueeze(0 if self.batch_first else 1)
        if hx is None:
            hx = self._zero_state(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx if packed else self._unbatched_state(hx, batched), order)
        self.check_forward_args(data, hx, batch_sizes)
        function = getattr(framework, self.mode.lower())
        options = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if packed:
            out, *states = function(data, batch_sizes, hx, *options)
            out = PackedSequence(out, batch_sizes, order, back)
        else:
            out, *states = function(data, hx, *options, self.batch_first)
            if not batched:
                out, states = out.squeeze(0 if self.batch_first else 1), [s.squeeze(1) for s in states]
        return out, self.permute_hidden(self._final(states), back)

    def _final(self, states: list[Tensor]) -> Any:
        return states[0]


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh) at each step of each layer, or the positive part with
    nonlinearity="relu" (Elman 1990).

    RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None). ValueError for another nonlinearity and for `proj_size`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber 1997), with projections of the output if `proj_size` (Sak et
    al. 2014).

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    proj_size=0, device=None, dtype=None). Its state is the pair (h, c).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """(layers times directions, N, hidden_size)."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise RuntimeError for sizes of input or state that do not fit."""
        self.check_input(input, batch_sizes)
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The pair of states with their sequences in another order."""
        return hx if permutation is None else tuple(s.index_select(1, permutation) for s in hx)

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        sizes = self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)
        return tuple(framework.zeros(size, dtype=input.dtype, device=input.device) for size in sizes)

    def _unbatched_state(self, hx: Any, batched: bool) -> Any:
        if {hx[0].ndim, hx[1].ndim} != {3 if batched else 2}:
            kind, rank = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            found = f"({hx[0].ndim}-D, {hx[1].ndim}-D)"
            raise RuntimeError(f"For {kind} input, hx and cx should also be {rank}-D but got {found} tensors")
        return hx if batched else tuple(s.unsqueeze(1) for s in hx)

    def _final(self, states: list[Tensor]) -> Any:
        return tuple(states)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al. 2014).

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False,
    device=None, dtype=None). ValueError for `proj_size`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class RNNCellBase(Module):
    """What cells share: `weight_ih`, `weight_hh` and, with `bias`, `bias_ih` and `bias_hh`, uniform on
    +-1/sqrt(hidden_size).
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        for name, shape in (
            ("weight_ih", (rows, input_size)),
            ("weight_hh", (rows, hidden_size)),
            ("bias_ih", rows),
            ("bias_hh", rows),
        ):
            wanted = bias or name.startswith("weight")
            self.register_parameter(
                name, Parameter(framework.empty(shape, device=device, dtype=dtype)) if wanted else None
            )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias is True else f", bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check(self, x: Tensor, what: str) -> None:
        if x.ndim not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {x.ndim}D instead")

    def _step(self, function: Any, input: Tensor, hx: Any, states: int) -> Any:
        """Run one step over a batch, or over one example as a batch of one."""
        self._check(input, "input")
        for i, state in enumerate(() if hx is None else hx):
            self._check(state, f"hx[{i}]" if states > 1 else "hidden")
        batched = input.ndim == 2
        if not batched:
            input = input.unsqueeze(0)
            hx = None if hx is None else [s.unsqueeze(0) for s in hx]
        if hx is None:
            hx = [framework.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)] * states
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        new = function(input, tuple(hx) if states > 1 else hx[0], *weights)
        if batched:
            return new
        return tuple(s.squeeze(0) for s in new) if states > 1 else new.squeeze(0)


class RNNCell(RNNCellBase):
    """One step h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or the positive part with nonlinearity="relu"."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        function = getattr(framework, f"rnn_{self.nonlinearity}_cell")
        return self._step(function, input, None if hx is None else [hx], 1)  # type: ignore[no-any-return]


class LSTMCell(RNNCellBase):
    """One step of an LSTM: (h', c') from the input and (h, c)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step(framework.lstm_cell, input, hx, 2)  # type: ignore[no-any-return]


class GRUCell(RNNCellBase):
    """One step of a GRU: h' from the input and h."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(framework.gru_cell, input, None if hx is None else [hx], 1)  # type: ignore[no-any-return]
