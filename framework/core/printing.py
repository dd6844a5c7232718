"""How a tensor prints: PyTorch's text, made from a NumPy array.

Every number of a tensor is written with one format and one width. Floats that are all whole print as `1.`; those that
span more than three decades, or lie above 1e8 or below 1e-4, print in scientific notation. A tensor with more than
`threshold` elements shows `edgeitems` entries at both ends of each long dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from backends.dtypes import bool_, dtype, int64

from . import defaults

__all__ = [
    "PrintOptions", "get_printoptions", "module_name", "printoptions", "set_module_name",
    "set_printoptions", "tensor_text", "values_text",
]  # fmt: skip

Array = np.ndarray[Any, Any]


def module_name() -> str:
    """The name the package prints itself under, as in `dtype=framework.float64`."""
    return dtype.module


def set_module_name(name: str) -> None:
    """Print dtypes as members of the module `name` from now on."""
    dtype.module = name


@dataclass(frozen=True, slots=True)
class PrintOptions:
    """How numbers and lines are laid out.

    precision: digits after the point. threshold: most elements that print in full. edgeitems: entries shown at each
    end of a summarised dimension. linewidth: where lines break. sci_mode: always (True), never (False), or as the
    values ask (None).
    """

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; see `PrintOptions`. What is not given stays as it is.

    `profile` ("default", "short" or "full") is applied first. As in PyTorch, every call sets `sci_mode`: leaving it out
    means None, so the values decide. ValueError for an unknown profile.
    """
    global _options
    if profile is not None and profile not in PROFILES:
        raise ValueError(f"set_printoptions: unknown profile {profile!r}; known are {', '.join(PROFILES)}")
    base = _options if profile is None else PROFILES[profile]
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _options = replace(base, sci_mode=sci_mode, **changes)


def get_printoptions() -> dict[str, Any]:
    """The print options in force, as keyword arguments for `set_printoptions`."""
    return asdict(_options)


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Print with other options inside a `with` block; arguments as for `set_printoptions`."""
    global _options
    before = _options
    set_printoptions(**options)
    try:
        yield
    finally:
        _options = before


class _Column:
    """The format that every number of a tensor (or of its real, or of its imaginary parts) is written in."""

    __slots__ = ("point", "spec", "width")

    def __init__(self, values: Array, options: PrintOptions) -> None:
        self.spec, self.point, self.width = "", "", 1
        if values.dtype.kind != "f":
            extremes = [values.min(), values.max()] if values.size else []
            self.width = max([1, *(len(str(v)) for v in extremes)])
            return
        self.spec, self.point = ".0f", "."
        shown = values[np.isfinite(values) & (values != 0)]
        if shown.size == 0:
            return
        magnitude = np.abs(shown)
        least, most = float(magnitude.min()), float(magnitude.max())
        scientific = options.sci_mode
        if scientific is None:
            with np.errstate(over="ignore"):
                scientific = bool(np.float64(most) / least > 1000.0) or most > 1.0e8 or least < 1.0e-4
        if scientific:
            self.spec, self.point = f".{options.precision}e", ""
        elif not (shown == np.ceil(shown)).all():
            self.spec, self.point = f".{options.precision}f", ""
        # The text grows with the magnitude, except for the digits of a negative exponent: so the four extremes decide.
        extremes = [part[i] for part in (shown[shown > 0], shown[shown < 0]) if part.size
                    for i in (part.argmin(), part.argmax())]  # fmt: skip
        self.width = max(len(self.text(float(v))) for v in extremes)

    def text(self, value: Any) -> str:
        """One number, right-aligned."""
        digits = format(value, self.spec)
        if self.point and math.isfinite(value):
            digits += self.point
        return digits.rjust(self.width)


def _sample(array: Array, edgeitems: int) -> Array:
    """What a summary shows of `array`: the ends of each dimension that is longer than both together."""
    for axis, size in enumerate(array.shape):
        if size > 2 * edgeitems:
            array = array.take([i for i in range(size) if i < edgeitems or i >= size - edgeitems], axis)
    return array


def _printable(array: Array, d: dtype) -> Array:
    """The same numbers in a dtype whose Python numbers print: float64 and complex128 for all floats."""
    if d.kind in "fc":
        return array.astype(np.float64 if d.kind == "f" else np.complex128)
    return array


def values_text(array: Array, d: dtype, *, options: PrintOptions | None = None, indent: int = 0) -> str:
    """The bracketed numbers of a tensor; `indent` is the column that the first bracket stands in."""
    o = options or _options
    if array.size == 0:
        return "[]"
    summarize = array.size > o.threshold
    array = _printable(array, d)
    sample = _sample(array, o.edgeitems) if summarize else array
    cell: Callable[[Any], str]
    if d.is_complex:
        real, imag = _Column(sample.real, o), _Column(sample.imag, o)
        width = real.width + imag.width + 1

        def cell(value: complex) -> str:
            tail = imag.text(value.imag).lstrip() + "j"
            return real.text(value.real) + (tail if tail[0] in "+-" else "+" + tail)
    else:
        column = _Column(sample, o)
        cell, width = column.text, column.width

    def nested(part: Array, indent: int) -> str:
        if part.ndim == 0:
            return cell(part.item())
        cut = summarize and len(part) > 2 * o.edgeitems
        ends = [part[: o.edgeitems], part[len(part) - o.edgeitems :]] if cut else [part]
        if part.ndim == 1:
            items = [[cell(value) for value in end.tolist()] for end in ends]
            ellipsis = " ..." if o.edgeitems else "..."
            per_line = max(1, (o.linewidth - indent) // (width + 2))
            separator = ",\n" + " " * (indent + 1)
        else:
            items = [[nested(sub, indent + 1) for sub in end] for end in ends]
            ellipsis, per_line = "...", 1
            separator = "," + "\n" * (part.ndim - 1) + " " * (indent + 1)
        row = [*items[0], ellipsis, *items[1]] if cut else items[0]
        lines = [", ".join(row[i : i + per_line]) for i in range(0, len(row), per_line)]
        return "[" + separator.join(lines) + "]"

    return nested(array, indent)


def _join_suffixes(text: str, suffixes: Sequence[str], indent: int, linewidth: int) -> str:
    """Put `suffixes` behind `text`, each on the same line if it fits, and close the parenthesis."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def tensor_text(
    array: Array | None,
    d: dtype,
    *,
    shape: Sequence[int] | None = None,
    device: str | None = None,
    suffixes: Sequence[str] = (),
    options: PrintOptions | None = None,
    prefix: str = "tensor(",
) -> str:
    """The text of a tensor: prefix, numbers, and what a reader needs besides them, in PyTorch's order.

    array: the values on the host, or None if there are none to show (then `shape` is needed and the text reads
    `tensor(..., size=(2,))`). device: how it is called, if it is to be named. The size is named for empty tensors that
    are not 1-d; the dtype unless it is the default dtype, its complex counterpart, int64 or bool. suffixes: the rest,
    such as "requires_grad=True" or "grad_fn=<AddBackward0>".
    """
    o = options or _options
    default = defaults.get_default_dtype()
    size = tuple(array.shape if array is not None else shape or ())
    # Nothing to read the dtype off: only the default goes without saying.
    implied = [default]
    if array is not None and array.size:
        implied += [defaults.get_default_complex_dtype(), int64, bool_]
    named = [] if device is None else [f"device='{device}'"]
    if array is None or (array.ndim != 1 if array.size == 0 else not o.edgeitems):
        named.append(f"size={size}")
    if d not in implied:
        named.append(f"dtype={d!r}")
    body = "..." if array is None else values_text(array, d, options=o, indent=len(prefix))
    return _join_suffixes(prefix + body, [*named, *suffixes], len(prefix), o.linewidth)
