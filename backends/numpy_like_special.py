"""Special functions of NumPy and CuPy: those of `scipy.special` and `cupyx.scipy.special`, imported when first
called.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .array_api import ArrayAPI
from .base import Array

# primitive: the libraries' function of one operand
SPECIAL = {"erf": "erf", "erfc": "erfc", "erfinv": "erfinv", "digamma": "psi", "i0": "i0", "i0e": "i0e",
           "i1": "i1", "i1e": "i1e"}  # fmt: skip


class Special(ArrayAPI):
    """Special functions of one operand, and a few of two."""

    np: Any
    special_module = "scipy.special"

    def _special(self) -> Any:
        return importlib.import_module(self.special_module)

    def lgamma(self, x: Array) -> Array:
        """inf at both infinities (SciPy: -inf at -inf)."""
        return self.np.where(self.np.isinf(x), self.np.absolute(x), self._special().gammaln(x))

    def igamma(self, x: Array, y: Array) -> Array:
        return self._special().gammainc(x, y)

    def igammac(self, x: Array, y: Array) -> Array:
        return self._special().gammaincc(x, y)

    def polygamma(self, x: Array, n: int) -> Array:
        return self.np.asarray(self._special().polygamma(n, x)).astype(x.dtype)

    def frexp(self, x: Array) -> tuple[Array, Array]:
        mantissa, exponent = self.np.frexp(x)
        return self.np.asarray(mantissa), self.np.asarray(exponent, self.np.int32)


def _function(name: str) -> Callable[[Any, Array], Array]:
    def special(self: Any, x: Array) -> Array:
        return getattr(self._special(), name)(x)

    return special


for _ours, _theirs in SPECIAL.items():
    setattr(Special, _ours, _function(_theirs))
