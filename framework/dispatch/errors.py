"""Errors that name the op, the operands and the user's line."""

from __future__ import annotations

import functools
import os
import sys
import traceback
from types import FrameType
from typing import Any, NoReturn

from framework.core.graph import Node
from framework.core.promotion import scalar_type_name
from framework.core.state import STATE

_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def users_frame() -> FrameType | None:
    """The innermost frame that is not this package's own code."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@functools.cache
def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, "<op"))


def users_line() -> tuple[str, int] | None:
    """File and line of the user's code that is running."""
    frame = users_frame()
    return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def line_at(code: Any, position: int) -> str:
    """File and line of a position in a code object."""
    line = next(
        (line for start, end, line in code.co_lines() if start <= position < end and line is not None),
        code.co_firstlineno,
    )
    return f"{code.co_filename}:{line}"


def remember_line(n: Node) -> None:
    """Note on a node where the user's code made it, and which node's reverse did so, if one did."""
    n.metadata["traceback_"] = traceback.format_stack(users_frame())
    if (parent := STATE.__dict__.get("reversing")) is not None:
        n.metadata["parent_"] = parent


def stale(n: Node, name: str, changed: Any, version: int) -> NoReturn:
    """Raise: a value that `n` saved was written in place since. `changed` is the tensor, or the storage of n's own
    output.
    """
    storage = getattr(changed, "storage", changed)
    shape = list(getattr(changed, "shape", n.shape))
    kind = scalar_type_name(changed.dtype if hasattr(changed, "dtype") else n.dtype)
    maker = n if name in n.entry.outs else getattr(changed, "grad_fn", None)
    number = getattr(changed, "output_nr", 0)
    output = f", which is output {number} of {maker.name().removesuffix('Backward0')}," if maker is not None else ""
    saved = "its own output" if name in n.entry.outs else f"its operand {name!r}"
    written = storage.written_at
    where = f" It was written by {written[2]} at {line_at(written[0], written[1])}." if written else ""
    lines = n.metadata.get("traceback_")
    line = f" The op was called here:\n{lines[-1].rstrip()}\n" if lines else ""
    hint = (
        ""
        if lines
        else " To see where the op was called, enable anomaly detection, with autograd.set_detect_anomaly(True)."
    )
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {shape}]{output} is at version {storage.version}; expected version "
        f"{version + getattr(changed, 'start', 0)} instead. {n.name()} saved it ({saved}).{where}{line} Clone the "
        f"tensor before writing to it, or use the out-of-place form.{hint}"
    )


def freed(n: Node) -> NoReturn:
    """Raise: the values a node saved are gone."""
    raise RuntimeError(
        f"Trying to backward through the graph a second time (or directly access saved tensors after they have "
        f"already been freed), at {n.name()}. Saved intermediate values of the graph are freed when you call "
        ".backward() or autograd.grad(). Specify retain_graph=True if you need to backward through the graph a "
        "second time."
    )


def not_a_tensor(op: str, name: str, position: int, value: Any) -> NoReturn:
    """Raise TypeError: an argument that must be a Tensor is something else."""
    raise TypeError(f"{op}(): argument '{name}' (position {position + 1}) must be Tensor, not {type(value).__name__}")


_NOT_COMPLEX = ("maximum", "minimum", "fmax", "fmin", "signbit", "floor", "ceil", "trunc", "round")
REFUSALS: dict[tuple[str, str], tuple[type[Exception], str]] = {
    ("neg", "b"): (
        RuntimeError,
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead.",
    ),
    ("positive", "b"): (RuntimeError, "The `+` operator, on a bool tensor is not supported."),
    ("relu", "b"): (RuntimeError, "Boolean inputs not supported for relu"),
    ("sign", "c"): (
        NotImplementedError,
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.",
    ),
    ("heaviside", "c"): (RuntimeError, "heaviside is not yet implemented for complex tensors."),
    ("deg2rad", "c"): (RuntimeError, "deg2rad is not supported for complex tensors."),
    ("rad2deg", "c"): (RuntimeError, "rad2deg is not supported for complex tensors."),
    **{("frexp", kind): (RuntimeError, "torch.frexp() only supports floating-point dtypes") for kind in "biuc"},
    **{(op, "c"): (NotImplementedError, f"{op} is not implemented for complex tensors.") for op in _NOT_COMPLEX},
}  # what PyTorch says of some ops and kinds of dtype, instead of naming the dtype


def not_implemented_for(op: str, dtype: Any) -> NoReturn:
    """Raise NotImplementedError, or what `REFUSALS` has: the op is not defined for a dtype."""
    if (op, dtype.kind) in REFUSALS:
        error, text = REFUSALS[op, dtype.kind]
        raise error(text)
    raise NotImplementedError(f"\"{op}\" not implemented for '{scalar_type_name(dtype)}'")
