"""Parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

import framework
from framework.core.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters in one vector."""
    return framework.cat([p.reshape(-1) for p in parameters])  # type: ignore[no-any-return]


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give the parameters the elements of `vec`, in order. TypeError if it is no tensor."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        parameter.data = vec[start : start + parameter.numel()].reshape(parameter.shape).data
        start += parameter.numel()
