"""What a backend is: a namespace of primitives on one library's arrays, and a few facts about it.

A backend *is* the `xp` that forwards and derivative rules receive. Names and positional order are those of the op
entries, arithmetic is written with operators. It may assume operands that are validated, of one dtype and
broadcastable: promotion, checks, defaults and error texts belong to the framework and are never repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from .dtypes import dtype

Array = Any
Shape = tuple[int, ...]
Dims = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Facts that decide which path the framework takes on a backend.

    aliasing: slices are views and arrays are writable in place. lazy: results are computed when read.
    guards_indices: an index out of range raises instead of reading foreign memory. writes_out: elementwise
    primitives take a result array as one more positional argument. dtypes: what arrays can hold natively; the rest
    runs on the host.
    """

    aliasing: bool
    lazy: bool
    guards_indices: bool
    writes_out: bool
    dtypes: frozenset[dtype]


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where a view's elements lie in its storage's flat array; strides and offset in elements."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int


class Backend(Protocol):
    """The members that are no ops. Primitives are looked up by the op entries' names; see `array_api.py` for all of
    them.
    """

    name: str
    device_type: str
    device_index: int | None
    capabilities: Capabilities
    aliasing: bool
    array: type
    kernels: frozenset[str]

    def asarray(self, a: Any, dtype: dtype | None = None) -> Array:
        """A native array of `a` (a NumPy or native array); shares memory where the library can and no cast is
        needed.
        """

    def to_numpy(self, a: Array) -> Any:
        """A NumPy array of the same values (bfloat16 as ml_dtypes.bfloat16); shares memory on the host's own arrays."""

    def dtype_of(self, a: Array) -> dtype: ...
    def astype(self, x: Array, dtype: dtype) -> Array: ...
    def clone(self, x: Array) -> Array: ...
    def full(self, shape: Shape, value: Any, dtype: dtype) -> Array: ...

    def write(self, array: Array, value: Array) -> None:
        """Overwrite the elements of a native view (aliasing backends)."""

    def read_at(self, flat: Array, geometry: Geometry) -> Array:
        """The elements that `geometry` names (backends that do not alias)."""

    def write_at(self, flat: Array, geometry: Geometry, value: Array) -> Array:
        """`flat` with the elements that `geometry` names replaced (backends that do not alias)."""

    def evaluate(self, arrays: list[Array]) -> None:
        """Compute pending values of a lazy backend."""
