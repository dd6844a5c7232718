"""The numeric limits of dtypes: `finfo` and `iinfo`."""

from __future__ import annotations

from typing import Any

import numpy as np

from backends.dtypes import bfloat16, dtype

from .defaults import get_default_dtype


class finfo:
    """Limits of a floating or complex dtype (of its parts), the default one unless given.

    Attributes: bits, eps (the step after 1), max, min, tiny = smallest_normal, resolution, dtype (the name).
    """

    def __init__(self, type: Any = None) -> None:
        d = get_default_dtype() if type is None else type
        if not isinstance(d, dtype) or d.category < 2:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle {d!r}")
        part = d.to_real()
        self.dtype = part.name
        self.bits = 8 * part.itemsize
        if part is bfloat16:
            self.eps, self.max, self.tiny, self.resolution = 2.0**-7, float(2 - 2.0**-7) * 2.0**127, 2.0**-126, 0.01
        else:
            info = np.finfo(part.name)
            self.eps, self.max, self.tiny = float(info.eps), float(info.max), float(info.tiny)
            self.resolution = float(info.resolution)
        self.min, self.smallest_normal = -self.max, self.tiny

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("finfo", self.dtype))

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype. Attributes: bits, max, min, dtype (the name)."""

    def __init__(self, type: Any) -> None:
        if not isinstance(type, dtype) or type.category != 1:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle {type!r}")
        self.dtype, self.bits = type.name, 8 * type.itemsize
        self.max = (1 << (self.bits - type.is_signed)) - 1
        self.min = -self.max - 1 if type.is_signed else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(("iinfo", self.dtype))

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
